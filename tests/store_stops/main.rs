//! What happens when a write fails or panics just before its commit, or when the answer of the commit is lost.
//!
//! Stops are named in the whole process: a program of its own, one scenario at a time (`fail::FailScenario`).
#![cfg(feature = "failpoints")]

#[path = "../store/database.rs"]
#[expect(dead_code, reason = "shared with the other tests of the store")]
mod database;
mod migrations;
/// The store's own tests listen to what is asked of a database; these do not.
mod statements {
    pub(crate) fn record(_url: &str) {}
    pub(crate) fn check_recorded(_url: &str) {}
}

use std::sync::Barrier;

use fail::FailScenario;
use samebill::store::{self, *};
use samebill::words::*;

use crate::database::{Db, customer, date, document, hours, import_source, plan, usage_import};

/// Runs a story on each engine, alone.
fn on_each(story: impl Fn(&Db)) {
    let scenario = FailScenario::setup();
    for db in [Some(Db::sqlite()), Db::postgres()].into_iter().flatten() {
        story(&db);
        for (name, _) in fail::list() {
            fail::remove(name);
        }
    }
    scenario.teardown();
}

/// Each thing that writes, done for a customer (and a plan of the same name) for whom it changes something, and
/// whether it says that it did.
type Write = fn(&Db, &str) -> bool;
const WRITES: [(&str, Write); 8] = [
    ("put_customer", |db, id| {
        let put = db.store.put_customer(&db.tenant, &customer(id), &document(Some("Ann")), db.now()).unwrap();
        matches!(put, Put::Changed(Customer { version: 2, .. }))
    }),
    ("put_plan", |db, id| {
        let put = db.store.put_plan(&db.tenant, &id.parse().unwrap(), &plan("2", None, None), db.now()).unwrap();
        matches!(put, Put::Changed(PlanVersion { version: 2, .. }))
    }),
    ("register_period", |db, id| {
        let (start, end) = (date("2026-06-01"), date("2026-07-01"));
        let period = RegisteredPeriod { id: id.parse().unwrap(), start, end, cycle: Some(id.to_owned()) };
        matches!(db.store.register_period(&db.tenant, &period, db.now()).unwrap(), Put::Created(_))
    }),
    ("import_usage", |db, id| {
        let outcome = db.import(id, hours("2026-06-30".."2026-07-02", 2));
        (outcome.added, outcome.replaced, outcome.revision_after, outcome.stale.len()) == (24, 24, 2, 1)
    }),
    ("import_share", |db, id| {
        let record = db.store.begin_meter_points(&db.tenant, &file_of(id), db.now()).unwrap();
        let share = CustomerShare {
            import_id: record.id,
            customer_id: customer(id),
            meter_points: vec![ShareMeterPoint { place: 0, id: id.to_owned(), channels: vec![], n_readings: 48 }],
            import: usage_import(hours("2026-06-30".."2026-07-02", 2), OnConflict::default()),
        };
        let stored = db.store.import_share(&db.tenant, &share, db.now()).unwrap();
        let ShareOutcome::Done(outcome) = stored else { return false };
        let again = db.store.import_share(&db.tenant, &share, db.now()).unwrap();
        (outcome.record.counts.added, outcome.stale.len(), again) == (24, 1, ShareOutcome::Already)
    }),
    ("revert_import", |db, id| {
        let newest = db.store.list_imports(&db.tenant, &ImportFilter::default(), None, 1).unwrap();
        let reverted = db.store.revert_import(&db.tenant, newest[0].id, ImportId::new(), db.now()).unwrap();
        let Reverted::Done(outcome) = reverted else { return false };
        let customer = outcome.record.customer_id.as_ref().unwrap();
        (customer.as_str(), outcome.record.counts.removed, outcome.stale.len()) == (id, 720, 1)
    }),
    ("insert_comparison", |db, id| matches!(db.insert(&db.question(id, &["tou"])), Inserted::Created(_))),
    ("supersede", |db, id| {
        let new = db.question(id, &[id]);
        let old = db.current(&new).unwrap().row.id;
        matches!(db.supersede(old, &new, true), Superseded::Created(row) if row.id == new.id)
    }),
];

/// A file of one meter point of the customer's own name.
fn file_of(id: &str) -> MeterPointsImport {
    let point = MeterPointRow {
        place: 0,
        meter_point_id: Some(id.to_owned()),
        n_readings: 0,
        state: MeterPointState::Pending,
        customer_id: None,
        part_id: None,
        code: None,
        detail: None,
    };
    MeterPointsImport {
        id: ImportId::new(),
        on_conflict: OnConflict::default(),
        source: import_source(3),
        resume_key: [3; 32],
        meter_points: vec![point],
    }
}

fn prepare(db: &Db, id: &str) {
    db.put_customer(id);
    db.put_plan(id, "1", None, None);
    db.import(id, hours("2026-06-01".."2026-07-01", 1));
    db.create(id, &[id]);
}

fn n_rows(db: &Db) -> i64 {
    [
        "customer_versions",
        "plan_versions",
        "registered_periods",
        "imports",
        "usage_revisions",
        "comparisons",
        "comparison_results",
    ]
    .map(|table| db.count(table))
    .iter()
    .sum()
}

fn each_write_with(stop: &str, action: &str) {
    on_each(|db| {
        for (name, write) in WRITES {
            prepare(db, name);
            let before = n_rows(db);
            fail::cfg(format!("store::{name}::{stop}"), action).unwrap();
            assert!(write(db, name), "{name} on {}", db.url);
            // The import and its revision; the comparison and its result.
            if name == "import_share" {
                assert_eq!(n_rows(db) - before, 3, "the whole, the share and its revision on {}", db.url);
                fail::remove(format!("store::{name}::{stop}"));
                continue;
            }
            let writes_two = ["import_usage", "revert_import", "insert_comparison", "supersede"].contains(&name);
            let n_new = if writes_two { 2 } else { 1 };
            assert_eq!(n_rows(db) - before, n_new, "{name} on {}", db.url);
            fail::remove(format!("store::{name}::{stop}"));
        }
    });
}

#[test]
fn an_error_before_commit_is_tried_again() {
    each_write_with("before_commit", "2*return");
}

#[test]
fn a_lost_answer_of_commit_is_settled_by_what_is_stored() {
    each_write_with("after_commit", "1*return");
}

#[test]
fn answers_of_commit_lost_again_and_again_are_settled_too() {
    each_write_with("after_commit", "3*return");
}

#[test]
fn a_panic_after_commit_is_a_lost_answer() {
    each_write_with("after_commit", "1*panic");
}

#[test]
fn an_error_that_does_not_end_gives_up_with_nothing_stored() {
    on_each(|db| {
        prepare(db, "c-1");
        let before = n_rows(db);
        fail::cfg("store::put_customer::before_commit", "return").unwrap();
        let put = db.store.put_customer(&db.tenant, &customer("c-1"), &document(Some("Ann")), db.now());
        assert!(put.is_err(), "{put:?}");
        fail::remove("store::put_customer::before_commit");
        assert_eq!(n_rows(db), before);
        assert!((WRITES[0].1)(db, "c-1"), "and the store goes on");
    });
}

#[test]
fn a_panic_before_commit_stores_nothing_and_harms_nobody_else() {
    on_each(|db| {
        prepare(db, "c-1");
        fail::cfg("store::insert_comparison::before_commit", "panic").unwrap();
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (0..8).map(|n| scope.spawn(move || db.put_plan(&format!("p-{n}"), "1", None, None))).collect();
            let refused = db.store.insert_comparison(&db.question("c-1", &["tou"]), db.now());
            assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
            for other in others {
                assert_eq!(other.join().unwrap().version, 1);
            }
        });
        fail::remove("store::insert_comparison::before_commit");
        assert_eq!((db.count("comparisons"), db.count("plans")), (1, 9));
        assert!((WRITES[6].1)(db, "c-1"));
    });
}

/// Of a group whose COMMIT gave an error each job is asked for on its own.
#[test]
fn a_lost_answer_for_many_creates_one_row_and_all_learn_of_it() {
    on_each(|db| {
        prepare(db, "c-1");
        fail::cfg("store::insert_comparison::after_commit", "50%3*return").unwrap();
        let barrier = Barrier::new(16);
        let outcomes: Vec<(ComparisonId, Inserted)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        let new = db.question("c-1", &["tou"]);
                        barrier.wait();
                        (new.id, db.insert(&new))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let created: Vec<_> = outcomes.iter().filter(|(_, i)| matches!(i, Inserted::Created(_))).collect();
        assert_eq!((created.len(), db.count("comparisons")), (1, 2));
        assert_eq!(outcomes.iter().filter(|(_, i)| matches!(i, Inserted::Lost)).count(), 15);
        assert_eq!(db.current(&db.question("c-1", &["tou"])).unwrap().row.id, created[0].0);
    });
}
