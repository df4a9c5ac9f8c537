//! Plans that a document includes: supply and network, import and export.
//!
//! `"include": {"network": "ausgrid-ea025"}` puts the charges of another plan before the document's own. They are the group
//! `network`, and their ids begin with it: `network_standing`. Schedules, measures, conventions and the rounding of lines
//! stay each document's own; currency and clock must be the same, and the total is rounded as the including document
//! says. What a tax of the included plan is on by default are the charges above it in its own document.

use std::collections::{BTreeMap, BTreeSet};

use super::super::TariffError;
use super::super::json::Json;
use super::super::model::{Charge, Include, IncludedVersion, Kind, Names, NotBilled, Part, Per, Resets};
use super::super::number::Decimal;
use super::walk::{Node, check_name};
use super::{Head, Reader};
use crate::words::PlanId;

/// Most plans that one document includes.
pub(super) const MAX_INCLUDED: usize = 16;

/// A version of a plan that another document includes, with those that it includes itself.
#[derive(Debug)]
pub(in crate::tariff) struct IncludedDocument<'a> {
    pub(in crate::tariff) name: &'a str,
    pub(in crate::tariff) plan_id: &'a PlanId,
    pub(in crate::tariff) version: u32,
    pub(in crate::tariff) json: Json<'a>,
    pub(in crate::tariff) included: Vec<IncludedDocument<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads `include`: an object of names and ids of plans. Its members have no order: that of the names is taken.
    pub(super) fn includes(&mut self, node: &Node<'a>) -> Vec<Include> {
        let mut entries = node.entries(&mut self.faults);
        entries.sort_by_key(|(name, _)| *name);
        if entries.len() > MAX_INCLUDED {
            let message = format!("a plan includes at most {MAX_INCLUDED} others, this one {}", entries.len());
            self.faults.add("too_many", &node.pointer, message);
        }
        let mut includes: Vec<Include> = Vec::with_capacity(entries.len());
        for (name, node) in entries {
            check_name(name, &node.pointer, &mut self.faults);
            if let Some(other) = includes.iter().find(|other| begins_with(name, &other.name)) {
                let message = format!("ids of charges cannot be told apart: {name:?} begins with {:?}", other.name);
                self.faults.add("duplicate_name", &node.pointer, message);
            }
            let Some(text) = node.text(&mut self.faults) else { continue };
            match text.parse() {
                Ok(plan_id) => includes.push(Include { name: name.to_owned(), plan_id }),
                Err(error) => {
                    let error: crate::words::IdError = error;
                    self.faults.add("bad_name", &node.pointer, format!("wanted is the id of a plan: {error}"));
                }
            }
        }
        includes
    }

    /// Refuses an id or a group that reads like one of an included plan.
    pub(super) fn check_not_included(&mut self, charge: &Node<'a>, member: &str, includes: &[Include]) {
        let Some(text) = charge.json.get(member).and_then(Json::as_str) else { return };
        if let Some(include) = includes.iter().find(|include| text == include.name || begins_with(text, &include.name))
        {
            let message = format!("{text:?} reads like a charge of the included plan {:?}", include.name);
            self.faults.add("duplicate_name", &format!("{}/{member}", charge.pointer), message);
        }
    }

    /// Reads the included documents, each with names of its own, and makes theirs known to this one.
    pub(super) fn include(&mut self, documents: &'a [IncludedDocument<'a>], head: &mut Head) {
        let (mut charge_names, mut groups) = (Names::new(), BTreeMap::new());
        let currency = self.currency.clone();
        let outer_prefix = self.prefix.clone();
        for include in &head.includes {
            let Include { name, plan_id } = include;
            let pointer = include.pointer();
            let is_it = |document: &&IncludedDocument<'_>| document.name == name && document.plan_id == plan_id;
            let Some(document) = documents.iter().find(is_it) else {
                self.faults.0.push(include.missing());
                continue;
            };
            let version = IncludedVersion {
                pointer: self.outermost.clone().unwrap_or_else(|| pointer.clone()),
                plan_id: plan_id.clone(),
                version: document.version,
            };
            let outermost = self.outermost.replace(version.pointer.clone());
            self.prefix = format!("{outer_prefix}{name}_");
            let (first_charge, n_faults) = (self.on_bill.len(), self.faults.0.len());
            let node = Node { json: &document.json, pointer: String::new() };
            let read = self.document(&node, Some(&document.included), Some(version));
            self.outermost = outermost;
            for fault in &mut self.faults.0[n_faults..] {
                fault.message =
                    format!("in the included plan {:?} at {}: {}", plan_id.as_str(), fault.pointer, fault.message);
                fault.pointer.clone_from(&pointer);
            }
            let Some(read) = read else { continue };
            if read.currency.as_ref().is_some_and(|other| *other != currency) {
                let message = format!(
                    "the included plan {:?} has prices in {}, this one in {currency}",
                    plan_id.as_str(),
                    read.currency.as_deref().unwrap_or_default()
                );
                self.faults.add("currencies_differ", &pointer, message);
            }
            let named = |part: NotBilled| NotBilled { field: format!("{name}: {}", part.field), ..part };
            head.not_billed.extend(read.not_billed.into_iter().map(named));
            let within = |inner: String| format!("{name}_{inner}");
            charge_names.extend(std::mem::take(&mut self.charge_names).into_iter().map(|(id, i)| (within(id), i)));
            groups.extend(std::mem::take(&mut self.groups).into_iter().map(|(group, all)| (within(group), all)));
            groups.insert(name.clone(), (first_charge..self.on_bill.len()).collect());
            self.schedule_names.clear();
            self.named_measures.clear();
        }
        (self.charge_names, self.groups) = (charge_names, groups);
        (self.currency, self.prefix) = (currency, outer_prefix);
    }

    /// Puts a charge without an amount for each included plan, as long as those are not known.
    pub(super) fn stand_in(&mut self, includes: &[Include]) {
        for Include { name, plan_id } in includes {
            let measure = self.constant(Decimal::ZERO);
            let index = self.on_bill.len();
            self.on_bill.push(true);
            self.groups.insert(name.clone(), vec![index]);
            self.stand_ins.push((name.clone(), index));
            self.charges.push(Charge {
                id: name.clone(),
                source: 0,
                kind: Kind::Subtotal,
                label: format!("the charges of the plan {}", plan_id.as_str()),
                split: None,
                period: None,
                parts: vec![Part { period: None, measure, steps: Vec::new() }],
                shares_measure: true,
                chosen_by: None,
                resets: Resets::BillingMonth,
                bounds_per: None,
                tier_scope: None,
                tier_allocation: None,
                per: Per::BillingPeriod,
                rounding: None,
                from: None,
                to: None,
                on_bill: true,
                condition: None,
                negated: false,
                term_cuts: BTreeSet::new(),
                value_cuts: BTreeSet::new(),
                cut_by_year: false,
                cut_attributes: BTreeSet::new(),
                unit: self.currency.clone(),
                extensive: true,
                extensive_bounds: true,
            });
        }
    }

    /// The charge that stands for an included plan that is not known, by the name of one of its charges or groups.
    pub(super) fn stand_in_for(&self, name: &str) -> Option<usize> {
        let found = self.stand_ins.iter().find(|(include, _)| begins_with(name, include));
        found.map(|(_, index)| *index)
    }
}

impl Include {
    /// Where the document names it.
    pub(in crate::tariff) fn pointer(&self) -> String {
        format!("/include/{}", self.name)
    }

    /// What is wrong as long as nobody has imported it.
    pub(in crate::tariff) fn missing(&self) -> TariffError {
        let message = format!("the plan {:?}, which this one includes, is not known: import it", self.plan_id.as_str());
        TariffError::new("included_plan_missing", self.pointer(), message)
    }
}

/// Whether an id reads like one of the included plan of this name.
fn begins_with(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
}
