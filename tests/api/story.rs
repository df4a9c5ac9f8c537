//! The story: compare, ask again, correct, see it is stale, supersede, read the history.

use serde_json::{Value, json};

use crate::helpers::{TestApp, flat, hours, june, question};
use crate::on_both_engines;

fn plan<'a>(comparison: &'a Value, id: &str) -> &'a Value {
    let plans = comparison["result"]["plans"].as_array().expect("plans");
    plans.iter().find(|plan| plan["plan_id"] == id).expect("the plan is there")
}

on_both_engines! {
    fn the_same_question_gets_the_same_bytes(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat", "tou", "cheap"])).expect(201);
        assert_eq!(first.header("idempotent-replayed"), None);
        let body = first.json();
        // 720 kWh: 15.00 standing + 144.00; 15.00 + 72.00; 210 kWh at 0.08 + 510 kWh at 0.25.
        assert_eq!(plan(&body, "flat")["total"], "159.00");
        assert_eq!(plan(&body, "cheap")["total"], "87.00");
        assert_eq!(plan(&body, "tou")["total"], "144.30");
        assert_eq!(body["result"]["cheapest_plan_id"], "cheap");
        assert_eq!(body["plan_ids"], json!(["cheap", "flat", "tou"]));
        assert_eq!(body["billing_period"], json!({"start": "2026-06-01", "end": "2026-07-01"}));
        assert_eq!(body["freshness"], json!({"state": "fresh", "stale_since": null, "reasons": []}));
        assert_eq!(body["inputs"]["plan_versions"], json!({"cheap": [1], "flat": [1], "tou": [1]}));
        assert_eq!((&body["inputs"]["usage_revision"], &body["inputs"]["engine"]), (&json!(1), &json!(1)));

        let id = first.id();
        let again = app.compare(&json!({
            "plan_ids": ["tou", "cheap", "flat", "tou"],
            "billing_period": {"start": "2026-06-01", "end": "2026-07-01"},
            "customer_id": "c-1"}));
        let again = again.expect(200);
        assert_eq!((again.id(), &again.body), (id.clone(), &first.body));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        for reply in [&first, &again] {
            let path = format!("/v1/comparisons/{id}");
            assert_eq!(reply.header("location"), Some(path.as_str()));
            assert_eq!(reply.header("content-location"), Some(path.as_str()));
            assert_eq!(reply.header("cache-control"), Some("private, no-cache"));
            assert!(reply.header("etag").is_some_and(|etag| etag.starts_with('"')));
        }
        assert_eq!(app.comparison(&id).expect(200).body, first.body);
        assert_eq!(app.database.count("comparisons"), 1);
        assert_eq!(app.server.service().n_computations(), 1);
    }

    fn the_body_is_as_the_contract_says(app: &TestApp) {
        app.fill();
        let reply = app.compare(&question(&["flat"])).expect(201);
        let body = reply.json();
        // The bytes, in their order of members, with what differs from run to run checked and masked.
        let mut text = String::from_utf8(reply.body.clone()).unwrap();
        for (pointer, is_right) in [
            ("/id", (|text: &str| text.len() == 36 && text.as_bytes()[14] == b'7') as fn(&str) -> bool),
            ("/created_at", |text: &str| text.ends_with('Z') && text.len() == 27),
            ("/inputs/digest", |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())),
        ] {
            let member = body.pointer(pointer).and_then(Value::as_str).expect("a text");
            assert!(is_right(member), "{pointer}: {member}");
            text = text.replace(member, &format!("[{}]", &pointer[1..]));
        }
        insta::assert_snapshot!("comparison", text.replace(",\"", ",\n\"").replace(":{", ":{\n"));
    }

    fn a_correction_makes_it_stale_and_supersede_makes_a_new_one(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201);
        let id = first.id();
        // The same file again changes nothing, July does not touch June.
        let same = app.import("c-1", &june(1.0)).expect(200).json();
        assert_eq!((&same["unchanged"], &same["revision_after"]), (&json!(720), &json!(1)));
        app.import("c-1", &hours("2026-07-01T00:00:00Z", 24, 1.0)).expect(200);
        assert_eq!(app.compare(&question(&["flat"])).expect(200).body, first.body);

        let corrected = app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 2.0)).expect(200).json();
        assert_eq!((&corrected["replaced"], &corrected["stale_comparison_ids"]), (&json!(24), &json!([id])));
        let stale = app.compare(&question(&["flat"])).expect(200);
        let freshness = &stale.json()["freshness"];
        assert_eq!(stale.id(), id);
        assert_eq!((&freshness["state"], &freshness["reasons"][0]["kind"]), (&json!("stale"), &json!("usage_corrected")));
        assert_eq!(freshness["reasons"][0]["count"], 1);
        assert_eq!(freshness["stale_since"], freshness["reasons"][0]["first"]);
        assert_eq!(freshness["supersede"], format!("POST /v1/comparisons/{id}/supersede"));
        assert_eq!(stale.result_hash(), first.result_hash());
        assert_ne!(stale.header("etag"), first.header("etag"));

        let reason = json!({"reason": "usage_corrected", "note": "meter exchanged"});
        let second = app.supersede(&id, &reason).expect(201);
        let body = second.json();
        assert_eq!((&body["predecessor_id"], &body["status"]), (&json!(id), &json!("current")));
        assert_eq!(plan(&body, "flat")["total"], "163.80");
        let retry = app.supersede(&id, &reason).expect(200);
        assert_eq!((retry.id(), retry.header("idempotent-replayed")), (second.id(), Some("true")));
        assert!(retry.header("link").unwrap().contains(&format!("<{}>; rel=\"latest-version\"", path(&second.id()))));
        assert_eq!(app.compare(&question(&["flat"])).expect(200).body, second.body);

        let old = app.comparison(&id).expect(200);
        let body = old.json();
        assert_eq!((&body["status"], &body["successor_id"]), (&json!("superseded"), &json!(second.id())));
        assert_eq!(body["superseded"], json!({"at": second.json()["created_at"], "reason": "usage_corrected", "note": "meter exchanged"}));
        assert_eq!(old.result_hash(), first.result_hash());
        let links = old.header("link").unwrap();
        for (rel, target) in [
            ("successor-version", path(&second.id())),
            ("latest-version", path(&second.id())),
            ("version-history", format!("{}/history", path(&id))),
        ] {
            assert!(links.contains(&format!("<{target}>; rel=\"{rel}\"")), "{links}");
        }

        let history = app.history(&id);
        let ids: Vec<&Value> = history.iter().map(|item| &item["id"]).collect();
        assert_eq!(ids, [&json!(second.id()), &json!(id)]);
        assert_eq!(history[0]["totals"]["plans"][0]["total"], "163.80");
        assert!(history[0].get("result").is_none());
        assert_eq!(app.history(&second.id()), history);
    }

    fn a_correction_taken_back_is_no_change(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201);
        app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 2.0)).expect(200);
        app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 1.0)).expect(200);
        assert_eq!(app.comparison(&first.id()).json()["freshness"]["reasons"][0]["count"], 2);
        let same = app.supersede(&first.id(), &json!({"reason": "usage_corrected"})).expect(200);
        assert_eq!((same.id(), same.result_hash()), (first.id(), first.result_hash()));
        let body = same.json();
        assert_eq!((&body["freshness"]["state"], &body["inputs"]["usage_revision"]), (&json!("fresh"), &json!(3)));
        assert_eq!(app.comparison(&first.id()).json(), body);
        assert_eq!(app.history(&first.id()).len(), 1);
        assert_eq!(app.server.service().n_computations(), 1, "the same inputs need no computation");
        let forced = app.supersede(&first.id(), &json!({"reason": "manual", "force": true})).expect(201);
        assert_ne!(forced.id(), first.id());
        assert_eq!(forced.result_hash(), first.result_hash());
        assert_eq!(app.history(&first.id()).len(), 2);
    }

    fn a_new_plan_version_makes_it_stale_if_it_applies(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat", "flat@1"])).expect(201);
        let put = |query: &str, price: &str| {
            app.json("PUT", &format!("/v1/plans/flat{query}"), &flat("Flat", price)).expect(200).json()
        };
        assert_eq!(put("", "0.20")["version"], 1);
        assert_eq!(put("?in_force_from=2026-07-01", "0.30")["version"], 2);
        assert_eq!(app.comparison(&first.id()).json()["freshness"]["state"], "fresh");
        assert_eq!(put("?in_force_from=2026-06-16", "0.40")["version"], 3);
        let freshness = app.comparison(&first.id()).json()["freshness"].clone();
        assert_eq!((&freshness["state"], &freshness["reasons"][0]["kind"]), (&json!("stale"), &json!("plan_changed")));
        let second = app.supersede(&first.id(), &json!({"reason": "plan_changed"})).expect(201).json();
        assert_eq!(second["inputs"]["plan_versions"], json!({"flat": [1, 3], "flat@1": [1]}));
        // 15 days of 24 kWh at each price.
        assert_eq!(plan(&second, "flat")["total"], "231.00");
        assert_eq!(plan(&second, "flat@1")["total"], "159.00");
        // What was superseded keeps the freshness it had.
        assert_eq!(app.comparison(&first.id()).json()["freshness"]["reasons"], freshness["reasons"]);
        put("?in_force_from=2026-06-20", "0.50");
        assert_eq!(app.comparison(&first.id()).json()["freshness"]["reasons"], freshness["reasons"]);
    }

    fn a_changed_customer_makes_it_stale(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201);
        app.put_customer("c-1", &json!({"time_zone": "UTC", "name": "Ada"})).expect(200);
        let freshness = app.comparison(&first.id()).json()["freshness"].clone();
        assert_eq!((&freshness["state"], &freshness["reasons"][0]["kind"]), (&json!("stale"), &json!("customer_changed")));
        // Nothing that the bill depends on has changed.
        let same = app.supersede(&first.id(), &json!({"reason": "manual"})).expect(200);
        assert_eq!((same.id(), &same.json()["inputs"]["customer_version"]), (first.id(), &json!(2)));
        app.put_customer("c-1", &json!({"time_zone": "Europe/London", "name": "Ada"})).expect(200);
        app.import("c-1", &hours("2026-05-31T22:00:00Z", 2, 1.0)).expect(200);
        let second = app.supersede(&first.id(), &json!({"reason": "manual"})).expect(201);
        assert_eq!(second.json()["predecessor_id"], json!(first.id()));
    }

    fn if_stale_supersedes_within_the_call(app: &TestApp) {
        app.fill();
        let supersede = |question: &Value| app.json("POST", "/v1/comparisons?if_stale=supersede", question);
        let first = supersede(&question(&["flat"])).expect(201);
        assert_eq!(supersede(&question(&["flat"])).expect(200).body, first.body);
        app.import("c-1", &june(2.0)).expect(200);
        assert_eq!(app.compare(&question(&["flat"])).expect(200).id(), first.id());
        let second = supersede(&question(&["flat"])).expect(201);
        assert_eq!(second.json()["predecessor_id"], json!(first.id()));
        assert_eq!(app.comparison(&first.id()).json()["superseded"]["reason"], "usage_corrected");
        let retry = supersede(&question(&["flat"])).expect(200);
        assert_eq!((retry.id(), &retry.json()["freshness"]["state"]), (second.id(), &json!("fresh")));
    }

    fn if_match_and_if_none_match_are_honoured(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201);
        let path = path(&first.id());
        let supersede = |etag: &str, body: &Value| {
            let headers = [("content-type", "application/json"), ("if-match", etag)];
            app.send("POST", &format!("{path}/supersede"), &headers, body.to_string().as_bytes())
        };
        let fresh = first.header("etag").unwrap().to_owned();
        let unchanged = app.send("GET", &path, &[("if-none-match", &format!("\"x\", W/{fresh}"))], &[]).expect(304);
        assert_eq!((unchanged.header("etag"), unchanged.body.len()), (Some(fresh.as_str()), 0));
        app.send("GET", &path, &[("if-none-match", "*")], &[]).expect(304);
        app.import("c-1", &june(2.0)).expect(200);
        let stale = app.send("GET", &path, &[("if-none-match", &fresh)], &[]).expect(200);
        let reason = json!({"reason": "usage_corrected"});
        assert_eq!(supersede(&fresh, &reason).expect(412).code(), "precondition_failed");
        let stale_etag = stale.header("etag").unwrap();
        let second = supersede(stale_etag, &reason).expect(201);
        // The retry of the call that did it, then one of a caller that saw something else.
        assert_eq!(supersede(stale_etag, &reason).expect(200).id(), second.id());
        assert_eq!(supersede(&format!("\"y\", {stale_etag}"), &reason).expect(200).id(), second.id());
        assert_eq!(supersede(&fresh, &reason).expect(412).code(), "precondition_failed");
        assert_eq!(supersede("*", &reason).expect(200).id(), second.id());
        assert_eq!(app.history(&first.id()).len(), 2);
    }

    fn a_summary_has_no_lines_and_a_tag_of_its_own(app: &TestApp) {
        app.fill();
        let full = app.compare(&question(&["flat"])).expect(201);
        let summary = app.json("POST", "/v1/comparisons?detail=summary", &question(&["flat"])).expect(200);
        assert_ne!(summary.header("etag"), full.header("etag"));
        let mut expected = full.json();
        expected["result"]["plans"][0]["periods"][0].as_object_mut().unwrap().remove("line_items").unwrap();
        assert_eq!(summary.json(), expected);
        let location = summary.header("content-location").unwrap();
        assert_eq!(app.get(location).expect(200).body, summary.body);
    }

    fn what_stood_at_a_moment_can_be_asked(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201);
        let other = app.compare(&question(&["cheap"])).expect(201);
        app.import("c-1", &june(2.0)).expect(200);
        let second = app.supersede(&first.id(), &json!({"reason": "usage_corrected"})).expect(201);
        let as_of = |at: &Value, more: &str| -> Vec<String> {
            let path = format!("/v1/comparisons/as-of?customer_id=c-1&at={}{more}", at.as_str().unwrap());
            let reply = app.get(&path).expect(200).json();
            let mut ids: Vec<String> =
                reply["items"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap().to_owned()).collect();
            ids.sort();
            ids
        };
        let (created, replaced) = (&first.json()["created_at"], &second.json()["created_at"]);
        assert_eq!(as_of(&json!("2020-01-01T00:00:00Z"), ""), [""; 0]);
        assert_eq!(as_of(created, ""), [first.id()]);
        assert_eq!(as_of(&other.json()["created_at"], ""), [first.id(), other.id()]);
        assert_eq!(as_of(&other.json()["created_at"], "&plan_id=cheap"), [other.id()]);
        assert_eq!(as_of(replaced, "&plan_id=flat&billing_period=2026-06"), [second.id()]);
        assert_eq!(as_of(replaced, "&billing_period=2026-07"), [""; 0]);
    }

    fn lists_are_filtered_and_paged(app: &TestApp) {
        app.fill();
        let ids: Vec<String> = [&["flat"][..], &["cheap"], &["flat", "cheap"], &["tou"]]
            .iter()
            .map(|plans| app.compare(&question(plans)).expect(201).id())
            .collect();
        let list = |query: &str| -> (Vec<String>, Value, Option<String>) {
            let reply = app.get(&format!("/v1/comparisons?{query}")).expect(200);
            let body = reply.json();
            let ids = body["items"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap().to_owned()).collect();
            (ids, body["next"].clone(), reply.header("link").map(str::to_owned))
        };
        let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
        assert_eq!(list("customer_id=c-1"), (newest_first.clone(), Value::Null, None));
        assert_eq!(list("plan_id=flat").0, [ids[2].clone(), ids[0].clone()]);
        assert_eq!(list("billing_period=2026-06-01/2026-07-01&status=current").0, newest_first);
        assert_eq!(list("billing_period=2026").0, [""; 0]);
        assert_eq!(list("status=superseded").0, [""; 0]);
        assert_eq!(list("customer_id=nobody").0, [""; 0]);
        let (page, next, link) = list("limit=3");
        assert_eq!(page, newest_first[..3]);
        let next = next.as_str().expect("a cursor");
        assert_eq!(link, Some(format!("</v1/comparisons?limit=3&cursor={next}>; rel=\"next\"")));
        assert_eq!(list(&format!("limit=3&cursor={next}")), (newest_first[3..].to_vec(), Value::Null, None));

        app.import("c-1", &june(2.0)).expect(200);
        let second = app.supersede(&ids[0], &json!({"reason": "usage_corrected"})).expect(201);
        assert_eq!(list("stale=true&status=current").0, newest_first[..3]);
        assert_eq!(list("stale=false&status=current").0, [second.id()]);
        assert_eq!(list("status=superseded").0, [ids[0].clone()]);
        let created = second.json()["created_at"].as_str().unwrap().to_owned();
        assert_eq!(list(&format!("created_from={created}")).0, [second.id()]);
        assert_eq!(list(&format!("created_to={created}")).0, newest_first);
    }

    fn a_difference_is_told_line_by_line_and_split_by_cause(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat", "cheap"])).expect(201);
        assert_eq!(app.diff(&first.id()).expect(404).code(), "no_predecessor");
        // 24 kWh more on 10 June; from the 16th on flat costs 0.40.
        app.import("c-1", &hours("2026-06-10T00:00:00Z", 24, 2.0)).expect(200);
        app.json("PUT", "/v1/plans/flat?in_force_from=2026-06-16", &flat("Flat", "0.40")).expect(200);
        let second = app.supersede(&first.id(), &json!({"reason": "usage_corrected", "note": "exchanged"})).expect(201);
        let diff = app.diff(&second.id()).expect(200).json();
        assert_eq!((&diff["before"]["id"], &diff["after"]["id"]), (&json!(first.id()), &json!(second.id())));
        assert_eq!(diff["before"]["superseded_note"], "exchanged");
        assert_eq!(diff["changed"], json!({
            "usage": [{"date": "2026-06-10", "channel": "import", "kwh_before": "24", "kwh_after": "48", "intervals": 24}],
            "plan_versions": [{"plan_id": "flat", "before": [1], "after": [1, 2]}],
            "calendars": [], "price_series": [], "event_lists": [], "customer": false, "billing_months": false, "engine": false}));
        let plans = &diff["plans"];
        assert_eq!(plans[0]["plan_id"], "cheap");
        assert_eq!((&plans[0]["difference"], &plans[0]["split"]["readings"]), (&json!("2.40"), &json!("2.40")));
        assert_eq!((&plans[0]["split"]["prices"], &plans[0]["split"]["days"]), (&json!("0.00"), &json!("0.00")));
        let line = &plans[0]["line_items"][0];
        assert_eq!((&line["charge_id"], &line["before"]["quantity"], &line["after"]["quantity"]), (&json!("energy"), &json!("720"), &json!("744")));
        assert_eq!(plans[0]["line_items"].as_array().unwrap().len(), 1, "lines that are the same are not listed");
        // 360 kWh at 0.20 more each, and 24 kWh at 0.20.
        assert_eq!((&plans[1]["total_before"], &plans[1]["total_after"]), (&json!("159.00"), &json!("235.80")));
        assert_eq!((&plans[1]["split"]["prices"], &plans[1]["split"]["readings"]), (&json!("72.00"), &json!("4.80")));

        let back = app.get(&format!("{}/diff?with={}", path(&first.id()), second.id())).expect(200).json();
        assert_eq!(back["plans"][1]["difference"], "-76.80");
        let other = app.compare(&question(&["tou"])).expect(201);
        let reply = app.get(&format!("{}/diff?with={}", path(&first.id()), other.id())).expect(422);
        assert_eq!(reply.code(), "different_questions");
    }

    fn registered_periods_cut_the_months_of_their_cycle(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "UTC", "billing_cycle": "north"})).expect(201);
        app.put_plan("flat", &flat("Flat", "0.20")).expect(201);
        app.import("c-1", &hours("2026-06-01T00:00:00Z", 61 * 24, 1.0)).expect(200);
        let ask = json!({"customer_id": "c-1", "billing_period": {"start": "2026-06-10", "end": "2026-07-20"}, "plan_ids": ["flat"]});
        let starts = |comparison: &Value| -> Vec<Value> {
            plan(comparison, "flat")["periods"].as_array().unwrap().iter().map(|p| p["start"].clone()).collect()
        };
        let first = app.compare(&ask).expect(201);
        assert_eq!(starts(&first.json()), ["2026-06-10", "2026-07-10"]);
        let register = |id: &str, start: &str, end: &str| {
            let body = json!({"start": start, "end": end, "cycle": "north"});
            app.json("PUT", &format!("/v1/billing-periods/{id}"), &body).expect(201)
        };
        register("north-1", "2026-06-10", "2026-06-25");
        register("north-2", "2026-06-25", "2026-07-20");
        let stale = app.compare(&ask).expect(200).json();
        assert_eq!(stale["freshness"]["reasons"][0]["kind"], "periods_registered");
        let second = app.supersede(&first.id(), &json!({"reason": "manual"})).expect(201);
        assert_eq!(starts(&second.json()), ["2026-06-10", "2026-06-25"]);
        assert_eq!(app.diff(&second.id()).expect(200).json()["changed"]["billing_months"], true);
        let named = app.compare(&json!({"customer_id": "c-1", "billing_period": "north-1", "plan_ids": ["flat"]})).expect(201);
        assert_eq!(named.json()["billing_period"], json!({"start": "2026-06-10", "end": "2026-06-25"}));
    }
}

fn path(id: &str) -> String {
    format!("/v1/comparisons/{id}")
}
