//! What no billing month and no question changes: worked out once, when the plan is read.
//!
//! Source: PLAN-MODEL section 5, "a plan is compiled when it is read".

use std::collections::BTreeSet;

use super::{Charge, Kind, Measure, MeasureId, PeriodRef, Plan, Resets, Step, StepPrice};
use crate::tariff::number::{Exact, MONEY_DECIMALS};
use crate::usage::Channel;

/// Decimals of readings: milliwatt-hours are millionths of a kWh, milliwatts of a kW.
pub(crate) const MILLIONTHS: u32 = 6;

/// Facts of a plan by the places of its lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// By charge.
    pub(crate) charges: Vec<ChargeFacts>,
    /// The prices of units that are the same in every month, sign and percent in them.
    pub(crate) rates: Vec<Exact>,
    /// By read of the plan and period of its schedule, whether some measure looks at its highest power; none does past the
    /// end.
    pub(crate) with_demand: Vec<Vec<bool>>,
    /// By measure: the tables of what it reads itself, the export second. A table is known by the place of its read.
    pub(crate) tables_of: Vec<[u32; 2]>,
    /// By measure, for those whose values are remembered: its place among them.
    pub(crate) kept: Vec<Option<u32>>,
    pub(crate) n_kept: usize,
}

/// Facts of a charge.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a charge")]
pub(crate) struct ChargeFacts {
    pub(crate) parts: Vec<PartFacts>,
    /// By step, part after part.
    pub(crate) rates: Vec<Rate>,
    pub(crate) bounds: Bounds,
    /// Whether every part has one open step.
    pub(crate) is_open: bool,
    /// Whether some step has an amount of its own.
    pub(crate) has_amounts: bool,
    /// Whether it splits energy, or net energy, over periods or ladders.
    pub(crate) is_energy: bool,
    /// Whether its quantities are readings as they are: they can fill ladders in order of time.
    pub(crate) is_plain_energy: bool,
    /// Tables in which energy outside the periods has no price.
    pub(crate) covered: Vec<u32>,
    /// Where its prices and bounds are known, its quantities of the month alone, and nothing in the document cuts it.
    pub(crate) plain: Option<PlainFacts>,
}

/// Facts of a charge for which whole numbers do.
#[derive(Debug, Clone)]
pub(crate) struct PlainFacts {
    /// By step, part after part.
    pub(crate) rates: Vec<PlainRate>,
    /// The charges whose amounts it looks at.
    pub(crate) referred: Vec<usize>,
}

/// Facts of a part of a charge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartFacts {
    pub(crate) quantity: Quantity,
    /// Index of its period in the charge's schedule.
    pub(crate) period: Option<u16>,
    /// Whether its ladder has more than one step.
    pub(crate) has_steps: bool,
    /// Its first step among those of all parts.
    pub(crate) first_step: usize,
    /// Its first upper bound among those of all parts.
    first_bound: usize,
    n_bounds: usize,
}

/// A number that runs through a ladder.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Quantity {
    /// The energy of a period, kWh.
    Energy(Cell),
    /// The highest power of a period, kW.
    Highest(Cell),
    /// A number of the document, in millionths.
    Constant(i64),
    /// Any other measure.
    Measured(MeasureId),
}

/// A period of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) table: u32,
    pub(crate) period: u32,
}

/// The price of a unit at one step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rate {
    /// None: the step has at most an amount.
    Free,
    /// The same in every month: index into the plan's rates.
    Known(u32),
    /// Measured in each month, the sign and the percent not in it yet.
    Measured(StepPrice),
}

/// The price of a unit at one step of a plain charge, the same in every month.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainRate {
    /// Index into the plan's rates; `None` where the step has no price.
    pub(crate) known: Option<u32>,
    /// What a millionth of a unit costs, in the last decimal of settled money; 0 without a price.
    pub(crate) per_millionth: i64,
}

/// The upper bounds of a charge's steps, part after part, before anything scales them.
#[derive(Debug, Clone)]
pub(crate) enum Bounds {
    /// No step has one.
    None,
    /// The same in every month; they rise.
    Known {
        exact: Vec<Exact>,
        /// The same in millionths, as readings count; empty where one has more decimals or is too large.
        millionths: Vec<i64>,
    },
    /// Measured in each month.
    Measured,
}

impl PartFacts {
    /// Its bounds among those of all parts.
    #[inline]
    pub(crate) fn bounds<'b, T>(&self, of_charge: &'b [T]) -> &'b [T] {
        &of_charge[self.first_bound..self.first_bound + self.n_bounds]
    }
}

/// A channel and the schedule by which it is read, in the order of the plan's reads.
type Place<'p> = (&'p Channel, Option<usize>);

impl Known {
    /// The facts of a plan whose reads are collected.
    pub(crate) fn of(plan: &Plan) -> Self {
        let places: Vec<Place<'_>> = plan.reads.iter().map(|read| (&read.channel, read.schedule)).collect();
        let mut known = Self { with_demand: vec![Vec::new(); places.len()], ..Self::default() };
        for measure in &plan.measures {
            let tables = tables_read(&places, measure);
            if let Measure::Demand(spec) = measure {
                let period = period_index(spec.period);
                let periods = &mut known.with_demand[tables[0] as usize];
                periods.resize(periods.len().max(period + 1), false);
                periods[period] = true;
            }
            known.tables_of.push(tables);
        }
        for (measure, is_asked_again) in plan.measures.iter().zip(asked_again(plan)) {
            let is_kept = is_asked_again && is_kept(measure);
            known.kept.push(is_kept.then(|| small(known.n_kept)));
            known.n_kept += usize::from(is_kept);
        }
        for charge in &plan.charges {
            let facts = known.facts_of(plan, &places, charge);
            known.charges.push(facts);
        }
        known
    }

    fn facts_of(&mut self, plan: &Plan, places: &[Place<'_>], charge: &Charge) -> ChargeFacts {
        let parts = self.parts(plan, charge);
        let steps = || charge.parts.iter().flat_map(|part| &part.steps);
        let rates: Vec<Rate> = steps().map(|step| self.rate(plan, charge, step)).collect();
        let bounds = bounds(plan, charge);
        let measure = charge.parts.first().map(|part| &plan.measures[part.measure]);
        let has_amounts = steps().any(|step| step.amount.is_some());
        let is_uncut = charge.term_cuts.is_empty() && charge.value_cuts.is_empty() && !charge.cut_by_year;
        let is_bounded = match &bounds {
            Bounds::None => true,
            Bounds::Known { exact, millionths } => exact.len() == millionths.len(),
            Bounds::Measured => false,
        };
        // Several quantities are read, not measured one after the other.
        let is_measured = parts.iter().any(|part| matches!(part.quantity, Quantity::Measured(_)));
        let plain_rate = |rate: &Rate| match rate {
            Rate::Free => Some(PlainRate { known: None, per_millionth: 0 }),
            Rate::Known(id) => {
                let per_millionth = self.rates[*id as usize].digits_at(MONEY_DECIMALS - MILLIONTHS)?;
                Some(PlainRate { known: Some(*id), per_millionth })
            }
            Rate::Measured(_) => None,
        };
        let is_plain = (!is_measured || parts.len() == 1)
            && is_of_month(plan, charge.parts.iter().map(|part| part.measure))
            && is_uncut
            && is_bounded
            && !has_amounts
            && charge.condition.is_none()
            && charge.chosen_by.is_none()
            && charge.bounds_per.is_none()
            && charge.resets == Resets::BillingMonth;
        let plain_rates: Option<Vec<PlainRate>> = if is_plain { rates.iter().map(plain_rate).collect() } else { None };
        let referred = || plan.referred_charges(charge).into_iter().collect();
        ChargeFacts {
            plain: plain_rates.map(|rates| PlainFacts { rates, referred: referred() }),
            is_open: matches!(bounds, Bounds::None) && charge.parts.iter().all(|part| part.steps.len() == 1),
            has_amounts,
            is_energy: matches!(measure, Some(Measure::Energy(_) | Measure::NetEnergy(_))),
            is_plain_energy: matches!(measure, Some(Measure::Energy(_))),
            covered: covered(places, charge, measure),
            parts,
            rates,
            bounds,
        }
    }

    fn parts(&self, plan: &Plan, charge: &Charge) -> Vec<PartFacts> {
        let (mut first_step, mut first_bound) = (0, 0);
        let part = |part: &super::Part| {
            let n_bounds = part.steps.iter().filter(|step| step.to.is_some()).count();
            let facts = PartFacts {
                quantity: self.quantity(plan, part.measure),
                period: part.period.map(|period| u16::try_from(period).expect("a schedule has at most 10,000 periods")),
                has_steps: part.steps.len() > 1,
                first_step,
                first_bound,
                n_bounds,
            };
            first_step += part.steps.len();
            first_bound += n_bounds;
            facts
        };
        charge.parts.iter().map(part).collect()
    }

    /// The quantity that a measure is.
    fn quantity(&self, plan: &Plan, id: MeasureId) -> Quantity {
        let cell = |period| Cell { table: self.tables_of[id][0], period: small(period_index(period)) };
        match &plan.measures[id] {
            Measure::Energy(spec) => Quantity::Energy(cell(spec.period)),
            Measure::Demand(spec) if spec.is_plain() => Quantity::Highest(cell(spec.period)),
            Measure::Constant(decimal) => {
                Exact::from(*decimal).digits_at(MILLIONTHS).map_or(Quantity::Measured(id), Quantity::Constant)
            }
            _ => Quantity::Measured(id),
        }
    }

    fn rate(&mut self, plan: &Plan, charge: &Charge, step: &Step) -> Rate {
        let Some(price) = step.price else { return Rate::Free };
        let known = match price {
            StepPrice::Price(id) => constant(plan, id),
            StepPrice::Percent(id) => constant(plan, id).map(|percent| percent.of_a_hundred()),
            StepPrice::Series { .. } => None,
        };
        let Some(rate) = known else { return Rate::Measured(price) };
        let rate = charge.signed(rate);
        self.rates.push(rate);
        Rate::Known(small(self.rates.len() - 1))
    }
}

impl Charge {
    /// A credit counts with the other sign.
    pub(crate) fn signed(&self, value: Exact) -> Exact {
        if self.negated { value.negated() } else { value }
    }

    /// Whether a line of nothing is left out.
    pub(crate) fn drops_zeros(&self) -> bool {
        self.kind == Kind::Minimum
    }
}

/// The place of a period in its table; 0 without a schedule.
pub(crate) fn period_index(period: Option<PeriodRef>) -> usize {
    period.map_or(0, |period| period.period)
}

/// The tables that a measure reads. What no charge reads has none.
fn tables_read(places: &[Place<'_>], measure: &Measure) -> [u32; 2] {
    let table = |channel: &Channel, period| table_of(places, channel, period).map_or(0, small);
    match measure {
        Measure::Energy(spec) => [table(&spec.channel, spec.period), 0],
        Measure::Demand(spec) => [table(&spec.channel, spec.period), 0],
        Measure::NetEnergy(spec) => [table(&spec.import, spec.period), table(&spec.export, spec.period)],
        _ => [0, 0],
    }
}

fn table_of(places: &[Place<'_>], channel: &Channel, period: Option<PeriodRef>) -> Option<usize> {
    places.binary_search(&(channel, period.map(|period| period.schedule))).ok()
}

/// By measure, whether something asks for its value more than once on the same days.
fn asked_again(plan: &Plan) -> Vec<bool> {
    let mut n_asking = vec![0u32; plan.measures.len()];
    for id in plan.charges.iter().flat_map(Charge::own_measures) {
        n_asking[id] += 1;
    }
    for measure in &plan.measures {
        // A look-back asks every month.
        let n_times = if matches!(measure, Measure::OverMonths(_)) { 2 } else { 1 };
        for id in measure.parts() {
            n_asking[id] += n_times;
        }
    }
    n_asking.into_iter().map(|n| n > 1).collect()
}

/// Whether a value is worth remembering: what is made of other measures, or of many readings.
fn is_kept(measure: &Measure) -> bool {
    match measure {
        Measure::Demand(spec) => !spec.is_plain(),
        Measure::Constant(_)
        | Measure::Count { .. }
        | Measure::DaysInYear
        | Measure::Energy(_)
        | Measure::Cost(_)
        | Measure::Attribute(_)
        | Measure::Amount(_)
        | Measure::ByDate(_) => false,
        Measure::NetEnergy(_)
        | Measure::Sum(_)
        | Measure::Times(_)
        | Measure::Max(_)
        | Measure::Min(_)
        | Measure::Divide(..)
        | Measure::Round { .. }
        | Measure::OverMonths(_) => true,
    }
}

/// Whether measures look at nothing but their own billing month.
fn is_of_month(plan: &Plan, measures: impl Iterator<Item = MeasureId>) -> bool {
    let mut open: Vec<MeasureId> = measures.collect();
    let mut seen: BTreeSet<MeasureId> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &plan.measures[id] {
            Measure::Demand(spec) if spec.is_plain() => {}
            Measure::Demand(_)
            | Measure::Cost(_)
            | Measure::NetEnergy(_)
            | Measure::ByDate(_)
            | Measure::OverMonths(_) => return false,
            measure => open.extend(measure.parts()),
        }
    }
    true
}

fn bounds(plan: &Plan, charge: &Charge) -> Bounds {
    let mut exact: Vec<Exact> = Vec::new();
    for part in &charge.parts {
        let first = exact.len();
        for id in part.steps.iter().filter_map(|step| step.to) {
            let Some(bound) = constant(plan, id) else { return Bounds::Measured };
            exact.push(bound);
        }
        if !rise(&exact[first..]) {
            return Bounds::Measured;
        }
    }
    if exact.is_empty() {
        return Bounds::None;
    }
    let millionths = exact.iter().map(|bound| bound.digits_at(MILLIONTHS)).collect::<Option<_>>().unwrap_or_default();
    Bounds::Known { exact, millionths }
}

/// Whether no bound lies below the one before it.
pub(crate) fn rise(bounds: &[Exact]) -> bool {
    bounds.windows(2).all(|pair| pair[0] <= pair[1])
}

fn constant(plan: &Plan, id: MeasureId) -> Option<Exact> {
    match &plan.measures[id] {
        Measure::Constant(decimal) => Some(Exact::from(*decimal)),
        _ => None,
    }
}

/// The tables of the energy that a charge splits over periods: what lies in none of them has no price.
fn covered(places: &[Place<'_>], charge: &Charge, measure: Option<&Measure>) -> Vec<u32> {
    let Some(schedule) = charge.split.filter(|_| !charge.shares_measure) else { return Vec::new() };
    let period = Some(PeriodRef { schedule, period: 0 });
    let channels = match measure {
        Some(Measure::Energy(spec)) => vec![&spec.channel],
        Some(Measure::NetEnergy(spec)) => vec![&spec.import, &spec.export],
        _ => Vec::new(),
    };
    channels.into_iter().filter_map(|channel| table_of(places, channel, period)).map(small).collect()
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a plan has at most 100,000 measures")
}
