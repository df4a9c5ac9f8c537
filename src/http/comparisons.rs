//! `/v1/comparisons`: ask, read, supersede, and what became of it.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::customers::NoParameters;
use super::error::{Code, Problem, period_code};
use super::lists::{MAX_PAGE, list as page_of, page_size};
use super::request::{Tags, choice, entity_tags, json, parameter, path_id, query, required};
use super::{Answered, Api, billing_periods};
use crate::comparison::question::{Period, PeriodBody, QuestionBody, QuestionError, QuestionFault};
use crate::comparison::{Answer, Cursor, Detail, IfStale, NaturalKey, SupersedeRequest, View};
use crate::store::ComparisonFilter;
use crate::words::{BillingPeriod, ComparisonId, CustomerId, PlanReference, Timestamp};

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Longest note, characters.
const MAX_NOTE: usize = 2000;

const REASONS: [(&str, &str); 7] = [
    ("usage_corrected", "usage_corrected"),
    ("plan_changed", "plan_changed"),
    ("calendar_changed", "calendar_changed"),
    ("price_series_changed", "price_series_changed"),
    ("event_list_changed", "event_list_changed"),
    ("engine_changed", "engine_changed"),
    ("manual", "manual"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareParameters {
    detail: Option<String>,
    if_stale: Option<String>,
}

/// `POST /v1/comparisons?detail=&if_stale=`: the answer that stands, or a new one.
pub(super) async fn compare(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let parameters: CompareParameters = query(&request)?;
    let detail = detail(parameters.detail.as_deref())?;
    let if_stale = choice(
        "if_stale",
        parameters.if_stale.as_deref(),
        &[("answer", IfStale::Answer), ("supersede", IfStale::Supersede)],
    )?;
    let body: QuestionBody = json(&request, payload, api.settings.max_body_bytes).await?;
    let key = natural_key(&api, &body).await?;
    let answer = api.service.compare(key, if_stale.unwrap_or_default()).await;
    let answer = answer.map_err(|error| at_member(Problem::from(error), &body))?;
    // Detached work is done; what is left is to say so.
    api.service.stop_at("compare::before_response").await?;
    Ok(respond(&answer, detail))
}

async fn natural_key(api: &Api, body: &QuestionBody) -> Result<NaturalKey, Problem> {
    let question = body.check()?;
    let period = resolve(api, question.period, "/billing_period").await?;
    let key = NaturalKey::new(api.tenant.clone(), question.customer_id, period, question.plan_ids);
    key.map_err(|error| Problem::new(Code::PlanCount, error.to_string()).at("/plan_ids"))
}

/// The days of a period that may be registered ones.
async fn resolve(api: &Api, period: Period, pointer: &str) -> Result<BillingPeriod, Problem> {
    match period {
        Period::Days(days) => Ok(days),
        Period::Registered(id) => {
            let registered = billing_periods::read(api, id).await.map_err(|problem| problem.at(pointer))?;
            BillingPeriod::new(registered.start, registered.end)
                .map_err(|error| Problem::new(period_code(&error), error.to_string()).at(pointer))
        }
    }
}

/// The place in this body of what a refusal speaks of: callers that share a computation wrote their plans in orders of
/// their own.
fn at_member(problem: Problem, body: &QuestionBody) -> Problem {
    match problem.code() {
        Code::CustomerNotFound => problem.at("/customer_id"),
        Code::PlanNotFound => {
            let named = problem.member("plan_ids");
            let is_named = |id: &String| named.as_array().is_some_and(|all| all.iter().any(|plan| plan == id.as_str()));
            match body.plan_ids.iter().position(is_named) {
                Some(i) => problem.at(format!("/plan_ids/{i}")),
                None => problem,
            }
        }
        _ => problem,
    }
}

fn detail(text: Option<&str>) -> Result<Detail, Problem> {
    let detail = choice("detail", text, &[("full", Detail::Full), ("summary", Detail::Summary)])?;
    Ok(detail.unwrap_or_default())
}

/// An answer to a call that may have made it.
fn respond(answer: &Answer, detail: Detail) -> HttpResponse {
    let status = if answer.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = HttpResponse::build(status);
    let path = path_of(answer.view.row.id);
    let query = if detail == Detail::Summary { "?detail=summary" } else { "" };
    response.insert_header((header::CONTENT_LOCATION, format!("{path}{query}")));
    response.insert_header((header::LOCATION, path));
    if !answer.created {
        response.insert_header((REPLAYED, "true"));
    }
    describe(&mut response, &answer.view, detail);
    response.content_type("application/json").body(answer.body(detail))
}

/// The headers that every rendering of a comparison has.
fn describe(response: &mut actix_web::HttpResponseBuilder, view: &View, detail: Detail) {
    response.insert_header((header::ETAG, view.etag(detail)));
    response.insert_header((header::CACHE_CONTROL, "private, no-cache"));
    let mut links = Vec::new();
    let mut link = |id: Option<ComparisonId>, rel: &str| {
        links.extend(id.map(|id| format!("<{}>; rel=\"{rel}\"", path_of(id))));
    };
    link(view.row.predecessor_id, "predecessor-version");
    link(view.row.superseded.as_ref().map(|superseded| superseded.successor_id), "successor-version");
    link(Some(view.latest_id), "latest-version");
    links.push(format!("<{}/history>; rel=\"version-history\"", path_of(view.row.id)));
    response.insert_header((header::LINK, links.join(", ")));
}

fn path_of(id: ComparisonId) -> String {
    format!("/v1/comparisons/{id}")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetParameters {
    detail: Option<String>,
}

/// `GET /v1/comparisons/{id}?detail=`; `If-None-Match` is answered 304.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id = comparison_id(&request)?;
    let parameters: GetParameters = query(&request)?;
    let detail = detail(parameters.detail.as_deref())?;
    let wanted = entity_tags(&request, &header::IF_NONE_MATCH)?;
    let answer = api.service.by_id(&api.tenant, id).await?;
    let has = answer.view.etag(detail);
    if wanted.is_some_and(|tags| tags.have(&has)) {
        let mut response = HttpResponse::NotModified();
        describe(&mut response, &answer.view, detail);
        return Ok(response.finish());
    }
    let mut response = HttpResponse::Ok();
    describe(&mut response, &answer.view, detail);
    Ok(response.content_type("application/json").body(answer.body(detail)))
}

fn comparison_id(request: &HttpRequest) -> Result<ComparisonId, Problem> {
    path_id(request, "id")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SupersedeBody {
    reason: String,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    force: bool,
}

/// `POST /v1/comparisons/{id}/supersede`: replaces the row that the id names, once.
pub(super) async fn supersede(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id = comparison_id(&request)?;
    let parameters: GetParameters = query(&request)?;
    let detail = detail(parameters.detail.as_deref())?;
    let if_match = match entity_tags(&request, &header::IF_MATCH)? {
        Some(Tags::These(tags)) => Some(tags),
        Some(Tags::Any) | None => None,
    };
    let body: SupersedeBody = json(&request, payload, api.settings.max_body_bytes).await?;
    let Some((_, reason)) = REASONS.iter().find(|(word, _)| *word == body.reason) else {
        let words = REASONS.map(|(word, _)| word).join(", ");
        return Err(Problem::new(Code::InvalidMember, format!("reason is one of {words}")).at("/reason"));
    };
    if let Some(note) = &body.note
        && (note.chars().count() > MAX_NOTE || note.contains('\0'))
    {
        let detail = format!("a note has at most {MAX_NOTE} characters and no NUL");
        return Err(Problem::new(Code::InvalidMember, detail).at("/note"));
    }
    let supersede = SupersedeRequest { reason: (*reason).to_owned(), note: body.note, force: body.force, if_match };
    let answer = api.service.supersede(&api.tenant, id, supersede).await?;
    api.service.stop_at("supersede::before_response").await?;
    Ok(respond(&answer, detail))
}

/// An item of a list: the envelope with the totals, without `result`.
fn items(views: &[View]) -> Result<Vec<impl Serialize + '_>, Problem> {
    views
        .iter()
        .map(|view| {
            let totals: &RawValue = serde_json::from_str(&view.row.totals)
                .map_err(|e| Problem::internal(format!("the totals of {} cannot be read: {e}", view.row.id)))?;
            Ok(view.envelope(Some(totals)))
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    customer_id: Option<String>,
    billing_period: Option<String>,
    plan_id: Option<String>,
    status: Option<String>,
    stale: Option<String>,
    created_from: Option<String>,
    created_to: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/comparisons`: newest first. `stale` filters by the mark that changes of usage and customer leave.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let cursor: Option<Cursor> = parameter("cursor", parameters.cursor.as_deref())?;
    let statuses = [("current", Some(true)), ("superseded", Some(false)), ("all", None)];
    let filter = ComparisonFilter {
        customer_id: parameter::<CustomerId>("customer_id", parameters.customer_id.as_deref())?,
        period: period_parameter(&api, parameters.billing_period.as_deref()).await?,
        plan: parameter::<PlanReference>("plan_id", parameters.plan_id.as_deref())?,
        current: choice("status", parameters.status.as_deref(), &statuses)?.flatten(),
        stale: choice("stale", parameters.stale.as_deref(), &[("true", true), ("false", false)])?,
        created_from: instant("created_from", parameters.created_from.as_deref())?,
        created_to: instant("created_to", parameters.created_to.as_deref())?,
    };
    let (views, next) = api.service.list(&api.tenant, filter, cursor, limit).await?;
    Ok(page_of(&request, &items(&views)?, next.map(|cursor| cursor.to_string()).as_deref()))
}

async fn period_parameter(api: &Api, text: Option<&str>) -> Result<Option<BillingPeriod>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let refused = |error: QuestionError| {
        let code = match &error.cause {
            QuestionFault::Period(error) if period_code(error) == Code::PeriodTooLong => Code::PeriodTooLong,
            _ => Code::InvalidParameter,
        };
        Problem::new(code, error.cause.to_string()).of_parameter("billing_period")
    };
    match PeriodBody::from_query(text).check("").map_err(refused)? {
        Period::Days(days) => Ok(Some(days)),
        Period::Registered(id) => {
            let registered = billing_periods::read(api, id).await.map_err(|p| p.of_parameter("billing_period"))?;
            Ok(BillingPeriod::new(registered.start, registered.end).ok())
        }
    }
}

fn instant(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    text.map(|text| {
        DateTime::parse_from_rfc3339(text).map(|at| at.with_timezone(&Utc).into()).map_err(|_| {
            let detail =
                format!("{name} is an instant such as 2026-07-01T12:00:00Z (a + is written %2B), not {text:?}");
            Problem::new(Code::InvalidParameter, detail).of_parameter(name)
        })
    })
    .transpose()
}

/// `GET /v1/comparisons/{id}/history`: every comparison that ever answered this question, newest first.
pub(super) async fn history(api: Data<Api>, request: HttpRequest) -> Answered {
    let id = comparison_id(&request)?;
    query::<NoParameters>(&request)?;
    let views = api.service.chain(&api.tenant, id).await?;
    Ok(page_of(&request, &items(&views)?, None))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsOfParameters {
    customer_id: Option<String>,
    at: Option<String>,
    billing_period: Option<String>,
    plan_id: Option<String>,
}

/// `GET /v1/comparisons/as-of?customer_id=&at=`: what stood at that moment.
pub(super) async fn as_of(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: AsOfParameters = query(&request)?;
    let customer = required("customer_id", parameter::<CustomerId>("customer_id", parameters.customer_id.as_deref())?)?;
    let at = required("at", instant("at", parameters.at.as_deref())?)?;
    let period = period_parameter(&api, parameters.billing_period.as_deref()).await?;
    let plan = parameter::<PlanReference>("plan_id", parameters.plan_id.as_deref())?;
    let views = api.service.as_of(&api.tenant, &customer, at, period, plan).await?;
    Ok(page_of(&request, &items(&views)?, None))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiffParameters {
    with: Option<String>,
}

/// `GET /v1/comparisons/{id}/diff?with=`: against its predecessor, or another one of its chain.
pub(super) async fn diff(api: Data<Api>, request: HttpRequest) -> Answered {
    let id = comparison_id(&request)?;
    let parameters: DiffParameters = query(&request)?;
    let with: Option<ComparisonId> = parameter("with", parameters.with.as_deref())?;
    let difference = api.service.diff(&api.tenant, id, with).await?;
    Ok(HttpResponse::Ok().json(difference))
}
