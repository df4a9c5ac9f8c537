//! Parquet: tables by columns, as data platforms keep them. The grammar by the `parquet` library, without Arrow.
//!
//! A file is written out as a table of text, a row a line below the names of the columns, and read as such: what a
//! column holds its name says, and units, sides and orders are told or asked for as in any table (`generic/`). So
//! line 2 is the first row. What the types say is kept exactly:
//!
//! | type | becomes |
//! | --- | --- |
//! | timestamp in s, ms, µs or ns, adjusted to UTC | an instant |
//! | timestamp not adjusted, INT96 | a local time: it wants a time zone |
//! | date; time | a date; a time of day |
//! | integer in a column of times | seconds, ms, µs or ns since the epoch, by its size |
//! | float, double | the shortest decimal that is this number; `NaN` is blank |
//! | decimal, integer, text | their digits |
//! | null | blank |
//!
//! Columns within columns (lists, structures) are refused by name. Row groups are read one batch at a time; a page that
//! unpacks to more than 64 MiB, and a file that unpacks to far more than it holds, is refused.

mod bounded;
mod cells;
mod schema;

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use super::super::number::clip;
use super::super::source::{ReadSeek, unreadable};
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::generic::read_table;
use bounded::Bounded;
use cells::{Column, Plan};

/// Rows that are read at a time.
const BATCH_ROWS: usize = 4096;

/// More columns than a table of readings has, one of every minute of a day.
const MAX_COLUMNS: usize = 2000;

/// The most text that comes out of a byte of a file: columns pack ten to fifty times, a bomb a million times.
const MAX_RATIO: u64 = 400;

/// The least and the most of it.
const UNPACKED_BYTES: (u64, u64) = (64 << 20, 8 << 30);

/// The reader of Parquet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parquet;

impl UsageReader for Parquet {
    fn format(&self) -> &'static str {
        "parquet"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        source.head().starts_with(b"PAR1")
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let input = source.bytes()?;
        // The library answers some damages with a panic. All that it held is dropped with it.
        let table = catch_unwind(AssertUnwindSafe(|| as_text(input))).unwrap_or_else(|_| {
            Err(UsageError::new(UsageCode::BadRow, "the Parquet file is damaged: its pages are not what they say"))
        })?;
        let mut text = Source::new(table)?;
        read_table(self.format(), &mut text, options)
    }
}

fn damaged(error: &ParquetError) -> UsageError {
    UsageError::new(UsageCode::BadRow, format!("the Parquet file is damaged or of a kind that is not read: {error}"))
}

/// The file as a table of text, names first.
fn as_text(input: &mut dyn ReadSeek) -> Result<File, UsageError> {
    let temporary = || tempfile::tempfile().map_err(|e| unreadable(&e));
    // The library reads from several places at once, which a file can.
    let mut file = temporary()?;
    let n_bytes = io::copy(input, &mut file).map_err(|e| unreadable(&e))?;
    let reader = SerializedFileReader::new(Bounded::new(file, n_bytes)?).map_err(|e| damaged(&e))?;
    let columns = plans(&reader)?;
    let most = n_bytes.saturating_mul(MAX_RATIO).clamp(UNPACKED_BYTES.0, UNPACKED_BYTES.1);
    let mut writer = ::csv::Writer::from_writer(Counted { out: io::BufWriter::new(temporary()?), left: most });
    let names = columns.iter().map(|(_, plan)| plan.heading.as_str());
    writer.write_record(names).map_err(|e| written(&e))?;
    for group_idx in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group_idx).map_err(|e| damaged(&e))?;
        write_group(&*group, &columns, &mut writer)?;
    }
    let counted = writer.into_inner().map_err(|e| unreadable(e.error()))?;
    let mut table = counted.out.into_inner().map_err(|e| unreadable(e.error()))?;
    table.seek(SeekFrom::Start(0)).map_err(|e| unreadable(&e))?;
    Ok(table)
}

/// The columns that are read, with their places.
fn plans(reader: &SerializedFileReader<Bounded>) -> Result<Vec<(usize, Plan)>, UsageError> {
    let schema = reader.metadata().file_metadata().schema_descr();
    if schema.num_columns() > MAX_COLUMNS {
        let message =
            format!("the file has {} columns; a table of readings has at most {MAX_COLUMNS}", schema.num_columns());
        return Err(UsageError::new(UsageCode::TooLarge, message));
    }
    // The library takes it for granted that chunks begin within the file.
    let chunks = reader.metadata().row_groups().iter().flat_map(parquet::file::metadata::RowGroupMetaData::columns);
    let mut places = chunks.flat_map(|chunk| {
        [Some(chunk.data_page_offset()), chunk.dictionary_page_offset(), Some(chunk.compressed_size())]
    });
    if places.any(|place| place.is_some_and(i64::is_negative)) {
        return Err(UsageError::new(UsageCode::BadRow, "the Parquet file is damaged: a column begins before the file"));
    }
    let mut columns = Vec::with_capacity(schema.num_columns());
    for (idx, descriptor) in schema.columns().iter().enumerate() {
        if let Some(plan) = Plan::of(descriptor)? {
            columns.push((idx, plan));
        }
    }
    Ok(columns)
}

fn write_group(
    group: &dyn RowGroupReader,
    plans: &[(usize, Plan)],
    writer: &mut ::csv::Writer<Counted>,
) -> Result<(), UsageError> {
    let mut columns = Vec::with_capacity(plans.len());
    for (idx, plan) in plans {
        let reader = group.get_column_reader(*idx).map_err(|e| damaged(&e))?;
        columns.push(Column::new(plan, reader));
    }
    let mut text = String::new();
    loop {
        let mut n_rows = None;
        for column in &mut columns {
            let n = column.read(BATCH_ROWS).map_err(|e| damaged(&e))?;
            if *n_rows.get_or_insert(n) != n {
                let message = "the columns of a row group have different numbers of rows: the file is damaged";
                return Err(UsageError::new(UsageCode::BadRow, message));
            }
        }
        let n_rows = n_rows.unwrap_or(0);
        if n_rows == 0 {
            return Ok(());
        }
        for _ in 0..n_rows {
            for column in &mut columns {
                text.clear();
                column.next(&mut text).map_err(|e| e.in_field(clip(column.heading())))?;
                writer.write_field(&text).map_err(|e| written(&e))?;
            }
            writer.write_record(None::<&[u8]>).map_err(|e| written(&e))?;
        }
    }
}

fn written(error: &::csv::Error) -> UsageError {
    match error.kind() {
        ::csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
            UsageError::new(UsageCode::TooLarge, "the file unpacks to far more than it holds: these are no readings")
        }
        ::csv::ErrorKind::Io(e) => unreadable(e),
        _ => UsageError::new(UsageCode::BadRow, error.to_string()),
    }
}

/// Passes bytes on until there are too many.
struct Counted {
    out: io::BufWriter<File>,
    left: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.left = self.left.checked_sub(n as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
