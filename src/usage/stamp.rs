//! Times as text: instants with an offset, and local times that a time zone makes instants of.

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::Tz;

use super::energy::clip;
use super::{UsageCode, UsageError};

/// Intervals begin at whole multiples of this, seconds.
const GRID_SECONDS: i64 = 300;

/// First and last instant that a reading may have: the years 1970 to 2199.
const EARLIEST: i64 = 0;
const LATEST: i64 = 7_258_118_400;

/// A time as a file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// With an offset or `Z`: seconds since the epoch, and the offset in seconds east.
    Instant(i64, i32),
    /// Without: what a clock on the wall showed.
    Local(NaiveDateTime),
}

/// What a local time means in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolved {
    /// One instant.
    Once(i64),
    /// The clock was set back over it: the first and the second time it showed this.
    Twice(i64, i64),
}

impl Stamp {
    /// Reads `2026-06-14T00:30:00+01:00`, `…Z`, `2026-06-14T00:30:00`, `2026-06-14 00:30`.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`] for anything else, for dates the calendar does not have, and for times that no
    /// interval of 5 minutes starts at.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let bad = |why: &str| UsageError::new(UsageCode::BadTime, format!("{:?} is no start time: {why}", clip(text)));
        let shape = || bad("write 2026-06-14T00:30:00+01:00, or 2026-06-14 00:30 with a time zone given");
        let bytes = text.as_bytes();
        if !text.is_ascii() || bytes.len() < 16 || bytes[4] != b'-' || bytes[7] != b'-' || bytes[13] != b':' {
            return Err(shape());
        }
        let has_offset = bytes[16..].iter().any(|b| matches!(b, b'Z' | b'z' | b'+' | b'-'));
        let (stamp, nanoseconds) = if has_offset {
            let instant = DateTime::parse_from_rfc3339(text)
                .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%:z"))
                .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%d %H:%M%:z"))
                .map_err(|_| shape())?;
            (Self::Instant(instant.timestamp(), instant.offset().local_minus_utc()), instant.nanosecond())
        } else {
            let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
                .iter()
                .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
                .ok_or_else(shape)?;
            (Self::Local(local), local.nanosecond())
        };
        let seconds = match stamp {
            Self::Instant(instant, _) => instant,
            Self::Local(local) => local.and_utc().timestamp(),
        };
        if nanoseconds != 0 || seconds % GRID_SECONDS != 0 {
            return Err(bad("intervals start at whole multiples of 5 minutes"));
        }
        if !(EARLIEST..LATEST).contains(&seconds) {
            return Err(bad("readings are of the years 1970 to 2199"));
        }
        Ok(stamp)
    }
}

/// The instants at which clocks of `zone` showed `local`, seconds since the epoch.
///
/// # Errors
/// [`UsageCode::LocalTimeDoesNotExist`] where the clock was set forward over it.
pub(super) fn resolve(local: NaiveDateTime, zone: Tz) -> Result<Resolved, UsageError> {
    match zone.from_local_datetime(&local) {
        MappedLocalTime::Single(instant) => Ok(Resolved::Once(instant.timestamp())),
        MappedLocalTime::Ambiguous(first, second) => Ok(Resolved::Twice(first.timestamp(), second.timestamp())),
        MappedLocalTime::None => Err(UsageError::new(
            UsageCode::LocalTimeDoesNotExist,
            format!("{local} does not exist in {zone}: the clock was set forward over it; check the time zone"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(text: &str) -> NaiveDateTime {
        match Stamp::parse(text).unwrap() {
            Stamp::Local(local) => local,
            Stamp::Instant(..) => panic!("{text} has an offset"),
        }
    }

    #[test]
    fn an_offset_makes_an_instant() {
        for text in [
            "2018-01-01T00:00:00Z",
            "2018-01-01T00:00:00+00:00",
            "2017-12-31T17:00:00-07:00",
            "2017-12-31 17:00:00-07:00",
            "2017-12-31T17:00-07:00",
            "2018-01-01T05:45:00.000+05:45",
        ] {
            assert!(matches!(Stamp::parse(text), Ok(Stamp::Instant(1_514_764_800, _))), "{text}");
        }
    }

    #[test]
    fn a_time_without_offset_is_local() {
        for text in ["2018-01-01T00:30:00", "2018-01-01 00:30:00", "2018-01-01 00:30", "2018-01-01T00:30:00.000"] {
            assert_eq!(local(text).to_string(), "2018-01-01 00:30:00", "{text}");
        }
    }

    #[test]
    fn what_is_no_start_of_an_interval_is_refused() {
        for text in [
            "",
            "2018-01-01",
            "01/02/2018 00:00",
            "2018-02-30T00:00:00Z",
            "2018-01-01T24:00:00Z",
            "2018-01-01T00:00:00+25:00",
            "2018-01-01T00:00:01Z",
            "2018-01-01T00:07:00Z",
            "2018-01-01T00:00:00.5Z",
            "2016-12-31T23:59:60Z",
            "0018-01-01T00:00:00Z",
            "9999-12-31T23:00:00Z",
            "2018-01-01T00:00:00Zulu",
            "2018-01-01T00:00:00\u{661}Z",
        ] {
            assert_eq!(Stamp::parse(text).map_err(|e| e.code), Err(UsageCode::BadTime), "{text}");
        }
    }

    #[test]
    fn the_clock_changes_of_a_zone_are_known() {
        let zone = chrono_tz::America::Chicago;
        assert_eq!(
            resolve(local("2017-11-05 01:00"), zone),
            Ok(Resolved::Twice(1_509_861_600, 1_509_865_200)),
            "06:00 and 07:00 UTC"
        );
        assert_eq!(resolve(local("2017-11-05 02:00"), zone), Ok(Resolved::Once(1_509_868_800)));
        let spring = resolve(local("2017-03-12 02:30"), zone).unwrap_err();
        assert_eq!(spring.code, UsageCode::LocalTimeDoesNotExist);
    }
}
