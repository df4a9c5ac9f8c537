//! `/v1/imports`: the records of imports, and undoing one.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::customers::NoParameters;
use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, csv_page, page, page_size};
use super::request::{choice, is_true, parameter, path_id, prefers_csv, query};
use super::{Answered, Api, customers};
use crate::store::{
    Customer, ImportCounts, ImportFilter, ImportKind, ImportPreview, ImportProgress, ImportRow, ImportState,
    MeterPointCounts, OnConflict, Reverted, RevisionChannel, UsageImport,
};
use crate::usage::{ChangeSum, Channel, DayChange, changed_days, differences};
use crate::words::{ComparisonId, CustomerId, ImportId, Timestamp};

/// What an import or a revert did, or with `dry_run` would do.
#[derive(Serialize)]
struct OutcomeBody<'a> {
    /// `null` with `dry_run`: there is no record.
    import_id: Option<ImportId>,
    dry_run: bool,
    customer_id: Option<&'a CustomerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts: Option<ImportId>,
    format: &'a str,
    sha256: &'a str,
    #[serde(flatten)]
    counts: ImportCounts,
    revision_before: Option<i64>,
    revision_after: Option<i64>,
    same_file_as: Option<ImportId>,
    stale_comparison_ids: &'a [ComparisonId],
    warnings: &'a serde_json::Value,
    #[serde(flatten)]
    changes: Option<ChangesBody>,
}

/// What would change, by channel and by local day.
#[derive(Serialize)]
struct ChangesBody {
    channels: Vec<RevisionChannel>,
    days: Vec<DayBody>,
}

#[derive(Serialize)]
struct DayBody {
    channel: Channel,
    #[serde(flatten)]
    change: DayChange,
}

impl<'a> OutcomeBody<'a> {
    fn new(record: &'a ImportRow, stale: &'a [ComparisonId]) -> Self {
        Self {
            import_id: Some(record.id),
            dry_run: false,
            customer_id: record.customer_id.as_ref(),
            reverts: record.reverts,
            format: &record.format,
            sha256: &record.sha256,
            counts: record.counts,
            revision_before: record.revision_before,
            revision_after: record.revision_after,
            same_file_as: record.same_file_as,
            stale_comparison_ids: stale,
            warnings: &record.warnings,
            changes: None,
        }
    }
}

/// The answer to a preview: days are those of the customer's clock.
fn preview_body(preview: &ImportPreview, customer: &Customer) -> HttpResponse {
    let mut changes = ChangesBody { channels: Vec::new(), days: Vec::new() };
    for (channel, (before, after)) in &preview.channels {
        let sum = ChangeSum::of(&differences(before, after));
        changes.channels.push(RevisionChannel { channel: channel.clone(), sum });
        let days = changed_days(customer.document.time_zone, before, after);
        changes.days.extend(days.into_iter().map(|change| DayBody { channel: channel.clone(), change }));
    }
    changes.days.sort_by(|a, b| (a.change.date, &a.channel).cmp(&(b.change.date, &b.channel)));
    let body = OutcomeBody::new(&preview.record, &preview.stale);
    HttpResponse::Ok().json(OutcomeBody { import_id: None, dry_run: true, changes: Some(changes), ..body })
}

/// Imports readings of a customer, or says what that would do.
///
/// # Errors
/// The store's.
pub(super) async fn answer_usage(api: &Api, customer: &Customer, import: UsageImport, dry_run: bool) -> Answered {
    let (tenant, id) = (api.tenant.clone(), customer.id.clone());
    let store = api.service.store();
    if dry_run {
        let preview = store
            .write_for(&api.tenant, &customer.id, move |store| {
                store.preview_import(&tenant, &id, &import, Timestamp::now())
            })
            .await?;
        return Ok(preview_body(&preview, customer));
    }
    let outcome = store
        .write_for(&api.tenant, &customer.id, move |store| store.import_usage(&tenant, &id, &import, Timestamp::now()))
        .await?;
    api.service.stop_at("import::before_response").await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::LOCATION, format!("/v1/imports/{}", outcome.record.id)));
    Ok(response.json(OutcomeBody::new(&outcome.record, &outcome.stale)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevertParameters {
    dry_run: Option<String>,
}

/// `POST /v1/imports/{id}/revert`: takes back what an import changed, where nothing newer changed it again. Once: a second
/// call is answered with what the first did. Of a file of many meter points every part is taken back.
pub(super) async fn revert(api: Data<Api>, request: HttpRequest, _payload: Payload) -> Answered {
    let id: ImportId = path_id(&request, "id")?;
    let parameters: RevertParameters = query(&request)?;
    let dry_run = is_true("dry_run", parameters.dry_run.as_deref())?;
    let tenant = api.tenant.clone();
    let store = api.service.store();
    let of = tenant.clone();
    let found = store.read(move |store| store.import(&of, id)).await?;
    if found.record.kind == ImportKind::MeterPoints {
        return revert_parts(&api, id, dry_run).await;
    }
    if dry_run {
        let new_id = ImportId::new();
        let preview = store.write(move |store| store.preview_revert(&tenant, id, new_id, Timestamp::now())).await?;
        let customer = preview.record.customer_id.clone();
        let customer = customer.ok_or_else(|| Problem::internal(format!("import {id} has no customer")))?;
        return Ok(preview_body(&preview, &customers::read(&api, customer).await?));
    }
    let reverted =
        store.write(move |store| store.revert_import(&tenant, id, ImportId::new(), Timestamp::now())).await?;
    let (record, stale, mut response) = match &reverted {
        Reverted::Done(outcome) => (&outcome.record, &outcome.stale[..], HttpResponse::Created()),
        Reverted::Already(record) => {
            let mut response = HttpResponse::Ok();
            response.insert_header(("idempotent-replayed", "true"));
            (record, &[][..], response)
        }
    };
    response.insert_header((header::LOCATION, format!("/v1/imports/{}", record.id)));
    Ok(response.json(OutcomeBody::new(record, stale)))
}

/// The answer to the revert of a file of many meter points.
#[derive(Serialize)]
struct PartsBody {
    import_id: ImportId,
    state: ImportState,
    /// Customers' commits that this call took back.
    parts: u64,
    #[serde(flatten)]
    counts: ImportCounts,
    stale_comparison_ids: Vec<ComparisonId>,
}

async fn revert_parts(api: &Api, id: ImportId, dry_run: bool) -> Answered {
    if dry_run {
        let detail = "of a file of many meter points each part has a dry run of its own: GET /v1/imports?part_of=";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("dry_run"));
    }
    let (progress, parts) = api.service.revert_meter_points(&api.tenant, id).await?;
    Ok(HttpResponse::Ok().json(PartsBody {
        import_id: id,
        state: progress.record.state,
        parts: parts.n_parts,
        counts: parts.counts,
        stale_comparison_ids: parts.stale,
    }))
}

/// `GET /v1/imports/{id}`: the record.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: ImportId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let tenant = api.tenant.clone();
    let found = api.service.store().read(move |store| store.import(&tenant, id)).await?;
    Ok(HttpResponse::Ok().json(ProgressBody::from(found)))
}

/// A record, of a file of many meter points with how many of them are in which state.
#[derive(Serialize)]
pub(super) struct ProgressBody {
    #[serde(flatten)]
    record: ImportRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    meter_points: Option<MeterPointCounts>,
    /// Customers whose readings are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    customers: Option<u64>,
}

impl From<ImportProgress> for ProgressBody {
    fn from(progress: ImportProgress) -> Self {
        Self { record: progress.record, meter_points: progress.meter_points, customers: progress.n_customers }
    }
}

/// What becomes of readings that differ.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn on_conflict(text: Option<&str>) -> Result<OnConflict, Problem> {
    let rules = [("replace", OnConflict::Replace), ("keep", OnConflict::Keep), ("refuse", OnConflict::Refuse)];
    Ok(choice("on_conflict", text, &rules)?.unwrap_or_default())
}

/// The name of a file.
///
/// # Errors
/// 400 `invalid_parameter` for a long one.
pub(super) fn file_name(name: Option<String>) -> Result<Option<String>, Problem> {
    if name.as_ref().is_some_and(|name| name.chars().count() > 255) {
        let detail = "a file name has at most 255 characters";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("file_name"));
    }
    Ok(name)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    customer_id: Option<String>,
    part_of: Option<String>,
    sha256: Option<String>,
    state: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

const COLUMNS: [&str; 17] = [
    "created_at",
    "id",
    "kind",
    "state",
    "customer_id",
    "file_name",
    "sha256",
    "format",
    "size_bytes",
    "added",
    "replaced",
    "removed",
    "filled",
    "kept",
    "unchanged",
    "revision_before",
    "revision_after",
];

/// `GET /v1/imports?customer_id=&part_of=&sha256=&state=`, newest first. The parts of a file of many meter points are shown for
/// their customer, and with `part_of`.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let before: Option<ImportId> = parameter("cursor", parameters.cursor.as_deref())?;
    let states = ImportState::ALL.map(|state| (state.as_str(), state));
    let filter = ImportFilter {
        customer_id: parameter("customer_id", parameters.customer_id.as_deref())?,
        part_of: parameter("part_of", parameters.part_of.as_deref())?,
        sha256: parameters.sha256.as_deref().map(digest).transpose()?,
        state: choice("state", parameters.state.as_deref(), &states)?,
    };
    let tenant = api.tenant.clone();
    let items = api.service.store().read(move |store| store.list_imports(&tenant, &filter, before, limit + 1)).await?;
    let cursor = |last: &ImportRow| last.id.to_string();
    if !prefers_csv(&request) {
        return Ok(page(&request, items, limit, cursor));
    }
    csv_page(&request, &COLUMNS, items, limit, cursor, |item| {
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        let counts = &item.counts;
        vec![
            item.created_at.to_string(),
            item.id.to_string(),
            item.kind.as_str().to_owned(),
            item.state.as_str().to_owned(),
            item.customer_id.as_ref().map(CustomerId::to_string).unwrap_or_default(),
            item.file_name.clone().unwrap_or_default(),
            item.sha256.clone(),
            item.format.clone(),
            item.n_bytes.to_string(),
            counts.added.to_string(),
            counts.replaced.to_string(),
            counts.removed.to_string(),
            counts.filled.to_string(),
            counts.kept.to_string(),
            counts.unchanged.to_string(),
            number(item.revision_before),
            number(item.revision_after),
        ]
    })
}

fn digest(text: &str) -> Result<[u8; 32], Problem> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest)
        .map_err(|_| Problem::new(Code::InvalidParameter, "sha256 is 64 hexadecimal digits").of_parameter("sha256"))?;
    Ok(digest)
}
