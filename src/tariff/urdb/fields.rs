//! The fields of a URDB object: each is taken by whoever bills it; what nobody takes is known or refused.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{TariffError, TariffErrors, fault};

/// Fields that say nothing about money: who offers the tariff, to whom, since when.
const INFORMATION: &[&str] = &[
    "_comment",
    "approved",
    "country",
    "demandunits",
    "eiaid",
    "enddate",
    "fixedchargeeaaddl",
    "is_default",
    "label",
    "latest_update",
    "maxdemand",
    "mindemand",
    "peakkwcapacityhistory",
    "peakkwcapacitymax",
    "peakkwcapacitymin",
    "peakkwhusagehistory",
    "peakkwhusagemax",
    "peakkwhusagemin",
    "phasewiring",
    "revisions",
    "sector",
    "servicemax",
    "servicetype",
    "source",
    "sourceparent",
    "sourcereference",
    "startdate",
    "supercedes",
    "supersedes",
    "uri",
    "utility",
    "name",
    "voltagecategory",
    "voltagemaximum",
    "voltageminimum",
];

/// Fields of free text that may hold charges.
const TEXTS: &[&str] = &[
    "basicinformationcomments",
    "demandattrs",
    "demandcomments",
    "description",
    "energyattrs",
    "energycomments",
    "fixedattrs",
];

/// Fields that hold money and that readings of energy cannot bill, with the reason.
const UNBILLABLE: &[(&str, &str)] = &[
    ("coincidentratestructure", "a coincident peak is billed at the times of the system's peak, which are not in it"),
    ("demandreactivepowercharge", "reactive power is not in readings of energy"),
    ("demandratchetpercentage", "a ratchet by month without the months that it looks back on"),
    ("demandmin", "a least demand whose period is not told"),
];

/// Fields that only go with one of [`UNBILLABLE`].
const COMPANIONS: &[&str] = &["coincidentrateunit", "coincidentrateschedule", "coincidentschedule"];

/// Words by which a text speaks of money.
const MONEY_WORDS: &[&str] = &[
    "cent",
    "cents",
    "credit",
    "credits",
    "discount",
    "discounts",
    "fee",
    "fees",
    "franchise",
    "minimum",
    "percent",
    "rebate",
    "rider",
    "riders",
    "surcharge",
    "surcharges",
    "tax",
    "taxes",
];

/// The members of one URDB object, names in lower case (the database writes `dgrules` and `dgRules`).
pub(super) struct Fields<'a> {
    raw: BTreeMap<String, &'a RawValue>,
    taken: BTreeSet<&'static str>,
    faults: Vec<TariffError>,
    not_billed: BTreeMap<String, String>,
}

impl<'a> Fields<'a> {
    /// Reads an object, or the one item of an API reply.
    pub(super) fn read(text: &'a str) -> Result<Self, TariffErrors> {
        let one = |error| TariffErrors(vec![error]);
        let not_an_object =
            |e: serde_json::Error| one(fault("invalid_json", "", format!("this is no URDB object: {e}")));
        let mut members: BTreeMap<String, &'a RawValue> = serde_json::from_str(text).map_err(not_an_object)?;
        if let Some(items) = members.get("items") {
            let items: Vec<&'a RawValue> = serde_json::from_str(items.get())
                .map_err(|e| one(fault("wrong_type", "/items", format!("items is a list of tariffs: {e}"))))?;
            let [item] = items.as_slice() else {
                let message = format!("there are {} tariffs in this reply; send one", items.len());
                return Err(one(fault("several_items", "/items", message)));
            };
            members = serde_json::from_str(item.get())
                .map_err(|e| one(fault("wrong_type", "/items/0", format!("a tariff is an object: {e}"))))?;
        }
        let raw = members
            .into_iter()
            .filter(|(_, value)| value.get() != "null")
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        Ok(Self { raw, taken: BTreeSet::new(), faults: Vec::new(), not_billed: BTreeMap::new() })
    }

    pub(super) fn fault(&mut self, code: &str, pointer: &str, message: impl Into<String>) {
        self.faults.push(fault(code, pointer, message));
    }

    /// Notes a field that holds money and cannot be billed.
    pub(super) fn unbilled(&mut self, field: &str, reason: impl Into<String>) {
        self.not_billed.insert(field.to_owned(), reason.into());
    }

    /// Whether no fault was noted so far.
    pub(super) fn is_faultless(&self) -> bool {
        self.faults.is_empty()
    }

    /// Marks fields that only shape others: without those they say nothing.
    pub(super) fn expect(&mut self, fields: &[&'static str]) {
        self.taken.extend(fields);
    }

    fn take(&mut self, field: &'static str) -> Option<&'a RawValue> {
        self.taken.insert(field);
        self.raw.get(field).copied()
    }

    /// A field as a value whose numbers are texts, or a fault that names what it should be.
    pub(super) fn parsed<T: serde::Deserialize<'a>>(&mut self, field: &'static str, wanted: &str) -> Option<T> {
        match serde_json::from_str(self.take(field)?.get()) {
            Ok(value) => Some(value),
            Err(e) => {
                self.fault("wrong_type", &format!("/{field}"), format!("{field} is {wanted}: {e}"));
                None
            }
        }
    }

    /// A text; a list of texts is joined.
    pub(super) fn text(&mut self, field: &'static str) -> Option<String> {
        match self.parsed(field, "a text")? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Array(items) => {
                let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                Some(texts.join(", ")).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }

    /// The first of these fields that is there.
    pub(super) fn text_of(&mut self, fields: &[&'static str]) -> Option<String> {
        fields.iter().find_map(|field| self.text(field))
    }

    pub(super) fn flag(&mut self, field: &'static str) -> Option<bool> {
        self.parsed(field, "true or false")
    }

    pub(super) fn flags(&mut self, field: &'static str) -> Option<Vec<bool>> {
        self.parsed(field, "a list of true and false, one a month")
    }

    /// A number by its digits.
    pub(super) fn number(&mut self, field: &'static str) -> Option<Decimal> {
        let raw = self.take(field)?;
        self.decimal(raw, &format!("/{field}"))
    }

    /// One number for each month of the year.
    pub(super) fn numbers_by_month(&mut self, field: &'static str) -> Option<Vec<Decimal>> {
        let items: Vec<&'a RawValue> = self.parsed(field, "a list of twelve numbers")?;
        if items.len() != 12 {
            self.fault("wrong_length", &format!("/{field}"), format!("{field} has a number for each of twelve months"));
            return None;
        }
        items.iter().enumerate().map(|(i, item)| self.decimal(item, &format!("/{field}/{i}"))).collect()
    }

    /// One period number for each month of the year, each below `n_periods`.
    pub(super) fn indices(&mut self, field: &'static str, n_periods: usize) -> Option<Vec<usize>> {
        let items: Vec<&'a RawValue> = self.parsed(field, "a list of twelve period numbers")?;
        if items.len() != 12 {
            self.fault("wrong_length", &format!("/{field}"), format!("{field} has a period for each of twelve months"));
            return None;
        }
        items.iter().enumerate().map(|(i, item)| self.index(item, n_periods, &format!("/{field}/{i}"))).collect()
    }

    /// A period number; the database also writes `1.0`.
    pub(super) fn index(&mut self, raw: &RawValue, n_periods: usize, pointer: &str) -> Option<usize> {
        let index = self.decimal(raw, pointer)?;
        match usize::try_from(index.trunc()).ok().filter(|_| index.is_integer()) {
            Some(index) if index < n_periods => Some(index),
            _ => {
                let message =
                    format!("period {} does not exist; the structure has {n_periods}, from 0", index.normalize());
                self.fault("unknown_period", pointer, message);
                None
            }
        }
    }

    /// A number by its digits, with or without exponent.
    pub(super) fn decimal(&mut self, raw: &RawValue, pointer: &str) -> Option<Decimal> {
        let text = raw.get().trim_matches('"');
        let number = Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text));
        match number {
            Ok(number) => Some(number.normalize()),
            Err(e) => {
                self.fault("not_a_number", pointer, format!("{text} is no number that can be billed exactly: {e}"));
                None
            }
        }
    }

    /// The document, or every fault.
    pub(super) fn finish(
        mut self,
        mut document: Map<String, Value>,
        allow_unbilled: bool,
    ) -> Result<String, TariffErrors> {
        self.look_at_the_rest();
        if allow_unbilled && !self.not_billed.is_empty() {
            let list: Vec<Value> =
                self.not_billed.iter().map(|(field, reason)| json!({"field": field, "reason": reason})).collect();
            document.insert("not_billed".to_owned(), list.into());
        } else {
            for (field, reason) in &self.not_billed {
                let message = format!("{reason}; allow_unbilled lists it on the bill instead of refusing the tariff");
                self.faults.push(fault("not_billable", &format!("/{field}"), message));
            }
        }
        if self.faults.is_empty() { Ok(Value::Object(document).to_string()) } else { Err(TariffErrors(self.faults)) }
    }

    fn look_at_the_rest(&mut self) {
        let rest: Vec<(String, &RawValue)> = self
            .raw
            .iter()
            .filter(|(name, _)| !self.taken.contains(name.as_str()))
            .map(|(name, value)| (name.clone(), *value))
            .collect();
        for (name, raw) in rest {
            if INFORMATION.contains(&name.as_str()) || COMPANIONS.contains(&name.as_str()) {
                continue;
            }
            if let Some((_, reason)) = UNBILLABLE.iter().find(|(field, _)| *field == name) {
                if holds_a_number(raw) {
                    self.unbilled(&name, *reason);
                }
            } else if TEXTS.contains(&name.as_str()) {
                if speaks_of_money(raw.get()) {
                    self.unbilled(&name, "the text speaks of money, and a text cannot be billed");
                }
            } else {
                self.unbilled(&name, "the field is not known, so its meaning cannot be billed");
            }
        }
    }
}

/// Whether any number in it is not zero.
fn holds_a_number(raw: &RawValue) -> bool {
    raw.get()
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .any(|part| part.bytes().any(|b| (b'1'..=b'9').contains(&b)))
}

pub(in crate::tariff) fn speaks_of_money(text: &str) -> bool {
    text.contains(['$', '¢', '%'])
        || text
            .split(|c: char| !c.is_alphabetic())
            .any(|word| MONEY_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}
