//! What the READMEs of the samples say of files of utilities.

use super::samples::{check, facts, samples};
use super::told::{told, zone};
use super::trouble::starts;

#[test]
fn opower_files_hold_what_their_readme_says() {
    let (start, end) = ("2026-01-05T08:00Z", "2026-01-12T08:00Z");
    facts(
        "us-utility-csv/pge_style_hourly.csv",
        &[("0000000000/Service 1/USAGE", 168, "63.55", start, end, &[])],
        &[("import", 168)],
    );
    let (start, end) = ("2026-05-04T07:00Z", "2026-05-06T07:00Z");
    facts(
        "us-utility-csv/pge_style_import_export_15min.csv",
        &[
            ("0000000000/Service 1/IMPORT", 192, "13.6", start, end, &[]),
            ("0000000000/Service 1/EXPORT", 192, "22.95", start, end, &[]),
        ],
        &[("export", 192), ("import", 192)],
    );
}

#[test]
fn sdge_files_hold_what_their_readme_says() {
    let (start, end) = ("2026-02-02T08:00Z", "2026-02-04T08:00Z");
    facts(
        "us-utility-csv/sdge_style_meter_15min.csv",
        &[
            ("00000001/Consumption", 192, "13.44", start, end, &[]),
            ("00000001/Generation", 192, "1.2", start, end, &[]),
            ("00000001/Net", 192, "12.24", start, end, &[]),
        ],
        &[("export", 192), ("import", 192)],
    );
}

#[test]
fn ameren_files_hold_what_their_readme_says() {
    let (start, end) = ("2024-04-01T05:00Z", "2024-05-01T05:00Z");
    facts(
        "us-utility-csv/ameren_two_resolutions_april.csv",
        &[("00000001/60min", 720, "1811.4", start, end, &[]), ("00000001/15min", 2880, "1811.4", start, end, &[])],
        &[("import", 2880)],
    );
}

#[test]
fn sections_hold_what_their_readme_says() {
    let (start, end) = ("2025-10-19T06:00Z", "2025-10-21T06:00Z");
    facts(
        "us-utility-csv/cooperative_sections_daily.csv",
        &[
            ("section 1", 2, "72.63", start, end, &[]),
            ("section 2", 2, "32.11", start, end, &[]),
            ("section 3", 2, "40.52", start, end, &[]),
            ("section 4", 1, "", start, "2025-10-20T06:00Z", &[]),
        ],
        &[("export", 2), ("import", 2)],
    );
}

#[test]
fn utilities_of_the_united_states() {
    check("us-utility-csv");
    let Some(samples) = samples() else { return };
    let bills = std::fs::read_to_string(samples.join("us-utility-csv/bill_history_not_intervals.csv")).unwrap();
    assert_eq!(told(bills, &zone("America/New_York")), "not_intervals@1");
}

#[test]
fn european_distributors() {
    check("eu-csv");
    check("ireland-esb");
}

#[test]
fn files_of_esb_hold_what_their_readme_says() {
    facts(
        "ireland-esb/half_hourly_kw_newest_first.csv",
        &[("10000000000/Active Import Interval (kW)", 144, "24.69", "2026-02-02T00:00Z", "2026-02-05T00:00Z", &[])],
        &[("import", 144)],
    );
    let (start, end) = ("2026-02-09T00:00Z", "2026-02-11T00:00Z");
    facts(
        "ireland-esb/half_hourly_kwh_import_export.csv",
        &[
            ("10000000000/Active Import Interval (kWh)", 96, "32.9", start, end, &[]),
            ("10000000000/Active Export Interval (kWh)", 96, "28.9", start, end, &[]),
        ],
        &[("export", 96), ("import", 96)],
    );
}

#[test]
fn files_of_the_continent_hold_what_their_readme_says() {
    let (start, end) = ("2023-10-21T22:00Z", "2023-10-26T22:00Z");
    facts(
        "eu-csv/belgium_15min_day_night_registers.csv",
        &[
            ("000000000000000000/Offtake", 479, "92.173", start, end, &[]),
            ("000000000000000000/Injection", 479, "16.666", start, end, &[]),
        ],
        &[("export", 479), ("import", 479)],
    );
    facts(
        "eu-csv/italy_15min_wide_96_columns.csv",
        &[("import", 2880, "269.281", "2024-08-31T22:00Z", "2024-09-30T22:00Z", &[])],
        &[("import", 2880)],
    );
}

/// The parts of the Belgian file, which the README adds up by themselves, and the Dutch file, of which it gives dates.
#[test]
fn parts_add_up_to_what_the_readme_says() {
    let Some(samples) = samples() else { return };
    let belgian = std::fs::read_to_string(samples.join("eu-csv/belgium_15min_day_night_registers.csv")).unwrap();
    for (register, expected) in [
        ("Offtake Night", "Offtake 239 42.743"),
        ("Offtake Day", "Offtake 240 49.43"),
        ("Injection Night", "Injection 239 5.083"),
        ("Injection Day", "Injection 240 11.583"),
    ] {
        let kept = |line: &&str| line.contains(register) || line.contains("EAN code");
        let part: Vec<&str> = belgian.lines().filter(kept).collect();
        let told = told(part.join("\n"), &zone("Europe/Brussels"));
        assert!(told.starts_with(&format!("000000000000000000/{expected}")), "{told}");
    }
    let dutch = std::fs::read_to_string(samples.join("eu-csv/netherlands_daily_register_and_use.csv")).unwrap();
    let amsterdam = zone("Europe/Amsterdam");
    let whole = "afname verbruik 70 1414 blank=1 gaps=1; invoeding productie 70 98 blank=1 gaps=1";
    assert_eq!(told(&dutch, &amsterdam), whole);
    let without = |word: &str| -> String {
        let heading = dutch.lines().next().unwrap().replace(&format!("afname verbruik {word}"), "afname stand extra");
        let heading = heading.replace(&format!("invoeding productie {word}"), "invoeding stand extra");
        dutch.replacen(dutch.lines().next().unwrap(), &heading, 1)
    };
    for (other, expected) in [
        ("normaal", "afname verbruik 70 697 blank=1 gaps=1; invoeding productie 70 25 blank=1 gaps=1"),
        ("dal", "afname verbruik 70 717 blank=1 gaps=1; invoeding productie 70 73 blank=1 gaps=1"),
    ] {
        assert_eq!(told(without(other), &amsterdam), expected);
    }
    let usage = samebill::usage::read(std::io::Cursor::new(&dutch), &amsterdam).unwrap();
    let channels: Vec<(&str, usize)> = usage.readings.iter().map(|(channel, r)| (channel.as_str(), r.len())).collect();
    assert_eq!((channels, usage.blank), (vec![("export", 70), ("import", 70)], 2));
    let days = starts(&dutch, &amsterdam, 0);
    assert_eq!((days[0].as_str(), days[69].as_str()), ("11-15 23:00 1440", "01-24 23:00 1440"));
}
