//! A server as a process of its own.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::helpers::Client;
use crate::helpers::shapes::Shape;

/// A `samebill serve` on a loopback port, killed when the test is over.
pub(crate) struct Process {
    child: Child,
    pub(crate) client: Client,
}

impl Process {
    /// Starts a server and waits until it is ready.
    pub(crate) fn serve(database_url: &str, more: &[&str]) -> Self {
        let process = Self::begin(free_port(), database_url, more, &[]);
        process.wait_until_ready()
    }

    /// Starts a server on a port, with more variables in its environment, and does not wait.
    pub(crate) fn begin(port: u16, database_url: &str, more: &[&str], environment: &[(&str, &str)]) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_samebill"))
            .args(["serve", "--database-url", database_url, "--listen", &listen])
            .args(more)
            .env("SAMEBILL_LOG", "warn,samebill::cli=info")
            .env(
                "SAMEBILL_DATABASE_PREPARED_STATEMENTS",
                Shape::of_this_run().options().prepared_statements.to_string(),
            )
            .envs(environment.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = BufReader::new(child.stderr.take().expect("piped"));
        std::thread::spawn(move || log.lines().map_while(Result::ok).for_each(|line| eprintln!("[{port}] {line}")));
        Self { child, client: Client::new(&format!("http://{listen}")) }
    }

    /// Waits until the server can reach its database.
    pub(crate) fn wait_until_ready(mut self) -> Self {
        let begun = Instant::now();
        while !self.client.try_send("GET", "/readyz", &[], &[]).is_ok_and(|reply| reply.status == 200) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server did not become ready");
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and waits until the process is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
        self.child.wait().expect("the process is ours");
    }

    /// Waits until it has ended without being told to from here.
    pub(crate) fn wait_until_ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "the server did not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// SIGTERM, and how the process ends.
    pub(crate) fn terminate(mut self) -> ExitStatus {
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

/// A port that was free a moment ago. It lies below those that systems give to outgoing connections: nobody takes it
/// while the server on it is down.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(10_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
