//! Jobs that fail beside jobs that do not.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use tempfile::TempDir;

use super::*;
use crate::store::sqlite::connect;

const STOPS: Stops = Stops { before_commit: "writer::before", after_commit: "writer::after" };

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn n_rows(connection: &mut SqliteConnection) -> i64 {
    let count: Count = diesel::sql_query("SELECT count(*) AS n FROM t").get_result(connection).unwrap();
    count.n
}

struct Bench {
    writer: Writer,
    file: String,
    _folder: TempDir,
}

impl Bench {
    fn new(options: &StoreOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db").display().to_string();
        connect(&file, options).unwrap().batch_execute("CREATE TABLE t (n INTEGER PRIMARY KEY)").unwrap();
        Self { writer: Writer::start(&file, options).unwrap(), file, _folder: folder }
    }

    fn n_committed(&self) -> i64 {
        n_rows(&mut SqliteConnection::establish(&self.file).unwrap())
    }

    /// Writes rows 1 to 4, which wait in the queue behind a first job until all are there, and beside them, third
    /// in the group, `odd`. Gives what each came to, `odd` last.
    fn group_with(
        &self,
        odd: impl FnMut(&mut SqliteConnection) -> Result<i64, UnitError> + Send + 'static,
    ) -> Vec<Result<i64, StoreError>> {
        let gate = Arc::new(Barrier::new(2));
        let held = Arc::clone(&gate);
        std::thread::scope(|scope| {
            let first = scope.spawn(move || self.write(move |_| Ok(hold(&held))));
            gate.wait();
            let mut others: Vec<_> = Vec::new();
            let mut odd = Some(odd);
            for n in 1..=5 {
                others.push(match n {
                    3 => {
                        let odd = odd.take().unwrap();
                        scope.spawn(move || self.write(odd))
                    }
                    n => scope.spawn(move || self.write(move |connection| insert(connection, n))),
                });
                self.wait_for_sent(1 + others.len());
            }
            gate.wait();
            first.join().unwrap().unwrap();
            let odd = others.remove(2);
            others.push(odd);
            others.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn write(
        &self,
        unit: impl FnMut(&mut SqliteConnection) -> Result<i64, UnitError> + Send + 'static,
    ) -> Result<i64, StoreError> {
        self.writer.write(STOPS, 10, unit, |_, _| Ok(false))
    }

    /// Waits until the queue has taken so many jobs since the start.
    fn wait_for_sent(&self, n_jobs: usize) {
        while self.writer.n_sent.load(Ordering::Relaxed) < n_jobs {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Says that a job is under way and holds it until it is let go.
fn hold(gate: &Barrier) -> i64 {
    gate.wait();
    gate.wait();
    0
}

fn insert(connection: &mut SqliteConnection, n: i64) -> Result<i64, UnitError> {
    diesel::sql_query("INSERT INTO t (n) VALUES (?)").bind::<BigInt, _>(n).execute(connection)?;
    Ok(n)
}

fn are_others_stored(bench: &Bench, outcomes: &[Result<i64, StoreError>]) {
    assert!(outcomes[..4].iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(bench.n_committed(), 4);
    assert_eq!(bench.write(|connection| insert(connection, 100)).unwrap(), 100, "the writer lives");
}

#[test]
fn what_waits_is_committed_together_and_answered_afterwards() {
    let bench = Bench::new(&StoreOptions::default());
    let file = bench.file.clone();
    let outcomes = bench.group_with(move |connection| {
        let mut beside = SqliteConnection::establish(&file).unwrap();
        assert_eq!(n_rows(&mut beside), 0, "nobody sees the first two before the commit");
        Ok(n_rows(connection))
    });
    assert_eq!(*outcomes[4].as_ref().unwrap(), 2);
    assert!(outcomes[..4].iter().all(Result::is_ok));
    assert_eq!(bench.n_committed(), 4);
}

#[test]
fn a_panic_in_a_group_stays_with_its_job() {
    let bench = Bench::new(&StoreOptions::default());
    let outcomes = bench.group_with(|connection| {
        insert(connection, 50)?;
        panic!("on purpose")
    });
    let Err(StoreError::Database(cause)) = &outcomes[4] else { panic!("{outcomes:?}") };
    assert!(cause.to_string().contains("on purpose"), "{cause}");
    are_others_stored(&bench, &outcomes);
}

#[test]
fn an_error_in_a_group_stays_with_its_job() {
    let bench = Bench::new(&StoreOptions::default());
    let outcomes = bench.group_with(|connection| {
        insert(connection, 50)?;
        connection.batch_execute("no such statement")?;
        Ok(0)
    });
    assert!(matches!(outcomes[4], Err(StoreError::Database(_))), "{outcomes:?}");
    are_others_stored(&bench, &outcomes);
}

/// What a full disk does: the whole transaction is gone, not only the savepoint.
#[test]
fn a_transaction_that_vanishes_under_a_group_is_run_again() {
    let bench = Bench::new(&StoreOptions::default());
    let n_runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_runs);
    let outcomes = bench.group_with(move |connection| {
        if counter.fetch_add(1, Ordering::SeqCst) == 0 {
            connection.batch_execute("ROLLBACK")?;
        }
        Ok(0)
    });
    assert!(outcomes[4].is_ok(), "{outcomes:?}");
    assert_eq!(n_runs.load(Ordering::SeqCst), 2);
    are_others_stored(&bench, &outcomes);
}

#[test]
fn an_error_that_passes_is_tried_again() {
    let bench = Bench::new(&StoreOptions::default());
    let mut n_left = 3;
    let outcomes = bench.group_with(move |connection| {
        if n_left > 0 {
            n_left -= 1;
            connection.batch_execute("no such statement")?;
        }
        Ok(7)
    });
    assert_eq!(*outcomes[4].as_ref().unwrap(), 7);
    are_others_stored(&bench, &outcomes);
}

#[test]
fn a_refusal_and_a_broken_constraint_take_back_what_their_job_wrote_and_nothing_else() {
    let bench = Bench::new(&StoreOptions::default());
    let outcomes = bench.group_with(|connection| {
        insert(connection, 50)?;
        Err(StoreError::NotFound { what: "customer", id: "c-1".to_owned() }.into())
    });
    assert!(matches!(outcomes[4], Err(StoreError::NotFound { .. })), "{outcomes:?}");
    are_others_stored(&bench, &outcomes);

    let bench = Bench::new(&StoreOptions::default());
    let mut n_runs = 0;
    let outcomes = bench.group_with(move |connection| {
        n_runs += 1;
        assert_eq!(n_runs, 1, "it is not run again");
        insert(connection, 50)?;
        insert(connection, 1)
    });
    assert!(matches!(outcomes[4], Err(StoreError::Database(_))), "{outcomes:?}");
    are_others_stored(&bench, &outcomes);
}

#[test]
fn a_full_queue_is_busy() {
    let bench = Bench::new(&StoreOptions { writer_queue: 1, ..StoreOptions::default() });
    let gate = Arc::new(Barrier::new(2));
    let held = Arc::clone(&gate);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| bench.write(move |_| Ok(hold(&held))));
        gate.wait();
        let second = scope.spawn(|| bench.write(|connection| insert(connection, 1)));
        bench.wait_for_sent(2);
        assert!(matches!(bench.write(|connection| insert(connection, 2)), Err(StoreError::Busy(_))));
        gate.wait();
        first.join().unwrap().unwrap();
        second.join().unwrap().unwrap();
    });
    assert_eq!(bench.n_committed(), 1);
}

#[test]
fn more_bytes_than_may_wait_are_busy_but_one_job_may_be_large() {
    let bench = Bench::new(&StoreOptions::default());
    let large = |n| bench.writer.write(STOPS, MAX_QUEUED_BYTES + 1, move |c| insert(c, n), |_, _| Ok(false));
    large(1).unwrap();
    bench.writer.queued_bytes.store(10, Ordering::Relaxed);
    assert!(matches!(large(2), Err(StoreError::Busy(_))));
    assert_eq!(bench.writer.queued_bytes.load(Ordering::Relaxed), 10);
}

#[test]
fn another_process_that_writes_for_long_makes_it_busy() {
    let bench = Bench::new(&StoreOptions { busy_timeout_ms: 20, ..StoreOptions::default() });
    let mut other = SqliteConnection::establish(&bench.file).unwrap();
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(bench.write(|connection| insert(connection, 1)), Err(StoreError::Busy(_))));
    other.batch_execute("COMMIT").unwrap();
    bench.write(|connection| insert(connection, 1)).unwrap();
}
