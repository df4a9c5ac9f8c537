//! Calendars, price series and event lists: versions, and what they make of comparisons.

use std::ops::Range;

use samebill::store::*;
use samebill::words::*;

use crate::database::{Db, hours, midnight};
use crate::on_both_engines;

const KINDS: [SharedKind; 3] = SharedKind::ALL;

fn name(text: &str) -> InputName {
    text.parse().unwrap()
}

fn new(after_version: u32, content: &str, changed: Option<Range<&str>>) -> NewSharedInput {
    NewSharedInput {
        after_version,
        content: content.as_bytes().to_vec(),
        summary: format!("{{\"of\":\"{content}\"}}"),
        changed: changed.map(|days| midnight(days.start)..midnight(days.end)),
    }
}

fn put(db: &Db, kind: SharedKind, id: &str, input: &NewSharedInput) -> Option<Put<SharedInput>> {
    db.store.put_shared_input(&db.tenant, kind, &name(id), input, db.now()).unwrap()
}

/// A question that used these versions over June.
fn question_with(db: &Db, used: &[(SharedKind, &str, u32)]) -> NewComparison {
    let mut new = db.question("c-1", &["flat"]);
    let june = midnight("2026-06-01")..midnight("2026-07-01");
    new.inputs.shared = used
        .iter()
        .map(|(kind, id, version)| RecordedShared { kind: *kind, id: name(id), version: *version, used: june.clone() })
        .collect();
    new
}

fn filled(db: &Db) {
    db.put_customer("c-1");
    db.put_plan("flat", "1", None, None);
    db.import("c-1", hours("2026-06-01".."2026-07-01", 1_000_000));
    for kind in KINDS {
        put(db, kind, "one", &new(0, "first", Some("2026-01-01".."2027-01-01"))).unwrap();
    }
}

fn all(version: u32) -> [(SharedKind, &'static str, u32); 3] {
    KINDS.map(|kind| (kind, "one", version))
}

fn newer_of(stored: &StoredComparison) -> Vec<(SharedKind, &str, u32)> {
    stored.newer_shared_inputs.iter().map(|newer| (newer.kind, newer.id.as_str(), newer.version)).collect()
}

on_both_engines! {
    fn a_shared_input_gets_a_version_only_when_it_changes(db: &Db) {
        for kind in KINDS {
            let first = new(0, "first", Some("2026-01-01".."2027-01-01"));
            let Some(Put::Created(created)) = put(db, kind, "us", &first) else { panic!("not created") };
            assert_eq!((created.version, created.kind, &created.content), (1, kind, &first.content));
            assert_eq!(put(db, kind, "us", &first), None, "it was made from nothing, and now there is a version");
            let same = new(1, "first", None);
            assert_eq!(put(db, kind, "us", &same), Some(Put::Unchanged(created.clone())));
            let second = new(1, "second", None);
            let Some(Put::Changed(changed)) = put(db, kind, "us", &second) else { panic!("not changed") };
            assert_eq!(changed.version, 2);
            assert_eq!(put(db, kind, "us", &new(7, "gap", None)), None);

            let newest = db.store.shared_inputs(&db.tenant, kind, &[&name("us"), &name("none")]).unwrap();
            assert_eq!(newest, std::slice::from_ref(&changed));
            let read = |version| db.store.shared_input_version(&db.tenant, kind, &name("us"), version).unwrap();
            assert_eq!((read(1), read(2), read(3), read(u32::MAX)), (Some(created.clone()), Some(changed), None, None));
            let versions = db.store.shared_input_versions(&db.tenant, kind, &name("us")).unwrap();
            let told: Vec<_> = versions.iter().map(|entry| (entry.version, entry.summary.as_str())).collect();
            assert_eq!(told, [(2, second.summary.as_str()), (1, first.summary.as_str())]);
            assert_eq!(versions[1].created_at, created.created_at);
        }
        let other: TenantId = "other".parse().unwrap();
        assert_eq!(db.store.shared_inputs(&other, SharedKind::Calendar, &[&name("us")]).unwrap(), []);
        assert_eq!(db.store.list_shared_inputs(&other, SharedKind::Calendar, None, 10).unwrap(), []);
    }

    fn shared_inputs_are_listed_by_kind_each_in_its_newest_version(db: &Db) {
        for id in ["b", "a_1", "a", "a1"] {
            put(db, SharedKind::Calendar, id, &new(0, "first", None)).unwrap();
        }
        put(db, SharedKind::Calendar, "a", &new(1, "second", None)).unwrap();
        put(db, SharedKind::PriceSeries, "spot", &new(0, "first", None)).unwrap();
        let list = |kind, after: Option<&str>, limit| -> Vec<(String, u32)> {
            let found = db.store.list_shared_inputs(&db.tenant, kind, after.map(name).as_ref(), limit).unwrap();
            found.into_iter().map(|entry| (entry.id.to_string(), entry.version)).collect()
        };
        let expected = [("a", 2), ("a1", 1), ("a_1", 1), ("b", 1)].map(|(id, version)| (id.to_owned(), version));
        assert_eq!(list(SharedKind::Calendar, None, 10), expected);
        assert_eq!(list(SharedKind::Calendar, Some("a"), 2), expected[1..3]);
        assert_eq!(list(SharedKind::PriceSeries, None, 10), [("spot".to_owned(), 1)]);
    }

    fn of_16_who_put_at_once_each_makes_a_version(db: &Db) {
        std::thread::scope(|scope| {
            for n in 0..16 {
                scope.spawn(move || {
                    for version in 0.. {
                        let outcome = put(db, SharedKind::PriceSeries, "spot", &new(version, &format!("{n}"), None));
                        if outcome.is_some() {
                            return;
                        }
                    }
                });
            }
        });
        let versions = db.store.shared_input_versions(&db.tenant, SharedKind::PriceSeries, &name("spot")).unwrap();
        let numbers: Vec<u32> = versions.iter().map(|entry| entry.version).collect();
        assert_eq!(numbers, (1..=16).rev().collect::<Vec<_>>());
    }

    fn a_newer_version_makes_a_comparison_stale_only_within_what_it_used(db: &Db) {
        filled(db);
        let question = question_with(db, &all(1));
        let Inserted::Created(row) = db.insert(&question) else { panic!("not created") };
        assert_eq!(row.inputs.shared, question.inputs.shared);
        let fresh = db.current(&question).unwrap();
        assert_eq!((&fresh.row, newer_of(&fresh)), (&row, vec![]));
        for (version, outside) in [(1, "2026-05-31".."2026-06-01"), (2, "2026-07-01".."2026-07-02")] {
            for kind in KINDS {
                put(db, kind, "one", &new(version, &format!("{outside:?}"), Some(outside.clone()))).unwrap();
            }
        }
        put(db, SharedKind::Calendar, "one", &new(3, "another name", None)).unwrap();
        put(db, SharedKind::Calendar, "two", &new(0, "another one", Some("2026-06-01".."2026-07-01"))).unwrap();
        assert_eq!(newer_of(&db.current(&question).unwrap()), []);

        put(db, SharedKind::PriceSeries, "one", &new(3, "june", Some("2026-06-30".."2026-07-05"))).unwrap();
        assert_eq!(newer_of(&db.current(&question).unwrap()), [(SharedKind::PriceSeries, "one", 4)]);
        put(db, SharedKind::Calendar, "one", &new(4, "june", Some("2026-06-01".."2026-06-02"))).unwrap();
        put(db, SharedKind::Calendar, "one", &new(5, "again", Some("2026-01-01".."2026-06-02"))).unwrap();
        put(db, SharedKind::EventList, "one", &new(3, "june", Some("2026-06-30".."2026-07-01"))).unwrap();
        let newer = [(SharedKind::Calendar, "one", 5), (SharedKind::Calendar, "one", 6), (SharedKind::EventList, "one", 4),
            (SharedKind::PriceSeries, "one", 4)];
        let stored = db.store.comparison(&db.tenant, row.id).unwrap().unwrap();
        assert_eq!(newer_of(&stored), newer);
        assert_eq!(db.store.newer_shared_inputs(&db.tenant, row.id).unwrap(), stored.newer_shared_inputs);
        assert_eq!(stored.row.stale_since, None, "derived, not marked");
    }

    fn a_change_between_reading_and_insert_is_seen_if_it_matters(db: &Db) {
        filled(db);
        let question = |calendar, prices| {
            question_with(db, &[(SharedKind::Calendar, "one", calendar), (SharedKind::PriceSeries, "one", prices)])
        };
        put(db, SharedKind::Calendar, "one", &new(1, "elsewhere", Some("2026-07-01".."2026-08-01"))).unwrap();
        put(db, SharedKind::Calendar, "one", &new(2, "june", Some("2026-06-30".."2026-07-01"))).unwrap();
        assert_eq!(db.insert(&question(1, 1)), Inserted::InputsChanged);
        assert_eq!(db.insert(&question(2, 1)), Inserted::InputsChanged);
        put(db, SharedKind::PriceSeries, "one", &new(1, "june", Some("2026-06-30".."2026-07-01"))).unwrap();
        assert_eq!(db.insert(&question(3, 1)), Inserted::InputsChanged);
        put(db, SharedKind::PriceSeries, "one", &new(2, "elsewhere", Some("2026-07-01".."2026-08-01"))).unwrap();
        assert_eq!((db.count("comparisons"), db.count("comparison_shared_inputs")), (0, 0));
        assert!(matches!(db.insert(&question(3, 2)), Inserted::Created(_)));
        assert_eq!(db.count("comparison_shared_inputs"), 2);
    }

    fn superseding_moves_the_recorded_versions(db: &Db) {
        filled(db);
        let question = question_with(db, &all(1));
        let Inserted::Created(first) = db.insert(&question) else { panic!("not created") };
        put(db, SharedKind::Calendar, "one", &new(1, "june", Some("2026-06-30".."2026-07-01"))).unwrap();
        let outdated = question_with(db, &all(1));
        assert_eq!(db.supersede(first.id, &outdated, true), Superseded::InputsChanged);
        // The same digest: what changed was changed back, or no bill could tell.
        let mut same = all(1);
        same[0].2 = 2;
        let again = question_with(db, &same);
        let Superseded::Unchanged(row) = db.supersede(first.id, &again, false) else { panic!("superseded") };
        assert_eq!(row.inputs.shared, again.inputs.shared);
        let stored = db.current(&question).unwrap();
        assert_eq!((stored.row, stored.newer_shared_inputs), (row, vec![]));
        assert_eq!(db.count("comparison_shared_inputs"), 3);

        put(db, SharedKind::Calendar, "one", &new(2, "june again", Some("2026-06-30".."2026-07-01"))).unwrap();
        assert_eq!(db.current(&question).unwrap().newer_shared_inputs.len(), 1);
        same[0].2 = 3;
        let mut other = question_with(db, &same);
        other.inputs.digest = [9; 32];
        let Superseded::Created(second) = db.supersede(first.id, &other, false) else { panic!("not superseded") };
        let current = db.current(&question).unwrap();
        assert_eq!((&current.row, current.newer_shared_inputs), (&second, vec![]));
        let before = db.store.comparison(&db.tenant, first.id).unwrap().unwrap();
        assert_eq!(before.newer_shared_inputs, [], "only of a current one");
        assert_eq!(db.store.newer_shared_inputs(&db.tenant, first.id).unwrap().len(), 1);
        assert_eq!(db.count("comparison_shared_inputs"), 6);
    }

    fn inputs_recorded_by_an_earlier_release_are_read(db: &Db) {
        filled(db);
        let question = question_with(db, &[]);
        let Inserted::Created(row) = db.insert(&question) else { panic!("not created") };
        assert_eq!(db.count("comparisons WHERE inputs LIKE '%shared%'"), 0);
        assert_eq!(db.current(&question).unwrap().row, row);
    }
}
