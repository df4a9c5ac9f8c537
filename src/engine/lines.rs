//! The lines of one charge on one part of a billing month: its ladders, their slices, price and `per`.

use super::document::Document;
use super::fill;
use super::ladder::{Ladder, Slice};
use super::measure::{Biller, Span, Stop};
use super::settle::Unsettled;
use super::terms::{Terms, Way};
use crate::tariff::BrokenMonthBounds;
use crate::tariff::model::{
    Bounds, BoundsPer, Charge, ChargeFacts, Part, Per, PeriodRef, Plan, Rate, Resets, StepPrice,
};
use crate::tariff::number::{Exact, Money};

/// A line before it is written down.
#[derive(Debug)]
pub(super) struct Line {
    /// Index of the period in the charge's schedule.
    pub(super) period: Option<u16>,
    /// Index of the step, where the ladder has more than one.
    pub(super) step: Option<u16>,
    pub(super) rate: LineRate,
    pub(super) quantity: Exact,
    pub(super) money: Money,
}

/// The price of one unit on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineRate {
    /// There is no single one.
    None,
    /// The same in every month: index into the plan's rates.
    Known(u32),
    /// Measured: index into the rates of the bills.
    Measured(u32),
}

impl LineRate {
    /// The price itself.
    ///
    /// * `measured`: the rates of the bills.
    pub(super) fn of<'r>(self, plan: &'r Plan, measured: &'r [Exact]) -> Option<&'r Exact> {
        match self {
            Self::None => None,
            Self::Known(id) => Some(&plan.known.rates[id as usize]),
            Self::Measured(id) => Some(&measured[id as usize]),
        }
    }
}

/// A charge as it is billed: what its document says, and what the question makes of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Billable<'a> {
    pub(super) charge: &'a Charge,
    pub(super) facts: &'a ChargeFacts,
    pub(super) terms: &'a Terms,
}

/// Room for the numbers of one part of one charge, used again and again.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Bounds of the ladders, part after part, where months change them.
    bounds: Vec<Exact>,
    quantities: Vec<Exact>,
    /// Slices with the part that they belong to, in order.
    slices: Vec<(usize, Slice)>,
}

impl Work {
    fn clear(&mut self) {
        self.bounds.clear();
        self.quantities.clear();
        self.slices.clear();
    }
}

impl<'a> Biller<'a> {
    /// Adds the lines of one part of a billing month, unrounded.
    pub(super) fn lines(&mut self, billable: Billable<'a>, span: Span, lines: &mut Unsettled) -> Result<(), Stop> {
        Self::check_covered(billable, &self.documents[span.document], span)?;
        if billable.terms.way == Way::Open && !billable.facts.has_amounts {
            return self.open_lines(billable, span, lines);
        }
        // A price or a bound can refer to other charges, which then want room of their own.
        let mut work = self.spare_work.pop().unwrap_or_default();
        let result =
            self.slices(billable, span, &mut work).and_then(|()| self.priced(billable, span, &work.slices, lines));
        work.clear();
        self.spare_work.push(work);
        result
    }

    /// The lines of a charge without a ladder: each quantity at its price.
    fn open_lines(&mut self, billable: Billable<'a>, span: Span, lines: &mut Unsettled) -> Result<(), Stop> {
        let Billable { charge, facts, .. } = billable;
        for (index, part) in charge.parts.iter().enumerate() {
            let quantity = self.quantity(facts.parts[index].quantity, span)?;
            if let Some(per) = self.per(charge, period_of(charge, part), span)? {
                self.add_line(billable, (index, 0), quantity, &per, span, lines)?;
            }
        }
        Ok(())
    }

    /// Energy that no rule of the schedule covers has no price.
    fn check_covered(billable: Billable<'_>, document: &Document<'_>, span: Span) -> Result<(), Stop> {
        for table in &billable.facts.covered {
            if document.tables[*table as usize].energy_outside(span.segments()) != 0 {
                let name = billable.charge.split.map_or("", |schedule| &document.plan.schedules[schedule].name);
                let message =
                    format!("the schedule {name:?} leaves hours without a period, and energy was used in them");
                return Err(Stop::fault("energy_without_price", message));
            }
        }
        Ok(())
    }

    /// The slices of each part, by the rules of the charge's ladders.
    fn slices(&mut self, billable: Billable<'a>, span: Span, work: &mut Work) -> Result<(), Stop> {
        let Work { bounds, quantities, slices } = work;
        let Billable { charge, facts, terms } = billable;
        let bounds = self.bounds(charge, facts, span, bounds)?;
        let ladder =
            |part: usize| Ladder { steps: &charge.parts[part].steps, bounds: facts.parts[part].bounds(bounds) };
        match terms.way {
            Way::Open => {
                for (i, part) in facts.parts.iter().enumerate() {
                    slices.push((i, Slice::once(0, self.quantity(part.quantity, span)?)));
                }
            }
            Way::Chosen(id) => {
                let chosen = self.measure(id, span)?;
                for (i, part) in facts.parts.iter().enumerate() {
                    let step = ladder(i).step_of(&chosen)?;
                    slices.push((i, Slice::once(step, self.quantity(part.quantity, span)?)));
                }
            }
            Way::AtOnce => {
                for part in &facts.parts {
                    quantities.push(self.quantity(part.quantity, span)?);
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

    /// The bounds of a charge's ladders, part after part.
    ///
    /// * `room`: where they are put when the month has a say in them.
    fn bounds<'b>(
        &mut self,
        charge: &'a Charge,
        facts: &'b ChargeFacts,
        span: Span,
        room: &'b mut Vec<Exact>,
    ) -> Result<&'b [Exact], Stop> {
        if matches!(facts.bounds, Bounds::None) {
            return Ok(&[]);
        }
        let scale = self.bound_scale(charge, span)?;
        if let (Bounds::Known { exact, .. }, None) = (&facts.bounds, &scale) {
            return Ok(exact);
        }
        for part in &charge.parts {
            let first = room.len();
            for id in part.steps.iter().filter_map(|step| step.to) {
                let bound = self.measure(id, span)?;
                room.push(scale.as_ref().map_or(bound.clone(), |scale| bound.times(scale)));
            }
            Ladder { steps: &part.steps, bounds: &room[first..] }.check()?;
        }
        Ok(room)
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
        billable: Billable<'a>,
        span: Span,
        slices: &[(usize, Slice)],
        lines: &mut Unsettled,
    ) -> Result<(), Stop> {
        let Billable { charge, facts, .. } = billable;
        let is_scaled = facts.has_amounts && charge.extensive && charge.resets == Resets::BillingMonth;
        let amount_scale = if is_scaled { self.share_of_month(span) } else { None };
        for of_part in slices.chunk_by(|a, b| a.0 == b.0) {
            let index = of_part[0].0;
            let part = &charge.parts[index];
            let Some(per) = self.per(charge, period_of(charge, part), span)? else { continue };
            for (_, slice) in of_part {
                self.add_line(billable, (index, slice.step), slice.quantity.clone(), &per, span, lines)?;
                if let Some(id) = part.steps[slice.step].amount {
                    let amount = charge.signed(self.measure(id, span)?);
                    let n_times = Exact::whole(slice.n_reached).times(&per);
                    let n_times = amount_scale.as_ref().map_or(n_times.clone(), |scale| n_times.times(scale));
                    lines.add_amount(&amount.times(&n_times))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the line of one slice at the price of its step, the step's own amount left out.
    ///
    /// * `(part, step)`: where the slice lies.
    fn add_line(
        &mut self,
        Billable { charge, facts, .. }: Billable<'a>,
        (part, step): (usize, usize),
        quantity: Exact,
        per: &Exact,
        span: Span,
        lines: &mut Unsettled,
    ) -> Result<(), Stop> {
        let part = &facts.parts[part];
        let quantity = if per.is_one() { quantity } else { quantity.times(per) };
        let (rate, exact) = match facts.rates[part.first_step + step] {
            Rate::Free => (LineRate::None, Exact::ZERO),
            Rate::Known(id) => {
                (LineRate::Known(id), quantity.times(&self.documents[span.document].plan.known.rates[id as usize]))
            }
            Rate::Measured(price) => self.measured_price(charge, price, &quantity, per, span)?,
        };
        if exact.is_too_large() {
            return Err(Stop::TooLarge);
        }
        lines.exact.push(exact);
        let step = part.has_steps.then(|| small_step(step));
        lines.lines.push(Line { period: part.period, step, rate, quantity, money: Money::ZERO });
        Ok(())
    }

    /// A price that is measured in each month: the rate, where there is one, and what a quantity comes to.
    fn measured_price(
        &mut self,
        charge: &Charge,
        price: StepPrice,
        quantity: &Exact,
        per: &Exact,
        span: Span,
    ) -> Result<(LineRate, Exact), Stop> {
        let rate = match price {
            StepPrice::Series { cost, factor, adder } => {
                let cost = self.by_series((cost, factor, adder), quantity, per, span)?;
                return Ok((LineRate::None, charge.signed(cost)));
            }
            StepPrice::Price(id) => self.measure(id, span)?,
            StepPrice::Percent(id) => self.measure(id, span)?.of_a_hundred(),
        };
        let rate = charge.signed(rate);
        let exact = quantity.times(&rate);
        self.bills.rates.push(rate);
        let last = u32::try_from(self.bills.rates.len() - 1).expect("a year of bills has fewer lines");
        Ok((LineRate::Measured(last), exact))
    }

    /// The factor of a charge in one of its periods; `None` where the period occurs on no day.
    ///
    /// * `of_part`: the period over which the charge is split.
    fn per(&mut self, charge: &Charge, of_part: Option<PeriodRef>, span: Span) -> Result<Option<Exact>, Stop> {
        let period = of_part.or(charge.period);
        let n_days = match period {
            Some(_) => self.n_days(span, period),
            None => 0,
        };
        if of_part.is_some() && n_days == 0 {
            return Ok(None);
        }
        let per = match charge.per {
            Per::Time(unit) => self.count(unit, span, period),
            Per::Measure(id) => self.measure(id, span)?,
            Per::BillingPeriod if charge.extensive && !charge.shares_measure => Exact::ONE,
            Per::BillingPeriod => {
                let of_span = self.n_days(span, None);
                let of = if charge.extensive { of_span } else { self.ground.frame.months[span.month].n_days };
                let n_days = if period.is_some() { n_days } else { of_span };
                if n_days == of { Exact::ONE } else { Exact::fraction(n_days, of) }
            }
        };
        Ok(Some(per))
    }
}

fn period_of(charge: &Charge, part: &Part) -> Option<PeriodRef> {
    charge.split.zip(part.period).map(|(schedule, period)| PeriodRef { schedule, period })
}

/// A step as a line names it.
pub(super) fn small_step(step: usize) -> u16 {
    u16::try_from(step).expect("a plan has at most 1,000 steps")
}
