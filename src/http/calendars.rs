//! `/v1/calendars`: dates that plans call holidays, and their immutable versions.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::customers::NoParameters;
use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, list as list_of, page, page_size};
use super::request::{json, parameter, path_id, query};
use super::{Answered, Api};
use crate::comparison::put_calendar;
use crate::shared::Calendar;
use crate::store::{Put, SharedInput, SharedInputEntry, SharedKind};
use crate::words::{InputName, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutBody {
    #[serde(default)]
    name: Option<String>,
    dates: Vec<String>,
}

#[derive(Serialize)]
struct CalendarBody {
    id: InputName,
    version: u32,
    name: Option<String>,
    dates: Vec<NaiveDate>,
    created_at: Timestamp,
}

fn body(input: SharedInput) -> Result<CalendarBody, Problem> {
    let SharedInput { id, version, content, created_at, .. } = input;
    let calendar = Calendar::decode(&content)
        .map_err(|error| Problem::internal(format!("version {version} of calendar {id}: {error}")))?;
    Ok(CalendarBody { id, version, name: calendar.name, dates: calendar.dates.into_iter().collect(), created_at })
}

/// `PUT /v1/calendars/{id}`: all its dates. Other dates or another name make a new version, the same ones none.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let sent: PutBody = json(&request, payload, api.settings.max_body_bytes).await?;
    let calendar = Calendar::new(sent.name, &sent.dates)
        .map_err(|error| Problem::new(Code::InvalidMember, error.to_string()).at(error.pointer.unwrap_or_default()))?;
    let tenant = api.tenant.clone();
    let put =
        api.service.store().write(move |store| put_calendar(store, &tenant, &id, &calendar, Timestamp::now())).await?;
    respond_put(put, "calendars", body)
}

/// The answer to a put of a whole document.
///
/// * `path`: of its kind, below `/v1`.
pub(super) fn respond_put<B: Serialize>(
    put: Put<SharedInput>,
    path: &str,
    body: impl FnOnce(SharedInput) -> Result<B, Problem>,
) -> Answered {
    let mut response = match &put {
        Put::Created(_) => HttpResponse::Created(),
        Put::Changed(_) | Put::Unchanged(_) => HttpResponse::Ok(),
    };
    let input = put.into_inner();
    response.insert_header((header::LOCATION, format!("/v1/{path}/{}", input.id)));
    Ok(response.json(body(input)?))
}

/// `GET /v1/calendars/{id}`: the newest version.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let newest = newest(&api, SharedKind::Calendar, id).await?;
    Ok(HttpResponse::Ok().json(body(newest)?))
}

/// `GET /v1/calendars/{id}/versions`, newest first, without dates.
pub(super) async fn versions(api: Data<Api>, request: HttpRequest) -> Answered {
    versions_of(&api, &request, SharedKind::Calendar).await
}

/// `GET /v1/calendars`: the newest version of each, ordered by id, without dates.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    list_of_kind(&api, &request, SharedKind::Calendar).await
}

/// The newest version of a calendar, price series or event list.
///
/// # Errors
/// 404.
pub(super) async fn newest(api: &Api, kind: SharedKind, id: InputName) -> Result<SharedInput, Problem> {
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let mut found = api.service.store().read(move |store| store.shared_inputs(&tenant, kind, &[&wanted])).await?;
    found.pop().ok_or_else(|| not_found(kind, &id))
}

fn not_found(kind: SharedKind, id: &InputName) -> Problem {
    let (code, what) = match kind {
        SharedKind::Calendar => (Code::CalendarNotFound, "calendar"),
        SharedKind::PriceSeries => (Code::PriceSeriesNotFound, "price series"),
        SharedKind::EventList => (Code::EventListNotFound, "event list"),
    };
    Problem::new(code, format!("{what} {id} does not exist")).with("id", id.as_str())
}

#[derive(Serialize)]
struct EntryBody {
    id: InputName,
    version: u32,
    #[serde(flatten)]
    summary: serde_json::Map<String, serde_json::Value>,
    created_at: Timestamp,
}

fn entry_body(entry: SharedInputEntry) -> Result<EntryBody, Problem> {
    let SharedInputEntry { id, version, summary, created_at } = entry;
    let summary = serde_json::from_str(&summary)
        .map_err(|error| Problem::internal(format!("the summary of {id} cannot be read: {error}")))?;
    Ok(EntryBody { id, version, summary, created_at })
}

/// Every version of one, newest first.
pub(super) async fn versions_of(api: &Api, request: &HttpRequest, kind: SharedKind) -> Answered {
    let id: InputName = path_id(request, "id")?;
    query::<NoParameters>(request)?;
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let found = api.service.store().read(move |store| store.shared_input_versions(&tenant, kind, &wanted)).await?;
    if found.is_empty() {
        return Err(not_found(kind, &id));
    }
    let items = found.into_iter().map(entry_body).collect::<Result<Vec<_>, _>>()?;
    Ok(list_of(request, &items, None))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    limit: Option<String>,
    cursor: Option<String>,
}

/// The newest version of each of a kind, ordered by id.
pub(super) async fn list_of_kind(api: &Api, request: &HttpRequest, kind: SharedKind) -> Answered {
    let parameters: ListParameters = query(request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: Option<InputName> = parameter("cursor", parameters.cursor.as_deref())?;
    let tenant = api.tenant.clone();
    let found = api
        .service
        .store()
        .read(move |store| store.list_shared_inputs(&tenant, kind, after.as_ref(), limit + 1))
        .await?;
    let items = found.into_iter().map(entry_body).collect::<Result<Vec<_>, _>>()?;
    Ok(page(request, items, limit, |last| last.id.to_string()))
}
