//! What can go wrong in a database, by what the caller may do about it.

use thiserror::Error;

/// Error texts of a database are never matched and never shown to clients.
#[derive(Debug, Error)]
pub enum StoreError {
    /// What was named does not exist.
    #[error("{what} {id} does not exist")]
    NotFound {
        /// `customer`, `plan`, `comparison`, …
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// What was asked contradicts what is stored.
    #[error("{code}: {detail}")]
    Conflict {
        /// Stable code of the problem: `usage_conflict`, `period_registered`, …
        code: &'static str,
        /// What contradicts what.
        detail: String,
    },
    /// Nothing happened; the same request may be sent again.
    #[error("the database is busy")]
    Busy(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// Nothing happened; the same request may be sent again once there is room on the disk.
    #[error("the database's disk is full")]
    StorageFull(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// An error of COMMIT itself: it may have happened or not. Repeating the request is safe because of the key.
    #[error("the outcome of the commit is unknown")]
    OutcomeUnknown(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// The database refused or failed for a reason that is ours to fix.
    #[error("the database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The schema is older than this program: `samebill migrate` has not been run.
#[derive(Debug, Error)]
#[error("the database lacks migrations ({}); run `samebill migrate`", .0.join(", "))]
pub struct PendingMigrations(pub Vec<String>);
