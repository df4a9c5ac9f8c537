//! Plans that include others: supply and network.

use serde_json::{Value, json};

use crate::helpers::{TestApp, june, question};
use crate::on_both_engines;

/// 0.10 a day and a price for use.
fn network(price: &str) -> Value {
    json!({"name": "Network", "currency": "GBP", "charges": [
        {"id": "standing", "kind": "fixed", "price": "0.10", "per": "day"},
        {"id": "use", "kind": "energy", "price": price}]})
}

/// A price for energy, and 5 % on it and the network.
fn supply(price: &str) -> Value {
    json!({"name": "Supply", "currency": "GBP", "include": {"network": "net"}, "charges": [
        {"id": "energy", "kind": "energy", "price": price},
        {"id": "vat", "kind": "tax", "percent": "5"}]})
}

fn total(answer: &Value) -> &Value {
    &answer["result"]["plans"][0]["total"]
}

on_both_engines! {
    fn a_plan_is_told_with_the_charges_of_those_it_includes(app: &TestApp) {
        let supply = json!({"name": "Supply", "currency": "GBP", "include": {"network": "net"},
            "charges": [{"id": "energy", "kind": "energy", "price": "0.18"}, {"id": "vat", "kind": "tax", "percent": "5"}]});
        let validate = || app.json("POST", "/v1/plans/validate", &supply).expect(200).json();
        let ids = |answer: &Value| -> Vec<String> {
            let charges = answer["charges"].as_array().unwrap().iter();
            charges.map(|charge| charge["charge_id"].as_str().unwrap().to_owned()).collect()
        };
        let alone = validate();
        assert_eq!(ids(&alone), ["network", "energy", "vat"]);
        assert_eq!(alone["needs"]["plans"], json!({"network": "net"}));
        let warning = alone["warnings"][0].as_str().unwrap();
        assert!(warning.contains("\"net\"") && warning.contains("import it"), "{warning}");
        let network = json!({"name": "Network", "currency": "GBP", "conventions": {"daily_amounts": "average_month"},
            "charges": [{"id": "standing", "kind": "fixed", "price": "0.3", "per": "day"}]});
        app.put_plan("net", &network).expect(201);
        let together = validate();
        assert_eq!(ids(&together), ["network_standing", "energy", "vat"]);
        assert_eq!((&together["warnings"], &together["document"]), (&json!([]), &alone["document"]));
        assert_eq!(together["charges"][0]["words"], json!(["0.3 GBP a day."]));
        assert_eq!(together["rules"][0], "Plan net: Days are 365/12 a billing month.");
    }

    fn an_included_plan_is_an_input(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
        app.import("c-1", &june(1.0)).expect(200);

        // In any order: the supply can be put before its network, and cannot be billed without it.
        app.put_plan("supply", &supply("0.20")).expect(201);
        let refused = app.compare(&question(&["supply"])).expect(422);
        assert_eq!(refused.code(), "plans_not_billable");
        let fault = &refused.json()["plans"][0];
        assert_eq!((&fault["code"], &fault["pointer"]), (&json!("included_plan_missing"), &json!("/include/network")));
        app.put_plan("net", &network("0.05")).expect(201);

        // 720 kWh: 3 + 36 + 144 = 183, and 5 %.
        let first = app.compare(&question(&["supply"])).expect(201);
        let answer = first.json();
        assert_eq!(total(&answer), "192.15");
        assert_eq!(answer["plan_ids"], json!(["supply"]));
        assert_eq!(answer["inputs"]["plan_versions"], json!({"supply": [1]}));
        assert_eq!(answer["inputs"]["included_plan_versions"], json!({"net": [1]}));
        let lines = answer["result"]["plans"][0]["periods"][0]["line_items"].as_array().unwrap();
        let (id, of) = (&lines[0]["charge_id"], &lines[0]["included_plan_id"]);
        assert_eq!((id, of, &lines[2]["included_plan_id"]), (&json!("network_standing"), &json!("net"), &Value::Null));
        assert_eq!(app.compare(&question(&["supply"])).expect(200).body, first.body);
        // What includes the network is not what compares it.
        let of_plan = |plan: &str| app.get(&format!("/v1/comparisons?plan_id={plan}")).expect(200).json()["items"].as_array().unwrap().len();
        assert_eq!((of_plan("supply"), of_plan("net")), (1, 0));

        // A version that begins after the period is no change; one within it is.
        let put = |from: &str, price: &str| app.json("PUT", &format!("/v1/plans/net?in_force_from={from}"), &network(price));
        put("2026-07-01", "0.09").expect(200);
        assert_eq!(app.compare(&question(&["supply"])).expect(200).body, first.body);
        put("2026-06-21", "0.06").expect(200);
        let stale = app.compare(&question(&["supply"])).expect(200).json();
        assert_eq!((&stale["id"], &stale["natural_key"]), (&answer["id"], &answer["natural_key"]));
        let reasons = &stale["freshness"]["reasons"];
        assert_eq!((&reasons[0]["kind"], &reasons[0]["count"]), (&json!("plan_changed"), &json!(1)));

        // The last ten days, 240 kWh, cost 0.01 more, and 5 %: 2.52. Days are cut for both plans, and lines are one again.
        let second = app.supersede(&first.id(), &json!({"reason": "plan_changed"})).expect(201);
        let answer = second.json();
        assert_eq!((total(&answer), &answer["natural_key"]), (&json!("194.67"), &stale["natural_key"]));
        assert_eq!(answer["inputs"]["included_plan_versions"], json!({"net": [1, 3]}));
        assert_eq!(answer["inputs"]["plan_versions"], json!({"supply": [1]}));
        assert_eq!(answer["freshness"]["state"], "fresh");
        let lines = answer["result"]["plans"][0]["periods"][0]["line_items"].as_array().unwrap();
        let shown: Vec<_> = lines.iter().map(|line| (line["charge_id"].as_str().unwrap(), line["quantity"].as_str().unwrap(), line["plan_version"].as_u64().unwrap())).collect();
        assert_eq!(shown, [("network_standing", "30", 3), ("network_use", "480", 1), ("energy", "720", 1), ("vat", "185.4", 1), ("network_use", "240", 3)]);
        let difference = app.diff(&second.id()).expect(200).json();
        assert_eq!(difference["changed"]["included_plan_versions"], json!([{"plan_id": "net", "before": [1], "after": [1, 3]}]));
        assert_eq!((&difference["changed"]["plan_versions"], &difference["plans"][0]["split"]["prices"]), (&json!([]), &json!("2.52")));
        // The first one says what its successor had seen.
        let old = app.comparison(&first.id()).expect(200).json();
        assert_eq!(old["freshness"]["reasons"][0]["kind"], "plan_changed");

        // A pinned plan still takes its network as it is in force, and both can be asked for at once.
        let both = app.compare(&question(&["supply@1", "net"])).expect(201).json();
        assert_eq!(both["inputs"]["plan_versions"], json!({"net": [1, 3], "supply@1": [1]}));
        assert_eq!(both["inputs"]["included_plan_versions"], json!({"net": [1, 3]}));
        put("2026-06-30", "0.07").expect(200);
        let stale = app.compare(&question(&["supply@1", "net"])).expect(200).json();
        assert_eq!(stale["freshness"]["reasons"][0]["count"], 1);
    }

    fn plans_that_include_each_other_are_refused_and_the_answer_stays(app: &TestApp) {
        app.put_customer("c-1", &json!({"time_zone": "UTC"})).expect(201);
        app.import("c-1", &june(1.0)).expect(200);
        app.put_plan("net", &network("0.05")).expect(201);
        app.put_plan("supply", &supply("0.20")).expect(201);
        let first = app.compare(&question(&["supply"])).expect(201);
        let same = app.supersede(&first.id(), &json!({"reason": "manual"})).expect(200);
        assert_eq!(same.id(), first.id());

        let mut circle = network("0.05");
        circle["include"] = json!({"back": "supply"});
        app.put_plan("net", &circle).expect(200);
        let refused = app.supersede(&first.id(), &json!({"reason": "plan_changed"})).expect(422).json();
        assert_eq!(refused["plans"][0]["code"], "include_cycle");
        let current = app.compare(&question(&["supply"])).expect(200).json();
        assert_eq!((&current["status"], &current["freshness"]["state"]), (&json!("current"), &json!("stale")));
    }
}
