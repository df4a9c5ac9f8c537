//! Servers as processes on one database, requests whose outcome may stay unknown, and what holds once all is over: every
//! acknowledged answer and import is there, and nothing is half there.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::helpers::{Client, Reply, at_once};
use crate::process::{Process, free_port};

/// How long anything may take on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// Server processes on one database, every second one without coalescing, on which nothing rests; each can be killed and
/// comes back on its port.
pub(crate) struct Servers {
    database_url: String,
    places: Vec<(u16, Client, Mutex<Process>)>,
}

impl Servers {
    pub(crate) fn start(database_url: &str, n: usize) -> Self {
        let place = |i| {
            let port = free_port();
            let process = Process::begin(port, database_url, flags(i), &[]).wait_until_ready();
            (port, process.client.clone(), Mutex::new(process))
        };
        Self { database_url: database_url.to_owned(), places: (0..n).map(place).collect() }
    }

    pub(crate) fn n(&self) -> usize {
        self.places.len()
    }

    /// Of one of them; any number will do.
    pub(crate) fn client(&self, i: usize) -> &Client {
        &self.places[i % self.n()].1
    }

    /// SIGKILL.
    pub(crate) fn kill(&self, i: usize) {
        self.places[i].2.lock().unwrap().kill();
    }

    /// Waits until one was killed by itself.
    pub(crate) fn wait_until_killed(&self, i: usize) {
        let status = self.places[i].2.lock().unwrap().wait_until_ended();
        assert_eq!(status.signal(), Some(9), "{status}");
    }

    /// Starts one again with more in its environment, and does not wait.
    pub(crate) fn begin(&self, i: usize, environment: &[(&str, &str)]) {
        let (port, _, process) = &self.places[i];
        *process.lock().unwrap() = Process::begin(*port, &self.database_url, flags(i), environment);
    }

    /// Starts one again. Gives the time until it is ready.
    pub(crate) fn restart(&self, i: usize) -> Duration {
        let begun = Instant::now();
        let (port, _, process) = &self.places[i];
        *process.lock().unwrap() = Process::begin(*port, &self.database_url, flags(i), &[]).wait_until_ready();
        begun.elapsed()
    }

    pub(crate) fn process_id(&self, i: usize) -> u32 {
        self.places[i].2.lock().unwrap().id()
    }
}

fn flags(i: usize) -> &'static [&'static str] {
    if i % 2 == 1 { &["--no-coalescing"] } else { &[] }
}

/// A request that can be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn json(method: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self { method, path: path.into(), content_type: "application/json", body: body.to_string().into_bytes() }
    }

    pub(crate) fn csv(path: impl Into<String>, body: &str) -> Self {
        Self { method: "POST", path: path.into(), content_type: "text/csv", body: body.as_bytes().to_vec() }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), content_type: "application/json", body: Vec::new() }
    }

    /// Sends it once.
    pub(crate) fn send(&self, client: &Client) -> Sent {
        match client.try_send(self.method, &self.path, &[("content-type", self.content_type)], &self.body) {
            Ok(reply) if reply.status == 503 => {
                assert!(reply.header("retry-after").is_some(), "503 without Retry-After");
                Sent::Unknown(reply.code())
            }
            Ok(reply) => Sent::Answered(reply),
            Err(ureq::Error::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Sent::Refused,
            Err(error) => Sent::Unknown(error.to_string()),
        }
    }

    /// Sends it to one server after the other until there is an answer.
    #[track_caller]
    pub(crate) fn insist(&self, servers: &Servers, first: usize) -> Reply {
        let begun = Instant::now();
        for i in first.. {
            let why = match self.send(servers.client(i)) {
                Sent::Answered(reply) => {
                    assert!(reply.status < 500, "{self:?}: {}", String::from_utf8_lossy(&reply.body));
                    return reply;
                }
                Sent::Unknown(why) => why,
                Sent::Refused => "nobody listens".to_owned(),
            };
            assert!(begun.elapsed() < LONG, "no answer to {} {}: {why}", self.method, self.path);
            std::thread::sleep(Duration::from_millis(5));
        }
        unreachable!("there is always another one")
    }
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Sent {
    Answered(Reply),
    /// It may have been done, may be done later, or never.
    Unknown(String),
    /// Nobody listened: it was not done.
    Refused,
}

/// What callers were told, to be held against what is stored.
#[derive(Default)]
pub(crate) struct Acknowledged {
    /// The hash of `result` by id.
    results: Mutex<HashMap<String, String>>,
    /// Import id and the revision after it, for those that changed something, by customer.
    imports: Mutex<BTreeMap<String, Vec<(String, i64)>>>,
    /// Ids of imports of many meter points.
    files: Mutex<Vec<String>>,
    pub(crate) n_answers: AtomicUsize,
}

impl Acknowledged {
    /// A comparison with its `result`, whatever call it answered.
    #[track_caller]
    pub(crate) fn comparison(&self, reply: &Reply) {
        self.n_answers.fetch_add(1, Ordering::Relaxed);
        let (id, hash) = (reply.id(), reply.result_hash());
        let earlier = self.results.lock().unwrap().insert(id.clone(), hash.clone());
        assert!(earlier.is_none_or(|earlier| earlier == hash), "the result of {id} has changed");
    }

    /// An import or a revert.
    pub(crate) fn import(&self, reply: &Reply) {
        self.n_answers.fetch_add(1, Ordering::Relaxed);
        let body = reply.json();
        let (before, after) = (&body["revision_before"], &body["revision_after"]);
        if before != after {
            let entry = (text(&body["import_id"]), after.as_i64().expect("a revision"));
            self.imports.lock().unwrap().entry(text(&body["customer_id"])).or_default().push(entry);
        }
    }

    /// An import of many meter points.
    pub(crate) fn file(&self, reply: &Reply) {
        self.n_answers.fetch_add(1, Ordering::Relaxed);
        self.files.lock().unwrap().push(text(&reply.json()["id"]));
    }

    pub(crate) fn n_comparisons(&self) -> usize {
        self.results.lock().unwrap().len()
    }

    /// Every acknowledged comparison has its bytes, every acknowledged import its revision, and no revision is missing.
    pub(crate) fn is_all_there(&self, servers: &Servers) {
        let results: Vec<_> = self.results.lock().unwrap().clone().into_iter().collect();
        for id in &*self.files.lock().unwrap() {
            let file = servers.client(0).get(&format!("/v1/imports/{id}")).expect(200).json();
            assert_eq!(file["state"], "done", "{file}");
        }
        let imports: Vec<_> = self.imports.lock().unwrap().clone().into_iter().collect();
        at_once(4, |i| {
            for (id, hash) in results.iter().skip(i).step_by(4) {
                let reply = servers.client(i).comparison(id).expect(200);
                assert_eq!(reply.result_hash(), *hash, "the result of {id} has changed");
            }
            for (customer, acknowledged) in imports.iter().skip(i).step_by(4) {
                let log = revisions(servers.client(i), customer);
                for (place, (revision, _)) in log.iter().enumerate() {
                    assert_eq!(usize::try_from(*revision).unwrap(), place + 1, "a revision of {customer} is missing");
                }
                for (import, revision) in acknowledged {
                    let found = log.get(usize::try_from(*revision - 1).unwrap());
                    assert_eq!(found, Some(&(*revision, import.clone())), "an import of {customer} is lost");
                }
            }
        });
    }
}

/// Every revision of a customer with the import that made it.
fn revisions(client: &Client, customer: &str) -> Vec<(i64, String)> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page =
            client.get(&format!("/v1/customers/{customer}/usage/revisions?limit=200{cursor}")).expect(200).json();
        let items = page["items"].as_array().expect("items");
        all.extend(items.iter().map(|item| (item["revision"].as_i64().unwrap(), text(&item["import_id"]))));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// What no crash may leave, looked for past the service.
///
/// * `count`: rows of a table, and a condition.
pub(crate) fn nothing_is_half_done(count: impl Fn(&str) -> i64, is_sqlite: bool) {
    let of = "r.tenant_id = c.tenant_id AND r.comparison_id = c.id";
    let customer = "x.tenant_id = h.tenant_id AND x.customer_id = h.id";
    let mut wrong = vec![
        format!("comparisons c WHERE NOT EXISTS (SELECT 1 FROM comparison_results r WHERE {of})"),
        format!("comparisons c WHERE NOT EXISTS (SELECT 1 FROM comparison_plans r WHERE {of})"),
        "(SELECT key_digest FROM comparisons GROUP BY tenant_id, key_digest \
          HAVING sum(CASE WHEN superseded_at IS NULL THEN 1 ELSE 0 END) <> 1) AS keys"
            .to_owned(),
        "(SELECT key_digest FROM comparisons GROUP BY tenant_id, key_digest \
          HAVING sum(CASE WHEN predecessor_id IS NULL THEN 1 ELSE 0 END) <> 1) AS keys"
            .to_owned(),
        "comparisons c WHERE c.superseded_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM comparisons s \
          WHERE s.tenant_id = c.tenant_id AND s.id = c.successor_id AND s.predecessor_id = c.id \
          AND s.created_at = c.superseded_at AND s.key_digest = c.key_digest)"
            .to_owned(),
        "comparisons c WHERE c.predecessor_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM comparisons p \
          WHERE p.tenant_id = c.tenant_id AND p.id = c.predecessor_id AND p.successor_id = c.id)"
            .to_owned(),
        format!("customers h WHERE h.usage_revision <> (SELECT count(*) FROM usage_revisions x WHERE {customer})"),
        format!(
            "customers h WHERE h.usage_revision <> (SELECT coalesce(max(revision), 0) FROM usage_revisions x WHERE {customer})"
        ),
        format!("customers h WHERE h.version <> (SELECT count(*) FROM customer_versions x WHERE {customer})"),
        "usage_blocks b WHERE NOT EXISTS (SELECT 1 FROM usage_revisions r WHERE r.tenant_id = b.tenant_id \
          AND r.customer_id = b.customer_id AND r.revision = b.revision)"
            .to_owned(),
        "usage_blocks b WHERE b.replaced_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM usage_revisions r \
          WHERE r.tenant_id = b.tenant_id AND r.customer_id = b.customer_id AND r.revision = b.replaced_by)"
            .to_owned(),
        "usage_revisions r WHERE NOT EXISTS (SELECT 1 FROM imports i WHERE i.tenant_id = r.tenant_id \
          AND i.id = r.import_id AND i.revision_after = r.revision)"
            .to_owned(),
        "imports i WHERE i.revision_after > i.revision_before AND NOT EXISTS (SELECT 1 FROM usage_revisions r \
          WHERE r.tenant_id = i.tenant_id AND r.customer_id = i.customer_id AND r.import_id = i.id)"
            .to_owned(),
        "plans p WHERE p.newest_version <> (SELECT count(*) FROM plan_versions v WHERE v.tenant_id = p.tenant_id \
          AND v.plan_id = p.id)"
            .to_owned(),
    ];
    if is_sqlite {
        wrong.push("pragma_integrity_check WHERE integrity_check <> 'ok'".to_owned());
        wrong.push("pragma_foreign_key_check".to_owned());
    }
    for rows in wrong {
        assert_eq!(count(&rows), 0, "{rows}");
    }
}

/// The chain of a key as `GET …/history` shows it, oldest first: one row after the other, one current, all acknowledged
/// ones in it.
#[track_caller]
pub(crate) fn is_one_chain(client: &Client, acknowledged: &[String]) {
    let Some(any) = acknowledged.first() else { return };
    let mut chain = client.history(any);
    chain.reverse();
    let ids: Vec<String> = chain.iter().map(|row| text(&row["id"])).collect();
    for (i, row) in chain.iter().enumerate() {
        let predecessor = i.checked_sub(1).map_or(Value::Null, |i| json!(ids[i]));
        let successor = ids.get(i + 1).map_or(Value::Null, |id| json!(id));
        assert_eq!((&row["predecessor_id"], &row["successor_id"]), (&predecessor, &successor), "{chain:#?}");
        let is_last = i + 1 == chain.len();
        assert_eq!(row["status"], if is_last { "current" } else { "superseded" });
        if !is_last {
            assert_eq!(row["superseded"]["at"], chain[i + 1]["created_at"]);
        }
    }
    let lost: Vec<&String> = acknowledged.iter().filter(|id| !ids.contains(id)).collect();
    assert!(lost.is_empty(), "acknowledged, and not in the history: {lost:?}");
}

/// A text that is there.
#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text and not {value}")).to_owned()
}
