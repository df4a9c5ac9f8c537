//! Answers that depend on a price series: missing, wrong, changed within the answer and beside it.

use serde_json::{Value, json};

use crate::helpers::{Reply, TestApp, question};
use crate::on_both_engines;

/// 1.5 times the price of each hour.
fn hourly() -> Value {
    json!({"name": "Hourly", "currency": "GBP", "charges": [
        {"id": "energy", "kind": "energy", "price": {"series": "spot", "factor": "1.5"}}]})
}

/// One price for some hours from an instant on.
fn hours(start: &str, n_hours: i64, price: &str) -> String {
    let start = chrono::DateTime::parse_from_rfc3339(start).unwrap();
    let rows = (0..n_hours).map(|hour| format!("{},{price}\n", (start + chrono::Duration::hours(hour)).to_rfc3339()));
    "start,price\n".to_owned() + &rows.collect::<String>()
}

fn total(reply: &Reply) -> Value {
    reply.json()["result"]["plans"][0]["total"].clone()
}

fn reasons(app: &TestApp, id: &str) -> Value {
    app.comparison(id).expect(200).json()["freshness"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| json!([reason["kind"], reason["count"]]))
        .collect()
}

on_both_engines! {
    fn an_answer_by_a_price_series_is_stale_when_its_prices_change(app: &TestApp) {
        app.fill();
        app.put_plan("hourly", &hourly()).expect(201);
        let refused = app.compare(&question(&["hourly", "flat"])).expect(422).json();
        assert_eq!((&refused["plans"][0]["code"], &refused["billable_plan_ids"]), (&json!("price_series_missing"), &json!(["flat"])));
        // The last hour of June is not there.
        app.put_prices("spot", &hours("2026-06-01T00:00:00Z", 719, "0.10"), "").expect(201);
        let refused = app.compare(&question(&["hourly"])).expect(422).json();
        let fault = &refused["plans"][0];
        assert_eq!((&fault["code"], &fault["pointer"]), (&json!("price_missing"), &json!("/charges/0")));
        assert!(fault["message"].as_str().unwrap().contains("2026-06-30T23:00:00Z"), "{fault}");

        app.put_prices("spot", &hours("2026-06-30T23:00:00Z", 49, "0.10"), "").expect(200);
        let first = app.compare(&question(&["hourly"])).expect(201);
        // 720 kWh x 0.10 x 1.5
        assert_eq!((total(&first), &first.json()["inputs"]["price_series"]), (json!("108.00"), &json!({"spot": 2})));
        let line = first.json()["result"]["plans"][0]["periods"][0]["line_items"][0].clone();
        assert_eq!((&line["quantity"], &line["rate"], &line["amount"]), (&json!("720"), &Value::Null, &json!("108")));
        assert_eq!(line["price_series"], json!({"id": "spot", "mean_rate": "0.150000"}));
        let id = first.id();

        app.put_prices("spot", &hours("2026-07-01T00:00:00Z", 24, "-1"), "").expect(200);
        assert_eq!(reasons(app, &id), json!([]), "prices of July are not its own");
        app.put_prices("spot", &hours("2026-06-10T12:00:00Z", 10, "-0.30"), "").expect(200);
        assert_eq!(reasons(app, &id), json!([["price_series_changed", 1]]));
        assert_eq!(app.compare(&question(&["hourly"])).expect(200).result_hash(), first.result_hash(), "still the answer");

        let second = app.supersede(&id, &json!({"reason": "price_series_changed"})).expect(201);
        // 710 x 0.10 - 10 x 0.30 = 68; x 1.5
        assert_eq!((total(&second), reasons(app, &second.id())), (json!("102.00"), json!([])));
        let diff = app.diff(&second.id()).expect(200).json();
        assert_eq!(diff["changed"]["price_series"], json!([{"id": "spot", "before": 2, "after": 4}]));
        let plan = &diff["plans"][0];
        assert_eq!((&plan["difference"], &plan["split"]["prices"]), (&json!("-6.00"), &json!("-6.00")));
        assert_eq!(plan["line_items"][0]["after"]["price_series"]["mean_rate"], "0.141667");
    }
}
