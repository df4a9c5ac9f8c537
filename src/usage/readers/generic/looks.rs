//! What the text of a time may be, before it is known in which order its date stands.

use chrono::{Days, NaiveDate, Timelike as _};

use super::super::super::stamp::{DateOrder, Stamp, date_parts, parse_clock};

/// A time or a part of one, as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    pub(super) date: Option<DateText>,
    /// Minutes that the clock showed, 0 to 1440.
    pub(super) clock: Option<u32>,
    /// Seconds east of UTC.
    pub(super) offset: Option<i32>,
    /// Seconds since the epoch, where the text is one instant.
    pub(super) epoch: Option<i64>,
    /// A small whole number: of an hour, of a half hour.
    pub(super) number: Option<u32>,
    /// The other end of `00:00-00:30`, minutes.
    pub(super) until: Option<u32>,
}

/// A date, or two numbers before a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DateText {
    Day(NaiveDate),
    Parts { first: u32, second: u32, year: u32, is_dotted: bool },
}

impl DateText {
    /// The date, if the calendar has it.
    pub(super) fn day(self, order: DateOrder) -> Option<NaiveDate> {
        match (self, order) {
            (Self::Day(day), _) => Some(day),
            (Self::Parts { first, second, year, .. }, DateOrder::DayMonthYear) => day_of(year, second, first),
            (Self::Parts { first, second, year, .. }, DateOrder::MonthDayYear) => day_of(year, first, second),
            (Self::Parts { .. }, DateOrder::YearMonthDay) => None,
        }
    }
}

fn day_of(year: u32, month: u32, day: u32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)
}

/// What a text may say of time; `None`: nothing.
pub(super) fn look(text: &str) -> Option<Look> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if bytes.len() >= 16
        && bytes[4] == b'-'
        && let Ok(stamp) = Stamp::parse(text)
    {
        return Some(look_of_stamp(stamp, &bytes[11..16] == b"24:00"));
    }
    let n_signs = bytes.iter().filter(|b| matches!(b, b'.' | b',')).count();
    if n_signs < 2 && bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',')) {
        return look_of_number(text);
    }
    if text.contains(['時', '\u{a0}', '：']) {
        let plain = text.replace('時', ":").replace('分', "").replace('\u{a0}', " ").replace('：', ":");
        let plain = if plain.ends_with(':') { format!("{plain}00") } else { plain };
        return look_of_text(&plain);
    }
    look_of_text(text)
}

fn look_of_stamp(stamp: Stamp, is_end_of_day: bool) -> Look {
    match stamp {
        Stamp::Local(local) if is_end_of_day => {
            Look { date: local.date().pred_opt().map(DateText::Day), clock: Some(24 * 60), ..Look::default() }
        }
        Stamp::Local(local) => Look {
            date: Some(DateText::Day(local.date())),
            clock: Some(local.hour() * 60 + local.minute()),
            ..Look::default()
        },
        Stamp::Instant(seconds, offset) => {
            let local = chrono::DateTime::from_timestamp(seconds + i64::from(offset.unwrap_or(0)), 0);
            Look {
                date: local.map(|local| DateText::Day(local.date_naive())),
                clock: local.map(|local| local.hour() * 60 + local.minute()),
                offset,
                epoch: Some(seconds),
                ..Look::default()
            }
        }
    }
}

/// Digits with at most one sign: seconds or milliseconds since the epoch, compact dates, the day numbers and fractions
/// of a spreadsheet.
fn look_of_number(text: &str) -> Option<Look> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let number: u64 = whole.parse().ok()?;
    let compact = |date: &str, clock: &str| {
        let [year, month, day] = date_parts(date)?;
        let two = |at: usize| clock.get(at..at + 2)?.parse::<u32>().ok();
        let minutes = match clock.len() {
            0 => None,
            _ => Some(two(0).filter(|hour| *hour < 24)? * 60 + two(2).filter(|minute| *minute < 60)?),
        };
        let is_whole_minute = clock.len() <= 4 || two(4) == Some(0);
        let date = Some(DateText::Day(day_of(year, month, day)?));
        is_whole_minute.then_some(Look { date, clock: minutes, ..Look::default() })
    };
    match (whole.len(), fraction) {
        (1..=3, "") => Some(Look { number: u32::try_from(number).ok(), ..Look::default() }),
        (1, fraction) if number == 0 => Some(Look { clock: Some(minutes_of(fraction)?), ..Look::default() }),
        (5, fraction) => {
            let day = serial_day(number)?;
            let clock = if fraction.is_empty() { None } else { Some(minutes_of(fraction)?) };
            Some(Look { date: Some(DateText::Day(day)), clock, ..Look::default() })
        }
        (8, "") => compact(whole, ""),
        (10, "") => Some(look_of_stamp(Stamp::epoch(i64::try_from(number).ok()?).ok()?, false)),
        (13, "") if number.is_multiple_of(1000) => {
            Some(look_of_stamp(Stamp::epoch(i64::try_from(number / 1000).ok()?).ok()?, false))
        }
        (12 | 14, "") => compact(&whole[..8], &whole[8..]),
        _ => None,
    }
}

/// The day with this number in a spreadsheet: 45658 is 2025-01-01.
fn serial_day(number: u64) -> Option<NaiveDate> {
    let in_use = (36_526..73_051).contains(&number); // 2000 to 2099
    NaiveDate::from_ymd_opt(1899, 12, 30)?.checked_add_days(Days::new(number)).filter(|_| in_use)
}

/// Minutes of a fraction of a day, if it is a whole number of them to the precision of a spreadsheet.
fn minutes_of(fraction: &str) -> Option<u32> {
    let digits = fraction.get(..fraction.len().min(12))?;
    let scale = 10_u64.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let minutes = digits.parse::<u64>().ok()?.checked_mul(24 * 60)?;
    let nearest = (minutes + scale / 2) / scale;
    let is_near = minutes.abs_diff(nearest * scale) * 20 <= scale;
    u32::try_from(nearest).ok().filter(|_| is_near)
}

fn look_of_text(text: &str) -> Option<Look> {
    let Some(colon) = text.find(':') else {
        return Some(Look { date: Some(date_text(text)?), ..Look::default() });
    };
    let is_digit = |c: char| c.is_ascii_digit() || ('０'..='９').contains(&c);
    let hour_at = text[..colon].char_indices().rev().take_while(|(_, c)| is_digit(*c)).last()?.0;
    let date = text[..hour_at].trim_end_matches([' ', 'T', ',', '\u{3000}']);
    if date.is_empty()
        && let Some((from, until)) = text.split_once(['-', '–', '~', '〜', '～'])
    {
        // No offset without a date: it is a range.
        let (clock, until) = (parse_clock(from).ok()?, parse_clock(until).ok()?);
        return Some(Look { clock: Some(clock), until: Some(until), ..Look::default() });
    }
    let (clock, offset) = clock_and_offset(&text[hour_at..])?;
    if date.is_empty() {
        return Some(Look { clock: Some(clock), offset, ..Look::default() });
    }
    // What a spreadsheet makes of a time without a date.
    let damaged = match date_parts(date) {
        Some(
            [1899, 12, 30 | 31]
            | [30 | 31, 12, 1899]
            | [12, 30 | 31, 1899]
            | [1900, 1, 0]
            | [0, 1, 1900]
            | [1, 0, 1900],
        ) => Some(clock),
        Some([1900, 1, 1] | [1, 1, 1900]) if clock == 0 => Some(24 * 60),
        _ => None,
    };
    if damaged.is_some() {
        return Some(Look { clock: damaged, ..Look::default() });
    }
    Some(Look { date: Some(date_text(date)?), clock: Some(clock), offset, ..Look::default() })
}

/// `00:30`, `0:30:00`, `12:30 AM`, each with `Z`, `UTC`, `+01:00` or nothing behind it.
fn clock_and_offset(text: &str) -> Option<(u32, Option<i32>)> {
    let (clock, offset) = if let Some(clock) = text.strip_suffix('Z').or_else(|| text.strip_suffix("UTC")) {
        (clock, Some(0))
    } else if let Some(clock) = text.strip_suffix("GMT") {
        (clock, Some(0))
    } else if let Some(at) = text.rfind(['+', '-']) {
        let digits: String = text[at + 1..].chars().filter(|c| *c != ':').collect();
        let hours: i32 = digits.get(..2)?.parse().ok()?;
        let minutes: i32 = digits.get(2..).filter(|rest| !rest.is_empty()).map_or(Some(0), |rest| rest.parse().ok())?;
        let seconds = (hours * 60 + minutes) * 60;
        let is_offset = digits.len() <= 4 && hours <= 14 && minutes < 60;
        if !is_offset {
            return None;
        }
        (&text[..at], Some(if text[at..].starts_with('-') { -seconds } else { seconds }))
    } else {
        (text, None)
    };
    let clock = clock.trim_end();
    let clock = match clock.rsplit_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b == b'0') => whole,
        _ => clock,
    };
    Some((parse_clock(clock).ok()?, offset))
}

fn date_text(text: &str) -> Option<DateText> {
    let text = text.trim();
    if text.chars().any(|c| c.is_ascii_alphabetic()) {
        return month_name_date(text).map(DateText::Day);
    }
    match date_parts(text)? {
        [year, month, day] if year >= 1000 => Some(DateText::Day(day_of(year, month, day)?)),
        [first, second, year] if year >= 1000 => {
            Some(DateText::Parts { first, second, year, is_dotted: text.contains('.') })
        }
        _ => None,
    }
}

/// `01-Jan-2026`, `1 January 2026`, `Jan 1, 2026`.
fn month_name_date(text: &str) -> Option<NaiveDate> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut day, mut month, mut year) = (None, None, None);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        let named = MONTHS.iter().zip(1..).find(|(name, _)| lower.starts_with(**name) && lower.len() <= 9);
        let slot = match (named, lower.len()) {
            (Some((_, number)), _) if lower.bytes().all(|b| b.is_ascii_lowercase()) => (&mut month, number),
            (_, 1 | 2) => (&mut day, lower.parse().ok()?),
            (_, 4) => (&mut year, lower.parse().ok()?),
            _ => return None,
        };
        if slot.0.replace(slot.1).is_some() {
            return None;
        }
    }
    day_of(year?, month?, day?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let Some(look) = look(text) else { return "nothing".to_owned() };
        let date = match look.date {
            None => String::new(),
            Some(DateText::Day(day)) => day.to_string(),
            Some(DateText::Parts { first, second, year, is_dotted }) => {
                format!("{first}?{second}?{year}{}", if is_dotted { "." } else { "" })
            }
        };
        let clock = look.clock.map_or(String::new(), |clock| format!(" {clock}"));
        let offset = look.offset.map_or(String::new(), |offset| format!(" {offset:+}"));
        let number = look.number.map_or(String::new(), |number| format!("#{number}"));
        let until = look.until.map_or(String::new(), |until| format!(" to {until}"));
        format!("{date}{clock}{offset}{number}{until}").trim().to_owned()
    }

    #[test]
    fn texts_of_time_are_looked_at() {
        for (text, expected) in [
            ("2026-04-03T00:30:00Z", "2026-04-03 30 +0"),
            ("2026-04-03 24:00", "2026-04-03 1440"),
            ("2026-04-03 00:30+01:00", "2026-04-03 30 +3600"),
            ("2026/04/03 0:30", "2026-04-03 30"),
            ("03/04/2026 00:30", "3?4?2026 30"),
            ("3.4.2026", "3?4?2026."),
            ("4/3/2026 12:30 AM", "4?3?2026 30"),
            ("03/04/2026 00:30 UTC", "3?4?2026 30 +0"),
            ("03-Apr-2026 00:30", "2026-04-03 30"),
            ("Apr 3, 2026", "2026-04-03"),
            ("２０２６年４月３日 ０時３０分", "2026-04-03 30"),
            ("2026年4月3日 24時", "2026-04-03 1440"),
            ("20260403", "2026-04-03"),
            ("202604030030", "2026-04-03 30"),
            ("20260403003000", "2026-04-03 30"),
            ("1775176200", "2026-04-03 30"),
            ("1775176200000", "2026-04-03 30"),
            ("45658", "2025-01-01"),
            ("45658.0208333333", "2025-01-01 30"),
            ("0.0208333333333333", "30"),
            ("0,5", "720"),
            ("1900-01-01 00:00:00", "1440"),
            ("1/1/1900 0:00", "1440"),
            ("30/12/1899 00:30", "30"),
            ("00:30", "30"),
            ("00:30:00.000", "30"),
            ("24:00", "1440"),
            ("7", "#7"),
            ("03/04/26", "nothing"),
            ("45658.0001", "nothing"),
            ("0.00001", "0"),
            ("00:00-00:30", "0 to 30"),
            ("０：００～０：３０", "0 to 30"),
            ("03/04/2026 00:30+99:00", "nothing"),
            ("17:75", "nothing"),
            ("12345678901", "nothing"),
            ("shoe", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }
}
