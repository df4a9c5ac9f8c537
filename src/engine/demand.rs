//! Demand beyond the highest single reading: the mean of several, windows longer than a reading, days and hours.

use std::collections::BTreeMap;
use std::ops::Range;

use super::document::Document;
use super::ground::{Ground, PlacedReading};
use super::measure::Stop;
use crate::tariff::model::{DayValue, DemandSpec, Distinct};
use crate::tariff::number::Exact;

/// A window's energy and where it begins; all windows of one need have one length.
#[derive(Debug, Clone, Copy)]
struct Window {
    day: usize,
    /// Hour of the local day; the repeated hour counts as one of its own.
    hour: i64,
    /// Energy in milliwatt-hours where windows have one length, else power in milliwatts.
    value: i64,
}

/// Demand of days, kW.
///
/// A window counts if all of its readings are there and lie in the period. Blocks begin at multiples of their length
/// on the local clock, sliding windows at every reading. With fewer values than `highest` the mean is of those
/// there are; without any, demand is 0.
pub(super) fn demand(
    ground: &Ground<'_>,
    document: &Document<'_>,
    spec: &DemandSpec,
    days: Range<usize>,
) -> Result<Exact, Stop> {
    if spec.day_value == DayValue::Mean {
        return Ok(mean_of_highest(day_means(ground, document, spec, days), spec.highest));
    }
    let (windows, per_value) = match spec.window_minutes {
        None => (own_intervals(ground, document, spec, days), Exact::scaled(1, 6)),
        Some(minutes) => {
            let per_hour = Exact::fraction(60, i64::from(minutes)).times(&Exact::scaled(1, 6));
            (windows(ground, document, spec, days, i64::from(minutes) * 60)?, per_hour)
        }
    };
    let values: Vec<i64> = match spec.distinct {
        Distinct::Readings => windows.iter().map(|window| window.value).collect(),
        Distinct::Hours => highest_by(&windows, |window| (window.day, window.hour)),
        Distinct::Days => highest_by(&windows, |window| (window.day, 0)),
    };
    let values = values.into_iter().map(|value| Exact::scaled(i128::from(value), 0)).collect();
    Ok(mean_of_highest(values, spec.highest).times(&per_value))
}

fn highest_by(windows: &[Window], key: impl Fn(&Window) -> (usize, i64)) -> Vec<i64> {
    let mut highest: BTreeMap<(usize, i64), i64> = BTreeMap::new();
    for window in windows {
        let value = highest.entry(key(window)).or_insert(window.value);
        *value = (*value).max(window.value);
    }
    highest.into_values().collect()
}

fn mean_of_highest(mut values: Vec<Exact>, highest: u32) -> Exact {
    values.sort_by(|a, b| b.cmp(a));
    values.truncate(highest as usize);
    let n = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let sum = values.iter().fold(Exact::ZERO, |sum, value| sum.plus(value));
    sum.divided_by(&Exact::whole(n)).unwrap_or(Exact::ZERO)
}

fn in_period(
    ground: &Ground<'_>,
    document: &Document<'_>,
    spec: &DemandSpec,
    days: Range<usize>,
    mut call: impl FnMut(PlacedReading),
) {
    let period = spec.period.map_or(0, |period| period.period);
    document.table(&spec.channel, spec.period).for_each_reading(ground, document.plan, days, |reading| {
        if reading.period == period {
            call(reading);
        }
    });
}

/// The hour of the local day; an hour that the clock repeats is another one.
fn hour(reading: &PlacedReading) -> i64 {
    // Seconds since the epoch tell the passes of a repeated hour apart.
    (reading.start - reading.local % 3600).div_euclid(60)
}

fn own_intervals(ground: &Ground<'_>, document: &Document<'_>, spec: &DemandSpec, days: Range<usize>) -> Vec<Window> {
    let mut windows = Vec::new();
    in_period(ground, document, spec, days, |reading| {
        windows.push(Window { day: reading.day, hour: hour(&reading), value: reading.milliwatts });
    });
    windows
}

fn windows(
    ground: &Ground<'_>,
    document: &Document<'_>,
    spec: &DemandSpec,
    days: Range<usize>,
    window_seconds: i64,
) -> Result<Vec<Window>, Stop> {
    let mut readings: Vec<PlacedReading> = Vec::new();
    in_period(ground, document, spec, days, |reading| readings.push(reading));
    let mut windows = Vec::new();
    let mut i = 0;
    while i < readings.len() {
        let first = readings[i];
        // Blocks begin on the local clock: readings that begin in between make no block.
        let is_between = !spec.sliding && first.local % window_seconds % first.seconds != 0;
        if window_seconds % first.seconds != 0 || (is_between && window_seconds != first.seconds) {
            let message = format!(
                "demand is measured in windows of {} minutes; these readings of {} minutes cannot be joined to them",
                window_seconds / 60,
                first.seconds / 60
            );
            return Err(Stop::fault("interval_too_coarse", message));
        }
        if !spec.sliding && first.local % window_seconds >= first.seconds {
            i += 1;
            continue;
        }
        let n_readings = usize::try_from(window_seconds / first.seconds).unwrap_or(1);
        let window = readings.get(i..i + n_readings).filter(|window| {
            window.windows(2).all(|pair| pair[0].start + pair[0].seconds == pair[1].start)
                && window.iter().all(|reading| reading.seconds == first.seconds)
        });
        match window {
            Some(window) => {
                let value = window.iter().map(|reading| reading.milliwatt_hours).sum();
                windows.push(Window { day: first.day, hour: hour(&first), value });
                i += if spec.sliding { 1 } else { n_readings };
            }
            None => i += 1,
        }
    }
    Ok(windows)
}

/// For each day with readings in the period: its energy over the hours of those readings, kW.
fn day_means(ground: &Ground<'_>, document: &Document<'_>, spec: &DemandSpec, days: Range<usize>) -> Vec<Exact> {
    let mut by_day: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    in_period(ground, document, spec, days, |reading| {
        let day = by_day.entry(reading.day).or_default();
        day.0 += reading.milliwatt_hours;
        day.1 += reading.seconds;
    });
    by_day
        .into_values()
        .map(|(energy, seconds)| Exact::scaled(i128::from(energy), 6).times(&Exact::fraction(3600, seconds)))
        .collect()
}
