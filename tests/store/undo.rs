//! Records of imports, earlier states, previews, declared zeros, and undoing.

use std::collections::BTreeMap;
use std::sync::Barrier;

use samebill::store::*;
use samebill::usage::{Channel, Quality, Reading};
use samebill::words::*;

use crate::database::{Db, Imported, customer, hours, import_source, midnight, usage_import};
use crate::on_both_engines;

fn june(db: &Db) -> StoredUsage {
    db.store.usage(&db.tenant, &customer("c-1"), midnight("2026-06-01")..midnight("2026-07-01")).unwrap()
}

fn june_at(db: &Db, revision: i64) -> Result<StoredUsage, StoreError> {
    let window = midnight("2026-06-01")..midnight("2026-07-01");
    db.store.usage_at_revision(&db.tenant, &customer("c-1"), window, revision)
}

fn readings(db: &Db) -> Vec<Reading> {
    db.store.readings(&db.tenant, &customer("c-1"), None).unwrap().remove(&Channel::import()).unwrap_or_default()
}

fn revert(db: &Db, id: ImportId) -> Reverted {
    db.store.revert_import(&db.tenant, id, ImportId::new(), db.now()).unwrap()
}

#[track_caller]
fn done(reverted: Reverted) -> Imported {
    let Reverted::Done(outcome) = reverted else { panic!("{reverted:?}") };
    outcome.into()
}

fn record(db: &Db, id: ImportId) -> ImportRow {
    db.store.import(&db.tenant, id).unwrap().record
}

fn list(db: &Db, filter: &ImportFilter) -> Vec<ImportId> {
    db.store.list_imports(&db.tenant, filter, None, 100).unwrap().into_iter().map(|row| row.id).collect()
}

on_both_engines! {
    fn every_import_leaves_a_record(db: &Db) {
        db.put_customer("c-1");
        db.put_customer("c-2");
        let first = db.import("c-1", hours("2026-06-01".."2026-06-03", 1_000));
        let again = db.import("c-1", hours("2026-06-01".."2026-06-03", 1_000));
        let other_file = UsageImport { source: import_source(8), ..usage_import(hours("2026-06-01".."2026-06-02", 5), OnConflict::Keep) };
        let kept = db.try_import_of("c-1", &other_file).unwrap();
        let other = db.import("c-2", hours("2026-06-01".."2026-06-02", 1));
        assert_eq!(db.store.import(&db.tenant, first.id).unwrap(), ImportProgress { record: first.record.clone(), meter_points: None, n_customers: None });
        assert_eq!((again.record.kind, again.record.state, again.unchanged), (ImportKind::Usage, ImportState::Done, 48));
        assert_eq!((again.revision_before, again.revision_after), (1, 1));
        assert_eq!((kept.record.counts.kept, kept.record.on_conflict.as_deref(), kept.record.same_file_as), (24, Some("keep"), None));
        let row = record(db, first.id);
        assert_eq!((row.n_bytes, row.counts.rows, row.counts.exact_repeats, row.counts.blank), (1_000, 720, 1, 2));
        assert_eq!((row.choices, row.sha256), (serde_json::json!({"import": "kwh"}), "07".repeat(32)));

        let of = |filter: ImportFilter| list(db, &filter);
        assert_eq!(of(ImportFilter::default()), [other.id, kept.id, again.id, first.id]);
        let c_1 = Some(customer("c-1"));
        assert_eq!(of(ImportFilter { customer_id: c_1.clone(), ..ImportFilter::default() }), [kept.id, again.id, first.id]);
        assert_eq!(of(ImportFilter { customer_id: c_1, sha256: Some([8; 32]), ..ImportFilter::default() }), [kept.id]);
        assert_eq!(of(ImportFilter { state: Some(ImportState::Incomplete), ..ImportFilter::default() }), []);
        let page = db.store.list_imports(&db.tenant, &ImportFilter::default(), Some(kept.id), 1).unwrap();
        assert_eq!(page.into_iter().map(|row| row.id).collect::<Vec<_>>(), [again.id]);
        let other_tenant: TenantId = "other".parse().unwrap();
        assert!(matches!(db.store.import(&other_tenant, first.id), Err(StoreError::NotFound { what: "import", .. })));
        assert_eq!(db.store.list_imports(&other_tenant, &ImportFilter::default(), None, 10).unwrap(), []);
    }

    fn every_earlier_state_can_be_read(db: &Db) {
        db.put_customer("c-1");
        let mut states = vec![june(db)];
        for (n, days) in [("2026-06-01".."2026-06-20"), ("2026-06-10".."2026-07-02"), ("2026-06-01".."2026-06-02")].into_iter().enumerate() {
            db.import("c-1", hours(days, 1_000 * (1 + i64::try_from(n).unwrap())));
            states.push(june(db));
        }
        for (revision, state) in (0..).zip(&states) {
            assert_eq!(&june_at(db, revision).unwrap(), state, "revision {revision}");
        }
        assert!(matches!(june_at(db, 4), Err(StoreError::NotFound { what: "usage revision", .. })));
        assert!(matches!(june_at(db, -1), Err(StoreError::NotFound { .. })));
        let changes = db.store.usage_changes(&db.tenant, &customer("c-1"), 3).unwrap();
        let changes = &changes[&Channel::import()];
        assert_eq!(changes.len(), 24);
        assert_eq!(changes[0].before.map(|reading| reading.milliwatt_hours), Some(1_000));
        assert_eq!(changes[0].after.map(|reading| reading.milliwatt_hours), Some(3_000));
    }

    fn a_state_that_an_earlier_release_did_not_keep_is_refused(db: &Db) {
        db.put_customer("c-1");
        for value in 1..=3 {
            db.import("c-1", hours("2026-06-01".."2026-06-02", value));
        }
        db.execute("UPDATE usage_revisions SET import_id = NULL, channels = NULL WHERE revision <= 2");
        for revision in [0, 1] {
            let refused = june_at(db, revision);
            assert!(matches!(refused, Err(StoreError::Conflict { code: "usage_revision_gone", .. })), "{refused:?}");
        }
        assert!(june_at(db, 2).is_ok() && june_at(db, 3).is_ok());
        let changes = |revision| db.store.usage_changes(&db.tenant, &customer("c-1"), revision);
        assert!(changes(2).is_err() && changes(3).is_ok());
        assert_eq!(db.store.usage_revisions(&db.tenant, &customer("c-1"), 0, 1).unwrap()[0].channels, None);
    }

    fn a_preview_says_what_the_import_then_does_and_writes_nothing(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000));
        let (_, comparison) = db.create("c-1", &["flat"]);
        let import = UsageImport { source: import_source(9), ..usage_import(hours("2026-06-30".."2026-07-02", 2_000), OnConflict::default()) };
        let preview = db.store.preview_import(&db.tenant, &customer("c-1"), &import, db.now()).unwrap();
        assert_eq!((db.count("imports"), db.count("usage_blocks"), db.count("usage_revisions")), (1, 1, 1));
        assert_eq!(db.store.comparison(&db.tenant, comparison.id).unwrap().unwrap().row.stale_since, None);
        let did = db.try_import_of("c-1", &import).unwrap();
        assert_eq!(preview.record.counts, did.record.counts);
        assert_eq!((preview.record.revision_after, &preview.stale), (Some(2), &did.stale));
        assert_eq!(did.stale, [comparison.id]);
        let (before, after) = &preview.channels[&Channel::import()];
        assert_eq!((before.len(), after), (720, &readings(db)));
        let refused = usage_import(hours("2026-06-30".."2026-07-01", 3_000), OnConflict::Refuse);
        let refused = db.store.preview_import(&db.tenant, &customer("c-1"), &refused, db.now());
        assert!(matches!(refused, Err(StoreError::Conflict { code: "usage_conflict", .. })), "{refused:?}");
    }

    fn gaps_are_declared_zero_only_when_asked_and_give_way_to_any_reading(db: &Db) {
        db.put_customer("c-1");
        let gappy = || [hours("2026-06-01".."2026-06-02", 1_000), hours("2026-06-03".."2026-06-04", 1_000)].concat();
        db.import("c-1", gappy());
        assert_eq!(readings(db).len(), 48);
        let fill = |readings, fill| UsageImport { fill: Some(fill), ..usage_import(readings, OnConflict::default()) };
        let filled = db.try_import_of("c-1", &fill(gappy(), FillZero::WithinFile)).unwrap();
        assert_eq!((filled.record.counts.filled, filled.added, filled.unchanged, filled.revision_after), (24, 24, 48, 2));
        let stored = readings(db);
        assert_eq!((stored.len(), stored.iter().filter(|r| r.quality == Quality::FilledZero).count()), (72, 24));
        let again = db.try_import_of("c-1", &fill(gappy(), FillZero::WithinFile)).unwrap();
        assert_eq!((again.record.counts.filled, again.revision_after), (0, 2));
        // A reading of any quality under any rule, also half as long.
        let half = |start| Reading { start, seconds: 1800, milliwatt_hours: 4, quality: Quality::Estimated };
        let start = midnight("2026-06-02");
        let real = db.try_import("c-1", vec![half(start), half(start + 1800)], OnConflict::Keep).unwrap();
        assert_eq!((real.added, real.record.counts.removed), (2, 1));
        let beyond = FillZero::Within(midnight("2026-06-03")..midnight("2026-06-05"));
        let beyond = db.try_import_of("c-1", &fill(gappy(), beyond)).unwrap();
        assert_eq!((beyond.record.counts.filled, readings(db).len()), (24, 97));
        let uneven = [hours("2026-08-01".."2026-08-02", 1), vec![half(midnight("2026-08-02") + 900)]].concat();
        let refused = db.try_import_of("c-1", &fill(uneven, FillZero::WithinFile));
        assert!(matches!(refused, Err(StoreError::Conflict { code: "fill_uneven", .. })), "{refused:?}");
    }

    fn a_revert_restores_what_was_and_leaves_what_is_newer(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000));
        let before = readings(db);
        let wrong = db.import("c-1", hours("2026-06-29".."2026-07-03", 9_000));
        let newer = db.import("c-1", hours("2026-06-30".."2026-07-02", 5_000));
        let (_, comparison) = db.create("c-1", &["flat"]);
        let new_id = ImportId::new();
        let preview = db.store.preview_revert(&db.tenant, wrong.id, new_id, db.now()).unwrap();
        assert_eq!((db.count("imports"), record(db, wrong.id).state), (3, ImportState::Done));
        let reverted = done(revert(db, wrong.id));
        assert_eq!(preview.record.counts, reverted.record.counts);
        let counts = reverted.record.counts;
        assert_eq!((counts.replaced, counts.removed, counts.newer, reverted.revision_after), (24, 24, 48, 4));
        assert_eq!((&reverted.stale, &preview.stale), (&vec![comparison.id], &vec![comparison.id]));
        let expected = [before[..29 * 24].to_vec(), hours("2026-06-30".."2026-07-02", 5_000)].concat();
        assert_eq!(readings(db), expected);
        assert_eq!(preview.channels[&Channel::import()].1, expected);
        let row = record(db, wrong.id);
        assert_eq!((row.state, row.reverted_by), (ImportState::Reverted, Some(reverted.id)));
        assert_eq!((reverted.record.kind, reverted.record.reverts), (ImportKind::Revert, Some(wrong.id)));
        assert_eq!(record(db, reverted.id), reverted.record);
        let log = db.store.usage_revisions(&db.tenant, &customer("c-1"), 3, 1).unwrap();
        assert_eq!((log[0].removed, log[0].import_id, log[0].format.as_str()), (24, Some(reverted.id), "revert"));

        let Reverted::Already(first) = revert(db, wrong.id) else { panic!("twice") };
        assert_eq!((first, db.count("imports")), (reverted.record.clone(), 4));
        let refused = db.store.revert_import(&db.tenant, reverted.id, ImportId::new(), db.now());
        assert!(matches!(refused, Err(StoreError::Conflict { code: "import_not_revertible", .. })), "{refused:?}");
        let unknown = db.store.revert_import(&db.tenant, ImportId::new(), ImportId::new(), db.now());
        assert!(matches!(unknown, Err(StoreError::NotFound { what: "import", .. })));
        done(revert(db, newer.id));
        // What the first correction had made there is the state before the second one.
        assert_eq!(readings(db), [before[..29 * 24].to_vec(), hours("2026-06-30".."2026-07-02", 9_000)].concat());
    }

    fn a_revert_of_the_only_import_leaves_no_reading_and_the_file_can_come_again(db: &Db) {
        db.put_customer("c-1");
        let only = db.import("c-1", hours("2026-06-01".."2026-07-03", 1_000));
        let stored = readings(db);
        let (question, comparison) = db.create("c-1", &["flat"]);
        let reverted = done(revert(db, only.id));
        assert_eq!((reverted.record.counts.removed, reverted.stale), (32 * 24, vec![comparison.id]));
        assert_eq!((readings(db), june(db)), (vec![], StoredUsage::default()));
        assert_eq!(june_at(db, 1).unwrap().blocks, question.inputs.blocks);
        assert!(matches!(db.insert(&db.question("c-1", &["tou"])), Inserted::Created(_)));
        let again = db.import("c-1", stored.clone());
        assert_eq!((again.added, again.revision_after, again.record.same_file_as), (32 * 24, 3, Some(only.id)));
        assert_eq!(readings(db), stored);
        let nothing = db.import("c-1", stored);
        assert_eq!(done(revert(db, nothing.id)).revision_after, 3, "what changed nothing is taken back by nothing");
    }

    fn a_revert_brings_declared_zeros_back(db: &Db) {
        db.put_customer("c-1");
        let gappy = [hours("2026-06-01".."2026-06-02", 1_000), hours("2026-06-03".."2026-06-04", 1_000)].concat();
        db.try_import_of("c-1", &UsageImport { fill: Some(FillZero::WithinFile), ..usage_import(gappy, OnConflict::default()) }).unwrap();
        let filled = readings(db);
        let half = |start| Reading { start, seconds: 1800, milliwatt_hours: 4, quality: Quality::Measured };
        let real = db.import("c-1", vec![half(midnight("2026-06-02"))]);
        assert_ne!(readings(db), filled);
        let reverted = done(revert(db, real.id));
        assert_eq!((reverted.record.counts.added, reverted.record.counts.removed), (1, 1));
        assert_eq!(readings(db), filled);
    }

    fn reverts_at_once_take_back_once(db: &Db) {
        db.put_customer("c-1");
        for round in 0..10 {
            let import = db.import("c-1", hours("2026-06-01".."2026-06-05", 1_000 + round));
            let barrier = Barrier::new(4);
            let reverted: Vec<Reverted> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| { barrier.wait(); revert(db, import.id) })).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let done = reverted.iter().filter(|reverted| matches!(reverted, Reverted::Done(_))).count();
            assert_eq!((done, db.count("imports WHERE kind = 'revert'")), (1, round + 1));
        }
        assert_eq!(readings(db), []);
    }

    fn the_same_file_twice_at_once_is_two_records_and_one_revision(db: &Db) {
        db.put_customer("c-1");
        for round in 0..10 {
            let day = format!("2026-06-{:02}", 10 + round);
            let next = format!("2026-06-{:02}", 11 + round);
            let barrier = Barrier::new(3);
            let outcomes: Vec<Imported> = std::thread::scope(|scope| {
                let import = || { barrier.wait(); db.import("c-1", hours(&day..&next, 5)) };
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(import)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let changed: Vec<_> = outcomes.iter().filter(|outcome| outcome.revision_before < outcome.revision_after).collect();
            assert_eq!((changed.len(), changed[0].added), (1, 24));
            assert!(outcomes.iter().filter(|o| o.unchanged == 24).all(|o| o.record.same_file_as.is_some()));
        }
        assert_eq!((db.count("imports"), db.count("usage_revisions")), (30, 10));
    }

    fn an_import_beside_a_revert_is_lost_in_no_order(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-06-30", 1_000));
        let before = readings(db);
        for round in 0..10 {
            let wrong = db.import("c-1", hours("2026-06-01".."2026-06-03", 7_000 + round));
            let barrier = Barrier::new(2);
            let correction = 8_000 + round;
            let (newer, reverted) = std::thread::scope(|scope| {
                let newer = scope.spawn(|| { barrier.wait(); db.import("c-1", hours("2026-06-02".."2026-06-04", correction)) });
                barrier.wait();
                let reverted = done(revert(db, wrong.id));
                (newer.join().unwrap(), reverted)
            });
            let expected = [before[..24].to_vec(), hours("2026-06-02".."2026-06-04", correction), before[72..].to_vec()].concat();
            assert_eq!(readings(db), expected);
            let came_first = newer.revision_after < reverted.revision_after;
            assert_eq!(reverted.record.counts.newer, if came_first { 24 } else { 0 });
            db.try_import("c-1", before.clone(), OnConflict::Replace).unwrap();
        }
    }

    fn the_states_of_the_log_are_the_sum_of_its_changes(db: &Db) {
        db.put_customer("c-1");
        let mut ids = vec![];
        for (from, to, value) in [("2026-05-20", "2026-06-10", 1), ("2026-06-05", "2026-07-05", 2), ("2026-06-01", "2026-06-03", 3)] {
            ids.push(db.import("c-1", hours(from..to, value)).id);
        }
        done(revert(db, ids[1]));
        let mut state: BTreeMap<i64, Reading> = BTreeMap::new();
        for revision in 1..=4 {
            for change in db.store.usage_changes(&db.tenant, &customer("c-1"), revision).unwrap().remove(&Channel::import()).unwrap() {
                assert_eq!(state.get(&change.interval().start).copied(), change.before);
                match change.after {
                    Some(after) => state.insert(after.start, after),
                    None => state.remove(&change.interval().start),
                };
            }
        }
        assert_eq!(state.into_values().collect::<Vec<_>>(), readings(db));
    }
}
