//! The way between a server and PostgreSQL is cut before a commit, with it, after it, or at any other frame: the caller
//! gets its answer or is told that the outcome is unknown, and the repeat gets the one that is stored.

use std::net::TcpListener;
use std::time::Instant;

use fastrand::Rng;
use samebill::app::{self, RunningServer};
use samebill::config::Settings;
use samebill::store::{self, StoreOptions};
use serde_json::{Value, json};

use crate::cluster::eventually;
use crate::helpers::{Client, Database, Engine, Reply, flat, june};
use crate::proxy::{Cut, Fault, Proxy};
use crate::support::{self, repeat};
use crate::workload::{LONG, nothing_is_half_done};

const OPERATIONS: [Operation; 3] = [Operation::Compare, Operation::Supersede, Operation::Import];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Compare,
    Supersede,
    Import,
}

#[test]
fn a_cut_around_a_commit_is_mended_within_the_call() {
    let _alone = support::alone();
    let Some(place) = Place::new() else { return };
    for operation in OPERATIONS {
        for cut in [Cut::BeforeCommit, Cut::WithCommit, Cut::AfterCommit, Cut::Delay(300)] {
            for is_reset in [false, true] {
                let case = place.case(operation);
                let told = place.call_until_met(&place.patient, &case, Fault { cut, is_reset, is_lasting: false });
                // Who did it is told so, and not that it had been done before.
                match operation {
                    Operation::Compare | Operation::Supersede => assert_eq!(told.status, 201, "{operation:?} {cut:?}"),
                    Operation::Import => assert_eq!(told.clone().expect(200).json()["replaced"], 720, "{cut:?}"),
                }
                place.is_done_once(&case, Some(&told));
            }
        }
    }
    place.is_whole();
}

#[test]
fn a_cut_that_lasts_leaves_the_outcome_unknown_and_the_repeat_finds_it() {
    let _alone = support::alone();
    let Some(place) = Place::new() else { return };
    for operation in OPERATIONS {
        for cut in [Cut::BeforeCommit, Cut::WithCommit, Cut::AfterCommit] {
            let case = place.case(operation);
            let told = place.call_until_met(&place.hasty, &case, Fault { cut, is_reset: true, is_lasting: true });
            // An answer may be faster than the cut that follows its COMMIT.
            if cut != Cut::WithCommit || told.status >= 300 {
                let told = told.expect(503);
                assert_eq!(
                    (told.code().as_str(), told.header("retry-after")),
                    ("outcome_unknown", Some("1")),
                    "{cut:?}"
                );
            }
            // Nothing can be known while nothing can be reached.
            assert_eq!(place.hasty.get("/readyz").status, 503);
            place.hasty.get("/livez").expect(200);
            place.proxy.heal();
            let found = place.is_done_once(&case, None);
            let was_stored = match operation {
                Operation::Compare | Operation::Supersede => found.status == 200,
                Operation::Import => found.json()["unchanged"] == 720,
            };
            assert!(was_stored == (cut == Cut::AfterCommit) || cut == Cut::WithCommit, "{operation:?} {cut:?}");
        }
    }
    place.is_whole();
}

/// One frame after the other, so that no step between the first and the last is left out.
#[test]
fn a_cut_at_any_frame_is_mended_or_told() {
    let _alone = support::alone();
    let Some(place) = Place::new() else { return };
    let seed = support::seed("cuts");
    let mut rng = Rng::with_seed(seed);
    // Every frame, or one of so many.
    let step = support::short_or_long(15, 1);
    let (mut n_cuts, mut n_unknown) = (0, 0);
    for operation in OPERATIONS {
        for is_lasting in [false, true] {
            let mut n = rng.usize(..step);
            loop {
                let case = place.case(operation);
                place.are_connected(&case);
                let before = place.proxy.n_met();
                place.proxy.set(Fault { cut: Cut::AfterFrames(n), is_reset: rng.bool(), is_lasting });
                let client = if is_lasting { &place.hasty } else { &place.patient };
                let told = case.call(client);
                let is_past_the_end = place.proxy.unset();
                place.proxy.heal();
                assert!(told.status < 300 || told.status == 503, "{}", String::from_utf8_lossy(&told.body));
                assert!(is_lasting || told.status < 300, "{operation:?}, frame {n}: {}", told.code());
                place.is_done_once(&case, Some(&told).filter(|told| told.status < 300));
                if is_past_the_end && told.status < 300 {
                    break;
                }
                n_cuts += place.proxy.n_met() - before;
                n_unknown += usize::from(told.code() == "outcome_unknown");
                n += step;
            }
        }
    }
    place.is_whole();
    println!("cuts: {n_cuts} cuts, {n_unknown} outcomes unknown at first, lost: 0, doubled: 0");
}

/// A database behind a proxy, and two servers that reach it through that.
struct Place {
    database: Database,
    proxy: Proxy,
    /// Waits for the database for as long as it takes.
    patient: Client,
    /// Soon knows that it cannot be reached.
    hasty: Client,
    n_cases: std::cell::Cell<u32>,
    _servers: [RunningServer; 2],
}

/// A customer of its own, with an answer, and what is to be done.
struct Case {
    operation: Operation,
    customer: String,
    stored: String,
}

impl Place {
    fn new() -> Option<Self> {
        let database = Database::create(Engine::Postgres)?;
        let proxy = Proxy::to(&database.url);
        let url = proxy.url(&database.url);
        let servers = [20_000, 400].map(|wait_ms| start(&url, wait_ms));
        let [patient, hasty] = servers.each_ref().map(|server| Client::new(&format!("http://{}", server.address())));
        patient.put_plan("flat", &flat("Flat", "0.20")).expect(201);
        patient.put_plan("cheap", &flat("Cheap", "0.10")).expect(201);
        Some(Self { database, proxy, patient, hasty, n_cases: std::cell::Cell::new(0), _servers: servers })
    }

    fn case(&self, operation: Operation) -> Case {
        let n = self.n_cases.replace(self.n_cases.get() + 1);
        let customer = format!("c-{n}");
        self.patient.put_customer(&customer, &json!({"time_zone": "UTC"})).expect(201);
        self.patient.import(&customer, &june(1.0)).expect(200);
        let stored = self.patient.compare(&question(&customer, "cheap")).expect(201).id();
        Case { operation, customer, stored }
    }

    /// Waits until both servers can read and write: after a cut that lasted they pause between two tries to connect.
    fn are_connected(&self, case: &Case) {
        for client in [&self.patient, &self.hasty] {
            repeat(|| client.comparison(&case.stored)).expect(200);
            repeat(|| client.put_customer(&case.customer, &json!({"time_zone": "UTC"}))).expect(200);
        }
    }

    /// Calls until the fault was met, and gives what that call was told: before, a connection may have been slow to come.
    fn call_until_met(&self, client: &Client, case: &Case, fault: Fault) -> Reply {
        let before = self.proxy.n_met();
        self.proxy.set(fault);
        let begun = Instant::now();
        loop {
            let told = case.call(client);
            if told.status < 300 {
                eventually("the fault", || self.proxy.n_met() > before);
            }
            if self.proxy.n_met() > before {
                return told;
            }
            told.expect(503);
            assert!(begun.elapsed() < LONG, "{fault:?} is not met");
        }
    }

    /// Repeats a call until it is answered. However often it was tried it was done once, and what was told before stands.
    #[track_caller]
    fn is_done_once(&self, case: &Case, told: Option<&Reply>) -> Reply {
        let found = repeat(|| case.call(&self.patient));
        let Case { operation, customer, stored } = case;
        assert!(found.status < 300, "{}", String::from_utf8_lossy(&found.body));
        let of_customer = format!("comparisons WHERE customer_id = '{customer}'");
        match operation {
            Operation::Compare | Operation::Supersede => {
                assert_eq!(self.database.count(&of_customer), 2);
                if let Some(told) = told {
                    assert_eq!((found.status, found.id(), found.result_hash()), (200, told.id(), told.result_hash()));
                }
                let n_rows = if *operation == Operation::Supersede { 2 } else { 1 };
                let history = self.patient.history(&found.id());
                assert_eq!((history.len(), &history[0]["id"]), (n_rows, &json!(found.id())));
                assert_eq!(history[n_rows - 1]["id"] == stored.as_str(), *operation == Operation::Supersede);
            }
            Operation::Import => {
                let log = format!("usage_revisions WHERE customer_id = '{customer}'");
                assert_eq!((self.database.count(&log), self.database.count(&of_customer)), (2, 1));
                if told.is_some() {
                    assert_eq!(found.json()["unchanged"], 720);
                }
                let stored = self.patient.comparison(stored).expect(200).json();
                assert_eq!(stored["freshness"]["state"], "stale");
            }
        }
        found
    }

    fn is_whole(&self) {
        nothing_is_half_done(|from| self.database.count(from), false);
    }
}

impl Case {
    fn call(&self, client: &Client) -> Reply {
        match self.operation {
            Operation::Compare => client.compare(&question(&self.customer, "flat")),
            Operation::Supersede => client.supersede(&self.stored, &json!({"reason": "manual", "force": true})),
            Operation::Import => client.import(&self.customer, &june(2.0)),
        }
    }
}

fn question(customer: &str, plan: &str) -> Value {
    json!({"customer_id": customer, "billing_period": "2026-06", "plan_ids": [plan]})
}

/// * `wait_ms`: for a connection.
fn start(url: &str, wait_ms: u64) -> RunningServer {
    let settings = Settings { database_url: url.to_owned(), http_workers: 2, ..Settings::default() };
    let options = StoreOptions {
        read_connections: 2,
        write_connections: 2,
        connection_timeout_ms: wait_ms,
        ..StoreOptions::default()
    };
    let store = store::open(url, &options).expect("the database opens");
    app::spawn(&settings, store, TcpListener::bind("127.0.0.1:0").expect("a free port")).expect("the server starts")
}
