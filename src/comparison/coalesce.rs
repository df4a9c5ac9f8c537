//! Callers of one question in one process share one computation.
//!
//! The leader's [`Seat`] keeps the key in the map until the leader's commit is done; whoever comes while it is there joins
//! and waits. This saves work and nothing rests on it: without the map every promise holds.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{ComparisonError, ComparisonResult};

type Digest = [u8; 32];
type Outcome = Option<ComparisonResult<()>>;
type Running = Arc<Mutex<HashMap<Digest, watch::Receiver<Outcome>>>>;

/// The computations running now, by digest of their key.
#[derive(Default)]
pub(super) struct Coalescer {
    running: Running,
}

/// What a caller is to do.
pub(super) enum Role {
    /// Compute, then leave the seat.
    Leader(Seat),
    /// Wait for the leader.
    Joiner(Joiner),
}

/// The leader's place in the map; leaving it, also by a panic, wakes all who joined.
pub(super) struct Seat {
    running: Running,
    digest: Digest,
    outcome: watch::Sender<Outcome>,
}

/// A caller that waits for a leader.
pub(super) struct Joiner(watch::Receiver<Outcome>);

impl Coalescer {
    /// Joins the computation of this key or becomes its leader.
    pub(super) fn enter(&self, digest: Digest) -> Role {
        match self.running.lock().unwrap_or_else(PoisonError::into_inner).entry(digest) {
            Entry::Occupied(running) => Role::Joiner(Joiner(running.get().clone())),
            Entry::Vacant(free) => {
                let (outcome, receiver) = watch::channel(None);
                free.insert(receiver);
                Role::Leader(Seat { running: Arc::clone(&self.running), digest, outcome })
            }
        }
    }
}

impl Seat {
    /// Leaves the map and tells those who joined.
    pub(super) fn leave(self, outcome: ComparisonResult<()>) {
        // The map is left (by drop) before anybody is woken: who is woken and asks again must not join this one.
        let sender = self.outcome.clone();
        drop(self);
        sender.send_replace(Some(outcome));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.digest);
    }
}

impl Joiner {
    /// Waits until the leader has left.
    ///
    /// # Errors
    /// The leader's own.
    pub(super) async fn wait(mut self) -> ComparisonResult<()> {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().expect("waited until it is there"),
            Err(_) => Err(ComparisonError::Internal("the computation did not end".to_owned()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_leads_and_the_others_share_its_outcome() {
        let coalescer = Coalescer::default();
        let Role::Leader(seat) = coalescer.enter([1; 32]) else { panic!("the first one leads") };
        let Role::Joiner(joiner) = coalescer.enter([1; 32]) else { panic!("the second one joins") };
        assert!(matches!(coalescer.enter([2; 32]), Role::Leader(_)), "another question has its own leader");
        seat.leave(Err(ComparisonError::InputsChanging.into()));
        assert!(matches!(*joiner.wait().await.unwrap_err(), ComparisonError::InputsChanging));
        assert!(matches!(coalescer.enter([1; 32]), Role::Leader(_)), "the seat is free again");
    }

    #[tokio::test]
    async fn a_leader_that_panics_leaves_its_seat() {
        let coalescer = Arc::new(Coalescer::default());
        let Role::Leader(seat) = coalescer.enter([1; 32]) else { panic!("the first one leads") };
        let Role::Joiner(joiner) = coalescer.enter([1; 32]) else { panic!("the second one joins") };
        let leader = tokio::spawn(async move {
            let _seat = seat;
            panic!("boom")
        });
        assert!(leader.await.is_err());
        assert!(matches!(*joiner.wait().await.unwrap_err(), ComparisonError::Internal(_)));
        assert!(matches!(coalescer.enter([1; 32]), Role::Leader(_)));
    }
}
