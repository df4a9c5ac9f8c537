//! What the READMEs of the samples say of Green Button feeds and of answers of APIs.

use super::samples::{check, facts};

#[test]
fn greenbutton_espi() {
    check("greenbutton-espi");
}

#[test]
fn feeds_hold_what_their_readme_says() {
    for (file, name, intervals, kwh, first, last) in [
        ("hourly_15_days_one_block", "01/import", 362, "291.018", "2011-01-01T08:00Z", "2011-01-16T10:00Z"),
        ("hourly_9_days_daily_blocks", "2/import", 216, "199.563", "2014-01-01T05:00Z", "2014-01-10T05:00Z"),
        ("daily_15_months_monthly_blocks", "1/import", 444, "9917.817", "2013-01-01T05:00Z", "2014-03-21T04:00Z"),
        ("quarter_hour_one_day_plus_one", "UP0001/import", 97, "24.38", "2015-08-13T07:00Z", "2015-08-14T07:15Z"),
        ("two_quarter_hours_minimal", "1/other", 2, "3.582", "2011-03-06T05:00Z", "2011-03-06T05:30Z"),
        ("hourly_two_reading_types", "1/import", 300, "248.53", "2023-02-22T18:00Z", "2023-03-07T06:00Z"),
    ] {
        let n = usize::try_from(intervals).unwrap();
        let expected = [(name, intervals, kwh, first, last, &[][..])];
        facts(&format!("greenbutton-espi/{file}.xml"), &expected, &[("import", n)]);
    }
}

#[test]
fn answers_of_apis_hold_what_their_readme_says() {
    facts(
        "uk-octopus/api_consumption_newest_first.json",
        &[("consumption", 96, "6.49", "2026-05-29T23:00Z", "2026-05-31T23:00Z", &[])],
        &[("import", 96)],
    );
    facts(
        "japan/octopus_japan_half_hourly_api.json",
        &[("<synthetic:supply_point:1>/other", 1, "0.25", "2026-07-01T00:00Z", "2026-07-01T00:30Z", &[])],
        &[("import", 1)],
    );
}
