//! The reference pairs: a tariff of the Utility Rate Database on a year of readings, billed by NREL's SAM.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;
use samebill::engine::{Options, PeriodBill, compare};
use samebill::tariff::{ConventionOverrides, ExportRule, Tariff, TierAllocation};
use serde_json::Value;

use crate::support::{period, question, shared, usage};

/// Pairs that cannot be billed yet, with the reason. One that is billed must go from the list.
const OPEN: &[(&str, &str)] = &[];

/// Largest relative difference: the reference is computed in floating point.
const TOLERANCE: f64 = 1e-9;

type Usage = BTreeMap<samebill::usage::Channel, samebill::usage::Series>;

#[test]
fn every_reference_pair_is_billed_as_sam_bills_it() {
    let Some(root) = shared("reference") else { return };
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let pairs = read("pairs.json");
    let pairs = pairs.as_array().unwrap();
    assert!(pairs.len() >= 56, "the reference has at least 56 pairs, {} are there", pairs.len());
    let files: Mutex<HashMap<String, Usage>> = Mutex::default();
    let readings = |name: &str| -> Usage {
        if let Some(known) = files.lock().unwrap().get(name) {
            return known.clone();
        }
        let readings = usage(&root.join("usage").join(name));
        files.lock().unwrap().insert(name.to_owned(), readings.clone());
        readings
    };
    let failures: Vec<String> = pairs
        .par_iter()
        .flat_map_iter(|pair| {
            let name = pair["name"].as_str().unwrap();
            let expected = read(&format!("expected/{name}.json"));
            let outcome = check_pair(&root, pair, &expected, readings(pair["usage"].as_str().unwrap()));
            let open = OPEN.iter().find(|(open, _)| *open == name);
            match (outcome, open) {
                (Err(faults), None) => faults.into_iter().map(|fault| format!("{name}: {fault}")).collect(),
                (Ok(()), Some(_)) => vec![format!("{name}: is billed now, take it off the list")],
                (Err(_), Some((_, why))) => {
                    eprintln!("OPEN: {name}: {why}");
                    Vec::new()
                }
                (Ok(()), None) => Vec::new(),
            }
        })
        .collect();
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

fn check_pair(root: &Path, pair: &Value, expected: &Value, readings: Usage) -> Result<(), Vec<String>> {
    let text = std::fs::read_to_string(root.join("tariffs").join(pair["tariff"].as_str().unwrap())).unwrap();
    let tariff = Tariff::from_urdb(&text, true).map_err(|e| vec![e.to_string()])?;
    let zone: chrono_tz::Tz = expected["tz"].as_str().unwrap().parse().unwrap();
    let mut conventions = ConventionOverrides::sam();
    if expected["tier_allocation"] == "chronological" {
        conventions.tier_allocation = Some(TierAllocation::Chronological);
    }
    if expected["sell_eq_buy"] == true {
        conventions.export = Some(ExportRule::NetBilling);
    }
    let year = readings.values().next().unwrap().runs()[0].start;
    let year = chrono::Datelike::year(&chrono::DateTime::from_timestamp(year, 0).unwrap().with_timezone(&zone));
    let asked = question(
        tariff,
        zone,
        period(&format!("{year}-01-01"), &format!("{}-01-01", year + 1)),
        readings,
        Options { conventions, ..Options::default() },
    );
    let result = compare(&asked).map_err(|e| vec![format!("{e:?}")])?;
    let bill = &result.plans[0];
    let mut faults = Vec::new();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (i, month) in bill.periods.iter().enumerate() {
        let want = &expected["months"][i];
        for (component, got) in components(month) {
            *sums.entry(component).or_default() += got;
            let want = want[component].as_f64().unwrap();
            if !close(got, want) {
                faults.push(format!("month {} {component}: {got} instead of {want}", i + 1));
            }
        }
    }
    if bill.periods.len() != 12 {
        faults.push(format!("{} months", bill.periods.len()));
    }
    let annual: f64 = bill.total.parse().unwrap();
    sums.insert("total", annual);
    for (component, got) in sums {
        let want = expected["annual"][component].as_f64().unwrap();
        if !close(got, want) {
            faults.push(format!("annual {component}: {got} instead of {want}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The reference's components of a month's bill.
fn components(month: &PeriodBill) -> Vec<(&'static str, f64)> {
    let of = |ids: &[&str]| -> f64 {
        let lines = month.line_items.iter().filter(|line| ids.contains(&line.charge_id.as_str()));
        lines.map(|line| line.amount.parse::<f64>().unwrap()).sum()
    };
    vec![
        ("energy_charge", of(&["energy", "energy_export", "export"])),
        ("demand_charge_flat", of(&["demand_flat"])),
        ("demand_charge_tou", of(&["demand_tou"])),
        ("fixed_charge", of(&["fixed"])),
        ("minimum_charge", of(&["minimum", "minimum_year"])),
        ("total", month.total.parse().unwrap()),
    ]
}

fn close(got: f64, want: f64) -> bool {
    (got - want).abs() <= TOLERANCE * want.abs().max(1e-3)
}
