//! Readings with the totals that a published bill gives.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Timelike, Weekday};
use chrono_tz::Tz;
use rust_decimal::{Decimal, prelude::ToPrimitive};
use samebill::usage::{Channel, Quality, Reading, Series};

use super::case::{Bill, Recipe, RecipePart, SeriesColumns};

/// The readings of a bill, by channel.
pub(crate) fn make(bill: &Bill, zone: Tz, published: &Path) -> BTreeMap<Channel, Series> {
    let readings_of = |recipe: &Recipe| match &recipe.file {
        Some(file) => from_file(&published.join(file), recipe.minutes),
        None => from_parts(bill, recipe, zone),
    };
    bill.readings.iter().map(|(channel, recipe)| (channel.clone(), Series::from_sorted(&readings_of(recipe)))).collect()
}

/// kWh of the readings that start on the bill's own days.
pub(crate) fn kwh_of_period(series: &Series, bill: &Bill, zone: Tz) -> Decimal {
    let (start, end) = (midnight(zone, bill.period.start()), midnight(zone, bill.period.end()));
    let sum: i64 = series.readings().filter(|r| (start..end).contains(&r.start)).map(|r| r.milliwatt_hours).sum();
    Decimal::new(sum, 6)
}

/// Prices of a series by the instant from which each holds, seconds since the epoch.
pub(crate) fn prices(columns: &SeriesColumns, published: &Path) -> BTreeMap<i64, Decimal> {
    let rows = rows(&published.join(&columns.file));
    rows.iter()
        .map(|row| (instant(&row["start"]), decimal(&row[&columns.plus]) - decimal(&row[&columns.minus])))
        .collect()
}

fn from_file(path: &Path, minutes: u32) -> Vec<Reading> {
    rows(path)
        .iter()
        .map(|row| reading(instant(&row["start"]), minutes, milliwatt_hours(decimal(&row["kwh"]))))
        .collect()
}

fn from_parts(bill: &Bill, recipe: &Recipe, zone: Tz) -> Vec<Reading> {
    let first = midnight(zone, recipe.from.unwrap_or(bill.period.start()));
    let end = midnight(zone, bill.period.end());
    let starts: Vec<i64> = (first..end).step_by(recipe.minutes as usize * 60).collect();
    let mut energy: Vec<Option<i64>> = vec![None; starts.len()];
    for part in &recipe.parts {
        let matches = |i: &usize| {
            let local = DateTime::from_timestamp(starts[*i], 0).expect("an instant").with_timezone(&zone).naive_local();
            energy[*i].is_none() && part_holds(part, local, bill)
        };
        let chosen: Vec<usize> = (0..starts.len()).filter(matches).collect();
        assert!(!chosen.is_empty(), "a part fills no interval: {part:?}");
        let count = i64::try_from(chosen.len()).expect("a count");
        for (n, i) in (0i64..).zip(chosen) {
            energy[i] = Some(match (part.kw, part.kwh) {
                (Some(kw), None) => milliwatt_hours(kw * Decimal::from(recipe.minutes) / Decimal::from(60)),
                (None, Some(kwh)) => {
                    let whole = milliwatt_hours(kwh);
                    whole * (n + 1) / count - whole * n / count
                }
                _ => panic!("a part has kw or kwh: {part:?}"),
            });
        }
    }
    let filled = |(start, energy): (&i64, &Option<i64>)| {
        reading(*start, recipe.minutes, energy.unwrap_or_else(|| panic!("no part fills {start}")))
    };
    starts.iter().zip(&energy).map(filled).collect()
}

fn part_holds(part: &RecipePart, local: NaiveDateTime, bill: &Bill) -> bool {
    let date = local.date();
    let minute = local.time().hour() * 60 + local.time().minute();
    let is_holiday = bill.calendars.values().flatten().any(|holiday| *holiday == date);
    let is_day = |day: &String| match day.as_str() {
        "holiday" => is_holiday,
        day => day.parse::<Weekday>().expect("a weekday") == date.weekday(),
    };
    (part.at.is_empty() || part.at.contains(&local))
        && part.from.is_none_or(|from| date >= from)
        && part.to.is_none_or(|to| date < to)
        && (part.days.is_empty() || part.days.iter().any(is_day))
        && (part.hours.is_empty() || part.hours.iter().any(|(start, end)| (*start..*end).contains(&minute)))
}

fn reading(start: i64, minutes: u32, milliwatt_hours: i64) -> Reading {
    Reading { start, seconds: minutes * 60, milliwatt_hours, quality: Quality::Measured }
}

/// The first instant of a local day, found without the engine that is being tested.
fn midnight(zone: Tz, day: NaiveDate) -> i64 {
    let mut candidates =
        (0..24 * 4).map(|quarter| day.and_time(NaiveTime::MIN) + chrono::Duration::minutes(15 * quarter));
    let exists = |local: NaiveDateTime| zone.from_local_datetime(&local).earliest();
    candidates.find_map(exists).unwrap_or_else(|| panic!("{day} has no instant")).timestamp()
}

fn milliwatt_hours(kwh: Decimal) -> i64 {
    let whole = kwh * Decimal::from(1_000_000);
    assert!(whole.fract().is_zero(), "{kwh} kWh is no whole number of milliwatt-hours");
    whole.to_i64().expect("fits")
}

fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn instant(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).expect("an instant").timestamp()
}

fn decimal(text: &str) -> Decimal {
    Decimal::from_str_exact(text).expect("a decimal")
}

/// Readings follow each other without a gap from the first day to the last.
pub(crate) fn are_complete(series: &Series, bill: &Bill, recipe: &Recipe, zone: Tz) -> bool {
    let first = midnight(zone, recipe.from.unwrap_or(bill.period.start()));
    let end = midnight(zone, bill.period.start() + Days::new(bill.period.n_days().unsigned_abs()));
    matches!(series.runs(), [run] if run.start == first && run.end() == end && run.seconds == recipe.minutes * 60)
}
