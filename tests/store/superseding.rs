//! Supersede, history, lists.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use samebill::store::*;
use samebill::words::*;

use crate::database::{Db, cause, customer, document, hours};
use crate::on_both_engines;

fn asked(db: &Db) -> (NewComparison, ComparisonRow) {
    db.put_customer("c-1");
    db.put_plan("flat", "1", None, None);
    db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
    db.create("c-1", &["flat"])
}

fn correct(db: &Db, milliwatt_hours: i64) {
    db.import("c-1", hours("2026-06-10".."2026-06-11", milliwatt_hours));
}

on_both_engines! {
    fn a_corrected_answer_has_a_predecessor_and_the_old_one_a_successor(db: &Db) {
        let (old, first) = asked(db);
        correct(db, 2);
        let new = db.question("c-1", &["flat"]);
        let Superseded::Created(second) = db.supersede(first.id, &new, false) else { panic!("not superseded") };
        assert_eq!((second.id, second.predecessor_id, second.stale_since), (new.id, Some(first.id), None));
        let current = db.current(&old).unwrap();
        assert_eq!((&current.row, &current.result), (&second, &new.result));
        let before = db.store.comparison(&db.tenant, first.id).unwrap().unwrap();
        let superseded = before.row.superseded.unwrap();
        assert_eq!((superseded.at, superseded.successor_id), (second.created_at, second.id));
        assert_eq!((superseded.reason.as_str(), superseded.note.as_deref()), ("usage_corrected", Some("a note")));
        assert_eq!(before.result, old.result);
        let chain = db.store.chain(&db.tenant, &old.key_digest).unwrap();
        assert_eq!(chain.iter().map(|row| row.id).collect::<Vec<_>>(), [second.id, first.id]);
    }

    fn a_superseded_row_answers_with_its_direct_successor(db: &Db) {
        let (_, first) = asked(db);
        let second = db.question("c-1", &["flat"]);
        assert!(matches!(db.supersede(first.id, &second, true), Superseded::Created(_)));
        let third = db.question("c-1", &["flat"]);
        assert!(matches!(db.supersede(second.id, &third, true), Superseded::Created(_)));
        correct(db, 2);
        let outdated = NewComparison { id: ComparisonId::new(), ..third.clone() };
        assert_eq!(db.supersede(first.id, &outdated, true), Superseded::Already(second.id));
        assert_eq!(db.supersede(second.id, &outdated, true), Superseded::Already(third.id));
        assert_eq!(db.supersede(third.id, &outdated, true), Superseded::InputsChanged);
        assert_eq!(db.count("comparisons"), 3);
    }

    fn a_clock_that_is_an_hour_behind_dates_nothing_before_what_it_follows_on(db: &Db) {
        let (old, first) = asked(db);
        let first_plan = db.put_plan("flat", "1", None, None);
        correct(db, 2);
        db.set_clock_back();
        correct(db, 3);
        let id = customer("c-1");
        let put = db.store.put_customer(&db.tenant, &id, &document(Some("Ann")), db.now()).unwrap().into_inner();
        correct(db, 4);
        let log = db.store.usage_revisions(&db.tenant, &id, 0, 10).unwrap();
        let times: Vec<Timestamp> = log.iter().map(|entry| entry.created_at).collect();
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
        assert!((times[2]..times[3]).contains(&put.updated_at), "{times:?} {put:?}");
        let second_plan = db.put_plan("flat", "2", None, None);
        assert!(second_plan.created_at > first_plan.created_at);
        let marked = db.current(&old).unwrap().row.stale_since.unwrap();
        let new = db.question("c-1", &["flat"]);
        let Superseded::Created(second) = db.supersede(first.id, &new, false) else { panic!("not superseded") };
        assert!(second.created_at > marked.max(second_plan.created_at));
    }

    fn the_same_inputs_clear_the_mark_and_move_the_recorded_revisions(db: &Db) {
        let (old, first) = asked(db);
        correct(db, 2);
        correct(db, 1_000_000);
        db.put_plan("flat", "1", None, None);
        assert!(db.current(&old).unwrap().row.stale_since.is_some());
        let mut again = db.question("c-1", &["flat"]);
        assert_eq!(again.inputs.digest, first.inputs.digest, "a correction taken back");
        let version = db.put_plan("flat", "2", Some("2026-06-01"), None);
        assert_eq!(db.current(&old).unwrap().newer_plan_versions.len(), 1);
        assert_eq!(db.supersede(first.id, &again, false), Superseded::InputsChanged);
        // As if version 2 said the same.
        again.inputs.plans[0].newest_version = version.version;
        let Superseded::Unchanged(row) = db.supersede(first.id, &again, false) else { panic!("superseded") };
        assert_eq!((row.id, row.stale_since, row.inputs.usage_revision), (first.id, None, 3));
        assert_eq!(row.inputs, again.inputs);
        let stored = db.current(&old).unwrap();
        assert_eq!((stored.row, stored.result, stored.newer_plan_versions), (row, old.result, vec![]));
        assert_eq!((db.count("comparisons"), db.count("comparison_plans")), (1, 1));
    }

    fn force_stores_a_successor_of_the_same_inputs(db: &Db) {
        let (old, first) = asked(db);
        let again = db.question("c-1", &["flat"]);
        assert!(matches!(db.supersede(first.id, &again, false), Superseded::Unchanged(_)));
        assert!(matches!(db.supersede(first.id, &again, true), Superseded::Created(_)));
        assert_eq!(db.current(&old).unwrap().row.id, again.id);
    }

    fn an_older_engine_supersedes_nothing_of_a_newer_one(db: &Db) {
        db.put_customer("c-1");
        let mut newer = db.question("c-1", &["flat"]);
        newer.inputs.engine = 2;
        assert!(matches!(db.insert(&newer), Inserted::Created(_)));
        let older = db.question("c-1", &["flat"]);
        assert_eq!(db.supersede(newer.id, &older, true), Superseded::NewerEngine);
        assert_eq!(db.current(&older).unwrap().row.id, newer.id);
    }

    fn what_does_not_belong_together_is_refused(db: &Db) {
        let (_, first) = asked(db);
        let other = db.question("c-1", &["tou"]);
        let refused = db.store.supersede(first.id, &other, &cause(true), db.now());
        assert!(matches!(refused, Err(StoreError::Conflict { code: "natural_key_differs", .. })), "{refused:?}");
        let again = db.question("c-1", &["flat"]);
        let refused = db.store.supersede(ComparisonId::new(), &again, &cause(true), db.now());
        assert!(matches!(refused, Err(StoreError::NotFound { what: "comparison", .. })), "{refused:?}");
        assert_eq!(db.count("comparisons"), 1);
    }

    fn record_times_never_run_backwards_whatever_the_clock_says(db: &Db) {
        let (_, first) = asked(db);
        let new = db.question("c-1", &["flat"]);
        let an_hour_ago = Timestamp::from_micros(first.created_at.as_micros() - 3_600_000_000);
        let outcome = db.store.supersede(first.id, &new, &cause(true), an_hour_ago).unwrap();
        let Superseded::Created(second) = outcome else { panic!("not superseded") };
        assert_eq!(second.created_at.as_micros(), first.created_at.as_micros() + 1);
        let later = Timestamp::from_micros(second.created_at.as_micros() + 77);
        let new = db.question("c-1", &["flat"]);
        let outcome = db.store.supersede(second.id, &new, &cause(true), later).unwrap();
        assert!(matches!(outcome, Superseded::Created(third) if third.created_at == later));
    }

    fn of_32_that_supersede_one_row_one_makes_the_successor(db: &Db) {
        let (old, first) = asked(db);
        let barrier = Barrier::new(32);
        let outcomes: Vec<(ComparisonId, Superseded)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32)
                .map(|_| {
                    scope.spawn(|| {
                        let new = db.question("c-1", &["flat"]);
                        barrier.wait();
                        (new.id, db.supersede(first.id, &new, true))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner = outcomes.iter().find(|(_, s)| matches!(s, Superseded::Created(_))).unwrap().0;
        let lost = outcomes.iter().filter(|(_, s)| *s == Superseded::Already(winner)).count();
        assert_eq!((lost, db.count("comparisons")), (31, 2));
        assert_eq!(db.current(&old).unwrap().row.id, winner);
    }

    /// A reader beside never finds none; the index allows no second.
    fn there_is_never_a_moment_without_a_current_row(db: &Db) {
        let (old, _) = asked(db);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = Timestamp::from_micros(0);
                while !is_over.load(Ordering::Relaxed) {
                    let row = db.current(&old).expect("there is a current row").row;
                    assert!(row.created_at >= last);
                    last = row.created_at;
                }
            });
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    scope.spawn(move || {
                        for round in 0..15 {
                            correct(db, 10 * round + writer);
                            let current = db.current(&db.question("c-1", &["flat"])).unwrap().row.id;
                            let new = db.question("c-1", &["flat"]);
                            db.supersede(current, &new, writer == 0);
                            assert!(matches!(db.insert(&new), Inserted::Lost | Inserted::InputsChanged));
                        }
                    })
                })
                .collect();
            let written: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::Relaxed);
            reader.join().unwrap();
            assert!(written.iter().all(Result::is_ok));
        });
        let chain = db.store.chain(&db.tenant, &old.key_digest).unwrap();
        assert_eq!(chain.iter().filter(|row| row.superseded.is_none()).count(), 1);
        for pair in chain.windows(2) {
            assert_eq!(pair[0].predecessor_id, Some(pair[1].id));
            let superseded = pair[1].superseded.as_ref().unwrap();
            assert_eq!((superseded.successor_id, superseded.at), (pair[0].id, pair[0].created_at));
        }
    }

    fn as_of_tells_what_stood_at_a_moment(db: &Db) {
        let (_, first) = asked(db);
        let (_, tou) = db.create("c-1", &["tou"]);
        let new = db.question("c-1", &["flat"]);
        let Superseded::Created(second) = db.supersede(first.id, &new, true) else { panic!("not superseded") };
        let at = |at: Timestamp, plan: Option<&str>| -> Vec<ComparisonId> {
            let plan = plan.map(|plan| plan.parse::<PlanReference>().unwrap());
            let period = first.period;
            let rows = db.store.as_of(&db.tenant, &customer("c-1"), at, Some(&period), plan.as_ref()).unwrap();
            rows.into_iter().map(|row| row.id).collect()
        };
        let before = |at: Timestamp| Timestamp::from_micros(at.as_micros() - 1);
        assert_eq!(at(before(first.created_at), None), []);
        assert_eq!(at(first.created_at, None), [first.id]);
        assert_eq!(at(before(second.created_at), None), [tou.id, first.id]);
        assert_eq!(at(second.created_at, None), [second.id, tou.id]);
        assert_eq!(at(second.created_at, Some("flat")), [second.id]);
        let july = BillingPeriod::from_year_or_month("2026-07").unwrap().unwrap();
        assert_eq!(db.store.as_of(&db.tenant, &customer("c-1"), second.created_at, Some(&july), None).unwrap(), []);
    }

    fn lists_are_newest_first_filtered_and_paged(db: &Db) {
        let (_, flat) = asked(db);
        db.put_customer("c-2");
        let (_, both) = db.create("c-1", &["flat", "tou@2"]);
        let (_, other) = db.create("c-2", &["flat"]);
        let new = db.question("c-1", &["flat"]);
        let Superseded::Created(second) = db.supersede(flat.id, &new, true) else { panic!("not superseded") };
        db.store.put_customer(&db.tenant, &customer("c-2"), &document(Some("Ann")), db.now()).unwrap();
        let list = |filter: &ComparisonFilter| -> Vec<ComparisonId> {
            let rows = db.store.list_comparisons(&db.tenant, filter, None, 100).unwrap();
            rows.into_iter().map(|row| row.id).collect()
        };
        let all = ComparisonFilter::default();
        assert_eq!(list(&all), [second.id, other.id, both.id, flat.id]);
        let of = |id| ComparisonFilter { customer_id: Some(customer(id)), ..ComparisonFilter::default() };
        assert_eq!(list(&of("c-1")), [second.id, both.id, flat.id]);
        assert_eq!(list(&ComparisonFilter { current: Some(true), ..of("c-1") }), [second.id, both.id]);
        assert_eq!(list(&ComparisonFilter { current: Some(false), ..of("c-1") }), [flat.id]);
        assert_eq!(list(&ComparisonFilter { stale: Some(true), ..all.clone() }), [other.id]);
        assert_eq!(list(&ComparisonFilter { stale: Some(false), ..all.clone() }), [second.id, both.id]);
        let plan = |plan: &str| ComparisonFilter { plan: Some(plan.parse().unwrap()), ..all.clone() };
        assert_eq!(list(&plan("tou@2")), [both.id]);
        assert_eq!(list(&plan("tou")), []);
        assert_eq!(list(&ComparisonFilter { created_from: Some(other.created_at), ..all.clone() }), [second.id, other.id]);
        assert_eq!(list(&ComparisonFilter { created_to: Some(other.created_at), ..all.clone() }), [both.id, flat.id]);
        let july = BillingPeriod::from_year_or_month("2026-07").unwrap().unwrap();
        assert_eq!(list(&ComparisonFilter { period: Some(july), ..all.clone() }), []);
        assert_eq!(list(&ComparisonFilter { period: Some(flat.period), ..of("c-2") }), [other.id]);
        let (mut paged, mut before) = (vec![], None);
        loop {
            let page = db.store.list_comparisons(&db.tenant, &all, before, 1).unwrap();
            let Some(row) = page.first() else { break };
            before = Some((row.created_at, row.id));
            paged.push(row.id);
        }
        assert_eq!(paged, list(&all));
    }

    fn pages_do_not_lose_rows_of_one_instant(db: &Db) {
        db.put_customer("c-1");
        let now = db.now();
        for n in 0..5 {
            db.store.insert_comparison(&db.question("c-1", &[&format!("p-{n}")]), now).unwrap();
        }
        let (mut n_rows, mut before) = (0, None);
        loop {
            let page = db.store.list_comparisons(&db.tenant, &ComparisonFilter::default(), before, 2).unwrap();
            let Some(row) = page.last() else { break };
            before = Some((row.created_at, row.id));
            n_rows += page.len();
        }
        assert_eq!(n_rows, 5);
    }
}
