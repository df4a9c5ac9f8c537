//! `compare`: the answer that stands, or a new one. The steps are those of the protocol:
//!
//! 1. the caller has checked the question;
//! 2. look the current row up by the digest of its key, with its freshness: found, it is the answer;
//! 3. join the computation that runs for this key in this process, or start one, detached from the caller;
//! 4. with a permit of the engine in hand, look again, then read the inputs, versions before data;
//! 5. compute on the engine's own threads;
//! 6. give the permit back, then insert under the customer's head lock unless an input has changed (then back to 4)
//!    or a current row stands;
//! 7. without a row of its own, read the winner's and answer that.
//!
//! What each step guards against stands beside it, and drawn and as schedules in `protocol.md`. Joining saves work only;
//! the rest is what the promises rest on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::coalesce::{Place, Role, Seat};
use super::envelope::{Answer, View};
use super::error::ComparisonResult;
use super::freshness::Freshness;
use super::inputs::{self, Inputs};
use super::pool::EnginePermit;
use super::render::{Rendered, render};
use super::supersede::SupersedeRequest;
use super::{ComparisonError, NaturalKey, Service};
use crate::engine::{self, EngineError};
use crate::store::{ComparisonRow, Inserted, NewComparison, Store, StoreError, StoredComparison};
use crate::words::{ComparisonId, TenantId, Timestamp};

/// How often inputs are read again when they changed under a computation.
pub(super) const MAX_RETRIES: usize = 3;

/// How often a caller looks for a row that others say is there.
const MAX_ROUNDS: usize = 8;

/// What happens to a current row whose inputs have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfStale {
    /// It is the answer; its freshness says so.
    #[default]
    Answer,
    /// It is superseded within this call.
    Supersede,
}

impl Service {
    /// Answers a question: the current comparison of its key, computed if there is none.
    ///
    /// # Errors
    /// What has no answer, see [`ComparisonError`]; callers that joined one computation share its error.
    pub async fn compare(self: &Arc<Self>, key: NaturalKey, if_stale: IfStale) -> ComparisonResult<Answer> {
        let key = Arc::new(key);
        let is_wanted =
            |answer: &Answer| answer.created || if_stale == IfStale::Answer || !answer.view.freshness.is_stale();
        for _ in 0..MAX_ROUNDS {
            if let Some(found) = self.lookup(&key).await? {
                self.stop_at("compare::looked_up").await?;
                if is_wanted(&found) {
                    return Ok(found);
                }
                let outcome = self.supersede_stale(&key, &found).await?;
                match outcome {
                    Some(answer) => return Ok(answer),
                    None => continue,
                }
            }
            self.stop_at("compare::looked_up").await?;
            if let Some(led) = self.lead_or_join(&key).await?
                && is_wanted(&led)
            {
                return Ok(led);
            }
            // Joined: the row is read anew, so that its freshness is that of an instant after this call began. Or found
            // by the leader, made by somebody else since this call looked, and stale already: it is to be superseded.
        }
        Err(ComparisonError::InputsChanging.into())
    }

    /// Step 2.
    async fn lookup(&self, key: &Arc<NaturalKey>) -> Result<Option<Answer>, ComparisonError> {
        let key = Arc::clone(key);
        self.store.read(move |store| lookup(store, &key)).await
    }

    /// Step 3. `None`: another caller's computation has ended well.
    async fn lead_or_join(self: &Arc<Self>, key: &Arc<NaturalKey>) -> ComparisonResult<Option<Answer>> {
        let seat = if self.limits.coalescing {
            match self.coalescer.enter(*key.digest()) {
                Role::Joiner(joiner) => return joiner.wait().await.map(|()| None),
                Role::Leader(seat) => Some(seat),
            }
        } else {
            None
        };
        let (service, key) = (Arc::clone(self), Arc::clone(key));
        self.detached(async move {
            let place = seat.as_ref().map(Seat::place);
            let outcome = service.lead(&key, place).await.map_err(Arc::new);
            if let Some(seat) = seat {
                seat.leave(outcome.as_ref().map(|_| ()).map_err(Arc::clone));
            }
            outcome.map(Some)
        })
        .await?
    }

    /// Steps 4 to 7.
    async fn lead(&self, key: &Arc<NaturalKey>, place: Option<Arc<Place>>) -> Result<Answer, ComparisonError> {
        for _ in 0..=MAX_RETRIES {
            let permit = self.engine.permit().await?;
            // The row may have been stored since the caller looked, by another process or by a leader that had just
            // left.
            if let Some(found) = self.lookup(key).await? {
                return Ok(found);
            }
            let inputs = self.read_inputs(key).await?;
            self.stop_at("compare::inputs_read").await?;
            let new = Arc::new(self.compute(&permit, key, inputs).await?);
            // Another session may hold the customer's head for long, or a commit hang: others compute meanwhile.
            let _room = self.engine.give_back(permit, new.n_bytes()).await?;
            self.stop_at("compare::computed").await?;
            match self.insert(&new, place.clone()).await? {
                Insertion::Created(row) => return Ok(created(*row, Arc::unwrap_or_clone(new))),
                Insertion::Found(answer) => return Ok(*answer),
                // Superseded or gone between two statements, or outdated inputs: from step 4 on once more.
                Insertion::Again => {}
            }
        }
        Err(ComparisonError::InputsChanging)
    }

    pub(super) async fn read_inputs(&self, key: &Arc<NaturalKey>) -> Result<Inputs, ComparisonError> {
        let (key, tariffs, options) = (Arc::clone(key), Arc::clone(&self.tariffs), self.limits.options.clone());
        self.store.read(move |store| inputs::read(store, &tariffs, &key, &options)).await
    }

    /// Step 5.
    pub(super) async fn compute(
        &self,
        permit: &EnginePermit,
        key: &NaturalKey,
        inputs: Inputs,
    ) -> Result<NewComparison, ComparisonError> {
        self.n_computations.fetch_add(1, Ordering::Relaxed);
        let Inputs { recorded, question, window } = inputs;
        let outcome = self
            .engine
            .run(permit, move || engine::compare(&question).map(|result| render(&result)))
            .await?
            .map_err(|cause| not_billable(key, cause))?;
        let rendered = outcome.map_err(|e| ComparisonError::Internal(format!("the result cannot be written: {e}")))?;
        if rendered.result.len() > self.limits.max_result_bytes {
            return Err(ComparisonError::ResultTooLarge {
                bytes: rendered.result.len(),
                max_bytes: self.limits.max_result_bytes,
            });
        }
        Ok(new_comparison(key, recorded, window, rendered))
    }

    /// Steps 6 and 7. The place is left when the commit is over, which may be long after this gave up waiting.
    async fn insert(&self, new: &Arc<NewComparison>, place: Option<Arc<Place>>) -> Result<Insertion, ComparisonError> {
        let writing = Arc::clone(new);
        let write = move |store: &dyn Store| {
            let _place = place;
            Ok::<_, StoreError>(store.insert_comparison(&writing, Timestamp::now()))
        };
        let outcome = self.store.write_for(&new.tenant_id, &new.customer_id, write).await?;
        match outcome {
            Ok(Inserted::Created(row)) => Ok(Insertion::Created(Box::new(row))),
            Ok(Inserted::InputsChanged) => Ok(Insertion::Again),
            Ok(Inserted::Lost) => self.winner(new).await.map(|found| found.unwrap_or(Insertion::Again)),
            // The commit may have happened or not. What is read back decides; if nothing can be read, or nothing is
            // there (the commit may still be on its way), only a repeat of the request can.
            Err(StoreError::OutcomeUnknown(_)) => match self.winner(new).await {
                Ok(Some(found)) => Ok(found),
                Ok(None) | Err(_) => Err(ComparisonError::OutcomeUnknown),
            },
            Err(other) => Err(other.into()),
        }
    }

    /// Reads the row that stands, in a new statement; one with the id that this call made counts as created, also when
    /// its commit lands between the two reads.
    async fn winner(&self, new: &Arc<NewComparison>) -> Result<Option<Insertion>, ComparisonError> {
        let new = Arc::clone(new);
        self.store
            .read(move |store| {
                let mut found = store.comparison(&new.tenant_id, new.id)?;
                if found.is_none() {
                    found = store.current_by_key(&new.tenant_id, &new.key_digest)?;
                }
                let answer = found.map(|found| checked_answer(store, &new.tenant_id, &new.key_text, found));
                let answer = answer.transpose()?.map(|answer| answer.of_call(new.id));
                Ok::<_, ComparisonError>(answer.map(|answer| Insertion::Found(Box::new(answer))))
            })
            .await
    }

    /// `?if_stale=supersede`. `None`: look again, somebody was faster.
    async fn supersede_stale(
        self: &Arc<Self>,
        key: &Arc<NaturalKey>,
        stale: &Answer,
    ) -> ComparisonResult<Option<Answer>> {
        let request = SupersedeRequest {
            reason: stale.view.freshness.supersede_reason().to_owned(),
            note: None,
            force: false,
            if_match: None,
        };
        let answer = self.supersede(key.tenant(), stale.view.row.id, request).await?;
        let is_current = answer.view.row.superseded.is_none();
        Ok((answer.created || (is_current && !answer.view.freshness.is_stale())).then_some(answer))
    }
}

enum Insertion {
    Created(Box<ComparisonRow>),
    Found(Box<Answer>),
    Again,
}

fn lookup(store: &dyn Store, key: &NaturalKey) -> Result<Option<Answer>, ComparisonError> {
    let found = store.current_by_key(key.tenant(), key.digest())?;
    found.map(|found| checked_answer(store, key.tenant(), key.text(), found)).transpose()
}

/// An answer of a row that was found by digest; the text of its key must be the one that was asked for.
fn checked_answer(
    store: &dyn Store,
    tenant: &TenantId,
    key_text: &str,
    found: StoredComparison,
) -> Result<Answer, ComparisonError> {
    if found.row.key_text != key_text {
        return Err(ComparisonError::Internal(format!(
            "two questions share the digest of comparison {}",
            found.row.id
        )));
    }
    answer(store, tenant, found)
}

/// A stored comparison as it is seen now.
pub(super) fn answer(store: &dyn Store, tenant: &TenantId, found: StoredComparison) -> Result<Answer, ComparisonError> {
    let (freshness, latest_id) = Freshness::of(store, tenant, &found)?;
    let view = View { row: found.row, freshness, latest_id };
    Ok(Answer { view, result: found.result, summary: found.summary, created: false })
}

/// The answer of the call that made the row: its inputs were checked in the transaction that stored it.
pub(super) fn created(row: ComparisonRow, new: NewComparison) -> Answer {
    let latest_id = row.id;
    let view = View { row, freshness: Freshness::fresh(), latest_id };
    Answer { view, result: new.result, summary: new.summary, created: true }
}

pub(super) fn new_comparison(
    key: &NaturalKey,
    recorded: crate::store::RecordedInputs,
    window: std::ops::Range<i64>,
    rendered: Rendered,
) -> NewComparison {
    NewComparison {
        id: ComparisonId::new(),
        tenant_id: key.tenant().clone(),
        customer_id: key.customer().clone(),
        period: key.period(),
        plan_references: key.plans().to_vec(),
        key_digest: *key.digest(),
        key_text: key.text().to_owned(),
        inputs: recorded,
        window,
        result: rendered.result,
        summary: rendered.summary,
        totals: rendered.totals,
    }
}

fn not_billable(key: &NaturalKey, cause: EngineError) -> ComparisonError {
    let billable = match &cause {
        EngineError::PlansNotBillable(faults) => {
            key.plans().iter().filter(|plan| faults.iter().all(|fault| fault.plan_id != **plan)).cloned().collect()
        }
        _ => Vec::new(),
    };
    ComparisonError::NotBillable { cause, billable }
}
