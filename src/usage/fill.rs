//! Gaps declared as zero, with a quality of their own so that nobody takes them for readings. Pure.

use std::ops::Range;

use thiserror::Error;

use super::{Quality, Reading};

/// Why a gap cannot be filled. Instants are seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FillError {
    /// The gap is no whole number of intervals of the reading before it, nor of the one after it.
    #[error("the gap from {} to {} holds no whole number of intervals", utc(.gap.start), utc(.gap.end))]
    Uneven {
        /// The gap.
        gap: Range<i64>,
    },
}

fn utc(seconds: i64) -> String {
    match chrono::DateTime::from_timestamp(seconds, 0) {
        Some(instant) => instant.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        None => format!("{seconds} s"),
    }
}

/// Declares every gap of a channel within `[within.start, within.end)` as zero, [`Quality::FilledZero`], and gives the
/// number of zeros. What is said to be missing is a gap, too. Intervals are as long as that of the reading before the
/// gap, or after it. Without any reading there is no interval, and nothing is filled.
///
/// * `readings`: sorted by start, free of overlap; they stay so.
///
/// # Errors
/// * [`FillError::Uneven`] when a gap cannot be cut into whole intervals.
pub fn fill_zero(readings: &mut Vec<Reading>, within: &Range<i64>) -> Result<u64, FillError> {
    let mut n_filled = 0;
    let is_within = |reading: &Reading| within.start <= reading.start && reading.end() <= within.end;
    for reading in readings.iter_mut() {
        if reading.quality == Quality::Missing && is_within(reading) {
            *reading = zero(reading.start, reading.seconds);
            n_filled += 1;
        }
    }
    let mut zeros = Vec::new();
    let mut fill = |from: i64, to: i64, lengths: [Option<u32>; 2]| {
        let gap = from.max(within.start)..to.min(within.end);
        if gap.is_empty() || lengths == [None, None] {
            return Ok(());
        }
        let whole = |seconds: &u32| *seconds > 0 && (gap.end - gap.start) % i64::from(*seconds) == 0;
        let Some(seconds) = lengths.into_iter().flatten().find(whole) else {
            return Err(FillError::Uneven { gap });
        };
        let mut start = gap.start;
        while start < gap.end {
            zeros.push(zero(start, seconds));
            start += i64::from(seconds);
        }
        Ok(())
    };
    let length = |reading: Option<&Reading>| reading.map(|reading| reading.seconds);
    fill(i64::MIN, readings.first().map_or(i64::MAX, |first| first.start), [length(readings.first()), None])?;
    for pair in readings.windows(2) {
        fill(pair[0].end(), pair[1].start, [Some(pair[0].seconds), Some(pair[1].seconds)])?;
    }
    if let Some(last) = readings.last() {
        fill(last.end(), i64::MAX, [Some(last.seconds), None])?;
    }
    n_filled += zeros.len() as u64;
    readings.append(&mut zeros);
    readings.sort_by_key(|reading| reading.start);
    Ok(n_filled)
}

fn zero(start: i64, seconds: u32) -> Reading {
    Reading { start, seconds, milliwatt_hours: 0, quality: Quality::FilledZero }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start: i64, seconds: u32, quality: Quality) -> Reading {
        Reading { start, seconds, milliwatt_hours: 7, quality }
    }

    fn filled(mut readings: Vec<Reading>, within: Range<i64>) -> Result<Vec<(i64, u32)>, FillError> {
        let n = fill_zero(&mut readings, &within)?;
        let zeros: Vec<_> = readings.iter().filter(|r| r.quality == Quality::FilledZero).collect();
        assert_eq!(zeros.len() as u64, n);
        assert!(zeros.iter().all(|zero| zero.milliwatt_hours == 0));
        assert!(readings.windows(2).all(|pair| pair[0].end() <= pair[1].start));
        Ok(zeros.into_iter().map(|zero| (zero.start, zero.seconds)).collect())
    }

    #[test]
    fn gaps_between_readings_become_zeros_of_the_length_before_them() {
        let readings = vec![reading(0, 1800, Quality::Measured), reading(7200, 3600, Quality::Measured)];
        assert_eq!(filled(readings.clone(), 0..10_800).unwrap(), [(1800, 1800), (3600, 1800), (5400, 1800)]);
        assert_eq!(filled(readings, 3600..5400).unwrap(), [(3600, 1800)]);
    }

    #[test]
    fn the_range_reaches_beyond_the_readings_only_if_it_is_given_so() {
        let readings = vec![reading(3600, 3600, Quality::Estimated)];
        assert_eq!(filled(readings.clone(), 3600..7200).unwrap(), []);
        assert_eq!(filled(readings, 0..14_400).unwrap(), [(0, 3600), (7200, 3600), (10_800, 3600)]);
        assert_eq!(filled(vec![], 0..14_400).unwrap(), []);
    }

    #[test]
    fn what_is_said_to_be_missing_is_a_gap() {
        let readings = vec![reading(0, 900, Quality::Measured), reading(900, 900, Quality::Missing)];
        assert_eq!(filled(readings, 0..1800).unwrap(), [(900, 900)]);
    }

    #[test]
    fn a_gap_of_no_whole_number_of_intervals_is_refused() {
        let readings = vec![reading(0, 3600, Quality::Measured), reading(5400, 3600, Quality::Measured)];
        let refused = filled(readings, 0..9000).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the gap from 1970-01-01T01:00:00Z to 1970-01-01T01:30:00Z holds no whole number of intervals"
        );
    }
}
