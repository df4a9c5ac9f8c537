//! What must hold of any readings and many plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rust_decimal::Decimal;
use samebill::engine::{
    ComparisonResult, Options, PlanToBill, Price, PriceSeries, Question, VersionInForce, compare, instants,
};
use samebill::tariff::Tariff;
use samebill::usage::{Channel, OnConflict, Quality, ReadOptions, Reading, Series, merge};

use crate::support::{cases, period, question};

const ZONE: chrono_tz::Tz = chrono_tz::Tz::America__Chicago;

const FLAT: &str = r#"{"name": "flat", "currency": "USD", "charges": [
    {"id": "service", "kind": "fixed", "price": "0.4321", "per": "day"},
    {"id": "energy", "kind": "energy", "price": "0.12345"}]}"#;

const TIERED: &str = r#"{"name": "tiered", "currency": "USD",
    "schedules": {"tou": {"periods": [{"period": "on", "days": "weekdays", "hours": ["15:00-20:00"]},
        {"period": "night", "hours": ["22:00-05:00"]}, {"period": "off"}]}},
    "charges": [
    {"id": "service", "kind": "fixed", "price": "11.5"},
    {"id": "energy", "kind": "energy", "schedule": "tou", "steps": {
        "on": [{"to": "70", "price": "0.31"}, {"price": "0.43"}],
        "night": [{"to": "150", "price": "0.07"}, {"price": "0.08"}],
        "off": [{"to": "100", "price": "0.11"}, {"to": "400", "price": "0.13"}, {"price": "0.17"}]}},
    {"id": "daily", "kind": "adder", "resets": "day", "steps": [{"to": "5.5", "price": "0.001"}, {"price": "0.002"}]},
    {"id": "demand", "kind": "demand", "schedule": "tou", "prices": {"on": "3.21", "off": "1"}},
    {"id": "minimum", "kind": "minimum", "floor": "40", "of": ["energy"]},
    {"id": "tax", "kind": "tax", "percent": "6.25"}],
    "rounding": ROUNDING}"#;

/// Every channel at its own price.
const CHANNELS: &str = r#"{"name": "channels", "currency": "USD", "charges": [
    {"id": "energy", "kind": "energy", "price": "0.245"},
    {"id": "hot_water", "kind": "energy", "channel": "controlled_load", "resets": "day",
        "steps": [{"to": "5", "price": "0"}, {"price": "0.18"}]},
    {"id": "feed_in", "kind": "export_credit", "resets": "day", "steps": [{"to": "10", "price": "0.05"}, {"price": "0.02"}]}]}"#;

/// Instants, one pass of the hour that occurs twice among them, and a price series by day.
const CALLED: &str = r#"{"name": "called", "currency": "USD",
    "schedules": {"s": {"periods": [{"period": "called", "during": ["2026-10-31T18:00Z/PT4H", "2026-11-01T06:00Z/PT1H"]},
        {"period": "day", "days": "weekdays", "hours": ["08:00-20:00"]}, {"period": "rest"}]}},
    "charges": [
    {"id": "energy", "kind": "energy", "schedule": "s", "prices": {
        "called": "0.9", "day": {"series": "spot", "factor": "1.05"}, "rest": "0.1"}},
    {"id": "demand", "kind": "demand", "schedule": "s", "prices": {"called": "3", "day": "1"}}]}"#;

/// What a charge can be with known prices and bounds: seasons that end within a month, roundings of its own, ladders of
/// every kind, a credit, measures made of others.
const PLAIN: &str = r#"{"name": "plain", "currency": "USD",
    "schedules": {"tou": {"periods": [{"period": "on", "days": "weekdays", "hours": ["15:00-20:00"]},
        {"period": "night", "hours": ["22:00-05:00"]}, {"period": "off"}]},
        "season": {"periods": [{"period": "cold", "season": "11-10/03-01"}, {"period": "mild"}]}},
    "measures": {"half": {"times": [{"energy": {}}, "0.5"]}, "odd": {"divide": [{"energy": {}}, "7"]}},
    "charges": [
    {"id": "service", "kind": "fixed", "price": "0.4321", "per": "day"},
    {"id": "meter", "kind": "fixed", "price": "3.1", "rounding": {"to": "0.05", "mode": "up"}},
    {"id": "grid", "kind": "fixed", "schedule": "season", "prices": {"cold": "0.5", "mild": "0.25"}, "per": "day"},
    {"id": "once", "kind": "fixed", "schedule": "season", "prices": {"cold": "7", "mild": "6"}, "per": "billing_period"},
    {"id": "edge", "kind": "energy", "steps": [{"to": "0.745", "price": "0.1"}, {"to": "1.49", "price": "0.2"}, {"price": "0.3"}]},
    {"id": "seasonal", "kind": "energy", "schedule": "season", "prices": {"cold": "0.11", "mild": "0.1"}},
    {"id": "alone", "kind": "energy", "schedule": "tou", "tier_scope": "per_period", "steps": {
        "on": [{"to": "70", "price": "0.31"}, {"price": "0.43"}],
        "night": [{"to": "150", "price": "0.07"}, {"price": "0.08"}], "off": [{"price": "0.17"}]}},
    {"id": "together", "kind": "energy", "schedule": "tou", "rounding": "0.01", "steps": {
        "on": [{"to": "70.5", "price": "0.31"}, {"to": "200", "price": "0.43", "whole": true}, {"price": "0.5"}],
        "night": [{"to": "150.000001", "price": "0.07"}, {"price": "-0.08"}], "off": [{"price": "0.17"}]}},
    {"id": "whole", "kind": "adder", "steps": [
        {"to": "100", "price": "0.001"}, {"to": "300", "price": "0.002"}, {"price": "0.0005", "whole": true}]},
    {"id": "peaks", "kind": "demand", "schedule": "tou", "steps": {
        "on": [{"to": "2", "price": "3.21"}, {"price": "4"}], "off": [{"price": "1"}]}},
    {"id": "peak_by_season", "kind": "demand", "schedule": "season", "prices": {"cold": "2", "mild": "1"}},
    {"id": "peak_of_period", "kind": "demand", "schedule": "tou", "period": "on", "price": "0.7"},
    {"id": "capacity", "kind": "fixed", "capacity": "contract_kw", "price": "0.75"},
    {"id": "made", "kind": "adder", "measure": "half", "steps": [{"to": "100", "price": "0.01"}, {"price": "0.02"}]},
    {"id": "odd", "kind": "adder", "measure": "odd", "price": "0.01"},
    {"id": "rebate", "kind": "discount", "percent": "3", "on": ["together", "alone"]},
    {"id": "minimum", "kind": "minimum", "floor": "90", "of": ["together", "service"]},
    {"id": "tax", "kind": "tax", "percent": "6.25"},
    {"id": "levy", "kind": "tax", "percent": "1.5", "on": ["tax", "peaks"], "rounding": {"to": "0.01", "mode": "down"}}],
    "rounding": ROUNDING}"#;

/// Roundings of lines and totals, of every mode.
const ROUNDINGS: [&str; 7] = [
    r"{}",
    r#"{"lines": "0.01"}"#,
    r#"{"lines": {"to": "0.05", "mode": "up"}, "total": {"to": "1", "mode": "down"}}"#,
    r#"{"lines": {"to": "0.1", "mode": "half_even"}, "total": "none"}"#,
    r#"{"total": "none"}"#,
    r#"{"total": {"to": "0.05", "mode": "half_even"}}"#,
    r#"{"lines": "none", "total": {"to": "10", "mode": "up"}}"#,
];

fn tiered(rounding: usize) -> String {
    rounded(TIERED, rounding)
}

fn rounded(document: &str, rounding: usize) -> String {
    document.replace("ROUNDING", ROUNDINGS[rounding % ROUNDINGS.len()])
}

fn plan(reference: &str, document: &str) -> PlanToBill {
    let days = period("2026-10-15", "2026-12-03");
    let tariff = Arc::new(Tariff::from_json(document).unwrap());
    PlanToBill { reference: reference.parse().unwrap(), versions: vec![VersionInForce { version: 1, days, tariff }] }
}

/// Hourly readings over a clock change, from a few values in turn.
fn hourly(kwh: &[i64]) -> Vec<Reading> {
    let starts = instants(ZONE, &period("2026-10-15", "2026-12-03")).step_by(3600);
    starts
        .zip(kwh.iter().cycle())
        .map(|(start, value)| Reading { start, seconds: 3600, milliwatt_hours: *value, quality: Quality::Measured })
        .collect()
}

fn ask(readings: &[Reading], plans: Vec<PlanToBill>) -> Question {
    let days = period("2026-10-15", "2026-12-03");
    let readings = BTreeMap::from([(Channel::import(), Series::from_sorted(readings))]);
    let mut question = question(Tariff::from_json(FLAT).unwrap(), ZONE, days, readings, Options::default());
    question.plans = plans;
    let starts = (0..).zip(instants(ZONE, &days).step_by(3600));
    let prices = starts.map(|(n, start)| Price { start, seconds: 3600, digits: n * 7_919 % 3_000 - 200 });
    question.price_series.insert("spot".to_owned(), Arc::new(PriceSeries::from_sorted(prices, 4)));
    question
}

fn bill(readings: &[Reading], document: &str) -> ComparisonResult {
    compare(&ask(readings, vec![plan("plan", document)])).unwrap()
}

fn decimal(text: &str) -> Decimal {
    Decimal::from_str_exact(text).unwrap()
}

fn total(result: &ComparisonResult) -> Decimal {
    decimal(&result.plans[0].total)
}

fn energy_amounts(result: &ComparisonResult) -> Vec<String> {
    let lines = result.plans[0].periods.iter().flat_map(|month| &month.line_items);
    lines.filter(|line| line.kind == "energy").map(|line| format!("{} {}", line.quantity, line.amount)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    #[test]
    fn the_lines_add_up_to_the_total(kwh in prop::collection::vec(0i64..9_000_000, 1..60), rounding in 0usize..7) {
        let result = bill(&hourly(&kwh), &tiered(rounding));
        let bill = &result.plans[0];
        let mut sum = Decimal::ZERO;
        for month in &bill.periods {
            let lines: Decimal = month.line_items.iter().map(|line| decimal(&line.amount)).sum();
            prop_assert_eq!(lines, decimal(&month.total));
            sum += lines;
        }
        prop_assert_eq!(sum, decimal(&bill.total));
        let subtotals: Decimal = bill.subtotals.values().map(|amount| decimal(amount)).sum();
        prop_assert_eq!(subtotals, sum);
    }

    /// Most charges are billed from whole numbers at once; a date that cuts a charge, were it years away, leads past that.
    #[test]
    fn a_charge_that_began_years_ago_costs_what_it_costs_without_a_date(
        kwh in prop_oneof![prop::collection::vec(-400_000i64..2_000_000, 1..60), prop::collection::vec(1_000i64..3_000, 1)],
        rounding in 0usize..7, scale in 0u32..4,
    ) {
        // A thousandth of a kWh in each of 745 hours lies on a bound.
        let kwh: Vec<i64> = kwh.into_iter().map(|value| if value % 2 == 0 { value / 10i64.pow(scale) } else { value / 1_000 * 1_000 }).collect();
        for document in [PLAIN, TIERED] {
            let plain = rounded(document, rounding);
            let dated = plain.replace("{\"id\": ", "{\"from\": \"2001-01-01\", \"id\": ");
            let bill = |document: &str| {
                let mut question = ask(&hourly(&kwh), vec![plan("plan", document)]);
                let contract = samebill::words::AttributeValue::Number(decimal("12.5"));
                question.attributes.insert("contract_kw".to_owned(), contract);
                question.options.min_coverage = Decimal::ZERO;
                compare(&question)
            };
            match (bill(&plain), bill(&dated)) {
                (Ok(plain), Ok(dated)) => prop_assert_eq!(plain, dated),
                (plain, dated) => {
                    prop_assert!(kwh.iter().any(|value| *value < 0), "{plain:?}");
                    prop_assert_eq!(format!("{plain:?}"), format!("{dated:?}"));
                }
            }
        }
    }

    #[test]
    fn splitting_readings_evenly_leaves_energy_charges_unchanged(kwh in prop::collection::vec(0i64..2_000_000, 1..60)) {
        let whole: Vec<Reading> = hourly(&kwh.iter().map(|e| e * 4).collect::<Vec<_>>());
        let split: Vec<Reading> = whole
            .iter()
            .flat_map(|r| (0..4).map(|i| Reading {
                start: r.start + i * 900, seconds: 900, milliwatt_hours: r.milliwatt_hours / 4, ..*r
            }))
            .collect();
        for document in [&tiered(0), CALLED] {
            let (whole, split) = (bill(&whole, document), bill(&split, document));
            prop_assert_eq!(energy_amounts(&whole), energy_amounts(&split));
            prop_assert_eq!(total(&whole), total(&split));
        }
    }

    #[test]
    fn more_import_never_costs_less(kwh in prop::collection::vec(0i64..5_000_000, 1..60), more in 0usize..60, by in 0i64..5_000_000) {
        let mut larger = kwh.clone();
        larger[more % kwh.len()] += by;
        prop_assert!(total(&bill(&hourly(&kwh), &tiered(0))) <= total(&bill(&hourly(&larger), &tiered(0))));
    }

    #[test]
    fn a_plan_costs_the_same_beside_others_on_any_number_of_threads(kwh in prop::collection::vec(0i64..5_000_000, 1..60)) {
        let readings = hourly(&kwh);
        let alone = [bill(&readings, &tiered(1)), bill(&readings, CALLED)];
        let plans: Vec<PlanToBill> = (0..9)
            .map(|i| plan(&format!("p{i}"), &if i % 2 == 0 { tiered(i) } else { FLAT.to_owned() }))
            .chain([plan("plan", &tiered(1)), plan("called", CALLED)])
            .collect();
        let ask = ask(&readings, plans);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compare(&ask).unwrap())
        };
        let (one, four) = (on(1), on(4));
        prop_assert_eq!(&one, &four);
        for (id, alone) in ["plan", "called"].iter().zip(alone) {
            let beside = one.plans.iter().find(|p| p.plan_id == *id).unwrap();
            prop_assert_eq!(&beside.periods, &alone.plans[0].periods);
        }
    }

    #[test]
    fn the_order_of_imports_does_not_matter(
        kwh in prop::collection::vec(0i64..5_000_000, 1..60),
        cuts in prop::collection::btree_set(1usize..1000, 0..5),
        order in Just((0..6usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let readings = hourly(&kwh);
        let mut bounds: Vec<usize> = cuts.into_iter().chain([0, readings.len()]).collect();
        bounds.sort_unstable();
        let files: Vec<&[Reading]> = bounds.windows(2).map(|pair| &readings[pair[0]..pair[1]]).collect();
        let in_order = |order: &mut dyn Iterator<Item = usize>| {
            order.filter_map(|i| files.get(i)).fold(Vec::new(), |stored: Vec<Reading>, file| {
                merge(&stored, file, OnConflict::default()).unwrap().readings
            })
        };
        let (sorted, shuffled) = (in_order(&mut (0..6)), in_order(&mut order.into_iter()));
        prop_assert_eq!(&bill(&sorted, &tiered(0)), &bill(&readings, &tiered(0)));
        prop_assert_eq!(&bill(&shuffled, &tiered(0)), &bill(&readings, &tiered(0)));
    }

    #[test]
    fn the_order_of_channels_does_not_matter(
        kwh in prop::collection::vec((0u32..9000, 0u32..9000, 0u32..9000), 49 * 24),
        order in prop::sample::select(vec![[2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1]]),
    ) {
        let names = ["import", "export", "controlled_load"];
        let file = |order: [usize; 3]| {
            // One channel after the other, as in the file of a retailer.
            let of_channel = |i: usize| {
                let starts = instants(ZONE, &period("2026-10-15", "2026-12-03")).step_by(3600);
                starts.zip(&kwh).map(move |(start, row)| {
                    let watt_hours = [row.0, row.1, row.2][i];
                    let start = chrono::DateTime::from_timestamp(start, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ");
                    let kwh = format!("{}.{:03}", watt_hours / 1000, watt_hours % 1000);
                    format!(r#"{{"start": "{start}", "channel": "{}", "kwh": "{kwh}"}}"#, names[i])
                })
            };
            let rows: Vec<String> = order.into_iter().flat_map(of_channel).collect();
            let text = format!(r#"{{"interval_minutes": 60, "readings": [{}]}}"#, rows.join(","));
            let readings = samebill::usage::read(std::io::Cursor::new(text), &ReadOptions::default()).unwrap().readings;
            let mut asked = ask(&[], vec![plan("plan", CHANNELS)]);
            asked.readings = readings.into_iter().map(|(channel, list)| (channel, Series::from_sorted(&list.to_vec()))).collect();
            compare(&asked).unwrap()
        };
        prop_assert_eq!(file(order), file([0, 1, 2]));
    }

    #[test]
    fn two_parts_of_a_period_cost_what_the_whole_costs(kwh in prop::collection::vec(0i64..5_000_000, 1..60), cut in 1i64..48) {
        // A plan without memory of the month: prices per kWh and per day, unrounded.
        let document = FLAT.replace("\"charges\"", "\"rounding\": {\"total\": \"none\"}, \"charges\"");
        let readings = hourly(&kwh);
        let whole = ask(&readings, vec![plan("plan", &document)]);
        let middle = whole.period.start() + chrono::Duration::days(cut);
        let part = |start: chrono::NaiveDate, end: chrono::NaiveDate| {
            let days = period(&start.to_string(), &end.to_string());
            let mut part = question(Tariff::from_json(&document).unwrap(), ZONE, days, whole.readings.clone(), Options::default());
            part.plans[0].versions[0].days = days;
            total(&compare(&part).unwrap())
        };
        let sum = part(whole.period.start(), middle) + part(middle, whole.period.end());
        prop_assert_eq!(total(&compare(&whole).unwrap()), sum);
    }
}
