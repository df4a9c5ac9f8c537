//! Plans in words, whole; and the pieces that are easily wrong.

use std::fmt::Write as _;
use std::path::Path;

use super::when::{dates, days_of_year, when};
use crate::tariff::{ForeignOptions, PlanFormat, Tariff};

/// A plan of the fixtures in words.
fn explained(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let options = ForeignOptions::default();
    Tariff::from_format(PlanFormat::detect(&text), &text, &options).unwrap().explain().to_string()
}

#[test]
fn plans_of_the_fixtures_in_words() {
    for (name, file) in [
        ("daily_baseline", "pge-e-tou-c.json"),
        ("three_periods_with_holidays", "worked/es-enygas-20td.json"),
        ("demand_minimum", "worked/us-large-demand-fuel-tax-1655kw.json"),
        ("network_blocks", "worked/si-network-blocks-a.json"),
        ("price_series", "worked/es-pvpc-20dha-2020.json"),
        ("japan_three_steps", "japan/three-steps.json"),
        ("japan_high_voltage", "japan/high-voltage.json"),
        ("cdr", "foreign/cdr-controlled-load.json"),
        ("cdr_fees", "foreign/cdr-fees.json"),
        ("coincident_peaks", "worked/us-reopt-coincident-peaks.json"),
    ] {
        insta::assert_snapshot!(name, explained(file));
    }
}

/// What the fixtures do not show: conditions, dates, net metering, means of peaks, subtotals, includes, unbilled parts.
const ODDITIES: &str = r#"{"name": "電力プラン: 家庭用", "currency": "USD", "include": {"network": "ausgrid-ea025"},
  "conventions": {"tier_allocation": "chronological", "missing_history": "refuse", "yearly_amounts": "twelfths"},
  "not_billed": [{"field": "/reactive", "reason": "no meter for it"}, {"field": "/green", "reason": "a choice", "optional": true}],
  "schedules": {"unused": {"periods": [{"period": "p"}]},
    "night": {"holidays": ["us", "tx"], "holidays_count_as": "sun", "periods": [
      {"period": "night", "hours": ["22:15-06:00"], "days": "weekdays"}, {"period": "never", "hours": ["23:00-24:00"], "days": ["mon"]},
      {"period": "day"}]}},
  "charges": [
    {"id": "paper", "kind": "fixed", "price": "2", "condition": {"attribute": "billing", "is": "paper"}, "from": "2026-01-01", "to": "2027-01-01"},
    {"id": "net", "kind": "energy", "measure": {"net_energy": {"carry_until": "04-01"}}, "schedule": "night",
      "prices": {"night": "0.1", "never": "0", "day": "0.25"}},
    {"id": "surplus", "kind": "export_credit", "measure": {"net_energy": {"carry_until": "04-01", "part": "carried"}}, "price": "0.04"},
    {"id": "peaks", "kind": "demand", "price": "3", "window_minutes": 60, "highest": 3, "distinct": "days", "at_least": "5"},
    {"id": "mean", "kind": "demand", "measure": {"over_months": {"of": {"max": ["2.5", {"demand": {}}]}, "last": 12, "current": true, "take": "mean", "named": [7, 6]}},
      "price": "41", "per": "year"},
    {"id": "stairs", "kind": "adder", "steps": [{"to": "100", "price": "0.01", "amount": "5"}, {"price": "0.005", "whole": true}]},
    {"id": "off", "kind": "discount", "on": ["net"], "percent": "5"},
    {"id": "base", "kind": "subtotal", "on_bill": false, "measure": {"amount": ["net", "stairs"]}, "price": "1", "rounding": {"to": "0.01", "each": "charge"}},
    {"id": "hidden", "kind": "fixed", "price": "1", "per": "day", "on_bill": false},
    {"id": "levy", "kind": "tax", "percent": {"by_date": {"2026-01": "5", "2026-07": "6"}}, "on": ["base", "network"]},
    {"id": "least", "kind": "minimum", "floor": "30"}],
  "rounding": {"total": "none"}}"#;

#[test]
fn a_plan_of_oddities_in_words() {
    insta::assert_snapshot!(Tariff::from_json(ODDITIES).unwrap().explain().to_string());
}

/// The words for each period of a schedule of these rules, without those for no period.
fn periods(schedule: &str) -> Vec<String> {
    let document = format!(
        r#"{{"name": "n", "currency": "USD", "schedules": {{"s": {schedule}}}, "charges": [{{"id": "e", "kind": "fixed", "price": "1"}}]}}"#
    );
    let tariff = Tariff::from_json(&document).unwrap();
    let mut words = when(&tariff.plan().schedules[0]);
    words.pop();
    words
}

#[test]
fn periods_are_told_by_the_hours_that_they_have_in_the_end() {
    let rules = |rules: &str| periods(&format!(r#"{{"periods": [{rules}]}}"#));
    assert_eq!(rules(r#"{"period": "a"}"#), ["always"]);
    assert_eq!(rules(r#"{"period": "a"}, {"period": "b"}"#), ["always", "never"]);
    assert_eq!(
        rules(r#"{"period": "night", "hours": ["23:00-07:00"]}, {"period": "day"}"#),
        ["every day 23:00-07:00", "every day 07:00-23:00"]
    );
    assert_eq!(
        rules(r#"{"period": "night", "days": "weekdays", "hours": ["22:00-06:00"]}, {"period": "rest"}"#),
        [
            "weekdays 22:00-06:00",
            "Mondays 00:00-22:00, plus Tuesdays to Fridays 06:00-22:00, plus Saturdays 06:00-24:00, plus Sundays all day"
        ]
    );
    assert_eq!(
        rules(r#"{"period": "a", "days": ["tue", "wed", "thu", "sun"]}, {"period": "b"}"#),
        ["Tuesdays to Thursdays and Sundays all day", "Mondays, Fridays and Saturdays all day"]
    );
    assert_eq!(
        rules(r#"{"period": "summer", "season": "06-15/09-16"}, {"period": "winter"}"#),
        ["15 June to 15 September", "16 September to 14 June"]
    );
    assert_eq!(
        rules(r#"{"period": "a", "months": [12, 1, 2, 6], "hours": ["10:00-12:00"]}, {"period": "b", "months": [7]}"#),
        ["every day 10:00-12:00, June and December to February", "July"]
    );
}

#[test]
fn hours_without_a_period_and_periods_without_a_price_are_told() {
    let document = r#"{"name": "n", "currency": "USD",
        "schedules": {"s": {"periods": [{"period": "on", "days": "weekdays", "hours": ["08:00-20:00"]}, {"period": "off", "days": "weekdays"}]}},
        "charges": [{"id": "e", "kind": "energy", "schedule": "s", "prices": {"on": "1", "off": "2"}},
            {"id": "d", "kind": "demand", "schedule": "s", "prices": {"on": "3"}}]}"#;
    let explanation = Tariff::from_json(document).unwrap().explain();
    assert_eq!(
        explanation.warnings,
        ["Schedule s has no period for weekends all day: a bill with energy used then is refused."]
    );
    assert_eq!(explanation.charges[1].words.last().map(String::as_str), Some("Free in off."));
}

#[test]
fn every_plan_of_the_fixtures_is_told() {
    fn all(folder: &Path, told: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all(&path, told);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                let plan = value.get("plan").map_or(text, ToString::to_string);
                let options = ForeignOptions::allowing_unbilled(true);
                let Ok(tariff) = Tariff::from_format(PlanFormat::detect(&plan), &plan, &options) else { continue };
                let explanation = tariff.explain();
                assert!(explanation.charges.iter().all(|charge| !charge.words.is_empty()), "{}", path.display());
                assert!(explanation.to_string().contains("\nWhat is not billed\n"), "{}", path.display());
                *told += 1;
            }
        }
    }
    let mut told = 0;
    all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut told);
    assert!(told > 60, "{told}");
}

#[test]
fn a_holiday_is_told_apart_unless_it_counts_as_a_weekday() {
    let rules = |more: &str| {
        periods(&format!(
            r#"{{"holidays": ["us"]{more}, "periods": [{{"period": "off", "days": ["sun", "holiday"]}}, {{"period": "on"}}]}}"#
        ))
    };
    assert_eq!(rules(""), ["Sundays and holidays all day", "weekdays and Saturdays all day"]);
    assert_eq!(rules(r#", "holidays_count_as": "sun""#), ["Sundays all day", "weekdays and Saturdays all day"]);
}

#[test]
fn instants_are_told_as_they_are() {
    let rules = |rules: &str| periods(&format!(r#"{{"periods": [{rules}, {{"period": "rest"}}]}}"#));
    assert_eq!(
        rules(r#"{"period": "peak", "during": ["2026-07-15T14:00-04:00/PT1H", "2026-07-15T19:00Z/PT30M"]}"#),
        ["2026-07-15T18:00Z to 2026-07-15T19:30Z", "always"]
    );
    assert_eq!(
        rules(
            r#"{"period": "peak", "during": ["2026-07-15T18:00Z/PT1H"], "hours": ["14:00-15:00"]}, {"period": "peak", "months": [8]}"#
        )[0],
        "August; 2026-07-15T18:00Z to 2026-07-15T19:00Z, at the hours and on the days that its rule names"
    );
    assert_eq!(
        rules(r#"{"period": "peak", "during": "peaks"}, {"period": "peak", "during": ["2026-07-15T18:00Z/PT1H"]}"#)[0],
        "the events of list peaks and 2026-07-15T18:00Z to 2026-07-15T19:00Z"
    );
}

#[test]
fn dates_of_a_year_are_told_by_whole_months_where_they_are() {
    let between = |first: &str, last: &str| {
        let days: Vec<_> =
            days_of_year().filter(|day| (first..=last).contains(&day.format("%m-%d").to_string().as_str())).collect();
        dates(&days)
    };
    assert_eq!(between("01-01", "12-31"), None);
    assert_eq!(between("02-01", "02-29").as_deref(), Some("February"));
    assert_eq!(between("02-01", "02-28").as_deref(), Some("1 February to 28 February"));
    assert_eq!(between("07-04", "07-04").as_deref(), Some("4 July"));
    assert_eq!(between("10-01", "12-31").as_deref(), Some("October to December"));
}

#[test]
fn a_price_that_is_arithmetic_on_numbers_is_worked_out_where_it_ends() {
    let words = |price: &str| {
        let document = format!(
            r#"{{"name": "n", "currency": "AUD", "charges": [{{"id": "e", "kind": "energy", "price": {price}}}]}}"#
        );
        Tariff::from_json(&document).unwrap().explain().charges[0].words[0].clone()
    };
    assert_eq!(words(r#"{"times": ["0.55865", "1.1"]}"#), "0.614515 AUD/kWh for the kWh from the grid.");
    assert_eq!(words(r#"{"sum": ["0.3", "-0.01"]}"#), "0.29 AUD/kWh for the kWh from the grid.");
    assert_eq!(words(r#"{"divide": ["1", "3"]}"#), "(1 / 3) AUD/kWh for the kWh from the grid.");
}

#[test]
fn measures_that_refer_to_each_other_over_and_over_are_told_in_time() {
    let mut measures = String::from(r#""m0": {"sum": [{"energy": {}}, "1"]}, "n0": {"times": ["3", "7"]}"#);
    for i in 1..40 {
        let before = i - 1;
        let _ = write!(
            measures,
            r#", "m{i}": {{"sum": ["m{before}", "m{before}"]}}, "n{i}": {{"times": ["n{before}", "n{before}"]}}"#
        );
    }
    let document = format!(
        r#"{{"name": "n", "currency": "USD", "measures": {{{measures}}}, "charges": [
        {{"id": "a", "kind": "fixed", "measure": "m39", "price": "1"}}, {{"id": "b", "kind": "energy", "price": "n39"}}]}}"#
    );
    let text = Tariff::from_json(&document).unwrap().explain().to_string();
    assert!(text.len() < 10_000 && text.contains('…'), "{}", text.len());
}

#[test]
fn ten_thousand_windows_are_told_in_time() {
    let rules = (0..9_999).map(|i| {
        let (minute, day, month) = (i % 1439, 1 + i % 28, 1 + i % 12);
        let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
        let window = format!("{}-{}", clock(minute), clock(minute + 1));
        format!(r#"{{"period": "p{i}", "season": "{month:02}-{day:02}/12-31", "hours": ["{window}"]}}"#)
    });
    let names = (0..9_999).map(|i| format!(r#""p{i}": "0.{:04}""#, i + 1)).collect::<Vec<_>>().join(", ");
    let rules = rules.collect::<Vec<_>>().join(", ");
    let document = format!(
        r#"{{"name": "n", "currency": "USD", "schedules": {{"s": {{"periods": [{rules}, {{"period": "rest"}}]}}}},
        "charges": [{{"id": "e", "kind": "energy", "schedule": "s", "prices": {{{names}, "rest": "1"}}}}]}}"#
    );
    let begun = std::time::Instant::now();
    let explanation = Tariff::from_json(&document).unwrap().explain();
    assert_eq!((explanation.charges[0].words.len(), explanation.pictures.len()), (202, 0));
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert!(explanation.to_string().len() < 2_000_000);
}
