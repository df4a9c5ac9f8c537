//! SQLite: one thread writes, in groups; a pool reads. WAL, `synchronous=FULL`: what was answered is on the disk.

mod disk;
mod writer;

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, Error as PoolError, Pool};
use diesel::sqlite::SqliteConnection;

use self::writer::Writer;
use super::engine::{Engine, Stops, UnitError};
use super::open::{StoreOptions, pending};
use super::queries::Queries;
use super::{StoreError, retry};

/// The embedded database.
pub(super) struct SqliteEngine {
    readers: Pool<ConnectionManager<SqliteConnection>>,
    writer: Writer,
}

impl SqliteEngine {
    /// Opens a file that is migrated already.
    pub(super) fn open(file: &str, options: &StoreOptions) -> Result<Self, StoreError> {
        let readers = Pool::builder()
            .max_size(options.read_connections.max(1))
            .min_idle(Some(1))
            .test_on_check_out(false)
            .connection_timeout(options.connection_timeout())
            .connection_customizer(Box::new(Reader { busy_timeout_ms: options.busy_timeout_ms }))
            .build(ConnectionManager::new(file))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self { readers, writer: Writer::start(file, options)? })
    }
}

/// A connection that may write.
///
/// A new file is switched to WAL. Where somebody writes to it just then `SQLite` does not wait, whatever the busy timeout
/// says, since a read lock is to become a write lock there; so the switch is tried again for as long.
pub(super) fn connect(file: &str, options: &StoreOptions) -> diesel::ConnectionResult<SqliteConnection> {
    let mut connection = SqliteConnection::establish(file)?;
    let deadline = Instant::now() + Duration::from_millis(options.busy_timeout_ms);
    let mut pauses = retry::pauses();
    while let Err(error) = set_up(&mut connection, options.busy_timeout_ms) {
        if !is_locked(&error) || Instant::now() >= deadline {
            return Err(diesel::ConnectionError::CouldntSetupConfiguration(error));
        }
        std::thread::sleep(pauses.next().unwrap_or(retry::LONGEST_PAUSE));
    }
    Ok(connection)
}

fn is_locked(error: &diesel::result::Error) -> bool {
    matches!(error, diesel::result::Error::DatabaseError(_, told) if told.message() == "database is locked")
}

fn set_up(connection: &mut SqliteConnection, busy_timeout_ms: u64) -> QueryResult<()> {
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = {busy_timeout_ms}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON;"
    ))
}

#[derive(Debug)]
struct Reader {
    busy_timeout_ms: u64,
}

impl CustomizeConnection<SqliteConnection, PoolError> for Reader {
    fn on_acquire(&self, connection: &mut SqliteConnection) -> Result<(), PoolError> {
        set_up(connection, self.busy_timeout_ms)
            .and_then(|()| connection.batch_execute("PRAGMA query_only = ON"))
            .map_err(PoolError::QueryError)
    }
}

impl Engine for SqliteEngine {
    type Connection = SqliteConnection;

    fn read<T>(&self, mut unit: impl FnMut(&mut SqliteConnection) -> Result<T, UnitError>) -> Result<T, StoreError> {
        let mut pauses = retry::pauses();
        loop {
            let mut connection = self.readers.get().map_err(|error| StoreError::Busy(Some(Box::new(error))))?;
            // Several statements of a unit see one state of the database.
            let error = match connection.transaction(|c| unit(c)) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            drop(connection);
            match pauses.next().filter(|_| !error.is_harmless()) {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(error.into_store_error()),
            }
        }
    }

    fn write<T: Send + 'static>(
        &self,
        stops: Stops,
        n_bytes: usize,
        unit: impl FnMut(&mut SqliteConnection) -> Result<T, UnitError> + Send + 'static,
        landed: impl FnMut(&mut SqliteConnection, &T) -> Result<bool, UnitError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(stops, n_bytes, unit, landed)
    }

    fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        pending(&self.read(|connection| Ok(connection.applied_migrations()?))?)
    }
}
