//! Whatever document comes, it is a tariff or a refusal, and a tariff is billed or refused: never a panic, and in time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use samebill::engine::{Options, compare, instants};
use samebill::tariff::{ForeignOptions, PlanFormat, Tariff};
use samebill::usage::{Channel, Quality, Reading, Series};
use serde_json::{Value, json};

use crate::support::{cases, period, question};

const ZONE: chrono_tz::Tz = chrono_tz::Tz::America__Chicago;

/// What a hostile document may cost, with debug code on a busy machine.
const IN_TIME: Duration = Duration::from_secs(20);

/// Every plan document of the fixtures.
static DOCUMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans"), &mut paths);
    paths.sort();
    assert!(paths.len() > 30, "{} documents", paths.len());
    paths.iter().map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()).collect()
});

/// Values that stand where others should.
const STRANGE: [&str; 20] = [
    "null",
    "true",
    "0",
    "-1",
    "4294967296",
    "1e400",
    "\"\"",
    "\"0\"",
    "\"-0.000000000000000001\"",
    "\"1e9\"",
    "\"99999999999999999999999999999999999999\"",
    "\"0.000000000000000001\"",
    "[]",
    "{}",
    "[[]]",
    "\"energy\"",
    "\"24:00-24:00\"",
    "\"02-29/03-01\"",
    "\"9999-12-31\"",
    "{\"divide\": [\"1\", \"0\"]}",
];

/// Readings of both channels, two an hour, over a clock change.
fn readings() -> BTreeMap<Channel, Series> {
    let series = |step: i64| {
        let starts = instants(ZONE, &period("2026-10-15", "2026-12-03")).step_by(1800);
        let readings: Vec<Reading> = starts
            .zip(0_i64..)
            .map(|(start, i)| Reading {
                start,
                seconds: 1800,
                milliwatt_hours: i * step % 3_000_001,
                quality: Quality::Measured,
            })
            .collect();
        Series::from_sorted(&readings)
    };
    BTreeMap::from([(Channel::import(), series(700_001)), (Channel::export(), series(300_007))])
}

/// Reads and bills; returns whether there is a bill.
fn read_and_bill(text: &str) -> Result<(), String> {
    let options = ForeignOptions::allowing_unbilled(true);
    let tariff = Tariff::from_format(PlanFormat::detect(text), text, &options).map_err(|e| e.to_string())?;
    told(&tariff);
    let days = period("2026-10-15", "2026-12-03");
    let asked = question(tariff, ZONE, days, readings(), Options::default());
    compare(&asked).map(drop).map_err(|e| format!("{e:?}"))
}

/// What is a tariff is as the schema says, and can be put into words.
fn told(tariff: &Tariff) {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        jsonschema::draft202012::new(&serde_json::from_str(samebill::tariff::plan_schema()).unwrap()).unwrap()
    });
    let document: Value = serde_json::from_str(tariff.canonical_json()).unwrap();
    let unlike: Vec<String> = SCHEMA.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(unlike.is_empty(), "{unlike:?}");
    let explanation = tariff.explain();
    assert!(explanation.charges.iter().all(|charge| !charge.words.is_empty()), "{document}");
    assert!(!explanation.to_string().is_empty());
}

/// Every value within a document, counted from the root.
fn n_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(n_values).sum(),
        Value::Object(members) => members.values().map(n_values).sum(),
        _ => 0,
    }
}

/// The value with this number.
fn value_at(value: &mut Value, n: usize) -> Option<&mut Value> {
    if n == 0 {
        return Some(value);
    }
    let children: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => return None,
    };
    let mut left = n - 1;
    for child in children {
        let inside = n_values(child);
        if left < inside {
            return value_at(child, left);
        }
        left -= inside;
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), ..ProptestConfig::default() })]

    #[test]
    fn a_document_with_strange_values_is_billed_or_refused(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..STRANGE.len() + 1, any::<prop::sample::Index>()), 1..4),
    ) {
        let mut document = which.get(&DOCUMENTS).clone();
        for (place, strange, other) in changes {
            // A strange value, or one from elsewhere in the document.
            let new = if let Some(text) = STRANGE.get(strange) {
                (*text).to_owned()
            } else {
                let n = other.index(n_values(&document));
                value_at(&mut document, n).unwrap().to_string()
            };
            let n = n_values(&document);
            *value_at(&mut document, place.index(n)).unwrap() = json!(new);
            let text = document.to_string().replace(&json!(new).to_string(), &new);
            let _ = read_and_bill(&text);
        }
    }

    #[test]
    fn a_document_cut_anywhere_is_refused(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let text = which.get(&DOCUMENTS).to_string();
        let end = (0..=cut.index(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap();
        prop_assert!(read_and_bill(&text[..end]).is_err());
    }
}

fn in_time(what: &str, document: &Value) -> Result<(), String> {
    let begin = Instant::now();
    let outcome = read_and_bill(&document.to_string());
    let took = begin.elapsed();
    assert!(took < IN_TIME, "{what} took {took:?}");
    outcome
}

#[test]
fn a_thousand_steps_are_billed_in_time_and_more_refused() {
    let ladder = |n: usize| {
        let steps: Vec<Value> = (1..=n)
            .map(|i| match i {
                _ if i == n => json!({"price": "0.9"}),
                _ => json!({"to": i.to_string(), "price": format!("0.{i:04}")}),
            })
            .collect();
        json!({"name": "ladder", "currency": "USD", "charges": [{"id": "energy", "kind": "energy", "steps": steps}]})
    };
    in_time("1,000 steps", &ladder(1000)).unwrap();
    assert!(in_time("1,001 steps", &ladder(1001)).unwrap_err().contains("1000"));
    let mut daily = ladder(1000);
    daily["charges"][0]["resets"] = json!("day");
    in_time("1,000 steps each day", &daily).unwrap();
    daily["charges"][0]["resets"] = json!("billing_month");
    daily["charges"][0]["tier_allocation"] = json!("chronological");
    in_time("1,000 steps filled in order", &daily).unwrap();
}

#[test]
fn ten_thousand_windows_are_billed_in_time_and_more_refused() {
    // Windows of a half hour on single dates of the year, each at a price of its own from a hundred.
    let windows = |n: usize| {
        let rules: Vec<Value> = (0..n)
            .map(|i| {
                let (half_hour, day) = (i % 48, i / 48 % 28);
                let clock = |half: usize| format!("{:02}:{:02}", half / 2, half % 2 * 30);
                json!({
                    "period": format!("p{}", i % 100),
                    "season": format!("{:02}-{:02}/{:02}-{:02}", i / 1344 % 12 + 1, day + 1, i / 1344 % 12 + 1, day + 2),
                    "hours": [format!("{}-{}", clock(half_hour), clock(half_hour + 1))],
                })
            })
            .chain([json!({"period": "rest"})])
            .collect();
        let prices: serde_json::Map<String, Value> = (0..100)
            .map(|i| (format!("p{i}"), json!(format!("0.{i:02}"))))
            .chain([("rest".into(), json!("1"))])
            .collect();
        json!({"name": "windows", "currency": "USD", "schedules": {"tou": {"periods": rules}},
            "charges": [{"id": "energy", "kind": "energy", "schedule": "tou", "prices": prices}]})
    };
    in_time("10,000 windows", &windows(9_999)).unwrap();
    assert!(in_time("10,001 windows", &windows(10_000)).unwrap_err().contains("10000"));
}

#[test]
fn measures_made_of_each_other_are_evaluated_once() {
    // Each is the sum of two of the one before: evaluated anew, the last would ask for energy 2^28 times.
    let mut measures = serde_json::Map::new();
    measures.insert("m0".into(), json!({"energy": {}}));
    for i in 1..=28 {
        let before = format!("m{}", i - 1);
        measures.insert(format!("m{i}"), json!({"sum": [before, before]}));
    }
    let document = json!({"name": "doubled", "currency": "USD", "measures": measures,
        "charges": [{"id": "a", "kind": "adder", "measure": "m28", "price": "0.000001"}]});
    in_time("sums of sums", &document).unwrap();
}
