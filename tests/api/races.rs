//! Many at once: the same question, the same row to be replaced, a correction in between. Every race is begun by a
//! barrier.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::helpers::{Client, Database, Engine, Reply, TestApp, at_once, distinct, hours, june, question, start};
use crate::on_both_engines;

/// Callers of one question.
const CALLERS: usize = 64;

/// Rounds of a race of supersedes; `SAMEBILL_RACE_ROUNDS` says otherwise.
fn rounds() -> usize {
    std::env::var("SAMEBILL_RACE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// The question of a caller: all the same set, in orders and with repetitions of their own.
fn reordered(i: usize) -> Value {
    let mut plans = vec!["flat", "cheap", "tou"];
    plans.rotate_left(i % 3);
    if i.is_multiple_of(2) {
        plans.swap(0, 1);
    }
    plans.extend(plans.clone().into_iter().take(i % 4));
    question(&plans)
}

/// What holds of answers to one question that were asked for at once.
#[track_caller]
fn one_answer(replies: &[Reply], database: &Database) {
    let created = replies.iter().filter(|reply| reply.status == 201).count();
    let found = replies.iter().filter(|reply| reply.status == 200).count();
    assert!(created <= 1, "{created} callers were told that they made it");
    assert_eq!(created + found, replies.len(), "{:?}", replies.iter().map(|r| r.status).collect::<Vec<_>>());
    let hashes: Vec<String> = replies.iter().map(Reply::result_hash).collect();
    let ids: Vec<String> = replies.iter().map(Reply::id).collect();
    assert_eq!((distinct(&hashes), distinct(&ids)), (1, 1));
    assert_eq!((database.count("comparisons"), database.count("comparison_results")), (1, 1));
    for reply in replies {
        assert_eq!(reply.header("idempotent-replayed").is_some(), reply.status == 200);
        assert_eq!(reply.json()["freshness"]["state"], "fresh");
    }
}

on_both_engines! {
    fn callers_of_one_question_at_once_get_one_answer(app: &TestApp) {
        app.fill();
        let replies = at_once(CALLERS, |_| app.compare(&question(&["flat", "tou"])));
        one_answer(&replies, &app.database);
        assert_eq!(app.server.service().n_computations(), 1);
    }

    fn callers_with_plans_in_other_orders_get_one_answer(app: &TestApp) {
        app.fill();
        let replies = at_once(CALLERS, |i| app.compare(&reordered(i)));
        one_answer(&replies, &app.database);
        assert_eq!(app.server.service().n_computations(), 1);
    }

    fn a_refusal_is_shared_and_leaves_nothing(app: &TestApp) {
        app.fill();
        let replies = at_once(CALLERS, |i| {
            let mut plans = vec!["flat"; i % 5];
            plans.push("nowhere");
            (i % 5, app.compare(&question(&plans)))
        });
        for (place, reply) in replies {
            let body = reply.expect(404).json();
            assert_eq!((&body["code"], &body["pointer"]), (&json!("plan_not_found"), &json!(format!("/plan_ids/{place}"))));
        }
        assert_eq!(app.database.count("comparisons"), 0);
    }

    fn one_row_is_replaced_once_however_many_ask(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201).id();
        app.import("c-1", &june(2.0)).expect(200);
        let replies = at_once(16, |_| app.supersede(&first, &json!({"reason": "usage_corrected", "force": true})));
        let created = replies.iter().filter(|reply| reply.status == 201).count();
        assert_eq!((created, replies.iter().filter(|reply| reply.status == 200).count()), (1, 15));
        let ids: Vec<String> = replies.iter().map(Reply::id).collect();
        assert_eq!((distinct(&ids), app.history(&first).len()), (1, 2));
    }

    fn supersede_raced_by_supersede_compare_and_import_keeps_one_current_row(app: &TestApp) {
        app.fill();
        race_supersedes(app, &[app], &app.database);
    }
}

fn without_coalescing(engine: Engine) {
    let Some(app) = TestApp::spawn_with(engine, |settings| settings.coalescing = false) else { return };
    app.fill();
    let replies = at_once(CALLERS, |i| app.compare(&reordered(i)));
    one_answer(&replies, &app.database);
}

#[test]
fn without_coalescing_sqlite_gives_one_answer() {
    without_coalescing(Engine::Sqlite);
}

#[test]
fn without_coalescing_postgres_gives_one_answer() {
    without_coalescing(Engine::Postgres);
}

#[test]
fn two_servers_on_one_database_give_one_answer() {
    let Some(app) = TestApp::spawn(Engine::Postgres) else { return };
    let other = start(&app.database.url, |_| {});
    let second = Client::new(&format!("http://{}", other.address()));
    app.fill();
    let replies = at_once(CALLERS, |i| if i.is_multiple_of(2) { &app.client } else { &second }.compare(&reordered(i)));
    one_answer(&replies, &app.database);
    assert!(app.server.service().n_computations() <= 1 && other.service().n_computations() <= 1);
    other.stop().unwrap();
}

/// Rounds of supersedes at once on one row, among compares and imports, watched by a reader that never sees none or two
/// current rows.
pub(crate) fn race_supersedes(fill: &Client, servers: &[&Client], database: &Database) {
    let ask = question(&["flat", "cheap", "tou"]);
    fill.compare(&ask);
    let chain = "comparisons WHERE superseded_at IS NULL";
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut n_looks = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(database.count(chain), 1);
                n_looks += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            n_looks
        });
        for round in 0..rounds() {
            let server = |i: usize| servers[i % servers.len()];
            let current = fill.compare(&ask).expect(200).id();
            let n_before = database.count("comparisons");
            let grown = || database.count("comparisons") - n_before;
            // 1 or 3 kWh in an hour of the round's own: always a change.
            let hour = format!("2026-06-{:02}T{:02}:00:00Z", 1 + round % 28, round / 28 % 24);
            let correct = |kwh: f64| fill.import("c-1", &hours(&hour, 2, kwh)).expect(200).json();
            let supersede = |i: usize, force: bool| {
                let reply = server(i).supersede(&current, &json!({"reason": "manual", "force": force}));
                assert!(matches!(reply.status, 200 | 201), "{}", String::from_utf8_lossy(&reply.body));
                reply
            };
            let compare = |i: usize| server(i).compare(&ask).expect(200);
            match round % 4 {
                // Forced by two, with compares: exactly one more.
                0 => {
                    let created = at_once(4, |i| if i < 2 { supersede(i, true) } else { compare(i) });
                    assert_eq!((grown(), created.iter().filter(|r| r.status == 201).count()), (1, 1));
                }
                // Nothing has changed: none more, though the same readings come in again.
                1 => {
                    fill.supersede(&current, &json!({"reason": "manual"})).expect(200);
                    let readings = hours("2026-07-03T00:00:00Z", 2, 1.0);
                    at_once(4, |i| if i < 3 { supersede(i, false) } else { server(i).import("c-1", &readings) });
                    assert_eq!(grown(), 0);
                }
                // Something has: exactly one more.
                2 => {
                    let before = fill.comparison(&current).json()["inputs"]["digest"].clone();
                    correct(3.0);
                    let replies = at_once(4, |i| if i < 3 { supersede(i, false) } else { compare(i) });
                    assert_eq!(grown(), 1);
                    assert_ne!(replies[0].json()["inputs"]["digest"], before);
                }
                // It changes meanwhile: at most one more, and what is left stale can be replaced once more.
                _ => {
                    at_once(4, |i| match i {
                        0 | 1 => supersede(i, false),
                        2 => compare(i),
                        _ => server(i).import("c-1", &hours(&hour, 2, 3.5)).expect(200),
                    });
                    assert!(grown() <= 1);
                    let now = fill.compare(&ask).expect(200);
                    let status = if now.json()["freshness"]["state"] == "fresh" { 200 } else { 201 };
                    let after = fill.supersede(&now.id(), &json!({"reason": "usage_corrected"})).expect(status).json();
                    let head = fill.get("/v1/customers/c-1").json()["usage_revision"].clone();
                    assert_eq!(after["inputs"]["usage_revision"], head);
                    assert_eq!(grown(), 1);
                }
            }
            assert_eq!(database.count(chain), 1, "round {round}");
        }
        stop.store(true, Ordering::Relaxed);
        let history = fill.history(&fill.compare(&ask).id());
        assert_eq!(i64::try_from(history.len()).unwrap(), database.count("comparisons"));
        for (successor, predecessor) in history.iter().zip(&history[1..]) {
            assert_eq!(successor["predecessor_id"], predecessor["id"]);
            assert_eq!(successor["created_at"], predecessor["superseded"]["at"]);
        }
        assert!(watcher.join().expect("one current row, always") > 0);
    });
}
