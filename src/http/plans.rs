//! `/v1/plans`: plans and their immutable versions.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::customers::NoParameters;
use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, list as list_of, page, page_size};
use super::request::{body, choice, expect_media_type, parameter, parse_json, path_id, path_part, prefers_text, query};
use super::{Answered, Api};
use crate::comparison::question::date;
use crate::store::{NewPlanVersion, PlanFilter, PlanVersion, Put};
use crate::tariff::{Explanation, ForeignOptions, PlanFormat, Tariff, TariffErrors, Vat};
use crate::words::{PlanId, Timestamp};

/// Longest name, provider, territory and tag, characters.
const MAX_TEXT: usize = 500;

#[derive(Serialize)]
struct VersionBody<'a> {
    plan_id: &'a PlanId,
    version: u32,
    name: &'a str,
    currency: &'a str,
    provider: Option<&'a str>,
    territory: Option<&'a str>,
    tags: &'a [String],
    in_force_from: Option<NaiveDate>,
    in_force_to: Option<NaiveDate>,
    media_type: &'a str,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Box<RawValue>>,
}

/// A version as clients see it.
fn version_body(version: &PlanVersion, with_document: bool) -> VersionBody<'_> {
    let content = &version.content;
    let raw = |text: &String| RawValue::from_string(text.clone()).ok();
    VersionBody {
        plan_id: &version.plan_id,
        version: version.version,
        name: &content.name,
        currency: &content.currency,
        provider: content.provider.as_deref(),
        territory: content.territory.as_deref(),
        tags: &content.tags,
        in_force_from: content.in_force_from,
        in_force_to: content.in_force_to,
        media_type: &content.media_type,
        created_at: version.created_at,
        document: with_document.then(|| raw(&content.document)).flatten(),
        source: content.source.as_ref().filter(|_| with_document).and_then(raw),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutParameters {
    in_force_from: Option<String>,
    in_force_to: Option<String>,
    allow_unbilled: Option<String>,
    region: Option<String>,
    payment_method: Option<String>,
    vat: Option<String>,
    night_hours: Option<String>,
    holidays: Option<String>,
}

/// `PUT /v1/plans/{id}?in_force_from=&in_force_to=`: a changed body or other dates make a new version, the same ones
/// none. `?allow_unbilled=true` takes a foreign tariff whose unbillable parts every bill then lists; `region`,
/// `payment_method`, `vat`, `night_hours` and `holidays` say what else a foreign tariff leaves open.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: PlanId = path_id(&request, "id")?;
    let parameters: PutParameters = query(&request)?;
    let in_force_from = date_parameter("in_force_from", parameters.in_force_from.as_deref())?;
    let in_force_to = date_parameter("in_force_to", parameters.in_force_to.as_deref())?;
    if let (Some(from), Some(to)) = (in_force_from, in_force_to)
        && to <= from
    {
        let detail = "a version is in force until after it began: in_force_to is the day after the last";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("in_force_to"));
    }
    let foreign = ForeignParameters {
        allow_unbilled: parameters.allow_unbilled,
        region: parameters.region,
        payment_method: parameters.payment_method,
        vat: parameters.vat,
        night_hours: parameters.night_hours,
        holidays: parameters.holidays,
    };
    let read = read_tariff(&api, &request, payload, foreign.options()?).await?;
    let new = NewPlanVersion {
        document: read.tariff.canonical_json().to_owned(),
        source: read.source,
        media_type: read.format.media_type().to_owned(),
        in_force_from,
        in_force_to,
        name: read.tariff.name().to_owned(),
        currency: read.tariff.currency().to_owned(),
        provider: read.tariff.provider().map(str::to_owned),
        territory: read.tariff.territory().map(str::to_owned),
        tags: read.tariff.tags().to_vec(),
    };
    let tenant = api.tenant.clone();
    let put = api.service.store().write(move |store| store.put_plan(&tenant, &id, &new, Timestamp::now())).await?;
    let mut response = match &put {
        Put::Created(_) => HttpResponse::Created(),
        Put::Changed(_) | Put::Unchanged(_) => HttpResponse::Ok(),
    };
    let version = put.into_inner();
    let location = format!("/v1/plans/{}/versions/{}", version.plan_id, version.version);
    response.insert_header((header::LOCATION, location));
    Ok(response.json(version_body(&version, true)))
}

struct ReadTariff {
    tariff: Tariff,
    source: Option<String>,
    format: PlanFormat,
}

async fn read_tariff(
    api: &Api,
    request: &HttpRequest,
    payload: Payload,
    options: ForeignOptions,
) -> Result<ReadTariff, Problem> {
    let media_type = expect_media_type(request, &PlanFormat::MEDIA_TYPES.map(|(media_type, _)| media_type))?;
    let format = PlanFormat::of_media_type(media_type).expect("it is one of them");
    let body = body(request, payload, api.settings.max_body_bytes).await?;
    // A body that is no JSON is the client's transfer, not its tariff.
    parse_json::<serde::de::IgnoredAny>(&body)?;
    let text =
        String::from_utf8(body.to_vec()).map_err(|_| Problem::new(Code::MalformedJson, "the body is not UTF-8"))?;
    let read = api
        .service
        .blocking(move || {
            let tariff = Tariff::from_format(format, &text, &options)?;
            let source = (format != PlanFormat::Own).then_some(text);
            Ok::<_, TariffErrors>(ReadTariff { tariff, source, format })
        })
        .await??;
    check_texts(&read.tariff)?;
    Ok(read)
}

/// Texts that lists are filtered by are short and printable.
fn check_texts(tariff: &Tariff) -> Result<(), Problem> {
    let mut texts = vec![("/name".to_owned(), tariff.name())];
    texts.extend(tariff.provider().map(|text| ("/provider".to_owned(), text)));
    texts.extend(tariff.territory().map(|text| ("/territory".to_owned(), text)));
    texts.extend(tariff.tags().iter().enumerate().map(|(i, tag)| (format!("/tags/{i}"), tag.as_str())));
    for (pointer, text) in texts {
        if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
            let detail = format!("at most {MAX_TEXT} printable characters");
            let error = json!([{"code": "text", "pointer": pointer, "message": detail}]);
            return Err(Problem::new(Code::PlanInvalid, detail).at(pointer).with("errors", error));
        }
    }
    Ok(())
}

fn date_parameter(name: &str, text: Option<&str>) -> Result<Option<NaiveDate>, Problem> {
    text.map(|text| date(text).map_err(|e| Problem::new(Code::InvalidParameter, e.to_string()).of_parameter(name)))
        .transpose()
}

/// What a foreign tariff leaves open.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForeignParameters {
    allow_unbilled: Option<String>,
    region: Option<String>,
    payment_method: Option<String>,
    vat: Option<String>,
    night_hours: Option<String>,
    holidays: Option<String>,
}

impl ForeignParameters {
    fn options(self) -> Result<ForeignOptions, Problem> {
        let yes_or_no = [("true", true), ("false", false)];
        Ok(ForeignOptions {
            allow_unbilled: choice("allow_unbilled", self.allow_unbilled.as_deref(), &yes_or_no)?.unwrap_or(false),
            vat: choice("vat", self.vat.as_deref(), &Vat::CHOICES)?.unwrap_or_default(),
            region: self.region,
            payment_method: self.payment_method,
            night_hours: self.night_hours,
            holidays: self.holidays,
        })
    }
}

/// `POST /v1/plans/validate`: what `PUT` would say of a tariff, without putting it: the same refusal, or the plan as it
/// would be stored and in words, with the charges of the plans it includes as they are in force today. `Accept: text/plain` gives the words alone, laid out for a terminal.
pub(super) async fn validate(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let parameters: ForeignParameters = query(&request)?;
    let read = read_tariff(&api, &request, payload, parameters.options()?).await?;
    let today = Utc::now().date_naive();
    let tariff = api.service.with_included(&api.tenant, read.tariff.clone(), today).await?;
    let explanation = api.service.blocking(move || tariff.explain()).await?;
    if prefers_text(&request) {
        return Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(explanation.to_string()));
    }
    let document = RawValue::from_string(read.tariff.canonical_json().to_owned())
        .map_err(|error| Problem::internal(format!("a canonical document is no JSON: {error}")))?;
    Ok(HttpResponse::Ok().json(ValidBody { valid: true, format: read.format.as_str(), explanation, document }))
}

#[derive(Serialize)]
struct ValidBody {
    valid: bool,
    format: &'static str,
    #[serde(flatten)]
    explanation: Explanation,
    document: Box<RawValue>,
}

async fn read_versions(api: &Api, id: PlanId) -> Result<Vec<PlanVersion>, Problem> {
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let found = api.service.store().read(move |store| store.plan_versions(&tenant, &[&wanted])).await?;
    match found.into_iter().next() {
        Some((_, versions)) if !versions.is_empty() => Ok(versions),
        _ => Err(Problem::new(Code::PlanNotFound, format!("plan {id} does not exist")).with("id", id.as_str())),
    }
}

/// `GET /v1/plans/{id}`: the newest version.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: PlanId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let versions = read_versions(&api, id).await?;
    let newest = versions.iter().max_by_key(|version| version.version).expect("there is at least one");
    Ok(HttpResponse::Ok().json(version_body(newest, true)))
}

/// `GET /v1/plans/{id}/versions`, newest first.
pub(super) async fn versions(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: PlanId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let versions = read_versions(&api, id).await?;
    let items: Vec<VersionBody<'_>> = versions.iter().rev().map(|version| version_body(version, false)).collect();
    Ok(list_of(&request, &items, None))
}

/// `GET /v1/plans/{id}/versions/{version}`.
pub(super) async fn version(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: PlanId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let text = path_part(&request, "version");
    let number: u32 = text
        .parse()
        .map_err(|_| Problem::new(Code::InvalidId, format!("{text:?} in the path is no number of a version")))?;
    let versions = read_versions(&api, id.clone()).await?;
    let Some(version) = versions.iter().find(|version| version.version == number) else {
        let detail = format!("plan {id} has no version {number}");
        return Err(Problem::new(Code::PlanNotFound, detail).with("id", format!("{id}@{number}")));
    };
    Ok(HttpResponse::Ok().json(version_body(version, true)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    q: Option<String>,
    provider: Option<String>,
    territory: Option<String>,
    tag: Option<String>,
    in_force_on: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/plans`: the newest version of each plan that matches, ordered by id.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: Option<PlanId> = parameter("cursor", parameters.cursor.as_deref())?;
    let filter = PlanFilter {
        q: parameters.q,
        provider: parameters.provider,
        territory: parameters.territory,
        tag: parameters.tag,
        in_force_on: date_parameter("in_force_on", parameters.in_force_on.as_deref())?,
    };
    let tenant = api.tenant.clone();
    let found =
        api.service.store().read(move |store| store.list_plans(&tenant, &filter, after.as_ref(), limit + 1)).await?;
    let items: Vec<VersionBody<'_>> = found.iter().map(|version| version_body(version, false)).collect();
    Ok(page(&request, items, limit, |last| last.plan_id.to_string()))
}
