//! A PostgreSQL cluster of a test's own, to be killed, stopped, followed by a standby and promoted.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use samebill::store::{self, StoreOptions};

use crate::helpers::shapes::{owned_command, owned_folder};
use crate::process::free_port;

/// How long anything may take on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A cluster in a temporary folder on a free loopback port. Dropped, it is stopped and removed.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    password: String,
    port: u16,
    /// `None` while it is down.
    postmaster: Option<Child>,
}

impl Cluster {
    /// A running cluster. `None` says that PostgreSQL's server programs are not here, which fails in CI.
    pub(crate) fn create() -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL's server programs are not here");
            eprintln!("NOT RUN: PostgreSQL's server programs are not here; tests/run finds or installs them");
            return None;
        };
        let folder = owned_folder();
        let password = format!("{:032x}", fastrand::u128(..));
        let password_file = folder.path().join("password");
        fs::write(&password_file, &password).unwrap();
        run(owned_command(&programs.join("initdb"), folder.path())
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-U", "samebill", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--pwfile"])
            .arg(&password_file));
        let mut cluster = Self { folder, programs, password, port: 0, postmaster: None };
        cluster.start_on_a_free_port();
        Some(cluster)
    }

    /// A running standby of another cluster, which from then on commits nothing before the standby has it.
    pub(crate) fn standby_of(primary: &Self) -> Self {
        let folder = owned_folder();
        let (programs, password) = (primary.programs.clone(), primary.password.clone());
        run(owned_command(&programs.join("pg_basebackup"), folder.path())
            .arg("-d")
            .arg(format!("{}?application_name=standby", primary.url("postgres")))
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"])
            .arg(folder.path().join("data")));
        let mut standby = Self { folder, programs, password, port: 0, postmaster: None };
        standby.start_on_a_free_port();
        // After the copy: the standby must not wait for a standby of its own once it is promoted.
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        primary.execute("SELECT pg_reload_conf()");
        primary.wait_for_standby();
        standby
    }

    /// Waits until a standby follows and commits wait for it.
    pub(crate) fn wait_for_standby(&self) {
        eventually("a synchronous standby", || {
            self.count("pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'") == 1
        });
    }

    /// Of a database on this cluster.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://samebill:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Of a database on whichever of two clusters takes writes.
    pub(crate) fn url_of_either(&self, other: &Self, database: &str) -> String {
        let (password, port, other) = (&self.password, self.port, other.port);
        format!(
            "postgres://samebill:{password}@127.0.0.1:{port},127.0.0.1:{other}/{database}?target_session_attrs=read-write"
        )
    }

    /// Makes and migrates a database.
    pub(crate) fn create_database(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE {name}"));
        let url = self.url(name);
        store::migrate(&url, &StoreOptions::default()).expect("migrations apply");
        url
    }

    /// Runs statements on the database `postgres`.
    pub(crate) fn execute(&self, sql: &str) {
        let mut connection = PgConnection::establish(&self.url("postgres")).expect("the cluster is up");
        connection.batch_execute(sql).expect("the statement is good");
    }

    /// Rows of a table, and a condition, of the database `postgres`.
    pub(crate) fn count(&self, from: &str) -> i64 {
        count(&self.url("postgres"), from)
    }

    /// Starts it again on its port and waits until it answers.
    pub(crate) fn start(&mut self) {
        assert!(self.try_start(), "PostgreSQL did not start; its log:\n{}", self.log());
    }

    /// `pg_ctl stop -m immediate`: as after a crash, nothing is written that was not.
    pub(crate) fn stop_immediate(&mut self) {
        run(owned_command(&self.programs.join("pg_ctl"), self.folder.path()).arg("-D").arg(self.data()).args([
            "-m",
            "immediate",
            "-w",
            "stop",
        ]));
        self.postmaster.take().expect("it ran").wait().unwrap();
    }

    /// SIGKILL to the postmaster and every process it has started.
    pub(crate) fn kill(&mut self) {
        let mut postmaster = self.postmaster.take().expect("it runs");
        let id = postmaster.id();
        // Held first, so that it starts no further one.
        signal("-STOP", &[id]);
        signal("-KILL", &children_of(id));
        postmaster.kill().unwrap();
        postmaster.wait().unwrap();
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        run(owned_command(&self.programs.join("pg_ctl"), self.folder.path())
            .arg("-D")
            .arg(self.data())
            .args(["-w", "-t", "60", "promote"]));
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What it has written of itself.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn start_on_a_free_port(&mut self) {
        for _ in 0..5 {
            self.port = free_port();
            if self.try_start() {
                return;
            }
        }
        panic!("PostgreSQL did not start; its log:\n{}", self.log());
    }

    fn try_start(&mut self) -> bool {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut command = owned_command(&self.programs.join("postgres"), self.folder.path());
        command.arg("-D").arg(self.data());
        for setting in [
            format!("port={}", self.port),
            format!("unix_socket_directories={}", self.folder.path().display()),
            "listen_addresses=127.0.0.1".to_owned(),
            "max_connections=100".to_owned(),
            "shared_buffers=16MB".to_owned(),
            // A standby that is gone is noticed soon, one that was away is back soon.
            "wal_sender_timeout=5s".to_owned(),
            "wal_retrieve_retry_interval=200ms".to_owned(),
        ] {
            command.arg("-c").arg(setting);
        }
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut postmaster = command.spawn().expect("the program starts");
        let begun = Instant::now();
        loop {
            if PgConnection::establish(&self.url("postgres")).is_ok() {
                self.postmaster = Some(postmaster);
                return true;
            }
            if postmaster.try_wait().unwrap().is_some() || begun.elapsed() > LONG {
                let _ = postmaster.kill();
                let _ = postmaster.wait();
                return false;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.postmaster.is_some() {
            self.kill();
        }
    }
}

/// Rows of a table, and a condition.
pub(crate) fn count(url: &str, from: &str) -> i64 {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        n: i64,
    }
    let mut connection = PgConnection::establish(url).expect("the cluster is up");
    let row: Row = diesel::sql_query(format!("SELECT count(*) AS n FROM {from}")).get_result(&mut connection).unwrap();
    row.n
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The folder of `initdb` and `postgres`.
fn programs() -> Option<PathBuf> {
    let given = std::env::var_os("SAMEBILL_POSTGRES_BIN").map(PathBuf::from);
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    installed.sort();
    given.into_iter().chain(installed.into_iter().rev()).find(|folder| {
        ["initdb", "postgres", "pg_ctl", "pg_basebackup"].iter().all(|program| folder.join(program).exists())
    })
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
}

/// The processes that a process has started and that run now.
fn children_of(id: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let child = entry.file_name().to_str()?.parse().ok()?;
            let status = fs::read_to_string(entry.path().join("stat")).ok()?;
            // `ID (NAME) STATE PARENT …`; a name may hold anything.
            let (_, after_name) = status.rsplit_once(')')?;
            (after_name.split_whitespace().nth(1)? == id.to_string()).then_some(child)
        })
        .collect()
}

fn signal(signal: &str, processes: &[u32]) {
    if !processes.is_empty() {
        // One that has ended by itself is no fault.
        let _ =
            Command::new("kill").arg(signal).args(processes.iter().map(u32::to_string)).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_cluster_that_was_killed_or_stopped_comes_back_with_what_was_committed() {
    let _alone = crate::support::alone();
    let Some(mut cluster) = Cluster::create() else { return };
    cluster.execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)");
    cluster.kill();
    assert!(PgConnection::establish(&cluster.url("postgres")).is_err());
    cluster.start();
    cluster.execute("INSERT INTO kept VALUES (2)");
    cluster.stop_immediate();
    cluster.start();
    assert_eq!(cluster.count("kept"), 2);
}

#[test]
fn a_standby_has_every_commit_and_takes_over() {
    let _alone = crate::support::alone();
    let Some(mut primary) = Cluster::create() else { return };
    let standby = Cluster::standby_of(&primary);
    primary.execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)");
    primary.kill();
    standby.promote();
    standby.execute("INSERT INTO kept VALUES (2)");
    assert_eq!(standby.count("kept"), 2);
}
