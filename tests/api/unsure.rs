//! A database whose commits get lost: what is known of an answer is said, what is not is not.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use chrono::NaiveDate;
use samebill::app;
use samebill::config::Settings;
use samebill::store::*;
use samebill::usage::{Channel, Reading};
use samebill::words::*;
use serde_json::json;

use crate::helpers::shapes::Shape;
use crate::helpers::{Client, Database, Engine, june, question};

/// What the next write of a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The commit happened and its answer got lost.
    LostAnswer,
    /// The commit is under way, and happens when the row has been looked for by its id.
    LateCommit,
    /// The commit did not happen, and nobody can say so.
    LostCommit,
    /// Nothing can be read or written any more.
    Gone,
    Busy,
    Full,
    Broken,
}

/// A store that fails on demand.
struct Unsure {
    store: Arc<dyn Store>,
    fault: Arc<Mutex<Option<Fault>>>,
    under_way: Mutex<Option<UnderWay>>,
}

/// A commit that nobody waits for any more.
type UnderWay = Box<dyn FnOnce(&dyn Store) + Send>;

impl Unsure {
    fn begin<T>(&self, write: impl FnOnce(&dyn Store) -> Res<T> + Send + 'static) -> Res<T> {
        if *self.fault.lock().unwrap() == Some(Fault::LateCommit) {
            *self.under_way.lock().unwrap() = Some(Box::new(|store| drop(write(store).unwrap())));
            return self.write(|| unreachable!("it is under way"));
        }
        self.write(|| write(&*self.store))
    }

    fn write<T>(&self, write: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut fault = self.fault.lock().unwrap();
        match *fault {
            None => write(),
            Some(Fault::LostAnswer) => {
                *fault = None;
                write()?;
                Err(StoreError::OutcomeUnknown(None))
            }
            Some(Fault::LostCommit | Fault::LateCommit) => {
                *fault = None;
                Err(StoreError::OutcomeUnknown(None))
            }
            Some(Fault::Gone) => {
                write()?;
                Err(StoreError::OutcomeUnknown(None))
            }
            Some(Fault::Busy) => Err(StoreError::Busy(None)),
            Some(Fault::Full) => Err(StoreError::StorageFull(None)),
            Some(Fault::Broken) => Err(StoreError::Database("no such table: comparisons".into())),
        }
    }

    /// Reads go wrong once a write of a database that is gone has been tried.
    fn read<T>(&self, is_after_write: bool, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let fault = *self.fault.lock().unwrap();
        if fault == Some(Fault::Gone) && is_after_write { Err(StoreError::Busy(None)) } else { read() }
    }
}

type Res<T> = Result<T, StoreError>;

impl ImportStore for Unsure {
    fn import_usage(&self, t: &TenantId, c: &CustomerId, i: &UsageImport, now: Timestamp) -> Res<ImportOutcome> {
        self.store.import_usage(t, c, i, now)
    }
    fn preview_import(&self, t: &TenantId, c: &CustomerId, i: &UsageImport, now: Timestamp) -> Res<ImportPreview> {
        self.store.preview_import(t, c, i, now)
    }
    fn revert_import(&self, t: &TenantId, id: ImportId, new_id: ImportId, now: Timestamp) -> Res<Reverted> {
        self.store.revert_import(t, id, new_id, now)
    }
    fn preview_revert(&self, t: &TenantId, id: ImportId, new_id: ImportId, now: Timestamp) -> Res<ImportPreview> {
        self.store.preview_revert(t, id, new_id, now)
    }
    fn import(&self, t: &TenantId, id: ImportId) -> Res<ImportProgress> {
        self.store.import(t, id)
    }
    fn list_imports(
        &self,
        t: &TenantId,
        f: &ImportFilter,
        before: Option<ImportId>,
        limit: u32,
    ) -> Res<Vec<ImportRow>> {
        self.store.list_imports(t, f, before, limit)
    }
    fn customers_of_meter_points(&self, t: &TenantId, ids: &[&str]) -> Res<MeterPointCustomers> {
        self.store.customers_of_meter_points(t, ids)
    }
    fn begin_meter_points(&self, t: &TenantId, new: &MeterPointsImport, now: Timestamp) -> Res<ImportRow> {
        self.store.begin_meter_points(t, new, now)
    }
    fn import_share(&self, t: &TenantId, share: &CustomerShare, now: Timestamp) -> Res<ShareOutcome> {
        self.store.import_share(t, share, now)
    }
    fn refuse_meter_points(&self, t: &TenantId, id: ImportId, refusals: &[MeterPointRefusal]) -> Res<()> {
        self.store.refuse_meter_points(t, id, refusals)
    }
    fn finish_meter_points(&self, t: &TenantId, id: ImportId) -> Res<ImportProgress> {
        self.store.finish_meter_points(t, id)
    }
    fn revert_meter_points(&self, t: &TenantId, id: ImportId) -> Res<ImportProgress> {
        self.store.revert_meter_points(t, id)
    }
    fn import_meter_points(
        &self,
        t: &TenantId,
        id: ImportId,
        states: &[MeterPointState],
        after: Option<u32>,
        limit: u32,
    ) -> Res<Vec<MeterPointRow>> {
        self.store.import_meter_points(t, id, states, after, limit)
    }
}

impl Store for Unsure {
    fn check_ready(&self) -> Res<()> {
        self.read(true, || self.store.check_ready())
    }
    fn put_customer(&self, t: &TenantId, id: &CustomerId, d: &CustomerDocument, now: Timestamp) -> Res<Put<Customer>> {
        self.store.put_customer(t, id, d, now)
    }
    fn customer(&self, t: &TenantId, id: &CustomerId) -> Res<Option<Customer>> {
        self.store.customer(t, id)
    }
    fn list_customers(&self, t: &TenantId, after: Option<&CustomerId>, limit: u32) -> Res<Vec<Customer>> {
        self.store.list_customers(t, after, limit)
    }
    fn put_plan(&self, t: &TenantId, id: &PlanId, new: &NewPlanVersion, now: Timestamp) -> Res<Put<PlanVersion>> {
        self.store.put_plan(t, id, new, now)
    }
    fn plan_versions(&self, t: &TenantId, ids: &[&PlanId]) -> Res<BTreeMap<PlanId, Vec<PlanVersion>>> {
        self.store.plan_versions(t, ids)
    }
    fn list_plans(&self, t: &TenantId, f: &PlanFilter, after: Option<&PlanId>, limit: u32) -> Res<Vec<PlanVersion>> {
        self.store.list_plans(t, f, after, limit)
    }
    fn register_period(&self, t: &TenantId, p: &RegisteredPeriod, now: Timestamp) -> Res<Put<RegisteredPeriod>> {
        self.store.register_period(t, p, now)
    }
    fn period(&self, t: &TenantId, id: &PeriodId) -> Res<Option<RegisteredPeriod>> {
        self.store.period(t, id)
    }
    fn list_periods(&self, t: &TenantId, after: Option<&PeriodId>, limit: u32) -> Res<Vec<RegisteredPeriod>> {
        self.store.list_periods(t, after, limit)
    }
    fn cycle_periods(&self, t: &TenantId, cycle: &str, days: &Range<NaiveDate>) -> Res<Vec<BillingPeriod>> {
        self.store.cycle_periods(t, cycle, days)
    }
    fn put_shared_input(
        &self,
        t: &TenantId,
        kind: SharedKind,
        id: &InputName,
        new: &NewSharedInput,
        now: Timestamp,
    ) -> Res<Option<Put<SharedInput>>> {
        self.store.put_shared_input(t, kind, id, new, now)
    }
    fn shared_inputs(&self, t: &TenantId, kind: SharedKind, ids: &[&InputName]) -> Res<Vec<SharedInput>> {
        self.store.shared_inputs(t, kind, ids)
    }
    fn shared_input_version(&self, t: &TenantId, k: SharedKind, id: &InputName, n: u32) -> Res<Option<SharedInput>> {
        self.store.shared_input_version(t, k, id, n)
    }
    fn shared_input_versions(&self, t: &TenantId, k: SharedKind, id: &InputName) -> Res<Vec<SharedInputEntry>> {
        self.store.shared_input_versions(t, k, id)
    }
    fn list_shared_inputs(
        &self,
        t: &TenantId,
        kind: SharedKind,
        after: Option<&InputName>,
        limit: u32,
    ) -> Res<Vec<SharedInputEntry>> {
        self.store.list_shared_inputs(t, kind, after, limit)
    }
    fn usage_at_revision(&self, t: &TenantId, c: &CustomerId, w: Range<i64>, revision: i64) -> Res<StoredUsage> {
        self.store.usage_at_revision(t, c, w, revision)
    }
    fn usage_changes(&self, t: &TenantId, c: &CustomerId, revision: i64) -> Res<RevisionChanges> {
        self.store.usage_changes(t, c, revision)
    }
    fn readings(
        &self,
        t: &TenantId,
        c: &CustomerId,
        window: Option<Range<i64>>,
    ) -> Res<BTreeMap<Channel, Vec<Reading>>> {
        self.store.readings(t, c, window)
    }
    fn usage(&self, t: &TenantId, c: &CustomerId, window: Range<i64>) -> Res<StoredUsage> {
        self.store.usage(t, c, window)
    }
    fn usage_at(&self, t: &TenantId, c: &CustomerId, w: Range<i64>, b: &[BlockRevision]) -> Res<Option<StoredUsage>> {
        self.store.usage_at(t, c, w, b)
    }
    fn usage_revisions(&self, t: &TenantId, c: &CustomerId, after: i64, limit: u32) -> Res<Vec<UsageRevision>> {
        self.store.usage_revisions(t, c, after, limit)
    }
    fn current_by_key(&self, t: &TenantId, key: &[u8; 32]) -> Res<Option<StoredComparison>> {
        self.store.current_by_key(t, key)
    }
    fn comparison(&self, t: &TenantId, id: ComparisonId) -> Res<Option<StoredComparison>> {
        // The first thing that is read after an unknown outcome.
        let found = self.read(true, || self.store.comparison(t, id));
        if let Some(commit) = self.under_way.lock().unwrap().take() {
            commit(&*self.store);
        }
        found
    }
    fn insert_comparison(&self, new: &NewComparison, now: Timestamp) -> Res<Inserted> {
        let new = new.clone();
        self.begin(move |store| store.insert_comparison(&new, now))
    }
    fn supersede(&self, old: ComparisonId, new: &NewComparison, c: &SupersedeCause, now: Timestamp) -> Res<Superseded> {
        let (new, c) = (new.clone(), c.clone());
        self.begin(move |store| store.supersede(old, &new, &c, now))
    }
    fn list_comparisons(
        &self,
        t: &TenantId,
        f: &ComparisonFilter,
        before: Option<(Timestamp, ComparisonId)>,
        limit: u32,
    ) -> Res<Vec<ComparisonRow>> {
        self.store.list_comparisons(t, f, before, limit)
    }
    fn chain(&self, t: &TenantId, key: &[u8; 32]) -> Res<Vec<ComparisonRow>> {
        self.store.chain(t, key)
    }
    fn as_of(
        &self,
        t: &TenantId,
        c: &CustomerId,
        at: Timestamp,
        period: Option<&BillingPeriod>,
        plan: Option<&PlanReference>,
    ) -> Res<Vec<ComparisonRow>> {
        self.store.as_of(t, c, at, period, plan)
    }
    fn newer_plan_versions(&self, t: &TenantId, id: ComparisonId) -> Res<Vec<NewerPlanVersion>> {
        self.store.newer_plan_versions(t, id)
    }
    fn newer_shared_inputs(&self, t: &TenantId, id: ComparisonId) -> Res<Vec<NewerSharedInput>> {
        self.store.newer_shared_inputs(t, id)
    }
    fn customer_document(&self, t: &TenantId, c: &CustomerId, version: i64) -> Res<Option<CustomerDocument>> {
        self.store.customer_document(t, c, version)
    }
    fn customer_versions(&self, t: &TenantId, c: &CustomerId, after: i64) -> Res<Vec<(i64, Timestamp)>> {
        self.store.customer_versions(t, c, after)
    }
}

/// A filled server on such a database.
fn on_each(tell: impl Fn(&Client, &Database, &dyn Fn(Option<Fault>))) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(database) = Database::create(engine) else { continue };
        let fault = Arc::new(Mutex::new(None));
        let store = store_of(&database.url);
        let store = Arc::new(Unsure { store, fault: Arc::clone(&fault), under_way: Mutex::default() });
        let settings = Settings { http_workers: 1, ..Settings::default() };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = app::spawn(&settings, store, listener).unwrap();
        let client = Client::new(&format!("http://{}", server.address()));
        client.fill();
        tell(&client, &database, &|next| *fault.lock().unwrap() = next);
        server.stop().unwrap();
    }
}

fn store_of(url: &str) -> Arc<dyn Store> {
    samebill::store::open(url, &Shape::of_this_run().options()).unwrap()
}

#[test]
fn an_answer_whose_commit_got_lost_is_found_by_its_id() {
    on_each(|client, database, fail| {
        fail(Some(Fault::LostAnswer));
        let first = client.compare(&question(&["flat"])).expect(201);
        assert_eq!(client.compare(&question(&["flat"])).expect(200).body, first.body);
        client.import("c-1", &june(2.0)).expect(200);
        fail(Some(Fault::LostAnswer));
        let second = client.supersede(&first.id(), &json!({"reason": "usage_corrected"})).expect(201);
        assert_eq!(client.compare(&question(&["flat"])).expect(200).id(), second.id());
        assert_eq!(database.count("comparisons"), 2);
    });
}

#[test]
fn a_commit_that_lands_between_two_reads_is_still_this_calls_own() {
    on_each(|client, database, fail| {
        fail(Some(Fault::LateCommit));
        let first = client.compare(&question(&["flat"])).expect(201);
        assert_eq!(client.compare(&question(&["flat"])).expect(200).body, first.body);
        client.import("c-1", &june(2.0)).expect(200);
        fail(Some(Fault::LateCommit));
        let second = client.supersede(&first.id(), &json!({"reason": "usage_corrected"})).expect(201);
        assert_eq!(client.compare(&question(&["flat"])).expect(200).id(), second.id());
        assert_eq!(database.count("comparisons"), 2);
    });
}

#[test]
fn what_cannot_be_found_out_is_said_and_the_repeat_is_safe() {
    on_each(|client, database, fail| {
        for fault in [Fault::LostCommit, Fault::Gone] {
            let plan = if fault == Fault::Gone { "cheap" } else { "flat" };
            fail(Some(fault));
            let reply = client.compare(&question(&[plan])).expect(503);
            assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("outcome_unknown", Some("1")));
            assert_eq!(reply.json()["retryable"], true);
            fail(None);
            // Gone: it had been stored after all.
            let first = client.compare(&question(&[plan])).expect(if fault == Fault::Gone { 200 } else { 201 });
            fail(Some(Fault::LostCommit));
            let forced = json!({"reason": "manual", "force": true});
            assert_eq!(client.supersede(&first.id(), &forced).expect(503).code(), "outcome_unknown");
            client.supersede(&first.id(), &forced).expect(201);
        }
        assert_eq!(database.count("comparisons"), 4);
    });
}

#[test]
fn a_busy_database_is_503_and_a_broken_one_500_without_its_insides() {
    on_each(|client, database, fail| {
        fail(Some(Fault::Busy));
        let reply = client.compare(&question(&["flat"])).expect(503);
        assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("busy", Some("1")));
        fail(Some(Fault::Full));
        let reply = client.compare(&question(&["flat"])).expect(503);
        assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("storage_full", Some("1")));
        fail(Some(Fault::Broken));
        let reply = client.compare(&question(&["flat"])).expect(500);
        assert_eq!(reply.code(), "internal");
        assert!(!String::from_utf8_lossy(&reply.body).contains("table"));
        fail(Some(Fault::Gone));
        let reply = client.get("/readyz").expect(503);
        assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("not_ready", Some("1")));
        client.get("/livez").expect(200);
        fail(None);
        client.get("/readyz").expect(200);
        assert_eq!(database.count("comparisons"), 0);
        client.compare(&question(&["flat"])).expect(201);
    });
}
