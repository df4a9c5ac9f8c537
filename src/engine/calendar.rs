//! Local days as instants, and the cutting of periods into billing months.

use chrono::{DateTime, Days, Months, NaiveDate, NaiveTime, TimeZone};
use chrono_tz::Tz;

use super::clock::{SECONDS_OF_DAY, UtcOffset, day_of, first_instant, offsets_between};
use crate::tariff::schedule::Day;
use crate::words::BillingPeriod;

/// Cuts a period into billing months: at the bounds of `cycle` (registered periods) if they cover all of it, else
/// counted from its first day. The rule is [`BillingPeriod::billing_months`].
pub fn billing_months(period: &BillingPeriod, cycle: &[BillingPeriod]) -> Vec<BillingPeriod> {
    let mut cycle = cycle.to_vec();
    cycle.sort_unstable();
    period.billing_months(&cycle)
}

/// Whether registered periods of `cycle` tile this period: each of its billing months is then one of them.
pub fn is_registered(period: &BillingPeriod, cycle: &[BillingPeriod]) -> bool {
    billing_months(period, cycle).iter().all(|month| cycle.contains(month))
}

/// The `n` billing months before a period, oldest first: registered ones of `cycle` as far as they adjoin, then
/// counted back from the first day that is reached.
pub fn earlier_months(period: &BillingPeriod, n: u32, cycle: &[BillingPeriod]) -> Vec<BillingPeriod> {
    let mut months: Vec<BillingPeriod> = Vec::new();
    let mut day = period.start();
    while months.len() < n as usize {
        let Some(month) = cycle.iter().find(|month| month.end() == day) else { break };
        months.push(*month);
        day = month.start();
    }
    let first = day;
    for back in 1.. {
        if months.len() >= n as usize {
            break;
        }
        let Some(start) = first.checked_sub_months(Months::new(back)) else { break };
        months.push(span(start, day));
        day = start;
    }
    months.reverse();
    months
}

fn span(start: NaiveDate, end: NaiveDate) -> BillingPeriod {
    BillingPeriod::new(start, end).expect("a part of a period is a period")
}

/// The instants of local days: from local midnight to local midnight, seconds since the epoch. Where a clock
/// change removes midnight, the day begins at the first instant that exists; where it repeats, at the first.
pub fn instants(time_zone: Tz, days: &BillingPeriod) -> std::ops::Range<i64> {
    day_start(time_zone, days.start())..day_start(time_zone, days.end())
}

/// The first instant of a local day.
pub(super) fn day_start(time_zone: Tz, day: NaiveDate) -> i64 {
    let midnight = day.and_time(NaiveTime::MIN);
    if let Some(instant) = time_zone.from_local_datetime(&midnight).earliest() {
        return instant.timestamp();
    }
    // Midnight is skipped: the first instant whose local date has come.
    let guess = midnight.and_utc().timestamp();
    first_instant(guess - 2 * SECONDS_OF_DAY, guess + 2 * SECONDS_OF_DAY, |instant| {
        local(time_zone, instant).date_naive() >= day
    })
}

fn local(time_zone: Tz, instant: i64) -> DateTime<Tz> {
    DateTime::from_timestamp(instant, 0).expect("a day of the calendar is an instant").with_timezone(&time_zone)
}

/// Local days in a row with their instants, and the pieces of each on which the clock runs evenly.
#[derive(Debug)]
pub struct LocalDays {
    pub(super) first: NaiveDate,
    /// `first` in days since the epoch.
    first_day: i64,
    /// Start of each day, and the end of the last.
    starts: Vec<i64>,
    pieces: Vec<Piece>,
}

/// A stretch of one day without a clock change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) day: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Seconds since midnight on the local clock at `start`.
    pub(super) local: i64,
}

impl LocalDays {
    /// The days of a period. The offsets of its years are found once for all questions.
    pub fn of(time_zone: Tz, period: &BillingPeriod) -> Self {
        Self::new(time_zone, period.start(), period.end(), None)
    }

    /// The days `[first, end)`.
    ///
    /// * `within`: for a clock that is not the customer's, the instants of the same dates on the customer's clock.
    pub(super) fn new(time_zone: Tz, first: NaiveDate, end: NaiveDate, within: Option<&std::ops::Range<i64>>) -> Self {
        let n_days = usize::try_from((end - first).num_days()).unwrap_or(0);
        // A day more on both sides than any clock is away from UTC.
        let offsets = offsets_between(time_zone, first - Days::new(2), end + Days::new(2));
        let first_day = day_of(first);
        let starts = day_starts(&offsets, first_day, n_days);
        let mut pieces = Vec::with_capacity(n_days + 4);
        let end_of = |at: usize| offsets.get(at + 1).map_or(i64::MAX, |next| next.from);
        let (mut at, mut change) = (0, end_of(0));
        let mut midnight = first_day * SECONDS_OF_DAY;
        for (day, bounds) in starts.windows(2).enumerate() {
            let (mut start, day_end) = (bounds[0], bounds[1]);
            while start < day_end {
                while change <= start {
                    at += 1;
                    change = end_of(at);
                }
                let local = local_seconds(start + offsets[at].seconds - midnight);
                let end = change.min(day_end);
                pieces.push(Piece { day, start, end, local });
                start = end;
            }
            midnight += SECONDS_OF_DAY;
        }
        let mut days = Self { first, first_day, starts, pieces };
        if let Some(within) = within {
            days.reach(within, &offsets);
        }
        days
    }

    /// Days of a plan's own clock: what lies outside its first and last day still belongs to them.
    fn reach(&mut self, within: &std::ops::Range<i64>, offsets: &[UtcOffset]) {
        let n_days = self.len();
        let piece = |day: usize, start: i64, end: i64| {
            let at = offsets.partition_point(|offset| offset.from <= start).saturating_sub(1);
            Piece { day, start, end, local: local_seconds(start + offsets[at].seconds) }
        };
        if within.start < self.starts[0] {
            self.pieces.insert(0, piece(0, within.start, self.starts[0]));
        }
        if within.end > self.starts[n_days] && n_days > 0 {
            self.pieces.push(piece(n_days - 1, self.starts[n_days], within.end));
        }
        for piece in &mut self.pieces {
            let late = (within.start - piece.start).max(0);
            piece.start += late;
            piece.local += late;
            piece.end = piece.end.min(within.end);
        }
        self.pieces.retain(|piece| piece.start < piece.end);
    }

    /// Number of days.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// A day as schedules look at it.
    pub(super) fn day(&self, day: usize) -> Day {
        Day::new(self.date(day), self.weekday(day))
    }

    /// The weekday of a day, Monday 0.
    pub(super) fn weekday(&self, day: usize) -> usize {
        // The epoch was a Thursday.
        usize::try_from((self.first_day + 3).rem_euclid(7)).unwrap_or(0).wrapping_add(day) % 7
    }

    /// The instant at which a day ends, seconds since the epoch.
    pub(super) fn end(&self, day: usize) -> i64 {
        self.starts[day + 1]
    }

    /// The date of a day.
    pub(super) fn date(&self, day: usize) -> NaiveDate {
        self.first + Days::new(day as u64)
    }

    /// Index of a date; 0 before the first, the number of days after the last.
    pub(super) fn index(&self, date: NaiveDate) -> usize {
        usize::try_from((date - self.first).num_days()).unwrap_or(0).min(self.len())
    }

    /// The pieces of days, in order of time.
    pub(super) fn pieces(&self, days: std::ops::Range<usize>) -> &[Piece] {
        let from = self.pieces.partition_point(|piece| piece.day < days.start);
        let to = self.pieces.partition_point(|piece| piece.day < days.end);
        &self.pieces[from..to]
    }
}

/// Seconds since a midnight as seconds since the last one; a division only where there is one in between.
fn local_seconds(seconds: i64) -> i64 {
    if (0..SECONDS_OF_DAY).contains(&seconds) { seconds } else { seconds.rem_euclid(SECONDS_OF_DAY) }
}

/// The start of each of `n_days` days and the end of the last: the first instant at which the local clock shows
/// midnight, or later where a change leaves midnight out.
fn day_starts(offsets: &[UtcOffset], first_day: i64, n_days: usize) -> Vec<i64> {
    let mut starts = Vec::with_capacity(n_days + 1);
    let mut rest = offsets;
    let mut midnight = first_day * SECONDS_OF_DAY;
    while let Some((offset, later)) = rest.split_first() {
        let change = later.first().map_or(i64::MAX, |next| next.from);
        while starts.len() <= n_days {
            let start = (midnight - offset.seconds).max(offset.from);
            if start >= change {
                break;
            }
            starts.push(start);
            midnight += SECONDS_OF_DAY;
        }
        rest = later;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn period(start: &str, end: &str) -> BillingPeriod {
        BillingPeriod::new(date(start), date(end)).unwrap()
    }

    fn bounds(months: &[BillingPeriod]) -> Vec<String> {
        let mut bounds: Vec<String> = months.iter().map(|m| m.start().to_string()).collect();
        bounds.extend(months.last().map(|m| m.end().to_string()));
        bounds
    }

    #[test]
    fn months_are_counted_from_the_first_day() {
        let months = billing_months(&period("2026-01-31", "2026-05-10"), &[]);
        assert_eq!(bounds(&months), ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-10"]);
        assert_eq!(billing_months(&period("2026-01-01", "2027-01-01"), &[]).len(), 12);
        assert_eq!(billing_months(&period("2026-06-14", "2026-06-20"), &[]).len(), 1);
    }

    #[test]
    fn registered_periods_cut_when_they_tile_all_of_it() {
        let cycle = [
            period("2026-02-12", "2026-03-13"),
            period("2026-01-10", "2026-02-12"),
            period("2026-03-13", "2026-04-11"),
        ];
        let whole = period("2026-01-10", "2026-03-13");
        assert_eq!(bounds(&billing_months(&whole, &cycle)), ["2026-01-10", "2026-02-12", "2026-03-13"]);
        assert!(is_registered(&whole, &cycle));
        let longer = period("2026-01-10", "2026-03-14");
        assert!(!is_registered(&longer, &cycle));
    }

    #[test]
    fn earlier_months_follow_the_cycle_as_far_as_it_adjoins() {
        let cycle = [period("2026-01-10", "2026-02-12"), period("2026-02-12", "2026-03-13")];
        let months = earlier_months(&period("2026-03-13", "2026-04-13"), 4, &cycle);
        assert_eq!(bounds(&months), ["2025-11-10", "2025-12-10", "2026-01-10", "2026-02-12", "2026-03-13"]);
        assert_eq!(bounds(&earlier_months(&period("2026-03-31", "2026-04-30"), 1, &[])), ["2026-02-28", "2026-03-31"]);
        assert!(earlier_months(&period("2026-03-31", "2026-04-30"), 0, &[]).is_empty());
    }

    #[test]
    fn days_of_clock_changes_have_23_and_25_hours() {
        let half_hours = |zone: Tz, day: &str| {
            let day = date(day);
            let instants = instants(zone, &BillingPeriod::new(day, day + Days::new(1)).unwrap());
            (instants.end - instants.start) / 1800
        };
        assert_eq!(half_hours(Tz::America__Chicago, "2017-03-12"), 46);
        assert_eq!(half_hours(Tz::America__Chicago, "2017-11-05"), 50);
        assert_eq!(half_hours(Tz::Australia__Lord_Howe, "2018-04-01"), 49);
        // Midnight is skipped in Sao Paulo, repeated in Havana.
        assert_eq!(half_hours(Tz::America__Sao_Paulo, "2017-10-15"), 46);
        assert_eq!(half_hours(Tz::America__Havana, "2017-11-05"), 50);
        assert_eq!(half_hours(Tz::Pacific__Apia, "2011-12-30"), 0);
    }

    fn local_days(zone: Tz, first: &str, end: &str) -> LocalDays {
        LocalDays::of(zone, &period(first, end))
    }

    #[test]
    fn the_clock_runs_evenly_on_each_piece() {
        let days = local_days(Tz::America__Chicago, "2017-11-04", "2017-11-07");
        let pieces: Vec<(usize, i64, i64)> =
            days.pieces(0..3).iter().map(|p| (p.day, p.local / 3600, (p.end - p.start) / 3600)).collect();
        assert_eq!(pieces, [(0, 0, 24), (1, 0, 2), (1, 1, 23), (2, 0, 24)]);
        let days = local_days(Tz::America__Chicago, "2017-03-11", "2017-03-14");
        let pieces: Vec<(usize, i64, i64)> =
            days.pieces(0..3).iter().map(|p| (p.day, p.local / 3600, (p.end - p.start) / 3600)).collect();
        assert_eq!(pieces, [(0, 0, 24), (1, 0, 2), (1, 3, 21), (2, 0, 24)]);
        let days = local_days(Tz::America__Sao_Paulo, "2017-10-14", "2017-10-16");
        let pieces: Vec<(usize, i64, i64)> =
            days.pieces(0..2).iter().map(|p| (p.day, p.local / 3600, (p.end - p.start) / 3600)).collect();
        assert_eq!(pieces, [(0, 0, 24), (1, 1, 23)]);
    }

    #[test]
    fn days_begin_where_the_time_zone_database_says() {
        for zone in chrono_tz::TZ_VARIANTS.iter().step_by(7) {
            for year in (1971i32..2039).step_by(4) {
                let days = local_days(*zone, &format!("{year}-01-01"), &format!("{}-01-01", year + 1));
                for day in (0..days.len()).step_by(1 + year.unsigned_abs() as usize % 3) {
                    assert_eq!(days.starts[day], day_start(*zone, days.date(day)), "{zone} {}", days.date(day));
                }
            }
        }
    }
}
