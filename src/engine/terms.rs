//! The terms of a charge that hold in every billing month of a question: its rules under the conventions of who asks, how
//! its amounts are settled, and where it is cut.

use super::Question;
use super::document::{Document, to_the_last_digit};
use super::fill::Rules;
use super::ground::Ground;
use super::settle::Settling;
use crate::tariff::model::{Charge, ChargeFacts, MeasureId, Per, Resets, TimeUnit};
use crate::tariff::{
    ConventionOverrides, DailyAmounts, DatedValues, MonthlyAmounts, RoundingOverride, TierAllocation, TierScope,
};
use crate::words::AttributeValue;

/// What holds of a charge in every billing month of a question.
#[derive(Debug)]
pub(super) struct Terms {
    /// Segments before which it is cut, where dates cut it.
    pub(super) cuts: Vec<usize>,
    pub(super) rules: Rules,
    /// How its quantities become slices.
    pub(super) way: Way,
    /// How its lines, or their sum, are settled.
    pub(super) settling: Settling,
    /// Where known prices and bounds are all that it takes to bill it: how it is counted.
    pub(super) plain: Option<Times>,
}

/// How often a plain charge is billed in a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// Once.
    Once,
    /// Once if its days are all the days of the billing month, or of the part that a version is in force.
    Whole,
    /// Once for each of its days.
    Days,
    /// Once if its days are all those of one billing month.
    Months,
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

impl Terms {
    /// The terms of a charge of a document whose conventions are settled.
    pub(super) fn new(document: &Document<'_>, ground: &Ground<'_>, question: &Question, index: usize) -> Self {
        let (charge, facts) = (&document.plan.charges[index], document.facts(index));
        let overrides = &question.options.conventions;
        let source = &document.plan.sources[charge.source];
        let conventions = &document.conventions[charge.source];
        let scope = overrides.tier_scope.or(charge.tier_scope).or(source.conventions.tier_scope);
        let allocation = overrides.tier_allocation.or(charge.tier_allocation).or(source.conventions.tier_allocation);
        let rules = Rules {
            scope: match scope.unwrap_or(TierScope::AllPeriods) {
                scope if facts.is_energy && !charge.shares_measure => scope,
                _ => TierScope::PerPeriod,
            },
            allocation: allocation.unwrap_or(TierAllocation::Prorated),
            resets: charge.resets,
        };
        let rounding = match overrides.rounding {
            Some(RoundingOverride::None) => None,
            Some(RoundingOverride::Total) => charge.rounding,
            Some(RoundingOverride::Lines) => charge.rounding.or(Some(to_the_last_digit(document.plan))),
            None => charge.rounding.or(source.lines),
        };
        let (way, settling) = (way(charge, facts, rules), Settling::new(rounding));
        let cuts = cuts(conventions.dated_values, ground, question, charge);
        let is_plain = facts.plain.is_some()
            && cuts.is_empty()
            && matches!(way, Way::Open | Way::AtOnce)
            && !settling.is_of_charge();
        Self { cuts, rules, way, settling, plain: times(charge, conventions).filter(|_| is_plain) }
    }
}

fn way(charge: &Charge, facts: &ChargeFacts, rules: Rules) -> Way {
    let in_order = rules.allocation == TierAllocation::Chronological && facts.is_plain_energy;
    match charge.chosen_by {
        Some(id) => Way::Chosen(id),
        None if facts.is_open => Way::Open,
        None if rules.resets != Resets::BillingMonth || in_order => Way::Filled,
        None => Way::AtOnce,
    }
}

/// How often a charge is billed in a month, where that is a plain count.
fn times(charge: &Charge, conventions: &ConventionOverrides) -> Option<Times> {
    match charge.per {
        Per::BillingPeriod if charge.extensive && !charge.shares_measure => Some(Times::Once),
        Per::BillingPeriod => Some(Times::Whole),
        Per::Time(TimeUnit::Day) if conventions.daily_amounts != Some(DailyAmounts::AverageMonth) => Some(Times::Days),
        Per::Time(TimeUnit::Month) if conventions.monthly_amounts != Some(MonthlyAmounts::ByDays) => {
            Some(Times::Months)
        }
        Per::Time(_) | Per::Measure(_) => None,
    }
}

/// Where a charge is cut: where it begins or ends, and where dated values change. New Year is left out.
fn cuts(dated_values: Option<DatedValues>, ground: &Ground<'_>, question: &Question, charge: &Charge) -> Vec<usize> {
    let segment_from = |date: chrono::NaiveDate| ground.frame.segment_from(date);
    let mut cuts: Vec<usize> = charge.term_cuts.iter().map(|date| segment_from(*date)).collect();
    if matches!(dated_values, None | Some(DatedValues::Split)) {
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
