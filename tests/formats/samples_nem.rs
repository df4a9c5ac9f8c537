//! What the READMEs of the samples say of NEM12 files and of tables that no supplier has shaped.

use samebill::usage::Quality::{Estimated, Substituted};
use samebill::usage::inspect;

use super::samples::{check, facts, samples};

#[test]
fn nem12() {
    check("nem12");
}

#[test]
fn nem12_files_hold_what_their_readme_says() {
    let day = ("2004-01-31T14:00Z", "2004-02-01T14:00Z");
    for file in ["actual_30min_energy_and_reactive", "upper_case_units", "bad_no_header"] {
        facts(
            &format!("nem12/{file}.csv"),
            &[("VABD000163/E1", 48, "53.328", day.0, day.1, &[]), ("VABD000163/Q1", 48, "", day.0, day.1, &[])],
            &[("import", 48)],
        );
    }
    let (start, end) = ("2003-07-31T14:00Z", "2003-08-01T14:00Z");
    let all = &[(Substituted, 48)];
    facts(
        "nem12/substituted_30min.csv",
        &[("VBCD000022/E1", 48, "110.976", start, end, all), ("VBCD000022/Q1", 48, "", start, end, all)],
        &[("import", 48)],
    );
    facts(
        "nem12/quality_changes_within_day_400.csv",
        &[("CCCC123456/E1", 48, "896.99", "2004-04-16T14:00Z", "2004-04-17T14:00Z", &[(Substituted, 44)])],
        &[("import", 48)],
    );
    let (start, end) = ("2003-12-03T14:00Z", "2003-12-05T14:00Z");
    facts(
        "nem12/wh_four_channels_two_meters.csv",
        &[
            ("NCDE001111/E1", 192, "1.92", start, end, &[]),
            ("NCDE001111/B1", 192, "1.92", start, end, &[]),
            ("NCDE001111/Q1", 192, "", start, end, &[]),
            ("NCDE001111/E2", 192, "19.2", start, end, &[]),
            ("NDDD001888/B1", 192, "3.84", start, end, &[]),
            ("NDDD001888/K2", 192, "", start, end, &[]),
        ],
        &[],
    );
    let (start, end) = ("2023-02-28T14:00Z", "2023-03-31T14:00Z");
    facts(
        "nem12/month_5min_solar.csv",
        &[("NMI1234567/B1", 8928, "589.172", start, end, &[]), ("NMI1234567/E1", 8928, "270.738", start, end, &[])],
        &[("export", 8928), ("import", 8928)],
    );
    let (start, end) = ("2004-04-01T14:00Z", "2004-04-02T14:00Z");
    facts(
        "nem12/mixed_interval_lengths_and_voltage.csv",
        &[
            ("C123/E1", 48, "254", start, end, &[]),
            ("C123/E2", 48, "120", start, end, &[]),
            ("C123/V1", 144, "", start, end, &[]),
        ],
        &[],
    );
    facts(
        "nem12/no_next_scheduled_read.csv",
        &[("NMI111/E1", 96, "5.84", "2019-09-03T14:00Z", "2019-09-04T14:00Z", &[])],
        &[("import", 96)],
    );
    let (start, end) = ("2023-03-17T14:00Z", "2023-03-18T14:00Z");
    let series = ["E1", "B1", "Q1", "K1"].map(|suffix| format!("9999999999/{suffix}"));
    facts(
        "nem12/trailing_commas_missing_last_field.csv",
        &[
            (&series[0], 48, "0", start, end, &[]),
            (&series[1], 48, "0", start, end, &[]),
            (&series[2], 48, "", start, end, &[]),
            (&series[3], 48, "", start, end, &[]),
        ],
        &[("export", 48), ("import", 48)],
    );
    facts(
        "nem12/final_substitute_and_estimate_400_500.csv",
        &[(
            "NEM1208149/E1",
            96,
            "94.438",
            "2005-03-11T14:00Z",
            "2005-03-13T14:00Z",
            &[(Estimated, 74), (Substituted, 2)],
        )],
        &[("import", 96)],
    );
    let (start, end) = ("2005-02-28T14:00Z", "2005-03-04T14:00Z");
    facts(
        "nem12/two_channels_with_500_rows.csv",
        &[("NEM1201009/E1", 192, "127.679", start, end, &[]), ("NEM1201009/E2", 192, "130.559", start, end, &[])],
        &[],
    );
}

#[test]
fn many_meters_stay_apart() {
    let Some(samples) = samples() else { return };
    let file = std::fs::File::open(samples.join("nem12/many_meters.zip")).unwrap();
    let file = samebill::usage::open(file, &samebill::usage::ReadOptions::default()).unwrap();
    let found = inspect(file, &[]).unwrap();
    let meters: std::collections::BTreeSet<_> = found.series.iter().map(|series| series.meter.clone()).collect();
    assert_eq!((meters.len(), found.series.len()), (99, 198));
    assert_eq!(found.series.iter().map(|series| series.intervals).sum::<u64>(), 57_024);
    let kwh: rust_decimal::Decimal = found
        .series
        .iter()
        .filter_map(|series| series.kwh.as_ref())
        .map(|kwh| kwh.parse::<rust_decimal::Decimal>().unwrap())
        .sum();
    assert_eq!(kwh.to_string(), "214621");
    for series in &found.series {
        assert_eq!(series.first_start.as_deref(), Some("2019-12-31T14:00:00Z"));
        assert_eq!((series.last_end.as_deref(), series.interval_minutes), (Some("2020-01-01T14:00:00Z"), Some(5)));
    }
}

#[test]
fn generic_csv() {
    check("generic-csv");
}

#[test]
fn tables_hold_what_their_readme_says() {
    facts(
        "generic-csv/long_utc_15min.csv",
        &[("kwh", 288, "25.88", "2026-02-01T00:00Z", "2026-02-04T00:00Z", &[])],
        &[("import", 288)],
    );
    facts(
        "generic-csv/wide_24h_decimal_comma.csv",
        &[("other", 168, "167.6", "2026-02-08T23:00Z", "2026-02-15T23:00Z", &[])],
        &[("import", 168)],
    );
    facts(
        "generic-csv/cumulative_register_hourly.csv",
        &[("import_total_kwh", 24, "7.1", "2026-02-01T00:00Z", "2026-02-02T00:00Z", &[])],
        &[("import", 24)],
    );
    facts(
        "japan/factory_30min_long.csv",
        &[("kWh", 2832, "1580389", "2024-12-31T15:00Z", "2025-02-28T15:00Z", &[])],
        &[("import", 2832)],
    );
}

#[test]
fn octopus_downloads_hold_what_their_readme_says() {
    facts(
        "uk-octopus/half_hourly_winter_week.csv",
        &[("Consumption", 336, "22.848", "2026-01-05T00:00Z", "2026-01-12T00:00Z", &[])],
        &[("import", 336)],
    );
    facts(
        "uk-octopus/half_hourly_summer_cost_standing.csv",
        &[("Consumption", 144, "9.727", "2026-05-31T23:00Z", "2026-06-03T23:00Z", &[])],
        &[("import", 144)],
    );
}

#[test]
fn home_assistant() {
    check("home-assistant");
}

#[test]
fn the_energy_dashboard_holds_what_its_readme_says() {
    let Some(samples) = samples() else { return };
    let file = std::fs::File::open(samples.join("home-assistant/energy_dashboard_wide.csv")).unwrap();
    let found = samebill::usage::open(file, &samebill::usage::ReadOptions::default()).unwrap();
    let found = inspect(found, &[]).unwrap();
    let fed: Vec<String> = found
        .series
        .iter()
        .filter_map(|series| {
            let channel = series.feeds.as_ref()?;
            let (first, last) = (series.first_start.as_deref()?, series.last_end.as_deref()?);
            Some(format!("{channel} {} {} {first} {last}", series.intervals, series.kwh.as_deref()?))
        })
        .collect();
    assert_eq!(
        fed,
        [
            "import 48 37.4 2026-01-05T00:00:00Z 2026-01-07T00:00:00Z",
            "export 48 3.6 2026-01-05T00:00:00Z 2026-01-07T00:00:00Z"
        ]
    );
}

#[test]
fn japanese_files_hold_what_their_readme_says() {
    let point = "0".repeat(22);
    let (start, end) = ("2026-07-19T15:00Z", "2026-07-21T15:00Z");
    facts(
        "japan/tepco_style_30min_long_cp932.csv",
        &[
            (&format!("{point}/ご使用量"), 96, "33.6", start, end, &[]),
            (&format!("{point}/売電量"), 96, "0", start, end, &[]),
        ],
        &[("export", 96), ("import", 96)],
    );
    facts(
        "japan/kansai_style_hourly_wide_cp932.csv",
        &[("import", 240, "143.5", "2026-05-31T15:00Z", "2026-06-10T15:00Z", &[])],
        &[("import", 240)],
    );
}
