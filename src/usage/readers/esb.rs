//! Half-hourly files of ESB Networks (Ireland).
//!
//! ```text
//! MPRN,Meter Serial Number,Read Value,Read Type,Read Date and End Time
//! 10000000000,000000000000000001,0.190000,Active Import Interval (kW),05-02-2026 00:00
//! ```
//!
//! Times are the ends of half hours on the local clock, day first, newest first; midnight closes the day before. `Read Type`
//! tells direction and unit: `(kW)` is the mean power of the half hour, `(kWh)` its energy. A read type with the word
//! `Register` holds standings at midnight. What is reactive is kept apart and never billed.

use super::super::collect::{Collector, Rank, Times};
use super::super::detect::StampSide;
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{
    Dates, Heading, cell, delimiter_of, numbers, plain, push_unless_skipped, stamped, unit_in_brackets, unit_of,
};
use super::recent::Recent;

/// The interval of these files, seconds.
const HALF_HOUR: i64 = 1800;

/// The reader of ESB Networks' files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Esb;

impl UsageReader for Esb {
    fn format(&self) -> &'static str {
        "esb"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns {
            mprn: heading.take(&["mprn"])?,
            value: heading.need(&["read value"])?,
            kind: heading.need(&["read type"])?,
            end: heading.need(&["read date and end time"])?,
        };
        heading.ignore(|name| name == "meter serial number");
        heading.finish()?;
        let mut dates = Dates::new(options, DateOrder::DayMonthYear);
        let mut collector = Collector::new(options);
        let mut series = Recent::new();
        while let Some(row) = table.next_row()? {
            let outcome = heading
                .check(row)
                .and_then(|()| columns.read_row(row, options, &mut dates, &mut series, &mut collector));
            outcome.map_err(|e| e.at_line(row.line))?;
        }
        collector.finish(self.format())
    }
}

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("read value") && has("read type") && has("read date and end time")
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    mprn: Option<usize>,
    value: usize,
    kind: usize,
    end: usize,
}

/// A series, whether it holds standings, and how its numbers are read.
type OfKind = (usize, bool, NumberFormat);

impl Columns {
    /// One row into the collector. Errors come without their line.
    fn read_row(
        &self,
        row: TableRow<'_>,
        options: &ReadOptions,
        dates: &mut Dates,
        series: &mut Recent<OfKind>,
        collector: &mut Collector,
    ) -> Result<(), UsageError> {
        let mprn_cell = self.mprn.map_or(&b""[..], |idx| row.bytes(idx));
        let (series_idx, is_register, format) = series.get(&[mprn_cell, row.bytes(self.kind)], || {
            let mprn = self.mprn.map(|idx| row.text(idx)).transpose()?.filter(|mprn| !mprn.is_empty());
            let (label, format) = label(mprn, row.text(self.kind)?, options).map_err(|e| e.in_field("Read Type"))?;
            Ok((collector.series(&label)?, label.quantity == Quantity::Register, format))
        })?;
        let value = cell(row.text(self.value)?, format, Quality::Measured).map_err(|e| e.in_field("Read Value"))?;
        let at = dates.read_first(row.text(self.end)?).and_then(|(day, clock)| Stamp::local(day, parse_clock(clock)?));
        let times = at.and_then(|at| -> Result<Times, UsageError> {
            if is_register {
                collector.starting(at)
            } else {
                stamped(collector, at, options.stamp, StampSide::End)?.lasting(HALF_HOUR)
            }
        });
        let times = times.map_err(|e| e.in_field("Read Date and End Time"));
        collector.count_row();
        push_unless_skipped(collector, series_idx, row.line, times, value, Rank::default())
    }
}

/// The series of a `Read Type`.
fn label(mprn: Option<&str>, kind: &str, options: &ReadOptions) -> Result<(SeriesLabel, NumberFormat), UsageError> {
    let words = plain(kind);
    let has = |word: &str| words.split([' ', '(', ')']).any(|other| other == word);
    let direction = match (has("import"), has("export")) {
        (true, false) => Direction::Import,
        (false, true) => Direction::Export,
        _ => {
            let message = format!("{:?} says neither import nor export", clip(kind));
            return Err(UsageError::new(UsageCode::UnknownColumn, message));
        }
    };
    let said = unit_in_brackets(kind).unwrap_or("");
    let label = |direction, unit: &str, quantity| SeriesLabel {
        meter: mprn.map(str::to_owned),
        channel: Some(kind.to_owned()),
        direction,
        unit: unit.to_owned(),
        quantity,
    };
    if has("reactive") {
        return Ok((label(Direction::Other, said, Quantity::Other), NumberFormat::KWH));
    }
    let unit = unit_of(options, said)?;
    let format = numbers(unit, b'.');
    if has("register") {
        return Ok((label(direction, unit.as_str(), Quantity::Register), NumberFormat { is_register: true, ..format }));
    }
    if !has("interval") {
        let message =
            format!("{:?} is neither of an interval nor of a register; send the half-hourly file", clip(kind));
        return Err(UsageError::new(UsageCode::NotIntervals, message));
    }
    Ok((label(direction, unit.as_str(), unit.quantity()), format))
}
