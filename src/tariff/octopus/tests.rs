#![expect(clippy::needless_pass_by_value, reason = "documents are put together from literals")]

use serde_json::{Value, json};

use super::super::{ForeignOptions, Tariff, Vat};
use super::{document_from_octopus, prices_from_octopus};

fn with(options: &ForeignOptions, text: &Value) -> Value {
    let text = document_from_octopus(&text.to_string(), options).unwrap();
    Tariff::from_json(&text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Code and pointer of every fault.
fn faults(options: &ForeignOptions, text: &Value) -> Vec<(String, String)> {
    let errors = document_from_octopus(&text.to_string(), options).unwrap_err();
    errors.0.into_iter().map(|e| (e.code, e.pointer)).collect()
}

fn fault(code: &str, pointer: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), pointer.to_owned())]
}

fn none() -> ForeignOptions {
    ForeignOptions::default()
}

fn choosing(region: &str, method: &str) -> ForeignOptions {
    ForeignOptions { region: Some(region.to_owned()), payment_method: Some(method.to_owned()), ..none() }
}

fn excluding_vat() -> ForeignOptions {
    ForeignOptions { vat: Vat::Exc, ..none() }
}

fn tariff(rate: f64) -> Value {
    json!({"code": "E-1R-X", "standing_charge_exc_vat": 40, "standing_charge_inc_vat": 42.0,
        "standard_unit_rate_exc_vat": rate, "standard_unit_rate_inc_vat": rate * 1.05, "exit_fees_inc_vat": 0.0,
        "links": []})
}

fn product(tariffs: Value) -> Value {
    json!({"code": "VAR-1", "display_name": "Flexible", "is_variable": true, "is_tracker": false, "brand": "OCTOPUS",
        "single_register_electricity_tariffs": tariffs})
}

fn row(price: f64, from: Value, to: Value) -> Value {
    json!({"value_exc_vat": price, "value_inc_vat": price * 2.0, "valid_from": from, "valid_to": to, "payment_method": null})
}

fn lists(rates: Value) -> Value {
    json!({"name": "Rates", "standard-unit-rates": {"count": 1, "next": null, "previous": null, "results": rates},
        "standing-charges": [row(20.0, Value::Null, Value::Null)]})
}

#[test]
fn a_product_of_one_region_and_method_needs_no_option() {
    let document = with(&none(), &product(json!({"_A": {"varying": tariff(20.0)}})));
    assert_eq!(
        document,
        json!({"name": "Flexible", "provider": "Octopus Energy", "currency": "GBP", "time_zone": "Europe/London",
            "territory": "A", "tags": ["variable_price"],
            "source": "Octopus product VAR-1, tariff E-1R-X, region A, payment varying", "charges": [
            {"id": "standing", "kind": "fixed", "price": "0.42", "per": "day"},
            {"id": "energy", "kind": "energy", "price": "0.21"}]})
    );
}

#[test]
fn prices_without_vat_get_one_tax_charge() {
    let document = with(&excluding_vat(), &product(json!({"_A": {"varying": tariff(20.0)}})));
    assert_eq!(
        document["charges"],
        json!([{"id": "standing", "kind": "fixed", "price": "0.4", "per": "day"},
            {"id": "energy", "kind": "energy", "price": "0.2"},
            {"id": "vat", "kind": "tax", "label": "VAT", "percent": "5"}])
    );
}

#[test]
fn a_product_of_several_prices_is_refused_naming_what_to_give() {
    let methods = json!({"direct_debit_monthly": tariff(20.0), "prepayment": tariff(30.0)});
    let several = product(json!({"_A": methods, "_B": {"direct_debit_monthly": tariff(40.0)}}));
    let place = "/single_register_electricity_tariffs";
    assert_eq!(faults(&none(), &several), fault("option_needed", place));
    let region = ForeignOptions { region: Some("a".to_owned()), ..none() };
    assert_eq!(faults(&region, &several), fault("option_needed", &format!("{place}/_A")));
    let message = &document_from_octopus(&several.to_string(), &region).unwrap_err().0[0].message.clone();
    assert!(message.contains("payment_method") && message.contains("direct_debit_monthly, prepayment"), "{message}");
    assert_eq!(with(&choosing("_A", "prepayment"), &several)["charges"][1]["price"], "0.315");
    assert_eq!(with(&choosing("B", "direct_debit_monthly"), &several)["charges"][1]["price"], "0.42");
    assert_eq!(faults(&choosing("C", "prepayment"), &several), fault("unknown_name", place));
    assert_eq!(faults(&choosing("B", "prepayment"), &several), fault("unknown_name", &format!("{place}/_B")));
}

#[test]
fn two_registers_want_the_hours_of_the_night() {
    let dual = json!({"_A": {"varying": {"code": "E-2R", "standing_charge_inc_vat": 55.0, "day_unit_rate_inc_vat": 38.0,
        "night_unit_rate_inc_vat": 10.0}}});
    let alone = json!({"code": "V", "dual_register_electricity_tariffs": dual});
    assert_eq!(faults(&none(), &alone), fault("option_needed", "/dual_register_electricity_tariffs"));
    let night = |hours: &str| ForeignOptions { night_hours: Some(hours.to_owned()), ..none() };
    let document = with(&night("00:30-07:30"), &alone);
    assert_eq!(
        document["schedules"]["registers"]["periods"],
        json!([{"period": "night", "hours": ["00:30-07:30"]}, {"period": "day"}])
    );
    assert_eq!(document["charges"][1]["prices"], json!({"day": "0.38", "night": "0.1"}));
    let mut both = product(json!({"_A": {"varying": tariff(20.0)}}));
    assert_eq!(faults(&night("00:30-07:30"), &both), fault("option_needed", "/single_register_electricity_tariffs"));
    both["dual_register_electricity_tariffs"] = dual;
    assert_eq!(with(&none(), &both)["charges"][1]["price"], "0.21", "the single register, unless hours are given");
    assert_eq!(with(&night("23:00-00:30, 02:00-05:00"), &both)["charges"][1]["prices"]["night"], "0.1");
    assert!(faults(&night("at night"), &both).contains(&("bad_window".to_owned(), String::new())));
}

#[test]
fn rates_that_change_at_midnight_in_london_are_dated() {
    let rates = json!([
        row(30.0, json!("2024-06-30T23:00:00Z"), Value::Null),
        row(20.0, json!("2024-01-01T00:00:00Z"), json!("2024-04-01T00:00:00+01:00")),
        row(25.0, json!("2024-03-31T23:00:00Z"), json!("2024-06-30T23:00:00Z")),
    ]);
    let document = with(&excluding_vat(), &lists(rates));
    assert_eq!(
        document["charges"][1]["price"],
        json!({"by_date": {"2024-01-01": "0.2", "2024-04-01": "0.25", "2024-07-01": "0.3"}})
    );
    assert_eq!(document["charges"][0]["price"], "0.2");
    assert_eq!(document["name"], "Rates");
}

#[test]
fn after_the_last_price_there_is_none() {
    let rates = json!([row(20.0, json!("2024-01-01T00:00:00Z"), json!("2025-01-01T00:00:00Z"))]);
    let price = with(&excluding_vat(), &lists(rates))["charges"][1]["price"].clone();
    assert_eq!(price, json!({"by_date": {"2024-01-01": "0.2", "2025-01-01": {"by_date": {"2199-12-31": "0"}}}}));
}

#[test]
fn rates_that_change_inside_a_day_are_a_price_series() {
    let rates = json!([
        row(-1.0, json!("2024-01-01T00:30:00Z"), json!("2024-01-01T02:00:00Z")),
        row(20.0, json!("2024-01-01T00:00:00Z"), json!("2024-01-01T00:30:00Z"))
    ]);
    let mut text = lists(rates);
    text["code"] = json!("E-1R-AGILE-24-10-01-C");
    let document = with(&none(), &text);
    assert_eq!(document["charges"][1]["price"], json!({"series": "octopus_e_1r_agile_24_10_01_c"}));
    assert_eq!(document["charges"][0]["price"], "0.4", "the standing charge is by date");
    // The same file as prices: pounds, with VAT or without.
    let half_hours = |first: &str, others: &str| {
        let rows = ["00:00", "00:30", "01:00", "01:30"].iter().zip([first, others, others, others]);
        rows.fold("start,price\n".to_owned(), |csv, (time, price)| csv + &format!("2024-01-01T{time}:00Z,{price}\n"))
    };
    let prices = |options: &ForeignOptions, text: &Value| prices_from_octopus(&text.to_string(), options);
    assert_eq!(prices(&none(), &text).unwrap(), (half_hours("0.4", "-0.02"), 30));
    assert_eq!(prices(&excluding_vat(), &text["standard-unit-rates"]).unwrap().0, half_hours("0.2", "-0.01"));
    // Midnight of UTC is one o'clock in a London summer; a price that goes on is of no series.
    let summer = lists(json!([row(20.0, json!("2024-07-01T00:00:00Z"), Value::Null)]));
    assert_eq!(with(&none(), &summer)["charges"][1]["price"], json!({"series": "octopus_unit_rates"}));
    let open = prices(&none(), &summer).unwrap_err().0.remove(0);
    assert_eq!((open.code.as_str(), open.pointer.as_str()), ("missing_field", "/standard-unit-rates/results/0"));
    // A standing charge cannot change inside a day.
    let mut noon = lists(json!([row(20.0, Value::Null, Value::Null)]));
    noon["standing-charges"] = json!([row(20.0, json!("2024-01-01T12:00:00Z"), Value::Null)]);
    assert_eq!(faults(&none(), &noon), fault("not_supported_yet", "/standing-charges/0/valid_from"));
}

#[test]
fn rows_for_several_payment_methods_want_one() {
    let for_method = |price: f64, method: &str| {
        let mut row = row(price, json!("2024-01-01T00:00:00Z"), Value::Null);
        row["payment_method"] = method.into();
        row
    };
    let rates = json!([for_method(20.0, "DIRECT_DEBIT"), for_method(22.0, "NON_DIRECT_DEBIT")]);
    let place = "/standard-unit-rates";
    assert_eq!(faults(&none(), &lists(rates.clone())), fault("option_needed", place));
    let method = |method: &str| ForeignOptions { payment_method: Some(method.to_owned()), ..none() };
    assert_eq!(faults(&method("CASH"), &lists(rates.clone())), fault("unknown_name", place));
    let price = &with(&method("NON_DIRECT_DEBIT"), &lists(rates))["charges"][1]["price"];
    assert_eq!(*price, json!({"by_date": {"2024-01-01": "0.44"}}));
}

#[test]
fn energy_fed_in_is_credited_and_not_taxed() {
    let mut export = product(json!({"_A": {"varying": tariff(15.0)}}));
    export["direction"] = "EXPORT".into();
    export["single_register_electricity_tariffs"]["_A"]["varying"]["standing_charge_exc_vat"] = json!(0);
    let charges = &with(&excluding_vat(), &export)["charges"];
    assert_eq!(*charges, json!([{"id": "feed_in", "kind": "export_credit", "price": "0.15"}]));
}

#[test]
fn every_fault_has_its_place() {
    let mut fees = tariff(20.0);
    fees["exit_fees_inc_vat"] = json!(75.0);
    fees["somethingnew"] = json!(1);
    let at = |member: &str| format!("/single_register_electricity_tariffs/_A/varying/{member}");
    let fees = product(json!({"_A": {"varying": fees}}));
    let unbilled: Vec<_> =
        ["exit_fees_inc_vat", "somethingnew"].map(|member| ("not_billable".to_owned(), at(member))).to_vec();
    assert_eq!(faults(&none(), &fees), unbilled);
    let listed = with(&ForeignOptions::allowing_unbilled(true), &fees);
    assert_eq!(listed["not_billed"].as_array().unwrap().len(), 2);

    let with_flag = |flag: &str| {
        let mut product = product(json!({"_A": {"varying": tariff(20.0)}}));
        product[flag] = true.into();
        product
    };
    assert_eq!(faults(&none(), &with_flag("is_tracker")), fault("not_billable", "/is_tracker"));
    assert_eq!(faults(&excluding_vat(), &with_flag("is_business")), fault("ambiguous", "/is_business"));
    let without = product(json!({"_A": {"varying": {"standing_charge_inc_vat": 1, "standard_unit_rate_exc_vat": 1}}}));
    assert_eq!(faults(&none(), &without), fault("missing_field", &at("standard_unit_rate_inc_vat")));

    let new_year = json!("2024-01-01T00:00:00Z");
    let spring = json!("2024-03-01T00:00:00Z");
    let rate = |n: usize| format!("/standard-unit-rates/results/{n}");
    let mut paged = lists(json!([row(1.0, Value::Null, Value::Null)]));
    paged["standard-unit-rates"]["next"] = "https://example.org/?page=2".into();
    let mut unnamed = row(1.0, Value::Null, Value::Null);
    unnamed.as_object_mut().unwrap().remove("value_inc_vat");
    let no_standing = json!({"standard-unit-rates": [row(1.0, Value::Null, Value::Null)]});
    let only_night = json!({"night-unit-rates": [row(1.0, Value::Null, Value::Null)], "standing-charges": [row(1.0, Value::Null, Value::Null)]});
    for (text, code, pointer) in [
        (json!({"results": []}), "ambiguous", String::new()),
        (json!([row(1.0, Value::Null, Value::Null)]), "ambiguous", String::new()),
        (no_standing, "missing_field", String::new()),
        (json!({"standing-charges": [row(1.0, Value::Null, Value::Null)]}), "missing_field", String::new()),
        (only_night, "option_needed", "/night-unit-rates".to_owned()),
        (paged, "incomplete", "/standard-unit-rates/next".to_owned()),
        (lists(json!([])), "missing_field", "/standard-unit-rates".to_owned()),
        (lists(json!([unnamed])), "missing_field", rate(0) + "/value_inc_vat"),
        (lists(json!([row(1.0, json!("soon"), Value::Null)])), "bad_date", rate(0) + "/valid_from"),
        (lists(json!([row(1.0, spring.clone(), new_year.clone())])), "bad_date", rate(0)),
        (
            lists(json!([row(1.0, new_year.clone(), Value::Null), row(2.0, spring.clone(), Value::Null)])),
            "overlapping_rates",
            rate(1),
        ),
        (lists(json!([row(1.0, Value::Null, new_year), row(2.0, spring, Value::Null)])), "uncovered_time", rate(1)),
    ] {
        assert_eq!(faults(&none(), &text), fault(code, &pointer), "{text}");
    }
    assert_eq!(document_from_octopus("[", &none()).unwrap_err().0[0].code, "invalid_json");
}
