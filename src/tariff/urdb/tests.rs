use serde_json::{Value, json};

use super::document_from_urdb;

fn convert(tariff: &Value) -> Value {
    serde_json::from_str(&document_from_urdb(&tariff.to_string(), false).unwrap()).unwrap()
}

/// Code and pointer of every fault.
fn faults(tariff: &Value) -> Vec<(String, String)> {
    let errors = document_from_urdb(&tariff.to_string(), false).unwrap_err();
    errors.0.into_iter().map(|e| (e.code, e.pointer)).collect()
}

fn fault(code: &str, pointer: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), pointer.to_owned())]
}

fn table(periods: impl Fn(usize, usize) -> usize) -> Value {
    (0..12).map(|month| (0..24).map(|hour| periods(month, hour)).collect::<Vec<_>>()).collect::<Vec<_>>().into()
}

#[test]
fn a_price_is_rate_plus_adjustment_by_its_digits() {
    let flat = convert(
        &json!({"name": "Flat", "utility": "U", "energyratestructure": [[{"rate": 0.01974, "adj": 0.028_368_5}]],
        "fixedmonthlycharge": 15.91}),
    );
    assert_eq!(
        flat["charges"],
        json!([{"id": "fixed", "kind": "fixed", "price": "15.91", "per": "month"},
            {"id": "energy", "kind": "energy", "steps": [{"price": "0.0481085"}]}])
    );
    assert_eq!((&flat["provider"], &flat["currency"], flat.get("schedules")), (&json!("U"), &json!("USD"), None));
}

#[test]
fn the_last_tier_is_open_and_enormous_bounds_are_none() {
    let tiers = convert(&json!({"name": "T", "energyratestructure":
        [[{"rate": 0.1, "max": 500}, {"rate": 0.2, "max": 9.999e37}]]}));
    assert_eq!(tiers["charges"][0]["steps"], json!([{"to": "500", "price": "0.1"}, {"price": "0.2"}]));
}

#[test]
fn a_bound_is_scaled_by_what_its_unit_says() {
    let scaled = |unit: &str| {
        let charge = &convert(&json!({"name": "T", "energyratestructure":
            [[{"rate": 0.1, "max": 10, "unit": unit}, {"rate": 0.2, "unit": unit}]]}))["charges"][0];
        charge.get("bounds_per").cloned()
    };
    assert_eq!(scaled("kWh"), None);
    assert_eq!(scaled("kWh daily"), Some(json!("day")));
    assert_eq!(scaled("kWh/kW"), Some(json!({"demand": {}})));
    assert_eq!(scaled("kWh/kW daily"), Some(json!({"times": [{"demand": {}}, "days"]})));
    let mixed = convert(&json!({"name": "T", "energyratestructure": [[{"rate": 0.1, "max": 100, "unit": "kWh"},
        {"rate": 0.2, "max": 300, "unit": "kWh/kW"}, {"rate": 0.3}]]}));
    let steps = &mixed["charges"][0]["steps"];
    assert_eq!(steps[0]["to"], "100");
    assert_eq!(steps[1]["to"], json!({"times": ["300", {"demand": {}}]}));
}

#[test]
fn tables_become_rules_and_equal_months_share_them() {
    let tou = convert(&json!({"name": "T",
        "energyratestructure": [[{"rate": 0.1}], [{"rate": 0.3}], [{"rate": 9}]],
        "energyweekdayschedule": table(|month, hour| usize::from((5..9).contains(&month) && (14..19).contains(&hour))),
        "energyweekendschedule": table(|_, _| 0)}));
    assert_eq!(
        tou["schedules"]["energy"]["periods"],
        json!([{"period": "period_0", "months": [1, 2, 3, 4, 5, 10, 11, 12]},
            {"period": "period_0", "months": [6, 7, 8, 9], "days": "weekdays", "hours": ["00:00-14:00", "19:00-24:00"]},
            {"period": "period_1", "months": [6, 7, 8, 9], "days": "weekdays", "hours": ["14:00-19:00"]},
            {"period": "period_0", "months": [6, 7, 8, 9], "days": "weekends"}])
    );
    let steps = tou["charges"][0]["steps"].as_object().unwrap();
    assert_eq!(steps.keys().collect::<Vec<_>>(), ["period_0", "period_1"], "a period that never occurs is left out");
}

#[test]
fn periods_written_as_floats_are_numbers_of_periods() {
    let text = json!({"name": "T", "flatdemandstructure": [[{"rate": 5}], [{"rate": 7}]],
        "flatdemandmonths": [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]});
    let demand = convert(&text);
    assert_eq!(demand["charges"][0]["id"], "demand_flat");
    assert_eq!(demand["charges"][0]["steps"], json!({"period_0": [{"price": "5"}], "period_1": [{"price": "7"}]}));
    assert_eq!(demand["schedules"]["demand_flat"]["periods"][0], json!({"period": "period_0", "months": [1]}));
}

#[test]
fn a_ratchet_looks_back_over_rolling_or_named_months() {
    let ratchet = |extra: Value| {
        let mut tariff = json!({"name": "T", "flatdemandstructure": [[{"rate": 5}]], "lookbackPercent": 0.75});
        tariff.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        convert(&tariff)["charges"][0]["ratchet"].clone()
    };
    assert_eq!(ratchet(json!({"lookbackRange": 11})), json!({"percent": "75", "last": 11}));
    let months: Vec<bool> = (1..=12).map(|month| (6..=9).contains(&month)).collect();
    assert_eq!(
        ratchet(json!({"lookbackMonths": months})),
        json!({"percent": "75", "last": 12, "current": true, "named": [6, 7, 8, 9]})
    );
    let without = json!({"name": "T", "flatdemandstructure": [[{"rate": 5}]], "lookbackPercent": 0.75});
    assert_eq!(faults(&without), fault("missing_field", "/lookbackrange"));
}

#[test]
fn minimums_come_by_day_month_and_year() {
    let minimum = |extra: Value| {
        let mut tariff = json!({"name": "T", "energyratestructure": [[{"rate": 0.1}]]});
        tariff.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        convert(&tariff)["charges"].as_array().unwrap()[1..].to_vec()
    };
    let by_day = minimum(json!({"mincharge": 0.392, "minchargeunits": "$/day"}));
    assert_eq!(by_day, [json!({"id": "minimum", "kind": "minimum", "floor": "0.392", "per": "day"})]);
    let both = minimum(json!({"minmonthlycharge": 1.0, "annualmincharge": 12.0}));
    assert_eq!(both[0]["floor"], "1");
    assert_eq!(both[1]["id"], "minimum_year");
    let counted = &both[1]["measure"]["max"][1]["sum"][1]["times"][1]["over_months"]["of"]["amount"];
    assert_eq!(*counted, json!(["energy", "minimum"]));
    assert_eq!(minimum(json!({"mincharge": 0.0})), Vec::<Value>::new());
}

#[test]
fn a_table_that_names_a_missing_period_is_refused_at_its_place() {
    let tariff = json!({"name": "T", "energyratestructure": [[{"rate": 0.1}]],
        "energyweekdayschedule": table(|month, hour| usize::from(month == 2 && hour == 5)),
        "energyweekendschedule": table(|_, _| 0)});
    assert_eq!(faults(&tariff), fault("unknown_period", "/energyweekdayschedule/2/5"));
}

#[test]
fn weekends_are_not_taken_from_the_weekday_table() {
    let tariff = json!({"name": "T", "fixedmonthlycharge": 1, "energyratestructure": [[{"rate": 0.1}], [{"rate": 0.2}]],
        "energyweekdayschedule": table(|_, hour| usize::from(hour > 11))});
    assert_eq!(faults(&tariff), fault("missing_field", "/energyweekdayschedule"));
}

#[test]
fn what_holds_money_and_cannot_be_billed_is_refused_by_name_or_listed() {
    let tariff = json!({"name": "T", "fixedmonthlycharge": 1, "coincidentratestructure": [[{"rate": 0.79}]],
        "coincidentrateunit": "kW", "demandreactivepowercharge": 0.66, "energycomments": "plus a $5 rider",
        "description": "For homes.", "flatdemandstructure": [[{"rate": 2}]], "flatdemandunit": "kVA",
        "somethingnew": 3});
    let fields =
        ["coincidentratestructure", "demandreactivepowercharge", "energycomments", "flatdemandunit", "somethingnew"];
    let expected: Vec<_> = fields.iter().map(|field| ("not_billable".to_owned(), format!("/{field}"))).collect();
    assert_eq!(faults(&tariff), expected);
    let listed: Value = serde_json::from_str(&document_from_urdb(&tariff.to_string(), true).unwrap()).unwrap();
    let names: Vec<&str> =
        listed["not_billed"].as_array().unwrap().iter().map(|n| n["field"].as_str().unwrap()).collect();
    assert_eq!(names, fields);
}

#[test]
fn what_is_no_tariff_says_why() {
    assert_eq!(document_from_urdb("[", false).unwrap_err().0[0].code, "invalid_json");
    assert_eq!(faults(&json!({"items": []})), fault("several_items", "/items"));
    assert_eq!(faults(&json!({"name": "T"})), fault("missing_field", ""));
    assert_eq!(
        faults(&json!({"fixedmonthlycharge": 1, "fixedchargefirstmeter": 2, "fixedchargeunits": "$/week"}))[0].0,
        "unknown_unit"
    );
    let falling = json!({"fixedmonthlycharge": 1, "energyratestructure": [[{"rate": 1, "max": 5}, {"rate": 1, "max": 5}, {"rate": 1}]]});
    assert_eq!(faults(&falling), fault("bounds_fall", "/energyratestructure/0/1/max"));
    let open = json!({"fixedmonthlycharge": 1, "energyratestructure": [[{"rate": 1}, {"rate": 1}]]});
    assert_eq!(faults(&open), fault("open_inner_step", "/energyratestructure/0/0"));
    assert!(convert(&json!({"items": [{"name": "T", "fixedmonthlycharge": 1}]}))["charges"].is_array());
}

#[test]
fn energy_fed_in_is_sold_or_set_against_the_import() {
    let sold = convert(&json!({"name": "T", "dgrules": "Net Billing Instantaneous",
        "energyratestructure": [[{"rate": 0.1, "sell": 0.03}]]}));
    assert_eq!(sold["charges"][1], json!({"id": "export", "kind": "export_credit", "steps": [{"price": "0.03"}]}));
    let net = convert(&json!({"name": "T", "usenetmetering": true, "energyratestructure": [[{"rate": 0.1}]]}));
    assert_eq!(net["charges"][0]["measure"], json!({"net_energy": {"carry_until": "01-01"}}));
}
