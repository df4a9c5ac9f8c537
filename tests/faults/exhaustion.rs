//! A machine that runs out of something: room on the disk, file descriptors. What was acknowledged stays, what cannot be
//! served is refused in the way that says to come again, and the server goes on without a restart once there is room.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::helpers::{Client, Database, Engine, Reply, at_once, flat, hours, june};
use crate::process::Process;
use crate::support::{alone, seed, short_or_long};

/// A small disk of its own, taken away when the test is over.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None` where nobody may mount one: in a container without that right, for instance.
    fn mount(n_bytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={n_bytes},mode=1777");
        let is_mounted = as_root("mount", &["-t", "tmpfs", "-o", &options, "samebill-test"], folder.path());
        if !is_mounted {
            eprintln!("NOT RUN: no small disk can be mounted here");
        }
        is_mounted.then_some(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes until nothing more fits.
    fn fill(&self) {
        let mut filler = std::fs::File::create(self.path("filler")).unwrap();
        for n_bytes in [64 << 10, 1 << 10, 1] {
            while filler.write_all(&vec![0; n_bytes]).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.path("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a server that was killed may still be on its way out.
        as_root("umount", &["-l"], self.folder.path());
    }
}

/// Runs a program on a folder, through `sudo` if it has to be; whether it went well.
fn as_root(program: &str, options: &[&str], folder: &Path) -> bool {
    let run = |mut command: Command| command.args(options).arg(folder).output().is_ok_and(|out| out.status.success());
    let mut sudo = Command::new("sudo");
    sudo.args(["-n", program]);
    run(Command::new(program)) || run(sudo)
}

/// Refused because there is no room, in the way that says to come again.
#[track_caller]
fn assert_no_room(reply: &Reply) {
    let body = String::from_utf8_lossy(&reply.body);
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")), "{body}");
    assert!(["storage_full", "busy"].contains(&reply.code().as_str()), "{body}");
}

/// Another question for each number below 225.
fn ask(client: &Client, plan: &str, n: u64) -> Reply {
    let (start, end) = (1 + n % 15, 16 + n / 15 % 15);
    client.compare(&json!({"customer_id": "c-1", "plan_ids": [plan],
        "billing_period": {"start": format!("2026-06-{start:02}"), "end": format!("2026-06-{end:02}")}}))
}

/// What was acknowledged is there, byte for byte.
#[track_caller]
fn assert_kept(client: &Client, acknowledged: &BTreeMap<String, String>) {
    for (id, hash) in acknowledged {
        let reply = client.comparison(id).expect(200);
        assert_eq!(&reply.result_hash(), hash, "{id}");
        assert_eq!(client.history(id).len(), 1);
    }
}

#[test]
fn a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing() {
    let _alone = alone();
    let seed = seed("a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing");
    let mut random = fastrand::Rng::with_seed(seed);
    let Some(disk) = Disk::mount(8 << 20) else { return };
    let url = format!("sqlite://{}", disk.path("test.db").display());
    let mut server = Process::serve(&url, &[]);
    let mut client = server.client.clone();
    client.fill();
    let mut acknowledged = BTreeMap::new();
    let mut n_refused = 0;
    for n in 0..8 {
        let reply = ask(&client, "flat", n).expect(201);
        acknowledged.insert(reply.id(), reply.result_hash());
    }
    for round in 0..short_or_long(2, 20) {
        let plan = format!("plan-{round}");
        client.put_plan(&plan, &flat("New", "0.30")).expect(201);
        disk.fill();
        let mut next_question = 0;
        // What fits into the log is still kept; then nothing is.
        let refused = loop {
            let reply = ask(&client, &plan, next_question);
            if reply.status != 201 {
                break reply;
            }
            acknowledged.insert(reply.id(), reply.result_hash());
            next_question += 1;
            assert!(next_question < 200, "the disk is not full");
        };
        assert_no_room(&refused);
        assert_eq!(refused.code(), "storage_full");

        // Many at once, whatever they want to write: refused in time, and what is read is answered.
        let file = noise(&mut random);
        let begun = Instant::now();
        let replies = at_once(24, |i| match i % 4 {
            0 => client.import("c-1", &file),
            1 => client.put_plan(&format!("plan-{round}-{i}"), &flat("New", "0.30")),
            _ => ask(&client, &plan, next_question + 1 + i as u64),
        });
        let took = begun.elapsed();
        for reply in &replies {
            // A small row may still find a place in the log.
            match reply.status {
                201 if reply.json()["natural_key"].is_string() => {
                    acknowledged.insert(reply.id(), reply.result_hash());
                }
                200 | 201 => {}
                _ => {
                    n_refused += 1;
                    assert_no_room(reply);
                }
            }
        }
        assert!(took < Duration::from_secs(60), "24 refusals took {took:?}");
        client.get("/livez").expect(200);
        client.get("/readyz").expect(200);
        assert_kept(&client, &acknowledged);

        // Killed with a full disk, it comes back and still has everything.
        if round % 2 == 1 {
            server.kill();
            server = Process::serve(&url, &[]);
            client = server.client.clone();
            assert_kept(&client, &acknowledged);
        }
        disk.make_room();
        let reply = ask(&client, &plan, next_question).expect(201);
        acknowledged.insert(reply.id(), reply.result_hash());
        client.import("c-1", &hours("2026-05-01T00:00:00Z", 24, f64::from(round))).expect(200);
    }
    server.kill();
    let server = Process::serve(&url, &[]);
    assert_kept(&server.client, &acknowledged);
    println!("{} answers kept, {n_refused} calls refused", acknowledged.len());
    assert!(n_refused > 0);
}

/// Hourly readings of another year that do not compress.
fn noise(random: &mut fastrand::Rng) -> String {
    let mut csv = june(1.0).lines().next().unwrap().to_owned() + "\n";
    for line in hours("2025-01-01T00:00:00Z", 8_760, 0.0).lines().skip(1) {
        let (start, _) = line.split_once(',').unwrap();
        writeln!(csv, "{start},{}.{:06}", random.u32(0..9), random.u32(0..1_000_000)).unwrap();
    }
    csv
}

/// A connection that is kept open.
struct Open(TcpStream);

impl Open {
    fn to(client: &Client) -> Self {
        let stream = TcpStream::connect(client.base.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(stream)
    }

    /// The status of an answer; 0 if the connection was closed instead.
    fn send(&mut self, method: &str, path: &str, body: &str) -> u16 {
        let host = self.0.peer_addr().unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut answer = [0; 16 << 10];
        let sent = self.0.write_all((head + body).as_bytes());
        let n = sent.and_then(|()| self.0.read(&mut answer)).unwrap_or(0);
        let head = String::from_utf8_lossy(&answer[..n]);
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
}

/// Seconds of processor time that a process has used.
fn cpu_s(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // User and system time in hundredths, the 14th and 15th field of the line.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn n_open_files(id: u32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

#[test]
fn a_server_without_file_descriptors_waits_and_goes_on_when_there_are_some() {
    let _alone = alone();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(database) = Database::create(engine) else { continue };
        // A connection that the database cannot be given is waited for as long.
        let server = Process::serve(&database.url, &["--database-wait-ms", "2000"]);
        let client = &server.client;
        client.fill();
        let first = ask(client, "flat", 0).expect(201);
        // Some for what runs already and for a few connections more.
        let limit = n_open_files(server.id()) + 24;
        let limited = Command::new("prlimit")
            .args(["--pid", &server.id().to_string(), &format!("--nofile={limit}:{limit}")])
            .status();
        if !limited.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("CI").is_none(), "prlimit is there on every Linux");
            eprintln!("NOT RUN: no prlimit here");
            return;
        }
        let mut early = Open::to(client);
        assert_eq!(early.send("GET", "/livez", ""), 200);
        // More than it can have, fewer than the system keeps for it. Those that it takes ask for something and stay.
        let open_and_ask = |_| {
            let mut open = Open::to(client);
            write!(open.0, "GET /livez HTTP/1.1\r\nhost: {}\r\n\r\n", open.0.peer_addr().unwrap()).unwrap();
            open
        };
        let idle: Vec<Open> = (0..100).map(open_and_ask).collect();
        let begun = Instant::now();
        while n_open_files(server.id()) < limit && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(n_open_files(server.id()) >= limit, "{} of {limit} are open", n_open_files(server.id()));

        // Who has a connection is served, or told to come again. Nobody else is, and that costs nothing.
        let before = cpu_s(server.id());
        let watched = Instant::now();
        assert_eq!(early.send("GET", "/livez", ""), 200);
        let path = format!("/v1/comparisons/{}", first.id());
        let status = early.send("GET", &path, "");
        assert!([200, 503].contains(&status), "{status} on {engine:?}");
        std::thread::sleep(Duration::from_secs(2));
        let used = (cpu_s(server.id()) - before) / watched.elapsed().as_secs_f64();
        assert!(used < 0.5, "a server that cannot take connections keeps {used:.2} processors busy");

        drop(idle);
        drop(early);
        let begun = Instant::now();
        let answered = client.comparison(&first.id()).expect(200);
        println!("{engine:?}: at the limit {used:.2} processors busy, answers {:?} after it", begun.elapsed());
        assert_eq!(answered.result_hash(), first.result_hash());
        // The system takes back what was open a little at a time.
        while ask(client, "flat", 1).status == 503 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(100));
        }
        ask(client, "flat", 1).expect(200);
        client.import("c-1", &june(2.0)).expect(200);
        client.supersede(&first.id(), &json!({"reason": "usage_corrected"})).expect(201);
        assert_eq!(database.count("comparisons"), 3);
    }
}
