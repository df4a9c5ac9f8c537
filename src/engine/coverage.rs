//! What readings there are in the billing period, and what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chrono::{DateTime, SecondsFormat};

use super::calendar::instants;
use super::result::{Gap, UsageSummary};
use super::{EngineError, Question};
use crate::tariff::number::Exact;
use crate::usage::{Channel, Quality, Run, Series};

/// Length of a reading where none says it, seconds.
const ASSUMED_SECONDS: i64 = 3600;

/// Length of most readings that are whole local days, seconds.
const DAY_SECONDS: i64 = 86_400;

/// Sums of one channel in the billing period.
#[derive(Debug)]
struct Coverage {
    milliwatt_hours: i128,
    /// The bits that are set in some magnitude of the channel.
    bits: i64,
    intervals: u64,
    estimated: u64,
    filled_zero: u64,
    missing: u64,
    gaps: Vec<Gap>,
}

/// Sums up the readings of the period; with the bits of the largest reading of each channel, its sign left out, those
/// outside the period looked at too.
///
/// # Errors
/// [`EngineError::UsageIncomplete`] when a channel that a plan reads and that has readings, or the channel that
/// stands for the whole, has fewer than the least coverage.
pub(super) fn usage(
    question: &Question,
    channels_read: &BTreeSet<&Channel>,
) -> Result<(UsageSummary, BTreeMap<Channel, u32>), EngineError> {
    let period = instants(question.time_zone, &question.period);
    let of = |channel: &Channel| question.readings.get(channel).map(|series| coverage(series, &period));
    let mut by_channel: BTreeMap<Channel, Coverage> = BTreeMap::new();
    for channel in question.readings.keys() {
        by_channel.extend(of(channel).map(|coverage| (channel.clone(), coverage)));
    }
    let n_bits = by_channel.iter().map(|(channel, coverage)| (channel.clone(), 64 - coverage.bits.leading_zeros()));
    let n_bits: BTreeMap<Channel, u32> = n_bits.collect();
    let import = Channel::import();
    let standing = if by_channel.get(&import).is_some_and(|coverage| coverage.intervals > 0) {
        import.clone()
    } else {
        // The first of those with the most readings.
        let fullest = by_channel.iter().rev().max_by_key(|(_, coverage)| coverage.intervals);
        fullest.filter(|(_, coverage)| coverage.intervals > 0).map_or(import.clone(), |(channel, _)| channel.clone())
    };
    let whole = by_channel.remove(&standing).unwrap_or_else(|| coverage(&Series::default(), &period));
    check(question, &standing, &whole)?;
    for (channel, coverage) in &by_channel {
        if coverage.intervals > 0 && channels_read.contains(channel) {
            check(question, channel, coverage)?;
        }
    }
    let kwh = |channel: Channel| {
        let coverage = if channel == standing { Some(&whole) } else { by_channel.get(&channel) };
        let milliwatt_hours = coverage.map_or(0, |coverage| coverage.milliwatt_hours);
        Exact::scaled(milliwatt_hours, 6).text(0).ok_or(EngineError::TooLarge)
    };
    let usage = UsageSummary {
        import_kwh: kwh(import)?,
        export_kwh: kwh(Channel::export())?,
        days: u32::try_from(question.period.n_days()).unwrap_or(u32::MAX),
        intervals: whole.intervals,
        expected_intervals: whole.intervals + whole.missing,
        estimated: whole.estimated,
        filled_zero: whole.filled_zero,
        missing: whole.missing,
        gaps: whole.gaps,
    };
    Ok((usage, n_bits))
}

fn check(question: &Question, channel: &Channel, coverage: &Coverage) -> Result<(), EngineError> {
    let expected = coverage.intervals + coverage.missing;
    let wanted = question.options.min_coverage.checked_mul(expected.into()).ok_or(EngineError::TooLarge)?;
    if coverage.intervals == 0 || rust_decimal::Decimal::from(coverage.intervals) < wanted {
        return Err(EngineError::UsageIncomplete {
            channel: channel.clone(),
            intervals: coverage.intervals,
            expected_intervals: expected,
            gaps: coverage.gaps.clone(),
        });
    }
    Ok(())
}

fn coverage(series: &Series, period: &Range<i64>) -> Coverage {
    let mut found = Coverage {
        milliwatt_hours: 0,
        bits: 0,
        intervals: 0,
        estimated: 0,
        filled_zero: 0,
        missing: 0,
        gaps: Vec::new(),
    };
    let mut clipped: Vec<(&Run, Range<usize>)> = Vec::with_capacity(series.runs().len());
    for run in series.runs() {
        let readings = readings_within(run, period);
        let (before, after) = (&run.milliwatt_hours[..readings.start], &run.milliwatt_hours[readings.end..]);
        found.bits |= magnitude_bits(before) | magnitude_bits(after);
        if !readings.is_empty() {
            clipped.push((run, readings));
        }
    }
    let seconds = usual_length(&clipped);
    let mut covered_to = period.start;
    for (run, readings) in &clipped {
        let start_of = |index: usize| run.start + i64::try_from(index).unwrap_or(0) * i64::from(run.seconds);
        found.gap(covered_to, start_of(readings.start), seconds);
        covered_to = start_of(readings.end).max(covered_to);
        let (sum, bits) = exact_sum(&run.milliwatt_hours[readings.clone()]);
        found.milliwatt_hours += sum;
        found.bits |= bits;
        found.intervals += readings.len() as u64;
        let mut first = 0;
        for (n, quality) in &run.qualities {
            let stretch = first.max(readings.start)..(first + *n as usize).min(readings.end);
            match quality {
                Quality::Estimated | Quality::Substituted => found.estimated += stretch.len() as u64,
                Quality::FilledZero => found.filled_zero += stretch.len() as u64,
                Quality::Measured | Quality::Missing => {}
            }
            first += *n as usize;
        }
    }
    found.gap(covered_to, period.end, seconds);
    found
}

/// The sum, whatever its size, and the bits of the magnitudes. A block of readings that all have 32 bits sums up in 64.
fn exact_sum(readings: &[i64]) -> (i128, i64) {
    const NARROW: i64 = 0xffff_ffff;
    let (mut sum, mut bits) = (0, 0);
    for block in readings.chunks(1 << 16) {
        let (of_all, of_block) =
            block.iter().fold((0, 0i64), |(bits, sum), reading| (bits | reading, sum.wrapping_add(*reading)));
        if of_all & !NARROW == 0 {
            sum += i128::from(of_block);
            bits |= of_all;
        } else {
            sum += block.iter().map(|reading| i128::from(*reading)).sum::<i128>();
            bits |= magnitude_bits(block);
        }
    }
    (sum, bits)
}

/// The bits that are set in some magnitude: of a number and its complement one is not negative and bounds it.
fn magnitude_bits(readings: &[i64]) -> i64 {
    readings.iter().fold(0, |bits, reading| bits | (reading ^ (reading >> 63)))
}

impl Coverage {
    fn gap(&mut self, start: i64, end: i64, seconds: i64) {
        if end <= start {
            return;
        }
        // Of local days one can be an hour longer.
        let longer = if seconds == DAY_SECONDS { 3600 } else { 0 };
        let intervals = u64::try_from(((end - start - longer).max(1) + seconds - 1) / seconds).unwrap_or(0);
        self.missing += intervals;
        self.gaps.push(Gap { start: instant_text(start), end: instant_text(end), intervals });
    }
}

/// The readings of a run that start in a period.
fn readings_within(run: &Run, period: &Range<i64>) -> Range<usize> {
    let seconds = i64::from(run.seconds);
    let index = |instant: i64| {
        let reading = (instant - run.start + seconds - 1).div_euclid(seconds).max(0);
        usize::try_from(reading).unwrap_or(0).min(run.milliwatt_hours.len())
    };
    index(period.start)..index(period.end)
}

/// The length that most readings have: days of 23, 24 and 25 hours are one length.
fn usual_length(clipped: &[(&Run, Range<usize>)]) -> i64 {
    let mut n_by_length: BTreeMap<i64, usize> = BTreeMap::new();
    for (run, readings) in clipped {
        let seconds = i64::from(run.seconds);
        let is_day = (seconds - DAY_SECONDS).abs() <= 3600;
        *n_by_length.entry(if is_day { DAY_SECONDS } else { seconds }).or_default() += readings.len();
    }
    n_by_length.into_iter().max_by_key(|(_, n)| *n).map_or(ASSUMED_SECONDS, |(seconds, _)| seconds)
}

/// Seconds since the epoch as RFC 3339 in UTC.
pub(super) fn instant_text(instant: i64) -> String {
    DateTime::from_timestamp(instant, 0)
        .map_or_else(|| instant.to_string(), |instant| instant.to_rfc3339_opts(SecondsFormat::Secs, true))
}
