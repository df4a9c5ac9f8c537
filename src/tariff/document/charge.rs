//! Charges of a document: what stands there, and the defaults of each kind.

use std::collections::BTreeSet;

use super::super::json::Json;
use super::super::model::{
    BoundsPer, Charge, DemandSpec, EnergySpec, Include, Kind, Measure, MeasureId, OverMonths, Per, PeriodRef, Resets,
    Take, TimeUnit,
};
use super::super::number::Decimal;
use super::measure::ReadMeasure;
use super::walk::{Node, Object, check_name};
use super::words::RESETS;
use super::{MAX_CHARGES, Reader, refuse_both};
use crate::usage::Channel;

/// What a charge measures before it is split.
pub(super) enum Quantity {
    /// Can be measured in each period.
    Plain(Measure),
    /// Demand with a floor or a ratchet, which can be measured in each period as well.
    Demand(DemandSpec, Option<MeasureId>, Option<Ratchet>),
    /// One value in all periods.
    Composed(MeasureId),
}

#[derive(Clone)]
pub(super) struct Ratchet {
    percent: Decimal,
    last: u32,
    current: bool,
    named: Vec<u32>,
    of: Option<MeasureId>,
}

impl<'a> Reader<'a> {
    /// Reads `charges`: a list; names are known before the first is read.
    pub(super) fn charges(&mut self, node: &Node<'a>, includes: &[Include]) -> Vec<Charge> {
        let items = node.items(&mut self.faults);
        let first = self.on_bill.len();
        if items.is_empty() && includes.is_empty() && self.prefix.is_empty() && matches!(node.json, Json::Array(_)) {
            self.faults.add("missing_field", &node.pointer, "a plan needs a charge");
        }
        if first + items.len() > MAX_CHARGES {
            self.faults.add("too_many", &node.pointer, format!("a plan has at most {MAX_CHARGES} charges"));
            return Vec::new();
        }
        for (index, item) in (first..).zip(&items) {
            self.on_bill.push(!matches!(item.json.get("on_bill"), Some(Json::Bool(false))));
            if let Some(id) = item.json.get("id").and_then(Json::as_str)
                && self.charge_names.insert(id.to_owned(), index).is_some()
            {
                let message = format!("{id:?} is the id of another charge, too");
                self.faults.add("duplicate_name", &format!("{}/id", item.pointer), message);
            }
            for member in ["id", "group"] {
                self.check_not_included(item, member, includes);
            }
            if let Some(group) = item.json.get("group").and_then(Json::as_str) {
                self.groups.entry(group.to_owned()).or_default().push(index);
            }
        }
        let own_groups = self.groups.iter().filter(|(_, charges)| charges.iter().any(|charge| *charge >= first));
        for (group, _) in own_groups {
            if let Some(charge) = self.charge_names.get(group).filter(|charge| **charge >= first) {
                let message = format!("{group:?} is the id of a charge and the name of a group");
                self.faults.add("duplicate_name", &format!("/charges/{}/id", charge - first), message);
            }
        }
        (first..).zip(&items).filter_map(|(index, item)| self.charge(index, item)).collect()
    }

    fn charge(&mut self, index: usize, node: &Node<'a>) -> Option<Charge> {
        let mut object = node.object(&mut self.faults)?;
        let id = object.want("id", &mut self.faults).and_then(|n| n.name(&mut self.faults));
        let kind = object.want("kind", &mut self.faults).and_then(|n| n.word(&Kind::ALL, &mut self.faults));
        let label = object.take("label").and_then(|n| self.short_text(&n, 200));
        if let Some(group) = object.take("group").and_then(|n| n.text(&mut self.faults)) {
            check_name(group, &object.place("group"), &mut self.faults);
        }
        let condition = object.take("condition").and_then(|n| self.condition(&n));
        // Without a kind nothing more can be said of the members.
        let kind = kind?;
        let from = object.take("from").and_then(|n| n.date(&mut self.faults));
        let to = object.take("to").and_then(|n| n.date(&mut self.faults));
        if let (Some(from), Some(to)) = (from, to)
            && to <= from
        {
            self.faults.add("bad_date", &object.place("to"), "\"to\" (exclusive) is after \"from\"");
        }
        let on_bill = object.take("on_bill").and_then(|n| n.flag(&mut self.faults)).unwrap_or(true);
        let rounding = object.take("rounding").and_then(|n| self.rounding(&n, true));
        let resets = object.take("resets").and_then(|n| n.word(&RESETS, &mut self.faults));
        let tier_scope = object.take("tier_scope").and_then(|n| n.choice(&mut self.faults));
        let tier_allocation = object.take("tier_allocation").and_then(|n| n.choice(&mut self.faults));
        let bounds_per = object.take("bounds_per").and_then(|n| {
            if n.json.as_str() == Some("day") { Some(BoundsPer::Day) } else { self.measure(&n).map(BoundsPer::Measure) }
        });
        let chosen_by = object.take("chosen_by").and_then(|n| self.measure(&n));

        let schedule = object.take("schedule");
        let period = object.take("period");
        let split = if period.is_none() { schedule.as_ref().and_then(|n| self.schedule_ref(n)) } else { None };
        let period_ref = match (&schedule, &period) {
            (Some(schedule), Some(period)) => self.period_ref(schedule, period),
            (None, Some(period)) => {
                self.faults.add("missing_field", &period.pointer, "name the schedule of this period, too");
                None
            }
            _ => None,
        };
        let per = self.per(&mut object, kind);
        let has_floor = kind == Kind::Minimum && object.has("floor");
        let quantity = self.quantity(index, &mut object, kind, period_ref, per)?;
        // The floor has been multiplied already.
        let per = if has_floor { Per::BillingPeriod } else { per };
        let parts = self.parts(&mut object, kind, &quantity, split, schedule.is_some() && period.is_none());
        object.finish(&format!("a charge of kind {}", kind.as_str()), &mut self.faults);
        let (parts, shares_measure) = parts?;
        let shares_measure = shares_measure || (period_ref.is_some() && matches!(quantity, Quantity::Composed(_)));

        let resets = resets.unwrap_or(Resets::BillingMonth);
        self.check_ladder(node, &parts, resets, chosen_by);
        let first = parts.first()?.measure;
        let extensive = self.facts[first].0;
        let unit = self.line_unit(first, per);
        let id = format!("{}{}", self.prefix, id?);
        Some(Charge {
            label: label.unwrap_or_else(|| id.replace('_', " ")),
            id,
            source: self.sources.len().saturating_sub(1),
            kind,
            split,
            period: period_ref,
            parts,
            shares_measure,
            chosen_by,
            resets,
            bounds_per,
            tier_scope,
            tier_allocation,
            per,
            rounding,
            from,
            to,
            on_bill,
            condition,
            negated: kind == Kind::ExportCredit,
            term_cuts: BTreeSet::new(),
            value_cuts: BTreeSet::new(),
            cut_by_year: false,
            cut_attributes: BTreeSet::new(),
            unit,
            extensive,
            extensive_bounds: chosen_by.map_or(extensive, |id| self.facts[id].0),
        })
    }

    fn per(&mut self, object: &mut Object<'a>, kind: Kind) -> Per {
        let default = match kind {
            Kind::Demand | Kind::Fixed | Kind::Minimum => Per::Time(TimeUnit::Month),
            _ => Per::BillingPeriod,
        };
        let Some(node) = object.take("per") else { return default };
        match node.json.as_str() {
            Some("billing_period") => Per::BillingPeriod,
            Some("day") => Per::Time(TimeUnit::Day),
            Some("month") => Per::Time(TimeUnit::Month),
            Some("year") => Per::Time(TimeUnit::Year),
            _ => self.measure(&node).map_or(default, Per::Measure),
        }
    }

    /// What the charge measures: its `measure`, or the default of its kind.
    fn quantity(
        &mut self,
        index: usize,
        object: &mut Object<'a>,
        kind: Kind,
        period: Option<PeriodRef>,
        per: Per,
    ) -> Option<Quantity> {
        let above: Vec<usize> = (self.first_charge..index).filter(|charge| self.on_bill[*charge]).collect();
        let written = object.take("measure").map(|n| self.open_measure(&n));
        let default = match kind {
            Kind::Energy | Kind::Adder | Kind::ExportCredit => {
                let own = if kind == Kind::ExportCredit { Channel::export() } else { Channel::import() };
                let channel = if written.is_none() { object.take("channel") } else { None };
                let channel = self.channel(channel, own)?;
                Quantity::Plain(Measure::Energy(EnergySpec { channel, period }))
            }
            Kind::Demand if written.is_none() => {
                let mut spec = self.demand_spec(object);
                let floor = object.take("at_least").and_then(|n| self.measure(&n));
                let ratchet = object.take("ratchet").map(|n| self.ratchet(&n));
                if let Some(spec) = &mut spec {
                    spec.period = period;
                }
                match (floor, ratchet) {
                    (None, None) => Quantity::Plain(Measure::Demand(spec?)),
                    (floor, None) => Quantity::Demand(spec?, floor, None),
                    (floor, Some(ratchet)) => Quantity::Demand(spec?, floor, Some(ratchet?)),
                }
            }
            Kind::Demand => return Some(self.written_quantity(written??)),
            Kind::Fixed => match object.take("capacity") {
                Some(n) => {
                    let name = n.name(&mut self.faults)?.to_owned();
                    Quantity::Composed(self.intern(Measure::Attribute(name)))
                }
                None => Quantity::Composed(self.constant(Decimal::ONE)),
            },
            Kind::Minimum => {
                let on = object.take("of").map(|n| self.charges_named(&n));
                let floor = object.take("floor").map(|n| self.measure(&n));
                match (floor, written.is_some()) {
                    (Some(floor), false) => Quantity::Composed(self.top_up(floor?, per, period, on.unwrap_or(above))),
                    (None, true) => return Some(self.written_quantity(written??)),
                    (Some(_), true) => {
                        refuse_both(object, "measure", "floor", &mut self.faults);
                        return None;
                    }
                    (None, false) => {
                        let message = "a minimum wants \"floor\" or a \"measure\"";
                        self.faults.add("missing_field", &object.place("floor"), message);
                        return None;
                    }
                }
            }
            Kind::Tax | Kind::Discount => {
                let on = object.take("on").map(|n| self.charges_named(&n));
                match on {
                    Some(on) => Quantity::Composed(self.intern(Measure::Amount(on))),
                    None if kind == Kind::Tax => Quantity::Composed(self.intern(Measure::Amount(above))),
                    None => Quantity::Composed(self.constant(Decimal::ONE)),
                }
            }
            Kind::Subtotal | Kind::Rounding => {
                if let Some(read) = written {
                    return Some(self.written_quantity(read?));
                }
                let message = format!("a charge of kind {} wants a \"measure\"", kind.as_str());
                self.faults.add("missing_field", &object.place("measure"), message);
                return None;
            }
        };
        match written {
            Some(read) => {
                if object.has("on") {
                    refuse_both(object, "measure", "on", &mut self.faults);
                }
                if object.has("capacity") {
                    refuse_both(object, "measure", "capacity", &mut self.faults);
                }
                Some(self.written_quantity(read?))
            }
            None => Some(default),
        }
    }

    fn written_quantity(&mut self, read: ReadMeasure) -> Quantity {
        match read {
            ReadMeasure::Plain(measure) => {
                let has_period = match &measure {
                    Measure::Energy(spec) => spec.period.is_some(),
                    Measure::Demand(spec) => spec.period.is_some(),
                    Measure::NetEnergy(spec) => spec.period.is_some(),
                    _ => true,
                };
                if has_period { Quantity::Composed(self.intern(measure)) } else { Quantity::Plain(measure) }
            }
            ReadMeasure::Composed(id) => Quantity::Composed(id),
        }
    }

    fn ratchet(&mut self, node: &Node<'a>) -> Option<Ratchet> {
        let mut object = node.object(&mut self.faults)?;
        let percent = object.want("percent", &mut self.faults).and_then(|n| n.decimal(10, &mut self.faults));
        let (last, current, named) = self.months_looked_at(&mut object);
        let of = object.take("of").map(|n| self.measure(&n));
        object.finish("a ratchet", &mut self.faults);
        let of = match of {
            None => None,
            Some(read) => Some(read?),
        };
        Some(Ratchet { percent: percent?, last: last?, current, named, of })
    }

    /// `max(0, floor x per - amount(of))`.
    fn top_up(&mut self, floor: MeasureId, per: Per, period: Option<PeriodRef>, of: Vec<usize>) -> MeasureId {
        let floor = match per {
            Per::BillingPeriod => floor,
            Per::Time(unit) => {
                let count = self.intern(Measure::Count { unit, period, by_convention: true });
                self.intern(Measure::Times(vec![floor, count]))
            }
            Per::Measure(measure) => self.intern(Measure::Times(vec![floor, measure])),
        };
        let amount = self.intern(Measure::Amount(of));
        let minus_one = self.constant(Decimal::ONE.negated());
        let counted = self.intern(Measure::Times(vec![minus_one, amount]));
        let difference = self.intern(Measure::Sum(vec![floor, counted]));
        let zero = self.constant(Decimal::ZERO);
        self.intern(Measure::Max(vec![zero, difference]))
    }

    /// The measure in one period of the split schedule, or as it stands.
    pub(super) fn measure_in(&mut self, quantity: &Quantity, period: Option<PeriodRef>) -> MeasureId {
        let with_period = |measure: &Measure| {
            let mut measure = measure.clone();
            if period.is_some() {
                match &mut measure {
                    Measure::Energy(spec) => spec.period = period,
                    Measure::Demand(spec) => spec.period = period,
                    Measure::NetEnergy(spec) => spec.period = period,
                    _ => {}
                }
            }
            measure
        };
        match quantity {
            Quantity::Composed(id) => *id,
            Quantity::Plain(measure) => self.intern(with_period(measure)),
            Quantity::Demand(spec, floor, ratchet) => {
                let own = self.intern(with_period(&Measure::Demand(spec.clone())));
                let mut highest = vec![own];
                highest.extend(floor);
                if let Some(ratchet) = ratchet {
                    let over = self.intern(Measure::OverMonths(OverMonths {
                        of: ratchet.of.unwrap_or(own),
                        last: ratchet.last,
                        current: ratchet.current,
                        named: ratchet.named.clone(),
                        take: Take::Max,
                    }));
                    let percent = self.constant(ratchet.percent);
                    let hundredth = self.constant(Decimal::parse("0.01", 2).expect("a hundredth is a decimal"));
                    highest.push(self.intern(Measure::Times(vec![percent, hundredth, over])));
                }
                self.intern(Measure::Max(highest))
            }
        }
    }

    /// The unit of a line's quantity: what is measured, and what it is counted per.
    fn line_unit(&self, measure: MeasureId, per: Per) -> String {
        let measured = self.facts[measure].1.clone();
        let counted = match per {
            Per::Time(TimeUnit::Day) => "day".to_owned(),
            Per::Time(TimeUnit::Month) => "month".to_owned(),
            Per::Time(TimeUnit::Year) => "year".to_owned(),
            Per::BillingPeriod => String::new(),
            Per::Measure(id) => self.facts[id].1.clone(),
        };
        match (measured.is_empty(), counted.is_empty()) {
            (true, true) => "billing period".to_owned(),
            (true, false) => counted,
            (false, true) => measured,
            (false, false) if per == Per::Time(TimeUnit::Month) => measured,
            (false, false) => format!("{measured} {counted}"),
        }
    }
}
