//! Bills small enough to check on paper: every file of `fixtures/bills/hand`, with its working.
//!
//! A case holds `plan` (a document), `plan_file` (one in `fixtures/plans`, ours or foreign) or `versions` (documents with
//! the day from which each holds), `time_zone`, `period`, `readings`, and the lines and totals that the working comes to. Of `readings` the first stretch that
//! names a day and hour says what each interval holds; what none names is 0. `price_series` is written in the same way.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use chrono::{Datelike, NaiveDate, Timelike};
use rust_decimal::Decimal;
use samebill::engine::{LineItem, NotApplied, Price, PriceSeries, VersionInForce, compare, instants};
use samebill::tariff::{ForeignOptions, IncludedTariff, Tariff};
use samebill::usage::{Channel, Quality, Reading, Series};
use samebill::words::{AttributeValue, BillingPeriod};
use serde::Deserialize;

use crate::support::{period, question, tariff};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    title: String,
    working: Vec<String>,
    #[serde(default)]
    plan: Option<serde_json::Value>,
    #[serde(default)]
    plan_file: Option<String>,
    #[serde(default)]
    versions: Vec<Version>,
    /// Plans that it includes, by their ids.
    #[serde(default)]
    included: BTreeMap<String, serde_json::Value>,
    time_zone: chrono_tz::Tz,
    /// First day, and the day after the last.
    period: (String, String),
    #[serde(default)]
    attributes: BTreeMap<String, AttributeValue>,
    readings: BTreeMap<Channel, Readings>,
    /// Prices by instant; what no stretch names has none.
    #[serde(default)]
    price_series: BTreeMap<String, Readings>,
    /// `charge/period#step quantity unit x rate = amount`, month after month.
    lines: Vec<String>,
    /// Of each billing month.
    totals: Vec<String>,
    /// `charge amount, condition`, of the whole period.
    #[serde(default)]
    not_applied: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    from: String,
    plan: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Readings {
    minutes: u32,
    /// The first day, where readings begin before the period.
    #[serde(default)]
    from: Option<String>,
    stretches: Vec<Stretch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stretch {
    /// kWh of each interval, or its price.
    #[serde(rename = "kwh", alias = "price")]
    value: String,
    /// First day, and the day after the last.
    #[serde(default)]
    days: Option<(String, String)>,
    /// `mon` … `sun`.
    #[serde(default)]
    weekdays: Option<Vec<chrono::Weekday>>,
    /// Local hours `[start, end)`.
    #[serde(default)]
    hours: Option<(u32, u32)>,
}

#[test]
fn every_hand_worked_bill_comes_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bills/hand");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    names.sort();
    assert!(names.len() >= 15, "{} cases in {}", names.len(), folder.display());
    let mut failures = Vec::new();
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let case: Case = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(!case.working.is_empty(), "{}: a case shows its working", path.display());
        if let Err(why) = check(&case) {
            failures.push(format!("{} ({}): {why}", path.file_name().unwrap().display(), case.title));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(case: &Case) -> Result<(), String> {
    let asked = period(&case.period.0, &case.period.1);
    let read = |plan: &serde_json::Value| read_with(plan, &case.included);
    let first = match &case.plan_file {
        Some(name) => tariff(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans").join(name),
            &ForeignOptions::default(),
        )?,
        None => read(case.plan.as_ref().or_else(|| case.versions.first().map(|version| &version.plan)).unwrap())?,
    };
    let mut question = question(first, case.time_zone, asked, BTreeMap::new(), samebill::engine::Options::default());
    for (channel, readings) in &case.readings {
        question.readings.insert(channel.clone(), series(case, readings));
    }
    for (name, prices) in &case.price_series {
        question.price_series.insert(name.clone(), Arc::new(price_series(case, prices)));
    }
    question.attributes.clone_from(&case.attributes);
    if !case.versions.is_empty() {
        let bounds: Vec<NaiveDate> = case.versions.iter().map(|version| version.from.parse().unwrap()).collect();
        let mut versions = Vec::new();
        for (i, version) in case.versions.iter().enumerate() {
            let end = bounds.get(i + 1).copied().unwrap_or(asked.end());
            versions.push(VersionInForce {
                version: u32::try_from(i).unwrap() + 1,
                days: BillingPeriod::new(bounds[i].max(asked.start()), end).unwrap(),
                tariff: Arc::new(read(&version.plan)?),
            });
        }
        question.plans[0].versions = versions;
    }
    let result = compare(&question).map_err(|e| format!("{e:?}"))?;
    let bill = &result.plans[0];
    let lines: Vec<String> = bill.periods.iter().flat_map(|month| &month.line_items).map(shown).collect();
    let totals: Vec<&str> = bill.periods.iter().map(|month| month.total.as_str()).collect();
    let not_applied: Vec<String> = bill.not_applied.iter().map(not_applied).collect();
    if lines != case.lines || totals != case.totals || not_applied != case.not_applied {
        return Err(format!("lines\n    {}\n  totals {totals:?}\n  not applied {not_applied:?}", lines.join("\n    ")));
    }
    Ok(())
}

/// A plan with those that it includes.
fn read_with(plan: &serde_json::Value, known: &BTreeMap<String, serde_json::Value>) -> Result<Tariff, String> {
    let tariff = Tariff::from_json(&plan.to_string()).map_err(|e| e.to_string())?;
    let mut included = Vec::new();
    for (name, plan_id) in tariff.includes() {
        let tariff = Arc::new(read_with(&known[plan_id.as_str()], known)?);
        included.push(IncludedTariff { name: name.to_owned(), plan_id: plan_id.clone(), version: 1, tariff });
    }
    tariff.including(included).map_err(|e| e.to_string())
}

/// A line as a case writes it.
pub(crate) fn shown(line: &LineItem) -> String {
    let period = line.tou_period.as_ref().map_or(String::new(), |period| format!("/{period}"));
    let tier = line.tier.map_or(String::new(), |tier| format!("#{tier}"));
    let rate = match (&line.rate, &line.price_series) {
        (Some(rate), _) => format!(" x {rate}"),
        (None, Some(series)) => format!(" at {} {}", series.id, series.mean_rate.as_deref().unwrap_or("-")),
        (None, None) => String::new(),
    };
    format!("{}{period}{tier} {} {}{rate} = {}", line.charge_id, line.quantity, line.unit, line.amount)
}

/// What is not applied as a case writes it.
fn not_applied(charge: &NotApplied) -> String {
    format!("{} {}, {}", charge.charge_id, charge.amount.as_deref().unwrap_or("?"), charge.condition)
}

fn series(case: &Case, readings: &Readings) -> Series {
    let made: Vec<Reading> = intervals(case, readings)
        .into_iter()
        .map(|(start, value)| {
            let milliwatt_hours = value.unwrap_or_default() * Decimal::from(1_000_000);
            Reading {
                start,
                seconds: readings.minutes * 60,
                milliwatt_hours: milliwatt_hours.try_into().unwrap(),
                quality: Quality::Measured,
            }
        })
        .collect();
    Series::from_sorted(&made)
}

fn price_series(case: &Case, prices: &Readings) -> PriceSeries {
    let made = intervals(case, prices).into_iter().filter_map(|(start, value)| {
        let digits = value? * Decimal::from(1_000_000);
        Some(Price { start, seconds: prices.minutes * 60, digits: digits.normalize().try_into().unwrap() })
    });
    PriceSeries::from_sorted(made, 6)
}

/// The intervals of the case's days, each with the value of the first stretch that names it.
fn intervals(case: &Case, readings: &Readings) -> Vec<(i64, Option<Decimal>)> {
    let start = readings.from.as_ref().unwrap_or(&case.period.0);
    let days = BillingPeriod::new(start.parse().unwrap(), case.period.1.parse().unwrap()).unwrap();
    let value = |start: i64| {
        let local = chrono::DateTime::from_timestamp(start, 0).unwrap().with_timezone(&case.time_zone);
        let stretch = readings.stretches.iter().find(|stretch| {
            let date = local.date_naive();
            let in_days = stretch.days.as_ref().is_none_or(|(first, end)| {
                first.parse::<NaiveDate>().unwrap() <= date && date < end.parse::<NaiveDate>().unwrap()
            });
            let in_weekdays = stretch.weekdays.as_ref().is_none_or(|days| days.contains(&local.weekday()));
            let in_hours = stretch.hours.is_none_or(|(first, end)| first <= local.hour() && local.hour() < end);
            in_days && in_weekdays && in_hours
        });
        stretch.map(|stretch| stretch.value.parse().unwrap())
    };
    let starts = instants(case.time_zone, &days).step_by(readings.minutes as usize * 60);
    starts.map(|start| (start, value(start))).collect()
}
