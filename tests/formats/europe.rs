//! Files of European distributors whose rows say day and time: ESB Networks, Fluvius, Dutch suppliers.

use samebill::usage::{ReadOptions, StampSide, Unit};

use super::told::{changed, check_changes, fixture, told, zone};
use super::trouble::{check_common, starts};

#[test]
fn esb_files_are_read_with_their_troubles() {
    let base = fixture("esb/half_hours.csv");
    let options = zone("Europe/Dublin");
    let all = "100/Active Import Interval (kW) 3 1.75; 100/Active Export Interval (kWh) 2 1";
    assert_eq!(told(&base, &options), all);
    assert_eq!(starts(&base, &options, 0), ["02-05 22:30 30", "02-05 23:00 30", "02-05 23:30 30"]);
    check_common(&base, &options, 1, ',');
    let row = "100,007,1.000000,Active Import Interval (kW),05-02-2026 23:30\n";
    let export = "100/Active Export Interval (kWh) 2 1";
    let import = |rest: &str| format!("100/Active Import Interval (kW) {rest}; {export}");
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", &import("2 1.25 gaps=1")),
            // A blank.
            ("1.000000", "", &import("2 1.25 blank=1 gaps=1")),
            // A repeat.
            (row, &row.repeat(2), &import("3 1.75 repeats=1")),
            // A conflict.
            (row, &format!("{row}{}", row.replace("1.0", "1.1")), &import("3 1.75 conflict@3+4")),
            // An overlap.
            ("(kW),05-02-2026 23:30", "(kW),05-02-2026 23:45", &import("2 1.5 gaps=1 overlap@2+3")),
            // Negative.
            ("1.000000", "-1.000000", &import("3 0.75")),
            // A wrong unit, and none.
            ("(kW),06", "(gallons),06", "bad_unit@2 Read Type"),
            ("Active Import Interval (kW),06", "Active Import Interval,06", "bad_unit@2 Read Type"),
            // Not of half hours.
            ("Active Import Interval (kW),06", "Active Import Daily (kW),06", "not_intervals@2 Read Type"),
            // Neither import nor export.
            ("Active Import Interval (kW),06", "Active Interval (kW),06", "unknown_column@2 Read Type"),
            // 14 decimals, of which half a milliwatt-hour is left: half to even.
            ("1.000000", "1.00000100000000", &import("3 1.75")),
            ("1.000000", "1.00000300000000", &import("3 1.750002")),
            // 24:00 closes the day.
            ("06-02-2026 00:00", "05-02-2026 24:00", all),
            ("06-02-2026 00:00", "06-13-2026 00:00", "bad_time@2 Read Date and End Time"),
            ("06-02-2026 00:00", "06-02-9999 00:00", "bad_time@2 Read Date and End Time"),
            ("Meter Serial Number", "Grid", "unknown_column@1 Grid"),
            ("1.000000", "one", "bad_number@3 Read Value"),
        ],
    );
    let reactive = changed(&base, "Active Export Interval (kWh)", "Reactive Import Interval (kVArh)");
    let expected = "100/Active Import Interval (kW) 3 1.75; 100/Reactive Import Interval (kVArh) 1 -; 100/Active Export Interval (kWh) 1 0.75";
    assert_eq!(told(reactive, &options), expected);
    let start = ReadOptions { stamp: Some(StampSide::Start), unit: Some(Unit::Watt), ..options.clone() };
    assert_eq!(starts(&base, &start, 0)[0], "02-05 23:00 30");
    assert_eq!(told(&base, &start).split(';').next(), Some("100/Active Import Interval (kW) 3 0.00175"));
    let columns = "Read Date and End Time,Read Type,Read Value\n05-02-2026 23:30,Active Import Interval (kWh),1\n";
    assert_eq!(told(columns, &options), "Active Import Interval (kWh) 1 1", "another order, no meter");
    let standings = "Read Value,Read Type,Read Date and End Time\n100,24 Hr Active Import Register (kWh),27-03-2026 00:00\n\
                     107.5,24 Hr Active Import Register (kWh),28-03-2026 00:00\n112,24 Hr Active Import Register (kWh),29-03-2026 00:00\n\
                     3,24 Hr Active Import Register (kWh),30-03-2026 00:00\n4,24 Hr Active Import Register (kWh),31-03-2026 00:00\n";
    assert_eq!(told(standings, &options), "24 Hr Active Import Register (kWh) 3 13 gaps=1 | register_fell");
}

#[test]
fn esb_clock_changes() {
    let options = zone("Europe/Dublin");
    let file = |ends: &[&str]| {
        let rows = ends.iter().map(|end| format!("1,Active Import Interval (kWh),{end}\n"));
        rows.fold("Read Value,Read Type,Read Date and End Time\n".to_owned(), |text, row| text + &row)
    };
    let spring = ["29-03-2026 00:30", "29-03-2026 01:00", "29-03-2026 02:30", "29-03-2026 03:00"];
    let expected = ["03-29 00:00 30", "03-29 00:30 30", "03-29 01:00 30", "03-29 01:30 30"];
    assert_eq!(starts(file(&spring), &options, 0), expected);
    let newest_first = ["02:30", "02:00", "01:30", "01:00", "01:30", "01:00", "00:30"];
    let newest_first = newest_first.map(|clock| format!("25-10-2026 {clock}"));
    let newest_first: Vec<&str> = newest_first.iter().map(String::as_str).collect();
    let expected = [
        "10-24 23:00 30",
        "10-24 23:30 30",
        "10-25 00:00 30",
        "10-25 00:30 30",
        "10-25 01:00 30",
        "10-25 01:30 30",
        "10-25 02:00 30",
    ];
    assert_eq!(starts(file(&newest_first), &options, 0), expected);
}

#[test]
fn fluvius_files_are_read_with_their_troubles() {
    let base = fixture("fluvius/quarter_hours.csv");
    let options = zone("Europe/Brussels");
    let injection = "540000000000000001/Injection 2 0.375";
    let all = format!("540000000000000001/Offtake 3 1.5 estimated=1 blank=1 gaps=1; {injection}");
    assert_eq!(told(&base, &options), all);
    assert_eq!(starts(&base, &options, 0), ["10-22 04:45 15", "10-22 05:00 15", "10-22 05:15 15"]);
    check_common(&base, &options, 1, ';');
    let row = "22/10/2026;07:00:00;22/10/2026;07:15:00;=\"540000000000000001\";M1;Digital meter;Offtake Day;0,500;kWh;Estimated;\n";
    let offtake = |rest: &str| format!("540000000000000001/Offtake {rest}; {injection}");
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", &offtake("2 1 blank=1 gaps=2")),
            // A repeat.
            (row, &row.repeat(2), &offtake("3 1.5 estimated=1 blank=1 repeats=1 gaps=1")),
            // A conflict.
            (
                row,
                &format!("{row}{}", row.replace("0,500", "0,600")),
                &offtake("3 1.5 estimated=1 blank=1 gaps=1 conflict@4+5"),
            ),
            // Day and night of one quarter hour are added; the worse quality counts.
            (
                row,
                &format!("{row}{}", row.replace("Day", "Night").replace("Estimated", "Read")),
                &offtake("3 2 estimated=1 blank=1 gaps=1"),
            ),
            // An overlap.
            (
                "07:15:00;22/10/2026;07:30:00;",
                "07:10:00;22/10/2026;07:25:00;",
                &offtake("2 0.75 estimated=1 blank=1 gaps=1 overlap@4+6"),
            ),
            // Negative.
            ("0,500", "-0,500", &offtake("3 0.5 estimated=1 blank=1 gaps=1")),
            // Wrong units.
            ("0,500;kWh", "0,500;l", "bad_unit@4 Unit"),
            ("0,500;kWh", "0,500;m³", "not_electricity@4 Unit"),
            // 14 decimals.
            ("0,500", "0,50000149999999", &offtake("3 1.500001 estimated=1 blank=1 gaps=1")),
            // A point is no decimal sign here.
            ("0,500", "0.500", "bad_number@4 Volume"),
            // Qualities.
            ("Estimated", "Geschat", &all),
            ("Estimated", "Uitgelezen", &offtake("3 1.5 blank=1 gaps=1")),
            ("Estimated", "Corrected", &offtake("3 1.5 substituted=1 blank=1 gaps=1")),
            ("Estimated", "Divined", &format!("{all} | quality_not_known")),
            ("Offtake Day", "Offtake Sunday", "unknown_column@4 Register"),
            ("Offtake Day", "Gas", "unknown_column@4 Register"),
            ("Meter type", "Weather", "unknown_column@1 Weather"),
            ("From (time)", "Weather", "bad_header@1 from (time)"),
            // 24:00.
            (
                "22/10/2026;06:30:00;22/10/2026;06:45:00",
                "21/10/2026;23:45:00;21/10/2026;24:00:00",
                &offtake("3 1.5 estimated=1 blank=1 gaps=1"),
            ),
            ("22/10/2026;06:30", "31/11/2026;06:30", "bad_time@2 From (date)"),
            ("22/10/2026;06:45:00;=", "22/10/2028;06:45:00;=", "interval_length@2 end"),
        ],
    );
    let dutch = base
        .replace(
            "From (date);From (time);Until (date);Until (time);EAN code",
            "Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code",
        )
        .replace("Meter type", "Metertype")
        .replace(";Unit;Validation status;Description", ";Eenheid;Validatiestatus;Omschrijving")
        .replace("Offtake Night", "Afname Nacht")
        .replace("Offtake Day", "Afname Dag")
        .replace("Injection Day", "Injectie Dag")
        .replace("No consumption", "Geen verbruik")
        .replace("Estimated", "Geschat")
        .replace(";Read;", ";Uitgelezen;");
    assert_eq!(told(dutch, &options), all.replace("Offtake", "Afname").replace("Injection", "Injectie"));
    let total = format!("{base}{}", row.replace("Offtake Day", "Offtake").replace("0,500", "9"));
    let expected = format!("{all}; 540000000000000001/Offtake total 1 9 estimated=1");
    assert_eq!(told(&total, &options), expected, "a total is not added to its parts");
}

#[test]
fn fluvius_clock_changes_with_day_and_night_side_by_side() {
    let options = zone("Europe/Brussels");
    let file = |rows: &[(&str, &str)]| {
        let heading = "From (date);From (time);Until (date);Until (time);Register;Volume;Unit\n".to_owned();
        rows.iter().fold(heading, |text, (from, until)| {
            let row = |register: &str, kwh: u32| {
                let (day, until_day) = ("25/10/2026", "25/10/2026");
                format!("{day};{from};{until_day};{until};Offtake {register};{kwh};kWh\n")
            };
            text + &row("Day", 1) + &row("Night", 2)
        })
    };
    let autumn = [
        ("01:30", "02:00"),
        ("02:00", "02:30"),
        ("02:30", "02:00"),
        ("02:00", "02:30"),
        ("02:30", "03:00"),
        ("03:00", "03:30"),
    ];
    let expected =
        ["10-24 23:30 30", "10-25 00:00 30", "10-25 00:30 30", "10-25 01:00 30", "10-25 01:30 30", "10-25 02:00 30"];
    assert_eq!(starts(file(&autumn), &options, 0), expected);
    assert_eq!(told(file(&autumn), &options), "Offtake 6 18");
    let spring = file(&[("01:30", "03:00"), ("03:00", "03:30")]).replace("25/10/2026", "29/03/2026");
    assert_eq!(starts(spring, &options, 0), ["03-29 00:30 30", "03-29 01:00 30"]);
    let days = "From (date);From (time);Until (date);Until (time);Register;Volume;Unit\n\
                29/03/2026;00:00:00;30/03/2026;00:00:00;Afname Dag;1;kWh\n29/03/2026;00:00:00;30/03/2026;00:00:00;Afname Nacht;2;kWh\n\
                25/10/2026;00:00:00;26/10/2026;00:00:00;Afname Dag;1;kWh\n";
    assert_eq!(starts(days, &options, 0), ["03-28 23:00 1380", "10-24 22:00 1500"]);
}

#[test]
fn dutch_files_are_read_with_their_troubles() {
    let base = fixture("dutch_registers/days.csv");
    let options = zone("Europe/Amsterdam");
    let import = "afname verbruik 4 53 blank=1 gaps=1";
    let export = "invoeding productie 4 6 blank=1 gaps=1";
    let all = format!("{import}; {export}");
    assert_eq!(told(&base, &options), all);
    assert_eq!(
        starts(&base, &options, 0),
        ["10-22 22:00 1440", "10-24 22:00 1500", "10-25 23:00 1440", "10-26 23:00 1440"],
        "the day of the autumn change has 25 hours"
    );
    let spring =
        base.replace("-10-", "-03-").replace("25-03", "29-03").replace("26-03", "30-03").replace("27-03", "31-03");
    assert_eq!(starts(spring, &options, 0)[1], "03-28 23:00 1380");
    check_common(&base, &options, 1, ';');
    let row = "26-10-2026;1012;2030;3042;3;10;0;-2;11\n";
    check_changes(
        &base,
        &options,
        &[
            // A gap.
            (row, "", "afname verbruik 3 40 blank=1 gaps=2; invoeding productie 3 4 blank=1 gaps=2"),
            // A repeat; of two parts each.
            (
                row,
                &row.repeat(2),
                "afname verbruik 4 53 blank=1 repeats=2 gaps=1; invoeding productie 4 6 blank=1 repeats=2 gaps=1",
            ),
            // A conflict.
            (
                row,
                &(row.to_owned() + &row.replace(";10;", ";11;")),
                "afname verbruik 4 53 blank=1 repeats=1 gaps=1 conflict@3+4; invoeding productie 4 6 blank=1 repeats=2 gaps=1",
            ),
            // Negative use.
            (";10;0;-2;", ";-10;0;-2;", &format!("afname verbruik 4 33 blank=1 gaps=1; {export}")),
            // One way to write what was fed in.
            (";10;0;-2;", ";10;0;2;", "bad_number@3 invoeding productie normaal"),
            // 14 decimals, either sign.
            (";10;0;-2;", ";10,00000149999999;0;-2;", &format!("afname verbruik 4 53.000001 blank=1 gaps=1; {export}")),
            (";10;0;-2;", ";10.5;0;-2;", &format!("afname verbruik 4 53.5 blank=1 gaps=1; {export}")),
            (";10;0;-2;", ";x;0;-2;", "bad_number@3 afname verbruik normaal"),
            ("26-10-2026", "26-13-2026", "bad_time@3 datum"),
            ("26-10-2026", "26-10-9999", "bad_time@3"),
            ("\"afname stand dal\"", "\"weer\"", "unknown_column@1 weer"),
            ("\"afname verbruik normaal\"", "\"afname verbruik dal\"", "bad_header@1 afname verbruik dal"),
        ],
    );
    let positive = base.replace(";-", ";");
    assert_eq!(told(positive, &options), all, "what was fed in written as positive");
    let unit = ReadOptions { unit: Some(Unit::WattHour), ..options.clone() };
    assert_eq!(
        told(&base, &unit),
        "afname verbruik 4 0.053 blank=1 gaps=1; invoeding productie 4 0.006 blank=1 gaps=1"
    );
}
