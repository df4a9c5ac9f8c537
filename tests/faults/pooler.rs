//! Servers that reach PostgreSQL through pgbouncer: each of their connections has one of the database's to itself (session
//! mode), or another one for each transaction (transaction mode, without prepared statements).

use serde_json::json;

use crate::helpers::shapes::Pooler;
use crate::helpers::{Database, Engine, Reply, at_once, distinct, june, question};
use crate::process::Process;
use crate::support;
use crate::workload::nothing_is_half_done;

#[test]
fn through_a_pooler_in_session_mode_every_promise_holds() {
    // Two servers have 24 connections.
    the_story("session", 30, "true");
}

/// Fewer connections to the database than the servers have: those change hands between two transactions.
#[test]
fn through_a_pooler_in_transaction_mode_every_promise_holds() {
    the_story("transaction", 5, "false");
}

fn the_story(mode: &str, n_connections: usize, prepared_statements: &str) {
    let _alone = support::alone();
    let Some(database) = Database::create(Engine::Postgres) else { return };
    let Some(pooler) = Pooler::to(&database.url, mode, n_connections) else { return };
    let url = pooler.url(&database.url);
    let settings = ["--database-prepared-statements", prepared_statements];
    let servers = [0; 2].map(|_| Process::serve(&url, &settings));
    let client = |i: usize| &servers[i % 2].client;
    client(0).fill();

    let mut kwh = 1.0;
    for plans in [&["flat"][..], &["cheap", "tou"], &["tou"]] {
        let replies = at_once(32, |i| client(i).compare(&question(plans)));
        one_answer(&replies, 201);
        let stored = replies[0].id();
        kwh += 1.0;
        client(1).import("c-1", &june(kwh)).expect(200);
        assert_eq!(client(0).comparison(&stored).expect(200).json()["freshness"]["state"], "stale");
        let corrected = json!({"reason": "usage_corrected"});
        let replies = at_once(32, |i| client(i).supersede(&stored, &corrected));
        one_answer(&replies, 201);
        let successor = replies[0].id();
        let chain: Vec<_> = client(1).history(&stored).into_iter().map(|row| row["id"].clone()).collect();
        assert_eq!(chain, [json!(successor), json!(stored)]);
        assert_eq!(client(0).compare(&question(plans)).expect(200).id(), successor);
        client(1).diff(&successor).expect(200);
    }
    // Many customers, and what each asked once, from everywhere.
    let replies = at_once(16, |i| {
        let customer = format!("many-{i}");
        client(i).put_customer(&customer, &json!({"time_zone": "UTC"})).expect(201);
        client(i + 1).import(&customer, &june(1.0)).expect(200);
        let question = json!({"customer_id": customer, "billing_period": "2026-06", "plan_ids": ["flat", "tou"]});
        let first = client(i).compare(&question).expect(201);
        assert_eq!(client(i + 1).compare(&question).expect(200).body, first.body);
        first
    });
    assert_eq!(distinct(&replies.iter().map(Reply::id).collect::<Vec<_>>()), 16);
    assert_eq!((database.count("comparisons"), database.count("usage_revisions")), (6 + 16, 4 + 16));
    nothing_is_half_done(|from| database.count(from), false);
}

/// Everybody got the one row, made by at most one call.
#[track_caller]
fn one_answer(replies: &[Reply], created: u16) {
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert!(statuses.iter().all(|status| [200, created].contains(status)), "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == created).count(), 1, "{statuses:?}");
    let ids: Vec<String> = replies.iter().map(Reply::id).collect();
    let hashes: Vec<String> = replies.iter().map(Reply::result_hash).collect();
    assert_eq!((distinct(&ids), distinct(&hashes)), (1, 1));
}
