//! The store: the only place with SQL. One trait in the service's words, two implementations over native diesel
//! connections (`sqlite`, `postgres`); the text they share is written once.
//!
//! Methods are synchronous and short; the async side makes one hop to a blocking thread. Each writing method is
//! one transaction over one tenant, in one order: the customer's head, then what is to be merged or checked, then
//! comparisons. Times come from the caller (one clock an operation), never from the database.

mod database;
mod engine;
mod error;
mod imports;
mod open;
mod postgres;
mod queries;
mod retry;
mod rows;
mod schema;
mod sqlite;
mod types;
mod units;

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::NaiveDate;

pub use error::{PendingMigrations, StoreError};
pub use imports::ImportStore;
pub use open::{StoreOptions, migrate, open, revert};
pub use types::*;

pub use crate::usage::OnConflict;
use crate::usage::{Channel, Reading};
use crate::words::{
    BillingPeriod, ComparisonId, CustomerDocument, CustomerId, InputName, PeriodId, PlanId, PlanReference,
    RegisteredPeriod, TenantId, Timestamp,
};

/// What the service asks of a database.
pub trait Store: ImportStore {
    /// Whether the database answers and its schema is the one this program was built for.
    fn check_ready(&self) -> Result<(), StoreError>;

    // ---- customers

    /// Creates the customer or, if the document differs from the stored one, makes its next version; a changed
    /// version marks the customer's current comparisons stale in the same transaction.
    fn put_customer(
        &self,
        tenant: &TenantId,
        id: &CustomerId,
        document: &CustomerDocument,
        now: Timestamp,
    ) -> Result<Put<Customer>, StoreError>;

    /// The head: document, customer version, usage revision.
    fn customer(&self, tenant: &TenantId, id: &CustomerId) -> Result<Option<Customer>, StoreError>;

    /// Customers after an id, ordered bytewise.
    fn list_customers(
        &self,
        tenant: &TenantId,
        after: Option<&CustomerId>,
        limit: u32,
    ) -> Result<Vec<Customer>, StoreError>;

    // ---- plans

    /// Adds a version if body or dates differ from the plan's newest version; the same again adds none.
    fn put_plan(
        &self,
        tenant: &TenantId,
        id: &PlanId,
        new: &NewPlanVersion,
        now: Timestamp,
    ) -> Result<Put<PlanVersion>, StoreError>;

    /// Every version of these plans, by plan and number. Plans that do not exist are absent from the map.
    fn plan_versions(
        &self,
        tenant: &TenantId,
        ids: &[&PlanId],
    ) -> Result<BTreeMap<PlanId, Vec<PlanVersion>>, StoreError>;

    /// The newest version of each plan that matches, after an id, ordered bytewise by id.
    fn list_plans(
        &self,
        tenant: &TenantId,
        filter: &PlanFilter,
        after: Option<&PlanId>,
        limit: u32,
    ) -> Result<Vec<PlanVersion>, StoreError>;

    // ---- billing periods

    /// Registers a period; the same again changes nothing, another one under the id, or one that overlaps a
    /// period of its cycle, is [`StoreError::Conflict`].
    fn register_period(
        &self,
        tenant: &TenantId,
        period: &RegisteredPeriod,
        now: Timestamp,
    ) -> Result<Put<RegisteredPeriod>, StoreError>;

    /// One registered period.
    fn period(&self, tenant: &TenantId, id: &PeriodId) -> Result<Option<RegisteredPeriod>, StoreError>;

    /// Registered periods after an id, ordered bytewise.
    fn list_periods(
        &self,
        tenant: &TenantId,
        after: Option<&PeriodId>,
        limit: u32,
    ) -> Result<Vec<RegisteredPeriod>, StoreError>;

    /// The periods of a cycle that overlap `days`, ordered by start.
    fn cycle_periods(
        &self,
        tenant: &TenantId,
        cycle: &str,
        days: &Range<NaiveDate>,
    ) -> Result<Vec<BillingPeriod>, StoreError>;

    // ---- calendars, price series and event lists

    /// Adds a version if the content differs from that of the newest; `None` when the newest version is not the one
    /// that `new` was made from: read and make it again.
    fn put_shared_input(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
        new: &NewSharedInput,
        now: Timestamp,
    ) -> Result<Option<Put<SharedInput>>, StoreError>;

    /// The newest versions of these, in any order. Those that do not exist are absent.
    fn shared_inputs(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        ids: &[&InputName],
    ) -> Result<Vec<SharedInput>, StoreError>;

    /// One version.
    fn shared_input_version(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
        version: u32,
    ) -> Result<Option<SharedInput>, StoreError>;

    /// Every version of one, newest first.
    fn shared_input_versions(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
    ) -> Result<Vec<SharedInputEntry>, StoreError>;

    /// The newest version of each of a kind after an id, ordered bytewise by id.
    fn list_shared_inputs(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        after: Option<&InputName>,
        limit: u32,
    ) -> Result<Vec<SharedInputEntry>, StoreError>;

    // ---- usage

    /// Readings that start in `[window.start, window.end)` (seconds since the epoch, UTC), by channel, and the
    /// revision of every block they come from, in one snapshot. Blocks of every month that the window touches are
    /// listed, whether or not they hold readings of it.
    fn usage(&self, tenant: &TenantId, customer: &CustomerId, window: Range<i64>) -> Result<StoredUsage, StoreError>;

    /// The readings of a window as they were in exactly these blocks, which a comparison recorded; `None` when one of
    /// them is no longer kept.
    fn usage_at(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Range<i64>,
        blocks: &[BlockRevision],
    ) -> Result<Option<StoredUsage>, StoreError>;

    /// The readings of a window as they stood at a usage revision. [`StoreError::NotFound`] for a revision that is not there.
    fn usage_at_revision(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Range<i64>,
        revision: i64,
    ) -> Result<StoredUsage, StoreError>;

    /// The readings that a usage revision changed. [`StoreError::NotFound`] for a revision that is not there.
    fn usage_changes(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        revision: i64,
    ) -> Result<RevisionChanges, StoreError>;

    /// Every reading that starts in a window, or every one, also those that are said to be missing.
    fn readings(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Option<Range<i64>>,
    ) -> Result<BTreeMap<Channel, Vec<Reading>>, StoreError>;

    /// The log of usage revisions above `after`, oldest first.
    fn usage_revisions(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<UsageRevision>, StoreError>;

    // ---- comparisons

    /// The current comparison of a key with its result and what decides its freshness.
    fn current_by_key(&self, tenant: &TenantId, key_digest: &[u8; 32]) -> Result<Option<StoredComparison>, StoreError>;

    /// One comparison, whatever its status.
    fn comparison(&self, tenant: &TenantId, id: ComparisonId) -> Result<Option<StoredComparison>, StoreError>;

    /// Steps 6 and 7 of the protocol: under the customer's head lock, check the recorded inputs against what is
    /// stored now, then insert unless a current row of the key stands.
    fn insert_comparison(&self, new: &NewComparison, now: Timestamp) -> Result<Inserted, StoreError>;

    /// One transaction: head lock, check of inputs, the old row superseded, `new` inserted as its successor at
    /// `max(now, created_at of the old row + 1 µs)`. See [`Superseded`] for what else can be the answer.
    fn supersede(
        &self,
        old: ComparisonId,
        new: &NewComparison,
        cause: &SupersedeCause,
        now: Timestamp,
    ) -> Result<Superseded, StoreError>;

    /// Comparisons newest first by (`created_at`, id), before a cursor; without result bytes.
    fn list_comparisons(
        &self,
        tenant: &TenantId,
        filter: &ComparisonFilter,
        before: Option<(Timestamp, ComparisonId)>,
        limit: u32,
    ) -> Result<Vec<ComparisonRow>, StoreError>;

    /// The whole chain of one key, newest first; without result bytes.
    fn chain(&self, tenant: &TenantId, key_digest: &[u8; 32]) -> Result<Vec<ComparisonRow>, StoreError>;

    /// What stood at a moment: `created_at <= at < superseded_at`.
    fn as_of(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        at: Timestamp,
        period: Option<&BillingPeriod>,
        plan: Option<&PlanReference>,
    ) -> Result<Vec<ComparisonRow>, StoreError>;

    /// Plan versions numbered above the recorded ones that apply to a day of the comparison's period: what makes
    /// a current row stale by its tenant-wide inputs. Pinned references never appear.
    fn newer_plan_versions(&self, tenant: &TenantId, id: ComparisonId) -> Result<Vec<NewerPlanVersion>, StoreError>;

    /// Versions of calendars, price series and event lists above the recorded ones that differ within the range that the
    /// comparison used.
    fn newer_shared_inputs(&self, tenant: &TenantId, id: ComparisonId) -> Result<Vec<NewerSharedInput>, StoreError>;

    /// The document of one version of a customer.
    fn customer_document(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        version: i64,
    ) -> Result<Option<CustomerDocument>, StoreError>;

    /// Versions of a customer above `after`, oldest first: number and instant.
    fn customer_versions(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        after: i64,
    ) -> Result<Vec<(i64, Timestamp)>, StoreError>;
}
