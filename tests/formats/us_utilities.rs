//! Downloads of utilities in the United States: Opower, San Diego Gas & Electric.

use std::fmt::Write as _;

use samebill::usage::{ReadOptions, StampSide, Unit};

use super::told::{check_changes, fixture, told, zone};
use super::trouble::{check_common, starts};

#[test]
fn opower_files_are_read_with_their_troubles() {
    let base = fixture("opower/hourly.csv");
    let options = zone("America/Los_Angeles");
    assert_eq!(told(&base, &options), "123/Service 1/USAGE 4 1.875 estimated=1");
    assert_eq!(starts(&base, &options, 0), ["01-05 08:00 60", "01-05 09:00 60", "01-05 10:00 60", "01-05 11:00 60"]);
    check_common(&base, &options, 6, ',');
    let row = "Electric usage,2026-01-05,01:00,01:59,0.5,$0.08 ,\n";
    let all = "123/Service 1/USAGE 4 1.875 estimated=1";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", "123/Service 1/USAGE 3 1.375 estimated=1 gaps=1"),
            // A blank.
            (",0.5,", ",,", "123/Service 1/USAGE 3 1.375 estimated=1 blank=1 gaps=1"),
            // A repeat.
            (row, &row.repeat(2), "123/Service 1/USAGE 4 1.875 estimated=1 repeats=1"),
            // A conflict.
            (
                row,
                &format!("{row}{}", row.replace("0.5", "0.6")),
                "123/Service 1/USAGE 4 1.875 estimated=1 conflict@8+9",
            ),
            // An overlap.
            ("01:00,01:59", "00:45,01:44", "123/Service 1/USAGE 3 1.375 estimated=1 gaps=1 overlap@7+8"),
            // Negative.
            (",0.5,", ",-0.5,", "123/Service 1/USAGE 4 0.875 estimated=1 | negative_usage"),
            // A wrong unit.
            ("(kWh)", "(therms)", "bad_unit@7 USAGE (therms)"),
            // Watt-hours.
            ("(kWh)", "(Wh)", "123/Service 1/USAGE 4 0.001875 estimated=1"),
            // No unit.
            ("USAGE (kWh)", "USAGE", "unit_needed@6 USAGE"),
            // No cost.
            ("USAGE (kWh),COST", "USAGE (kWh)", "bad_row@7"),
            // An unknown column.
            (",COST,", ",COST,TEMPERATURE,", "unknown_column@6 TEMPERATURE"),
            // A column twice.
            (",COST,", ",START TIME,", "bad_header@6 START TIME"),
            // 14 decimals.
            (",0.5,", ",0.50000149999999,", "123/Service 1/USAGE 4 1.875001 estimated=1"),
            // No number.
            (",0.5,", ",half,", "bad_number@8 USAGE (kWh)"),
            // A row that says it is missing.
            (",0.5,", ",n/a,", "123/Service 1/USAGE 3 1.375 estimated=1 missing=1 gaps=1"),
            // Month first.
            ("2026-01-05,01", "1/5/2026,01", all),
            // A day that is none.
            ("2026-01-05,01", "2026-13-05,01", "bad_time@8 DATE"),
            // The year 9999.
            ("2026-01-05,01", "9999-01-05,01", "bad_time@8"),
            // The end as it is.
            ("01:00,01:59", "01:00,02:00", all),
            // 24:00.
            ("01:00,01:59", "24:00,24:59", "bad_time@8 END TIME"),
            // An odd length.
            ("01:00,01:59", "01:00,02:29", "interval_length@8 START TIME"),
            // Neither.
            ("Electric usage,2026-01-05,01", "Water usage,2026-01-05,01", "not_electricity@8 TYPE"),
        ],
    );
    let gas = base.replace("Electric", "Natural gas").replace("kWh", "therms");
    assert_eq!(told(&gas, &options), "not_electricity");
    let beside = base.replace(row, &row.replace("Electric", "Natural gas"));
    let expected = "123/Service 1/USAGE 3 1.375 estimated=1 gaps=1; 123/Service 1/Natural gas usage USAGE 1 -";
    assert_eq!(told(&beside, &options), expected, "gas is kept apart");
    let unit = ReadOptions { unit: Some(Unit::WattHour), ..options.clone() };
    assert_eq!(told(&base, &unit), "123/Service 1/USAGE 4 0.001875 estimated=1");
}

#[test]
fn opower_columns_may_be_absent_or_in_another_order() {
    let options = zone("America/Los_Angeles");
    let row = |cells: [&str; 6], order: &[usize]| {
        let picked: Vec<&str> = order.iter().map(|idx| cells[*idx]).collect();
        format!("{}\n", picked.join(","))
    };
    for order in [&[0, 1, 2, 3, 4, 5][..], &[5, 4, 3, 2, 1, 0], &[1, 2, 3, 4, 0], &[4, 0, 3, 1, 2]] {
        let text = row(["TYPE", "DATE", "START TIME", "END TIME", "USAGE (kWh)", "COST"], order)
            + &row(["Electric usage", "1/5/2026", "0:00", "0:14", "0.5", "$1"], order)
            + &row(["Electric usage", "1/5/2026", "0:15", "0:29", "0.25", "$1"], order);
        assert_eq!(told(&text, &options), "USAGE 2 0.75", "{order:?}");
    }
    let units = "TYPE,DATE,START TIME,END TIME,USAGE,UNITS,NOTES\n\
                 Electric usage,1/5/2026,0:00,0:59,500,Wh\nElectric usage,1/5/2026,1:00,1:59,250,Wh\n";
    assert_eq!(told(units, &options), "USAGE 2 0.75", "notes left out of every row");
    let daily = "TYPE,DATE,START TIME,END TIME,USAGE (kWh)\nElectric usage,2026-03-07,00:00,23:59,1\n\
                 Electric usage,2026-03-08,00:00,23:59,1\nElectric usage,2026-11-01,00:00,23:59,1\n";
    assert_eq!(starts(daily, &options, 0), ["03-07 08:00 1440", "03-08 08:00 1380", "11-01 07:00 1500"]);
}

#[test]
fn opower_clock_changes() {
    let options = zone("America/Los_Angeles");
    let row = |day: &str, hour: u32, kwh: &str| format!("Electric usage,{day},{hour:02}:00,{hour:02}:59,{kwh}\n");
    let file = |rows: &[String]| format!("TYPE,DATE,START TIME,END TIME,USAGE (kWh)\n{}", rows.concat());
    let spring = [0, 1, 3, 4].map(|hour| row("2026-03-08", hour, "1"));
    assert_eq!(
        starts(file(&spring), &options, 0),
        ["03-08 08:00 60", "03-08 09:00 60", "03-08 10:00 60", "03-08 11:00 60"]
    );
    let filled = |kwh: &str| file(&[row("2026-03-08", 1, "1"), row("2026-03-08", 2, kwh), row("2026-03-08", 3, "1")]);
    assert_eq!(told(filled("0"), &options), "USAGE 2 2 | skipped_hour_empty");
    assert_eq!(told(filled(""), &options), "USAGE 2 2 | skipped_hour_empty");
    assert_eq!(told(filled("1"), &options), "local_time_does_not_exist@3 START TIME");
    let autumn = [0, 1, 1, 2].map(|hour| row("2026-11-01", hour, "1"));
    assert_eq!(
        starts(file(&autumn), &options, 0),
        ["11-01 07:00 60", "11-01 08:00 60", "11-01 09:00 60", "11-01 10:00 60"]
    );
    let once = [0, 1, 2].map(|hour| row("2026-11-01", hour, "1"));
    assert_eq!(told(file(&once), &options), "USAGE 3 3 gaps=1 | repeated_hour_once");
}

#[test]
fn sdge_files_are_read_with_their_troubles() {
    let base = fixture("sdge/quarter_hours.csv");
    let options = zone("America/Los_Angeles");
    let all = "00000001/Consumption 4 0.875; 00000001/Generation 4 1.35; 00000001/Net 4 -0.475";
    assert_eq!(told(&base, &options), all);
    assert_eq!(starts(&base, &options, 1), ["02-02 08:00 15", "02-02 08:15 15", "02-02 08:30 15", "02-02 08:45 15"]);
    check_common(&base, &options, 5, ',');
    let row = "\"00000001\",\"2/2/2026\",\"12:15 AM\",\"15\",\"0.5000\",\"0.1000\",\"0.4000\"\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (
                row,
                "",
                "00000001/Consumption 3 0.375 gaps=1; 00000001/Generation 3 1.25 gaps=1; 00000001/Net 3 -0.875 gaps=1",
            ),
            // A blank.
            (
                "\"0.5000\"",
                "\"\"",
                "00000001/Consumption 3 0.375 blank=1 gaps=1; 00000001/Generation 4 1.35; 00000001/Net 4 -0.475",
            ),
            // A repeat.
            (
                row,
                &row.repeat(2),
                "00000001/Consumption 4 0.875 repeats=1; 00000001/Generation 4 1.35 repeats=1; 00000001/Net 4 -0.475 repeats=1",
            ),
            // A conflict.
            (
                row,
                &format!("{row}{}", row.replace("0.5000", "0.6000")),
                "00000001/Consumption 4 0.875 conflict@7+8; 00000001/Generation 4 1.35 repeats=1; 00000001/Net 4 -0.475 repeats=1",
            ),
            // An overlap.
            (
                "\"12:15 AM\",\"15\"",
                "\"12:15 AM\",\"60\"",
                "00000001/Consumption 2 0.75 overlap@7+8 overlap@7+9; 00000001/Generation 2 0.1 overlap@7+8 overlap@7+9; 00000001/Net 2 0.65 overlap@7+8 overlap@7+9",
            ),
            // Negative.
            (
                "\"0.5000\"",
                "\"-0.5000\"",
                "00000001/Consumption 4 -0.125; 00000001/Generation 4 1.35; 00000001/Net 4 -0.475 | negative_usage",
            ),
            // A wrong unit.
            ("UOM,kWh", "UOM,therms", "bad_unit@5 UOM"),
            // Gas.
            ("Name,CUSTOMER", "Resource,Gas", "not_electricity"),
            // 14 decimals.
            (
                "\"0.5000\"",
                "\"0.50000149999999\"",
                "00000001/Consumption 4 0.875001; 00000001/Generation 4 1.35; 00000001/Net 4 -0.475",
            ),
            // An unknown column.
            (",Net\n", ",Losses\n", "unknown_column@5 Losses"),
            // No date.
            (",Date,", ",Day,", "bad_header@5 date"),
            // A dash is a blank.
            (
                "\"0.5000\"",
                "\"-\"",
                "00000001/Consumption 3 0.375 blank=1 gaps=1; 00000001/Generation 4 1.35; 00000001/Net 4 -0.475",
            ),
            // No duration.
            ("\"15\",\"0.5000\"", "\"soon\",\"0.5000\"", "interval_length@7 Duration"),
            // An absurd duration.
            ("\"15\",\"0.5000\"", "\"999999999999\",\"0.5000\"", "interval_length@7 Duration"),
            // 24:00.
            (
                "12:45 AM",
                "24:00",
                "00000001/Consumption 4 0.875 gaps=1; 00000001/Generation 4 1.35 gaps=1; 00000001/Net 4 -0.475 gaps=1",
            ),
        ],
    );
    // The net series repeats the other two: it feeds nothing.
    let usage = samebill::usage::read(std::io::Cursor::new(&base), &options).unwrap();
    let sums: Vec<(String, i64)> = usage
        .readings
        .iter()
        .map(|(channel, readings)| (channel.to_string(), readings.iter().map(|r| r.milliwatt_hours).sum()))
        .collect();
    assert_eq!(sums, [("export".to_owned(), 1_350_000), ("import".to_owned(), 875_000)]);
}

#[test]
fn sdge_durations_the_form_of_2024_and_clock_changes() {
    let options = zone("America/Los_Angeles");
    let file = |rows: &str| format!("Meter Number,Date,Start Time,Duration,Consumed\n{rows}");
    let hours = file("M,3/8/2026,1:00 AM,Hour,1\nM,3/8/2026,3:00 AM,1 Hour,-2\nM,3/8/2026,4:00 AM,60,1\n");
    assert_eq!(told(&hours, &options), "M/Consumed 3 0 | negative_usage");
    assert_eq!(starts(&hours, &options, 0), ["03-08 09:00 60", "03-08 10:00 60", "03-08 11:00 60"]);
    let days = file("M,3/8/2026,12:00 AM,Day,1\nM,11/1/2026,12:00 AM,1 Day,1\n");
    assert_eq!(starts(&days, &options, 0), ["03-08 08:00 1380", "11-01 07:00 1500"]);
    let autumn = file(
        "M,11/1/2026,12:00 AM,60,1\nM,11/1/2026,1:00 AM,60,2\nM,11/1/2026,1:00 AM,60,3\nM,11/1/2026,2:00 AM,60,4\n",
    );
    assert_eq!(starts(&autumn, &options, 0), ["11-01 07:00 60", "11-01 08:00 60", "11-01 09:00 60", "11-01 10:00 60"]);
    let unit = format!("Interval UOM,Hour(s)\n{}", file("M,1/5/2026,1:00 AM,1,1\nM,1/5/2026,2:00 AM,1,1\n"));
    assert_eq!(starts(&unit, &options, 0), ["01-05 09:00 60", "01-05 10:00 60"]);
}

#[test]
fn bill_histories_are_refused_by_name() {
    for (text, line) in [
        ("Bill Date,Electric Charges,Electric Usage (kWh)\n09/24/2025,89.45,450\n", 1),
        ("Billing Period;Usage;Amount\nJan 2026;450;89\n", 1),
        (
            "Name,CUSTOMER\n\nTYPE,START DATE,END DATE,USAGE (kWh),COST,NOTES\n\
             Electric billing,2026-01-01,2026-01-31,30,$10,\nElectric billing,2026-02-01,2026-02-28,30,$10,\n",
            3,
        ),
        ("Date,kWh,Dollars\n1/24/2026,450,89\n2/23/2026,420,80\n3/25/2026,400,78\n", 1),
    ] {
        assert_eq!(told(text, &ReadOptions::default()), format!("not_intervals@{line}"), "{text}");
    }
    // Days and their cost are readings of days.
    let days = "Start Date,End Date,Usage (kWh),Cost\n2026-01-01,2026-01-02,3,1\n2026-01-02,2026-01-03,3,1\n";
    assert!(!told(days, &zone("America/Denver")).contains("not_intervals"));
    let gap = "Date,kWh,Cost\n2026-01-01,3,1\n2026-01-02,3,1\n2026-02-01,3,1\n";
    assert!(!told(gap, &zone("America/Denver")).contains("not_intervals"), "days with a gap");
    let quarters = "Timestamp,Billing Period,kWh\n2026-01-01T00:00:00Z,1,3\n2026-01-01T00:15:00Z,1,3\n";
    assert!(!told(quarters, &zone("America/Denver")).contains("not_intervals"));
}

#[test]
fn hostile_tables_are_refused_early() {
    let options = ReadOptions { format: Some("opower".to_owned()), ..zone("America/Denver") };
    let wide = format!("TYPE,DATE,START TIME,END TIME,USAGE (kWh){}\n", ",COST".repeat(60_000));
    assert_eq!(told(wide, &options), "bad_header@1");
    let mut kinds = "TYPE,DATE,START TIME,END TIME,USAGE (kWh)\n".to_owned();
    for n in 0..100 {
        writeln!(kinds, "Electric {n},1/5/2026,0:00,0:59,1").unwrap();
    }
    assert_eq!(told(kinds, &options), "too_large@34 TYPE");
    let preamble = "Name,Value\n".repeat(200);
    assert_eq!(told(preamble, &options), "bad_header");
    let heading = "Giorno;".to_owned() + &"00:00-00:15;".repeat(60_000);
    let italian = ReadOptions { format: Some("e_distribuzione".to_owned()), ..options.clone() };
    assert_eq!(told(heading, &italian), "bad_header@1");
    let endless = format!("TYPE,DATE,START TIME,END TIME,USAGE (kWh)\nElectric,\"{}", "x".repeat(3 << 20));
    assert_eq!(told(endless, &options), "bad_row@2");
}

#[test]
fn the_caller_may_say_that_times_are_ends() {
    let options = ReadOptions { stamp: Some(StampSide::End), ..zone("America/Chicago") };
    assert_eq!(starts(fixture("ameren/two_lengths.csv"), &options, 0)[0], "04-01 04:00 60");
    assert_eq!(starts(fixture("ameren/two_lengths.csv"), &options, 1)[0], "04-01 04:45 15");
    assert_eq!(starts(fixture("sdge/quarter_hours.csv"), &options, 0)[0], "02-02 05:45 15");
}

#[test]
fn a_repeated_row_is_counted_once_on_import() {
    let count = |text: &str, zone_name: &str| -> u64 {
        let doubled: Vec<&str> = text.lines().flat_map(|line| [line, line]).collect();
        let n_heading = text.lines().take_while(|line| !line.contains("2026")).count();
        let rows: String = doubled[2 * n_heading..].iter().map(|line| format!("{line}\n")).collect();
        let heading: String = text.split_inclusive('\n').take(n_heading).collect();
        let usage = samebill::usage::read(std::io::Cursor::new(heading + &rows), &zone(zone_name)).unwrap();
        assert!(usage.warnings.iter().all(|warning| warning.code != "negative_usage"));
        usage.exact_repeats
    };
    assert_eq!(count(&fixture("opower/hourly.csv"), "America/Los_Angeles"), 4);
    assert_eq!(count(&fixture("sdge/quarter_hours.csv"), "America/Los_Angeles"), 4);
    assert_eq!(count(&fixture("ameren/two_lengths.csv"), "America/Chicago"), 8);
    assert_eq!(count(&fixture("datadis/day.csv"), "Europe/Madrid"), 24);
    assert_eq!(count(&fixture("dutch_registers/days.csv"), "Europe/Amsterdam"), 5);
}

#[test]
fn ameren_files_are_read_with_their_troubles() {
    let base = fixture("ameren/two_lengths.csv");
    let options = zone("America/Chicago");
    assert_eq!(told(&base, &options), "001/60min 2 3.5; 001/15min 8 3.5");
    assert_eq!(starts(&base, &options, 0), ["04-01 05:00 60", "04-01 06:00 60"]);
    check_common(&base, &options, 4, ',');
    let row = "04/01/2026 00:15,001,-,-,-,0.25,kwh,15min\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", "001/60min 2 3.5; 001/15min 7 3.25 gaps=1"),
            // A dash for a value.
            ("-,-,-,0.25,", "-,-,-,-,", "001/60min 2 3.5; 001/15min 7 3.25 blank=1 gaps=1"),
            // A repeat.
            (row, &row.repeat(2), "001/60min 2 3.5; 001/15min 8 3.5 repeats=1"),
            // A conflict.
            (row, &format!("{row}{}", row.replace("0.25", "0.5")), "001/60min 2 3.5; 001/15min 8 3.5 conflict@6+7"),
            // An overlap.
            ("00:15,", "00:20,", "001/60min 2 3.5; 001/15min 7 2.75 gaps=2 overlap@6+7"),
            // Negative.
            ("-,-,-,0.25", "-,-,-,-0.25", "001/60min 2 3.5; 001/15min 8 3 | negative_usage"),
            // A wrong unit.
            ("0.25,kwh", "0.25,therms", "bad_unit@6 Units"),
            // Gas.
            ("Commodity,Electric", "Commodity,Gas", "not_electricity"),
            // 14 decimals.
            ("0.25,", "0.25000149999999,", "001/60min 2 3.5; 001/15min 8 3.500001"),
            // An unknown column.
            ("Meter Id", "Feeder", "unknown_column@4 Feeder"),
            // A column is missing.
            ("Units,Interval,Usage", "Units,Length,Usage", "bad_header@4 Usage"),
            // A value without an interval.
            ("-,-,-,0.25,kwh,15min", "-,-,-,0.25,kwh,-", "interval_unknown@6 Interval"),
            ("0.25,kwh,15min", "0.25,kwh,weekly", "interval_length@6 Interval"),
            ("0.25,kwh,15min", "0.25,kwh,99999999999999999999min", "interval_length@6 Interval"),
            // 24:00.
            ("04/01/2026 00:00,", "03/31/2026 24:00,", "001/60min 2 3.5; 001/15min 8 3.5"),
            ("04/01/2026 00:15", "04/31/2026 00:15", "bad_time@6 Start Interval Date/Time"),
            ("04/01/2026 00:15", "04/01/2026", "bad_time@6 Start Interval Date/Time"),
        ],
    );
    let usage = samebill::usage::read(std::io::Cursor::new(&base), &options).unwrap();
    assert_eq!(usage.n_readings(), 8, "the quarter hours are imported");
    let day = |date: &str, hours: &[&str]| -> String {
        let heading = "Start Interval Date/Time,Meter Id,Usage,Units,Interval\n".to_owned();
        heading + &hours.iter().map(|hour| format!("{date} {hour}:00,1,1,kWh,1 hour\n")).collect::<String>()
    };
    assert_eq!(starts(day("03/08/2026", &["01", "03"]), &options, 0), ["03-08 07:00 60", "03-08 08:00 60"], "spring");
    assert_eq!(
        starts(day("11/01/2026", &["00", "01", "01", "02"]), &options, 0),
        ["11-01 05:00 60", "11-01 06:00 60", "11-01 07:00 60", "11-01 08:00 60"],
        "autumn"
    );
    let once = told(day("11/01/2026", &["00", "01", "02"]), &options);
    assert_eq!(once, "1/1 hour 3 3 gaps=1 | repeated_hour_once");
}

#[test]
fn sce_files_are_read_with_their_troubles() {
    let base = fixture("sce/delivered_received.csv");
    let options = zone("America/Los_Angeles");
    assert_eq!(told(&base, &options), "import 3 0.75 estimated=1; export 3 1.25");
    assert_eq!(starts(&base, &options, 1), ["05-22 07:00 15", "05-22 07:15 15", "05-22 07:30 15"]);
    check_common(&base[..base.len() - 4], &options, 5, ',');
    let row = "2026-05-22 00:00:00 to 2026-05-22 00:15:00,0.5,\n";
    let middle = "2026-05-22 00:15:00\u{a0}to 2026-05-22 00:30:00,0.25,Estimated\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (middle, "", "import 2 0.5 gaps=1; export 3 1.25"),
            // A blank.
            (",0.25,", ",,", "import 2 0.5 blank=1 gaps=1; export 3 1.25"),
            // A repeat.
            (row, &row.repeat(2), "import 3 0.75 estimated=1 repeats=1; export 3 1.25"),
            // A conflict.
            (
                row,
                &format!("{row}{}", row.replace("0.5", "0.6")),
                "import 3 0.75 estimated=1 conflict@6+7; export 3 1.25",
            ),
            // An overlap.
            (
                "00:00:00 to 2026-05-22 00:15:00,0.5",
                "00:00:00 to 2026-05-22 00:30:00,0.5",
                "import 2 0.5 overlap@6+7; export 3 1.25",
            ),
            // Negative.
            (",0.25,", ",-0.25,", "import 3 0.25 estimated=1; export 3 1.25"),
            // A wrong unit.
            ("kilowatt-hours", "cubic feet", "bad_unit@5 Usage Delivered(Real energy in cubic fee…"),
            // The highest demand is no energy.
            ("kilowatt-hours", "kilowatts", "other 3 - estimated=1; export 3 1.25"),
            // 14 decimals.
            (",0.25,", ",0.25000149999999,", "import 3 0.750001 estimated=1; export 3 1.25"),
            // Qualities.
            ("Estimated", "Validated", "import 3 0.75; export 3 1.25"),
            ("Estimated", "Doubtful", "import 3 0.75 estimated=1; export 3 1.25 | quality_not_known"),
            (",0.25,Estimated", ",0,Missing", "import 2 0.5 missing=1 gaps=1; export 3 1.25"),
            // A row whose period is gone, one without a heading, a period that is none.
            ("2026-05-22 00:00:00 to 2026-05-22 00:15:00,0.5", ",0.5", "bad_row@6"),
            ("Energy  Received time period", "Energy Received", "bad_row@12"),
            (" to 2026-05-22 00:15:00,0.5", ",0.5", "bad_time@6 Energy  Delivered time period"),
            // 24:00.
            (
                "2026-05-22 00:00:00 to 2026-05-22 00:15:00,0.5",
                "2026-05-21 23:45:00 to 2026-05-21 24:00:00,0.5",
                "import 3 0.75 estimated=1 gaps=1; export 3 1.25",
            ),
            // A length that is none, a day of 9999.
            ("00:00:00 to 2026-05-22 00:15:00,0.5", "00:00:00 to 2026-05-29 00:15:00,0.5", "interval_length@6 end"),
            (
                "2026-05-22 00:00:00 to 2026-05-22 00:15:00,0.5",
                "9999-05-22 00:00:00 to 2026-05-22 00:15:00,0.5",
                "bad_time@6 Energy  Delivered time period",
            ),
        ],
    );
    let heading = "Energy Delivered time period,Usage(Real energy in kilowatt-hours),Reading quality\n";
    let spring = format!("{heading}2026-03-08 01:00 to 2026-03-08 03:00,1,\n2026-03-08 03:00 to 2026-03-08 04:00,1,\n");
    assert_eq!(starts(spring, &options, 0), ["03-08 09:00 60", "03-08 10:00 60"]);
    let autumn = format!(
        "{heading}2026-11-01 00:00 to 2026-11-01 01:00,1,\n2026-11-01 01:00 to 2026-11-01 01:00,1,\n2026-11-01 01:00 to 2026-11-01 02:00,1,\n"
    );
    assert_eq!(starts(autumn, &options, 0), ["11-01 07:00 60", "11-01 08:00 60", "11-01 09:00 60"]);
}

#[test]
fn sections_of_co_operatives_are_told_apart_by_order_and_sign() {
    let base = fixture("cooperative/four_sections.csv");
    let options = zone("America/Denver");
    let directions = |text: &str| -> String {
        let found = samebill::usage::open(std::io::Cursor::new(text), &options).unwrap();
        let words: Vec<String> = found.labels().map(|label| format!("{:?}", label.direction)).collect();
        words.join(" ")
    };
    assert_eq!(told(&base, &options), "section 1 2 3.5; section 2 2 2; section 3 2 1.5; section 4 1 -");
    assert_eq!(directions(&base), "Import Net Export Other");
    check_common(&format!("{},\n", base.trim_end_matches([',', ' ', '\n'])), &options, 8, ',');
    // Nothing fed in: the first is what was taken, its copy the net.
    let idle = base.replace("-1.5", "0").replace("-0.5", "1.0");
    assert_eq!(directions(&idle), "Import Net Export Other");
    // Two that are positive and no difference of others: the caller has to choose.
    let two = base.replace(",-0.5", ",7").replace(",-1.5", ",0");
    assert_eq!(directions(&two), "Import Import Export Other");
    let refused = samebill::usage::read(std::io::Cursor::new(&two), &options).unwrap_err();
    assert_eq!(refused.code.as_str(), "channel_needed");
    let rounds = format!("{base}{}", base.replace("2026-05-22", "2026-05-23"));
    assert_eq!(
        told(rounds, &options),
        "section 1 4 7 gaps=1; section 2 4 4 gaps=1; section 3 4 3 gaps=1; section 4 2 - gaps=1",
        "the next days go on with the same sections"
    );
    let row = " 2026-05-22 00:00 to 2026-05-22 01:00,2.5,,\n";
    check_changes(
        &base,
        &options,
        &[
            // A repeat and a conflict.
            (row, &row.repeat(2), "section 1 2 3.5 repeats=1; section 2 2 2; section 3 2 1.5; section 4 1 -"),
            (
                row,
                &format!("{row}{}", row.replace("2.5", "3")),
                "section 1 2 3.5 conflict@9+10; section 2 2 2; section 3 2 1.5; section 4 1 -",
            ),
            // A blank.
            ("2.5", "", "section 1 1 1 blank=1 gaps=1; section 2 2 2; section 3 2 1.5; section 4 1 -"),
            ("2.5", "2.5.5", "bad_number@9 Usage(Real energy in kilowatt-hours)"),
            ("Events occurred", "Weather", "unknown_column@8 Weather"),
            ("kilowatt-hours", "gallons", "bad_unit@8 Usage(Real energy in gallons)"),
        ],
    );
}
