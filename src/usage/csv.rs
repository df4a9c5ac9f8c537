//! Readings as CSV: `start` and `kwh`, or `start`, `import_kwh` and `export_kwh`.
//!
//! | column | holds |
//! | --- | --- |
//! | `start` | start of the interval: RFC 3339 with offset or `Z`, or local time with a time zone given |
//! | `kwh` or `import_kwh`, `export_kwh` | energy of the interval; blank: not known (a gap); negative is what a netting meter sends |
//! | `end` | optional, checked: end of the interval, exclusive |
//! | `quality` | optional: `measured` (also when blank), `substituted`, `estimated`, `missing` |
//!
//! Columns stand in any order, names in any case. Any other column is refused by name: nothing may be ignored.
//! Rows stream; what is kept is 24 bytes a value.

use std::cell::Cell as StdCell;
use std::io::{self, Read};
use std::rc::Rc;

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};

use super::collect::{Cell, Collector};
use super::energy::{clip, milliwatt_hours};
use super::{Channel, ParsedUsage, Quality, ReadOptions, UsageCode, UsageError, UsageReader};

/// A row longer than this is no row of readings.
const MAX_ROW_BYTES: u64 = 1 << 20;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// The reader of our own CSV.
#[derive(Debug, Clone, Copy)]
pub struct CsvReader;

impl UsageReader for CsvReader {
    fn format(&self) -> &'static str {
        "csv"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
        !line.contains(&0) && !matches!(head.first(), Some(b'{' | b'[' | b'<'))
    }

    fn read(&self, input: &mut dyn Read, options: &ReadOptions) -> Result<ParsedUsage, UsageError> {
        let row_bytes = Rc::new(StdCell::new(0));
        let lines = Lines { input, row_bytes: Rc::clone(&row_bytes), last: b'\n' };
        // Rows end at a line feed alone: only then does the library count lines the way an editor does. The carriage
        // return before it is trimmed with the blanks.
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(lines);
        let mut record = ByteRecord::new();
        let mut columns: Option<(Columns, Vec<usize>)> = None;
        let mut collector = Collector::new(options.time_zone);
        loop {
            row_bytes.set(0);
            if !reader.read_byte_record(&mut record).map_err(|e| csv_error(&e))? {
                break;
            }
            let n_inner = record.as_slice().split(|b| *b == b'\n').count() as u64 - 1;
            let line = reader.position().line() - 1 - n_inner;
            if record.len() == 1 && record[0].trim_ascii().is_empty() {
                continue; // A blank line.
            }
            let Some((columns, channels)) = &columns else {
                let header = Columns::from_header(&record).map_err(|e| e.at_line(line))?;
                let channels = header.values.iter().map(|(_, channel)| collector.channel(channel)).collect();
                columns = Some((header, channels));
                continue;
            };
            columns.read_row(&record, line, channels, &mut collector).map_err(|e| e.at_line(line))?;
        }
        let Some((columns, _)) = columns else {
            return Err(UsageError::new(UsageCode::NoReadings, "the file is empty"));
        };
        let mut parsed = collector.finish(self.format())?;
        // Every row has a cell in every channel, so repeats were counted once a channel.
        parsed.exact_repeats /= columns.values.len() as u64;
        Ok(parsed)
    }
}

/// Where the columns stand.
#[derive(Debug)]
struct Columns {
    n: usize,
    start: usize,
    end: Option<usize>,
    quality: Option<usize>,
    values: Vec<(usize, Channel)>,
}

impl Columns {
    fn from_header(header: &ByteRecord) -> Result<Self, UsageError> {
        let at_header = |code, message: String| UsageError::new(code, message);
        let (mut start, mut end, mut quality, mut kwh, mut import, mut export) = (None, None, None, None, None, None);
        for (idx, name) in header.iter().enumerate() {
            let name = std::str::from_utf8(name.trim_ascii()).map_err(|_| {
                at_header(UsageCode::BadEncoding, "the header is not UTF-8; save the file as UTF-8".into())
            })?;
            let place = match name.to_ascii_lowercase().as_str() {
                "start" => &mut start,
                "end" => &mut end,
                "quality" => &mut quality,
                "kwh" => &mut kwh,
                "import_kwh" => &mut import,
                "export_kwh" => &mut export,
                _ => return Err(unknown_column(name)),
            };
            if place.replace(idx).is_some() {
                let message = format!("the column {name} is there twice");
                return Err(at_header(UsageCode::BadHeader, message).in_field(name));
            }
        }
        let start = start.ok_or_else(|| {
            at_header(UsageCode::BadHeader, "the header has no column start".into()).in_field("start")
        })?;
        let values: Vec<(usize, Channel)> =
            [(kwh, Channel::import()), (import, Channel::import()), (export, Channel::export())]
                .into_iter()
                .filter_map(|(idx, channel)| Some((idx?, channel)))
                .collect();
        if values.is_empty() {
            let message = "the header has no column kwh, import_kwh or export_kwh".into();
            return Err(at_header(UsageCode::BadHeader, message).in_field("kwh"));
        }
        if kwh.is_some() && values.len() > 1 {
            let message = "kwh stands beside import_kwh or export_kwh: that energy would count twice".into();
            return Err(at_header(UsageCode::BadHeader, message).in_field("kwh"));
        }
        Ok(Self { n: header.len(), start, end, quality, values })
    }

    /// One row into the collector. Errors come without their line.
    fn read_row(
        &self,
        record: &ByteRecord,
        line: u64,
        channels: &[usize],
        collector: &mut Collector,
    ) -> Result<(), UsageError> {
        if record.len() != self.n {
            let message = format!("the row has {} cells, the header {}: was the file cut?", record.len(), self.n);
            return Err(UsageError::new(UsageCode::BadRow, message));
        }
        let start = text(record, self.start, "start")?;
        let end = self.end.map(|idx| text(record, idx, "end")).transpose()?.filter(|end| !end.is_empty());
        let quality = self.quality.map(|idx| text(record, idx, "quality")).transpose()?.unwrap_or("");
        let quality = parse_quality(quality)?;
        let times = collector.times(start, end, None)?;
        collector.count_row();
        for ((idx, channel), channel_idx) in self.values.iter().zip(channels) {
            let field = || {
                if self.values.len() == 1 && channel.as_str() == "import" {
                    "kwh".into()
                } else {
                    format!("{channel}_kwh")
                }
            };
            let value = text(record, *idx, "kwh")?;
            let cell = parse_cell(value, quality).map_err(|e| e.in_field(field()))?;
            collector.push(*channel_idx, line, times, cell);
        }
        Ok(())
    }
}

/// A value and the quality said of it, as a cell.
pub(super) fn parse_cell(value: &str, quality: Option<Quality>) -> Result<Cell, UsageError> {
    match (value, quality) {
        ("", None | Some(Quality::Measured)) => Ok(Cell::Blank),
        ("", Some(Quality::Missing)) => Ok(Cell::Value(0, Quality::Missing)),
        ("", Some(_)) => Err(UsageError::new(
            UsageCode::BadQuality,
            "an estimated or substituted reading needs a value; without one it is missing",
        )),
        (value, Some(Quality::Missing)) if milliwatt_hours(value)? != 0 => Err(UsageError::new(
            UsageCode::BadQuality,
            "a missing reading has no energy: leave the value blank, or give its real quality",
        )),
        (value, quality) => Ok(Cell::Value(milliwatt_hours(value)?, quality.unwrap_or(Quality::Measured))),
    }
}

/// A quality by its word; blank is none.
pub(super) fn parse_quality(word: &str) -> Result<Option<Quality>, UsageError> {
    match word.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "measured" => Ok(Some(Quality::Measured)),
        "substituted" => Ok(Some(Quality::Substituted)),
        "estimated" => Ok(Some(Quality::Estimated)),
        "missing" => Ok(Some(Quality::Missing)),
        _ => Err(UsageError::new(
            UsageCode::BadQuality,
            format!("{:?} is no quality; write measured, substituted, estimated or missing", clip(word)),
        )
        .in_field("quality")),
    }
}

fn text<'a>(record: &'a ByteRecord, idx: usize, field: &str) -> Result<&'a str, UsageError> {
    std::str::from_utf8(record[idx].trim_ascii()).map_err(|_| {
        UsageError::new(UsageCode::BadEncoding, "the cell is not UTF-8; save the file as UTF-8").in_field(field)
    })
}

fn unknown_column(name: &str) -> UsageError {
    let hint = if name.is_empty() {
        " (a column without a name)"
    } else if name.contains(';') || name.contains('\t') {
        "; separate columns by commas"
    } else {
        ""
    };
    UsageError::new(
        UsageCode::UnknownColumn,
        format!(
            "the column {:?} is not known{hint}; read are start, end, kwh or import_kwh and export_kwh, quality",
            clip(name)
        ),
    )
    .in_field(clip(name))
}

fn csv_error(error: &::csv::Error) -> UsageError {
    let usage_error = match error.kind() {
        ErrorKind::Io(e) if e.kind() == io::ErrorKind::InvalidData => UsageError::new(
            UsageCode::BadRow,
            format!("a row has more than {MAX_ROW_BYTES} bytes: these are no readings"),
        ),
        ErrorKind::Io(e) => UsageError::new(UsageCode::Unreadable, format!("the file could not be read: {e}")),
        _ => UsageError::new(UsageCode::BadRow, error.to_string()),
    };
    match error.position() {
        Some(position) => usage_error.at_line(position.line()),
        None => usage_error,
    }
}

/// Passes bytes on until one row holds too many of them (the loop above sets the count back after each row), and
/// ends the last line if the file does not.
struct Lines<'a> {
    input: &'a mut dyn Read,
    row_bytes: Rc<StdCell<u64>>,
    last: u8,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        if n == 0 && self.last != b'\n' && !buffer.is_empty() {
            self.last = b'\n';
            buffer[0] = b'\n';
            return Ok(1);
        }
        if n > 0 {
            self.last = buffer[n - 1];
        }
        self.row_bytes.set(self.row_bytes.get() + n as u64);
        if self.row_bytes.get() > MAX_ROW_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        Ok(n)
    }
}
