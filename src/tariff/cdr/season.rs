//! Days of the year from MM-DD dates, both inclusive, and back to our half-open seasons.

use chrono::{Datelike, NaiveDate};

use super::super::foreign::{Members, Place};

/// Days of a leap year.
const N_DAYS: usize = 366;

/// Which month-days belong to it, 29 February among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Season {
    days: Vec<bool>,
}

impl Season {
    pub(super) fn whole_year() -> Self {
        Self { days: vec![true; N_DAYS] }
    }

    /// `startDate` and `endDate` of an object; a season that ends on 28 February also has the 29th.
    pub(super) fn read(members: &Members<'_>) -> Option<Self> {
        match (members.take("startDate"), members.take("endDate")) {
            (None, None) => Some(Self::whole_year()),
            (Some(start), Some(end)) => {
                let (start, end) = (month_day(&start), month_day(&end));
                Some(Self::between(start?, end?))
            }
            (start, _) => {
                let missing = if start.is_none() { "startDate" } else { "endDate" };
                let message = "a season has a first and a last day";
                members.place().fault_at(&members.pointer(missing), "missing_field", message);
                None
            }
        }
    }

    fn between(start: usize, end: usize) -> Self {
        let end = if end == 58 { 59 } else { end };
        let is_in = |day: usize| if start <= end { start <= day && day <= end } else { start <= day || day <= end };
        Self { days: (0..N_DAYS).map(is_in).collect() }
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self { days: self.days.iter().zip(&other.days).map(|(a, b)| *a && *b).collect() }
    }

    pub(super) fn has(&self, day: usize) -> bool {
        self.days[day]
    }

    pub(super) fn is_whole_year(&self) -> bool {
        self.days.iter().all(|day| *day)
    }

    /// The first day that is in both, as `MM-DD`.
    pub(super) fn first_common_day(&self, other: &Self) -> Option<String> {
        (0..N_DAYS).find(|day| self.days[*day] && other.days[*day]).map(shown)
    }

    /// `MM-DD/MM-DD`, the end exclusive, for each run of days; none for the whole year.
    pub(super) fn runs(&self) -> Vec<String> {
        let starts = (0..N_DAYS).filter(|day| self.days[*day] && !self.days[(day + N_DAYS - 1) % N_DAYS]);
        starts
            .map(|start| {
                let length = (1..N_DAYS).find(|n| !self.days[(start + n) % N_DAYS]).unwrap_or(N_DAYS);
                format!("{}/{}", shown(start), shown((start + length) % N_DAYS))
            })
            .collect()
    }
}

/// The kinds of days on which different ones of `seasons` hold: for each the day and which hold.
pub(super) fn kinds_of_days(seasons: &[&Season]) -> Vec<(usize, Vec<bool>)> {
    let mut kinds: Vec<(usize, Vec<bool>)> = Vec::new();
    for day in 0..N_DAYS {
        let hold: Vec<bool> = seasons.iter().map(|season| season.has(day)).collect();
        if kinds.iter().all(|(_, known)| *known != hold) {
            kinds.push((day, hold));
        }
    }
    kinds
}

/// `MM-DD` of a day of the leap year.
pub(super) fn shown(day: usize) -> String {
    let new_year = NaiveDate::from_ymd_opt(2024, 1, 1).expect("a date of the calendar");
    let date = new_year.iter_days().nth(day).expect("a day of the year");
    format!("{:02}-{:02}", date.month(), date.day())
}

fn month_day(place: &Place<'_>) -> Option<usize> {
    let text = place.text()?;
    // Newer plans write `--MM-DD`, as ISO 8601 has it; some a year in front.
    let short = text.strip_prefix("--").unwrap_or(text);
    let date = (short.len() == 5).then(|| format!("2024-{short}").parse::<NaiveDate>().ok()).flatten();
    if date.is_none() {
        place.fault("bad_date", format!("{text:?} is no month and day; written is 06-30"));
    }
    date.map(|date| date.ordinal0() as usize)
}
