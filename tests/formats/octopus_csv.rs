//! Octopus downloads. Times carry their offset: the base file has 29 March (46 half hours), 24 and 25 October 2026 (48 and
//! 50) of London.

use samebill::usage::{ReadOptions, read};

use super::told::{changed, check_changes, fixture, mutate, told};

const BASE: &str = "Consumption 144 46.3 gaps=1";

fn base() -> String {
    fixture("octopus_csv/clock_changes.csv")
}

#[test]
fn the_base_file_is_read_in_all_ages_of_its_header() {
    let (base, none) = (base(), ReadOptions::default());
    let warned = format!("{BASE} | zero_may_be_left_out");
    assert_eq!(told(&base, &none), warned);
    assert_eq!(told(format!("\u{feff}{}", base.replace('\n', "\r\n")), &none), warned, "mark and CRLF");
    let without = |n: usize| {
        base.lines().fold(String::new(), |text, line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{text}{},{}\n", cells[..n].join(","), cells[3..].join(","))
        })
    };
    assert_eq!(told(without(1), &none), warned);
    assert_eq!(told(without(2), &none), warned);
    let newest_first: Vec<&str> = base.lines().skip(1).collect();
    let newest_first =
        newest_first.into_iter().rev().fold(format!("{}\n", base.lines().next().unwrap()), |t, l| t + l + "\n");
    assert_eq!(told(newest_first, &none), warned);
    assert_eq!(told("", &none), "no_readings");
    assert_eq!(told("Consumption (kwh), Start, End\n", &none), "no_readings");
    let usage = read(std::io::Cursor::new(&base), &none).unwrap();
    assert_eq!((usage.format, usage.n_readings(), usage.offset_seconds), ("octopus_csv", 144, None));
}

#[test]
fn a_change_of_one_line_is_told() {
    let base = base();
    let row = base.lines().nth(1).unwrap();
    let twice = format!("{row}\n{row}");
    let other = format!("{row}\n{}", row.replace("0.125", "0.126"));
    let halves = "2026-03-29T00:00:00+00:00, 2026-03-29T00:30:00+00:00";
    let hour = "2026-03-29T00:00:00+00:00, 2026-03-29T02:00:00+01:00";
    let warned = |told: &str| format!("Consumption {told} | zero_may_be_left_out");
    check_changes(
        &base,
        &ReadOptions::default(),
        &[
            (row, &twice, &warned("144 46.3 repeats=1 gaps=1")),
            (row, &other, &warned("144 46.3 gaps=1 conflict@2+3")),
            (halves, hour, &warned("143 46.075 gaps=1 overlap@2+3")),
            ("0.225000", "0", "Consumption 144 46.075 gaps=1"),
            ("0.225000", "", &warned("143 46.075 blank=1 gaps=2")),
            ("0.225000", "-0.225", &warned("144 45.85 gaps=1")),
            ("0.225000", "0.12345678901234", &warned("144 46.198457 gaps=1")),
            ("0.225000", "0,225", "bad_row@3"),
            ("0.225000", "much", "bad_number@3 Consumption (kwh)"),
            ("2026-03-29T00:30:00+00:00\n", "2026-03-29T24:00:00+00:00\n", "bad_time@2 End"),
            ("2026-03-29T00:30:00+00:00\n", "2026-03-29T00:3\n", "bad_time@2 End"),
            ("2026-03-29T00:30:00+00:00\n", "2026-03-29T00:37:00+00:00\n", "interval_length@2 end"),
            ("(kwh)", "(m³)", "not_electricity@1 Consumption (m³)"),
            ("(kwh)", "(gallons)", "bad_unit@1 Consumption (gallons)"),
            ("(kwh)", "(Wh)", &warned("144 0.0463 gaps=1")),
        ],
    );
    let unit = ReadOptions { unit: Some("Wh".parse().unwrap()), ..ReadOptions::default() };
    assert!(told(&base, &unit).starts_with("Consumption 144 0.0463"));
    let local = changed(&base, "2026-03-29T00:00:00+00:00", "2026-03-29T00:00:00");
    assert_eq!(told(local, &ReadOptions::default()), "time_zone_needed@2 start");
}

#[test]
fn a_file_cut_in_a_row_is_refused() {
    let base = base();
    let end = base.trim_end();
    let last = end.rfind('\n').unwrap() + 1;
    for n in 1..end.len() - last {
        let found = told(&end[..last + n], &ReadOptions::default());
        let codes = ["bad_row@145", "bad_time@145", "time_zone_needed@145"];
        assert!(codes.iter().any(|code| found.starts_with(code)), "{n}: {found}");
    }
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("octopus_csv".to_owned()), ..ReadOptions::default() };
    mutate(base().as_bytes(), &options, 200);
}
