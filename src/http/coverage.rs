//! `/v1/customers/{id}/usage/coverage`: what readings there are in each local month, and what is missing.

use std::ops::Range;

use actix_web::HttpRequest;
use actix_web::web::Data;
use chrono::{DateTime, Datelike as _, Months, NaiveDate};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::lists::{csv_page, page_of, page_size};
use super::request::{parameter, path_id, prefers_csv, query};
use super::usage::{bound, check_range, rfc3339};
use super::{Answered, Api, customers};
use crate::engine;
use crate::usage::{Channel, MonthCoverage, MonthSpan, Quality, coverage, kwh};
use crate::words::{BillingPeriod, CustomerId};

/// Longest range of which the coverage is told, days.
const MAX_RANGE_DAYS: i64 = 3_660;

/// Most months of a page, each channel's counted on its own.
const MAX_MONTHS: u32 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    start: Option<String>,
    end: Option<String>,
    channel: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Head {
    customer_id: CustomerId,
    /// `null` where nothing is stored and no range was asked for.
    start: Option<String>,
    end: Option<String>,
}

#[derive(Serialize)]
struct QualityCounts {
    measured: u64,
    substituted: u64,
    estimated: u64,
    filled_zero: u64,
    missing: u64,
}

#[derive(Serialize)]
struct GapBody {
    start: String,
    end: String,
    intervals: u64,
}

#[derive(Serialize)]
struct MonthBody {
    channel: Channel,
    /// `2026-06`.
    month: String,
    days: u32,
    expected_intervals: u64,
    intervals: u64,
    /// As decimals of minutes: the length of each kind of reading.
    interval_minutes: Vec<u32>,
    kwh: String,
    quality: QualityCounts,
    gaps: Vec<GapBody>,
}

impl MonthBody {
    fn new(channel: &Channel, month: &MonthSpan, found: &MonthCoverage) -> Self {
        let count = |quality| found.qualities.get(&quality).copied().unwrap_or(0);
        Self {
            channel: channel.clone(),
            month: month.start.format("%Y-%m").to_string(),
            days: month.n_days,
            expected_intervals: found.expected_intervals,
            intervals: found.intervals,
            interval_minutes: found.lengths.iter().map(|seconds| seconds / 60).collect(),
            kwh: kwh(found.milliwatt_hours),
            quality: QualityCounts {
                measured: count(Quality::Measured),
                substituted: count(Quality::Substituted),
                estimated: count(Quality::Estimated),
                filled_zero: count(Quality::FilledZero),
                missing: count(Quality::Missing),
            },
            gaps: found
                .gaps
                .iter()
                .map(|(gap, n)| GapBody { start: rfc3339(gap.start), end: rfc3339(gap.end), intervals: *n })
                .collect(),
        }
    }
}

const COLUMNS: [&str; 13] = [
    "channel",
    "month",
    "days",
    "expected_intervals",
    "intervals",
    "interval_minutes",
    "kwh",
    "measured",
    "substituted",
    "estimated",
    "filled_zero",
    "missing",
    "gaps",
];

/// `GET /v1/customers/{id}/usage/coverage?start=&end=&channel=`: one item a channel and local month, also where a month has no
/// reading. Without bounds: the local months from the first to the last reading.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    let parameters: Parameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_MONTHS)?;
    let channel: Option<Channel> = parameter("channel", parameters.channel.as_deref())?;
    let after: usize = parameter("cursor", parameters.cursor.as_deref())?.unwrap_or(0);
    let customer = customers::read(&api, id.clone()).await?;
    let zone = customer.document.time_zone;
    let asked = match (parameters.start.as_deref(), parameters.end.as_deref()) {
        (None, None) => None,
        (start, end) => {
            let range = bound("start", start, zone)?..bound("end", end, zone)?;
            check_range(&range, MAX_RANGE_DAYS, "end")?;
            Some(range)
        }
    };
    let (tenant, window) = (api.tenant.clone(), asked.clone());
    let stored = api.service.store().read(move |store| store.readings(&tenant, &id, window)).await?;
    let stored: Vec<_> = stored
        .into_iter()
        .filter(|(name, readings)| !readings.is_empty() && channel.as_ref().is_none_or(|channel| channel == name))
        .collect();
    let first = stored.iter().filter_map(|(_, readings)| readings.first()).map(|reading| reading.start).min();
    let last = stored.iter().filter_map(|(_, readings)| readings.last()).map(|reading| reading.start).max();
    let range = asked.or_else(|| whole_months(&(first?..last?), zone));
    let items = api
        .service
        .blocking({
            let range = range.clone();
            move || {
                let months = range.map(|range| months_of(&range, zone)).unwrap_or_default();
                let of_channel = |(channel, readings): &(Channel, Vec<_>)| {
                    let found = coverage(readings, &months);
                    let body = |(month, found)| MonthBody::new(channel, month, found);
                    months.iter().zip(&found).map(body).collect::<Vec<_>>()
                };
                stored.iter().flat_map(of_channel).collect::<Vec<_>>()
            }
        })
        .await?;
    let items: Vec<(usize, MonthBody)> = items.into_iter().enumerate().skip(after).collect();
    let cursor = |last: &(usize, MonthBody)| (last.0 + 1).to_string();
    if prefers_csv(&request) {
        return csv_page(&request, &COLUMNS, items, limit, cursor, |(_, item)| row(item));
    }
    let head = Head {
        customer_id: customer.id,
        start: range.as_ref().map(|range| rfc3339(range.start)),
        end: range.as_ref().map(|range| rfc3339(range.end)),
    };
    Ok(page_of(
        &request,
        head,
        items.into_iter().map(|(place, item)| Placed { place, item }).collect(),
        limit,
        |last| (last.place + 1).to_string(),
    ))
}

/// An item with its place in the list.
#[derive(Serialize)]
struct Placed {
    #[serde(skip)]
    place: usize,
    #[serde(flatten)]
    item: MonthBody,
}

fn row(item: &MonthBody) -> Vec<String> {
    let minutes: Vec<String> = item.interval_minutes.iter().map(u32::to_string).collect();
    let gaps: Vec<String> = item.gaps.iter().map(|gap| format!("{}/{}", gap.start, gap.end)).collect();
    let quality = &item.quality;
    vec![
        item.channel.to_string(),
        item.month.clone(),
        item.days.to_string(),
        item.expected_intervals.to_string(),
        item.intervals.to_string(),
        minutes.join(" "),
        item.kwh.clone(),
        quality.measured.to_string(),
        quality.substituted.to_string(),
        quality.estimated.to_string(),
        quality.filled_zero.to_string(),
        quality.missing.to_string(),
        gaps.join(" "),
    ]
}

/// The local day of an instant.
fn day_of(instant: i64, zone: Tz) -> Option<NaiveDate> {
    Some(DateTime::from_timestamp(instant, 0)?.with_timezone(&zone).date_naive())
}

/// From the start of the local month of the first instant to the end of that of the last; `None` outside the calendar.
fn whole_months(instants: &Range<i64>, zone: Tz) -> Option<Range<i64>> {
    let first = day_of(instants.start, zone)?.with_day(1)?;
    let last = day_of(instants.end, zone)?.with_day(1)?.checked_add_months(Months::new(1))?;
    Some(midnight(first, zone)?..midnight(last, zone)?)
}

fn midnight(day: NaiveDate, zone: Tz) -> Option<i64> {
    Some(engine::instants(zone, &BillingPeriod::new(day, day.succ_opt()?).ok()?).start)
}

/// The local months that a range touches, the first and the last cut to it. Days that it touches count.
fn months_of(range: &Range<i64>, zone: Tz) -> Vec<MonthSpan> {
    let mut months = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let Some(first) = day_of(start, zone) else { break };
        let next = first.with_day(1).and_then(|day| day.checked_add_months(Months::new(1)));
        let Some(end) = next.and_then(|next| midnight(next, zone)).filter(|end| *end > start) else { break };
        let end = end.min(range.end);
        let last = day_of(end - 1, zone).unwrap_or(first);
        let n_days = u32::try_from((last - first).num_days() + 1).unwrap_or(0);
        months.push(MonthSpan { start: first, n_days, instants: start..end });
        start = end;
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_local_and_cut_to_the_range() {
        let zone = chrono_tz::Europe::London;
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().timestamp();
        let months = months_of(&(at("2026-03-15T00:00:00Z")..at("2026-05-01T12:00:00Z")), zone);
        let told: Vec<_> = months.iter().map(|m| (m.start.to_string(), m.n_days)).collect();
        let day = |date: &str, n| (date.to_owned(), n);
        assert_eq!(told, [day("2026-03-15", 17), day("2026-04-01", 30), day("2026-05-01", 1)]);
        assert_eq!(months[0].instants.end, at("2026-03-31T23:00:00Z"));
        let whole = whole_months(&(at("2026-03-15T00:00:00Z")..at("2026-03-15T01:00:00Z")), zone).unwrap();
        assert_eq!(whole, at("2026-03-01T00:00:00Z")..at("2026-03-31T23:00:00Z"));
    }
}
