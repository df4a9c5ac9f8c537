//! Home Assistant's downloads. Times are of UTC and of instants: the clock change of 29 March 2026 does not show.

use samebill::usage::{ReadOptions, inspect, open, read};

use super::told::{changed, check_changes, fixture, mutate, told, zone};

const DASHBOARD: &str = "grid_consumption 6 2.55; grid_return 6 0.426; sensor.grid_cost 6 -; sensor.roof 6 5; \
                         sensor.boiler 6 0.6; sensor.stove 6 - | sensors_added";

fn unit(name: &str) -> ReadOptions {
    ReadOptions { unit: Some(name.parse().unwrap()), ..ReadOptions::default() }
}

#[test]
fn import_is_the_sum_of_the_sensors_of_the_grid() {
    let base = fixture("home_assistant/dashboard.csv");
    let none = ReadOptions::default();
    assert_eq!(told(&base, &none), DASHBOARD);
    assert_eq!(told(format!("\u{feff}{}", base.replace('\n', "\r\n")), &none), DASHBOARD, "mark and CRLF");
    let usage = read(std::io::Cursor::new(&base), &none).unwrap();
    let import: Vec<i64> = usage.readings.values().nth(1).unwrap().iter().map(|r| r.milliwatt_hours).collect();
    assert_eq!(import, [500_000, 250_000, 300_000, 400_000, 500_000, 600_000]);
    assert_eq!(usage.readings.len(), 2, "import and export: devices, roof, cost and gas are not used");
    assert_eq!(told("", &none), "no_readings");
    assert_eq!(told(base.lines().next().unwrap(), &none), "no_readings");
}

#[test]
fn a_change_of_one_line_of_the_dashboard_is_told() {
    let base = fixture("home_assistant/dashboard.csv");
    let row = "sensor.fed_in,grid_return,kWh,0,0,0,0.125,0.30000000000000004,1e-3\n";
    let exports = |told: &str| DASHBOARD.replace("grid_return 6 0.426", &format!("grid_return {told}"));
    check_changes(
        &base,
        &ReadOptions::default(),
        &[
            (row, &format!("{row}{row}"), &exports("6 0.426 repeats=6")),
            (row, &format!("{row}{}", row.replace("0.125", "0.25")), &exports("6 0.426 repeats=5 conflict@4+5")),
            ("0.125", "", &exports("5 0.301 blank=1 gaps=1")),
            ("0.125", "-0.125", &exports("6 0.176")),
            ("0.125", "0.12345678901234", &exports("6 0.424457")),
            ("0.125", "x", "bad_number@4 sensor.fed_in"),
            ("0.30000000000000004,1e-3\nsensor.grid_cost", "0.3", "bad_row@4"),
            ("grid_return,kWh", "grid_return,EUR", "bad_unit@4 unit"),
            ("T03:00:00.000Z", "T25:00:00.000Z", "bad_time@1 2026-03-29T25:00:00.000Z"),
        ],
    );
    let twice = told(changed(&base, "T05:00:00.000Z", "T04:00:00.000Z"), &ReadOptions::default());
    assert!(twice.contains("conflict@3"), "one hour twice: {twice}");
}

#[test]
fn history_becomes_standings_at_full_hours() {
    let base = fixture("home_assistant/history.csv");
    // 00: 100.0, 01: 100.5, 02: 100.8, 03: 100.8, 04: not there, 05: 103, 06: 0.5 after a reset.
    let expected = "sensor.import_energy 3 0.8 gaps=0 | hourly_standings standings_apart register_fell";
    assert_eq!(told(&base, &unit("kWh")), expected.replace(" gaps=0", ""));
    let file = open(std::io::Cursor::new(&base), &unit("kWh")).unwrap();
    let found = inspect(file, &[]).unwrap();
    assert_eq!(found.series[0].first_start.as_deref(), Some("2026-03-29T00:00:00Z"));
    assert_eq!(told(&base, &ReadOptions::default()), "unit_needed@2 state");
    assert_eq!(told(&base, &unit("W")), "bad_unit@2 state");
    check_changes(
        &base,
        &unit("Wh"),
        &[
            ("100.2,", "full,", "bad_number@3 state"),
            ("2026-03-29T00:20:11.123Z", "2026-03-28T00:20:11.123Z", "bad_time@3 last_changed"),
            ("2026-03-29T00:20:11.123Z", "2026-03-29T00:20:11.123", "bad_time@3 last_changed"),
            ("2026-03-29T00:20:11.123Z", "9999-03-29T00:20:11.123Z", "bad_time@3 last_changed"),
            ("sensor.import_energy,100.2,2026-03-29T00:20:11.123Z\n", "sensor.import_energy,100.2\n", "bad_row@3"),
            ("last_changed", "last_changed,shoe", "unknown_column@1 shoe"),
        ],
    );
    let silent = "entity_id,state,last_changed\na,1,2026-03-01T00:00:00Z\na,2,2026-03-05T00:10:00Z\na,3,2026-03-05T01:00:00Z\n\
                  a,4,2026-03-05T02:00:00Z\n";
    assert!(
        told(silent, &unit("kWh")).starts_with("a 1 1 |"),
        "days of silence are no zeros: {}",
        told(silent, &unit("kWh"))
    );
}

#[test]
fn sums_of_statistics_stand_at_the_ends_of_their_hours() {
    let base = fixture("home_assistant/statistics.csv");
    assert_eq!(told(&base, &unit("kWh")), "other 4 2");
    let file = open(std::io::Cursor::new(&base), &unit("kWh")).unwrap();
    let found = inspect(file, &[]).unwrap();
    assert_eq!(
        found.series[0].first_start.as_deref(),
        Some("2026-03-29T01:00:00Z"),
        "the first sum ends the first hour"
    );
    assert_eq!(told(&base, &ReadOptions::default()), "unit_needed@2 sum");
    let named = base.replace("start,", "statistic_id,unit,start,").replace("\n2026", "\nsensor.export,Wh,2026");
    assert_eq!(told(&named, &ReadOptions::default()), "sensor.export 4 0.002");
    let milliseconds = "start,sum\n1774742400000,1\n1774746000000,2\n1774749600000.0,4\n";
    assert_eq!(told(milliseconds, &unit("kWh")), "other 2 3");
    let five = "start,state,sum\n2026-03-29T00:00:00Z,1,1\n2026-03-29T00:05:00Z,2,3\n2026-03-29T00:10:00Z,2,4\n";
    assert_eq!(told(five, &unit("kWh")), "other 2 3");
    check_changes(
        &base,
        &unit("kWh"),
        &[
            ("10.75", "unknown", "other 2 1 blank=1 gaps=1 | standings_apart"),
            ("10.75", "1.75", "other 3 10.75 gaps=1 | register_fell"),
            ("10.75", "x", "bad_number@4 sum"),
            (",10.75", "", "bad_row@4"),
            ("T02:00:00+00:00", "T02:00:00", "time_zone_needed@4 start"),
            ("T02:00:00+00:00", "T02:61:00+00:00", "bad_time@4 start"),
        ],
    );
    assert_eq!(told(base.replace("+00:00", ""), &ReadOptions { unit: unit("kWh").unit, ..zone("UTC") }), "other 4 2");
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("home_assistant".to_owned()), ..unit("kWh") };
    for name in ["dashboard", "history", "statistics"] {
        mutate(fixture(&format!("home_assistant/{name}.csv")).as_bytes(), &options, 150);
    }
}
