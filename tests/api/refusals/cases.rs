//! One refusal of each code that a request alone provokes.

use samebill::http::Code;
use serde_json::{Value, json};

use crate::helpers::{Reply, TestApp, flat, hours, june, question};

/// A refusal and, where it has one, the member that names the place.
pub(super) type Case = (Code, Reply, Option<(&'static str, Value)>);

/// One case a code, with the place where it has one: `pointer`, `parameter` or `line`.
pub(super) fn cases(app: &TestApp) -> Vec<Case> {
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
        (Code::InvalidMember, app.put_events("peaks", &["2026-07-15T18:00Z/PT1H", "noon"]), pointer("/events/1")),
        (Code::InvalidId, app.put_calendar("US-east", &[]), None),
        (Code::InvalidId, app.put_events("Peaks", &[]), None),
        (
            Code::InvalidParameter,
            app.put_prices("spot", "start,price\n", "?replace=some"),
            at("parameter", json!("replace")),
        ),
        (Code::InvalidParameter, get("/v1/price-series/spot?start=2026"), at("parameter", json!("start"))),
        (Code::CalendarNotFound, get("/v1/calendars/nowhere"), at("id", json!("nowhere"))),
        (Code::CalendarNotFound, get("/v1/calendars/nowhere/versions"), None),
        (Code::EventListNotFound, get("/v1/event-lists/nowhere"), at("id", json!("nowhere"))),
        (Code::EventListNotFound, get("/v1/event-lists/nowhere/versions"), None),
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
