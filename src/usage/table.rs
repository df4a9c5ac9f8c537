//! Delimited text as rows with line numbers, with a bound on the length of a row.
//!
//! A line without a quote is a row, and its cells stand between delimiters: nearly all lines are, and no grammar is asked
//! about them. The others go to the `csv` library's.

use std::io::{self, Read};
use std::ops::Range;

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};
use memchr::{memchr_iter, memchr2};

use super::source::unreadable;
use super::{UsageCode, UsageError};

/// A row longer than this is no row of readings.
const MAX_ROW_BYTES: usize = 1 << 20;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// The rows of a text.
pub(super) struct Table<'a> {
    input: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer is filled and not read yet.
    rest: Range<usize>,
    is_at_end: bool,
    delimiter: u8,
    /// The grammar of rows with quotes, once there is one.
    grammar: Option<csv_core::Reader>,
    /// Line on which the next row begins, from 1.
    next_line: u64,
    row: Row,
}

/// What comes next.
enum Line {
    /// A row without quotes: where it stands in the buffer, without its end.
    Plain(Range<usize>),
    /// A row with quotes begins.
    Quoted,
    /// Nothing.
    None,
}

/// The row that was read last.
#[derive(Debug, Default)]
struct Row {
    line: u64,
    /// Where it stands in the buffer, if it has no quotes.
    plain: Option<Range<usize>>,
    /// Where the cells of a plain one end, once they were asked for.
    ends: Vec<usize>,
    /// One with quotes.
    quoted: Quoted,
}

/// A row without its quotes. Rows take turns in the same memory, of which each fills a part.
#[derive(Debug, Default)]
struct Quoted {
    bytes: Vec<u8>,
    n_bytes: usize,
    ends: Vec<usize>,
    n_ends: usize,
}

/// One row: its cells, trimmed, and the line on which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableRow<'r> {
    bytes: &'r [u8],
    /// Where each cell ends; the next one begins so many bytes later.
    ends: &'r [usize],
    n_between: usize,
    /// From 1.
    pub(super) line: u64,
}

impl<'a> Table<'a> {
    /// The rows of `input`, whose cells are apart by `delimiter`.
    pub(super) fn new(input: Box<dyn Read + 'a>, delimiter: u8) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            rest: 0..0,
            is_at_end: false,
            delimiter,
            grammar: None,
            next_line: 1,
            row: Row::default(),
        }
    }

    /// The next row that is not blank; `None` at the end.
    ///
    /// # Errors
    /// [`UsageCode::BadRow`] for a row of more than a megabyte, [`UsageCode::Unreadable`], with the line.
    #[inline]
    pub(super) fn next_row(&mut self) -> Result<Option<TableRow<'_>>, UsageError> {
        Ok(if self.advance()? { Some(self.row()) } else { None })
    }

    /// Goes to the next row that is not blank; `false` at the end. For a reader that takes long rows apart itself.
    ///
    /// # Errors
    /// As [`Table::next_row`].
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, UsageError> {
        loop {
            let found = self.find_line()?;
            self.row.line = self.next_line;
            let is_blank = match found {
                Line::None => return Ok(false),
                Line::Quoted => {
                    self.read_quoted()?;
                    let Quoted { bytes, n_bytes, n_ends, .. } = &self.row.quoted;
                    *n_ends == 1 && bytes[..*n_bytes].trim_ascii().is_empty()
                }
                Line::Plain(line) => {
                    let bytes = &self.buffer[line.clone()];
                    let is_blank = bytes.first().is_none_or(u8::is_ascii_whitespace)
                        && bytes.trim_ascii().is_empty()
                        && !bytes.contains(&self.delimiter);
                    self.rest.start = self.rest.end.min(line.end + 1);
                    self.next_line += 1;
                    self.row.ends.clear();
                    self.row.plain = Some(line);
                    is_blank
                }
            };
            if !is_blank {
                return Ok(true);
            }
        }
    }

    /// The line of the row that was reached, if it has no quotes.
    pub(super) fn plain(&self) -> Option<&[u8]> {
        self.row.plain.as_ref().map(|line| &self.buffer[line.clone()])
    }

    /// The row that was reached.
    #[inline]
    pub(super) fn row(&mut self) -> TableRow<'_> {
        let Row { line, plain, ends, quoted } = &mut self.row;
        match plain {
            Some(place) => {
                let bytes = &self.buffer[place.clone()];
                if ends.is_empty() {
                    for (idx, byte) in bytes.iter().enumerate() {
                        if *byte == self.delimiter {
                            ends.push(idx);
                        }
                    }
                    ends.push(bytes.len());
                }
                TableRow { bytes, ends, n_between: 1, line: *line }
            }
            None => {
                let (bytes, ends) = (&quoted.bytes[..quoted.n_bytes], &quoted.ends[..quoted.n_ends]);
                TableRow { bytes, ends, n_between: 0, line: *line }
            }
        }
    }

    /// Line on which the row that was reached begins.
    pub(super) fn line(&self) -> u64 {
        self.row.line
    }

    /// The next line; it is not taken yet.
    #[inline]
    fn find_line(&mut self) -> Result<Line, UsageError> {
        let mut n_searched = 0;
        loop {
            let rest = &self.buffer[self.rest.clone()];
            if let Some(idx) = memchr2(b'\n', b'"', &rest[n_searched..]) {
                let end = self.rest.start + n_searched + idx;
                return Ok(if self.buffer[end] == b'"' { Line::Quoted } else { Line::Plain(self.rest.start..end) });
            }
            if self.is_at_end {
                return Ok(if rest.is_empty() { Line::None } else { Line::Plain(self.rest.clone()) });
            }
            n_searched = rest.len();
            self.fill()?;
        }
    }

    /// Reads on, keeping what was not read yet.
    fn fill(&mut self) -> Result<(), UsageError> {
        let line = self.next_line;
        self.buffer.copy_within(self.rest.clone(), 0);
        self.rest = 0..self.rest.len();
        if self.rest.end > MAX_ROW_BYTES {
            let message = format!("a row has more than {MAX_ROW_BYTES} bytes: these are no readings");
            return Err(UsageError::new(UsageCode::BadRow, message).at_line(line));
        }
        if self.rest.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let n = loop {
            match self.input.read(&mut self.buffer[self.rest.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|e| unreadable(&e).at_line(line))?,
            }
        };
        self.rest.end += n;
        self.is_at_end = n == 0;
        Ok(())
    }

    /// Reads a row that has quotes, which may stand on several lines.
    fn read_quoted(&mut self) -> Result<(), UsageError> {
        self.row.plain = None;
        let Quoted { bytes, n_bytes: n_bytes_of_row, ends, n_ends: n_ends_of_row } = &mut self.row.quoted;
        if bytes.is_empty() {
            bytes.resize(1 << 10, 0);
            ends.resize(1 << 6, 0);
        }
        // Rows end at a line feed alone; the carriage return before it is trimmed with the blanks.
        let build = || ReaderBuilder::new().delimiter(self.delimiter).terminator(Terminator::Any(b'\n')).build();
        let grammar = self.grammar.get_or_insert_with(build);
        loop {
            grammar.reset();
            let input = &self.buffer[self.rest.clone()];
            let (mut result, n_read, mut n_bytes, mut n_ends) = grammar.read_record(input, bytes, ends);
            if matches!(result, ReadRecordResult::InputEmpty) && self.is_at_end {
                // The end of the file ends the row.
                let (last, _, n_more_bytes, n_more_ends) =
                    grammar.read_record(&[], &mut bytes[n_bytes..], &mut ends[n_ends..]);
                (result, n_bytes, n_ends) = (last, n_bytes + n_more_bytes, n_ends + n_more_ends);
            }
            match result {
                ReadRecordResult::OutputFull => bytes.resize(2 * bytes.len(), 0),
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                ReadRecordResult::InputEmpty => {
                    self.fill()?;
                    return self.read_quoted();
                }
                ReadRecordResult::Record | ReadRecordResult::End => {
                    (*n_bytes_of_row, *n_ends_of_row) = (n_bytes, n_ends);
                    let n_lines = memchr_iter(b'\n', &input[..n_read]).count() as u64;
                    self.next_line += n_lines.max(1);
                    self.rest.start += n_read;
                    return Ok(());
                }
            }
        }
    }
}

impl std::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("line", &self.row.line).finish_non_exhaustive()
    }
}

impl<'r> TableRow<'r> {
    /// Number of cells.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn cell(self, idx: usize) -> Option<&'r [u8]> {
        let begin = if idx == 0 { 0 } else { self.ends.get(idx - 1)? + self.n_between };
        self.bytes.get(begin..*self.ends.get(idx)?)
    }

    /// The bytes of a cell, blanks around it taken off; empty where the row is too short.
    #[inline]
    pub(super) fn bytes(self, idx: usize) -> &'r [u8] {
        let bytes = self.cell(idx).unwrap_or_default();
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
        (0..self.len())
            .filter_map(|idx| self.cell(idx))
            .map(|cell| String::from_utf8_lossy(cell).trim().to_owned())
            .collect()
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn rows(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        let mut table = Table::new(Box::new(Cursor::new(text.to_vec())), b',');
        let mut rows = Vec::new();
        while let Some(row) = table.next_row().unwrap() {
            rows.push((row.line, row.texts()));
        }
        rows
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn rows_with_and_without_quotes_have_their_lines() {
        let text = b"a,b\r\n\r\n \r\n1,\"x,\n\ny\"\r\n\"\"\n,\n\"z\",5\" pipe\r\n2";
        let expected = [
            row(1, &["a", "b"]),
            row(4, &["1", "x,\n\ny"]),
            row(8, &["", ""]),
            row(9, &["z", "5\" pipe"]),
            row(10, &["2"]),
        ];
        assert_eq!(rows(text), expected);
        assert_eq!(rows(b""), []);
        assert_eq!(rows(b"\n\n"), []);
        assert_eq!(rows(b"a,\"b"), [row(1, &["a", "b"])], "the end of the file ends the row");
    }

    #[test]
    fn rows_longer_than_the_buffer_are_whole_and_far_longer_ones_refused() {
        let long = "x".repeat(3 * BUFFER_BYTES);
        let text = format!("1,{long}\n\"2\",\"{long}\n\"\n3,{long}\n\"4\",\"x\"");
        let read = rows(text.as_bytes());
        assert_eq!(
            read.iter().map(|(line, cells)| (*line, cells[1].len())).collect::<Vec<_>>(),
            [(1, long.len()), (2, long.len()), (4, long.len()), (5, 1)]
        );
        for text in ["x".repeat(2 * MAX_ROW_BYTES), format!("1\n\"{}", "x\n".repeat(MAX_ROW_BYTES))] {
            let mut table = Table::new(Box::new(Cursor::new(text.into_bytes())), b',');
            let refused = loop {
                match table.next_row() {
                    Ok(row) => assert!(row.is_some(), "it ended well"),
                    Err(error) => break error,
                }
            };
            assert_eq!(refused.code, UsageCode::BadRow);
        }
    }
}
