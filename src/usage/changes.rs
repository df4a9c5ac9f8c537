//! What differs between two states of one channel: reading by reading, by local day, in sum. Pure.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, NaiveDate};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::Reading;

/// One interval whose reading differs. Both sides are the same interval; one of them at least is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingChange {
    /// What stood before; `None` where none was.
    pub before: Option<Reading>,
    /// What stands after; `None` where none is.
    pub after: Option<Reading>,
}

impl ReadingChange {
    /// The interval, seconds since the epoch.
    pub fn interval(&self) -> Range<i64> {
        self.before.or(self.after).map_or(0..0, |reading| reading.start..reading.end())
    }
}

/// The intervals whose readings differ, by start. Intervals of another length are other intervals.
///
/// * `before`, `after`: each sorted by start and free of overlap.
pub fn differences(before: &[Reading], after: &[Reading]) -> Vec<ReadingChange> {
    let mut changes = Vec::new();
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let (old, new) = match (before.peek(), after.peek()) {
            (None, None) => return changes,
            (Some(_), None) => (before.next(), None),
            (None, Some(_)) => (None, after.next()),
            (Some(old), Some(new)) => match (old.start, old.seconds).cmp(&(new.start, new.seconds)) {
                std::cmp::Ordering::Less => (before.next(), None),
                std::cmp::Ordering::Greater => (None, after.next()),
                std::cmp::Ordering::Equal => (before.next(), after.next()),
            },
        };
        if old != new {
            changes.push(ReadingChange { before: old.copied(), after: new.copied() });
        }
    }
}

/// The instants that changes touch, sorted and as few ranges as possible, seconds since the epoch.
pub fn changed_instants(changes: &[ReadingChange]) -> Vec<Range<i64>> {
    let mut ranges: Vec<Range<i64>> = Vec::new();
    for interval in changes.iter().map(ReadingChange::interval) {
        match ranges.last_mut() {
            Some(range) if interval.start <= range.end => range.end = range.end.max(interval.end),
            _ => ranges.push(interval),
        }
    }
    ranges
}

/// The changes of one channel in sum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSum {
    /// Readings where none was.
    pub added: u64,
    /// Readings that replaced another one.
    pub replaced: u64,
    /// Readings that are gone.
    pub removed: u64,
    /// Energy of the readings that changed, before.
    pub kwh_before: String,
    /// Energy of the same intervals after.
    pub kwh_after: String,
}

impl ChangeSum {
    /// Adds changes up.
    pub fn of(changes: &[ReadingChange]) -> Self {
        let (mut sum, mut before, mut after) = (Self::default(), 0, 0);
        for change in changes {
            match (change.before, change.after) {
                (None, _) => sum.added += 1,
                (Some(_), Some(_)) => sum.replaced += 1,
                (Some(_), None) => sum.removed += 1,
            }
            before += energy(change.before);
            after += energy(change.after);
        }
        Self { kwh_before: kwh(before), kwh_after: kwh(after), ..sum }
    }
}

fn energy(reading: Option<Reading>) -> i128 {
    reading.map_or(0, |reading| i128::from(reading.milliwatt_hours))
}

/// A local day on which a reading changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DayChange {
    /// The day.
    pub date: NaiveDate,
    /// Readings where none was.
    pub added: u64,
    /// Readings that replaced another one.
    pub replaced: u64,
    /// Readings that are gone.
    pub removed: u64,
    /// Energy of the whole day before.
    pub kwh_before: String,
    /// Energy of the whole day after.
    pub kwh_after: String,
}

/// The local days on which readings differ, with the energy of the whole day on both sides, by date.
///
/// * `before`, `after`: each sorted by start, free of overlap, and whole for the days in which they differ.
pub fn changed_days(time_zone: Tz, before: &[Reading], after: &[Reading]) -> Vec<DayChange> {
    let day_of = |start: i64| DateTime::from_timestamp(start, 0).map(|at| at.with_timezone(&time_zone).date_naive());
    let mut days: BTreeMap<NaiveDate, (Vec<ReadingChange>, i128, i128)> = BTreeMap::new();
    for change in differences(before, after) {
        if let Some(day) = day_of(change.interval().start) {
            days.entry(day).or_default().0.push(change);
        }
    }
    for (readings, is_after) in [(before, false), (after, true)] {
        for reading in readings {
            let Some((_, old, new)) = day_of(reading.start).and_then(|day| days.get_mut(&day)) else { continue };
            *(if is_after { new } else { old }) += i128::from(reading.milliwatt_hours);
        }
    }
    let day = |(date, (changes, before, after)): (NaiveDate, (Vec<ReadingChange>, i128, i128))| {
        let ChangeSum { added, replaced, removed, .. } = ChangeSum::of(&changes);
        DayChange { date, added, replaced, removed, kwh_before: kwh(before), kwh_after: kwh(after) }
    };
    days.into_iter().map(day).collect()
}

/// Milliwatt-hours as kWh, a decimal text without trailing zeros. More than any sum of readings has is cut off at
/// 28 digits.
pub fn kwh(milliwatt_hours: i128) -> String {
    match Decimal::try_from_i128_with_scale(milliwatt_hours, 6) {
        Ok(decimal) => decimal.normalize().to_string(),
        Err(_) => Decimal::MAX.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Quality;
    use super::*;

    fn reading(start: i64, seconds: u32, milliwatt_hours: i64) -> Reading {
        Reading { start, seconds, milliwatt_hours, quality: Quality::Measured }
    }

    #[test]
    fn each_interval_that_differs_is_told_once() {
        let before = [reading(0, 3600, 1), reading(3600, 3600, 2), reading(7200, 3600, 3)];
        let after = [reading(0, 3600, 1), reading(3600, 3600, 5), reading(10_800, 3600, 4)];
        let changes = differences(&before, &after);
        let pairs: Vec<_> = changes.iter().map(|c| (c.before, c.after)).collect();
        assert_eq!(pairs, [(Some(before[1]), Some(after[1])), (Some(before[2]), None), (None, Some(after[2]))]);
        assert_eq!(changed_instants(&changes).as_slice(), std::slice::from_ref(&(3600..14_400)));
        let sum = ChangeSum::of(&changes);
        assert_eq!((sum.added, sum.replaced, sum.removed), (1, 1, 1));
        assert_eq!((sum.kwh_before.as_str(), sum.kwh_after.as_str()), ("0.000005", "0.000009"));
        assert_eq!(differences(&before, &before), []);
    }

    #[test]
    fn an_interval_of_another_length_is_another_one() {
        let quarters: Vec<Reading> = (0..4).map(|i| reading(i * 900, 900, 0)).collect();
        let changes = differences(&quarters, &[reading(0, 3600, 8)]);
        assert_eq!((changes.len(), ChangeSum::of(&changes).removed, ChangeSum::of(&changes).added), (5, 4, 1));
        assert_eq!(changed_instants(&changes).as_slice(), std::slice::from_ref(&(0..3600)));
    }

    #[test]
    fn a_changed_quality_is_a_change() {
        let estimate = Reading { quality: Quality::Estimated, ..reading(0, 3600, 1) };
        assert_eq!(differences(&[estimate], &[reading(0, 3600, 1)]).len(), 1);
    }

    #[test]
    fn days_are_local_and_told_whole() {
        // 23:00 UTC is midnight in Berlin in winter: the second reading is of the next day.
        let start = 1_767_308_400 - 3600;
        let before = [reading(start, 3600, 1_000_000), reading(start + 3600, 3600, 2_000_000)];
        let after = [before[0], reading(start + 3600, 3600, 500_000), reading(start + 7200, 3600, 250_000)];
        let days = changed_days(chrono_tz::Europe::Berlin, &before, &after);
        let told: Vec<_> =
            days.iter().map(|d| (d.date.to_string(), d.kwh_before.as_str(), d.kwh_after.as_str())).collect();
        assert_eq!(told, [("2026-01-02".to_owned(), "2", "0.75")]);
        assert_eq!((days[0].added, days[0].replaced, days[0].removed), (1, 1, 0));
    }

    #[test]
    fn energy_of_any_size_is_told_without_a_panic() {
        assert_eq!(kwh(-1_500_000), "-1.5");
        assert_eq!(kwh(0), "0");
        assert!(kwh(i128::MAX).starts_with("79228"));
    }
}
