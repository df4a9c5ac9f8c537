//! Foreign plans by their media types, with the choices they leave open as query parameters.

use serde_json::{Value, json};

use crate::helpers::TestApp;
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
