//! The lines of one charge on one part of a billing month: its ladders, their slices, price and `per`.

use super::document::{Document, Terms, Way};
use super::fill;
use super::ladder::{Ladder, Slice};
use super::measure::{Biller, Span, Stop};
use crate::tariff::BrokenMonthBounds;
use crate::tariff::model::{BoundsPer, Charge, Part, Per, PeriodRef, Resets, StepPrice};
use crate::tariff::number::{Exact, Money};

/// A line before it is written down.
#[derive(Debug)]
pub(super) struct Line {
    /// Index of the period in the charge's schedule.
    pub(super) period: Option<u32>,
    /// Index of the step, where the ladder has more than one.
    pub(super) step: Option<u32>,
    pub(super) quantity: Exact,
    pub(super) rate: Option<Exact>,
    pub(super) money: Money,
}

/// A line whose amount is not rounded yet.
#[derive(Debug)]
pub(super) struct Unsettled {
    pub(super) line: Line,
    pub(super) exact: Exact,
}

/// Room for the numbers of one part of one charge, used again and again.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Bounds of the ladders, part after part.
    bounds: Vec<Exact>,
    /// Where in `bounds` each part ends.
    ends: Vec<usize>,
    quantities: Vec<Exact>,
    /// Slices with the part that they belong to, in order.
    slices: Vec<(usize, Slice)>,
}

impl Work {
    fn clear(&mut self) {
        self.bounds.clear();
        self.ends.clear();
        self.quantities.clear();
        self.slices.clear();
    }
}

/// The ladder of a part.
fn ladder<'l>(charge: &'l Charge, bounds: &'l [Exact], ends: &[usize], part: usize) -> Ladder<'l> {
    let first = part.checked_sub(1).map_or(0, |before| ends[before]);
    Ladder { steps: &charge.parts[part].steps, bounds: &bounds[first..ends[part]] }
}

impl<'a> Biller<'a> {
    /// Adds the lines of one part of a billing month, unrounded.
    pub(super) fn lines(
        &mut self,
        charge: &'a Charge,
        terms: &'a Terms,
        span: Span,
        lines: &mut Vec<Unsettled>,
    ) -> Result<(), Stop> {
        Self::check_covered(charge, terms, &self.documents[span.document], span)?;
        if terms.way == Way::Open && !terms.has_amounts {
            return self.open_lines(charge, span, lines);
        }
        // A price or a bound can refer to other charges, which then want room of their own.
        let mut work = self.spare_work.pop().unwrap_or_default();
        let result = self
            .slices(charge, terms, span, &mut work)
            .and_then(|()| self.priced(charge, terms, span, &work.slices, lines));
        work.clear();
        self.spare_work.push(work);
        result
    }

    /// The lines of a charge without a ladder: each quantity at its price.
    fn open_lines(&mut self, charge: &'a Charge, span: Span, lines: &mut Vec<Unsettled>) -> Result<(), Stop> {
        for part in &charge.parts {
            let slice = Slice::once(0, self.measure(part.measure, span)?);
            let period = period_of(charge, part);
            if period.is_some_and(|period| self.n_days(span, Some(period)) == 0) {
                continue;
            }
            let per = self.per(charge, period, span)?;
            lines.push(self.line(charge, part, &slice, &per, span)?);
        }
        Ok(())
    }

    /// Energy that no rule of the schedule covers has no price.
    fn check_covered(charge: &Charge, terms: &Terms, document: &Document<'_>, span: Span) -> Result<(), Stop> {
        for table in &terms.covered {
            if document.tables[*table as usize].energy_outside(span.segments()) != 0 {
                let name = charge.split.map_or("", |schedule| &document.plan.schedules[schedule].name);
                let message =
                    format!("the schedule {name:?} leaves hours without a period, and energy was used in them");
                return Err(Stop::fault("energy_without_price", message));
            }
        }
        Ok(())
    }

    /// The slices of each part, by the rules of the charge's ladders.
    fn slices(&mut self, charge: &'a Charge, terms: &Terms, span: Span, work: &mut Work) -> Result<(), Stop> {
        let Work { bounds, ends, quantities, slices } = work;
        if terms.has_bounds {
            let scale = self.bound_scale(charge, span)?;
            for part in &charge.parts {
                let first = bounds.len();
                for id in part.steps.iter().filter_map(|step| step.to) {
                    let bound = self.measure(id, span)?;
                    bounds.push(scale.as_ref().map_or(bound.clone(), |scale| bound.times(scale)));
                }
                Ladder { steps: &part.steps, bounds: &bounds[first..] }.check()?;
                ends.push(bounds.len());
            }
        } else {
            ends.resize(charge.parts.len(), 0);
        }
        let ladder = |part: usize| ladder(charge, bounds, ends, part);
        match terms.way {
            Way::Open => {
                for (i, part) in charge.parts.iter().enumerate() {
                    slices.push((i, Slice::once(0, self.measure(part.measure, span)?)));
                }
            }
            Way::Chosen(id) => {
                let chosen = self.measure(id, span)?;
                for (i, part) in charge.parts.iter().enumerate() {
                    let step = ladder(i).step_of(&chosen)?;
                    slices.push((i, Slice::once(step, self.measure(part.measure, span)?)));
                }
            }
            Way::AtOnce => {
                for part in &charge.parts {
                    quantities.push(self.measure(part.measure, span)?);
                }
                fill::prorated(ladder, quantities, terms.rules.scope, slices)?;
            }
            Way::Filled => {
                let ladders: Vec<Ladder<'_>> = (0..charge.parts.len()).map(ladder).collect();
                self.fill(charge, &ladders, terms.rules, span, slices)?;
            }
        }
        Ok(())
    }

    /// What the bounds of a charge's ladders are multiplied with.
    fn bound_scale(&mut self, charge: &Charge, span: Span) -> Result<Option<Exact>, Stop> {
        if charge.bounds_per == Some(BoundsPer::Day) {
            let n_days = self.n_days(span, None);
            return Ok((charge.resets != Resets::Day).then(|| Exact::whole(n_days)));
        }
        let is_monthly = charge.resets == Resets::BillingMonth && charge.extensive_bounds;
        let share = if is_monthly { self.share_of_month(span) } else { None };
        match charge.bounds_per {
            Some(BoundsPer::Measure(id)) => {
                let per = self.measure(id, span)?;
                Ok(Some(share.map_or(per.clone(), |share| share.times(&per))))
            }
            _ => Ok(share),
        }
    }

    /// The share of a whole billing month that a part of it is; `None` when it is all of it.
    fn share_of_month(&self, span: Span) -> Option<Exact> {
        let month = &self.ground.frame.months[span.month];
        let n_days = self.n_days(span, None);
        let part = (n_days != month.n_days).then(|| Exact::fraction(n_days, month.n_days));
        let whole = self.conventions(span).broken_month_bounds == Some(BrokenMonthBounds::Whole);
        match (part, month.broken_share.as_ref().filter(|_| !whole)) {
            (Some(part), Some(share)) => Some(part.times(share)),
            (part, share) => part.or(share.cloned()),
        }
    }

    /// The lines of the slices of each part.
    fn priced(
        &mut self,
        charge: &'a Charge,
        terms: &Terms,
        span: Span,
        slices: &[(usize, Slice)],
        lines: &mut Vec<Unsettled>,
    ) -> Result<(), Stop> {
        let is_scaled = terms.has_amounts && charge.extensive && charge.resets == Resets::BillingMonth;
        let amount_scale = if is_scaled { self.share_of_month(span) } else { None };
        for of_part in slices.chunk_by(|a, b| a.0 == b.0) {
            let part = &charge.parts[of_part[0].0];
            let period = period_of(charge, part);
            if period.is_some_and(|period| self.n_days(span, Some(period)) == 0) {
                continue;
            }
            let per = self.per(charge, period, span)?;
            for (_, slice) in of_part {
                let mut line = self.line(charge, part, slice, &per, span)?;
                if let Some(id) = part.steps[slice.step].amount {
                    let amount = signed(charge, self.measure(id, span)?);
                    let n_times = Exact::whole(slice.n_reached).times(&per);
                    let n_times = amount_scale.as_ref().map_or(n_times.clone(), |scale| n_times.times(scale));
                    line.exact = line.exact.plus(&amount.times(&n_times));
                    line.line.rate = None;
                    if line.exact.is_too_large() {
                        return Err(Stop::TooLarge);
                    }
                }
                lines.push(line);
            }
        }
        Ok(())
    }

    /// One slice at the price of its step, the step's own amount left out.
    fn line(
        &mut self,
        charge: &Charge,
        part: &Part,
        slice: &Slice,
        per: &Exact,
        span: Span,
    ) -> Result<Unsettled, Stop> {
        let step = &part.steps[slice.step];
        let rate = match step.price {
            None | Some(StepPrice::Series { .. }) => None,
            Some(StepPrice::Price(id)) => Some(signed(charge, self.measure(id, span)?)),
            Some(StepPrice::Percent(id)) => Some(signed(charge, self.measure(id, span)?.times(&Exact::scaled(1, 2)))),
        };
        let quantity = if per.is_one() { slice.quantity.clone() } else { slice.quantity.times(per) };
        let exact = match step.price {
            Some(StepPrice::Series { cost, factor, adder }) => {
                signed(charge, self.by_series((cost, factor, adder), &quantity, per, span)?)
            }
            _ => rate.as_ref().map_or(Exact::ZERO, |rate| quantity.times(rate)),
        };
        if exact.is_too_large() {
            return Err(Stop::TooLarge);
        }
        let line = Line {
            period: part.period.map(small),
            step: (part.steps.len() > 1).then(|| small(slice.step)),
            quantity,
            rate,
            money: Money::ZERO,
        };
        Ok(Unsettled { line, exact })
    }

    /// The factor of a charge in one of its periods.
    fn per(&mut self, charge: &Charge, period: Option<PeriodRef>, span: Span) -> Result<Exact, Stop> {
        let period = period.or(charge.period);
        match charge.per {
            Per::Time(unit) => Ok(self.count(unit, span, period)),
            Per::Measure(id) => self.measure(id, span),
            Per::BillingPeriod => {
                let of = if charge.extensive {
                    self.n_days(span, None)
                } else {
                    self.ground.frame.months[span.month].n_days
                };
                let n_days = match (charge.extensive, charge.shares_measure) {
                    (true, false) => of,
                    _ => self.n_days(span, period),
                };
                Ok(if n_days == of { Exact::ONE } else { Exact::fraction(n_days, of) })
            }
        }
    }
}

/// A credit counts with the other sign.
#[inline]
fn signed(charge: &Charge, value: Exact) -> Exact {
    if charge.negated { value.negated() } else { value }
}

fn period_of(charge: &Charge, part: &Part) -> Option<PeriodRef> {
    charge.split.zip(part.period).map(|(schedule, period)| PeriodRef { schedule, period })
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a plan has at most 10,000 periods and 1,000 steps")
}
