//! Files of many meter points: one record, a commit a customer, and what is left.

use std::sync::Barrier;

use samebill::store::*;
use samebill::usage::Channel;
use samebill::words::*;

use crate::database::{Db, customer, document, hours, import_source, usage_import};
use crate::on_both_engines;

/// A customer that lists these meter points as `import`.
fn put(db: &Db, id: &str, points: &[&str]) {
    let point = |id: &&str| MeterPoint { id: (*id).to_owned(), channel: Channel::import() };
    let document = CustomerDocument { meter_points: points.iter().map(point).collect(), ..document(None) };
    db.store.put_customer(&db.tenant, &customer(id), &document, db.now()).unwrap();
}

fn file(points: &[&str], resume_key: u8) -> MeterPointsImport {
    let row = |(place, id): (u32, &&str)| MeterPointRow {
        place,
        meter_point_id: Some((*id).to_owned()),
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
        source: import_source(resume_key),
        resume_key: [resume_key; 32],
        meter_points: (0..).zip(points).map(row).collect(),
    }
}

fn begin(db: &Db, new: &MeterPointsImport) -> ImportRow {
    db.store.begin_meter_points(&db.tenant, new, db.now()).unwrap()
}

/// The share of a customer that lists one meter point.
fn share(whole: ImportId, id: &str, place: u32, point: &str) -> CustomerShare {
    let point = ShareMeterPoint { place, id: point.to_owned(), channels: vec![Channel::import()], n_readings: 24 };
    CustomerShare {
        import_id: whole,
        customer_id: customer(id),
        meter_points: vec![point],
        import: usage_import(hours("2026-06-01".."2026-06-02", 1_000), OnConflict::default()),
    }
}

fn store_share(db: &Db, share: &CustomerShare) -> ShareOutcome {
    db.store.import_share(&db.tenant, share, db.now()).unwrap()
}

fn counts(progress: &ImportProgress) -> [u64; 4] {
    let MeterPointCounts { pending, done, unmapped, refused } = progress.meter_points.unwrap();
    [pending, done, unmapped, refused]
}

on_both_engines! {
    fn a_file_is_done_when_nothing_is_left_and_begun_anew_only_then(db: &Db) {
        put(db, "c-1", &["m-1"]);
        put(db, "c-2", &["m-2"]);
        let whole = begin(db, &file(&["m-1", "m-2", "m-3"], 5));
        assert_eq!((whole.kind, whole.state, whole.customer_id.clone()), (ImportKind::MeterPoints, ImportState::Incomplete, None));
        let ShareOutcome::Done(first) = store_share(db, &share(whole.id, "c-1", 0, "m-1")) else { panic!("not stored") };
        assert_eq!((first.record.part_of, first.record.counts.added), (Some(whole.id), 24));
        assert_eq!(store_share(db, &share(whole.id, "c-1", 0, "m-1")), ShareOutcome::Already);
        let left = db.store.finish_meter_points(&db.tenant, whole.id).unwrap();
        assert_eq!((counts(&left), left.record.state, left.record.counts.added, left.n_customers), ([2, 1, 0, 0], ImportState::Incomplete, 24, Some(1)));

        let again = begin(db, &file(&["m-1", "m-2", "m-3"], 5));
        assert_eq!(again.id, whole.id, "the same file goes on");
        assert_ne!(begin(db, &file(&["m-1"], 6)).id, whole.id, "another one does not");
        let refusal = |place, code: &str| MeterPointRefusal {
            place,
            state: MeterPointState::Unmapped,
            customer_id: None,
            code: code.to_owned(),
            detail: "nobody lists it".to_owned(),
        };
        // What is stored is not refused any more.
        db.store.refuse_meter_points(&db.tenant, whole.id, &[refusal(0, "late"), refusal(2, "meter_point_unmapped")]).unwrap();
        assert!(matches!(store_share(db, &share(whole.id, "c-2", 1, "m-2")), ShareOutcome::Done(_)));
        let done = db.store.finish_meter_points(&db.tenant, whole.id).unwrap();
        assert_eq!((counts(&done), done.record.state, done.record.counts.added), ([0, 2, 1, 0], ImportState::Done, 48));
        assert_eq!(db.store.import(&db.tenant, whole.id).unwrap(), done);
        let list = |states: &[MeterPointState], after| db.store.import_meter_points(&db.tenant, whole.id, states, after, 10).unwrap();
        assert_eq!(list(&[], Some(0)).len(), 2);
        let unmapped = list(&[MeterPointState::Unmapped, MeterPointState::Refused], None);
        assert_eq!((unmapped.len(), unmapped[0].code.as_deref(), unmapped[0].meter_point_id.as_deref()), (1, Some("meter_point_unmapped"), Some("m-3")));
        let stored = &list(&[MeterPointState::Done], None)[0];
        assert_eq!((stored.part_id, stored.customer_id.clone(), stored.n_readings), (Some(first.record.id), Some(customer("c-1")), 24));
        assert_ne!(begin(db, &file(&["m-1", "m-2", "m-3"], 5)).id, whole.id, "a file that is done begins anew");
        let parts = ImportFilter { part_of: Some(whole.id), ..ImportFilter::default() };
        assert_eq!(db.store.list_imports(&db.tenant, &parts, None, 10).unwrap().len(), 2);
    }

    fn readings_go_to_nobody_who_does_not_list_their_meter_point_alone(db: &Db) {
        put(db, "c-1", &["m-1"]);
        let whole = begin(db, &file(&["m-1"], 5));
        let first = share(whole.id, "c-1", 0, "m-1");
        let moved = |customer: &str, points: &[&str]| {
            put(db, customer, points);
            assert_eq!(store_share(db, &first), ShareOutcome::Moved);
        };
        moved("c-1", &[]);
        put(db, "c-1", &["m-1"]);
        moved("c-2", &["m-1"]);
        put(db, "c-2", &[]);
        let export = ShareMeterPoint { channels: vec![Channel::export()], ..first.meter_points[0].clone() };
        assert_eq!(store_share(db, &CustomerShare { meter_points: vec![export], ..first.clone() }), ShareOutcome::Moved);
        assert_eq!(store_share(db, &share(whole.id, "nobody", 0, "m-1")), ShareOutcome::Moved);
        assert_eq!((db.count("usage_blocks"), db.count("imports")), (0, 1));
        assert!(matches!(store_share(db, &first), ShareOutcome::Done(_)));
        let listed = db.store.customers_of_meter_points(&db.tenant, &["m-1", "m-2"]).unwrap();
        assert_eq!(listed.into_iter().collect::<Vec<_>>(), [("m-1".to_owned(), vec![(customer("c-1"), Channel::import())])]);
        let other: TenantId = "other".parse().unwrap();
        assert!(db.store.customers_of_meter_points(&other, &["m-1"]).unwrap().is_empty());
    }

    fn a_share_that_is_refused_leaves_nothing(db: &Db) {
        put(db, "c-1", &["m-1"]);
        db.import("c-1", hours("2026-06-01".."2026-06-02", 2_000));
        let whole = begin(db, &file(&["m-1"], 5));
        let mut refused = share(whole.id, "c-1", 0, "m-1");
        refused.import.on_conflict = OnConflict::Refuse;
        let refused = db.store.import_share(&db.tenant, &refused, db.now());
        assert!(matches!(refused, Err(StoreError::Conflict { code: "usage_conflict", .. })), "{refused:?}");
        assert_eq!(counts(&db.store.import(&db.tenant, whole.id).unwrap()), [1, 0, 0, 0]);
        assert_eq!(db.count("imports WHERE part_of IS NOT NULL"), 0);
    }

    fn nothing_more_of_a_reverted_file_is_stored(db: &Db) {
        put(db, "c-1", &["m-1"]);
        put(db, "c-2", &["m-2"]);
        let whole = begin(db, &file(&["m-1", "m-2"], 5));
        let ShareOutcome::Done(first) = store_share(db, &share(whole.id, "c-1", 0, "m-1")) else { panic!("not stored") };
        let reverted = db.store.revert_meter_points(&db.tenant, whole.id).unwrap();
        assert_eq!((reverted.record.state, reverted.record.counts.added), (ImportState::Reverted, 24));
        assert_eq!(store_share(db, &share(whole.id, "c-2", 1, "m-2")), ShareOutcome::Reverted);
        assert_eq!(db.store.finish_meter_points(&db.tenant, whole.id).unwrap().record.state, ImportState::Reverted);
        let single = db.store.revert_meter_points(&db.tenant, first.record.id);
        assert!(matches!(single, Err(StoreError::Conflict { code: "import_not_revertible", .. })), "{single:?}");
        let whole_as_one = db.store.revert_import(&db.tenant, whole.id, ImportId::new(), db.now());
        assert!(matches!(whole_as_one, Err(StoreError::Conflict { code: "import_not_revertible", .. })), "{whole_as_one:?}");
        assert_ne!(begin(db, &file(&["m-1", "m-2"], 5)).id, whole.id);
    }

    fn callers_of_one_file_at_once_share_one_record(db: &Db) {
        put(db, "c-1", &["m-1"]);
        for round in 0..10 {
            let barrier = Barrier::new(4);
            let stored: Vec<(ImportId, bool)> = std::thread::scope(|scope| {
                let call = || {
                    let new = file(&["m-1"], 10 + round);
                    barrier.wait();
                    let whole = begin(db, &new);
                    let mut share = share(whole.id, "c-1", 0, "m-1");
                    share.import.id = ImportId::new();
                    (whole.id, matches!(store_share(db, &share), ShareOutcome::Done(_)))
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(stored.iter().all(|(id, _)| *id == stored[0].0), "{stored:?}");
            assert_eq!(stored.iter().filter(|(_, is_done)| *is_done).count(), 1);
        }
        assert_eq!((db.count("imports WHERE kind = 'meter_points'"), db.count("usage_revisions")), (10, 1));
    }
}
