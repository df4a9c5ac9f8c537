//! Histories of use of Fluvius (Flanders), in its English and its Dutch headings.
//!
//! ```text
//! From (date);From (time);Until (date);Until (time);EAN code;Meter;Meter type;Register;Volume;Unit;Validation status;…
//! 22/10/2023;00:15:00;22/10/2023;00:30:00;="000000000000000000";METER0001;Digital meter;Offtake Night;0,173;kWh;Read;
//! ```
//!
//! Local times, day first, decimal comma. `Register` is `Offtake` (`Afname`: taken) or `Injection` (`Injectie`: fed in), by
//! day and by night: the two are parts of one series and are added. `Volume` is empty where nothing was read ("No
//! consumption", "Geen verbruik"). `Read`/`Uitgelezen` is measured, `Estimated`/`Geschat` estimated. A file with
//! cubic metres is of gas.

use super::super::collect::{Collector, Rank};
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell_of_word, delimiter_of, numbers, plain, push_unless_skipped, unit_of};
use super::recent::Recent;

/// The reader of Fluvius' histories.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fluvius;

impl UsageReader for Fluvius {
    fn format(&self) -> &'static str {
        "fluvius"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b';');
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns::new(&mut heading)?;
        let mut rows = Rows {
            heading,
            columns,
            options,
            dates: [Dates::new(options, DateOrder::DayMonthYear), Dates::new(options, DateOrder::DayMonthYear)],
            series: Recent::new(),
            collector: Collector::new(options),
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        rows.collector.finish(self.format())
    }
}

const FROM_DATE: &[&str] = &["from (date)", "from date", "van (datum)", "van datum"];
const FROM_TIME: &[&str] = &["from (time)", "from time", "van (tijdstip)", "van tijdstip"];
const UNTIL_DATE: &[&str] = &["until (date)", "until date", "to (date)", "to date", "tot (datum)", "tot datum"];
const UNTIL_TIME: &[&str] = &["until (time)", "until time", "to (time)", "to time", "tot (tijdstip)", "tot tijdstip"];

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    has(FROM_DATE) && has(&["register"]) && has(&["volume"])
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    from: [usize; 2],
    until: [usize; 2],
    ean: Option<usize>,
    register: usize,
    volume: usize,
    unit: usize,
    status: Option<usize>,
}

impl Columns {
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        let columns = Self {
            from: [heading.need(FROM_DATE)?, heading.need(FROM_TIME)?],
            until: [heading.need(UNTIL_DATE)?, heading.need(UNTIL_TIME)?],
            ean: heading.take(&["ean code", "ean-code", "ean"])?,
            register: heading.need(&["register"])?,
            volume: heading.need(&["volume"])?,
            unit: heading.need(&["unit", "eenheid"])?,
            status: heading.take(&["validation status", "validatiestatus"])?,
        };
        heading.ignore(|name| {
            matches!(name, "meter" | "meter type" | "metertype" | "description" | "omschrijving" | "name" | "naam")
        });
        heading.finish()?;
        Ok(columns)
    }
}

/// A series, the part of it that a register is, and how its numbers are read.
type OfRegister = (usize, u8, NumberFormat);

/// The rows while they are read.
struct Rows<'o> {
    heading: Heading,
    columns: Columns,
    options: &'o ReadOptions,
    /// Of the beginning and of the end.
    dates: [Dates; 2],
    series: Recent<OfRegister>,
    collector: Collector,
}

impl Rows<'_> {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let Self { heading, columns, options, dates, series, collector } = self;
        heading.check(row)?;
        let [from_dates, until_dates] = dates;
        let stamp = |dates: &mut Dates, [date, time]: [usize; 2]| -> Result<Stamp, UsageError> {
            let day = dates.read(row.text(date)?).map_err(|e| e.in_field(heading.name(date)))?;
            let minutes = parse_clock(row.text(time)?).map_err(|e| e.in_field(heading.name(time)))?;
            Stamp::local(day, minutes).map_err(|e| e.in_field(heading.name(date)))
        };
        let (start, end) = (stamp(from_dates, columns.from)?, stamp(until_dates, columns.until)?);
        let ean_cell = columns.ean.map_or(&b""[..], |idx| row.bytes(idx));
        let cells = [ean_cell, row.bytes(columns.register), row.bytes(columns.unit)];
        let (series_idx, part, format) = series.get(&cells, || {
            let ean = columns.ean.map(|idx| row.text(idx)).transpose()?.filter(|ean| !ean.is_empty());
            let register = row.text(columns.register)?;
            let (channel, direction, part) =
                register_of(register).map_err(|e| e.in_field(heading.name(columns.register)))?;
            let said = row.text(columns.unit)?;
            let (unit, quantity, format) =
                unit_of_row(said, options).map_err(|e| e.in_field(heading.name(columns.unit)))?;
            let label = SeriesLabel {
                meter: ean.map(str::to_owned),
                channel: Some(channel),
                direction: if quantity == Quantity::Other { Direction::Other } else { direction },
                unit,
                quantity,
            };
            Ok((collector.series(&label)?, part, format))
        })?;
        let status = columns.status.map(|idx| row.text(idx)).transpose()?.unwrap_or("");
        let cell = cell_of_word(collector, row.line, row.text(columns.volume)?, status, format)
            .map_err(|e| e.in_field(heading.name(columns.volume)))?;
        let times = collector.between(start, end);
        collector.count_row();
        push_unless_skipped(collector, series_idx, row.line, times, cell, Rank { version: 0, part })
    }
}

/// The series and the part of it that a register is: `Offtake Night` is part of `Offtake`.
fn register_of(register: &str) -> Result<(String, Direction, u8), UsageError> {
    let unknown = || {
        let message =
            format!("the register {:?} is not known; known are offtake and injection by day and night", clip(register));
        UsageError::new(UsageCode::UnknownColumn, message)
    };
    let (word, rest) = register.split_once(' ').unwrap_or((register, ""));
    let direction = match plain(word).as_str() {
        "offtake" | "afname" => Direction::Import,
        "injection" | "injectie" => Direction::Export,
        _ => return Err(unknown()),
    };
    match plain(rest).as_str() {
        "day" | "dag" => Ok((word.to_owned(), direction, 0)),
        "night" | "nacht" => Ok((word.to_owned(), direction, 1)),
        "exclusive night" | "exclusief nacht" | "uitsluitend nacht" => Ok((word.to_owned(), direction, 2)),
        // The sum of the parts: a series of its own, so that it is never added to them.
        "" | "total" | "totaal" => Ok((format!("{word} total"), direction, 0)),
        _ => Err(unknown()),
    }
}

fn unit_of_row(said: &str, options: &ReadOptions) -> Result<(String, Quantity, NumberFormat), UsageError> {
    if matches!(said, "m³" | "m3") {
        let message = "the file is of gas; download the history of the electricity meter";
        return Err(UsageError::new(UsageCode::NotElectricity, message));
    }
    if said.to_ascii_lowercase().contains("var") {
        let format = NumberFormat { decimal_sign: b',', ..NumberFormat::KWH };
        return Ok((said.to_owned(), Quantity::Other, format));
    }
    let unit = unit_of(options, said)?;
    Ok((unit.as_str().to_owned(), unit.quantity(), numbers(unit, b',')))
}
