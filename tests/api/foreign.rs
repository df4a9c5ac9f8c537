//! Foreign plans by their media types, with the choices they leave open as query parameters.

use serde_json::{Value, json};

use crate::helpers::{TestApp, june, question};
use crate::on_both_engines;

const OCTOPUS: &str = "application/vnd.octopus+json";

fn product() -> Value {
    let tariff = |rate: u32| {
        json!({"code": "E-1R-X", "standing_charge_exc_vat": 40, "standing_charge_inc_vat": 42,
            "standard_unit_rate_exc_vat": rate, "standard_unit_rate_inc_vat": 21})
    };
    json!({"code": "X", "display_name": "Flexible", "single_register_electricity_tariffs": {
        "_A": {"direct_debit_monthly": tariff(20), "prepayment": tariff(19)}, "_B": {"direct_debit_monthly": tariff(18)}}})
}

on_both_engines! {
    fn a_foreign_plan_is_taken_by_its_media_type_and_kept_as_it_came(app: &TestApp) {
        let cdr = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/plans/foreign/cdr-controlled-load.json"));
        let cdr = cdr.unwrap();
        let headers = [("content-type", "application/vnd.cdr-energy+json")];
        let plan = app.send("PUT", "/v1/plans/cdr", &headers, &cdr).expect(201).json();
        assert_eq!((&plan["currency"], &plan["media_type"]), (&json!("AUD"), &json!("application/vnd.cdr-energy+json")));
        assert_eq!(plan["source"], serde_json::from_slice::<Value>(&cdr).unwrap());
        assert_eq!(plan["document"]["charges"][0]["id"], "supply");
        let again = app.send("PUT", "/v1/plans/cdr", &headers, &cdr).expect(200).json();
        assert_eq!(again["version"], 1);
        let valid = app.send("POST", "/v1/plans/validate", &headers, &cdr).expect(200).json();
        assert_eq!(valid["document"], plan["document"]);
    }

    fn a_plan_with_fees_and_choices_is_taken_as_it_is_and_ranked(app: &TestApp) {
        let fees = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/plans/foreign/cdr-fees.json")).unwrap();
        let headers = [("content-type", "application/vnd.cdr-energy+json")];
        app.send("PUT", "/v1/plans/fees", &headers, &fees).expect(201);
        let flat = json!({"name": "Flat", "currency": "AUD", "charges": [{"id": "a", "kind": "energy", "price": "0.33"}]});
        app.put_plan("flat", &flat).expect(201);
        app.put_customer("c-1", &json!({"time_zone": "UTC", "attributes": {"pay_on_time": false}})).expect(201);
        app.import("c-1", &june(1.0)).expect(200);

        // 720 kWh: 180 and 30 for supply, with GST 231, and 15 for paying late; 237.60 at 33 cents.
        let answer = app.compare(&question(&["flat", "fees"])).expect(201);
        let result = &answer.json()["result"];
        assert_eq!(result["cheapest_plan_id"], "flat");
        let bill = &result["plans"][0];
        assert_eq!((&bill["total"], &bill["complete"], &bill["rank"]), (&json!("246.00"), &json!(true), &json!(2)));
        let not_applied: Vec<_> = bill["not_applied"].as_array().unwrap().iter().map(|fee| &fee["charge_id"]).collect();
        assert_eq!(not_applied, ["fee_paper_bill", "fee_exit_1_year", "fee_cc_processing"]);
        let optional = json!({"field": "/data/electricityContract/greenPowerCharges/0", "optional": true,
            "reason": "green power is a choice of the customer that the plan does not tell"});
        assert_eq!((bill["not_billed"].as_array().unwrap().len(), &bill["not_billed"][1]), (3, &optional));
        let summary = app.get(&format!("/v1/comparisons/{}?detail=summary", answer.id())).expect(200).json();
        assert_eq!(summary["result"]["plans"][0]["not_billed"], bill["not_billed"]);

        // What is not optional refuses the plan, alone; allowed, it leaves the bill without a rank.
        let mut open: Value = serde_json::from_slice(&fees).unwrap();
        open["data"]["electricityContract"]["terms"] = json!("a $5 fee applies");
        let put = |query: &str| app.send("PUT", &format!("/v1/plans/open{query}"), &headers, open.to_string().as_bytes());
        let refused = put("").expect(422).json();
        let pointers: Vec<_> = refused["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/data/electricityContract/terms"]);
        put("?allow_unbilled=true").expect(201);
        let open = app.compare(&question(&["flat", "open"])).expect(201).json();
        let bill = &open["result"]["plans"][1];
        assert_eq!((&bill["complete"], &bill["rank"]), (&json!(false), &Value::Null));
        assert_eq!(bill["not_billed"].as_array().unwrap().len(), 4);
    }

    fn what_a_foreign_plan_leaves_open_is_a_parameter(app: &TestApp) {
        let body = product().to_string();
        let put = |query: &str| {
            app.send("PUT", &format!("/v1/plans/octopus{query}"), &[("content-type", OCTOPUS)], body.as_bytes())
        };
        let refused = put("").expect(422).json();
        assert_eq!(refused["code"], "plan_invalid");
        assert_eq!(refused["errors"][0]["code"], "option_needed");
        assert_eq!(refused["errors"][0]["pointer"], "/single_register_electricity_tariffs");
        let refused = put("?region=A&vat=none").expect(400).json();
        assert_eq!((&refused["code"], &refused["parameter"]), (&json!("invalid_parameter"), &json!("vat")));
        let plan = put("?region=A&payment_method=prepayment&vat=exc").expect(201).json();
        assert_eq!(plan["document"]["charges"][1]["price"], "0.19");
        assert_eq!(plan["document"]["charges"][2]["kind"], "tax");
        let query = "/v1/plans/validate?region=B";
        let valid = app.send("POST", query, &[("content-type", OCTOPUS)], body.as_bytes()).expect(200).json();
        assert_eq!(valid["document"]["charges"][1]["price"], "0.21");
    }
}
