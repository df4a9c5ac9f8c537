//! Callers of one question in one process share one computation.
//!
//! The leader's [`Place`] keeps the key in the map until the leader's commit is done; whoever comes while it is there joins
//! and waits. A commit that hangs keeps it there after its leader has told that the outcome is unknown: who comes then is
//! told the same at once. This saves work and nothing rests on it: without the map every promise holds.

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

/// What the leader holds; leaving it, also by a panic, wakes all who joined.
pub(super) struct Seat {
    place: Arc<Place>,
    outcome: watch::Sender<Outcome>,
}

/// The key in the map, for as long as anybody holds this: the leader, and the write that it has begun.
pub(super) struct Place {
    running: Running,
    digest: Digest,
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
                let place = Place { running: Arc::clone(&self.running), digest };
                Role::Leader(Seat { place: Arc::new(place), outcome })
            }
        }
    }
}

impl Seat {
    /// The place in the map, to be held by a write until it is over.
    pub(super) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place)
    }

    /// Leaves the map, unless a write still holds the place, and tells those who joined.
    pub(super) fn leave(self, outcome: ComparisonResult<()>) {
        let Self { place, outcome: sender } = self;
        // The map is left (by drop) before anybody is woken: who is woken and asks again must not join this one.
        drop(place);
        sender.send_replace(Some(outcome));
    }
}

impl Drop for Place {
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
    async fn a_write_that_goes_on_keeps_the_seat_and_nobody_waits_for_it() {
        let coalescer = Coalescer::default();
        let Role::Leader(seat) = coalescer.enter([1; 32]) else { panic!("the first one leads") };
        let place = seat.place();
        seat.leave(Err(ComparisonError::OutcomeUnknown.into()));
        let Role::Joiner(joiner) = coalescer.enter([1; 32]) else { panic!("the write is not over") };
        assert!(matches!(*joiner.wait().await.unwrap_err(), ComparisonError::OutcomeUnknown));
        drop(place);
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
