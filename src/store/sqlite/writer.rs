//! The one thread that writes to SQLite. It takes what waits, runs each job in a savepoint of one transaction,
//! commits once, and only then answers: a disk's flush is paid by the group.
//!
//! What goes wrong stays with its job: a refusal or a broken constraint rolls back its savepoint; anything else (a
//! panic, a full disk, which may roll back more than the savepoint) rolls back the group, and each job is run again
//! alone on a new connection. What is refused because the disk is full is not tried again: everybody behind would wait
//! for it. The thread itself never ends before its last job, also by a panic outside of any job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::result::Error as DieselError;
use diesel::sqlite::SqliteConnection;

use crate::store::engine::{Stops, UnitError, panic_text};
use crate::store::sqlite::disk;
use crate::store::{StoreError, StoreOptions, retry};

/// A group holds at most so many jobs, so that the first of them does not wait long.
const MAX_GROUP_JOBS: usize = 256;
/// And about so many bytes.
const MAX_GROUP_BYTES: usize = 16 << 20;
/// What waits in the queue holds at most about so many bytes, or is one job.
const MAX_QUEUED_BYTES: usize = 512 << 20;

type Run = Box<dyn FnMut(&mut SqliteConnection) -> Result<(), UnitError> + Send>;
type Landed = Box<dyn FnMut(&mut SqliteConnection) -> Result<bool, UnitError> + Send>;

struct Job {
    stops: Stops,
    n_bytes: usize,
    run: Run,
    landed: Landed,
    answer: SyncSender<Result<(), StoreError>>,
}

/// The way to the writing thread. Dropped, it waits until every job is done.
pub(super) struct Writer {
    queue: Option<SyncSender<Job>>,
    queued_bytes: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    /// Jobs that the queue took.
    #[cfg(test)]
    n_sent: AtomicUsize,
}

impl Writer {
    /// Starts the thread on a database that is migrated already.
    pub(super) fn start(file: &str, options: &StoreOptions) -> Result<Self, StoreError> {
        let (queue, jobs) = sync_channel(options.writer_queue.max(1));
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let thread = WriterThread {
            file: file.to_owned(),
            options: options.clone(),
            queued_bytes: Arc::clone(&queued_bytes),
            connection: None,
        };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || thread.work(&jobs))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self {
            queue: Some(queue),
            queued_bytes,
            thread: Some(thread),
            #[cfg(test)]
            n_sent: AtomicUsize::new(0),
        })
    }

    /// Runs a unit on the writing thread and waits until it is committed.
    ///
    /// # Errors
    /// * [`StoreError::Busy`] when too much waits already; nothing was done.
    pub(super) fn write<T: Send + 'static>(
        &self,
        stops: Stops,
        n_bytes: usize,
        mut unit: impl FnMut(&mut SqliteConnection) -> Result<T, UnitError> + Send + 'static,
        mut landed: impl FnMut(&mut SqliteConnection, &T) -> Result<bool, UnitError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let value = Arc::new(Mutex::new(None));
        let (for_run, for_landed) = (Arc::clone(&value), Arc::clone(&value));
        let (answer, answered) = sync_channel(1);
        let job = Job {
            stops,
            n_bytes,
            run: Box::new(move |connection| {
                let made = unit(connection)?;
                *for_run.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
                Ok(())
            }),
            landed: Box::new(move |connection| {
                let made = for_landed.lock().unwrap_or_else(PoisonError::into_inner);
                made.as_ref().map_or(Ok(false), |made| landed(connection, made))
            }),
            answer,
        };
        let waiting = self.queued_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let sent = match &self.queue {
            Some(queue) if waiting == 0 || waiting + n_bytes <= MAX_QUEUED_BYTES => {
                queue.try_send(job).map_err(|error| no_job(&error))
            }
            _ => Err(StoreError::Busy(None)),
        };
        if let Err(error) = sent {
            self.queued_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
            return Err(error);
        }
        #[cfg(test)]
        self.n_sent.fetch_add(1, Ordering::Relaxed);
        answered.recv().map_err(|error| StoreError::OutcomeUnknown(Some(Box::new(error))))??;
        let made = value.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.ok_or_else(|| StoreError::Database("a committed unit has a value".into()))
    }
}

fn no_job(error: &TrySendError<Job>) -> StoreError {
    match error {
        TrySendError::Full(_) => StoreError::Busy(None),
        TrySendError::Disconnected(_) => StoreError::Database("the writer has ended".into()),
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // An error here is a panic outside of any job; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// Why a group as a whole was not committed.
enum GroupFailure {
    /// It did not begin: another process writes, or the file cannot be opened.
    NotBegun,
    /// Nothing of it was.
    RolledBack,
    /// COMMIT gave an error: perhaps all of it was. For each job, whether it had been run well.
    Unknown(Vec<bool>),
}

struct WriterThread {
    file: String,
    options: StoreOptions,
    queued_bytes: Arc<AtomicUsize>,
    /// Dropped after any error that is not a job's own, and opened again.
    connection: Option<SqliteConnection>,
}

impl WriterThread {
    fn work(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut n_bytes = first.n_bytes;
            let mut group = vec![first];
            while group.len() < MAX_GROUP_JOBS && n_bytes < MAX_GROUP_BYTES {
                let Ok(job) = jobs.try_recv() else { break };
                n_bytes += job.n_bytes;
                group.push(job);
            }
            self.queued_bytes.fetch_sub(group.iter().map(|job| job.n_bytes).sum(), Ordering::Relaxed);
            self.finish(group);
        }
    }

    fn finish(&mut self, mut group: Vec<Job>) {
        // A panic outside of a job says nothing about what was committed; each job knows what it would have written.
        let tried = catch_unwind(AssertUnwindSafe(|| self.commit_group(&mut group)));
        let was_run = match tried.unwrap_or_else(|_| Err(GroupFailure::Unknown(vec![true; group.len()]))) {
            Ok(outcomes) => {
                for (job, outcome) in group.into_iter().zip(outcomes) {
                    answer(&job, outcome.map_err(UnitError::into_store_error));
                }
                return;
            }
            Err(GroupFailure::NotBegun) => {
                // To wait again for each of them would hold up everybody behind.
                self.connection = None;
                for job in &group {
                    answer(job, Err(StoreError::Busy(None)));
                }
                return;
            }
            Err(GroupFailure::RolledBack) => vec![false; group.len()],
            Err(GroupFailure::Unknown(was_run)) => was_run,
        };
        self.connection = None;
        for (mut job, was_run) in group.into_iter().zip(was_run) {
            let outcome = self.commit_alone(&mut job, was_run);
            answer(&job, outcome);
        }
    }

    fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                super::connect(&self.file, &self.options).map_err(|error| StoreError::Busy(Some(Box::new(error))))?
            }
        };
        Ok(self.connection.insert(connection))
    }

    /// Runs every job in its savepoint and commits once. Gives what each job came to.
    fn commit_group(&mut self, group: &mut [Job]) -> Result<Vec<Result<(), UnitError>>, GroupFailure> {
        let rolled_back = |_| GroupFailure::RolledBack;
        fail::fail_point!("writer::before_begin", |_| Err(GroupFailure::NotBegun));
        let connection = self.connection().map_err(|_| GroupFailure::NotBegun)?;
        begin_immediate(connection).map_err(|_| GroupFailure::NotBegun)?;
        let mut outcomes = Vec::with_capacity(group.len());
        for job in &mut *group {
            // Inside the transaction this is a savepoint.
            AnsiTransactionManager::begin_transaction(connection).map_err(rolled_back)?;
            match run(job, connection) {
                Ok(Ok(())) => {
                    AnsiTransactionManager::commit_transaction(connection).map_err(rolled_back)?;
                    outcomes.push(Ok(()));
                }
                Ok(Err(error)) if error.is_harmless() => {
                    AnsiTransactionManager::rollback_transaction(connection).map_err(rolled_back)?;
                    outcomes.push(Err(error));
                }
                Ok(Err(_)) | Err(Panicked(_)) => return Err(GroupFailure::RolledBack),
            }
            fail::fail_point!("writer::between_jobs", |_| Err(GroupFailure::RolledBack));
        }
        fail::fail_point!("writer::before_commit", |_| Err(GroupFailure::RolledBack));
        let committed = AnsiTransactionManager::commit_transaction(connection);
        let committed = committed.and_then(|()| group.iter().try_for_each(|job| job.stops.after_commit()));
        let was_run = || outcomes.iter().map(Result::is_ok).collect();
        fail::fail_point!("writer::after_commit", |_| Err(GroupFailure::Unknown(was_run())));
        match committed {
            Ok(()) => Ok(outcomes),
            Err(_) => Err(GroupFailure::Unknown(was_run())),
        }
    }

    /// Runs one job in its own transaction, a bounded number of times.
    ///
    /// * `is_unsure`: whether it was run before and its COMMIT gave an error.
    fn commit_alone(&mut self, job: &mut Job, mut is_unsure: bool) -> Result<(), StoreError> {
        let mut pauses = retry::pauses();
        loop {
            let tried = catch_unwind(AssertUnwindSafe(|| self.try_alone(job, &mut is_unsure)));
            let tried = tried.unwrap_or_else(|cause| {
                is_unsure = true;
                Err(Again::Yes(StoreError::Database(panic_text(&*cause).into())))
            });
            let error = match tried {
                Ok(()) => return Ok(()),
                Err(Again::No(error)) => return Err(error),
                Err(Again::Yes(error)) => error,
            };
            self.connection = None;
            match pauses.next() {
                Some(pause) => std::thread::sleep(pause),
                None if is_unsure => return Err(StoreError::OutcomeUnknown(Some(Box::new(error)))),
                None => return Err(error),
            }
        }
    }

    fn try_alone(&mut self, job: &mut Job, is_unsure: &mut bool) -> Result<(), Again> {
        // Whoever does not know what became of it has to ask; the others are not worth holding up everybody behind.
        let not_begun = if *is_unsure { Again::Yes } else { Again::No };
        // A COMMIT that may have met a full disk: if it did not happen it will not now.
        let is_full = *is_unsure && disk::is_full(&self.file, job.n_bytes);
        let connection = self.connection().map_err(not_begun)?;
        begin_immediate(connection).map_err(|error| not_begun(StoreError::Busy(Some(Box::new(error)))))?;
        if *is_unsure {
            if (job.landed)(connection).map_err(|error| Again::Yes(error.into_store_error()))? {
                return AnsiTransactionManager::rollback_transaction(connection)
                    .map_err(|error| Again::Yes(StoreError::Database(Box::new(error))));
            }
            *is_unsure = false;
            if is_full {
                self.connection = None;
                return Err(Again::No(StoreError::StorageFull(None)));
            }
        }
        match run(job, connection) {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.is_harmless() => {
                if AnsiTransactionManager::rollback_transaction(connection).is_err() {
                    self.connection = None;
                }
                return Err(Again::No(error.into_store_error()));
            }
            Ok(Err(error)) if disk::is_full(&self.file, job.n_bytes) => {
                self.connection = None;
                return Err(Again::No(StoreError::StorageFull(Some(Box::new(error.into_store_error())))));
            }
            Ok(Err(error)) => return Err(Again::Yes(error.into_store_error())),
            Err(Panicked(text)) => {
                self.connection = None;
                return Err(Again::No(StoreError::Database(text.into())));
            }
        }
        let committed = AnsiTransactionManager::commit_transaction(connection);
        committed.and_then(|()| job.stops.after_commit()).map_err(|error| {
            *is_unsure = true;
            Again::Yes(StoreError::Database(Box::new(error)))
        })
    }
}

/// Whether a job that failed alone is worth another try.
enum Again {
    Yes(StoreError),
    No(StoreError),
}

struct Panicked(String);

fn run(job: &mut Job, connection: &mut SqliteConnection) -> Result<Result<(), UnitError>, Panicked> {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        (job.run)(connection)?;
        job.stops.before_commit()
    }));
    caught.map_err(|cause| Panicked(panic_text(&*cause)))
}

/// IMMEDIATE: the write lock is taken now, so that no statement of the group can meet a lock later.
fn begin_immediate(connection: &mut SqliteConnection) -> Result<(), DieselError> {
    AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE")
}

fn answer(job: &Job, outcome: Result<(), StoreError>) {
    // The caller waits for it; if its thread is gone, nobody is left to tell.
    let _ = job.answer.send(outcome);
}

#[cfg(test)]
mod tests;
