//! One version of a plan as a question bills it: its tables filled, its conventions settled, the terms of each charge
//! worked out once for all billing months.

use super::Question;
use super::frame::Frame;
use super::ground::{Ground, Table};
use super::measure::period_index;
use super::spot::CostTable;
use super::terms::Terms;
use crate::tariff::model::{Measure, MeasureId, PeriodRef, Plan, Read, Rounding};
use crate::tariff::number::RoundingMode;
use crate::tariff::schedule::Schedule;
use crate::tariff::{ConventionOverrides, RoundingOverride, currency_unit};
use crate::usage::Channel;

/// One version of a plan, with what it reads.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tables: Vec<Table>,
    pub(super) costs: Vec<CostTable>,
    /// The conventions from outside over those of each document that the plan is read from.
    pub(super) conventions: Vec<ConventionOverrides>,
    /// The rounding of a month's total.
    pub(super) total_rounding: Option<Rounding>,
    /// By charge.
    pub(super) terms: Vec<Terms>,
    /// By schedule: for each segment and period its days, 0 where the period cannot occur.
    n_days: Vec<Vec<u32>>,
    /// By measure: the tables of what it reads itself, the export second.
    tables_of: Vec<[u32; 2]>,
    /// By measure, for those whose values are remembered: its place among them.
    pub(super) kept: Vec<Option<u32>>,
    pub(super) n_kept: usize,
}

impl<'a> Document<'a> {
    /// A version with its tables filled.
    pub(super) fn new(ground: &Ground<'_>, question: &Question, plan: &'a Plan) -> Self {
        let overrides = question.options.conventions;
        let mut document = Self {
            plan,
            tables: plan
                .reads
                .iter()
                .map(|read| Table::new(ground, plan, read, &periods_with_demand(plan, read)))
                .collect(),
            costs: plan.costs.iter().map(|cost| CostTable::new(ground, plan, cost)).collect(),
            conventions: plan.sources.iter().map(|source| overrides.over(source.conventions)).collect(),
            total_rounding: total_rounding(plan, overrides.rounding),
            terms: Vec::with_capacity(plan.charges.len()),
            n_days: plan.schedules.iter().map(|schedule| days_of_periods(&ground.frame, schedule)).collect(),
            tables_of: Vec::with_capacity(plan.measures.len()),
            kept: Vec::with_capacity(plan.measures.len()),
            n_kept: 0,
        };
        for measure in &plan.measures {
            let (tables, is_kept) = (document.tables_read(measure), is_kept(measure));
            document.tables_of.push(tables);
            document.kept.push(is_kept.then(|| small(document.n_kept)));
            document.n_kept += usize::from(is_kept);
        }
        for charge in &plan.charges {
            let terms = Terms::new(&document, ground, question, charge);
            document.terms.push(terms);
        }
        document
    }

    /// Days of segments on which a period can occur by its months and season.
    #[inline]
    pub(super) fn n_days(&self, segments: std::ops::Range<usize>, period: PeriodRef) -> u32 {
        let width = self.plan.schedules[period.schedule].periods.len();
        let of_schedule = &self.n_days[period.schedule];
        let mut n_days = 0;
        for segment in segments {
            n_days += of_schedule[segment * width + period.period];
        }
        n_days
    }

    /// The table of a channel and schedule.
    pub(super) fn table(&self, channel: &Channel, period: Option<PeriodRef>) -> &Table {
        &self.tables[self.table_index(channel, period)]
    }

    /// The table of what an energy or a demand measures, or the two of net energy.
    pub(super) fn tables_of(&self, id: MeasureId) -> [&Table; 2] {
        self.tables_of[id].map(|table| &self.tables[table as usize])
    }

    pub(super) fn table_index(&self, channel: &Channel, period: Option<PeriodRef>) -> usize {
        let place = (channel, period.map(|period| period.schedule));
        let found = self.tables.binary_search_by(|table| (&table.read.channel, table.read.schedule).cmp(&place));
        found.expect("a plan's reads are collected with its measures, in order")
    }

    /// The quantity that a measure is.
    pub(super) fn quantity(&self, id: MeasureId) -> Quantity {
        let cell = |period| Cell { table: self.tables_of[id][0], period: small(period_index(period)) };
        match &self.plan.measures[id] {
            Measure::Energy(spec) => Quantity::Energy(cell(spec.period)),
            Measure::Demand(spec) if spec.is_plain() => Quantity::Highest(cell(spec.period)),
            _ => Quantity::Measured(id),
        }
    }

    fn tables_read(&self, measure: &Measure) -> [u32; 2] {
        match measure {
            Measure::Energy(spec) => [small(self.table_index(&spec.channel, spec.period)), 0],
            Measure::Demand(spec) => [small(self.table_index(&spec.channel, spec.period)), 0],
            Measure::NetEnergy(spec) => {
                [&spec.import, &spec.export].map(|channel| small(self.table_index(channel, spec.period)))
            }
            _ => [0, 0],
        }
    }
}

fn days_of_periods(frame: &Frame, schedule: &Schedule) -> Vec<u32> {
    let mut n_days = Vec::with_capacity(frame.segments.len() * schedule.periods.len());
    for (segment, day) in frame.segments.iter().zip(&frame.segment_days) {
        let of_segment = small(segment.len());
        let periods = 0..schedule.periods.len();
        n_days.extend(periods.map(|period| if schedule.occurs_on(*day, period) { of_segment } else { 0 }));
    }
    n_days
}

/// By period of a read's schedule, whether some measure looks at its highest power.
fn periods_with_demand(plan: &Plan, read: &Read) -> Vec<bool> {
    let mut has_demand = Vec::new();
    for measure in plan.measures.iter().filter(|_| read.maxima) {
        if let Measure::Demand(spec) = measure
            && (&spec.channel, spec.period.map(|period| period.schedule)) == (&read.channel, read.schedule)
        {
            let period = period_index(spec.period);
            has_demand.resize(has_demand.len().max(period + 1), false);
            has_demand[period] = true;
        }
    }
    has_demand
}

/// A number that runs through a ladder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantity {
    /// The energy of a period, kWh.
    Energy(Cell),
    /// The highest power of a period, kW.
    Highest(Cell),
    /// Any other measure.
    Measured(MeasureId),
}

/// A period of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) table: u32,
    pub(super) period: u32,
}

/// Whether a value is remembered: what is made of other measures, or of many readings.
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

pub(super) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a plan has at most 100,000 measures, a period fewer days")
}

/// The rounding of a plan's total, or what stands in place of it.
fn total_rounding(plan: &Plan, instead: Option<RoundingOverride>) -> Option<Rounding> {
    match instead {
        None => plan.total_rounding,
        Some(RoundingOverride::None | RoundingOverride::Lines) => None,
        Some(RoundingOverride::Total) => Some(to_the_last_digit(plan)),
    }
}

pub(super) fn to_the_last_digit(plan: &Plan) -> Rounding {
    Rounding { to: currency_unit(plan.currency_decimals), mode: RoundingMode::HalfUp, each_charge: false }
}
