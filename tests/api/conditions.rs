//! Charges with a condition on an attribute of the customer.

use serde_json::json;

use crate::helpers::{TestApp, june, question};
use crate::on_both_engines;

on_both_engines! {
    fn a_condition_is_held_by_the_customers_attribute(app: &TestApp) {
        let customer = |attributes| json!({"time_zone": "UTC", "attributes": attributes});
        let plan = json!({"name": "Paid on time", "currency": "GBP", "charges": [
            {"id": "energy", "kind": "energy", "price": "0.20"},
            {"id": "on_time", "kind": "discount", "percent": "10", "on": ["energy"], "label": "Paid on time",
             "condition": {"attribute": "pay_on_time"}},
            {"id": "paper", "kind": "fixed", "price": "2", "condition": {"attribute": "billing", "is": "paper"}}]});
        app.put_customer("c-1", &customer(json!({"billing": "paper"}))).expect(201);
        app.put_plan("on-time", &plan).expect(201);
        app.import("c-1", &june(1.0)).expect(200);

        // 720 kWh: 144, and 2 for paper; the discount of 14.40 is not on the bill, and said.
        let first = app.compare(&question(&["on-time"])).expect(201);
        let bill = &first.json()["result"]["plans"][0];
        assert_eq!((&bill["total"], &bill["complete"]), (&json!("146.00"), &json!(true)));
        let listed = json!([{"charge_id": "on_time", "label": "Paid on time", "condition": "pay_on_time is true", "amount": "-14.4"}]);
        assert_eq!(bill["not_applied"], listed);
        let summary = app.get(&format!("/v1/comparisons/{}?detail=summary", first.id())).expect(200).json();
        assert_eq!(summary["result"]["plans"][0]["not_applied"], listed);

        // From the 16th on paid on time and without paper: the answer is stale, and 144 - 7.20 + 1 replaces it.
        let changed = json!({"pay_on_time": {"by_date": {"2026-06-16": true}},
            "billing": {"by_date": {"2026-01": "paper", "2026-06-16": "e_mail"}}});
        app.put_customer("c-1", &customer(changed.clone())).expect(200);
        assert_eq!(app.get("/v1/customers/c-1").expect(200).json()["attributes"], changed);
        let stale = app.compare(&question(&["on-time"])).expect(200).json();
        assert_eq!(stale["freshness"]["reasons"][0]["kind"], "customer_changed");
        let second = app.supersede(&first.id(), &json!({"reason": "manual"})).expect(201);
        let bill = &second.json()["result"]["plans"][0];
        assert_eq!(bill["total"], "137.80");
        let amounts: Vec<_> = bill["not_applied"].as_array().unwrap().iter().map(|charge| &charge["amount"]).collect();
        assert_eq!(amounts, ["-7.2", "1"]);
        let changed = app.diff(&second.id()).expect(200).json();
        assert_eq!((&changed["changed"]["customer"], &changed["plans"][0]["split"]["customer"]), (&json!(true), &json!("-8.20")));

        // A number where a word is asked for is a fault of the plan on this customer.
        app.put_customer("c-1", &customer(json!({"billing": "1"}))).expect(200);
        let refused = app.supersede(&second.id(), &json!({"reason": "manual"})).expect(422);
        assert_eq!(refused.code(), "plans_not_billable");
        assert_eq!(refused.json()["plans"][0]["code"], "attribute_not_a_word");
    }
}
