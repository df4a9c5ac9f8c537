//! The asynchronous door to the store: a permit of the pool first, then one hop to a blocking thread.
//!
//! A call that has begun runs to its end even if its caller is gone: a COMMIT in flight is never cancelled (PostgreSQL
//! calls a cancelled synchronous commit a success). A commit can hang for as long as a standby is away, so a caller waits
//! a bounded time for a write and is then told that its outcome is unknown, while the write goes on.

use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::ComparisonError;
use super::turns::{OfCustomer, Turn, Turns};
use crate::config::Settings;
use crate::store::Store;
use crate::words::{CustomerId, TenantId};

/// SQLite has one writer that commits groups: what waits for it at the same time makes the group.
const SQLITE_WRITERS: usize = 64;

/// Reads and writes have permits of their own, so that writes that hang do not take hits and health down.
pub struct StoreAccess {
    store: Arc<dyn Store>,
    reads: Permits,
    writes: Permits,
    /// PostgreSQL only: SQLite has one lock for all. And only with coalescing.
    turns: Option<Turns<OfCustomer>>,
    permit_wait: Duration,
    commit_wait: Duration,
    runtime: Handle,
}

struct Permits {
    free: Arc<Semaphore>,
    /// Calls whose callers have given up waiting.
    n_overdue: Arc<AtomicUsize>,
    /// With so many of them nothing moves any more: to wait for a permit is in vain.
    max_overdue: usize,
}

/// The right to one write.
pub(super) struct WritePermit {
    _permit: OwnedSemaphorePermit,
    _turn: Option<Turn<OfCustomer>>,
}

impl StoreAccess {
    /// Bounded as the settings say; timers and blocking threads are the runtime's.
    pub fn new(store: Arc<dyn Store>, settings: &Settings, runtime: Handle) -> Self {
        let (n_writes, n_write_lanes, turns) = if settings.database_url.starts_with("sqlite:") {
            (SQLITE_WRITERS, 1, None)
        } else {
            let n_writes = settings.database_write_connections as usize;
            (n_writes, n_writes, settings.coalescing.then(|| Turns::new(n_writes / 4)))
        };
        Self {
            store,
            reads: Permits::new(settings.database_read_connections as usize, usize::MAX),
            writes: Permits::new(n_writes, n_write_lanes),
            turns,
            permit_wait: settings.database_wait(),
            commit_wait: settings.database_commit_wait(),
            runtime,
        }
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
        let permit = self.permit(&self.reads).await?;
        ended(self.begin(permit, call).await)
    }

    /// Runs what writes for one customer: what takes the lock on its head. What `call` owns it keeps to its end, which may
    /// be long after this has returned.
    ///
    /// # Errors
    /// As [`Self::read`], and [`ComparisonError::OutcomeUnknown`] when the database does not answer in time.
    pub async fn write_for<T, E, F>(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        call: F,
    ) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        let permit = self.write_permit(tenant, customer).await?;
        self.write_with(permit, call).await
    }

    /// Runs what writes and takes the lock of no customer, or of one it has to find first; else as [`Self::write_for`].
    ///
    /// # Errors
    /// As [`Self::read`], and [`ComparisonError::OutcomeUnknown`] when the database does not answer in time.
    pub async fn write<T, E, F>(&self, call: F) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        let permit = WritePermit { _permit: self.permit(&self.writes).await?, _turn: None };
        self.write_with(permit, call).await
    }

    /// Waits for the right to one write for a customer: first for its turn, so that who waits for the others of a
    /// customer keeps no connection.
    ///
    /// # Errors
    /// [`ComparisonError::Overloaded`] without one in time, or at once if every write hangs.
    pub(super) async fn write_permit(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
    ) -> Result<WritePermit, ComparisonError> {
        let turn = match &self.turns {
            Some(turns) => Some(self.turn(turns, (tenant.clone(), customer.clone())).await?),
            None => None,
        };
        Ok(WritePermit { _permit: self.permit(&self.writes).await?, _turn: turn })
    }

    /// Waits for a place, as long as for a connection.
    ///
    /// # Errors
    /// [`ComparisonError::Overloaded`] without one in time.
    pub(super) async fn turn<K: Hash + Eq + Clone>(&self, turns: &Turns<K>, of: K) -> Result<Turn<K>, ComparisonError> {
        let caller = match turns.come(of).turn_at_once() {
            Ok(turn) => return Ok(turn),
            Err(caller) => caller,
        };
        self.in_time(caller.turn()).await?.ok_or_else(stopping)
    }

    /// [`Self::write_for`] with the permit in hand.
    ///
    /// # Errors
    /// As [`Self::write_for`].
    pub(super) async fn write_with<T, E, F>(&self, permit: WritePermit, call: F) -> Result<T, ComparisonError>
    where
        T: Send + 'static,
        E: Into<ComparisonError> + Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        let begun = Instant::now();
        let mut task = self.begin(permit, call);
        // The timer belongs to the service's runtime: a caller may poll this from a thread without one.
        let in_time = {
            let _service = self.runtime.enter();
            tokio::time::timeout(self.commit_wait, &mut task)
        };
        if let Ok(outcome) = in_time.await {
            return ended(outcome);
        }
        tracing::warn!(
            waited_ms = self.commit_wait.as_millis(),
            "the database has not answered a write, which goes on"
        );
        let n_overdue = Arc::clone(&self.writes.n_overdue);
        n_overdue.fetch_add(1, Ordering::Relaxed);
        self.runtime.spawn(async move {
            let is_stored = matches!(task.await, Ok(Ok(_)));
            n_overdue.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(
                took_ms = begun.elapsed().as_millis(),
                is_stored,
                "a write that nobody waited for has ended"
            );
        });
        Err(ComparisonError::OutcomeUnknown)
    }

    fn begin<T, E, F>(&self, permit: impl Send + 'static, call: F) -> JoinHandle<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, E> + Send + 'static,
    {
        let store = Arc::clone(&self.store);
        self.runtime.spawn_blocking(move || {
            // The permit goes with the call: a caller that is gone does not free a connection that is in use.
            let _permit = permit;
            call(&*store)
        })
    }

    async fn permit(&self, permits: &Permits) -> Result<OwnedSemaphorePermit, ComparisonError> {
        if permits.n_overdue.load(Ordering::Relaxed) >= permits.max_overdue {
            return Err(ComparisonError::Overloaded("database"));
        }
        let free = Arc::clone(&permits.free);
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            return Ok(permit);
        }
        self.in_time(free.acquire_owned()).await?.map_err(|_| stopping())
    }

    /// Waits for a permit or a place, but not for ever.
    async fn in_time<T>(&self, what: impl Future<Output = T>) -> Result<T, ComparisonError> {
        // The timer belongs to the service's runtime: a caller may poll this from a thread without one.
        let in_time = {
            let _service = self.runtime.enter();
            tokio::time::timeout(self.permit_wait, what)
        };
        in_time.await.map_err(|_| ComparisonError::Overloaded("database"))
    }
}

fn stopping() -> ComparisonError {
    ComparisonError::Internal("the service is stopping".to_owned())
}

impl Permits {
    fn new(n: usize, max_overdue: usize) -> Self {
        let free = Arc::new(Semaphore::new(n.max(1)));
        Self { free, n_overdue: Arc::default(), max_overdue: max_overdue.max(1) }
    }
}

fn ended<T, E: Into<ComparisonError>>(
    outcome: Result<Result<T, E>, tokio::task::JoinError>,
) -> Result<T, ComparisonError> {
    match outcome {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(panic) => Err(ComparisonError::Internal(format!("a call to the store did not end: {panic}"))),
    }
}
