//! The schema: applied, taken back, applied again; by many at once; plain and partitioned alike.

use std::sync::Barrier;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use samebill::store::{self, Inserted, NewSharedInput, RecordedShared, SharedKind, StoreError, StoreOptions};
use samebill::words::InputName;

use crate::database::Db;

fn applied_reverted_and_applied_again(db: &Db, options: &StoreOptions) {
    let first = store::migrate(&db.url, options).unwrap();
    assert_eq!(store::migrate(&db.url, options).unwrap(), [""; 0], "a second time there is nothing to do");
    db.store.check_ready().unwrap();
    let mut n_reverted = 0;
    while let Some(name) = store::revert(&db.url, options).unwrap() {
        n_reverted += 1;
        let Err(StoreError::Database(pending)) = db.store.check_ready() else { panic!("ready without {name}") };
        assert!(pending.to_string().contains(&name), "{pending}");
        let one = store::migrate(&db.url, options).unwrap();
        assert_eq!(one[0], name, "each can be applied again on its own");
        for _ in 0..n_reverted {
            store::revert(&db.url, options).unwrap();
        }
    }
    let again = store::migrate(&db.url, options).unwrap();
    assert_eq!(again.len(), n_reverted);
    assert!(first.is_empty() || first == again);
    db.store.check_ready().unwrap();
    db.put_customer("c-1");
}

#[test]
fn sqlite_is_migrated_when_opened_and_can_go_back() {
    applied_reverted_and_applied_again(&Db::sqlite(), &StoreOptions::default());
}

#[test]
fn postgres_can_go_back() {
    for partitioned in [false, true] {
        let Some(db) = Db::empty_postgres() else { return };
        applied_reverted_and_applied_again(&db, &StoreOptions { partitioned, ..StoreOptions::default() });
    }
}

/// Takes migrations back, the newest first, up to and with this one.
fn back_before(db: &Db, options: &StoreOptions, name: &str) {
    while !store::revert(&db.url, options).unwrap().expect("there is such a migration").contains(name) {}
}

/// What a release before the records of imports left: customers and revisions without them.
fn imports_come_to_a_database_that_is_in_use(db: &Db, options: &StoreOptions) {
    store::migrate(&db.url, options).unwrap();
    back_before(db, options, "000003_imports");
    let document =
        r#"{"time_zone":"UTC","meter_points":[{"id":"m-1","channel":"import"},{"id":"m-1","channel":"export"}]}"#;
    for (customer, document) in [("c-1", document), ("c-2", r#"{"time_zone":"UTC"}"#)] {
        db.execute(&format!(
            "INSERT INTO customers (tenant_id, id, version, usage_revision, document, created_at, updated_at) \
             VALUES ('default', '{customer}', 1, 1, '{document}', 1, 1)"
        ));
    }
    let digest = if db.url.starts_with("sqlite") { "zeroblob(32)" } else { "sha256('')" };
    db.execute(&format!(
        "INSERT INTO usage_revisions (tenant_id, customer_id, revision, created_at, first_start, last_end, added, replaced, \
         format, sha256) VALUES ('default', 'c-1', 1, 1, 0, 3600, 1, 0, 'csv', {digest})"
    ));
    store::migrate(&db.url, options).unwrap();
    let listed = db.store.customers_of_meter_points(&db.tenant, &["m-1", "m-2"]).unwrap();
    let channels: Vec<(&str, &str)> =
        listed["m-1"].iter().map(|(id, channel)| (id.as_str(), channel.as_str())).collect();
    assert_eq!((listed.len(), channels), (1, vec![("c-1", "export"), ("c-1", "import")]));
    let log = db.store.usage_revisions(&db.tenant, &"c-1".parse().unwrap(), 0, 10).unwrap();
    assert_eq!((log[0].import_id, log[0].removed, &log[0].channels), (None, 0, &None));
}

#[test]
fn imports_come_to_databases_that_are_in_use() {
    imports_come_to_a_database_that_is_in_use(&Db::sqlite(), &StoreOptions::default());
    for partitioned in [false, true] {
        let Some(db) = Db::empty_postgres() else { return };
        imports_come_to_a_database_that_is_in_use(&db, &StoreOptions { partitioned, ..StoreOptions::default() });
    }
}

/// What a release before event lists left: a version of a calendar, and a comparison that used it.
fn event_lists_come_to_a_database_that_is_in_use(db: &Db, options: &StoreOptions) {
    store::migrate(&db.url, options).unwrap();
    back_before(db, options, "000004_event_lists");
    db.put_customer("c-1");
    db.put_plan("flat", "1", None, None);
    let us: InputName = "us".parse().unwrap();
    let new = |content: &str, after_version| NewSharedInput {
        after_version,
        content: content.as_bytes().to_vec(),
        summary: "{}".to_owned(),
        changed: Some(0..i64::MAX),
    };
    let put =
        |kind, content: &str, after| db.store.put_shared_input(&db.tenant, kind, &us, &new(content, after), db.now());
    put(SharedKind::Calendar, "before", 0).unwrap().unwrap();
    assert!(put(SharedKind::EventList, "too early", 0).is_err(), "the release before knows no such kind");
    let mut question = db.question("c-1", &["flat"]);
    let used = RecordedShared { kind: SharedKind::Calendar, id: us.clone(), version: 1, used: 0..10 };
    question.inputs.shared = vec![used];
    let Inserted::Created(row) = db.insert(&question) else { panic!("not created") };

    store::migrate(&db.url, options).unwrap();
    let read = |kind| db.store.shared_input_version(&db.tenant, kind, &us, 1).unwrap().map(|input| input.content);
    assert_eq!((read(SharedKind::Calendar), read(SharedKind::EventList)), (Some(b"before".to_vec()), None));
    put(SharedKind::EventList, "peaks", 0).unwrap().unwrap();
    put(SharedKind::Calendar, "after", 1).unwrap().unwrap();
    assert_eq!(db.store.newer_shared_inputs(&db.tenant, row.id).unwrap().len(), 1, "what it used is known still");
    let enforced = if db.url.starts_with("sqlite") { "PRAGMA foreign_keys = ON; " } else { "" };
    let orphan = "INSERT INTO comparison_shared_inputs SELECT tenant_id, comparison_id, 'price_series', input_id, version, \
                  used_start, used_end FROM comparison_shared_inputs";
    assert!(db.try_execute(&format!("{enforced}{orphan}")).is_err(), "it refers to what is stored, still");
    assert!(store::revert(&db.url, options).is_err(), "an event list has no place in the tables of before");
    assert_eq!(read(SharedKind::EventList), Some(b"peaks".to_vec()));
    db.store.check_ready().unwrap();
}

#[test]
fn event_lists_come_to_databases_that_are_in_use() {
    event_lists_come_to_a_database_that_is_in_use(&Db::sqlite(), &StoreOptions::default());
    for partitioned in [false, true] {
        let Some(db) = Db::empty_postgres() else { return };
        event_lists_come_to_a_database_that_is_in_use(&db, &StoreOptions { partitioned, ..StoreOptions::default() });
    }
}

#[test]
fn postgres_is_not_ready_before_it_is_migrated() {
    let Some(db) = Db::empty_postgres() else { return };
    let Err(StoreError::Database(pending)) = db.store.check_ready() else { panic!("ready") };
    assert!(pending.to_string().contains("samebill migrate"), "{pending}");
    store::migrate(&db.url, &StoreOptions::default()).unwrap();
    db.store.check_ready().unwrap();
}

fn six_at_once(url: &str) -> usize {
    let barrier = Barrier::new(6);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    store::migrate(url, &StoreOptions::default()).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| usize::from(!thread.join().unwrap().is_empty())).sum()
    })
}

#[test]
fn a_new_file_that_somebody_writes_to_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.db");
    let mut other = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    other.batch_execute("CREATE TABLE others (a INTEGER); BEGIN IMMEDIATE; INSERT INTO others VALUES (1)").unwrap();
    std::thread::scope(|scope| {
        let url = format!("sqlite://{}", file.display());
        let migrated = scope.spawn(move || store::migrate(&url, &StoreOptions::default()));
        // Long enough to meet the lock, far from the five seconds that are waited.
        std::thread::sleep(std::time::Duration::from_millis(400));
        other.batch_execute("COMMIT").unwrap();
        assert!(!migrated.join().unwrap().unwrap().is_empty());
    });
}

#[test]
fn of_six_that_migrate_at_once_one_applies_and_none_fails() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..5 {
        let url = format!("sqlite://{}", folder.path().join(format!("{n}.db")).display());
        assert_eq!(six_at_once(&url), 1);
    }
    let Some(db) = Db::empty_postgres() else { return };
    assert_eq!(six_at_once(&db.url), 1);
    db.store.check_ready().unwrap();
}

#[test]
fn a_url_of_no_known_kind_is_refused() {
    for url in ["mysql://x", "sqlite://", "sqlite://:memory:", "file.db", ""] {
        assert!(store::open(url, &StoreOptions::default()).is_err(), "{url:?}");
    }
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// Columns, indexes and constraints as PostgreSQL describes them, without what is the partitions' own.
fn described(url: &str) -> Vec<String> {
    let mut connection = PgConnection::establish(url).unwrap();
    let queries = [
        "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull \
         || ' ' || coalesce(co.collname, '') AS line FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
         LEFT JOIN pg_collation co ON co.oid = a.attcollation \
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition \
         AND a.attnum > 0 ORDER BY c.relname, a.attnum",
        "SELECT replace(indexdef, ' ON ONLY ', ' ON ') AS line FROM pg_indexes i \
         JOIN pg_class c ON c.relname = i.tablename AND c.relnamespace = 'public'::regnamespace \
         WHERE i.schemaname = 'public' AND NOT c.relispartition ORDER BY 1",
        "SELECT c.relname || ': ' || pg_get_constraintdef(k.oid) AS line FROM pg_constraint k \
         JOIN pg_class c ON c.oid = k.conrelid WHERE c.relnamespace = 'public'::regnamespace \
         AND NOT c.relispartition AND k.conparentid = 0 ORDER BY 1",
    ];
    let mut lines = Vec::new();
    for query in queries {
        let rows: Vec<Line> = diesel::sql_query(query).load(&mut connection).unwrap();
        lines.extend(rows.into_iter().map(|row| row.line));
    }
    lines
}

#[test]
fn the_plain_and_the_partitioned_set_make_the_same_tables() {
    let Some(plain) = Db::postgres_with(&StoreOptions::default()) else { return };
    let options = StoreOptions { partitioned: true, ..StoreOptions::default() };
    let partitioned = Db::postgres_with(&options).unwrap();
    let lines = described(&plain.url);
    assert!(lines.iter().any(|line| line.contains("comparisons_current_key")), "{lines:#?}");
    assert_eq!(lines, described(&partitioned.url));
    let n_partitions = partitioned.count("pg_class WHERE relispartition AND relkind = 'r'");
    let n_tables = partitioned.count("pg_class WHERE relkind = 'p' AND NOT relispartition");
    assert_eq!(n_partitions, 4 * n_tables);
    let n_plain = plain.count(
        "pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> '__diesel_schema_migrations'",
    );
    assert_eq!(n_tables, n_plain);
    let folder = |name: &str| -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(name);
        let mut names: Vec<String> =
            std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(folder("postgres"), folder("postgres_partitioned"));
    assert_eq!(folder("postgres"), folder("sqlite"));
}

/// The set is chosen when a database is made; whoever migrates it later need not know.
#[test]
fn a_database_stays_plain_or_partitioned_as_it_was_made() {
    let partitioned = StoreOptions { partitioned: true, ..StoreOptions::default() };
    let (Some(parted), Some(plain)) = (Db::partitioned(), Db::postgres_with(&StoreOptions::default())) else { return };
    assert_eq!(store::migrate(&parted.url, &StoreOptions::default()).unwrap(), [""; 0]);
    let newest = store::revert(&parted.url, &StoreOptions::default()).unwrap().unwrap();
    assert_eq!(store::migrate(&parted.url, &StoreOptions::default()).unwrap(), [newest]);
    assert_eq!(parted.count("pg_class WHERE relkind = 'p' AND relname = 'imports'"), 1);
    let refused = store::migrate(&plain.url, &partitioned);
    let Err(StoreError::Database(why)) = refused else { panic!("{refused:?}") };
    assert!(why.to_string().contains("not partitioned"), "{why}");
    assert_eq!(plain.count("pg_class WHERE relkind = 'p' AND relname = 'imports'"), 0);
}

#[test]
fn ids_are_ordered_bytewise_whatever_the_databases_language() {
    let Some(db) = Db::postgres() else { return };
    let n = db.count(
        "pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation co ON co.oid = a.attcollation \
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attname IN ('tenant_id', 'customer_id', \
         'plan_id', 'id', 'channel', 'reference') AND co.collname <> 'C'",
    );
    assert_eq!(n, 0);
}
