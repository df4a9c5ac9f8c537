//! Readings of more than an hour: whole local days of 23, 24 or 25 hours.
//!
//! Such a reading is billed as it is where nothing cuts it: under a price for all hours, by kinds of days, on tiers of a
//! day or more. A boundary inside it refuses it, or cuts it into even parts if the tenant says so. It has no demand.

use std::collections::BTreeSet;

use super::aggregate::{SECONDS_OF_HOUR, Stretch, share_of};
use super::frame::Frame;
use crate::usage::{Reading, Series};

/// Whether a channel has readings of more than an hour.
///
/// * `grids`: the lengths of its readings and where they begin, as by `aggregate::grids`.
pub(super) fn has_long_readings(grids: &BTreeSet<(i64, i64)>) -> bool {
    grids.iter().any(|(seconds, _)| *seconds > SECONDS_OF_HOUR)
}

/// The length of readings that are no even part of an hour, seconds: their power is no whole number of milliwatts.
pub(super) fn without_power(grids: &BTreeSet<(i64, i64)>) -> Option<i64> {
    grids.iter().map(|(seconds, _)| *seconds).find(|seconds| SECONDS_OF_HOUR % seconds != 0)
}

/// The length of the first reading of more than an hour that ends on another local day than it begins on, seconds.
pub(super) fn past_midnight(frame: &Frame, stretches: &[Stretch<'_>]) -> Option<i64> {
    let ends_late = |stretch: &&Stretch<'_>| {
        let n_readings = i64::try_from(stretch.readings.len()).unwrap_or(i64::MAX);
        let end = stretch.start.saturating_add(n_readings.saturating_mul(stretch.seconds));
        stretch.seconds > SECONDS_OF_HOUR && end > frame.days.end(stretch.piece.day)
    };
    stretches.iter().find(ends_late).map(|stretch| stretch.seconds)
}

/// The same readings, those of more than an hour in even parts as long as a slot; the last part takes the rest.
pub(super) fn in_parts(series: &Series, slot_seconds: i64) -> Series {
    let parts = series.readings().flat_map(|reading| {
        let seconds = i64::from(reading.seconds);
        let is_long = seconds > SECONDS_OF_HOUR;
        let n_parts = if is_long { usize::try_from(seconds / slot_seconds).unwrap_or(1).max(1) } else { 1 };
        let part_seconds = reading.seconds / u32::try_from(n_parts).unwrap_or(1);
        let starts = (0..).map(move |part: i64| reading.start + part * i64::from(part_seconds));
        starts.take(n_parts).enumerate().map(move |(part, start)| Reading {
            start,
            seconds: part_seconds,
            milliwatt_hours: share_of(reading.milliwatt_hours, part, n_parts),
            ..reading
        })
    });
    Series::from_sorted(&parts.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
