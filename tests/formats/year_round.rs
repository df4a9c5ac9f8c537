//! The same readings, written the way of each format over both clock changes, come back as they were.

use std::fmt::Write as _;
use std::io::Cursor;

use chrono::{DateTime, NaiveDateTime, TimeZone as _, Timelike as _};
use chrono_tz::Tz;
use samebill::usage::{ReadOptions, open};

/// A reading on its way into a file.
struct Written {
    start: NaiveDateTime,
    end: NaiveDateTime,
    last_minute: NaiveDateTime,
    milliwatt_hours: i64,
    /// Which interval of the local day it is, from 0, as they pass.
    nth: usize,
}

impl Written {
    fn kwh(&self) -> String {
        format!("{}.{:06}", self.milliwatt_hours / 1_000_000, self.milliwatt_hours % 1_000_000)
    }

    fn kwh_with_comma(&self) -> String {
        self.kwh().replace('.', ",")
    }
}

/// Intervals of `minutes` over the two changes of 2026 in `zone`, eight days around each.
fn readings(zone: Tz, minutes: i64) -> Vec<(i64, Written)> {
    let seconds = minutes * 60;
    let mut all = Vec::new();
    for (first, last) in [("2026-03-05", "2026-04-02"), ("2026-10-22", "2026-11-04")] {
        let midnight = |day: &str| {
            let local: NaiveDateTime = format!("{day}T00:00:00").parse().unwrap();
            zone.from_local_datetime(&local).unwrap().timestamp()
        };
        let mut nth = 0;
        for (start, i) in (midnight(first)..midnight(last)).step_by(usize::try_from(seconds).unwrap()).zip(1_i64..) {
            let local = |at: i64| DateTime::from_timestamp(at, 0).unwrap().with_timezone(&zone).naive_local();
            let (begin, end, last_minute) = (local(start), local(start + seconds), local(start + seconds - 60));
            if begin.num_seconds_from_midnight() == 0 {
                nth = 0;
            }
            all.push((start, Written { start: begin, end, last_minute, milliwatt_hours: i * 1_001, nth }));
            nth += 1;
        }
    }
    all
}

/// Checks that the file of `rows` below `heading` holds the readings, forwards, and newest first where `reversible`.
#[track_caller]
fn check(format: &str, zone: Tz, minutes: i64, heading: &str, row: impl Fn(&Written) -> String) {
    let written = readings(zone, minutes);
    let expected: Vec<(i64, u32, i64)> = written
        .iter()
        .map(|(start, written)| (*start, u32::try_from(minutes * 60).unwrap(), written.milliwatt_hours))
        .collect();
    let rows: Vec<String> = written.iter().map(|(_, written)| row(written)).collect();
    let backwards: Vec<String> = rows.iter().rev().cloned().collect();
    for rows in [rows, backwards] {
        let text = format!("{heading}\n{}\n", rows.join("\n"));
        assert_eq!(read(format, zone, &text), expected, "{format}");
    }
}

#[track_caller]
fn read(format: &str, zone: Tz, text: &str) -> Vec<(i64, u32, i64)> {
    let options = ReadOptions { time_zone: Some(zone), ..ReadOptions::default() };
    let mut file = open(Cursor::new(text), &options).unwrap();
    assert_eq!(file.format, format);
    let series = file.series(0).unwrap().checked().unwrap();
    assert_eq!(file.warnings, []);
    series.readings.iter().map(|r| (r.start, r.seconds, r.milliwatt_hours)).collect()
}

#[test]
fn files_of_the_united_states_hold_both_clock_changes() {
    let zone = chrono_tz::America::Los_Angeles;
    for minutes in [15, 60] {
        check("opower", zone, minutes, "TYPE,DATE,START TIME,END TIME,USAGE (kWh),COST,NOTES", |w| {
            let (day, start) = (w.start.format("%-m/%-d/%Y"), w.start.format("%H:%M"));
            format!("Electric usage,{day},{start},{},{},$1,", w.last_minute.format("%H:%M"), w.kwh())
        });
        check("sdge", zone, minutes, "Meter Number,Date,Start Time,Duration,Consumption,Generation,Net", |w| {
            format!("1,{},{minutes},{},0,0", w.start.format("%-m/%-d/%Y,%-I:%M %p"), w.kwh())
        });
        check("ameren", zone, minutes, "Start Interval Date/Time,Meter Id,Usage,Units,Interval", |w| {
            format!("{},1,{},kwh,{minutes}min", w.start.format("%m/%d/%Y %H:%M"), w.kwh())
        });
        let heading = "Energy Delivered time period,Usage(Real energy in kilowatt-hours),Reading quality";
        check("sce", zone, minutes, heading, |w| format!("{} to {},{},", w.start, w.end, w.kwh()));
    }
}

#[test]
fn files_of_europe_hold_both_clock_changes() {
    let dublin = chrono_tz::Europe::Dublin;
    check("esb", dublin, 30, "MPRN,Meter Serial Number,Read Value,Read Type,Read Date and End Time", |w| {
        format!("1,1,{},Active Import Interval (kWh),{}", w.kwh(), w.end.format("%d-%m-%Y %H:%M"))
    });
    let brussels = chrono_tz::Europe::Brussels;
    let heading = "From (date);From (time);Until (date);Until (time);Register;Volume;Unit;Validation status";
    check("fluvius", brussels, 15, heading, |w| {
        let part = if (7..22).contains(&w.start.hour()) { "Day" } else { "Night" };
        let (from, until) = (w.start.format("%d/%m/%Y;%H:%M:%S"), w.end.format("%d/%m/%Y;%H:%M:%S"));
        format!("{from};{until};Offtake {part};{};kWh;Read", w.kwh_with_comma())
    });
    let madrid = chrono_tz::Europe::Madrid;
    for minutes in [15, 60] {
        check("datadis", madrid, minutes, "CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion", |w| {
            format!("ES1;{};{};{};R", w.start.format("%d/%m/%Y"), w.nth + 1, w.kwh_with_comma())
        });
    }
    // By the clock: hours 1 to 24, one of them twice in autumn and one left out in spring.
    check("datadis", madrid, 60, "cups,fecha,hora,consumo_kWh,metodoObtencion", |w| {
        format!("ES1,{},{:02}:00,{},Real", w.start.format("%Y/%m/%d"), w.start.hour() + 1, w.kwh())
    });
    let paris = chrono_tz::Europe::Paris;
    check("enedis", paris, 30, "Horodate;Pas;Valeur", |w| {
        let end = w.end;
        // Watts of a mean that is a whole number of milliwatts.
        let milliwatts = w.milliwatt_hours * 2;
        format!("{end};PT30M;{}.{:03}", milliwatts / 1000, milliwatts % 1000)
    });
}

#[test]
fn days_in_rows_hold_both_clock_changes() {
    let rome = chrono_tz::Europe::Rome;
    let written = readings(rome, 15);
    let expected: Vec<(i64, u32, i64)> = written.iter().map(|(start, w)| (*start, 900, w.milliwatt_hours)).collect();
    let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
    let columns: Vec<String> = (0..96).map(|n| format!("{}-{}", clock(n * 15), clock((n * 15 + 15) % 1440))).collect();
    let mut text = format!("Giorno;{}", columns.join(";"));
    for (_, w) in &written {
        if w.nth == 0 {
            write!(text, "\n{}", w.start.format("%d/%m/%Y")).unwrap();
        }
        write!(text, ";\"{}\"", w.kwh_with_comma()).unwrap();
    }
    text.push('\n');
    assert_eq!(read("e_distribuzione", rome, &text), expected, "rows of 92, 96 and 100 values");
    let days = |milliwatt_hours: &dyn Fn(usize) -> String| {
        let starts = written.iter().filter(|(_, w)| w.nth == 0).map(|(_, w)| w.start.format("%d-%m-%Y"));
        starts.enumerate().map(|(n, day)| format!("{day};{}\n", milliwatt_hours(n))).collect::<String>()
    };
    let dutch = format!("datum;afname verbruik dal;afname verbruik normaal\n{}", days(&|n| format!("{n};1")));
    let found = read("dutch_registers", rome, &dutch);
    let lengths: Vec<u32> = found.iter().map(|(_, seconds, _)| seconds / 3600).filter(|hours| *hours != 24).collect();
    assert_eq!((lengths, found.len()), (vec![23, 25], 41));
    assert_eq!(found.iter().map(|(.., mwh)| mwh / 1_000_000).sum::<i64>(), (0..41).sum::<i64>() + 41);
}
