//! NEM12. Days are of market time, which has no clock change: the days of the base file on which Sydney's clocks are set
//! (5 April and 4 October 2026) have 48 half hours each.

use samebill::usage::ReadOptions;

use super::told::{changed, check_changes, fixture, mutate, told, zone};

const E1: &str = "4001234567/E1 96 49";
const REST: &str = "4001234567/B1 94 46.63 substituted=28 estimated=17 missing=2 gaps=1; 4001234567/Q1 48 -";

fn base() -> String {
    fixture("nem12/two_days.csv")
}

#[test]
fn the_base_file_is_read() {
    assert_eq!(told(base(), &ReadOptions::default()), format!("{E1} gaps=1; {REST}"));
    let marked = format!("\u{feff}\n{}", base().replace('\n', "\r\n"));
    assert_eq!(told(marked, &ReadOptions::default()), format!("{E1} gaps=1; {REST}"), "mark, blank line, CRLF");
    let padded = base().replace('\n', ",,,\n");
    assert_eq!(told(padded, &ReadOptions::default()), format!("{E1} gaps=1; {REST}"), "padded with commas");
    assert_eq!(told("", &ReadOptions::default()), "no_readings");
    assert_eq!(told("100,NEM12,202607011200,MDP1,RET1\n", &ReadOptions::default()), "no_readings");
}

#[test]
fn a_change_of_one_line_is_told() {
    let base = base();
    let lines: Vec<&str> = base.lines().collect();
    let day = format!("{}\n", lines[2]);
    let (same, other) = (format!("{day}{day}"), format!("{day}{}", day.replace("0.25,", "0.26,")));
    let newer = format!("{}{day}", day.replace("0.25,", "0.26,").replace("20260701120000", "20260702120000"));
    let without_time = format!("{}{day}", day.replace("0.25,", "9.25,").replace("20260701120000", ""));
    let e1 = |told: &str| format!("4001234567/E1 {told}; {REST}");
    let missing = e1("95 48 missing=48 gaps=1").replace("95 48", "48 24.75");
    check_changes(
        &base,
        &ReadOptions::default(),
        &[
            (&day, &same, &e1("96 49 repeats=48 gaps=1")),
            (&day, &other, &e1("96 49 gaps=1 conflict@3+4").replace("96 49 gaps", "96 49 repeats=47 gaps")),
            (&day, &newer, &e1("96 49.01 older=48 gaps=1")),
            (&day, &without_time, &e1("96 49 older=48 gaps=1")),
            ("0.25,", "-0.25,", &e1("96 48.5 gaps=1")),
            ("0.25,", "0.12345678901234,", &e1("96 48.873457 gaps=1")),
            ("0.25,", ",", "bad_number@3 IntervalValue1"),
            ("0.25,", "x,", "bad_number@3 IntervalValue1"),
            ("0.25,", "", "bad_row@3 QualityMethod"),
            ("0.25,", "0.25,0.25,", "bad_row@3 QualityMethod"),
            ("A,,,20260701120000,", "N,,,20260701120000,", &missing),
            ("A,,,20260701120000,", "E52,,,20260701120000,", &e1("96 49 estimated=48 gaps=1")),
            ("A,,,20260701120000,", "S14,,,20260701120000,", &e1("96 49 substituted=48 gaps=1")),
            ("A,,,20260701120000,", "V,,,20260701120000,", "bad_quality@3 QualityMethod"),
            ("A,,,20260701120000,", "F1", "bad_row@3 QualityMethod"),
            ("A,,,20260701120000,", "A,,,2026070112", "bad_time@3 UpdateDateTime"),
            ("A,,,20260701120000,", "A,,,202607011200", &e1("96 49 gaps=1")),
            ("400,2,3,N,,\n", "", "bad_quality@9 StartInterval"),
            ("400,21,48,F14,76,\n", "", "bad_quality@7 QualityMethod"),
            ("400,21,48,F14,76,", "400,21,49,F14,76,", "bad_row@11 EndInterval"),
            ("400,21,48,F14,76,", "400,21,18446744073709551616,F14,76,", "bad_row@11 EndInterval"),
            ("400,21,48,F14,76,", "400,21,48,V,,", "bad_quality@11 QualityMethod"),
            ("500,O,S1,20260406101010,", "400,1,48,A,,\n400,1,48,A,,", "bad_quality@12 StartInterval"),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,kVArh,30", &e1("96 - gaps=1")),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,,30", "unit_needed@2 UOM"),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,MWH,30", &e1("96 49000 gaps=1")),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,kWh,15", "bad_row@3 QualityMethod"),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,kWh,7", "interval_length@2 IntervalLength"),
            ("E1,N1,METER1,kWh,30", "E1,N1,METER1,kWh,1440", "interval_length@2 IntervalLength"),
            ("E1,N1,METER1,kWh,30", ",N1,METER1,kWh,30", "bad_row@2 NMISuffix"),
            ("20260405", "20260431", "bad_time@3 IntervalDate"),
            ("20260405", "99990405", "bad_time@3"),
            ("900\n", "", &format!("{E1} gaps=1; {REST} | no_end_row")),
            ("900\n", "901\n", "bad_row@15"),
            ("100,NEM12,202607011200,MDP1,RET1\n", "", &format!("{E1} gaps=1; {REST} | no_header_row")),
            ("100,NEM12", "100,NEM13", "not_intervals@1"),
            ("500,O,S1,20260406101010,", "550,N,,,", "not_intervals@12"),
            (
                "200,4001234567",
                "200,8010234567",
                &format!("{}; {REST} | market_time_assumed", "8010234567/E1 96 49 gaps=1"),
            ),
        ],
    );
}

#[test]
fn a_file_cut_anywhere_in_a_row_of_values_is_refused() {
    let base = base();
    let row = base.find("300,20261004").unwrap();
    for n in 4..base[row..].find(",A,").unwrap() {
        let found = told(&base[..row + n], &ReadOptions::default());
        assert!(found.starts_with("bad_row@4") || found.starts_with("bad_time@4"), "{n}: {found}");
    }
}

#[test]
fn days_of_western_australia_begin_two_hours_later() {
    let start = |options: &ReadOptions| {
        let file = samebill::usage::open(std::io::Cursor::new(base()), options).unwrap();
        samebill::usage::inspect(file, &[]).unwrap().series[0].first_start.clone().unwrap()
    };
    assert_eq!(start(&ReadOptions::default()), "2026-04-04T14:00:00Z");
    assert_eq!(start(&zone("Australia/Sydney")), "2026-04-04T14:00:00Z", "market time, not local time");
    assert_eq!(start(&zone("Australia/Perth")), "2026-04-04T16:00:00Z");
}

#[test]
fn overlapping_intervals_are_reported() {
    let base = base();
    let lines: Vec<&str> = base.lines().collect();
    let hours = format!("300,20260405,{},A,,,20260701120000,", vec!["1"; 24].join(","));
    let text = [lines[0], lines[1], lines[2], &lines[1].replace(",30,", ",60,"), &hours, "900"].join("\n");
    let found = told(text, &ReadOptions::default());
    assert!(found.contains("conflict@3+5"), "{found}");
}

#[test]
fn the_unit_of_a_register_without_one_can_be_given() {
    let text = changed(&base(), "E1,N1,METER1,kWh,30", "E1,N1,METER1,,30");
    let options = ReadOptions { unit: Some("Wh".parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(told(text, &options), format!("4001234567/E1 96 0.049 gaps=1; {REST}"));
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("nem12".to_owned()), ..ReadOptions::default() };
    mutate(base().as_bytes(), &options, 400);
}
