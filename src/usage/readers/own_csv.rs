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
//! Rows stream; what is kept is four bytes a value.

use super::super::collect::{Cell, Collector};
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip, milliwatt_hours};
use super::super::table::{Table, TableRow};
use super::super::{Channel, Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};

/// The reader of our own CSV.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnCsv;

impl UsageReader for OwnCsv {
    fn format(&self) -> &'static str {
        "csv"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let Some(line) = source.head_lines().find(|line| !line.trim_ascii().is_empty()) else { return false };
        let known: [&[u8]; 6] = [b"start", b"kwh", b"import_kwh", b"export_kwh", b"end", b"quality"];
        let is_one = |name: &[u8], known: &[&[u8]]| known.iter().any(|k| name.trim_ascii().eq_ignore_ascii_case(k));
        let mut names = line.split(|b| *b == b',');
        let has = |known: &[&[u8]]| names.clone().any(|name| is_one(name, known));
        // Other headings beside `start` that are known by their words make it a table of another hand.
        has(&known[..1]) && (has(&known[1..4]) || !super::generic::is_table(source.head()))
            || names.all(|name| is_one(name, &known))
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut table = Table::new(source.open()?, b',');
        let mut columns: Option<(Columns, Vec<usize>)> = None;
        let mut collector = Collector::new(options);
        while let Some(row) = table.next_row()? {
            let Some((columns, series)) = &columns else {
                let header = Columns::from_header(row).map_err(|e| e.at_line(row.line))?;
                let series = header.values.iter().map(|(_, channel)| collector.series(&own_label(channel)));
                columns = Some((series.collect::<Result<Vec<_>, _>>().map(|series| (header, series)))?);
                continue;
            };
            columns.read_row(row, series, &mut collector).map_err(|e| e.at_line(row.line))?;
        }
        let Some((columns, _)) = columns else {
            return Err(UsageError::new(UsageCode::NoReadings, "the file is empty"));
        };
        let mut file = collector.finish(self.format())?;
        file.values_per_row = columns.values.len() as u64;
        file.own_channels = true;
        Ok(file)
    }
}

/// The label of a channel of ours.
pub(super) fn own_label(channel: &Channel) -> SeriesLabel {
    let direction = if *channel == Channel::export() { Direction::Export } else { Direction::Import };
    SeriesLabel { channel: Some(channel.to_string()), ..SeriesLabel::energy(direction) }
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
    fn from_header(header: TableRow<'_>) -> Result<Self, UsageError> {
        let at_header = |code, message: String| UsageError::new(code, message);
        let (mut start, mut end, mut quality, mut kwh, mut import, mut export) = (None, None, None, None, None, None);
        for idx in 0..header.len() {
            let name = header.text(idx)?;
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
    fn read_row(&self, row: TableRow<'_>, series: &[usize], collector: &mut Collector) -> Result<(), UsageError> {
        row.expect_len(self.n)?;
        let text = |idx: usize, field: &str| row.text(idx).map_err(|e| e.in_field(field));
        let end = self.end.map(|idx| text(idx, "end")).transpose()?.filter(|end| !end.is_empty());
        let quality = self.quality.map(|idx| text(idx, "quality").and_then(parse_quality)).transpose()?.flatten();
        // Nearly all rows are a time of the day before, and a few digits.
        let times = match collector.starting_same_day(row.bytes(self.start)).filter(|_| end.is_none()) {
            Some(times) => times,
            None => collector.times(text(self.start, "start")?, end, None)?,
        };
        collector.count_row();
        for ((idx, channel), series_idx) in self.values.iter().zip(series) {
            let field = || {
                if self.values.len() == 1 && channel.as_str() == "import" {
                    "kwh".into()
                } else {
                    format!("{channel}_kwh")
                }
            };
            let cell = match NumberFormat::KWH.read_short(row.bytes(*idx)).filter(|_| quality.is_none()) {
                Some(value) => Cell::Value(value, Quality::Measured),
                None => parse_cell(text(*idx, "kwh")?, quality).map_err(|e| e.in_field(field()))?,
            };
            collector.push(*series_idx, row.line, times, cell)?;
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
