//! What readings of a channel there are in each month, and what is missing. Pure.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::NaiveDate;

use super::{Quality, Reading};

/// Length of a reading where none says it, seconds.
const ASSUMED_SECONDS: u32 = 3600;

/// A local month, or a part of one, for which readings are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthSpan {
    /// Its first day.
    pub start: NaiveDate,
    /// Local days.
    pub n_days: u32,
    /// The same as instants, seconds since the epoch.
    pub instants: Range<i64>,
}

/// The readings of a channel in one month. A reading belongs to the month in which it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MonthCoverage {
    /// Readings that are there, declared zeros included.
    pub intervals: u64,
    /// Readings that there would be without a gap.
    pub expected_intervals: u64,
    /// How long the readings are, seconds, ascending.
    pub lengths: Vec<u32>,
    /// Number of readings of each quality; [`Quality::Missing`] is what is said to be missing, which are gaps.
    pub qualities: BTreeMap<Quality, u64>,
    /// Energy, milliwatt-hours.
    pub milliwatt_hours: i128,
    /// Where readings are missing, in order, each with the number of intervals.
    pub gaps: Vec<(Range<i64>, u64)>,
}

/// Looks at each month.
///
/// * `readings`: sorted by start, free of overlap.
/// * `months`: in order.
pub fn coverage(readings: &[Reading], months: &[MonthSpan]) -> Vec<MonthCoverage> {
    let usual = usual_length(readings);
    let of_month = |month: &MonthSpan| {
        let from = readings.partition_point(|reading| reading.start < month.instants.start);
        let to = readings.partition_point(|reading| reading.start < month.instants.end);
        // The reading that reaches into the month covers its beginning.
        let covered_to = from.checked_sub(1).map_or(i64::MIN, |before| readings[before].end());
        month_coverage(&readings[from..to.max(from)], &month.instants, covered_to, usual)
    };
    months.iter().map(of_month).collect()
}

fn month_coverage(readings: &[Reading], month: &Range<i64>, covered_to: i64, usual: Option<u32>) -> MonthCoverage {
    let mut found = MonthCoverage::default();
    let seconds = usual_length(readings).or(usual).unwrap_or(ASSUMED_SECONDS);
    let mut covered_to = covered_to.max(month.start);
    for reading in readings {
        *found.qualities.entry(reading.quality).or_default() += 1;
        if reading.quality == Quality::Missing {
            continue;
        }
        found.gap(covered_to..reading.start, seconds);
        covered_to = reading.end();
        found.intervals += 1;
        found.milliwatt_hours += i128::from(reading.milliwatt_hours);
        if let Err(place) = found.lengths.binary_search(&reading.seconds) {
            found.lengths.insert(place, reading.seconds);
        }
    }
    found.gap(covered_to..month.end, seconds);
    found.expected_intervals = found.intervals + found.gaps.iter().map(|(_, n)| n).sum::<u64>();
    found
}

impl MonthCoverage {
    fn gap(&mut self, gap: Range<i64>, seconds: u32) {
        if gap.is_empty() {
            return;
        }
        let seconds = u64::from(seconds);
        self.gaps.push((gap.clone(), gap.start.abs_diff(gap.end).div_ceil(seconds)));
    }
}

/// The length that most readings have; `None` without a reading.
fn usual_length(readings: &[Reading]) -> Option<u32> {
    let mut n_by_length: BTreeMap<u32, usize> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.quality != Quality::Missing) {
        *n_by_length.entry(reading.seconds).or_default() += 1;
    }
    n_by_length.into_iter().max_by_key(|(_, n)| *n).map(|(seconds, _)| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(instants: Range<i64>) -> MonthSpan {
        MonthSpan { start: NaiveDate::MIN, n_days: 1, instants }
    }

    fn reading(start: i64, seconds: u32, quality: Quality) -> Reading {
        let milliwatt_hours = if quality < Quality::FilledZero { 5 } else { 0 };
        Reading { start, seconds, milliwatt_hours, quality }
    }

    #[test]
    fn gaps_before_between_and_after_are_told_with_their_intervals() {
        let readings = [
            reading(3600, 1800, Quality::Measured),
            reading(5400, 1800, Quality::Estimated),
            reading(7200, 1800, Quality::Missing),
            reading(9000, 1800, Quality::FilledZero),
        ];
        let months = coverage(&readings, &[span(0..14_400), span(14_400..18_000)]);
        let first = &months[0];
        assert_eq!(first.gaps, [(0..3600, 2), (7200..9000, 1), (10_800..14_400, 2)]);
        assert_eq!((first.intervals, first.expected_intervals, first.milliwatt_hours), (3, 8, 10));
        assert_eq!(first.lengths, [1800]);
        let counts: Vec<u64> = first.qualities.values().copied().collect();
        assert_eq!(counts, [1, 1, 1, 1], "measured, estimated, declared zero, missing");
        assert_eq!((months[1].intervals, months[1].expected_intervals), (0, 2), "as long as readings elsewhere");
    }

    #[test]
    fn a_reading_across_the_bound_belongs_to_the_month_in_which_it_starts() {
        let readings = [reading(0, 3600, Quality::Measured), reading(3600, 3600, Quality::Measured)];
        let months = coverage(&readings, &[span(0..5400), span(5400..7200)]);
        assert_eq!((months[0].intervals, months[0].gaps.len()), (2, 0));
        assert_eq!((months[1].intervals, months[1].gaps.len(), months[1].expected_intervals), (0, 0, 0));
    }

    #[test]
    fn without_a_reading_hours_are_expected() {
        assert_eq!(coverage(&[], &[span(0..7200)])[0].expected_intervals, 2);
    }
}
