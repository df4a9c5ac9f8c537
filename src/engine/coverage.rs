//! What readings there are in the billing period, and what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chrono::{DateTime, SecondsFormat};

use super::aggregate::{first_reading_from, sum, sums_fit};
use super::calendar::instants;
use super::result::{Gap, UsageSummary};
use super::{EngineError, Question};
use crate::tariff::number::Exact;
use crate::usage::{Channel, Quality, Run, Series};

/// Length of a reading where none says it, seconds.
const ASSUMED_SECONDS: i64 = 3600;

/// Length of most readings that are whole local days, seconds.
const DAY_SECONDS: i64 = 86_400;

/// The readings of the billing period, as many as every channel has to have.
#[derive(Debug)]
pub(super) struct Covered<'a> {
    question: &'a Question,
    period: Range<i64>,
    /// Of the channel that stands for the whole.
    whole: Coverage,
}

/// Counts of one channel in the billing period.
#[derive(Debug, Default)]
struct Coverage {
    intervals: u64,
    estimated: u64,
    filled_zero: u64,
    missing: u64,
    gaps: Vec<Gap>,
}

/// Counts the readings of the period: run by run, the readings themselves are not looked at.
///
/// # Errors
/// [`EngineError::UsageIncomplete`] when a channel that a plan reads and that has readings, or the channel that
/// stands for the whole, has fewer than the least coverage.
pub(super) fn covered<'a>(
    question: &'a Question,
    channels_read: &BTreeSet<&Channel>,
) -> Result<Covered<'a>, EngineError> {
    let period = instants(question.time_zone, &question.period);
    let coverages = question.readings.iter().map(|(channel, series)| (channel, coverage(series, &period)));
    let mut by_channel: BTreeMap<&Channel, Coverage> = coverages.collect();
    let import = Channel::import();
    let standing = if by_channel.get(&import).is_some_and(|coverage| coverage.intervals > 0) {
        import
    } else {
        // The first of those with the most readings.
        let fullest = by_channel.iter().rev().max_by_key(|(_, coverage)| coverage.intervals);
        fullest.filter(|(_, coverage)| coverage.intervals > 0).map_or(import, |(channel, _)| (*channel).clone())
    };
    let whole = by_channel.remove(&standing).unwrap_or_else(|| coverage(&Series::default(), &period));
    check(question, &standing, &whole)?;
    for (channel, coverage) in by_channel {
        if coverage.intervals > 0 && channels_read.contains(channel) {
            check(question, channel, &coverage)?;
        }
    }
    Ok(Covered { question, period, whole })
}

impl Covered<'_> {
    /// What the answer says of the readings.
    ///
    /// * `known`: energy of a channel in the billing period where it is added up already, milliwatt-hours.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`].
    pub(super) fn summary(self, known: impl Fn(&Channel) -> Option<i64>) -> Result<UsageSummary, EngineError> {
        let kwh = |channel: &Channel| {
            let of_readings = || self.question.readings.get(channel).map_or(0, |series| energy(series, &self.period));
            let milliwatt_hours = known(channel).map_or_else(of_readings, i128::from);
            Exact::scaled(milliwatt_hours, 6).text(0).ok_or(EngineError::TooLarge)
        };
        Ok(UsageSummary {
            import_kwh: kwh(&Channel::import())?,
            export_kwh: kwh(&Channel::export())?,
            days: u32::try_from(self.question.period.n_days()).unwrap_or(u32::MAX),
            intervals: self.whole.intervals,
            expected_intervals: self.whole.intervals + self.whole.missing,
            estimated: self.whole.estimated,
            filled_zero: self.whole.filled_zero,
            missing: self.whole.missing,
            gaps: self.whole.gaps,
        })
    }
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
    let mut found = Coverage::default();
    let clipped: Vec<(&Run, Range<usize>)> = within(series, period).collect();
    let seconds = usual_length(&clipped);
    let mut covered_to = period.start;
    for (run, readings) in &clipped {
        let start_of = |index: usize| run.start + i64::try_from(index).unwrap_or(0) * i64::from(run.seconds);
        found.gap(covered_to, start_of(readings.start), seconds);
        covered_to = start_of(readings.end).max(covered_to);
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

/// Energy of the readings that start in a period, whatever its size, milliwatt-hours.
fn energy(series: &Series, period: &Range<i64>) -> i128 {
    let fits = sums_fit(series);
    within(series, period)
        .map(|(run, readings)| {
            let readings = &run.milliwatt_hours[readings];
            if fits { i128::from(sum(readings)) } else { readings.iter().map(|reading| i128::from(*reading)).sum() }
        })
        .sum()
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

/// The runs that have readings which start in a period, and which ones these are.
fn within<'s>(series: &'s Series, period: &Range<i64>) -> impl Iterator<Item = (&'s Run, Range<usize>)> {
    let of = |run: &Run| first_reading_from(run, period.start)..first_reading_from(run, period.end);
    series.runs().iter().map(move |run| (run, of(run))).filter(|(_, readings)| !readings.is_empty())
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

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::super::tests::{LONDON, asked, hourly, of, question};
    use super::*;
    use crate::usage::Reading;
    use crate::words::BillingPeriod;

    #[test]
    fn the_energy_of_the_period_is_told_whatever_the_plan_reads() {
        // From two months before the period to two days after it: each hour another number.
        let readings = hourly(LONDON, "2025-11-01", "2026-02-03", |at| {
            let n = u32::try_from(at.timestamp() / 3600 % 9973).unwrap();
            f64::from(n) / 1e6
        });
        let january = BillingPeriod::new("2026-01-01".parse().unwrap(), "2026-02-01".parse().unwrap()).unwrap();
        let period = instants(LONDON, &january);
        let expected: i64 =
            readings.readings().filter(|r| period.contains(&r.start)).map(|reading| reading.milliwatt_hours).sum();
        let hours =
            r#""schedules": {"s": {"periods": [{"period": "on", "hours": ["07:20-08:00"]}, {"period": "off"}]}}"#;
        let by_hours = format!(
            r#"{{"name": "n", "currency": "GBP", {hours}, "charges": [
            {{"id": "a", "kind": "energy", "schedule": "s", "prices": {{"on": "3", "off": "0"}}}}]}}"#
        );
        for (plan, splits) in [
            (of(r#""kind": "fixed", "price": "1""#), false),
            (of(r#""kind": "energy", "price": "1""#), false),
            (of(r#""kind": "demand", "price": "1", "ratchet": {"percent": "80", "last": 2}"#), false),
            (by_hours.replace(":20", ":00"), false),
            (by_hours.replace(r#""GBP""#, r#""GBP", "time_zone": "Asia/Kolkata""#), true),
            (by_hours, true),
        ] {
            let result = asked(&plan, |question| {
                question.readings.insert(Channel::import(), readings.clone());
                question.options.split_intervals_even = splits;
            });
            let usage = result.unwrap().usage;
            assert_eq!(usage.import_kwh, Exact::scaled(expected.into(), 6).text(0).unwrap(), "{plan}");
            assert_eq!((usage.intervals, usage.missing, usage.export_kwh.as_str()), (744, 0, "0"), "{plan}");
        }
    }

    #[test]
    fn a_reading_in_parts_is_told_whole_where_it_begins() {
        // Days UTC begin at one o'clock in summer: of each an hour lies on the next day.
        let period = BillingPeriod::new("2026-07-01".parse().unwrap(), "2026-08-01".parse().unwrap()).unwrap();
        let first = instants(LONDON, &period).start + 3600 - DAY_SECONDS;
        let day = |n: i64| Reading {
            start: first + n * DAY_SECONDS,
            seconds: 86_400,
            milliwatt_hours: 24_000_000 << n,
            quality: Quality::Measured,
        };
        let readings = Series::from_sorted(&(0..32).map(day).collect::<Vec<_>>());
        let plan = of(r#""kind": "energy", "price": "1""#);
        let mut question = question(&plan, LONDON, "2026-07-01", "2026-08-01", &readings);
        question.options.split_intervals_even = true;
        let result = compare(&question).unwrap();
        assert_eq!(result.plans[0].flags, ["intervals_split_evenly"]);
        let sum: i64 = (1..32).map(|n| 24 << n).sum();
        assert_eq!(result.usage.import_kwh, sum.to_string());
    }
}
