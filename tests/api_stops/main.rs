//! What happens between the steps of a comparison: a correction, a new plan version, a client that goes, a failure, a
//! server that is told to stop. Each is held at a named stop of the protocol and not hoped for.
//!
//! Stops are named in the whole process: a program of its own, one scenario at a time (`fail::FailScenario`).
#![cfg(feature = "failpoints")]

mod engine;
mod every_stop;
mod hanging;
#[path = "../api/helpers.rs"]
#[expect(dead_code, reason = "shared with the other tests of the API")]
mod helpers;
mod leaving;
mod meter_points;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use fail::FailScenario;
use samebill::config::Settings;
use serde_json::json;

use helpers::{Engine, TestApp, at_once, flat, hours, june, question};

/// Runs a story on each engine, alone.
fn on_each(story: impl Fn(TestApp)) {
    on_each_with(|_| {}, story);
}

fn on_each_with(change: impl Fn(&mut Settings), story: impl Fn(TestApp)) {
    let scenario = FailScenario::setup();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        if let Some(app) = TestApp::spawn_with(engine, &change) {
            app.fill();
            story(app);
        }
        for (name, _) in fail::list() {
            fail::remove(name);
        }
    }
    scenario.teardown();
}

/// A stop that holds the first who comes until it is released; later ones pass.
struct Hold {
    name: &'static str,
    state: Arc<(Mutex<(usize, bool)>, Condvar)>,
}

impl Hold {
    fn at(name: &'static str) -> Self {
        let state = Arc::new((Mutex::new((0, false)), Condvar::new()));
        let held = Arc::clone(&state);
        fail::cfg_callback(name, move || {
            let (lock, changed) = &*held;
            let mut state = lock.lock().unwrap();
            state.0 += 1;
            changed.notify_all();
            if state.0 == 1 {
                let _released = changed.wait_while(state, |state| !state.1).unwrap();
            }
        })
        .unwrap();
        Self { name, state }
    }

    /// Waits until somebody is held.
    fn wait(&self) {
        let (lock, changed) = &*self.state;
        let (state, timeout) =
            changed.wait_timeout_while(lock.lock().unwrap(), Duration::from_secs(30), |state| state.0 == 0).unwrap();
        assert!(!timeout.timed_out() && state.0 > 0, "nobody came to {}", self.name);
    }

    fn release(&self) {
        let (lock, changed) = &*self.state;
        lock.lock().unwrap().1 = true;
        changed.notify_all();
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
        fail::remove(self.name);
    }
}

#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_import_between_reading_and_insert_is_in_the_stored_answer() {
    on_each(|app| {
        let hold = Hold::at("compare::inputs_read");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            app.import("c-1", &june(2.0)).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!(body["inputs"]["usage_revision"], 2);
            assert_eq!(body["result"]["plans"][0]["total"], "303.00");
            assert_eq!(body["freshness"]["state"], "fresh");
        });
        assert_eq!((app.database.count("comparisons"), app.server.service().n_computations()), (1, 2));
    });
}

#[test]
fn an_import_elsewhere_between_reading_and_insert_disturbs_nothing() {
    on_each(|app| {
        let hold = Hold::at("compare::inputs_read");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            app.import("c-1", &hours("2026-07-02T00:00:00Z", 24, 1.0)).expect(200);
            hold.release();
            assert_eq!(asked.join().unwrap().expect(201).json()["freshness"]["state"], "fresh");
        });
        assert_eq!(app.server.service().n_computations(), 1);
    });
}

#[test]
fn a_plan_version_and_a_customer_version_in_between_are_in_the_stored_answer() {
    on_each(|app| {
        let hold = Hold::at("compare::computed");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            app.put_plan("flat", &flat("Flat", "0.30")).expect(200);
            app.put_customer("c-1", &json!({"time_zone": "UTC", "name": "Ada"})).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!(body["inputs"]["plan_versions"]["flat"], json!([2]));
            assert_eq!(body["inputs"]["customer_version"], 2);
            assert_eq!(body["freshness"]["state"], "fresh");
        });
    });
}

/// The caller has seen no row; then one is made and is stale before the caller looks again.
#[test]
fn a_row_that_is_made_and_stale_in_between_is_superseded_if_that_was_asked_for() {
    on_each(|app| {
        let hold = Hold::at("compare::looked_up");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.json("POST", "/v1/comparisons?if_stale=supersede", &question(&["flat"])));
            hold.wait();
            let first = app.compare(&question(&["flat"])).expect(201).id();
            app.import("c-1", &june(2.0)).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!((&body["predecessor_id"], &body["freshness"]["state"]), (&json!(first), &json!("fresh")));
        });
    });
}

#[test]
fn an_included_plan_that_changes_in_between_is_in_the_stored_answer() {
    on_each(|app| {
        let supply = json!({"name": "Supply", "currency": "GBP", "include": {"network": "net"}});
        app.put_plan("supply", &supply).expect(201);
        app.put_plan("net", &flat("Network", "0.10")).expect(201);
        let hold = Hold::at("compare::computed");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["supply"])));
            hold.wait();
            app.put_plan("net", &flat("Network", "0.20")).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!(body["inputs"]["included_plan_versions"], json!({"net": [2]}));
            assert_eq!(
                (&body["result"]["plans"][0]["total"], &body["freshness"]["state"]),
                (&json!("159.00"), &json!("fresh"))
            );
        });
        assert_eq!((app.database.count("comparisons"), app.server.service().n_computations()), (1, 2));
    });
}

#[test]
fn a_calendar_that_changes_in_between_is_in_the_stored_answer() {
    on_each(|app| {
        let plan = json!({"name": "Free holidays", "currency": "GBP",
            "schedules": {"tou": {"holidays": ["us"], "periods": [{"period": "free", "days": ["holiday"]}, {"period": "day"}]}},
            "charges": [{"id": "energy", "kind": "energy", "schedule": "tou", "prices": {"free": "0", "day": "0.10"}}]});
        app.put_plan("free", &plan).expect(201);
        app.put_calendar("us", &["2026-06-19"]).expect(201);
        let hold = Hold::at("compare::computed");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["free"])));
            hold.wait();
            app.put_calendar("us", &["2026-06-19", "2026-06-30"]).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!(body["inputs"]["calendars"], json!({"us": 2}));
            assert_eq!(
                (&body["result"]["plans"][0]["total"], &body["freshness"]["state"]),
                (&json!("67.20"), &json!("fresh"))
            );
        });
        assert_eq!((app.database.count("comparisons"), app.server.service().n_computations()), (1, 2));
    });
}

#[test]
fn an_import_while_a_successor_is_computed_is_in_it() {
    on_each(|app| {
        let first = app.compare(&question(&["flat"])).expect(201).id();
        app.import("c-1", &june(2.0)).expect(200);
        let hold = Hold::at("supersede::inputs_read");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.supersede(&first, &json!({"reason": "usage_corrected"})));
            hold.wait();
            app.import("c-1", &june(3.0)).expect(200);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!((&body["inputs"]["usage_revision"], &body["freshness"]["state"]), (&json!(3), &json!("fresh")));
        });
        assert_eq!(app.history(&first).len(), 2);
    });
}

#[test]
fn inputs_that_change_every_time_are_refused_for_all_who_joined() {
    on_each(|app| {
        let client = app.client.clone();
        let n_imports = AtomicUsize::new(0);
        fail::cfg_callback("compare::inputs_read", move || {
            let n = n_imports.fetch_add(1, Ordering::Relaxed);
            let kwh = [2.0, 3.0][n % 2];
            client.import("c-1", &hours("2026-06-05T00:00:00Z", 2, kwh)).expect(200);
        })
        .unwrap();
        for reply in at_once(4, |_| app.compare(&question(&["flat"]))) {
            let reply = reply.expect(503);
            assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("inputs_changing", Some("1")));
            assert_eq!(reply.json()["retryable"], true);
        }
        assert_eq!(app.database.count("comparisons"), 0);
        fail::remove("compare::inputs_read");
        app.compare(&question(&["flat"])).expect(201);
    });
}

#[test]
fn after_a_failure_at_any_step_the_repeat_gets_the_one_answer() {
    on_each(|app| {
        for (i, action) in ["return", "panic"].into_iter().enumerate() {
            for (j, name) in
                ["compare::looked_up", "compare::inputs_read", "compare::computed", "compare::before_response"]
                    .into_iter()
                    .enumerate()
            {
                let plan = format!("plan-{i}-{j}");
                app.put_plan(&plan, &flat("Failing", "0.30")).expect(201);
                fail::cfg(name, action).unwrap();
                for reply in at_once(4, |_| app.compare(&question(&[&plan]))) {
                    let reply = reply.expect(500);
                    assert_eq!(reply.code(), "internal");
                    assert!(!String::from_utf8_lossy(&reply.body).contains("failpoint"), "the cause is for the log");
                }
                fail::remove(name);
                let stored_before = name == "compare::before_response";
                let answer = app.compare(&question(&[&plan])).expect(if stored_before { 200 } else { 201 });
                assert_eq!(app.compare(&question(&[&plan])).expect(200).body, answer.body);
            }
        }
        assert_eq!(app.database.count("comparisons"), 8);
    });
}

#[test]
fn after_a_failed_supersede_the_row_stays_and_the_repeat_replaces_it() {
    on_each(|app| {
        let mut current = app.compare(&question(&["flat"])).expect(201).id();
        for (n, name) in (1..).zip(["supersede::inputs_read", "supersede::computed", "supersede::before_response"]) {
            app.import("c-1", &june(1.0 + f64::from(n))).expect(200);
            fail::cfg(name, "return").unwrap();
            app.supersede(&current, &json!({"reason": "usage_corrected"})).expect(500);
            fail::remove(name);
            let stored_before = name == "supersede::before_response";
            assert_eq!(app.comparison(&current).json()["status"] == "superseded", stored_before);
            let status = if stored_before { 200 } else { 201 };
            current = app.supersede(&current, &json!({"reason": "usage_corrected"})).expect(status).id();
        }
        assert_eq!(app.history(&current).len(), 4);
    });
}

#[test]
fn a_lost_answer_of_a_commit_is_settled_by_what_is_stored() {
    on_each(|app| {
        for (n, stop) in
            ["store::insert_comparison::after_commit", "store::insert_comparison::before_commit"].iter().enumerate()
        {
            let plan = ["cheap", "tou"][n];
            fail::cfg(*stop, "1*return->off").unwrap();
            app.compare(&question(&[plan])).expect(201);
            assert_eq!(app.compare(&question(&[plan])).expect(200).header("idempotent-replayed"), Some("true"));
            fail::remove(*stop);
        }
        assert_eq!(app.database.count("comparisons"), 2);
    });
}

#[test]
fn a_full_engine_refuses_and_still_answers_what_is_stored() {
    let small = |settings: &mut Settings| (settings.engine_jobs, settings.engine_queue) = (1, 0);
    on_each_with(small, |app| {
        app.compare(&question(&["cheap"])).expect(201);
        let hold = Hold::at("compare::inputs_read");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            let refused = app.compare(&question(&["tou"])).expect(503);
            assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("overloaded", Some("1")));
            app.compare(&question(&["cheap"])).expect(200);
            app.get("/livez").expect(200);
            hold.release();
            asked.join().unwrap().expect(201);
        });
        app.compare(&question(&["tou"])).expect(201);
    });
}

#[test]
fn more_requests_than_the_limit_are_shed_and_the_watcher_is_answered() {
    on_each_with(
        |settings| settings.max_requests_in_flight = 1,
        |app| {
            let hold = Hold::at("compare::computed");
            std::thread::scope(|scope| {
                let asked = scope.spawn(|| app.compare(&question(&["flat"])));
                hold.wait();
                assert_eq!(app.get("/v1/plans").expect(503).code(), "overloaded");
                app.get("/livez").expect(200);
                app.get("/readyz").expect(200);
                hold.release();
                asked.join().unwrap().expect(201);
            });
            app.get("/v1/plans").expect(200);
        },
    );
}

#[test]
fn a_stopping_server_finishes_what_it_accepted() {
    on_each(|app| {
        let hold = Hold::at("compare::computed");
        let TestApp { client, server, database } = app;
        let address = server.address();
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| client.compare(&question(&["flat"])));
            hold.wait();
            // A second client asks for something else and is gone before the server stops.
            let body = question(&["tou"]).to_string();
            let mut gone = TcpStream::connect(address).unwrap();
            write!(
                gone,
                "POST /v1/comparisons HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            eventually("the second computation", || server.service().n_computations() == 2);
            drop(gone);
            let stopped = scope.spawn(move || server.stop());
            std::thread::sleep(Duration::from_millis(200));
            assert!(!stopped.is_finished(), "the server waits for what it accepted");
            hold.release();
            assert_eq!(asked.join().unwrap().status, 201);
            stopped.join().unwrap().unwrap();
        });
        assert!(TcpStream::connect(address).is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused));
        assert_eq!(database.count("comparisons"), 2);
    });
}

#[test]
fn a_revert_between_reading_and_insert_is_in_the_stored_answer() {
    on_each(|app| {
        let wrong = app.import("c-1", &june(2.0)).expect(200).json();
        let hold = Hold::at("compare::inputs_read");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| app.compare(&question(&["flat"])));
            hold.wait();
            let path = format!("/v1/imports/{}/revert", wrong["import_id"].as_str().unwrap());
            app.send("POST", &path, &[], &[]).expect(201);
            hold.release();
            let body = asked.join().unwrap().expect(201).json();
            assert_eq!((&body["inputs"]["usage_revision"], &body["freshness"]["state"]), (&json!(3), &json!("fresh")));
            assert_eq!(body["result"]["usage"]["import_kwh"], "720");
        });
        assert_eq!((app.database.count("comparisons"), app.server.service().n_computations()), (1, 2));
    });
}
