//! `samebill migrate`: brings a database to this release.

use std::path::PathBuf;

use serde_json::json;

use super::local::{database_error, store_options};
use super::{CliError, Format, Report, Sheet};
use crate::config::{Settings, SettingsFlags};
use crate::store;

/// Bring the database to this release
///
/// Runs under a lock, so that several may be started at once: one applies what is missing, the others find it done.
/// The embedded database (SQLite) is brought up to date by whatever opens it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill migrate --database-url postgres://samebill@127.0.0.1/samebill
  samebill migrate --database-url postgres://samebill@127.0.0.1/large --partitioned")]
pub(super) struct Migrate {
    /// Database: sqlite://FILE or postgres://USER@HOST:PORT/NAME [default: sqlite://samebill.db]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Make the tables of a new PostgreSQL database hash-partitioned by tenant; one that exists stays as it was made
    #[arg(long)]
    partitioned: bool,
    /// TOML file with settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Migrate {
    /// Migrates and prints what was applied.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let flags = SettingsFlags {
            database_url: self.database_url,
            database_partitioned: self.partitioned.then_some(true),
            ..SettingsFlags::default()
        };
        let settings = Settings::load(&flags, self.config.as_deref()).map_err(|e| CliError::new("bad_settings", e))?;
        let applied =
            store::migrate(&settings.database_url, &store_options(&settings)).map_err(|e| database_error(&e))?;
        let mut sheet = Sheet::new(["applied"]);
        for name in &applied {
            sheet.row([name.as_str()]);
        }
        let text = if applied.is_empty() {
            "the database is at this release already".to_owned()
        } else {
            format!("applied: {}", applied.join(", "))
        };
        Report { json: json!({"applied": applied}).to_string(), text, sheet }.print(format)
    }
}
