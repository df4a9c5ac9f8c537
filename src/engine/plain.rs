//! Plain charges, billed before all others and in all months at once: known prices and bounds, nothing that cuts them.
//!
//! Most charges are plain, and from the cells to settled lines they need whole numbers alone. A month in which one is not
//! (a broken one under bounds, a quantity above the last step, whatever is wrong) is left to `lines.rs`, which bills
//! all that a plan can say, and names the fault.

use std::ops::Range;

use super::bill::ChargeBill;
use super::document::Document;
use super::frame::BySegment;
use super::ladder::{Ladder, Slice};
use super::lines::{Billable, Line, LineRate, small_step};
use super::measure::{Biller, Span};
use super::settle::Settling;
use super::terms::{Times, Way};
use crate::tariff::TierScope;
use crate::tariff::model::{
    Bounds, Known, MILLIONTHS, MeasureId, Part, PartFacts, PeriodRef, PlainFacts, PlainRate, Quantity,
};
use crate::tariff::number::{Exact, Money};

/// Room is made for at most so many lines before they are there.
const MANY_LINES: usize = 1 << 12;

/// A billing month, or the part of one in which a version is in force.
struct PlainMonth {
    month: usize,
    segments: Range<usize>,
    n_days: i64,
    /// Days of the whole month.
    n_month_days: i64,
    /// Whether it is the whole of a month that is not broken: bounds hold as they are.
    is_whole: bool,
    /// Whether it counts as one month.
    is_one: bool,
}

/// A plain charge under one version.
struct PlainCharge<'a> {
    document: &'a Document<'a>,
    billable: Billable<'a>,
    facts: &'a PlainFacts,
    times: Times,
    parts: Vec<PlainPart<'a>>,
    /// The charge's only quantity, where it is measured.
    measured: Option<MeasureId>,
    /// Whether the periods share the steps of their total.
    is_shared: bool,
}

/// What a part takes to be billed.
struct PlainPart<'a> {
    read: Read<'a>,
    /// Days on which its period occurs.
    days: Option<BySegment<'a, u32>>,
    /// Index of its period in the charge's schedule.
    period: Option<u16>,
    has_steps: bool,
    /// Upper bounds, in millionths.
    bounds: &'a [i64],
    exact_bounds: &'a [Exact],
    rates: &'a [PlainRate],
    part: &'a Part,
}

/// How often a part of a charge is billed in a month.
enum Count {
    /// Its period occurs on no day: it has no line.
    LeftOut,
    Times(i64),
}

/// Where a quantity is read, in millionths.
#[derive(Clone, Copy)]
enum Read<'a> {
    Energy(BySegment<'a, i64>),
    Highest(BySegment<'a, i64>),
    Constant(i64),
    Not,
}

impl Read<'_> {
    #[inline]
    fn on(&self, segments: &Range<usize>) -> i64 {
        match self {
            Self::Energy(energy) => segments.clone().map(|segment| energy.of(segment)).sum(),
            Self::Highest(highest) => segments.clone().map(|segment| highest.of(segment)).fold(0, i64::max),
            Self::Constant(millionths) => *millionths,
            Self::Not => 0,
        }
    }
}

impl<'a> PlainCharge<'a> {
    /// What a charge takes to be billed in any month; `None` where it is not plain.
    fn new(document: &'a Document<'a>, index: usize) -> Option<Self> {
        let billable = document.billable(index);
        let Billable { charge, facts: all, terms } = billable;
        let (times, facts) = (terms.plain?, all.plain.as_ref()?);
        let parts = all.parts.iter().zip(&charge.parts);
        let parts: Vec<PlainPart<'a>> =
            parts.map(|(of, part)| PlainPart::new(document, billable, facts, of, part)).collect();
        let measured = match all.parts.as_slice() {
            [PartFacts { quantity: Quantity::Measured(id), .. }] => Some(*id),
            _ => None,
        };
        let is_shared = terms.way == Way::AtOnce && terms.rules.scope == TierScope::AllPeriods && parts.len() > 1;
        Some(Self { document, billable, facts, times, parts, measured, is_shared })
    }

    /// How often a part is billed; `None` where that is no plain count.
    #[inline]
    fn n_times(&self, part: &PlainPart<'_>, month: &PlainMonth) -> Option<Count> {
        let charge = self.billable.charge;
        let n_days = match (&part.days, charge.period) {
            (Some(days), _) => month.segments.clone().map(|segment| i64::from(days.of(segment))).sum(),
            (None, Some(period)) => i64::from(self.document.n_days(month.segments.clone(), period)),
            (None, None) => month.n_days,
        };
        if n_days == 0 && part.days.is_some() {
            return Some(Count::LeftOut);
        }
        let n_all = if charge.extensive { month.n_days } else { month.n_month_days };
        match self.times {
            Times::Once => Some(Count::Times(1)),
            Times::Days => Some(Count::Times(n_days)),
            Times::Whole if n_days == n_all => Some(Count::Times(1)),
            Times::Months if n_days == month.n_month_days && month.is_one => Some(Count::Times(1)),
            Times::Whole | Times::Months => None,
        }
    }
}

impl<'a> PlainPart<'a> {
    fn new(
        document: &'a Document<'a>,
        billable: Billable<'a>,
        facts: &'a PlainFacts,
        of: &PartFacts,
        part: &'a Part,
    ) -> Self {
        let charge = billable.charge;
        let (exact, millionths): (&[Exact], &[i64]) = match &billable.facts.bounds {
            Bounds::Known { exact, millionths } => (exact, millionths),
            _ => (&[], &[]),
        };
        let days = charge.split.zip(of.period);
        let days = days.map(|(schedule, period)| PeriodRef { schedule, period: usize::from(period) });
        let read = match of.quantity {
            Quantity::Energy(cell) => {
                let table = &document.tables[cell.table as usize];
                Read::Energy(table.energy_by_segment(cell.period as usize))
            }
            Quantity::Highest(cell) => {
                let table = &document.tables[cell.table as usize];
                Read::Highest(table.highest_by_segment(cell.period as usize))
            }
            Quantity::Constant(millionths) => Read::Constant(millionths),
            Quantity::Measured(_) => Read::Not,
        };
        Self {
            read,
            days: days.map(|period| document.days_by_segment(period)),
            period: of.period,
            has_steps: of.has_steps,
            bounds: of.bounds(millionths),
            exact_bounds: of.bounds(exact),
            rates: &facts.rates[of.first_step..of.first_step + part.steps.len()],
            part,
        }
    }
}

impl<'a> Biller<'a> {
    /// Bills the plain charges of every document in all months of the question.
    pub(super) fn bill_plain_charges(&mut self) {
        for (number, document) in self.documents.iter().enumerate() {
            let months = self.plain_months(number);
            // Most ladders are climbed to the last step.
            let n_steps: usize = document.plan.known.charges.iter().map(|facts| facts.rates.len()).sum();
            self.bills.lines.reserve((n_steps * months.len()).min(MANY_LINES));
            for index in 0..document.plan.charges.len() {
                let Some(charge) = PlainCharge::new(document, index) else { continue };
                for month in &months {
                    if let Some(bill) = self.plain_bill(number, &charge, month) {
                        *self.charges.bill_mut(number, month.month, index) = Some(bill);
                    }
                }
            }
        }
    }

    fn plain_months(&self, document: usize) -> Vec<PlainMonth> {
        let frame = &self.ground.frame;
        let in_month = |month: usize| {
            let (_, segments) = self.held(month).find(|(other, _)| *other == document)?;
            let of = &frame.months[month];
            let n_days = i64::try_from(frame.days_of(&segments).len()).ok()?;
            Some(PlainMonth {
                month,
                is_whole: segments == of.segments && of.broken_share.is_none(),
                is_one: n_days == of.n_days && of.n_months.is_one(),
                segments,
                n_days,
                n_month_days: of.n_days,
            })
        };
        let mut months = Vec::with_capacity(frame.months.len() - frame.n_earlier);
        months.extend((frame.n_earlier..frame.months.len()).filter_map(in_month));
        months
    }

    /// The bill of a plain charge in a billing month; `None` where it takes more than known prices and bounds.
    #[inline]
    fn plain_bill(&mut self, number: usize, plain: &PlainCharge<'a>, month: &PlainMonth) -> Option<ChargeBill> {
        let Billable { charge, facts, terms } = plain.billable;
        let tables = &plain.document.tables;
        let is_covered = |table: &u32| tables[*table as usize].energy_outside(month.segments.clone()) == 0;
        if !facts.covered.iter().all(is_covered) || (terms.way == Way::AtOnce && !month.is_whole) {
            return None;
        }
        let measured = match plain.measured {
            Some(id) => Some(self.measured_plainly(number, plain, id, month)?),
            None => None,
        };
        let first = self.bills.lines.len();
        let mut sheet = Sheet {
            known: &plain.document.plan.known,
            settling: &terms.settling,
            lines: &mut self.bills.lines,
            total: Money::ZERO,
        };
        let is_done = match &measured {
            Some(quantity) => sheet.measured(plain, quantity, month),
            None => sheet.parts(plain, month),
        };
        let total = sheet.total;
        if is_done.is_none() {
            self.bills.lines.truncate(first);
            return None;
        }
        let n_lines = self.bills.lines.len() - first;
        if !charge.on_bill {
            self.bills.lines.truncate(first);
        }
        Some(ChargeBill::uncut(total, n_lines, first..self.bills.lines.len(), &month.segments))
    }

    /// The quantity of a charge that is not read; `None` where a charge that it looks at is not billed yet.
    fn measured_plainly(
        &mut self,
        number: usize,
        plain: &PlainCharge<'a>,
        id: MeasureId,
        month: &PlainMonth,
    ) -> Option<Exact> {
        let is_billed = |charge: &usize| {
            let bill = self.charges.get(number, month.month, *charge);
            bill.is_some_and(|bill| bill.uncut_total(&month.segments).is_some())
        };
        if !plain.facts.referred.iter().all(is_billed) {
            return None;
        }
        let (first, end) = (month.segments.start, month.segments.end);
        let source = plain.billable.charge.source;
        self.measure(id, Span { document: number, source, month: month.month, first, end }).ok()
    }
}

/// Where the lines of a charge are put down.
struct Sheet<'s> {
    known: &'s Known,
    settling: &'s Settling,
    lines: &'s mut Vec<Line>,
    total: Money,
}

impl Sheet<'_> {
    /// Puts down the lines of every part, the quantities as they are read.
    #[inline]
    fn parts(&mut self, plain: &PlainCharge<'_>, month: &PlainMonth) -> Option<()> {
        let mut all = 0i64;
        if plain.is_shared {
            for part in &plain.parts {
                all = all.checked_add(part.read.on(&month.segments))?;
            }
        }
        for part in &plain.parts {
            let quantity = part.read.on(&month.segments);
            let n_times = plain.n_times(part, month)?;
            if part.bounds.is_empty() {
                if let Count::Times(n_times) = n_times {
                    self.put_read(part, 0, quantity.checked_mul(n_times)?)?;
                }
                continue;
            }
            let total = if plain.is_shared { all } else { quantity };
            let last = part.bounds.iter().position(|bound| total <= *bound).unwrap_or(part.bounds.len());
            let is_whole = part.part.steps.get(last)?.whole;
            let Count::Times(n_times) = n_times else { continue };
            if plain.is_shared && quantity == 0 {
                self.put_read(part, 0, 0)?;
                continue;
            }
            let mut lower = 0;
            for step in if is_whole { last } else { 0 }..=last {
                let upper = if step == last { total } else { part.bounds[step] };
                let slice = upper.checked_sub(lower)?;
                lower = upper;
                if plain.is_shared {
                    self.put_share(part, step, (slice, quantity, total))?;
                } else {
                    self.put_read(part, step, slice.checked_mul(n_times)?)?;
                }
            }
        }
        Some(())
    }

    /// Puts down the lines of the only part, its quantity measured.
    fn measured(&mut self, plain: &PlainCharge<'_>, quantity: &Exact, month: &PlainMonth) -> Option<()> {
        let [part] = plain.parts.as_slice() else { return None };
        let Count::Times(n_times) = plain.n_times(part, month)? else { return Some(()) };
        let n_times = Exact::whole(n_times);
        let ladder = Ladder { steps: &part.part.steps, bounds: part.exact_bounds };
        let drops_zeros = plain.billable.charge.drops_zeros();
        let mut is_done = Some(());
        let put = |Slice { step, quantity, .. }: Slice| {
            let quantity = if n_times.is_one() { quantity } else { quantity.times(&n_times) };
            let known = part.rates[step].known;
            let exact = known.map_or(Exact::ZERO, |id| quantity.times(&self.known.rates[id as usize]));
            if drops_zeros && exact.is_zero() {
                return;
            }
            let is_put = self.settling.settle(&exact).ok().and_then(|money| self.put(part, step, quantity, money));
            is_done = is_done.and(is_put);
        };
        ladder.slices(quantity, put).ok()?;
        is_done
    }

    /// Puts down what is read, in millionths, at the price of a step.
    #[inline]
    fn put_read(&mut self, part: &PlainPart<'_>, step: usize, millionths: i64) -> Option<()> {
        let money = Money::product(millionths, part.rates[step].per_millionth);
        let money = if self.settling.rounds() { self.settling.settle(&Exact::from(money)).ok()? } else { money };
        self.put(part, step, Exact::scaled(i128::from(millionths), MILLIONTHS), money)
    }

    /// Puts down `slice x quantity / total`, in millionths, at the price of a step.
    #[inline]
    fn put_share(&mut self, part: &PlainPart<'_>, step: usize, share: (i64, i64, i64)) -> Option<()> {
        let rate = part.rates[step];
        let quantity = Exact::prorated(share, MILLIONTHS)?;
        let plain = if self.settling.rounds() { None } else { Money::prorated(share, rate.per_millionth) };
        let money = match (plain, rate.known) {
            (Some(money), _) => money,
            (None, Some(id)) => self.settling.settle(&quantity.times(&self.known.rates[id as usize])).ok()?,
            (None, None) => Money::ZERO,
        };
        self.put(part, step, quantity, money)
    }

    #[inline]
    fn put(&mut self, part: &PlainPart<'_>, step: usize, quantity: Exact, money: Money) -> Option<()> {
        self.total = self.total.plus(money)?;
        let rate = part.rates[step].known.map_or(LineRate::None, LineRate::Known);
        let step = part.has_steps.then(|| small_step(step));
        self.lines.push(Line { period: part.period, step, rate, quantity, money });
        Some(())
    }
}
