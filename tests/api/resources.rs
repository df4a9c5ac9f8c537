//! Customers, plans, usage, billing periods, the service itself.

use serde_json::{Value, json};

use crate::helpers::{Reply, TestApp, flat, hours, june, question, tou};
use crate::on_both_engines;

fn items(reply: &Reply) -> Vec<Value> {
    reply.json()["items"].as_array().expect("items").clone()
}

fn ids(reply: &Reply, member: &str) -> Vec<String> {
    items(reply).iter().map(|item| item[member].as_str().expect("an id").to_owned()).collect()
}

on_both_engines! {
    fn head_is_get_without_the_body(app: &TestApp) {
        app.fill();
        let id = app.compare(&question(&["flat"])).expect(201).id();
        for path in ["/livez", "/v1/customers/c-1", "/v1/plans/flat", "/v1/schemas/plan", &format!("/v1/comparisons/{id}")] {
            let (get, head) = (app.get(path).expect(200), app.send("HEAD", path, &[], &[]).expect(200));
            assert!(head.body.is_empty() && !get.body.is_empty(), "{path}");
            for name in ["etag", "content-type", "content-length"] {
                assert_eq!(head.header(name), get.header(name), "{path} {name}");
            }
        }
        app.send("HEAD", "/v1/customers/nobody", &[], &[]).expect(404);
    }

    fn a_customer_gets_a_version_when_it_changes(app: &TestApp) {
        let document = json!({
            "time_zone": "America/Phoenix", "name": "Ada", "billing_cycle": "north", "current_plan_id": "flat",
            "meter_points": [{"id": "1", "channel": "import"}],
            "attributes": {"contract_kw": "4.5", "direct_debit": true, "power_factor": {"by_date": {"2026-01": "95"}}}});
        let created = app.put_customer("c-1", &document).expect(201);
        assert_eq!(created.header("location"), Some("/v1/customers/c-1"));
        let mut body = created.json();
        for member in ["id", "version", "usage_revision", "created_at", "updated_at"] {
            assert!(body.as_object_mut().unwrap().remove(member).is_some(), "{member}");
        }
        assert_eq!(body, document);
        assert_eq!(app.put_customer("c-1", &document).expect(200).json()["version"], 1);
        assert_eq!(app.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(200).json()["version"], 2);
        assert_eq!(app.get("/v1/customers/c-1").expect(200).json()["time_zone"], "UTC");
    }

    fn lists_are_ordered_bytewise_and_paged(app: &TestApp) {
        for id in ["b", "B", "a-1", "a.1", "a~"] {
            app.put_customer(id, &json!({"time_zone": "UTC"})).expect(201);
        }
        let first = app.get("/v1/customers?limit=2").expect(200);
        assert_eq!((ids(&first, "id"), &first.json()["next"]), (vec!["B".to_owned(), "a-1".into()], &json!("a-1")));
        assert_eq!(first.header("link"), Some("</v1/customers?limit=2&cursor=a-1>; rel=\"next\""));
        let rest = app.get("/v1/customers?limit=3&cursor=a-1").expect(200);
        assert_eq!((ids(&rest, "id"), &rest.json()["next"]), (vec!["a.1".to_owned(), "a~".into(), "b".into()], &Value::Null));
        assert_eq!(app.get("/v1/customers/a%7E").expect(200).json()["id"], "a~");
    }

    fn a_plan_gets_a_version_when_body_or_dates_change(app: &TestApp) {
        let created = app.put_plan("flat", &flat("Flat", "0.20")).expect(201);
        assert_eq!(created.header("location"), Some("/v1/plans/flat/versions/1"));
        let body = created.json();
        assert_eq!((&body["version"], &body["name"], &body["currency"]), (&json!(1), &json!("Flat"), &json!("GBP")));
        // Another spelling of the same document is the same.
        let respelled = serde_json::to_vec_pretty(&flat("Flat", "0.20")).unwrap();
        let headers = [("content-type", "application/json; charset=UTF-8")];
        assert_eq!(app.send("PUT", "/v1/plans/flat", &headers, &respelled).expect(200).json()["version"], 1);
        let dated = app.json("PUT", "/v1/plans/flat?in_force_from=2026-07-01&in_force_to=2027-01-01", &flat("Flat", "0.20"));
        let dated = dated.expect(200).json();
        assert_eq!((&dated["version"], &dated["in_force_from"], &dated["in_force_to"]), (&json!(2), &json!("2026-07-01"), &json!("2027-01-01")));
        assert_eq!(app.get("/v1/plans/flat").expect(200).json(), dated);
        assert_eq!(app.get("/v1/plans/flat/versions/1").expect(200).json(), body);
        let versions = app.get("/v1/plans/flat/versions").expect(200);
        let numbers: Vec<Value> = items(&versions).iter().map(|version| version["version"].clone()).collect();
        assert_eq!(numbers, [json!(2), json!(1)]);
        assert!(items(&versions)[0].get("document").is_none());
        assert_eq!(app.get("/v1/plans/flat/versions/3").expect(404).code(), "plan_not_found");
    }

    fn plans_are_found_by_what_they_are(app: &TestApp) {
        app.put_plan("b", &flat("Green Day", "0.20")).expect(201);
        app.put_plan("a", &flat("Night", "0.20")).expect(201);
        app.json("PUT", "/v1/plans/c?in_force_from=2027-01-01", &flat("Green Night", "0.20")).expect(201);
        assert_eq!(ids(&app.get("/v1/plans").expect(200), "plan_id"), ["a", "b", "c"]);
        assert_eq!(ids(&app.get("/v1/plans?q=green").expect(200), "plan_id"), ["b", "c"]);
        assert_eq!(ids(&app.get("/v1/plans?in_force_on=2026-06-01").expect(200), "plan_id"), ["a", "b"]);
        assert_eq!(ids(&app.get("/v1/plans?tag=none").expect(200), "plan_id"), [""; 0]);
    }

    fn a_urdb_tariff_becomes_a_plan_and_keeps_its_source(app: &TestApp) {
        let urdb = json!({"label": "5", "name": "Residential", "utility": "Example", "sector": "Residential",
            "energyratestructure": [[{"rate": 0.1}]],
            "energyweekdayschedule": vec![vec![0; 24]; 12], "energyweekendschedule": vec![vec![0; 24]; 12],
            "fixedchargefirstmeter": 5.5, "fixedchargeunits": "$/month"});
        let headers = [("content-type", "application/vnd.urdb+json")];
        let put = app.send("PUT", "/v1/plans/urdb", &headers, urdb.to_string().as_bytes()).expect(201).json();
        assert_eq!((&put["media_type"], &put["currency"]), (&json!("application/vnd.urdb+json"), &json!("USD")));
        assert_eq!((&put["source"], put["document"]["charges"].is_array()), (&urdb, true));
        app.fill();
        let bill = app.compare(&question(&["urdb"])).expect(201).json();
        assert_eq!(bill["result"]["plans"][0]["total"], "77.50");
    }

    fn a_plan_is_checked_without_being_put(app: &TestApp) {
        let valid = app.json("POST", "/v1/plans/validate", &flat("Flat", "0.20")).expect(200).json();
        assert_eq!((&valid["valid"], &valid["format"], &valid["name"]), (&json!(true), &json!("own"), &json!("Flat")));
        assert_eq!(valid["needs"], json!({"attributes": [], "conditions": [], "calendars": [], "channels": ["import"], "look_back_months": 0,
            "plans": {}, "price_series": [], "event_lists": []}));
        assert_eq!(valid["charges"][1], json!({"charge_id": "energy", "kind": "energy", "label": "energy",
            "words": ["0.2 GBP/kWh for the kWh from the grid."]}));
        assert_eq!((&valid["not_billed"], &valid["warnings"], &valid["pictures"]), (&json!([]), &json!([]), &json!([])));
        assert_eq!(valid["document"], app.json("POST", "/v1/plans/validate", &valid["document"]).expect(200).json()["document"]);
        let invalid = app.json("POST", "/v1/plans/validate", &json!({"name": "x", "currency": "GBP", "charges": [], "colour": 1}));
        assert_eq!(invalid.expect(422).code(), "plan_invalid");
        assert_eq!(items(&app.get("/v1/plans").expect(200)), [] as [Value; 0]);
        // "validate" is also a plan's id like any other.
        app.put_plan("validate", &flat("Flat", "0.20")).expect(201);
        assert_eq!(app.get("/v1/plans/validate").expect(200).json()["plan_id"], "validate");
    }

    fn a_plan_is_told_in_words_to_whoever_wants_text(app: &TestApp) {
        let ask = |accept: &str, plan: &Value| {
            let headers = [("content-type", "application/json"), ("accept", accept)];
            app.send("POST", "/v1/plans/validate", &headers, plan.to_string().as_bytes())
        };
        let text = ask("text/plain", &tou()).expect(200);
        assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
        let words = String::from_utf8(text.body).unwrap();
        assert!(words.starts_with("Day and night\nPrices in GBP\n") && words.contains("Price of the next kWh"), "{words}");
        let json = ask("application/json, text/plain", &tou()).expect(200).json();
        assert_eq!(json["pictures"][0]["lines"][1].as_str().unwrap().chars().count(), 52);
        // A refusal is a problem document, whatever is wanted.
        let refused = ask("text/plain", &json!({"name": "x", "currency": "GBP", "charges": []})).expect(422);
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        assert_eq!(refused.code(), "plan_invalid");
    }

    fn readings_go_in_as_csv_or_json_and_come_out_by_range(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "Europe/London"})).expect(201);
        let csv = "start,import_kwh,export_kwh\n2026-06-01 00:00,0.5,0\n2026-06-01 00:30,0.25,0.125\n";
        let put = app.import_with("c-1", csv, "?time_zone=Europe/London&file_name=june.csv").expect(200).json();
        for (member, value) in [("format", json!("csv")), ("added", json!(4)), ("rows", json!(2)), ("revision_before", json!(0)), ("revision_after", json!(1))] {
            assert_eq!(put[member], value, "{member}");
        }
        let json_body = json!({"interval_minutes": 30, "readings": [{"start": "2026-06-01T00:00:00Z", "kwh": "0.75", "quality": "estimated"}]});
        let put = app.json("POST", "/v1/customers/c-1/usage", &json_body).expect(200).json();
        assert_eq!((&put["format"], &put["added"], &put["replaced"]), (&json!("json"), &json!(1), &json!(0)));

        let read = |query: &str| app.get(&format!("/v1/customers/c-1/usage?{query}")).expect(200);
        let all = items(&read("start=2026-06-01&end=2026-06-02"));
        assert_eq!(all.len(), 5);
        assert_eq!(all[0], json!({"channel": "export", "start": "2026-05-31T23:00:00Z", "end": "2026-05-31T23:30:00Z", "kwh": "0", "quality": "measured"}));
        assert_eq!(all[4]["quality"], "estimated");
        assert_eq!(items(&read("start=2026-05-31T23:30:00Z&end=2026-06-01T00:00:00Z&channel=export")), [all[2].clone()]);
        let page = read("start=2026-06-01&end=2026-06-02&limit=3");
        assert_eq!(items(&page), all[..3]);
        let next = page.json()["next"].as_str().unwrap().to_owned();
        assert_eq!(items(&read(&format!("start=2026-06-01&end=2026-06-02&limit=3&cursor={next}"))), all[3..]);

        let revisions = items(&app.get("/v1/customers/c-1/usage/revisions").expect(200));
        assert_eq!(revisions.len(), 2);
        assert_eq!((&revisions[0]["file_name"], &revisions[0]["first_start"], &revisions[0]["added"]), (&json!("june.csv"), &json!("2026-05-31T23:00:00Z"), &json!(4)));
        assert_eq!(items(&app.get("/v1/customers/c-1/usage/revisions?cursor=1").expect(200)), revisions[1..]);
    }

    fn a_differing_reading_is_replaced_kept_or_refused_as_said(app: &TestApp) {
        app.fill();
        let other = hours("2026-06-03T00:00:00Z", 2, 5.0);
        let refused = app.import_with("c-1", &other, "?on_conflict=refuse").expect(409);
        assert_eq!(refused.code(), "usage_conflict");
        let kept = app.import_with("c-1", &other, "?on_conflict=keep").expect(200).json();
        assert_eq!((&kept["kept"], &kept["revision_after"]), (&json!(2), &json!(1)));
        let worse = "start,kwh,quality\n2026-06-03T00:00:00Z,5,estimated\n2026-06-03T01:00:00Z,5,estimated\n";
        assert_eq!(app.import("c-1", worse).expect(200).json()["kept"], 2);
        assert_eq!(app.import_with("c-1", worse, "?on_conflict=replace").expect(200).json()["replaced"], 2);
        assert_eq!(app.import("c-1", &other).expect(200).json()["replaced"], 2);
    }

    fn a_large_file_is_spooled_and_stored_whole(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
        // Five years of hours: over a megabyte, so that it does not stay in memory.
        let csv = hours("2020-01-01T00:00:00Z", 5 * 8_766, 0.123_456);
        assert!(csv.len() > 1024 * 1024);
        let put = app.import("c-1", &csv).expect(200).json();
        assert_eq!((&put["added"], &put["revision_after"]), (&json!(43_830), &json!(1)));
    }

    fn a_billing_period_is_registered_once(app: &TestApp) {
        let put = |id: &str, start: &str, end: &str| {
            app.json("PUT", &format!("/v1/billing-periods/{id}"), &json!({"start": start, "end": end, "cycle": "north"}))
        };
        assert_eq!(put("june-north", "2026-06-10", "2026-07-09").expect(201).header("location"), Some("/v1/billing-periods/june-north"));
        put("june-north", "2026-06-10", "2026-07-09").expect(200);
        assert_eq!(put("june-north", "2026-06-10", "2026-07-10").expect(409).code(), "period_registered");
        assert_eq!(put("july-north", "2026-07-08", "2026-08-10").expect(409).code(), "period_overlap");
        put("july-north", "2026-07-09", "2026-08-10").expect(201);
        let read = app.get("/v1/billing-periods/june-north").expect(200).json();
        assert_eq!(read, json!({"id": "june-north", "start": "2026-06-10", "end": "2026-07-09", "cycle": "north"}));
        assert_eq!(ids(&app.get("/v1/billing-periods").expect(200), "id"), ["july-north", "june-north"]);
    }

    fn the_service_tells_what_it_takes(app: &TestApp) {
        assert_eq!(app.get("/livez").expect(200).json(), json!({"status": "alive"}));
        assert_eq!(app.get("/readyz").expect(200).json(), json!({"status": "ready"}));
        let config = app.get("/v1/config").expect(200).json();
        assert_eq!(config["limits"]["plans_per_comparison"], 1000);
        assert_eq!(config["ids"]["pattern"], "[A-Za-z0-9._~:-]{1,64}");
        assert!(app.get("/livez").header("x-request-id").is_some_and(|id| id.len() == 36));
    }

    fn a_thousand_plans_are_compared_in_one_call(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
        app.import("c-1", &june(1.0)).expect(200);
        let plans: Vec<String> = (0..1000).map(|i| format!("plan-{i:03}")).collect();
        for (i, plan) in plans.iter().enumerate() {
            app.put_plan(plan, &flat(plan, &format!("0.{:04}", 1000 + i))).expect(201);
        }
        let plans: Vec<&str> = plans.iter().map(String::as_str).collect();
        let body = app.compare(&question(&plans)).expect(201).json();
        assert_eq!(body["result"]["plans"].as_array().unwrap().len(), 1000);
        assert_eq!(body["result"]["cheapest_plan_id"], "plan-000");
        app.compare(&question(&plans)).expect(200);
    }
}
