//! Opening a database by its URL, and bringing its schema up to date.

use std::sync::Arc;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::database::Database;
use super::postgres::{self, PostgresEngine};
use super::sqlite::{self, SqliteEngine};
use super::{Store, StoreError};

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const POSTGRES_PARTITIONED: EmbeddedMigrations = embed_migrations!("migrations/postgres_partitioned");

/// One number for every program that migrates this schema; any would do.
const ADVISORY_LOCK: i64 = 0x5361_6d65_6269_6c6c;

/// How a database is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Connections for reads, kept apart so that writes that hang do not take hits and health down.
    pub read_connections: u32,
    /// Connections for writes, PostgreSQL only: SQLite has one writer.
    pub write_connections: u32,
    /// How long a caller waits for a free connection, milliseconds; then [`StoreError::Busy`].
    pub connection_timeout_ms: u64,
    /// How long a statement waits for a lock, milliseconds: PostgreSQL `lock_timeout`.
    pub lock_timeout_ms: u64,
    /// How long SQLite waits for another process that writes, milliseconds.
    pub busy_timeout_ms: u64,
    /// Units that may wait for the SQLite writer; one more is [`StoreError::Busy`].
    pub writer_queue: usize,
    /// Prepare statements on the server; off behind pgbouncer in transaction mode.
    pub prepared_statements: bool,
    /// [`migrate`] makes the tables of a new database hash-partitioned by tenant, PostgreSQL only. A database that has
    /// tables stays as it was made.
    pub partitioned: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let n_cores = std::thread::available_parallelism().map_or(2, |n| u32::try_from(n.get()).unwrap_or(2));
        Self {
            read_connections: (2 * n_cores).max(4),
            write_connections: (2 * n_cores).max(4),
            connection_timeout_ms: 2_000,
            lock_timeout_ms: 2_000,
            busy_timeout_ms: 5_000,
            writer_queue: 1_024,
            prepared_statements: true,
            partitioned: false,
        }
    }
}

impl StoreOptions {
    pub(super) fn connection_timeout(&self) -> Duration {
        Duration::from_millis(self.connection_timeout_ms)
    }
}

/// What a URL names.
enum Target<'a> {
    Sqlite(&'a str),
    Postgres(&'a str),
}

/// A URL that names no database we know.
#[derive(Debug, thiserror::Error)]
#[error("no database URL of a known kind; write sqlite://FILE or postgres://USER@HOST/DATABASE")]
struct UnknownUrl;

impl<'a> Target<'a> {
    fn of(url: &'a str) -> Result<Self, StoreError> {
        if let Some(file) = url.strip_prefix("sqlite://").filter(|file| !file.is_empty() && !file.contains(":memory:"))
        {
            Ok(Self::Sqlite(file))
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Ok(Self::Postgres(url))
        } else {
            Err(StoreError::Database(Box::new(UnknownUrl)))
        }
    }
}

/// Opens a database: `sqlite://FILE` (made and migrated if need be) or `postgres://…` (as [`migrate`] left it; not
/// connected to before it is used).
///
/// # Errors
/// * [`StoreError::Database`] for another URL, or a file that cannot be opened or migrated.
pub fn open(url: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match Target::of(url)? {
        Target::Sqlite(file) => {
            migrate_sqlite(file, options)?;
            Ok(Arc::new(Database(SqliteEngine::open(file, options)?)))
        }
        Target::Postgres(url) => Ok(Arc::new(Database(PostgresEngine::open(url, options)))),
    }
}

/// Applies the migrations that the database lacks and gives their names, oldest first. Any number of programs may do
/// so at once: one applies, the others wait and find nothing to do. Use a direct connection, no pooler.
pub fn migrate(url: &str, options: &StoreOptions) -> Result<Vec<String>, StoreError> {
    match Target::of(url)? {
        Target::Sqlite(file) => migrate_sqlite(file, options),
        Target::Postgres(url) => with_advisory_lock(url, |connection| {
            let source = postgres_set(connection, options)?;
            apply(connection, source)
        }),
    }
}

/// Takes back the newest migration and gives its name; `None` when there is none.
pub fn revert(url: &str, options: &StoreOptions) -> Result<Option<String>, StoreError> {
    match Target::of(url)? {
        Target::Sqlite(file) => {
            let mut connection = sqlite::connect(file, options).map_err(database)?;
            connection.immediate_transaction(|c| revert_newest(c, &SQLITE).map_err(Rollback)).map_err(|e| e.0)
        }
        Target::Postgres(url) => with_advisory_lock(url, |connection| {
            let source = postgres_set(connection, options)?;
            revert_newest(connection, &source)
        }),
    }
}

/// The set of migrations that a database goes on with: that which made its tables, else the one that the options name.
///
/// # Errors
/// [`StoreError::Database`] when partitions are asked for where the tables have none.
fn postgres_set(connection: &mut PgConnection, options: &StoreOptions) -> Result<EmbeddedMigrations, StoreError> {
    #[derive(QueryableByName)]
    struct Table {
        #[diesel(sql_type = Bool)]
        is_partitioned: bool,
    }
    let found: Option<Table> = diesel::sql_query(
        "SELECT relkind = 'p' AS is_partitioned FROM pg_catalog.pg_class WHERE oid = to_regclass('customers')",
    )
    .get_result(connection)
    .optional()
    .map_err(database)?;
    match found {
        Some(Table { is_partitioned: false }) if options.partitioned => {
            let why = "its tables are not partitioned, and partitions are made with a new database alone";
            Err(StoreError::Database(why.into()))
        }
        Some(Table { is_partitioned: false }) => Ok(POSTGRES),
        None if !options.partitioned => Ok(POSTGRES),
        Some(Table { is_partitioned: true }) | None => Ok(POSTGRES_PARTITIONED),
    }
}

/// Names of the migrations in this program that are not among the applied versions.
pub(super) fn pending(applied: &[String]) -> Result<Vec<String>, StoreError> {
    // The sets have the same names; a test compares them.
    let known: Vec<Box<dyn Migration<Sqlite>>> = SQLITE.migrations().map_err(StoreError::Database)?;
    Ok(known
        .iter()
        .filter(|migration| !applied.contains(&migration.name().version().to_string()))
        .map(|migration| migration.name().to_string())
        .collect())
}

fn migrate_sqlite(file: &str, options: &StoreOptions) -> Result<Vec<String>, StoreError> {
    let mut connection = sqlite::connect(file, options).map_err(database)?;
    // Immediate: of two processes that open a new file the second one waits, then finds nothing to do.
    connection.immediate_transaction(|c| apply(c, SQLITE).map_err(Rollback)).map_err(|error| error.0)
}

fn with_advisory_lock<T>(
    url: &str,
    work: impl FnOnce(&mut PgConnection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut connection = PgConnection::establish(&postgres::with_parameters(url)).map_err(database)?;
    // The lock is waited for as long as another one migrates; it ends with the connection.
    connection.batch_execute("SET lock_timeout = 0").map_err(database)?;
    diesel::sql_query("SELECT pg_advisory_lock($1)")
        .bind::<BigInt, _>(ADVISORY_LOCK)
        .execute(&mut connection)
        .map_err(database)?;
    work(&mut connection)
}

fn apply<D, C>(connection: &mut C, source: EmbeddedMigrations) -> Result<Vec<String>, StoreError>
where
    D: diesel::backend::Backend,
    C: MigrationHarness<D>,
    EmbeddedMigrations: MigrationSource<D>,
{
    let pending = connection.pending_migrations(source).map_err(StoreError::Database)?;
    let mut names = Vec::with_capacity(pending.len());
    for migration in &pending {
        fail::fail_point!("migrate::between", |_| Err(StoreError::Database("failpoint migrate::between".into())));
        connection.run_migration(migration).map_err(StoreError::Database)?;
        names.push(migration.name().to_string());
    }
    fail::fail_point!("migrate::applied", |_| Err(StoreError::Database("failpoint migrate::applied".into())));
    Ok(names)
}

fn revert_newest<D, C>(connection: &mut C, source: &EmbeddedMigrations) -> Result<Option<String>, StoreError>
where
    D: diesel::backend::Backend,
    C: MigrationHarness<D>,
    EmbeddedMigrations: MigrationSource<D>,
{
    let applied = connection.applied_migrations().map_err(StoreError::Database)?;
    let Some(newest) = applied.first() else { return Ok(None) };
    let known: Vec<Box<dyn Migration<D>>> = source.migrations().map_err(StoreError::Database)?;
    let Some(migration) = known.iter().find(|migration| migration.name().version() == *newest) else {
        return Err(StoreError::Database(format!("migration {newest} is not of this program").into()));
    };
    connection.revert_migration(migration).map_err(StoreError::Database)?;
    Ok(Some(migration.name().to_string()))
}

/// Carries our error through diesel's transaction.
struct Rollback(StoreError);

impl From<diesel::result::Error> for Rollback {
    fn from(error: diesel::result::Error) -> Self {
        Self(StoreError::Database(Box::new(error)))
    }
}

fn database(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Database(Box::new(error))
}
