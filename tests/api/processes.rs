//! Server processes, as they run in production: two on one database, and one that is told to stop.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::helpers::{Client, Database, Engine, Reply, at_once, distinct, question};
use crate::meter_points::{many, send};
use crate::races::race_supersedes;

/// A `samebill serve`, killed when the test is over.
struct Process {
    child: Child,
    client: Client,
}

impl Process {
    fn serve(database: &Database, more: &[&str]) -> Self {
        // Free a moment ago; nobody else is likely to take it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("127.0.0.1:{port}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_samebill"))
            .args(["serve", "--database-url", &database.url, "--listen", &listen])
            .args(more)
            .env("SAMEBILL_LOG", "warn,samebill::cli=info")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = BufReader::new(child.stderr.take().expect("piped"));
        std::thread::spawn(move || log.lines().map_while(Result::ok).for_each(|line| eprintln!("[{port}] {line}")));
        let client = Client::new(&format!("http://{listen}"));
        let begun = Instant::now();
        while !client.try_send("GET", "/readyz", &[], &[]).is_ok_and(|reply| reply.status == 200) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server did not become ready");
            assert!(child.try_wait().unwrap().is_none(), "the server ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, client }
    }

    /// SIGTERM, and how the process ends.
    #[cfg(unix)]
    fn terminate(mut self) -> std::process::ExitStatus {
        let kill = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server did not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reordered(i: usize) -> Value {
    let mut plans = vec!["flat", "cheap", "tou"];
    plans.rotate_left(i % 3);
    plans.extend(plans.clone().into_iter().take(i % 4));
    question(&plans)
}

fn two_processes(more: &[&str]) {
    let Some(database) = Database::create(Engine::Postgres) else { return };
    let processes = [Process::serve(&database, more), Process::serve(&database, more)];
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
        let process = Process::serve(&database, &[]);
        process.client.fill();
        let first = process.client.compare(&question(&["flat"])).expect(201);
        assert!(process.terminate().success());
        let process = Process::serve(&database, &[]);
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
        let mut process = Process::serve(&database, &[]);
        let file = many(&process.client, N);
        let client = process.client.clone();
        let n_parts = || database.count("imports WHERE part_of IS NOT NULL");
        std::thread::scope(|scope| {
            scope.spawn(|| client.try_send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes()));
            while n_parts() < 10 {
                std::thread::sleep(Duration::from_millis(1));
            }
            process.child.kill().unwrap();
        });
        drop(process);
        let process = Process::serve(&database, &[]);
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
