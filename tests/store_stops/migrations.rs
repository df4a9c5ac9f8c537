//! Programs that migrate one database at once, while one of them fails or panics in the middle.

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;

use super::*;

/// Two programs at once, the first of which comes to an end in the middle: the other one, or the next, does the rest.
fn two_at_once(url: &str) {
    let options = StoreOptions::default();
    for action in ["2*off->1*return->off", "2*off->1*panic->off"] {
        fail::cfg("migrate::between", action).unwrap();
        let barrier = Barrier::new(2);
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let migrate = || {
                barrier.wait();
                store::migrate(url, &options).is_ok()
            };
            let programs = [scope.spawn(migrate), scope.spawn(migrate)];
            programs.into_iter().map(|program| program.join().unwrap_or(false)).collect()
        });
        fail::remove("migrate::between");
        assert!(outcomes.contains(&true), "the other one is done: {outcomes:?}");
        assert!(store::migrate(url, &options).unwrap().is_empty(), "nothing is left");
        store::open(url, &options).unwrap().check_ready().unwrap();
        while store::revert(url, &options).unwrap().is_some() {}
    }
}

#[test]
fn a_migration_that_fails_or_panics_is_finished_by_the_other_program() {
    let scenario = FailScenario::setup();
    let folder = tempfile::tempdir().unwrap();
    two_at_once(&format!("sqlite://{}", folder.path().join("new.db").display()));
    if let Ok(admin) = std::env::var("SAMEBILL_TEST_POSTGRES_URL") {
        let name = format!("migrate_stops_{}", std::process::id());
        let mut connection = PgConnection::establish(&admin).unwrap();
        connection.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        two_at_once(&format!("{}/{name}", admin.rsplit_once('/').unwrap().0));
        connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).unwrap();
    } else {
        assert!(std::env::var_os("CI").is_none(), "SAMEBILL_TEST_POSTGRES_URL is not set");
        eprintln!("NOT RUN on PostgreSQL: SAMEBILL_TEST_POSTGRES_URL is not set; tests/run sets it");
    }
    scenario.teardown();
}
