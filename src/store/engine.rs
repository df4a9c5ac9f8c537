//! What the two databases have in common: how a unit of work is run, and the [`Store`] made of such units.
//!
//! A unit is a closure over one connection. It may be run more than once (a broken connection, a group that was
//! rolled back), so it changes nothing but the database.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::result::{DatabaseErrorKind, Error as DieselError};

use super::queries::Queries;
use super::types::{
    BlockRevision, ComparisonFilter, ComparisonRow, Customer, ImportOutcome, Inserted, NewComparison, NewPlanVersion,
    NewSharedInput, NewerPlanVersion, NewerSharedInput, PlanFilter, PlanVersion, Put, SharedInput, SharedInputEntry,
    SharedKind, StoredComparison, StoredUsage, SupersedeCause, Superseded, UsageImport, UsageRevision,
};
use super::units::{comparisons, customers, periods, plans, shared, usage};
use super::{Store, StoreError};
use crate::words::{
    BillingPeriod, ComparisonId, CustomerDocument, CustomerId, InputName, PeriodId, PlanId, PlanReference,
    RegisteredPeriod, TenantId, Timestamp,
};

/// Why a unit did not give its value.
#[derive(Debug)]
pub(super) enum UnitError {
    /// The unit's own refusal: the database is well.
    Refused(StoreError),
    /// A statement failed that may have to wait for another transaction: a lock on a head, or a head being made. If
    /// its connection is alive, the wait was too long.
    HeadHeld(DieselError),
    /// A statement failed.
    Database(DieselError),
    /// What is stored cannot be read.
    Corrupt(String),
}

impl From<DieselError> for UnitError {
    fn from(error: DieselError) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for UnitError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl UnitError {
    /// Whether only this unit failed and its connection, once rolled back, is as good as before.
    pub(super) fn is_harmless(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Corrupt(_) => true,
            Self::HeadHeld(error) | Self::Database(error) => is_constraint(error),
        }
    }

    /// What the caller gets when there is no further try.
    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::HeadHeld(error) => StoreError::Busy(Some(Box::new(error))),
            Self::Database(error) if is_passing(&error) => StoreError::Busy(Some(Box::new(error))),
            Self::Database(error) => StoreError::Database(Box::new(error)),
            Self::Corrupt(text) => StoreError::Database(text.into()),
        }
    }
}

fn is_constraint(error: &DieselError) -> bool {
    use DatabaseErrorKind::{
        CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, RestrictViolation, UniqueViolation,
    };
    matches!(
        error,
        DieselError::DatabaseError(
            UniqueViolation
                | ForeignKeyViolation
                | CheckViolation
                | NotNullViolation
                | ExclusionViolation
                | RestrictViolation,
            _
        )
    )
}

/// Whether the same may succeed a moment later.
pub(super) fn is_passing(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, SerializationFailure, UnableToSendCommand};
    matches!(
        error,
        DieselError::DatabaseError(
            ClosedConnection | UnableToSendCommand | SerializationFailure | ReadOnlyTransaction,
            _
        ) | DieselError::BrokenTransactionManager
    )
}

/// What a caught panic of a unit said, for the log.
pub(super) fn panic_text(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied().or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    format!("a unit of work panicked: {}", text.unwrap_or("no text"))
}

/// Names of the stops around the commit of a unit; tests hold, fail or kill there.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "only tests stop there"))]
pub(super) struct Stops {
    /// After the unit's statements, before COMMIT.
    pub(super) before_commit: &'static str,
    /// After COMMIT, before anybody knows; `return` acts as if its answer had been lost.
    pub(super) after_commit: &'static str,
}

macro_rules! stops {
    ($name:literal) => {
        Stops {
            before_commit: concat!("store::", $name, "::before_commit"),
            after_commit: concat!("store::", $name, "::after_commit"),
        }
    };
}

impl Stops {
    /// Stops, or fails the unit.
    #[cfg_attr(
        not(feature = "failpoints"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "only tests stop there")
    )]
    pub(super) fn before_commit(self) -> Result<(), UnitError> {
        fail::fail_point!(self.before_commit, |_| Err(UnitError::Database(DieselError::RollbackTransaction)));
        Ok(())
    }

    /// Stops, or loses the answer of COMMIT. A panic here is a lost answer too: it must not end a writing thread.
    #[cfg_attr(not(feature = "failpoints"), expect(clippy::unused_self, reason = "only tests stop there"))]
    pub(super) fn after_commit(self) -> Result<(), DieselError> {
        let stopped = std::panic::catch_unwind(|| {
            fail::fail_point!(self.after_commit, |_| Err(DieselError::RollbackTransaction));
            Ok(())
        });
        stopped.unwrap_or(Err(DieselError::RollbackTransaction))
    }
}

/// A database that runs units.
pub(super) trait Engine: Send + Sync + 'static {
    /// Its native connection.
    type Connection: Queries;

    /// Runs a unit that only reads, on the pool of readers.
    fn read<T>(&self, unit: impl FnMut(&mut Self::Connection) -> Result<T, UnitError>) -> Result<T, StoreError>;

    /// Runs a unit in a transaction and gives its value once it is committed.
    ///
    /// * `n_bytes`: roughly what it writes.
    /// * `landed`: asked in a new transaction when the answer of COMMIT was lost: whether what the value (given)
    ///   says was written is stored. It takes the same lock first, so that a commit still under way is over by
    ///   then. `false` also when nothing was written: to run the unit again does no harm.
    fn write<T: Send + 'static>(
        &self,
        stops: Stops,
        n_bytes: usize,
        unit: impl FnMut(&mut Self::Connection) -> Result<T, UnitError> + Send + 'static,
        landed: impl FnMut(&mut Self::Connection, &T) -> Result<bool, UnitError> + Send + 'static,
    ) -> Result<T, StoreError>;

    /// Names of the migrations this program has and the database has not.
    fn pending_migrations(&self) -> Result<Vec<String>, StoreError>;
}

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

    fn import_usage(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        import: &UsageImport,
        now: Timestamp,
    ) -> Result<ImportOutcome, StoreError> {
        let n_readings: usize = import.readings.values().map(Vec::len).sum();
        let key = Arc::new((tenant.clone(), customer.clone(), import.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("import_usage"),
            1_000 + 3 * n_readings,
            move |c| usage::import(c, &key.0, &key.1, &key.2, now),
            move |c, outcome| usage::import_landed(c, &again.0, &again.1, &again.2, now, outcome),
        )
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
            written_bytes(&new),
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
            written_bytes(new),
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

fn written_bytes(new: &NewComparison) -> usize {
    2_000 + new.result.len() + new.summary.len() + new.key_text.len() + 200 * new.plan_references.len()
}
