//! A server on a fresh database, a client with one method an endpoint, and short ways to fill it.

#[path = "shapes.rs"]
pub(crate) mod shapes;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use samebill::app::{self, RunningServer};
use samebill::config::Settings;
use samebill::store::{self, StoreOptions};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use ureq::http::HeaderMap;

use shapes::Shape;

/// A database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A database of its own, removed when the test is over.
pub(crate) struct Database {
    /// For servers: through the pooler, if this run has one.
    pub(crate) url: String,
    gone: Gone,
}

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

impl Database {
    /// A migrated database. `None` says that PostgreSQL tests do not run, which fails in CI.
    pub(crate) fn create(engine: Engine) -> Option<Self> {
        static N: AtomicU32 = AtomicU32::new(0);
        if engine == Engine::Sqlite {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let url = format!("sqlite://{}", folder.path().join("test.db").display());
            return Some(Self { url, gone: Gone::Folder(folder) });
        }
        let Ok(admin) = std::env::var("SAMEBILL_TEST_POSTGRES_URL") else {
            assert!(std::env::var_os("CI").is_none(), "SAMEBILL_TEST_POSTGRES_URL is not set");
            eprintln!("NOT RUN on PostgreSQL: SAMEBILL_TEST_POSTGRES_URL is not set; tests/run sets it");
            return None;
        };
        let name = format!("api_{}_{}", std::process::id(), N.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::establish(&admin).expect("the admin URL of the test cluster works");
        connection.batch_execute(&format!("CREATE DATABASE {name}")).expect("the admin may make databases");
        let (server, _) = admin.rsplit_once('/').expect("a URL has a path");
        let direct = format!("{server}/{name}");
        let shape = Shape::of_this_run();
        store::migrate(&direct, &shape.options()).expect("migrations apply");
        Some(Self { url: shape.url(&direct), gone: Gone::Database { admin: admin.clone(), name } })
    }

    /// Rows of a table, and a condition, counted past the service.
    pub(crate) fn count(&self, from: &str) -> i64 {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = diesel::sql_types::BigInt)]
            n: i64,
        }
        let query = diesel::sql_query(format!("SELECT count(*) AS n FROM {from}"));
        let row: Row = match &self.gone {
            Gone::Folder(_) => query.get_result(&mut self.sqlite()),
            Gone::Database { admin, name } => query.get_result(&mut connect(admin, name)),
        }
        .unwrap();
        row.n
    }

    /// Runs statements past the service.
    pub(crate) fn execute(&self, sql: &str) {
        match &self.gone {
            Gone::Folder(_) => self.sqlite().batch_execute(sql).unwrap(),
            Gone::Database { admin, name } => connect(admin, name).batch_execute(sql).unwrap(),
        }
    }

    fn sqlite(&self) -> SqliteConnection {
        let file = self.url.strip_prefix("sqlite://").expect("an SQLite database");
        let mut connection = SqliteConnection::establish(file).unwrap();
        connection.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
        connection
    }
}

/// A direct connection to a database beside the admin's.
fn connect(admin: &str, name: &str) -> PgConnection {
    let (server, _) = admin.rsplit_once('/').expect("a URL has a path");
    PgConnection::establish(&format!("{server}/{name}")).unwrap()
}

/// A server and its database.
pub(crate) struct TestApp {
    pub(crate) client: Client,
    pub(crate) server: RunningServer,
    pub(crate) database: Database,
}

impl TestApp {
    pub(crate) fn spawn(engine: Engine) -> Option<Self> {
        Self::spawn_with(engine, |_| {})
    }

    /// A server with other settings.
    pub(crate) fn spawn_with(engine: Engine, change: impl FnOnce(&mut Settings)) -> Option<Self> {
        let database = Database::create(engine)?;
        let server = start(&database.url, change);
        Some(Self { client: Client::new(&format!("http://{}", server.address())), server, database })
    }
}

impl std::ops::Deref for TestApp {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Another server on a database.
pub(crate) fn start(url: &str, change: impl FnOnce(&mut Settings)) -> RunningServer {
    let mut settings = Settings {
        database_url: url.to_owned(),
        http_workers: 2,
        database_read_connections: 4,
        database_write_connections: 4,
        database_prepared_statements: Shape::of_this_run().options().prepared_statements,
        shutdown_timeout_s: 20,
        ..Settings::default()
    };
    change(&mut settings);
    let options = StoreOptions {
        read_connections: settings.database_read_connections,
        write_connections: settings.database_write_connections,
        prepared_statements: settings.database_prepared_statements,
        ..StoreOptions::default()
    };
    let store = store::open(url, &options).expect("the database opens");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    app::spawn(&settings, store, listener).expect("the server starts")
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The same, which has to have this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// SHA-256 of the bytes of `result`, as they stand in the body.
    pub(crate) fn result_hash(&self) -> String {
        let body = std::str::from_utf8(&self.body).unwrap();
        let (_, result) = body.split_once("\"result\":").expect("a result");
        hex::encode(Sha256::digest(result.strip_suffix('}').unwrap()))
    }
}

/// One method an endpoint.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    pub(crate) base: String,
}

impl Client {
    pub(crate) fn new(base: &str) -> Self {
        Self::impatient(base, Duration::from_secs(120))
    }

    /// One that gives up a call after some time.
    pub(crate) fn impatient(base: &str, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .max_idle_connections_per_host(0)
            .max_idle_connections(0);
        Self { agent: config.build().into(), base: base.to_owned() }
    }

    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = if body.is_empty() && method == "GET" {
            self.agent.run(request.body(()).unwrap())?
        } else {
            self.agent.run(request.body(body).unwrap())?
        };
        let body = response.body_mut().with_config().limit(256 * 1024 * 1024).read_to_vec()?;
        Ok(Reply { status: response.status().as_u16(), headers: response.headers().clone(), body })
    }

    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.try_send(method, path, headers, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], &[])
    }

    #[track_caller]
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    #[track_caller]
    pub(crate) fn put_customer(&self, id: &str, body: &Value) -> Reply {
        self.json("PUT", &format!("/v1/customers/{id}"), body)
    }

    #[track_caller]
    pub(crate) fn put_plan(&self, id: &str, body: &Value) -> Reply {
        self.json("PUT", &format!("/v1/plans/{id}"), body)
    }

    #[track_caller]
    pub(crate) fn put_calendar(&self, id: &str, dates: &[&str]) -> Reply {
        self.json("PUT", &format!("/v1/calendars/{id}"), &json!({"dates": dates}))
    }

    #[track_caller]
    pub(crate) fn put_events(&self, id: &str, events: &[&str]) -> Reply {
        self.json("PUT", &format!("/v1/event-lists/{id}"), &json!({"events": events}))
    }

    /// `query` begins with `?` or is empty.
    #[track_caller]
    pub(crate) fn put_prices(&self, id: &str, csv: &str, query: &str) -> Reply {
        let path = format!("/v1/price-series/{id}{query}");
        self.send("PUT", &path, &[("content-type", "text/csv")], csv.as_bytes())
    }

    #[track_caller]
    pub(crate) fn import(&self, customer: &str, csv: &str) -> Reply {
        self.import_with(customer, csv, "")
    }

    #[track_caller]
    pub(crate) fn import_with(&self, customer: &str, csv: &str, query: &str) -> Reply {
        let path = format!("/v1/customers/{customer}/usage{query}");
        self.send("POST", &path, &[("content-type", "text/csv")], csv.as_bytes())
    }

    #[track_caller]
    pub(crate) fn compare(&self, question: &Value) -> Reply {
        self.json("POST", "/v1/comparisons", question)
    }

    #[track_caller]
    pub(crate) fn comparison(&self, id: &str) -> Reply {
        self.get(&format!("/v1/comparisons/{id}"))
    }

    #[track_caller]
    pub(crate) fn supersede(&self, id: &str, body: &Value) -> Reply {
        self.json("POST", &format!("/v1/comparisons/{id}/supersede"), body)
    }

    #[track_caller]
    pub(crate) fn history(&self, id: &str) -> Vec<Value> {
        let reply = self.get(&format!("/v1/comparisons/{id}/history")).expect(200);
        reply.json()["items"].as_array().expect("items").clone()
    }

    #[track_caller]
    pub(crate) fn diff(&self, id: &str) -> Reply {
        self.get(&format!("/v1/comparisons/{id}/diff"))
    }

    /// Customer `c-1` in UTC with hourly readings of June 2026, 1 kWh each, and the plans `flat`, `tou` and `cheap`.
    #[track_caller]
    pub(crate) fn fill(&self) {
        self.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
        self.put_plan("flat", &flat("Flat", "0.20")).expect(201);
        self.put_plan("cheap", &flat("Cheap", "0.10")).expect(201);
        self.put_plan("tou", &tou()).expect(201);
        self.import("c-1", &june(1.0)).expect(200);
    }
}

/// A plan of one price and 0.50 a day.
pub(crate) fn flat(name: &str, price: &str) -> Value {
    json!({"name": name, "currency": "GBP", "charges": [
        {"id": "standing", "kind": "fixed", "price": "0.50", "per": "day"},
        {"id": "energy", "kind": "energy", "price": price}]})
}

/// A plan of two prices.
pub(crate) fn tou() -> Value {
    json!({"name": "Day and night", "currency": "GBP",
        "schedules": {"tou": {"periods": [{"period": "night", "hours": ["00:00-07:00"]}, {"period": "day"}]}},
        "charges": [{"id": "energy", "kind": "energy", "schedule": "tou", "prices": {"night": "0.08", "day": "0.25"}}]})
}

/// Hourly readings of June 2026 in UTC.
pub(crate) fn june(kwh: f64) -> String {
    hours("2026-06-01T00:00:00Z", 720, kwh)
}

/// Hourly readings from an instant on.
pub(crate) fn hours(from: &str, n: i64, kwh: f64) -> String {
    let from = chrono::DateTime::parse_from_rfc3339(from).unwrap().with_timezone(&chrono::Utc);
    (0..n).fold("start,kwh\n".to_owned(), |mut csv, i| {
        writeln!(csv, "{},{kwh}", (from + chrono::Duration::hours(i)).format("%Y-%m-%dT%H:%M:%SZ")).unwrap();
        csv
    })
}

/// The question about June.
pub(crate) fn question(plans: &[&str]) -> Value {
    json!({"customer_id": "c-1", "billing_period": "2026-06", "plan_ids": plans})
}

/// Calls from `n` threads that a barrier releases at once.
pub(crate) fn at_once<T: Send>(n: usize, call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(n);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n)
            .map(|i| {
                let (call, barrier) = (&call, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    call(i)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no call panics")).collect()
    })
}

/// Different values of a member.
pub(crate) fn distinct<'a>(values: impl IntoIterator<Item = &'a String>) -> usize {
    values.into_iter().collect::<BTreeSet<_>>().len()
}
