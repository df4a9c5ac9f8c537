//! What a caller of the API waits for: `compare/hit` (the answer stands), `compare/miss` (it is computed and stored), and
//! `compare/static`, bytes of the size of the hit from the same server in the same run, which is what HTTP alone costs.
//!
//! `cargo bench --bench comparison`. On PostgreSQL too if `SAMEBILL_TEST_POSTGRES_URL` names a server.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::OnceLock;

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};
use chrono::{DateTime, Days, Duration, NaiveDate};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use samebill::app::{self, RunningServer};
use samebill::config::Settings;
use samebill::store::{self, StoreOptions};
use serde_json::{Value, json};

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Half-hourly readings of one year.
const READINGS: i64 = 17_520;

/// Plans of the question that is asked again and again.
const PLANS: usize = 10;

/// The static response: as large as the hit.
static STATIC: OnceLock<Vec<u8>> = OnceLock::new();

async fn static_response() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(STATIC.get().expect("set before").as_slice())
}

struct Bench {
    server: RunningServer,
    agent: ureq::Agent,
    base: String,
}

impl Bench {
    fn start(url: &str) -> Self {
        let settings = Settings { database_url: url.to_owned(), ..Settings::default() };
        let store = store::open(url, &StoreOptions::default()).expect("the database opens");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let more: fn(&mut ServiceConfig) = |config| {
            config.route("/static", web::post().to(static_response));
        };
        let server = app::spawn_with(&settings, store, listener, more).expect("the server starts");
        let base = format!("http://{}", server.address());
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let bench = Self { server, agent, base };
        bench.fill();
        bench
    }

    fn send(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("content-type", content_type)
            .body(body)
            .expect("a request");
        let mut response = self.agent.run(request).expect("an answer");
        let body = response.body_mut().read_to_vec().expect("a body");
        (response.status().as_u16(), body)
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Vec<u8>) {
        self.send(method, path, "application/json", body.to_string().as_bytes())
    }

    fn fill(&self) {
        assert_eq!(self.json("PUT", "/v1/customers/c-1", &json!({"time_zone": "UTC"})).0, 201);
        for i in 0..PLANS {
            let plan = json!({"name": format!("Plan {i}"), "currency": "GBP",
                "schedules": {"tou": {"periods": [{"period": "night", "hours": [format!("00:00-0{}:30", 1 + i % 7)]}, {"period": "day"}]}},
                "charges": [
                    {"id": "standing", "kind": "fixed", "price": "0.48", "per": "day"},
                    {"id": "energy", "kind": "energy", "schedule": "tou", "prices": {"night": "0.09", "day": format!("0.2{i}")}},
                    {"id": "vat", "kind": "tax", "percent": "5"}]});
            assert_eq!(self.json("PUT", &format!("/v1/plans/plan-{i}"), &plan).0, 201);
        }
        let from = DateTime::from_timestamp(1_767_225_600, 0).expect("the first instant of 2026");
        let mut csv = "start,kwh\n".to_owned();
        for i in 0..READINGS {
            let start = (from + Duration::minutes(30 * i)).format("%Y-%m-%dT%H:%M:%SZ");
            writeln!(csv, "{start},0.{:06}", i * 7_919 % 1_000_000).expect("writing to a text succeeds");
        }
        assert_eq!(self.send("POST", "/v1/customers/c-1/usage", "text/csv", csv.as_bytes()).0, 200);
    }
}

fn question(start: NaiveDate, days: u64, plans: impl Iterator<Item = usize>) -> Value {
    let plans: Vec<String> = plans.map(|i| format!("plan-{i}")).collect();
    json!({"customer_id": "c-1", "billing_period": {"start": start, "end": start + Days::new(days)}, "plan_ids": plans})
}

/// The `n`th question: a month from another day on, another choice of plans.
fn nth_question(n: usize) -> Value {
    let first = NaiveDate::from_ymd_opt(2026, 1, 1).expect("a date");
    let choice = 1 + n / 330 % 1_023;
    question(first + Days::new(n as u64 % 330), 30, (0..PLANS).filter(|i| choice >> i & 1 == 1))
}

fn compare(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut databases = vec![("sqlite", format!("sqlite://{}", folder.path().join("bench.db").display()))];
    let admin = std::env::var("SAMEBILL_TEST_POSTGRES_URL").ok();
    let name = format!("bench_{}", std::process::id());
    if let Some(admin) = &admin {
        let mut connection = PgConnection::establish(admin).expect("the admin URL works");
        connection.batch_execute(&format!("CREATE DATABASE {name}")).expect("the admin may make databases");
        let (server, _) = admin.rsplit_once('/').expect("a URL has a path");
        let url = format!("{server}/{name}");
        store::migrate(&url, &StoreOptions::default()).expect("migrations apply");
        databases.push(("postgres", url));
    }

    let mut group = criterion.benchmark_group("compare");
    group.throughput(Throughput::Elements(1));
    for (engine, url) in databases {
        let bench = Bench::start(&url);
        let june = question(NaiveDate::from_ymd_opt(2026, 6, 1).expect("a date"), 30, 0..PLANS);
        let (status, first) = bench.json("POST", "/v1/comparisons", &june);
        assert_eq!(status, 201);
        let bytes = STATIC.get_or_init(|| first.clone());
        assert_eq!(bytes.len(), first.len());

        group.bench_function(BenchmarkId::new("static", engine), |b| {
            b.iter(|| {
                let (status, body) = bench.json("POST", "/static", &june);
                assert_eq!((status, body.len()), (200, first.len()));
            });
        });
        group.bench_function(BenchmarkId::new("hit", engine), |b| {
            b.iter(|| {
                let (status, body) = bench.json("POST", "/v1/comparisons", &june);
                assert_eq!((status, &body), (200, &first));
            });
        });
        let mut n = 0;
        group.bench_function(BenchmarkId::new("miss", engine), |b| {
            b.iter(|| {
                let (status, _) = bench.json("POST", "/v1/comparisons", &nth_question(n));
                assert_eq!(status, 201);
                n += 1;
            });
        });
        bench.server.stop().expect("the server stops");
    }
    group.finish();
    if let Some(admin) = &admin {
        let mut connection = PgConnection::establish(admin).expect("the admin URL works");
        connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).expect("the database goes");
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
