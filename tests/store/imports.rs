//! Imports: revisions, marks, blocks and how long they stay.

use samebill::store::*;
use samebill::usage::{Channel, Quality, Reading};
use samebill::words::*;

use crate::database::{Db, customer, date, document, hours, midnight, usage_import};
use crate::on_both_engines;

fn read(db: &Db, from: &str, to: &str) -> StoredUsage {
    db.store.usage(&db.tenant, &customer("c-1"), midnight(from)..midnight(to)).unwrap()
}

fn n_readings(usage: &StoredUsage) -> usize {
    usage.readings.get(&Channel::import()).map_or(0, samebill::usage::Series::n_readings)
}

fn is_stale(db: &Db, row: &ComparisonRow) -> Option<Timestamp> {
    db.store.comparison(&db.tenant, row.id).unwrap().unwrap().row.stale_since
}

fn current_over(db: &Db, from: &str, to: &str) -> ComparisonRow {
    let Inserted::Created(row) = db.insert(&db.question_over("c-1", &["flat"], from, to)) else {
        panic!("not created")
    };
    row
}

on_both_engines! {
    fn the_revision_rises_only_when_a_reading_changes(db: &Db) {
        db.put_customer("c-1");
        let june = || hours("2026-06-01".."2026-07-01", 1_000);
        let first = db.import("c-1", june());
        assert_eq!((first.added, first.revision_before, first.revision_after), (720, 0, 1));
        let again = db.import("c-1", june());
        assert_eq!((again.unchanged, again.added, again.revision_before, again.revision_after), (720, 0, 1, 1));
        assert_eq!((first.record.same_file_as, again.record.same_file_as), (None, Some(first.id)));
        let nothing = db.import("c-1", vec![]);
        assert_eq!((nothing.revision_before, nothing.revision_after), (1, 1));
        let corrected = db.import("c-1", hours("2026-06-30".."2026-07-02", 2_000));
        assert_eq!((corrected.replaced, corrected.added, corrected.revision_after), (24, 24, 2));
        assert_eq!(db.store.customer(&db.tenant, &customer("c-1")).unwrap().unwrap().usage_revision, 2);
        let log = db.store.usage_revisions(&db.tenant, &customer("c-1"), 0, 10).unwrap();
        assert_eq!(log.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((log[1].first_start, log[1].last_end), (midnight("2026-06-30"), midnight("2026-07-02")));
        assert_eq!((log[1].added, log[1].replaced, log[1].sha256.as_str()), (24, 24, &*"07".repeat(32)));
        assert_eq!((log[0].import_id, log[1].import_id), (Some(first.id), Some(corrected.id)));
        let channels = log[1].channels.clone().unwrap();
        assert_eq!((channels.len(), channels[0].channel.as_str(), channels[0].sum.added), (1, "import", 24));
        assert_eq!((channels[0].sum.kwh_before.as_str(), channels[0].sum.kwh_after.as_str()), ("0.024", "0.096"));
        assert_eq!((log[1].file_name.as_deref(), log[1].format.as_str()), (Some("file.csv"), "csv"));
        assert_eq!(db.store.usage_revisions(&db.tenant, &customer("c-1"), 1, 10).unwrap(), log[1..]);
        assert_eq!(db.store.usage_revisions(&db.tenant, &customer("c-1"), 0, 1).unwrap(), log[..1]);
    }

    fn readings_come_back_cut_to_the_window_with_every_block_it_touches(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-05-01".."2026-07-03", 1_000));
        db.import("c-1", hours("2026-07-02".."2026-07-03", 2_000));
        let usage = read(db, "2026-06-10", "2026-06-12");
        assert_eq!(n_readings(&usage), 48);
        let block = |month: &str, revision| BlockRevision { channel: Channel::import(), month: date(month), revision };
        assert_eq!(usage.blocks, [block("2026-06-01", 1)]);
        let usage = read(db, "2026-05-31", "2026-07-01");
        assert_eq!((n_readings(&usage), &usage.blocks[..]), (31 * 24, &[block("2026-05-01", 1), block("2026-06-01", 1)][..]));
        assert_eq!(read(db, "2026-06-30", "2026-07-02").blocks, [block("2026-06-01", 1), block("2026-07-01", 2)]);
        let empty_part = read(db, "2026-07-20", "2026-07-21");
        assert_eq!((n_readings(&empty_part), &empty_part.blocks[..]), (0, &[block("2026-07-01", 2)][..]));
        assert_eq!(read(db, "2026-08-01", "2026-09-01"), StoredUsage::default());
        assert_eq!(read(db, "2026-06-01", "2026-06-01"), StoredUsage::default());
        let series: Vec<Reading> = read(db, "2026-05-01", "2026-07-03").readings[&Channel::import()].readings().collect();
        let mut expected = hours("2026-05-01".."2026-07-02", 1_000);
        expected.extend(hours("2026-07-02".."2026-07-03", 2_000));
        assert_eq!(series, expected);
    }

    fn an_unknown_customer_has_no_import(db: &Db) {
        let refused = db.try_import("c-1", hours("2026-06-01".."2026-06-02", 1), OnConflict::Replace);
        assert!(matches!(refused, Err(StoreError::NotFound { what: "customer", .. })));
    }

    fn an_import_is_stored_whole_or_not_at_all(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-06-02", 1));
        let import = UsageImport {
            readings: [
                (Channel::export(), hours("2026-06-01".."2026-06-02", 1).into_iter().collect()),
                (Channel::import(), hours("2026-06-01".."2026-06-02", 2).into_iter().collect()),
            ]
            .into(),
            ..usage_import(vec![], OnConflict::Refuse)
        };
        let refused = db.store.import_usage(&db.tenant, &customer("c-1"), &import, db.now()).unwrap_err();
        let StoreError::Conflict { code: "usage_conflict", detail } = &refused else { panic!("{refused:?}") };
        assert!(detail.contains("2026-06-01T00:00:00Z"), "{detail}");
        assert_eq!((db.count("usage_blocks"), db.count("usage_revisions")), (1, 1));
        assert_eq!(db.store.customer(&db.tenant, &customer("c-1")).unwrap().unwrap().usage_revision, 1);
    }

    fn lengths_that_overlap_are_refused_also_across_a_month(db: &Db) {
        db.put_customer("c-1");
        let reading = |start: i64, seconds| Reading { start, seconds, milliwatt_hours: 1, quality: Quality::Measured };
        db.import("c-1", vec![reading(midnight("2026-07-01") - 1800, 3600)]);
        for start in [midnight("2026-07-01"), midnight("2026-07-01") - 900] {
            let refused = db.try_import("c-1", vec![reading(start, 900)], OnConflict::Replace).unwrap_err();
            let StoreError::Conflict { code: "usage_overlap", detail } = &refused else { panic!("{refused:?}") };
            assert!(detail.contains("2026-06-30T23:30:00Z"), "{detail}");
        }
        db.import("c-1", vec![reading(midnight("2026-07-01") + 1800, 900)]);
        assert_eq!(db.count("usage_blocks"), 2);
    }

    fn an_import_marks_the_current_rows_whose_window_it_changes(db: &Db) {
        db.put_customer("c-1");
        db.put_customer("c-2");
        db.import("c-1", hours("2026-05-01".."2026-08-01", 1_000));
        db.import("c-2", hours("2026-05-01".."2026-08-01", 1_000));
        let may = current_over(db, "2026-05-01", "2026-06-01");
        let june = current_over(db, "2026-06-01", "2026-07-01");
        let july = current_over(db, "2026-07-01", "2026-08-01");
        let both = current_over(db, "2026-05-01", "2026-07-01");
        let (_, other) = db.create("c-2", &["flat"]);
        assert_eq!(db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000)).stale, []);
        let outcome = db.import("c-1", hours("2026-06-29".."2026-07-01", 5));
        let mut stale = outcome.stale.clone();
        stale.sort();
        assert_eq!(stale, [june.id, both.id]);
        let since = is_stale(db, &june).unwrap();
        let log = db.store.usage_revisions(&db.tenant, &customer("c-1"), 1, 1).unwrap();
        assert_eq!(since, log[0].created_at);
        assert_eq!(db.import("c-1", hours("2026-06-02".."2026-06-03", 6)).stale, [], "they are marked already");
        assert_eq!(is_stale(db, &june), Some(since), "the first change counts");
        for fresh in [&may, &july, &other] {
            assert_eq!(is_stale(db, fresh), None);
        }
        let two_ends = [hours("2026-05-01".."2026-05-02", 9), hours("2026-07-31".."2026-08-01", 9)].concat();
        let mut stale = db.import("c-1", two_ends).stale;
        stale.sort();
        assert_eq!(stale, [may.id, july.id]);
    }

    fn what_lies_between_two_changes_stays_fresh(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-05-01".."2026-08-01", 1_000));
        let june = current_over(db, "2026-06-01", "2026-07-01");
        let around = [hours("2026-05-31".."2026-06-01", 9), hours("2026-07-01".."2026-07-02", 9)].concat();
        assert_eq!(db.import("c-1", around).stale, []);
        assert_eq!(is_stale(db, &june), None);
    }

    fn a_superseded_row_is_not_marked(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000));
        let (_, first) = db.create("c-1", &["flat"]);
        let new = db.question("c-1", &["flat"]);
        db.supersede(first.id, &new, true);
        assert_eq!(db.import("c-1", hours("2026-06-02".."2026-06-03", 6)).stale, [new.id]);
        assert_eq!(is_stale(db, &first), None);
    }

    fn a_changed_customer_marks_every_current_row_of_it(db: &Db) {
        db.put_customer("c-1");
        db.put_customer("c-2");
        let (_, mine) = db.create("c-1", &["flat"]);
        let (_, other) = db.create("c-2", &["flat"]);
        let put = |name| db.store.put_customer(&db.tenant, &customer("c-1"), &document(name), db.now()).unwrap();
        put(None);
        assert_eq!(is_stale(db, &mine), None);
        let Put::Changed(changed) = put(Some("Ann")) else { panic!("not changed") };
        assert_eq!((is_stale(db, &mine), is_stale(db, &other)), (Some(changed.updated_at), None));
    }

    fn a_replaced_block_stays(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-05-01".."2026-07-01", 1_000));
        current_over(db, "2026-06-01", "2026-07-01");
        db.import("c-1", hours("2026-05-10".."2026-05-11", 2_000));
        db.import("c-1", hours("2026-06-10".."2026-06-11", 2_000));
        db.import("c-1", hours("2026-06-10".."2026-06-11", 3_000));
        let kept = |condition: &str| db.count(&format!("usage_blocks WHERE {condition}"));
        assert_eq!(kept("month = '2026-05-01' AND revision = 1 AND replaced_by = 2"), 1);
        assert_eq!(kept("month = '2026-05-01' AND revision = 2 AND replaced_by IS NULL"), 1);
        assert_eq!(kept("month = '2026-06-01' AND revision = 1 AND replaced_by = 3"), 1);
        assert_eq!(kept("month = '2026-06-01' AND revision = 3 AND replaced_by = 4"), 1);
        assert_eq!(kept("month = '2026-06-01' AND revision = 4 AND replaced_by IS NULL"), 1);
        assert_eq!(kept("0 = 0"), 5);
        assert_eq!(n_readings(&read(db, "2026-05-01", "2026-07-01")), 61 * 24);
    }

    fn readings_are_read_as_they_were_when_a_comparison_used_them(db: &Db) {
        db.put_customer("c-1");
        let at = |blocks: &[BlockRevision]| {
            db.store.usage_at(&db.tenant, &customer("c-1"), midnight("2026-06-01")..midnight("2026-08-01"), blocks).unwrap()
        };
        db.import("c-1", hours("2026-06-01".."2026-08-01", 1_000));
        let first = read(db, "2026-06-01", "2026-08-01");
        current_over(db, "2026-06-01", "2026-07-01");
        db.import("c-1", hours("2026-06-10".."2026-07-02", 2_000));
        let second = read(db, "2026-06-01", "2026-08-01");
        assert_ne!(first, second);
        assert_eq!(at(&second.blocks), Some(second.clone()));
        assert_eq!(at(&first.blocks), Some(first.clone()));
        let mut unknown = first.blocks.clone();
        unknown[1].revision = 9;
        assert_eq!(at(&unknown), None);
        let june_of = |usage: &StoredUsage| usage.blocks[..1].to_vec();
        assert_eq!(at(&june_of(&first)).unwrap().blocks, june_of(&first));
        assert_ne!(at(&june_of(&first)).unwrap().readings, at(&june_of(&second)).unwrap().readings);
        assert_eq!(at(&[]), Some(StoredUsage::default()));
    }

    fn a_block_that_a_superseded_comparison_used_stays_too(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000));
        let (_, first) = db.create("c-1", &["flat"]);
        db.import("c-1", hours("2026-06-10".."2026-06-11", 2_000));
        let new = db.question("c-1", &["flat"]);
        assert!(matches!(db.supersede(first.id, &new, false), Superseded::Created(_)));
        db.import("c-1", hours("2026-06-10".."2026-06-11", 3_000));
        assert_eq!(db.count("usage_blocks"), 3);
    }

    fn imports_beside_each_other_lose_nothing(db: &Db) {
        db.put_customer("c-1");
        std::thread::scope(|scope| {
            for day in 10..26 {
                scope.spawn(move || {
                    let (from, to) = (format!("2026-06-{day}"), format!("2026-06-{}", day + 1));
                    db.import("c-1", hours(&from..&to, i64::from(day)));
                });
            }
        });
        assert_eq!(n_readings(&read(db, "2026-06-01", "2026-07-01")), 16 * 24);
        assert_eq!(db.store.customer(&db.tenant, &customer("c-1")).unwrap().unwrap().usage_revision, 16);
        assert_eq!((db.count("usage_blocks WHERE replaced_by IS NULL"), db.count("usage_revisions")), (1, 16));
    }

    fn a_damaged_block_is_an_error_and_not_a_gap(db: &Db) {
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000));
        let zeros = if db.url.starts_with("sqlite") { "X'0100'" } else { r"'\x0100'" };
        db.execute(&format!("UPDATE usage_blocks SET data = {zeros}"));
        let window = midnight("2026-06-01")..midnight("2026-07-01");
        let refused = db.store.usage(&db.tenant, &customer("c-1"), window);
        assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
        let refused = db.try_import("c-1", hours("2026-06-01".."2026-06-02", 2_000), OnConflict::Replace);
        assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
    }
}
