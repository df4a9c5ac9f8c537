//! Servers whose clocks are an hour apart: nothing that is promised rests on a clock, and no history runs backwards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::helpers::{Client, Database, Engine, Reply, at_once, flat, june, question};
use crate::process::{Process, free_port};
use crate::support::{alone, short_or_long};

/// Which clock a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Right,
    /// By an hour.
    Ahead,
}
use Clock::{Ahead, Right};

/// Preloaded, it moves a process's clock. `None` says that the story is not told, which fails in CI.
fn libfaketime() -> Option<PathBuf> {
    let given = std::env::var_os("SAMEBILL_FAKETIME").map(PathBuf::from);
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let usual = [
        format!("/usr/lib/{machine}/faketime/libfaketime.so.1"),
        "/usr/lib/faketime/libfaketime.so.1".to_owned(),
        "/usr/lib64/faketime/libfaketime.so.1".to_owned(),
    ];
    let found = given.into_iter().chain(usual.map(PathBuf::from)).find(|file| file.exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "libfaketime is not there");
        eprintln!("NOT RUN: libfaketime is not there; SAMEBILL_FAKETIME says where it is");
    }
    found
}

/// A server of each clock: both at once on PostgreSQL, one after the other on SQLite.
struct Servers {
    faketime: PathBuf,
    database: Database,
    engine: Engine,
    running: Vec<(Clock, Process)>,
}

impl Servers {
    fn new(engine: Engine) -> Option<Self> {
        let faketime = libfaketime()?;
        let database = Database::create(engine)?;
        Some(Self { faketime, database, engine, running: Vec::new() })
    }

    fn on(&mut self, clock: Clock) -> Client {
        if let Some((_, process)) = self.running.iter().find(|(other, _)| *other == clock) {
            return process.client.clone();
        }
        if self.engine == Engine::Sqlite {
            self.running.clear();
        }
        let faketime = self.faketime.to_str().expect("a path that can be written");
        let environment: &[(&str, &str)] = match clock {
            Right => &[],
            // What waits waits by the other clock, which stays as it is.
            Ahead => &[
                ("LD_PRELOAD", faketime),
                ("FAKETIME", "+1h"),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
                ("DONT_FAKE_MONOTONIC", "1"),
            ],
        };
        let process = Process::begin(free_port(), &self.database.url, &[], environment).wait_until_ready();
        let client = process.client.clone();
        self.running.push((clock, process));
        client
    }
}

#[track_caller]
fn time(value: &Value) -> DateTime<Utc> {
    let text = value.as_str().unwrap_or_else(|| panic!("no time: {value}"));
    DateTime::parse_from_rfc3339(text).expect("a time").to_utc()
}

#[track_caller]
fn reasons(comparison: &Value) -> Vec<(String, u64)> {
    let freshness = &comparison["freshness"];
    let reasons = freshness["reasons"].as_array().expect("reasons");
    for reason in reasons {
        assert!(time(&reason["first"]) <= time(&reason["last"]), "{freshness}");
    }
    if freshness["state"] == "stale" {
        assert!(
            time(&freshness["stale_since"]) >= time(&comparison["created_at"]),
            "stale before it was made: {comparison}"
        );
    }
    reasons
        .iter()
        .map(|reason| (reason["kind"].as_str().unwrap().to_owned(), reason["count"].as_u64().unwrap()))
        .collect()
}

/// Every row of a chain follows on the one before, one is current, and at each instant one stood.
fn check_chain(client: &Client, id: &str, n_rows: usize) {
    let chain = client.history(id);
    assert_eq!(chain.len(), n_rows);
    let stood_at = |at: DateTime<Utc>| -> Vec<String> {
        let at = at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
        let items = client.get(&format!("/v1/comparisons/as-of?customer_id=c-1&at={at}")).expect(200).json();
        items["items"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let by_id = |id: &Value| chain.iter().find(|row| row["id"] == *id);
    for row in &chain {
        let created = time(&row["created_at"]);
        let id = row["id"].as_str().unwrap();
        assert_eq!(stood_at(created), [id]);
        match by_id(&row["predecessor_id"]) {
            Some(before) => {
                assert_eq!(before["successor_id"], row["id"]);
                assert_eq!(time(&before["superseded"]["at"]), created, "{before} {row}");
                assert!(time(&before["created_at"]) < created, "{before} {row}");
                assert_eq!(stood_at(created - Duration::microseconds(1)), [before["id"].as_str().unwrap()]);
            }
            None => assert!(stood_at(created - Duration::microseconds(1)).is_empty()),
        }
        reasons(row);
    }
    assert_eq!(chain.iter().filter(|row| row["status"] == "current").count(), 1);
}

/// Revisions and versions of a customer are dated in their order.
fn check_log(client: &Client) {
    let revisions = client.get("/v1/customers/c-1/usage/revisions").expect(200).json();
    let mut entries: Vec<_> = revisions["items"].as_array().expect("items").clone();
    entries.sort_by_key(|entry| entry["revision"].as_i64());
    let times: Vec<_> = entries.iter().map(|entry| time(&entry["created_at"])).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
}

/// A busy machine may say 503, to be repeated.
fn supersede_in_the_end(client: &Client, id: &str, body: &Value) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = client.supersede(id, body);
        if reply.status != 503 || begun.elapsed().as_secs() > 60 {
            return reply;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

fn story(engine: Engine) {
    let Some(mut servers) = Servers::new(engine) else { return };
    let correct = json!({"reason": "usage_corrected"});
    servers.on(Ahead).fill();
    let first = servers.on(Ahead).compare(&question(&["flat"])).expect(201);
    assert!(time(&first.json()["created_at"]) > Utc::now() + Duration::minutes(30), "the clock is not ahead");

    // Made by who is ahead, corrected and superseded by who is right.
    servers.on(Right).import("c-1", &june(2.0)).expect(200);
    let stale = servers.on(Right).comparison(&first.id()).json();
    assert_eq!(reasons(&stale), [("usage_corrected".to_owned(), 1)]);
    let second = servers.on(Right).supersede(&first.id(), &correct).expect(201);
    assert_eq!(second.json()["freshness"]["state"], "fresh");

    // Corrected by who is ahead, then by who is right: both count.
    servers.on(Ahead).import("c-1", &june(3.0)).expect(200);
    let found = servers.on(Ahead).compare(&question(&["flat"])).expect(200);
    assert_eq!((found.id(), reasons(&found.json())), (second.id(), vec![("usage_corrected".to_owned(), 1)]));
    servers.on(Right).import("c-1", &june(4.0)).expect(200);
    servers.on(Right).put_customer("c-1", &json!({"time_zone": "UTC", "name": "Ada"})).expect(200);
    let stale = servers.on(Right).compare(&question(&["flat"])).expect(200).json();
    assert_eq!(reasons(&stale), [("usage_corrected".to_owned(), 2), ("customer_changed".to_owned(), 1)]);
    let third = servers.on(Ahead).supersede(&second.id(), &correct).expect(201);

    // A new version of the plan by who is right, of a row by who is ahead.
    servers.on(Right).put_plan("flat", &flat("Flat", "0.30")).expect(200);
    let stale = servers.on(Right).compare(&question(&["flat"])).expect(200).json();
    assert_eq!(
        (stale["id"].as_str(), reasons(&stale)),
        (Some(third.id().as_str()), vec![("plan_changed".to_owned(), 1)])
    );
    let fourth = servers.on(Right).json("POST", "/v1/comparisons?if_stale=supersede", &question(&["flat"])).expect(201);
    assert_eq!(servers.on(Ahead).compare(&question(&["flat"])).expect(200).body, fourth.body);

    let mut current = fourth.id();
    let n_rounds = short_or_long(2, 20);
    for round in 0..n_rounds {
        let (one, other) = if round % 2 == 0 { (Right, Ahead) } else { (Ahead, Right) };
        let kwh = f64::from(5 + round);
        servers.on(one).import("c-1", &june(kwh)).expect(200);
        current = if engine == Engine::Postgres {
            let clients = [servers.on(other), servers.on(one)];
            let replies = at_once(4, |i| supersede_in_the_end(&clients[i % 2], &current, &correct));
            assert!(replies.iter().filter(|reply| reply.status == 201).count() <= 1);
            let ids: BTreeSet<String> = replies.iter().map(Reply::id).collect();
            assert_eq!(ids.len(), 1);
            replies[0].id()
        } else {
            servers.on(other).supersede(&current, &correct).expect(201).id()
        };
        let answer = servers.on(other).compare(&question(&["flat"])).expect(200);
        assert_eq!((answer.id(), reasons(&answer.json())), (current.clone(), Vec::new()));
    }
    for clock in [Ahead, Right] {
        check_chain(&servers.on(clock), &first.id(), 4 + usize::try_from(n_rounds).unwrap());
        check_log(&servers.on(clock));
    }
}

#[test]
fn two_servers_an_hour_apart_keep_every_promise_on_postgres() {
    let _alone = alone();
    story(Engine::Postgres);
}

#[test]
fn a_server_that_comes_back_an_hour_off_keeps_every_promise_on_sqlite() {
    let _alone = alone();
    story(Engine::Sqlite);
}
