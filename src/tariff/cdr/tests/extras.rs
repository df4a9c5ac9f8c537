//! Discounts, fees, metering charges and what the customer chooses.

use super::*;

#[test]
fn a_discount_lowers_what_gst_is_on_and_names_its_condition() {
    let discount = |over: Value| {
        let mut discount = json!({"displayName": "Always", "type": "GUARANTEED", "methodUType": "percentOfUse",
            "percentOfUse": {"rate": "0.05"}});
        merge(&mut discount, over);
        json!({"discounts": [discount]})
    };
    let of_use = convert(&contract(discount(json!({}))));
    assert_eq!(
        of_use["charges"].as_array().unwrap()[2..],
        [
            json!({"id": "discount", "kind": "discount", "label": "Always", "percent": "5", "on": ["energy"]}),
            json!({"id": "gst", "kind": "tax", "label": "GST", "percent": "10", "on": ["supply", "energy", "discount"]})
        ]
    );
    let of_bill = json!({"methodUType": "percentOfBill", "percentOfUse": null, "percentOfBill": {"rate": "0.05"}});
    let of_bill = discount(of_bill);
    assert_eq!(convert(&contract(of_bill.clone()))["charges"][2]["on"], json!(["supply", "energy"]));
    let mut with_feed_in = of_bill;
    merge(&mut with_feed_in, json!({"solarFeedInTariff": [{"singleTariff": {"amount": "0.07"}}]}));
    assert_eq!(faults(&contract(with_feed_in)), fault("not_billable", "/discounts/0"));
    for unknown in [
        json!({"type": "CONDITIONAL", "category": "OTHER"}),
        json!({"type": "CONDITIONAL"}),
        json!({"type": "OTHER", "category": "PAY_ON_TIME"}),
        json!({"endDate": "2027-01-01"}),
        json!({"percentOfUse": null, "methodUType": "fixedAmount", "fixedAmount": {"amount": "50"}}),
        json!({"methodUType": "percentOverThreshold"}),
    ] {
        assert_eq!(faults(&contract(discount(unknown))), fault("not_billable", "/discounts/0"));
    }
    for (category, attribute) in [("PAY_ON_TIME", "pay_on_time"), ("DIRECT_DEBIT", "direct_debit")] {
        let conditional = convert(&contract(discount(json!({"type": "CONDITIONAL", "category": category}))));
        assert_eq!(conditional["charges"][2]["condition"], json!({"attribute": attribute}));
        assert_eq!(conditional["charges"][3]["on"], json!(["supply", "energy", "discount"]));
    }
    let percent = discount(json!({"percentOfUse": {"rate": "5"}}));
    assert_eq!(faults(&contract(percent)), fault("out_of_range", "/discounts/0/percentOfUse/rate"));
}

#[test]
fn fees_and_metering_charges_include_gst() {
    let plan = json!({"displayName": "P", "meteringCharges": [
            {"displayName": "Meter", "minimumValue": "0.10", "period": "P1D"}],
        "electricityContract": contract(json!({"fees": [
            {"type": "MEMBERSHIP", "term": "ANNUAL", "amount": "79.00", "description": "Club"},
            {"type": "EXIT", "term": "FIXED", "amount": "0.00"}]}))});
    let charges = convert(&plan)["charges"].clone();
    assert_eq!(charges[2]["on"], json!(["supply", "energy"]));
    assert_eq!(charges[3], json!({"id": "fee", "kind": "fixed", "label": "Club", "price": "79", "per": "year"}));
    assert_eq!(charges[4], json!({"id": "metering", "kind": "fixed", "label": "Meter", "price": "0.1", "per": "day"}));
    let weekly = json!({"fees": [{"type": "CONTRIBUTION", "term": "WEEKLY", "amount": "3.5"}]});
    let weekly = &convert(&contract(weekly))["charges"][3];
    assert_eq!((&weekly["price"], &weekly["per"]), (&json!({"divide": ["3.5", "7"]}), &json!("day")));
    let range = json!({"electricityContract": contract(json!({})), "meteringCharges": [
        {"displayName": "Meter", "minimumValue": "0.10", "maximumValue": "2", "period": "P1D"}]});
    assert_eq!(faults(&range), fault("not_billable", "/meteringCharges/0"));
}

/// The charges of fees, which stand behind supply, energy and GST.
fn fees(fees: &[Value]) -> Vec<Value> {
    convert(&contract(json!({"fees": fees})))["charges"].as_array().unwrap()[3..].to_vec()
}

#[test]
fn a_fee_for_what_the_customer_does_is_a_charge_with_that_condition() {
    let fee = |kind: &str, term: &str| json!({"type": kind, "term": term, "amount": "2.50", "description": "d"});
    for (kind, id) in [
        ("PAPER_BILL", "paper_bill"),
        ("RECONNECTION", "reconnection"),
        ("DISCONNECT_NON_PAY", "disconnect_non_pay"),
        ("DD_DISHONOUR", "dd_dishonour"),
        ("OTHER", "other"),
    ] {
        let charge = json!({"id": format!("fee_{id}"), "kind": "fixed", "label": "d", "price": "2.5",
            "per": "billing_period", "condition": {"attribute": id}});
        assert_eq!(fees(&[fee(kind, "FIXED")]), [charge]);
    }
    for (term, price, per) in [
        ("DAILY", json!("2.5"), "day"),
        ("WEEKLY", json!({"divide": ["2.5", "7"]}), "day"),
        ("MONTHLY", json!("2.5"), "month"),
        ("ANNUAL", json!("2.5"), "year"),
        ("BIANNUAL", json!("5"), "year"),
    ] {
        for (kind, condition) in [("PAPER_BILL", json!({"attribute": "paper_bill"})), ("MEMBERSHIP", Value::Null)] {
            let charge = &fees(&[fee(kind, term)])[0];
            assert_eq!((&charge["price"], &charge["per"]), (&price, &json!(per)), "{term}");
            assert_eq!(charge["condition"], condition, "{kind}");
        }
    }
    let unnamed = fees(&[json!({"type": "DISCONNECT_MOVE_OUT", "term": "FIXED", "amount": "9"})]);
    assert_eq!(unnamed[0]["label"], "Disconnection fee on moving out");
}

#[test]
fn who_does_not_pay_on_time_loses_the_discount_and_pays_the_fee() {
    let discount = json!({"displayName": "d", "type": "CONDITIONAL", "category": "PAY_ON_TIME",
        "methodUType": "percentOfBill", "percentOfBill": {"rate": "0.1"}});
    let late = json!({"type": "LATE_PAYMENT", "term": "FIXED", "amount": "15"});
    let plan = convert(&contract(json!({"discounts": [discount], "fees": [late]})));
    assert_eq!(plan["charges"][2]["condition"], json!({"attribute": "pay_on_time"}));
    assert_eq!(plan["charges"][4]["condition"], json!({"attribute": "pay_on_time", "is": false}));
}

#[test]
fn fees_that_may_be_alternatives_ask_for_attributes_of_their_own() {
    let fee = |kind: &str, term: &str, amount: &str| json!({"type": kind, "term": term, "amount": amount});
    let charges = fees(&[
        fee("EXIT", "1_YEAR", "90"),
        fee("EXIT", "2_YEAR", "70"),
        fee("LATE_PAYMENT", "FIXED", "12"),
        fee("LATE_PAYMENT", "FIXED", "20"),
        fee("MEMBERSHIP", "ANNUAL", "1"),
        fee("CONTRIBUTION", "ANNUAL", "1"),
    ]);
    let asked: Vec<(&str, &Value)> =
        charges.iter().map(|charge| (charge["id"].as_str().unwrap(), &charge["condition"])).collect();
    assert_eq!(
        asked,
        [
            ("fee_exit_1_year", &json!({"attribute": "exit_1_year"})),
            ("fee_exit_2_year", &json!({"attribute": "exit_2_year"})),
            ("fee_late_payment", &json!({"attribute": "pay_on_time", "is": false})),
            ("fee_late_payment_2", &json!({"attribute": "late_payment_2"})),
            ("fee", &Value::Null),
            ("fee_2", &Value::Null),
        ]
    );
}

#[test]
fn a_fee_is_whole_in_a_billing_month_or_not_in_it() {
    let conventions = |fee: Value| convert(&contract(json!({"fees": [fee]})))["conventions"].clone();
    let paper = json!({"type": "PAPER_BILL", "term": "FIXED", "amount": "2"});
    assert_eq!(conventions(paper), json!({"dated_values": "at_end"}));
    assert_eq!(conventions(json!({"type": "MEMBERSHIP", "term": "MONTHLY", "amount": "2"})), Value::Null);
}

#[test]
fn a_fee_that_is_a_share_of_the_bill_stands_below_all_of_it() {
    let share = |kind: &str, rate: &str| json!({"type": kind, "term": "PERCENT_OF_BILL", "rate": rate});
    let plan = json!({"meteringCharges": [{"displayName": "Meter", "minimumValue": "0.10", "period": "P1D"}],
        "electricityContract": contract(json!({"solarFeedInTariff": [{"singleTariff": {"amount": "0.07"}}],
            "fees": [share("CC_PROCESSING", "0.0075"), {"type": "PAPER_BILL", "term": "FIXED", "amount": "2"},
                share("MEMBERSHIP", "0.01")]}))});
    let charges = convert(&plan)["charges"].as_array().unwrap()[3..].to_vec();
    let ids: Vec<&str> = charges.iter().map(|charge| charge["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["fee_paper_bill", "metering", "feed_in", "fee_cc_processing", "fee"]);
    let above = ["supply", "energy", "gst", "fee_paper_bill", "metering", "feed_in"];
    assert_eq!(
        charges[3],
        json!({"id": "fee_cc_processing", "kind": "fixed", "label": "Card processing fee", "percent": "0.75",
            "measure": {"max": ["0", {"amount": above}]}, "per": "billing_period",
            "condition": {"attribute": "cc_processing"}})
    );
    assert_eq!(charges[4]["condition"], Value::Null, "everyone is a member");
    assert_eq!(charges[4]["measure"], charges[3]["measure"], "a share is of no other share");
    let too_much = contract(json!({"fees": [share("CC_PROCESSING", "1.5")]}));
    assert_eq!(faults(&too_much), fault("out_of_range", "/fees/0/rate"));
}

#[test]
fn a_fee_whose_amount_or_payer_is_not_told_is_refused() {
    let fee = |kind: &str, term: &str| json!({"type": kind, "term": term, "amount": "70"});
    for fee in [
        fee("RECONNECTION", "VARIABLE"),
        fee("EXIT", "6_YEAR"),
        fee("PAPER_BILL", "QUARTERLY"),
        fee("CC_PROCESSING", "PERCENT_OF_BILL"),
        fee("MEMBERSHIP", "FIXED"),
        fee("OTHER", "MONTHLY"),
        fee("SOMETHING_NEW", "FIXED"),
        json!({"type": "EXIT", "term": "FIXED"}),
        json!({"type": "EXIT", "term": "FIXED", "rate": "0.1"}),
    ] {
        assert_eq!(faults(&contract(json!({"fees": [fee]}))), fault("not_billable", "/fees/0"), "{fee}");
    }
}

#[test]
fn what_the_customer_chooses_refuses_no_plan_and_is_listed_as_optional() {
    let plan =
        contract(json!({"greenPowerCharges": [{"displayName": "Green"}], "eligibility": [{"type": "SENIOR_CARD"}],
        "incentives": [{"category": "GIFT"}, {"category": "ACCOUNT_CREDIT"}]}));
    let listed = convert(&plan)["not_billed"].as_array().unwrap().clone();
    let parts: Vec<(&str, bool)> =
        listed.iter().map(|part| (part["field"].as_str().unwrap(), part["optional"] == true)).collect();
    assert_eq!(parts, [("/greenPowerCharges/0", true), ("/incentives/1", true), ("/eligibility/0", true)]);
    let mut with_terms = plan;
    merge(&mut with_terms, json!({"terms": "a $5 fee applies"}));
    assert_eq!(faults(&with_terms), fault("not_billable", "/terms"), "of what is not optional alone");
}

#[test]
fn more_charges_of_a_kind_than_any_plan_has_are_refused() {
    let fee = json!({"type": "CC_PROCESSING", "term": "PERCENT_OF_BILL", "rate": "0.01"});
    assert_eq!(fees(&vec![fee.clone(); 100]).len(), 100);
    for (list, item) in [("fees", fee), ("discounts", json!({})), ("controlledLoad", json!({}))] {
        assert_eq!(faults(&contract(json!({list: vec![item; 101]}))), fault("too_many", &format!("/{list}")));
    }
    let demand = json!({"amount": "1", "measureUnit": "KW"});
    let many = period(json!({"demandCharges": vec![demand; 101]}));
    assert_eq!(faults(&many), fault("too_many", "/tariffPeriod"));
    let meters = json!({"electricityContract": contract(json!({})), "meteringCharges": vec![json!({}); 101]});
    assert_eq!(faults(&meters), fault("too_many", "/meteringCharges"));
}
