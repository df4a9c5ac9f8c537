//! The customer's document: what a tariff can need to know of a supply contract.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{PlanId, dated};

/// A supply contract as `PUT /v1/customers/{id}` sends it. A changed document is a new customer version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomerDocument {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// IANA name; local dates, hours and billing periods are by this clock.
    pub time_zone: Tz,
    /// The meters that read this contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meter_points: Vec<MeterPoint>,
    /// What tariffs refer to: contract capacity, power factor, payment method.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, AttributeValue>,
    /// The billing cycle whose registered periods cut this customer's billing months.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_cycle: Option<String>,
    /// For display: the plan the customer is on. Never part of a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_plan_id: Option<PlanId>,
}

impl CustomerDocument {
    /// What its type leaves open of dated attributes: the dates, and texts that are neither a number nor a word. The first
    /// fault, with its JSON pointer.
    ///
    /// # Errors
    /// The pointer, and what is wrong.
    pub fn check_attributes(&self) -> Result<(), (String, String)> {
        for (name, value) in &self.attributes {
            let AttributeValue::ByDate { by_date } = value else { continue };
            for (from, value) in by_date {
                let fault = |message| Err((format!("/attributes/{name}/by_date/{from}"), message));
                if dated(from).is_none() {
                    return fault(format!("{from:?} is no month and no date; write 2026-06 or 2026-06-14"));
                }
                if let DatedValue::Text(text) = value
                    && Decimal::from_str_exact(text).is_err()
                    && AttributeWord::try_from(text.clone()).is_err()
                {
                    return fault(format!("{text:?} is neither a decimal number nor a word"));
                }
            }
        }
        Ok(())
    }
}

/// One meter and the channel its readings feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeterPoint {
    /// The meter point's number in the market (MPAN, NMI, ESI id), at most 64 characters.
    pub id: String,
    /// `import`, `export` or a named one.
    pub channel: crate::usage::Channel,
}

/// A number, a yes or no, a word, or any of these by the date from which it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// `true` or `false`: what a condition asks for (`direct_debit`).
    Flag(bool),
    /// A decimal as text: `"10"`.
    Number(#[serde(with = "rust_decimal::serde::str")] Decimal),
    /// One of several: `"monthly_invoice"`.
    Word(AttributeWord),
    /// `{"by_date": {"2026-01": "10", "2026-07-01": "12"}}`: the value in force from that month or date on.
    ByDate {
        /// Values by `YYYY-MM` or `YYYY-MM-DD`.
        by_date: BTreeMap<String, DatedValue>,
    },
}

/// A value of an attribute from one date on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DatedValue {
    /// `true` or `false`.
    Flag(bool),
    /// A decimal or a word.
    Text(String),
}

/// A word: letters, digits, `_`, `-` and `.`, a letter first, at most 64 characters. No number reads like one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AttributeWord(String);

impl AttributeWord {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AttributeWord {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let is_word =
            text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(plain);
        if is_word { Ok(Self(text)) } else { Err("a word has letters, digits, _, - and ., a letter first") }
    }
}

impl From<AttributeWord> for String {
    fn from(word: AttributeWord) -> Self {
        word.0
    }
}
