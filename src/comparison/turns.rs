//! Places that callers with something in common can hold: of the connections that write and of the files that are read
//! those of one customer, of the engine those who replace one comparison.
//!
//! Everything that writes for a customer waits for the row lock on its head, and holds a connection while it waits.
//! Whoever holds that lock for long, be it somebody with a console, then takes the connections of everybody else. So
//! callers wait here first, a few of one customer pass at a time, and nothing is lost: the lock lets one at a time
//! through anyway. Callers who replace one comparison would all compute its successor, and all but one in vain. This saves
//! work and waiting; nothing rests on it. Of connections and supersedes it is off where callers are not joined
//! (`--no-coalescing`).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::words::{CustomerId, TenantId};

/// More than there are ever callers.
const MANY: usize = 1 << 24;

/// Whose places they are.
pub(super) type OfCustomer = (TenantId, CustomerId);

/// The places of each `K` for which somebody waits or which somebody has.
pub(super) struct Turns<K: Hash + Eq> {
    n_places: usize,
    places: Arc<Mutex<HashMap<K, Places>>>,
}

struct Places {
    free: Arc<Semaphore>,
    n_callers: usize,
}

/// A caller that waits for a place, or has one.
pub(super) struct Caller<K: Hash + Eq> {
    places: Arc<Mutex<HashMap<K, Places>>>,
    of: K,
    free: Arc<Semaphore>,
}

/// A place, given back when it is dropped.
pub(super) struct Turn<K: Hash + Eq> {
    // Given back before the caller goes.
    _place: OwnedSemaphorePermit,
    caller: Caller<K>,
}

impl<K: Hash + Eq + Clone> Turns<K> {
    /// * `n_places`: of each, at least one.
    pub(super) fn new(n_places: usize) -> Self {
        Self { n_places: n_places.max(1), places: Arc::default() }
    }

    /// Comes to the places of one.
    pub(super) fn come(&self, of: K) -> Caller<K> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = places
            .entry(of.clone())
            .or_insert_with(|| Places { free: Arc::new(Semaphore::new(self.n_places)), n_callers: 0 });
        of_one.n_callers += 1;
        Caller { places: Arc::clone(&self.places), of, free: Arc::clone(&of_one.free) }
    }
}

impl<K: Hash + Eq> Caller<K> {
    /// A place that is free.
    pub(super) fn turn_at_once(self) -> Result<Turn<K>, Self> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(place) => Ok(Turn { _place: place, caller: self }),
            Err(_) => Err(self),
        }
    }

    /// Waits for a place, first come, first served. `None` never comes: places are not closed.
    pub(super) async fn turn(self) -> Option<Turn<K>> {
        let place = Arc::clone(&self.free).acquire_owned().await.ok()?;
        Some(Turn { _place: place, caller: self })
    }
}

impl<K: Hash + Eq> Turn<K> {
    /// Lets all who wait for a place pass: there is nothing left to wait for.
    pub(super) fn let_all_pass(&self) {
        self.caller.free.add_permits(MANY);
    }
}

impl<K: Hash + Eq> Drop for Caller<K> {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_one) = places.get_mut(&self.of) {
            of_one.n_callers -= 1;
            if of_one.n_callers == 0 {
                places.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn callers_of_one_wait_for_each_other_and_for_nobody_else() {
        let turns = Turns::new(1);
        let first = turns.come("c-1").turn().await.unwrap();
        let mut second = std::pin::pin!(turns.come("c-1").turn());
        assert!(tokio::time::timeout(Duration::from_millis(5), second.as_mut()).await.is_err());
        assert!(turns.come("c-2").turn().await.is_some());
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test]
    async fn one_without_callers_is_forgotten() {
        let turns = Turns::new(1);
        let first = turns.come("c-1").turn().await.unwrap();
        let gave_up = tokio::time::timeout(Duration::from_millis(5), turns.come("c-1").turn()).await;
        assert!(gave_up.is_err() && turns.places.lock().unwrap().len() == 1);
        drop(first);
        assert!(turns.places.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn all_pass_when_there_is_nothing_left_to_wait_for() {
        let turns = Turns::new(1);
        let first = turns.come("c-1").turn().await.unwrap();
        let others: Vec<_> = (0..3).map(|_| tokio::spawn(turns.come("c-1").turn())).collect();
        first.let_all_pass();
        for other in others {
            assert!(other.await.unwrap().is_some());
        }
        drop(first);
        assert!(turns.places.lock().unwrap().is_empty());
    }
}
