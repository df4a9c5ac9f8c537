//! Japanese files. Clocks are never set there: all days have 48 half hours.

use samebill::usage::{ReadOptions, StampSide, inspect, open};

use super::told::{changed, check_changes, fixture, mutate, told};

fn none() -> ReadOptions {
    ReadOptions::default()
}

/// First start and last end of the first series.
fn span(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> (String, String) {
    let found = inspect(open(std::io::Cursor::new(bytes.as_ref()), options).unwrap(), &[]).unwrap();
    (found.series[0].first_start.clone().unwrap(), found.series[0].last_end.clone().unwrap())
}

const TOKYO: &str = "0300000000000000000001/ご使用量 96 29.4; 0300000000000000000001/売電量 58 11.6 blank=38 gaps=2";

#[test]
fn tokyo_files_stamp_the_ends_of_half_hours() {
    let base = fixture("japan/tokyo_electric.csv");
    let rounded = format!("{TOKYO} | values_rounded");
    assert_eq!(told(&base, &none()), rounded);
    assert_eq!(told(format!("\u{feff}{}", base.replace('\n', "\r\n")), &none()), rounded, "mark and CRLF");
    let (cp932, ..) = encoding_rs::SHIFT_JIS.encode(&base);
    assert_eq!(told(&cp932, &none()), format!("{TOKYO} | charset_assumed values_rounded"));
    let day = ("2026-03-31T15:00:00Z".to_owned(), "2026-04-02T15:00:00Z".to_owned());
    assert_eq!(span(&base, &none()), day);
    let full_width = base.replace("2026/04/01 00:30", "２０２６／０４／０１ ００：３０").replace(",0.1,", ",０．１,");
    assert_eq!(told(full_width, &none()).split(" | ").next(), Some(TOKYO));
    assert_eq!(told("", &none()), "no_readings");
    assert_eq!(told(base.lines().next().unwrap(), &none()), "no_readings");
    let starts =
        base.replace("24:00", "00:00").replace("04/02 00:00", "04/03 00:00").replace("04/01 00:00", "04/02 00:00");
    let said = ReadOptions { stamp: Some(StampSide::Start), ..none() };
    assert_eq!(span(starts, &said).0, "2026-03-31T15:30:00Z");
}

#[test]
fn a_change_of_one_line_of_tokyo_is_told() {
    let base = fixture("japan/tokyo_electric.csv");
    let row = base.lines().nth(2).unwrap();
    let other = row.replace(",0.2,", ",0.3,");
    let used =
        |told: &str| format!("0300000000000000000001/ご使用量 {told}; 0300000000000000000001/売電量 58 11.6 blank=38");
    check_changes(
        &base,
        &none(),
        &[
            (
                row,
                &format!("{row}\n{row}"),
                &format!("{} repeats=1 gaps=2 | values_rounded", used("96 29.4 repeats=1")),
            ),
            (
                row,
                &format!("{row}\n{other}"),
                &format!("{} repeats=1 gaps=2 | values_rounded", used("96 29.4 conflict@3+4")),
            ),
            (",0.2,", ",---,", &format!("{} gaps=2 | values_rounded", used("95 29.2 blank=1 gaps=1"))),
            (",0.2,", ",-0.2,", &format!("{} gaps=2 | values_rounded", used("96 29"))),
            (",0.2,", ",0.12345678901234,", &format!("{} gaps=2", used("96 29.323457"))),
            (",0.2,", ",0.2x,", "bad_number@3 ご使用量"),
            ("01 01:00", "01 25:00", "bad_time@3 年月日"),
            ("2026/04/01 01:00", "04/01 01:00", "bad_time@3 年月日"),
            ("2026/04/01 01:00", "9999/04/01 01:00", "bad_time@3 年月日"),
            ("0300000000000000000001", "3.00E+20", "bad_row@2 供給地点特定番号"),
            ("契約メニュー", "靴の大きさ", "unknown_column@1 靴の大きさ"),
        ],
    );
    let moved = told(changed(&base, "01 01:00", "01 01:07"), &none());
    assert!(moved.contains("overlap@"), "{moved}");
    let unit = ReadOptions { unit: Some("Wh".parse().unwrap()), ..none() };
    assert!(told(&base, &unit).starts_with("0300000000000000000001/ご使用量 96 0.0294"));
    let end = base.trim_end();
    let last = end.rfind('\n').unwrap() + 1;
    for n in (1..end.len() - last).filter(|n| end.is_char_boundary(last + n)) {
        let found = told(&end[..last + n], &none());
        assert!(found.starts_with("bad_row@97") || end[last..last + n].matches(',').count() == 9, "{n}: {found}");
    }
}

const KANSAI: &str = "import 96 28.6";

#[test]
fn kansai_days_find_their_year_in_the_period() {
    let base = fixture("japan/kansai_electric.csv");
    assert_eq!(told(&base, &none()), KANSAI);
    let (cp932, ..) = encoding_rs::SHIFT_JIS.encode(&base);
    assert_eq!(told(&cp932, &none()), format!("{KANSAI} | charset_assumed"));
    assert_eq!(told(base.replace('\n', "\r\n"), &none()), KANSAI);
    assert_eq!(span(&base, &none()), ("2025-12-29T15:00:00Z".to_owned(), "2026-01-02T15:00:00Z".to_owned()));
    let row = base.lines().find(|line| line.starts_with(" 01/01")).unwrap();
    let heading: Vec<&str> = base.lines().take(6).collect();
    assert_eq!(told(heading.join("\n"), &none()), "no_readings");
    check_changes(
        &base,
        &none(),
        &[
            (row, &format!("{row}\n{row}"), "import 96 28.6 repeats=24 | totals_differ"),
            (row, "", "import 72 21.6 gaps=1 | totals_differ"),
            (" 01/01,0.10", " 01/01,-0.10", "import 96 28.4 | totals_differ"),
            (" 01/01,0.10", " 01/01,", "import 95 28.5 blank=1 gaps=1 | totals_differ"),
            (" 01/01,0.10", " 01/01,0.12345678901234", "import 96 28.623457 | totals_differ"),
            (" 01/01,0.10", " 01/01,x", "bad_number@8 0時"),
            (" 01/01,0.10", " 01/01", "bad_row@8"),
            (" 01/01", " 02/30", "bad_time@8 月日"),
            (" 01/01", " 03/01", "bad_time@8 月日"),
            ("2025年12月30日", "2024年12月30日", "bad_time@7 月日"),
        ],
    );
}

const POINTS: &str = "0300000000000000000001/other 96 48.25 older=48; 0300000000000000000002/other 48 6 estimated=48";

#[test]
fn a_confirmed_day_replaces_the_provisional_one() {
    let base = fixture("japan/half_hour_columns.csv");
    assert_eq!(told(&base, &none()), POINTS);
    assert_eq!(span(&base, &none()), ("2026-03-31T15:00:00Z".to_owned(), "2026-04-02T15:00:00Z".to_owned()));
    let (cp932, ..) = encoding_rs::SHIFT_JIS.encode(&base);
    assert_eq!(told(&cp932, &none()), format!("{POINTS} | charset_assumed"));
    let row = base.lines().nth(1).unwrap();
    check_changes(
        &base,
        &none(),
        &[
            (row, &format!("{row}\n{row}"), &POINTS.replace("48.25", "48.25 repeats=48")),
            ("確定,0.5", "確定,-0.5", &POINTS.replace("48.25", "47.25")),
            ("確定,0.5", "確定,", &POINTS.replace("96 48.25 older=48", "95 47.75 blank=1 older=48 gaps=1")),
            ("確定,0.5", "確定,0.12345678901234", &POINTS.replace("48.25", "47.873457")),
            ("確定,0.5", "確定,0.5,0.5", "bad_row@2"),
            ("確定,0.5", "多分,0.5", "bad_quality@2 確定区分"),
            ("確定,0.5,", "確定,", "bad_row@2"),
            ("20260401", "20260431", "bad_time@2 年月日"),
            ("23:30-24:00", "23:30-23:45", "bad_header@1"),
        ],
    );
}

#[test]
fn whatever_comes_is_read_or_refused() {
    for format in ["tokyo_electric", "kansai_electric", "half_hour_columns"] {
        let options = ReadOptions { format: Some(format.to_owned()), ..none() };
        mutate(fixture(&format!("japan/{format}.csv")).as_bytes(), &options, 100);
    }
}
