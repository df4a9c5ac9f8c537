//! The shapes PostgreSQL is run in: plain, with its tables partitioned by tenant, or behind pgbouncer. Tests run in the one
//! that `SAMEBILL_TEST_SHAPE` names; `tests/run --long` goes through all.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use diesel::Connection as _;
use diesel::pg::PgConnection;
use samebill::store::StoreOptions;

/// How PostgreSQL is set up and reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Plain,
    /// The tables are hash-partitioned by tenant.
    Partitioned,
    /// Through pgbouncer: a connection of the server's has one of the database's to itself.
    PooledSession,
    /// Through pgbouncer: it has one for each transaction; statements cannot stay prepared.
    PooledTransaction,
}

impl Shape {
    /// The shape of this run.
    pub(crate) fn of_this_run() -> Self {
        match std::env::var("SAMEBILL_TEST_SHAPE").as_deref() {
            Err(_) | Ok("" | "plain") => Self::Plain,
            Ok("partitioned") => Self::Partitioned,
            Ok("pooled_session") => Self::PooledSession,
            Ok("pooled_transaction") => Self::PooledTransaction,
            Ok(other) => panic!("SAMEBILL_TEST_SHAPE={other} is no shape"),
        }
    }

    /// What the store has to know of it.
    pub(crate) fn options(self) -> StoreOptions {
        StoreOptions {
            partitioned: self == Self::Partitioned,
            prepared_statements: self != Self::PooledTransaction,
            ..StoreOptions::default()
        }
    }

    /// The URL of a database for servers, from that of a direct connection.
    pub(crate) fn url(self, direct: &str) -> String {
        // One pooler for all tests of this program; it ends with the program.
        static POOLER: OnceLock<Pooler> = OnceLock::new();
        let mode = match self {
            Self::Plain | Self::Partitioned => return direct.to_owned(),
            Self::PooledSession => "session",
            Self::PooledTransaction => "transaction",
        };
        // More connections than any test has, so that what waits is what the test makes wait.
        POOLER.get_or_init(|| Pooler::to(direct, mode, 60).expect("pgbouncer is here")).url(direct)
    }
}

/// A pgbouncer on a loopback port. It ends when this is dropped or the program ends, however that ends.
pub(crate) struct Pooler {
    port: u16,
    /// A shell that stops pgbouncer when its input is closed.
    keeper: Child,
}

impl Pooler {
    /// To the server of a URL.
    ///
    /// * `mode`: `session` or `transaction`.
    /// * `n_connections`: to each database.
    ///
    /// `None` says that pgbouncer is not here, which fails in CI.
    pub(crate) fn to(url: &str, mode: &str, n_connections: usize) -> Option<Self> {
        let program = std::env::var("SAMEBILL_PGBOUNCER").ok().filter(|program| !program.is_empty());
        let program =
            program.or_else(|| Some("/usr/sbin/pgbouncer".to_owned()).filter(|path| Path::new(path).exists()));
        let Some(program) = program else {
            assert!(std::env::var_os("CI").is_none(), "pgbouncer is not here");
            eprintln!("NOT RUN: pgbouncer is not here; tests/run finds or installs it");
            return None;
        };
        let (user, host) = url.strip_prefix("postgres://").and_then(|rest| rest.rsplit_once('@')).expect("a URL");
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (host, _) = host.split_once('/').expect("a URL with a database");
        let (host, port) = host.split_once(':').unwrap_or((host, "5432"));
        // The shell removes it, as the last thing.
        let folder = owned_folder().keep();
        let authentication = if password.is_empty() { "trust" } else { "scram-sha-256" };
        fs::write(folder.join("users"), format!("\"{user}\" \"{password}\"\n")).unwrap();
        for _ in 0..5 {
            let listen = free_port();
            let settings = format!(
                "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {listen}\n\
                 unix_socket_dir =\nauth_type = {authentication}\nauth_file = {users}\npool_mode = {mode}\n\
                 default_pool_size = {n_connections}\nmax_client_conn = 4000\nserver_login_retry = 1\n\
                 server_idle_timeout = 20\nlogfile = {log}\n",
                users = folder.join("users").display(),
                log = folder.join("log").display(),
            );
            fs::write(folder.join("pgbouncer.ini"), settings).unwrap();
            let keep = "\"$0\" -q \"$1/pgbouncer.ini\" & cat; kill $!; wait $!; rm -rf \"$1\"";
            let keeper = owned_command(Path::new("/bin/sh"), Path::new("/"))
                .args(["-c", keep, &program])
                .arg(&folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a shell");
            let pooler = Self { port: listen, keeper };
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(30) {
                if PgConnection::establish(&pooler.url(url)).is_ok() {
                    return Some(pooler);
                }
                std::thread::sleep(Duration::from_millis(30));
            }
        }
        panic!("pgbouncer did not start; its log:\n{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
    }

    /// A database of its server through this.
    pub(crate) fn url(&self, direct: &str) -> String {
        let (user, host) = direct.rsplit_once('@').expect("a URL with a user");
        let (_, database) = host.split_once('/').expect("a URL with a database");
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A port that was free a moment ago; nobody else is likely to take it.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program run by somebody that the programs of PostgreSQL and pgbouncer accept: not root.
pub(crate) fn owned_command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C");
    if let Some((user, group)) = owner() {
        command.uid(user).gid(group);
    }
    command
}

/// A temporary folder of whoever runs [`owned_command`]s.
pub(crate) fn owned_folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("samebill-tests").tempdir().expect("a temporary folder");
    if let Some((user, group)) = owner() {
        chown(folder.path(), Some(user), Some(group)).expect("root may give a folder away");
    }
    folder
}

/// `None`: this process is not root and runs everything itself.
fn owner() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let user = if id(&["-u", "postgres"]).is_some() { "postgres" } else { "nobody" };
    Some((id(&["-u", user]).expect("a user"), id(&["-g", user]).expect("a group")))
}
