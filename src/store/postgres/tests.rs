//! Backends that are killed, locks that are held, units that panic.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};

use super::*;

const STOPS: Stops = Stops { before_commit: "postgres::before", after_commit: "postgres::after" };

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn number(connection: &mut PgConnection, sql: &str) -> QueryResult<i64> {
    diesel::sql_query(format!("SELECT {sql} AS n")).get_result(connection).map(|row: Number| row.n)
}

/// A schema of its own with one table.
struct Bench {
    url: String,
    schema: String,
    admin: Mutex<PgConnection>,
}

impl Bench {
    fn new(name: &str) -> Option<Self> {
        let Ok(url) = std::env::var("SAMEBILL_TEST_POSTGRES_URL") else {
            assert!(std::env::var_os("CI").is_none(), "SAMEBILL_TEST_POSTGRES_URL is not set");
            eprintln!("NOT RUN on PostgreSQL: SAMEBILL_TEST_POSTGRES_URL is not set; tests/run sets it");
            return None;
        };
        let schema = format!("unit_{name}_{}", std::process::id());
        let mut admin = PgConnection::establish(&url).unwrap();
        admin
            .batch_execute(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.t (n INTEGER PRIMARY KEY)"))
            .unwrap();
        let separator = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{separator}options=-csearch_path%3D{schema}&application_name={schema}");
        Some(Self { url, schema, admin: Mutex::new(admin) })
    }

    fn engine(&self, n_connections: u32) -> PostgresEngine {
        let options = StoreOptions {
            read_connections: n_connections,
            write_connections: n_connections,
            lock_timeout_ms: 300,
            connection_timeout_ms: 1_000,
            ..StoreOptions::default()
        };
        PostgresEngine::open(&self.url, &options)
    }

    /// Ends every connection of the engine, from outside, and waits until they are gone.
    fn kill_all(&self) -> i64 {
        let of_ours = format!("FROM pg_stat_activity WHERE application_name = '{}'", self.schema);
        let mut admin = self.admin.lock().unwrap();
        let n_killed = kill_count(&mut admin, &of_ours);
        while kill_count(&mut admin, &of_ours) > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        n_killed
    }

    fn n_rows(&self) -> i64 {
        number(&mut self.admin.lock().unwrap(), &format!("(SELECT count(*) FROM {}.t)", self.schema)).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let admin = self.admin.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = admin.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.schema));
    }
}

fn kill_count(admin: &mut PgConnection, of_ours: &str) -> i64 {
    number(admin, &format!("(SELECT count(pg_terminate_backend(pid)) {of_ours})")).unwrap()
}

fn insert(connection: &mut PgConnection, n: i32) -> Result<i32, UnitError> {
    diesel::sql_query("INSERT INTO t (n) VALUES ($1)").bind::<Integer, _>(n).execute(connection)?;
    Ok(n)
}

#[test]
fn a_backend_killed_between_two_statements_is_no_error() {
    let Some(bench) = Bench::new("killed") else { return };
    let engine = bench.engine(2);
    let mut n_runs = 0;
    let (told, runs) = std::sync::mpsc::channel();
    let unit = move |connection: &mut PgConnection| {
        n_runs += 1;
        told.send(n_runs).unwrap();
        insert(connection, 1)?;
        if n_runs <= 2 {
            diesel::sql_query("SELECT pg_terminate_backend(pg_backend_pid())").execute(connection)?;
        }
        insert(connection, 2)
    };
    assert_eq!(engine.write(STOPS, 0, unit, |_, _| Ok(false)).unwrap(), 2);
    assert_eq!((runs.iter().max(), bench.n_rows()), (Some(3), 2));
}

#[test]
fn a_backend_killed_before_commit_leaves_nothing_and_the_unit_is_run_again() {
    let Some(bench) = Bench::new("commit") else { return };
    let bench = Arc::new(bench);
    let engine = bench.engine(1);
    let (killer, mut is_first) = (Arc::clone(&bench), true);
    let unit = move |connection: &mut PgConnection| {
        insert(connection, 1)?;
        if std::mem::take(&mut is_first) {
            killer.kill_all();
        }
        Ok(1)
    };
    let asked = Arc::new(AtomicU64::new(0));
    let n_asked = Arc::clone(&asked);
    let landed = move |connection: &mut PgConnection, _: &i32| {
        n_asked.fetch_add(1, Ordering::SeqCst);
        Ok(number(connection, "(SELECT count(*) FROM t)")? == 1)
    };
    assert_eq!(engine.write(STOPS, 0, unit, landed).unwrap(), 1);
    assert_eq!((asked.load(Ordering::SeqCst), bench.n_rows()), (1, 1));
}

/// As after a restart of the server: every pooled connection is dead, more of them than there are tries.
#[test]
fn dead_connections_in_the_pools_cost_one_try() {
    let Some(bench) = Bench::new("dead") else { return };
    let engine = bench.engine(12);
    for round in 0..3 {
        let barrier = std::sync::Barrier::new(12);
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let mut is_first = true;
                    let read = engine.read(|connection| {
                        if std::mem::take(&mut is_first) {
                            barrier.wait();
                        }
                        Ok(number(connection, "1::bigint")?)
                    });
                    read.unwrap()
                });
            }
        });
        engine.write(STOPS, 0, move |connection| insert(connection, 2 * round), |_, _| Ok(false)).unwrap();
        assert!(bench.kill_all() >= 13, "each pool has its connections");
        let mut n_runs = 0;
        let read = engine.read(|connection| {
            n_runs += 1;
            Ok(number(connection, "1::bigint")?)
        });
        assert_eq!((read.unwrap(), n_runs), (1, 2));
        engine.write(STOPS, 0, move |connection| insert(connection, 2 * round + 1), |_, _| Ok(false)).unwrap();
    }
    assert_eq!(bench.n_rows(), 6);
}

#[test]
fn a_lock_that_is_held_makes_it_busy_after_the_timeout_and_others_go_on() {
    let Some(bench) = Bench::new("held") else { return };
    let engine = bench.engine(1);
    let mut holder = PgConnection::establish(&bench.url).unwrap();
    holder.batch_execute("INSERT INTO t (n) VALUES (1), (2)").unwrap();
    holder.batch_execute("BEGIN; SELECT * FROM t WHERE n = 1 FOR UPDATE").unwrap();
    let lock = |n: i32| {
        move |connection: &mut PgConnection| {
            diesel::sql_query("SELECT n FROM t WHERE n = $1 FOR NO KEY UPDATE")
                .bind::<Integer, _>(n)
                .execute(connection)
                .map_err(UnitError::HeadHeld)
        }
    };
    let started = Instant::now();
    let busy = engine.write(STOPS, 0, lock(1), |_, _| Ok(false));
    assert!(matches!(busy, Err(StoreError::Busy(_))), "{busy:?}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}: one wait, not several", started.elapsed());
    assert_eq!(engine.write(STOPS, 0, lock(2), |_, _| Ok(false)).unwrap(), 1);
    holder.batch_execute("COMMIT").unwrap();
    assert_eq!(engine.write(STOPS, 0, lock(1), |_, _| Ok(false)).unwrap(), 1);
}

#[test]
fn a_panic_or_an_error_in_a_unit_leaves_nothing_and_gives_its_connection_back() {
    let Some(bench) = Bench::new("panic") else { return };
    let engine = bench.engine(1);
    let panicked = engine.write::<i32>(
        STOPS,
        0,
        |connection| {
            insert(connection, 1)?;
            panic!("on purpose")
        },
        |_, _| Ok(false),
    );
    let Err(StoreError::Database(cause)) = panicked else { panic!("{panicked:?}") };
    assert!(cause.to_string().contains("on purpose"));
    let refused = engine.write::<i32>(
        STOPS,
        0,
        |connection| {
            insert(connection, 1)?;
            Err(StoreError::NotFound { what: "customer", id: "c".to_owned() }.into())
        },
        |_, _| Ok(false),
    );
    assert!(matches!(refused, Err(StoreError::NotFound { .. })));
    let mut n_runs = 0;
    let constraint = engine.write(
        STOPS,
        0,
        move |connection| {
            n_runs += 1;
            assert_eq!(n_runs, 1, "a broken constraint is not tried again");
            insert(connection, 1)?;
            insert(connection, 1)
        },
        |_, _| Ok(false),
    );
    assert!(matches!(constraint, Err(StoreError::Database(_))), "{constraint:?}");
    let failed = engine.write(
        STOPS,
        0,
        |connection| {
            insert(connection, 1)?;
            connection.batch_execute("no such statement")?;
            Ok(1)
        },
        |_, _| Ok(false),
    );
    assert!(matches!(failed, Err(StoreError::Database(_))), "{failed:?}");
    assert_eq!(bench.n_rows(), 0);
    engine.write(STOPS, 0, |connection| insert(connection, 1), |_, _| Ok(false)).unwrap();
    assert_eq!(bench.n_rows(), 1);
}

#[test]
fn a_server_that_is_not_there_is_busy_in_bounded_time() {
    let options = StoreOptions { connection_timeout_ms: 300, ..StoreOptions::default() };
    let engine = PostgresEngine::open("postgres://samebill@127.0.0.1:1/none", &options);
    let started = Instant::now();
    assert!(matches!(engine.read(|_| Ok(())), Err(StoreError::Busy(_))));
    assert!(matches!(engine.write(STOPS, 0, |_| Ok(()), |_, ()| Ok(false)), Err(StoreError::Busy(_))));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn every_connection_has_its_timeouts() {
    let Some(bench) = Bench::new("timeouts") else { return };
    let settings = |engine: &PostgresEngine| {
        let ask = "(current_setting('lock_timeout') = '300ms' \
                   AND current_setting('idle_in_transaction_session_timeout') = '10s')::int::bigint";
        engine.write(STOPS, 0, move |connection| Ok(number(connection, ask)?), |_, _| Ok(false)).unwrap()
    };
    assert_eq!(settings(&bench.engine(1)), 1);
    let pooled = StoreOptions { prepared_statements: false, lock_timeout_ms: 300, ..StoreOptions::default() };
    assert_eq!(settings(&PostgresEngine::open(&bench.url, &pooled)), 1);
}

#[test]
fn parameters_are_added_unless_the_url_has_them() {
    let with = with_parameters("postgres://h/d?connect_timeout=1");
    assert_eq!(with, "postgres://h/d?connect_timeout=1&tcp_user_timeout=10000&application_name=samebill");
    assert!(with_parameters("postgres://h/d").starts_with("postgres://h/d?connect_timeout=5&"));
}
