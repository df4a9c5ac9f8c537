//! Billing periods: local dates, end exclusive.

use chrono::{Months, NaiveDate};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PeriodId;

/// The longest period one comparison may span.
pub const MAX_PERIOD_DAYS: i64 = 400;

/// Why dates make no billing period.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PeriodError {
    /// Neither a year, a month nor a date, or a date the calendar does not have.
    #[error("{0:?} is no date; write 2026, 2026-06 or 2026-06-14 (the calendar must have it)")]
    NotADate(String),
    /// The end is not after the start.
    #[error("a billing period ends after it starts: {start} to {end} is empty (the end is exclusive)")]
    Empty {
        /// First day.
        start: NaiveDate,
        /// Day after the last.
        end: NaiveDate,
    },
    /// Longer than [`MAX_PERIOD_DAYS`].
    #[error("a billing period has at most {MAX_PERIOD_DAYS} days, this one has {0}")]
    TooLong(i64),
}

/// Local dates `[start, end)` in the customer's time zone, 1 to 400 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BillingPeriod {
    start: NaiveDate,
    end: NaiveDate,
}

impl BillingPeriod {
    /// The period from `start` to the day before `end`.
    ///
    /// # Errors
    /// [`PeriodError::Empty`] and [`PeriodError::TooLong`].
    pub fn new(start: NaiveDate, end: NaiveDate) -> Result<Self, PeriodError> {
        if end <= start {
            return Err(PeriodError::Empty { start, end });
        }
        let n_days = (end - start).num_days();
        if n_days > MAX_PERIOD_DAYS {
            return Err(PeriodError::TooLong(n_days));
        }
        Ok(Self { start, end })
    }

    /// A calendar year (`2026`) or month (`2026-06`); `None` when the text is shaped like neither.
    ///
    /// # Errors
    /// [`PeriodError::NotADate`] for `2026-13` and the like.
    pub fn from_year_or_month(text: &str) -> Option<Result<Self, PeriodError>> {
        let is_digits = |t: &str, n: usize| t.len() == n && t.bytes().all(|b| b.is_ascii_digit());
        let (year, month) = match text.split_once('-') {
            Some((year, month)) if is_digits(year, 4) && is_digits(month, 2) => (year, Some(month)),
            None if is_digits(text, 4) => (text, None),
            _ => return None,
        };
        let no_date = || PeriodError::NotADate(text.to_owned());
        let start = NaiveDate::from_ymd_opt(
            year.parse().expect("four digits are a number"),
            month.map_or(1, |m| m.parse().expect("two digits are a number")),
            1,
        );
        let n_months = if month.is_some() { 1 } else { 12 };
        Some(
            start
                .and_then(|s| Some((s, s.checked_add_months(Months::new(n_months))?)))
                .ok_or_else(no_date)
                .and_then(|(start, end)| Self::new(start, end)),
        )
    }

    /// First day.
    pub fn start(&self) -> NaiveDate {
        self.start
    }

    /// The day after the last.
    pub fn end(&self) -> NaiveDate {
        self.end
    }

    /// Number of local days.
    pub fn n_days(&self) -> i64 {
        (self.end - self.start).num_days()
    }

    /// The billing months it is cut into, in order; they tile it.
    ///
    /// * `registered`: periods of the customer's cycle, sorted by start. If they cover every day, without a gap,
    ///   the cuts are their bounds; else months are counted from the first day (06-14, 07-14, …; a day that a
    ///   month lacks becomes its last), and the last one may be a part of a month.
    pub fn billing_months(&self, registered: &[Self]) -> Vec<Self> {
        let mut bounds = self.registered_bounds(registered).unwrap_or_else(|| {
            (1..)
                .map_while(|n_months| self.start.checked_add_months(Months::new(n_months)))
                .take_while(|bound| *bound < self.end)
                .collect()
        });
        bounds.insert(0, self.start);
        bounds.push(self.end);
        bounds.windows(2).map(|pair| Self { start: pair[0], end: pair[1] }).collect()
    }

    /// Bounds of the registered periods inside this one; `None` if they do not cover it.
    fn registered_bounds(self, registered: &[Self]) -> Option<Vec<NaiveDate>> {
        let mut covered_to = self.start;
        let mut bounds = Vec::new();
        for period in registered.iter().filter(|period| period.end > self.start && period.start < self.end) {
            if period.start > covered_to || (period.start < covered_to && covered_to != self.start) {
                return None;
            }
            covered_to = period.end;
            if period.end < self.end {
                bounds.push(period.end);
            }
        }
        (covered_to >= self.end).then_some(bounds)
    }
}

/// A period registered for the tenant under an id; never changed once registered. The periods of one
/// `cycle` (a meter-reading route) give the cuts for customers of that cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredPeriod {
    /// Its id.
    pub id: PeriodId,
    /// First day.
    pub start: NaiveDate,
    /// The day after the last.
    pub end: NaiveDate,
    /// The billing cycle it is part of, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
}

/// The first day of a month `2026-05`, or a date `2026-05-14`.
pub(crate) fn dated(text: &str) -> Option<NaiveDate> {
    let date = match text.len() {
        7 => format!("{text}-01"),
        10 => text.to_owned(),
        _ => return None,
    };
    text.bytes().all(|b| b.is_ascii_digit() || b == b'-').then(|| date.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_year_and_a_month_are_periods() {
        let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
        assert_eq!((june.start(), june.end()), (date("2026-06-01"), date("2026-07-01")));
        let december = BillingPeriod::from_year_or_month("2026-12").unwrap().unwrap();
        assert_eq!(december.end(), date("2027-01-01"));
        assert_eq!(BillingPeriod::from_year_or_month("2028").unwrap().unwrap().n_days(), 366);
        assert!(BillingPeriod::from_year_or_month("2026-13").unwrap().is_err());
        assert!(BillingPeriod::from_year_or_month("2026-6").is_none());
        assert!(BillingPeriod::from_year_or_month("june").is_none());
    }

    fn period(start: &str, end: &str) -> BillingPeriod {
        BillingPeriod::new(date(start), date(end)).unwrap()
    }

    #[test]
    fn months_are_counted_from_the_first_day() {
        assert_eq!(period("2026-06-01", "2026-07-01").billing_months(&[]), [period("2026-06-01", "2026-07-01")]);
        assert_eq!(
            period("2026-01-31", "2026-04-10").billing_months(&[]),
            [
                period("2026-01-31", "2026-02-28"),
                period("2026-02-28", "2026-03-31"),
                period("2026-03-31", "2026-04-10")
            ]
        );
        assert_eq!(period("2026-01-01", "2027-01-01").billing_months(&[]).len(), 12);
    }

    #[test]
    fn registered_periods_cut_only_what_they_cover_without_a_gap() {
        let cycle = [period("2026-05-12", "2026-06-11"), period("2026-06-11", "2026-07-14")];
        let asked = period("2026-05-20", "2026-07-14");
        assert_eq!(
            asked.billing_months(&cycle),
            [period("2026-05-20", "2026-06-11"), period("2026-06-11", "2026-07-14")]
        );
        let counted = asked.billing_months(&[]);
        assert_eq!(counted.len(), 2);
        assert_eq!(asked.billing_months(&cycle[..1]), counted);
        assert_eq!(asked.billing_months(&cycle[1..]), counted);
        let gap = [period("2026-05-12", "2026-06-10"), cycle[1]];
        assert_eq!(asked.billing_months(&gap), counted);
        let one = period("2026-06-12", "2026-06-20");
        assert_eq!(one.billing_months(&cycle), [one]);
    }

    #[test]
    fn a_period_is_not_empty_and_not_too_long() {
        assert!(matches!(BillingPeriod::new(date("2026-06-01"), date("2026-06-01")), Err(PeriodError::Empty { .. })));
        assert!(BillingPeriod::new(date("2026-01-01"), date("2027-02-05")).is_ok());
        assert_eq!(BillingPeriod::new(date("2026-01-01"), date("2027-02-06")), Err(PeriodError::TooLong(401)));
    }
}
