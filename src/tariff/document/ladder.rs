//! Ladders of a document: prices, steps, and what a schedule splits.

use super::super::json::Json;
use super::super::model::{EnergySpec, Kind, Measure, MeasureId, Part, PeriodRef, Resets, Step, StepPrice};
use super::super::number::{Decimal, Exact};
use super::charge::Quantity;
use super::walk::{Node, Object};
use super::{MAX_STEPS, Reader, refuse_both};

impl<'a> Reader<'a> {
    /// The ladders: one, or one for each period of the schedule that has a price.
    pub(super) fn parts(
        &mut self,
        object: &mut Object<'a>,
        kind: Kind,
        quantity: &Quantity,
        split: Option<usize>,
        wants_split: bool,
    ) -> Option<(Vec<Part>, bool)> {
        let price = object.take("price");
        let percent = object.take("percent");
        let prices = object.take("prices");
        let steps = object.take("steps");
        let n_given = [&price, &percent, &prices, &steps].into_iter().flatten().count();
        if n_given > 1 {
            let message = "\"price\", \"prices\", \"steps\" and \"percent\" exclude each other";
            self.faults.add("conflicting_fields", &object.pointer, message);
            return None;
        }
        let by_period = prices.is_some() || steps.as_ref().is_some_and(|n| matches!(n.json, Json::Object(_)));
        if by_period {
            let node = prices.as_ref().or(steps.as_ref())?;
            if !wants_split {
                let message = "prices by period want a \"schedule\", and no \"period\"";
                self.faults.add("missing_price", &node.pointer, message);
                return None;
            }
            return self.split_parts(kind, quantity, split?, node, prices.is_some());
        }
        if wants_split {
            let message = "a charge with a schedule wants prices or steps for its periods, or a \"period\"";
            self.faults.add("missing_price", &object.pointer, message);
            return None;
        }
        let sign = if kind == Kind::Discount { Decimal::ONE.negated() } else { Decimal::ONE };
        let energy = self.energy_of(quantity);
        let steps = match (price, percent, steps) {
            (Some(n), _, _) => vec![self.price_step(&n, energy.as_ref())?],
            (_, Some(n), _) => vec![self.percent_step(&n, sign)?],
            (_, _, Some(n)) => self.steps(&n, sign, energy.as_ref())?,
            _ if kind == Kind::Minimum => {
                let one = self.constant(Decimal::ONE);
                vec![Step { to: None, price: Some(StepPrice::Price(one)), amount: None, whole: false }]
            }
            _ => {
                let message = "a charge wants one of \"price\", \"prices\", \"steps\" and \"percent\"";
                self.faults.add("missing_price", &object.pointer, message);
                return None;
            }
        };
        let measure = self.measure_in(quantity, None);
        Some((vec![Part { period: None, measure, steps }], false))
    }

    fn split_parts(
        &mut self,
        kind: Kind,
        quantity: &Quantity,
        schedule: usize,
        node: &Node<'a>,
        is_prices: bool,
    ) -> Option<(Vec<Part>, bool)> {
        let is_seasonal = self.schedules[schedule].is_seasonal;
        let is_demand_with_more = matches!(quantity, Quantity::Demand(..));
        let shares_measure = matches!(quantity, Quantity::Composed(_)) || (is_demand_with_more && is_seasonal);
        if matches!(quantity, Quantity::Composed(_)) && !is_seasonal {
            let message = "a composed or named measure has one value in all periods: it can be priced by months and \
                           season only, not by days or hours";
            self.faults.add("composed_under_hours", &node.pointer, message);
            return None;
        }
        let sign = if kind == Kind::Discount { Decimal::ONE.negated() } else { Decimal::ONE };
        let mut ladders: Vec<Option<Vec<Step>>> = vec![None; self.schedules[schedule].periods.len()];
        let mut good = true;
        for (name, value) in node.entries(&mut self.faults) {
            let Some(period) = self.schedules[schedule].period_named(name) else {
                let known = self.schedules[schedule].periods.join(", ");
                let message = format!("{name:?} is no period of this schedule; it has {known}");
                self.faults.add("unknown_name", &value.pointer, message);
                good = false;
                continue;
            };
            let energy = if shares_measure { None } else { self.energy_of(quantity) };
            let energy = energy.map(|energy| EnergySpec { period: Some(PeriodRef { schedule, period }), ..energy });
            let steps = if is_prices {
                self.price_step(&value, energy.as_ref()).map(|step| vec![step])
            } else {
                self.steps(&value, sign, energy.as_ref())
            };
            good &= steps.is_some();
            ladders[period] = steps;
        }
        let needs_all = matches!(quantity, Quantity::Plain(Measure::Energy(_) | Measure::NetEnergy(_)));
        if needs_all && good {
            for (period, ladder) in ladders.iter().enumerate() {
                if ladder.is_none() {
                    let name = self.schedules[schedule].periods[period].clone();
                    let message = format!("energy in period {name:?} has no price; write \"0\" if it is free");
                    self.faults.add("missing_price", &node.pointer, message);
                    good = false;
                }
            }
        }
        if !good {
            return None;
        }
        let mut parts = Vec::new();
        for (period, steps) in ladders.into_iter().enumerate() {
            let Some(steps) = steps else { continue };
            let measured = if shares_measure { None } else { Some(PeriodRef { schedule, period }) };
            let measure = self.measure_in(quantity, measured);
            parts.push(Part { period: Some(period), measure, steps });
        }
        if parts.is_empty() {
            self.faults.add("missing_price", &node.pointer, "name the price of at least one period");
            return None;
        }
        Some((parts, shares_measure))
    }

    /// One open step at a price.
    fn price_step(&mut self, node: &Node<'a>, energy: Option<&EnergySpec>) -> Option<Step> {
        Some(Step { to: None, price: Some(self.price(node, energy)?), amount: None, whole: false })
    }

    /// One open step of a percentage.
    fn percent_step(&mut self, node: &Node<'a>, sign: Decimal) -> Option<Step> {
        Some(Step { to: None, price: Some(self.percent(node, sign)?), amount: None, whole: false })
    }

    /// * `energy`: what the price is for, if it is plain energy.
    fn price(&mut self, node: &Node<'a>, energy: Option<&EnergySpec>) -> Option<StepPrice> {
        if node.json.get("series").is_some() {
            return self.series_price(node, energy);
        }
        self.measure(node).map(StepPrice::Price)
    }

    fn percent(&mut self, node: &Node<'a>, sign: Decimal) -> Option<StepPrice> {
        if node.json.as_str().is_some_and(|t| t.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'-')) {
            node.decimal(10, &mut self.faults)?;
        }
        let id = self.measure(node)?;
        let id = if sign.is_negative() {
            let minus_one = self.constant(sign);
            self.intern(Measure::Times(vec![minus_one, id]))
        } else {
            id
        };
        Some(StepPrice::Percent(id))
    }

    fn steps(&mut self, node: &Node<'a>, percent_sign: Decimal, energy: Option<&EnergySpec>) -> Option<Vec<Step>> {
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            if matches!(node.json, Json::Array(_)) {
                self.faults.add("missing_price", &node.pointer, "a ladder wants a step");
            }
            return None;
        }
        self.n_steps += items.len();
        if self.n_steps > MAX_STEPS {
            let message = format!("a plan has at most {MAX_STEPS} steps");
            self.faults.add("too_many", &node.pointer, message);
            return None;
        }
        let n_steps = items.len();
        let mut steps = Vec::with_capacity(n_steps);
        let mut good = true;
        let mut last_bound: Option<Exact> = None;
        for (i, item) in items.iter().enumerate() {
            let Some(mut object) = item.object(&mut self.faults) else {
                good = false;
                continue;
            };
            let to_node = object.take("to");
            let to = to_node.as_ref().map(|n| self.measure(n));
            let price_node = object.take("price");
            let price = price_node.as_ref().map(|n| self.price(n, energy));
            let percent = object.take("percent").map(|n| self.percent(&n, percent_sign));
            let amount = object.take("amount").map(|n| self.measure(&n));
            let whole = object.take("whole").and_then(|n| n.flag(&mut self.faults)).unwrap_or(false);
            refuse_both(&object, "price", "percent", &mut self.faults);
            if price.is_none() && percent.is_none() && amount.is_none() {
                let message = "a step wants a \"price\", a \"percent\" or an \"amount\"";
                self.faults.add("missing_price", &object.pointer, message);
                good = false;
            }
            object.finish("a step", &mut self.faults);
            if let (Some(Some(StepPrice::Series { .. })), Some(n)) = (price, &price_node)
                && (n_steps > 1 || to.is_some())
            {
                let message = "a price series prices all of the energy: it cannot stand in a ladder with bounds";
                self.faults.add("series_with_steps", &n.pointer, message);
                good = false;
            }
            if to.is_none() && i + 1 < n_steps {
                let message = "only the last step may be open: give its upper bound in \"to\"";
                self.faults.add("open_inner_step", &item.pointer, message);
                good = false;
            }
            if let (Some(Some(id)), Some(n)) = (to, &to_node)
                && let Measure::Constant(bound) = &self.measures[id]
            {
                let bound = Exact::from(*bound);
                if last_bound.as_ref().is_some_and(|last| *last >= bound) {
                    self.faults.add("bounds_fall", &n.pointer, "each upper bound is above the one before it");
                    good = false;
                }
                last_bound = Some(bound);
            }
            let all_read = [to.map(|t| t.is_some()), amount.map(|a| a.is_some())].into_iter().flatten().all(|r| r)
                && [price.map(|p| p.is_some()), percent.map(|p| p.is_some())].into_iter().flatten().all(|r| r);
            good &= all_read;
            steps.push(Step {
                to: to.flatten(),
                price: price.flatten().or(percent.flatten()),
                amount: amount.flatten(),
                whole,
            });
        }
        good.then_some(steps)
    }

    /// Rules of ladders that look at the charge as a whole.
    pub(super) fn check_ladder(
        &mut self,
        node: &Node<'a>,
        parts: &[Part],
        resets: Resets,
        chosen_by: Option<MeasureId>,
    ) {
        let is_energy = parts.iter().all(|part| matches!(self.measures[part.measure], Measure::Energy(_)));
        if resets != Resets::BillingMonth && !is_energy {
            let message = "a ladder that starts again each day or year is for plain energy only";
            self.faults.add("composed_under_hours", &format!("{}/resets", node.pointer), message);
        }
        if resets != Resets::BillingMonth && chosen_by.is_some() {
            let message = "\"chosen_by\" picks a step for the billing month; it cannot be joined with \"resets\"";
            self.faults.add("conflicting_fields", &format!("{}/chosen_by", node.pointer), message);
        }
    }
}
