//! Delimited text as rows with line numbers: the grammar by the `csv` library, with a bound on the length of a row.

use std::cell::Cell as StdCell;
use std::io::{self, Read};
use std::rc::Rc;

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};

use super::source::unreadable;
use super::{UsageCode, UsageError};

/// A row longer than this is no row of readings.
const MAX_ROW_BYTES: u64 = 1 << 20;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// The rows of a text.
pub(super) struct Table<'a> {
    reader: ::csv::Reader<Lines<'a>>,
    record: ByteRecord,
    row_bytes: Rc<StdCell<u64>>,
}

/// One row: its cells, trimmed, and the line on which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableRow<'r> {
    record: &'r ByteRecord,
    /// From 1.
    pub(super) line: u64,
}

impl<'a> Table<'a> {
    /// The rows of `input`, whose cells are apart by `delimiter`.
    pub(super) fn new(input: Box<dyn Read + 'a>, delimiter: u8) -> Self {
        let row_bytes = Rc::new(StdCell::new(0));
        let lines = Lines { input, row_bytes: Rc::clone(&row_bytes), last: b'\n' };
        // Rows end at a line feed alone: only then does the library count lines the way an editor does. The carriage
        // return before it is trimmed with the blanks.
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(lines);
        Self { reader, record: ByteRecord::new(), row_bytes }
    }

    /// The next row that is not blank; `None` at the end.
    ///
    /// # Errors
    /// [`UsageCode::BadRow`] for a row of more than a megabyte, [`UsageCode::Unreadable`], with the line.
    pub(super) fn next_row(&mut self) -> Result<Option<TableRow<'_>>, UsageError> {
        loop {
            self.row_bytes.set(0);
            let before = self.reader.position().line();
            if !self.reader.read_byte_record(&mut self.record).map_err(|e| csv_error(&e, before))? {
                return Ok(None);
            }
            if self.record.len() == 1 && self.record[0].trim_ascii().is_empty() {
                continue; // A blank line.
            }
            let after = self.reader.position().line();
            let line = if after == before + 1 {
                before
            } else {
                let n_inner = self.record.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
                after - 1 - n_inner
            };
            return Ok(Some(TableRow { record: &self.record, line }));
        }
    }
}

impl std::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("line", &self.reader.position().line()).finish_non_exhaustive()
    }
}

impl<'r> TableRow<'r> {
    /// Number of cells.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.record.len()
    }

    /// The bytes of a cell, blanks around it taken off; empty where the row is too short.
    #[inline]
    pub(super) fn bytes(self, idx: usize) -> &'r [u8] {
        let bytes = self.record.get(idx).unwrap_or_default();
        match bytes {
            // Most cells have nothing around them.
            [first, .., last] if *first > b' ' && *last > b' ' => bytes,
            _ => bytes.trim_ascii(),
        }
    }

    /// The text of a cell: blanks and no-break spaces around it taken off, and the `="…"` with which a spreadsheet is
    /// kept from reading a number. Empty where the row is too short.
    ///
    /// # Errors
    /// [`UsageCode::BadEncoding`], without a place.
    #[inline]
    pub(super) fn text(self, idx: usize) -> Result<&'r str, UsageError> {
        let bytes = self.bytes(idx);
        let text = std::str::from_utf8(bytes)
            .map_err(|_| UsageError::new(UsageCode::BadEncoding, "the cell is not UTF-8; save the file as UTF-8"))?;
        // Most cells begin and end with a letter or a digit: nothing is to be taken off.
        if let [first, .., last] = bytes
            && first.is_ascii_alphanumeric()
            && last.is_ascii_alphanumeric()
        {
            return Ok(text);
        }
        let text = text.trim();
        Ok(text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"')).unwrap_or(text))
    }

    /// All cells as texts, what is no UTF-8 replaced: for headers and preambles.
    pub(super) fn texts(self) -> Vec<String> {
        self.record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect()
    }

    /// Refuses a row whose number of cells is not that of its header.
    ///
    /// # Errors
    /// [`UsageCode::BadRow`], without a place.
    #[inline]
    pub(super) fn expect_len(self, n: usize) -> Result<(), UsageError> {
        if self.len() == n {
            return Ok(());
        }
        let message = format!("the row has {} cells, the header {n}: was the file cut?", self.len());
        Err(UsageError::new(UsageCode::BadRow, message))
    }
}

/// * `line`: where the row begins, if the library does not say.
fn csv_error(error: &::csv::Error, line: u64) -> UsageError {
    let usage_error = match error.kind() {
        ErrorKind::Io(e) if e.kind() == io::ErrorKind::InvalidData => UsageError::new(
            UsageCode::BadRow,
            format!("a row has more than {MAX_ROW_BYTES} bytes: these are no readings"),
        ),
        ErrorKind::Io(e) => unreadable(e),
        _ => UsageError::new(UsageCode::BadRow, error.to_string()),
    };
    usage_error.at_line(error.position().map_or(line, ::csv::Position::line))
}

/// Passes bytes on until one row holds too many of them (the loop above sets the count back after each row), and
/// ends the last line if the file does not.
struct Lines<'a> {
    input: Box<dyn Read + 'a>,
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
