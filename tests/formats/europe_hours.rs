//! Files of distributors that count the hours of a day: e-distribuzione, the Spanish ones; and Enedis' load curves.

use samebill::usage::{ReadOptions, StampSide, Unit};

use super::told::{check_changes, fixture, told, zone};
use super::trouble::{check_common, starts};

#[test]
fn e_distribuzione_files_are_read_with_their_troubles() {
    let base = fixture("e_distribuzione/two_days.csv");
    let options = zone("Europe/Rome");
    assert_eq!(told(&base, &options), "import 192 72");
    let found = starts(&base, &options, 0);
    assert_eq!((found[0].as_str(), found[191].as_str()), ("08-31 22:00 15", "09-02 21:45 15"));
    check_common(&base, &options, 1, ';');
    let day = base.lines().nth(1).unwrap().to_owned() + "\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap of a day.
            ("\"01/09/2026\"", "\"31/08/2026\"", "import 192 72 gaps=1"),
            // A blank.
            ("\"0,25\"", "\"\"", "import 191 71.75 blank=1 gaps=1"),
            // A repeat.
            (&day, &day.repeat(2), "import 192 72 repeats=96"),
            // A conflict.
            (&day, &(day.clone() + &day.replacen("0,25", "0,26", 1)), "import 192 72 repeats=95 conflict@2+3"),
            // Negative.
            ("\"0,25\"", "\"-0,25\"", "import 192 71.5"),
            // 14 decimals.
            ("\"0,25\"", "\"0,25000149999999\"", "import 192 72.000001"),
            ("\"0,25\"", "\"0.25\"", "bad_number@2 00:00-00:15"),
            ("00:15-00:30", "meteo", "unknown_column@1 meteo"),
            ("00:15-00:30", "00:15-01:00", "bad_header@1 00:15-01:00"),
            // An overlap of columns.
            ("00:15-00:30", "00:10-00:25", "import 190 71.25 gaps=2 overlap@2+2 overlap@3+3"),
            ("23:45-24:00", "23:45-00:00", "import 192 72"),
            ("\"01/09/2026\"", "\"31/09/2026\"", "bad_time@2 Giorno"),
            ("\"01/09/2026\"", "\"01/09/9999\"", "bad_time@2 Giorno"),
        ],
    );
    let mut lines: Vec<&str> = base.lines().collect();
    lines.swap(1, 2);
    assert_eq!(told(lines.join("\n"), &options), "import 192 72", "newest first");
    let unit = ReadOptions { unit: Some(Unit::WattHour), ..options.clone() };
    assert_eq!(told(&base, &unit), "import 192 0.072");
    let pods =
        base.replace("Giorno;", "POD;Giorno;").replace("\"01/09", "IT001;\"01/09").replace("\"02/09", "IT002;\"02/09");
    assert_eq!(told(pods, &options), "IT001/import 96 24; IT002/import 96 48");
}

#[test]
fn e_distribuzione_clock_changes() {
    let options = zone("Europe/Rome");
    let heading = fixture("e_distribuzione/two_days.csv").lines().next().unwrap().to_owned();
    // The nth value is n thousandths.
    let row = |day: &str, n: usize, edit: &dyn Fn(usize) -> Option<&'static str>| {
        let values = (0..n).map(|i| edit(i).map_or_else(|| format!("0,{i:03}"), str::to_owned));
        format!("{heading}\n{day};{}\n", values.collect::<Vec<_>>().join(";"))
    };
    let plain = |_: usize| None;
    let whole: u32 = (0..96).sum();
    let spring = "29/03/2026";
    // 92 values, as they pass.
    let told_92 = told(row(spring, 92, &plain), &options);
    assert_eq!(told_92, format!("import 92 {}", f64::from((0..92).sum::<u32>()) / 1000.0));
    let starts_92 = starts(row(spring, 92, &plain), &options, 0);
    assert_eq!((starts_92[0].as_str(), starts_92[91].as_str()), ("03-28 23:00 15", "03-29 21:45 15"));
    // The same with four blanks at the end.
    let padded = row(spring, 96, &|i| (i >= 92).then_some(""));
    assert_eq!(told(padded, &options), told_92);
    // The hour from 02:00 left blank, or filled with zeros.
    let clock = f64::from(whole - (8 + 9 + 10 + 11)) / 1000.0;
    for filler in ["", "0", "0,000"] {
        let text = row(spring, 96, &|i| (8..12).contains(&i).then_some(filler));
        let skipped = " skipped_hour_empty".repeat(4);
        assert_eq!(told(&text, &options), format!("import 92 {clock} |{skipped}"), "{filler:?}");
    }
    // Energy in an hour that never was.
    assert_eq!(told(row(spring, 96, &plain), &options), "local_time_does_not_exist@2 02:00-02:15");
    let autumn = "25/10/2026";
    let told_100 = told(row(autumn, 100, &plain), &options);
    assert_eq!(told_100, format!("import 100 {}", f64::from((0..100).sum::<u32>()) / 1000.0));
    let once = told(row(autumn, 96, &plain), &options);
    assert_eq!(once, format!("import 96 {} gaps=1 | repeated_hour_once", f64::from(whole) / 1000.0));
    // The columns of the hour twice, blank on every other day.
    let twice = heading.replace("02:45-03:00;", "02:45-03:00;02:00-02:15;02:15-02:30;02:30-02:45;02:45-03:00;");
    let text = row(autumn, 100, &plain).replace(&heading, &twice);
    assert_eq!(told(&text, &options), told_100);
    let plain_day = row("24/10/2026", 100, &|i| (12..16).contains(&i).then_some("")).replace(&heading, &twice);
    assert_eq!(told(&plain_day, &options).split(' ').nth(1), Some("96"));
    assert!(
        told(&plain_day, &options)
            .ends_with(&format!(" {}", f64::from((0..100).sum::<u32>() - (12 + 13 + 14 + 15)) / 1000.0))
    );
    assert_eq!(told(row(autumn, 97, &plain), &options), "bad_row@2");
    assert_eq!(told(row("24/10/2026", 92, &plain), &options), "bad_row@2", "a day of 24 hours");
}

#[test]
fn spanish_files_are_read_with_their_troubles() {
    let base = fixture("datadis/day.csv");
    let options = zone("Europe/Madrid");
    let export = "ES0031/AS_kWh 24 1.5 estimated=2";
    let import = |rest: &str| format!("ES0031/AE_kWh {rest}; {export}");
    assert_eq!(told(&base, &options), import("24 8.25 estimated=2"));
    let found = starts(&base, &options, 0);
    assert_eq!((found[0].as_str(), found[23].as_str()), ("07-20 22:00 60", "07-21 21:00 60"));
    check_common(&base, &options, 1, ';');
    let row = "ES0031;21/07/2026;5;0,5;0;;R\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", "ES0031/AE_kWh 23 7.75 estimated=2 gaps=1; ES0031/AS_kWh 23 1.5 estimated=2 gaps=1"),
            // A blank.
            (row, "ES0031;21/07/2026;5;;0;;R\n", &import("23 7.75 estimated=2 blank=1 gaps=1")),
            // A repeat.
            (
                row,
                &row.repeat(2),
                "ES0031/AE_kWh 24 8.25 estimated=2 repeats=1; ES0031/AS_kWh 24 1.5 estimated=2 repeats=1",
            ),
            // A conflict.
            (
                row,
                &(row.to_owned() + &row.replace("0,5", "0,6")),
                "ES0031/AE_kWh 24 8.25 estimated=2 conflict@6+7; ES0031/AS_kWh 24 1.5 estimated=2 repeats=1",
            ),
            // Negative.
            (row, "ES0031;21/07/2026;5;-0,5;0;;R\n", &import("24 7.25 estimated=2")),
            // 14 decimals.
            (row, "ES0031;21/07/2026;5;0,50000149999999;0;;R\n", &import("24 8.250001 estimated=2")),
            // Two decimal signs.
            (row, "ES0031;21/07/2026;5;0.5;0;;R\n", "bad_number@6 AE_kWh"),
            (row, "ES0031;21/07/2026;26;0,5;0;;R\n", "bad_time@6 Hora"),
            (row, "ES0031;21/07/2026;25;0,5;0;;R\n", "bad_time@6 Hora"),
            (row, "ES0031;21/07/2026;05:00;0,5;0;;R\n", "bad_time@6 Hora"),
            (row, "ES0031;21/07/2026;;0,5;0;;R\n", "bad_time@6 Hora"),
            (row, "ES0031;31/09/2026;5;0,5;0;;R\n", "bad_time@6 Fecha"),
            (row, "ES0031;21/07/9999;5;0,5;0;;R\n", "bad_time@6 Fecha"),
            // Used from the own roof: kept apart.
            (
                row,
                "ES0031;21/07/2026;5;0,5;0;0,75;R\n",
                &(import("24 8.25 estimated=2") + "; ES0031/AE_AUTOCONS_kWh 1 0.75"),
            ),
            ("AE_kWh", "AE_kVA", "unknown_column@1 AE_kVA"),
            ("AS_kWh", "Clima", "unknown_column@1 Clima"),
            ("AS_kWh", "Consumo_kWh", "bad_header@1 Consumo_kWh"),
            ("AS_kWh", "R1_kVArh", "ES0031/AE_kWh 24 8.25 estimated=2; ES0031/R1_kVArh 24 - estimated=2"),
            ("AE_kWh", "Consumo", "unit_needed@1 Consumo"),
        ],
    );
    let datadis = "cups,fecha,hora,consumo_kWh,metodoObtencion\nES1,2026/07/20,23:00,0.125,Real\nES1,2026/07/20,24:00,0.25,Estimada\n";
    assert_eq!(told(datadis, &options), "ES1/consumo_kWh 2 0.375 estimated=1");
    assert_eq!(starts(datadis, &options, 0), ["07-20 20:00 60", "07-20 21:00 60"]);
    let from_zero = "CUPS;Fecha;Hora;Consumo_kWh\nES1;20/07/2026;0;1\nES1;20/07/2026;1;1\nES1;20/07/2026;23;1\n";
    assert_eq!(starts(from_zero, &options, 0), ["07-19 22:00 60", "07-19 23:00 60", "07-20 21:00 60"]);
    let quarters =
        "CUPS;Fecha;Hora;Consumo_kWh\nES1;20/07/2026;00:15;1\nES1;20/07/2026;00:30;1\nES1;20/07/2026;24:00;1\n";
    assert_eq!(starts(quarters, &options, 0), ["07-19 22:00 15", "07-19 22:15 15", "07-20 21:45 15"]);
    let numbers = "CUPS;Fecha;Hora;Consumo_kWh\nES1;20/07/2026;1;1\nES1;20/07/2026;2;1\nES1;20/07/2026;96;1\n";
    assert_eq!(starts(numbers, &options, 0), ["07-19 22:00 15", "07-19 22:15 15", "07-20 21:45 15"]);
    let ends = ReadOptions { stamp: Some(StampSide::End), ..options.clone() };
    let midnight = "CUPS;Fecha;Hora;Consumo_kWh\nES1;20/07/2026;23:00;1\nES1;21/07/2026;00:00;1\n";
    assert_eq!(starts(midnight, &ends, 0), ["07-20 20:00 60", "07-20 21:00 60"]);
}

#[test]
fn spanish_clock_changes() {
    let options = zone("Europe/Madrid");
    let file = |day: &str, hours: &[(u32, &str)]| {
        let rows = hours.iter().map(|(hour, kwh)| format!("ES1;{day};{hour};{kwh}\n"));
        rows.fold("CUPS;Fecha;Hora;Consumo_kWh\n".to_owned(), |text, row| text + &row)
    };
    let to = |n: u32| (1..=n).map(|hour| (hour, "1")).collect::<Vec<_>>();
    let hourly = |first: &str, n: usize| {
        let first = chrono::NaiveDateTime::parse_from_str(first, "%Y-%m-%d %H:%M").unwrap();
        let at = |i: usize| first + chrono::TimeDelta::hours(i64::try_from(i).unwrap());
        (0..n).map(|i| format!("{} 60", at(i).format("%m-%d %H:%M"))).collect::<Vec<_>>()
    };
    let (spring, autumn) = ("29/03/2026", "25/10/2026");
    let (day_of_23, day_of_25) = (hourly("2026-03-28 23:00", 23), hourly("2026-10-24 22:00", 25));
    assert_eq!(starts(file(spring, &to(23)), &options, 0), day_of_23, "1 to 23");
    let without_third: Vec<_> = to(24).into_iter().filter(|(hour, _)| *hour != 3).collect();
    assert_eq!(starts(file(spring, &without_third), &options, 0), day_of_23, "1 to 24 without 3");
    let mut filled = to(24);
    filled[2].1 = "0";
    assert_eq!(starts(file(spring, &filled), &options, 0), day_of_23, "the third is filled with zero");
    assert_eq!(told(file(spring, &to(24)), &options), "local_time_does_not_exist@4 Hora");
    assert_eq!(starts(file(autumn, &to(25)), &options, 0), day_of_25, "1 to 25");
    let mut twice = to(24);
    twice.insert(3, (3, "2"));
    assert_eq!(starts(file(autumn, &twice), &options, 0), day_of_25, "the third twice");
    assert_eq!(told(file(autumn, &to(24)), &options), "ES1/Consumo_kWh 24 24 gaps=1 | repeated_hour_once");
    let from_zero = |n: u32| (0..n).map(|hour| (hour, "1")).collect::<Vec<_>>();
    assert_eq!(starts(file(spring, &from_zero(23)), &options, 0), day_of_23, "0 to 22");
    assert_eq!(starts(file(autumn, &from_zero(25)), &options, 0), day_of_25, "0 to 24");
    let without_second: Vec<_> = from_zero(24).into_iter().filter(|(hour, _)| *hour != 2).collect();
    assert_eq!(starts(file(spring, &without_second), &options, 0), day_of_23, "0 to 23 without 2");
}

#[test]
fn enedis_load_curves_are_read_with_their_troubles() {
    let base = fixture("enedis/load_curve.csv");
    let options = ReadOptions::default();
    assert_eq!(told(&base, &options), "12345678901234/import 6 1.875");
    assert_eq!(
        starts(&base, &options, 0),
        ["01-04 23:00 30", "01-04 23:30 30", "01-05 00:00 30", "01-05 00:30 30", "01-05 01:00 30", "01-05 01:30 30"]
    );
    check_common(&base, &options, 4, ';');
    let row = "2026-01-05T01:00:00+01:00;1000\n";
    let import = |rest: &str| format!("12345678901234/import {rest}");
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", &import("5 1.375 gaps=1")),
            // A blank.
            (";1000", ";", &import("5 1.375 blank=1 gaps=1")),
            // A repeat.
            (row, &row.repeat(2), &import("6 1.875 repeats=1")),
            // A conflict.
            (row, &(row.to_owned() + &row.replace("1000", "900")), &import("6 1.875 conflict@6+7")),
            // An overlap.
            ("01:00:00+01:00", "00:45:00+01:00", &import("5 1.375 gaps=1 overlap@5+6")),
            // Negative.
            (";1000", ";-1000", &import("6 0.875")),
            // Energy, and wrong units.
            (";W;", ";Wh;", &import("6 3.75")),
            (";W;", ";V;", "bad_unit@4 Valeur"),
            // 14 decimals.
            (";1000", ";1000.00300000000000", &import("6 1.875002")),
            (";1000", ";1e3", "bad_number@6 Valeur"),
            // What was fed in.
            ("Consommation", "Production", "12345678901234/export 6 1.875"),
            ("T01:00:00", "T25:00:00", "bad_time@6 Horodate"),
            ("2026-01-05T01", "9999-01-05T01", "bad_time@6 Horodate"),
            ("Horodate;Valeur", "Horodate;Valeur;Meteo", "unknown_column@4 Meteo"),
            ("Horodate;Valeur", "Horodate;Index", "bad_header@4 Valeur"),
            ("Horodate;Valeur", "Horodate;Type de releve;EAS F1", "not_intervals@4"),
            // The step in the lines above.
            ("W;\n", "W;30\n", &import("6 1.875")),
            ("W;\n", "W;45\n", "interval_length@5 Pas"),
            ("W;\n", "W;PT99999999H\n", "interval_length Pas"),
        ],
    );
    let columns = "Nature;Pas;Valeur;Horodate\nB;PT30M;500;2026-01-05T00:30:00+01:00\nE;PT30M;500;2026-01-05T01:00:00+01:00\n\
                   C;PT1H;500;2026-01-05T02:00:00+01:00\n";
    assert_eq!(told(columns, &options), "import 3 1 substituted=1 estimated=1");
    assert_eq!(starts(columns, &options, 0), ["01-04 23:00 30", "01-04 23:30 30", "01-05 00:00 60"]);
    let newer = "Identifiant PRM;123;\nhorodate ISO fin de pas;puissance moyenne (W)\n2026-01-05T00:30:00+01:00;500\n2026-01-05T01:00:00+01:00;500\n";
    assert_eq!(told(newer, &options), "123/import 2 0.5");
    let start = ReadOptions { stamp: Some(StampSide::Start), ..options.clone() };
    assert_eq!(starts(newer, &start, 0)[0], "01-04 23:30 30");
}

#[test]
fn enedis_steps_may_be_mixed_and_clock_changes_are_in_the_offsets() {
    let options = ReadOptions::default();
    let rows = |times: &[&str]| times.iter().fold("Horodate;Valeur\n".to_owned(), |text, time| text + time + ";1000\n");
    let mixed = rows(&[
        "2026-01-05T00:30:00+01:00",
        "2026-01-05T01:00:00+01:00",
        "2026-01-05T01:30:00+01:00",
        "2026-01-05T02:00:00+01:00",
        "2026-01-05T03:00:00+01:00",
        "2026-01-05T04:00:00+01:00",
        "2026-01-05T05:00:00+01:00",
    ]);
    assert_eq!(told(&mixed, &options), "import 7 5");
    assert_eq!(starts(&mixed, &options, 0)[4], "01-05 01:00 60");
    let autumn = rows(&[
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]);
    let expected = ["10-24 23:30 30", "10-25 00:00 30", "10-25 00:30 30", "10-25 01:00 30", "10-25 01:30 30"];
    assert_eq!(starts(&autumn, &options, 0), expected);
    let spring = rows(&["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"]);
    assert_eq!(starts(&spring, &options, 0), ["03-29 00:00 30", "03-29 00:30 30", "03-29 01:00 30"]);
    let local = rows(&["2026-01-05 00:30:00", "2026-01-05 01:00:00", "2026-01-05 24:00:00"]);
    assert_eq!(told(&local, &options), "time_zone_needed@2 Horodate");
    assert_eq!(told(&local, &zone("Europe/Paris")), "import 3 1.5 gaps=1");
}
