//! Every setting with its default. A flag wins over a `SAMEBILL_*` variable, a variable over the TOML file, the
//! file over the default; [`Settings::load`] reads them in that order.
//!
//! Adding one takes three lines: the member of [`Settings`] with its meaning, its default in `impl Default`, and the flag
//! of the same name in [`SettingsFlags`].

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the server and the local commands run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `sqlite://FILE` or `postgres://…`.
    pub database_url: String,
    /// Connections for reading.
    pub database_read_connections: u32,
    /// Connections for writing (PostgreSQL; SQLite has one writer).
    pub database_write_connections: u32,
    /// Longest wait for a connection, milliseconds; then 503 `overloaded`.
    pub database_wait_ms: u64,
    /// Longest wait for the database to answer a write, milliseconds; then 503 `outcome_unknown`, and the write goes on.
    pub database_commit_wait_ms: u64,
    /// Prepare statements on the server (PostgreSQL); off behind pgbouncer in transaction mode.
    pub database_prepared_statements: bool,
    /// `samebill migrate` makes the tables of a new PostgreSQL database hash-partitioned by tenant.
    pub database_partitioned: bool,
    /// Address and port; only loopback addresses are served while there are no API keys.
    pub listen: String,
    /// Threads that serve connections; 0: one a core.
    pub http_workers: usize,
    /// Requests in flight; more are answered 503 `overloaded`.
    pub max_requests_in_flight: usize,
    /// Largest JSON body, bytes.
    pub max_body_bytes: u64,
    /// Largest usage file, bytes.
    pub max_usage_bytes: u64,
    /// Largest `result` of a comparison, bytes.
    pub max_result_bytes: usize,
    /// Threads of the engine; 0: one a core.
    pub engine_threads: usize,
    /// Comparisons computed at the same time; 0: one an engine thread.
    pub engine_jobs: usize,
    /// Comparisons that may wait for the engine; more are answered 503 `overloaded`.
    pub engine_queue: usize,
    /// Compiled plan versions kept in memory.
    pub tariff_cache_entries: usize,
    /// Join callers of one question in this process to one computation. Saves work; nothing rests on it.
    pub coalescing: bool,
    /// Least share of the expected readings, 0 to 1.
    pub min_coverage: Coverage,
    /// What happens to a reading that a price boundary cuts.
    pub split_intervals: SplitIntervals,
    /// How long a stopping server waits for what it accepted, seconds.
    pub shutdown_timeout_s: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            database_url: "sqlite://samebill.db".to_owned(),
            database_read_connections: 8,
            database_write_connections: 4,
            database_wait_ms: 10_000,
            database_commit_wait_ms: 30_000,
            database_prepared_statements: true,
            database_partitioned: false,
            listen: "127.0.0.1:8080".to_owned(),
            http_workers: 0,
            max_requests_in_flight: 4096,
            max_body_bytes: 4 * 1024 * 1024,
            max_usage_bytes: 1024 * 1024 * 1024,
            max_result_bytes: 64 * 1024 * 1024,
            engine_threads: 0,
            engine_jobs: 0,
            engine_queue: 1024,
            tariff_cache_entries: 10_000,
            coalescing: true,
            min_coverage: Coverage(Decimal::new(95, 2)),
            split_intervals: SplitIntervals::Refuse,
            shutdown_timeout_s: 60,
        }
    }
}

/// A share from 0 to 1; a number or a text in files and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CoverageText", into = "String")]
pub struct Coverage(Decimal);

impl Coverage {
    /// The share.
    pub fn value(self) -> Decimal {
        self.0
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CoverageText {
    Text(String),
    Integer(u32),
    Number(f64),
}

impl TryFrom<CoverageText> for Coverage {
    type Error = String;
    fn try_from(text: CoverageText) -> Result<Self, String> {
        match text {
            CoverageText::Text(text) => text,
            CoverageText::Integer(number) => number.to_string(),
            CoverageText::Number(number) => number.to_string(),
        }
        .parse()
    }
}

impl std::str::FromStr for Coverage {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Decimal::from_str_exact(text)
            .ok()
            .filter(|share| (Decimal::ZERO..=Decimal::ONE).contains(share))
            .map(|share| Self(share.normalize()))
            .ok_or_else(|| format!("{text:?} is no share; write a number from 0 to 1, such as 0.95"))
    }
}

impl From<Coverage> for String {
    fn from(coverage: Coverage) -> Self {
        coverage.0.to_string()
    }
}

/// What happens to a reading that a price boundary of a plan cuts in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SplitIntervals {
    /// 422 `interval_too_coarse`.
    Refuse,
    /// Split evenly by time; the bill is flagged.
    Even,
}

/// The settings as flags; what is not given is left to variables, file and defaults.
#[derive(Debug, Clone, Default, Serialize, clap::Args)]
#[serde(rename_all = "snake_case")]
pub struct SettingsFlags {
    /// Database: `sqlite://FILE` or `postgres://USER@HOST:PORT/NAME`
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_url: Option<String>,
    /// Connections for reading
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_read_connections: Option<u32>,
    /// Connections for writing (PostgreSQL)
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_write_connections: Option<u32>,
    /// Longest wait for a connection, in milliseconds
    #[arg(long, value_name = "MS", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_wait_ms: Option<u64>,
    /// Longest wait for the database to answer a write, in milliseconds
    #[arg(long, value_name = "MS", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_commit_wait_ms: Option<u64>,
    /// Prepare statements on the server (PostgreSQL); false behind pgbouncer in transaction mode
    #[arg(long, value_name = "BOOL", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_prepared_statements: Option<bool>,
    /// Make the tables of a new PostgreSQL database hash-partitioned by tenant (what samebill migrate does)
    #[arg(long, value_name = "BOOL", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_partitioned: Option<bool>,
    /// Address and port to serve (loopback only while there are no API keys)
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Threads that serve connections; 0: one a core
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_workers: Option<usize>,
    /// Requests in flight before more are refused
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests_in_flight: Option<usize>,
    /// Largest JSON body, in bytes
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body_bytes: Option<u64>,
    /// Largest usage file, in bytes
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_usage_bytes: Option<u64>,
    /// Largest result of a comparison, in bytes
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<usize>,
    /// Threads of the engine; 0: one a core
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_threads: Option<usize>,
    /// Comparisons computed at the same time; 0: one an engine thread
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_jobs: Option<usize>,
    /// Comparisons that may wait for the engine
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_queue: Option<usize>,
    /// Compiled plan versions kept in memory
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tariff_cache_entries: Option<usize>,
    /// Let every request compute for itself: more work, the same answers
    #[arg(long)]
    #[serde(rename = "coalescing", skip_serializing_if = "std::ops::Not::not", serialize_with = "inverted")]
    pub no_coalescing: bool,
    /// Least share of the expected readings, 0 to 1
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_coverage: Option<Coverage>,
    /// What happens to a reading that a price boundary cuts
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_intervals: Option<SplitIntervals>,
    /// How long a stopping server waits for what it accepted, in seconds
    #[arg(long, value_name = "S", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_timeout_s: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn inverted<S: serde::Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(!*flag)
}

/// A setting that cannot be used, with where it was read.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A value or a file that cannot be read, or an unknown name in the file.
    #[error("{0}")]
    Unreadable(Box<figment::Error>),
    /// An address that is not served.
    #[error(
        "{0} is not a loopback address: without API keys only 127.0.0.1, [::1] and localhost are served; \
         put a proxy with a login in front, on this machine"
    )]
    NotLoopback(String),
    /// No address.
    #[error("{0:?} is no address; write ADDRESS:PORT, such as 127.0.0.1:8080")]
    NotAnAddress(String),
}

impl Settings {
    /// Reads flags, `SAMEBILL_*` variables and, if there is one, a TOML file.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] naming the setting and where it stands; an unknown name in the file is one.
    pub fn load(flags: &SettingsFlags, file: Option<&Path>) -> Result<Self, ConfigError> {
        let defaults = Figment::from(Serialized::defaults(Self::default()));
        let names: Vec<String> = Self::names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut figment = defaults;
        if let Some(file) = file {
            figment = figment.merge(Toml::file_exact(file));
        }
        figment
            .merge(Env::prefixed("SAMEBILL_").only(&names))
            .merge(Serialized::defaults(flags))
            .extract()
            .map_err(|error| ConfigError::Unreadable(Box::new(error)))
    }

    /// The names of all settings, as files and variables spell them.
    pub fn names() -> Vec<String> {
        match serde_json::to_value(Self::default()) {
            Ok(serde_json::Value::Object(members)) => members.into_iter().map(|(name, _)| name).collect(),
            _ => unreachable!("settings are an object of plain values"),
        }
    }

    /// The address to listen on.
    ///
    /// # Errors
    /// [`ConfigError::NotAnAddress`], and [`ConfigError::NotLoopback`] for any address that other machines can reach.
    pub fn listen_address(&self) -> Result<SocketAddr, ConfigError> {
        let address = match self.listen.strip_prefix("localhost:") {
            Some(port) => {
                let port = port.parse().map_err(|_| ConfigError::NotAnAddress(self.listen.clone()))?;
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
            }
            None => self.listen.parse().map_err(|_| ConfigError::NotAnAddress(self.listen.clone()))?,
        };
        if address.ip().is_loopback() { Ok(address) } else { Err(ConfigError::NotLoopback(self.listen.clone())) }
    }

    /// Threads of the engine's pool, at least one.
    pub fn n_engine_threads(&self) -> usize {
        match self.engine_threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            n => n,
        }
    }

    /// Comparisons computed at the same time, at least one.
    pub fn n_engine_jobs(&self) -> usize {
        if self.engine_jobs == 0 { self.n_engine_threads() } else { self.engine_jobs }
    }

    /// Longest wait for a connection.
    pub fn database_wait(&self) -> Duration {
        Duration::from_millis(self.database_wait_ms)
    }

    /// Longest wait for the database to answer a write.
    pub fn database_commit_wait(&self) -> Duration {
        Duration::from_millis(self.database_commit_wait_ms)
    }

    /// How long a stopping server waits.
    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.shutdown_timeout_s)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn toml(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn without_anything_the_defaults_hold() {
        assert_eq!(Settings::load(&SettingsFlags::default(), None).unwrap(), Settings::default());
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let file =
            toml("listen = \"127.0.0.1:1\"\nmin_coverage = 0.5\ncoalescing = true\ndatabase_commit_wait_ms = 7\n");
        let flags = SettingsFlags {
            listen: Some("[::1]:9".to_owned()),
            no_coalescing: true,
            database_prepared_statements: Some(false),
            ..SettingsFlags::default()
        };
        let settings = Settings::load(&flags, Some(file.path())).unwrap();
        assert_eq!(settings.listen, "[::1]:9");
        assert_eq!(settings.min_coverage.value(), Decimal::new(5, 1));
        assert!(!settings.coalescing && !settings.database_prepared_statements);
        assert_eq!(settings.database_commit_wait(), Duration::from_millis(7));
    }

    #[test]
    fn an_unknown_or_impossible_setting_in_the_file_is_refused_by_name() {
        for (text, name) in
            [("lissten = \"x\"", "lissten"), ("min_coverage = 2", "min_coverage"), ("engine_jobs = -1", "engine_jobs")]
        {
            let file = toml(text);
            let error = Settings::load(&SettingsFlags::default(), Some(file.path())).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(Settings::load(&SettingsFlags::default(), Some(Path::new("no-such.toml"))).is_err());
    }

    #[test]
    fn every_setting_has_a_flag_of_its_name() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            flags: SettingsFlags,
        }
        let _ = |command: Command| command.flags;
        let command = <Command as clap::CommandFactory>::command();
        let flags: Vec<String> =
            command.get_arguments().map(|a| a.get_id().to_string().replace("no_coalescing", "coalescing")).collect();
        assert_eq!(
            std::collections::BTreeSet::from_iter(flags),
            std::collections::BTreeSet::from_iter(Settings::names())
        );
    }

    #[test]
    fn the_readme_has_a_line_for_every_setting() {
        let readme = include_str!("../README.md");
        let missing: Vec<String> =
            Settings::names().into_iter().filter(|name| !readme.contains(&format!("\n| `{name}` | "))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn only_loopback_is_served() {
        let at = |listen: &str| Settings { listen: listen.to_owned(), ..Settings::default() }.listen_address();
        assert!(at("127.0.0.1:0").is_ok() && at("[::1]:8080").is_ok() && at("localhost:80").is_ok());
        assert!(matches!(at("0.0.0.0:8080"), Err(ConfigError::NotLoopback(_))));
        assert!(matches!(at("192.168.1.5:8080"), Err(ConfigError::NotLoopback(_))));
        assert!(matches!(at("example.org:80"), Err(ConfigError::NotAnAddress(_))));
    }
}
