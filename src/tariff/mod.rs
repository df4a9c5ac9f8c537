//! The model of a tariff: the plan document, checked when built, and one adapter a foreign format.
//!
//! `document.rs` is what the JSON may hold, [`Tariff`] what has passed every check. No readings and no bill here.

mod conventions;

#[cfg_attr(not(test), expect(dead_code, reason = "wired with the check of documents"))]
mod urdb;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use conventions::{
    BrokenMonthBounds, ConventionOverrides, DailyAmounts, DatedValues, ExportRule, MissingHistory, MonthlyAmounts,
    RoundingOverride, TierAllocation, TierScope, UnknownChoice, WrappingWindow, YearlyAmounts,
};

/// A tariff that cannot be billed, or read: one field and the reason. Refusals name every fault found.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{pointer}: {message}")]
pub struct TariffError {
    /// Stable: `unknown_field`, `not_a_number`, `unknown_name`, `missing_price`, …
    pub code: String,
    /// JSON pointer into the document that was sent.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// Every fault of one document, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct TariffErrors(pub Vec<TariffError>);

impl fmt::Display for TariffErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// A checked tariff.
#[derive(Debug, Clone)]
pub struct Tariff {}

impl Tariff {
    /// Reads and checks a plan document of ours.
    ///
    /// # Errors
    /// Every fault found, each with its JSON pointer.
    pub fn from_json(_text: &str) -> Result<Self, TariffErrors> {
        todo!()
    }

    /// Reads and checks a tariff of the OpenEI Utility Rate Database (one object, or an API reply of one item).
    ///
    /// # Errors
    /// What cannot be billed, by field name, unless `allow_unbilled`: then it is listed on every bill.
    pub fn from_urdb(_text: &str, _allow_unbilled: bool) -> Result<Self, TariffErrors> {
        todo!()
    }

    /// The document in its one canonical spelling: what is stored, compared and digested.
    pub fn canonical_json(&self) -> &str {
        todo!()
    }

    /// For people.
    pub fn name(&self) -> &str {
        todo!()
    }

    /// ISO 4217.
    pub fn currency(&self) -> &str {
        todo!()
    }

    /// Who offers it.
    pub fn provider(&self) -> Option<&str> {
        todo!()
    }

    /// Where it is offered.
    pub fn territory(&self) -> Option<&str> {
        todo!()
    }

    /// For lists.
    pub fn tags(&self) -> &[String] {
        todo!()
    }

    /// Billing months before the first one that its charges read.
    pub fn look_back_months(&self) -> u32 {
        todo!()
    }

    /// Customer attributes its charges refer to.
    pub fn attributes(&self) -> &std::collections::BTreeSet<String> {
        todo!()
    }
}
