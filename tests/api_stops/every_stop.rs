//! Every stop there is, and everything that can happen at one: somebody is held there, is slow there, fails or panics there.
//! Whatever it was, the repeat gets the one answer with the right bytes, and nothing is left behind: no lock, no permit, no
//! place among those who wait.

use super::*;
use crate::helpers::{Client, Database, Reply};

/// What happens at a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Held,
    Slow,
    Fails,
    Panics,
}

const TROUBLES: [Trouble; 4] = [Trouble::Held, Trouble::Slow, Trouble::Fails, Trouble::Panics];

/// What is being done when it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Compare,
    Supersede,
    Import,
    FileOfMany,
}

/// Every stop on the way of each kind of work; those of the writer are SQLite's only.
const STOPS: [(Work, &[&str]); 4] = [
    (
        Work::Compare,
        &[
            "compare::looked_up",
            "compare::inputs_read",
            "engine::job",
            "compare::computed",
            "store::insert_comparison::before_commit",
            "store::insert_comparison::after_commit",
            "compare::before_response",
            "writer::before_begin",
            "writer::between_jobs",
            "writer::before_commit",
            "writer::after_commit",
        ],
    ),
    (
        Work::Supersede,
        &[
            "supersede::looked_up",
            "supersede::inputs_read",
            "engine::job",
            "supersede::computed",
            "store::supersede::before_commit",
            "store::supersede::after_commit",
            "supersede::before_response",
            "writer::before_commit",
            "writer::after_commit",
        ],
    ),
    (
        Work::Import,
        &[
            "import::read",
            "store::import_usage::before_commit",
            "store::import_usage::after_commit",
            "import::before_response",
            "writer::before_begin",
            "writer::between_jobs",
            "writer::before_commit",
            "writer::after_commit",
        ],
    ),
    (
        Work::FileOfMany,
        &[
            "meter_points::begun",
            "meter_points::between",
            "meter_points::before_response",
            "store::begin_meter_points::before_commit",
            "store::begin_meter_points::after_commit",
            "store::import_share::before_commit",
            "store::import_share::after_commit",
            "store::finish_meter_points::before_commit",
            "store::finish_meter_points::after_commit",
        ],
    ),
];

/// One case: a customer of its own, so that what another case left cannot hide anything.
struct Case<'a> {
    app: &'a TestApp,
    work: Work,
    stop: &'static str,
    customer: String,
    /// The row to be replaced.
    old: Option<String>,
}

impl<'a> Case<'a> {
    fn prepare(app: &'a TestApp, work: Work, stop: &'static str, n: usize) -> Self {
        let customer = format!("c-{n}");
        let point = json!([{"id": meter_point(&customer), "channel": "import"}]);
        app.put_customer(&customer, &json!({"time_zone": "UTC", "meter_points": point})).expect(201);
        app.import(&customer, &two_days(1.0)).expect(200);
        let mut case = Self { app, work, stop, customer, old: None };
        if work == Work::Supersede {
            case.old = Some(case.ask("flat").expect(201).id());
            app.import(&case.customer, &two_days(2.0)).expect(200);
        }
        case
    }

    fn ask(&self, plan: &str) -> Reply {
        ask(&self.app.client, &self.customer, plan)
    }

    fn work(&self) -> Reply {
        let app = self.app;
        match self.work {
            Work::Compare => self.ask("flat"),
            Work::Supersede => app.supersede(self.old.as_ref().unwrap(), &json!({"reason": "usage_corrected"})),
            Work::Import => app.import(&self.customer, &two_days(2.0)),
            Work::FileOfMany => {
                let values = vec!["0.5"; 48].join(",");
                let file = format!(
                    "100,NEM12,202607011200,MDP1,RET1\n200,{},E1,1,E1,N1,METER1,kWh,30,20260801\n\
                     300,20260810,{values},A,,,20260901120000,\n900\n",
                    meter_point(&self.customer)
                );
                app.send("POST", "/v1/imports", &[("content-type", "text/csv")], file.as_bytes())
            }
        }
    }

    /// Does the work while something happens at its stop.
    fn work_with(&self, trouble: Trouble) -> Reply {
        match trouble {
            Trouble::Held => {
                let hold = Hold::at(self.stop);
                std::thread::scope(|scope| {
                    let worked = scope.spawn(|| self.work());
                    hold.wait();
                    self.app.get("/livez").expect(200);
                    hold.release();
                    worked.join().unwrap()
                })
            }
            Trouble::Slow | Trouble::Fails | Trouble::Panics => {
                let action = match trouble {
                    Trouble::Slow => "sleep(30)",
                    Trouble::Fails => "return",
                    Trouble::Held | Trouble::Panics => "panic",
                };
                fail::cfg(self.stop, action).unwrap();
                let reply = self.work();
                fail::remove(self.stop);
                reply
            }
        }
    }

    /// The repeat, and what has to be there afterwards.
    #[track_caller]
    fn check(&self, trouble: Trouble, first: &Reply, right: &Client) {
        let what = format!("{trouble:?} at {} on {}", self.stop, self.app.database.url);
        let body = String::from_utf8_lossy(&first.body);
        if matches!(trouble, Trouble::Held | Trouble::Slow) {
            assert!(matches!(first.status, 200 | 201), "{what}: {body}");
        } else {
            // An error may also be mended on the way.
            assert!(matches!(first.status, 200 | 201 | 500 | 503), "{what}: {body}");
            assert_eq!(first.status == 503, first.header("retry-after").is_some(), "{what}: {body}");
        }
        let again = self.work();
        assert!(matches!(again.status, 200 | 201), "{what}: {}", String::from_utf8_lossy(&again.body));
        let database = &self.app.database;
        let rows = |from: &str| database.count(&format!("{from} customer_id = '{}'", self.customer));
        match self.work {
            Work::Compare | Work::Supersede => {
                let n_rows = if self.work == Work::Supersede { 2 } else { 1 };
                assert_eq!(rows("comparisons WHERE"), n_rows, "{what}");
                assert_eq!(rows("comparisons WHERE superseded_at IS NULL AND"), 1, "{what}");
                if matches!(first.status, 200 | 201) {
                    assert_eq!(again.id(), first.id(), "{what}");
                }
                let kwh = if self.work == Work::Supersede { 2.0 } else { 1.0 };
                assert_eq!(again.result_hash(), undisturbed(right, kwh), "{what}");
            }
            Work::Import => assert_eq!(rows("usage_revisions WHERE"), 2, "{what}"),
            Work::FileOfMany => {
                assert_eq!(rows("usage_revisions WHERE"), 2, "{what}");
                assert_eq!(again.json()["state"], "done", "{what}");
            }
        }
        // Nothing is held: other work for the customer goes through, and its row is free.
        assert!(matches!(self.ask("cheap").status, 200 | 201), "{what}");
        let other = self.ask("tou").expect(201).id();
        self.app.import(&self.customer, &hours("2026-06-02T00:00:00Z", 24, 3.0)).expect(200);
        self.app.supersede(&other, &json!({"reason": "usage_corrected"})).expect(201);
        is_nothing_open(database, &self.customer, &what);
    }
}

fn two_days(kwh: f64) -> String {
    hours("2026-06-01T00:00:00Z", 48, kwh)
}

fn meter_point(customer: &str) -> String {
    format!("60{:0>8}", customer.trim_start_matches("c-"))
}

fn ask(client: &Client, customer: &str, plan: &str) -> Reply {
    let period = json!({"start": "2026-06-01", "end": "2026-06-03"});
    client.compare(&json!({"customer_id": customer, "billing_period": period, "plan_ids": [plan]}))
}

/// The hash of the result that a server without any trouble gives.
fn undisturbed(right: &Client, kwh: f64) -> String {
    let reply = ask(right, if kwh > 1.0 { "two" } else { "one" }, "flat");
    reply.result_hash()
}

/// No transaction is open, and the customer's row can be locked at once.
#[track_caller]
fn is_nothing_open(database: &Database, customer: &str, what: &str) {
    if database.url.starts_with("sqlite") {
        // Whoever else wanted to write would wait five seconds for the lock.
        let begun = Instant::now();
        database.execute("BEGIN IMMEDIATE; COMMIT");
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        return;
    }
    let open = "pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    eventually("the end of every transaction", || database.count(open) == 0);
    database.execute(&format!("BEGIN; SELECT 1 FROM customers WHERE id = '{customer}' FOR UPDATE NOWAIT; COMMIT"));
}

/// The work at each of its stops in every kind of trouble, on one server an engine, which afterwards still has all it had.
fn at_every_stop(work: Work) {
    let (_, stops) = STOPS.iter().find(|(of, _)| *of == work).unwrap();
    let small = |settings: &mut Settings| {
        (settings.engine_threads, settings.engine_jobs) = (1, 2);
        (settings.database_read_connections, settings.database_write_connections) = (2, 2);
    };
    on_each_with(small, |app| {
        // The server whose answers are right is another one, with a database of its own.
        let right = TestApp::spawn(Engine::Sqlite).unwrap();
        right.fill();
        for (customer, kwh) in [("one", 1.0), ("two", 2.0)] {
            right.put_customer(customer, &json!({"time_zone": "UTC"})).expect(201);
            right.import(customer, &two_days(kwh)).expect(200);
            ask(&right, customer, "flat");
        }
        let is_sqlite = app.database.url.starts_with("sqlite");
        let is_long = std::env::var_os("SAMEBILL_LONG").is_some();
        let mut n = 100;
        for stop in *stops {
            if stop.starts_with("writer::") && !is_sqlite {
                continue;
            }
            // Who is held is slow, too.
            for trouble in TROUBLES.into_iter().filter(|trouble| is_long || *trouble != Trouble::Slow) {
                n += 1;
                let case = Case::prepare(&app, work, stop, n);
                let first = case.work_with(trouble);
                case.check(trouble, &first, &right);
            }
        }
        // More at once than there are permits and connections: a lost one would leave somebody waiting.
        let replies = at_once(8, |i| ask(&app, &format!("c-{}", 101 + i % 4), ["flat", "cheap", "tou"][i % 3]));
        for reply in replies {
            assert!(matches!(reply.status, 200 | 201), "{}", String::from_utf8_lossy(&reply.body));
        }
    });
}

#[test]
fn a_comparison_in_trouble_at_any_stop_leaves_one_row_and_nothing_else() {
    at_every_stop(Work::Compare);
}

#[test]
fn a_supersede_in_trouble_at_any_stop_leaves_one_successor_and_nothing_else() {
    at_every_stop(Work::Supersede);
}

#[test]
fn an_import_in_trouble_at_any_stop_leaves_one_revision_and_nothing_else() {
    at_every_stop(Work::Import);
}

#[test]
fn a_file_of_many_in_trouble_at_any_stop_is_stored_once_and_leaves_nothing_else() {
    at_every_stop(Work::FileOfMany);
}
