//! NEM12: interval readings of the Australian market (AEMO, meter data file format MDFF).
//!
//! | row | holds |
//! | --- | --- |
//! | `100` | the header; seen to be left out: read with a warning |
//! | `200` | one register of one meter point: NMI, suffix (`E1`), unit, minutes of its intervals |
//! | `300` | one day: 1440 / minutes values, the quality of all of them, when they were updated |
//! | `400` | where the quality is `V`: the quality of the values from one to another, counted from 1 |
//! | `500` | a visit to the meter: no energy |
//! | `900` | the end |
//!
//! Days are of market time, UTC+10:00 all year. Files of Western Australia keep UTC+8:00: that is taken where the time
//! zone given is Perth's. Suffixes with E are energy to the customer, with B energy from the customer; others (Q, K, V)
//! are kept apart. Only the Wh family is energy. A row with a later `UpdateDateTime` replaces one of the same register
//! and day. `--unit` gives the unit of E and B registers whose row leaves it out.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::super::collect::{Collector, Rank, Times};
use super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::interval::{allowed_minutes, length_error};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::{DateOrder, Stamp, parse_date};
use super::super::table::{Table, TableRow};
use super::super::unit::Unit;
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};

/// Market time: hours east of UTC.
const MARKET_HOURS: i32 = 10;

/// The same in Western Australia.
const WESTERN_HOURS: i32 = 8;

/// Minutes of a day of market time.
const MINUTES_OF_DAY: i64 = 24 * 60;

/// The reader of NEM12.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nem12;

impl UsageReader for Nem12 {
    fn format(&self) -> &'static str {
        "nem12"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let mut lines = source.head_lines().filter(|line| !line.trim_ascii().is_empty());
        let Some(first) = lines.next() else { return false };
        let cells: Vec<&[u8]> = first.split(|b| *b == b',').map(unquoted).collect();
        let is_kind = |cell: &[u8]| cell.eq_ignore_ascii_case(b"NEM12") || cell.eq_ignore_ascii_case(b"NEM13");
        match cells.as_slice() {
            [b"100", kind, ..] => is_kind(kind),
            [b"200", _, _, _, _, _, _, _, _, ..] => lines.next().is_some_and(|line| line.starts_with(b"300,")),
            [b"250", rest @ ..] => rest.len() > 15,
            _ => false,
        }
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut table = Table::new(source.open()?, b',');
        let mut rows = Rows::new(options);
        while table.advance()? {
            rows.read_row(&mut table).map_err(|e| match e.line {
                Some(_) => e,
                None => e.at_line(table.line()),
            })?;
        }
        rows.settle_day()?;
        if rows.n_rows > 0 && !rows.has_end {
            rows.collector.warn("no_end_row", None, "there is no 900 row at the end: the file may be cut");
        }
        rows.collector.finish(self.format())
    }
}

fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(cell)
}

/// The register that a `200` row begins.
#[derive(Debug)]
struct Register {
    series_idx: usize,
    seconds: i64,
    n_values: usize,
    number: NumberFormat,
}

/// A day whose qualities are still to come in `400` rows.
#[derive(Debug)]
struct OpenDay {
    line: u64,
    times: Times,
    rank: Rank,
    series_idx: usize,
}

/// What a `300` row says besides its values.
struct Day {
    date: NaiveDate,
    /// `None`: `400` rows tell.
    quality: Option<Quality>,
    version: i64,
}

/// The file row by row.
struct Rows<'o> {
    options: &'o ReadOptions,
    collector: Collector,
    offset_seconds: i32,
    register: Option<Register>,
    /// Values of the row that was read last; 0 where the cell is blank.
    values: Vec<i64>,
    /// Which of them are blank.
    blanks: Vec<usize>,
    /// Qualities of an open day so far.
    qualities: Vec<Quality>,
    open_day: Option<OpenDay>,
    n_rows: u64,
    has_end: bool,
}

impl<'o> Rows<'o> {
    fn new(options: &'o ReadOptions) -> Self {
        let is_western = matches!(options.time_zone, Some(Tz::Australia__Perth | Tz::Australia__West));
        let hours = if is_western { WESTERN_HOURS } else { MARKET_HOURS };
        Self {
            options,
            collector: Collector::new(options),
            offset_seconds: hours * 3600,
            register: None,
            values: Vec::new(),
            blanks: Vec::new(),
            qualities: Vec::new(),
            open_day: None,
            n_rows: 0,
            has_end: false,
        }
    }

    fn read_row(&mut self, table: &mut Table<'_>) -> Result<(), UsageError> {
        let line = table.line();
        if let Some(bytes) = table.plain()
            && bytes.starts_with(b"300,")
        {
            self.settle_day()?;
            if let Some(day) = self.read_plain_day(bytes) {
                self.n_rows += 1;
                return self.add_day(line, &day);
            }
        }
        let row = table.row();
        let kind = row.bytes(0);
        if kind != b"400" {
            self.settle_day()?;
        }
        match kind {
            b"300" => self.read_day(row)?,
            b"400" => self.read_qualities(row)?,
            b"200" => self.register = Some(self.read_register(row)?),
            b"500" => {}
            b"100" => self.read_header(row)?,
            b"900" => self.has_end = true,
            b"250" | b"550" => return Err(not_intervals()),
            other => {
                let other = String::from_utf8_lossy(other).into_owned();
                let message =
                    format!("a row of NEM12 begins with 100, 200, 300, 400, 500 or 900, not {:?}", clip(&other));
                return Err(UsageError::new(UsageCode::BadRow, message));
            }
        }
        if self.n_rows == 0 && kind != b"100" {
            let detail = "there is no 100 row at the beginning: read as NEM12 all the same";
            self.collector.warn("no_header_row", Some(row.line), detail);
        }
        self.n_rows += 1;
        Ok(())
    }

    fn read_header(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let kind = row.text(1)?;
        if kind.eq_ignore_ascii_case("NEM13") {
            return Err(not_intervals());
        }
        if !kind.eq_ignore_ascii_case("NEM12") {
            let message = format!("the 100 row says {:?}, not NEM12", clip(kind));
            return Err(UsageError::new(UsageCode::BadHeader, message).in_field("VersionHeader"));
        }
        if row.text(3)?.starts_with("WP") {
            self.warn_of_market_time(row.line);
        }
        Ok(())
    }

    /// Meter points of Western Power keep their own market time.
    fn warn_of_market_time(&mut self, line: u64) {
        if self.options.time_zone.is_none() {
            let detail = "this looks like a file of Western Australia, whose days begin at UTC+8:00; they are read at \
                          UTC+10:00: give --time-zone Australia/Perth (time_zone in the API) if it is one";
            self.collector.warn("market_time_assumed", Some(line), detail);
        }
    }

    fn read_register(&mut self, row: TableRow<'_>) -> Result<Register, UsageError> {
        let cell = |idx: usize, field: &str| row.text(idx).map_err(|e| e.in_field(field));
        let needed = |idx: usize, field: &str| {
            let text = cell(idx, field)?;
            if text.is_empty() {
                let message = "the 200 row leaves it blank: was the file cut?";
                return Err(UsageError::new(UsageCode::BadRow, message).in_field(field));
            }
            Ok(text)
        };
        let nmi = needed(1, "NMI")?;
        let suffix = needed(4, "NMISuffix")?;
        let direction = match suffix.as_bytes()[0].to_ascii_uppercase() {
            b'E' => Direction::Import,
            b'B' => Direction::Export,
            _ => Direction::Other,
        };
        let said = cell(7, "UOM")?;
        let unit = match self.options.unit.filter(|_| direction != Direction::Other) {
            Some(unit) if said.is_empty() => Some(unit),
            _ => said.parse::<Unit>().ok(),
        };
        if direction != Direction::Other && said.is_empty() && unit.is_none() {
            let message = format!("the register {suffix} has no unit: give --unit (unit in the API), as in kWh");
            return Err(UsageError::new(UsageCode::UnitNeeded, message).in_field("UOM"));
        }
        // Power of a register is what it showed at one moment: no mean of the interval.
        let energy = unit.filter(|unit| unit.quantity() == Quantity::Energy);
        let minutes = needed(8, "IntervalLength")?;
        let seconds = minutes.parse::<i64>().ok().map(|minutes| minutes.saturating_mul(60));
        let seconds = seconds
            .filter(|seconds| *seconds > 0 && *seconds <= 3600 && allowed_minutes(*seconds).is_some())
            .ok_or_else(|| length_error(&format!("{:?} minutes", clip(minutes))).in_field("IntervalLength"))?;
        let label = SeriesLabel {
            meter: Some(nmi.to_owned()),
            channel: Some(suffix.to_owned()),
            direction,
            unit: if said.is_empty() { unit.map(Unit::as_str).unwrap_or_default() } else { said }.to_owned(),
            quantity: if energy.is_some() { Quantity::Energy } else { Quantity::Other },
        };
        // NMIs of Western Power: 8001000000 to 8020999999.
        if nmi.len() >= 4 && (b"8001".as_slice()..=b"8020").contains(&&nmi.as_bytes()[..4]) {
            self.warn_of_market_time(row.line);
        }
        Ok(Register {
            series_idx: self.collector.series(&label)?,
            seconds,
            n_values: usize::try_from(MINUTES_OF_DAY * 60 / seconds).unwrap_or(0),
            number: NumberFormat { power_of_ten: energy.map_or(0, Unit::power_of_ten), ..NumberFormat::KWH },
        })
    }

    fn read_day(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let Some(register) = &self.register else {
            let message = "there is no 200 row before it: whose values are these?";
            return Err(UsageError::new(UsageCode::BadRow, message));
        };
        let n = register.n_values;
        let date = row.text(1).and_then(|text| parse_date(text, DateOrder::YearMonthDay));
        let date = date.map_err(|e| e.in_field("IntervalDate"))?;
        let quality = row.text(2 + n)?;
        let quality = quality_of(quality).filter(|_| row.len() > 2 + n).ok_or_else(|| {
            let minutes = register.seconds / 60;
            let message = format!(
                "intervals of {minutes} minutes are {n} values a day, and a quality (A, E52, F14, S14, N or V) comes \
                 after them, not {:?}; the row has {} cells",
                clip(quality),
                row.len()
            );
            UsageError::new(UsageCode::BadRow, message).in_field("QualityMethod")
        })?;
        self.values.clear();
        self.blanks.clear();
        let number = register.number;
        for idx in 0..n {
            let bytes = row.bytes(2 + idx);
            // Nearly all are a few digits with a point.
            let value = match number.read_short(bytes) {
                Some(value) => value,
                None if bytes.is_empty() => {
                    self.blanks.push(idx);
                    0
                }
                None => number.read_bytes(bytes).map_err(|e| e.in_field(format!("IntervalValue{}", idx + 1)))?,
            };
            self.values.push(value);
        }
        let version = version(row.text(5 + n)?)?;
        self.add_day(row.line, &Day { date, quality, version })
    }

    /// A day all of whose values are a few digits, from its line at once; its values are read. `None`: it is to be looked
    /// at cell by cell.
    fn read_plain_day(&mut self, line: &[u8]) -> Option<Day> {
        let register = self.register.as_ref().filter(|_| self.n_rows > 0)?;
        let (date, mut rest) = line.strip_prefix(b"300,")?.split_first_chunk::<8>()?;
        rest = rest.strip_prefix(b",")?;
        self.values.clear();
        self.blanks.clear();
        self.values.reserve(register.n_values);
        let n_bytes = register.number.read_cells(rest, register.n_values, &mut self.values)?;
        rest = &rest[n_bytes..];
        let mut after = rest.split(|b| *b == b',').map(|cell| std::str::from_utf8(cell).ok().map(str::trim));
        Some(Day {
            date: parse_date(std::str::from_utf8(date).ok()?, DateOrder::YearMonthDay).ok()?,
            quality: quality_of(after.next()??)?,
            version: version(after.nth(2).unwrap_or(Some(""))?).ok()?,
        })
    }

    /// Hands over a day whose values were read, or keeps it until its qualities are.
    fn add_day(&mut self, line: u64, day: &Day) -> Result<(), UsageError> {
        let Some(register) = &self.register else { return Ok(()) };
        let start = Stamp::local(day.date, 0)?.at_offset(self.offset_seconds);
        let rank = Rank { version: day.version, part: 0 };
        let times = self.collector.starting(start)?.lasting(register.seconds)?;
        let series_idx = register.series_idx;
        self.collector.count_row();
        match day.quality {
            Some(quality) => {
                refuse_blank(&self.blanks, |_| quality)?;
                if quality == Quality::Missing {
                    self.values.fill(0);
                }
                self.collector.push_run(series_idx, line, times, rank, quality, &self.values)
            }
            None => {
                self.qualities.clear();
                self.open_day = Some(OpenDay { line, times, rank, series_idx });
                Ok(())
            }
        }
    }

    fn read_qualities(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        let n = self.values.len();
        if self.open_day.is_none() {
            let message = "a 400 row tells the qualities of the 300 row right before it, and that has to say V";
            return Err(UsageError::new(UsageCode::BadQuality, message));
        }
        let number = |idx: usize, field: &str| {
            let text = row.text(idx).map_err(|e| e.in_field(field))?;
            text.parse::<usize>().ok().filter(|number| (1..=n).contains(number)).ok_or_else(|| {
                let message = format!("{:?} is no number of an interval from 1 to {n}", clip(text));
                UsageError::new(UsageCode::BadRow, message).in_field(field)
            })
        };
        let (first, last) = (number(1, "StartInterval")?, number(2, "EndInterval")?);
        if first != self.qualities.len() + 1 || last < first {
            let message = format!(
                "the 400 rows of a day cover its intervals without holes: {first} to {last} does not follow {}",
                self.qualities.len()
            );
            return Err(UsageError::new(UsageCode::BadQuality, message).in_field("StartInterval"));
        }
        let text = row.text(3)?;
        let quality = quality_of(text).flatten().ok_or_else(|| {
            let message = format!("{:?} is no quality of a 400 row: A, E52, F14, S14 or N", clip(text));
            UsageError::new(UsageCode::BadQuality, message).in_field("QualityMethod")
        })?;
        self.qualities.resize(last, quality);
        Ok(())
    }

    /// Hands over a day that waited for its qualities.
    fn settle_day(&mut self) -> Result<(), UsageError> {
        let Some(day) = self.open_day.take() else { return Ok(()) };
        let (n, n_told) = (self.values.len(), self.qualities.len());
        if n_told < n {
            let message = format!("the day says V, and its 400 rows tell the qualities of {n_told} of {n} intervals");
            return Err(UsageError::new(UsageCode::BadQuality, message).at_line(day.line).in_field("QualityMethod"));
        }
        refuse_blank(&self.blanks, |idx| self.qualities[idx]).map_err(|e| e.at_line(day.line))?;
        let mut first = 0;
        for stretch in self.qualities.chunk_by(|a, b| a == b) {
            let (quality, times) = (stretch[0], day.times.later(first));
            let values = &mut self.values[first..first + stretch.len()];
            // What is said not to be data prints as 0, or as anything.
            if quality == Quality::Missing {
                values.fill(0);
            }
            self.collector.push_run(day.series_idx, day.line, times, day.rank, quality, values)?;
            first += stretch.len();
        }
        Ok(())
    }
}

fn refuse_blank(blanks: &[usize], quality_at: impl Fn(usize) -> Quality) -> Result<(), UsageError> {
    match blanks.iter().find(|idx| quality_at(**idx) != Quality::Missing) {
        None => Ok(()),
        Some(idx) => {
            let message = "the value is blank and its quality is not N";
            Err(UsageError::new(UsageCode::BadNumber, message).in_field(format!("IntervalValue{}", idx + 1)))
        }
    }
}

/// What a letter and its method say; `Some(None)` for V, which 400 rows explain.
#[expect(clippy::option_option, reason = "a word that is none, and the word that says nothing yet")]
fn quality_of(text: &str) -> Option<Option<Quality>> {
    let (letter, method) = text.as_bytes().split_first()?;
    if !matches!(method, [] | [b'0'..=b'9', b'0'..=b'9']) {
        return None;
    }
    match letter.to_ascii_uppercase() {
        b'A' => Some(Some(Quality::Measured)),
        b'E' => Some(Some(Quality::Estimated)),
        b'F' | b'S' => Some(Some(Quality::Substituted)),
        b'N' => Some(Some(Quality::Missing)),
        b'V' => Some(None),
        _ => None,
    }
}

/// When a day was updated, as a number that rises with time: `YYYYMMDDhhmmss`, or without its seconds; 0 where it is blank.
fn version(text: &str) -> Result<i64, UsageError> {
    let number = || text.parse::<i64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let version = match text.len() {
        0 => Some(0),
        14 => number(),
        12 => number().map(|minutes| minutes * 100),
        _ => None,
    };
    version.ok_or_else(|| {
        let message = format!("{:?} is no time like 20260403120000: was the file cut?", clip(text));
        UsageError::new(UsageCode::BadTime, message).in_field("UpdateDateTime")
    })
}

fn not_intervals() -> UsageError {
    let message = "this is NEM13: what a register counted between two visits (250 rows), no energy of intervals; ask the \
                   distributor for NEM12";
    UsageError::new(UsageCode::NotIntervals, message)
}
