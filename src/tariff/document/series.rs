//! Prices by series: `{"series": "spot", "factor": "1.05", "adder": "0.0217"}`. Source: PLAN-MODEL section 2, "Charge".

use super::super::model::{CostSpec, EnergySpec, Measure, StepPrice};
use super::Reader;
use super::charge::Quantity;
use super::walk::Node;

impl<'a> Reader<'a> {
    /// Reads a price that a series gives for each interval. `factor` and `adder` are measures, 1 and 0 without them.
    ///
    /// * `energy`: what is priced; `None` where it is anything but plain energy, which is refused.
    pub(super) fn series_price(&mut self, node: &Node<'a>, energy: Option<&EnergySpec>) -> Option<StepPrice> {
        let mut object = node.object(&mut self.faults)?;
        let series = object.want("series", &mut self.faults).and_then(|n| n.name(&mut self.faults));
        let factor = object.take("factor").map(|n| self.measure(&n));
        let adder = object.take("adder").map(|n| self.measure(&n));
        object.finish("a price by series", &mut self.faults);
        let Some(energy) = energy else {
            let message = "a price series is for energy that is read interval by interval: import, export or another \
                           channel, not for demand, net energy, a composed measure or one value in all periods";
            self.faults.add("series_without_energy", &node.pointer, message);
            return None;
        };
        let cost = self.intern(Measure::Cost(CostSpec { energy: energy.clone(), series: series?.to_owned() }));
        let read = |measure: Option<Option<usize>>| match measure {
            None => Some(None),
            Some(read) => read.map(Some),
        };
        Some(StepPrice::Series { cost, factor: read(factor)?, adder: read(adder)? })
    }

    /// The energy that a charge measures, if it is plain: of a channel, in a period or not.
    pub(super) fn energy_of(&self, quantity: &Quantity) -> Option<EnergySpec> {
        let measure = match quantity {
            Quantity::Plain(measure) => measure,
            Quantity::Composed(id) => &self.measures[*id],
            Quantity::Demand(..) => return None,
        };
        match measure {
            Measure::Energy(spec) => Some(spec.clone()),
            _ => None,
        }
    }
}
