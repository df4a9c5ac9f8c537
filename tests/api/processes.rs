//! Server processes, as they run in production: two on one database, and one that is told to stop.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::helpers::{Database, Engine, Reply, at_once, distinct, question};
use crate::meter_points::{many, send};
use crate::process::Process;
use crate::races::race_supersedes;

fn reordered(i: usize) -> Value {
    let mut plans = vec!["flat", "cheap", "tou"];
    plans.rotate_left(i % 3);
    plans.extend(plans.clone().into_iter().take(i % 4));
    question(&plans)
}

fn two_processes(more: &[&str]) {
    let Some(database) = Database::create(Engine::Postgres) else { return };
    let processes = [Process::serve(&database.url, more), Process::serve(&database.url, more)];
    let [one, two] = processes.each_ref().map(|process| &process.client);
    one.fill();
    let replies = at_once(64, |i| if i.is_multiple_of(2) { one } else { two }.compare(&reordered(i)));
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 201)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 201).count() <= 1, "{statuses:?}");
    let hashes: Vec<String> = replies.iter().map(Reply::result_hash).collect();
    let ids: Vec<String> = replies.iter().map(Reply::id).collect();
    assert_eq!((distinct(&hashes), distinct(&ids), database.count("comparisons")), (1, 1, 1));
    race_supersedes(one, &[one, two], &database);
}

#[test]
fn two_processes_on_one_postgres_give_one_answer() {
    two_processes(&[]);
}

#[test]
fn two_processes_without_coalescing_give_one_answer() {
    two_processes(&["--no-coalescing"]);
}

#[cfg(unix)]
#[test]
fn a_process_that_is_told_to_stop_ends_well_and_leaves_what_it_stored() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(database) = Database::create(engine) else { continue };
        let process = Process::serve(&database.url, &[]);
        process.client.fill();
        let first = process.client.compare(&question(&["flat"])).expect(201);
        assert!(process.terminate().success());
        let process = Process::serve(&database.url, &[]);
        assert_eq!(process.client.compare(&question(&["flat"])).expect(200).body, first.body);
        process.client.supersede(&first.id(), &json!({"reason": "manual", "force": true})).expect(201);
    }
}

/// Killed in the middle of a file of many meter points: what was stored stays, the record says what is left, and the same
/// file again stores that and nothing twice.
#[test]
fn a_process_that_is_killed_loses_and_doubles_nothing_of_a_file_of_many() {
    const N: usize = 200;
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(database) = Database::create(engine) else { continue };
        let mut process = Process::serve(&database.url, &[]);
        let file = many(&process.client, N);
        let client = process.client.clone();
        let n_parts = || database.count("imports WHERE part_of IS NOT NULL");
        std::thread::scope(|scope| {
            scope.spawn(|| client.try_send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes()));
            while n_parts() < 10 {
                std::thread::sleep(Duration::from_millis(1));
            }
            process.kill();
        });
        drop(process);
        let process = Process::serve(&database.url, &[]);
        let n_stored = n_parts();
        assert!(n_stored < i64::try_from(N).unwrap(), "it was killed before the end");
        let left = process.client.get("/v1/imports?state=incomplete").expect(200).json()["items"][0].clone();
        let shown = process.client.get(&format!("/v1/imports/{}", left["id"].as_str().unwrap())).expect(200).json();
        assert_eq!(shown["meter_points"]["done"], n_stored);
        assert_eq!(shown["meter_points"]["pending"], i64::try_from(N).unwrap() - n_stored);
        assert_eq!(shown["counts"]["added"], 48 * n_stored);
        let done = send(&process.client, &file, "").expect(200).json();
        assert_eq!(
            (&done["id"], &done["state"], &done["meter_points"]["done"]),
            (&left["id"], &json!("done"), &json!(N))
        );
        assert_eq!(done["counts"]["added"], 48 * N);
        let n = i64::try_from(N).unwrap();
        assert_eq!((n_parts(), database.count("usage_revisions"), database.count("usage_blocks")), (n, n, n));
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused_at_start() {
    let output = Command::new(env!("CARGO_BIN_EXE_samebill"))
        .args(["serve", "--database-url", "sqlite://never-made.db", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("loopback"), "{said}");
    assert!(!std::path::Path::new("never-made.db").exists());
}
