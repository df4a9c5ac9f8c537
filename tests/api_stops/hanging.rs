//! A database that does not answer a commit, as when a synchronous standby is away: callers wait a bounded time and are
//! told so, nothing is cancelled, and the repeat gets the one answer.

use std::time::Duration;

use serde_json::json;

use crate::helpers::{Reply, flat, june, question};
use crate::{Hold, eventually, on_each_with};

/// Long enough that no write of a slow machine takes so long.
const COMMIT_WAIT: Duration = Duration::from_secs(5);

/// What a client does: the same request again, until there is an answer.
fn repeat(call: impl Fn() -> Reply) -> Reply {
    loop {
        let reply = call();
        if reply.status != 503 {
            return reply;
        }
        assert_eq!(reply.header("retry-after"), Some("1"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn writes_that_hang_are_not_cancelled_and_their_repeats_find_them() {
    let settings = |settings: &mut samebill::config::Settings| {
        settings.database_commit_wait_ms = u64::try_from(COMMIT_WAIT.as_millis()).unwrap();
        settings.engine_jobs = 1;
    };
    on_each_with(settings, |app| {
        // Each of another customer: PostgreSQL holds a customer's head until the commit is over.
        for id in ["c-2", "c-3"] {
            app.put_customer(id, &json!({"time_zone": "UTC"})).expect(201);
            app.import(id, &june(1.0)).expect(200);
        }
        let of = |id: &str| json!({"customer_id": id, "billing_period": "2026-06", "plan_ids": ["cheap"]});
        let old = app.compare(&of("c-3")).expect(201).id();
        let forced = json!({"reason": "manual", "force": true});
        let compare = || app.compare(&question(&["flat"]));
        let supersede = || app.supersede(&old, &forced);
        let import = || app.import("c-2", &june(2.0));
        let put = || app.put_plan("new", &flat("New", "0.30"));
        let calls: [(&str, &(dyn Fn() -> Reply + Sync)); 4] =
            [("insert_comparison", &compare), ("supersede", &supersede), ("import_usage", &import), ("put_plan", &put)];

        let holds = calls.map(|(name, _)| Hold::at(before_commit(name)));
        let replies = std::thread::scope(|scope| {
            let waiting = calls.map(|(_, call)| scope.spawn(call));
            // SQLite has one writer: one of them hangs, and the others behind it.
            eventually("a write that hangs", || holds.iter().any(|hold| hold.state.0.lock().unwrap().0 > 0));
            // One engine job, and it is free: a commit that hangs does not hold it.
            app.compare(&of("c-3")).expect(200);
            waiting.map(|thread| thread.join().unwrap())
        });
        for reply in &replies {
            unanswered(reply);
        }
        // Nothing else suffers, and who joins the computation is told at once.
        assert_eq!(app.comparison(&old).expect(200).id(), old);
        app.get("/livez").expect(200);
        app.get("/readyz").expect(200);
        assert_eq!(compare().expect(503).code(), "outcome_unknown");
        // All writers hang: no further write waits for one.
        assert_eq!(app.put_plan("more", &flat("More", "0.40")).expect(503).code(), "overloaded");
        assert_eq!((app.database.count("comparisons"), app.server.service().n_computations()), (1, 3));

        holds.iter().for_each(Hold::release);
        let first = repeat(compare).expect(200);
        assert_eq!(first.header("idempotent-replayed"), Some("true"));
        let successor = repeat(supersede).expect(200);
        assert_eq!(successor.json()["predecessor_id"], old.as_str());
        assert_eq!(repeat(import).expect(200).json()["unchanged"], 720);
        assert_eq!(repeat(put).expect(200).json()["version"], 1);
        eventually("the end of every write", || app.put_plan("more", &flat("More", "0.40")).status < 300);
        assert_eq!((app.database.count("comparisons"), app.database.count("usage_revisions")), (3, 4));
        assert_eq!(app.database.count("plan_versions WHERE plan_id = 'new'"), 1);
    });
}

#[track_caller]
fn unanswered(reply: &Reply) {
    let code = reply.clone().expect(503).code();
    assert_eq!((code.as_str(), reply.header("retry-after")), ("outcome_unknown", Some("1")));
}

fn before_commit(unit: &str) -> &'static str {
    match unit {
        "insert_comparison" => "store::insert_comparison::before_commit",
        "supersede" => "store::supersede::before_commit",
        "import_usage" => "store::import_usage::before_commit",
        _ => "store::put_plan::before_commit",
    }
}
