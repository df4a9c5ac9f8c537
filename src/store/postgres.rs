//! PostgreSQL: plain concurrent statements, READ COMMITTED, a pool for writes and one for reads.
//!
//! A pooled connection is not tested when it is taken. One that fails is dropped, with all that were opened before
//! it failed, and the unit is run again: before COMMIT was sent nothing has happened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::connection::{AnsiTransactionManager, CacheSize, Connection, SimpleConnection, TransactionManager};
use diesel::pg::PgConnection;
use diesel::r2d2::{ManageConnection, Pool, PooledConnection};
use diesel::result::{DatabaseErrorKind, Error as DieselError};

use super::engine::{Engine, Stops, UnitError, panic_text};
use super::open::{StoreOptions, pending};
use super::queries::Queries;
use super::{StoreError, retry};

/// Longest pause between two tries to connect: a database that is back, or another that took over, is found soon. r2d2
/// pauses for at most half of what it calls the connection timeout; how long a caller waits is said with each call.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A PostgreSQL database.
pub(super) struct PostgresEngine {
    readers: Connections,
    writers: Connections,
    /// Through a pooler in transaction mode settings of a session do not last: they are given with each BEGIN.
    begin: String,
}

impl PostgresEngine {
    /// Pools that connect when they are first used.
    pub(super) fn open(url: &str, options: &StoreOptions) -> Self {
        let reading = [
            format!("lock_timeout = {}", options.lock_timeout_ms),
            "idle_in_transaction_session_timeout = 10000".to_owned(),
        ];
        // Whatever the role says: a slow write is not cut off and run again; its caller's wait is bounded.
        let writing = [&reading[..], &["statement_timeout = 0".to_owned()]].concat();
        let pool = |n_connections: u32, settings: &[String]| {
            let generation = Arc::new(AtomicU64::new(0));
            let manager = Manager {
                url: with_parameters(url),
                set_up: format!("SET {}", settings.join("; SET ")),
                is_caching: options.prepared_statements,
                generation: Arc::clone(&generation),
            };
            let pool = Pool::builder()
                .max_size(n_connections.max(1))
                .min_idle(Some(0))
                .connection_timeout(LONGEST_PAUSE * 2)
                .build_unchecked(manager);
            Connections { pool, generation, wait: options.connection_timeout() }
        };
        let mut begin = "BEGIN".to_owned();
        if !options.prepared_statements {
            for setting in &writing {
                begin = format!("{begin}; SET LOCAL {setting}");
            }
        }
        let readers = pool(options.read_connections, &reading);
        let writers = pool(options.write_connections, &writing);
        Self { readers, writers, begin }
    }
}

/// The URL with the parameters of libpq that every connection has, unless the URL names them itself.
pub(super) fn with_parameters(url: &str) -> String {
    let mut with = url.to_owned();
    for (name, value) in [("connect_timeout", "5"), ("tcp_user_timeout", "10000"), ("application_name", "samebill")] {
        if !url.contains(&format!("{name}=")) {
            let separator = if with.contains('?') { '&' } else { '?' };
            with = format!("{with}{separator}{name}={value}");
        }
    }
    with
}

/// Makes connections and drops those from before the last break: when a server restarts, every pooled connection
/// is dead, and each would cost a try.
struct Manager {
    url: String,
    set_up: String,
    is_caching: bool,
    generation: Arc<AtomicU64>,
}

struct Held {
    connection: PgConnection,
    generation: u64,
    is_broken: bool,
}

impl ManageConnection for Manager {
    type Connection = Held;
    type Error = diesel::r2d2::Error;

    fn connect(&self) -> Result<Held, Self::Error> {
        let generation = self.generation.load(Ordering::SeqCst);
        let mut connection = PgConnection::establish(&self.url).map_err(diesel::r2d2::Error::ConnectionError)?;
        if !self.is_caching {
            connection.set_prepared_statement_cache_size(CacheSize::Disabled);
        }
        connection.batch_execute(&self.set_up).map_err(diesel::r2d2::Error::QueryError)?;
        Ok(Held { connection, generation, is_broken: false })
    }

    /// Asks nothing of the server.
    fn is_valid(&self, held: &mut Held) -> Result<(), Self::Error> {
        if self.has_broken(held) {
            return Err(diesel::r2d2::Error::QueryError(DieselError::BrokenTransactionManager));
        }
        Ok(())
    }

    fn has_broken(&self, held: &mut Held) -> bool {
        held.is_broken || held.generation < self.generation.load(Ordering::SeqCst)
    }
}

/// A pool, and the age below which a connection in it is taken for dead.
struct Connections {
    pool: Pool<Manager>,
    generation: Arc<AtomicU64>,
    wait: Duration,
}

impl Connections {
    fn take(&self) -> Result<PooledConnection<Manager>, StoreError> {
        self.pool.get_timeout(self.wait).map_err(|error| StoreError::Busy(Some(Box::new(error))))
    }

    /// The connection is dropped, and with it, if its server is gone, all that are as old or older.
    fn give_up(&self, held: &mut Held, is_closed: bool) {
        held.is_broken = true;
        if is_closed {
            self.generation.fetch_max(held.generation + 1, Ordering::SeqCst);
        }
    }
}

/// Whether the server has closed the connection, or takes no writes any more: another one has taken over.
fn is_closed(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand};
    matches!(error, DieselError::DatabaseError(ClosedConnection | UnableToSendCommand | ReadOnlyTransaction, _))
}

/// Whether a unit that failed is worth another try.
enum Again {
    Yes(StoreError),
    No(StoreError),
}

impl Engine for PostgresEngine {
    type Connection = PgConnection;

    fn read<T>(&self, mut unit: impl FnMut(&mut PgConnection) -> Result<T, UnitError>) -> Result<T, StoreError> {
        let mut pauses = retry::pauses();
        loop {
            let mut held = self.readers.take()?;
            let error = match unit(&mut held.connection) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if error.is_harmless() {
                return Err(error.into_store_error());
            }
            let is_closed = matches!(&error, UnitError::Database(error) if is_closed(error));
            self.readers.give_up(&mut held, is_closed);
            drop(held);
            match pauses.next() {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(error.into_store_error()),
            }
        }
    }

    fn write<T: Send + 'static>(
        &self,
        stops: Stops,
        _n_bytes: usize,
        mut unit: impl FnMut(&mut PgConnection) -> Result<T, UnitError> + Send + 'static,
        mut landed: impl FnMut(&mut PgConnection, &T) -> Result<bool, UnitError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut pauses = retry::pauses();
        let mut unsure = None;
        loop {
            let error = match self.try_write(stops, &mut unit, &mut landed, &mut unsure) {
                Ok(value) => return Ok(value),
                Err(Again::No(error)) if unsure.is_none() => return Err(error),
                Err(Again::No(error) | Again::Yes(error)) => error,
            };
            match pauses.next() {
                Some(pause) => std::thread::sleep(pause),
                None if unsure.is_some() => return Err(StoreError::OutcomeUnknown(Some(Box::new(error)))),
                None => return Err(error),
            }
        }
    }

    fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        pending(&self.read(|connection| Ok(connection.applied_migrations()?))?)
    }
}

impl PostgresEngine {
    /// One try. `unsure` holds the value of an earlier one whose COMMIT gave an error.
    fn try_write<T>(
        &self,
        stops: Stops,
        unit: &mut impl FnMut(&mut PgConnection) -> Result<T, UnitError>,
        landed: &mut impl FnMut(&mut PgConnection, &T) -> Result<bool, UnitError>,
        unsure: &mut Option<T>,
    ) -> Result<T, Again> {
        let mut held = self.writers.take().map_err(Again::No)?;
        if let Err(error) = AnsiTransactionManager::begin_transaction_sql(&mut held.connection, &self.begin) {
            self.writers.give_up(&mut held, is_closed(&error));
            return Err(Again::Yes(UnitError::Database(error).into_store_error()));
        }
        if let Some(value) = unsure.as_ref() {
            match landed(&mut held.connection, value) {
                Ok(true) => {
                    self.roll_back(&mut held);
                    return Ok(unsure.take().expect("it is there: it was just looked at"));
                }
                Ok(false) => *unsure = None,
                Err(error) => {
                    self.roll_back(&mut held);
                    return Err(Again::Yes(error.into_store_error()));
                }
            }
        }
        let run = catch_unwind(AssertUnwindSafe(|| {
            let value = unit(&mut held.connection)?;
            stops.before_commit()?;
            Ok::<T, UnitError>(value)
        }));
        let value = match run {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => {
                let is_alive = self.roll_back(&mut held);
                let is_final = error.is_harmless() || (is_alive && matches!(error, UnitError::HeadHeld(_)));
                let again = if is_final { Again::No } else { Again::Yes };
                return Err(again(error.into_store_error()));
            }
            Err(cause) => {
                self.writers.give_up(&mut held, false);
                return Err(Again::No(StoreError::Database(panic_text(&*cause).into())));
            }
        };
        // From here on the outcome is what the server says, or unknown. It is never cancelled.
        let committed = AnsiTransactionManager::commit_transaction(&mut held.connection);
        match committed.and_then(|()| stops.after_commit()) {
            Ok(()) => Ok(value),
            Err(error) => {
                self.writers.give_up(&mut held, is_closed(&error));
                *unsure = Some(value);
                Err(Again::Yes(StoreError::OutcomeUnknown(Some(Box::new(error)))))
            }
        }
    }

    /// Whether the connection is alive; if not, it is given up.
    fn roll_back(&self, held: &mut Held) -> bool {
        match AnsiTransactionManager::rollback_transaction(&mut held.connection) {
            Ok(()) => true,
            Err(error) => {
                self.writers.give_up(held, is_closed(&error));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
