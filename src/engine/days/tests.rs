use chrono_tz::Tz;

use super::super::tests::{fault, lines, question};
use super::super::{ComparisonResult, EngineError, compare, instants};
use super::*;
use crate::usage::Quality;
use crate::words::BillingPeriod;

const ZONE: Tz = Tz::America__Chicago;
/// Holds a day of 23 hours, the 8th.
const MARCH: [&str; 2] = ["2026-03-01", "2026-04-01"];
/// Holds a day of 25 hours, the 1st.
const NOVEMBER: [&str; 2] = ["2026-11-01", "2026-12-01"];

const TIERED: &str = r#"{"name": "n", "currency": "USD", "charges": [
    {"id": "a", "kind": "energy", "steps": [{"to": "100", "price": "1"}, {"price": "2"}]}]}"#;
const BY_HOURS: &str = r#"{"name": "n", "currency": "USD", "schedules": {"s": {"periods": [
    {"period": "night", "hours": ["00:00-04:00"]}, {"period": "day"}]}},
    "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"night": "1", "day": "2"}}]}"#;
const BY_DAYS: &str = r#"{"name": "n", "currency": "USD", "schedules": {"s": {"periods": [
    {"period": "work", "days": "weekdays"}, {"period": "rest"}]}},
    "charges": [{"id": "a", "kind": "energy", "schedule": "s", "prices": {"work": "1", "rest": "2"}}]}"#;
const DEMAND: &str = r#"{"name": "n", "currency": "USD", "charges": [
    {"id": "a", "kind": "energy", "price": "1"}, {"id": "d", "kind": "demand", "price": "1"}]}"#;

fn period([start, end]: [&str; 2]) -> BillingPeriod {
    BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap()
}

/// One reading a local day of as many kWh as it has hours, from some minutes after midnight on.
fn daily(days: [&str; 2], minutes: i64) -> Vec<Reading> {
    let first = period(days).start();
    let n_days = usize::try_from(period(days).n_days()).unwrap();
    let day = |start: chrono::NaiveDate| {
        let instants = instants(ZONE, &BillingPeriod::new(start, start.succ_opt().unwrap()).unwrap());
        let seconds = instants.end - instants.start;
        Reading {
            start: instants.start + minutes * 60,
            seconds: u32::try_from(seconds).unwrap(),
            milliwatt_hours: seconds / 3600 * 1_000_000,
            quality: Quality::Measured,
        }
    };
    first.iter_days().take(n_days).map(day).collect()
}

/// Readings of one length and energy, from some minutes after the first midnight on.
fn even(days: [&str; 2], seconds: u32, minutes: i64, milliwatt_hours: i64) -> Vec<Reading> {
    let instants = instants(ZONE, &period(days));
    let starts = (instants.start + minutes * 60..instants.end).step_by(seconds as usize);
    starts.map(|start| Reading { start, seconds, milliwatt_hours, quality: Quality::Measured }).collect()
}

fn asked(plan: &str, days: [&str; 2], readings: &[Reading], split: bool) -> Result<ComparisonResult, EngineError> {
    let mut question = question(plan, ZONE, days[0], days[1], &Series::from_sorted(readings));
    question.options.split_intervals_even = split;
    // Whole, however few days it has.
    question.months_registered = true;
    question.options.min_coverage = "0.5".parse().unwrap();
    compare(&question)
}

fn shown(result: Result<ComparisonResult, EngineError>) -> Vec<String> {
    lines(&result.unwrap().plans[0])
}

#[test]
fn days_are_billed_where_nothing_cuts_them() {
    // 30 x 24 + 23, and 29 x 24 + 25.
    for (days, n_days, above) in [(MARCH, 31, 643), (NOVEMBER, 30, 621)] {
        let result = asked(TIERED, days, &daily(days, 0), false).unwrap();
        assert_eq!((result.usage.intervals, result.usage.expected_intervals), (n_days, n_days));
        let expected = ["a#1 100 kWh x 1 = 100".to_owned(), format!("a#2 {above} kWh x 2 = {}", 2 * above)];
        assert_eq!(lines(&result.plans[0]), expected);
    }
    // 22 working days of March and 9 others, one of them shorter.
    let lines = shown(asked(BY_DAYS, MARCH, &daily(MARCH, 0), false));
    assert_eq!(lines, ["a/work 528 kWh x 1 = 528", "a/rest 215 kWh x 2 = 430"]);
}

#[test]
fn days_have_no_hours_and_no_demand() {
    let message = fault(asked(BY_HOURS, MARCH, &daily(MARCH, 0), false), "interval_too_coarse", "/schedules/s");
    assert!(message.contains("1380 minutes") && message.contains("04:00"), "{message}");
    for split in [false, true] {
        let message = fault(asked(DEMAND, MARCH, &daily(MARCH, 0), split), "interval_too_coarse", "/charges/1");
        assert!(message.contains("demand"), "{message}");
    }
    // A boundary 23 hours after midnight lies inside a day of 23 hours, too.
    let by_hours = BY_HOURS.replace("00:00-04:00", "00:00-23:00");
    let day = ["2026-03-08", "2026-03-09"];
    fault(asked(&by_hours, day, &daily(day, 0), false), "interval_too_coarse", "/schedules/s");
}

#[test]
fn days_in_even_parts_follow_the_clock() {
    // Of the day of 23 hours the third is skipped, of that of 25 the second occurs twice: 1 kWh an hour.
    for (day, night, rest) in [(["2026-03-08", "2026-03-09"], 3, 20), (["2026-11-01", "2026-11-02"], 5, 20)] {
        let lines = shown(asked(BY_HOURS, day, &daily(day, 0), true));
        let expected = [format!("a/night {night} kWh x 1 = {night}"), format!("a/day {rest} kWh x 2 = {}", 2 * rest)];
        assert_eq!(lines, expected);
    }
}

#[test]
fn a_day_that_begins_after_midnight_lies_on_two_days() {
    let readings = daily(MARCH, 360);
    let message = fault(asked(TIERED, MARCH, &readings, false), "interval_too_coarse", "/charges/0");
    assert!(message.contains("midnight"), "{message}");
    // The last six hours of the last reading lie in April.
    let lines = shown(asked(BY_DAYS, ["2026-03-03", "2026-03-05"], &daily(MARCH, 360)[2..4], true));
    assert_eq!(lines, ["a/work 42 kWh x 1 = 42", "a/rest 0 kWh x 2 = 0"]);
}

#[test]
fn a_missing_day_is_one_reading_however_long() {
    for (days, n_days) in [(MARCH, 31), (NOVEMBER, 30)] {
        let all = daily(days, 0);
        for missing in [0..1, 5..8, 6..9, 7..8, 0..10, 20..30] {
            let readings: Vec<Reading> = [&all[..missing.start], &all[missing.end..]].concat();
            let usage = asked(TIERED, days, &readings, false).unwrap().usage;
            assert_eq!((usage.missing, usage.expected_intervals), (missing.len() as u64, n_days), "{missing:?}");
            assert_eq!(usage.gaps.len(), 1);
            assert_eq!(usage.gaps[0].intervals, usage.missing);
        }
    }
}

#[test]
fn readings_of_any_length_up_to_an_hour_are_billed_from_any_minute() {
    let day = ["2026-03-08", "2026-03-09"];
    for minutes in [1, 5, 10, 15, 20, 30, 60] {
        // 6 kW throughout.
        let milliwatt_hours = i64::from(minutes) * 100_000;
        for after in [0, 1, 7, 30] {
            let readings = even(day, minutes * 60, after, milliwatt_hours);
            let n_readings = i64::try_from(readings.len()).unwrap();
            let kwh = n_readings * milliwatt_hours / 100_000;
            let result = asked(DEMAND, day, &readings, false).unwrap();
            let lines = lines(&result.plans[0]);
            assert_eq!(lines[1], "d 6 kW x 1 = 6", "{minutes} minutes");
            assert!(lines[0].starts_with(&format!("a {}", kwh / 10)), "{lines:?}: {kwh}");
            // By hours only where no reading lies across one.
            let by_hours = asked(BY_HOURS, day, &readings, false);
            if after % i64::from(minutes) == 0 {
                let night = ((180 - after) * 10).to_string();
                let shown = shown(by_hours);
                assert!(shown[0].starts_with(&format!("a/night {}", &night[..night.len() - 2])), "{shown:?}");
            } else {
                fault(by_hours, "interval_too_coarse", "/schedules/s");
            }
        }
    }
}

#[test]
fn a_length_that_is_no_part_of_an_hour_has_energy_alone() {
    let day = ["2026-03-03", "2026-03-04"];
    let readings = even(day, 420, 0, 1_000_000);
    assert_eq!(shown(asked(TIERED, day, &readings[..200], false))[1], "a#2 100 kWh x 2 = 200");
    let message = fault(asked(DEMAND, day, &readings, false), "interval_too_coarse", "/charges/1");
    assert!(message.contains("7 minutes"), "{message}");
}

#[test]
fn blocks_of_demand_begin_on_the_clock_or_not_at_all() {
    let day = ["2026-03-03", "2026-03-04"];
    let plan = DEMAND.replace(r#""kind": "demand""#, r#""kind": "demand", "window_minutes": 30"#);
    assert_eq!(shown(asked(&plan, day, &even(day, 600, 10, 1_000_000), false))[1], "d 6 kW x 1 = 6");
    fault(asked(&plan, day, &even(day, 600, 5, 1_000_000), false), "interval_too_coarse", "/charges/1");
    fault(asked(&plan, day, &even(day, 1200, 0, 1_000_000), false), "interval_too_coarse", "/charges/1");
}

#[test]
fn power_that_is_too_large_is_refused() {
    let day = ["2026-03-03", "2026-03-04"];
    let readings = &even(day, 60, 0, 1 << 58)[..10];
    let mut question = question(DEMAND, ZONE, day[0], day[1], &Series::from_sorted(readings));
    question.options.min_coverage = "0.001".parse().unwrap();
    assert_eq!(compare(&question), Err(EngineError::TooLarge));
}
