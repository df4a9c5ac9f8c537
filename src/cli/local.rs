//! A private server of this very binary, on a loopback port, for as long as one command runs.

use std::net::TcpListener;
use std::sync::Arc;

use super::CliError;
use crate::app::{self, RunningServer};
use crate::config::Settings;
use crate::store::{self, Store, StoreOptions};

/// Threads that serve connections: one command asks one thing at a time, the demo a few.
const HTTP_WORKERS: usize = 2;

/// A server that is stopped when it is dropped, after it finished what it accepted.
pub(super) struct PrivateServer {
    base_url: String,
    /// `None` once stopped.
    server: Option<RunningServer>,
}

impl PrivateServer {
    /// Opens the database (an embedded one is migrated) and listens where the settings say.
    pub(super) fn start(settings: Settings) -> Result<Self, CliError> {
        let settings = Settings { http_workers: HTTP_WORKERS, ..settings };
        let store = open_store(&settings)?;
        let server = app::spawn(&settings, store, listen(&settings)?).map_err(|e| CliError::new("not_started", e))?;
        Ok(Self { base_url: format!("http://{}", server.address()), server: Some(server) })
    }

    /// `http://127.0.0.1:PORT`.
    pub(super) fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// Stays up until the process is told to stop, and finishes what was accepted.
    pub(super) fn wait(mut self) -> Result<(), CliError> {
        match self.server.take() {
            Some(server) => server.wait().map_err(|e| CliError::new("failed", e)),
            None => Ok(()),
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take()
            && let Err(error) = server.stop()
        {
            super::output::remark(&format!("samebill: the private server ended by an error: {error}"));
        }
    }
}

/// The address that the settings name.
pub(super) fn listen(settings: &Settings) -> Result<TcpListener, CliError> {
    let address = settings.listen_address().map_err(|e| CliError::new("bad_settings", e))?;
    TcpListener::bind(address).map_err(|e| CliError::new("cannot_listen", format!("{address}: {e}")))
}

/// The database that the settings name.
pub(super) fn open_store(settings: &Settings) -> Result<Arc<dyn Store>, CliError> {
    store::open(&settings.database_url, &store_options(settings)).map_err(|e| database_error(&e))
}

/// What the settings say of the database.
pub(super) fn store_options(settings: &Settings) -> StoreOptions {
    StoreOptions {
        read_connections: settings.database_read_connections,
        write_connections: settings.database_write_connections,
        connection_timeout_ms: settings.database_wait_ms,
        prepared_statements: settings.database_prepared_statements,
        partitioned: settings.database_partitioned,
        ..StoreOptions::default()
    }
}

/// A database that cannot be used, with the causes: whoever runs the command owns it.
pub(super) fn database_error(error: &dyn std::error::Error) -> CliError {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        detail = format!("{detail}: {error}");
        cause = error.source();
    }
    CliError::new("database", detail)
}
