//! What the adapters of foreign tariffs share: their options, and a walk over a foreign document in which each member is
//! taken once, what nobody takes is listed, and every fault has its place in the document that was sent.

use std::cell::RefCell;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use super::json::{Json, push_token};
use super::urdb::speaks_of_money;
use super::{NotBilled, TariffError, TariffErrors};

/// Most decimals of a foreign number: our prices have 18, and pence are divided by 100.
const MAX_DECIMALS: u32 = 16;
/// What every foreign number is below.
const MAX_NUMBER: i64 = 1_000_000_000_000;

/// What a foreign document leaves open and whoever imports it decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignOptions {
    /// What holds money and cannot be billed is listed on every bill instead of refusing the tariff.
    pub allow_unbilled: bool,
    /// The region whose prices count, where a document holds several: `A` or `_A` of an Octopus product.
    pub region: Option<String>,
    /// The payment method whose prices count, where a document holds several: `direct_debit_monthly`, `DIRECT_DEBIT`.
    pub payment_method: Option<String>,
    /// Which prices count, where a document holds both.
    pub vat: Vat,
    /// The local hours of the night rate, which an Octopus tariff of two registers does not hold: `00:30-07:30`, several
    /// with commas between.
    pub night_hours: Option<String>,
    /// The calendar whose dates are the public holidays that a CDR plan names but does not hold.
    pub holidays: Option<String>,
}

impl ForeignOptions {
    /// The defaults, and `allow_unbilled` as it is said.
    pub fn allowing_unbilled(allow_unbilled: bool) -> Self {
        Self { allow_unbilled, ..Self::default() }
    }
}

/// Prices with value-added tax in them, or without and the tax a charge of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vat {
    /// The prices hold it: no tax charge.
    #[default]
    Inc,
    /// The prices are without: one tax charge.
    Exc,
}

impl Vat {
    /// Every choice with its spelling, the default first.
    pub const CHOICES: [(&'static str, Self); 2] = [("inc", Self::Inc), ("exc", Self::Exc)];
}

impl FromStr for Vat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::CHOICES.iter().find(|(word, _)| *word == text);
        found.map(|(_, vat)| *vat).ok_or_else(|| format!("{text:?} is not one of inc, exc"))
    }
}

/// Faults and what is not billed, of one document.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The calendar of public holidays.
    holidays: Option<String>,
    faults: RefCell<Vec<TariffError>>,
    not_billed: RefCell<Vec<NotBilled>>,
}

impl Findings {
    /// None yet, with the calendar of public holidays that the options name.
    pub(super) fn naming_holidays(options: &ForeignOptions) -> Self {
        let findings = Self { holidays: options.holidays.clone(), ..Self::default() };
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if let Some(name) = &findings.holidays
            && !(name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_plain))
        {
            let message = format!("holidays {name:?} is no name of a calendar; write a-z, 0-9 and _, a letter first");
            findings.fault("bad_name", "", message);
        }
        findings
    }

    /// Notes a fault.
    pub(super) fn fault(&self, code: &str, pointer: &str, message: impl Into<String>) {
        self.faults.borrow_mut().push(TariffError::new(code, pointer, message));
    }

    /// Notes what holds money and cannot be billed.
    pub(super) fn unbilled(&self, pointer: &str, reason: impl Into<String>) {
        self.not_billed.borrow_mut().push(NotBilled {
            field: pointer.to_owned(),
            reason: reason.into(),
            optional: false,
        });
    }

    /// Notes what the customer chooses, or what comes once: it refuses no tariff, and every bill lists it.
    fn optional(&self, pointer: &str, reason: impl Into<String>) {
        self.not_billed.borrow_mut().push(NotBilled {
            field: pointer.to_owned(),
            reason: reason.into(),
            optional: true,
        });
    }

    /// Whether no fault was noted so far.
    pub(super) fn is_faultless(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// The document, or every fault.
    pub(super) fn finish(self, mut document: Map<String, Value>, allow_unbilled: bool) -> Result<String, TariffErrors> {
        let mut faults = self.faults.into_inner();
        let not_billed = self.not_billed.into_inner();
        if !allow_unbilled {
            faults.extend(not_billed.iter().filter(|part| !part.optional).map(
                |NotBilled { field, reason, .. }| {
                    let message =
                        format!("{reason}; allow_unbilled lists it on the bill instead of refusing the tariff");
                    TariffError::new("not_billable", field.as_str(), message)
                },
            ));
        }
        if !not_billed.is_empty() {
            let parts = not_billed.into_iter().map(|part| json!(NotBilled { field: cut(&part.field), ..part }));
            document.insert("not_billed".to_owned(), parts.collect());
        }
        if faults.is_empty() { Ok(Value::Object(document).to_string()) } else { Err(TariffErrors(faults)) }
    }
}

/// A value of a foreign document and its place.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub(super) json: &'a Json<'a>,
    pub(super) pointer: String,
    findings: &'a Findings,
}

impl<'a> Place<'a> {
    /// The document itself.
    pub(super) fn root(json: &'a Json<'a>, findings: &'a Findings) -> Self {
        Self { json, pointer: String::new(), findings }
    }

    /// A value in this one.
    pub(super) fn child(&self, token: &str, json: &'a Json<'a>) -> Self {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, token);
        Self { json, pointer, findings: self.findings }
    }

    pub(super) fn fault(&self, code: &str, message: impl Into<String>) {
        self.findings.fault(code, &self.pointer, message);
    }

    /// Notes a fault at another place of the same document.
    pub(super) fn fault_at(&self, pointer: &str, code: &str, message: impl Into<String>) {
        self.findings.fault(code, pointer, message);
    }

    pub(super) fn unbilled(&self, reason: impl Into<String>) {
        self.findings.unbilled(&self.pointer, reason);
    }

    /// Notes what the customer chooses, or what comes once.
    pub(super) fn optional(&self, reason: impl Into<String>) {
        self.findings.optional(&self.pointer, reason);
    }

    /// The calendar of public holidays.
    pub(super) fn holidays(&self) -> Option<&str> {
        self.findings.holidays.as_deref()
    }

    /// Whether no fault was noted so far, anywhere.
    pub(super) fn is_faultless(&self) -> bool {
        self.findings.is_faultless()
    }

    fn wrong(&self, wanted: &str) {
        self.fault("wrong_type", format!("this is {}; wanted is {wanted}", self.json.kind()));
    }

    /// The members of an object.
    pub(super) fn members(&self) -> Option<Members<'a>> {
        if matches!(self.json, Json::Object(_)) {
            Some(Members { place: self.clone(), taken: RefCell::default() })
        } else {
            self.wrong("an object");
            None
        }
    }

    /// The members of an object whose names the document chooses.
    pub(super) fn entries(&self) -> Vec<(&'a str, Place<'a>)> {
        if let Json::Object(members) = self.json {
            members.iter().map(|(name, json)| (name.as_ref(), self.child(name, json))).collect()
        } else {
            self.wrong("an object");
            Vec::new()
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Vec<Place<'a>> {
        if let Json::Array(items) = self.json {
            items.iter().enumerate().map(|(i, json)| self.child(&i.to_string(), json)).collect()
        } else {
            self.wrong("a list");
            Vec::new()
        }
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        let text = self.json.as_str();
        if text.is_none() {
            self.wrong("a text");
        }
        text.map(str::trim)
    }

    pub(super) fn flag(&self) -> Option<bool> {
        if let Json::Bool(flag) = self.json {
            Some(*flag)
        } else {
            self.wrong("true or false");
            None
        }
    }

    /// A number by its digits, written as a number or as a text.
    pub(super) fn decimal(&self) -> Option<Decimal> {
        let (Json::Number(text) | Json::String(text)) = self.json else {
            self.wrong("a number");
            return None;
        };
        let text = text.trim();
        match Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text)) {
            Ok(number) if number.abs() >= Decimal::from(MAX_NUMBER) => {
                self.fault("out_of_range", format!("{text} is no price and no quantity of a plan"));
                None
            }
            Ok(number) if number.normalize().scale() <= MAX_DECIMALS => Some(number.normalize()),
            Ok(_) => {
                self.fault("too_many_digits", format!("{text} has more than {MAX_DECIMALS} decimals"));
                None
            }
            Err(e) => {
                self.fault("not_a_number", format!("{text:?} is no number that can be billed exactly: {e}"));
                None
            }
        }
    }
}

/// An object whose members are being taken.
#[derive(Debug)]
pub(super) struct Members<'a> {
    place: Place<'a>,
    taken: RefCell<Vec<&'static str>>,
}

impl<'a> Members<'a> {
    /// A member that may be absent; `null` and an empty text or list are absent.
    pub(super) fn take(&self, name: &'static str) -> Option<Place<'a>> {
        self.taken.borrow_mut().push(name);
        let json = self.place.json.get(name).filter(|json| !says_nothing(json))?;
        Some(self.place.child(name, json))
    }

    /// A member that must be there.
    pub(super) fn want(&self, name: &'static str) -> Option<Place<'a>> {
        let place = self.take(name);
        if place.is_none() {
            self.place.findings.fault("missing_field", &self.pointer(name), format!("{name:?} must be given"));
        }
        place
    }

    /// A text that may be absent.
    pub(super) fn text(&self, name: &'static str) -> Option<&'a str> {
        self.take(name)?.text()
    }

    /// A number that may be absent.
    pub(super) fn decimal(&self, name: &'static str) -> Option<Decimal> {
        self.take(name)?.decimal()
    }

    /// The items of a list that may be absent.
    pub(super) fn items(&self, name: &'static str) -> Vec<Place<'a>> {
        self.take(name).map(|place| place.items()).unwrap_or_default()
    }

    /// The place of the object.
    pub(super) fn place(&self) -> &Place<'a> {
        &self.place
    }

    /// The place of a member, there or not.
    pub(super) fn pointer(&self, name: &str) -> String {
        let mut pointer = self.place.pointer.clone();
        push_token(&mut pointer, name);
        pointer
    }

    /// Looks at what was not taken: `information` says nothing about money, `texts` may, all else is not known.
    pub(super) fn finish(self, information: &[&str], texts: &[&str]) {
        for (name, place) in self.place.entries() {
            let is_taken = self.taken.borrow().contains(&name);
            if is_taken || says_nothing(place.json) || information.contains(&name) || name == "_comment" {
                continue;
            }
            if !texts.contains(&name) {
                place.unbilled("the field is not known, so its meaning cannot be billed");
            } else if speaks_of_money(&place.json.canonical()) {
                place.unbilled("the text speaks of money, and a text cannot be billed");
            }
        }
    }
}

/// `null`, an empty text, list or object.
fn says_nothing(json: &Json<'_>) -> bool {
    match json {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A text short enough for a name, a label or a field of our document.
pub(super) fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// A text as a name of our document, `[a-z][a-z0-9_]*`, that none of `used` is; it is added to them.
pub(super) fn fresh_name(text: &str, otherwise: &str, used: &mut Vec<String>) -> String {
    let mut name = String::new();
    for c in text.chars().take(40) {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    let name = if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { otherwise };
    let mut fresh = name.to_owned();
    let mut n = 1;
    while used.contains(&fresh) {
        n += 1;
        fresh = format!("{name}_{n}");
    }
    used.push(fresh.clone());
    fresh
}

#[cfg(test)]
mod tests;
