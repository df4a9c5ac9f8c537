//! How far local clocks are from UTC: found once for each time zone and year, shared by every question.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use chrono::{DateTime, Datelike, NaiveDate, Offset as _, TimeZone};
use chrono_tz::Tz;

const SECONDS_OF_QUARTER_DAY: i64 = 21_600;
pub(super) const SECONDS_OF_DAY: i64 = 86_400;

/// Most zones and years that are remembered: all zones for some twenty years, a few megabytes.
const MAX_KNOWN: usize = 10_000;

/// From an instant on, how far the local clock is from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcOffset {
    /// Seconds since the epoch, UTC.
    pub from: i64,
    /// Seconds east of UTC.
    pub seconds: i64,
}

/// The offsets of one year UTC, in order; the first holds from the start of the year.
///
/// Looks four times a day: a change that is taken back within a quarter of a day is not seen; there has been none.
pub fn utc_offsets(time_zone: Tz, year: i32) -> Vec<UtcOffset> {
    let start = day_of(NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or(NaiveDate::MIN)) * SECONDS_OF_DAY;
    let end = day_of(NaiveDate::from_ymd_opt(year, 12, 31).unwrap_or(NaiveDate::MIN)) * SECONDS_OF_DAY + SECONDS_OF_DAY;
    let mut offsets = vec![UtcOffset { from: start, seconds: offset_at(time_zone, start) }];
    let mut before = start;
    while before < end - 1 {
        let next = (before + SECONDS_OF_QUARTER_DAY).min(end - 1);
        let seconds = offset_at(time_zone, next);
        if offsets.last().is_none_or(|last| last.seconds != seconds) {
            let from = first_instant(before, next, |instant| offset_at(time_zone, instant) == seconds);
            offsets.push(UtcOffset { from, seconds });
        }
        before = next;
    }
    offsets
}

/// The offsets that hold between the starts of two days UTC, from those known or found now.
pub(super) fn offsets_between(time_zone: Tz, first: NaiveDate, last: NaiveDate) -> Vec<UtcOffset> {
    let mut offsets: Vec<UtcOffset> = Vec::new();
    for year in first.year()..=last.year() {
        for offset in known(time_zone, year).iter() {
            if offsets.last().is_none_or(|last| last.seconds != offset.seconds) {
                offsets.push(*offset);
            }
        }
    }
    offsets
}

/// Offsets by zone and year.
type Known = HashMap<(Tz, i32), Arc<[UtcOffset]>>;

/// A memo of a pure function; the lock is held for a look-up only.
fn known(time_zone: Tz, year: i32) -> Arc<[UtcOffset]> {
    static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);
    let key = (time_zone, year);
    if let Some(offsets) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Arc::clone(offsets);
    }
    let offsets: Arc<[UtcOffset]> = utc_offsets(time_zone, year).into();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MAX_KNOWN {
        known.clear();
    }
    known.insert(key, Arc::clone(&offsets));
    offsets
}

/// Days since the epoch.
pub(super) fn day_of(date: NaiveDate) -> i64 {
    const EPOCH_FROM_CE: i64 = 719_163;
    i64::from(date.num_days_from_ce()) - EPOCH_FROM_CE
}

fn offset_at(time_zone: Tz, instant: i64) -> i64 {
    let utc = DateTime::from_timestamp(instant, 0).expect("a day of the calendar is an instant");
    i64::from(time_zone.offset_from_utc_datetime(&utc.naive_utc()).fix().local_minus_utc())
}

/// The first instant in `(low, high]` at which a condition holds that, once true, stays true.
pub(super) fn first_instant(mut low: i64, mut high: i64, holds: impl Fn(i64) -> bool) -> i64 {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_year_has_an_offset_from_each_change() {
        let chicago = utc_offsets(Tz::America__Chicago, 2017);
        let hours: Vec<i64> = chicago.iter().map(|offset| offset.seconds / 3600).collect();
        assert_eq!(hours, [-6, -5, -6]);
        // 12 March, 02:00 there.
        assert_eq!(chicago[1].from, day_of(day("2017-03-12")) * SECONDS_OF_DAY + 8 * 3600);
        assert_eq!(utc_offsets(Tz::America__Phoenix, 2017).len(), 1);
        assert_eq!(utc_offsets(Tz::Asia__Tokyo, 2026), [UtcOffset { from: 1_767_225_600, seconds: 32_400 }]);
    }

    #[test]
    fn years_without_a_change_between_them_are_one_stretch() {
        assert_eq!(offsets_between(Tz::Asia__Tokyo, day("2024-12-30"), day("2026-01-02")).len(), 1);
        let chicago = offsets_between(Tz::America__Chicago, day("2016-12-30"), day("2018-01-02"));
        assert_eq!(
            chicago.iter().map(|offset| offset.seconds / 3600).collect::<Vec<_>>(),
            [-6, -5, -6, -5, -6, -5, -6]
        );
    }

    /// Every instant at which the hour turns, in many zones and years.
    #[test]
    fn the_offsets_are_those_of_the_time_zone_database() {
        for zone in chrono_tz::TZ_VARIANTS.iter().step_by(11) {
            for year in (1970..2040).step_by(3) {
                let offsets = utc_offsets(*zone, year);
                let start = offsets[0].from;
                for instant in (start..start + 365 * SECONDS_OF_DAY).step_by(3 * 3600) {
                    let held = offsets.partition_point(|offset| offset.from <= instant) - 1;
                    assert_eq!(offsets[held].seconds, offset_at(*zone, instant), "{zone} {instant}");
                }
            }
        }
    }
}
