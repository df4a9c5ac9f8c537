//! The asynchronous door to the store: a permit of the pool first, then one hop to a blocking thread.
//!
//! A call that has begun runs to its end even if its caller is gone: a COMMIT in flight is never cancelled.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::ComparisonError;
use crate::store::Store;

/// Reads and writes have permits of their own, so that writes that hang do not take hits and health down.
pub struct StoreAccess {
    store: Arc<dyn Store>,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    wait: Duration,
    runtime: Handle,
}

impl StoreAccess {
    /// * `n_reads`, `n_writes`: calls at the same time.
    /// * `wait`: longest wait for a permit.
    pub fn new(store: Arc<dyn Store>, n_reads: usize, n_writes: usize, wait: Duration, runtime: Handle) -> Self {
        let permits = |n: usize| Arc::new(Semaphore::new(n.max(1)));
        Self { store, reads: permits(n_reads), writes: permits(n_writes), wait, runtime }
    }

    /// Runs what only reads.
    ///
    /// # Errors
    /// [`ComparisonError::Overloaded`] without a permit in time, [`ComparisonError::Internal`] when the call panics,
    /// else what it says itself.
    pub async fn read<T, E, F>(&self, call: F) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        self.call(&self.reads, call).await
    }

    /// Runs what writes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn write<T, E, F>(&self, call: F) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        self.call(&self.writes, call).await
    }

    async fn call<T, E, F>(&self, permits: &Arc<Semaphore>, call: F) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        let permit = self.permit(permits).await?;
        let store = Arc::clone(&self.store);
        let task = self.runtime.spawn_blocking(move || {
            // The permit goes with the call: a caller that is gone does not free a connection that is in use.
            let _permit = permit;
            call(&*store)
        });
        match task.await {
            Ok(outcome) => outcome.map_err(Into::into),
            Err(panic) => Err(ComparisonError::Internal(format!("a call to the store did not end: {panic}"))),
        }
    }

    async fn permit(&self, permits: &Arc<Semaphore>) -> Result<tokio::sync::OwnedSemaphorePermit, ComparisonError> {
        let permits = Arc::clone(permits);
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            return Ok(permit);
        }
        // The timer belongs to the service's runtime: a caller may poll this from a thread without one.
        let wait = self.wait;
        let task = self.runtime.spawn(async move { tokio::time::timeout(wait, permits.acquire_owned()).await });
        match task.await {
            Ok(Ok(Ok(permit))) => Ok(permit),
            Ok(Err(_)) => Err(ComparisonError::Overloaded("database")),
            Ok(Ok(Err(_))) | Err(_) => Err(ComparisonError::Internal("the service is stopping".to_owned())),
        }
    }
}
