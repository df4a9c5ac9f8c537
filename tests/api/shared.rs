//! Calendars, price series and event lists.

use serde_json::{Value, json};

use crate::helpers::{TestApp, at_once};
use crate::on_both_engines;

fn items(app: &TestApp, path: &str) -> Vec<Value> {
    app.get(path).expect(200).json()["items"].as_array().expect("items").clone()
}

/// Prices of 30 minutes from an instant on.
fn prices(from: &str, prices: &[&str]) -> String {
    let from = chrono::DateTime::parse_from_rfc3339(from).unwrap().with_timezone(&chrono::Utc);
    let rows = (0..).zip(prices).map(|(i, price)| {
        let start = from + chrono::Duration::minutes(30 * i);
        format!("{},{price}\n", start.format("%Y-%m-%dT%H:%M:%SZ"))
    });
    "start,price\n".to_owned() + &rows.collect::<String>()
}

on_both_engines! {
    fn a_calendar_gets_a_version_when_it_changes(app: &TestApp) {
        let body = json!({"name": "Federal", "dates": ["2026-12-25", "2026-01-01", "2026-12-25"]});
        let created = app.json("PUT", "/v1/calendars/us", &body).expect(201);
        assert_eq!(created.header("location"), Some("/v1/calendars/us"));
        let stored = created.json();
        assert_eq!((&stored["id"], &stored["version"], &stored["name"]), (&json!("us"), &json!(1), &json!("Federal")));
        assert_eq!(stored["dates"], json!(["2026-01-01", "2026-12-25"]));
        let respelled = json!({"name": "Federal", "dates": ["2026-01-01", "2026-12-25"]});
        assert_eq!(app.json("PUT", "/v1/calendars/us", &respelled).expect(200).json(), stored);
        assert_eq!(app.get("/v1/calendars/us").expect(200).json(), stored);

        let other = app.put_calendar("us", &["2026-01-01"]).expect(200).json();
        assert_eq!((&other["version"], &other["name"], &other["dates"]), (&json!(2), &Value::Null, &json!(["2026-01-01"])));
        app.put_calendar("de_by", &[]).expect(201);
        let listed = items(app, "/v1/calendars");
        let told: Vec<_> = listed.iter().map(|item| (&item["id"], &item["version"], &item["n_dates"])).collect();
        assert_eq!(told, [(&json!("de_by"), &json!(1), &json!(0)), (&json!("us"), &json!(2), &json!(1))]);
        assert!(listed[1].get("dates").is_none());
        assert_eq!(app.get("/v1/calendars?limit=1").expect(200).json()["next"], "de_by");
        assert_eq!(items(app, "/v1/calendars?cursor=de_by"), listed[1..]);
        let versions = items(app, "/v1/calendars/us/versions");
        let told: Vec<_> = versions.iter().map(|item| (&item["version"], &item["name"], &item["last_date"])).collect();
        assert_eq!(told, [(&json!(2), &Value::Null, &json!("2026-01-01")), (&json!(1), &json!("Federal"), &json!("2026-12-25"))]);
    }

    fn an_event_list_gets_a_version_when_it_changes(app: &TestApp) {
        let body = json!({"name": "Peaks", "events": ["2026-08-02T17:00-04:00/PT2H", "2026-07-15T18:00Z/PT1H", "2026-07-15T18:30Z/PT1H"]});
        let created = app.json("PUT", "/v1/event-lists/peaks", &body).expect(201);
        assert_eq!(created.header("location"), Some("/v1/event-lists/peaks"));
        let stored = created.json();
        assert_eq!((&stored["id"], &stored["version"], &stored["name"]), (&json!("peaks"), &json!(1), &json!("Peaks")));
        let events = ["2026-07-15T18:00:00Z/2026-07-15T19:30:00Z", "2026-08-02T21:00:00Z/2026-08-02T23:00:00Z"];
        assert_eq!(stored["events"], json!(events), "in order, in UTC, what overlaps is one");
        let respelled = json!({"name": "Peaks", "events": events});
        assert_eq!(app.json("PUT", "/v1/event-lists/peaks", &respelled).expect(200).json(), stored);
        assert_eq!(app.get("/v1/event-lists/peaks").expect(200).json(), stored);

        let other = app.put_events("peaks", &events[..1]).expect(200).json();
        assert_eq!((&other["version"], &other["name"], &other["events"]), (&json!(2), &Value::Null, &json!(&events[..1])));
        app.put_events("called_hours", &[]).expect(201);
        let listed = items(app, "/v1/event-lists");
        let told: Vec<_> = listed.iter().map(|item| (&item["id"], &item["version"], &item["n_events"])).collect();
        assert_eq!(told, [(&json!("called_hours"), &json!(1), &json!(0)), (&json!("peaks"), &json!(2), &json!(1))]);
        assert!(listed[1].get("events").is_none());
        assert_eq!(app.get("/v1/event-lists?limit=1").expect(200).json()["next"], "called_hours");
        let versions = items(app, "/v1/event-lists/peaks/versions");
        let told: Vec<_> = versions.iter().map(|item| (&item["version"], &item["name"], &item["last_end"])).collect();
        assert_eq!(told, [(&json!(2), &Value::Null, &json!("2026-07-15T19:30:00Z")), (&json!(1), &json!("Peaks"), &json!("2026-08-02T23:00:00Z"))]);
        assert_eq!(versions[1]["first_start"], "2026-07-15T18:00:00Z");
    }

    fn prices_go_into_a_series_by_their_instant(app: &TestApp) {
        let created = app.put_prices("spot", &prices("2026-06-01T00:00:00Z", &["0.10", "-0.2", "0.30"]), "").expect(201);
        assert_eq!(created.header("location"), Some("/v1/price-series/spot"));
        let mut body = created.json();
        assert!(body.as_object_mut().unwrap().remove("created_at").is_some());
        assert_eq!(body, json!({"id": "spot", "version": 1, "n_prices": 3, "first_start": "2026-06-01T00:00:00Z",
            "last_end": "2026-06-01T01:30:00Z", "added": 3, "replaced": 0, "unchanged": 0, "removed": 0}));

        let same = json!({"step_minutes": 30, "prices": [{"start": "2026-06-01T01:30:00+01:00", "price": "-0.20"}]});
        let same = app.json("PUT", "/v1/price-series/spot", &same).expect(200).json();
        assert_eq!((&same["version"], &same["unchanged"]), (&json!(1), &json!(1)));
        let more = app.put_prices("spot", &prices("2026-06-01T01:00:00Z", &["0.35", "0.4"]), "").expect(200).json();
        assert_eq!((&more["version"], &more["replaced"], &more["added"], &more["n_prices"]), (&json!(2), &json!(1), &json!(1), &json!(4)));

        let all = items(app, "/v1/price-series/spot");
        let told: Vec<_> = all.iter().map(|item| item["price"].as_str().unwrap()).collect();
        assert_eq!(told, ["0.1", "-0.2", "0.35", "0.4"]);
        assert_eq!(all[1], json!({"start": "2026-06-01T00:30:00Z", "end": "2026-06-01T01:00:00Z", "price": "-0.2"}));
        let range = "/v1/price-series/spot?start=2026-06-01T00:45:00Z&end=2026-06-01T02:30:00%2B01:00";
        assert_eq!(items(app, range), all[1..3]);
        let page = app.get("/v1/price-series/spot?limit=3").expect(200);
        let body = page.json();
        assert_eq!((&body["id"], &body["version"], body["items"].as_array().unwrap().len()), (&json!("spot"), &json!(2), 3));
        let next = format!("/v1/price-series/spot?limit=3&cursor={}", body["next"].as_str().unwrap());
        assert_eq!(page.header("link"), Some(format!("<{next}>; rel=\"next\"").as_str()));
        assert_eq!(items(app, &next), all[3..]);

        let whole = app.put_prices("spot", &prices("2026-06-01T00:30:00Z", &["-0.2", "1"]), "?replace=all").expect(200).json();
        let counts = ["version", "n_prices", "added", "replaced", "unchanged", "removed"].map(|member| whole[member].as_i64().unwrap());
        assert_eq!(counts, [3, 2, 0, 1, 1, 2]);
        app.put_prices("other", "start,price\n2026-06-01T00:00:00Z,1\n", "?step_minutes=60").expect(201);
        let listed = items(app, "/v1/price-series");
        let told: Vec<_> = listed.iter().map(|item| (&item["id"], &item["last_end"])).collect();
        assert_eq!(told, [(&json!("other"), &json!("2026-06-01T01:00:00Z")), (&json!("spot"), &json!("2026-06-01T01:30:00Z"))]);
        let numbers: Vec<Value> = items(app, "/v1/price-series/spot/versions").iter().map(|v| v["n_prices"].clone()).collect();
        assert_eq!(numbers, [json!(2), json!(4), json!(3)]);
    }

    fn prices_that_many_put_at_once_are_all_there(app: &TestApp) {
        let replies = at_once(12, |i| {
            app.put_prices("spot", &prices(&format!("2026-06-01T{:02}:00:00Z", 2 * i), &["1", "2"]), "")
        });
        assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
        assert!(replies.iter().all(|reply| reply.status < 300), "{replies:?}");
        assert_eq!(items(app, "/v1/price-series/spot").len(), 24);
        assert_eq!(items(app, "/v1/price-series/spot/versions").len(), 12);
    }

    fn a_year_of_quarter_hours_is_put_at_once(app: &TestApp) {
        let start = chrono::DateTime::from_timestamp(1_767_225_600, 0).unwrap();
        let rows = (0..35_040).map(|i| {
            let at = start + chrono::Duration::minutes(15 * i);
            format!("{},0.{:05}\n", at.format("%Y-%m-%dT%H:%M:%SZ"), (i * 7_919) % 100_000)
        });
        let csv = "start,price\n".to_owned() + &rows.collect::<String>();
        assert_eq!(app.put_prices("spot", &csv, "").expect(201).json()["n_prices"], 35_040);
        assert_eq!(app.put_prices("spot", &csv, "").expect(200).json()["version"], 1);
        assert_eq!(items(app, "/v1/price-series/spot?start=2026-12-31T23:00:00Z").len(), 4);
    }
}
