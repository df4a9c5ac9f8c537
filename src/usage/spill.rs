//! Rows of a file on their way: in memory while they are few, in a temporary file when they are many.
//!
//! Rows of a meter follow each other in even steps. Such a stretch is kept as its first row, its steps and the values, so
//! that most rows cost eight bytes in memory and four in the file, and no time to compress.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use super::collect::Row;
use super::column::Column;
use super::{Quality, UsageCode, UsageError};

/// Bytes of rows that are held in memory.
const MAX_BYTES_IN_MEMORY: usize = 16 << 20;

/// Rows of one series that are settled at once: 40 years of five minutes.
const MAX_ROWS_OF_SERIES: u64 = 4_500_000;

/// The rows of all series, each in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Spill {
    series: Vec<SeriesRows>,
    n_bytes_in_memory: usize,
    file: Option<File>,
    file_end: u64,
}

/// Rows of one series.
#[derive(Debug, Default, Clone)]
pub(super) struct SeriesRows {
    stretches: Vec<Stretch>,
    values: Column,
    chunks: Vec<Chunk>,
    n_spilled: u64,
}

/// Rows that are alike but for their values, and follow each other in even steps of time and of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Its value stands with the others.
    pub(super) first: Row,
    /// From row to row; known from the second row on.
    pub(super) seconds: i64,
    lines: u32,
    pub(super) n: u32,
}

/// Where a part of a series lies in the temporary file.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    offset: u64,
    n_bytes: usize,
}

impl Spill {
    /// Makes room for one more series and gives its place.
    pub(super) fn add_series(&mut self) -> usize {
        self.series.push(SeriesRows::default());
        self.series.len() - 1
    }

    /// Adds a row to a series.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`] when the temporary file cannot be written, [`UsageCode::TooLarge`] for a series of
    /// more rows than a meter has.
    #[inline]
    pub(super) fn push(&mut self, series_idx: usize, row: Row) -> Result<(), UsageError> {
        self.add(series_idx, |series| series.push(row))
    }

    /// Adds rows of one line that follow each other without a gap and differ in their values alone.
    ///
    /// # Errors
    /// As [`Spill::push`].
    pub(super) fn push_run(&mut self, series_idx: usize, first: Row, values: &[i64]) -> Result<(), UsageError> {
        self.add(series_idx, |series| {
            series.values.extend(values);
            let n = u32::try_from(values.len()).expect("values of one line");
            series.stretches.push(Stretch { first, seconds: i64::from(first.minutes) * 60, lines: 0, n });
        })
    }

    #[inline]
    fn add(&mut self, series_idx: usize, add: impl FnOnce(&mut SeriesRows)) -> Result<(), UsageError> {
        let series = &mut self.series[series_idx];
        let n_before = series.n_bytes();
        add(series);
        self.n_bytes_in_memory += series.n_bytes() - n_before;
        if self.n_bytes_in_memory < MAX_BYTES_IN_MEMORY {
            return Ok(());
        }
        self.flush().map_err(|e| unreadable(&e))?;
        if self.series[series_idx].n_spilled > MAX_ROWS_OF_SERIES {
            let message = format!("a series has more than {MAX_ROWS_OF_SERIES} rows; split the file");
            return Err(UsageError::new(UsageCode::TooLarge, message));
        }
        Ok(())
    }

    /// Number of rows of a series so far.
    pub(super) fn n_rows(&self, series_idx: usize) -> usize {
        let series = &self.series[series_idx];
        series.values.len() + usize::try_from(series.n_spilled).unwrap_or(usize::MAX)
    }

    /// A series as it was kept, in the order of the file.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`] when the temporary file cannot be read.
    pub(super) fn load(&mut self, series_idx: usize) -> Result<Vec<Cow<'_, SeriesRows>>, UsageError> {
        let series = &self.series[series_idx];
        let mut parts = Vec::with_capacity(series.chunks.len() + 1);
        if let Some(file) = &mut self.file {
            let mut bytes = Vec::new();
            for chunk in &series.chunks {
                bytes.resize(chunk.n_bytes, 0);
                file.seek(SeekFrom::Start(chunk.offset)).map_err(|e| unreadable(&e))?;
                file.read_exact(&mut bytes).map_err(|e| unreadable(&e))?;
                let damaged = || unreadable(&io::Error::from(io::ErrorKind::InvalidData));
                parts.push(Cow::Owned(decode(&bytes).ok_or_else(damaged)?));
            }
        }
        parts.push(Cow::Borrowed(series));
        Ok(parts)
    }

    /// The same of a series that is asked for once: what is in memory is handed over.
    ///
    /// # Errors
    /// As [`Spill::load`].
    pub(super) fn take(&mut self, series_idx: usize) -> Result<Vec<Cow<'static, SeriesRows>>, UsageError> {
        let series = &mut self.series[series_idx];
        let rest = SeriesRows {
            stretches: std::mem::take(&mut series.stretches),
            values: std::mem::take(&mut series.values),
            ..SeriesRows::default()
        };
        let mut parts: Vec<Cow<'static, SeriesRows>> =
            self.load(series_idx)?.into_iter().map(|part| Cow::Owned(part.into_owned())).collect();
        parts.push(Cow::Owned(rest));
        Ok(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut writer = io::BufWriter::with_capacity(1 << 20, file);
        let mut bytes = Vec::new();
        for series in self.series.iter_mut().filter(|series| !series.values.is_empty()) {
            bytes.clear();
            encode(series, &mut bytes);
            writer.write_all(&bytes)?;
            series.chunks.push(Chunk { offset: self.file_end, n_bytes: bytes.len() });
            self.file_end += bytes.len() as u64;
            series.n_spilled += series.values.len() as u64;
            (series.stretches, series.values) = (Vec::new(), Column::default());
        }
        writer.flush()?;
        self.n_bytes_in_memory = 0;
        Ok(())
    }
}

impl SeriesRows {
    fn n_bytes(&self) -> usize {
        self.stretches.len() * size_of::<Stretch>() + self.values.n_bytes()
    }

    #[inline]
    fn push(&mut self, row: Row) {
        self.values.push(row.value);
        if !self.stretches.last_mut().is_some_and(|last| last.takes(&row)) {
            self.stretches.push(Stretch { first: row, seconds: 0, lines: 0, n: 1 });
        }
    }

    /// The values alone, in order.
    pub(super) fn into_values(self) -> Column {
        self.values
    }

    /// The stretches.
    pub(super) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// Values of the rows that have one.
    pub(super) fn known_values(&self) -> impl Iterator<Item = i64> {
        let mut begin = 0;
        let known = self.stretches.iter().filter_map(move |stretch| {
            let end = begin + stretch.n as usize;
            let range = std::mem::replace(&mut begin, end)..end;
            stretch.first.quality.map(|_| range)
        });
        known.flat_map(|range| self.values.range(range))
    }

    /// Adds its rows, one by one.
    pub(super) fn unpack(&self, rows: &mut Vec<Row>) {
        rows.reserve(self.values.len());
        let mut values = self.values.iter();
        for stretch in &self.stretches {
            let (mut start, mut line) = (stretch.first.start, stretch.first.line);
            for value in values.by_ref().take(stretch.n as usize) {
                rows.push(Row { start, value, line, ..stretch.first });
                (start, line) = (start.wrapping_add(stretch.seconds), line.wrapping_add(stretch.lines));
            }
        }
    }
}

impl Stretch {
    /// Takes a row in if it goes on with it; the second one says how.
    #[inline]
    fn takes(&mut self, row: &Row) -> bool {
        let first = &self.first;
        let is_alike = (row.version, row.minutes, row.part, row.quality)
            == (first.version, first.minutes, first.part, first.quality);
        if !is_alike || self.n == u32::MAX {
            return false;
        }
        let (seconds, lines) = (row.start.wrapping_sub(first.start), row.line.wrapping_sub(first.line));
        if self.n == 1 {
            (self.seconds, self.lines) = (seconds, lines);
        }
        let goes_on =
            seconds == self.seconds.wrapping_mul(i64::from(self.n)) && lines == self.lines.wrapping_mul(self.n);
        self.n += u32::from(goes_on);
        goes_on
    }
}

fn unreadable(error: &io::Error) -> UsageError {
    UsageError::new(UsageCode::Unreadable, format!("the temporary file: {error}"))
}

/// Numbers of stretches and of values, the stretches, the values in four bytes each if they fit; the file lives as long
/// as the process and has no version.
fn encode(series: &SeriesRows, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(series.stretches.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(series.values.len() as u64).to_le_bytes());
    for Stretch { first, seconds, lines, n } in &series.stretches {
        let marks = u32::from(first.minutes) << 16 | u32::from(first.part) << 8 | mark_of(first.quality);
        for number in [first.start, first.version, *seconds] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [first.line, marks, *lines, *n] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    match &series.values {
        Column::Narrow(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        Column::Wide(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
    }
}

fn decode(mut bytes: &[u8]) -> Option<SeriesRows> {
    let n_stretches = usize::try_from(i64::from_le_bytes(take(&mut bytes)?)).ok()?;
    let n_values = usize::try_from(i64::from_le_bytes(take(&mut bytes)?)).ok()?;
    let mut stretches = Vec::with_capacity(n_stretches);
    for _ in 0..n_stretches {
        let mut long = || Some(i64::from_le_bytes(take(&mut bytes)?));
        let (start, version, seconds) = (long()?, long()?, long()?);
        let mut short = || Some(u32::from_le_bytes(take(&mut bytes)?));
        let (line, marks, lines, n) = (short()?, short()?, short()?, short()?);
        let [quality, part, minutes @ ..] = marks.to_le_bytes();
        let (minutes, quality) = (u16::from_le_bytes(minutes), quality_of(quality));
        stretches.push(Stretch {
            first: Row { start, value: 0, version, line, minutes, part, quality },
            seconds,
            lines,
            n,
        });
    }
    let values = if bytes.len() == n_values * size_of::<i32>() {
        Column::Narrow(bytes.as_chunks().0.iter().map(|value| i32::from_le_bytes(*value)).collect())
    } else {
        Column::Wide(bytes.as_chunks().0.iter().map(|value| i64::from_le_bytes(*value)).collect())
    };
    Some(SeriesRows { stretches, values, ..SeriesRows::default() })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

const QUALITIES: [Quality; 5] =
    [Quality::Measured, Quality::Substituted, Quality::Estimated, Quality::Missing, Quality::FilledZero];

/// 0: blank; else the quality's place in [`QUALITIES`], from 1.
fn mark_of(quality: Option<Quality>) -> u32 {
    QUALITIES.iter().zip(1..).find(|(known, _)| Some(**known) == quality).map_or(0, |(_, mark)| mark)
}

fn quality_of(mark: u8) -> Option<Quality> {
    QUALITIES.get(usize::from(mark.checked_sub(1)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_whether_in_memory_or_not() {
        let row = |i: i64| Row {
            start: i * 900 - 5_000 + i / 100 * 60,
            value: (i * 7_919 % 1_000 - 300) << (if i > 400_000 { 30 } else { 0 }),
            version: i / 4 % 3,
            line: u32::try_from(i + i / 50).unwrap(),
            minutes: 15 * u16::from(i / 500 % 2 == 0),
            part: u8::try_from(i / 300 % 2).unwrap(),
            quality: quality_of(u8::try_from(i / 7 % 5).unwrap()),
        };
        let mut spill = Spill::default();
        let (a, b) = (spill.add_series(), spill.add_series());
        let n = 800_000;
        for i in 0..n {
            spill.push(if i % 3 == 0 { b } else { a }, row(i)).unwrap();
        }
        assert!(spill.file.is_some() && spill.n_bytes_in_memory > 0, "some in the file, some in memory");
        for (series_idx, is_b) in [(a, false), (b, true)] {
            let expected: Vec<Row> = (0..n).filter(|i| (i % 3 == 0) == is_b).map(row).collect();
            assert_eq!(spill.n_rows(series_idx), expected.len());
            let mut rows = Vec::new();
            spill.load(series_idx).unwrap().iter().for_each(|part| part.unpack(&mut rows));
            assert!(rows == expected);
        }
    }

    #[test]
    fn rows_in_even_steps_cost_little_more_than_their_values() {
        let mut series = SeriesRows::default();
        let row = |i: u32| Row {
            start: 1_700_000_000 - i64::from(i) * 300,
            value: i.into(),
            version: 0,
            line: 2 + i,
            minutes: 0,
            part: 0,
            quality: Some(Quality::Measured),
        };
        (0..100_000).map(row).for_each(|row| series.push(row));
        assert_eq!(series.n_bytes(), 400_000 + size_of::<Stretch>());
        let mut rows = Vec::new();
        series.unpack(&mut rows);
        assert!(rows == (0..100_000).map(row).collect::<Vec<_>>(), "newest first");
    }
}
