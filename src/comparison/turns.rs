//! Places that one customer can hold: of the connections that write, of the files that are read.
//!
//! Everything that writes for a customer waits for the row lock on its head, and holds a connection while it waits.
//! Whoever holds that lock for long, be it somebody with a console, then takes the connections of everybody else. So
//! callers wait here first, a few of one customer pass at a time, and nothing is lost: the lock lets one at a time
//! through anyway. This saves waiting only, and nothing rests on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::words::{CustomerId, TenantId};

type Whose = (TenantId, CustomerId);

/// The places of every customer that somebody waits for or has.
pub(super) struct Turns {
    n_places: usize,
    places: Arc<Mutex<HashMap<Whose, Places>>>,
}

struct Places {
    free: Arc<Semaphore>,
    n_callers: usize,
}

/// A caller that waits for a place of a customer, or has one.
pub(super) struct Caller {
    places: Arc<Mutex<HashMap<Whose, Places>>>,
    whose: Whose,
    free: Arc<Semaphore>,
}

/// A place, given back when it is dropped.
pub(super) struct Turn {
    // Given back before the caller goes.
    _place: OwnedSemaphorePermit,
    _caller: Caller,
}

impl Turns {
    /// * `n_places`: of each customer, at least one.
    pub(super) fn new(n_places: usize) -> Self {
        Self { n_places: n_places.max(1), places: Arc::default() }
    }

    /// Comes to a customer's places.
    pub(super) fn come(&self, tenant: &TenantId, customer: &CustomerId) -> Caller {
        let whose = (tenant.clone(), customer.clone());
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let of_customer = places
            .entry(whose.clone())
            .or_insert_with(|| Places { free: Arc::new(Semaphore::new(self.n_places)), n_callers: 0 });
        of_customer.n_callers += 1;
        Caller { places: Arc::clone(&self.places), whose, free: Arc::clone(&of_customer.free) }
    }
}

impl Caller {
    /// A place that is free.
    pub(super) fn turn_at_once(self) -> Result<Turn, Self> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(place) => Ok(Turn { _place: place, _caller: self }),
            Err(_) => Err(self),
        }
    }

    /// Waits for a place, first come, first served. `None` never comes: places are not closed.
    pub(super) async fn turn(self) -> Option<Turn> {
        let place = Arc::clone(&self.free).acquire_owned().await.ok()?;
        Some(Turn { _place: place, _caller: self })
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut of_customer) = places.entry(self.whose.clone()) {
            of_customer.get_mut().n_callers -= 1;
            if of_customer.get().n_callers == 0 {
                of_customer.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn come(turns: &Turns, customer: &str) -> Caller {
        turns.come(&"t".parse().unwrap(), &customer.parse().unwrap())
    }

    #[tokio::test]
    async fn callers_of_one_customer_wait_for_each_other_and_for_nobody_else() {
        let turns = Turns::new(1);
        let first = come(&turns, "c-1").turn().await.unwrap();
        let mut second = std::pin::pin!(come(&turns, "c-1").turn());
        assert!(tokio::time::timeout(Duration::from_millis(5), second.as_mut()).await.is_err());
        assert!(come(&turns, "c-2").turn().await.is_some());
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test]
    async fn a_customer_without_callers_is_forgotten() {
        let turns = Turns::new(1);
        let first = come(&turns, "c-1").turn().await.unwrap();
        let gave_up = tokio::time::timeout(Duration::from_millis(5), come(&turns, "c-1").turn()).await;
        assert!(gave_up.is_err() && turns.places.lock().unwrap().len() == 1);
        drop(first);
        assert!(turns.places.lock().unwrap().is_empty());
    }
}
