//! Two servers on one database, with nothing shared in memory: promises rest on the database alone.

use std::sync::Barrier;

use samebill::store::*;

use crate::database::{customer, document, hours};
use crate::on_both_engines;

on_both_engines! {
    fn what_one_server_wrote_the_other_reads_at_once(db: &Db) {
        let other = db.another();
        for n in 0..20 {
            let name = format!("{n}");
            db.store.put_customer(&db.tenant, &customer("c-1"), &document(Some(&name)), db.now()).unwrap();
            let read = other.customer(&db.tenant, &customer("c-1")).unwrap().unwrap();
            assert_eq!((read.version, read.document), (n + 1, document(Some(&name))));
        }
    }

    fn of_two_servers_that_insert_one_key_one_creates_it(db: &Db) {
        let other = db.another();
        db.put_customer("c-1");
        db.import("c-1", hours("2026-06-01".."2026-07-01", 1));
        for round in 0..20 {
            let barrier = Barrier::new(2);
            let plan = format!("p-{round}");
            let insert = |store: &dyn Store| {
                let new = db.question("c-1", &[&plan]);
                barrier.wait();
                matches!(store.insert_comparison(&new, db.now()).unwrap(), Inserted::Created(_))
            };
            let (here, there) = std::thread::scope(|scope| {
                let there = scope.spawn(|| insert(&*other));
                (insert(&*db.store), there.join().unwrap())
            });
            assert!(here != there, "round {round}: {here} {there}");
        }
        assert_eq!(db.count("comparisons"), 20);
    }

    fn imports_of_two_servers_lose_nothing(db: &Db) {
        let other = db.another();
        db.put_customer("c-1");
        let import = |store: &dyn Store, days: std::ops::Range<i32>| {
            for day in days {
                let (from, to) = (format!("2026-06-{day}"), format!("2026-06-{}", day + 1));
                let import = crate::database::usage_import(hours(&from..&to, 1), OnConflict::Refuse);
                store.import_usage(&db.tenant, &customer("c-1"), &import, db.now()).unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| import(&*other, 10..20));
            import(&*db.store, 20..29);
        });
        let head = other.customer(&db.tenant, &customer("c-1")).unwrap().unwrap();
        let n_blocks = db.count("usage_blocks WHERE replaced_by IS NULL");
        assert_eq!((head.usage_revision, n_blocks, db.count("usage_revisions")), (19, 1, 19));
    }
}
