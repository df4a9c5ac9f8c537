//! The engine: plain values in, plain values out. No clock, no I/O, no logging, no async, no store.
//!
//! A [`Question`] holds everything a bill depends on; [`compare`] answers it with a [`ComparisonResult`], the
//! `result` object of the API. Two stages: *aggregate* makes one pass over the readings into buckets, *price*
//! makes each plan's bill from the buckets. The caller runs it inside the rayon pool of its choice; the numbers
//! do not depend on the number of threads.

mod aggregate;
mod bill;
mod calendar;
mod clock;
mod compare;
mod condition;
mod cost;
mod count;
mod coverage;
mod days;
mod demand;
mod document;
mod during;
mod fill;
mod frame;
mod ground;
mod join;
mod ladder;
mod lines;
mod measure;
mod net;
mod plain;
mod render;
mod result;
mod series;
mod settle;
mod spot;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use rust_decimal::Decimal;

pub use calendar::{LocalDays, billing_months, earlier_months, instants, is_registered};
pub use clock::{UtcOffset, utc_offsets};
pub use compare::{Aggregated, Priced, compare};
pub use result::{ComparisonResult, Gap, LineItem, LineSeries, NotApplied, PeriodBill, PlanBill, UsageSummary};
pub use series::{MAX_PRICE_SCALE, Price, PriceRun, PriceSeries};

use crate::tariff::{ConventionOverrides, Tariff};
use crate::usage::{Channel, Series};
use crate::words::{AttributeValue, BillingPeriod, Instants, PlanReference};

/// The version of the rules in this crate. It rises when the same inputs would give another number, never otherwise.
pub const ENGINE_VERSION: i32 = 1;

/// Everything a comparison's numbers depend on.
#[derive(Debug, Clone)]
pub struct Question {
    /// The customer's clock.
    pub time_zone: Tz,
    /// Local dates, end exclusive.
    pub period: BillingPeriod,
    /// The billing months: they tile `period`, in order.
    pub months: Vec<BillingPeriod>,
    /// Whether `months` are registered ones ([`is_registered`]): each is then whole, however many days it has. Counted
    /// from the first day, the last one can be broken.
    pub months_registered: bool,
    /// The billing months before the period that look-backs reach, oldest first, adjoining the first of `months`.
    pub earlier_months: Vec<BillingPeriod>,
    /// Readings of the input window, by channel.
    pub readings: BTreeMap<Channel, Series>,
    /// The customer's attributes.
    pub attributes: BTreeMap<String, AttributeValue>,
    /// Dates of the calendars that the plans name, those that are there.
    pub calendars: BTreeMap<String, BTreeSet<NaiveDate>>,
    /// The price series that the plans name, those that are there.
    pub price_series: BTreeMap<String, Arc<PriceSeries>>,
    /// Instants of the event lists that the plans name, those that are there.
    pub event_lists: BTreeMap<String, Instants>,
    /// The plans, sorted by reference.
    pub plans: Vec<PlanToBill>,
    /// What the tenant or the command line decides.
    pub options: Options,
}

/// One plan of a question with the versions that apply.
#[derive(Debug, Clone)]
pub struct PlanToBill {
    /// How the question names it.
    pub reference: PlanReference,
    /// The versions in force, in date order; their days tile the whole period.
    pub versions: Vec<VersionInForce>,
}

/// One plan version and the days of the period on which it is in force.
#[derive(Debug, Clone)]
pub struct VersionInForce {
    /// Number of the version, from 1.
    pub version: u32,
    /// Days of the period, end exclusive.
    pub days: BillingPeriod,
    /// Its charges.
    pub tariff: Arc<Tariff>,
}

/// Settings that shape the numbers; part of the input digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Least share of the expected intervals that must be there, 0 to 1.
    pub min_coverage: Decimal,
    /// Split a reading evenly where a price boundary cuts it, and flag the bill, instead of refusing it.
    pub split_intervals_even: bool,
    /// Conventions that override those of every plan (command line only).
    pub conventions: ConventionOverrides,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_coverage: Decimal::new(95, 2),
            split_intervals_even: false,
            conventions: ConventionOverrides::default(),
        }
    }
}

/// Input that has no bill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// Fewer readings than the least coverage, or none.
    #[error("{intervals} of {expected_intervals} readings are there")]
    UsageIncomplete {
        /// The channel that lacks them.
        channel: Channel,
        /// Readings that are there.
        intervals: u64,
        /// Readings that a full period holds.
        expected_intervals: u64,
        /// Where they are missing.
        gaps: Vec<Gap>,
    },
    /// Plans of one question are priced in different currencies.
    #[error("plans of one comparison have one currency, these have {0:?}")]
    CurrenciesDiffer(Vec<(PlanReference, String)>),
    /// Some plans cannot be billed on this customer and these readings.
    #[error("{} of the plans cannot be billed", .0.len())]
    PlansNotBillable(Vec<PlanFault>),
    /// A result that does not fit its digits.
    #[error("the numbers of this question are too large to be exact")]
    TooLarge,
}

/// Why one plan cannot be billed here.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PlanFault {
    /// The plan as the question names it.
    pub plan_id: PlanReference,
    /// Stable: `attribute_missing`, `interval_too_coarse`, `above_last_step`, `division_by_zero`, …
    pub code: String,
    /// JSON pointer into the plan document.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

#[cfg(test)]
mod tests;
