//! Tables of any shape: delimiters, decimal signs, dates in any order, spreadsheets' damage, rows a day, standings.

use std::fmt::Write as _;

use samebill::usage::{DateOrder, ReadOptions, StampSide, inspect_with, open, read};

use super::told::{changed, check_changes, fixture, mutate, told, zone};

fn utc() -> ReadOptions {
    zone("UTC")
}

/// Rows of a table, each with a line end.
fn table(rows: &[&str]) -> String {
    rows.iter().fold(String::new(), |text, row| text + row + "\n")
}

const GERMAN: &str = "Bezug (kWh) 96 40.3; Einspeisung (kWh) 96 10";

#[test]
fn the_base_file_is_read() {
    let (base, berlin) = (fixture("generic_csv/long_german.csv"), zone("Europe/Berlin"));
    assert_eq!(told(&base, &berlin), GERMAN);
    assert_eq!(told(format!("\u{feff}{}", base.replace('\n', "\r\n")), &berlin), GERMAN, "mark and CRLF");
    let (latin, ..) = encoding_rs::WINDOWS_1252.encode(&base);
    assert_eq!(told(latin, &berlin), format!("{GERMAN} | charset_assumed"));
    assert_eq!(told(&base, &ReadOptions::default()), "time_zone_needed@4 Datum");
    let usage = read(std::io::Cursor::new(&base), &berlin).unwrap();
    assert_eq!(
        usage.readings.values().map(samebill::usage::Readings::len).collect::<Vec<_>>(),
        [96, 96],
        "import and export"
    );
    let without_cost: String = base.lines().fold(String::new(), |text, line| {
        let cells: Vec<&str> = line.split(';').collect();
        text + &cells[..cells.len().min(5)].join(";") + "\n"
    });
    assert_eq!(told(without_cost, &berlin), GERMAN);
    let backwards: String = base.lines().fold(String::new(), |text, line| {
        let cells: Vec<&str> = line.split(';').rev().collect();
        text + &cells.join(";") + "\n"
    });
    assert_eq!(told(backwards, &berlin), "Einspeisung (kWh) 96 10; Bezug (kWh) 96 40.3", "columns in another order");
    assert_eq!(told("Datum;Uhrzeit;Bezug (kWh)\n", &berlin), "no_readings");
    assert_eq!(told("", &berlin), "no_readings");
}

#[test]
fn a_change_of_one_line_is_told() {
    let base = fixture("generic_csv/long_german.csv");
    let row = "13.06.2026;00:30;0,225;0;gemessen;0,12 €\n";
    let with = |more: &str| format!("{row}{more}");
    check_changes(
        &base,
        &zone("Europe/Berlin"),
        &[
            (row, "", "Bezug (kWh) 95 40.075 gaps=1; Einspeisung (kWh) 95 10 gaps=1"),
            (row, &with(row), "Bezug (kWh) 96 40.3 repeats=1; Einspeisung (kWh) 96 10 repeats=1"),
            (
                row,
                &with(&row.replace("0,225", "0,226")),
                "Bezug (kWh) 96 40.3 conflict@5+6; Einspeisung (kWh) 96 10 repeats=1",
            ),
            ("0,225", "-0,225", "Bezug (kWh) 96 39.85; Einspeisung (kWh) 96 10"),
            ("0,225", "0,12345678901234", "Bezug (kWh) 96 40.198457; Einspeisung (kWh) 96 10"),
            ("0,225", "", "Bezug (kWh) 95 40.075 blank=1 gaps=1; Einspeisung (kWh) 96 10"),
            ("0,225", "---", "Bezug (kWh) 95 40.075 blank=1 gaps=1; Einspeisung (kWh) 96 10"),
            ("0,225", "fehlt", "Bezug (kWh) 95 40.075 missing=1 gaps=1; Einspeisung (kWh) 96 10"),
            ("0,225", "1.000,225", "Bezug (kWh) 96 1040.3; Einspeisung (kWh) 96 10"),
            ("0,225", "2,25E-01", GERMAN),
            ("0,225", "=\"0,225\"", GERMAN),
            ("0,225", "0;225", "bad_row@5"),
            ("0,225", "0,2x25", "bad_number@5 Bezug (kWh)"),
            ("0,225", "0.2.25", "bad_number@5 Bezug (kWh)"),
            ("0,225", "100000000", "bad_number@5 Bezug (kWh)"),
            ("0;gemessen", "0;geschätzt", "Bezug (kWh) 96 40.3 estimated=1; Einspeisung (kWh) 96 10 estimated=1"),
            ("0;gemessen", "0;Ersatzwert", "Bezug (kWh) 96 40.3 substituted=1; Einspeisung (kWh) 96 10 substituted=1"),
            ("0;gemessen", "0;MISSING", "bad_quality@4 Bezug (kWh)"),
            ("0;gemessen", "0;vielleicht", "bad_quality@4 Status"),
            ("13.06.2026;00:30", "13.06.2026;25:30", "bad_time@5 Uhrzeit"),
            ("13.06.2026;00:30", "31.06.2026;00:30", "bad_time@5 Datum"),
            ("13.06.2026;00:30", "13.06.26;00:30", "bad_time@5 Datum"),
            ("13.06.2026;00:30", "13.06.9999;00:30", "bad_time@5 Datum"),
            (
                "13.06.2026;00:30",
                "13.06.2026;00:37",
                "Bezug (kWh) 95 39.975 gaps=2 overlap@5+6; Einspeisung (kWh) 95 10 gaps=2 overlap@5+6",
            ),
            ("Kosten", "Schuhgröße", "unknown_column@3 Schuhgröße"),
            ("Bezug (kWh)", "Bezug", "unit_needed@3 Bezug"),
            ("Bezug (kWh)", "Bezug (kVArh)", "Bezug (kVArh) 96 -; Einspeisung (kWh) 96 10"),
            ("Bezug (kWh)", "Gas (kWh)", "Gas (kWh) 96 -; Einspeisung (kWh) 96 10"),
        ],
    );
    let end = base.trim_end();
    let last = end.rfind('\n').unwrap() + 1;
    // Cut before the last cell; what is cut of the costs is no reading.
    for n in 1..34 {
        let found = told(&end[..last + n], &zone("Europe/Berlin"));
        assert!(found.starts_with("bad_row@99"), "{n}: {found}");
    }
}

#[test]
fn a_row_of_missing_in_the_middle_is_a_gap_and_totals_are_left_out() {
    let rows = [
        "timestamp,kwh,quality",
        "2026-06-01T00:00Z,1,",
        "2026-06-01T01:00Z,,MISSING",
        "2026-06-01T02:00Z,3,E",
        "Total,4,",
    ];
    assert_eq!(
        told(table(&rows), &ReadOptions::default()),
        "kwh 2 4 estimated=1 missing=1 gaps=1 | total_row_not_used"
    );
    let rows =
        ["timestamp,kwh", "2026-06-01T00:00Z,1", "2026-06-01T01:00Z,MISSING", "timestamp,kwh", "2026-06-01T02:00Z,3"];
    assert_eq!(told(table(&rows), &ReadOptions::default()), "kwh 2 4 missing=1 gaps=1");
}

#[test]
fn dates_are_read_in_the_one_order_that_fits_all_of_them() {
    let read = |dates: &[&str], options: &ReadOptions| {
        let rows: Vec<String> = dates.iter().map(|date| format!("{date},1")).collect();
        told(format!("Date,kWh\n{}\n", rows.join("\n")), options)
    };
    assert_eq!(read(&["11/04/2026", "12/04/2026", "13/04/2026"], &utc()), "kWh 3 3");
    assert_eq!(read(&["04/12/2026", "04/13/2026", "04/14/2026"], &utc()), "kWh 3 3");
    let steps = ["03/04/2026", "04/04/2026", "05/04/2026"];
    assert_eq!(read(&steps, &utc()), "kWh 3 3 | date_order_assumed");
    assert_eq!(read(&["04/03/2026", "04/04/2026", "04/05/2026"], &utc()), "kWh 3 3 | date_order_assumed");
    assert_eq!(read(&["03/04/2026", "03/04/2026"], &utc()), "date_order_needed@1");
    assert_eq!(read(&["03/04/2026", "05/06/2026", "07/08/2026"], &utc()), "date_order_needed@1");
    let said = |order| ReadOptions { date_order: Some(order), ..utc() };
    assert_eq!(read(&steps, &said(DateOrder::DayMonthYear)), "kWh 3 3");
    assert_eq!(read(&steps, &said(DateOrder::YearMonthDay)), "bad_time@2 Date");
    let error = samebill::usage::open(std::io::Cursor::new("Date,kWh\n03/04/2026,1\n"), &utc()).unwrap_err();
    assert!(error.message.contains("--date-order") && error.message.contains("03/04/2026"), "{error}");
}

#[test]
fn an_ambiguous_date_file_of_hours_is_refused() {
    let rows: Vec<String> = (0..24).map(|hour| format!("03/04/2026,{hour:02}:00,1")).collect();
    let text = format!("Date,Time,Usage (kWh)\n{}\n", rows.join("\n"));
    assert_eq!(told(&text, &utc()), "date_order_needed@1");
    let said = ReadOptions { date_order: Some(DateOrder::DayMonthYear), ..utc() };
    assert_eq!(told(&text, &said), "Usage (kWh) 24 24");
}

/// First start of the first series.
fn first_start(text: &str, options: &ReadOptions) -> String {
    let file = samebill::usage::open(std::io::Cursor::new(text), options).unwrap();
    samebill::usage::inspect(file, &[]).unwrap().series[0].first_start.clone().unwrap()
}

#[test]
fn times_are_starts_or_ends_as_they_show_themselves() {
    let rows = |clocks: &[&str]| {
        clocks.iter().fold("Date,Time,kWh\n".to_owned(), |text, clock| format!("{text}2026-06-01,{clock},1\n"))
    };
    let ends: Vec<String> = (1..=48).map(|half| format!("{:02}:{:02}", half / 2, half % 2 * 30)).collect();
    let ends = rows(&ends.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(first_start(&ends, &utc()), "2026-06-01T00:00:00Z");
    assert_eq!(told(&ends, &utc()), "kWh 48 48 | stamp_assumed");
    let midnight = ends.replace("2026-06-01,24:00", "2026-06-02,00:00");
    assert_eq!(first_start(&midnight, &utc()), "2026-06-01T00:00:00Z", "end-stamped midnight");
    let few = rows(&["00:30", "01:00", "01:30"]);
    assert_eq!(told(&few, &utc()), "kWh 3 3 | stamp_assumed");
    assert_eq!(first_start(&few, &utc()), "2026-06-01T00:30:00Z");
    let said = ReadOptions { stamp: Some(StampSide::End), ..utc() };
    assert_eq!((told(&few, &said).as_str(), first_start(&few, &said).as_str()), ("kWh 3 3", "2026-06-01T00:00:00Z"));
    let named = few.replace("Time", "End time");
    assert_eq!(
        (told(&named, &utc()).as_str(), first_start(&named, &utc()).as_str()),
        ("kWh 3 3", "2026-06-01T00:00:00Z")
    );
    let starts = rows(&["00:00", "12:00", "23:00"]);
    assert!(!told(&starts, &utc()).contains("stamp_assumed"), "a day from midnight on");
}

#[test]
fn starts_and_ends_side_by_side_give_the_length() {
    for rows in [
        ["from,to,kWh", "2026-06-01 00:00,2026-06-01 00:30,1", "2026-06-01 01:00,2026-06-01 01:30,2"],
        ["Date,Start Time,End Time,kWh", "2026-06-01,00:00,00:30,1", "2026-06-01,01:00,01:30,2"].map(|r| r),
        ["von;bis;Verbrauch kWh", "01.06.2026 00:00;01.06.2026 00:30;1", "01.06.2026 01:00;01.06.2026 01:30;2"],
    ] {
        let found = told(table(&rows), &utc());
        assert!(found.ends_with(" 2 3 gaps=1"), "{rows:?}: {found}");
    }
    let rows = ["Date,Start Time,End Time,kWh", "2026-06-01,23:30,00:00,1"];
    assert_eq!(told(table(&rows), &utc()), "kWh 1 1");
    let rows = ["Date,Time,Duration,kWh", "2026-06-01,23:30,30,1"];
    assert_eq!(told(table(&rows), &utc()), "kWh 1 1 | stamp_assumed");
    let rows = ["from,to,kWh", "2026-06-01 00:00,2026-06-01 07:00,1"];
    assert_eq!(told(table(&rows), &utc()), "interval_length@2 end");
}

#[test]
fn times_of_spreadsheets_and_machines_are_read() {
    let none = ReadOptions::default();
    for (rows, options) in [
        (["timestamp,kwh", "1780272000,1", "1780275600,2", "1780279200,3"], &none),
        (["timestamp,kwh", "1780272000000,1", "1780275600000,2", "1780279200000,3"], &none),
        (["timestamp,kwh", "46174,1", "46174.0416666667,2", "46174.0833333333,3"], &utc()),
        (["timestamp,kwh", "202606010000,1", "202606010100,2", "202606010200,3"], &utc()),
        (["time (UTC),kwh", "2026-06-01 00:00,1", "2026-06-01 01:00,2", "2026-06-01 02:00,3"], &none),
        (["time,kwh", "2026-06-01 00:00 UTC,1", "2026-06-01 01:00 UTC,2", "2026-06-01 02:00 UTC,3"], &none),
        (
            ["Date/Time,kWh", "6/1/2026 12:00 AM,1", "6/1/2026 1:00 AM,2", "6/1/2026 02:00 AM,3"],
            &ReadOptions { date_order: Some(DateOrder::MonthDayYear), ..utc() },
        ),
        (
            [
                "Date\tTime\tkWh",
                "01-Jun-2026\t0\t1",
                "01-Jun-2026\t0.0416666666666667\t2",
                "01-Jun-2026\t0,0833333333333333\t3",
            ],
            &utc(),
        ),
    ] {
        let text = table(&rows);
        if rows[1].contains("\t0\t") {
            assert_eq!(told(text.replace("\t0\t", "\t00:00\t"), options), "kWh 3 6", "{rows:?}");
            continue;
        }
        let found = told(&text, options);
        assert!(found.starts_with("kwh 3 6") || found.starts_with("kWh 3 6"), "{rows:?}: {found}");
        assert_eq!(first_start(&text, options), "2026-06-01T00:00:00Z", "{rows:?}");
    }
    let damaged = ["Date,End Time,kWh", "2026-06-01,23:00:00,1", "2026-06-01,1900-01-01 00:00:00,2"];
    assert_eq!(told(table(&damaged), &utc()), "kWh 2 3");
    assert_eq!(first_start(&table(&damaged), &utc()), "2026-06-01T22:00:00Z");
}

#[test]
fn hours_may_be_numbered() {
    let day = |date: &str, from: u32, to: u32| (from..=to).map(|n| format!("{date},{n},1\n")).collect::<String>();
    let madrid = zone("Europe/Madrid");
    let text = format!(
        "Fecha,Hora,Consumo_kWh\n{}{}{}",
        day("2026-03-28", 1, 24),
        day("2026-03-29", 1, 23),
        day("2026-10-25", 1, 25)
    );
    assert_eq!(told(&text, &madrid), "Consumo_kWh 72 72 gaps=1");
    let from_zero = format!("Date,Hour,kWh\n{}{}", day("2026-03-27", 0, 23), day("2026-03-28", 0, 23));
    assert_eq!(told(from_zero, &madrid), "kWh 48 48");
    let hours_ending = "Date,Hour Ending,kWh\n2026-03-28,1,1\n2026-03-28,2,1\n2026-03-28,3,1\n";
    assert_eq!(first_start(hours_ending, &madrid), "2026-03-27T23:00:00Z");
    let ranges = "Date,Time,kWh\n2026-03-28,00:00-00:30,1\n2026-03-28,00:30 - 01:00,1\n2026-03-28,23:30-00:00,1\n";
    assert_eq!(told(ranges, &madrid), "kWh 3 3 gaps=1");
    let periods = format!("Settlement Date,Settlement Period,kWh\n{}", day("2026-10-25", 1, 50));
    assert_eq!(told(periods, &zone("Europe/London")), "kWh 50 50");
    assert_eq!(told("Date,Hour,kWh\n2026-03-28,1,1\n2026-03-28,2,1\n", &madrid), "bad_time@1");
}

#[test]
fn clock_changes_of_local_times_are_settled() {
    let berlin = zone("Europe/Berlin");
    let spring: String = [0, 1, 3, 4].iter().map(|h| format!("2026-03-29 {h:02}:00,1\n")).collect();
    assert_eq!(told(format!("timestamp,kwh\n{spring}"), &berlin), "kwh 4 4");
    assert_eq!(
        told(format!("timestamp,kwh\n{spring}2026-03-29 02:00,1\n"), &berlin),
        "local_time_does_not_exist@6 timestamp"
    );
    let autumn: String = [0, 1, 2, 2, 3].iter().map(|h| format!("2026-10-25 {h:02}:00,1\n")).collect();
    assert_eq!(told(format!("timestamp,kwh\n{autumn}"), &berlin), "kwh 5 5");
    let once: String = [0, 1, 2, 3].iter().map(|h| format!("2026-10-25 {h:02}:00,1\n")).collect();
    assert_eq!(told(format!("timestamp,kwh\n{once}"), &berlin), "kwh 4 4 gaps=1 | repeated_hour_once");
}

#[test]
fn units_are_said_found_or_asked_for() {
    let read = |heading: &str, options: &ReadOptions| {
        told(table(&[&format!("from,to,{heading}"), "2026-06-01T00:00Z,2026-06-01T00:30Z,500"]), options)
    };
    let none = ReadOptions::default();
    let said = |unit: &str| ReadOptions { unit: Some(unit.parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(read("Usage (Wh)", &none), "Usage (Wh) 1 0.5");
    assert_eq!(read("Power (W)", &none), "Power (W) 1 0.25", "mean power of half an hour");
    assert_eq!(read("Load (kW)", &none), "Load (kW) 1 250");
    assert_eq!(read("Energy", &none), "Energy 1 500 | unit_assumed");
    assert_eq!(read("value", &none), "unit_needed@1 value");
    assert_eq!(read("consumption", &none), "unit_needed@1 consumption");
    assert_eq!(read("consumption", &said("Wh")), "consumption 1 0.5");
    assert_eq!(read("Usage (kWh)", &said("Wh")), "Usage (kWh) 1 0.5", "a wrong unit in the heading");
    let rows = [
        "from,to,value,unit",
        "2026-06-01T00:00Z,2026-06-01T00:30Z,500,Wh",
        "2026-06-01T00:30Z,2026-06-01T01:00Z,500,gallons",
    ];
    assert_eq!(told(table(&rows[..2]), &none), "value 1 0.5");
    assert_eq!(told(table(&rows), &none), "bad_unit@3 unit");
    let beside = ["from,to,Usage (kWh),Max demand (kW)", "2026-06-01T00:00Z,2026-06-01T00:30Z,500,1200"];
    assert_eq!(told(table(&beside), &none), "Usage (kWh) 1 500; Max demand (kW) 1 -", "a peak is no energy");
}

#[test]
fn series_are_told_apart_by_column_meter_and_channel() {
    let head = "from,to,";
    let at = "2026-06-01T00:00Z,2026-06-01T00:30Z,";
    let feeds = |columns: &str, values: &str| {
        let text = table(&[&format!("{head}{columns}"), &format!("{at}{values}")]);
        match read(std::io::Cursor::new(text), &ReadOptions::default()) {
            Ok(usage) => usage
                .sources
                .iter()
                .map(|(channel, names)| format!("{channel}={}", names.join("+")))
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.code.as_str().to_owned(),
        }
    };
    assert_eq!(feeds("import kWh,export kWh,net kWh", "3,1,2"), "export=export kWh import=import kWh");
    assert_eq!(feeds("Consumption (kWh),Generation (kWh),Net (kWh)", "3,1,2"), "import=Consumption (kWh)");
    assert_eq!(
        feeds("import kWh,consumption kWh,generation kWh", "3,5,2"),
        "import=import kWh",
        "the house is not the grid"
    );
    assert_eq!(feeds("usage day kWh,usage night kWh", "3,5"), "channel_needed");
    assert_eq!(feeds("Net (kWh)", "-2"), "import=Net (kWh)");
    assert_eq!(feeds("meter,kWh", "A1,3"), "import=A1/kWh");
    assert_eq!(feeds("direction,kWh", "export,3"), "export=export");
    let meters = table(&["meter,from,to,kWh", &format!("A,{at}1"), &format!("B,{at}2")]);
    assert_eq!(told(meters, &ReadOptions::default()), "A/kWh 1 1; B/kWh 1 2");
}

#[test]
fn standings_become_energy_and_their_falls_are_told() {
    let base = fixture("generic_csv/register.tsv");
    let none = ReadOptions::default();
    assert_eq!(told(&base, &none), "Zählerstand (kWh) 24 57.6");
    let fallen = changed(&base, "1057.6", "0.4");
    assert_eq!(told(&fallen, &none), "Zählerstand (kWh) 23 52.9 | register_fell");
    let usage = read(std::io::Cursor::new(&fallen), &none).unwrap();
    assert!(usage.readings.keys().all(|channel| channel.as_str() == "import"), "a fall is no export");
    let missing = changed(&base, "1000.4", "");
    assert!(told(&missing, &none).starts_with("Zählerstand (kWh) 22 56.8 blank=1"), "{}", told(&missing, &none));
    assert_eq!(told(base.replace("Zählerstand", "Total"), &none), "Total (kWh) 24 57.6 | register_assumed");
    assert_eq!(told(base.replace("Zählerstand", "Strom"), &none), "Strom (kWh) 24 57.6 | register_assumed");
}

const WIDE: &str = "other 95 30";

#[test]
fn a_row_a_day_is_read_with_its_clock_changes() {
    let (base, berlin) = (fixture("generic_csv/wide_hours.csv"), zone("Europe/Berlin"));
    let kwh = |text: &str| told(text, &berlin);
    assert_eq!(kwh(&base), format!("{WIDE} | unit_assumed"));
    let spring = base.lines().find(|line| line.contains("03-29")).unwrap();
    let counted = format!("{},", spring.replace(",,", ","));
    assert_eq!(kwh(&changed(&base, spring, &counted)), format!("{WIDE} | unit_assumed"), "23 values and a blank");
    assert_eq!(
        kwh(&changed(&base, spring, counted.trim_end_matches(','))),
        format!("{WIDE} | unit_assumed"),
        "23 values"
    );
    assert_eq!(
        kwh(&changed(&base, spring, &spring.replace(",,", ",0,"))),
        format!("{WIDE} | unit_assumed skipped_hour_zero")
    );
    assert_eq!(kwh(&changed(&base, spring, &spring.replace(",,", ",7,"))), "local_time_does_not_exist@3");
    let short = spring.rsplit_once(',').unwrap().0;
    assert_eq!(kwh(&changed(&base, spring, short)), "bad_row@3");
    assert_eq!(told(&base, &ReadOptions::default()), "time_zone_needed@2");
    let hours: Vec<String> = (1..=25).map(|hour| format!("H{hour}")).collect();
    let ones = |n: usize| vec!["1"; n].join(",");
    let autumn = format!("Fecha,{}\n2026-10-24,{},\n2026-10-25,{}\n", hours.join(","), ones(24), ones(25));
    assert_eq!(kwh(&autumn), "other 49 49 | unit_assumed");
    assert_eq!(
        kwh(&autumn.replace("2026-10-24", "2026-10-25").replacen("2026-10-25,1,", "2026-10-26,1,", 2)),
        "bad_row@3"
    );
    let once = format!("Fecha,{}\n2026-10-25,{}\n", hours[..24].join(","), ones(24));
    assert_eq!(kwh(&once), "other 24 24 gaps=1 | unit_assumed repeated_hour_once");
}

#[test]
fn forty_six_values_of_the_spring_day_are_46_half_hours() {
    let halves = |step: u32| {
        (0..48).map(move |half| {
            let m = half * 30 + step;
            format!("{:02}:{:02}", m / 60, m % 60)
        })
    };
    let mut text = format!("Date;{}\n", halves(0).collect::<Vec<_>>().join(";"));
    writeln!(text, "29/03/2026;{};;", vec!["0,5"; 46].join(";")).unwrap();
    assert_eq!(told(&text, &zone("Europe/London")), "other 46 23 | unit_assumed");
    let ends = format!("Date;{}\n{}", halves(30).collect::<Vec<_>>().join(";"), text.lines().nth(1).unwrap());
    assert_eq!(told(&ends, &zone("Europe/London")), "other 46 23 | unit_assumed", "00:30 to 24:00 are ends");
    assert_eq!(first_start(&ends, &zone("Europe/London")), "2026-03-29T00:00:00Z");
}

#[test]
fn a_table_that_cannot_be_settled_is_refused_with_what_was_found() {
    assert_eq!(told("2026-06-01T00:00Z,1.5\n2026-06-01T01:00Z,1.5\n", &utc()), "bad_header@1");
    assert_eq!(told("name,age\nx,7\n", &utc()), "unknown_format");
    assert_eq!(told("Time,kWh\n00:00,1\n00:30,2\n", &utc()), "bad_header@1");
    assert_eq!(told("timestamp,kwh,\n2026-06-01T00:00Z,1,x\n", &utc()), "unknown_column@1 ");
    assert_eq!(told("timestamp,kwh,\n2026-06-01T00:00Z,1,\n2026-06-01T00:30Z,1,\n", &utc()), "kwh 2 2");
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("generic_csv".to_owned()), ..zone("Europe/Berlin") };
    for name in ["long_german.csv", "wide_hours.csv", "register.tsv"] {
        mutate(fixture(&format!("generic_csv/{name}")).as_bytes(), &options, 150);
    }
}

#[test]
fn warnings_of_many_series_are_bounded() {
    use std::fmt::Write as _;
    // A register falls in each of 400 series.
    let mut text = "meter,timestamp,register kWh\n".to_owned();
    for meter in 0..400 {
        for (hour, standing) in [(0, 10), (1, 12), (2, 3), (3, 4), (4, 5)] {
            let _ = writeln!(text, "M{meter},2026-06-01T{hour:02}:00:00Z,{standing}");
        }
    }
    let mut file = open(std::io::Cursor::new(text), &ReadOptions::default()).unwrap();
    let once = inspect_with(&mut file, &[], |_, _| ()).unwrap();
    let n = once.warnings.iter().filter(|warning| warning.code == "register_fell").count();
    assert_eq!((once.series.len(), n), (400, 101), "a hundred, and that there are more");
    let again = inspect_with(&mut file, &[], |_, _| ()).unwrap();
    assert_eq!(again.warnings, once.warnings, "said once, however often a series is settled");
}
