//! What the service answers when it has no comparison to show.

use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;
use thiserror::Error;

use super::key::PlanCountError;
use crate::engine::EngineError;
use crate::store::StoreError;
use crate::words::{ComparisonId, PlanReference};

/// Shared, because callers that joined one computation share its failure.
pub type ComparisonResult<T> = Result<T, Arc<ComparisonError>>;

/// Why there is no answer. `http::error` turns each into a status and a problem document.
#[derive(Debug, Error)]
pub enum ComparisonError {
    /// What was named does not exist.
    #[error("{what} {id} does not exist")]
    NotFound {
        /// `customer`, `period`, `comparison`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Plans, or pinned versions of plans, that do not exist.
    #[error("these plans do not exist: {0:?}")]
    PlansNotFound(Vec<PlanReference>),
    /// None, or more than a thousand.
    #[error(transparent)]
    PlanCount(#[from] PlanCountError),
    /// Days of the period without a version of a plan.
    #[error("some plans are not in force on every day of the billing period")]
    PlansNotInForce(Vec<NotInForce>),
    /// The engine has no bill for this.
    #[error("{cause}")]
    NotBillable {
        /// Why.
        #[source]
        cause: EngineError,
        /// Plans of the question that could be billed.
        billable: Vec<PlanReference>,
    },
    /// A result above the limit.
    #[error("the result has {bytes} bytes, allowed are {max_bytes}")]
    ResultTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// Readings, customer or plans changed during every attempt.
    #[error("the inputs changed while the comparison was computed, several times")]
    InputsChanging,
    /// A commit whose outcome could not be found out.
    #[error("it is not known whether the answer was stored")]
    OutcomeUnknown,
    /// Too much to do.
    #[error("too many requests are waiting for the {0}")]
    Overloaded(&'static str),
    /// The row was made by a newer engine than this one.
    #[error("comparison {0} was made by a newer engine")]
    NewerEngine(ComparisonId),
    /// The row is no longer what the caller saw.
    #[error("comparison {0} is no longer what If-Match names")]
    PreconditionFailed(ComparisonId),
    /// Two comparisons that do not answer the same question.
    #[error("comparison {with} does not answer the question of {id}")]
    NotOneChain {
        /// The one asked for.
        id: ComparisonId,
        /// The one it should be held against.
        with: ComparisonId,
    },
    /// A comparison that replaced none.
    #[error("comparison {0} has no predecessor")]
    NoPredecessor(ComparisonId),
    /// Some of what a comparison was made from is not kept any more.
    #[error("{what} of comparison {id} cannot be given any more")]
    EvidenceIncomplete {
        /// The comparison.
        id: ComparisonId,
        /// What is gone.
        what: String,
    },
    /// The store's word.
    #[error(transparent)]
    Store(StoreError),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

/// Days on which a plan has no version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotInForce {
    /// The plan.
    pub reference: PlanReference,
    /// Days without a version, end exclusive.
    pub days: Vec<Range<NaiveDate>>,
    /// Versions that can be pinned.
    pub versions: Vec<u32>,
}

impl From<StoreError> for ComparisonError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, id } => Self::NotFound { what, id },
            StoreError::OutcomeUnknown(_) => Self::OutcomeUnknown,
            other => Self::Store(other),
        }
    }
}
