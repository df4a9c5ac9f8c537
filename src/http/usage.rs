//! `/v1/customers/{id}/usage`: readings in, readings out.

use std::io::{Seek as _, SeekFrom, Write as _};

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use futures_util::StreamExt as _;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, page, page_size};
use super::request::{
    choice, expect_media_type, parameter, path_id, payload_problem, query, refuse_announced_size, required, too_large,
};
use super::{Answered, Api, customers};
use crate::comparison::question::date;
use crate::engine;
use crate::store::{OnConflict, UsageImport};
use crate::usage::{self, Channel, Quality, ReadOptions, Reading};
use crate::words::{BillingPeriod, CustomerId, Timestamp};

/// Bytes of a body that are held in memory before they go to the spool.
const SPOOL_CHUNK: usize = 1024 * 1024;

/// Most readings of a page.
const MAX_READINGS: u32 = 10_000;

const MEDIA_TYPES: [&str; 3] = ["text/csv", "application/json", "application/octet-stream"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportParameters {
    time_zone: Option<String>,
    on_conflict: Option<String>,
    file_name: Option<String>,
}

/// `POST /v1/customers/{id}/usage?time_zone=&on_conflict=`: all readings of a file or none.
///
/// The body is spooled and parsed to its end before the transaction begins.
pub(super) async fn import(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: ImportParameters = query(&request)?;
    let time_zone: Option<Tz> = parameter("time_zone", parameters.time_zone.as_deref())?;
    let on_conflict = choice(
        "on_conflict",
        parameters.on_conflict.as_deref(),
        &[("replace", OnConflict::Replace), ("keep", OnConflict::Keep), ("refuse", OnConflict::Refuse)],
    )?;
    if parameters.file_name.as_ref().is_some_and(|name| name.chars().count() > 255) {
        let detail = "a file name has at most 255 characters";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("file_name"));
    }
    expect_media_type(&request, &MEDIA_TYPES)?;
    customers::read(&api, id.clone()).await?;

    let spooled = spool(&api, &request, payload).await?;
    let options = ReadOptions { time_zone, ..ReadOptions::default() };
    let _permit = api.service.import_permit().await?;
    let (parsed, sha256) =
        api.service.blocking(move || usage::read(spooled.file, &options).map(|read| (read, spooled.sha256))).await??;
    let import = UsageImport {
        readings: parsed.readings,
        on_conflict: on_conflict.unwrap_or_default(),
        file_name: parameters.file_name,
        sha256,
        format: parsed.format.to_owned(),
    };
    let (tenant, customer) = (api.tenant.clone(), id.clone());
    let outcome = api
        .service
        .store()
        .write(move |store| store.import_usage(&tenant, &customer, &import, Timestamp::now()))
        .await?;
    Ok(HttpResponse::Ok().json(json!({
        "customer_id": id,
        "format": parsed.format,
        "sha256": hex::encode(sha256),
        "rows": parsed.n_rows,
        "exact_repeats": parsed.exact_repeats,
        "blank": parsed.blank,
        "added": outcome.added,
        "replaced": outcome.replaced,
        "kept": outcome.kept,
        "unchanged": outcome.unchanged,
        "revision_before": outcome.revision_before,
        "revision_after": outcome.revision_after,
        "stale_comparison_ids": outcome.stale,
        "warnings": parsed.warnings,
    })))
}

struct Spooled {
    file: tempfile::SpooledTempFile,
    sha256: [u8; 32],
}

/// Writes a body to a temporary file, a chunk at a time on a blocking thread; small ones stay in memory.
async fn spool(api: &Api, request: &HttpRequest, mut payload: Payload) -> Result<Spooled, Problem> {
    let max_bytes = api.settings.max_usage_bytes;
    refuse_announced_size(request, max_bytes)?;
    let mut file = tempfile::spooled_tempfile(SPOOL_CHUNK);
    let mut hash = Sha256::new();
    let mut n_bytes = 0;
    let mut pending = Vec::new();
    loop {
        let chunk = payload.next().await.transpose().map_err(|error| payload_problem(&error))?;
        let at_end = chunk.is_none();
        if let Some(chunk) = chunk {
            n_bytes += chunk.len() as u64;
            if n_bytes > max_bytes {
                return Err(too_large(max_bytes));
            }
            pending.extend_from_slice(&chunk);
        }
        if at_end || pending.len() >= SPOOL_CHUNK {
            let bytes = std::mem::take(&mut pending);
            let written = api.service.blocking(move || {
                hash.update(&bytes);
                file.write_all(&bytes).map(|()| (file, hash))
            });
            (file, hash) = written.await?.map_err(|error| Problem::internal(format!("the spool: {error}")))?;
        }
        if at_end {
            file.seek(SeekFrom::Start(0)).map_err(|error| Problem::internal(format!("the spool: {error}")))?;
            return Ok(Spooled { file, sha256: hash.finalize().into() });
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadParameters {
    start: Option<String>,
    end: Option<String>,
    channel: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct ReadingBody {
    channel: Channel,
    start: String,
    end: String,
    kwh: String,
    quality: Quality,
    #[serde(skip)]
    place: (i64, Channel),
}

impl ReadingBody {
    fn new(channel: &Channel, reading: &Reading) -> Self {
        Self {
            channel: channel.clone(),
            start: rfc3339(reading.start),
            end: rfc3339(reading.end()),
            kwh: Decimal::new(reading.milliwatt_hours, 6).normalize().to_string(),
            quality: reading.quality,
            place: (reading.start, channel.clone()),
        }
    }
}

fn rfc3339(seconds: i64) -> String {
    DateTime::<Utc>::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// `GET /v1/customers/{id}/usage?start=&end=&channel=`: readings that start in the range, by start and channel. Bounds are
/// instants, or local dates of the customer's clock; at most 400 days.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: ReadParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_READINGS)?;
    let channel: Option<Channel> = parameter("channel", parameters.channel.as_deref())?;
    let cursor = parameters.cursor.as_deref().map(read_cursor).transpose()?;
    let customer = customers::read(&api, id.clone()).await?;
    let bound = |name: &str, text: Option<&str>| bound(name, text, customer.document.time_zone);
    let (start, end) = (bound("start", parameters.start.as_deref())?, bound("end", parameters.end.as_deref())?);
    if end <= start || end - start > 401 * 86_400 {
        let detail = "a range ends after it starts and has at most 400 days";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("end"));
    }

    let tenant = api.tenant.clone();
    let stored = api.service.store().read(move |store| store.usage(&tenant, &id, start..end)).await?;
    let mut items: Vec<ReadingBody> = stored
        .readings
        .iter()
        .filter(|(name, _)| channel.as_ref().is_none_or(|channel| channel == *name))
        .flat_map(|(name, series)| series.readings().map(move |reading| ReadingBody::new(name, &reading)))
        .filter(|item| cursor.as_ref().is_none_or(|cursor| item.place > *cursor))
        .collect();
    items.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(page(&request, items, limit, |last| format!("{}.{}", last.place.0, last.place.1)))
}

fn read_cursor(text: &str) -> Result<(i64, Channel), Problem> {
    let parts = text.split_once('.').and_then(|(start, channel)| Some((start.parse().ok()?, channel.parse().ok()?)));
    parts.ok_or_else(|| {
        let detail = "this is no cursor; take it from the member next of the page before";
        Problem::new(Code::InvalidParameter, detail).of_parameter("cursor")
    })
}

fn bound(name: &str, text: Option<&str>, time_zone: Tz) -> Result<i64, Problem> {
    let text = required(name, text)?;
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Ok(instant.timestamp());
    }
    let day = date(text).ok().and_then(|day| BillingPeriod::new(day, day.succ_opt()?).ok());
    if let Some(day) = day {
        return Ok(engine::instants(time_zone, &day).start);
    }
    let detail = format!("{name} is a date or an instant (a + is written %2B), not {text:?}");
    Err(Problem::new(Code::InvalidParameter, detail).of_parameter(name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevisionParameters {
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/customers/{id}/usage/revisions`: what each import changed, oldest first.
pub(super) async fn revisions(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: RevisionParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: i64 = parameter("cursor", parameters.cursor.as_deref())?.unwrap_or(0);
    customers::read(&api, id.clone()).await?;
    let tenant = api.tenant.clone();
    let found = api.service.store().read(move |store| store.usage_revisions(&tenant, &id, after, limit + 1)).await?;
    let items: Vec<serde_json::Value> = found
        .iter()
        .map(|entry| {
            json!({
                "revision": entry.revision,
                "created_at": entry.created_at,
                "first_start": rfc3339(entry.first_start),
                "last_end": rfc3339(entry.last_end),
                "added": entry.added,
                "replaced": entry.replaced,
                "file_name": entry.file_name,
                "format": entry.format,
                "sha256": entry.sha256,
            })
        })
        .collect();
    Ok(page(&request, items, limit, |last| last["revision"].to_string()))
}
