//! A calendar: the dates that a plan calls holidays.

use std::collections::BTreeSet;
use std::ops::Range;

use chrono::{Days, NaiveDate};
use serde::{Deserialize, Serialize};

use super::{Damaged, Place, SharedError, check_name, document, lines_of};

/// Dates under a name for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Local dates, whatever the time zone.
    pub dates: BTreeSet<NaiveDate>,
}

/// As clients write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    name: Option<String>,
    dates: Vec<String>,
}

impl Calendar {
    /// From dates as clients write them; order and repetition do not matter.
    ///
    /// # Errors
    /// [`SharedError`] with a pointer, for what is no date or too long a name.
    pub fn new(name: Option<String>, dates: &[String]) -> Result<Self, SharedError> {
        check_name(name.as_deref())?;
        let at = |i: usize| Place::Pointer(format!("/dates/{i}"));
        let dates = dates.iter().enumerate().map(|(i, text)| date(text).map_err(|e| e.at(&at(i))));
        Ok(Self { name, dates: dates.collect::<Result<_, _>>()? })
    }

    /// Reads a file: `{"dates": ["2026-01-01", …], "name"}`, or a text with one date a line (blank lines, lines that
    /// begin with `#` and a first line `date` say nothing).
    ///
    /// # Errors
    /// [`SharedError`] with the line or the pointer.
    pub fn read(text: &str) -> Result<Self, SharedError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('{') {
            let document: Document = document(text, "calendar")?;
            return Self::new(document.name, &document.dates);
        }
        let mut dates = BTreeSet::new();
        for (line, text) in lines_of(text, &["date"]) {
            dates.insert(date(text).map_err(|error| error.at(&Place::Line(line)))?);
        }
        Ok(Self { name: None, dates })
    }

    /// What is stored: the same calendar is the same bytes.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("dates and a name are JSON")
    }

    /// What was stored.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        serde_json::from_slice(bytes).map_err(|_| Damaged)
    }

    /// Bounds of the dates that only one of the two has, as seconds to their midnight in UTC, end exclusive; `None` when
    /// there is no such date.
    pub fn change(before: Option<&Self>, after: &Self) -> Option<Range<i64>> {
        let none = BTreeSet::new();
        let before = before.map_or(&none, |calendar| &calendar.dates);
        let mut differing = before.symmetric_difference(&after.dates);
        let first = differing.next()?;
        let last = differing.last().unwrap_or(first);
        Some(midnight(*first)..midnight(*last) + 86_400)
    }

    /// The dates whose midnights in UTC lie in `[start, end)`.
    pub fn within(&self, days: &Range<i64>) -> BTreeSet<NaiveDate> {
        self.dates.iter().copied().filter(|date| days.contains(&midnight(*date))).collect()
    }
}

/// Seconds to the midnight of a date in UTC.
fn midnight(date: NaiveDate) -> i64 {
    date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()
}

/// What the bills of some days, end exclusive, ask of a calendar: those days and the one before, since a window that wraps
/// midnight has the day type of the day on which it began. As seconds to their midnight in UTC, end exclusive.
pub fn days_of(days: &Range<NaiveDate>) -> Range<i64> {
    let day_before = days.start.checked_sub_days(Days::new(1)).unwrap_or(days.start);
    midnight(day_before)..midnight(days.end)
}

fn date(text: &str) -> Result<NaiveDate, SharedError> {
    let read = text.parse::<NaiveDate>().ok().filter(|date| text.len() == 10 && date.to_string() == text);
    read.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        SharedError::new(format!("{shown:?} is no date; write 2026-12-25 (the calendar must have it)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Calendar {
        Calendar::read(text).unwrap()
    }

    #[test]
    fn a_list_and_a_document_are_the_same_calendar() {
        let list = read("\u{feff}date\r\n# next year\r\n2026-12-25\r\n\r\n2026-01-01\r\n2026-12-25\r\n");
        let document = read(r#"{"dates": ["2026-01-01", "2026-12-25"]}"#);
        assert_eq!(list, document);
        assert_eq!(Calendar::decode(&list.encode()), Ok(document));
        assert_eq!(read(r#"{"name": "US", "dates": []}"#).name.as_deref(), Some("US"));
        assert_eq!(Calendar::decode(b"x"), Err(Damaged));
    }

    #[test]
    fn what_is_no_date_is_named() {
        for (text, line, pointer) in [
            ("2026-01-01\n2026-02-30\n", Some(2), None),
            ("2026-1-1", Some(1), None),
            ("2026-01-01,New Year", Some(1), None),
            ("2026-01-01\ndate", Some(2), None),
            (r#"{"dates": ["2026-01-01", "+2026-01-02"]}"#, None, Some("/dates/1")),
            ("{\n\"dates\": [], \"colour\": 1}", Some(2), None),
            ("{\"name\": \"a\\u0000\", \"dates\": []}", None, Some("/name")),
        ] {
            let refused = Calendar::read(text).unwrap_err();
            assert_eq!((refused.line, refused.pointer.as_deref()), (line, pointer), "{text}: {refused}");
        }
    }

    #[test]
    fn what_changed_is_bounded_by_the_dates_that_differ() {
        let day = |text: &str| midnight(text.parse().unwrap());
        let before = read("2026-01-01\n2026-05-01\n2026-12-25");
        let after = read("2026-01-01\n2026-05-04\n2026-12-25");
        assert_eq!(Calendar::change(Some(&before), &after), Some(day("2026-05-01")..day("2026-05-05")));
        assert_eq!(Calendar::change(None, &before), Some(day("2026-01-01")..day("2026-12-26")));
        let named = Calendar { name: Some("UK".to_owned()), ..before.clone() };
        assert_eq!(Calendar::change(Some(&before), &named), None);
        let may = days_of(&("2026-05-02".parse().unwrap().."2026-05-05".parse().unwrap()));
        assert_eq!(after.within(&may).len(), 1);
        assert_eq!(before.within(&may).len(), 1, "the day before");
    }
}
