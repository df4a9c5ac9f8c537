//! What the author of a plan may not have meant.

use std::collections::BTreeSet;

use super::phrases::Phrases;
use crate::tariff::model::{Kind, Measure, PeriodRef};

/// Sentences; none of them keeps the plan from being billed.
pub(super) fn warnings(phrases: &Phrases<'_>) -> Vec<String> {
    let plan = phrases.plan;
    let mut warnings = Vec::new();
    let used = used_schedules(phrases);
    for (index, schedule) in plan.schedules.iter().enumerate() {
        if !used.contains(&index) {
            warnings.push(format!("No charge uses schedule {}.", schedule.name));
            continue;
        }
        for (period, name) in schedule.periods.iter().enumerate() {
            if phrases.when(PeriodRef { schedule: index, period }) == "never" {
                warnings.push(format!(
                    "Period {name} of schedule {} never is: rules above it take all of its hours.",
                    schedule.name
                ));
            }
        }
    }
    for charge in &plan.charges {
        let is_energy = charge
            .parts
            .iter()
            .any(|part| matches!(plan.measures[part.measure], Measure::Energy(_) | Measure::NetEnergy(_)));
        if let Some(schedule) = charge.split.filter(|_| is_energy && !charge.shares_measure)
            && let Some(gaps) = phrases.gaps(schedule)
        {
            let name = &plan.schedules[schedule].name;
            let warning = format!("Schedule {name} has no period for {gaps}: a bill with energy used then is refused.");
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let referred: BTreeSet<usize> = plan.charges.iter().flat_map(|charge| plan.referred_charges(charge)).collect();
    for (index, charge) in plan.charges.iter().enumerate() {
        if !charge.on_bill && !referred.contains(&index) && charge.kind != Kind::Subtotal {
            warnings.push(format!("Charge {} is not on the bill and no other charge refers to it.", charge.id));
        }
    }
    let prices_import = plan.charges.iter().any(|charge| {
        charge.on_bill
            && charge.parts.iter().any(|part| match &plan.measures[part.measure] {
                Measure::Energy(spec) => spec.channel.as_str() == "import",
                Measure::NetEnergy(_) => true,
                _ => false,
            })
    });
    if !prices_import {
        warnings.push("No charge is for the kWh from the grid.".to_owned());
    }
    warnings
}

/// Schedules that a charge or a measure names.
fn used_schedules(phrases: &Phrases<'_>) -> BTreeSet<usize> {
    let plan = phrases.plan;
    let of_measure = |measure: &Measure| -> Option<PeriodRef> {
        match measure {
            Measure::Count { period, .. } => *period,
            Measure::Energy(spec) => spec.period,
            Measure::Demand(spec) => spec.period,
            Measure::NetEnergy(spec) => spec.period,
            _ => None,
        }
    };
    let by_charges =
        plan.charges.iter().flat_map(|charge| charge.split.into_iter().chain(charge.period.map(|p| p.schedule)));
    let by_measures = plan.measures.iter().filter_map(of_measure).map(|period| period.schedule);
    by_charges.chain(by_measures).collect()
}
