//! Insert: one current row a key, and no answer from inputs that were outdated when it was checked.

use std::sync::Barrier;

use samebill::store::*;
use samebill::words::*;

use crate::database::{customer, date, document, hours, midnight};
use crate::on_both_engines;

on_both_engines! {
    fn what_was_stored_is_read_back(db: &Db) {
        db.put_customer("c-1");
        db.put_plan("flat", "p", None, None);
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
        let (new, row) = db.create("c-1", &["flat"]);
        let stored = db.current(&new).unwrap();
        assert_eq!(stored.row, row);
        assert_eq!((stored.result, stored.summary), (new.result.clone(), new.summary.clone()));
        assert_eq!((row.id, &row.inputs, &row.key_text), (new.id, &new.inputs, &new.key_text));
        assert_eq!((row.window.clone(), row.period), (new.window.clone(), new.period));
        assert_eq!(row.plan_references, new.plan_references);
        assert_eq!((row.superseded.clone(), row.predecessor_id, row.stale_since), (None, None, None));
        assert_eq!(stored.newer_plan_versions, []);
        assert_eq!(db.store.comparison(&db.tenant, new.id).unwrap().unwrap().row, row);
        assert!(db.store.comparison(&db.tenant, ComparisonId::new()).unwrap().is_none());
        assert!(db.store.current_by_key(&db.tenant, &[0; 32]).unwrap().is_none());
    }

    fn of_32_that_insert_one_key_one_creates_it(db: &Db) {
        db.put_customer("c-1");
        db.put_plan("flat", "p", None, None);
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
        let barrier = Barrier::new(32);
        let outcomes: Vec<(ComparisonId, Inserted)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32)
                .map(|_| {
                    scope.spawn(|| {
                        let new = db.question("c-1", &["flat"]);
                        barrier.wait();
                        (new.id, db.insert(&new))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let created: Vec<_> = outcomes.iter().filter(|(_, i)| matches!(i, Inserted::Created(_))).collect();
        assert_eq!(created.len(), 1);
        assert_eq!(outcomes.iter().filter(|(_, i)| matches!(i, Inserted::Lost)).count(), 31);
        assert_eq!(db.current(&db.question("c-1", &["flat"])).unwrap().row.id, created[0].0);
        assert_eq!((db.count("comparisons"), db.count("comparison_results"), db.count("comparison_plans")), (1, 1, 1));
    }

    fn a_new_version_of_an_included_plan_is_seen(db: &Db) {
        db.put_customer("c-1");
        db.put_plan("supply", "s", None, None);
        db.put_plan("net", "n", None, None);
        let question = || {
            let mut new = db.question("c-1", &["supply"]);
            let net = RecordedInclude { plan_id: "net".parse().unwrap(), versions: vec![1], newest_version: 1 };
            new.inputs.included = vec![net];
            new
        };
        let (early, late) = (question(), question());
        let Inserted::Created(row) = db.insert(&early) else { panic!("the first is stored") };
        assert_eq!(row.inputs.included, early.inputs.included);
        assert_eq!(db.count("comparison_plans"), 2);
        // Outside the period: no change.
        db.put_plan("net", "n2", Some("2026-07-01"), None);
        assert!(db.current(&early).unwrap().newer_plan_versions.is_empty());
        db.put_plan("net", "n3", Some("2026-06-30"), None);
        let newer = db.current(&early).unwrap().newer_plan_versions;
        assert_eq!(newer.iter().map(|newer| (newer.plan_id.as_str(), newer.version)).collect::<Vec<_>>(), [("net", 3)]);
        assert_eq!(db.insert(&late), Inserted::InputsChanged);
        // Lists by plan find what compares it.
        let of_plan = |plan: &str| {
            let plan = Some(plan.parse().unwrap());
            let filter = ComparisonFilter { plan, ..ComparisonFilter::default() };
            db.store.list_comparisons(&db.tenant, &filter, None, 10).unwrap().len()
        };
        assert_eq!((of_plan("supply"), of_plan("net")), (1, 0));

        // Compared as well, it is watched once; pinned, for the sake of the other.
        let mut both = db.question("c-1", &["net", "supply"]);
        both.inputs.included = vec![RecordedInclude { newest_version: 3, ..early.inputs.included[0].clone() }];
        assert!(matches!(db.insert(&both), Inserted::Created(_)));
        let mut pinned = db.question("c-1", &["net@1", "supply"]);
        pinned.inputs.included.clone_from(&both.inputs.included);
        assert!(matches!(db.insert(&pinned), Inserted::Created(_)));
        db.put_plan("net", "n4", None, None);
        let n_newer = |new| db.current(new).unwrap().newer_plan_versions.len();
        assert_eq!((n_newer(&both), n_newer(&pinned)), (1, 1));
    }

    fn an_answer_for_an_unknown_customer_is_refused(db: &Db) {
        db.put_customer("c-1");
        let new = NewComparison { customer_id: customer("c-2"), ..db.question("c-1", &["flat"]) };
        let refused = db.store.insert_comparison(&new, db.now());
        assert!(matches!(refused, Err(StoreError::NotFound { what: "customer", .. })), "{refused:?}");
    }

    fn a_correction_between_reading_and_insert_is_seen(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
        let new = db.question("c-1", &["flat"]);
        db.import("c-1", hours("2026-06-30".."2026-07-01", 2_000_000));
        assert_eq!(db.insert(&new), Inserted::InputsChanged);
        assert_eq!(db.count("comparisons"), 0);
        let again = db.question("c-1", &["flat"]);
        assert!(matches!(db.insert(&again), Inserted::Created(_)));
    }

    fn a_new_channel_between_reading_and_insert_is_seen(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
        let new = db.question("c-1", &["flat"]);
        let export = UsageImport {
            readings: [(samebill::usage::Channel::export(), hours("2026-06-10".."2026-06-11", 1).into_iter().collect())].into(),
            ..crate::database::usage_import(vec![], OnConflict::Replace)
        };
        db.store.import_usage(&db.tenant, &customer("c-1"), &export, db.now()).unwrap();
        assert_eq!(db.insert(&new), Inserted::InputsChanged);
    }

    /// The recorded revision then moves to what it was checked against.
    fn a_feed_into_another_month_does_not_fail_a_question(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
        let new = db.question("c-1", &["flat"]);
        assert_eq!(db.import("c-1", hours("2026-07-01".."2026-07-02", 1)).revision_after, 2);
        let Inserted::Created(row) = db.insert(&new) else { panic!("not created") };
        assert_eq!((row.inputs.usage_revision, &row.inputs.blocks), (2, &new.inputs.blocks));
        assert_eq!(db.current(&new).unwrap().row, row);
    }

    /// A local month ends within a UTC month: its block is written again by readings after the window.
    fn a_feed_after_the_window_does_not_fail_a_question_that_shares_its_block(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-02", 1_000_000));
        let window = midnight("2026-06-01")..midnight("2026-07-01") + 7 * 3600;
        let blocks = db.store.usage(&db.tenant, &customer("c-1"), window.clone()).unwrap().blocks;
        let mut new = NewComparison { window, ..db.question("c-1", &["flat"]) };
        new.inputs.blocks = blocks;
        db.import("c-1", hours("2026-07-02".."2026-07-03", 1));
        let Inserted::Created(row) = db.insert(&new) else { panic!("not created") };
        assert_eq!(row.inputs.usage_revision, 2);
        assert_eq!(row.inputs.blocks.iter().map(|block| block.revision).collect::<Vec<_>>(), [1, 2]);

        let mut other = db.question("c-1", &["tou"]);
        other.window = new.window.clone();
        other.inputs.blocks.clone_from(&row.inputs.blocks);
        let touching = hours("2026-07-01".."2026-07-02", 5).split_off(6);
        db.import("c-1", touching);
        assert_eq!(db.insert(&other), Inserted::InputsChanged);
    }

    fn a_changed_customer_between_reading_and_insert_is_seen(db: &Db) {
        db.put_customer("c-1");
        let new = db.question("c-1", &["flat"]);
        db.store.put_customer(&db.tenant, &customer("c-1"), &document(Some("Ann")), db.now()).unwrap();
        assert_eq!(db.insert(&new), Inserted::InputsChanged);
    }

    fn a_plan_version_counts_if_it_applies_to_a_day_of_the_period_and_is_not_pinned(db: &Db) {
        db.put_customer("c-1");
        db.put_plan("flat", "1", None, None);
        let (free, pinned) = (db.question("c-1", &["flat"]), db.question("c-1", &["flat@1"]));
        db.put_plan("flat", "2", Some("2026-07-01"), None);
        db.put_plan("flat", "3", Some("2026-05-01"), Some("2026-06-01"));
        db.put_plan("other", "1", None, None);
        let Inserted::Created(row) = db.insert(&free) else { panic!("the new versions apply to other days") };
        assert_eq!(db.store.newer_plan_versions(&db.tenant, row.id).unwrap(), []);
        assert_eq!(db.current(&free).unwrap().newer_plan_versions, []);
        assert!(matches!(db.insert(&pinned), Inserted::Created(_)));

        let (free, both) = (db.question("c-1", &["flat", "other"]), db.question("c-1", &["flat@1", "other"]));
        let fourth = db.put_plan("flat", "4", Some("2026-06-30"), Some("2026-07-01"));
        assert_eq!(db.insert(&free), Inserted::InputsChanged);
        assert!(matches!(db.insert(&both), Inserted::Created(_)));
        let newer = NewerPlanVersion { plan_id: "flat".parse().unwrap(), version: 4, created_at: fourth.created_at };
        assert_eq!(db.store.newer_plan_versions(&db.tenant, row.id).unwrap(), std::slice::from_ref(&newer));
        assert_eq!(db.store.comparison(&db.tenant, row.id).unwrap().unwrap().newer_plan_versions, [newer]);
        assert_eq!(db.current(&both).unwrap().newer_plan_versions, []);
        assert_eq!(db.store.newer_plan_versions(&db.tenant, pinned.id).unwrap(), []);
        db.put_plan("flat", "5", Some("2026-05-01"), Some("2026-06-02"));
        let newer = db.current(&db.question("c-1", &["flat"])).unwrap().newer_plan_versions;
        assert_eq!(newer.iter().map(|n| n.version).collect::<Vec<_>>(), [4, 5]);
    }

    fn a_period_registered_between_reading_and_insert_is_seen(db: &Db) {
        db.put_customer("c-1");
        let ask = |n_periods: usize| {
            let mut new = db.question_over("c-1", &["flat"], "2026-06-01", "2026-08-01");
            let (start, end) = (date("2026-05-01"), date("2026-08-01"));
            new.inputs.cycle = Some(RecordedCycle { id: "north".to_owned(), start, end, n_periods });
            new
        };
        let register = |id: &str, start: &str, end: &str| {
            let cycle = Some("north".to_owned());
            let period = RegisteredPeriod { id: id.parse().unwrap(), start: date(start), end: date(end), cycle };
            db.store.register_period(&db.tenant, &period, db.now()).unwrap();
        };
        register("p-0", "2026-04-01", "2026-05-01");
        register("p-1", "2026-05-20", "2026-06-15");
        assert_eq!(db.insert(&ask(0)), Inserted::InputsChanged);
        register("p-2", "2026-06-15", "2026-08-01");
        assert_eq!(db.insert(&ask(1)), Inserted::InputsChanged);
        register("p-3", "2026-08-01", "2026-09-01");
        let mut without = ask(7);
        without.inputs.cycle = None;
        without.key_digest = [3; 32];
        assert!(matches!(db.insert(&without), Inserted::Created(_)));
        assert!(matches!(db.insert(&ask(2)), Inserted::Created(_)));
    }

    fn a_thousand_plan_references_are_kept(db: &Db) {
        db.put_customer("c-1");
        let references: Vec<String> = (0..1_000).map(|n| format!("p-{n:04}")).collect();
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        let (new, row) = db.create("c-1", &references);
        assert_eq!(db.count("comparison_plans"), 1_000);
        assert_eq!(row.plan_references.len(), 1_000);
        db.put_plan("p-0999", "1", None, None);
        assert_eq!(db.current(&new).unwrap().newer_plan_versions.len(), 1);
    }

    /// At the end of every round the current row either has the newest readings or says that it has not.
    fn an_import_beside_an_insert_is_in_the_answer_or_marks_it(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1));
        for round in 0..40 {
            let key = format!("flat-{round}");
            let barrier = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    barrier.wait();
                    db.import("c-1", hours("2026-06-10".."2026-06-11", 100 + round));
                });
                scope.spawn(|| {
                    let mut new = db.question("c-1", &[&key]);
                    barrier.wait();
                    while db.insert(&new) == Inserted::InputsChanged {
                        new = db.question("c-1", &[&key]);
                    }
                });
            });
            let now = db.question("c-1", &[&key]);
            let stored = db.current(&now).unwrap().row;
            assert_eq!(stored.stale_since.is_none(), stored.inputs.digest == now.inputs.digest, "round {round}");
        }
    }
}
