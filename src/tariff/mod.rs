//! The model of a tariff: the plan document, checked when built, and one adapter a foreign format.
//!
//! `document/` is what the JSON may hold, `model.rs` what has passed every check, [`Tariff`] that with its canonical
//! text; `schedule.rs` compiles rules to stretches of a day; `explain/` puts a plan into words. No readings and no bill here.

mod cdr;
mod condition;
mod conventions;
mod currency;
mod detect;
mod document;
mod explain;
mod foreign;
mod including;
mod json;
pub(crate) mod model;
pub(crate) mod number;
mod octopus;
mod overrides;
pub(crate) mod schedule;
mod sources;
mod urdb;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use conventions::{
    BrokenMonthBounds, ConventionOverrides, DailyAmounts, DatedValues, ExportRule, MissingHistory, MonthlyAmounts,
    RoundingOverride, TierAllocation, TierScope, UnknownChoice, WrappingWindow, YearlyAmounts,
};
pub use detect::PlanFormat;
pub(crate) use document::currency_unit;
pub use document::plan_schema;
pub use explain::{ChargeWords, Explanation, Needs, Picture};
pub use foreign::{ForeignOptions, Vat};
pub use including::IncludedTariff;
pub use model::NotBilled;

use self::json::Json;
use self::model::Plan;
use self::schedule::EventLists;

/// The unit rates of an Octopus tariff, the same file that its plan is read from, as a file of prices: CSV of
/// `start,price`, pounds a kWh, and for how many minutes each price holds.
///
/// # Errors
/// Every fault with its place: rates that overlap or have no end, a payment method that is left open.
pub fn prices_from_octopus(text: &str, options: &ForeignOptions) -> Result<(String, u32), TariffErrors> {
    octopus::prices_from_octopus(text, options)
}

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

impl From<TariffError> for TariffErrors {
    fn from(error: TariffError) -> Self {
        Self(vec![error])
    }
}

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
pub struct Tariff {
    plan: Arc<Plan>,
    canonical: Arc<str>,
    /// The plans that its document includes, once they are put to it.
    included: Arc<[IncludedTariff]>,
    /// Why it cannot be billed as long as they are not.
    not_included: Option<Arc<TariffErrors>>,
}

impl Tariff {
    /// Reads and checks a plan document of ours.
    ///
    /// # Errors
    /// Every fault found, each with its JSON pointer.
    pub fn from_json(text: &str) -> Result<Self, TariffErrors> {
        let json = Json::parse(text)?;
        Self::from_document(&json)
    }

    fn from_document(json: &Json<'_>) -> Result<Self, TariffErrors> {
        let plan = document::read(json, None)?;
        let missing: Vec<TariffError> = plan.includes.iter().map(model::Include::missing).collect();
        Ok(Self {
            plan: Arc::new(plan),
            canonical: json.canonical().into(),
            included: Arc::default(),
            not_included: (!missing.is_empty()).then(|| Arc::new(TariffErrors(missing))),
        })
    }

    /// Reads and checks a tariff of the OpenEI Utility Rate Database (one object, or an API reply of one item).
    ///
    /// # Errors
    /// What cannot be billed, by field name, unless `allow_unbilled`: then it is listed on every bill.
    pub fn from_urdb(text: &str, allow_unbilled: bool) -> Result<Self, TariffErrors> {
        Self::from_json(&urdb::document_from_urdb(text, allow_unbilled)?)
    }

    /// Reads and checks an Australian energy plan of the Consumer Data Right: a reply, its `data`, or the contract.
    ///
    /// # Errors
    /// Every fault with its place in the plan; what cannot be billed, unless `allow_unbilled`: then it is listed on
    /// every bill.
    pub fn from_cdr(text: &str, options: &ForeignOptions) -> Result<Self, TariffErrors> {
        Self::from_json(&cdr::document_from_cdr(text, options)?)
    }

    /// Reads and checks a product of Octopus Energy (UK), or the lists of rates of one tariff.
    ///
    /// # Errors
    /// Every fault with its place; a choice between prices that the options leave open.
    pub fn from_octopus(text: &str, options: &ForeignOptions) -> Result<Self, TariffErrors> {
        Self::from_json(&octopus::document_from_octopus(text, options)?)
    }

    /// Reads and checks a plan of any format that is read.
    ///
    /// # Errors
    /// Those of the format's own reader.
    pub fn from_format(format: PlanFormat, text: &str, options: &ForeignOptions) -> Result<Self, TariffErrors> {
        match format {
            PlanFormat::Own => Self::from_json(text),
            PlanFormat::Urdb => Self::from_urdb(text, options.allow_unbilled),
            PlanFormat::Cdr => Self::from_cdr(text, options),
            PlanFormat::Octopus => Self::from_octopus(text, options),
        }
    }

    /// The document in its one canonical spelling: what is stored, compared and digested.
    pub fn canonical_json(&self) -> &str {
        &self.canonical
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// ISO 4217.
    pub fn currency(&self) -> &str {
        &self.plan.currency
    }

    /// Who offers it.
    pub fn provider(&self) -> Option<&str> {
        self.plan.provider.as_deref()
    }

    /// Where it is offered.
    pub fn territory(&self) -> Option<&str> {
        self.plan.territory.as_deref()
    }

    /// For lists.
    pub fn tags(&self) -> &[String] {
        &self.plan.tags
    }

    /// Billing months before the first one that its charges read.
    pub fn look_back_months(&self) -> u32 {
        self.plan.look_back_months
    }

    /// Customer attributes its charges refer to.
    pub fn attributes(&self) -> &BTreeSet<String> {
        &self.plan.attributes
    }

    /// Calendars that its schedules name: the days that are holidays.
    pub fn calendars(&self) -> &BTreeSet<String> {
        &self.plan.calendars
    }

    /// Price series that its charges name.
    pub fn price_series(&self) -> &BTreeSet<String> {
        &self.plan.price_series
    }

    /// Event lists that rules of its schedules name: the instants within which they hold.
    pub fn event_lists(&self) -> &BTreeSet<String> {
        &self.plan.event_lists
    }

    /// The tariff with the instants of the event lists that it names.
    pub(crate) fn with_events(self, lists: &EventLists) -> Self {
        if self.plan.event_lists.is_empty() {
            return self;
        }
        let mut plan = Plan::clone(&self.plan);
        plan.schedules = plan.schedules.into_iter().map(|schedule| schedule.with_events(lists)).collect();
        Self { plan: Arc::new(plan), ..self }
    }

    /// What the engine bills.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The tariff under conventions that change its document: the export charge, the day type of wrapping windows.
    /// The others are looked up while it is billed.
    ///
    /// # Errors
    /// Faults of the changed document.
    pub(crate) fn under(&self, overrides: &ConventionOverrides) -> Result<Self, TariffErrors> {
        if overrides.wrapping_window.is_none() && matches!(overrides.export, None | Some(ExportRule::Credit)) {
            return Ok(self.clone());
        }
        let mut json = Json::parse(&self.canonical)?;
        let mut included = including::documents(&self.included)?;
        overrides::apply(&mut json, &mut included, overrides);
        let is_known = self.not_included.is_none();
        Ok(Self {
            plan: Arc::new(document::read(&json, is_known.then_some(&included))?),
            canonical: json.canonical().into(),
            ..self.clone()
        })
    }
}
