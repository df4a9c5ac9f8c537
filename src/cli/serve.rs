//! `samebill serve`: the server.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use tracing_subscriber::EnvFilter;

use super::CliError;
use super::local::{listen, open_store};
use crate::app;
use crate::config::{Settings, SettingsFlags};

/// Run the server
///
/// Serves the API until it is told to stop (Ctrl-C, SIGTERM), then finishes what it has accepted. SAMEBILL_LOG
/// says what is logged (info, debug, samebill=trace), SAMEBILL_LOG_FORMAT=json how.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill serve
  samebill serve --database-url postgres://samebill@127.0.0.1/samebill --listen 127.0.0.1:9000")]
pub(super) struct Serve {
    #[command(flatten)]
    settings: SettingsFlags,
    /// TOML file with settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Serve {
    /// Serves until told to stop.
    pub(super) fn run(self) -> Result<(), CliError> {
        let settings =
            Settings::load(&self.settings, self.config.as_deref()).map_err(|e| CliError::new("bad_settings", e))?;
        log_to_stderr();
        let listener = listen(&settings)?;
        let store = open_store(&settings)?;
        tracing::info!(address = %listener.local_addr()?, "listening");
        app::run(&settings, store, listener).map_err(|e| CliError::new("failed", e))
    }
}

/// What is worth a line goes to stderr; stdout is nobody's.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("SAMEBILL_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    if std::env::var("SAMEBILL_LOG_FORMAT").is_ok_and(|format| format == "json") {
        lines.json().init();
    } else {
        lines.init();
    }
}
