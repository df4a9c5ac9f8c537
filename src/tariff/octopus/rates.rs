//! Lists of rates: each price with the instants between which it holds.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chrono::{DateTime, NaiveTime, SecondsFormat, Utc};
use chrono_tz::Europe::London;
use serde_json::{Map, Value, json};

use super::super::foreign::{ForeignOptions, Place, Vat};
use super::pounds;

/// Most prices of one file: half hours of some five years.
const MAX_PRICES: i64 = 100_000;

/// A price and when it holds.
struct Row<'a> {
    place: Place<'a>,
    price: String,
    method: Option<&'a str>,
    from: Option<DateTime<Utc>>,
    to: Option<DateTime<Utc>>,
}

/// The prices of a list as one price, as one `by_date` where they change at midnight in London, or by the price series of
/// this name where they change inside a day.
pub(super) fn price_by_date_or_series(list: &Place<'_>, options: &ForeignOptions, series: &str) -> Option<Value> {
    let rows = sorted_rows(list, options)?;
    let is_midnight = |instant: &DateTime<Utc>| instant.with_timezone(&London).time() == NaiveTime::MIN;
    if rows.iter().flat_map(|row| [row.from, row.to]).flatten().all(|instant| is_midnight(&instant)) {
        return by_date(&rows);
    }
    Some(json!({"series": series}))
}

/// The prices of a list as one price, or as one `by_date` where they change at midnight in London.
pub(super) fn price_by_date(list: &Place<'_>, options: &ForeignOptions) -> Option<Value> {
    by_date(&sorted_rows(list, options)?)
}

/// The prices of a list as rows `start,price` of equal length, pounds a kWh, and that length in minutes: the widest, at
/// most an hour, at which every price begins and ends.
pub(super) fn prices(list: &Place<'_>, options: &ForeignOptions) -> Option<(String, u32)> {
    let rows = sorted_rows(list, options)?;
    let mut spans = Vec::with_capacity(rows.len());
    for row in &rows {
        let (Some(from), Some(to)) = (row.from, row.to) else {
            let message = "a price of a series begins and ends: write the instants between which it is to hold";
            row.place.fault("missing_field", message);
            continue;
        };
        spans.push((from.timestamp(), to.timestamp(), &row.price));
    }
    let seconds = spans.iter().fold(3600, |step, (from, to, _)| gcd(gcd(step, *from), *to));
    if seconds % 60 != 0 {
        list.fault("out_of_range", "prices begin and end on whole minutes");
        return None;
    }
    let mut csv = "start,price\n".to_owned();
    let n_prices: i64 = spans.iter().map(|(from, to, _)| (to - from) / seconds).sum();
    if n_prices > MAX_PRICES {
        list.fault("too_many", format!("these are {n_prices} prices, at most {MAX_PRICES} can be read at once"));
        return None;
    }
    for (from, to, price) in spans {
        for start in (from..to).step_by(usize::try_from(seconds).unwrap_or(3600)) {
            let start = DateTime::from_timestamp(start, 0)?.to_rfc3339_opts(SecondsFormat::Secs, true);
            let _ = writeln!(csv, "{start},{price}");
        }
    }
    Some((csv, u32::try_from(seconds / 60).ok()?))
}

/// Rows of one payment method by the instant from which each holds; none overlap.
fn sorted_rows<'a>(list: &Place<'a>, options: &ForeignOptions) -> Option<Vec<Row<'a>>> {
    let rows = rows(list, options.vat)?;
    let mut rows = of_method(list, rows, options.payment_method.as_deref())?;
    rows.sort_by_key(|row| row.from);
    for pair in rows.windows(2) {
        let [earlier, later] = pair else { continue };
        if later.from.is_none() || earlier.to.is_none_or(|to| later.from < Some(to)) {
            let message = format!("it holds while the price at {} does", earlier.place.pointer);
            later.place.fault("overlapping_rates", message);
            return None;
        }
    }
    Some(rows)
}

fn by_date(rows: &[Row<'_>]) -> Option<Value> {
    for pair in rows.windows(2) {
        let [earlier, later] = pair else { continue };
        if earlier.to < later.from {
            let message =
                format!("no price holds between the end of {} and the beginning of this one", earlier.place.pointer);
            later.place.fault("uncovered_time", message);
            return None;
        }
    }
    let newest = rows.last()?;
    let end = newest.to.map(|to| (to, &newest.place, "valid_to"));
    if rows.len() == 1 && newest.from.is_none() && end.is_none() {
        return Some(newest.price.as_str().into());
    }
    let mut by_date = Map::new();
    let mut before: Option<&str> = None;
    for row in rows {
        if before.replace(&row.price) == Some(&row.price) {
            continue;
        }
        let date = match row.from {
            Some(from) => london_date(from, &row.place, "valid_from")?,
            None => "1970-01-01".to_owned(),
        };
        by_date.insert(date, row.price.as_str().into());
    }
    if let Some((to, place, member)) = end {
        // From here on there is no price, and none is made up: a value that begins in the far future is none.
        by_date.insert(london_date(to, place, member)?, json!({"by_date": {"2199-12-31": "0"}}));
    }
    Some(json!({"by_date": by_date}))
}

fn rows<'a>(list: &Place<'a>, vat: Vat) -> Option<Vec<Row<'a>>> {
    let items = if list.json.get("results").is_some() {
        let reply = list.members()?;
        if let Some(next) = reply.take("next") {
            next.fault("incomplete", "the list goes on at this address: put the rows of all its pages into results");
        }
        let items = reply.items("results");
        reply.finish(&["count", "previous"], &[]);
        items
    } else {
        list.items()
    };
    if items.is_empty() {
        list.fault("missing_field", "there is no price in this list");
    }
    let rows: Vec<Option<Row<'a>>> = items.iter().map(|item| row(item, vat)).collect();
    rows.into_iter().collect::<Option<Vec<_>>>().filter(|rows| !rows.is_empty())
}

fn row<'a>(place: &Place<'a>, vat: Vat) -> Option<Row<'a>> {
    let members = place.members()?;
    let (counts, other) =
        if vat == Vat::Inc { ("value_inc_vat", "value_exc_vat") } else { ("value_exc_vat", "value_inc_vat") };
    members.take(other);
    let price = members.want(counts).and_then(|place| pounds(&place));
    let method = members.text("payment_method");
    let [from, to] = ["valid_from", "valid_to"].map(|name| members.take(name).map(|place| instant(&place)));
    members.finish(&[], &[]);
    // Open where the member is not there, a fault where it cannot be read.
    let (from, to) = (from.map_or(Some(None), |read| read.map(Some))?, to.map_or(Some(None), |read| read.map(Some))?);
    if let (Some(from), Some(to)) = (from, to)
        && to <= from
    {
        place.fault("bad_date", "it ends before it begins");
        return None;
    }
    Some(Row { place: place.clone(), price: price?.to_string(), method, from, to })
}

/// The rows of the payment method: rows without one are everybody's.
fn of_method<'a>(list: &Place<'a>, rows: Vec<Row<'a>>, wanted: Option<&str>) -> Option<Vec<Row<'a>>> {
    let methods: BTreeSet<&str> = rows.iter().filter_map(|row| row.method).collect();
    let known = methods.iter().copied().collect::<Vec<_>>().join(", ");
    let wanted = match (wanted, methods.len()) {
        (_, 0) | (None, 1) => return Some(rows),
        (Some(wanted), _) if methods.contains(wanted) => wanted,
        (Some(wanted), _) => {
            list.fault("unknown_name", format!("there is no payment_method {wanted:?} in it; there are {known}"));
            return None;
        }
        (None, _) => {
            list.fault("option_needed", format!("it holds several prices: give payment_method, one of {known}"));
            return None;
        }
    };
    Some(rows.into_iter().filter(|row| row.method.is_none_or(|method| method == wanted)).collect())
}

fn instant(place: &Place<'_>) -> Option<DateTime<Utc>> {
    let text = place.text()?;
    match DateTime::parse_from_rfc3339(text) {
        Ok(instant) => Some(instant.to_utc()),
        Err(e) => {
            place.fault("bad_date", format!("{text:?} is no instant: {e}"));
            None
        }
    }
}

/// The date that begins at this instant in London.
fn london_date(instant: DateTime<Utc>, place: &Place<'_>, member: &str) -> Option<String> {
    let local = instant.with_timezone(&London);
    if local.time() == NaiveTime::MIN {
        return Some(local.date_naive().to_string());
    }
    let message =
        format!("it changes at {}, inside a day: that can be billed of standard-unit-rates only", local.time());
    place.fault_at(&format!("{}/{member}", place.pointer), "not_supported_yet", message);
    None
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
