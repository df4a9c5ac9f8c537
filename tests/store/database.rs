//! A fresh database for a test, and short ways to fill it.

#[path = "../api/shapes.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod shapes;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::{Connection, QueryResult};
use samebill::store::{self, *};
use samebill::usage::{Channel, OnConflict, Quality, Reading};
use samebill::words::*;
use sha2::{Digest, Sha256};

use crate::statements;
use shapes::Shape;

/// A database of its own and a store on it.
pub(crate) struct Db {
    /// Of a direct connection.
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tenant: TenantId,
    clock: AtomicI64,
    _gone: Gone,
}

impl Drop for Db {
    fn drop(&mut self) {
        statements::check_recorded(&self.url);
    }
}

/// Removes the database when the test is over.
enum Gone {
    Folder(#[expect(dead_code, reason = "held until the test is over")] tempfile::TempDir),
    Database { admin: String, name: String },
}

impl Drop for Gone {
    fn drop(&mut self) {
        if let Self::Database { admin, name } = self
            && let Ok(mut connection) = PgConnection::establish(admin)
        {
            let _ = connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// The admin URL; `None` says that PostgreSQL tests do not run, which fails in CI.
pub(crate) fn admin_url() -> Option<String> {
    let url = std::env::var("SAMEBILL_TEST_POSTGRES_URL").ok();
    if url.is_none() {
        assert!(std::env::var_os("CI").is_none(), "SAMEBILL_TEST_POSTGRES_URL is not set");
        eprintln!("NOT RUN on PostgreSQL: SAMEBILL_TEST_POSTGRES_URL is not set; tests/run sets it");
    }
    url
}

/// An empty PostgreSQL database: its URL and what removes it.
fn new_database() -> Option<(String, Gone)> {
    static N: AtomicU32 = AtomicU32::new(0);
    let admin = admin_url()?;
    let name = format!("store_{}_{}", std::process::id(), N.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::establish(&admin).expect("the admin URL of the test cluster works");
    connection.batch_execute(&format!("CREATE DATABASE {name}")).expect("the admin may make databases");
    let (server, _) = admin.rsplit_once('/').expect("a URL has a path");
    Some((format!("{server}/{name}"), Gone::Database { admin: admin.clone(), name }))
}

/// Through the pooler, if this run has one.
fn store_url(direct: &str) -> String {
    if direct.starts_with("sqlite:") { direct.to_owned() } else { Shape::of_this_run().url(direct) }
}

impl Db {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        Self::open(url, Gone::Folder(folder), &StoreOptions::default())
    }

    pub(crate) fn postgres() -> Option<Self> {
        Self::postgres_with(&Shape::of_this_run().options())
    }

    /// Tables hash-partitioned by tenant; spoken to without prepared statements, as through a pooler.
    pub(crate) fn partitioned() -> Option<Self> {
        let options = StoreOptions { partitioned: true, prepared_statements: false, ..StoreOptions::default() };
        Self::postgres_with(&options)
    }

    pub(crate) fn postgres_with(options: &StoreOptions) -> Option<Self> {
        let (url, gone) = new_database()?;
        store::migrate(&url, options).expect("migrations apply");
        if options.partitioned {
            statements::record(&url);
        }
        Some(Self::open(url, gone, options))
    }

    /// Not migrated yet.
    pub(crate) fn empty_postgres() -> Option<Self> {
        let (url, gone) = new_database()?;
        Some(Self::open(url, gone, &Shape::of_this_run().options()))
    }

    fn open(url: String, gone: Gone, options: &StoreOptions) -> Self {
        // What is recorded of partitioned tables is recorded by the URL.
        let store_url = if options.partitioned { url.clone() } else { store_url(&url) };
        let store = store::open(&store_url, options).expect("the database opens");
        let tenant = "default".parse().expect("an id");
        Self { url, store, tenant, clock: AtomicI64::new(1_800_000_000_000_000), _gone: gone }
    }

    /// Another store on the same database.
    pub(crate) fn another(&self) -> Arc<dyn Store> {
        store::open(&store_url(&self.url), &Shape::of_this_run().options()).expect("the database opens")
    }

    /// An instant later than those before.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.fetch_add(1_000, Ordering::Relaxed))
    }

    /// What comes now is told by a clock that is an hour behind.
    pub(crate) fn set_clock_back(&self) {
        self.clock.fetch_sub(3_600_000_000, Ordering::Relaxed);
    }

    pub(crate) fn put_customer(&self, id: &str) -> Customer {
        self.store.put_customer(&self.tenant, &customer(id), &document(None), self.now()).unwrap().into_inner()
    }

    pub(crate) fn put_plan(&self, id: &str, document: &str, from: Option<&str>, to: Option<&str>) -> PlanVersion {
        let new = plan(document, from, to);
        self.store.put_plan(&self.tenant, &id.parse().unwrap(), &new, self.now()).unwrap().into_inner()
    }

    pub(crate) fn import(&self, customer_id: &str, readings: Vec<Reading>) -> Imported {
        self.try_import(customer_id, readings, OnConflict::default()).unwrap()
    }

    pub(crate) fn try_import(
        &self,
        customer_id: &str,
        readings: Vec<Reading>,
        on_conflict: OnConflict,
    ) -> Result<Imported, StoreError> {
        self.try_import_of(customer_id, &usage_import(readings, on_conflict))
    }

    pub(crate) fn try_import_of(&self, customer_id: &str, import: &UsageImport) -> Result<Imported, StoreError> {
        self.store.import_usage(&self.tenant, &customer(customer_id), import, self.now()).map(Imported::from)
    }

    /// A question about June 2026 under a plan, made from what is stored now.
    pub(crate) fn question(&self, customer_id: &str, references: &[&str]) -> NewComparison {
        self.question_over(customer_id, references, "2026-06-01", "2026-07-01")
    }

    pub(crate) fn question_over(&self, customer_id: &str, references: &[&str], from: &str, to: &str) -> NewComparison {
        let period = BillingPeriod::new(date(from), date(to)).unwrap();
        let window = midnight(from)..midnight(to);
        let id = customer(customer_id);
        let head = self.store.customer(&self.tenant, &id).unwrap().expect("the customer is there");
        let references: Vec<PlanReference> = references.iter().map(|text| text.parse().unwrap()).collect();
        let ids: Vec<&PlanId> = references.iter().map(PlanReference::plan_id).collect();
        let versions = self.store.plan_versions(&self.tenant, &ids).unwrap();
        let usage = self.store.usage(&self.tenant, &id, window.clone()).unwrap();
        let plans = references
            .iter()
            .map(|reference| {
                let newest = versions.get(reference.plan_id()).map_or(0, |all| all.last().unwrap().version);
                let versions = reference.pinned_version().map_or_else(|| vec![newest], |version| vec![version]);
                RecordedPlan { reference: reference.clone(), versions, newest_version: newest }
            })
            .collect();
        let contents = format!("{:?} {:?} {versions:?}", usage.readings, head.document);
        let key_text = format!("{customer_id} {from} {to} {references:?}");
        NewComparison {
            id: ComparisonId::new(),
            tenant_id: self.tenant.clone(),
            customer_id: id,
            period,
            plan_references: references,
            key_digest: Sha256::digest(&key_text).into(),
            key_text,
            inputs: RecordedInputs {
                usage_revision: head.usage_revision,
                customer_version: head.version,
                blocks: usage.blocks,
                plans,
                included: vec![],
                cycle: None,
                cuts: vec![],
                shared: vec![],
                terms: None,
                engine: 1,
                digest: Sha256::digest(&contents).into(),
            },
            window,
            result: format!("{{\"contents\":{contents:?}}}").into_bytes(),
            summary: b"{}".to_vec(),
            totals: "{}".to_owned(),
        }
    }

    pub(crate) fn insert(&self, new: &NewComparison) -> Inserted {
        self.store.insert_comparison(new, self.now()).unwrap()
    }

    /// Asks and stores, and expects to be the first.
    pub(crate) fn create(&self, customer_id: &str, references: &[&str]) -> (NewComparison, ComparisonRow) {
        let new = self.question(customer_id, references);
        match self.insert(&new) {
            Inserted::Created(row) => (new, row),
            other => panic!("not created: {other:?}"),
        }
    }

    pub(crate) fn supersede(&self, old: ComparisonId, new: &NewComparison, force: bool) -> Superseded {
        self.store.supersede(old, new, &cause(force), self.now()).unwrap()
    }

    pub(crate) fn current(&self, new: &NewComparison) -> Option<StoredComparison> {
        self.store.current_by_key(&self.tenant, &new.key_digest).unwrap()
    }

    /// Runs statements past the store.
    pub(crate) fn execute(&self, sql: &str) {
        self.try_execute(sql).unwrap();
    }

    /// Runs statements past the store, which may refuse them.
    pub(crate) fn try_execute(&self, sql: &str) -> QueryResult<()> {
        match self.url.strip_prefix("sqlite://") {
            Some(file) => {
                let mut connection = diesel::SqliteConnection::establish(file).unwrap();
                connection.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
                connection.batch_execute(sql)
            }
            None => PgConnection::establish(&self.url).unwrap().batch_execute(sql),
        }
    }

    /// Rows of a table, and a condition, asked past the store.
    pub(crate) fn count(&self, from: &str) -> i64 {
        use diesel::prelude::*;
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = diesel::sql_types::BigInt)]
            n: i64,
        }
        let query = diesel::sql_query(format!("SELECT count(*) AS n FROM {from}"));
        let row: Row = match self.url.strip_prefix("sqlite://") {
            Some(file) => query.get_result(&mut diesel::SqliteConnection::establish(file).unwrap()).unwrap(),
            None => query.get_result(&mut PgConnection::establish(&self.url).unwrap()).unwrap(),
        };
        row.n
    }
}

/// What an import did, at hand.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) id: ImportId,
    pub(crate) added: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) revision_before: i64,
    pub(crate) revision_after: i64,
    pub(crate) stale: Vec<ComparisonId>,
    pub(crate) record: ImportRow,
}

impl From<ImportOutcome> for Imported {
    fn from(outcome: ImportOutcome) -> Self {
        let ImportOutcome { record, stale } = outcome;
        Self {
            id: record.id,
            added: record.counts.added,
            replaced: record.counts.replaced,
            unchanged: record.counts.unchanged,
            revision_before: record.revision_before.unwrap(),
            revision_after: record.revision_after.unwrap(),
            stale,
            record,
        }
    }
}

pub(crate) fn cause(force: bool) -> SupersedeCause {
    SupersedeCause { reason: "usage_corrected".to_owned(), note: Some("a note".to_owned()), force }
}

pub(crate) fn customer(id: &str) -> CustomerId {
    id.parse().unwrap()
}

pub(crate) fn document(name: Option<&str>) -> CustomerDocument {
    CustomerDocument {
        name: name.map(str::to_owned),
        time_zone: chrono_tz::UTC,
        meter_points: vec![],
        attributes: BTreeMap::new(),
        billing_cycle: None,
        current_plan_id: None,
    }
}

pub(crate) fn plan(document: &str, from: Option<&str>, to: Option<&str>) -> NewPlanVersion {
    NewPlanVersion {
        document: document.to_owned(),
        source: None,
        media_type: "application/json".to_owned(),
        in_force_from: from.map(date),
        in_force_to: to.map(date),
        name: format!("Plan {document}"),
        currency: "USD".to_owned(),
        provider: None,
        territory: None,
        tags: vec![],
    }
}

pub(crate) fn usage_import(readings: Vec<Reading>, on_conflict: OnConflict) -> UsageImport {
    UsageImport {
        id: ImportId::new(),
        readings: BTreeMap::from([(Channel::import(), readings.into_iter().collect())]),
        on_conflict,
        fill: None,
        source: import_source(7),
    }
}

/// A file all of whose bytes of SHA-256 are this one.
pub(crate) fn import_source(digest: u8) -> ImportSource {
    ImportSource {
        file_name: Some("file.csv".to_owned()),
        sha256: [digest; 32],
        format: "csv".to_owned(),
        n_bytes: 1_000,
        rows: 720,
        exact_repeats: 1,
        blank: 2,
        choices: serde_json::json!({"import": "kwh"}),
        warnings: serde_json::json!([]),
    }
}

pub(crate) fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// The instant at which a UTC day begins.
pub(crate) fn midnight(day: &str) -> i64 {
    date(day).and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp()
}

/// Hourly readings of one value over UTC days.
pub(crate) fn hours(days: Range<&str>, milliwatt_hours: i64) -> Vec<Reading> {
    (midnight(days.start)..midnight(days.end))
        .step_by(3600)
        .map(|start| Reading { start, seconds: 3600, milliwatt_hours, quality: Quality::Measured })
        .collect()
}
