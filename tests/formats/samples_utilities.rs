//! What the READMEs of the samples say of files of utilities.

use super::samples::{check, facts};

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
}
