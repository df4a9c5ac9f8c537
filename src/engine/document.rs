//! One version of a plan as a question bills it: its tables filled, its conventions settled, the terms of each charge
//! worked out once for all billing months.

use super::Question;
use super::frame::{BySegment, Frame};
use super::ground::{Ground, Table};
use super::lines::Billable;
use super::settle::Settling;
use super::spot::CostTable;
use super::terms::Terms;
use crate::tariff::model::{ChargeFacts, MeasureId, PeriodRef, Plan, Rounding};
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
    pub(super) total_rounding: Option<Settling>,
    /// By charge.
    pub(super) terms: Vec<Terms>,
    /// By schedule: for each segment and period its days, 0 where the period cannot occur.
    n_days: Vec<Vec<u32>>,
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
                .zip(&plan.known.with_demand)
                .map(|(read, with_demand)| Table::new(ground, plan, read, with_demand))
                .collect(),
            costs: plan.costs.iter().map(|cost| CostTable::new(ground, plan, cost)).collect(),
            conventions: plan.sources.iter().map(|source| overrides.over(source.conventions)).collect(),
            total_rounding: total_rounding(plan, overrides.rounding).map(|rule| Settling::new(Some(rule))),
            terms: Vec::with_capacity(plan.charges.len()),
            n_days: plan.schedules.iter().map(|schedule| days_of_periods(&ground.frame, schedule)).collect(),
        };
        for index in 0..plan.charges.len() {
            let terms = Terms::new(&document, ground, question, index);
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

    /// The same of a period, by segment.
    pub(super) fn days_by_segment(&self, period: PeriodRef) -> BySegment<'_, u32> {
        let width = self.plan.schedules[period.schedule].periods.len();
        BySegment::column(&self.n_days[period.schedule], width, period.period)
    }

    /// The table of a channel and schedule.
    pub(super) fn table(&self, channel: &Channel, period: Option<PeriodRef>) -> &Table {
        let place = (channel, period.map(|period| period.schedule));
        let found = self.tables.binary_search_by(|table| (&table.read.channel, table.read.schedule).cmp(&place));
        &self.tables[found.expect("a plan's reads are collected with its measures, in order")]
    }

    /// The table of what an energy or a demand measures, or the two of net energy.
    pub(super) fn tables_of(&self, id: MeasureId) -> [&Table; 2] {
        self.plan.known.tables_of[id].map(|table| &self.tables[table as usize])
    }

    /// A charge with all that is known of it.
    pub(super) fn billable(&'a self, charge: usize) -> Billable<'a> {
        Billable { charge: &self.plan.charges[charge], facts: self.facts(charge), terms: &self.terms[charge] }
    }

    /// What the document alone says of a charge.
    pub(super) fn facts(&self, charge: usize) -> &'a ChargeFacts {
        &self.plan.known.charges[charge]
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

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a period has fewer days")
}
