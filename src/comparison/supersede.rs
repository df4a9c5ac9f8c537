//! `supersede`: the row named by its id is replaced by a new one, once.
//!
//! Nothing here joins a computation that began before it was asked for: what it would show may be the very thing
//! that is to be replaced. Callers of one row take turns in this process, which saves work; two servers both compute, and
//! the row lock lets one of them store.

use std::sync::Arc;

use super::compare::{MAX_RETRIES, answer, created, new_comparison};
use super::envelope::{Answer, Detail};
use super::error::ComparisonResult;
use super::render::Rendered;
use super::{ComparisonError, NaturalKey, Service};
use crate::engine::ENGINE_VERSION;
use crate::store::{NewComparison, Store, StoreError, SupersedeCause, Superseded};
use crate::words::{ComparisonId, TenantId, Timestamp};

/// Why a row is to be replaced, and on what condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupersedeRequest {
    /// `usage_corrected`, `plan_changed`, `calendar_changed`, `price_series_changed`, `event_list_changed`,
    /// `engine_changed`, `manual`.
    pub reason: String,
    /// A person's words.
    pub note: Option<String>,
    /// Store a successor even if the inputs are the same.
    pub force: bool,
    /// `ETag`s, with their quotes, one of which the row must have; `None`: whatever it is.
    pub if_match: Option<Vec<String>>,
}

/// What one attempt came to.
enum Attempt {
    Done(Box<Answer>),
    Again,
}

impl Service {
    /// Replaces a current comparison by one with the inputs of now; the answer is the row that stands in its place.
    ///
    /// * superseded before: its direct successor, `created` is false;
    /// * inputs the same and no `force`: the same row, fresh again;
    /// * else a new row.
    ///
    /// # Errors
    /// As [`Service::compare`], and [`ComparisonError::PreconditionFailed`], [`ComparisonError::NewerEngine`]. The row
    /// stays current after every error but [`ComparisonError::OutcomeUnknown`].
    pub async fn supersede(
        self: &Arc<Self>,
        tenant: &TenantId,
        id: ComparisonId,
        request: SupersedeRequest,
    ) -> ComparisonResult<Answer> {
        let (service, tenant) = (Arc::clone(self), tenant.clone());
        self.detached(async move { service.supersede_detached(&tenant, id, &request).await.map_err(Arc::new) }).await?
    }

    async fn supersede_detached(
        &self,
        tenant: &TenantId,
        id: ComparisonId,
        request: &SupersedeRequest,
    ) -> Result<Answer, ComparisonError> {
        // A row that was superseded before needs no permit.
        let old = self.by_id(tenant, id).await?;
        check_precondition(&old, request)?;
        if old.view.row.superseded.is_some() {
            return self.successor(tenant, &old).await;
        }
        self.stop_at("supersede::looked_up").await?;
        // All who come at once would compute, and all but one in vain. Whose turn comes later finds what the first one did;
        // it joins nothing.
        let turn = if self.limits.coalescing {
            Some(self.store.turn(&self.supersedes, (tenant.clone(), id)).await?)
        } else {
            None
        };
        for _ in 0..=MAX_RETRIES {
            let permit = self.engine.permit().await?;
            // Read with the permit in hand: while this call waited another one may have done its work.
            let old = self.by_id(tenant, id).await?;
            check_precondition(&old, request)?;
            if old.view.row.superseded.is_some() {
                return self.successor(tenant, &old).await;
            }
            if old.view.row.inputs.engine > ENGINE_VERSION {
                return Err(ComparisonError::NewerEngine(id));
            }
            let row = &old.view.row;
            let key =
                NaturalKey::new(tenant.clone(), row.customer_id.clone(), row.period, row.plan_references.clone())?;
            let key = Arc::new(key);
            let inputs = self.read_inputs(&key).await?;
            self.stop_at("supersede::inputs_read").await?;
            let new = if inputs.recorded.digest == row.inputs.digest && !request.force {
                // The same inputs have the same result: nothing to compute. The store decides once more, by the same
                // digest under the head lock, and keeps the row.
                let rendered =
                    Rendered { result: old.result.clone(), summary: old.summary.clone(), totals: row.totals.clone() };
                new_comparison(&key, inputs.recorded, inputs.window, rendered)
            } else {
                self.compute(&permit, &key, inputs).await?
            };
            // As in `compare`: the engine waits for no lock and no commit.
            let _room = self.engine.give_back(permit, new.n_bytes()).await?;
            self.stop_at("supersede::computed").await?;
            match self.replace(&old, Arc::new(new), request).await? {
                Attempt::Done(answer) => {
                    if let Some(turn) = turn.filter(|_| answer.view.row.id != id) {
                        turn.let_all_pass();
                    }
                    return Ok(*answer);
                }
                Attempt::Again => {}
            }
        }
        Err(ComparisonError::InputsChanging)
    }

    async fn replace(
        &self,
        old: &Answer,
        new: Arc<NewComparison>,
        request: &SupersedeRequest,
    ) -> Result<Attempt, ComparisonError> {
        let id = old.view.row.id;
        let cause = SupersedeCause { reason: request.reason.clone(), note: request.note.clone(), force: request.force };
        let writing = Arc::clone(&new);
        let write =
            move |store: &dyn Store| Ok::<_, StoreError>(store.supersede(id, &writing, &cause, Timestamp::now()));
        let outcome = self.store.write_for(&new.tenant_id, &new.customer_id, write).await?;
        let done = |answer| Ok(Attempt::Done(Box::new(answer)));
        match outcome {
            Ok(Superseded::Created(row)) => done(created(row, Arc::unwrap_or_clone(new))),
            Ok(Superseded::Unchanged(row)) => {
                // Its inputs were found the same under the head lock: it is fresh.
                let mut same = created(row, Arc::unwrap_or_clone(new));
                (same.result, same.summary) = (old.result.clone(), old.summary.clone());
                same.created = false;
                done(same)
            }
            Ok(Superseded::Already(_)) => {
                let old = self.by_id(&new.tenant_id, id).await?;
                check_precondition(&old, request)?;
                done(self.successor(&new.tenant_id, &old).await?)
            }
            Ok(Superseded::InputsChanged) => Ok(Attempt::Again),
            Ok(Superseded::NewerEngine) => Err(ComparisonError::NewerEngine(id)),
            Err(StoreError::OutcomeUnknown(_)) => match self.outcome_of(id, &new).await {
                Ok(Some(answer)) => done(answer),
                Ok(None) | Err(_) => Err(ComparisonError::OutcomeUnknown),
            },
            Err(other) => Err(other.into()),
        }
    }

    /// After a commit of unknown outcome: the row this call made, or the successor that another call made.
    async fn outcome_of(&self, old: ComparisonId, new: &NewComparison) -> Result<Option<Answer>, ComparisonError> {
        match self.by_id(&new.tenant_id, new.id).await {
            Ok(own) => return Ok(Some(own.of_call(new.id))),
            Err(ComparisonError::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
        let old = self.by_id(&new.tenant_id, old).await?;
        match old.view.row.superseded {
            // Its own commit may have landed between the two reads.
            Some(_) => self.successor(&new.tenant_id, &old).await.map(|answer| Some(answer.of_call(new.id))),
            None => Ok(None),
        }
    }

    /// The direct successor of a superseded row.
    async fn successor(&self, tenant: &TenantId, old: &Answer) -> Result<Answer, ComparisonError> {
        match &old.view.row.superseded {
            Some(superseded) => self.by_id(tenant, superseded.successor_id).await,
            None => Err(ComparisonError::Internal(format!("{} is superseded and has no successor", old.view.row.id))),
        }
    }

    /// One comparison as it is seen now.
    ///
    /// # Errors
    /// [`ComparisonError::NotFound`].
    pub async fn by_id(&self, tenant: &TenantId, id: ComparisonId) -> Result<Answer, ComparisonError> {
        let tenant = tenant.clone();
        self.store
            .read(move |store| match store.comparison(&tenant, id)? {
                Some(found) => answer(store, &tenant, found),
                None => Err(ComparisonError::NotFound { what: "comparison", id: id.to_string() }),
            })
            .await
    }
}

/// `If-Match`: the row is what the caller saw, or it was just before it was superseded (then this is a retry).
fn check_precondition(old: &Answer, request: &SupersedeRequest) -> Result<(), ComparisonError> {
    let Some(wanted) = &request.if_match else {
        return Ok(());
    };
    let now = [old.view.etag(Detail::Full), old.view.etag(Detail::Summary)];
    let before = old.view.etags_before_superseded();
    if wanted.iter().any(|etag| now.contains(etag) || before.contains(etag)) {
        Ok(())
    } else {
        Err(ComparisonError::PreconditionFailed(old.view.row.id))
    }
}
