//! Net metering: import less export, and what is carried from month to month.
//!
//! Source: PLAN-MODEL section 2, the measure `net_energy`.

use chrono::{Datelike, NaiveDate};

use super::ground::Table;
use super::measure::{Biller, Span, Stop};
use crate::tariff::model::{NetEnergySpec, NetPart, period_index};

impl Biller<'_> {
    /// Milliwatt-hours of net metering. What is carried into a month is what the month before carried out of it,
    /// unless the account was emptied in between.
    pub(super) fn net_energy(&mut self, spec: &NetEnergySpec, tables: [&Table; 2], span: Span) -> Result<i64, Stop> {
        let Some(carry_until) = spec.carry_until else {
            let balance = balance(tables, spec, span)?;
            return Ok(match spec.part {
                NetPart::Billed => balance.max(0),
                NetPart::Carried => (-balance).max(0),
            });
        };
        // From the oldest month within reach: the account was empty then.
        let oldest = span.month.saturating_sub(12);
        let mut carried = 0i64;
        let mut billed = 0;
        for month in oldest..=span.month {
            let start = self.ground.frame.months[month].period.start();
            let before = month.checked_sub(1).map(|m| self.ground.frame.months[m].period.start());
            if before.is_none_or(|before| is_emptied(carry_until, before, start)) {
                carried = 0;
            }
            let mut part = self.whole_month(span, month);
            if month == span.month {
                // A month in parts: the first part takes what was carried.
                part = Span { first: part.first, ..span };
                if span.first > part.first {
                    let earlier = balance(tables, spec, Span { end: span.first, ..part })?;
                    carried = carried.checked_sub(earlier).ok_or(Stop::TooLarge)?.max(0);
                    part = span;
                }
            }
            let balance = balance(tables, spec, part)?.checked_sub(carried).ok_or(Stop::TooLarge)?;
            billed = balance.max(0);
            carried = (-balance).max(0);
        }
        Ok(match spec.part {
            NetPart::Billed => billed,
            NetPart::Carried => carried,
        })
    }
}

/// Import less export, milliwatt-hours.
fn balance([import, export]: [&Table; 2], spec: &NetEnergySpec, span: Span) -> Result<i64, Stop> {
    let of = |table: &Table| table.energy(span.segments(), period_index(spec.period));
    of(import).checked_sub(of(export)).ok_or(Stop::TooLarge)
}

/// Whether the day of the year lies after the first day of one month and not after that of the next.
fn is_emptied(carry_until: (u32, u32), before: NaiveDate, start: NaiveDate) -> bool {
    (before.year()..=start.year()).any(|year| {
        // The 29th of February is the 1st of March in other years.
        let day = NaiveDate::from_ymd_opt(year, carry_until.0, carry_until.1)
            .or_else(|| NaiveDate::from_ymd_opt(year, carry_until.0 + 1, 1));
        day.is_some_and(|day| before < day && day <= start)
    })
}
