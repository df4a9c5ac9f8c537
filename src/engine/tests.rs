//! Bills small enough to check on paper: `check(plan, readings, expected lines)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;

use super::*;
use crate::usage::{Quality, Reading};

/// A question of one plan on one channel.
pub(super) fn question(plan: &str, zone: Tz, start: &str, end: &str, import: &Series) -> Question {
    let tariff = Arc::new(Tariff::from_json(plan).unwrap_or_else(|e| panic!("{e}")));
    let period = BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
    Question {
        time_zone: zone,
        period,
        months: billing_months(&period, &[]),
        months_registered: false,
        earlier_months: earlier_months(&period, tariff.look_back_months(), &[]),
        readings: BTreeMap::from([(Channel::import(), import.clone())]),
        attributes: BTreeMap::new(),
        calendars: BTreeMap::new(),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::new(),
        plans: vec![PlanToBill {
            reference: "plan".parse().unwrap(),
            versions: vec![VersionInForce { version: 1, days: period, tariff }],
        }],
        options: Options::default(),
    }
}

/// Hourly readings of local days, kWh by day and hour on the clock.
pub(super) fn hourly(zone: Tz, start: &str, end: &str, kwh: impl Fn(chrono::DateTime<Tz>) -> f64) -> Series {
    let period = BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
    let range = instants(zone, &period);
    let readings: Vec<Reading> = range
        .step_by(3600)
        .map(|start| Reading {
            start,
            seconds: 3600,
            #[expect(clippy::cast_possible_truncation, reason = "small test values")]
            milliwatt_hours: (kwh(chrono::DateTime::from_timestamp(start, 0).unwrap().with_timezone(&zone)) * 1e6)
                .round() as i64,
            quality: Quality::Measured,
        })
        .collect();
    Series::from_sorted(&readings)
}

pub(super) fn lines(bill: &PlanBill) -> Vec<String> {
    bill.periods
        .iter()
        .flat_map(|period| &period.line_items)
        .map(|line| {
            format!(
                "{}{}{} {} {} x {} = {}",
                line.charge_id,
                line.tou_period.as_ref().map_or(String::new(), |p| format!("/{p}")),
                line.tier.map_or(String::new(), |t| format!("#{t}")),
                line.quantity,
                line.unit,
                line.rate.as_deref().unwrap_or("-"),
                line.amount
            )
        })
        .collect()
}

/// Bills January 2026 in London, 1 kWh an hour: 744 hours.
fn january(plan: &str) -> PlanBill {
    let zone = Tz::Europe__London;
    let readings = hourly(zone, "2026-01-01", "2026-02-01", |_| 1.0);
    compare(&question(plan, zone, "2026-01-01", "2026-02-01", &readings)).unwrap().plans.remove(0)
}

#[test]
fn a_flat_plan_with_a_standing_charge_and_tax() {
    let bill = january(
        r#"{"name": "Flat", "currency": "GBP", "charges": [
          {"id": "standing", "kind": "fixed", "price": "0.48", "per": "day"},
          {"id": "energy", "kind": "energy", "price": "0.245"},
          {"id": "vat", "kind": "tax", "percent": "5"}]}"#,
    );
    // 31 x 0.48 = 14.88; 744 x 0.245 = 182.28; 5 % of 197.16 = 9.858; 207.018
    assert_eq!(
        lines(&bill),
        [
            "standing 31 day x 0.48 = 14.88",
            "energy 744 kWh x 0.245 = 182.28",
            "vat 197.16 GBP x 0.05 = 9.858",
            "rounding 0.002 GBP x - = 0.002"
        ]
    );
    assert_eq!((bill.total.as_str(), bill.tax.as_str()), ("207.02", "9.858"));
    assert_eq!(bill.average_price_per_kwh.as_deref(), Some("0.278253"));
}

pub(super) const LONDON: Tz = Tz::Europe__London;

/// One hourly January under a plan, with something changed.
pub(super) fn asked(plan: &str, change: impl FnOnce(&mut Question)) -> Result<ComparisonResult, EngineError> {
    let readings = hourly(LONDON, "2026-01-01", "2026-02-01", |_| 1.0);
    let mut question = question(plan, LONDON, "2026-01-01", "2026-02-01", &readings);
    change(&mut question);
    compare(&question)
}

/// A plan of one charge.
pub(super) fn of(charge: &str) -> String {
    format!(r#"{{"name": "n", "currency": "GBP", "charges": [{{"id": "a", {charge}}}]}}"#)
}

#[track_caller]
pub(super) fn fault(result: Result<ComparisonResult, EngineError>, code: &str, pointer: &str) -> String {
    match result {
        Err(EngineError::PlansNotBillable(faults)) => {
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!((faults[0].code.as_str(), faults[0].pointer.as_str()), (code, pointer), "{faults:?}");
            faults[0].message.clone()
        }
        other => panic!("{code} was expected: {other:?}"),
    }
}

#[test]
fn what_a_plan_cannot_be_billed_for_is_named() {
    let result = asked(&of(r#""kind": "fixed", "price": "1", "capacity": "contract_kw""#), |_| {});
    assert!(fault(result, "attribute_missing", "/charges/0").contains("contract_kw"));
    let result = asked(&of(r#""kind": "fixed", "price": "1", "capacity": "contract_kw""#), |question| {
        question.attributes.insert("contract_kw".into(), AttributeValue::Flag(true));
    });
    fault(result, "attribute_not_a_number", "/charges/0");
    let result = asked(&of(r#""kind": "energy", "steps": [{"to": "743.999999", "price": "1"}]"#), |_| {});
    assert!(fault(result, "above_last_step", "/charges/0").contains("744"));
    let result = asked(&of(r#""kind": "energy", "price": {"by_date": {"2026-01-02": "1"}}"#), |_| {});
    fault(result, "value_missing", "/charges/0");
    let zero = r#""kind": "energy", "price": {"divide": ["1", {"sum": ["months", "-1"]}]}"#;
    fault(asked(&of(zero), |_| {}), "division_by_zero", "/charges/0");
    let falls = r#""kind": "energy", "steps": [{"to": {"days": "x"}, "price": "1"}, {"price": "2"}]"#;
    assert!(Tariff::from_json(&of(falls)).is_err());
    let falls =
        r#""kind": "energy", "steps": [{"to": "days", "price": "1"}, {"to": "30.5", "price": "2"}, {"price": "3"}]"#;
    fault(asked(&of(falls), |_| {}), "bounds_fall", "/charges/0");
    let refuses = r#"{"name": "n", "currency": "GBP", "conventions": {"missing_history": "refuse"}, "charges": [
        {"id": "a", "kind": "demand", "price": "1", "ratchet": {"percent": "80", "last": 2}}]}"#;
    fault(asked(refuses, |_| {}), "missing_history", "/charges/0");
    let leaves = r#"{"name": "n", "currency": "GBP", "schedules": {"s": {"periods": [{"period": "on", "hours": ["07:00-23:00"]}]}},
        "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"on": "1"}}]}"#;
    fault(asked(leaves, |_| {}), "energy_without_price", "/charges/0");
    let windows = of(r#""kind": "demand", "window_minutes": 15, "price": "1""#);
    fault(asked(&windows, |_| {}), "interval_too_coarse", "/charges/0");
}

#[test]
fn missing_months_of_a_look_back_stand_on_the_bill() {
    let plan = of(r#""kind": "demand", "price": "1", "ratchet": {"percent": "80", "last": 2}"#);
    let bill = asked(&plan, |_| {}).unwrap().plans.remove(0);
    let months: Vec<String> = bill.periods[0].missing_history.iter().map(ToString::to_string).collect();
    assert_eq!(months, ["2025-11-01", "2025-12-01"]);
    assert_eq!(bill.flags, ["missing_history"]);
    assert_eq!(bill.total, "1.00");
}

#[test]
fn a_boundary_inside_a_reading_is_refused_or_the_reading_split() {
    let plan = r#"{"name": "n", "currency": "GBP", "rounding": {"total": "none"}, "schedules": {"s": {"periods": [
        {"period": "on", "hours": ["07:20-08:00"]}, {"period": "off"}]}},
        "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"on": "3", "off": "0"}},
        {"id": "d", "kind": "demand", "schedule": "s", "prices": {"on": "1", "off": "0"}}]}"#;
    let message = fault(asked(plan, |_| {}), "interval_too_coarse", "/schedules/s");
    assert!(message.contains("60 minutes") && message.contains("07:20"), "{message}");
    let bill = asked(plan, |question| question.options.split_intervals_even = true).unwrap().plans.remove(0);
    assert_eq!(bill.flags, ["intervals_split_evenly"]);
    // 40 of 60 minutes on each of 31 days, in parts of 20 minutes: 333,333 mWh, the last of an hour 333,334.
    assert_eq!(lines(&bill)[0], "a/on 20.666677 kWh x 3 = 62.000031");
    assert_eq!(lines(&bill)[2], "d/on 1 kW x 1 = 1");
}

#[test]
fn a_month_with_too_few_readings_has_no_bill() {
    let plan = of(r#""kind": "energy", "price": "1""#);
    let without = |hours: std::ops::Range<usize>| {
        asked(&plan, |question| {
            let readings: Vec<Reading> = question.readings[&Channel::import()].readings().collect();
            let kept: Vec<Reading> =
                readings.into_iter().enumerate().filter(|(i, _)| !hours.contains(i)).map(|(_, r)| r).collect();
            question.readings.insert(Channel::import(), Series::from_sorted(&kept));
        })
    };
    let result = without(100..137).unwrap();
    assert_eq!((result.usage.intervals, result.usage.missing, result.usage.expected_intervals), (707, 37, 744));
    assert_eq!(result.usage.gaps[0].start, "2026-01-05T04:00:00Z");
    assert_eq!(result.usage.gaps[0].end, "2026-01-06T17:00:00Z");
    assert_eq!(result.plans[0].total, "707.00");
    match without(100..138) {
        Err(EngineError::UsageIncomplete { intervals: 706, expected_intervals: 744, gaps, .. }) => {
            assert_eq!(gaps.len(), 1);
        }
        other => panic!("{other:?}"),
    }
    match asked(&plan, |question| question.readings.clear()) {
        Err(EngineError::UsageIncomplete { intervals: 0, expected_intervals: 744, gaps, .. }) => {
            assert_eq!(gaps.len(), 1);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_cheapest_complete_plan_is_the_first() {
    let tariff = |price: &str, more: &str| {
        let text = format!(
            r#"{{"name": "n", "currency": "GBP"{more}, "charges": [{{"id": "a", "kind": "energy", "price": "{price}"}}]}}"#
        );
        Arc::new(Tariff::from_json(&text).unwrap())
    };
    let plans = [
        ("a", tariff("0.2", "")),
        ("b", tariff("0.1", "")),
        ("c", tariff("0.1", "")),
        ("d", tariff("0.01", r#", "not_billed": [{"field": "coincidentratestructure", "reason": "no times"}]"#)),
        (
            "e",
            tariff(
                "0.3",
                r#", "not_billed": [{"field": "greenPowerCharges", "reason": "a choice", "optional": true}]"#,
            ),
        ),
    ];
    let result = asked(&of(r#""kind": "energy", "price": "1""#), |question| {
        question.plans = plans
            .iter()
            .map(|(id, tariff)| PlanToBill {
                reference: id.parse().unwrap(),
                versions: vec![VersionInForce { version: 3, days: question.period, tariff: Arc::clone(tariff) }],
            })
            .collect();
    })
    .unwrap();
    assert_eq!(result.cheapest_plan_id.as_deref(), Some("b"));
    let ranks: Vec<Option<u32>> = result.plans.iter().map(|plan| plan.rank).collect();
    assert_eq!(ranks, [Some(3), Some(1), Some(2), None, Some(4)]);
    let differences: Vec<&str> =
        result.plans.iter().map(|plan| plan.difference_from_cheapest.as_deref().unwrap_or_default()).collect();
    assert_eq!(differences, ["74.40", "0.00", "0.00", "-66.96", "148.80"]);
    assert!(!result.plans[3].complete);
    assert_eq!(result.plans[3].not_billed[0].field, "coincidentratestructure");
    assert!(result.plans[4].complete && result.plans[4].not_billed[0].optional, "chosen by nobody: a whole bill");
    let written = serde_json::to_string(&result.plans[3].not_billed).unwrap();
    assert!(!written.contains("optional"), "what is not optional is written as ever: {written}");
    assert_eq!(result.plans[0].periods[0].line_items[0].plan_version, 3);
}

#[test]
fn plans_of_two_currencies_are_not_compared() {
    let dollars = r#"{"name": "n", "currency": "USD", "charges": [{"id": "a", "kind": "energy", "price": "1"}]}"#;
    let result = asked(&of(r#""kind": "energy", "price": "1""#), |question| {
        let days = question.period;
        let tariff = Arc::new(Tariff::from_json(dollars).unwrap());
        let versions = vec![VersionInForce { version: 1, days, tariff }];
        question.plans.push(PlanToBill { reference: "q".parse().unwrap(), versions });
    });
    assert!(matches!(result, Err(EngineError::CurrenciesDiffer(found)) if found.len() == 2));
}

#[test]
fn numbers_past_any_digit_are_refused_and_never_wrong() {
    let large = "999999999999999999";
    let times = format!(r#"{{"times": ["{large}", "{large}", "{large}"]}}"#);
    let result = asked(&of(&format!(r#""kind": "fixed", "price": {times}"#)), |_| {});
    assert_eq!(result.unwrap_err(), EngineError::TooLarge);
    let result = asked(&of(r#""kind": "energy", "price": "1""#), |question| {
        let start = instants(LONDON, &question.period).start;
        let reading = |i: i64| Reading {
            start: start + i * 3600,
            seconds: 3600,
            milliwatt_hours: i64::MAX / 2,
            quality: Quality::Measured,
        };
        let readings: Vec<Reading> = (0..744).map(reading).collect();
        question.readings.insert(Channel::import(), Series::from_sorted(&readings));
    });
    assert_eq!(result.unwrap_err(), EngineError::TooLarge);
}

#[test]
fn a_plan_may_run_on_a_clock_of_its_own() {
    // Market time in Brisbane, the customer in Sydney in summer: 18:00 there is 19:00 here.
    let zone = Tz::Australia__Sydney;
    let readings =
        hourly(zone, "2026-01-05", "2026-01-06", |at| if chrono::Timelike::hour(&at) == 19 { 1.0 } else { 0.0 });
    let plan = |time_zone: &str| {
        format!(
            r#"{{"name": "n", "currency": "AUD"{time_zone}, "schedules": {{"s": {{"periods": [{{"period": "on", "hours": ["18:00-19:00"]}}, {{"period": "off"}}]}}}},
            "charges": [{{"id": "a", "kind": "energy", "schedule": "s", "prices": {{"on": "1", "off": "0"}}}}]}}"#
        )
    };
    let bill =
        |plan: &str| compare(&question(plan, zone, "2026-01-05", "2026-01-06", &readings)).unwrap().plans.remove(0);
    assert_eq!(bill(&plan("")).total, "0.00");
    let market = bill(&plan(r#", "time_zone": "Australia/Brisbane""#));
    assert_eq!(market.total, "1.00");
    assert_eq!(lines(&market), ["a/on 1 kWh x 1 = 1", "a/off 0 kWh x 0 = 0"]);
}

#[test]
fn flags_of_the_command_line_override_the_plan() {
    use crate::tariff::{ExportRule, RoundingOverride};
    let plan = r#"{"name": "n", "currency": "GBP", "charges": [{"id": "a", "kind": "energy", "price": "0.123"},
        {"id": "x", "kind": "export_credit", "price": "0.05"}, {"id": "v", "kind": "tax", "percent": "5", "on": ["a", "x"]}]}"#;
    let bill = |conventions: ConventionOverrides| {
        asked(plan, |question| {
            let half = hourly(LONDON, "2026-01-01", "2026-02-01", |_| 0.5);
            question.readings.insert(Channel::export(), half);
            question.options.conventions = conventions;
        })
        .unwrap()
        .plans
        .remove(0)
    };
    let of = |export: ExportRule| {
        let rounding = Some(RoundingOverride::None);
        lines(&bill(ConventionOverrides { export: Some(export), rounding, ..ConventionOverrides::default() }))
    };
    assert_eq!(
        of(ExportRule::Credit),
        ["a 744 kWh x 0.123 = 91.512", "x 372 kWh x -0.05 = -18.6", "v 72.912 GBP x 0.05 = 3.6456"]
    );
    assert_eq!(of(ExportRule::None), ["a 744 kWh x 0.123 = 91.512", "v 91.512 GBP x 0.05 = 4.5756"]);
    assert_eq!(of(ExportRule::NetMetering), ["a 372 kWh x 0.123 = 45.756", "v 45.756 GBP x 0.05 = 2.2878"]);
    assert_eq!(
        of(ExportRule::NetBilling),
        ["a 744 kWh x 0.123 = 91.512", "a_export 372 kWh x -0.123 = -45.756", "v 91.512 GBP x 0.05 = 4.5756"]
    );
    let lines_rounded =
        bill(ConventionOverrides { rounding: Some(RoundingOverride::Lines), ..ConventionOverrides::default() });
    assert_eq!(lines(&lines_rounded)[0], "a 744 kWh x 0.123 = 91.51");
    assert_eq!(lines_rounded.total, "76.56");
}

#[test]
fn only_months_that_the_period_cuts_are_broken() {
    let plan = of(r#""kind": "fixed", "price": "100""#);
    let totals = |start: &str, end: &str, cycle: &[(&str, &str)]| -> Vec<String> {
        let period = |start: &str, end: &str| BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
        let cycle: Vec<BillingPeriod> = cycle.iter().map(|(start, end)| period(start, end)).collect();
        let readings = hourly(LONDON, start, end, |_| 1.0);
        let mut question = question(&plan, LONDON, start, end, &readings);
        question.months = billing_months(&question.period, &cycle);
        question.months_registered = is_registered(&question.period, &cycle);
        let bill = compare(&question).unwrap().plans.remove(0);
        bill.periods.into_iter().map(|month| month.total).collect()
    };
    let cycle = [("2026-05-12", "2026-06-11"), ("2026-06-11", "2026-07-14")];
    assert_eq!(totals("2026-05-12", "2026-07-14", &cycle), ["100.00", "100.00"]);
    // 22 of 31 days (20 May to 20 June), and a whole registered month of 33 days.
    assert_eq!(totals("2026-05-20", "2026-07-14", &cycle), ["70.97", "100.00"]);
    // Counted: 20 May, 20 June, and 24 of 30 days.
    assert_eq!(totals("2026-05-20", "2026-07-14", &[]), ["100.00", "80.00"]);
    assert_eq!(totals("2026-01-31", "2026-03-31", &[]), ["100.00", "100.00"]);
    // A registered cycle of two months is two.
    assert_eq!(totals("2026-05-12", "2026-07-13", &[("2026-05-12", "2026-07-13")]), ["200.00"]);
}

#[test]
fn a_calendar_that_nobody_imported_is_named() {
    let plan = r#"{"name": "n", "currency": "GBP", "schedules": {"s": {"holidays": ["uk"], "periods": [
        {"period": "feast", "days": ["holiday"]}, {"period": "rest"}]}},
        "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"feast": "0", "rest": "1"}}]}"#;
    fault(asked(plan, |_| {}), "calendar_missing", "/schedules/s/holidays/0");
    let new_year = "2026-01-01".parse().unwrap();
    let bill = asked(plan, |question| {
        question.calendars.insert("uk".into(), std::collections::BTreeSet::from([new_year]));
    });
    assert_eq!(lines(&bill.unwrap().plans[0]), ["a/feast 24 kWh x 0 = 0", "a/rest 720 kWh x 1 = 720"]);
}

/// Two charges: energy, and a discount on it under a condition.
fn conditional(condition: &str, rest: &str) -> String {
    format!(
        r#"{{"name": "n", "currency": "GBP", "charges": [{{"id": "energy", "kind": "energy", "price": "1"}},
          {{"id": "a", "kind": "discount", "on": ["energy"], "percent": "10", "condition": {condition}}}]{rest}}}"#
    )
}

#[test]
fn an_attribute_of_another_kind_is_a_fault_and_an_absent_one_holds_nothing() {
    let bill = |condition: &str, value: &str| {
        let value: AttributeValue = serde_json::from_str(value).unwrap();
        asked(&conditional(condition, ""), |question| {
            question.attributes.insert("x".into(), value);
        })
    };
    let (flag, word, number) =
        (r#"{"attribute": "x"}"#, r#"{"attribute": "x", "is": "y"}"#, r#"{"attribute": "x", "at_most": "2.5"}"#);
    for (condition, value, code) in [
        (flag, r#""yes""#, "attribute_not_a_flag"),
        (flag, r#""1""#, "attribute_not_a_flag"),
        (word, "true", "attribute_not_a_word"),
        (word, r#""1""#, "attribute_not_a_word"),
        (number, "true", "attribute_not_a_number"),
        (number, r#""y""#, "attribute_not_a_number"),
        (number, r#"{"by_date": {"2026-01": "y"}}"#, "attribute_not_a_number"),
    ] {
        assert!(fault(bill(condition, value), code, "/charges/1").contains("\"x\""));
    }
    for (condition, value, total) in [
        (flag, "true", "669.60"),
        (flag, "false", "744.00"),
        (flag, r#"{"by_date": {"2026-02": true}}"#, "744.00"),
        (word, r#""y""#, "669.60"),
        (word, r#""Y""#, "744.00"),
        (word, r#"{"by_date": {"2026-01": "y"}}"#, "669.60"),
        (number, r#""2.50""#, "669.60"),
        (number, r#""2.51""#, "744.00"),
    ] {
        let plan = bill(condition, value).unwrap().plans.remove(0);
        assert_eq!(plan.total, total, "{condition} {value}");
        let listed: Vec<_> = plan.not_applied.iter().map(|charge| charge.amount.as_deref()).collect();
        assert_eq!(listed, if total == "744.00" { vec![Some("-74.4")] } else { vec![] }, "{condition} {value}");
    }
    let absent = asked(&conditional(flag, ""), |_| {}).unwrap().plans.remove(0);
    assert_eq!((absent.total.as_str(), absent.complete, absent.not_applied.len()), ("744.00", true, 1));
}

#[test]
fn a_dated_condition_follows_the_convention_for_dated_values() {
    let bill = |dated_values: &str| {
        let rest = format!(r#", "conventions": {{"dated_values": "{dated_values}"}}"#);
        let asked = asked(&conditional(r#"{"attribute": "x"}"#, &rest), |question| {
            let value = r#"{"by_date": {"2026-01": false, "2026-01-22": true}}"#;
            question.attributes.insert("x".into(), serde_json::from_str(value).unwrap());
        });
        asked.unwrap().plans.remove(0).total
    };
    // 10 of 31 days: 240 of 744 kWh.
    assert_eq!([bill("split"), bill("at_start"), bill("at_end")], ["720.00", "744.00", "669.60"]);
}

#[test]
fn what_is_not_applied_changes_nothing_else() {
    // The charge that does not hold looks back on months that no readings cover, and lies above its last step.
    let plan = |condition: &str| {
        format!(
            r#"{{"name": "n", "currency": "GBP", "charges": [
              {{"id": "a", "kind": "demand", "price": "1", "ratchet": {{"percent": "80", "last": 11}}{condition}}},
              {{"id": "b", "kind": "energy", "steps": [{{"to": "1", "price": "1"}}]{condition}}},
              {{"id": "c", "kind": "subtotal", "on_bill": false, "measure": {{"amount": ["a"]}}, "price": "1"{condition}}},
              {{"id": "d", "kind": "fixed", "price": "2"}}, {{"id": "e", "kind": "tax", "percent": "10"}}]}}"#
        )
    };
    let bill = asked(&plan(r#", "condition": {"attribute": "x"}"#), |_| {}).unwrap().plans.remove(0);
    assert_eq!((bill.total.as_str(), bill.flags.len()), ("2.20", 0));
    assert_eq!(bill.periods[0].missing_history.len(), 0);
    let listed: Vec<_> = bill.not_applied.iter().map(|c| (c.charge_id.as_str(), c.amount.as_deref())).collect();
    assert_eq!(listed, [("a", Some("1")), ("b", None)]);
    fault(asked(&plan(""), |_| {}), "above_last_step", "/charges/1");
}

#[test]
fn net_metering_from_outside_refuses_prices_of_a_series() {
    // What is left of a month after the export has no instant, so no price of one.
    let plan = of(r#""kind": "energy", "price": {"series": "spot"}"#);
    let result = asked(&plan, |question| {
        let prices = (0..744).map(|hour| Price { start: 1_767_225_600 + hour * 3600, seconds: 3600, digits: 10 });
        question.price_series.insert("spot".to_owned(), Arc::new(PriceSeries::from_sorted(prices, 2)));
        question.options.conventions.export = Some(crate::tariff::ExportRule::NetMetering);
    });
    let message = fault(result, "series_without_energy", "/charges/0/price");
    assert!(message.contains("net energy"), "{message}");
}
