//! `/v1/customers/{id}/usage`: readings in, readings out.

use std::ops::Range;

use actix_web::HttpRequest;
use actix_web::web::{Data, Payload};
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::{Code, Problem};
use super::lists::{page, page_size};
use super::request::{choice, expect_media_type, is_true, parameter, path_id, query, required};
use super::upload::{MEDIA_TYPES, channel_choices, reading_query, spool};
use super::{Answered, Api, customers, imports};
use crate::comparison::question::date;
use crate::engine;
use crate::store::{FillZero, ImportSource, UsageImport};
use crate::usage::{self, Channel, Quality, Reading, kwh};
use crate::words::{BillingPeriod, CustomerId, ImportId};

/// Most readings of a page.
pub(super) const MAX_READINGS: u32 = 10_000;

/// Longest range of readings that is read or filled at once.
const MAX_RANGE_DAYS: i64 = 400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportParameters {
    channel: Option<String>,
    on_conflict: Option<String>,
    file_name: Option<String>,
    fill: Option<String>,
    fill_start: Option<String>,
    fill_end: Option<String>,
    dry_run: Option<String>,
}

/// `POST /v1/customers/{id}/usage?time_zone=&as=&unit=&stamp=&date_order=&channel=&on_conflict=&fill=zero&dry_run=`: all
/// readings of a file or none. Local times without an offset are in the customer's time zone unless another is given.
///
/// The body is spooled and parsed to its end before the transaction begins.
pub(super) async fn import(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let (mut options, parameters): (_, ImportParameters) = reading_query(&request)?;
    options.channels = channel_choices(parameters.channel.as_deref())?;
    let on_conflict = imports::on_conflict(parameters.on_conflict.as_deref())?;
    let file_name = imports::file_name(parameters.file_name.clone())?;
    expect_media_type(&request, &MEDIA_TYPES)?;
    let dry_run = is_true("dry_run", parameters.dry_run.as_deref())?;
    let customer = customers::read(&api, id).await?;
    let fill = fill_of(&parameters, customer.document.time_zone)?;
    options.time_zone.get_or_insert(customer.document.time_zone);

    let spooled = spool(&api, &request, payload).await?;
    let n_bytes = spooled.n_bytes;
    let _permit = api.service.file_permit(&api.tenant, &customer.id).await?;
    let (parsed, sha256) =
        api.service.blocking(move || usage::read(spooled.file, &options).map(|read| (read, spooled.sha256))).await??;
    let import = UsageImport {
        id: ImportId::new(),
        readings: parsed.readings,
        on_conflict,
        fill,
        source: ImportSource {
            file_name,
            sha256,
            format: parsed.format.to_owned(),
            n_bytes,
            rows: parsed.n_rows,
            exact_repeats: parsed.exact_repeats,
            blank: parsed.blank,
            choices: json!(parsed.sources),
            warnings: json!(parsed.warnings),
        },
    };
    api.service.stop_at("import::read").await?;
    imports::answer_usage(&api, &customer, import, dry_run).await
}

/// Which gaps `fill=zero` speaks of: between the file's first and last reading of a channel, or from `fill_start` to
/// `fill_end`.
fn fill_of(parameters: &ImportParameters, time_zone: Tz) -> Result<Option<FillZero>, Problem> {
    let is_asked = choice("fill", parameters.fill.as_deref(), &[("zero", true)])?.unwrap_or(false);
    let (start, end) = (parameters.fill_start.as_deref(), parameters.fill_end.as_deref());
    if !is_asked {
        let given = [("fill_start", start), ("fill_end", end)].into_iter().find(|(_, text)| text.is_some());
        return given.map_or(Ok(None), |(name, _)| {
            Err(Problem::new(Code::InvalidParameter, format!("{name} goes with fill=zero")).of_parameter(name))
        });
    }
    if start.is_none() && end.is_none() {
        return Ok(Some(FillZero::WithinFile));
    }
    let range = bound("fill_start", start, time_zone)?..bound("fill_end", end, time_zone)?;
    check_range(&range, MAX_RANGE_DAYS, "fill_end")?;
    Ok(Some(FillZero::Within(range)))
}

/// Refuses a range of time that is empty or too long.
///
/// # Errors
/// 400 naming the parameter of its end.
pub(super) fn check_range(range: &Range<i64>, max_days: i64, name: &str) -> Result<(), Problem> {
    if !range.is_empty() && range.end - range.start <= (max_days + 1) * 86_400 {
        return Ok(());
    }
    let detail = format!("a range ends after it starts and has at most {max_days} days");
    Err(Problem::new(Code::InvalidParameter, detail).of_parameter(name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadParameters {
    start: Option<String>,
    end: Option<String>,
    channel: Option<String>,
    revision: Option<String>,
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
            kwh: kwh(reading.milliwatt_hours.into()),
            quality: reading.quality,
            place: (reading.start, channel.clone()),
        }
    }
}

/// Seconds since the epoch as RFC 3339 in UTC.
pub(super) fn rfc3339(seconds: i64) -> String {
    DateTime::<Utc>::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// `GET /v1/customers/{id}/usage?start=&end=&channel=&revision=`: readings that start in the range, by start and channel. Bounds are
/// instants, or local dates of the customer's clock; at most 400 days. With a revision, as they stood then.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: ReadParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_READINGS)?;
    let channel: Option<Channel> = parameter("channel", parameters.channel.as_deref())?;
    let cursor = parameters.cursor.as_deref().map(read_cursor).transpose()?;
    let customer = customers::read(&api, id.clone()).await?;
    let bound = |name: &str, text: Option<&str>| bound(name, text, customer.document.time_zone);
    let (start, end) = (bound("start", parameters.start.as_deref())?, bound("end", parameters.end.as_deref())?);
    check_range(&(start..end), MAX_RANGE_DAYS, "end")?;
    let revision: Option<i64> = parameter("revision", parameters.revision.as_deref())?;

    let tenant = api.tenant.clone();
    let stored = api
        .service
        .store()
        .read(move |store| match revision {
            Some(revision) => store.usage_at_revision(&tenant, &id, start..end, revision),
            None => store.usage(&tenant, &id, start..end),
        })
        .await?;
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

/// Start and channel of the last reading of the page before.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn read_cursor(text: &str) -> Result<(i64, Channel), Problem> {
    let parts = text.split_once('.').and_then(|(start, channel)| Some((start.parse().ok()?, channel.parse().ok()?)));
    parts.ok_or_else(|| {
        let detail = "this is no cursor; take it from the member next of the page before";
        Problem::new(Code::InvalidParameter, detail).of_parameter("cursor")
    })
}

/// An instant, or the start of a local day.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn bound(name: &str, text: Option<&str>, time_zone: Tz) -> Result<i64, Problem> {
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
