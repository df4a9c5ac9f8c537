//! A primary and a synchronous standby: the standby that takes over has every acknowledged answer; while it is away
//! writes get no answer and are not cancelled, and everything else goes on.

use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::cluster::{Cluster, count, eventually};
use crate::helpers::{Client, Reply, flat, june, question};
use crate::kills::Load;
use crate::process::Process;
use crate::support::{self, repeat};
use crate::workload::{Servers, nothing_is_half_done};

/// How long callers wait for a write here; a write of a slow machine takes less.
const COMMIT_WAIT: Duration = Duration::from_secs(6);

/// The servers name both and are led to whichever takes writes.
#[test]
fn a_standby_that_takes_over_has_every_acknowledged_answer() {
    let _alone = support::alone();
    let seed = support::seed("failover");
    let mut rng = Rng::with_seed(seed);
    let mut slowest = Duration::ZERO;
    let n_rounds = support::short_or_long(1, 10);
    let (mut n_answers, mut n_comparisons) = (0, 0);
    for round in 0..n_rounds {
        let Some(mut primary) = Cluster::create() else { return };
        primary.create_database("failover");
        let standby = Cluster::standby_of(&primary);
        let load = Load::new(Servers::start(&primary.url_of_either(&standby, "failover"), 2), seed ^ round);
        let away = load.while_it_runs(|load| {
            load.wait_for_answers(rng.usize(20..80));
            std::thread::sleep(Duration::from_micros(rng.u64(..20_000)));
            primary.kill();
            let begun = Instant::now();
            std::thread::sleep(Duration::from_millis(rng.u64(..1_500)));
            standby.promote();
            // A question that nobody has asked: its answer is a write.
            let written = Load::question_of(0, 1, 30, &["flat", "moving", "tou"]).insist(&load.servers, 1);
            assert!(written.status < 300, "{}", String::from_utf8_lossy(&written.body));
            let away = begun.elapsed();
            load.wait_for_answers(40);
            away
        });
        load.nothing_is_lost();
        let standing = standby.url("failover");
        nothing_is_half_done(|from| count(&standing, from), false);
        // A call that got no answer was repeated until it had one: no row is left that is nobody's answer, but for the
        // question above.
        let n_acknowledged = load.acknowledged.n_comparisons();
        assert_eq!(count(&standing, "comparisons"), i64::try_from(n_acknowledged).unwrap() + 1);
        slowest = slowest.max(away);
        n_answers += load.acknowledged.n_answers.into_inner();
        n_comparisons += n_acknowledged;
    }
    println!(
        "failover: {n_rounds} failovers, {n_answers} answers, {n_comparisons} comparisons, at most {slowest:?} from the \
         primary's end to the next write, lost: 0"
    );
}

#[test]
fn while_the_standby_is_away_writes_are_unknown_and_none_is_cancelled() {
    let _alone = support::alone();
    let Some(primary) = Cluster::create() else { return };
    let url = primary.create_database("away");
    // Holds for reads; no statement of a write is cut off by it.
    primary.execute("ALTER DATABASE away SET statement_timeout = '2s'");
    let mut standby = Cluster::standby_of(&primary);
    let settings = ["--database-commit-wait-ms", &COMMIT_WAIT.as_millis().to_string(), "--shutdown-timeout-s", "2"];
    let [one, other, stopping] = [0; 3].map(|_| Process::serve(&url, &settings));
    let client = &one.client;
    client.fill();
    // PostgreSQL holds the head of a customer until the commit is over: each hangs on another one.
    for id in ["c-2", "c-3", "c-4"] {
        client.put_customer(id, &json!({"time_zone": "UTC"})).expect(201);
        client.import(id, &june(1.0)).expect(200);
    }
    let stored = client.compare(&of("c-3")).expect(201);
    let (old, forced) = (stored.id(), json!({"reason": "manual", "force": true}));

    standby.stop_immediate();
    let compare = |client: &Client| client.compare(&question(&["flat"]));
    let supersede = |client: &Client| client.supersede(&old, &forced);
    let import = |client: &Client| client.import("c-2", &june(2.0));
    let put = |client: &Client| client.put_plan("new", &flat("New", "0.30"));
    let writes: [&(dyn Fn(&Client) -> Reply + Sync); 4] = [&compare, &supersede, &import, &put];
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting = writes.map(|write| scope.spawn(|| write(client)));
        let fifth = scope.spawn(|| stopping.client.compare(&of("c-4")));
        eventually("commits that wait for the standby", || hanging(&primary) == 5);
        goes_on(client, &stored);
        for thread in waiting.into_iter().chain([fifth]) {
            unanswered(&thread.join().unwrap(), "outcome_unknown");
        }
    });
    let waited = begun.elapsed();
    assert!(waited >= COMMIT_WAIT, "{waited:?}: the wait was cut short");
    // The same server knows that it hangs, another one finds the customer taken; and no writer is left.
    unanswered(&compare(client), "outcome_unknown");
    unanswered(&compare(&other.client), "busy");
    unanswered(&put(client), "overloaded");
    // Told to stop, a server does not wait for ever.
    stopping.terminate();
    goes_on(client, &stored);
    goes_on(&other.client, &stored);
    assert_eq!((hanging(&primary), count(&url, "comparisons")), (5, 1));

    let back = chrono::Utc::now();
    standby.start();
    primary.wait_for_standby();
    primary.execute("ALTER DATABASE away RESET statement_timeout");
    let first = repeat(|| compare(&other.client)).expect(200);
    assert!(chrono::DateTime::parse_from_rfc3339(first.json()["created_at"].as_str().unwrap()).unwrap() < back);
    assert_eq!(repeat(|| compare(client)).expect(200).id(), first.id());
    assert_eq!(repeat(|| supersede(client)).expect(200).json()["predecessor_id"], old.as_str());
    assert_eq!(repeat(|| import(client)).expect(200).json()["unchanged"], 720);
    assert_eq!(repeat(|| put(client)).expect(200).json()["version"], 1);
    repeat(|| client.compare(&of("c-4"))).expect(200);
    client.put_plan("more", &flat("More", "0.40")).expect(201);
    assert_eq!((count(&url, "comparisons"), count(&url, "usage_revisions")), (4, 5));
    nothing_is_half_done(|from| count(&url, from), false);
    let log = primary.log();
    assert!(!log.contains("canceling wait for synchronous replication") && !log.contains("statement timeout"), "{log}");
}

fn of(customer: &str) -> Value {
    json!({"customer_id": customer, "billing_period": "2026-06", "plan_ids": ["cheap"]})
}

/// Commits that wait for the standby.
fn hanging(primary: &Cluster) -> i64 {
    primary.count("pg_stat_activity WHERE wait_event = 'SyncRep'")
}

/// What needs no commit is answered.
fn goes_on(client: &Client, stored: &Reply) {
    assert_eq!(client.compare(&of("c-3")).expect(200).body, stored.body);
    assert_eq!(client.comparison(&stored.id()).expect(200).body, stored.body);
    client.get("/livez").expect(200);
    client.get("/readyz").expect(200);
}

#[track_caller]
fn unanswered(reply: &Reply, code: &str) {
    let reply = reply.clone().expect(503);
    assert_eq!((reply.code().as_str(), reply.header("retry-after")), (code, Some("1")));
}
