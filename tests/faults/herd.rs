//! A thousand callers at the same instant: one computation, one row, one answer.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use samebill::app::RunningServer;
use serde_json::{Value, json};

use crate::helpers::{Client, Database, Engine, Reply, TestApp, distinct, june, question, start};
use crate::support;

/// Callers: a thousand, or as many as this machine lets one process hold the two ends of.
fn herd_size() -> usize {
    const WANTED: usize = 1_000;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok());
    let fits = soft.unwrap_or(1_024_usize).saturating_sub(200) / 3;
    if fits < WANTED {
        println!("NOT THE WHOLE HERD: {fits} callers and not {WANTED}, because of the limit of open files (ulimit -n)");
    }
    fits.min(WANTED)
}

/// The answers to calls from threads that a barrier releases at once, and how many had to be repeated: a server gives up
/// a connection on which nothing comes for 5 s, and on a busy machine a thread may not get that far in time.
fn herd(n: usize, call: impl Fn(usize) -> Result<Reply, ureq::Error> + Sync) -> (Vec<Reply>, usize) {
    let n_repeated = AtomicUsize::new(0);
    let call = |i: usize| {
        for _ in 0..10 {
            match call(i) {
                Ok(reply) if reply.status != 408 => return reply,
                _ => n_repeated.fetch_add(1, Ordering::Relaxed),
            };
        }
        panic!("no answer");
    };
    let replies = at_the_same_instant(n, call);
    (replies, n_repeated.into_inner())
}

fn at_the_same_instant(n: usize, call: impl Fn(usize) -> Reply + Sync) -> Vec<Reply> {
    let barrier = Barrier::new(n);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n)
            .map(|i| {
                let (call, barrier) = (&call, &barrier);
                let caller = move || {
                    barrier.wait();
                    call(i)
                };
                std::thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, caller).expect("a thread")
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("every call is answered")).collect()
    })
}

/// Asks the same question in a caller's own way.
fn ask(client: &Client, query: &str, i: usize) -> Result<Reply, ureq::Error> {
    let question = spelled(i).to_string();
    let path = format!("/v1/comparisons{query}");
    client.try_send("POST", &path, &[("content-type", "application/json")], question.as_bytes())
}

fn spelled(i: usize) -> Value {
    let mut plans = vec!["flat", "cheap", "tou"];
    plans.rotate_left(i % 3);
    plans.extend(plans.clone().into_iter().take(i % 4));
    question(&plans)
}

/// All the same, and one of them was told that it made it.
#[track_caller]
fn are_alike((replies, n_repeated): &(Vec<Reply>, usize)) {
    let n_made = replies.iter().filter(|reply| reply.status == 201).count();
    let n_found = replies.iter().filter(|reply| reply.status == 200).count();
    let other = replies.iter().find(|reply| !matches!(reply.status, 200 | 201));
    assert!(other.is_none(), "{}", String::from_utf8_lossy(&other.unwrap().body));
    assert_eq!(n_made + n_found, replies.len());
    // The one who was told may have been among those who did not hear it.
    assert!(n_made == 1 || (n_made == 0 && *n_repeated > 0), "{n_made} were told that they made it");
    let bodies: Vec<String> = replies.iter().map(|reply| String::from_utf8(reply.body.clone()).unwrap()).collect();
    assert_eq!(distinct(&bodies), 1);
}

/// Settings of a server whose callers may wait, on whatever machine this is.
fn patient(settings: &mut samebill::config::Settings) {
    settings.database_wait_ms = 60_000;
    settings.engine_jobs = 2;
}

#[test]
fn a_herd_at_one_server_makes_one_computation_and_one_row() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let _alone = support::alone();
        let Some(app) = TestApp::spawn_with(engine, patient) else { continue };
        app.fill();
        let n = herd_size();
        are_alike(&herd(n, |i| ask(&app, "", i)));
        assert_eq!(app.server.service().n_computations(), 1);
        assert_eq!((app.database.count("comparisons"), app.database.count("comparison_results")), (1, 1));

        // Corrected: who asks for a fresh answer gets one successor. It is computed by no more callers than may compute
        // or write at the same time: the others see that it is there.
        app.import("c-1", &june(2.0)).expect(200);
        are_alike(&herd(n, |i| ask(&app, "?if_stale=supersede", i)));
        assert!(app.server.service().n_computations() <= 1 + 2 + 64);
        assert_eq!((app.database.count("comparisons"), app.database.count("comparison_results")), (2, 2));
    }
}

#[test]
fn a_herd_at_three_servers_makes_at_most_three_computations_and_one_row() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let _alone = support::alone();
        let Some(database) = Database::create(engine) else { continue };
        let servers: Vec<RunningServer> = (0..3).map(|_| start(&database.url, patient)).collect();
        let clients: Vec<Client> =
            servers.iter().map(|server| Client::new(&format!("http://{}", server.address()))).collect();
        clients[0].fill();
        are_alike(&herd(herd_size(), |i| ask(&clients[i % 3], "", i)));
        for server in &servers {
            assert!(server.service().n_computations() <= 1, "each joins its callers");
        }
        assert_eq!((database.count("comparisons"), database.count("comparison_results")), (1, 1));
        let id = clients[1].compare(&spelled(0)).expect(200).id();
        clients[2].supersede(&id, &json!({"reason": "manual"})).expect(200);
        for server in servers {
            server.stop().unwrap();
        }
    }
}
