//! `/v1/event-lists`: the instants within which rules of plans hold, and their immutable versions.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::calendars::{list_of_kind, newest, respond_put, versions_of};
use super::customers::NoParameters;
use super::error::{Code, Problem};
use super::request::{json, path_id, query};
use super::{Answered, Api};
use crate::comparison::put_event_list;
use crate::shared::EventList;
use crate::store::{SharedInput, SharedKind};
use crate::words::{InputName, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutBody {
    #[serde(default)]
    name: Option<String>,
    events: Vec<String>,
}

#[derive(Serialize)]
struct EventListBody {
    id: InputName,
    version: u32,
    name: Option<String>,
    events: Vec<String>,
    created_at: Timestamp,
}

fn body(input: SharedInput) -> Result<EventListBody, Problem> {
    let SharedInput { id, version, content, created_at, .. } = input;
    let list = EventList::decode(&content)
        .map_err(|error| Problem::internal(format!("version {version} of event list {id}: {error}")))?;
    Ok(EventListBody { id, version, events: list.intervals(), name: list.name, created_at })
}

/// `PUT /v1/event-lists/{id}`: all its events. Other instants or another name make a new version, the same ones none.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let sent: PutBody = json(&request, payload, api.settings.max_body_bytes).await?;
    let list = EventList::new(sent.name, &sent.events)
        .map_err(|error| Problem::new(Code::InvalidMember, error.to_string()).at(error.pointer.unwrap_or_default()))?;
    let tenant = api.tenant.clone();
    let put =
        api.service.store().write(move |store| put_event_list(store, &tenant, &id, &list, Timestamp::now())).await?;
    respond_put(put, "event-lists", body)
}

/// `GET /v1/event-lists/{id}`: the newest version.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let newest = newest(&api, SharedKind::EventList, id).await?;
    Ok(HttpResponse::Ok().json(body(newest)?))
}

/// `GET /v1/event-lists/{id}/versions`, newest first, without events.
pub(super) async fn versions(api: Data<Api>, request: HttpRequest) -> Answered {
    versions_of(&api, &request, SharedKind::EventList).await
}

/// `GET /v1/event-lists`: the newest version of each, ordered by id, without events.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    list_of_kind(&api, &request, SharedKind::EventList).await
}
