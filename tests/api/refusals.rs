//! What bad input gets: a problem document with a stable code and the place. Every code of the table is provoked, most
//! of them here.

mod cases;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use samebill::http::Code;
use serde_json::{Value, json};

use crate::helpers::{Engine, Reply, TestApp, flat, hours, june, question, tou};
use crate::on_both_engines;
use cases::cases;

/// Codes that need a stop between two steps, or a fault of ours: `tests/api_stops` provokes them.
const PROVOKED_AT_STOPS: [Code; 3] = [Code::Internal, Code::Overloaded, Code::InputsChanging];

/// Codes that need a database that does not answer: `unsure.rs` provokes them.
const PROVOKED_WITHOUT_DATABASE: [Code; 4] = [Code::Busy, Code::OutcomeUnknown, Code::StorageFull, Code::NotReady];

/// A refusal as it has to look.
#[track_caller]
fn refused(reply: &Reply, code: Code) -> Value {
    let body = reply.json();
    assert_eq!(body["code"], code.as_str(), "{body}");
    assert_eq!(reply.status, code.status());
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert_eq!(body["status"], code.status());
    assert_eq!(body["type"], format!("urn:samebill:problem:{}", code.as_str()));
    assert_eq!(body["request_id"], reply.header("x-request-id").expect("a request id"));
    for member in ["title", "detail", "instance"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {body}");
    }
    assert_eq!(reply.header("retry-after").is_some(), reply.status == 503);
    body
}

/// Plain bytes to the server, for what no client library sends.
fn raw(app: &TestApp, request: &str) -> String {
    let mut connection = TcpStream::connect(app.server.address()).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    let mut reply = Vec::new();
    let _ = connection.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

/// A server with small limits, filled with what the cases refuse.
fn prepared(engine: Engine) -> Option<TestApp> {
    let app = TestApp::spawn_with(engine, |settings| {
        settings.max_body_bytes = 65_536;
        settings.max_usage_bytes = 300_000;
        settings.max_result_bytes = 20_000;
    })?;
    app.fill();
    app.import("c-1", &hours("2026-07-01T00:00:00Z", 24, 1.0)).expect(200);
    app.json("PUT", "/v1/plans/later?in_force_from=2026-06-16", &flat("Later", "0.1")).expect(201);
    let mut euro = tou();
    euro["currency"] = json!("EUR");
    app.put_plan("euro", &euro).expect(201);
    let capacity = json!({"id": "capacity", "kind": "fixed", "capacity": "contract_kw", "price": "1"});
    app.put_plan("capacity", &json!({"name": "By capacity", "currency": "GBP", "charges": [capacity]})).expect(201);
    let large = "9".repeat(18);
    let enormous = json!({"id": "a", "kind": "fixed", "measure": {"times": [large, large, large]}, "price": large});
    app.put_plan("enormous", &json!({"name": "Enormous", "currency": "GBP", "charges": [enormous]})).expect(201);
    let charges: Vec<Value> = (0..200)
        .map(|i| json!({"id": format!("charge_{i}"), "kind": "fixed", "price": "0.01", "per": "day"}))
        .collect();
    app.put_plan("hundred", &json!({"name": "Many lines", "currency": "GBP", "charges": charges})).expect(201);
    app.json("PUT", "/v1/billing-periods/may", &json!({"start": "2026-05-01", "end": "2026-06-01", "cycle": "s"}))
        .expect(201);
    app.put_prices("hourly", "start,price\n2026-06-01T00:00:00Z,1\n2026-06-01T01:00:00Z,1\n", "").expect(201);
    Some(app)
}

fn every_code_is_provoked_and_nothing_is_stored(engine: Engine) {
    let Some(app) = prepared(engine) else { return };
    let cases = cases(&app);
    let tables =
        ["customers", "plan_versions", "usage_revisions", "comparisons", "registered_periods", "shared_inputs"];
    assert_eq!(tables.map(|table| app.database.count(table)), [1, 8, 2, 2, 1, 1]);
    let mut provoked: BTreeSet<Code> = BTreeSet::new();
    for (code, reply, place) in &cases {
        let body = refused(reply, *code);
        if let Some((member, value)) = place {
            assert_eq!(&body[*member], value, "{body}");
        }
        provoked.insert(*code);
    }
    // A body that stops in the middle, and a row that a newer engine made.
    for path in ["/v1/comparisons", "/v1/customers/c-1/usage"] {
        let host = app.server.address();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n"
        );
        let reply = raw(&app, &format!("{head}{{\"readings\": [{{"));
        assert!(reply.starts_with("HTTP/1.1 400") && reply.contains("incomplete_body"), "{reply}");
    }
    provoked.insert(Code::IncompleteBody);
    let id = app.compare(&question(&["flat"])).expect(200).id();
    app.database.execute("UPDATE comparisons SET inputs = replace(inputs, '\"engine\":1', '\"engine\":99')");
    refused(&app.supersede(&id, &json!({"reason": "manual", "force": true})), Code::NewerEngine);
    provoked.insert(Code::NewerEngine);

    // A revert, and a revision of an earlier release.
    let wrong = app.import("c-1", &hours("2026-07-01T00:00:00Z", 2, 7.0)).expect(200).json();
    let revert = |import: &Value| {
        app.send("POST", &format!("/v1/imports/{}/revert", import["import_id"].as_str().unwrap()), &[], &[])
    };
    let reverted = revert(&wrong).expect(201).json();
    refused(&revert(&reverted), Code::ImportNotRevertible);
    app.database.execute("UPDATE usage_revisions SET import_id = NULL WHERE revision = 2");
    let gone = app.get("/v1/customers/c-1/usage?start=2026-06-01&end=2026-06-02&revision=1");
    refused(&gone, Code::UsageRevisionGone);
    refused(&app.get("/v1/customers/c-1/usage/revisions/1"), Code::UsageRevisionGone);
    provoked.extend([Code::ImportNotRevertible, Code::UsageRevisionGone]);
    app.database.execute("DELETE FROM usage_blocks");
    refused(&app.get(&format!("/v1/comparisons/{id}/evidence")), Code::EvidenceIncomplete);
    provoked.insert(Code::EvidenceIncomplete);

    provoked.extend(PROVOKED_AT_STOPS);
    provoked.extend(PROVOKED_WITHOUT_DATABASE);
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !provoked.contains(code)).collect();
    assert!(missing.is_empty(), "no case provokes {missing:?}");
}

#[test]
fn every_code_is_provoked_on_sqlite() {
    every_code_is_provoked_and_nothing_is_stored(Engine::Sqlite);
}

#[test]
fn every_code_is_provoked_on_postgres() {
    every_code_is_provoked_and_nothing_is_stored(Engine::Postgres);
}

on_both_engines! {
    fn a_refusal_tells_what_to_do(app: &TestApp) {
        app.fill();
        app.json("PUT", "/v1/plans/later?in_force_from=2026-06-16", &flat("Later", "0.1")).expect(201);
        let body = app.compare(&question(&["later", "flat"])).expect(422).json();
        assert_eq!(body["plans"], json!([{
            "plan_id": "later",
            "days_without_version": [{"start": "2026-06-01", "end": "2026-06-16"}],
            "pinnable": ["later@1"]}]));
        app.compare(&question(&["later@1", "flat"])).expect(201);

        let readings: Vec<String> = june(1.0).lines().map(str::to_owned).collect();
        app.put_customer("c-2", &json!({"time_zone": "UTC"})).expect(201);
        app.import("c-2", &[&readings[..101], &readings[201..]].concat().join("\n")).expect(200);
        let ask = json!({"customer_id": "c-2", "billing_period": "2026-06", "plan_ids": ["flat"]});
        let body = app.compare(&ask).expect(422).json();
        assert_eq!((&body["intervals"], &body["expected_intervals"]), (&json!(620), &json!(720)));
        assert_eq!(body["gaps"], json!([{"start": "2026-06-05T04:00:00Z", "end": "2026-06-09T08:00:00Z", "intervals": 100}]));

        let reply = app.send("DELETE", "/v1/customers/c-1", &[], &[]).expect(405);
        assert_eq!(reply.header("allow"), Some("GET, HEAD, PUT"));
    }

    fn no_nonsense_is_a_fault_of_ours(app: &TestApp) {
        app.fill();
        let odd = ["", "\u{0}", "\u{ffff}", "💡", "..", "%", "%00", "%ff", "'; DROP TABLE plans; --", "2026-06", "-1", "1e99", "null"];
        let encoded = |text: &str| text.bytes().flat_map(|byte| ['%'].into_iter().chain(hex::encode_upper([byte]).chars().collect::<Vec<_>>())).collect::<String>();
        let paths = ["/v1/customers/X", "/v1/plans/X", "/v1/plans/flat/versions/X", "/v1/comparisons/X", "/v1/billing-periods/X",
            "/v1/calendars/X", "/v1/calendars?cursor=X", "/v1/price-series/X", "/v1/price-series?cursor=X", "/v1/price-series/spot?start=X", "/v1/price-series/spot?cursor=X",
            "/v1/event-lists/X", "/v1/event-lists?cursor=X",
            "/v1/comparisons?cursor=X", "/v1/comparisons?customer_id=X", "/v1/comparisons?billing_period=X", "/v1/comparisons?created_from=X",
            "/v1/plans?q=X", "/v1/plans?tag=X", "/v1/plans?provider=X", "/v1/plans?in_force_on=X", "/v1/plans?cursor=X",
            "/v1/customers/c-1/usage?start=X&end=2026-06-02", "/v1/customers/c-1/usage/revisions?cursor=X", "/v1/comparisons/as-of?customer_id=c-1&at=X",
            "/v1/imports/X", "/v1/imports?cursor=X", "/v1/imports?customer_id=X", "/v1/imports?sha256=X", "/v1/imports?part_of=X", "/v1/imports/X/meter-points", "/v1/imports/X/meter-points?cursor=X",
            "/v1/customers/c-1/usage/revisions/X", "/v1/customers/c-1/usage/coverage?start=X&end=X", "/v1/customers/c-1/usage/coverage?cursor=X",
            "/v1/customers/c-1/usage?start=2026-06-01&end=2026-06-02&revision=X"];
        for path in paths {
            for odd in odd {
                let reply = app.get(&path.replace('X', &encoded(odd)));
                assert!(reply.status < 500, "{path} {odd:?}: {}", String::from_utf8_lossy(&reply.body));
            }
        }
        let values = [json!(null), json!(-1), json!(1e300), json!([]), json!({}), json!(""), json!("\u{0}"), json!("9999-12"), json!("0000"),
            json!({"start": "0001-01-01", "end": "0001-02-01"}), json!({"start": "9999-12-01", "end": "9999-12-31"}), json!([[[]]])];
        for value in &values {
            for member in ["customer_id", "billing_period", "plan_ids"] {
                let mut body = question(&["flat"]);
                body[member] = value.clone();
                let reply = app.compare(&body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
            for (id, member) in [("time_zone", "time_zone"), ("attributes", "attributes"), ("meter_points", "meter_points"), ("name", "name")] {
                let mut body = json!({"time_zone": "UTC"});
                body[member] = value.clone();
                let reply = app.put_customer(id, &body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
            for member in ["name", "currency", "charges", "provider", "tags", "schedules", "rounding"] {
                let mut body = flat("Odd", "0.1");
                body[member] = value.clone();
                let reply = app.put_plan("odd", &body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
        }
        app.put_prices("spot", "start,price\n2026-06-01T00:00:00Z,1\n", "?step_minutes=30").expect(201);
        for value in &values {
            for body in [json!({"dates": value}), json!({"dates": [value]}), json!({"name": value, "dates": []})] {
                let reply = app.json("PUT", "/v1/calendars/odd", &body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
            for body in [json!({"events": value}), json!({"events": [value]}), json!({"name": value, "events": []})] {
                let reply = app.json("PUT", "/v1/event-lists/odd", &body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
            for body in [json!({"prices": value}), json!({"prices": [value]}), json!({"step_minutes": value, "prices": []}),
                json!({"step_minutes": 30, "prices": [{"start": value, "price": "1"}]}),
                json!({"step_minutes": 30, "prices": [{"start": "2026-06-01T00:00:00Z", "price": value}]})] {
                let reply = app.json("PUT", "/v1/price-series/spot", &body);
                assert!(reply.status < 500, "{body}: {}", String::from_utf8_lossy(&reply.body));
            }
        }
        for csv in ["start", "start,kwh\n,\n", "\u{0}", "start,kwh\n2026-06-01T00:00:00Z,1e9999\n", "start,kwh\n0000-01-01T00:00:00Z,1\n0000-01-01T01:00:00Z,1\n",
            "start,kwh\n9999-12-31T22:00:00Z,1\n9999-12-31T23:00:00Z,1\n", "start,kwh\n2026-06-01T00:00:00Z,99999999999999\n2026-06-01T01:00:00Z,1\n"] {
            let reply = app.import("c-1", csv);
            assert!(reply.status < 500, "{csv:?}: {}", String::from_utf8_lossy(&reply.body));
        }
    }
}
