//! What the two databases have in common: how a unit of work is run.
//!
//! A unit is a closure over one connection. It may be run more than once (a broken connection, a group that was
//! rolled back), so it changes nothing but the database.

use std::any::Any;

use diesel::result::{DatabaseErrorKind, Error as DieselError};

use super::StoreError;
use super::queries::Queries;

/// Why a unit did not give its value.
#[derive(Debug)]
pub(super) enum UnitError {
    /// The unit's own refusal: the database is well.
    Refused(StoreError),
    /// A statement failed that may have to wait for another transaction: a lock on a head, or a head being made. If
    /// its connection is alive, the wait was too long.
    HeadHeld(DieselError),
    /// A statement failed.
    Database(DieselError),
    /// What is stored cannot be read.
    Corrupt(String),
}

impl From<DieselError> for UnitError {
    fn from(error: DieselError) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for UnitError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl UnitError {
    /// Whether only this unit failed and its connection, once rolled back, is as good as before.
    pub(super) fn is_harmless(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Corrupt(_) => true,
            Self::HeadHeld(error) | Self::Database(error) => is_constraint(error),
        }
    }

    /// What the caller gets when there is no further try.
    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::HeadHeld(error) => StoreError::Busy(Some(Box::new(error))),
            Self::Database(error) if is_passing(&error) => StoreError::Busy(Some(Box::new(error))),
            Self::Database(error) => StoreError::Database(Box::new(error)),
            Self::Corrupt(text) => StoreError::Database(text.into()),
        }
    }
}

fn is_constraint(error: &DieselError) -> bool {
    use DatabaseErrorKind::{
        CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, RestrictViolation, UniqueViolation,
    };
    matches!(
        error,
        DieselError::DatabaseError(
            UniqueViolation
                | ForeignKeyViolation
                | CheckViolation
                | NotNullViolation
                | ExclusionViolation
                | RestrictViolation,
            _
        )
    )
}

/// Whether the same may succeed a moment later.
pub(super) fn is_passing(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, SerializationFailure, UnableToSendCommand};
    matches!(
        error,
        DieselError::DatabaseError(
            ClosedConnection | UnableToSendCommand | SerializationFailure | ReadOnlyTransaction,
            _
        ) | DieselError::BrokenTransactionManager
    )
}

/// What a caught panic of a unit said, for the log.
pub(super) fn panic_text(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied().or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    format!("a unit of work panicked: {}", text.unwrap_or("no text"))
}

/// Names of the stops around the commit of a unit; tests hold, fail or kill there.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "only tests stop there"))]
pub(super) struct Stops {
    /// After the unit's statements, before COMMIT.
    pub(super) before_commit: &'static str,
    /// After COMMIT, before anybody knows; `return` acts as if its answer had been lost.
    pub(super) after_commit: &'static str,
}

macro_rules! stops {
    ($name:literal) => {
        Stops {
            before_commit: concat!("store::", $name, "::before_commit"),
            after_commit: concat!("store::", $name, "::after_commit"),
        }
    };
}
pub(super) use stops;

impl Stops {
    /// Stops, or fails the unit.
    #[cfg_attr(
        not(feature = "failpoints"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "only tests stop there")
    )]
    pub(super) fn before_commit(self) -> Result<(), UnitError> {
        fail::fail_point!(self.before_commit, |_| Err(UnitError::Database(DieselError::RollbackTransaction)));
        Ok(())
    }

    /// Stops, or loses the answer of COMMIT. A panic here is a lost answer too: it must not end a writing thread.
    #[cfg_attr(not(feature = "failpoints"), expect(clippy::unused_self, reason = "only tests stop there"))]
    pub(super) fn after_commit(self) -> Result<(), DieselError> {
        let stopped = std::panic::catch_unwind(|| {
            fail::fail_point!(self.after_commit, |_| Err(DieselError::RollbackTransaction));
            Ok(())
        });
        stopped.unwrap_or(Err(DieselError::RollbackTransaction))
    }
}

/// A database that runs units.
pub(super) trait Engine: Send + Sync + 'static {
    /// Its native connection.
    type Connection: Queries;

    /// Runs a unit that only reads, on the pool of readers.
    fn read<T>(&self, unit: impl FnMut(&mut Self::Connection) -> Result<T, UnitError>) -> Result<T, StoreError>;

    /// Runs a unit in a transaction and gives its value once it is committed.
    ///
    /// * `n_bytes`: roughly what it writes.
    /// * `landed`: asked in a new transaction when the answer of COMMIT was lost: whether what the value (given)
    ///   says was written is stored. It takes the same lock first, so that a commit still under way is over by
    ///   then. `false` also when nothing was written: to run the unit again does no harm.
    fn write<T: Send + 'static>(
        &self,
        stops: Stops,
        n_bytes: usize,
        unit: impl FnMut(&mut Self::Connection) -> Result<T, UnitError> + Send + 'static,
        landed: impl FnMut(&mut Self::Connection, &T) -> Result<bool, UnitError> + Send + 'static,
    ) -> Result<T, StoreError>;

    /// Names of the migrations this program has and the database has not.
    fn pending_migrations(&self) -> Result<Vec<String>, StoreError>;
}
