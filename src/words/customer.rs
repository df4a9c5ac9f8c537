//! The customer's document: what a tariff can need to know of a supply contract.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::PlanId;

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

/// One meter and the channel its readings feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeterPoint {
    /// The meter point's number in the market (MPAN, NMI, ESI id), at most 64 characters.
    pub id: String,
    /// `import`, `export` or a named one.
    pub channel: crate::usage::Channel,
}

/// A number, a yes or no, or numbers by the date from which they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// `true` or `false`: what a condition asks for (`direct_debit`).
    Flag(bool),
    /// A decimal as text: `"10"`.
    Number(#[serde(with = "rust_decimal::serde::str")] Decimal),
    /// `{"by_date": {"2026-01": "10", "2026-07-01": "12"}}`: the value in force from that month or date on.
    ByDate {
        /// Values by `YYYY-MM` or `YYYY-MM-DD`.
        by_date: BTreeMap<String, String>,
    },
}
