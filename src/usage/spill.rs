//! Rows of a file on their way: in memory while they are few, in a temporary file, compressed, when they are many.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use super::collect::Row;
use super::{Quality, UsageCode, UsageError};

/// Rows that are held in memory: 16 MiB.
const MAX_ROWS_IN_MEMORY: usize = (16 << 20) / size_of::<Row>();

/// Rows of one series that are settled at once: 40 years of five minutes.
const MAX_ROWS_OF_SERIES: u64 = 4_500_000;

/// The rows of all series, each in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Spill {
    series: Vec<SeriesRows>,
    n_in_memory: usize,
    file: Option<File>,
    file_end: u64,
}

#[derive(Debug, Default)]
struct SeriesRows {
    recent: Vec<Row>,
    chunks: Vec<Chunk>,
    n_spilled: u64,
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
    pub(super) fn push(&mut self, series_idx: usize, row: Row) -> Result<(), UsageError> {
        self.extend(series_idx, std::iter::once(row))
    }

    /// Adds the rows of a line to a series.
    ///
    /// # Errors
    /// As [`Spill::push`].
    pub(super) fn extend(&mut self, series_idx: usize, rows: impl Iterator<Item = Row>) -> Result<(), UsageError> {
        let recent = &mut self.series[series_idx].recent;
        let n_before = recent.len();
        recent.extend(rows);
        self.n_in_memory += recent.len() - n_before;
        if self.n_in_memory < MAX_ROWS_IN_MEMORY {
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
        series.recent.len() + usize::try_from(series.n_spilled).unwrap_or(usize::MAX)
    }

    /// All rows of a series, in the order of the file.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`] when the temporary file cannot be read.
    pub(super) fn rows(&mut self, series_idx: usize) -> Result<Vec<Row>, UsageError> {
        let series = &self.series[series_idx];
        let mut rows = Vec::with_capacity(self.n_rows(series_idx));
        if let Some(file) = &mut self.file {
            let mut bytes = Vec::new();
            for chunk in &series.chunks {
                bytes.resize(chunk.n_bytes, 0);
                file.seek(SeekFrom::Start(chunk.offset)).map_err(|e| unreadable(&e))?;
                file.read_exact(&mut bytes).map_err(|e| unreadable(&e))?;
                decode(&bytes, &mut rows).map_err(|e| unreadable(&e))?;
            }
        }
        rows.extend_from_slice(&series.recent);
        Ok(rows)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut writer = io::BufWriter::new(file);
        for series in self.series.iter_mut().filter(|series| !series.recent.is_empty()) {
            let bytes = encode(&series.recent)?;
            writer.write_all(&bytes)?;
            series.chunks.push(Chunk { offset: self.file_end, n_bytes: bytes.len() });
            self.file_end += bytes.len() as u64;
            series.n_spilled += series.recent.len() as u64;
            series.recent = Vec::new();
        }
        writer.flush()?;
        self.n_in_memory = 0;
        Ok(())
    }
}

fn unreadable(error: &io::Error) -> UsageError {
    UsageError::new(UsageCode::Unreadable, format!("the temporary file: {error}"))
}

/// Columns by pco, each behind its length; the file lives as long as the process and has no version.
fn encode(rows: &[Row]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(&mut bytes, &rows.iter().map(|row| row.start).collect::<Vec<_>>())?;
    put(&mut bytes, &rows.iter().map(|row| row.value).collect::<Vec<_>>())?;
    put(&mut bytes, &rows.iter().map(|row| row.version).collect::<Vec<_>>())?;
    put(&mut bytes, &rows.iter().map(|row| row.line).collect::<Vec<_>>())?;
    let marks = |row: &Row| u32::from(row.minutes) << 16 | u32::from(row.part) << 8 | mark_of(row.quality);
    put(&mut bytes, &rows.iter().map(marks).collect::<Vec<_>>())?;
    Ok(bytes)
}

fn put<T: pco::data_types::Number>(bytes: &mut Vec<u8>, column: &[T]) -> io::Result<()> {
    let config = pco::ChunkConfig::default().with_compression_level(2);
    let packed = pco::standalone::simple_compress(column, &config).map_err(io::Error::other)?;
    bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&packed);
    Ok(())
}

fn decode(mut bytes: &[u8], rows: &mut Vec<Row>) -> io::Result<()> {
    let starts: Vec<i64> = take(&mut bytes)?;
    let values: Vec<i64> = take(&mut bytes)?;
    let versions: Vec<i64> = take(&mut bytes)?;
    let lines: Vec<u32> = take(&mut bytes)?;
    let marks: Vec<u32> = take(&mut bytes)?;
    for (idx, mark) in marks.into_iter().enumerate() {
        let [quality, part, minutes @ ..] = mark.to_le_bytes();
        rows.push(Row {
            start: starts[idx],
            value: values[idx],
            version: versions[idx],
            line: lines[idx],
            minutes: u16::from_le_bytes(minutes),
            part,
            quality: quality_of(quality),
        });
    }
    Ok(())
}

fn take<T: pco::data_types::Number>(bytes: &mut &[u8]) -> io::Result<Vec<T>> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (column, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *bytes = rest;
    pco::standalone::simple_decompress(column).map_err(io::Error::other)
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
            start: i * 900 - 5_000,
            value: i * 7_919 % 1_000 - 300,
            version: i % 3,
            line: u32::try_from(i).unwrap(),
            minutes: 15 * u16::from(i % 2 == 0),
            part: u8::try_from(i % 2).unwrap(),
            quality: quality_of(u8::try_from(i % 5).unwrap()),
        };
        let n = i64::try_from(MAX_ROWS_IN_MEMORY).unwrap();
        let mut spill = Spill::default();
        let (a, b) = (spill.add_series(), spill.add_series());
        for i in 0..n + 100 {
            spill.push(if i % 3 == 0 { b } else { a }, row(i)).unwrap();
        }
        assert!(spill.file.is_some() && spill.n_in_memory == 100);
        let expected: Vec<Row> = (0..n + 100).filter(|i| i % 3 == 0).map(row).collect();
        assert_eq!((spill.n_rows(b), spill.rows(b).unwrap()), (expected.len(), expected));
        assert_eq!(spill.rows(a).unwrap().len() + spill.rows(b).unwrap().len(), MAX_ROWS_IN_MEMORY + 100);
    }
}
