//! Imports as records, dry runs, earlier states, undoing, declared zeros and coverage, through HTTP.

use serde_json::{Value, json};

use crate::helpers::{Reply, TestApp, at_once, distinct, hours, june, question};
use crate::on_both_engines;

fn items(reply: &Reply) -> Vec<Value> {
    reply.json()["items"].as_array().expect("items").clone()
}

fn import(app: &TestApp, csv: &str, query: &str) -> Value {
    app.import_with("c-1", csv, query).expect(200).json()
}

fn revert(app: &TestApp, import: &Value, query: &str) -> Reply {
    let id = import["import_id"].as_str().expect("an import id");
    app.send("POST", &format!("/v1/imports/{id}/revert{query}"), &[], &[])
}

fn csv(app: &TestApp, path: &str) -> Vec<String> {
    let reply = app.send("GET", path, &[("accept", "text/csv")], &[]).expect(200);
    assert_eq!(reply.header("content-type"), Some("text/csv; charset=utf-8"));
    String::from_utf8(reply.body).unwrap().lines().map(str::to_owned).collect()
}

on_both_engines! {
    fn an_import_is_a_record_with_an_address_of_its_own(app: &TestApp) {
        app.fill();
        let reply = app.import_with("c-1", &hours("2026-06-30T00:00:00Z", 48, 2.0), "?file_name=late.csv").expect(200);
        let did = reply.json();
        assert_eq!((&did["added"], &did["replaced"], &did["dry_run"], &did["same_file_as"]), (&json!(24), &json!(24), &json!(false), &json!(null)));
        let location = reply.header("location").unwrap().to_owned();
        assert_eq!(location, format!("/v1/imports/{}", did["import_id"].as_str().unwrap()));
        let record = app.get(&location).expect(200).json();
        assert_eq!((&record["id"], &record["kind"], &record["state"]), (&did["import_id"], &json!("usage"), &json!("done")));
        assert_eq!((&record["file_name"], &record["format"], &record["customer_id"]), (&json!("late.csv"), &json!("csv"), &json!("c-1")));
        assert_eq!((&record["counts"]["added"], &record["counts"]["rows"], &record["on_conflict"]), (&json!(24), &json!(48), &json!("replace_unless_worse")));
        assert_eq!((&record["revision_before"], &record["revision_after"], &record["sha256"]), (&json!(1), &json!(2), &did["sha256"]));
        assert!(record["size_bytes"].as_u64().unwrap() > 1_000);

        let again = import(app, &hours("2026-06-30T00:00:00Z", 48, 2.0), "");
        assert_eq!((&again["same_file_as"], &again["unchanged"], &again["revision_after"]), (&did["import_id"], &json!(48), &json!(2)));
        let all = items(&app.get("/v1/imports").expect(200));
        let ids: Vec<&Value> = all.iter().map(|item| &item["id"]).collect();
        assert_eq!((ids.len(), ids[0], ids[1]), (3, &again["import_id"], &did["import_id"]));
        let sha256 = did["sha256"].as_str().unwrap();
        assert_eq!(items(&app.get(&format!("/v1/imports?sha256={sha256}&customer_id=c-1&state=done")).expect(200)).len(), 2);
        assert_eq!(items(&app.get("/v1/imports?customer_id=nobody").expect(200)), Vec::<Value>::new());
        let first = app.get("/v1/imports?limit=2").expect(200);
        assert!(first.header("link").unwrap().contains("rel=\"next\""));
        let cursor = first.json()["next"].as_str().unwrap().to_owned();
        let rest = app.get(&format!("/v1/imports?limit=2&cursor={cursor}")).expect(200).json();
        assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)));
        let sheet = csv(app, "/v1/imports?limit=2");
        assert_eq!((sheet.len(), sheet[0].split(',').count()), (3, 17));
        assert!(sheet[2].contains("late.csv"), "{sheet:?}");
    }

    fn a_dry_run_tells_days_and_stale_comparisons_and_changes_nothing(app: &TestApp) {
        app.fill();
        app.put_customer("c-1", &json!({"time_zone": "Europe/Berlin"})).expect(200);
        let comparison = app.compare(&question(&["flat"])).expect(201).id();
        let correction = hours("2026-06-30T20:00:00Z", 6, 3.0);
        let would = import(app, &correction, "?dry_run=true");
        assert_eq!((&would["dry_run"], &would["import_id"], &would["added"], &would["replaced"]), (&json!(true), &json!(null), &json!(2), &json!(4)));
        assert_eq!((&would["revision_before"], &would["revision_after"]), (&json!(1), &json!(2)));
        assert_eq!(would["stale_comparison_ids"], json!([comparison]));
        assert_eq!(would["channels"], json!([{"channel": "import", "added": 2, "replaced": 4, "removed": 0, "kwh_before": "4", "kwh_after": "18"}]));
        // 20:00 UTC is 22:00 in Berlin: two hours of 30 June, which has 24 of 1 kWh, and four of 1 July, which has two.
        assert_eq!(would["days"], json!([
            {"channel": "import", "date": "2026-06-30", "added": 0, "replaced": 2, "removed": 0, "kwh_before": "24", "kwh_after": "28"},
            {"channel": "import", "date": "2026-07-01", "added": 2, "replaced": 2, "removed": 0, "kwh_before": "2", "kwh_after": "12"}]));
        assert_eq!((app.database.count("imports"), app.database.count("usage_revisions")), (1, 1));
        assert_eq!(app.comparison(&comparison).json()["freshness"]["state"], "fresh");
        let did = import(app, &correction, "");
        for member in ["added", "replaced", "removed", "kept", "unchanged", "revision_after", "stale_comparison_ids", "sha256"] {
            assert_eq!(did[member], would[member], "{member}");
        }
        assert_eq!(did.get("days"), None);
    }

    fn revisions_tell_what_they_changed_and_every_state_can_be_read(app: &TestApp) {
        app.fill();
        import(app, &hours("2026-06-10T00:00:00Z", 2, 3.0), "?file_name=fix.csv");
        let revisions = items(&app.get("/v1/customers/c-1/usage/revisions").expect(200));
        assert_eq!(revisions[1]["channels"], json!([{"channel": "import", "added": 0, "replaced": 2, "removed": 0, "kwh_before": "2", "kwh_after": "6"}]));
        let record = app.get(&format!("/v1/imports/{}", revisions[1]["import_id"].as_str().unwrap())).expect(200).json();
        assert_eq!(record["file_name"], "fix.csv");
        let path = "/v1/customers/c-1/usage/revisions/2";
        let detail = app.get(path).expect(200).json();
        assert_eq!((&detail["revision"], &detail["replaced"], detail["items"].as_array().unwrap().len()), (&json!(2), &json!(2), 2));
        assert_eq!(detail["items"][1], json!({"channel": "import", "start": "2026-06-10T01:00:00Z", "end": "2026-06-10T02:00:00Z",
            "kwh_before": "1", "quality_before": "measured", "kwh_after": "3", "quality_after": "measured"}));
        let page = app.get(&format!("{path}?limit=1")).expect(200).json();
        let next = app.get(&format!("{path}?cursor={}", page["next"].as_str().unwrap())).expect(200).json();
        assert_eq!((page["items"][0].clone(), next["items"].clone()), (detail["items"][0].clone(), json!([detail["items"][1]])));
        assert_eq!(csv(app, path)[2], "import,2026-06-10T01:00:00Z,2026-06-10T02:00:00Z,1,measured,3,measured");
        assert_eq!(csv(app, "/v1/customers/c-1/usage/revisions").len(), 3);
        let at = |revision: &str| {
            let found = app.get(&format!("/v1/customers/c-1/usage?start=2026-06-10&end=2026-06-11{revision}")).expect(200);
            items(&found).iter().map(|item| item["kwh"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((at("&revision=0").len(), &at("&revision=1")[..2], &at("&revision=2")[..2]), (0, &["1".to_owned(), "1".to_owned()][..], &["3".to_owned(), "3".to_owned()][..]));
        assert_eq!(at(""), at("&revision=2"));
    }

    fn an_import_is_taken_back_once(app: &TestApp) {
        app.fill();
        let comparison = app.compare(&question(&["flat"])).expect(201);
        let wrong = import(app, &hours("2026-06-29T00:00:00Z", 72, 9.0), "");
        import(app, &hours("2026-06-30T00:00:00Z", 24, 2.0), "");
        app.supersede(&comparison.id(), &json!({"reason": "usage_corrected"})).expect(201);
        let would = revert(app, &wrong, "?dry_run=true").expect(200).json();
        assert_eq!((&would["dry_run"], &would["replaced"], &would["removed"], &would["newer"]), (&json!(true), &json!(24), &json!(24), &json!(24)));
        assert_eq!(would["days"][0], json!({"channel": "import", "date": "2026-06-29", "added": 0, "replaced": 24, "removed": 0, "kwh_before": "216", "kwh_after": "24"}));
        let reply = revert(app, &wrong, "").expect(201);
        let did = reply.json();
        for member in ["replaced", "removed", "newer", "revision_after", "stale_comparison_ids"] {
            assert_eq!(did[member], would[member], "{member}");
        }
        assert_eq!((&did["reverts"], &did["format"], did["stale_comparison_ids"].as_array().unwrap().len()), (&wrong["import_id"], &json!("revert"), 1));
        assert_eq!(reply.header("location").unwrap(), format!("/v1/imports/{}", did["import_id"].as_str().unwrap()));
        let again = revert(app, &wrong, "").expect(200);
        assert_eq!((again.header("idempotent-replayed"), &again.json()["import_id"]), (Some("true"), &did["import_id"]));
        let reverted = items(&app.get("/v1/imports?state=reverted").expect(200));
        assert_eq!((reverted.len(), &reverted[0]["reverted_by"]), (1, &did["import_id"]));
        let current = app.compare(&question(&["flat"])).expect(200).json();
        assert_eq!((&current["freshness"]["state"], &current["freshness"]["reasons"][0]["kind"]), (&json!("stale"), &json!("usage_corrected")));
        let fresh = app.supersede(current["id"].as_str().unwrap(), &json!({"reason": "usage_corrected"})).expect(201).json();
        assert_eq!(fresh["result"]["usage"]["import_kwh"], "744");
    }

    fn a_revert_that_brings_the_recorded_readings_back_leaves_the_answer_as_it_is(app: &TestApp) {
        app.fill();
        let first = app.compare(&question(&["flat"])).expect(201).id();
        let wrong = import(app, &hours("2026-06-29T00:00:00Z", 24, 9.0), "");
        revert(app, &wrong, "").expect(201);
        let same = app.supersede(&first, &json!({"reason": "usage_corrected"})).expect(200).json();
        assert_eq!((&same["id"], &same["freshness"]["state"]), (&json!(first), &json!("fresh")));
    }

    fn reverts_at_once_are_one(app: &TestApp) {
        app.fill();
        let wrong = import(app, &hours("2026-06-29T00:00:00Z", 24, 9.0), "");
        let replies = at_once(8, |_| revert(app, &wrong, ""));
        assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
        let ids: Vec<String> = replies.iter().map(|reply| reply.json()["import_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!((distinct(&ids), app.database.count("usage_revisions")), (1, 3));
    }

    fn a_gap_is_zero_only_where_it_is_declared_so_and_is_counted(app: &TestApp) {
        app.fill();
        let all = june(1.0);
        let lines: Vec<&str> = all.lines().collect();
        let gappy = [&lines[..101], &lines[125..]].concat().join("\n");
        app.put_customer("c-2", &json!({"time_zone": "UTC"})).expect(201);
        let plain = app.import("c-2", &gappy).expect(200).json();
        assert_eq!((&plain["added"], &plain["filled"]), (&json!(696), &json!(0)));
        let filled = app.import_with("c-2", &gappy, "?fill=zero").expect(200).json();
        assert_eq!((&filled["added"], &filled["filled"], &filled["unchanged"]), (&json!(24), &json!(24), &json!(696)));
        let ask = json!({"customer_id": "c-2", "billing_period": "2026-06", "plan_ids": ["flat"]});
        let usage = app.compare(&ask).expect(201).json()["result"]["usage"].clone();
        assert_eq!((&usage["import_kwh"], &usage["filled_zero"], &usage["missing"]), (&json!("696"), &json!(24), &json!(0)));
        let stored = items(&app.get("/v1/customers/c-2/usage?start=2026-06-05&end=2026-06-06").expect(200));
        assert_eq!((&stored[4]["quality"], &stored[4]["kwh"]), (&json!("filled_zero"), &json!("0")));
        let real = app.import_with("c-2", &all, "?on_conflict=keep").expect(200).json();
        assert_eq!((&real["replaced"], &real["unchanged"]), (&json!(24), &json!(696)));
        let within = app.import_with("c-2", &hours("2026-07-02T00:00:00Z", 2, 1.0), "?fill=zero&fill_start=2026-07-01&fill_end=2026-07-03").expect(200).json();
        assert_eq!((&within["added"], &within["filled"]), (&json!(48), &json!(46)));
        // Without a declared zero, the answer is as it was before there were any.
        let untouched = app.compare(&question(&["flat"])).expect(201).json();
        assert_eq!(untouched["result"]["usage"].get("filled_zero"), None);
    }

    fn coverage_tells_months_gaps_and_qualities(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "Europe/London"})).expect(201);
        let path = "/v1/customers/c-1/usage/coverage";
        let nothing = app.get(path).expect(200).json();
        assert_eq!((&nothing["items"], &nothing["start"]), (&json!([]), &json!(null)));
        import(app, &hours("2026-05-30T23:00:00Z", 48, 0.5), "");
        import(app, "start,kwh,quality\n2026-06-02T23:00:00Z,1,estimated\n2026-06-03T00:00:00Z,,missing\n", "");
        let told = app.get(path).expect(200).json();
        assert_eq!((&told["start"], &told["end"]), (&json!("2026-04-30T23:00:00Z"), &json!("2026-06-30T23:00:00Z")));
        let months = told["items"].as_array().unwrap();
        assert_eq!(months.len(), 2);
        assert_eq!((&months[0]["month"], &months[0]["days"], &months[0]["intervals"], &months[0]["expected_intervals"]), (&json!("2026-05"), &json!(31), &json!(24), &json!(744)));
        assert_eq!(months[0]["gaps"], json!([{"start": "2026-04-30T23:00:00Z", "end": "2026-05-30T23:00:00Z", "intervals": 720}]));
        assert_eq!((&months[1]["kwh"], &months[1]["interval_minutes"]), (&json!("13"), &json!([60])));
        let quality = &months[1]["quality"];
        assert_eq!((&quality["measured"], &quality["estimated"], &quality["filled_zero"]), (&json!(24), &json!(1), &json!(0)));
        assert_eq!(months[1]["gaps"][0], json!({"start": "2026-06-01T23:00:00Z", "end": "2026-06-02T23:00:00Z", "intervals": 24}));
        let part = app.get(&format!("{path}?start=2026-06-01&end=2026-06-02")).expect(200).json();
        assert_eq!((&part["items"][0]["days"], &part["items"][0]["gaps"]), (&json!(1), &json!([])));
        let page = app.get(&format!("{path}?limit=1")).expect(200).json();
        assert_eq!(page["items"], json!([months[0]]));
        assert_eq!(app.get(&format!("{path}?limit=1&cursor={}", page["next"].as_str().unwrap())).expect(200).json()["items"], json!([months[1]]));
        assert_eq!(csv(app, path)[1], "import,2026-05,31,744,24,60,12,24,0,0,0,0,2026-04-30T23:00:00Z/2026-05-30T23:00:00Z");
        assert_eq!(app.get(&format!("{path}?channel=export")).expect(200).json()["items"], json!([]));
    }
}
