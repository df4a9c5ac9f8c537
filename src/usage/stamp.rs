//! Times as text: instants with an offset, and local times that the clocks of a zone make instants of (`clock.rs`).

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

use super::number::clip;
use super::{UsageCode, UsageError};

/// Intervals begin at whole minutes.
const GRID_SECONDS: i64 = 60;

/// First and last instant that a reading may have: the years 1970 to 2199.
const EARLIEST: i64 = 0;
const LATEST: i64 = 7_258_118_400;

/// Minutes of a day on the clock.
const MINUTES_OF_DAY: u32 = 24 * 60;

/// A time as a file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// With an offset or `Z`: seconds since the epoch, and the offset in seconds east, if it was written.
    Instant(i64, Option<i32>),
    /// Without: what a clock on the wall showed.
    Local(NaiveDateTime),
}

/// In which order a file writes day, month and year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// 2026-04-03, 2026/04/03, 20260403, 2026年4月3日.
    YearMonthDay,
    /// 03/04/2026 is the third of April.
    DayMonthYear,
    /// 03/04/2026 is the fourth of March.
    MonthDayYear,
}

impl DateOrder {
    /// `ymd`, `dmy`, `mdy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::YearMonthDay => "ymd",
            Self::DayMonthYear => "dmy",
            Self::MonthDayYear => "mdy",
        }
    }
}

impl Stamp {
    /// Reads `2026-06-14T00:30:00+01:00`, `…Z`, `2026-06-14T00:30:00`, `2026-06-14 00:30`, `2026-06-14 24:00`.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`] for anything else, for dates the calendar does not have, and for times that are no
    /// whole minute.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let bad = |why: &str| UsageError::new(UsageCode::BadTime, format!("{:?} is no time: {why}", clip(text)));
        let shape = || bad("write 2026-06-14T00:30:00+01:00, or 2026-06-14 00:30 with a time zone given");
        let (local, offset) = iso(text.as_bytes()).ok_or_else(shape)?;
        let (seconds_of_minute, local) = local;
        let stamp = match offset {
            Some(offset) => Self::Instant(local.and_utc().timestamp() - i64::from(offset), Some(offset)),
            None => Self::Local(local),
        };
        let seconds = match stamp {
            Self::Instant(instant, _) => instant,
            Self::Local(local) => local.and_utc().timestamp(),
        };
        if seconds_of_minute != Some(0) || seconds % GRID_SECONDS != 0 {
            return Err(bad("intervals start at whole minutes"));
        }
        if !(EARLIEST..LATEST).contains(&seconds) {
            return Err(out_of_range(text));
        }
        Ok(stamp)
    }

    /// A local time from a date and the minutes that the clock showed, 0 to 1440 (24:00).
    ///
    /// # Errors
    /// [`UsageCode::BadTime`] outside the years 1970 to 2199.
    pub(super) fn local(day: NaiveDate, minutes: u32) -> Result<Self, UsageError> {
        let local = day.and_time(NaiveTime::MIN).checked_add_signed(TimeDelta::minutes(minutes.into()));
        local
            .filter(|local| (EARLIEST..LATEST).contains(&local.and_utc().timestamp()))
            .map(Self::Local)
            .ok_or_else(|| out_of_range(&day.to_string()))
    }

    /// A local time as the instant that it is where clocks are always `offset` seconds east of UTC.
    pub(super) fn at_offset(self, offset: i32) -> Self {
        match self {
            Self::Local(local) => Self::Instant(local.and_utc().timestamp() - i64::from(offset), Some(offset)),
            Self::Instant(..) => self,
        }
    }

    /// An instant in seconds since the epoch, as a number of a file gives it.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`] outside the years 1970 to 2199, and for what is no whole minute.
    pub(super) fn epoch(seconds: i64) -> Result<Self, UsageError> {
        if !(EARLIEST..LATEST).contains(&seconds) {
            return Err(out_of_range(&seconds.to_string()));
        }
        if seconds % GRID_SECONDS != 0 {
            let message = format!("{seconds} is no time: intervals start at whole minutes");
            return Err(UsageError::new(UsageCode::BadTime, message));
        }
        Ok(Self::Instant(seconds, None))
    }
}

/// Reads times as [`Stamp::parse`] does, and remembers the day it read last, because rows come by days.
#[derive(Debug, Default)]
pub(super) struct StampReader {
    /// The text of a date, the date and its midnight in seconds since the epoch, as if in UTC.
    last: Option<([u8; 10], NaiveDate, i64)>,
}

impl StampReader {
    /// As [`Stamp::parse`].
    ///
    /// # Errors
    /// As [`Stamp::parse`].
    pub(super) fn parse(&mut self, text: &str) -> Result<Stamp, UsageError> {
        if let Some(stamp) = self.same_day(text.as_bytes()) {
            return Ok(stamp);
        }
        let stamp = Stamp::parse(text)?;
        let local = match stamp {
            Stamp::Local(local) => Some(local),
            Stamp::Instant(instant, Some(offset)) => {
                DateTime::from_timestamp(instant + i64::from(offset), 0).map(|local| local.naive_utc())
            }
            Stamp::Instant(_, None) => None,
        };
        // 24:00 is written with the day before.
        self.last =
            text.as_bytes().split_first_chunk().filter(|(_, rest)| !rest[1..].starts_with(b"24")).zip(local).map(
                |((date, _), local)| (*date, local.date(), local.date().and_time(NaiveTime::MIN).and_utc().timestamp()),
            );
        Ok(stamp)
    }

    /// A time of the day that was read last, in whole minutes.
    #[inline]
    pub(super) fn same_day(&self, text: &[u8]) -> Option<Stamp> {
        let (known, day, midnight) = self.last.as_ref()?;
        let (date, rest) = text.split_first_chunk::<10>()?;
        let [b'T' | b't' | b' ', h1, h2, b':', m1, m2, rest @ ..] = rest else { return None };
        let (hour, minute) = (two(*h1, *h2)?, two(*m1, *m2)?);
        if date != known || hour > 23 || minute > 59 {
            return None;
        }
        let offset = match rest.strip_prefix(b":00").unwrap_or(rest) {
            [] => return Some(Stamp::Local(day.and_hms_opt(hour, minute, 0)?)),
            [b'Z' | b'z'] => 0,
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
                let (hours, minutes) = (two(*h1, *h2)?, two(*m1, *m2)?);
                let seconds = i32::try_from((hours * 60 + minutes) * 60).ok().filter(|_| hours < 24 && minutes < 60)?;
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return None,
        };
        let instant = midnight + i64::from(hour) * 3600 + i64::from(minute) * 60 - i64::from(offset);
        (EARLIEST..LATEST).contains(&instant).then_some(Stamp::Instant(instant, Some(offset)))
    }
}

fn out_of_range(text: &str) -> UsageError {
    let message = format!("{:?} is no time: readings are of the years 1970 to 2199", clip(text));
    UsageError::new(UsageCode::BadTime, message)
}

/// The parts of an ISO 8601 time: the seconds that are beyond a minute (`None`: not whole ones) with the local time
/// without them, and the offset in seconds east.
type IsoParts = ((Option<u32>, NaiveDateTime), Option<i32>);

fn iso(bytes: &[u8]) -> Option<IsoParts> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ', h1, h2, b':', n1, n2, rest @ ..] = bytes
    else {
        return None;
    };
    let year = i32::try_from(two(*y1, *y2)? * 100 + two(*y3, *y4)?).ok()?;
    let day = NaiveDate::from_ymd_opt(year, two(*m1, *m2)?, two(*d1, *d2)?)?;
    let (hour, minute) = (two(*h1, *h2)?, two(*n1, *n2)?);
    let (second, rest) = match rest {
        [b':', s1, s2, rest @ ..] => (two(*s1, *s2).filter(|second| *second < 60)?, rest),
        rest => (0, rest),
    };
    let n_fraction = match rest {
        [b'.' | b',', digits @ ..] => 1 + digits.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    let (fraction, rest) = rest.split_at(n_fraction);
    if n_fraction == 1 {
        return None;
    }
    let is_whole = fraction.iter().skip(1).all(|b| *b == b'0');
    let offset = match rest {
        [] => None,
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let (hours, minutes) = (two(*h1, *h2)?, two(*m1, *m2)?);
            let seconds = i32::try_from((hours * 60 + minutes) * 60).ok().filter(|_| hours < 24 && minutes < 60)?;
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => return None,
    };
    let local = match (hour, minute) {
        // 24:00 is the end of a local day; RFC 3339 has no such instant.
        (24, 0) if second == 0 && offset.is_none() => day.succ_opt()?.and_time(NaiveTime::MIN),
        _ => day.and_hms_opt(hour, minute, 0)?,
    };
    Some(((is_whole.then_some(second), local), offset))
}

/// Two digits as a number.
fn two(a: u8, b: u8) -> Option<u32> {
    (a.is_ascii_digit() && b.is_ascii_digit()).then(|| u32::from(a - b'0') * 10 + u32::from(b - b'0'))
}

/// A date in a stated order: parts of digits with anything but letters between them, or eight digits.
///
/// # Errors
/// [`UsageCode::BadTime`] for anything else, for years of two digits and for dates the calendar does not have.
pub(super) fn parse_date(text: &str, order: DateOrder) -> Result<NaiveDate, UsageError> {
    let bad = || {
        let shape = match order {
            DateOrder::YearMonthDay => "2026-04-03 or 2026/4/3",
            DateOrder::DayMonthYear => "03/04/2026, day first",
            DateOrder::MonthDayYear => "04/03/2026, month first",
        };
        UsageError::new(UsageCode::BadTime, format!("{:?} is no date like {shape}", clip(text)))
    };
    date_parts(text)
        .and_then(|parts| {
            let [a, b, c] = parts;
            match order {
                DateOrder::YearMonthDay => day_of(a, b, c),
                DateOrder::DayMonthYear => day_of(c, b, a),
                DateOrder::MonthDayYear => day_of(c, a, b),
            }
        })
        .ok_or_else(bad)
}

fn day_of(year: u32, month: u32, day: u32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(i32::try_from(year).ok().filter(|year| *year >= 1000)?, month, day)
}

/// The three numbers of a date as they stand. Full-width digits are digits.
pub(super) fn date_parts(text: &str) -> Option<[u32; 3]> {
    let text = text.trim();
    if text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some([text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?]);
    }
    let mut parts = [0_u32; 3];
    let mut n_parts = 0;
    let mut n_digits = 0;
    for c in text.chars() {
        if let Some(digit) = digit(c) {
            if n_digits == 0 {
                n_parts += 1;
            }
            n_digits += 1;
            if n_parts > 3 || n_digits > 4 {
                return None;
            }
            parts[n_parts - 1] = parts[n_parts - 1] * 10 + digit;
        } else if matches!(c, '-' | '/' | '.' | '／' | '年' | '月') && n_digits > 0 {
            n_digits = 0;
        } else if c == '日' && n_parts == 3 {
            // The mark after the day.
        } else {
            return None;
        }
    }
    (n_parts == 3).then_some(parts)
}

fn digit(c: char) -> Option<u32> {
    match c {
        '0'..='9' => Some(u32::from(c) - u32::from('0')),
        '０'..='９' => Some(u32::from(c) - u32::from('０')),
        _ => None,
    }
}

/// Minutes that a clock showed, 0 to 1440: `0:30`, `00:30`, `00:30:00`, `12:30 AM`, `24:00`, `００：３０`.
///
/// # Errors
/// [`UsageCode::BadTime`] for anything else and for seconds that are not zero.
pub(super) fn parse_clock(text: &str) -> Result<u32, UsageError> {
    clock_minutes(text.trim()).ok_or_else(|| {
        let message = format!("{:?} is no time of day like 00:30, in whole minutes", clip(text));
        UsageError::new(UsageCode::BadTime, message)
    })
}

fn clock_minutes(text: &str) -> Option<u32> {
    // What nearly all files have.
    if let [h1, h2, b':', m1, m2] | [h1, h2, b':', m1, m2, b':', b'0', b'0'] = text.as_bytes()
        && let (Some(hour), Some(minute)) = (two(*h1, *h2), two(*m1, *m2))
    {
        return (minute < 60 && hour * 60 + minute <= MINUTES_OF_DAY).then_some(hour * 60 + minute);
    }
    let upper = text.to_ascii_uppercase();
    let (text, afternoon) = if let Some(rest) = upper.strip_suffix("AM") {
        (rest.trim_end(), Some(false))
    } else if let Some(rest) = upper.strip_suffix("PM") {
        (rest.trim_end(), Some(true))
    } else {
        (upper.as_str(), None)
    };
    let mut parts = text.split([':', '：']).map(|part| {
        let n = part.chars().count();
        if n == 0 || n > 2 { None } else { part.chars().try_fold(0, |value, c| Some(value * 10 + digit(c)?)) }
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().map_or(Some(0), |second| second)?;
    if parts.next().is_some() || minute > 59 || second != 0 {
        return None;
    }
    let hour = match afternoon {
        None => hour,
        Some(_) if hour == 0 || hour > 12 => return None,
        Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
    };
    let minutes = hour * 60 + minute;
    (minutes <= MINUTES_OF_DAY).then_some(minutes)
}

/// The text of an instant: `2026-06-14T00:30:00Z`.
pub(super) fn instant(seconds: i64) -> String {
    DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |t| t.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
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
    fn times_of_the_day_read_last_are_read_as_any_other() {
        let texts = [
            "2026-06-14T00:30:00+01:00",
            "2026-06-14T23:45:00Z",
            "2026-06-14 12:15",
            "2026-06-14T24:00",
            "2026-06-14T00:15:00-05:30",
            "2026-06-14T00:15:30Z",
            "2026-06-14T00:60:00Z",
            "2026-06-14T25:00:00Z",
            "2026-06-14T00:15:00+25:00",
            "2026-06-14T00:15:00.000Z",
            "2026-06-14T00:15:00Zulu",
            "2026-06-15T00:15:00Z",
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00+01:00",
            "2026-06-14",
        ];
        for first in texts {
            for text in texts {
                let mut reader = StampReader::default();
                let _ = reader.parse(first);
                assert_eq!(reader.parse(text), Stamp::parse(text), "{text} after {first}");
            }
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
            "2018-01-01T00:00:07Z",
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
    fn the_end_of_a_local_day_may_be_24_hours() {
        assert_eq!(local("2018-01-01 24:00").to_string(), "2018-01-02 00:00:00");
        assert!(Stamp::parse("2018-01-01 24:30").is_err());
    }

    #[test]
    fn dates_are_read_in_the_order_that_was_said() {
        let third_of_april = NaiveDate::from_ymd_opt(2026, 4, 3).unwrap();
        for (text, order) in [
            ("2026-04-03", DateOrder::YearMonthDay),
            ("2026/4/3", DateOrder::YearMonthDay),
            ("20260403", DateOrder::YearMonthDay),
            ("２０２６年４月３日", DateOrder::YearMonthDay),
            ("03/04/2026", DateOrder::DayMonthYear),
            ("3.4.2026", DateOrder::DayMonthYear),
            ("04-03-2026", DateOrder::MonthDayYear),
        ] {
            assert_eq!(parse_date(text, order), Ok(third_of_april), "{text}");
        }
        for text in
            ["2026-13-01", "2026-02-30", "26-04-03", "2026-04", "2026-04-03-01", "x2026-04-03", "", "//", "99999-1-1"]
        {
            assert!(parse_date(text, DateOrder::YearMonthDay).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_read_on_both_clocks() {
        for (text, minutes) in [
            ("0:30", 30),
            ("00:30:00", 30),
            ("12:30 AM", 30),
            ("12:00 pm", 720),
            ("11:45PM", 1425),
            ("24:00", 1440),
            ("００：３０", 30),
        ] {
            assert_eq!(parse_clock(text), Ok(minutes), "{text}");
        }
        for text in ["", "24:01", "25:00", "13:00 PM", "0:00 AM", "12", "1:2:3:4", "00:60", "00:00:30", "a:b"] {
            assert!(parse_clock(text).is_err(), "{text}");
        }
    }
}
