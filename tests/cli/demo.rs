//! The demo's numbers against bills made here by plain decimal arithmetic from the readings and the published rates.
//! `fixtures/bills/demo/working.md` shows the same working for a reader.

use std::collections::BTreeMap;
use std::str::FromStr;

use chrono::{DateTime, Datelike, Timelike, Weekday};
use chrono_tz::Tz;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};

use super::support::{fixture, run};

type Hour = (DateTime<Tz>, Decimal);
type Bills = BTreeMap<String, Decimal>;

fn decimal(text: &str) -> Decimal {
    Decimal::from_str(text).unwrap()
}

/// The rows of a fixture, by the local clock.
fn readings(file: &str, zone: Tz) -> Vec<Hour> {
    let text = std::fs::read_to_string(fixture(&format!("usage/{file}"))).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let (start, kwh) = line.split_once(',').unwrap();
            (DateTime::parse_from_rfc3339(start).unwrap().with_timezone(&zone), decimal(kwh))
        })
        .collect()
}

/// What the demo's correction says.
fn corrected(mut hours: Vec<Hour>) -> Vec<Hour> {
    let read_again = [(7, 19), (12, 22), (20, 16), (20, 17), (21, 21), (21, 22)];
    for (start, kwh) in &mut hours {
        if start.month() == 7 && read_again.contains(&(start.day(), start.hour())) {
            *kwh = decimal("1.5");
        }
    }
    hours
}

fn ladder(kwh: Decimal, steps: &[(Option<u32>, &str)]) -> Decimal {
    let mut amount = Decimal::ZERO;
    let mut below = Decimal::ZERO;
    for (to, price) in steps {
        let upper = to.map_or(kwh, |to| kwh.min(Decimal::from(to)));
        if upper > below {
            amount += (upper - below) * decimal(price);
            below = upper;
        }
    }
    amount
}

/// The four dollar bills of one calendar month, rounded to the cent.
fn month(hours: &[Hour], month: u32) -> Bills {
    let hours: Vec<&Hour> = hours.iter().filter(|(start, _)| start.month() == month).collect();
    let kwh: Decimal = hours.iter().map(|(_, kwh)| kwh).sum();
    let highest = hours.iter().map(|(_, kwh)| *kwh).max().unwrap();
    let is_summer = (6..=9).contains(&month);
    let n_days = hours.iter().map(|(start, _)| start.day()).max().unwrap();

    let two_tiers = ladder(kwh, &[(Some(1000), "0.12258"), (None, "0.14258")]) + decimal("10.52");
    let (peak_hours, peak, other): (&[(u32, u32)], _, _) = match month {
        11 | 12 | 1..=4 => (&[(5, 9), (17, 21)], "0.1209", "0.0891"),
        7 | 8 => (&[(14, 20)], "0.2566", "0.0888"),
        _ => (&[(14, 20)], "0.2251", "0.0865"),
    };
    let in_peak: Decimal = hours
        .iter()
        .filter(|(start, _)| !matches!(start.weekday(), Weekday::Sat | Weekday::Sun))
        .filter(|(start, _)| peak_hours.iter().any(|(from, to)| (*from..*to).contains(&start.hour())))
        .map(|(_, kwh)| kwh)
        .sum();
    let afternoon = in_peak * decimal(peak) + (kwh - in_peak) * decimal(other) + decimal("20");
    let per_kw = if is_summer { "11.51" } else { "9.14" };
    let demand = kwh * decimal("0.0481085") + highest * decimal(per_kw) + decimal("15.91");
    let energy = if is_summer {
        ladder(kwh, &[(Some(650), "0.13994"), (Some(1000), "0.20698"), (None, "0.212864")])
    } else {
        kwh * decimal("0.133939")
    };
    let summer_ladder = energy + Decimal::from(n_days) * decimal("0.4603");
    [
        ("fpl-rs-1", two_tiers.max(decimal("30"))),
        ("srp-e-26", afternoon),
        ("psco-rd", demand),
        ("georgia-power-r", summer_ladder),
    ]
    .map(|(plan, amount)| (plan.to_owned(), cents(amount)))
    .into()
}

fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

fn by_hand() -> BTreeMap<&'static str, Bills> {
    let chicago = readings("il-home-60min-2017-dst.csv", chrono_tz::America::Chicago);
    let mut year = Bills::new();
    for (plan, amount) in (1..=12).flat_map(|m| month(&chicago, m)) {
        *year.entry(plan).or_default() += amount;
    }
    let london = readings("uk-home-30min-2013-dst.csv", chrono_tz::Europe::London);
    let october: Decimal = london.iter().filter(|(start, _)| start.month() == 10).map(|(_, kwh)| kwh).sum();
    let october = cents(october * decimal("0.11949") + decimal("31") * decimal("0.2456"));
    BTreeMap::from([
        ("july", month(&chicago, 7)),
        ("july_corrected", month(&corrected(chicago), 7)),
        ("year", year),
        ("london_october", Bills::from([("uk-bulb-2017-08".to_owned(), october)])),
    ])
}

fn bills_of(plans: &Value) -> Bills {
    let plans = plans.as_array().unwrap();
    plans.iter().map(|p| (p["plan_id"].as_str().unwrap().to_owned(), decimal(p["total"].as_str().unwrap()))).collect()
}

#[test]
fn the_page_of_worked_bills_holds_what_the_readings_give() {
    let page = std::fs::read_to_string(fixture("bills/demo/amounts.json")).unwrap();
    let page: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&page).unwrap();
    let working = std::fs::read_to_string(fixture("bills/demo/working.md")).unwrap();
    for (question, bills) in by_hand() {
        let page: Bills = page[question].iter().map(|(plan, total)| (plan.clone(), decimal(total))).collect();
        assert_eq!(page, bills, "{question}");
        if question != "year" {
            assert!(bills.values().all(|total| working.contains(&total.to_string())), "{question}");
        }
    }
}

#[test]
fn the_demo_tells_the_amounts_that_were_worked_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = run(folder.path(), "demo --format json").done().json();
    let hand = by_hand();
    for (question, bills) in &hand {
        assert_eq!(&bills_of(&numbers[question]["result"]["plans"]), bills, "{question}");
    }
    assert_eq!(numbers["chicago-home_readings"], json!({"added": 8760, "kwh": "8986.470"}));
    assert_eq!(numbers["again"], json!({"same": true, "status": 200}));
    assert_eq!(numbers["at_once"], json!({"callers": 16, "created": 1, "ids": 1, "results": 1}));
    assert_eq!(
        numbers["correction"],
        json!({
            "replaced": 6, "made_stale": 2, "replaced_by_the_same_file": 0, "state": "stale", "same_result": true
        })
    );
    assert_eq!(numbers["retry_of_supersede"], json!({"same": true, "status": 200}));
    assert_eq!(numbers["history"], json!({"length": 2, "as_of_is_first": true}));
    for plan in numbers["diff"].as_array().unwrap() {
        let id = plan["plan_id"].as_str().unwrap();
        let difference = decimal(plan["difference"].as_str().unwrap());
        assert_eq!(difference, hand["july_corrected"][id] - hand["july"][id], "{id}");
        assert_eq!(decimal(plan["split"]["readings"].as_str().unwrap()), difference, "{id}: all of it by readings");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_demo_fits_a_terminal_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "demo").done();
    let amounts = ["152.52", "143.73", "1231.67", "52.88"];
    for expected in amounts.into_iter().chain(["the same answer, byte for byte", "samebill demo --serve"]) {
        assert!(told.stdout.contains(expected), "{expected}: {}", told.stdout);
    }
    for line in told.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
