//! Hourly files of the Spanish distributors and of Datadis.
//!
//! ```text
//! CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion
//! ES0000000000000000XX;20/07/2026;1;0,250;R
//! ```
//!
//! | column | holds |
//! | --- | --- |
//! | `CUPS` | the meter point |
//! | `Fecha` | the local day, day first, or year first |
//! | `Hora` | the hour by number, or the time at its end (`01:00` to `24:00`); where a zero occurs, all are starts |
//! | `Consumo_kWh`, `AE_kWh` | energy taken |
//! | `AS_kWh`, `energiaVertida_kWh` | energy fed in |
//! | `AE_AUTOCONS_kWh` | used from the own roof: never billed |
//! | `R1_kVArh` … | reactive: never billed |
//! | `Metodo_obtencion`, `REAL/ESTIMADO` | `R` real, `E` estimated |
//!
//! Distributors number the hours of a day as they pass: 1 to 23 when the clock goes forward, 1 to 25 when it goes back. Others
//! follow the clock, with the hour of the change left out, filled with zero, or there twice. The file is looked through
//! first: a day of 25 numbers, or one of 23 that has the number of the skipped hour, counts the hours as they pass.
//! Quarters of an hour (`00:15`, or numbers up to 96) are read likewise.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::super::collect::{Cell, Collector, Rank, Times};
use super::super::detect::StampSide;
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell_of_word, delimiter_of, numbers, push_unless_skipped};
use super::recent::Recent;

/// Minutes of a day on the clock.
const DAY: u32 = 1440;

/// The reader of Spanish hourly files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datadis;

impl UsageReader for Datadis {
    fn format(&self) -> &'static str {
        "datadis"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b';');
        let mut collector = Collector::new(options);
        let hours = Hours::look_through(source, delimiter, options, &mut collector)?;
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns::new(&mut heading, options)?;
        let mut series: Vec<Recent<usize>> = columns.values.iter().map(|_| Recent::new()).collect();
        let mut dates = Dates::new(options, DateOrder::DayMonthYear);
        let mut decimal_sign = None;
        while let Some(row) = table.next_row()? {
            let mut read = || -> Result<(), UsageError> {
                heading.check(row)?;
                let (day, position) = columns.place(row, &mut dates)?;
                let times = hours.times(&mut collector, day, position).map_err(|e| e.in_field("Hora"));
                let word = columns.quality.map(|idx| row.text(idx)).transpose()?.unwrap_or("");
                collector.count_row();
                for (value, recent) in columns.values.iter().zip(&mut series) {
                    let text = row.text(value.idx)?;
                    let field = || heading.name(value.idx).to_owned();
                    let sign = sign_of(text, &mut decimal_sign).map_err(|e| e.in_field(field()))?;
                    let format = NumberFormat { decimal_sign: sign, ..value.numbers };
                    let cell =
                        cell_of_word(&mut collector, row.line, text, word, format).map_err(|e| e.in_field(field()))?;
                    // Columns that a customer has no use for stay blank all through.
                    if cell == Cell::Blank && value.direction == Direction::Other {
                        continue;
                    }
                    let meter_cell = columns.cups.map_or(&b""[..], |idx| row.bytes(idx));
                    let series_idx = recent.get(&[meter_cell], || {
                        let cups = columns.cups.map(|idx| row.text(idx)).transpose()?.filter(|cups| !cups.is_empty());
                        collector.series(&value.label(cups, heading.name(value.idx)))
                    })?;
                    push_unless_skipped(&mut collector, series_idx, row.line, times.clone(), cell, Rank::default())?;
                }
                Ok(())
            };
            read().map_err(|e| e.at_line(row.line))?;
        }
        let values_per_row = columns.values.iter().filter(|value| value.direction != Direction::Other).count().max(1);
        let mut file = collector.finish(self.format())?;
        file.values_per_row = values_per_row as u64;
        Ok(file)
    }
}

/// A name without the marks that files put between its words.
fn key(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '_' | '(' | ')' | '-' | '/' | '.')).collect()
}

const DATE: &[&str] = &["fecha", "date"];
const HOUR: &[&str] = &["hora", "time"];

fn is_heading(names: &[String]) -> bool {
    let keys: Vec<String> = names.iter().map(|name| key(name)).collect();
    let has = |wanted: &[&str]| keys.iter().any(|key| wanted.contains(&key.as_str()));
    let is_spanish = keys.iter().any(|key| matches!(key.as_str(), "fecha" | "cups"));
    is_spanish && has(DATE) && has(HOUR) && keys.iter().any(|key| kind_of(key).is_some())
}

/// Which way the energy of a column flows, and what is left of its name: the unit.
fn kind_of(key: &str) -> Option<(Direction, &str)> {
    let kinds: [(&str, Direction); 13] = [
        ("consumption", Direction::Import),
        ("consumo", Direction::Import),
        ("aeautocons", Direction::Other),
        ("autoconsumo", Direction::Other),
        ("energiaautoconsumida", Direction::Other),
        ("selfconsumptionenergy", Direction::Other),
        ("energiagenerada", Direction::Other),
        ("generationenergy", Direction::Other),
        ("energiavertida", Direction::Export),
        ("surplusenergy", Direction::Export),
        ("excedentes", Direction::Export),
        ("ae", Direction::Import),
        ("as", Direction::Export),
    ];
    let units = |rest: &str| matches!(rest, "" | "kwh" | "wh" | "mwh" | "kw" | "w");
    kinds.into_iter().find_map(|(word, direction)| {
        let rest = key.strip_prefix(word)?;
        units(rest).then_some((direction, rest))
    })
}

/// A column of numbers.
#[derive(Debug)]
struct Value {
    idx: usize,
    direction: Direction,
    quantity: Quantity,
    unit: String,
    numbers: NumberFormat,
}

impl Value {
    fn label(&self, cups: Option<&str>, name: &str) -> SeriesLabel {
        SeriesLabel {
            meter: cups.map(str::to_owned),
            channel: Some(name.to_owned()),
            direction: self.direction,
            unit: self.unit.clone(),
            quantity: self.quantity,
        }
    }
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    cups: Option<usize>,
    date: usize,
    hour: usize,
    quality: Option<usize>,
    values: Vec<Value>,
}

impl Columns {
    fn new(heading: &mut Heading, options: &ReadOptions) -> Result<Self, UsageError> {
        let cups = heading.take(&["cups"])?;
        let date = heading.need(DATE)?;
        let hour = heading.need(HOUR)?;
        let quality = heading.take_where(|name| {
            matches!(
                key(name).as_str(),
                "metodoobtencion" | "metododeobtencion" | "obtainmethod" | "realestimado" | "estado"
            )
        })?;
        let mut values: Vec<Value> = Vec::new();
        for (idx, name) in heading.plain().iter().enumerate() {
            let key = key(name);
            let is_reactive = key.ends_with("kvarh");
            let Some((direction, said)) = kind_of(&key).or(is_reactive.then_some((Direction::Other, "kvarh"))) else {
                continue;
            };
            let at_name = |e: UsageError| e.in_field(heading.name(idx)).at_line(heading.line);
            if values.iter().any(|value| value.direction == direction && direction != Direction::Other) {
                let message = "two columns for the same direction; leave one";
                return Err(at_name(UsageError::new(UsageCode::BadHeader, message)));
            }
            let value = if is_reactive {
                let unit = "kVArh".to_owned();
                Value { idx, direction, quantity: Quantity::Other, unit, numbers: NumberFormat::KWH }
            } else {
                let unit: Unit = match (options.unit, said) {
                    (Some(unit), _) => unit,
                    (None, "") => {
                        let message = "the heading does not say the unit; give it with --unit kWh";
                        return Err(at_name(UsageError::new(UsageCode::UnitNeeded, message)));
                    }
                    (None, said) => said
                        .parse()
                        .map_err(|e: super::super::UnitError| UsageError::new(UsageCode::BadUnit, e.to_string()))
                        .map_err(at_name)?,
                };
                let (quantity, text) = (unit.quantity(), unit.as_str().to_owned());
                Value { idx, direction, quantity, unit: text, numbers: numbers(unit, b'.') }
            };
            values.push(value);
        }
        let taken: Vec<String> = values.iter().map(|value| heading.plain()[value.idx].clone()).collect();
        heading.ignore(|name| {
            taken.iter().any(|taken| taken == name)
                || matches!(key(name).as_str(), "idperiodotarifario" | "periodotarifario" | "periodo" | "tarifa")
        });
        heading.finish()?;
        Ok(Self { cups, date, hour, quality, values })
    }

    /// The day and the position of a row in it: what `Hora` says.
    fn place(&self, row: TableRow<'_>, dates: &mut Dates) -> Result<(NaiveDate, Position), UsageError> {
        let day = dates.read(row.text(self.date)?).map_err(|e| e.in_field("Fecha"))?;
        let position = Position::parse(row.text(self.hour)?).map_err(|e| e.in_field("Hora"))?;
        Ok((day, position))
    }
}

/// The decimal sign of the file, which its first broken number shows.
fn sign_of(text: &str, sign: &mut Option<u8>) -> Result<u8, UsageError> {
    let found = text.bytes().find(|b| matches!(b, b',' | b'.'));
    match (*sign, found) {
        (Some(sign), Some(found)) if sign != found => {
            let message = format!("{:?} has another decimal sign than the rows before", clip(text));
            Err(UsageError::new(UsageCode::BadNumber, message))
        }
        (known, found) => {
            *sign = known.or(found);
            Ok(sign.unwrap_or(b'.'))
        }
    }
}

/// What `Hora` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Position {
    /// The number of an interval of the day.
    Number(u32),
    /// Minutes of the day on a clock that may go on to 25:00.
    Clock(u32),
}

impl Position {
    fn parse(text: &str) -> Result<Self, UsageError> {
        let bad = || {
            let message = format!("{:?} is no hour: known are 1 to 25 and 01:00 to 25:00", clip(text));
            UsageError::new(UsageCode::BadTime, message)
        };
        let number = |digits: &str| -> Option<u32> {
            let is_number = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        };
        let position = match text.split_once(':') {
            None => number(text).filter(|number| *number <= 100).map(Self::Number),
            Some((hour, rest)) => {
                let minute = rest.strip_suffix(":00").unwrap_or(rest);
                let (hour, minute) = (number(hour).ok_or_else(bad)?, number(minute).ok_or_else(bad)?);
                (minute < 60 && hour * 60 + minute <= 25 * 60).then_some(Self::Clock(hour * 60 + minute))
            }
        };
        position.ok_or_else(bad)
    }
}

/// How the file counts the intervals of a day.
#[derive(Debug)]
struct Hours {
    /// Length of an interval, minutes.
    step: u32,
    side: StampSide,
    /// Days on which the clock is set and the file counts intervals as they pass: their first instant, and minutes.
    by_passing: BTreeMap<NaiveDate, (i64, u32)>,
}

impl Hours {
    /// Looks through the whole file.
    fn look_through(
        source: &mut Source<'_>,
        delimiter: u8,
        options: &ReadOptions,
        collector: &mut Collector,
    ) -> Result<Self, UsageError> {
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns::new(&mut heading, options)?;
        let mut dates = Dates::new(options, DateOrder::DayMonthYear);
        let mut changes: BTreeMap<NaiveDate, (i64, u32, BTreeSet<Position>)> = BTreeMap::new();
        let mut last_day = None;
        let (mut lowest, mut highest, mut highest_line) = (u32::MAX, 0, 0);
        let (mut has_numbers, mut all_minutes) = (false, 0);
        while let Some(row) = table.next_row()? {
            let mut look = || -> Result<(), UsageError> {
                heading.check(row)?;
                let (day, position) = columns.place(row, &mut dates)?;
                let (Position::Number(value) | Position::Clock(value)) = position;
                let is_number = matches!(position, Position::Number(_));
                if last_day.is_some() && is_number != has_numbers {
                    let message = "hours are numbers in some rows and times in others";
                    return Err(UsageError::new(UsageCode::BadTime, message).in_field("Hora"));
                }
                has_numbers = is_number;
                lowest = lowest.min(value);
                if value > highest {
                    (highest, highest_line) = (value, row.line);
                }
                all_minutes |= 1_u64 << (value % 60);
                if last_day != Some(day) {
                    last_day = Some(day);
                    let (start, minutes) = span_of_day(collector, day).map_err(|e| e.in_field("Fecha"))?;
                    if minutes != DAY {
                        changes.entry(day).or_insert((start, minutes, BTreeSet::new()));
                    }
                }
                if let Some((.., positions)) = changes.get_mut(&day) {
                    positions.insert(position);
                }
                Ok(())
            };
            look().map_err(|e| e.at_line(row.line))?;
        }
        if has_numbers && (26..92).contains(&highest) {
            let message = format!("no day has an hour {highest}, and one of quarters of an hour has 92 or more");
            return Err(UsageError::new(UsageCode::BadTime, message).in_field("Hora").at_line(highest_line));
        }
        let are_only = |minutes: u64| all_minutes & !minutes == 0;
        let step = if has_numbers && highest <= 25 || !has_numbers && are_only(1) {
            60
        } else if !has_numbers && are_only(1 | 1 << 30) {
            30
        } else {
            15
        };
        let side = options.stamp.unwrap_or(if lowest == 0 { StampSide::Start } else { StampSide::End });
        let mut hours = Self { step, side, by_passing: BTreeMap::new() };
        for (day, (start, minutes, positions)) in changes {
            let starts: Vec<i64> = positions.iter().map(|position| hours.start_minute(*position)).collect();
            let last_end = starts.iter().max().map_or(0, |start| start + i64::from(step));
            let has_skipped = minutes < DAY
                && starts.iter().any(|start| {
                    let stamp = u32::try_from(*start).ok().and_then(|start| Stamp::local(day, start).ok());
                    stamp.is_some_and(|stamp| {
                        collector.starting(stamp).is_err_and(|e| e.code == UsageCode::LocalTimeDoesNotExist)
                    })
                });
            let is_whole = last_end == i64::from(minutes);
            if is_whole && (minutes > DAY || has_skipped) {
                hours.by_passing.insert(day, (start, minutes));
            }
        }
        Ok(hours)
    }

    /// Minute of the day at which the interval of a position starts.
    fn start_minute(&self, position: Position) -> i64 {
        let minute = match position {
            Position::Number(number) => number * self.step,
            Position::Clock(minute) => minute,
        };
        match self.side {
            StampSide::Start => i64::from(minute),
            StampSide::End => i64::from(minute) - i64::from(self.step),
        }
    }

    /// The interval of a position.
    fn times(&self, collector: &mut Collector, day: NaiveDate, position: Position) -> Result<Times, UsageError> {
        let minute = self.start_minute(position);
        let seconds = i64::from(self.step) * 60;
        if let Some((start, minutes)) = self.by_passing.get(&day)
            && minute >= 0
            && minute < i64::from(*minutes)
        {
            return collector.starting(Stamp::epoch(start + minute * 60)?)?.lasting(seconds);
        }
        if minute + i64::from(self.step) > i64::from(DAY) {
            let message = format!("the day {day} has no such hour on the clock");
            return Err(UsageError::new(UsageCode::BadTime, message));
        }
        match u32::try_from(minute) {
            Ok(minute) => collector.starting(Stamp::local(day, minute)?)?.lasting(seconds),
            // The end 00:00 closes the day before.
            Err(_) => collector.ending(Stamp::local(day, 0)?)?.lasting(seconds),
        }
    }
}

/// The first instant of a local day and its minutes.
fn span_of_day(collector: &mut Collector, day: NaiveDate) -> Result<(i64, u32), UsageError> {
    let next = day.succ_opt().unwrap_or(day);
    // Refuses years that no reading is of.
    Stamp::local(day, 0)?;
    let clock = collector.clock(&day)?;
    let (start, end) = (clock.start_of_day(day)?, clock.start_of_day(next)?);
    Ok((start, u32::try_from((end - start) / 60).unwrap_or(DAY)))
}
