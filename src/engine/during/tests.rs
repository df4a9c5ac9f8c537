//! Energy and demand within instants.

use chrono_tz::Tz;

use crate::engine::tests::{LONDON, asked, fault, hourly, lines, question};
use crate::engine::*;
use crate::usage::Reading;

/// A plan of a called period and the rest, with these charges.
fn called(during: &str, charges: &str) -> String {
    format!(
        r#"{{"name": "n", "currency": "GBP", "rounding": {{"total": "none"}}, "schedules": {{"s": {{"periods": [
        {{"period": "called", "during": [{during}]}}, {{"period": "rest"}}]}}}}, "charges": [{charges}]}}"#
    )
}

const ENERGY: &str = r#"{"id": "a", "kind": "energy", "schedule": "s", "prices": {"called": "1", "rest": "0"}}"#;
const DEMAND: &str = r#"{"id": "d", "kind": "demand", "schedule": "s", "prices": {"called": "1", "rest": "1"}, "per": "billing_period"}"#;

/// One autumn week in London, each hour its number from the start.
fn autumn(plan: &str) -> Vec<String> {
    let zone = LONDON;
    // 2026-10-22T00:00+01:00
    let hour = |at: chrono::DateTime<Tz>| i32::try_from((at.timestamp() - 1_792_623_600) / 3600 + 1).unwrap();
    let readings = hourly(zone, "2026-10-22", "2026-10-29", |at| f64::from(hour(at)));
    lines(&compare(&question(plan, zone, "2026-10-22", "2026-10-29", &readings)).unwrap().plans[0])
}

#[test]
fn one_pass_of_a_repeated_hour_can_be_named() {
    // 25 October: 1:00 in summer time is hour 3 x 24 + 2, then comes 1:00 again.
    for (during, kwh) in [("2026-10-25T01:00+01:00/PT1H", 74), ("2026-10-25T01:00+00:00/PT1H", 75)] {
        let plan = called(&format!("\"{during}\""), &format!("{ENERGY}, {DEMAND}"));
        let rest = 169 * 170 / 2 - kwh;
        let expected = [
            format!("a/called {kwh} kWh x 1 = {kwh}"),
            format!("a/rest {rest} kWh x 0 = 0"),
            format!("d/called {kwh} kW x 1 = {kwh}"),
            "d/rest 169 kW x 1 = 169".to_owned(),
        ];
        assert_eq!(autumn(&plan), expected, "{during}");
    }
}

#[test]
fn the_highest_reading_within_instants_is_not_the_rest_s() {
    // The last hour of the week is called: it is no demand of the rest.
    let plan = called(r#""2026-10-28T23:00Z/2026-11-05T00:00Z", "2026-10-01T00:00Z/PT5H""#, DEMAND);
    assert_eq!(autumn(&plan), ["d/called 169 kW x 1 = 169", "d/rest 168 kW x 1 = 168"]);
    let days = DEMAND.replace("\"price", "\"highest\": 2, \"distinct\": \"days\", \"price");
    let plan = called(r#""2026-10-26T12:00Z/PT2H", "2026-10-27T00:00Z/PT1H""#, &days);
    // Hours 4 x 24 + 1 + 14 = 111 and 5 x 24 + 1 + 1 = 122.
    assert_eq!(autumn(&plan)[0], "d/called 116.5 kW x 1 = 116.5");
}

#[test]
fn daily_ladders_know_instants() {
    let ladder = r#"{"id": "a", "kind": "energy", "schedule": "s", "resets": "day", "tier_scope": "per_period", "steps": {
        "called": [{"to": "100", "price": "1"}, {"price": "2"}], "rest": [{"price": "0"}]}}"#;
    // Of the 26th 110 and 111 kWh, of the 27th 122: 200 at 1 and 143 - 10 at 2.
    let plan = called(r#""2026-10-26T12:00Z/PT2H", "2026-10-27T00:00Z/PT1H""#, ladder);
    assert_eq!(autumn(&plan)[..2], ["a/called#1 200 kWh x 1 = 200", "a/called#2 143 kWh x 2 = 286"]);
}

#[test]
fn instants_outside_the_bill_and_conditions_of_days_count_for_nothing() {
    let plan = called(r#""2025-10-26T12:00Z/PT2H", "2027-10-27T00:00Z/PT1H""#, ENERGY);
    assert_eq!(autumn(&plan)[0], "a/called 0 kWh x 1 = 0");
    // Every instant of the week, of which the rule takes Sunday from 22:00 to 24:00: hours 96 and 97.
    let sundays = called(r#""2026-10-20T00:00Z/PT600H""#, ENERGY)
        .replace(r#""period": "called", "#, r#""period": "called", "days": ["sun"], "hours": ["22:00-24:00"], "#);
    assert_eq!(autumn(&sundays)[0], "a/called 193 kWh x 1 = 193");
}

#[test]
fn events_of_a_list_bill_as_the_same_instants_written_in_the_plan_byte_for_byte() {
    let ladder = r#"{"id": "l", "kind": "energy", "schedule": "s", "resets": "day", "tier_scope": "per_period", "steps": {
        "called": [{"to": "100", "price": "1"}, {"price": "2"}], "rest": [{"price": "0"}]}}"#;
    let charges = format!("{ENERGY}, {DEMAND}, {ladder}");
    for events in [
        &["2026-10-25T01:00+01:00/PT1H", "2026-10-26T12:00Z/PT2H", "2026-10-26T13:00Z/PT2H"][..],
        &["2026-10-28T23:00Z/2026-11-05T00:00Z", "2026-10-01T00:00Z/PT5H"],
        // Nothing was called in the week: no energy and no demand of that period.
        &["2026-07-15T18:00Z/PT1H"],
    ] {
        let written: Vec<String> = events.iter().map(|event| format!("\"{event}\"")).collect();
        let written = called(&written.join(", "), &charges);
        let named = called("", &charges).replace("\"during\": []", "\"during\": \"peaks\"");
        let stretches = events.iter().map(|event| crate::words::interval(event).unwrap()).collect();
        let lists = BTreeMap::from([("peaks".to_owned(), Instants::new(stretches))]);
        let readings = hourly(LONDON, "2026-10-22", "2026-10-29", |at| f64::from(chrono::Timelike::hour(&at) + 1));
        let bill = |plan: &str, event_lists: &BTreeMap<String, Instants>| {
            let asked = question(plan, LONDON, "2026-10-22", "2026-10-29", &readings);
            let result = compare(&Question { event_lists: event_lists.clone(), ..asked }).unwrap();
            (lines(&result.plans[0]), serde_json::to_string(&result).unwrap())
        };
        let (by_name, by_instants) = (bill(&named, &lists), bill(&written, &BTreeMap::new()));
        assert_eq!(by_name, by_instants, "{events:?}");
        let is_called = events.len() > 1;
        assert_eq!(by_name.0[0] != "a/called 0 kWh x 1 = 0", is_called, "{:?}", by_name.0);
    }
}

/// As wires companies in Texas bill: a month of this year by the mean of four hours of last summer.
#[test]
fn the_mean_of_four_coincident_peaks_is_read_from_the_months_before() {
    let zone = Tz::America__Chicago;
    let readings = hourly(zone, "2025-06-01", "2026-02-01", |at| {
        f64::from(chrono::Datelike::month(&at) * 10 + chrono::Timelike::hour(&at))
    });
    let plan = r#"{"name": "4CP", "currency": "USD", "schedules": {"s": {"periods": [{"period": "peak", "during": "four_peaks"}]}},
        "charges": [{"id": "d", "kind": "demand", "price": "5", "measure":
            {"over_months": {"of": {"demand": {"schedule": "s", "period": "peak"}}, "last": 12, "named": [6, 7, 8, 9], "take": "mean"}}}]}"#;
    let mut asked = question(plan, zone, "2026-01-01", "2026-02-01", &readings);
    let peaks =
        ["2025-06-20T16:00-05:00", "2025-07-30T17:00-05:00", "2025-08-18T16:00-05:00", "2025-09-02T15:00-05:00"];
    let peaks = peaks.iter().map(|peak| crate::words::interval(&format!("{peak}/PT1H")).unwrap());
    asked.event_lists = BTreeMap::from([("four_peaks".to_owned(), Instants::new(peaks.collect()))]);
    // 76, 87, 96 and 105 kW.
    assert_eq!(lines(&compare(&asked).unwrap().plans[0]), ["d 91 kW x 5 = 455"]);
}

#[test]
fn an_event_list_that_nobody_imported_is_told_by_its_rule() {
    let plan = called("", ENERGY).replace("\"during\": []", "\"during\": \"peaks\"");
    let message = fault(asked(&plan, |_| {}), "event_list_missing", "/schedules/s/periods/0/during");
    assert!(message.contains("\"peaks\"") && message.contains("import it"), "{message}");
    let none_yet = asked(&plan, |question| drop(question.event_lists.insert("peaks".into(), Instants::default())));
    assert_eq!(lines(&none_yet.unwrap().plans[0])[0], "a/called 0 kWh x 1 = 0");
}

#[test]
fn an_instant_inside_a_reading_is_refused_or_the_reading_split() {
    let plan = called(r#""2026-01-10T09:20Z/2026-01-10T10:00Z""#, &format!("{ENERGY}, {DEMAND}"));
    let message = fault(asked(&plan, |_| {}), "interval_too_coarse", "/schedules/s");
    assert!(message.contains("60 minutes") && message.contains("2026-01-10T09:20:00Z"), "{message}");
    let bill = asked(&plan, |question| question.options.split_intervals_even = true).unwrap().plans.remove(0);
    assert_eq!(bill.flags, ["intervals_split_evenly"]);
    assert_eq!(lines(&bill)[..2], ["a/called 0.666667 kWh x 1 = 0.666667", "a/rest 743.333333 kWh x 0 = 0"]);
    // Outside of the readings no instant cuts one.
    let plan = called(r#""2026-02-10T09:20Z/2026-02-10T10:00Z""#, ENERGY);
    assert!(asked(&plan, |_| {}).is_ok());
}

#[test]
fn a_price_series_holds_within_instants() {
    let plan = called(
        r#""2026-01-10T09:00Z/PT2H""#,
        r#"{"id": "a", "kind": "energy", "schedule": "s", "prices": {"called": {"series": "spot"}, "rest": "0.1"}}"#,
    );
    let bill = |n_prices: i64| {
        asked(&plan, |question| {
            // Prices of 10 January from 9:00 on.
            let price = |n: i64| Price { start: 1_768_035_600 + n * 3600, seconds: 3600, digits: 5 + n };
            question
                .price_series
                .insert("spot".into(), Arc::new(PriceSeries::from_sorted((0..n_prices).map(price), 1)));
        })
    };
    assert_eq!(lines(&bill(2).unwrap().plans[0]), ["a/called 2 kWh x - = 1.1", "a/rest 742 kWh x 0.1 = 74.2"]);
    let message = fault(bill(1), "price_missing", "/charges/0");
    assert!(message.contains("2026-01-10T10:00:00Z"), "{message}");
}

#[test]
fn many_instants_come_to_what_one_reading_after_the_other_does() {
    // Every third hour of the week is called; a year's worth of plans beside it sees nothing of that.
    let every_third: Vec<String> =
        (0..200).map(|n| format!("\"2026-10-{:02}T{:02}:00Z/PT1H\"", 22 + n * 3 / 24, n * 3 % 24)).take(64).collect();
    let plan = called(&every_third.join(", "), &format!("{ENERGY}, {DEMAND}"));
    let zone = Tz::Asia__Kolkata;
    let readings = hourly(Tz::UTC, "2026-10-22", "2026-10-30", |at| f64::from(chrono::Timelike::hour(&at)));
    let half_hours: Vec<Reading> = readings
        .readings()
        .flat_map(|reading| {
            let half = Reading { seconds: 1800, milliwatt_hours: reading.milliwatt_hours / 2, ..reading };
            [half, Reading { start: reading.start + 1800, ..half }]
        })
        .collect();
    let series = Series::from_sorted(&half_hours);
    let question = question(&plan, zone, "2026-10-23", "2026-10-29", &series);
    let range = instants(zone, &question.period);
    let expected: i64 = half_hours
        .iter()
        .filter(|reading| range.contains(&reading.start) && reading.start / 3600 % 3 == 0)
        .map(|reading| reading.milliwatt_hours)
        .sum();
    let called = lines(&compare(&question).unwrap().plans[0]);
    assert_eq!(called[0], format!("a/called {0} kWh x 1 = {0}", expected / 1_000_000));
    assert_eq!(called[2..], ["d/called 21 kW x 1 = 21", "d/rest 23 kW x 1 = 23"]);
}
