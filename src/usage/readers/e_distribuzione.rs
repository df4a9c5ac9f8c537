//! Quarter hours of e-distribuzione (Italy): a row a local day, a column an interval.
//!
//! ```text
//! Giorno;00:00-00:15;00:15-00:30;…;23:45-24:00
//! "01/09/2024";"0,139";"0,258";…
//! ```
//!
//! Day first, decimal comma. On the day on which the clock goes forward the columns of the skipped hour are blank or zero, or the
//! row has 92 values (or four blanks at its end) and counts them as they pass. When it goes back a row may have 100
//! values, as they pass, or the columns of the hour twice; with 96 values one showing of the hour is missing, and that
//! is said.

use chrono::NaiveDate;

use super::super::collect::{Cell, Collector, Rank};
use super::super::file::{Direction, SeriesLabel};
use super::super::number::NumberFormat;
use super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Dates, Heading, cell, delimiter_of, numbers, push_unless_skipped};
use super::recent::Recent;

/// Minutes of a day on the clock.
const DAY: u32 = 1440;

/// The reader of e-distribuzione's files.
#[derive(Debug, Clone, Copy)]
pub(super) struct EDistribuzione;

impl UsageReader for EDistribuzione {
    fn format(&self) -> &'static str {
        "e_distribuzione"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b';');
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let columns = Columns::new(&mut heading)?;
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let mut rows = Rows {
            heading,
            columns,
            unit,
            format: numbers(unit, b','),
            dates: Dates::new(options, DateOrder::DayMonthYear),
            series: Recent::new(),
            cells: Vec::new(),
            collector: Collector::new(options),
        };
        while let Some(row) = table.next_row()? {
            rows.read(row).map_err(|e| e.at_line(row.line))?;
        }
        rows.collector.finish(self.format())
    }
}

fn is_heading(names: &[String]) -> bool {
    names.iter().any(|name| name == "giorno") && names.iter().filter(|name| interval(name).is_some()).count() >= 2
}

/// Start and length in minutes of a column `00:15-00:30`.
fn interval(name: &str) -> Option<(u32, u32)> {
    let (start, end) = name.split_once('-')?;
    let (start, end) = (parse_clock(start).ok()?, parse_clock(end).ok()?);
    let end = if end == 0 { DAY } else { end };
    (end > start).then(|| (start, end - start))
}

/// A column of one interval of the day.
#[derive(Debug, Clone, Copy)]
struct Interval {
    idx: usize,
    start: u32,
    /// An earlier column has the same name: the second showing of an hour, blank on all other days.
    is_repeat: bool,
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    pod: Option<usize>,
    day: usize,
    intervals: Vec<Interval>,
    /// Length of each, minutes.
    step: u32,
    /// The intervals follow each other from midnight to midnight, in the last columns of the table.
    is_regular: bool,
}

impl Columns {
    fn new(heading: &mut Heading) -> Result<Self, UsageError> {
        let pod = heading.take(&["pod", "codice pod"])?;
        let day = heading.need(&["giorno"])?;
        let mut intervals: Vec<Interval> = Vec::new();
        let mut step = 0;
        for (idx, name) in heading.plain().iter().enumerate() {
            let Some((start, minutes)) = interval(name) else { continue };
            if step != 0 && minutes != step {
                let message = format!("the column lasts {minutes} minutes and those before it {step}");
                let error = UsageError::new(UsageCode::BadHeader, message);
                return Err(error.in_field(heading.name(idx)).at_line(heading.line));
            }
            step = minutes;
            let is_repeat = intervals.iter().any(|other| other.start == start);
            intervals.push(Interval { idx, start, is_repeat });
        }
        heading.ignore(|name| interval(name).is_some() || name.starts_with("totale"));
        heading.finish()?;
        let first = intervals[0].idx;
        let follows =
            |(n, interval): (u32, &Interval)| interval.start == n * step && interval.idx == first + n as usize;
        let is_regular = (0_u32..).zip(&intervals).all(follows)
            && u32::try_from(intervals.len()).is_ok_and(|n| n * step == DAY)
            && first + intervals.len() == heading.len();
        Ok(Self { pod, day, intervals, step, is_regular })
    }
}

/// The rows while they are read.
struct Rows {
    heading: Heading,
    columns: Columns,
    unit: Unit,
    format: NumberFormat,
    dates: Dates,
    series: Recent<usize>,
    /// Of the row that is read.
    cells: Vec<Cell>,
    collector: Collector,
}

impl Rows {
    /// One row into the collector. Errors come without their line.
    fn read(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let Self { columns, collector, series, unit, .. } = self;
        let day = self.dates.read(row.text(columns.day)?).map_err(|e| e.in_field("Giorno"))?;
        let pod_cell = columns.pod.map_or(&b""[..], |idx| row.bytes(idx));
        let series_idx = series.get(&[pod_cell], || {
            let pod = columns.pod.map(|idx| row.text(idx)).transpose()?.filter(|pod| !pod.is_empty());
            collector.series(&SeriesLabel {
                meter: pod.map(str::to_owned),
                unit: unit.as_str().to_owned(),
                quantity: unit.quantity(),
                ..SeriesLabel::energy(Direction::Import)
            })
        })?;
        Stamp::local(day, 0).map_err(|e| e.in_field("Giorno"))?;
        let clock = collector.clock(&day).map_err(|e| e.in_field("Giorno"))?;
        let start = clock.start_of_day(day)?;
        let end = clock.start_of_day(day.succ_opt().unwrap_or(day))?;
        let minutes = u32::try_from((end - start) / 60).unwrap_or(DAY);
        let n_of_day = (minutes / columns.step) as usize;
        let first = columns.intervals[0].idx;
        let counts_as_they_pass = minutes != DAY && row.len() == first + n_of_day && columns.is_regular;
        if !counts_as_they_pass {
            self.heading.check(row)?;
        }
        self.collector.count_row();
        self.read_cells(row, if counts_as_they_pass { n_of_day } else { self.columns.intervals.len() })?;
        let ends_blank = minutes < DAY
            && self.columns.is_regular
            && self.cells.iter().skip(n_of_day).all(|cell| *cell == Cell::Blank);
        if minutes == DAY && self.columns.is_regular || counts_as_they_pass {
            return self.push_from(series_idx, row.line, start, n_of_day);
        }
        if ends_blank && self.holds_skipped(day)? {
            return self.push_from(series_idx, row.line, start, n_of_day);
        }
        for (interval, cell) in self.columns.intervals.iter().zip(&self.cells) {
            if interval.is_repeat && *cell == Cell::Blank {
                continue;
            }
            let seconds = i64::from(self.columns.step) * 60;
            let times = Stamp::local(day, interval.start)
                .and_then(|stamp| self.collector.starting(stamp))
                .and_then(|times| times.lasting(seconds))
                .map_err(|e| e.in_field(self.heading.name(interval.idx)));
            push_unless_skipped(&mut self.collector, series_idx, row.line, times, *cell, Rank::default())?;
        }
        Ok(())
    }

    /// The cells of a row from its first interval on.
    fn read_cells(&mut self, row: TableRow<'_>, n: usize) -> Result<(), UsageError> {
        self.cells.clear();
        let first = self.columns.intervals[0].idx;
        for n in 0..n {
            let idx = self.columns.intervals.get(n).map_or(first + n, |interval| interval.idx);
            let cell = cell(row.text(idx)?, self.format, Quality::Measured)
                .map_err(|e| if idx < self.heading.len() { e.in_field(self.heading.name(idx)) } else { e })?;
            self.cells.push(cell);
        }
        Ok(())
    }

    /// The first `n` cells as intervals that follow each other from `start`.
    fn push_from(&mut self, series_idx: usize, line: u64, start: i64, n: usize) -> Result<(), UsageError> {
        let times = self.collector.starting(Stamp::epoch(start)?)?.lasting(i64::from(self.columns.step) * 60)?;
        for (idx, cell) in self.cells.iter().take(n).enumerate() {
            self.collector.push(series_idx, line, times.later(idx), *cell)?;
        }
        Ok(())
    }

    /// Whether the columns of the hour that the clock skips hold energy.
    fn holds_skipped(&mut self, day: NaiveDate) -> Result<bool, UsageError> {
        for (interval, cell) in self.columns.intervals.iter().zip(&self.cells) {
            let stamp = Stamp::local(day, interval.start)?;
            let is_skipped = self.collector.starting(stamp).is_err();
            if is_skipped && !is_nothing(*cell) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_nothing(cell: Cell) -> bool {
    matches!(cell, Cell::Blank | Cell::Value(0, _))
}
