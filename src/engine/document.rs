//! One version of a plan as a question bills it: its tables filled, its conventions settled, the rules of each charge
//! worked out once for all billing months.

use super::Question;
use super::fill::Rules;
use super::ground::{Ground, Table};
use super::spot::CostTable;
use crate::tariff::model::{Charge, Measure, MeasureId, PeriodRef, Plan, Resets, Rounding};
use crate::tariff::number::RoundingMode;
use crate::tariff::{ConventionOverrides, DatedValues, RoundingOverride, TierAllocation, TierScope, currency_unit};
use crate::usage::Channel;
use crate::words::AttributeValue;

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
    /// By measure: the tables of what it reads itself, the export second.
    tables_of: Vec<[u32; 2]>,
    /// By measure, for those whose values are remembered: its place among them.
    pub(super) kept: Vec<Option<u32>>,
    pub(super) n_kept: usize,
}

/// What holds of a charge in every billing month of a question.
#[derive(Debug)]
pub(super) struct Terms {
    /// Segments before which it is cut, where dates cut it.
    pub(super) cuts: Vec<usize>,
    pub(super) rules: Rules,
    /// How its quantities become slices.
    pub(super) way: Way,
    /// Whether some step has an upper bound.
    pub(super) has_bounds: bool,
    /// Whether some step has an amount of its own.
    pub(super) has_amounts: bool,
    /// The rounding of its lines, or of their sum.
    pub(super) rounding: Option<Rounding>,
    /// Tables in which energy outside the periods has no price.
    pub(super) covered: Vec<u32>,
}

/// How the quantities of a charge become slices of its ladders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// One open step: the quantity is the slice.
    Open,
    /// A measure picks the step.
    Chosen(MeasureId),
    /// All at once, for each part of a billing month.
    AtOnce,
    /// Day by day, year by year or reading by reading.
    Filled,
}

impl<'a> Document<'a> {
    /// A version with its tables filled.
    pub(super) fn new(ground: &Ground<'_>, question: &Question, plan: &'a Plan) -> Self {
        let overrides = question.options.conventions;
        let mut document = Self {
            plan,
            tables: plan.reads.iter().map(|read| Table::new(ground, plan, read)).collect(),
            costs: plan.costs.iter().map(|cost| CostTable::new(ground, plan, cost)).collect(),
            conventions: plan.sources.iter().map(|source| overrides.over(source.conventions)).collect(),
            total_rounding: total_rounding(plan, overrides.rounding),
            terms: Vec::with_capacity(plan.charges.len()),
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
            let terms = document.terms(ground, question, charge);
            document.terms.push(terms);
        }
        document
    }

    /// The table of a channel and schedule.
    pub(super) fn table(&self, channel: &Channel, period: Option<PeriodRef>) -> &Table {
        &self.tables[self.table_index(channel, period)]
    }

    /// The table of what an energy or a demand measures, or the two of net energy.
    pub(super) fn tables_of(&self, id: MeasureId) -> [&Table; 2] {
        self.tables_of[id].map(|table| &self.tables[table as usize])
    }

    fn table_index(&self, channel: &Channel, period: Option<PeriodRef>) -> usize {
        let place = (channel, period.map(|period| period.schedule));
        let found = self.tables.binary_search_by(|table| (&table.read.channel, table.read.schedule).cmp(&place));
        found.expect("a plan's reads are collected with its measures, in order")
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

    fn terms(&self, ground: &Ground<'_>, question: &Question, charge: &Charge) -> Terms {
        let overrides = &question.options.conventions;
        let source = &self.plan.sources[charge.source];
        let own = &source.conventions;
        let measure = charge.parts.first().map(|part| &self.plan.measures[part.measure]);
        let is_energy = matches!(measure, Some(Measure::Energy(_) | Measure::NetEnergy(_)));
        let scope = overrides.tier_scope.or(charge.tier_scope).or(own.tier_scope).unwrap_or(TierScope::AllPeriods);
        let allocation = overrides.tier_allocation.or(charge.tier_allocation).or(own.tier_allocation);
        let rules = Rules {
            scope: if is_energy && !charge.shares_measure { scope } else { TierScope::PerPeriod },
            allocation: allocation.unwrap_or(TierAllocation::Prorated),
            resets: charge.resets,
        };
        let mut steps = charge.parts.iter().flat_map(|part| &part.steps);
        let has_bounds = steps.clone().any(|step| step.to.is_some());
        let is_open = !has_bounds && charge.parts.iter().all(|part| part.steps.len() == 1);
        let in_order = rules.allocation == TierAllocation::Chronological && matches!(measure, Some(Measure::Energy(_)));
        let way = match charge.chosen_by {
            Some(id) => Way::Chosen(id),
            None if is_open => Way::Open,
            None if rules.resets != Resets::BillingMonth || in_order => Way::Filled,
            None => Way::AtOnce,
        };
        Terms {
            cuts: self.cuts(ground, question, charge),
            rules,
            way,
            has_bounds,
            has_amounts: steps.any(|step| step.amount.is_some()),
            rounding: match overrides.rounding {
                Some(RoundingOverride::None) => None,
                Some(RoundingOverride::Total) => charge.rounding,
                Some(RoundingOverride::Lines) => charge.rounding.or(Some(to_the_last_digit(self.plan))),
                None => charge.rounding.or(source.lines),
            },
            covered: self.covered(charge, measure),
        }
    }

    /// Where a charge is cut: where it begins or ends, and where dated values change. New Year is left out.
    fn cuts(&self, ground: &Ground<'_>, question: &Question, charge: &Charge) -> Vec<usize> {
        let segment_from = |date: chrono::NaiveDate| ground.frame.segment_from(date);
        let mut cuts: Vec<usize> = charge.term_cuts.iter().map(|date| segment_from(*date)).collect();
        if matches!(self.conventions[charge.source].dated_values, None | Some(DatedValues::Split)) {
            cuts.extend(charge.value_cuts.iter().map(|date| segment_from(*date)));
            for name in &charge.cut_attributes {
                if let Some(AttributeValue::ByDate { by_date }) = question.attributes.get(name) {
                    let dates = by_date.keys().filter_map(|from| crate::words::dated(from));
                    cuts.extend(dates.map(segment_from));
                }
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// The tables of the energy that a charge splits over periods: what lies in none of them has no price.
    fn covered(&self, charge: &Charge, measure: Option<&Measure>) -> Vec<u32> {
        let Some(schedule) = charge.split.filter(|_| !charge.shares_measure) else { return Vec::new() };
        let period = Some(PeriodRef { schedule, period: 0 });
        let channels = match measure {
            Some(Measure::Energy(spec)) => vec![&spec.channel],
            Some(Measure::NetEnergy(spec)) => vec![&spec.import, &spec.export],
            _ => Vec::new(),
        };
        channels.into_iter().map(|channel| small(self.table_index(channel, period))).collect()
    }
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

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("a plan has at most 100,000 measures")
}

/// The rounding of a plan's total, or what stands in place of it.
fn total_rounding(plan: &Plan, instead: Option<RoundingOverride>) -> Option<Rounding> {
    match instead {
        None => plan.total_rounding,
        Some(RoundingOverride::None | RoundingOverride::Lines) => None,
        Some(RoundingOverride::Total) => Some(to_the_last_digit(plan)),
    }
}

fn to_the_last_digit(plan: &Plan) -> Rounding {
    Rounding { to: currency_unit(plan.currency_decimals), mode: RoundingMode::HalfUp, each_charge: false }
}
