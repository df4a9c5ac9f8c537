//! Runs the binary, and finds what tests need from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use diesel::{Connection as _, PgConnection, RunQueryDsl as _};
use serde_json::Value;
use serde_json::value::RawValue;

/// The binary without the settings of whoever runs the tests.
pub(crate) fn samebill(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samebill"));
    command.current_dir(folder).env("COLUMNS", "100");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SAMEBILL_")) {
        command.env_remove(name);
    }
    command
}

/// What one run came to.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary with these arguments, separated by blanks.
pub(crate) fn run(folder: &Path, arguments: &str) -> Run {
    let arguments = arguments.split_whitespace();
    let Output { status, stdout, stderr } = samebill(folder).args(arguments).output().expect("the binary runs");
    Run {
        code: status.code().expect("the binary ends by itself"),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

impl Run {
    /// Fails with all output unless the run was a success.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }

    /// The bytes of `result` in an answer of the service.
    #[track_caller]
    pub(crate) fn result(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Answer {
            result: Box<RawValue>,
        }
        serde_json::from_str::<Answer>(&self.stdout).expect("an answer").result.get().to_owned()
    }
}

pub(crate) fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

/// A file of the reference data; `None`, said, where there is none.
pub(crate) fn reference(name: &str) -> Option<String> {
    let root = std::env::var_os("SAMEBILL_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join("reference").join(name);
    if path.exists() {
        return Some(path.display().to_string());
    }
    not_run(&format!("{} is not there (SAMEBILL_SHARED names the folder of reference data)", path.display()));
    None
}

/// Says that a test did not run; in CI that is a failure.
pub(crate) fn not_run(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "in CI every test runs: {why}");
    eprintln!("DID NOT RUN: {why}");
}

/// A database of its own on the test server, dropped afterwards.
pub(crate) struct PostgresDatabase {
    admin_url: String,
    name: String,
}

impl PostgresDatabase {
    /// `None`, said, where no server is named.
    pub(crate) fn create() -> Option<Self> {
        let Ok(admin_url) = std::env::var("SAMEBILL_TEST_POSTGRES_URL") else {
            not_run("SAMEBILL_TEST_POSTGRES_URL names no PostgreSQL server");
            return None;
        };
        let name = format!("samebill_cli_{}", uuid::Uuid::now_v7().simple());
        execute(&admin_url, &format!("CREATE DATABASE {name}"));
        Some(Self { admin_url, name })
    }

    pub(crate) fn url(&self) -> String {
        let (server, _) = self.admin_url.rsplit_once('/').expect("postgres://…/NAME");
        format!("{server}/{}", self.name)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        execute(&self.admin_url, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::establish(url).expect("the test server answers");
    diesel::sql_query(sql).execute(&mut connection).unwrap_or_else(|e| panic!("{sql}: {e}"));
}
