//! The service: a question in, the one answer that stands out. No actix and no diesel in here.
//!
//! Start with `compare.rs`, which is the protocol; `protocol.md` is the page about it: two servers step by step, and what
//! breaks without each safeguard. `key.rs` says what makes two questions one, `inputs.rs`, `includes.rs` and
//! `shared_inputs.rs` what an answer depends on, `freshness.rs` whether it still holds, `supersede.rs` how it is
//! replaced, `history.rs` and `diff/` what became of it, `evidence/` how anybody can compute it again.
//! `shared_puts.rs` makes versions of what plans name, `meter_points.rs` gives a file of many meter points to their
//! customers.

mod access;
mod coalesce;
mod compare;
mod diff;
mod digest;
mod envelope;
mod error;
pub mod evidence;
mod freshness;
mod history;
mod includes;
mod inputs;
mod key;
mod meter_points;
mod pool;
mod preview;
pub mod question;
mod render;
mod shared_inputs;
mod shared_puts;
mod supersede;
mod tariffs;
mod turns;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

pub use access::StoreAccess;
pub use compare::IfStale;
pub use diff::Difference;
pub use envelope::{Answer, Detail, Envelope, View};
pub use error::{ComparisonError, ComparisonResult, NotInForce};
pub use freshness::{Freshness, Kind, Reason, State};
pub use history::{Cursor, CursorError};
pub use inputs::{SharedFiles, offline_question};
pub use key::{MAX_PLANS, NaturalKey, PlanCountError};
pub use meter_points::{MeterPointsError, MeterPointsFile, MeterPointsOutcome, MeterPointsPreview, PartsReverted};
pub use render::{Rendered, render};
pub use shared_puts::{PutPrices, put_calendar, put_event_list, put_prices};
pub use supersede::SupersedeRequest;

use crate::config::{Settings, SplitIntervals};
use crate::engine::Options;
use crate::store::Store;
use crate::words::{ComparisonId, CustomerId, TenantId};
use coalesce::Coalescer;
use pool::EnginePool;
use tariffs::TariffCache;
use turns::{OfCustomer, Turn, Turns};

/// Files that are read at the same time, at least: one that waits for its customer's lock leaves room for another.
const MIN_FILES: usize = 2;

/// The service's parts. Shared by every handler and by the local commands.
pub struct Service {
    store: StoreAccess,
    engine: EnginePool,
    tariffs: Arc<TariffCache>,
    coalescer: Coalescer,
    imports: Semaphore,
    files: Turns<OfCustomer>,
    supersedes: Turns<(TenantId, ComparisonId)>,
    limits: Limits,
    n_computations: AtomicU64,
    runtime: Handle,
    n_detached: watch::Sender<usize>,
}

/// The settings that the service itself looks at.
struct Limits {
    coalescing: bool,
    max_result_bytes: usize,
    options: Options,
}

/// The service and the threads that its detached work runs on.
pub struct ServiceHost {
    service: Arc<Service>,
    runtime: Runtime,
}

/// The service's threads could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine's pool.
    #[error("the engine's threads did not start")]
    Engine(#[from] rayon::ThreadPoolBuildError),
    /// The runtime of detached work.
    #[error("the service's threads did not start")]
    Runtime(#[from] std::io::Error),
}

impl ServiceHost {
    /// Starts the service on a store.
    ///
    /// # Errors
    /// [`StartError`] when threads cannot be started.
    pub fn start(settings: &Settings, store: Arc<dyn Store>) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("service")
            .enable_all()
            .build()?;
        let service = Service {
            store: StoreAccess::new(store, settings, runtime.handle().clone()),
            engine: EnginePool::new(settings.n_engine_threads(), settings.n_engine_jobs(), settings.engine_queue)?,
            tariffs: Arc::new(TariffCache::new(settings.tariff_cache_entries)),
            coalescer: Coalescer::default(),
            imports: Semaphore::new(settings.n_engine_jobs().max(MIN_FILES)),
            files: Turns::new(1),
            supersedes: Turns::new(1),
            limits: Limits {
                coalescing: settings.coalescing,
                max_result_bytes: settings.max_result_bytes,
                options: Options {
                    min_coverage: settings.min_coverage.value(),
                    split_intervals_even: settings.split_intervals == SplitIntervals::Even,
                    ..Options::default()
                },
            },
            n_computations: AtomicU64::new(0),
            runtime: runtime.handle().clone(),
            n_detached: watch::Sender::new(0),
        };
        Ok(Self { service: Arc::new(service), runtime })
    }

    /// The service.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Runs one call to its end, for callers without a runtime: the local commands.
    pub fn block_on<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Waits until everything that was accepted is done, at most so long, and stops the threads.
    pub fn stop(self, timeout: Duration) {
        let mut n_detached = self.service.n_detached.subscribe();
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(timeout, n_detached.wait_for(|n| *n == 0)).await.is_ok() });
        if !done {
            tracing::warn!(n_detached = *self.service.n_detached.borrow(), "stopped before all computations were done");
        }
        // Also waits for calls to the store that are under way: a COMMIT is never cut off.
        self.runtime.shutdown_timeout(timeout);
    }
}

/// The right to hold the readings of one customer's file in memory.
pub struct FilePermit<'a> {
    _turn: Turn<OfCustomer>,
    _permit: SemaphorePermit<'a>,
}

impl Service {
    /// The store, for what needs no service: customers, plans, usage, periods.
    pub fn store(&self) -> &StoreAccess {
        &self.store
    }

    /// Runs CPU work, such as reading a file, on a blocking thread.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when it panics.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ComparisonError> {
        let done = self.runtime.spawn_blocking(work).await;
        done.map_err(|panic| ComparisonError::Internal(format!("work did not end: {panic}")))
    }

    /// The right to hold the readings of one file in memory; as many at once as comparisons, and two at least.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when the service is stopping.
    pub async fn import_permit(&self) -> Result<SemaphorePermit<'_>, ComparisonError> {
        let permit = self.imports.acquire().await;
        permit.map_err(|_| ComparisonError::Internal("the service is stopping".to_owned()))
    }

    /// The same for a file of one customer, of which one is read at a time: they would wait for its lock all together.
    ///
    /// # Errors
    /// [`ComparisonError::Overloaded`] when the one before takes too long, [`ComparisonError::Internal`] when the service
    /// is stopping.
    pub async fn file_permit(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
    ) -> Result<FilePermit<'_>, ComparisonError> {
        let turn = self.store.turn(&self.files, (tenant.clone(), customer.clone())).await?;
        Ok(FilePermit { _turn: turn, _permit: self.import_permit().await? })
    }

    /// Comparisons computed since the start, those included that another server's answer made void.
    pub fn n_computations(&self) -> u64 {
        self.n_computations.load(Ordering::Relaxed)
    }

    /// Runs a task to its end whether or not its caller stays, and waits for it.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when it panics.
    async fn detached<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ComparisonError> {
        struct Running(watch::Sender<usize>);
        impl Drop for Running {
            fn drop(&mut self) {
                self.0.send_modify(|n| *n -= 1);
            }
        }
        self.n_detached.send_modify(|n| *n += 1);
        let running = Running(self.n_detached.clone());
        let task = self.runtime.spawn(async move {
            let _running = running;
            task.await
        });
        task.await.map_err(|panic| ComparisonError::Internal(format!("a computation did not end: {panic}")))
    }

    /// A named stop of the protocol: nothing, unless tests have it do something (feature `failpoints`).
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when the failpoint is set to `return` or `panic`.
    #[cfg(feature = "failpoints")]
    pub async fn stop_at(&self, name: &'static str) -> Result<(), ComparisonError> {
        fn stop(name: &str) -> Result<(), ComparisonError> {
            fail::fail_point!(name, |_| Err(ComparisonError::Internal(format!("failpoint {name}"))));
            Ok(())
        }
        // On a blocking thread: a test may hold it for long.
        let stopped = self.runtime.spawn_blocking(move || stop(name)).await;
        stopped.unwrap_or_else(|panic| Err(ComparisonError::Internal(format!("failpoint {name}: {panic}"))))
    }

    /// A named stop of the protocol: nothing in this build.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "failpoints"))]
    #[expect(clippy::unused_async, reason = "the same call as with the feature")]
    pub async fn stop_at(&self, _name: &'static str) -> Result<(), ComparisonError> {
        Ok(())
    }
}
