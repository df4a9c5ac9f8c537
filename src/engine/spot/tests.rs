//! Readings at the prices of a series, against sums made one reading at a time.

use std::collections::BTreeMap;

use chrono::Timelike;
use chrono_tz::Tz;
use itertools::Itertools as _;

use crate::engine::tests::{LONDON, asked, fault, hourly, lines, of, question};
use crate::engine::*;
use crate::tariff::number::Exact;
use crate::usage::{Quality, Reading};

const ONE_SERIES: &str = r#""kind": "energy", "price": {"series": "spot"}"#;

/// Prices from local midnight of 1 January 2026 in London on, one after the other.
fn prices(digits: impl IntoIterator<Item = i64>, minutes: u32, scale: u32) -> Arc<PriceSeries> {
    let starts = (1_767_225_600..).step_by(minutes as usize * 60);
    let price = |(start, digits)| Price { start, seconds: minutes * 60, digits };
    Arc::new(PriceSeries::from_sorted(starts.zip(digits).map(price), scale))
}

fn with_spot(plan: &str, series: Arc<PriceSeries>) -> Result<ComparisonResult, EngineError> {
    asked(plan, |question| {
        question.price_series.insert("spot".into(), series);
    })
}

#[test]
fn what_no_price_is_known_for_is_named() {
    let plan = of(ONE_SERIES);
    let message = fault(asked(&plan, |_| {}), "price_series_missing", "/charges/0");
    assert!(message.contains("\"spot\"") && message.contains("import"), "{message}");
    // A series that is there and has no price, one that ends too soon, one with a gap.
    let message = fault(with_spot(&plan, prices([], 60, 2)), "price_missing", "/charges/0");
    assert!(message.contains("2026-01-01T00:00:00Z") && message.contains("\"spot\""), "{message}");
    let message = fault(with_spot(&plan, prices(vec![10; 743], 60, 2)), "price_missing", "/charges/0");
    assert!(message.contains("2026-01-31T23:00:00Z"), "{message}");
    let all = prices(vec![10; 744], 60, 2);
    let gap = PriceSeries::from_sorted(all.prices().filter(|price| price.start != 1_767_229_200), all.scale());
    let message = fault(with_spot(&plan, Arc::new(gap)), "price_missing", "/charges/0");
    assert!(message.contains("2026-01-01T01:00:00Z"), "{message}");
    assert_eq!(with_spot(&plan, all).unwrap().plans[0].total, "74.40");
    // A reading of nothing is a reading.
    let nothing = asked(&plan, |question| {
        question.readings.insert(Channel::import(), hourly(LONDON, "2026-01-01", "2026-02-01", |_| 0.0));
        question.price_series.insert("spot".into(), prices(vec![10; 743], 60, 2));
    });
    fault(nothing, "price_missing", "/charges/0");
}

#[test]
fn prices_are_wanted_only_where_they_are_charged() {
    let first_ten_days = || prices(vec![10; 240], 60, 2);
    let until = of(r#""kind": "energy", "price": {"series": "spot"}, "to": "2026-01-11""#);
    assert_eq!(with_spot(&until, first_ten_days()).unwrap().plans[0].total, "24.00");
    let later = of(r#""kind": "energy", "price": {"series": "spot"}, "to": "2026-01-12""#);
    fault(with_spot(&later, first_ten_days()), "price_missing", "/charges/0");
    let by_hour = |period: &str| {
        format!(
            r#"{{"name": "n", "currency": "GBP", "schedules": {{"s": {{"periods": [{{"period": "one", "hours": ["00:00-01:00"]}}, {{"period": "rest"}}]}}}},
            "charges": [{{"id": "a", "kind": "energy", "schedule": "s", "period": "{period}", "price": {{"series": "spot"}}}}]}}"#
        )
    };
    let first_hours = || {
        let all = prices(vec![10; 744], 60, 2);
        Arc::new(PriceSeries::from_sorted(all.prices().filter(|price| price.start % 86_400 == 0), all.scale()))
    };
    assert_eq!(with_spot(&by_hour("one"), first_hours()).unwrap().plans[0].total, "3.10");
    let message = fault(with_spot(&by_hour("rest"), first_hours()), "price_missing", "/charges/0");
    assert!(message.contains("2026-01-01T01:00:00Z"), "{message}");
    // A channel without readings costs nothing, whatever its price.
    let export = of(r#""kind": "export_credit", "price": {"series": "spot"}"#);
    assert_eq!(with_spot(&export, prices([], 60, 2)).unwrap().plans[0].total, "0.00");
}

#[test]
fn a_price_that_ends_inside_a_reading_is_refused_or_the_reading_split() {
    let plan = of(ONE_SERIES).replace("\"charges\"", "\"rounding\": {\"total\": \"none\"}, \"charges\"");
    let half_hours = || prices((0..1488).map(|i| i % 2 * 10), 30, 2);
    let message = fault(with_spot(&plan, half_hours()), "interval_too_coarse", "/charges/0");
    let words = ["60 minutes", "2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z", "\"spot\""];
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    let split = |kwh: f64| {
        let result = asked(&plan, |question| {
            question.options.split_intervals_even = true;
            question.readings.insert(Channel::import(), hourly(LONDON, "2026-01-01", "2026-02-01", |_| kwh));
            question.price_series.insert("spot".into(), half_hours());
        });
        result.unwrap().plans.remove(0)
    };
    let bill = split(1.0);
    assert_eq!((bill.total.as_str(), bill.flags.as_slice()), ("37.20", &["intervals_split_evenly".to_owned()][..]));
    // 7 mWh an hour: 3 in the first half at 0, 4 in the second at 0.10.
    assert_eq!(lines(&split(0.000_007)), ["a 0.005208 kWh x - = 0.0002976"]);
    let whole_hours = asked(&plan, |question| {
        question.options.split_intervals_even = true;
        question.price_series.insert("spot".into(), prices(vec![10; 744], 60, 2));
    });
    assert!(whole_hours.unwrap().plans[0].flags.is_empty(), "nothing was split");
}

#[test]
fn factor_and_adder_follow_their_dates_and_a_credit_has_the_other_sign() {
    let plan = r#"{"name": "n", "currency": "GBP", "rounding": {"total": "none"}, "charges": [
        {"id": "a", "kind": "energy", "price": {"series": "spot", "factor": {"by_date": {"2026-01-01": "1", "2026-01-31": "2"}}, "adder": "0.01"}},
        {"id": "b", "kind": "export_credit", "price": {"series": "spot", "adder": "-0.01"}},
        {"id": "c", "kind": "energy", "price": {"series": "spot"}, "per": "3"}]}"#;
    let bill = asked(plan, |question| {
        question.readings.insert(Channel::export(), hourly(LONDON, "2026-01-01", "2026-02-01", |_| 2.0));
        question.price_series.insert("spot".into(), prices((0..744).map(|i| 10 - i % 24), 60, 2));
    })
    .unwrap()
    .plans
    .remove(0);
    // A day comes to 24 x 10 - 276 = -36 pence; 31 days once, the last one twice, and 744 pence.
    assert_eq!(
        lines(&bill),
        ["a 744 kWh x - = -4.08", "b 1488 kWh x - = 37.2", "c 2232 kWh x - = -33.48"],
        "-32 x 36 + 744; 2 x (31 x 36 + 744); 3 x 31 x -36"
    );
    let series = bill.periods[0].line_items[1].price_series.as_ref().unwrap();
    assert_eq!((series.id.as_str(), series.mean_rate.as_deref()), ("spot", Some("0.025000")));
}

/// Cost of a question, one reading at a time, as text: of its nights, of its days, or of all readings.
fn one_by_one(question: &Question, night: Option<bool>) -> String {
    let series = &question.price_series["spot"];
    let price_at: BTreeMap<i64, i64> = series
        .prices()
        .flat_map(|price| (price.start..price.end()).step_by(300).map(move |instant| (instant, price.digits)))
        .collect();
    let mut sum = 0i128;
    for reading in question.readings[&Channel::import()].readings() {
        let local = chrono::DateTime::from_timestamp(reading.start, 0).unwrap().with_timezone(&question.time_zone);
        if night.is_some_and(|night| (local.hour() < 7) != night) {
            continue;
        }
        let step = i64::from(series.runs()[0].step_seconds.min(reading.seconds));
        let step = crate::engine::aggregate::gcd(step, reading.start.rem_euclid(step));
        let n_parts = i64::from(reading.seconds) / step;
        let even = reading.milliwatt_hours / n_parts;
        for part in 0..n_parts {
            let share = if part + 1 == n_parts { reading.milliwatt_hours - even * (n_parts - 1) } else { even };
            sum += i128::from(share) * i128::from(price_at[&(reading.start + part * step)]);
        }
    }
    Exact::scaled(sum, 6 + series.scale()).text(0).unwrap()
}

#[test]
fn cells_and_readings_one_by_one_come_to_the_same() {
    let plan = r#"{"name": "n", "currency": "GBP", "rounding": {"total": "none"},
        "schedules": {"s": {"periods": [{"period": "night", "hours": ["00:00-07:00"]}, {"period": "day"}]}},
        "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"night": {"series": "spot"}, "day": {"series": "spot"}}}]}"#;
    let at_all_hours = of(ONE_SERIES).replace("\"charges\"", "\"rounding\": {\"total\": \"none\"}, \"charges\"");
    let at_all_hours = Arc::new(Tariff::from_json(&at_all_hours).unwrap());
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 34).unwrap() - (1 << 29)
    };
    let kinds: [fn(i64) -> i64; 3] = [|number| number / 64, |number| number.abs() / 64, |number| number.abs() * 99];
    // Clock changes, an offset of half hours, prices of few and of many digits, readings below zero and of many digits.
    for (zone, start, end) in [
        (Tz::Europe__London, "2026-03-28", "2026-03-31"),
        (Tz::America__Chicago, "2026-10-31", "2026-11-03"),
        (Tz::Asia__Kolkata, "2026-01-30", "2026-02-02"),
        (Tz::Australia__Lord_Howe, "2026-04-04", "2026-04-07"),
    ] {
        let lengths =
            [(60, 60, 4), (30, 60, 4), (15, 60, 12), (15, 30, 2), (15, 15, 12), (30, 15, 4), (60, 15, 12), (60, 30, 3)];
        for ((reading_minutes, price_minutes, scale), kind) in lengths.into_iter().cartesian_product(kinds) {
            let mut question = question(plan, zone, start, end, &Series::default());
            let range = instants(zone, &question.period);
            let reading = |start| Reading {
                start,
                seconds: reading_minutes * 60,
                milliwatt_hours: kind(random()),
                quality: Quality::Measured,
            };
            let readings: Vec<Reading> = range.clone().step_by(reading_minutes as usize * 60).map(reading).collect();
            question.readings.insert(Channel::import(), Series::from_sorted(&readings));
            let hours = range.start.div_euclid(3600) * 3600..range.end + 3600;
            let wide = if scale == 12 { 100_000 } else { 1 };
            let price = |start| Price { start, seconds: price_minutes * 60, digits: random() * wide };
            let series = PriceSeries::from_sorted(hours.step_by(price_minutes as usize * 60).map(price), scale);
            question.price_series.insert("spot".into(), Arc::new(series));
            question.options.split_intervals_even = true;
            let what = format!("{zone}: readings of {reading_minutes} minutes, prices of {price_minutes}");
            let amounts = |question: &Question| {
                let bill = compare(question).unwrap().plans.remove(0);
                bill.periods[0].line_items.iter().map(|line| line.amount.clone()).collect::<Vec<_>>()
            };
            // After a change of half an hour 7:00 cuts readings of an hour.
            if zone != Tz::Australia__Lord_Howe || reading_minutes < 60 {
                let expected = [one_by_one(&question, Some(true)), one_by_one(&question, Some(false))];
                assert_eq!(amounts(&question), expected, "{what}");
            }
            question.plans[0].versions[0].tariff = Arc::clone(&at_all_hours);
            assert_eq!(amounts(&question), [one_by_one(&question, None)], "{what}");
        }
    }
}

#[test]
fn lines_of_two_versions_are_joined_under_one_series_only() {
    let version = |price: &str| Arc::new(Tariff::from_json(&of(&format!(r#""kind": "energy", {price}"#))).unwrap());
    let bill = |first: &str, second: &str| {
        let bill = asked(&of(ONE_SERIES), |question| {
            question.price_series.insert("spot".into(), prices(vec![10; 744], 60, 2));
            let days =
                |start: &str, end: &str| BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
            question.plans[0].versions = vec![
                VersionInForce { version: 1, days: days("2026-01-01", "2026-01-11"), tariff: version(first) },
                VersionInForce { version: 2, days: days("2026-01-11", "2026-02-01"), tariff: version(second) },
            ];
        });
        lines(&bill.unwrap().plans[0])
    };
    let series = |factor: &str| format!(r#""price": {{"series": "spot", "factor": "{factor}"}}"#);
    assert_eq!(bill(&series("1"), &series("2")), ["a 744 kWh x - = 124.8"]);
    // A line without a rate for another reason stays on its own.
    let flat = r#""steps": [{"price": "0.2", "amount": "5"}]"#;
    let apart = bill(flat, &series("1"));
    assert_eq!(apart.iter().filter(|line| line.starts_with("a ")).count(), 2, "{apart:?}");
}
