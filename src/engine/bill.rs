//! Charges and bills: ladders times prices times `per`, rounded, added up. Source: PLAN-MODEL section 3.

use std::ops::Range;
use std::rc::Rc;

use chrono::{Datelike, NaiveDate};

use super::condition::WouldBe;
use super::fill::{self, Rules};
use super::ladder::{Ladder, Slice};
use super::measure::{Biller, Document, Span, Stop};
use crate::tariff::model::{BoundsPer, Charge, Kind, Measure, Part, Per, PeriodRef, Resets, Rounding, Step, StepPrice};
use crate::tariff::number::{Exact, Money, RoundingMode};
use crate::tariff::{BrokenMonthBounds, DatedValues, RoundingOverride, TierAllocation, TierScope};
use crate::words::AttributeValue;

/// A line before it is written down.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Index of the period in the charge's schedule.
    pub(super) period: Option<usize>,
    /// Index of the step, where the ladder has more than one.
    pub(super) step: Option<usize>,
    pub(super) quantity: Exact,
    pub(super) rate: Option<Exact>,
    exact: Exact,
    pub(super) money: Money,
}

/// Which parts of a charge with a condition are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// Those on which the condition holds, or all without one.
    Yes,
    /// Those on which it does not.
    No,
}

/// What one charge comes to in one billing month under one document.
#[derive(Debug)]
pub(super) struct ChargeBill {
    pub(super) lines: Vec<Line>,
    /// The money of each part of the month into which the charge is cut; together the lines.
    pub(super) amounts: Vec<(Range<usize>, Money)>,
}

/// One line of a billing month: whose it is, and what.
#[derive(Debug, Clone)]
pub(super) struct BilledLine {
    pub(super) document: usize,
    pub(super) charge: usize,
    pub(super) line: Line,
}

/// The bill of one billing month.
#[derive(Debug)]
pub(super) struct MonthBill {
    pub(super) lines: Vec<BilledLine>,
    /// What the rounding of the total adds.
    pub(super) rounding: Money,
    pub(super) total: Money,
    pub(super) missing_history: Vec<NaiveDate>,
    /// What is not on it because a condition does not hold.
    pub(super) not_applied: Vec<WouldBe>,
}

impl<'a> Biller<'a> {
    /// Bills one billing month of the question.
    pub(super) fn month(mut self, month: usize) -> Result<MonthBill, Stop> {
        let mut lines: Vec<BilledLine> = Vec::new();
        let mut total = Money::ZERO;
        let held = self.in_force[month].clone();
        for (document, _) in &held {
            for (index, charge) in self.documents[*document].plan.charges.iter().enumerate() {
                if !charge.on_bill {
                    continue;
                }
                let bill = self.charge(*document, month, index)?;
                for line in &bill.lines {
                    total = total.plus(line.money).ok_or(Stop::TooLarge)?;
                    self.add_line(&mut lines, BilledLine { document: *document, charge: index, line: line.clone() })?;
                }
            }
        }
        let mut rounding = Money::ZERO;
        if let Some((document, _)) = held.last()
            && let Some(rule) = total_rounding(&self.documents[*document])
        {
            let rounded = settle(&Exact::from(total), Some(rule))?;
            rounding = rounded.minus(total).ok_or(Stop::TooLarge)?;
            total = rounded;
        }
        let not_applied = self.not_applied(month);
        let missing_history = self.missing_history.into_iter().collect();
        Ok(MonthBill { lines, rounding, total, missing_history, not_applied })
    }

    /// Puts a line on the bill, or adds it to the one of the same charge, period, step and price of an earlier version.
    fn add_line(&self, lines: &mut Vec<BilledLine>, new: BilledLine) -> Result<(), Stop> {
        let charge = |line: &BilledLine| -> &'a Charge { &self.documents[line.document].plan.charges[line.charge] };
        let period_name = |line: &BilledLine| {
            let split = charge(line).split?;
            Some(self.documents[line.document].plan.schedules[split].periods[line.line.period?].as_str())
        };
        let series = |line: &BilledLine| {
            self.documents[line.document].plan.series_of(charge(line), line.line.period, line.line.step)
        };
        let known = lines.iter_mut().find(|known| {
            known.document != new.document
                && charge(known).id == charge(&new).id
                && charge(known).kind == charge(&new).kind
                && charge(known).unit == charge(&new).unit
                && period_name(known) == period_name(&new)
                && known.line.step == new.line.step
                && known.line.rate == new.line.rate
                && series(known) == series(&new)
        });
        match known {
            Some(known) => {
                known.line.quantity = known.line.quantity.plus(&new.line.quantity);
                known.line.money = known.line.money.plus(new.line.money).ok_or(Stop::TooLarge)?;
                known.document = new.document;
                known.charge = new.charge;
            }
            None => lines.push(new),
        }
        Ok(())
    }

    /// What a charge comes to in a billing month, under a document, on the days on which that is in force.
    pub(super) fn charge(&mut self, document: usize, month: usize, index: usize) -> Result<Rc<ChargeBill>, Stop> {
        if let Some(bill) = self.charge_bills.get(&(document, month, index)) {
            return Ok(Rc::clone(bill));
        }
        let charge: &'a Charge = &self.documents[document].plan.charges[index];
        let span = self.span_of(document, month, charge);
        let place = || self.documents[document].plan.place_of_charge(index);
        let bill = self.charge_anew(charge, span, Applied::Yes).map_err(|stop| stop.at(&place()))?;
        let bill = Rc::new(bill);
        self.charge_bills.insert((document, month, index), Rc::clone(&bill));
        Ok(bill)
    }

    /// The same of the parts of the month that are wanted, not remembered.
    pub(super) fn charge_anew(&mut self, charge: &'a Charge, span: Span, wanted: Applied) -> Result<ChargeBill, Stop> {
        let mut lines: Vec<Line> = Vec::new();
        let mut sums: Vec<(Range<usize>, Exact)> = Vec::new();
        let parts = self.parts_of(charge, span);
        let Some(last_part) = parts.last() else { return Ok(ChargeBill { lines, amounts: Vec::new() }) };
        for part in parts.iter().copied() {
            let first_day = self.ground.frame.first_date(part.first);
            let is_on = charge.from.is_none_or(|from| from <= first_day) && charge.to.is_none_or(|to| first_day < to);
            if !is_on {
                continue;
            }
            let holds = charge.condition.as_ref().map_or(Ok(true), |condition| self.holds(condition, part))?;
            if holds != (wanted == Applied::Yes) {
                continue;
            }
            let new = self.lines(charge, part)?;
            // The last part takes the rest: in a month of one part nothing is added up.
            let sum = if part == *last_part {
                Exact::ZERO
            } else {
                new.iter().fold(Exact::ZERO, |sum, line| sum.plus(&line.exact))
            };
            sums.push((part.segments(), sum));
            for line in new {
                let known = lines
                    .iter_mut()
                    .find(|known| known.period == line.period && known.step == line.step && known.rate == line.rate);
                match known {
                    Some(known) => {
                        known.quantity = known.quantity.plus(&line.quantity);
                        known.exact = known.exact.plus(&line.exact);
                    }
                    None => lines.push(line),
                }
            }
        }
        if charge.kind == Kind::Minimum {
            lines.retain(|line| !line.exact.is_zero());
        }
        let rounding = self.rounding_of_lines(charge, span);
        let total = settle_lines(&mut lines, rounding)?;
        Ok(ChargeBill { amounts: share_out(&sums, total)?, lines })
    }

    /// The parts into which a charge cuts a span: where it begins or ends, and where dated values change.
    fn parts_of(&self, charge: &Charge, span: Span) -> Vec<Span> {
        let frame = &self.ground.frame;
        let mut cuts: Vec<usize> = charge.term_cuts.iter().map(|date| frame.segment_from(*date)).collect();
        let splits = matches!(self.conventions(span).dated_values, None | Some(DatedValues::Split));
        if splits {
            cuts.extend(charge.value_cuts.iter().map(|date| frame.segment_from(*date)));
            for name in &charge.cut_attributes {
                if let Some(AttributeValue::ByDate { by_date }) = self.question.attributes.get(name) {
                    let dates = by_date.keys().filter_map(|from| crate::words::dated(from));
                    cuts.extend(dates.map(|date| frame.segment_from(date)));
                }
            }
        }
        if charge.cut_by_year {
            let last = frame.first_date(span.end.max(1) - 1);
            let new_year = NaiveDate::from_ymd_opt(last.year(), 1, 1);
            cuts.extend(new_year.map(|date| frame.segment_from(date)));
        }
        cuts.retain(|cut| span.first < *cut && *cut < span.end);
        cuts.push(span.end);
        cuts.sort_unstable();
        cuts.dedup();
        let mut first = span.first;
        cuts.into_iter().map(|end| Span { first: std::mem::replace(&mut first, end), end, ..span }).collect()
    }

    /// The lines of one part of a billing month, unrounded.
    fn lines(&mut self, charge: &'a Charge, span: Span) -> Result<Vec<Line>, Stop> {
        let document: &'a Document<'a> = &self.documents[span.document];
        let in_span: Vec<&'a Part> = charge
            .parts
            .iter()
            .filter(|part| period_of(charge, part).is_none_or(|period| self.n_days(span, Some(period)) > 0))
            .collect();
        Self::check_covered(charge, document, span)?;
        let scale = self.bound_scale(charge, span)?;
        let mut ladders = Vec::with_capacity(charge.parts.len());
        for part in &charge.parts {
            ladders.push(self.ladder(part, scale.as_ref(), span)?);
        }
        let slices = self.slices(charge, document, &ladders, span)?;
        let amount_scale = if charge.extensive && charge.resets == Resets::BillingMonth {
            self.share_of_month(span)
        } else {
            Exact::ONE
        };
        let mut lines = Vec::new();
        for (part, slices) in charge.parts.iter().zip(slices) {
            if !in_span.iter().any(|known| std::ptr::eq(*known, part)) {
                continue;
            }
            let per = self.per(charge, part, span)?;
            for slice in slices {
                let step = &part.steps[slice.step];
                lines.push(self.line(charge, part, step, &slice, &per, &amount_scale, span)?);
            }
        }
        Ok(lines)
    }

    #[expect(clippy::too_many_arguments, reason = "one step of one part of one charge, each computed once above")]
    fn line(
        &mut self,
        charge: &Charge,
        part: &Part,
        step: &Step,
        slice: &Slice,
        per: &Exact,
        amount_scale: &Exact,
        span: Span,
    ) -> Result<Line, Stop> {
        let sign = |value: Exact| if charge.negated { value.negated() } else { value };
        let rate = match step.price {
            None | Some(StepPrice::Series { .. }) => None,
            Some(StepPrice::Price(id)) => Some(sign(self.measure(id, span)?)),
            Some(StepPrice::Percent(id)) => Some(sign(self.measure(id, span)?.times(&Exact::scaled(1, 2)))),
        };
        let quantity = slice.quantity.times(per);
        let mut exact = match step.price {
            Some(StepPrice::Series { cost, factor, adder }) => {
                sign(self.by_series((cost, factor, adder), &quantity, per, span)?)
            }
            _ => rate.as_ref().map_or(Exact::ZERO, |rate| quantity.times(rate)),
        };
        let mut shown_rate = rate;
        if let Some(id) = step.amount {
            let amount = sign(self.measure(id, span)?);
            let n_times = Exact::whole(slice.n_reached).times(per).times(amount_scale);
            exact = exact.plus(&amount.times(&n_times));
            shown_rate = None;
        }
        if exact.is_too_large() {
            return Err(Stop::TooLarge);
        }
        Ok(Line {
            period: part.period,
            step: (part.steps.len() > 1).then_some(slice.step),
            quantity,
            rate: shown_rate,
            exact,
            money: Money::ZERO,
        })
    }

    /// Energy that no rule of the schedule covers has no price.
    fn check_covered(charge: &Charge, document: &Document<'_>, span: Span) -> Result<(), Stop> {
        let Some(schedule) = charge.split else { return Ok(()) };
        if charge.shares_measure {
            return Ok(());
        }
        let period = Some(PeriodRef { schedule, period: 0 });
        let channels = match &document.plan.measures[charge.parts[0].measure] {
            Measure::Energy(spec) => vec![&spec.channel],
            Measure::NetEnergy(spec) => vec![&spec.import, &spec.export],
            _ => Vec::new(),
        };
        for channel in channels {
            if document.table(channel, period, false).energy_outside(span.segments()) != 0 {
                let name = &document.plan.schedules[schedule].name;
                let message =
                    format!("the schedule {name:?} leaves hours without a period, and energy was used in them");
                return Err(Stop::fault("energy_without_price", message));
            }
        }
        Ok(())
    }

    /// What the bounds of a charge's ladders are multiplied with.
    fn bound_scale(&mut self, charge: &Charge, span: Span) -> Result<Option<Exact>, Stop> {
        let has_bounds = charge.parts.iter().any(|part| part.steps.iter().any(|step| step.to.is_some()));
        if !has_bounds {
            return Ok(None);
        }
        if charge.bounds_per == Some(BoundsPer::Day) {
            let n_days = self.n_days(span, None);
            return Ok(Some(if charge.resets == Resets::Day { Exact::ONE } else { Exact::whole(n_days) }));
        }
        let is_monthly = charge.resets == Resets::BillingMonth && charge.extensive_bounds;
        let share = is_monthly.then(|| self.share_of_month(span));
        match charge.bounds_per {
            Some(BoundsPer::Measure(id)) => {
                let per = self.measure(id, span)?;
                Ok(Some(share.map_or(per.clone(), |share| share.times(&per))))
            }
            _ => Ok(share),
        }
    }

    /// The share of a whole billing month that a part of it is.
    fn share_of_month(&self, span: Span) -> Exact {
        let month = &self.ground.frame.months[span.month];
        let n_days = self.n_days(span, None);
        let part = if n_days == month.n_days { Exact::ONE } else { Exact::fraction(n_days, month.n_days) };
        let whole = self.conventions(span).broken_month_bounds == Some(BrokenMonthBounds::Whole);
        match &month.broken_share {
            Some(share) if !whole => part.times(share),
            _ => part,
        }
    }

    fn ladder(&mut self, part: &Part, scale: Option<&Exact>, span: Span) -> Result<Ladder, Stop> {
        let mut bounds = Vec::with_capacity(part.steps.len());
        for step in &part.steps {
            bounds.push(match step.to {
                None => None,
                Some(id) => {
                    let bound = self.measure(id, span)?;
                    Some(scale.map_or(bound.clone(), |scale| bound.times(scale)))
                }
            });
        }
        let ladder = Ladder { bounds, whole: part.steps.iter().map(|step| step.whole).collect() };
        ladder.check()?;
        Ok(ladder)
    }

    /// The slices of each part, by the rules of the charge's ladders.
    fn slices(
        &mut self,
        charge: &'a Charge,
        document: &Document<'_>,
        ladders: &[Ladder],
        span: Span,
    ) -> Result<Vec<Vec<Slice>>, Stop> {
        let overrides = &self.question.options.conventions;
        let own = &document.plan.sources[charge.source].conventions;
        let is_energy =
            matches!(document.plan.measures[charge.parts[0].measure], Measure::Energy(_) | Measure::NetEnergy(_));
        let scope = overrides.tier_scope.or(charge.tier_scope).or(own.tier_scope).unwrap_or(TierScope::AllPeriods);
        let rules = Rules {
            scope: if is_energy && !charge.shares_measure { scope } else { TierScope::PerPeriod },
            allocation: overrides
                .tier_allocation
                .or(charge.tier_allocation)
                .or(own.tier_allocation)
                .unwrap_or(TierAllocation::Prorated),
            resets: charge.resets,
        };
        if let Some(id) = charge.chosen_by {
            let chosen = self.measure(id, span)?;
            let mut slices = Vec::with_capacity(charge.parts.len());
            for (part, ladder) in charge.parts.iter().zip(ladders) {
                let step = ladder.step_of(&chosen)?;
                let quantity = self.measure(part.measure, span)?;
                slices.push(vec![Slice { step, quantity, n_reached: 1 }]);
            }
            return Ok(slices);
        }
        let is_flat = ladders.iter().all(Ladder::is_flat);
        let is_plain = matches!(document.plan.measures[charge.parts[0].measure], Measure::Energy(_));
        let in_order = rules.allocation == TierAllocation::Chronological && is_plain;
        if !is_flat && (rules.resets != Resets::BillingMonth || in_order) {
            return self.fill(charge, ladders, rules, span);
        }
        let mut quantities = Vec::with_capacity(charge.parts.len());
        for part in &charge.parts {
            quantities.push(self.measure(part.measure, span)?);
        }
        fill::prorated(ladders, &quantities, rules.scope)
    }

    /// The rounding of a charge's lines: its own, that of its document, or what stands in place of it.
    fn rounding_of_lines(&self, charge: &Charge, span: Span) -> Option<Rounding> {
        let document = &self.documents[span.document];
        let otherwise = match self.conventions(span).rounding {
            Some(RoundingOverride::None) => return None,
            Some(RoundingOverride::Total) => None,
            Some(RoundingOverride::Lines) => Some(to_the_last_digit(document)),
            None => document.plan.sources[charge.source].lines,
        };
        charge.rounding.or(otherwise)
    }

    /// The factor of a charge in one of its periods.
    fn per(&mut self, charge: &Charge, part: &Part, span: Span) -> Result<Exact, Stop> {
        let period = period_of(charge, part).or(charge.period);
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

fn period_of(charge: &Charge, part: &Part) -> Option<PeriodRef> {
    charge.split.zip(part.period).map(|(schedule, period)| PeriodRef { schedule, period })
}

/// The rounding of a document's total, or what stands in place of it.
fn total_rounding(document: &Document<'_>) -> Option<Rounding> {
    // From outside, so the same for all sources.
    match document.conventions[0].rounding {
        None => document.plan.total_rounding,
        Some(RoundingOverride::None | RoundingOverride::Lines) => None,
        Some(RoundingOverride::Total) => Some(to_the_last_digit(document)),
    }
}

fn to_the_last_digit(document: &Document<'_>) -> Rounding {
    let to = crate::tariff::currency_unit(document.plan.currency_decimals);
    Rounding { to, mode: RoundingMode::HalfUp, each_charge: false }
}

/// Settles an amount: by its rounding, looking at the exact fraction, or at 18 decimals.
fn settle(exact: &Exact, rounding: Option<Rounding>) -> Result<Money, Stop> {
    let rounded = match rounding {
        Some(rule) => exact.rounded(rule.to, rule.mode).ok_or(Stop::TooLarge)?,
        None => exact.clone(),
    };
    Money::settle(&rounded).ok_or(Stop::TooLarge)
}

/// Settles the lines of a charge and gives their sum. Where the charge is rounded as a whole, the last line takes the
/// difference.
fn settle_lines(lines: &mut [Line], rounding: Option<Rounding>) -> Result<Money, Stop> {
    let each_charge = rounding.is_some_and(|rule| rule.each_charge);
    let mut sum = Money::ZERO;
    for line in lines.iter_mut() {
        line.money = settle(&line.exact, if each_charge { None } else { rounding })?;
        sum = sum.plus(line.money).ok_or(Stop::TooLarge)?;
    }
    if each_charge && let Some(last) = lines.last().map(|line| line.money) {
        let exact = lines.iter().fold(Exact::ZERO, |sum, line| sum.plus(&line.exact));
        let total = settle(&exact, rounding)?;
        let difference = total.minus(sum).ok_or(Stop::TooLarge)?;
        let money = last.plus(difference).ok_or(Stop::TooLarge)?;
        lines.last_mut().expect("there is a last line").money = money;
        return Ok(total);
    }
    Ok(sum)
}

/// The money of each part of the month; the last takes the rest, so that they add up to the lines.
fn share_out(sums: &[(Range<usize>, Exact)], total: Money) -> Result<Vec<(Range<usize>, Money)>, Stop> {
    let mut rest = total;
    let mut amounts = Vec::with_capacity(sums.len());
    for (i, (segments, sum)) in sums.iter().enumerate() {
        let money = if i + 1 == sums.len() { rest } else { settle(sum, None)? };
        rest = rest.minus(money).ok_or(Stop::TooLarge)?;
        amounts.push((segments.clone(), money));
    }
    Ok(amounts)
}
