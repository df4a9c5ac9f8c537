//! What the READMEs of the samples say of files of utilities.

use super::samples::facts;

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
