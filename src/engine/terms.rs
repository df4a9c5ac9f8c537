//! The terms of a charge that hold in every billing month of a question: its rules, the numbers that no month changes,
//! and where it is cut.

use super::Question;
use super::document::{Document, Quantity, small, to_the_last_digit};
use super::fill::Rules;
use super::ground::Ground;
use super::ladder::rise;
use crate::tariff::model::{Charge, Measure, MeasureId, PeriodRef, Resets, Rounding, Step, StepPrice};
use crate::tariff::number::Exact;
use crate::tariff::{DatedValues, RoundingOverride, TierAllocation, TierScope};
use crate::words::AttributeValue;

/// What holds of a charge in every billing month of a question.
#[derive(Debug)]
pub(super) struct Terms {
    /// Segments before which it is cut, where dates cut it.
    pub(super) cuts: Vec<usize>,
    pub(super) rules: Rules,
    /// How its quantities become slices.
    pub(super) way: Way,
    /// By part.
    pub(super) parts: Vec<PartTerms>,
    /// By step, part after part.
    pub(super) rates: Vec<Rate>,
    pub(super) bounds: Bounds,
    /// Whether some step has an amount of its own.
    pub(super) has_amounts: bool,
    /// The rounding of its lines, or of their sum.
    pub(super) rounding: Option<Rounding>,
    /// Tables in which energy outside the periods has no price.
    pub(super) covered: Vec<u32>,
}

/// One part of a charge.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartTerms {
    pub(super) quantity: Quantity,
    /// Index of its period in the charge's schedule.
    pub(super) period: Option<u32>,
    /// Whether its ladder has more than one step.
    pub(super) has_steps: bool,
    /// Its first step among those of all parts.
    pub(super) first_step: usize,
    /// Its first upper bound among those of all parts.
    first_bound: usize,
    n_bounds: usize,
}

/// The price of a unit at one step.
#[derive(Debug)]
pub(super) enum Rate {
    /// None: the step has at most an amount.
    Free,
    /// The same in every month, sign and percent in it.
    Known(Exact),
    /// Measured in each month, the sign and the percent not in it yet.
    Measured(StepPrice),
}

/// The upper bounds of a charge's steps, part after part, before anything scales them.
#[derive(Debug)]
pub(super) enum Bounds {
    /// No step has one.
    None,
    /// The same in every month; they rise.
    Known(Vec<Exact>),
    /// Measured in each month.
    Measured,
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

impl PartTerms {
    /// Its bounds among those of all parts.
    pub(super) fn bounds<'b>(&self, of_charge: &'b [Exact]) -> &'b [Exact] {
        &of_charge[self.first_bound..self.first_bound + self.n_bounds]
    }
}

impl Terms {
    /// The terms of a charge of a document whose tables are filled.
    pub(super) fn new(document: &Document<'_>, ground: &Ground<'_>, question: &Question, charge: &Charge) -> Self {
        let overrides = &question.options.conventions;
        let source = &document.plan.sources[charge.source];
        let own = &source.conventions;
        let measure = charge.parts.first().map(|part| &document.plan.measures[part.measure]);
        let is_energy = matches!(measure, Some(Measure::Energy(_) | Measure::NetEnergy(_)));
        let scope = overrides.tier_scope.or(charge.tier_scope).or(own.tier_scope).unwrap_or(TierScope::AllPeriods);
        let allocation = overrides.tier_allocation.or(charge.tier_allocation).or(own.tier_allocation);
        let rules = Rules {
            scope: if is_energy && !charge.shares_measure { scope } else { TierScope::PerPeriod },
            allocation: allocation.unwrap_or(TierAllocation::Prorated),
            resets: charge.resets,
        };
        let bounds = bounds(document, charge);
        let steps = || charge.parts.iter().flat_map(|part| &part.steps);
        let is_open = matches!(bounds, Bounds::None) && charge.parts.iter().all(|part| part.steps.len() == 1);
        let in_order = rules.allocation == TierAllocation::Chronological && matches!(measure, Some(Measure::Energy(_)));
        let way = match charge.chosen_by {
            Some(id) => Way::Chosen(id),
            None if is_open => Way::Open,
            None if rules.resets != Resets::BillingMonth || in_order => Way::Filled,
            None => Way::AtOnce,
        };
        Self {
            cuts: cuts(document, ground, question, charge),
            rules,
            way,
            parts: parts(document, charge),
            rates: steps().map(|step| rate(document, charge, step)).collect(),
            bounds,
            has_amounts: steps().any(|step| step.amount.is_some()),
            rounding: match overrides.rounding {
                Some(RoundingOverride::None) => None,
                Some(RoundingOverride::Total) => charge.rounding,
                Some(RoundingOverride::Lines) => charge.rounding.or(Some(to_the_last_digit(document.plan))),
                None => charge.rounding.or(source.lines),
            },
            covered: covered(document, charge, measure),
        }
    }
}

fn parts(document: &Document<'_>, charge: &Charge) -> Vec<PartTerms> {
    let (mut first_step, mut first_bound) = (0, 0);
    let part = |part: &crate::tariff::model::Part| {
        let n_bounds = part.steps.iter().filter(|step| step.to.is_some()).count();
        let terms = PartTerms {
            quantity: document.quantity(part.measure),
            period: part.period.map(small),
            has_steps: part.steps.len() > 1,
            first_step,
            first_bound,
            n_bounds,
        };
        first_step += part.steps.len();
        first_bound += n_bounds;
        terms
    };
    charge.parts.iter().map(part).collect()
}

fn bounds(document: &Document<'_>, charge: &Charge) -> Bounds {
    let mut known: Vec<Exact> = Vec::new();
    for part in &charge.parts {
        let first = known.len();
        for id in part.steps.iter().filter_map(|step| step.to) {
            let Some(bound) = constant(document, id) else { return Bounds::Measured };
            known.push(bound);
        }
        if !rise(&known[first..]) {
            return Bounds::Measured;
        }
    }
    if known.is_empty() { Bounds::None } else { Bounds::Known(known) }
}

fn rate(document: &Document<'_>, charge: &Charge, step: &Step) -> Rate {
    let known = match step.price {
        None => return Rate::Free,
        Some(StepPrice::Price(id)) => constant(document, id),
        Some(StepPrice::Percent(id)) => constant(document, id).map(|percent| of_a_hundred(&percent)),
        Some(StepPrice::Series { .. }) => None,
    };
    match (known, step.price) {
        (Some(rate), _) => Rate::Known(signed(charge, rate)),
        (None, Some(price)) => Rate::Measured(price),
        (None, None) => Rate::Free,
    }
}

fn constant(document: &Document<'_>, id: MeasureId) -> Option<Exact> {
    match &document.plan.measures[id] {
        Measure::Constant(decimal) => Some(Exact::from(*decimal)),
        _ => None,
    }
}

/// A percent as a rate.
pub(super) fn of_a_hundred(percent: &Exact) -> Exact {
    percent.times(&Exact::scaled(1, 2))
}

/// A credit counts with the other sign.
pub(super) fn signed(charge: &Charge, value: Exact) -> Exact {
    if charge.negated { value.negated() } else { value }
}

/// Where a charge is cut: where it begins or ends, and where dated values change. New Year is left out.
fn cuts(document: &Document<'_>, ground: &Ground<'_>, question: &Question, charge: &Charge) -> Vec<usize> {
    let segment_from = |date: chrono::NaiveDate| ground.frame.segment_from(date);
    let mut cuts: Vec<usize> = charge.term_cuts.iter().map(|date| segment_from(*date)).collect();
    if matches!(document.conventions[charge.source].dated_values, None | Some(DatedValues::Split)) {
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
fn covered(document: &Document<'_>, charge: &Charge, measure: Option<&Measure>) -> Vec<u32> {
    let Some(schedule) = charge.split.filter(|_| !charge.shares_measure) else { return Vec::new() };
    let period = Some(PeriodRef { schedule, period: 0 });
    let channels = match measure {
        Some(Measure::Energy(spec)) => vec![&spec.channel],
        Some(Measure::NetEnergy(spec)) => vec![&spec.import, &spec.export],
        _ => Vec::new(),
    };
    channels.into_iter().map(|channel| small(document.table_index(channel, period))).collect()
}
