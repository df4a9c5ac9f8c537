use std::fmt::Write as _;

use super::*;

#[test]
fn the_household_files_are_read_whole() {
    for (name, n, minutes, milliwatt_hours) in [
        ("uk-home-30min-2013-dst.csv", 17_520, 30, UK_2013),
        ("il-home-60min-2017-dst.csv", 8_760, 60, IL_2017),
        ("il-home-60min-2016-leap.csv", 8_784, 60, IL_2016),
    ] {
        let usage = read_fixture(name, None).unwrap();
        let readings = import(&usage);
        assert_eq!((readings.len(), usage.n_rows, usage.exact_repeats), (n, n as u64, 0), "{name}");
        assert!(readings.iter().all(|reading| reading.seconds == minutes * 60), "{name}");
        assert!(readings.windows(2).all(|pair| pair[0].end() == pair[1].start), "{name}: no gap");
        assert_eq!(readings.iter().map(|reading| reading.milliwatt_hours).sum::<i64>(), milliwatt_hours, "{name}");
    }
}

// Sums of the kwh columns by another program (Python's decimal).
const UK_2013: i64 = 4_214_648_000;
const IL_2017: i64 = 8_986_470_000;
const IL_2016: i64 = 10_393_720_000;

#[test]
fn a_gap_stays_a_gap() {
    let usage = read_fixture("gap.csv", None).unwrap();
    let expected = [
        measured("2026-06-01T00:00:00Z", 15, 100_000),
        measured("2026-06-01T00:15:00Z", 15, 200_000),
        measured("2026-06-01T00:45:00Z", 15, 400_000),
        measured("2026-06-01T01:00:00Z", 15, 500_000),
    ];
    assert_eq!(import(&usage), expected);
}

#[test]
fn a_blank_cell_is_a_gap_and_is_counted() {
    let usage = read_fixture("blank-cell.csv", None).unwrap();
    assert_eq!((usage.n_rows, usage.blank, usage.n_readings()), (4, 1, 3));
    assert!(import(&usage).iter().all(|reading| reading.seconds == 900));
}

#[test]
fn an_exact_repeat_is_counted_and_kept_once() {
    let usage = read_fixture("exact-repeat.csv", None).unwrap();
    assert_eq!((usage.n_rows, usage.exact_repeats, usage.n_readings()), (4, 1, 3));
}

#[test]
fn a_file_twice_over_is_the_file_once() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage/il-home-60min-2017-dst.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let once = read_text(&text).unwrap();
    let twice = read_text(&format!("{text}{}", text.split_once('\n').unwrap().1)).unwrap();
    assert_eq!(twice.readings, once.readings);
    assert_eq!((twice.exact_repeats, twice.n_rows), (8_760, 17_520));
}

#[test]
fn two_values_for_one_start_name_both_lines() {
    assert_eq!(refusal(read_fixture("conflicting-repeat.csv", None)), ("conflict", Some(3), Some(5)));
}

#[test]
fn an_overlap_names_both_lines() {
    assert_eq!(refusal(read_fixture("overlap.csv", None)), ("overlap", Some(2), Some(3)));
    let odd_row = "start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-01T01:00:00Z,1\n2026-06-01T01:05:00Z,1\n2026-06-01T02:00:00Z,1\n2026-06-01T03:00:00Z,1\n";
    assert_eq!(refusal(read_text(odd_row)), ("overlap", Some(3), Some(4)));
}

#[test]
fn a_negative_reading_is_what_a_netting_meter_sends() {
    assert_eq!(import(&read_fixture("negative.csv", None).unwrap())[1].milliwatt_hours, -250_000);
}

#[test]
fn a_file_without_readings_is_refused() {
    assert_eq!(refusal(read_fixture("empty.csv", None)).0, "no_readings");
    assert_eq!(refusal(read_fixture("header-alone.csv", None)).0, "no_readings");
    assert_eq!(refusal(read_text("start,kwh\n2026-06-01T00:00:00Z,\n2026-06-01T01:00:00Z,\n")).0, "no_readings");
    assert_eq!(refusal(read_text("\n\n")).0, "no_readings");
}

#[test]
fn a_file_cut_in_a_row_is_refused_there() {
    assert_eq!(refusal(read_fixture("cut-row.csv", None)), ("bad_row", Some(4), None));
}

#[test]
fn byte_order_mark_crlf_and_case_of_the_header_do_not_matter() {
    let usage = read_fixture("bom-crlf.csv", None).unwrap();
    assert_eq!(
        import(&usage),
        [measured("2026-06-01T00:00:00Z", 30, 100_000), measured("2026-06-01T00:30:00Z", 30, 200_000)]
    );
}

#[test]
fn decimals_beyond_the_sixth_are_rounded_half_to_even() {
    let usage = read_fixture("fourteen-decimals.csv", None).unwrap();
    let values: Vec<i64> = import(&usage).iter().map(|reading| reading.milliwatt_hours).collect();
    assert_eq!(values, [123_456, 123_457, 123_458]);
}

#[test]
fn a_file_may_change_its_interval() {
    let usage = read_fixture("interval-change.csv", None).unwrap();
    let minutes: Vec<u32> = import(&usage).iter().map(|reading| reading.seconds / 60).collect();
    assert_eq!(minutes, [60, 60, 60, 60, 15, 15, 15, 15, 15, 15, 15, 15, 60, 60, 60, 60]);
    assert!(import(&usage).windows(2).all(|pair| pair[0].end() == pair[1].start));
}

#[test]
fn an_unknown_column_is_refused_by_name() {
    let error = read_fixture("unknown-column.csv", None).unwrap_err();
    assert_eq!((error.code.as_str(), error.line, error.field.as_deref()), ("unknown_column", Some(1), Some("cost")));
}

#[test]
fn columns_stand_in_any_order_and_qualities_are_kept() {
    let usage = read_fixture("qualities.csv", None).unwrap();
    let seen: Vec<(i64, u32, Quality)> =
        import(&usage).iter().map(|r| (r.milliwatt_hours, r.seconds, r.quality)).collect();
    assert_eq!(
        seen,
        [
            (100_000, 300, Quality::Measured),
            (200_000, 300, Quality::Estimated),
            (300_000, 300, Quality::Substituted),
            (0, 300, Quality::Missing),
            (500_000, 300, Quality::Measured),
        ]
    );
}

#[test]
fn import_and_export_are_two_channels() {
    let usage = read_fixture("solar-with-blanks.csv", None).unwrap();
    assert_eq!(
        import(&usage),
        [
            measured("2026-05-31T22:00:00Z", 15, 400_000),
            measured("2026-05-31T22:15:00Z", 15, 300_000),
            measured("2026-05-31T22:45:00Z", 15, 0)
        ]
    );
    assert_eq!(
        usage.readings[&Channel::export()].to_vec(),
        [measured("2026-05-31T22:30:00Z", 15, 100_000), measured("2026-05-31T22:45:00Z", 15, 200_000)]
    );
    assert_eq!((usage.n_rows, usage.blank), (4, 3));
}

#[test]
fn minutes_that_divide_an_hour_and_local_days_are_intervals() {
    let ten = read_fixture("ten-minutes.csv", None).unwrap();
    assert!(import(&ten).iter().all(|reading| reading.seconds == 600));
    let days = "start,end,kwh\n2017-03-11 00:00,2017-03-12 00:00,1\n2017-03-12 00:00,2017-03-13 00:00,2\n\
                2017-11-05 00:00,2017-11-06 00:00,3\n";
    let options = ReadOptions { time_zone: Some(chrono_tz::America::Chicago), ..ReadOptions::default() };
    let days = read(std::io::Cursor::new(days), &options).unwrap();
    let hours: Vec<u32> = import(&days).iter().map(|reading| reading.seconds / 3600).collect();
    assert_eq!(hours, [24, 23, 25]);
}

#[test]
fn other_intervals_than_ours_are_refused() {
    assert_eq!(
        refusal(read_text("start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-01T00:07:00Z,1\n")),
        ("interval_length", Some(2), None)
    );
    assert_eq!(
        refusal(read_text("start,end,kwh\n2026-06-01T00:00:00Z,2026-06-01T01:30:00Z,1\n")),
        ("interval_length", Some(2), None)
    );
    assert_eq!(
        refusal(read_text("start,end,kwh\n2026-06-01T00:00:00Z,2026-05-31T23:00:00Z,1\n")),
        ("interval_length", Some(2), None)
    );
    assert_eq!(
        refusal(read_text("start,kwh\n2026-06-01T00:00:00Z,1\n2026-06-02T00:00:00Z,1\n")),
        ("interval_length", Some(2), None)
    );
    assert_eq!(refusal(read_text("start,kwh\n2026-06-01T00:00:00Z,1\n")), ("interval_unknown", Some(2), None));
}

#[test]
fn a_bad_number_on_line_5000_is_named_with_its_line() {
    let mut text = String::from("start,kwh\n");
    for i in 0..6_000i64 {
        let start = chrono::DateTime::from_timestamp(1_767_225_600 + i * 900, 0).unwrap();
        let kwh = if i + 2 == 5_000 { "0,5x" } else { "0.5" };
        writeln!(text, "{},\"{kwh}\"", start.to_rfc3339()).unwrap();
    }
    let error = read_text(&text).unwrap_err();
    assert_eq!((error.code.as_str(), error.line, error.field.as_deref()), ("bad_number", Some(5_000), Some("kwh")));
    assert_eq!(
        error.to_string(),
        "line 5000, kwh: \"0,5x\" is no kWh value: write it like 0.125, with a point and without exponent or separators"
    );
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let good = "2026-06-01T00:00:00Z,0.1";
    for (text, line) in [
        (format!("start,kwh\n{good}\n2026-06-01T00:30:00Z,x\n"), 3),
        (format!("start,kwh\n{good}\n2026-06-01T00:30:00Z,x"), 3),
        (format!("start,kwh\r\n{good}\r\n2026-06-01T00:30:00Z,x\r\n"), 3),
        (format!("\u{feff}start,kwh\r\n\r\n{good}\r\n \r\n2026-06-01T00:30:00Z,x"), 5),
        (format!("\nstart,kwh\n\n{good}\n\n\n2026-06-01T00:30:00Z,x\n\n"), 7),
        ("start,kwh\n\"2026-06-01T00:00:00Z\",\"0.1\n\"\n2026-06-01T00:30:00Z,x\n".to_owned(), 4),
        (format!("start,kwh\n{good}\n2026-06-01T00:30:00Z,\"x\n\ny\"\n{good}"), 3),
    ] {
        assert_eq!(refusal(read_text(&text)), ("bad_number", Some(line), None), "{text:?}");
    }
}

#[test]
fn headers_that_do_not_say_what_is_what_are_refused() {
    let row = "\n2026-06-01T00:00:00Z,1,1\n";
    for (header, code) in [
        ("start,kwh,kwh", "bad_header"),
        ("start,kwh,import_kwh", "bad_header"),
        ("start,end,quality", "bad_header"),
        ("kwh,end,quality", "bad_header"),
        ("start,kwh,", "unknown_column"),
    ] {
        assert_eq!(refusal(read_text(&format!("{header}{row}"))), (code, Some(1), None), "{header}");
    }
}

#[test]
fn what_is_no_text_of_readings_is_refused_early() {
    let refuse = |bytes: &[u8]| refusal(read(std::io::Cursor::new(bytes), &ReadOptions::default())).0;
    assert_eq!(refuse(b"\xff\xfes\0t\0"), "unknown_format");
    assert_eq!(refuse(b"PK\x03\x04rest"), "bad_archive");
    assert_eq!(refuse(b"<?xml version=\"1.0\"?><feed/>"), "unknown_format");
    assert_eq!(refuse(b"\x00\x01\x02"), "unknown_format");
    assert_eq!(refuse(b"start,kwh\n2026-06-01T00:00:00Z,\xff\n"), "bad_number", "read as windows-1252");
    assert_eq!(refuse(b"start,kwh\xe9\n"), "unknown_column", "read as windows-1252");
    // A quote that never closes swallows the rest of the file: it ends at the limit of a row.
    let endless = b"start,kwh\n\"".iter().copied().chain(std::iter::repeat_n(b'x', 3 << 20)).collect::<Vec<u8>>();
    assert_eq!(refuse(&endless), "bad_row");
}

#[test]
fn two_lengths_for_one_start_are_one_contradiction() {
    let text = "start,end,kwh\n2026-06-01T00:00:00Z,2026-06-01T00:30:00Z,1\n2026-06-01T00:00:00Z,2026-06-01T01:00:00Z,2\n\
                2026-06-01T00:30:00Z,2026-06-01T01:00:00Z,1\n";
    let mut file = samebill::usage::open(std::io::Cursor::new(text), &ReadOptions::default()).unwrap();
    let series = file.series(0).unwrap();
    let problems: Vec<_> = series.problems.iter().map(|p| (p.code.as_str(), p.line, p.other_line)).collect();
    assert_eq!(problems, [("conflict", Some(2), Some(3))]);
    assert_eq!(series.readings.len(), 2, "what does not contradict itself is shown");
}
