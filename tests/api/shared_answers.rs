//! What calendars, price series and event lists make of answers: fresh, stale, superseded, explained.

use serde_json::{Value, json};

use crate::helpers::{Reply, TestApp, question};
use crate::on_both_engines;

/// 0.10 a kWh, nothing on holidays.
fn free_holidays() -> Value {
    json!({"name": "Free holidays", "currency": "GBP",
        "schedules": {"tou": {"holidays": ["us"], "periods": [{"period": "free", "days": ["holiday"]}, {"period": "day"}]}},
        "charges": [{"id": "energy", "kind": "energy", "schedule": "tou", "prices": {"free": "0", "day": "0.10"}}]})
}

fn filled(app: &TestApp) {
    app.fill();
    app.put_plan("free", &free_holidays()).expect(201);
}

fn total(reply: &Reply) -> String {
    reply.json()["result"]["plans"][0]["total"].as_str().expect("a total").to_owned()
}

#[track_caller]
fn reasons(app: &TestApp, id: &str) -> Vec<(String, u64)> {
    let freshness = &app.comparison(id).expect(200).json()["freshness"];
    let reasons = freshness["reasons"].as_array().unwrap();
    assert_eq!(freshness["state"] == "stale", !reasons.is_empty(), "{freshness}");
    reasons.iter().map(|r| (r["kind"].as_str().unwrap().to_owned(), r["count"].as_u64().unwrap())).collect()
}

/// 1.00 a kWh within the events of a list, nothing elsewhere, and 10.00 a kW of the highest hour within them.
fn called(during: &Value) -> Value {
    json!({"name": "Called hours", "currency": "GBP",
        "schedules": {"s": {"periods": [{"period": "called", "during": during}, {"period": "rest"}]}},
        "charges": [{"id": "energy", "kind": "energy", "schedule": "s", "prices": {"called": "1", "rest": "0"}},
            {"id": "demand", "kind": "demand", "schedule": "s", "period": "called", "price": "10"}]})
}

on_both_engines! {
    fn changed_events_make_an_answer_stale_only_where_it_looked(app: &TestApp) {
        app.fill();
        app.put_plan("peak", &called(&json!("peaks"))).expect(201);
        let refused = app.compare(&question(&["peak", "flat"])).expect(422).json();
        let fault = &refused["plans"][0];
        assert_eq!((&fault["code"], &fault["pointer"]), (&json!("event_list_missing"), &json!("/schedules/s/periods/0/during")));
        assert_eq!(refused["billable_plan_ids"], json!(["flat"]));
        let june = "2026-06-15T13:00+01:00/PT2H";
        app.put_events("peaks", &[june, "2026-08-02T17:00Z/PT1H"]).expect(201);
        let first = app.compare(&question(&["peak"])).expect(201);
        // 2 kWh at 1.00 and 1 kW at 10.00, as where the plan holds them itself.
        assert_eq!(total(&first), "12.00");
        assert_eq!(first.json()["inputs"]["event_lists"], json!({"peaks": 1}));
        app.put_plan("peak:1", &called(&json!([june, "2026-08-02T17:00Z/PT1H"]))).expect(201);
        let written = app.compare(&question(&["peak:1"])).expect(201).json();
        assert_eq!(written["result"]["plans"][0]["periods"], first.json()["result"]["plans"][0]["periods"]);
        assert_eq!(written["inputs"].get("event_lists"), None);
        let id = first.id();
        // Events of other months, another name and another list: nothing that this answer looked at.
        let july = "2026-07-01T01:00Z/PT1H";
        app.put_events("peaks", &[june, july]).expect(200);
        let named = json!({"name": "Peaks", "events": ["2026-05-31T23:00Z/PT1H", june, july]});
        assert_eq!(app.json("PUT", "/v1/event-lists/peaks", &named).expect(200).json()["version"], 3);
        app.put_events("other", &["2026-06-10T12:00Z/PT1H"]).expect(201);
        assert_eq!(reasons(app, &id), []);

        let second = "2026-06-20T17:00Z/2026-06-20T18:00Z";
        let at = app.put_events("peaks", &[june, second]).expect(200).json()["created_at"].clone();
        assert_eq!(reasons(app, &id), [("event_list_changed".to_owned(), 1)]);
        let stale = app.compare(&question(&["peak"])).expect(200);
        assert_eq!((stale.id(), &stale.json()["freshness"]["stale_since"]), (id.clone(), &at));
        assert_eq!(stale.result_hash(), first.result_hash(), "still the answer");
        // Taken back: the same inputs, the same row, fresh again.
        app.put_events("peaks", &[june]).expect(200);
        let same = app.supersede(&id, &json!({"reason": "event_list_changed"})).expect(200);
        assert_eq!((same.id(), &same.json()["inputs"]["event_lists"]), (id.clone(), &json!({"peaks": 5})));
        assert_eq!(reasons(app, &id), []);

        app.put_events("peaks", &[june, second]).expect(200);
        let next = app.json("POST", "/v1/comparisons?if_stale=supersede", &question(&["peak"])).expect(201);
        assert_eq!(total(&next), "13.00");
        let old = app.comparison(&id).expect(200);
        assert_eq!((&old.json()["superseded"]["reason"], old.result_hash()), (&json!("event_list_changed"), first.result_hash()));
        assert_eq!(reasons(app, &id), [("event_list_changed".to_owned(), 1)], "what its successor had seen");
        let diff = app.diff(&next.id()).expect(200).json();
        assert_eq!(diff["changed"]["event_lists"], json!([{"id": "peaks", "before": 5, "after": 6}]));
        assert_eq!((&diff["changed"]["calendars"], &diff["changed"]["usage"]), (&json!([]), &json!([])));
        assert_eq!((&diff["plans"][0]["difference"], &diff["plans"][0]["split"]["days"]), (&json!("1.00"), &json!("1.00")));
        // A month in which nothing was called bills nothing.
        app.put_events("peaks", &["2026-08-02T17:00Z/PT1H"]).expect(200);
        let last = app.json("POST", "/v1/comparisons?if_stale=supersede", &question(&["peak"])).expect(201);
        assert_eq!(total(&last), "0.00");
    }

    fn a_changed_calendar_makes_an_answer_stale_only_where_it_looked(app: &TestApp) {
        filled(app);
        let refused = app.compare(&question(&["free", "flat"])).expect(422).json();
        assert_eq!((&refused["plans"][0]["code"], &refused["billable_plan_ids"]), (&json!("calendar_missing"), &json!(["flat"])));
        app.put_calendar("us", &["2026-01-01", "2026-06-19"]).expect(201);
        let first = app.compare(&question(&["free"])).expect(201);
        // 720 kWh less one day of 24.
        assert_eq!(total(&first), "69.60");
        assert_eq!(first.json()["inputs"]["calendars"], json!({"us": 1}));
        let id = first.id();
        // Other days, and a name: nothing that this answer looked at.
        app.put_calendar("us", &["2026-01-02", "2026-06-19"]).expect(200);
        app.put_calendar("us", &["2026-01-02", "2026-06-19", "2026-07-01"]).expect(200);
        let named = json!({"name": "US", "dates": ["2026-01-02", "2026-06-19", "2026-12-25"]});
        assert_eq!(app.json("PUT", "/v1/calendars/us", &named).expect(200).json()["version"], 4);
        app.put_calendar("other", &["2026-06-10"]).expect(201);
        assert_eq!(reasons(app, &id), []);

        let at = app.put_calendar("us", &["2026-06-19", "2026-06-30"]).expect(200).json()["created_at"].clone();
        assert_eq!(reasons(app, &id), [("calendar_changed".to_owned(), 1)]);
        let stale = app.compare(&question(&["free"])).expect(200);
        assert_eq!((stale.id(), &stale.json()["freshness"]["stale_since"]), (id.clone(), &at));
        assert_eq!(stale.result_hash(), first.result_hash(), "still the answer");
        // Taken back: the same inputs, the same row, fresh again.
        app.put_calendar("us", &["2026-06-19"]).expect(200);
        assert_eq!(reasons(app, &id), [("calendar_changed".to_owned(), 2)]);
        let same = app.supersede(&id, &json!({"reason": "calendar_changed"})).expect(200);
        assert_eq!((same.id(), &same.json()["inputs"]["calendars"]), (id.clone(), &json!({"us": 6})));
        assert_eq!(reasons(app, &id), []);

        app.put_calendar("us", &["2026-06-19", "2026-06-30"]).expect(200);
        let second = app.json("POST", "/v1/comparisons?if_stale=supersede", &question(&["free"])).expect(201);
        assert_eq!(total(&second), "67.20");
        let old = app.comparison(&id).expect(200).json();
        assert_eq!(old["superseded"]["reason"], "calendar_changed");
        assert_eq!(reasons(app, &id), [("calendar_changed".to_owned(), 1)], "what its successor had seen");
        app.put_calendar("us", &[]).expect(200);
        assert_eq!(reasons(app, &id), [("calendar_changed".to_owned(), 1)], "and no more");

        let diff = app.diff(&second.id()).expect(200).json();
        assert_eq!(diff["changed"]["calendars"], json!([{"id": "us", "before": 6, "after": 7}]));
        assert_eq!((&diff["changed"]["price_series"], &diff["changed"]["usage"]), (&json!([]), &json!([])));
        assert_eq!((&diff["plans"][0]["difference"], &diff["plans"][0]["split"]["days"]), (&json!("-2.40"), &json!("-2.40")));
    }

    fn a_calendar_that_a_new_plan_version_names_is_told(app: &TestApp) {
        filled(app);
        app.put_calendar("us", &["2026-06-19"]).expect(201);
        let first = app.compare(&question(&["flat"])).expect(201);
        app.put_plan("flat", &free_holidays()).expect(200);
        let second = app.supersede(&first.id(), &json!({"reason": "plan_changed"})).expect(201);
        let diff = app.diff(&second.id()).expect(200).json();
        assert_eq!(diff["changed"]["calendars"], json!([{"id": "us", "before": null, "after": 1}]));
        assert_eq!(diff["plans"][0]["split"]["prices"], "-89.40", "159.00 to 69.60");
    }
}
