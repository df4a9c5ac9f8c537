//! The engine's threads: a rayon pool of the service's own behind a bounded number of permits, and the room for results
//! that are not stored yet.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::ComparisonError;

/// What results that wait to be stored may hold together, KiB.
const WAITING_RESULTS_KIB: u32 = 256 * 1024;

/// Bounded in four ways: threads, jobs at the same time, jobs that wait, bytes of results that wait to be stored.
pub(super) struct EnginePool {
    threads: rayon::ThreadPool,
    permits: Arc<Semaphore>,
    results: Arc<Semaphore>,
    n_waiting: AtomicUsize,
    max_waiting: usize,
}

/// The right to hold the inputs of one comparison in memory and to compute it.
pub(super) struct EnginePermit {
    _permit: OwnedSemaphorePermit,
}

/// The right to keep one result until it is stored.
pub(super) struct ResultRoom {
    _room: OwnedSemaphorePermit,
}

impl EnginePool {
    /// * `n_threads`: of the pool; `n_jobs`: comparisons at the same time; `max_waiting`: comparisons in the queue.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub(super) fn new(
        n_threads: usize,
        n_jobs: usize,
        max_waiting: usize,
    ) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads =
            rayon::ThreadPoolBuilder::new().num_threads(n_threads).thread_name(|i| format!("engine-{i}")).build()?;
        Ok(Self {
            threads,
            permits: Arc::new(Semaphore::new(n_jobs.max(1))),
            results: Arc::new(Semaphore::new(WAITING_RESULTS_KIB as usize)),
            n_waiting: AtomicUsize::new(0),
            max_waiting,
        })
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// [`ComparisonError::Overloaded`] when the queue is full.
    pub(super) async fn permit(&self) -> Result<EnginePermit, ComparisonError> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }

        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(EnginePermit { _permit: permit });
        }
        let n_before = self.n_waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.n_waiting);
        if n_before >= self.max_waiting {
            return Err(ComparisonError::Overloaded("engine"));
        }
        match Arc::clone(&self.permits).acquire_owned().await {
            Ok(permit) => Ok(EnginePermit { _permit: permit }),
            Err(_) => Err(ComparisonError::Internal("the engine is stopping".to_owned())),
        }
    }

    /// Gives a permit back for room to keep a result in, so that a write that waits for a lock does not hold up the
    /// engine. Where too much waits already the engine has to.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when the service is stopping.
    pub(super) async fn give_back(&self, permit: EnginePermit, n_bytes: usize) -> Result<ResultRoom, ComparisonError> {
        let n_kib = u32::try_from(n_bytes / 1024 + 1).unwrap_or(u32::MAX).min(WAITING_RESULTS_KIB);
        let room = Arc::clone(&self.results).acquire_many_owned(n_kib).await;
        drop(permit);
        room.map(|room| ResultRoom { _room: room })
            .map_err(|_| ComparisonError::Internal("the engine is stopping".to_owned()))
    }

    /// Runs a job on the pool; the permit shows that there is room for it.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when the job panics: its callers get that, nobody else is harmed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        _permit: &EnginePermit,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ComparisonError> {
        let (sender, receiver) = oneshot::channel();
        self.threads.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                fail::fail_point!("engine::job");
                job()
            }));
            // The caller may be gone: then nobody wants the outcome.
            let _ = sender.send(outcome);
        });
        match receiver.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => {
                let text = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                Err(ComparisonError::Internal(format!("the engine panicked: {}", text.unwrap_or_default())))
            }
            Err(_) => Err(ComparisonError::Internal("the engine dropped a job".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_harms_its_own_caller_only() {
        let pool = EnginePool::new(1, 1, 8).unwrap();
        let permit = pool.permit().await.unwrap();
        let panicked = pool.run(&permit, || rayon::join(|| panic!("boom"), || 1)).await;
        assert!(matches!(panicked, Err(ComparisonError::Internal(text)) if text.contains("boom")));
        assert_eq!(pool.run(&permit, || 2).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_gone_caller_leaves_it() {
        let pool = EnginePool::new(1, 1, 1).unwrap();
        let permit = pool.permit().await.unwrap();
        {
            let mut waiting = std::pin::pin!(pool.permit());
            let first = std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await;
            assert!(first.is_pending());
            assert!(matches!(pool.permit().await, Err(ComparisonError::Overloaded(_))));
        }
        drop(permit);
        assert!(pool.permit().await.is_ok());
        assert_eq!(pool.n_waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_result_that_waits_to_be_stored_frees_the_engine_until_too_much_waits() {
        let pool = EnginePool::new(1, 1, 8).unwrap();
        let room = pool.give_back(pool.permit().await.unwrap(), 300 << 20).await.unwrap();
        {
            let mut second = std::pin::pin!(pool.give_back(pool.permit().await.unwrap(), 1));
            let waits = std::future::poll_fn(|context| std::task::Poll::Ready(second.as_mut().poll(context))).await;
            assert!(waits.is_pending() && pool.permits.available_permits() == 0);
            drop(room);
            assert!(second.await.is_ok());
        }
        assert_eq!(pool.permits.available_permits(), 1);
    }
}
