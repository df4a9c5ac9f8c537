//! What bad input gets: a problem document with a stable code and the place. Every code of the table is provoked, most
//! of them here.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use samebill::http::Code;
use serde_json::{Value, json};

use crate::helpers::{Engine, Reply, TestApp, flat, hours, june, question, tou};
use crate::on_both_engines;

/// Codes that need a stop between two steps, or a fault of ours: `tests/api_stops` provokes them.
const PROVOKED_AT_STOPS: [Code; 3] = [Code::Internal, Code::Overloaded, Code::InputsChanging];

/// Codes that need a database that does not answer: `unsure.rs` provokes them.
const PROVOKED_WITHOUT_DATABASE: [Code; 3] = [Code::Busy, Code::OutcomeUnknown, Code::NotReady];

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

/// A refusal and, where it has one, the member that names the place.
type Case = (Code, Reply, Option<(&'static str, Value)>);

/// One case a code, with the place where it has one: `pointer`, `parameter` or `line`.
fn cases(app: &TestApp) -> Vec<Case> {
    let json_type = [("content-type", "application/json")];
    let ask = |body: &Value| app.compare(body);
    let period = |period: Value| ask(&json!({"customer_id": "c-1", "billing_period": period, "plan_ids": ["flat"]}));
    let many: Vec<String> = (0..1001).map(|i| format!("p-{i}")).collect();
    let get = |path: &str| app.get(path);
    let nobody = "/v1/comparisons/0198aaaa-0000-7000-8000-000000000000";
    let stored = ask(&question(&["flat"])).id();
    let other = ask(&question(&["tou"])).id();
    let mut bad_line = hours("2027-01-01T00:00:00Z", 6_000, 0.5);
    let nth = bad_line.match_indices('\n').nth(4_998).unwrap().0 + 1;
    bad_line.replace_range(nth..=nth, "x");
    let at = |name: &'static str, value: Value| Some((name, value));
    let pointer = |text: &str| Some(("pointer", json!(text)));
    vec![
        (
            Code::MalformedJson,
            app.send("POST", "/v1/comparisons", &json_type, b"{\"customer_id\": "),
            at("line", json!(1)),
        ),
        (Code::MalformedJson, app.send("PUT", "/v1/plans/x", &json_type, b"\xff\xfe"), at("line", json!(1))),
        (
            Code::UnknownMember,
            ask(&json!({"customer_id": "c-1", "billing_period": "2026-06", "plan_ids": ["flat"], "tenant": 1})),
            pointer("/tenant"),
        ),
        (
            Code::UnknownMember,
            period(json!({"start": "2026-06-01", "end": "2026-07-01", "zone": "UTC"})),
            pointer("/billing_period/zone"),
        ),
        (
            Code::UnknownMember,
            app.put_customer("c-2", &json!({"time_zone": "UTC", "colour": "red"})),
            pointer("/colour"),
        ),
        (Code::InvalidMember, ask(&json!({"customer_id": "c-1", "plan_ids": ["flat"]})), pointer("/billing_period")),
        (
            Code::InvalidMember,
            ask(&json!({"customer_id": "c-1", "billing_period": "2026-06", "plan_ids": "flat"})),
            pointer("/plan_ids"),
        ),
        (Code::InvalidMember, app.put_customer("c-2", &json!({"time_zone": "Moon/Base"})), pointer("/time_zone")),
        (
            Code::InvalidMember,
            app.put_customer("c-2", &json!({"time_zone": "UTC", "attributes": {"kw": {"by_date": {"June": "1"}}}})),
            pointer("/attributes/kw/by_date/June"),
        ),
        (
            Code::InvalidMember,
            app.put_customer(
                "c-2",
                &json!({"time_zone": "UTC", "attributes": {"kw": {"by_date": {"2026-06": "1 kW"}}}}),
            ),
            pointer("/attributes/kw/by_date/2026-06"),
        ),
        (Code::InvalidMember, app.supersede(&stored, &json!({"reason": "bored"})), pointer("/reason")),
        (
            Code::UnknownParameter,
            app.json("POST", "/v1/comparisons?force=1", &question(&["flat"])),
            at("parameter", json!("force")),
        ),
        (Code::UnknownParameter, get("/v1/customers/c-1?fields=id"), at("parameter", json!("fields"))),
        (Code::InvalidParameter, get("/v1/comparisons?limit=201"), at("parameter", json!("limit"))),
        (Code::InvalidParameter, get("/v1/comparisons?cursor=abc"), at("parameter", json!("cursor"))),
        (Code::InvalidParameter, get("/v1/comparisons?stale=yes"), at("parameter", json!("stale"))),
        (Code::InvalidParameter, get("/v1/comparisons?stale=true&stale=true"), at("parameter", json!("stale"))),
        (Code::InvalidParameter, get("/v1/comparisons/as-of?customer_id=c-1"), at("parameter", json!("at"))),
        (Code::InvalidParameter, get("/v1/plans?q=%00"), None),
        (
            Code::InvalidParameter,
            app.json("PUT", "/v1/plans/x?in_force_from=2026-02-30", &flat("x", "1")),
            at("parameter", json!("in_force_from")),
        ),
        (
            Code::InvalidParameter,
            app.import_with("c-1", &june(1.0), "?time_zone=Here"),
            at("parameter", json!("time_zone")),
        ),
        (
            Code::InvalidParameter,
            get("/v1/customers/c-1/usage?start=2026-06-01&end=2026-06-01"),
            at("parameter", json!("end")),
        ),
        (
            Code::InvalidHeader,
            app.send("GET", &format!("/v1/comparisons/{stored}"), &[("if-none-match", "abc")], &[]),
            at("header", json!("if-none-match")),
        ),
        (
            Code::InvalidId,
            ask(&json!({"customer_id": "c 1", "billing_period": "2026-06", "plan_ids": ["flat"]})),
            pointer("/customer_id"),
        ),
        (Code::InvalidId, ask(&question(&["flat", "no/slash"])), pointer("/plan_ids/1")),
        (Code::InvalidId, ask(&question(&["flat@0"])), pointer("/plan_ids/0")),
        (Code::InvalidId, ask(&question(&[&"x".repeat(65)])), pointer("/plan_ids/0")),
        (Code::InvalidId, app.put_customer("c%20x", &json!({"time_zone": "UTC"})), None),
        (Code::InvalidId, get("/v1/comparisons/not-a-uuid"), None),
        (
            Code::InvalidId,
            app.json("PUT", "/v1/billing-periods/2026-06", &json!({"start": "2026-06-01", "end": "2026-07-01"})),
            None,
        ),
        (
            Code::InvalidPeriod,
            period(json!({"start": "2026-02-31", "end": "2026-04-01"})),
            pointer("/billing_period/start"),
        ),
        (Code::InvalidPeriod, period(json!({"start": "2026-06-02", "end": "2026-06-01"})), pointer("/billing_period")),
        (Code::InvalidPeriod, period(json!("2026-13")), pointer("/billing_period")),
        (Code::PlanCount, ask(&question(&[])), pointer("/plan_ids")),
        (
            Code::PlanCount,
            ask(&json!({"customer_id": "c-1", "billing_period": "2026-06", "plan_ids": many})),
            pointer("/plan_ids"),
        ),
        (Code::UsageUnreadable, app.import("c-1", &bad_line), at("line", json!(5_000))),
        (
            Code::UsageUnreadable,
            app.import("c-1", "start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-01T00:00:00Z,2\n"),
            at("other_line", json!(3)),
        ),
        (
            Code::UsageUnreadable,
            app.import("c-1", "start,kwh\n2026-06-31 00:00,1\n2026-07-01 01:00,2\n"),
            at("reason", json!("bad_time")),
        ),
        (Code::UsageUnreadable, app.import("c-1", ""), at("reason", json!("no_readings"))),
        (
            Code::UsageUnreadable,
            app.json(
                "POST",
                "/v1/customers/c-1/usage",
                &json!({"readings": [{"start": "2026-06-01T00:00:00Z", "kwh": "1", "colour": 1}]}),
            ),
            None,
        ),
        (
            Code::InputUnreadable,
            app.put_prices("spot", "start,price\n2026-06-01T00:00:00Z,1\n2026-06-01T00:30:00Z,1e3\n", ""),
            at("line", json!(3)),
        ),
        (
            Code::InputUnreadable,
            app.json(
                "PUT",
                "/v1/price-series/spot",
                &json!({"step_minutes": 30, "prices": [{"start": "2026-06-01", "price": "1"}]}),
            ),
            pointer("/prices/0"),
        ),
        (
            Code::InvalidMember,
            app.json("PUT", "/v1/calendars/us", &json!({"dates": ["2026-01-01", "2026-02-30"]})),
            pointer("/dates/1"),
        ),
        (
            Code::InvalidMember,
            app.json(
                "PUT",
                "/v1/price-series/spot",
                &json!({"prices": [{"start": "2026-06-01T00:00:00Z", "price": 1}]}),
            ),
            pointer("/prices/0/price"),
        ),
        (Code::InvalidId, app.put_calendar("US-east", &[]), None),
        (
            Code::InvalidParameter,
            app.put_prices("spot", "start,price\n", "?replace=some"),
            at("parameter", json!("replace")),
        ),
        (Code::InvalidParameter, get("/v1/price-series/spot?start=2026"), at("parameter", json!("start"))),
        (Code::CalendarNotFound, get("/v1/calendars/nowhere"), at("id", json!("nowhere"))),
        (Code::CalendarNotFound, get("/v1/calendars/nowhere/versions"), None),
        (Code::PriceSeriesNotFound, get("/v1/price-series/nowhere"), at("id", json!("nowhere"))),
        (
            Code::PricesOverlap,
            app.put_prices("hourly", "start,price\n2026-06-01T00:30:00Z,1\n2026-06-01T01:00:00Z,1\n", ""),
            None,
        ),
        (Code::ForeignHost, app.send("GET", "/livez", &[("host", "example.org")], &[]), None),
        (Code::ForeignOrigin, app.send("GET", "/livez", &[("origin", "http://example.org")], &[]), None),
        (Code::NoSuchPath, get("/v1/nothing"), None),
        (Code::NoSuchPath, get("/"), None),
        (
            Code::CustomerNotFound,
            ask(&json!({"customer_id": "nobody", "billing_period": "2026-06", "plan_ids": ["flat"]})),
            pointer("/customer_id"),
        ),
        (Code::CustomerNotFound, get("/v1/customers/nobody"), None),
        (Code::CustomerNotFound, app.import("nobody", &june(1.0)), None),
        (Code::CustomerNotFound, get("/v1/customers/nobody/usage/revisions"), None),
        (Code::PlanNotFound, ask(&question(&["flat", "nowhere"])), pointer("/plan_ids/1")),
        (Code::PlanNotFound, ask(&question(&["flat@7", "tou"])), pointer("/plan_ids/0")),
        (Code::PlanNotFound, get("/v1/plans/nowhere"), None),
        (Code::PeriodNotFound, period(json!("june-north")), pointer("/billing_period")),
        (
            Code::PeriodNotFound,
            get("/v1/comparisons?billing_period=june-north"),
            at("parameter", json!("billing_period")),
        ),
        (Code::ComparisonNotFound, get(nobody), None),
        (
            Code::ComparisonNotFound,
            app.json("POST", &format!("{nobody}/supersede"), &json!({"reason": "manual"})),
            None,
        ),
        (Code::ComparisonNotFound, get(&format!("{nobody}/history")), None),
        (
            Code::ComparisonNotFound,
            get(&format!("/v1/comparisons/{stored}/diff?with=0198aaaa-0000-7000-8000-000000000000")),
            None,
        ),
        (Code::ImportNotFound, get("/v1/imports/0198aaaa-0000-7000-8000-000000000000"), None),
        (Code::ImportNotFound, app.send("POST", "/v1/imports/0198aaaa-0000-7000-8000-000000000000/revert", &[], &[]), None),
        (Code::UsageRevisionNotFound, get("/v1/customers/c-1/usage/revisions/9"), at("id", json!("9"))),
        (Code::UsageRevisionNotFound, get("/v1/customers/c-1/usage/revisions/0"), at("id", json!("0"))),
        (
            Code::UsageRevisionNotFound,
            get("/v1/customers/c-1/usage?start=2026-06-01&end=2026-06-02&revision=9"),
            at("id", json!("9")),
        ),
        (Code::InvalidParameter, get("/v1/imports?sha256=07"), at("parameter", json!("sha256"))),
        (Code::InvalidParameter, get("/v1/imports?state=lost"), at("parameter", json!("state"))),
        (
            Code::InvalidParameter,
            app.import_with("c-1", &june(1.0), "?fill_start=2026-06-01"),
            at("parameter", json!("fill_start")),
        ),
        (
            Code::InvalidParameter,
            app.import_with("c-1", &june(1.0), "?fill=zero&fill_start=2026-06-01"),
            at("parameter", json!("fill_end")),
        ),
        (Code::InvalidParameter, app.import_with("c-1", &june(1.0), "?dry_run=1"), at("parameter", json!("dry_run"))),
        (Code::ImportNotFound, get("/v1/imports/0198aaaa-0000-7000-8000-000000000000/meter-points"), None),
        (Code::NoMeterPoints, app.send("POST", "/v1/imports", &[("content-type", "text/csv")], june(1.0).as_bytes()), None),
        (Code::UsageUnreadable, app.send("POST", "/v1/imports", &[("content-type", "text/csv")], b"x"), None),
        (
            Code::FillUneven,
            app.import_with(
                "c-1",
                "start,end,kwh\n2027-06-01T00:00:00Z,2027-06-01T01:00:00Z,1\n2027-06-01T01:30:00Z,2027-06-01T02:30:00Z,1\n",
                "?fill=zero",
            ),
            None,
        ),
        (Code::NoPredecessor, app.diff(&stored), None),
        (Code::MethodNotAllowed, app.send("DELETE", "/v1/customers/c-1", &[], &[]), None),
        (Code::MethodNotAllowed, app.json("POST", "/v1/plans/flat", &flat("x", "1")), None),
        (
            Code::PeriodRegistered,
            app.json("PUT", "/v1/billing-periods/may", &json!({"start": "2026-05-02", "end": "2026-06-01"})),
            None,
        ),
        (
            Code::PeriodOverlap,
            app.json(
                "PUT",
                "/v1/billing-periods/may-2",
                &json!({"start": "2026-05-02", "end": "2026-06-01", "cycle": "s"}),
            ),
            None,
        ),
        (
            Code::UsageConflict,
            app.import_with("c-1", &hours("2026-06-01T00:00:00Z", 2, 9.0), "?on_conflict=refuse"),
            None,
        ),
        (Code::UsageOverlap, app.import("c-1", "start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-01T00:15:00Z,2\n"), None),
        (
            Code::PreconditionFailed,
            app.send(
                "POST",
                &format!("/v1/comparisons/{stored}/supersede"),
                &[("content-type", "application/json"), ("if-match", "\"x\"")],
                b"{\"reason\":\"manual\"}",
            ),
            None,
        ),
        (
            Code::BodyTooLarge,
            app.put_customer("c-2", &json!({"time_zone": "UTC", "name": "x".repeat(70_000)})),
            at("max_bytes", json!(65_536)),
        ),
        (
            Code::BodyTooLarge,
            app.import("c-1", &hours("2027-01-01T00:00:00Z", 20_000, 0.5)),
            at("max_bytes", json!(300_000)),
        ),
        (
            Code::UnsupportedMediaType,
            app.send("POST", "/v1/comparisons", &[("content-type", "text/plain")], b"{}"),
            None,
        ),
        (
            Code::UnsupportedMediaType,
            app.send("POST", "/v1/comparisons", &[("content-type", "application/json; charset=latin1")], b"{}"),
            None,
        ),
        (
            Code::UnsupportedMediaType,
            app.send("POST", "/v1/customers/c-1/usage", &[("content-type", "text/html")], b"<a/>"),
            None,
        ),
        (
            Code::UnsupportedMediaType,
            app.send(
                "POST",
                "/v1/customers/c-1/usage",
                &[("content-type", "text/csv"), ("content-encoding", "gzip")],
                b"x",
            ),
            None,
        ),
        (Code::PeriodTooLong, period(json!({"start": "2026-01-01", "end": "2027-06-01"})), pointer("/billing_period")),
        (
            Code::PlanInvalid,
            app.put_plan(
                "x",
                &json!({"name": "x", "currency": "GBP", "charges": [{"id": "a", "kind": "energy", "prise": "1"}]}),
            ),
            None,
        ),
        (Code::PlanInvalid, app.put_plan("x", &json!([])), None),
        (Code::PlanInvalid, app.put_plan("x", &flat("a\u{0}b", "1")), None),
        (Code::PlanNotInForce, ask(&question(&["flat", "later"])), None),
        (Code::UsageIncomplete, period(json!("2026-07")), at("intervals", json!(24))),
        (Code::UsageIncomplete, period(json!("2031-07")), at("intervals", json!(0))),
        (Code::UsageInstant, get("/v1/customers/c-1/usage?start=0000-01-01&end=0000-01-02"), None),
        (Code::CurrenciesDiffer, ask(&question(&["flat", "euro"])), None),
        (
            Code::PlansNotBillable,
            ask(&question(&["flat", "capacity", "tou"])),
            at("billable_plan_ids", json!(["flat", "tou"])),
        ),
        (Code::NumbersTooLarge, ask(&question(&["enormous"])), None),
        (Code::ResultTooLarge, ask(&question(&["hundred"])), at("max_bytes", json!(20_000))),
        (
            Code::DifferentQuestions,
            get(&format!("/v1/comparisons/{stored}/diff?with={other}")),
            at("parameter", json!("with")),
        ),
    ]
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
