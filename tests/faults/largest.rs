//! The largest questions that are allowed keep every thread of the engine busy: what is stored is answered meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::helpers::{Database, Engine, Reply, flat, hours};
use crate::process::Process;
use crate::support::{alone, short_or_long};

/// Longest billing period.
const N_DAYS: i64 = 400;

/// Three prices, each plan with its own hours and prices.
fn plan(i: usize) -> Value {
    let (night, evening) = (5 + i % 4, 16 + i % 5);
    json!({"name": format!("Plan {i}"), "currency": "GBP",
        "schedules": {"tou": {"periods": [
            {"period": "night", "hours": [format!("00:00-{night:02}:00")]},
            {"period": "evening", "hours": [format!("{evening}:00-22:00")]},
            {"period": "day"}]}},
        "charges": [
            {"id": "standing", "kind": "fixed", "price": "0.50", "per": "day"},
            {"id": "energy", "kind": "energy", "schedule": "tou",
             "prices": {"night": format!("0.{:03}", 80 + i % 50), "evening": "0.412", "day": format!("0.{:03}", 200 + i % 90)}}]})
}

fn question(plans: &[String]) -> Value {
    json!({"customer_id": "c-1", "billing_period": {"start": "2025-05-01", "end": "2026-06-05"}, "plan_ids": plans})
}

fn story(engine: Engine) {
    let _alone = alone();
    let Some(database) = Database::create(engine) else { return };
    let n_plans = short_or_long(60, 1_000);
    let server = Process::serve(&database.url, &[]);
    let client = &server.client;
    client.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
    client.import("c-1", &hours("2025-05-01T00:00:00Z", N_DAYS * 24, 0.75)).expect(200);
    let plans: Vec<String> = (0..n_plans).map(|i| format!("p-{i}")).collect();
    for (i, id) in plans.iter().enumerate() {
        client.put_plan(id, &plan(i)).expect(201);
    }
    client.put_plan("flat", &flat("Flat", "0.20")).expect(201);
    let small = question(&["flat".to_owned()]);
    let stored = client.compare(&small).expect(201);

    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    let (replies, mut times): (Vec<Reply>, Vec<Duration>) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                client.get("/livez").expect(200);
                assert_eq!(client.compare(&small).expect(200).body, stored.body);
                times.push(asked.elapsed());
            }
            times
        });
        // Every one of them leaves another plan out: none joins another.
        let largest: Vec<_> = (0..4)
            .map(|left_out| {
                let asked: Vec<String> =
                    plans.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, id)| id.clone()).collect();
                scope.spawn(move || client.compare(&question(&asked)))
            })
            .collect();
        let replies = largest.into_iter().map(|asked| asked.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        (replies, watcher.join().unwrap())
    });
    let took = begun.elapsed();
    for reply in replies {
        assert_eq!(reply.expect(201).json()["result"]["plans"].as_array().map(Vec::len), Some(n_plans - 1));
    }
    times.sort();
    let slowest = *times.last().expect("it asked");
    println!(
        "largest on {engine:?}: four questions of {N_DAYS} days and {} plans in {took:?}; /livez and a hit meanwhile: {} times, half within {:?}, slowest {slowest:?}",
        n_plans - 1,
        times.len(),
        times[times.len() / 2],
    );
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    assert_eq!(client.compare(&small).expect(200).body, stored.body);
}

#[test]
fn what_is_stored_is_answered_while_the_largest_questions_are_computed_on_sqlite() {
    story(Engine::Sqlite);
}

#[test]
fn what_is_stored_is_answered_while_the_largest_questions_are_computed_on_postgres() {
    story(Engine::Postgres);
}
