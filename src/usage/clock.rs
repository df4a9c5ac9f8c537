//! The clocks of a time zone: which instants a local time is, and where a local day begins.

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeDelta, TimeZone};
use chrono_tz::Tz;

use super::{UsageCode, UsageError};

/// What a local time means in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolved {
    /// One instant.
    Once(i64),
    /// The clock was set back over it: the first and the second time it showed this.
    Twice(i64, i64),
}

/// The clocks of a time zone. Remembers the offset of the day it was last asked about, because rows come by days.
#[derive(Debug)]
pub(super) struct Clock {
    zone: Tz,
    /// A day on which no clock was set, and its offset in seconds east.
    plain_day: Option<(NaiveDate, i64)>,
}

impl Clock {
    /// The clocks of `zone`.
    pub(super) fn new(zone: Tz) -> Self {
        Self { zone, plain_day: None }
    }

    /// The instants at which the clocks showed `local`, seconds since the epoch.
    ///
    /// # Errors
    /// [`UsageCode::LocalTimeDoesNotExist`] where the clock was set forward over it.
    pub(super) fn resolve(&mut self, local: NaiveDateTime) -> Result<Resolved, UsageError> {
        let day = local.date();
        if let Some((plain, offset)) = self.plain_day
            && plain == day
        {
            return Ok(Resolved::Once(local.and_utc().timestamp() - offset));
        }
        if let Some(offset) = self.offset_of_day(day) {
            self.plain_day = Some((day, offset));
        }
        match self.zone.from_local_datetime(&local) {
            MappedLocalTime::Single(instant) => Ok(Resolved::Once(instant.timestamp())),
            MappedLocalTime::Ambiguous(first, second) => Ok(Resolved::Twice(first.timestamp(), second.timestamp())),
            MappedLocalTime::None => Err(UsageError::new(
                UsageCode::LocalTimeDoesNotExist,
                format!(
                    "{local} does not exist in {}: the clock was set forward over it; check the time zone",
                    self.zone
                ),
            )),
        }
    }

    /// The instant at which an interval ends that a file says ends at `local`. Where the clock is set forward, some
    /// files write the time at which it stood when it was set; that is the instant of the change.
    ///
    /// # Errors
    /// As [`Clock::resolve`], for the other times that were skipped.
    pub(super) fn resolve_end(&mut self, local: NaiveDateTime) -> Result<Resolved, UsageError> {
        self.resolve(local).or_else(|refused| {
            let before = local.checked_sub_signed(TimeDelta::minutes(1)).map(|before| self.resolve(before));
            match before {
                Some(Ok(Resolved::Once(instant))) => Ok(Resolved::Once(instant + 60)),
                _ => Err(refused),
            }
        })
    }

    /// The instant at which a local day begins: its midnight, or the first instant after the one that was skipped.
    ///
    /// # Errors
    /// [`UsageCode::LocalTimeDoesNotExist`] for a day that the zone does not have.
    pub(super) fn start_of_day(&mut self, day: NaiveDate) -> Result<i64, UsageError> {
        let midnight = day.and_time(NaiveTime::MIN);
        match self.resolve(midnight) {
            Ok(Resolved::Once(instant) | Resolved::Twice(instant, _)) => Ok(instant),
            Err(refused) => (1..=4)
                .find_map(|quarter| self.resolve(midnight + TimeDelta::minutes(15 * quarter)).ok())
                .map(|first| match first {
                    Resolved::Once(instant) | Resolved::Twice(instant, _) => instant,
                })
                .ok_or(refused),
        }
    }

    /// The offset of a day, seconds east, if no clock is set on it.
    fn offset_of_day(&self, day: NaiveDate) -> Option<i64> {
        let midnight = day.and_time(NaiveTime::MIN);
        let mut offsets = (0..=4).map(|quarter| {
            let local = midnight.checked_add_signed(TimeDelta::hours(6 * quarter))?;
            match self.zone.offset_from_local_datetime(&local) {
                MappedLocalTime::Single(offset) => Some(i64::from(offset.fix().local_minus_utc())),
                MappedLocalTime::Ambiguous(..) | MappedLocalTime::None => None,
            }
        });
        let first = offsets.next()??;
        offsets.all(|offset| offset == Some(first)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn local(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap()
    }

    #[test]
    fn the_clock_changes_of_a_zone_are_known() {
        let zone = chrono_tz::America::Chicago;
        let mut clock = Clock::new(zone);
        assert_eq!(
            Clock::new(zone).resolve(local("2017-11-05 01:00")),
            Ok(Resolved::Twice(1_509_861_600, 1_509_865_200)),
            "06:00 and 07:00 UTC"
        );
        assert_eq!(clock.resolve(local("2017-11-05 02:00")), Ok(Resolved::Once(1_509_868_800)));
        let spring = clock.resolve(local("2017-03-12 02:30")).unwrap_err();
        assert_eq!(spring.code, UsageCode::LocalTimeDoesNotExist);
    }

    #[test]
    fn a_day_remembered_gives_what_the_zone_gives() {
        let mut clock = Clock::new(chrono_tz::Australia::Lord_Howe);
        let mut at = local("2026-03-30 00:00");
        while at < local("2026-04-07 00:00") {
            let fresh = Clock::new(chrono_tz::Australia::Lord_Howe).resolve(at);
            assert_eq!(clock.resolve(at), fresh, "{at}");
            at += TimeDelta::minutes(30);
        }
    }

    #[test]
    fn the_end_before_a_skipped_hour_is_the_instant_of_the_change() {
        let mut clock = Clock::new(chrono_tz::Europe::Dublin);
        let change = seconds("2026-03-29T01:00:00Z");
        assert_eq!(clock.resolve_end(local("2026-03-29 01:00")), Ok(Resolved::Once(change)));
        assert_eq!(clock.resolve_end(local("2026-03-29 02:00")), Ok(Resolved::Once(change)));
        assert!(clock.resolve_end(local("2026-03-29 01:30")).is_err());
    }

    fn seconds(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp()
    }

    #[test]
    fn a_day_may_begin_after_midnight() {
        let mut clock = Clock::new(chrono_tz::America::Asuncion);
        let day = NaiveDate::from_ymd_opt(2023, 10, 1).unwrap();
        assert_eq!(clock.start_of_day(day), Ok(seconds("2023-10-01T04:00:00Z")), "01:00 is the first hour");
    }
}
