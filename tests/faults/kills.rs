//! Servers killed (SIGKILL) at random instants and at every named stop of the protocol, and PostgreSQL itself, while
//! callers repeat what was not answered: nothing acknowledged is lost, nothing is half done, and all is back in seconds.

use std::fmt::Write as _;
#[cfg(feature = "failpoints")]
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::cluster::{self, Cluster};
use crate::helpers::{Database, Engine, Reply, flat, hours, june, tou};
#[cfg(feature = "failpoints")]
use crate::process::Process;
use crate::support;
use crate::workload::{Acknowledged, LONG, Request, Sent, Servers, nothing_is_half_done, text};

const CALLERS: usize = 4;
const CUSTOMERS: usize = 6;

/// Where servers are killed: wherever the load below comes.
const STOPS: [&str; 36] = [
    "compare::looked_up",
    "compare::inputs_read",
    "compare::computed",
    "compare::before_response",
    "engine::job",
    "import::read",
    "import::before_response",
    "meter_points::begun",
    "meter_points::between",
    "meter_points::before_response",
    "store::begin_meter_points::before_commit",
    "store::begin_meter_points::after_commit",
    "store::finish_meter_points::before_commit",
    "store::finish_meter_points::after_commit",
    "store::import_share::before_commit",
    "store::import_share::after_commit",
    "store::import_usage::before_commit",
    "store::import_usage::after_commit",
    "store::insert_comparison::before_commit",
    "store::insert_comparison::after_commit",
    "store::put_customer::before_commit",
    "store::put_customer::after_commit",
    "store::put_plan::before_commit",
    "store::put_plan::after_commit",
    "store::put_shared_input::before_commit",
    "store::put_shared_input::after_commit",
    "store::register_period::before_commit",
    "store::register_period::after_commit",
    "store::revert_import::before_commit",
    "store::revert_import::after_commit",
    "store::supersede::before_commit",
    "store::supersede::after_commit",
    "supersede::looked_up",
    "supersede::inputs_read",
    "supersede::computed",
    "supersede::before_response",
];

/// Stops of the one thread that writes to SQLite.
const WRITER_STOPS: [&str; 3] = ["writer::before_begin", "writer::before_commit", "writer::after_commit"];

#[test]
fn killed_servers_on_sqlite_lose_nothing_that_was_acknowledged() {
    killed_servers(Engine::Sqlite, 1);
}

#[test]
fn killed_servers_on_postgres_lose_nothing_that_was_acknowledged() {
    killed_servers(Engine::Postgres, 2);
}

fn killed_servers(engine: Engine, n_servers: usize) {
    let _alone = support::alone();
    let Some(database) = Database::create(engine) else { return };
    let seed = support::seed("kills");
    let load = Load::new(Servers::start(&database.url, n_servers), seed);
    let count = |from: &str| database.count(from);
    let is_sqlite = engine == Engine::Sqlite;
    // Each round kills one server twice: wherever it is, and at a stop.
    let n_rounds = support::short_or_long(6, 110);
    let mut rng = Rng::with_seed(seed);
    let mut stops: Vec<&str> = STOPS.to_vec();
    if is_sqlite {
        stops.extend(WRITER_STOPS);
    }
    rng.shuffle(&mut stops);
    let slowest = load.while_it_runs(|load| {
        let mut slowest = Duration::ZERO;
        for (round, stop) in stops.iter().cycle().take(n_rounds).enumerate() {
            let server = rng.usize(..n_servers);
            load.wait_for_answers(rng.usize(5..40));
            std::thread::sleep(Duration::from_micros(rng.u64(..8_000)));
            load.servers.kill(server);
            let place = format!("{stop}={}", rng.u8(1..4));
            if cfg!(feature = "failpoints") {
                load.servers.begin(server, &[("SAMEBILL_KILLED_AT", &place)]);
                load.servers.wait_until_killed(server);
            }
            slowest = slowest.max(load.servers.restart(server));
            if round % 10 == 9 {
                nothing_is_half_done(count, is_sqlite);
            }
        }
        slowest
    });
    load.nothing_is_lost();
    nothing_is_half_done(count, is_sqlite);
    // Whoever sent a file of many meter points sent it again until all of it was stored.
    assert_eq!(database.count("imports WHERE state = 'incomplete'"), 0);
    assert!(slowest < Duration::from_secs(30), "a restart took {slowest:?}");
    let n_kills = if cfg!(feature = "failpoints") { 2 * n_rounds } else { n_rounds };
    println!("kills on {engine:?}: {n_kills} kills, {load}, slowest restart {slowest:?}, lost: 0");
}

#[test]
fn postgres_killed_under_load_loses_nothing_and_the_first_hit_after_it_is_answered() {
    let _alone = support::alone();
    let Some(mut cluster) = Cluster::create() else { return };
    let seed = support::seed("postgres killed");
    let url = cluster.create_database("killed");
    let load = Load::new(Servers::start(&url, 2), seed);
    let hit = Load::question_of(0, 1, 28, &["flat"]);
    let stored = hit.insist(&load.servers, 0).expect(201);
    let n_rounds = support::short_or_long(2_usize, 20);
    let mut rng = Rng::with_seed(seed);
    let slowest = load.while_it_runs(|load| {
        let mut slowest = Duration::ZERO;
        for round in 0..n_rounds {
            load.wait_for_answers(rng.usize(5..40));
            if round.is_multiple_of(2) {
                cluster.stop_immediate();
            } else {
                cluster.kill();
            }
            // Back before anybody has noticed, or after all have.
            std::thread::sleep(Duration::from_millis(rng.u64(..1_500)));
            cluster.start();
            for server in 0..2 {
                let begun = Instant::now();
                let Sent::Answered(hit) = hit.send(load.servers.client(server)) else {
                    panic!("no answer to the first")
                };
                let hit = hit.expect(200);
                slowest = slowest.max(begun.elapsed());
                assert_eq!((hit.id(), hit.result_hash()), (stored.id(), stored.result_hash()));
            }
        }
        slowest
    });
    load.nothing_is_lost();
    nothing_is_half_done(|from| cluster::count(&url, from), false);
    assert!(slowest < Duration::from_secs(30), "the first hit took {slowest:?}");
    println!("PostgreSQL killed: {n_rounds} kills, {load}, slowest first hit {slowest:?}, lost: 0");
}

/// The migrations of a new database are cut short; the next ones do what is left.
#[cfg(feature = "failpoints")]
#[test]
fn migrations_that_are_killed_are_finished_by_the_next() {
    let _alone = support::alone();
    let migrate = |url: &str, killed_at: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_samebill"));
        command.args(["migrate", "--database-url", url]).envs(killed_at.map(|place| ("SAMEBILL_KILLED_AT", place)));
        command.output().expect("the binary starts").status
    };
    for stop in ["migrate::between=1", "migrate::between=2", "migrate::applied=1"] {
        for engine in [Engine::Sqlite, Engine::Postgres] {
            let Some(database) = Database::create(engine) else { continue };
            if engine == Engine::Postgres {
                database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
            }
            assert_eq!(migrate(&database.url, Some(stop)).signal(), Some(9), "{engine:?}, {stop}");
            assert!(migrate(&database.url, None).success(), "{engine:?}, {stop}");
            Process::serve(&database.url, &[]).client.fill();
        }
    }
}

/// Callers that use every resource and repeat each request until it is answered.
pub(crate) struct Load {
    pub(crate) servers: Servers,
    seed: u64,
    pub(crate) acknowledged: Acknowledged,
    /// Imports that may be taken back, and comparisons that may be superseded.
    imports: Mutex<Vec<String>>,
    comparisons: Mutex<Vec<String>>,
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n_answers = self.acknowledged.n_answers.load(Ordering::Relaxed);
        write!(f, "{n_answers} answers, {} comparisons", self.acknowledged.n_comparisons())
    }
}

impl Load {
    /// Plans, and customers with a meter point and the readings of a month each.
    pub(crate) fn new(servers: Servers, seed: u64) -> Self {
        let client = servers.client(0);
        client.put_plan("flat", &flat("Flat", "0.20")).expect(201);
        client.put_plan("tou", &tou()).expect(201);
        client.put_plan("moving", &flat("Moving", "0.30")).expect(201);
        let acknowledged = Acknowledged::default();
        for i in 0..CUSTOMERS {
            client.put_customer(&format!("c-{i}"), &customer(i, "Ada")).expect(201);
            acknowledged.import(&client.import(&format!("c-{i}"), &june(1.0)).expect(200));
        }
        Self { servers, seed, acknowledged, imports: Mutex::default(), comparisons: Mutex::default() }
    }

    /// Callers call until something has been done to their servers. Gives what that gave.
    pub(crate) fn while_it_runs<T>(&self, mut act: impl FnMut(&Self) -> T) -> T {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    let is_over = &is_over;
                    scope.spawn(move || {
                        let mut rng = Rng::with_seed(self.seed ^ (1 << 32) ^ caller as u64);
                        while !is_over.load(Ordering::Relaxed) {
                            self.call(&mut rng, caller);
                        }
                    })
                })
                .collect();
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(self)));
            is_over.store(true, Ordering::Relaxed);
            for caller in callers {
                caller.join().expect("every call gets an answer that is allowed");
            }
            acted.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
        })
    }

    pub(crate) fn wait_for_answers(&self, n: usize) {
        let answered = || self.acknowledged.n_answers.load(Ordering::Relaxed);
        let (begun, before) = (Instant::now(), answered());
        while answered() < before + n {
            assert!(begun.elapsed() < LONG, "the callers get no answers");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// One call, repeated until it is answered.
    fn call(&self, rng: &mut Rng, caller: usize) {
        let i = rng.usize(..CUSTOMERS);
        let insist = |request: &Request| request.insist(&self.servers, caller);
        match rng.u8(..20) {
            0..8 => {
                let first = rng.u32(1..20);
                let plans = rng.choice([&["flat"][..], &["flat", "tou"], &["moving", "tou"], &["moving"]]);
                let question = Self::question_of(i, first, first + rng.u32(1..10), plans.expect("one of them"));
                let reply = insist(&question);
                done(&reply);
                self.acknowledged.comparison(&reply);
                self.comparisons.lock().unwrap().push(reply.id());
            }
            8..11 => {
                let Some(id) = one_of(rng, &self.comparisons) else { return };
                let body = json!({"reason": "manual", "force": rng.bool()});
                let reply = insist(&Request::json("POST", format!("/v1/comparisons/{id}/supersede"), &body));
                done(&reply);
                self.acknowledged.comparison(&reply);
            }
            11..14 => {
                let start = format!("2026-06-{:02}T{:02}:00:00Z", rng.u32(1..30), rng.u32(..20));
                let readings = hours(&start, 2, rng.u32(1..9).into());
                let reply = insist(&Request::csv(format!("/v1/customers/c-{i}/usage"), &readings)).expect(200);
                self.acknowledged.import(&reply);
                self.imports.lock().unwrap().push(text(&reply.json()["import_id"]));
            }
            14 => {
                let Some(id) = one_of(rng, &self.imports) else { return };
                let reply = insist(&Request::json("POST", format!("/v1/imports/{id}/revert"), &json!({})));
                // 409: a newer import changed the same readings.
                assert!(matches!(reply.status, 200 | 201 | 409), "{}", String::from_utf8_lossy(&reply.body));
                if reply.status != 409 {
                    self.acknowledged.import(&reply);
                }
            }
            15 => {
                let reply = insist(&Request::csv("/v1/imports", &nem12(rng.u32(1..9))));
                done(&reply);
                let body = reply.json();
                assert_eq!((&body["state"], &body["meter_points"]["done"]), (&json!("done"), &json!(CUSTOMERS)));
                self.acknowledged.file(&reply);
            }
            16 => {
                let document = customer(i, ["Ada", "Grace", "Edith"][rng.usize(..3)]);
                insist(&Request::json("PUT", format!("/v1/customers/c-{i}"), &document)).expect(200);
            }
            17 => {
                let plan = flat("Moving", &format!("0.{}", rng.u32(10..60)));
                insist(&Request::json("PUT", "/v1/plans/moving", &plan)).expect(200);
            }
            18 => {
                let dates = json!({"dates": [format!("2026-06-{:02}", rng.u32(1..30))]});
                let reply = insist(&Request::json("PUT", "/v1/calendars/days_off", &dates));
                done(&reply);
            }
            _ => {
                let year = rng.u32(2030..2090);
                let days = json!({"start": format!("{year}-01-01"), "end": format!("{year}-02-01")});
                let reply = insist(&Request::json("PUT", format!("/v1/billing-periods/january:{year}"), &days));
                done(&reply);
            }
        }
    }

    /// The question about some days of June.
    pub(crate) fn question_of(customer: usize, first: u32, last: u32, plans: &[&str]) -> Request {
        let period = json!({"start": format!("2026-06-{first:02}"), "end": format!("2026-06-{last:02}")});
        let question = json!({"customer_id": format!("c-{customer}"), "billing_period": period, "plan_ids": plans});
        Request::json("POST", "/v1/comparisons", &question)
    }

    pub(crate) fn nothing_is_lost(&self) {
        self.acknowledged.is_all_there(&self.servers);
    }
}

fn customer(i: usize, name: &str) -> Value {
    let points = json!([{"id": format!("60000{i:05}"), "channel": "import"}]);
    json!({"time_zone": "UTC", "name": name, "meter_points": points})
}

/// A file of one day in July of every meter point.
fn nem12(wh: u32) -> String {
    let mut text = "100,NEM12,202607011200,MDP1,RET1\n".to_owned();
    for i in 0..CUSTOMERS {
        writeln!(text, "200,60000{i:05},E1,1,E1,N1,METER1,Wh,30,20260801").unwrap();
        writeln!(text, "300,20260710,{},A,,,20260701120000,", vec![wh.to_string(); 48].join(",")).unwrap();
    }
    text + "900\n"
}

/// It was done, by this call or before.
#[track_caller]
fn done(reply: &Reply) {
    assert!(matches!(reply.status, 200 | 201), "{}", String::from_utf8_lossy(&reply.body));
}

fn one_of(rng: &mut Rng, ids: &Mutex<Vec<String>>) -> Option<String> {
    rng.choice(&*ids.lock().unwrap()).cloned()
}
