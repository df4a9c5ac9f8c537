//! The values that pass between the service and the store.

mod imports;
mod shared;

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::NaiveDate;
use rust_decimal::Decimal;

pub use self::imports::{
    CustomerShare, FillZero, ImportCounts, ImportFilter, ImportKind, ImportOutcome, ImportPreview, ImportProgress,
    ImportRow, ImportSource, ImportState, MeterPointCounts, MeterPointCustomers, MeterPointRefusal, MeterPointRow,
    MeterPointState, MeterPointsImport, Reverted, RevisionChanges, RevisionChannel, ShareMeterPoint, ShareOutcome,
    UsageImport,
};
pub use self::shared::{NewSharedInput, NewerSharedInput, SharedInput, SharedInputEntry, SharedKind};
use crate::usage::{Channel, Series};
use crate::words::{
    BillingPeriod, ComparisonId, CustomerDocument, CustomerId, ImportId, InputName, PlanId, PlanReference, TenantId,
    Timestamp,
};

/// What a PUT did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put<T> {
    /// There was none before.
    Created(T),
    /// There was one, and it is another now.
    Changed(T),
    /// The same was there already.
    Unchanged(T),
}

impl<T> Put<T> {
    /// What is stored now.
    pub fn into_inner(self) -> T {
        match self {
            Self::Created(value) | Self::Changed(value) | Self::Unchanged(value) => value,
        }
    }
}

/// A customer's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Its id.
    pub id: CustomerId,
    /// Version of the document, from 1.
    pub version: i64,
    /// Rises by one whenever an import changed a reading; 0 before the first.
    pub usage_revision: i64,
    /// The newest document.
    pub document: CustomerDocument,
    /// When the customer was first put.
    pub created_at: Timestamp,
    /// When this version was put.
    pub updated_at: Timestamp,
}

/// A plan version to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlanVersion {
    /// Our plan document, canonical JSON: what is compared and billed.
    pub document: String,
    /// What was sent, when it was not our own document (URDB and the like), else `None`.
    pub source: Option<String>,
    /// Media type of what was sent.
    pub media_type: String,
    /// First day on which it applies; `None`: always.
    pub in_force_from: Option<NaiveDate>,
    /// The day after the last on which it applies; `None`: open.
    pub in_force_to: Option<NaiveDate>,
    /// For lists.
    pub name: String,
    /// ISO 4217.
    pub currency: String,
    /// Who offers it, for lists.
    pub provider: Option<String>,
    /// Where it is offered, for lists.
    pub territory: Option<String>,
    /// For lists.
    pub tags: Vec<String>,
}

/// An immutable plan version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanVersion {
    /// The plan.
    pub plan_id: PlanId,
    /// From 1. On each day the highest version that applies to the day is in force.
    pub version: u32,
    /// What it says.
    pub content: NewPlanVersion,
    /// When it was put.
    pub created_at: Timestamp,
}

impl PlanVersion {
    /// Whether it applies to a day.
    pub fn applies_on(&self, day: NaiveDate) -> bool {
        self.content.in_force_from.is_none_or(|from| from <= day) && self.content.in_force_to.is_none_or(|to| day < to)
    }
}

/// Which plans a list shows; every part given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanFilter {
    /// A part of name or id, whatever the case.
    pub q: Option<String>,
    /// Exactly.
    pub provider: Option<String>,
    /// Exactly.
    pub territory: Option<String>,
    /// One of its tags.
    pub tag: Option<String>,
    /// The newest version applies on this day.
    pub in_force_on: Option<NaiveDate>,
}

/// Revision of the block of one channel and UTC month.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct BlockRevision {
    /// The channel.
    pub channel: Channel,
    /// First day of the UTC month.
    pub month: NaiveDate,
    /// Usage revision that wrote it.
    pub revision: i64,
}

/// Readings of a window with the revisions they come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredUsage {
    /// By channel, cut to the window.
    pub readings: BTreeMap<Channel, Series>,
    /// Of every block the window touches, sorted.
    pub blocks: Vec<BlockRevision>,
}

/// One entry of the log of usage revisions.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct UsageRevision {
    /// The revision it made.
    pub revision: i64,
    /// When.
    pub created_at: Timestamp,
    /// First changed instant, seconds since the epoch.
    pub first_start: i64,
    /// End of the last changed reading, seconds since the epoch.
    pub last_end: i64,
    /// Readings added.
    pub added: u64,
    /// Readings replaced.
    pub replaced: u64,
    /// Readings removed.
    pub removed: u64,
    /// The import that made it; `None` where it was made before imports were kept.
    pub import_id: Option<ImportId>,
    /// What it changed, by channel; `None` likewise.
    pub channels: Option<Vec<RevisionChannel>>,
    /// Name of the file, if there was one.
    pub file_name: Option<String>,
    /// The reader.
    pub format: String,
    /// SHA-256 of what was sent, hex.
    pub sha256: String,
}

/// The inputs a comparison was made from, as they are checked and recorded.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedInputs {
    /// Usage revision of the customer's head. Only a first glance: the check compares `blocks`.
    pub usage_revision: i64,
    /// Customer version.
    pub customer_version: i64,
    /// Blocks of the input window, sorted.
    pub blocks: Vec<BlockRevision>,
    /// One entry a plan reference, sorted.
    pub plans: Vec<RecordedPlan>,
    /// Plans that these include, directly or through others, sorted by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<RecordedInclude>,
    /// The billing cycle whose registered periods made the cuts, if one did or could have.
    pub cycle: Option<RecordedCycle>,
    /// Inner bounds between the billing months: for people, the check compares `cycle`.
    pub cuts: Vec<NaiveDate>,
    /// Calendars, price series and event lists that the plans name, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<RecordedShared>,
    /// What else shaped the numbers; absent in rows of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<RecordedTerms>,
    /// Version of the engine.
    pub engine: i32,
    /// SHA-256 over contents: readings of the window, attributes used, documents, engine.
    #[serde(with = "hex::serde")]
    pub digest: [u8; 32],
}

/// The registered periods that were looked at. They are never changed nor removed, so their number says whether there
/// are others now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedCycle {
    /// The cycle.
    pub id: String,
    /// First day: that of the period, or of what its plans could look back on.
    pub start: NaiveDate,
    /// The day after the last.
    pub end: NaiveDate,
    /// Periods of the cycle that overlap these days.
    pub n_periods: usize,
}

/// Settings, and the billing months as they were cut: what can be others when an answer is computed again, years later.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedTerms {
    /// Least share of the expected readings.
    pub min_coverage: Decimal,
    /// Whether readings that a price boundary cuts were split evenly.
    pub split_intervals_even: bool,
    /// Whether the billing months are registered ones.
    pub months_registered: bool,
    /// First days of the billing months that look-backs read, oldest first: each ends where the next begins, the last
    /// where the period does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_months: Vec<NaiveDate>,
}

/// A plan reference and what it meant.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedPlan {
    /// As in the question.
    pub reference: PlanReference,
    /// Versions in force in the period, in date order.
    pub versions: Vec<u32>,
    /// Highest version that existed when they were read.
    pub newest_version: u32,
}

/// A plan that others include, always in the versions in force.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedInclude {
    /// The plan.
    pub plan_id: PlanId,
    /// Versions that were used, ascending.
    pub versions: Vec<u32>,
    /// Highest version that existed when they were read.
    pub newest_version: u32,
}

impl RecordedInputs {
    /// The plans of which a newer version is another input, each with the highest version that was seen: those compared
    /// in no fixed version, and those that they include.
    pub fn watched_plans(&self) -> BTreeMap<&PlanId, u32> {
        let compared = self.plans.iter().filter(|plan| plan.reference.pinned_version().is_none());
        let compared = compared.map(|plan| (plan.reference.plan_id(), plan.newest_version));
        compared.chain(self.included.iter().map(|plan| (&plan.plan_id, plan.newest_version))).collect()
    }
}

/// A calendar, price series or event list of a comparison and what was looked at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordedShared {
    /// Which of the two.
    pub kind: SharedKind,
    /// Its id.
    pub id: InputName,
    /// The newest version when it was read.
    pub version: u32,
    /// The range that the comparison depends on, in the unit of the kind.
    pub used: Range<i64>,
}

/// A computed comparison, ready to be stored.
#[derive(Debug, Clone)]
pub struct NewComparison {
    /// Made by this call.
    pub id: ComparisonId,
    /// Whose.
    pub tenant_id: TenantId,
    /// Of which customer.
    pub customer_id: CustomerId,
    /// Over which days.
    pub period: BillingPeriod,
    /// Sorted, without repetition.
    pub plan_references: Vec<PlanReference>,
    /// SHA-256 of the natural key.
    pub key_digest: [u8; 32],
    /// The natural key as text, compared after a hit.
    pub key_text: String,
    /// What it was made from.
    pub inputs: RecordedInputs,
    /// Input window, seconds since the epoch, `[start, end)`.
    pub window: Range<i64>,
    /// The `result` object as bytes.
    pub result: Vec<u8>,
    /// The same without line items.
    pub summary: Vec<u8>,
    /// Totals for lists: a small JSON object.
    pub totals: String,
}

impl NewComparison {
    /// Roughly what it holds in memory and writes.
    pub fn n_bytes(&self) -> usize {
        2_000 + self.result.len() + self.summary.len() + self.key_text.len() + 200 * self.plan_references.len()
    }
}

/// A comparison without its result bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonRow {
    /// Its id.
    pub id: ComparisonId,
    /// Of which customer.
    pub customer_id: CustomerId,
    /// Over which days.
    pub period: BillingPeriod,
    /// Sorted, without repetition.
    pub plan_references: Vec<PlanReference>,
    /// SHA-256 of the natural key.
    pub key_digest: [u8; 32],
    /// The natural key as text.
    pub key_text: String,
    /// What it was made from.
    pub inputs: RecordedInputs,
    /// Input window, seconds since the epoch.
    pub window: Range<i64>,
    /// Totals for lists.
    pub totals: String,
    /// When it became current.
    pub created_at: Timestamp,
    /// When it stopped being current, by what, and why.
    pub superseded: Option<SupersededBy>,
    /// The row it replaced.
    pub predecessor_id: Option<ComparisonId>,
    /// When usage or customer changed under it; tenant-wide changes are derived, not marked.
    pub stale_since: Option<Timestamp>,
}

/// The end of a row's time as the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupersededBy {
    /// The successor's `created_at`.
    pub at: Timestamp,
    /// The successor.
    pub successor_id: ComparisonId,
    /// `usage_corrected`, `plan_changed`, `calendar_changed`, `price_series_changed`, `event_list_changed`,
    /// `engine_changed`, `manual`.
    pub reason: String,
    /// A person's words.
    pub note: Option<String>,
}

/// A comparison with its result bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredComparison {
    /// The envelope.
    pub row: ComparisonRow,
    /// The `result` object as it was written.
    pub result: Vec<u8>,
    /// The rendering without line items.
    pub summary: Vec<u8>,
    /// Of a current comparison, what [`super::Store::newer_plan_versions`] says, read after the row: with no mark
    /// and nothing here and below, usage, customer, plans and what plans name were the recorded ones at the
    /// instant the row was read.
    pub newer_plan_versions: Vec<NewerPlanVersion>,
    /// The same of [`super::Store::newer_shared_inputs`].
    pub newer_shared_inputs: Vec<NewerSharedInput>,
}

/// The answer of [`super::Store::insert_comparison`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "made once a call, and mostly the large one")]
pub enum Inserted {
    /// This call made the current row.
    Created(ComparisonRow),
    /// Another call's row stands: read it by key.
    Lost,
    /// A recorded input differs from what is stored now: read and compute again.
    InputsChanged,
}

/// Why a comparison is superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupersedeCause {
    /// `usage_corrected`, `plan_changed`, `calendar_changed`, `price_series_changed`, `event_list_changed`,
    /// `engine_changed`, `manual`.
    pub reason: String,
    /// A person's words.
    pub note: Option<String>,
    /// Store a successor even if the inputs are the same.
    pub force: bool,
}

/// The answer of [`super::Store::supersede`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Superseded {
    /// The new current row.
    Created(ComparisonRow),
    /// Somebody superseded it before: its direct successor.
    Already(ComparisonId),
    /// The input digest is the recorded one and `force` was not said: the row stays, its mark is cleared and its
    /// recorded revisions moved forward.
    Unchanged(ComparisonRow),
    /// A recorded input of `new` differs from what is stored now: read and compute again.
    InputsChanged,
    /// The row was made by a newer engine than `new`.
    NewerEngine,
}

/// Which comparisons a list shows; every part given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparisonFilter {
    /// Of one customer.
    pub customer_id: Option<CustomerId>,
    /// Over exactly this period.
    pub period: Option<BillingPeriod>,
    /// With this plan reference among others.
    pub plan: Option<PlanReference>,
    /// Current or superseded ones only.
    pub current: Option<bool>,
    /// Stale or unmarked ones only, among the current.
    pub stale: Option<bool>,
    /// Created at or after.
    pub created_from: Option<Timestamp>,
    /// Created before.
    pub created_to: Option<Timestamp>,
}

/// A plan version that a comparison has not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerPlanVersion {
    /// The plan.
    pub plan_id: PlanId,
    /// Its version.
    pub version: u32,
    /// When it was put.
    pub created_at: Timestamp,
}
