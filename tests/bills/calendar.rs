//! The calendar cases: clock changes, leap days, cycles, seasons, plan changes, billed by two other engines.
//!
//! Each case is a neutral tariff; the converter to our plan document lives here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rust_decimal::Decimal;
use samebill::engine::{Options, Price, PriceSeries, VersionInForce, compare};
use samebill::tariff::Tariff;
use samebill::usage::Channel;
use samebill::words::BillingPeriod;
use serde_json::{Map, Value, json};

use crate::support::{period, question, shared, usage};

#[test]
fn every_calendar_case_comes_out() {
    let Some(root) = shared("reference-calendar") else { return };
    let mut names: Vec<_> = std::fs::read_dir(root.join("cases")).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 27, "{} cases", names.len());
    let mut failures = Vec::new();
    for path in names {
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = case["name"].as_str().unwrap();
        if let Err(why) = check(&root, &case) {
            failures.push(format!("{name}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(root: &Path, case: &Value) -> Result<(), String> {
    let asked = period(text(&case["period"]["start"]), text(&case["period"]["end"]));
    let readings = usage(&root.join(text(&case["usage"]["file"])));
    let versions = case["tariff"]["versions"].as_array().unwrap();
    let mut in_force = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let date = |version: &Value| text(&version["from"]).parse::<chrono::NaiveDate>().unwrap();
        let end = versions.get(i + 1).map_or(asked.end(), |next| date(next).min(asked.end()));
        let Ok(days) = BillingPeriod::new(date(version).max(asked.start()), end) else { continue };
        let document = document(case, version);
        let tariff = Tariff::from_json(&document.to_string()).map_err(|e| e.to_string())?;
        in_force.push(VersionInForce { version: u32::try_from(i + 1).unwrap(), days, tariff: Arc::new(tariff) });
    }
    let first = Tariff::clone(&in_force[0].tariff);
    let zone = text(&case["zone"]).parse().unwrap();
    let mut question = question(first, zone, asked, readings, Options::default());
    // The period is one billing month, whatever its length.
    question.months = vec![asked];
    question.months_registered = true;
    question.plans[0].versions = in_force;
    if let Some(dates) = case["holidays"].as_array() {
        let dates = dates.iter().map(|date| text(date).parse().unwrap()).collect();
        question.calendars.insert("named".to_owned(), dates);
    }
    question.price_series = versions.iter().flat_map(price_series).collect();
    let result = compare(&question).map_err(|e| format!("{e:?}"))?;
    let expected = &case["expected"];
    let mut faults = Vec::new();
    let mut same = |what: String, got: &str, want: &str| {
        let (got, want) = (decimal(got), decimal(want));
        if (got - want).abs() > want.abs().max(Decimal::ONE) * Decimal::new(1, 9) {
            faults.push(format!("{what}: {got} instead of {want}"));
        }
    };
    same("kWh".to_owned(), &result.usage.import_kwh, text(&expected["import_kwh"]));
    same("kWh fed in".to_owned(), &result.usage.export_kwh, text(&expected["export_kwh"]));
    let bill = &result.plans[0];
    let mut ours: BTreeMap<String, (Decimal, Decimal)> = BTreeMap::new();
    for line in bill.periods[0].line_items.iter().filter(|line| line.charge_id != "rounding") {
        // A service charge of two versions is one line there.
        let key = format!("{} {:?} {:?}", line.charge_id, line.tou_period, line.tier);
        let sum = ours.entry(key).or_default();
        sum.0 += decimal(&line.quantity);
        sum.1 += decimal(&line.amount);
    }
    for line in expected["line_items"].as_array().unwrap() {
        let rate_id = line["rate_id"].as_str().filter(|_| is_split(case, text(&line["charge"]), &line["rate_id"]));
        let tier = line["tier"].as_u64();
        let key = format!("{} {:?} {tier:?}", plain(text(&line["charge"])), rate_id.map(plain));
        match ours.remove(&key) {
            Some((quantity, amount)) => {
                let is_tax = line["unit"] != "kWh" && line["unit"] != "kW" && line["unit"] != "day";
                if !is_tax {
                    same(format!("{key} quantity"), &quantity.to_string(), text(&line["quantity"]));
                }
                same(format!("{key} amount"), &amount.to_string(), text(&line["amount"]));
            }
            None => same(format!("{key} (no line)"), "0", text(&line["amount"])),
        }
    }
    for (key, (_, amount)) in ours {
        same(format!("{key} (not expected)"), &amount.to_string(), "0");
    }
    if decimal(&bill.total) != decimal(text(&expected["total"])) {
        faults.push(format!("total {} instead of {}", bill.total, expected["total"]));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// The prices of a version's charges, each a series under the id of its charge.
fn price_series(version: &Value) -> Vec<(String, Arc<PriceSeries>)> {
    let charges = version["charges"].as_array().unwrap().iter().filter(|charge| charge["kind"] == "price_series");
    let series = |charge: &Value| {
        let seconds = 60 * u32::try_from(charge["step_minutes"].as_u64().unwrap()).unwrap();
        let prices = charge["prices"].as_array().unwrap().iter().map(|price| {
            let start = chrono::DateTime::parse_from_rfc3339(text(&price[0])).unwrap().timestamp();
            let digits = (decimal(text(&price[1])) * Decimal::from(1_000_000)).normalize();
            Price { start, seconds, digits: i64::try_from(digits).unwrap() }
        });
        (plain(text(&charge["id"])), Arc::new(PriceSeries::from_sorted(prices, 6)))
    };
    charges.map(series).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}"))
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// Names of ours have no hyphens.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// Whether a charge's line tells its rate: it has more than one.
fn is_split(case: &Value, charge: &str, rate: &Value) -> bool {
    let versions = case["tariff"]["versions"].as_array().unwrap();
    let of_charge = versions.iter().flat_map(|v| v["charges"].as_array().unwrap()).filter(|c| c["id"] == charge);
    of_charge.filter_map(|c| c["rates"].as_array()).any(|rates| {
        rates.iter().any(|known| known["id"] == *rate) && (rates.len() > 1 || rates[0].get("windows").is_some())
    })
}

/// A version of the neutral tariff as a plan document.
fn document(case: &Value, version: &Value) -> Value {
    let mut schedules = Map::new();
    let mut charges = Vec::new();
    for charge in version["charges"].as_array().unwrap() {
        charges.push(match text(&charge["kind"]) {
            "fixed" => json!({"id": plain(text(&charge["id"])), "kind": "fixed", "price": charge["amount"], "per": charge["per"]}),
            "energy" => energy(case, charge, &mut schedules),
            "demand" => demand(case, charge, &mut schedules),
            _ => {
                let id = plain(text(&charge["id"]));
                let mut price = json!({"series": id});
                for (name, of_case) in [("factor", "multiplier"), ("adder", "adder")] {
                    if let Some(number) = charge.get(of_case) {
                        price[name] = number.clone();
                    }
                }
                json!({"id": id, "kind": "energy", "channel": charge["channel"], "price": price})
            }
        });
    }
    for tax in case["tariff"]["taxes"].as_array().into_iter().flatten() {
        let on: Vec<String> = tax["on"].as_array().unwrap().iter().map(|id| plain(text(id))).collect();
        charges.push(json!({"id": plain(text(&tax["id"])), "kind": "tax", "percent": tax["percent"], "on": on}));
    }
    let rounding = &case["tariff"]["rounding"];
    let unit = if rounding["digits"] == 0 { "1" } else { "0.01" };
    json!({
        "name": case["name"], "currency": case["currency"], "schedules": schedules, "charges": charges,
        "rounding": {"total": {"to": unit, "mode": rounding["mode"]}}
    })
}

fn energy(case: &Value, charge: &Value, schedules: &mut Map<String, Value>) -> Value {
    let id = plain(text(&charge["id"]));
    let kind = if charge["credit"] == true { "export_credit" } else { "energy" };
    let channel: Channel = text(&charge["channel"]).parse().unwrap();
    let mut out = json!({"id": id, "kind": kind, "channel": channel});
    let rates = charge["rates"].as_array().unwrap();
    let tiers = &charge["tiers"];
    let price = |rate: &Value| -> Value {
        let Some(by_tier) = rate["rate_by_tier"].as_array() else { return json!([{"price": rate["rate"]}]) };
        let bounds = tiers["up_to"].as_array().unwrap();
        let step = |(i, price): (usize, &Value)| match bounds.get(i) {
            Some(to) => json!({"to": to, "price": price}),
            None => json!({"price": price}),
        };
        by_tier.iter().enumerate().map(step).collect()
    };
    if rates.len() == 1 && rates[0].get("windows").is_none() {
        out["steps"] = price(&rates[0]);
    } else {
        schedules.insert(id.clone(), schedule(case, rates));
        out["schedule"] = json!(id);
        out["steps"] = rates.iter().map(|rate| (plain(text(&rate["id"])), price(rate))).collect();
    }
    if tiers["period"] == "day" {
        out["resets"] = json!("day");
    }
    if let Some(scope) = tiers.get("scope") {
        out["tier_scope"] = scope.clone();
    }
    out
}

fn demand(case: &Value, charge: &Value, schedules: &mut Map<String, Value>) -> Value {
    let id = plain(text(&charge["id"]));
    let mut out = json!({"id": id, "kind": "demand", "price": charge["rate"], "per": charge["per"]});
    if let Some(windows) = charge.get("windows") {
        schedules.insert(id.clone(), schedule(case, &[json!({"id": "on", "windows": windows})]));
        out["schedule"] = json!(id);
        out["period"] = json!("on");
    }
    if let Some(highest) = charge.get("highest") {
        out["highest"] = highest.clone();
    }
    if charge["distinct_days"] == true {
        out["distinct"] = json!("days");
    }
    out
}

/// One rule for each window of each rate, in their order.
fn schedule(case: &Value, rates: &[Value]) -> Value {
    let mut rules = Vec::new();
    for rate in rates {
        let mut rule = json!({"period": plain(text(&rate["id"]))});
        if let Some(season) = rate["season"].as_str() {
            let season = &case["tariff"]["seasons"][season];
            rule["season"] = json!(format!("{}/{}", text(&season["from"]), text(&season["to"])));
        }
        match rate["windows"].as_array() {
            None => rules.push(rule),
            Some(windows) => rules.extend(windows.iter().map(|window| {
                let mut rule = rule.clone();
                if let Some(days) = window.get("days") {
                    rule["days"] = days.clone();
                }
                rule["hours"] = json!([format!("{}-{}", text(&window["from"]), text(&window["to"]))]);
                rule
            })),
        }
    }
    let mut schedule = json!({"periods": rules});
    if case.get("holidays").is_some() {
        schedule["holidays"] = json!(["named"]);
        if let Some(day) = case["tariff"].get("holidays_count_as") {
            schedule["holidays_count_as"] = day.clone();
        }
    }
    schedule
}
