//! `/v1/customers/{id}/usage/revisions`: what each usage revision changed, in sum and reading by reading.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};

use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, csv_page, page, page_of, page_size};
use super::request::{parameter, path_id, prefers_csv, query};
use super::usage::{MAX_READINGS, read_cursor, rfc3339};
use super::{Answered, Api, customers};
use crate::store::{RevisionChannel, UsageRevision};
use crate::usage::{Channel, Quality, ReadingChange, kwh};
use crate::words::{CustomerId, ImportId, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    limit: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct RevisionBody {
    revision: i64,
    created_at: Timestamp,
    import_id: Option<ImportId>,
    first_start: String,
    last_end: String,
    added: u64,
    replaced: u64,
    removed: u64,
    /// `null` for a revision of an earlier release.
    channels: Option<Vec<RevisionChannel>>,
    file_name: Option<String>,
    format: String,
    sha256: String,
}

impl From<UsageRevision> for RevisionBody {
    fn from(entry: UsageRevision) -> Self {
        Self {
            revision: entry.revision,
            created_at: entry.created_at,
            import_id: entry.import_id,
            first_start: rfc3339(entry.first_start),
            last_end: rfc3339(entry.last_end),
            added: entry.added,
            replaced: entry.replaced,
            removed: entry.removed,
            channels: entry.channels,
            file_name: entry.file_name,
            format: entry.format,
            sha256: entry.sha256,
        }
    }
}

const REVISION_COLUMNS: [&str; 10] = [
    "revision",
    "created_at",
    "import_id",
    "first_start",
    "last_end",
    "added",
    "replaced",
    "removed",
    "file_name",
    "format",
];

/// `GET /v1/customers/{id}/usage/revisions`: what each import changed, oldest first.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: Parameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: i64 = parameter("cursor", parameters.cursor.as_deref())?.unwrap_or(0);
    customers::read(&api, id.clone()).await?;
    let tenant = api.tenant.clone();
    let found = api.service.store().read(move |store| store.usage_revisions(&tenant, &id, after, limit + 1)).await?;
    let items: Vec<RevisionBody> = found.into_iter().map(RevisionBody::from).collect();
    let cursor = |last: &RevisionBody| last.revision.to_string();
    if !prefers_csv(&request) {
        return Ok(page(&request, items, limit, cursor));
    }
    csv_page(&request, &REVISION_COLUMNS, items, limit, cursor, |item| {
        vec![
            item.revision.to_string(),
            item.created_at.to_string(),
            item.import_id.map(|id| id.to_string()).unwrap_or_default(),
            item.first_start.clone(),
            item.last_end.clone(),
            item.added.to_string(),
            item.replaced.to_string(),
            item.removed.to_string(),
            item.file_name.clone().unwrap_or_default(),
            item.format.clone(),
        ]
    })
}

#[derive(Serialize)]
struct ChangeBody {
    channel: Channel,
    start: String,
    end: String,
    kwh_before: Option<String>,
    quality_before: Option<Quality>,
    kwh_after: Option<String>,
    quality_after: Option<Quality>,
    #[serde(skip)]
    place: (i64, Channel),
}

impl ChangeBody {
    fn new(channel: &Channel, change: &ReadingChange) -> Self {
        let interval = change.interval();
        let energy = |reading: Option<crate::usage::Reading>| reading.map(|r| kwh(r.milliwatt_hours.into()));
        Self {
            channel: channel.clone(),
            start: rfc3339(interval.start),
            end: rfc3339(interval.end),
            kwh_before: energy(change.before),
            quality_before: change.before.map(|reading| reading.quality),
            kwh_after: energy(change.after),
            quality_after: change.after.map(|reading| reading.quality),
            place: (interval.start, channel.clone()),
        }
    }
}

const CHANGE_COLUMNS: [&str; 7] =
    ["channel", "start", "end", "kwh_before", "quality_before", "kwh_after", "quality_after"];

/// `GET /v1/customers/{id}/usage/revisions/{revision}`: the readings that it changed, with what stood before and after, by
/// start and channel.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let revision: i64 = path_id(&request, "revision")?;
    let parameters: Parameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_READINGS)?;
    let cursor = parameters.cursor.as_deref().map(read_cursor).transpose()?;
    customers::read(&api, id.clone()).await?;
    let not_found = || {
        Problem::new(Code::UsageRevisionNotFound, format!("usage revision {revision} does not exist"))
            .with("id", revision.to_string())
    };
    let before = revision.checked_sub(1).filter(|before| *before >= 0).ok_or_else(not_found)?;
    let tenant = api.tenant.clone();
    let (entry, changes) = api
        .service
        .store()
        .read(move |store| {
            let entry = store.usage_revisions(&tenant, &id, before, 1)?;
            store.usage_changes(&tenant, &id, revision).map(|changes| (entry, changes))
        })
        .await?;
    let entry = entry.into_iter().find(|entry| entry.revision == revision).ok_or_else(not_found)?;
    let mut items: Vec<ChangeBody> = changes
        .iter()
        .flat_map(|(channel, changes)| changes.iter().map(move |change| ChangeBody::new(channel, change)))
        .filter(|item| cursor.as_ref().is_none_or(|cursor| item.place > *cursor))
        .collect();
    items.sort_by(|a, b| a.place.cmp(&b.place));
    let cursor = |last: &ChangeBody| format!("{}.{}", last.place.0, last.place.1);
    if !prefers_csv(&request) {
        return Ok(page_of(&request, RevisionBody::from(entry), items, limit, cursor));
    }
    let word = |quality: Option<Quality>| quality.map_or("", Quality::as_str).to_owned();
    csv_page(&request, &CHANGE_COLUMNS, items, limit, cursor, |item| {
        vec![
            item.channel.to_string(),
            item.start.clone(),
            item.end.clone(),
            item.kwh_before.clone().unwrap_or_default(),
            word(item.quality_before),
            item.kwh_after.clone().unwrap_or_default(),
            word(item.quality_after),
        ]
    })
}
