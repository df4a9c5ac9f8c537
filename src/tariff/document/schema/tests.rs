//! The schema and the reader say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

use super::super::walk::TAKEN;
use super::super::words::MEASURES;
use super::plan_schema;
use crate::tariff::model::Kind;
use crate::tariff::{ForeignOptions, PlanFormat, Tariff};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(plan_schema()).unwrap());
static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).unwrap());

/// Faults that a schema can always see.
const VISIBLE: [&str; 10] = [
    "wrong_type",
    "unknown_field",
    "unknown_choice",
    "unknown_currency",
    "bad_name",
    "bad_window",
    "not_a_text",
    "not_a_number",
    "one_key",
    "too_long",
];

/// A document that the reader takes.
#[track_caller]
pub(crate) fn takes(document: &str) {
    let document: Value = serde_json::from_str(document).unwrap();
    let errors: Vec<String> =
        VALIDATOR.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [] as [String; 0], "{document}");
}

/// A document that the reader refuses for these faults, by code and pointer.
#[track_caller]
pub(crate) fn refuses(document: &str, faults: &[(String, String)]) {
    let Ok(read) = serde_json::from_str(document) else { return };
    if faults.iter().any(|(code, _)| VISIBLE.contains(&code.as_str())) {
        assert!(!VALIDATOR.is_valid(&read), "{faults:?} {document}");
    }
}

/// Every kind of object that a plan can hold.
const WHOLE: &str = r#"{"name": "n", "currency": "USD", "rounding": {"lines": {"to": "0.01"}}, "conventions": {},
    "not_billed": [{"field": "f", "reason": "r", "optional": true}],
    "schedules": {"s": {"periods": [{"period": "p", "during": ["2026-07-15T18:00Z/PT1H"]}, {"period": "p", "during": "peaks"}, {"period": "q"}]}},
    "measures": {"d": {"days": {"schedule": "s", "period": "p"}}, "e": {"energy": {}}, "k": {"demand": {}}, "n": {"net_energy": {}},
        "r": {"round": {"of": "e", "to": "1"}}, "o": {"over_months": {"of": "k", "last": 2, "take": "max"}}},
    "charges": [
        {"id": "a", "kind": "energy", "steps": [{"price": "1"}]}, {"id": "b", "kind": "adder", "price": "1", "rounding": {"to": "1", "each": "line"}},
        {"id": "c", "kind": "export_credit", "price": {"series": "x"}, "condition": {"attribute": "a"}}, {"id": "d", "kind": "demand", "price": "1", "ratchet": {"percent": "80", "last": 11}},
        {"id": "e", "kind": "fixed", "price": "1"}, {"id": "f", "kind": "minimum", "floor": "1"}, {"id": "g", "kind": "tax", "percent": "1"},
        {"id": "h", "kind": "discount", "price": "1"}, {"id": "i", "kind": "subtotal", "measure": "one", "price": "1"},
        {"id": "j", "kind": "rounding", "measure": "one", "price": "1"}]}"#;

/// The definitions that say what an object may hold.
fn definitions(object: &str) -> Vec<&'static Value> {
    let names: &[&str] = match object {
        "a plan" => return vec![&SCHEMA],
        "a schedule" => &["Schedule"],
        "a rule" => &["Rule"],
        "a rounding" => &["Rounding", "ChargeRoundingObject"],
        "rounding" => &["PlanRounding"],
        "conventions" => &["Conventions"],
        "an entry of not_billed" => &["NotBilled"],
        "this measure" => &["InPeriod"],
        "energy" => &["Energy"],
        "demand" => &["Demand"],
        "net_energy" => &["NetEnergy"],
        "round" => &["Round"],
        "over_months" => &["OverMonths"],
        "a ratchet" => &["Ratchet"],
        "a step" => &["Step"],
        "a price by series" => &["SeriesPrice"],
        "a condition" => &["Condition"],
        "a charge of kind energy" | "a charge of kind adder" | "a charge of kind export_credit" => &["EnergyCharge"],
        "a charge of kind demand" => &["DemandCharge"],
        "a charge of kind fixed" => &["FixedCharge"],
        "a charge of kind minimum" => &["MinimumCharge"],
        "a charge of kind tax" | "a charge of kind discount" => &["PercentCharge"],
        "a charge of kind subtotal" | "a charge of kind rounding" => &["MeasuredCharge"],
        other => panic!("say here which definition of the schema is for {other}"),
    };
    names.iter().map(|name| &SCHEMA["$defs"][name]).collect()
}

fn members(definitions: &[&'static Value]) -> BTreeSet<&'static str> {
    let objects = definitions.iter().map(|definition| definition["properties"].as_object().expect("an object"));
    objects.flat_map(|object| object.keys().map(String::as_str)).collect()
}

#[test]
fn the_members_that_the_reader_takes_are_those_of_the_schema() {
    takes(WHOLE);
    TAKEN.take();
    Tariff::from_json(WHOLE).unwrap();
    for (object, taken) in TAKEN.take() {
        assert_eq!(taken, members(&definitions(&object)), "{object}");
    }
}

#[test]
fn kinds_and_measures_are_those_of_the_model() {
    let mut kinds = BTreeSet::new();
    for charge in SCHEMA["$defs"]["Charge"]["anyOf"].as_array().unwrap() {
        let name = charge["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let kind = &SCHEMA["$defs"][name]["properties"]["kind"];
        let words = kind["enum"].as_array().cloned().unwrap_or_else(|| vec![kind["const"].clone()]);
        kinds.extend(words.into_iter().map(|word| word.as_str().unwrap().to_owned()));
    }
    assert_eq!(kinds, Kind::ALL.iter().map(|(name, _)| (*name).to_owned()).collect());
    let measures = SCHEMA["$defs"]["MeasureObject"]["oneOf"].as_array().unwrap();
    let keys: BTreeSet<&str> =
        measures.iter().flat_map(|m| m["properties"].as_object().unwrap().keys()).map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(MEASURES));
    for key in MEASURES {
        let document = WHOLE.replace(r#""e": {"energy": {}}"#, &format!(r#""e": {{"{key}": null}}"#));
        let faults = Tariff::from_json(&document).unwrap_err().0;
        assert!(faults.iter().all(|fault| !fault.message.contains("is no measure; there are")), "{key} is read");
    }
}

/// Every JSON file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Values of members named `plan` or `plans` that are plan documents, anywhere in a value.
fn plans_in<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(members) if members.contains_key("charges") && members.contains_key("currency") => {
            found.push(value);
        }
        Value::Object(members) => members.values().for_each(|value| plans_in(value, found)),
        Value::Array(items) => items.iter().for_each(|value| plans_in(value, found)),
        _ => {}
    }
}

#[test]
fn every_plan_of_the_fixtures_is_as_the_schema_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut n_plans = BTreeMap::from([("own", 0), ("foreign", 0)]);
    for path in files(&root.join("plans")).into_iter().chain(files(&root.join("bills"))) {
        let text = std::fs::read_to_string(&path).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut own = Vec::new();
        plans_in(&value, &mut own);
        for plan in own.iter().filter(|plan| Tariff::from_json(&plan.to_string()).is_ok()) {
            takes(&plan.to_string());
            *n_plans.get_mut("own").unwrap() += 1;
        }
        let format = PlanFormat::detect(&text);
        if own.is_empty() && format != PlanFormat::Own {
            let tariff = Tariff::from_format(format, &text, &ForeignOptions::allowing_unbilled(true)).unwrap();
            takes(tariff.canonical_json());
            *n_plans.get_mut("foreign").unwrap() += 1;
        }
    }
    assert!(n_plans["own"] > 50 && n_plans["foreign"] > 1, "{n_plans:?}");
}

#[test]
fn the_file_is_what_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas/plan.schema.json");
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        file == plan_schema(),
        "the schema has changed: cargo run -- plan schema > fixtures/schemas/plan.schema.json"
    );
}

#[test]
fn what_only_a_schema_for_editors_says_is_refused() {
    for document in [
        "[]",
        "{}",
        r#"{"name": "n", "currency": "USD", "charges": []}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "energy"}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "energy", "price": "1", "percent": "1"}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "energy", "price": null}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "subtotal", "price": "1"}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "minimum"}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "demand", "price": "1", "window_minutes": 0}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "fixed", "price": "1", "rounding": "0.00"}]}"#,
        r#"{"name": "n", "currency": "USD", "charges": [{"id": "e", "kind": "energy", "steps": [{"to": "1"}]}]}"#,
    ] {
        assert!(Tariff::from_json(document).is_err(), "{document}");
        assert!(!VALIDATOR.is_valid(&serde_json::from_str(document).unwrap()), "{document}");
    }
}
