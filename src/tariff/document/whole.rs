//! What only the whole document shows: circles, chains, cuts, look-backs.

use std::collections::BTreeSet;

use super::super::model::{Charge, Measure, MeasureId, Plan, Read, Resets};
use super::{MAX_LOOK_BACK_MONTHS, Reader};

/// Deepest chain of measures made of measures and of charges that refer to charges: each link is a call.
const MAX_CHAIN: u32 = 300;

impl Reader<'_> {
    /// Charges that refer to each other in a circle have no amount.
    pub(super) fn check_cycles(&mut self, plan: &Plan) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let refers: Vec<Vec<usize>> =
            plan.charges.iter().map(|charge| plan.referred_charges(charge).into_iter().collect()).collect();
        let mut marks = vec![Mark::New; plan.charges.len()];
        for start in 0..plan.charges.len() {
            let mut path: Vec<(usize, usize)> = Vec::new();
            if marks[start] == Mark::New {
                marks[start] = Mark::Open;
                path.push((start, 0));
            }
            while let Some((charge, next)) = path.pop() {
                let Some(referred) = refers[charge].get(next).copied() else {
                    marks[charge] = Mark::Done;
                    continue;
                };
                path.push((charge, next + 1));
                match marks[referred] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[referred] = Mark::Open;
                        path.push((referred, 0));
                    }
                    Mark::Open => {
                        let first = path.iter().position(|(on_path, _)| *on_path == referred).unwrap_or(0);
                        let circle: Vec<&str> =
                            path[first..].iter().map(|(index, _)| plan.charges[*index].id.as_str()).collect();
                        self.faults.add(
                            "cycle",
                            &plan.place_of_charge(referred).pointer,
                            format!("these charges refer to each other in a circle: {}", circle.join(", ")),
                        );
                        return;
                    }
                }
            }
        }
    }

    /// A chain of measures and charges that is too long to be followed.
    pub(super) fn check_chains(&mut self, plan: &Plan) {
        let of_charge: Vec<BTreeSet<MeasureId>> = plan.charges.iter().map(|charge| plan.measures_of(charge)).collect();
        let mut depths = vec![0u32; plan.measures.len()];
        loop {
            let mut changed = false;
            for (id, measure) in plan.measures.iter().enumerate() {
                let below = match measure {
                    Measure::Amount(charges) => {
                        let below = charges.iter().flat_map(|charge| &of_charge[*charge]).map(|id| depths[*id]).max();
                        below.unwrap_or(0) + 3
                    }
                    _ => measure.parts().into_iter().map(|part| depths[part]).max().unwrap_or(0),
                };
                changed |= depths[id] != below + 1;
                depths[id] = below + 1;
            }
            let too_deep = of_charge.iter().position(|measures| measures.iter().any(|id| depths[*id] > MAX_CHAIN));
            if let Some(charge) = too_deep {
                let message = "measures and charges refer to each other in too long a chain";
                self.faults.add("too_deep", &plan.place_of_charge(charge).pointer, message);
            }
            if !changed || too_deep.is_some() {
                return;
            }
        }
    }

    /// Fills in what follows from the whole: cuts, look-back, attributes.
    pub(super) fn finish(&mut self, plan: &mut Plan) {
        let used: Vec<BTreeSet<MeasureId>> = plan.charges.iter().map(|charge| plan.measures_of(charge)).collect();
        let refers: Vec<BTreeSet<usize>> = plan.charges.iter().map(|charge| plan.referred_charges(charge)).collect();
        let depths = look_back_depths(plan);
        for (index, measures) in used.iter().enumerate() {
            let charge = &mut plan.charges[index];
            for id in measures {
                let measure = &plan.measures[*id];
                match measure {
                    Measure::ByDate(values) => charge.value_cuts.extend(values.iter().map(|(date, _)| *date)),
                    Measure::Attribute(name) => {
                        charge.cut_attributes.insert(name.clone());
                        plan.attributes.insert(name.clone());
                    }
                    Measure::Cost(spec) => {
                        plan.price_series.insert(spec.series.clone());
                        plan.costs.insert(spec.read());
                    }
                    _ => {}
                }
                plan.reads.extend(measure.reads());
                plan.look_back_months = plan.look_back_months.max(depths[*id]);
            }
            if charge.resets == Resets::Year {
                plan.look_back_months = plan.look_back_months.max(12);
                charge.cut_by_year = true;
            }
            if let Some(condition) = &charge.condition {
                charge.cut_attributes.insert(condition.attribute.clone());
                plan.attributes.insert(condition.attribute.clone());
            }
            charge.term_cuts.extend([charge.from, charge.to].into_iter().flatten());
        }
        // Maxima come with the sums.
        let maxima: Vec<Read> = plan.reads.iter().filter(|read| read.maxima).cloned().collect();
        for read in maxima {
            plan.reads.remove(&Read { maxima: false, ..read });
        }
        // A date that cuts a charge cuts the charges it refers to: their amounts are wanted for each part.
        let mut changed = true;
        while changed {
            changed = false;
            for (index, referred) in refers.iter().enumerate() {
                for other in referred {
                    let source = plan.charges[index].clone();
                    let target = &mut plan.charges[*other];
                    let n_cuts = |charge: &Charge| {
                        charge.term_cuts.len()
                            + charge.value_cuts.len()
                            + charge.cut_attributes.len()
                            + usize::from(charge.cut_by_year)
                    };
                    let before = n_cuts(target);
                    target.term_cuts.extend(source.term_cuts);
                    target.value_cuts.extend(source.value_cuts);
                    target.cut_attributes.extend(source.cut_attributes);
                    target.cut_by_year |= source.cut_by_year;
                    changed |= before != n_cuts(target);
                }
            }
        }
        if plan.look_back_months > MAX_LOOK_BACK_MONTHS {
            let message = format!(
                "look-backs of this plan reach {} months back, at most {MAX_LOOK_BACK_MONTHS} are allowed",
                plan.look_back_months
            );
            self.faults.add("out_of_range", "/charges", message);
        }
    }
}

/// Billing months before its own that each measure reads.
fn look_back_depths(plan: &Plan) -> Vec<u32> {
    // Amounts read what their charges read: repeat until nothing changes; there is no circle.
    let mut depths = vec![0u32; plan.measures.len()];
    let charge_measures: Vec<BTreeSet<MeasureId>> = plan.charges.iter().map(|c| plan.measures_of(c)).collect();
    loop {
        let mut changed = false;
        for (id, measure) in plan.measures.iter().enumerate() {
            let below = match measure {
                Measure::Amount(charges) => charges
                    .iter()
                    .map(|charge| {
                        let year = if plan.charges[*charge].resets == Resets::Year { 12 } else { 0 };
                        charge_measures[*charge].iter().map(|m| depths[*m]).max().unwrap_or(0).max(year)
                    })
                    .max()
                    .unwrap_or(0),
                Measure::NetEnergy(net) => {
                    if net.carry_until.is_some() {
                        12
                    } else {
                        0
                    }
                }
                _ => measure.parts().into_iter().map(|part| depths[part]).max().unwrap_or(0),
            };
            let own = match measure {
                Measure::OverMonths(over) => over.last - u32::from(over.current),
                _ => 0,
            };
            let depth = below.saturating_add(own);
            if depth != depths[id] {
                depths[id] = depth;
                changed = true;
            }
        }
        if !changed {
            return depths;
        }
    }
}
