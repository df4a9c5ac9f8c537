use serde_json::{Value, json};

use super::super::{PlanFormat, Tariff};
use super::{ForeignOptions, fresh_name};

const CDR: [&str; 2] = [
    include_str!("../../../fixtures/plans/foreign/cdr-controlled-load.json"),
    include_str!("../../../fixtures/plans/foreign/cdr-fees.json"),
];

/// Lists of rates and a product, in one: the members of both are told apart by the adapter.
fn octopus() -> [Value; 2] {
    let row = |from: Value, to: Value, method: Value| json!({"value_exc_vat": 20.5, "value_inc_vat": 21.525, "valid_from": from, "valid_to": to, "payment_method": method});
    let new_year = "2025-01-01T00:00:00Z";
    let rows = json!([row(json!(new_year), Value::Null, Value::Null), row(Value::Null, json!(new_year), json!("DD"))]);
    let tariff = json!({"code": "E", "standing_charge_exc_vat": 1, "standing_charge_inc_vat": 2,
        "day_unit_rate_inc_vat": 1, "night_unit_rate_inc_vat": 2, "standard_unit_rate_inc_vat": 3, "exit_fees_inc_vat": 0});
    [
        json!({"name": "L", "standard-unit-rates": {"count": 2, "next": null, "previous": null, "results": rows},
            "day-unit-rates": rows, "night-unit-rates": rows, "standing-charges": rows}),
        json!({"code": "P", "is_variable": true, "is_tracker": false, "is_business": false, "direction": "IMPORT",
            "single_register_electricity_tariffs": {"_A": {"x": tariff}, "_B": {"x": tariff}},
            "dual_register_electricity_tariffs": {"_A": {"x": tariff}}}),
    ]
}

fn options(format: PlanFormat) -> Vec<ForeignOptions> {
    let open = ForeignOptions::allowing_unbilled(true);
    if format == PlanFormat::Cdr {
        return vec![open];
    }
    let night_hours = Some("23:30-05:30".to_owned());
    vec![
        open.clone(),
        ForeignOptions { region: Some("A".to_owned()), ..open.clone() },
        ForeignOptions { region: Some("A".to_owned()), night_hours, ..open },
        ForeignOptions::default(),
    ]
}

/// Every place of a document.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
        Value::Object(members) => members.iter().map(|(name, item)| (name.clone(), item)).collect(),
        _ => Vec::new(),
    };
    for (token, part) in parts {
        pointers(part, &format!("{at}/{token}"), into);
    }
}

/// A document with anything anywhere is read or refused with codes and places; what an adapter lets through, our own
/// reader takes.
fn spoil(format: PlanFormat, document: &Value) {
    let odd = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e300),
        json!("79228162514264337593543950335"),
        json!(""),
        json!("00:00"),
        json!("P1M"),
        json!([]),
        json!({}),
        json!({"rates": []}),
    ];
    let mut places = Vec::new();
    pointers(document, "", &mut places);
    for place in &places {
        for value in &odd {
            let mut spoilt = document.clone();
            *spoilt.pointer_mut(place).unwrap() = value.clone();
            let text = spoilt.to_string();
            for options in options(format) {
                match Tariff::from_format(format, &text, &options) {
                    Ok(tariff) => assert!(!tariff.name().is_empty()),
                    Err(errors) => {
                        assert!(!errors.0.is_empty(), "{place} = {value}");
                        for error in errors.0 {
                            assert!(!error.code.is_empty() && !error.message.is_empty(), "{place} = {value}");
                            let parent = error.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                            let is_there = spoilt.pointer(parent).is_some();
                            assert!(
                                is_there,
                                "{place} = {value}: {error} is at no place of the document that was sent"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_spoilt_cdr_plan_is_read_or_refused_at_a_place_of_its_own() {
    for document in CDR {
        spoil(PlanFormat::Cdr, &serde_json::from_str(document).unwrap());
    }
}

#[test]
fn a_spoilt_octopus_tariff_is_read_or_refused_at_a_place_of_its_own() {
    for document in octopus() {
        spoil(PlanFormat::Octopus, &document);
    }
}

#[test]
fn a_plan_of_very_many_windows_is_answered_or_refused_in_time() {
    let window = json!({"days": ["MON", "SUN"], "startTime": "00:00", "endTime": "23:59"});
    let rate =
        |n: usize| json!({"displayName": "R", "rates": [{"unitPrice": "0.1"}], "timeOfUse": vec![window.clone(); n]});
    let season = |day: usize, n: usize| {
        let (month, day) = (1 + day / 28 % 12, 1 + day % 28);
        json!({"startDate": format!("{month:02}-{day:02}"), "endDate": "12-31", "timeOfUseRates": [rate(n)]})
    };
    let many_windows = json!({"tariffPeriod": [season(0, 20_000)]});
    let many_seasons = json!({"tariffPeriod": (0..336).map(|day| season(day, 30)).collect::<Vec<_>>()});
    let many_rates = json!({"tariffPeriod": (0..5_000).map(|day| season(day, 1)).collect::<Vec<_>>()});
    for plan in [many_windows, many_seasons, many_rates] {
        let began = std::time::Instant::now();
        let errors = Tariff::from_cdr(&plan.to_string(), &ForeignOptions::default()).unwrap_err();
        let [error] = errors.0.as_slice() else { panic!("{} faults", errors.0.len()) };
        assert_eq!((error.code.as_str(), error.pointer.as_str()), ("too_many", "/tariffPeriod"), "{error}");
        assert!(began.elapsed().as_secs() < 10, "{:?}: {}", began.elapsed(), errors.0[0]);
    }
}

#[test]
fn a_text_becomes_a_name_that_is_not_taken() {
    let mut used = Vec::new();
    let names = ["Off-peak", "off peak", "12 h", "", "Ångström"].map(|text| fresh_name(text, "rate", &mut used));
    assert_eq!(names, ["off_peak", "off_peak_2", "rate", "rate_2", "ngstr_m"]);
}
