//! The entries of the zip that are JSON, and the names of all.

use chrono::NaiveDate;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::config::SplitIntervals;
use crate::words::{
    BillingPeriod, ComparisonId, CustomerId, InputName, PeriodError, PlanId, PlanReference, TenantId, Timestamp,
};

/// What the manifest calls itself.
pub(super) const FORMAT: &str = "samebill-evidence";

/// Rises when a program that reads this version could not read the next one. An archive says the lowest that its reader
/// must know: 2 with event lists, else 1.
pub(super) const FORMAT_VERSION: u32 = 2;

pub(super) const README: &str = "README.txt";
pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const QUESTION: &str = "question.json";
pub(super) const CUSTOMER: &str = "customer.json";
pub(super) const INPUTS: &str = "inputs.json";
pub(super) const TERMS: &str = "terms.json";
pub(super) const PLANS: &str = "plans.json";
pub(super) const READINGS: &str = "readings.csv";
pub(super) const RESULT: &str = "result.json";

/// `manifest.json`: which comparison this is, and every other entry with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `samebill-evidence`.
    pub format: String,
    /// Version of the format.
    pub format_version: u32,
    /// The comparison.
    pub comparison_id: ComparisonId,
    /// Whose.
    pub tenant_id: TenantId,
    /// Of which customer.
    pub customer_id: CustomerId,
    /// Over which days.
    pub billing_period: Days,
    /// Sorted, without repetition.
    pub plan_ids: Vec<PlanReference>,
    /// What makes the question this one.
    pub natural_key: KeyMember,
    /// When the answer became current.
    pub created_at: Timestamp,
    /// The answer it replaced.
    pub predecessor_id: Option<ComparisonId>,
    /// What replaced it, if something did by the time the evidence was made.
    pub superseded: Option<SupersededMember>,
    /// The engine that computed it.
    pub engine: i32,
    /// Digest of the contents of all inputs, hex.
    pub inputs_digest: String,
    /// Every other entry, sorted by name.
    pub entries: Vec<EntryMember>,
}

/// The natural key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyMember {
    /// SHA-256 of the text, hex.
    pub digest: String,
    /// The text.
    pub text: String,
}

/// The end of an answer's time as the current one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupersededMember {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// In a person's words.
    pub note: Option<String>,
    /// By what.
    pub successor_id: ComparisonId,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryMember {
    /// Its name in the zip.
    pub name: String,
    /// Its length unpacked.
    pub bytes: u64,
    /// SHA-256 of what is unpacked, hex.
    pub sha256: String,
    /// What it is.
    pub what: String,
}

/// Local days, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days {
    /// The first.
    pub start: NaiveDate,
    /// The day after the last.
    pub end: NaiveDate,
}

impl From<BillingPeriod> for Days {
    fn from(period: BillingPeriod) -> Self {
        Self { start: period.start(), end: period.end() }
    }
}

impl TryFrom<Days> for BillingPeriod {
    type Error = PeriodError;

    fn try_from(days: Days) -> Result<Self, PeriodError> {
        Self::new(days.start, days.end)
    }
}

/// `terms.json`: the settings that shape the numbers, and the billing months.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Terms {
    /// Least share of the expected readings.
    pub(super) min_coverage: Decimal,
    /// What happened to a reading that a price boundary cuts.
    pub(super) split_intervals: SplitIntervals,
    /// The billing months; they tile the period.
    pub(super) months: Vec<Days>,
    /// Whether these are registered ones.
    pub(super) months_registered: bool,
    /// Those that look-backs read, oldest first.
    pub(super) earlier_months: Vec<Days>,
}

/// An item of `plans.json`: one version of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlanItem {
    /// The plan.
    pub(super) plan_id: PlanId,
    /// The version.
    pub(super) version: u32,
    /// First day on which it applies.
    pub(super) in_force_from: Option<NaiveDate>,
    /// The day after the last.
    pub(super) in_force_to: Option<NaiveDate>,
    /// When it was put.
    pub(super) created_at: Timestamp,
}

/// A colon is no character of a file's name everywhere; no id holds a percent sign.
pub(super) fn plan_entry(id: &PlanId, version: u32) -> String {
    format!("plans/{}@{version}.json", id.as_str().replace(':', "%3A"))
}

pub(super) fn calendar_entry(id: &InputName, version: u32) -> String {
    format!("calendars/{id}@{version}.json")
}

pub(super) fn prices_entry(id: &InputName, version: u32) -> String {
    format!("price-series/{id}@{version}.csv")
}

pub(super) fn event_list_entry(id: &InputName, version: u32) -> String {
    format!("event-lists/{id}@{version}.json")
}

/// What an entry is, for people.
pub(super) fn what(name: &str) -> &'static str {
    match name {
        README => "how to read and verify this archive",
        QUESTION => "the question, as it can be sent to POST /v1/comparisons",
        CUSTOMER => "the customer's document, in the version that was used",
        INPUTS => "the record of all inputs: versions, revisions of readings, digest",
        TERMS => "settings that shape the numbers, and the billing months",
        PLANS => "the plan versions that were used and the days on which they apply",
        READINGS => "the readings of the input window; where there is no row there was no reading",
        RESULT => "the answer: the bytes of `result` as they were stored",
        _ if name.starts_with("plans/") => "a version of a plan: the document as it was billed",
        _ if name.starts_with("calendars/") => "a version of a calendar, as it was stored",
        _ if name.starts_with("event-lists/") => "a version of an event list, as it was stored",
        _ if name.starts_with("price-series/") => "a version of a price series: the prices of the input window",
        _ => "",
    }
}
