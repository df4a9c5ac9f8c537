//! The [`Store`] over any database engine: each method is one unit.

mod imports;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;

use super::engine::{Engine, Stops, stops};
use super::types::{
    BlockRevision, ComparisonFilter, ComparisonRow, Customer, Inserted, NewComparison, NewPlanVersion, NewSharedInput,
    NewerPlanVersion, NewerSharedInput, PlanFilter, PlanVersion, Put, RevisionChanges, SharedInput, SharedInputEntry,
    SharedKind, StoredComparison, StoredUsage, SupersedeCause, Superseded, UsageRevision,
};
use super::units::{comparisons, customers, periods, plans, shared, usage};
use super::{Store, StoreError};
use crate::usage::{Channel, Reading};
use crate::words::{
    BillingPeriod, ComparisonId, CustomerDocument, CustomerId, InputName, PeriodId, PlanId, PlanReference,
    RegisteredPeriod, TenantId, Timestamp,
};

/// A [`Store`] over any engine: each method is one unit.
pub(super) struct Database<E>(pub(super) E);

impl<E: Engine> Store for Database<E> {
    fn check_ready(&self) -> Result<(), StoreError> {
        let pending = self.0.pending_migrations()?;
        if pending.is_empty() { Ok(()) } else { Err(StoreError::Database(Box::new(super::PendingMigrations(pending)))) }
    }

    fn put_customer(
        &self,
        tenant: &TenantId,
        id: &CustomerId,
        document: &CustomerDocument,
        now: Timestamp,
    ) -> Result<Put<Customer>, StoreError> {
        let key = Arc::new((tenant.clone(), id.clone(), document.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("put_customer"),
            1_000,
            move |c| customers::put(c, &key.0, &key.1, &key.2, now),
            move |c, put| customers::put_landed(c, &again.0, &again.1, put),
        )
    }

    fn customer(&self, tenant: &TenantId, id: &CustomerId) -> Result<Option<Customer>, StoreError> {
        self.0.read(|c| customers::get(c, tenant, id))
    }

    fn list_customers(
        &self,
        tenant: &TenantId,
        after: Option<&CustomerId>,
        limit: u32,
    ) -> Result<Vec<Customer>, StoreError> {
        self.0.read(|c| customers::list(c, tenant, after, limit))
    }

    fn put_plan(
        &self,
        tenant: &TenantId,
        id: &PlanId,
        new: &NewPlanVersion,
        now: Timestamp,
    ) -> Result<Put<PlanVersion>, StoreError> {
        let key = Arc::new((tenant.clone(), id.clone(), new.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("put_plan"),
            1_000 + new.document.len() + new.source.as_ref().map_or(0, String::len),
            move |c| plans::put(c, &key.0, &key.1, &key.2, now),
            move |c, put| plans::put_landed(c, &again.0, &again.1, put),
        )
    }

    fn plan_versions(
        &self,
        tenant: &TenantId,
        ids: &[&PlanId],
    ) -> Result<BTreeMap<PlanId, Vec<PlanVersion>>, StoreError> {
        self.0.read(|c| plans::versions(c, tenant, ids))
    }

    fn list_plans(
        &self,
        tenant: &TenantId,
        filter: &PlanFilter,
        after: Option<&PlanId>,
        limit: u32,
    ) -> Result<Vec<PlanVersion>, StoreError> {
        self.0.read(|c| plans::list(c, tenant, filter, after, limit))
    }

    fn register_period(
        &self,
        tenant: &TenantId,
        period: &RegisteredPeriod,
        now: Timestamp,
    ) -> Result<Put<RegisteredPeriod>, StoreError> {
        let key = Arc::new((tenant.clone(), period.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("register_period"),
            500,
            move |c| periods::register(c, &key.0, &key.1, now),
            move |c, _| periods::register_landed(c, &again.0, &again.1, now),
        )
    }

    fn period(&self, tenant: &TenantId, id: &PeriodId) -> Result<Option<RegisteredPeriod>, StoreError> {
        self.0.read(|c| periods::get(c, tenant, id))
    }

    fn list_periods(
        &self,
        tenant: &TenantId,
        after: Option<&PeriodId>,
        limit: u32,
    ) -> Result<Vec<RegisteredPeriod>, StoreError> {
        self.0.read(|c| periods::list(c, tenant, after, limit))
    }

    fn cycle_periods(
        &self,
        tenant: &TenantId,
        cycle: &str,
        days: &Range<NaiveDate>,
    ) -> Result<Vec<BillingPeriod>, StoreError> {
        self.0.read(|c| periods::of_cycle(c, tenant, cycle, days))
    }

    fn put_shared_input(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
        new: &NewSharedInput,
        now: Timestamp,
    ) -> Result<Option<Put<SharedInput>>, StoreError> {
        let key = Arc::new((tenant.clone(), id.clone(), new.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("put_shared_input"),
            1_000 + new.content.len() + new.summary.len(),
            move |c| shared::put(c, &key.0, kind, &key.1, &key.2, now),
            move |c, put| shared::put_landed(c, &again.0, put.as_ref()),
        )
    }

    fn shared_inputs(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        ids: &[&InputName],
    ) -> Result<Vec<SharedInput>, StoreError> {
        self.0.read(|c| shared::newest(c, tenant, kind, ids))
    }

    fn shared_input_version(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
        version: u32,
    ) -> Result<Option<SharedInput>, StoreError> {
        self.0.read(|c| shared::version(c, tenant, kind, id, version))
    }

    fn shared_input_versions(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        id: &InputName,
    ) -> Result<Vec<SharedInputEntry>, StoreError> {
        self.0.read(|c| shared::versions(c, tenant, kind, id))
    }

    fn list_shared_inputs(
        &self,
        tenant: &TenantId,
        kind: SharedKind,
        after: Option<&InputName>,
        limit: u32,
    ) -> Result<Vec<SharedInputEntry>, StoreError> {
        self.0.read(|c| shared::list(c, tenant, kind, after, limit))
    }

    fn usage(&self, tenant: &TenantId, customer: &CustomerId, window: Range<i64>) -> Result<StoredUsage, StoreError> {
        self.0.read(|c| usage::read(c, tenant, customer, &window))
    }

    fn usage_at(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Range<i64>,
        blocks: &[BlockRevision],
    ) -> Result<Option<StoredUsage>, StoreError> {
        self.0.read(|c| usage::read_at(c, tenant, customer, &window, blocks))
    }

    fn usage_at_revision(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Range<i64>,
        revision: i64,
    ) -> Result<StoredUsage, StoreError> {
        self.0.read(|c| usage::read_at_revision(c, tenant, customer, &window, revision))
    }

    fn usage_changes(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        revision: i64,
    ) -> Result<RevisionChanges, StoreError> {
        self.0.read(|c| usage::changes(c, tenant, customer, revision))
    }

    fn readings(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        window: Option<Range<i64>>,
    ) -> Result<BTreeMap<Channel, Vec<Reading>>, StoreError> {
        self.0.read(|c| usage::readings(c, tenant, customer, window.as_ref()))
    }

    fn usage_revisions(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<UsageRevision>, StoreError> {
        self.0.read(|c| usage::revisions(c, tenant, customer, after, limit))
    }

    fn current_by_key(&self, tenant: &TenantId, key_digest: &[u8; 32]) -> Result<Option<StoredComparison>, StoreError> {
        self.0.read(|c| comparisons::current(c, tenant, key_digest))
    }

    fn comparison(&self, tenant: &TenantId, id: ComparisonId) -> Result<Option<StoredComparison>, StoreError> {
        self.0.read(|c| comparisons::get(c, tenant, id))
    }

    fn insert_comparison(&self, new: &NewComparison, now: Timestamp) -> Result<Inserted, StoreError> {
        let new = Arc::new(new.clone());
        let again = Arc::clone(&new);
        self.0.write(
            stops!("insert_comparison"),
            new.n_bytes(),
            move |c| comparisons::insert(c, &new, now),
            move |c, inserted| comparisons::insert_landed(c, &again, inserted),
        )
    }

    fn supersede(
        &self,
        old: ComparisonId,
        new: &NewComparison,
        cause: &SupersedeCause,
        now: Timestamp,
    ) -> Result<Superseded, StoreError> {
        let key = Arc::new((new.clone(), cause.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("supersede"),
            new.n_bytes(),
            move |c| comparisons::supersede(c, old, &key.0, &key.1, now),
            move |c, superseded| comparisons::supersede_landed(c, &again.0, superseded),
        )
    }

    fn list_comparisons(
        &self,
        tenant: &TenantId,
        filter: &ComparisonFilter,
        before: Option<(Timestamp, ComparisonId)>,
        limit: u32,
    ) -> Result<Vec<ComparisonRow>, StoreError> {
        self.0.read(|c| comparisons::list(c, tenant, filter, before, limit))
    }

    fn chain(&self, tenant: &TenantId, key_digest: &[u8; 32]) -> Result<Vec<ComparisonRow>, StoreError> {
        self.0.read(|c| comparisons::chain(c, tenant, key_digest))
    }

    fn as_of(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        at: Timestamp,
        period: Option<&BillingPeriod>,
        plan: Option<&PlanReference>,
    ) -> Result<Vec<ComparisonRow>, StoreError> {
        self.0.read(|c| comparisons::as_of(c, tenant, customer, at, period, plan))
    }

    fn newer_plan_versions(&self, tenant: &TenantId, id: ComparisonId) -> Result<Vec<NewerPlanVersion>, StoreError> {
        self.0.read(|c| comparisons::newer_plan_versions(c, tenant, id))
    }

    fn newer_shared_inputs(&self, tenant: &TenantId, id: ComparisonId) -> Result<Vec<NewerSharedInput>, StoreError> {
        self.0.read(|c| shared::newer(c, tenant, id))
    }

    fn customer_document(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        version: i64,
    ) -> Result<Option<CustomerDocument>, StoreError> {
        self.0.read(|c| customers::document(c, tenant, customer, version))
    }

    fn customer_versions(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        after: i64,
    ) -> Result<Vec<(i64, Timestamp)>, StoreError> {
        self.0.read(|c| customers::versions(c, tenant, customer, after))
    }
}
