//! A thousand callers at the same instant: one computation, one row, one answer.

use std::sync::Barrier;

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

/// Calls from threads that a barrier releases at once.
fn herd(n: usize, call: impl Fn(usize) -> Reply + Sync) -> Vec<Reply> {
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

/// The same question in a caller's own way.
fn spelled(i: usize) -> Value {
    let mut plans = vec!["flat", "cheap", "tou"];
    plans.rotate_left(i % 3);
    plans.extend(plans.clone().into_iter().take(i % 4));
    question(&plans)
}

/// All the same, and one of them was told that it made it.
#[track_caller]
fn are_alike(replies: &[Reply]) {
    let n_made = replies.iter().filter(|reply| reply.status == 201).count();
    let n_found = replies.iter().filter(|reply| reply.status == 200).count();
    let other = replies.iter().find(|reply| !matches!(reply.status, 200 | 201));
    assert!(other.is_none(), "{}", String::from_utf8_lossy(&other.unwrap().body));
    assert_eq!((n_made, n_found), (1, replies.len() - 1));
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
        are_alike(&herd(n, |i| app.compare(&spelled(i))));
        assert_eq!(app.server.service().n_computations(), 1);
        assert_eq!((app.database.count("comparisons"), app.database.count("comparison_results")), (1, 1));

        // Corrected: who asks for a fresh answer gets one successor, computed at most once a permit of the engine.
        app.import("c-1", &june(2.0)).expect(200);
        let anew = |i| app.json("POST", "/v1/comparisons?if_stale=supersede", &spelled(i));
        are_alike(&herd(n, anew));
        assert!(app.server.service().n_computations() <= 3);
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
        are_alike(&herd(herd_size(), |i| clients[i % 3].compare(&spelled(i))));
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
