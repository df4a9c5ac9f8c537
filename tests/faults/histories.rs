//! Thousands of calls on many questions, by callers that race each other, while servers are killed, held and cut from
//! their database and callers give up: the history of each question is one that a single caller could have seen.
//!
//! Each customer has two questions and a few calls, so that every history is short enough to be explained.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::helpers::{Client, Database, Engine, Reply, at_once, flat, hours, tou};
use crate::history::{Call, Key, Recorded, Said, Seen, is_explained, told};
use crate::support;
use crate::workload::{Acknowledged, LONG, Request, Sent, Servers, is_one_chain, nothing_is_half_done, text};

/// Who ask about one customer at once, and how often each.
const CALLERS: usize = 3;
const CALLS: usize = 7;
/// Customers at the same time.
const GROUPS: usize = 3;
/// Plans whose price changes all the time.
const MOVING: usize = 8;

/// Calls between two faults.
const CALLS_A_FAULT: usize = 120;

#[test]
fn every_history_on_sqlite_can_be_explained() {
    story(Engine::Sqlite, 1);
}

#[test]
fn every_history_of_three_servers_on_postgres_can_be_explained() {
    story(Engine::Postgres, 3);
}

fn story(engine: Engine, n_servers: usize) {
    let _alone = support::alone();
    let Some(database) = Database::create(engine) else { return };
    let seed = support::seed("histories");
    let n_customers = support::short_or_long(1_500_usize, 100_000).div_ceil(CALLERS * CALLS);
    let run = Run {
        servers: Servers::start(&database.url, n_servers),
        seed,
        acknowledged: Acknowledged::default(),
        chains: Mutex::default(),
        n_calls: AtomicUsize::new(0),
        n_unknown: AtomicUsize::new(0),
    };
    run.prepare();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let n_faults = std::thread::scope(|scope| {
        let faults = scope.spawn(|| run.break_things(&database, engine, &is_over));
        let groups: Vec<_> = (0..GROUPS)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(customer) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < n_customers) {
                        run.customer(customer);
                        if customer % 500 == 499 {
                            println!("histories on {engine:?}: {customer} customers of {n_customers} explained");
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = groups.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        let n_faults = faults.join().expect("what is broken comes back");
        assert!(ended.iter().all(Result::is_ok), "a history failed; the seed is {seed}");
        n_faults
    });
    run.acknowledged.is_all_there(&run.servers);
    let chains = run.chains.lock().unwrap();
    at_once(4, |i| chains.iter().skip(i).step_by(4).for_each(|ids| is_one_chain(run.servers.client(i), ids)));
    nothing_is_half_done(|from| database.count(from), engine == Engine::Sqlite);
    println!(
        "histories on {engine:?}: {} calls, {} without an answer, {n_faults} faults, {} comparisons, lost: 0",
        run.n_calls.load(Ordering::Relaxed),
        run.n_unknown.load(Ordering::Relaxed),
        run.acknowledged.n_comparisons(),
    );
}

struct Run {
    servers: Servers,
    seed: u64,
    acknowledged: Acknowledged,
    /// Of every question the ids that somebody has seen.
    chains: Mutex<Vec<Vec<String>>>,
    n_calls: AtomicUsize,
    n_unknown: AtomicUsize,
}

/// What is known of one customer while its callers run.
struct Customer {
    name: String,
    moving: String,
    /// Of each question what was called, and the ids that somebody has seen.
    histories: [Mutex<Vec<Recorded>>; 2],
    seen: [Mutex<Vec<Uuid>>; 2],
}

impl Run {
    /// Plans, and a name for the days that everybody asks about.
    fn prepare(&self) {
        let put = |path: String, body: &Value| {
            Request::json("PUT", path, body).insist(&self.servers, 0).expect(201);
        };
        put("/v1/plans/flat".to_owned(), &flat("Flat", "0.20"));
        put("/v1/plans/tou".to_owned(), &tou());
        for i in 0..MOVING {
            put(format!("/v1/plans/moving-{i}"), &flat("Moving", "0.30"));
        }
        put("/v1/billing-periods/two-days".to_owned(), &json!({"start": "2026-06-01", "end": "2026-06-03"}));
    }

    /// The whole story of one customer, and whether it can be explained.
    fn customer(&self, n: usize) {
        let customer = Customer {
            name: format!("h-{n}"),
            moving: format!("moving-{}", n % MOVING),
            histories: Default::default(),
            seen: Default::default(),
        };
        let name = &customer.name;
        Request::json("PUT", format!("/v1/customers/{name}"), &json!({"time_zone": "UTC"})).insist(&self.servers, n);
        let readings = hours("2026-06-01T00:00:00Z", 48, 1.0);
        let reply = Request::csv(format!("/v1/customers/{name}/usage"), &readings).insist(&self.servers, n).expect(200);
        self.acknowledged.import(&reply);
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (run, customer) = (self, &customer);
                scope.spawn(move || run.caller(customer, n, caller));
            }
        });
        for (i, (history, seen)) in customer.histories.iter().zip(&customer.seen).enumerate() {
            let history = history.lock().unwrap();
            assert!(
                is_explained(&Key::new(1, 1, i == 1), &history),
                "SAMEBILL_SEED={}: no order of these calls of {name}, question {i}, explains every answer:\n{}",
                self.seed,
                told(&history)
            );
            let ids: Vec<String> = seen.lock().unwrap().iter().map(Uuid::to_string).collect();
            self.chains.lock().unwrap().push(ids);
        }
    }

    /// One caller's calls, drawn from the seed.
    fn caller(&self, customer: &Customer, n: usize, caller: usize) {
        let mut rng = Rng::with_seed(self.seed ^ (((n as u64) << 8) | caller as u64));
        for _ in 0..CALLS {
            let key = rng.usize(..2);
            let (call, request) = draw(&mut rng, customer, key);
            let first = rng.usize(..self.servers.n());
            let gives_up = rng.u8(..) < 8;
            let patience = if gives_up { Duration::from_millis(rng.u64(1..25)) } else { LONG };
            self.n_calls.fetch_add(1, Ordering::Relaxed);
            let (begun, sent, ended) = self.call(&request, first, patience);
            let said = match sent {
                Sent::Answered(reply) => self.note(customer, key, call, &reply),
                Sent::Unknown(_) | Sent::Refused => {
                    self.n_unknown.fetch_add(1, Ordering::Relaxed);
                    None
                }
            };
            let Some(call) = call else { continue };
            let recorded = Recorded { caller, call, begun, ended: said.map(|said| (ended, said)) };
            // Readings are an input of both questions.
            let is_import = matches!(call, Call::Import { .. });
            for (i, history) in customer.histories.iter().enumerate() {
                if is_import || i == key {
                    history.lock().unwrap().push(recorded);
                }
            }
        }
    }

    /// Sends it to a server that is up: where nobody listens nothing was asked.
    fn call(&self, request: &Request, first: usize, patience: Duration) -> (Instant, Sent, Instant) {
        let since = Instant::now();
        for i in first.. {
            let client = Client::impatient(&self.servers.client(i).base, patience);
            let begun = Instant::now();
            match request.send(&client) {
                Sent::Refused => {
                    assert!(since.elapsed() < LONG, "nobody listens");
                    std::thread::sleep(Duration::from_millis(5));
                }
                sent => return (begun, sent, Instant::now()),
            }
        }
        unreachable!("there is always another one")
    }

    /// What an answer says of a call; what is not to be forgotten is written down.
    fn note(&self, customer: &Customer, key: usize, call: Option<Call>, reply: &Reply) -> Option<Said> {
        match (call?, reply.status) {
            (Call::Read { .. }, 404) => Some(Said::NoSuchRow),
            (Call::Import { .. }, 200) => {
                self.acknowledged.import(reply);
                let body = reply.json();
                let [before, after] = ["revision_before", "revision_after"].map(|name| body[name].as_i64().unwrap());
                Some(Said::Imported { before, after })
            }
            (Call::Import { .. }, _) | (_, ..200 | 202..) => {
                panic!("{call:?} of {}: {}: {}", customer.name, reply.status, String::from_utf8_lossy(&reply.body))
            }
            _ => {
                self.acknowledged.comparison(reply);
                let seen = seen(reply);
                let mut ids = customer.seen[key].lock().unwrap();
                if !ids.contains(&seen.id) {
                    ids.push(seen.id);
                }
                Some(Said::Row(seen))
            }
        }
    }

    /// A fault every so many calls until all is over. Gives how many there were.
    fn break_things(&self, database: &Database, engine: Engine, is_over: &AtomicBool) -> usize {
        let mut rng = Rng::with_seed(self.seed);
        let mut n_faults = 0;
        loop {
            let at = self.n_calls.load(Ordering::Relaxed) + rng.usize(CALLS_A_FAULT / 2..CALLS_A_FAULT * 3 / 2);
            while self.n_calls.load(Ordering::Relaxed) < at {
                if is_over.load(Ordering::Relaxed) {
                    return n_faults;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            n_faults += 1;
            let server = rng.usize(..self.servers.n());
            match rng.u8(..4) {
                0 => {
                    // Held in the middle of whatever it does, as by a machine that sleeps.
                    signal("-STOP", self.servers.process_id(server));
                    std::thread::sleep(Duration::from_millis(rng.u64(20..300)));
                    signal("-CONT", self.servers.process_id(server));
                }
                1 if engine == Engine::Postgres => database.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name = 'samebill'",
                ),
                _ => {
                    self.servers.kill(server);
                    self.servers.restart(server);
                }
            }
        }
    }
}

/// A call and how it is spelled; `None`: it is not about one question.
fn draw(rng: &mut Rng, customer: &Customer, key: usize) -> (Option<Call>, Request) {
    let ids = customer.seen[key].lock().unwrap().clone();
    // Mostly the newest one.
    let id = if rng.bool() { ids.last().copied() } else { rng.choice(&ids).copied() };
    let dice = rng.u8(..100);
    let (force, value, price) = (rng.u8(..4) == 0, rng.u32(1..4), rng.u32(10..60));
    let question = spelled(rng, customer, key);
    match (dice, id) {
        (0..12, _) => (Some(Call::CompareAnew), Request::json("POST", "/v1/comparisons?if_stale=supersede", &question)),
        (12..32, Some(id)) => {
            let body = json!({"reason": "manual", "force": force});
            (
                Some(Call::Supersede { id, force }),
                Request::json("POST", format!("/v1/comparisons/{id}/supersede"), &body),
            )
        }
        (32..50, Some(id)) => (Some(Call::Read { id }), Request::get(format!("/v1/comparisons/{id}"))),
        (50..70, _) => {
            let readings = hours("2026-06-02T05:00:00Z", 2, value.into());
            (Some(Call::Import { value }), Request::csv(format!("/v1/customers/{}/usage", customer.name), &readings))
        }
        (70..75, _) => {
            let plan = flat("Moving", &format!("0.{price}"));
            (None, Request::json("PUT", format!("/v1/plans/{}", customer.moving), &plan))
        }
        _ => (Some(Call::Compare), Request::json("POST", "/v1/comparisons", &question)),
    }
}

/// The same question in one of many ways.
fn spelled(rng: &mut Rng, customer: &Customer, key: usize) -> Value {
    let mut plans = vec!["flat", if key == 0 { "tou" } else { &customer.moving }];
    rng.shuffle(&mut plans);
    if rng.bool() {
        plans.push(plans[0]);
    }
    let days = json!({"start": "2026-06-01", "end": "2026-06-03"});
    let period = if rng.bool() { days } else { json!("two-days") };
    json!({"customer_id": customer.name, "billing_period": period, "plan_ids": plans})
}

fn seen(reply: &Reply) -> Seen {
    let body = reply.json();
    // 46 hours of 1 kWh, and two that change.
    let energy: u32 = text(&body["result"]["usage"]["import_kwh"]).parse().expect("whole kWh");
    let id = |value: &Value| value.as_str().map(|id| Uuid::parse_str(id).expect("an id"));
    Seen {
        id: id(&body["id"]).expect("an id"),
        created: reply.status == 201,
        usage_revision: body["inputs"]["usage_revision"].as_i64().expect("a revision"),
        value: (energy - 46) / 2,
        is_stale: text(&body["freshness"]["state"]) == "stale",
        predecessor: id(&body["predecessor_id"]),
        successor: id(&body["successor_id"]),
    }
}

fn signal(name: &str, process: u32) {
    let sent = std::process::Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}
