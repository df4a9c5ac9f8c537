//! Downloads of Ameren (Illinois and Missouri): the energy in steps of two lengths side by side.
//!
//! ```text
//! Meter Number,00000001        lines of names and values, then
//! Start Interval Date/Time,Meter Id,Usage,Units,Interval,Usage,Units,Interval
//! 04/01/2024 00:00,00000001,1.87,kwh,60min,0.43,kwh,15min
//! 04/01/2024 00:15,00000001,-,-,-,0.52,kwh,15min
//! ```
//!
//! Each `Usage` with its `Units` and `Interval` is a series of its own, named by its interval: they repeat the same energy
//! and are never added. Times are starts on the local clock (`--stamp end` makes them ends), month first. A dash is an empty cell: where `Interval` is
//! one, there is no interval at all; where only `Usage` is one, its energy is not known.

use super::super::collect::{Cell, Collector, Rank};
use super::super::detect::StampSide;
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::generic::is_blank;
use super::heading::{Dates, Heading, cell, delimiter_of, numbers, plain, push_unless_skipped, stamped, unit_of};
use super::recent::Recent;

/// The reader of Ameren's downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ameren;

impl UsageReader for Ameren {
    fn format(&self) -> &'static str {
        "ameren"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let mut commodity = String::new();
        let mut heading = Heading::find(&mut table, is_heading, |row| {
            if let [name, value, ..] = row
                && plain(name) == "commodity"
            {
                commodity = plain(value);
            }
        })?;
        if commodity.contains("gas") {
            let message = "the file is of gas; ask the site for the electric meter";
            return Err(UsageError::new(UsageCode::NotElectricity, message));
        }
        let columns = Columns::new(&mut heading)?;
        let mut rows = Rows {
            dates: Dates::new(options, DateOrder::MonthDayYear),
            collector: Collector::new(options),
            series: columns.groups.iter().map(|_| Recent::new()).collect(),
            heading,
            columns,
            options,
            said_negative: false,
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        rows.collector.finish(self.format())
    }
}

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("start interval date/time") && has("usage") && has("interval")
}

/// Columns of one `Usage`.
#[derive(Debug, Clone, Copy)]
struct Group {
    usage: usize,
    units: usize,
    interval: usize,
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    start: usize,
    meter: Option<usize>,
    groups: Vec<Group>,
}

impl Columns {
    /// The nth `Usage` goes with the nth `Units` and the nth `Interval`.
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        let start = heading.need(&["start interval date/time"])?;
        let meter = heading.take(&["meter id", "meter number"])?;
        let places = |wanted: &str| -> Vec<usize> {
            let plain = heading.plain().iter().enumerate();
            plain.filter(|(_, name)| *name == wanted).map(|(idx, _)| idx).collect()
        };
        let (usages, units, intervals) = (places("usage"), places("units"), places("interval"));
        if usages.len() != units.len() || usages.len() != intervals.len() {
            let message = "every column Usage needs a column Units and a column Interval";
            return Err(UsageError::new(UsageCode::BadHeader, message).in_field("Usage").at_line(heading.line));
        }
        heading.ignore(|name| matches!(name, "usage" | "units" | "interval"));
        heading.finish()?;
        let groups = usages.into_iter().zip(units).zip(intervals);
        let groups = groups.map(|((usage, units), interval)| Group { usage, units, interval }).collect();
        Ok(Self { start, meter, groups })
    }
}

/// A series, the length of its intervals in seconds, and how its numbers are read.
type OfGroup = (usize, i64, NumberFormat);

/// The rows while they are read.
struct Rows<'o> {
    heading: Heading,
    columns: Columns,
    dates: Dates,
    options: &'o ReadOptions,
    collector: Collector,
    /// Of each group, by meter, unit and interval.
    series: Vec<Recent<OfGroup>>,
    said_negative: bool,
}

impl Rows<'_> {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let Self { heading, columns, dates, options, collector, series, said_negative } = self;
        heading.check(row)?;
        let start = dates
            .read_first(row.text(columns.start)?)
            .and_then(|(day, clock)| Stamp::local(day, parse_clock(clock)?))
            .and_then(|stamp| stamped(collector, stamp, options.stamp, StampSide::Start))
            .map_err(|e| e.in_field("Start Interval Date/Time"));
        collector.count_row();
        for (group, recent) in columns.groups.iter().zip(series) {
            let interval = row.text(group.interval)?;
            let usage = row.text(group.usage)?;
            if is_blank(interval) {
                if !is_blank(usage) {
                    let message = "a usage without its interval; write 15min or 60min";
                    return Err(UsageError::new(UsageCode::IntervalUnknown, message).in_field("Interval"));
                }
                continue;
            }
            let meter_cell = columns.meter.map_or(&b""[..], |idx| row.bytes(idx));
            let cells = [meter_cell, row.bytes(group.units), row.bytes(group.interval)];
            let (series_idx, seconds, format) = recent.get(&cells, || {
                let unit = unit_of(options, row.text(group.units)?).map_err(|e| e.in_field("Units"))?;
                let seconds = interval_seconds(interval)?;
                let meter = columns.meter.map(|idx| row.text(idx)).transpose()?.filter(|meter| !meter.is_empty());
                let label = SeriesLabel {
                    meter: meter.map(str::to_owned),
                    channel: Some(interval.to_owned()),
                    direction: Direction::Import,
                    unit: unit.as_str().to_owned(),
                    quantity: unit.quantity(),
                };
                Ok((collector.series(&label)?, seconds, numbers(unit, b'.')))
            })?;
            let value = cell(usage, format, Quality::Measured).map_err(|e| e.in_field("Usage"))?;
            if matches!(value, Cell::Value(..0, _)) && !*said_negative {
                *said_negative = true;
                let detail = "negative usage is more fed in than taken; it keeps its sign";
                collector.warn("negative_usage", Some(row.line), detail);
            }
            let times = start.clone().and_then(|times| times.lasting(seconds).map_err(|e| e.in_field("Interval")));
            push_unless_skipped(collector, series_idx, row.line, times, value, Rank::default())?;
        }
        Ok(())
    }
}

/// Seconds of `60min`, `15 min`, `1 hour`, `1day`.
fn interval_seconds(text: &str) -> Result<i64, UsageError> {
    let bad = || {
        let message = format!("{:?} is no interval like 15min or 60min", clip(text));
        UsageError::new(UsageCode::IntervalLength, message).in_field("Interval")
    };
    let plain = plain(text);
    let n_digits = plain.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = plain[..n_digits].parse().map_err(|_| bad())?;
    let minutes = match plain[n_digits..].trim() {
        "min" | "mins" | "minutes" | "minute" | "" => 1,
        "hour" | "hours" | "hr" | "h" => 60,
        _ => return Err(bad()),
    };
    number.checked_mul(minutes * 60).ok_or_else(bad)
}
