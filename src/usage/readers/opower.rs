//! Downloads of Opower-based customer sites (PG&E, PECO and others of the United States).
//!
//! ```text
//! Name,…                       lines of names and values, then
//! TYPE,DATE,START TIME,END TIME,USAGE (kWh),COST,NOTES
//! Electric usage,2026-01-05,00:00,00:59,0.2,$0.06,
//! ```
//!
//! | column | holds |
//! | --- | --- |
//! | `TYPE` | `Electric usage`; rows of gas are a series of their own that is never billed |
//! | `DATE` | year first, or month/day/year |
//! | `START TIME`, `END TIME` | local clock; the end is the last minute of the interval (00:59), or its end (01:00) |
//! | `USAGE (kWh)`, or `USAGE` and `UNITS` | energy taken; at customers with a solar roof taken less fed in, so that it may be negative |
//! | `IMPORT (kWh)`, `EXPORT (kWh)` | instead of `USAGE`: energy taken, energy fed in |
//! | `NOTES` | a note with "estimated" makes the value an estimate |
//! | `COST` | the supplier's own bill: never read |
//!
//! Negative `USAGE` keeps its sign in the one series of import, and that is said. The meter is `Account Number` and
//! `Service` of the lines above.

use super::super::collect::{Cell, Collector, Rank, Times};
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{
    Dates, Heading, cell, delimiter_of, numbers, plain, push_unless_skipped, unit_in_brackets, unit_of,
};

/// Pairs of `TYPE` and unit in a file: electric and gas, and room for more.
const MAX_TYPES: usize = 32;

/// The reader of Opower-based downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opower;

impl UsageReader for Opower {
    fn format(&self) -> &'static str {
        "opower"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let (mut account, mut service) = (String::new(), String::new());
        let heading = Heading::find(&mut table, is_heading, |row| {
            let (Some(name), Some(value)) = (row.first(), row.get(1)) else { return };
            match plain(name).as_str() {
                "account number" | "account" => account.clone_from(value),
                "service" | "service point" | "service agreement" => service.clone_from(value),
                _ => {}
            }
        })?;
        let meter = [account, service].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let mut rows = Rows {
            columns: Columns::new(heading, options)?,
            meter: Some(meter).filter(|meter| !meter.is_empty()),
            dates: Dates::new(options, DateOrder::MonthDayYear),
            options,
            collector: Collector::new(options),
            types: Vec::new(),
            n_cells: None,
            said_negative: false,
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        if !rows.types.is_empty() && rows.types.iter().all(|of_type| of_type.is_gas) {
            let message = "the file is of gas; ask the site for the electric service";
            return Err(UsageError::new(UsageCode::NotElectricity, message));
        }
        let values_per_row = rows.columns.values.len() as u64;
        let mut file = rows.collector.finish(self.format())?;
        file.values_per_row = values_per_row;
        Ok(file)
    }
}

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("type") && has("date") && has("start time")
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    n: usize,
    kind: usize,
    date: usize,
    start: usize,
    end: usize,
    units: Option<usize>,
    notes: Option<usize>,
    /// Place, direction and unit (where the name says it) of each column of energy.
    values: Vec<(usize, String, Direction, Option<String>)>,
}

impl Columns {
    fn new(mut heading: Heading, options: &ReadOptions) -> Result<Self, UsageError> {
        let kind = heading.need(&["type"])?;
        let date = heading.need(&["date"])?;
        let start = heading.need(&["start time"])?;
        let end = heading.need(&["end time"])?;
        let units = heading.take(&["units", "unit"])?;
        let notes = heading.take(&["notes", "note"])?;
        heading.ignore(|name| name.starts_with("cost"));
        let mut values = Vec::new();
        for (word, direction) in
            [("usage", Direction::Import), ("import", Direction::Import), ("export", Direction::Export)]
        {
            let is_it = |name: &str| name.split('(').next().is_some_and(|first| first.trim_end() == word);
            let Some(idx) = heading.take_where(is_it)? else { continue };
            let unit = unit_in_brackets(heading.name(idx)).map(str::to_owned);
            if unit.is_none() && units.is_none() && options.unit.is_none() {
                let name = heading.name(idx);
                let message = format!("neither {name:?} nor a column UNITS says the unit; give it with --unit kWh");
                return Err(UsageError::new(UsageCode::UnitNeeded, message).in_field(name).at_line(heading.line));
            }
            values.push((idx, heading.name(idx).to_owned(), direction, unit));
        }
        heading.finish()?;
        let has = |word: &str| values.iter().any(|(_, name, ..)| plain(name).starts_with(word));
        if values.is_empty() || has("usage") && values.len() > 1 {
            let message = if values.is_empty() {
                "the header has no column USAGE, IMPORT or EXPORT"
            } else {
                "USAGE stands beside IMPORT or EXPORT: that energy would count twice"
            };
            return Err(UsageError::new(UsageCode::BadHeader, message).in_field("USAGE").at_line(heading.line));
        }
        Ok(Self { n: heading.len(), kind, date, start, end, units, notes, values })
    }
}

/// The series of rows of one `TYPE` and unit.
#[derive(Debug)]
struct OfType {
    kind: Vec<u8>,
    units: Vec<u8>,
    is_gas: bool,
    series: Vec<(usize, NumberFormat)>,
}

/// The rows while they are read.
struct Rows<'o> {
    columns: Columns,
    meter: Option<String>,
    dates: Dates,
    options: &'o ReadOptions,
    collector: Collector,
    types: Vec<OfType>,
    /// Cells of a row: some sites leave the last column, the notes, out of every row.
    n_cells: Option<usize>,
    said_negative: bool,
}

impl Rows<'_> {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let columns = &self.columns;
        let without_notes = columns.notes == Some(columns.n - 1) && row.len() == columns.n - 1;
        let n_cells = *self.n_cells.get_or_insert(if without_notes { columns.n - 1 } else { columns.n });
        row.expect_len(n_cells)?;
        let of_type_idx = self.of_type(row)?;
        let columns = &self.columns;
        let day = self.dates.read(row.text(columns.date)?).map_err(|e| e.in_field("DATE"))?;
        let start = parse_clock(row.text(columns.start)?).map_err(|e| e.in_field("START TIME"))?;
        let end = parse_clock(row.text(columns.end)?).map_err(|e| e.in_field("END TIME"))?;
        let times = times(&mut self.collector, day, start, end);
        let note = columns.notes.map(|idx| row.text(idx)).transpose()?.unwrap_or("");
        let is_estimated = note.to_ascii_lowercase().contains("estimate");
        let quality = if is_estimated { Quality::Estimated } else { Quality::Measured };
        self.collector.count_row();
        for ((idx, name, ..), (series_idx, numbers)) in columns.values.iter().zip(&self.types[of_type_idx].series) {
            let value = cell(row.text(*idx)?, *numbers, quality).map_err(|e| e.in_field(name))?;
            if matches!(value, Cell::Value(..0, _)) && !self.said_negative {
                self.said_negative = true;
                let detail = "negative usage is more fed in than taken; it keeps its sign";
                self.collector.warn("negative_usage", Some(row.line), detail);
            }
            let rank = Rank::default();
            push_unless_skipped(&mut self.collector, *series_idx, row.line, times.clone(), value, rank)?;
        }
        Ok(())
    }

    /// The series of the row's type and unit, made on first sight.
    fn of_type(&mut self, row: TableRow<'_>) -> Result<usize, UsageError> {
        let kind = row.bytes(self.columns.kind);
        let units = self.columns.units.map_or(&b""[..], |idx| row.bytes(idx));
        if let Some(idx) = self.types.iter().position(|of_type| of_type.kind == kind && of_type.units == units) {
            return Ok(idx);
        }
        if self.types.len() == MAX_TYPES {
            let message = format!("more than {MAX_TYPES} kinds of usage: split the file");
            return Err(UsageError::new(UsageCode::TooLarge, message).in_field("TYPE"));
        }
        let name = row.text(self.columns.kind)?;
        let words = plain(name);
        let is_gas = words.contains("gas");
        if !is_gas && !words.contains("electric") {
            let message = format!("{:?} is neither electric nor gas", clip(name));
            return Err(UsageError::new(UsageCode::NotElectricity, message).in_field("TYPE"));
        }
        let units_text = self.columns.units.map(|idx| row.text(idx)).transpose()?;
        let mut series = Vec::new();
        for (_, column, direction, in_brackets) in &self.columns.values {
            let said = units_text.filter(|text| !text.is_empty()).or(in_brackets.as_deref()).unwrap_or("");
            let (direction, unit_text, quantity, format) = if is_gas {
                (Direction::Other, said.to_owned(), Quantity::Other, NumberFormat::KWH)
            } else {
                let unit: Unit = unit_of(self.options, said).map_err(|e| e.in_field(column))?;
                (*direction, unit.as_str().to_owned(), unit.quantity(), numbers(unit, b'.'))
            };
            let word = column.split('(').next().unwrap_or_default().trim_end();
            let channel = if is_gas { format!("{name} {word}") } else { word.to_owned() };
            let label =
                SeriesLabel { meter: self.meter.clone(), channel: Some(channel), direction, unit: unit_text, quantity };
            series.push((self.collector.series(&label)?, format));
        }
        self.types.push(OfType { kind: kind.to_owned(), units: units.to_owned(), is_gas, series });
        Ok(self.types.len() - 1)
    }
}

/// The interval from a start to its last minute, or to its end where that is what falls on five minutes.
fn times(collector: &mut Collector, day: chrono::NaiveDate, start: u32, end: u32) -> Result<Times, UsageError> {
    let end = if end < start { end + 1440 } else { end };
    let n_minutes = if (end + 1 - start).is_multiple_of(5) { end + 1 - start } else { end - start };
    let from = Stamp::local(day, start)?;
    if n_minutes == 1440 {
        return collector.between(from, Stamp::local(day, start + 1440)?);
    }
    collector
        .starting(from)
        .and_then(|times| times.lasting(i64::from(n_minutes) * 60))
        .map_err(|e| e.in_field("START TIME"))
}
