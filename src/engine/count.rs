//! Days, billing months and years, as measures and as what `per` counts.

use chrono::{Datelike, NaiveDate};

use super::measure::{Biller, Span};
use crate::tariff::model::{PeriodRef, TimeUnit};
use crate::tariff::number::Exact;
use crate::tariff::{DailyAmounts, MonthlyAmounts, YearlyAmounts};

impl Biller<'_> {
    /// Days, months or years as `per` counts them.
    pub(super) fn count(&self, unit: TimeUnit, span: Span, period: Option<PeriodRef>) -> Exact {
        let conventions = self.conventions(span);
        match unit {
            TimeUnit::Day if conventions.daily_amounts == Some(DailyAmounts::AverageMonth) => {
                self.count_plainly(TimeUnit::Month, span, period).times(&Exact::fraction(365, 12))
            }
            TimeUnit::Month if conventions.monthly_amounts == Some(MonthlyAmounts::ByDays) => {
                self.days_over(span, period, |date| {
                    let next = date.with_day(1).and_then(|first| first.checked_add_months(chrono::Months::new(1)));
                    next.and_then(|next| next.pred_opt()).map_or(30, |last| i64::from(last.day()))
                })
            }
            TimeUnit::Year => match conventions.yearly_amounts {
                None | Some(YearlyAmounts::ActualDays) => self.count_plainly(unit, span, period),
                Some(YearlyAmounts::Days365) => self.days_over(span, period, |_| 365),
                Some(YearlyAmounts::Days365_25) => self.days_over(span, period, |_| 1461).times(&Exact::whole(4)),
                Some(YearlyAmounts::Twelfths) => {
                    self.count_plainly(TimeUnit::Month, span, period).times(&Exact::fraction(1, 12))
                }
            },
            _ => self.count_plainly(unit, span, period),
        }
    }

    /// Local days, billing months, or days over the length of their year.
    pub(super) fn count_plainly(&self, unit: TimeUnit, span: Span, period: Option<PeriodRef>) -> Exact {
        match unit {
            TimeUnit::Day => Exact::whole(self.n_days(span, period)),
            TimeUnit::Month => {
                let month = &self.ground.frame.months[span.month];
                let n_days = self.n_days(span, period);
                if n_days == month.n_days {
                    month.n_months.clone()
                } else {
                    month.n_months.times(&Exact::fraction(n_days, month.n_days))
                }
            }
            TimeUnit::Year => self.days_over(span, period, |date| days_in_year(date.year())),
        }
    }

    /// Local days on which a period can occur.
    #[inline]
    pub(super) fn n_days(&self, span: Span, period: Option<PeriodRef>) -> i64 {
        match period {
            None => i64::try_from(self.ground.frame.days_of(&span.segments()).len()).unwrap_or(i64::MAX),
            Some(period) => i64::from(self.documents[span.document].n_days(span.segments(), period)),
        }
    }

    #[inline]
    fn occurs(&self, span: Span, segment: usize, period: Option<PeriodRef>) -> bool {
        period.is_none_or(|period| {
            let schedule = &self.documents[span.document].plan.schedules[period.schedule];
            schedule.occurs_on(self.ground.frame.segment_days[segment], period.period)
        })
    }

    /// The sum of 1/length over days, the length by date.
    fn days_over(&self, span: Span, period: Option<PeriodRef>, length: impl Fn(NaiveDate) -> i64) -> Exact {
        let frame = &self.ground.frame;
        let mut n_by_length: Vec<(i64, i64)> = Vec::new();
        for segment in span.segments().filter(|segment| self.occurs(span, *segment, period)) {
            for day in frame.segments[segment].clone() {
                let length = length(frame.days.date(day));
                match n_by_length.iter_mut().find(|(known, _)| *known == length) {
                    Some((_, n)) => *n += 1,
                    None => n_by_length.push((length, 1)),
                }
            }
        }
        n_by_length.into_iter().fold(Exact::ZERO, |sum, (length, n)| {
            let share = if n % length == 0 { Exact::whole(n / length) } else { Exact::fraction(n, length) };
            sum.plus(&share)
        })
    }
}

pub(super) fn days_in_year(year: i32) -> i64 {
    if NaiveDate::from_ymd_opt(year, 2, 29).is_some() { 366 } else { 365 }
}
