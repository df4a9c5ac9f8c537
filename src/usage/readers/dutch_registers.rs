//! Daily files of Dutch suppliers (`datum`, `afname`, `invoeding`): standings of the meter and what was used, side by side.
//!
//! ```text
//! datum;"afname stand dal";…;"afname verbruik dal";"afname verbruik normaal";"invoeding productie dal";…
//! 25-01-2024;1367;…;6;13;0;-4;15
//! ```
//!
//! Only the columns of use (`afname verbruik`) and of what was fed in (`invoeding productie`, `invoeding verbruik`) are
//! energy of the local day; the registers of the low (`dal`) and the normal tariff are parts and are added. What was fed in
//! is written as negative or as positive, one way in a file; it is read as positive. Standings (`stand`) and what is netted
//! (`afname minus invoeding`) say the same again and are never read.

use super::super::collect::{Cell, Collector, Rank};
use super::super::file::{Direction, SeriesLabel};
use super::super::stamp::{DateOrder, Stamp};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell, delimiter_of, numbers, push_unless_skipped};

/// The reader of Dutch daily files.
#[derive(Debug, Clone, Copy)]
pub(super) struct DutchRegisters;

impl UsageReader for DutchRegisters {
    fn format(&self) -> &'static str {
        "dutch_registers"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b';');
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns::new(&mut heading)?;
        let mut collector = Collector::new(options);
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let mut series = Vec::with_capacity(columns.values.len());
        for value in &columns.values {
            let label = SeriesLabel {
                channel: Some(value.channel.to_owned()),
                unit: unit.as_str().to_owned(),
                quantity: unit.quantity(),
                ..SeriesLabel::energy(value.direction)
            };
            series.push(collector.series(&label)?);
        }
        let mut rows = Rows {
            heading,
            columns,
            unit,
            series,
            dates: Dates::new(options, DateOrder::DayMonthYear),
            export_sign: 0,
            collector,
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        let values_per_row = rows.columns.values.len() as u64;
        let mut file = rows.collector.finish(self.format())?;
        file.values_per_row = values_per_row;
        Ok(file)
    }
}

fn is_heading(names: &[String]) -> bool {
    names.iter().any(|name| matches!(name.as_str(), "datum" | "date"))
        && names.iter().any(|name| is_use(name) || is_fed_in(name))
}

fn is_use(name: &str) -> bool {
    name.starts_with("afname verbruik") || name.starts_with("levering verbruik")
}

fn is_fed_in(name: &str) -> bool {
    name.starts_with("invoeding productie")
        || name.starts_with("invoeding verbruik")
        || name.starts_with("teruglevering verbruik")
}

/// A column of energy.
#[derive(Debug, Clone, Copy)]
struct Value {
    idx: usize,
    channel: &'static str,
    direction: Direction,
    part: u8,
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    date: usize,
    values: Vec<Value>,
}

impl Columns {
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        let date = heading.need(&["datum", "date"])?;
        let mut values = Vec::new();
        for (idx, name) in heading.plain().iter().enumerate() {
            let (channel, direction) = match name {
                name if is_use(name) => ("afname verbruik", Direction::Import),
                name if is_fed_in(name) => ("invoeding productie", Direction::Export),
                _ => continue,
            };
            let part = match name.rsplit(' ').next() {
                // Beside its parts a total would count twice.
                Some("totaal") if heading.plain().iter().any(|other| other != name && other.starts_with(channel)) => {
                    continue;
                }
                Some("dal" | "laag" | "totaal" | "verbruik" | "productie" | "enkel") => 0,
                Some("normaal" | "hoog") => 1,
                _ => continue,
            };
            if values.iter().any(|other: &Value| other.direction == direction && other.part == part) {
                let message = format!("the column {name:?} is there twice");
                let error = UsageError::new(UsageCode::BadHeader, message);
                return Err(error.in_field(heading.name(idx)).at_line(heading.line));
            }
            values.push(Value { idx, channel, direction, part });
        }
        let taken: Vec<String> = values.iter().map(|value| heading.plain()[value.idx].clone()).collect();
        heading.ignore(|name| {
            let words = |word: &str| name.split(' ').any(|other| other == word);
            taken.iter().any(|taken| taken == name)
                || words("stand")
                || words("minus")
                || (is_use(name) || is_fed_in(name)) && words("totaal")
                || words("kosten")
        });
        heading.finish()?;
        Ok(Self { date, values })
    }
}

/// The rows while they are read.
struct Rows {
    heading: Heading,
    columns: Columns,
    unit: Unit,
    series: Vec<usize>,
    dates: Dates,
    /// How this file writes what was fed in: -1, 1, or 0 while it was nothing.
    export_sign: i64,
    collector: Collector,
}

impl Rows {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        self.heading.check(row)?;
        let field = |idx: usize| self.heading.name(idx).to_owned();
        let day = self.dates.read(row.text(self.columns.date)?).map_err(|e| e.in_field(field(self.columns.date)))?;
        let (start, end) = (Stamp::local(day, 0)?, Stamp::local(day, 1440)?);
        let times = self.collector.between(start, end);
        self.collector.count_row();
        for (value, series_idx) in self.columns.values.iter().zip(&self.series) {
            let text = row.text(value.idx)?;
            let decimal_sign = if text.contains(',') { b',' } else { b'.' };
            let cell = cell(text, numbers(self.unit, decimal_sign), Quality::Measured)
                .map_err(|e| e.in_field(field(value.idx)))?;
            let cell = match cell {
                Cell::Value(number, quality) if value.direction == Direction::Export && number != 0 => {
                    if self.export_sign == -number.signum() {
                        let message = "what was fed in is written as negative in some rows and as positive in others";
                        return Err(UsageError::new(UsageCode::BadNumber, message).in_field(field(value.idx)));
                    }
                    self.export_sign = number.signum();
                    Cell::Value(number.abs(), quality)
                }
                cell => cell,
            };
            let rank = Rank { version: 0, part: value.part };
            push_unless_skipped(&mut self.collector, *series_idx, row.line, times.clone(), cell, rank)?;
        }
        Ok(())
    }
}
