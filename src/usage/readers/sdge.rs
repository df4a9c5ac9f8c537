//! Downloads of San Diego Gas & Electric.
//!
//! ```text
//! Meter Number,00000001        lines of names and values, then
//! Meter Number,Date,Start Time,Duration,Consumption,Generation,Net
//! "00000001","2/2/2026","12:00 AM","15","0.0300","0.0000","0.0300"
//! ```
//!
//! `Consumption` is what was taken, `Generation` what was fed in, `Net` the difference of the two. Since 2024 there is
//! also a form with the one column `Consumed`, which is negative where more was fed in than taken; it keeps its sign, and
//! that is said. `Duration` is a number of minutes (or of what `Interval UOM` above says), or the word `Hour` or `Day`.
//! Times are starts (`--stamp end` makes them ends). The unit is that of the line `UOM` above, kWh where there is none.

use std::rc::Rc;

use super::super::collect::{Cell, Collector, Rank};
use super::super::detect::StampSide;
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell, delimiter_of, numbers, plain, push_unless_skipped, stamped, unit_of};
use super::recent::Recent;

/// The reader of San Diego Gas & Electric's downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sdge;

impl UsageReader for Sdge {
    fn format(&self) -> &'static str {
        "sdge"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let (mut unit_text, mut minutes, mut resource) = ("kWh".to_owned(), 1, String::new());
        let mut heading = Heading::find(&mut table, is_heading, |row| {
            let (Some(name), Some(value)) = (row.first(), row.get(1)) else { return };
            match plain(name).as_str() {
                "uom" if !value.is_empty() => unit_text.clone_from(value),
                "resource" => resource = plain(value),
                "interval uom" => minutes = word_minutes(&plain(value)).unwrap_or(1),
                _ => {}
            }
        })?;
        if resource.contains("gas") {
            let message = "the file is of gas; ask the site for the electric meter";
            return Err(UsageError::new(UsageCode::NotElectricity, message));
        }
        let unit = unit_of(options, &unit_text).map_err(|e| e.in_field("UOM").at_line(heading.line))?;
        let columns = Columns::new(&mut heading)?;
        let is_parted = |(_, _, direction): &&(usize, &str, Direction)| *direction != Direction::Net;
        let values_per_row = columns.values.iter().filter(is_parted).count().max(1) as u64;
        let mut rows = Rows {
            heading,
            columns,
            unit,
            minutes_of_duration: minutes,
            side: options.stamp,
            dates: Dates::new(options, DateOrder::MonthDayYear),
            collector: Collector::new(options),
            meters: Recent::new(),
            said_negative: false,
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        let mut file = rows.collector.finish(self.format())?;
        file.values_per_row = values_per_row;
        Ok(file)
    }
}

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("meter number") && has("start time") && has("duration")
}

/// Minutes of one `Duration` in words.
fn word_minutes(word: &str) -> Option<i64> {
    match word.trim_end_matches("(s)").trim_end_matches('s') {
        "minute" | "min" => Some(1),
        "hour" => Some(60),
        "day" => Some(1440),
        _ => None,
    }
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    meter: usize,
    date: usize,
    start: usize,
    duration: usize,
    values: Vec<(usize, &'static str, Direction)>,
}

impl Columns {
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        let meter = heading.need(&["meter number"])?;
        let date = heading.need(&["date"])?;
        let start = heading.need(&["start time"])?;
        let duration = heading.need(&["duration"])?;
        heading.ignore(|name| name.starts_with("cost") || name == "notes");
        let mut values = Vec::new();
        for (name, plain_name, direction) in [
            ("Consumption", "consumption", Direction::Import),
            ("Consumed", "consumed", Direction::Import),
            ("Generation", "generation", Direction::Export),
            ("Generated", "generated", Direction::Export),
            ("Net", "net", Direction::Net),
        ] {
            if let Some(idx) = heading.take(&[plain_name])? {
                values.push((idx, name, direction));
            }
        }
        heading.finish()?;
        if values.is_empty() {
            let message = "the header has no column Consumption or Consumed";
            return Err(UsageError::new(UsageCode::BadHeader, message).in_field("Consumption").at_line(heading.line));
        }
        Ok(Self { meter, date, start, duration, values })
    }
}

/// The rows while they are read.
struct Rows {
    heading: Heading,
    columns: Columns,
    unit: Unit,
    minutes_of_duration: i64,
    /// What the caller said of the times.
    side: Option<StampSide>,
    dates: Dates,
    collector: Collector,
    /// Series of a meter, one a column.
    meters: Recent<Rc<[usize]>>,
    said_negative: bool,
}

impl Rows {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        self.heading.check(row)?;
        let day = self.dates.read(row.text(self.columns.date)?).map_err(|e| e.in_field("Date"))?;
        let start = parse_clock(row.text(self.columns.start)?).map_err(|e| e.in_field("Start Time"))?;
        let minutes = self.minutes(row.text(self.columns.duration)?)?;
        let from = Stamp::local(day, start)?;
        let times = if minutes == 1440 {
            self.collector.between(from, Stamp::local(day, start + 1440)?)
        } else {
            let times = stamped(&mut self.collector, from, self.side, StampSide::Start);
            let times = times.map_err(|e| e.in_field("Start Time"));
            times.and_then(|times| times.lasting(minutes.saturating_mul(60)).map_err(|e| e.in_field("Duration")))
        };
        let series = self.series(row)?;
        let format: NumberFormat = numbers(self.unit, b'.');
        self.collector.count_row();
        for ((idx, name, direction), series_idx) in self.columns.values.iter().zip(series.iter()) {
            let value = cell(row.text(*idx)?, format, Quality::Measured).map_err(|e| e.in_field(*name))?;
            if matches!(value, Cell::Value(..0, _)) && *direction == Direction::Import && !self.said_negative {
                self.said_negative = true;
                let detail = "negative usage is more fed in than taken; it keeps its sign";
                self.collector.warn("negative_usage", Some(row.line), detail);
            }
            push_unless_skipped(&mut self.collector, *series_idx, row.line, times.clone(), value, Rank::default())?;
        }
        Ok(())
    }

    fn minutes(&self, text: &str) -> Result<i64, UsageError> {
        let bad = || {
            let message = format!("{:?} is no duration; known are minutes, Hour and Day", clip(text));
            UsageError::new(UsageCode::IntervalLength, message).in_field("Duration")
        };
        if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
            let number: i64 = text.parse().map_err(|_| bad())?;
            // "60" beside "Interval UOM,Hour(s)" are minutes all the same.
            let factor = if number >= 5 { 1 } else { self.minutes_of_duration };
            return Ok(number * factor);
        }
        let words = plain(text);
        let (number, word) = words.split_once(' ').unwrap_or(("1", &words));
        let number: i64 = number.parse().map_err(|_| bad())?;
        word_minutes(word).and_then(|minutes| minutes.checked_mul(number)).ok_or_else(bad)
    }

    /// The series of the row's meter, one a column.
    fn series(&mut self, row: TableRow<'_>) -> Result<Rc<[usize]>, UsageError> {
        let Self { meters, columns, collector, unit, .. } = self;
        meters.get(&[row.bytes(columns.meter)], || {
            let meter = row.text(columns.meter).map_err(|e| e.in_field("Meter Number"))?;
            let label = |name: &str, direction| SeriesLabel {
                meter: (!meter.is_empty()).then(|| meter.to_owned()),
                channel: Some(name.to_owned()),
                direction,
                unit: unit.as_str().to_owned(),
                quantity: unit.quantity(),
            };
            let labels = columns.values.iter().map(|(_, name, direction)| label(name, *direction));
            labels.map(|label| collector.series(&label)).collect()
        })
    }
}
