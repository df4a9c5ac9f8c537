//! Plans that include others, as the engine bills them.

use std::sync::Arc;

use samebill::engine::{ComparisonResult, EngineError, Options, PlanFault, compare, instants};
use samebill::tariff::{ConventionOverrides, ExportRule, IncludedTariff, Tariff};
use samebill::usage::{Channel, Quality, Reading, Series};
use samebill::words::BillingPeriod;
use serde_json::{Value, json};

use crate::support::{period, question};

const LONDON: chrono_tz::Tz = chrono_tz::Europe::London;

/// Version 7 of another plan under a name.
fn included(name: &str, plan_id: &str, document: &Value) -> IncludedTariff {
    let tariff = Arc::new(Tariff::from_json(&document.to_string()).unwrap());
    IncludedTariff { name: name.to_owned(), plan_id: plan_id.parse().unwrap(), version: 7, tariff }
}

fn supply_with(network: &Value, supply: &Value) -> Tariff {
    let tariff = Tariff::from_json(&supply.to_string()).unwrap();
    tariff.including(vec![included("network", "net", network)]).unwrap()
}

/// Bills June 2026 in London, 1 kWh an hour in and 0.25 out.
fn june(tariff: Tariff, options: Options) -> Result<ComparisonResult, EngineError> {
    let june: BillingPeriod = period("2026-06-01", "2026-07-01");
    let series = |milliwatt_hours| {
        let reading = |start| Reading { start, seconds: 3600, milliwatt_hours, quality: Quality::Measured };
        Series::from_sorted(&instants(LONDON, &june).step_by(3600).map(reading).collect::<Vec<_>>())
    };
    let readings = [(Channel::import(), series(1_000_000)), (Channel::export(), series(250_000))].into();
    compare(&question(tariff, LONDON, june, readings, options))
}

#[track_caller]
fn fault(tariff: Tariff) -> PlanFault {
    match june(tariff, Options::default()) {
        Err(EngineError::PlansNotBillable(mut faults)) if faults.len() == 1 => faults.remove(0),
        other => panic!("one fault was expected: {other:?}"),
    }
}

fn network() -> Value {
    json!({"name": "Network", "currency": "GBP", "charges": [
        {"id": "standing", "kind": "fixed", "price": "0.1", "per": "day"},
        {"id": "use", "kind": "energy", "price": "0.05"}]})
}

fn supply() -> Value {
    json!({"name": "Supply", "currency": "GBP", "include": {"network": "net"}, "charges": [
        {"id": "energy", "kind": "energy", "price": "0.2"},
        {"id": "vat", "kind": "tax", "percent": "5"}]})
}

#[test]
fn a_line_tells_whose_version_it_comes_from() {
    let bill = june(supply_with(&network(), &supply()), Options::default()).unwrap().plans.remove(0);
    let lines: Vec<_> = bill.periods[0]
        .line_items
        .iter()
        .map(|line| (line.charge_id.as_str(), line.plan_version, line.included_plan_id.as_deref()))
        .collect();
    let (net, own) = (Some("net"), None);
    assert_eq!(lines, [("network_standing", 7, net), ("network_use", 7, net), ("energy", 1, own), ("vat", 1, own)]);
    // 3 + 36 + 144 = 183, and 5 %.
    assert_eq!((bill.name.as_str(), bill.total.as_str()), ("Supply", "192.15"));
}

#[test]
fn a_plan_that_was_not_put_to_it_keeps_it_from_being_billed() {
    let fault = fault(Tariff::from_json(&supply().to_string()).unwrap());
    assert_eq!((fault.code.as_str(), fault.pointer.as_str()), ("included_plan_missing", "/include/network"));
    assert!(fault.message.contains("\"net\"") && fault.message.contains("import it"), "{}", fault.message);
}

#[test]
fn a_fault_of_an_included_plan_is_told_by_both_places() {
    let with = |member: &str, value: Value| {
        let mut network = network();
        network["charges"][1][member] = value;
        network
    };
    let of_charge = fault(supply_with(&with("price", json!({"attribute": "rate"})), &supply()));
    assert_eq!((of_charge.code.as_str(), of_charge.pointer.as_str()), ("attribute_missing", "/include/network"));
    assert!(of_charge.message.starts_with("in the included plan \"net\" at /charges/1: "), "{}", of_charge.message);

    let mut with_holidays = network();
    with_holidays["schedules"] = json!({"tou": {"holidays": ["gb"], "periods": [{"period": "all"}]}});
    let of_calendar = fault(supply_with(&with_holidays, &supply()));
    assert_eq!((of_calendar.code.as_str(), of_calendar.pointer.as_str()), ("calendar_missing", "/include/network"));
    assert!(of_calendar.message.contains("at /schedules/tou/holidays/0: "), "{}", of_calendar.message);

    with_holidays["schedules"] = json!({"tou": {"periods": [{"period": "all"}, {"period": "all", "during": "peaks"}]}});
    let of_list = fault(supply_with(&with_holidays, &supply()));
    assert_eq!((of_list.code.as_str(), of_list.pointer.as_str()), ("event_list_missing", "/include/network"));
    assert!(of_list.message.contains("at /schedules/tou/periods/1/during: "), "{}", of_list.message);

    with_holidays["schedules"] =
        json!({"tou": {"periods": [{"period": "all", "hours": ["00:15-24:00"]}, {"period": "rest"}]}});
    with_holidays["charges"][1] =
        json!({"id": "use", "kind": "energy", "schedule": "tou", "prices": {"all": "1", "rest": "1"}});
    let of_schedule = fault(supply_with(&with_holidays, &supply()));
    assert_eq!((of_schedule.code.as_str(), of_schedule.pointer.as_str()), ("interval_too_coarse", "/include/network"));

    // Its own charges are counted from its own first one.
    let mut supply = supply();
    supply["charges"][1]["percent"] = json!({"attribute": "rate"});
    assert_eq!(fault(supply_with(&network(), &supply)).pointer, "/charges/1");
}

#[test]
fn the_clocks_of_all_documents_are_one() {
    let on = |zone: &str| {
        let mut network = network();
        network["time_zone"] = json!(zone);
        network
    };
    // Its own is the customer's, which is London's.
    june(supply_with(&on("Europe/London"), &supply()), Options::default()).unwrap();
    let fault = fault(supply_with(&on("Europe/Paris"), &supply()));
    assert_eq!((fault.code.as_str(), fault.pointer.as_str()), ("time_zones_differ", "/time_zone"));
    assert!(fault.message.contains("Europe/London, Europe/Paris"), "{}", fault.message);
}

#[test]
fn the_export_rule_of_the_command_line_reaches_included_plans() {
    let mut network = network();
    network["charges"].as_array_mut().unwrap().push(json!({"id": "out", "kind": "export_credit", "price": "0.01"}));
    let mut supply = supply();
    supply["charges"][1]["on"] = json!(["network_use", "network_out", "energy"]);
    let total = |rule| {
        let conventions = ConventionOverrides { export: rule, ..ConventionOverrides::default() };
        let options = Options { conventions, ..Options::default() };
        june(supply_with(&network, &supply), options).unwrap().plans.remove(0).total
    };
    // 3 + (36 + 144) x 1.05 = 192; fed in 180 kWh: at 0.01 with tax 1.89, at 0.05 and 0.2 without 45, or 540 kWh billed.
    assert_eq!(
        [None, Some(ExportRule::None), Some(ExportRule::NetBilling), Some(ExportRule::NetMetering)].map(total),
        ["190.11", "192.00", "147.00", "144.75"]
    );
}

#[test]
fn it_bills_what_one_document_with_all_charges_bills() {
    let whole = json!({"name": "Supply", "currency": "GBP", "charges": [
        {"id": "network_standing", "kind": "fixed", "price": "0.1", "per": "day", "group": "network", "label": "standing"},
        {"id": "network_use", "kind": "energy", "price": "0.05", "group": "network", "label": "use"},
        {"id": "energy", "kind": "energy", "price": "0.2"},
        {"id": "vat", "kind": "tax", "percent": "5"}]});
    let by_hand = june(Tariff::from_json(&whole.to_string()).unwrap(), Options::default()).unwrap();
    let included = june(supply_with(&network(), &supply()), Options::default()).unwrap();
    let amounts = |bills: &ComparisonResult| -> Vec<(String, String, String)> {
        let lines = bills.plans[0].periods.iter().flat_map(|month| &month.line_items);
        lines.map(|line| (line.charge_id.clone(), line.quantity.clone(), line.amount.clone())).collect()
    };
    assert_eq!(amounts(&by_hand), amounts(&included));
}
