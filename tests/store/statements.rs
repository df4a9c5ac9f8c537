//! Every statement that the suite runs on the partitioned schema, recorded as it is run, looks at one partition of each
//! table; no statement that writes calls a volatile function; no insert lacks its conflict target.
//!
//! The recorder hangs on every connection to a partitioned database. When the test that made the database is over, what
//! it ran and no other test had run before is explained there, with the values that were bound. So no list of statements
//! has to be kept; `story.rs` calls every method of the store, so that nothing depends on what other tests do.

mod explain;
mod story;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, Once, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

use crate::database::Db;

/// Statements that are not explained, by how they begin, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("SET ", "settings of a new connection: no table"),
    ("BEGIN", "begins a transaction: no table"),
    ("COMMIT", "ends one: no table"),
    ("ROLLBACK", "ends one: no table"),
    (
        "SELECT to_regclass('__diesel_schema_migrations')",
        "whether there is a schema at all: the catalogue, no table of tenants",
    ),
    (
        "SELECT version FROM __diesel_schema_migrations",
        "the applied migrations are nobody's: the table is not partitioned",
    ),
];

/// Statements by text, each with the values of its first run.
type Statements = BTreeMap<String, String>;

/// What ran on each partitioned database.
static RECORDED: Mutex<BTreeMap<String, Statements>> = Mutex::new(BTreeMap::new());

/// Statements that were found right.
static CHECKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Listens to one connection.
#[derive(Default)]
struct Recorder {
    /// The database, if it is one to listen to.
    url: Option<String>,
}

impl Instrumentation for Recorder {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => {
                // What tests ask past the store has no parameters in its URL.
                let Some((url, _)) = url.split_once('?') else { return };
                self.url = lock(&RECORDED).contains_key(url).then(|| url.to_owned());
            }
            InstrumentationEvent::StartQuery { query, .. } => {
                let Some(url) = &self.url else { return };
                let shown = query.to_string();
                let (text, values) = shown.split_once(" -- binds: ").unwrap_or((&shown, "[]"));
                if text == "SET lock_timeout = 0" {
                    // A migration: it makes the tables, of all tenants.
                    self.url = None;
                    return;
                }
                if let Some(statements) = lock(&RECORDED).get_mut(url) {
                    statements.entry(text.to_owned()).or_insert_with(|| values.to_owned());
                }
            }
            _ => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records what runs on a database from here on.
pub(crate) fn record(url: &str) {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| set_default_instrumentation(|| Some(Box::<Recorder>::default())).unwrap());
    lock(&RECORDED).insert(url.to_owned(), Statements::new());
}

/// Checks what ran on a database that is about to be removed.
///
/// # Panics
/// When a statement is not as it should be.
pub(crate) fn check_recorded(url: &str) {
    let Some(statements) = lock(&RECORDED).remove(url) else { return };
    if statements.is_empty() || std::thread::panicking() {
        return;
    }
    let unknown: Vec<(String, String)> = {
        let checked = lock(&CHECKED);
        statements.into_iter().filter(|(text, _)| !checked.contains(text) && exception(text).is_none()).collect()
    };
    if unknown.is_empty() {
        return;
    }
    let mut database = explain::Partitioned::connect(url);
    let faults: Vec<String> = unknown
        .iter()
        .filter_map(|(text, values)| {
            let fault = database.check(text, values).err()?;
            Some(format!("{fault}\n  {text}\n  {values}"))
        })
        .collect();
    assert!(faults.is_empty(), "{} statements:\n{}", faults.len(), faults.join("\n"));
    lock(&CHECKED).extend(unknown.into_iter().map(|(text, _)| text));
}

fn exception(text: &str) -> Option<usize> {
    EXCEPTIONS.iter().position(|(beginning, _)| text.starts_with(beginning))
}

#[test]
fn every_statement_of_the_store_looks_at_one_partition_of_each_table() {
    let Some(db) = Db::partitioned() else { return };
    let called = story::call_everything(&db);
    assert_eq!(called, story::methods_of_the_store(), "the story calls every method of the store");
    let statements = lock(&RECORDED)[&db.url].clone();
    // By what they begin with: every kind there is.
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    for text in statements.keys() {
        *kinds.entry(text.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    println!("{} statements: {kinds:?}", statements.len());
    for (kind, least) in [("SELECT", 40), ("INSERT", 15), ("UPDATE", 10), ("DELETE", 4)] {
        assert!(kinds.get(kind).is_some_and(|n| *n >= least), "{kind}: {kinds:?}");
    }
    let used: BTreeSet<usize> = statements.keys().filter_map(|text| exception(text)).collect();
    assert_eq!(used.len(), EXCEPTIONS.len(), "exceptions that nothing needs, besides {used:?}");
    check_recorded(&db.url);
}

#[test]
fn a_statement_that_is_not_as_it_should_be_is_found() {
    let Some(db) = Db::partitioned() else { return };
    db.put_customer("c-1");
    let mut database = explain::Partitioned::connect(&db.url);
    let mut check = |text: &str, values: &str| database.check(text, values);
    assert_eq!(check("SELECT id FROM customers WHERE tenant_id = $1 AND id = $2", r#"["default", "c-1"]"#), Ok(()));
    for (text, values, part) in [
        ("SELECT id FROM customers WHERE id = $1", r#"["c-1"]"#, "4 partitions of customers"),
        ("UPDATE customers SET updated_at = $1 WHERE id = $2", r#"[7, "c-1"]"#, "4 partitions of customers"),
        ("DELETE FROM imports WHERE id = $1", "[[1, 2]]", "4 partitions of imports"),
        (
            "SELECT c.id FROM customers c JOIN customer_versions v ON v.customer_id = c.id WHERE c.tenant_id = $1",
            r#"["default"]"#,
            "4 partitions of customer_versions",
        ),
        (
            "SELECT c.id FROM customers c, plans p WHERE c.tenant_id = $1 AND p.tenant_id = $2",
            r#"["default", "another"]"#,
            "of more than one tenant",
        ),
        (
            "UPDATE customers SET document = now()::text WHERE tenant_id = $1 AND id = $2",
            r#"["default", "c-1"]"#,
            "calls now",
        ),
        (
            "UPDATE customers SET document = current_timestamp::text WHERE tenant_id = $1 AND id = $2",
            r#"["default", "c-1"]"#,
            "calls current_timestamp",
        ),
        (
            "INSERT INTO plans (tenant_id, id, newest_version, search_text) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            r#"["default", "p", 0, ""]"#,
            "conflict target",
        ),
        (
            "SELECT id FROM customers WHERE tenant_id = $1 AND nothing = $2",
            r#"["default", "c-1"]"#,
            "cannot be explained",
        ),
    ] {
        let fault = check(text, values).unwrap_err();
        assert!(fault.contains(part), "{text}: {fault}");
    }
}
