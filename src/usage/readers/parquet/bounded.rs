//! The bytes of a Parquet file, with a bound on what a page of it may unpack to.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::super::super::source::unreadable;
use super::super::super::{UsageCode, UsageError};
use super::schema::{self, varint};

/// Writers make pages of one MiB.
const MAX_PAGE_BYTES: u64 = 64 << 20;

/// Values of a page; writers make pages of some ten thousand.
const MAX_PAGE_VALUES: u64 = 64 << 20;

/// Values of a dictionary; writers end one at a MiB.
const MAX_DICTIONARY_VALUES: u64 = 4 << 20;

/// What tells of columns and row groups lies at the end; a file of readings has some kilobytes of it.
const MAX_METADATA_BYTES: u32 = 16 << 20;

/// The length of the metadata and the mark behind it.
const FOOTER_BYTES: usize = 8;

/// A file.
#[derive(Debug)]
pub(super) struct Bounded {
    file: File,
    n_bytes: u64,
}

impl Bounded {
    /// A file of so many bytes.
    ///
    /// # Errors
    /// [`UsageCode::BadRow`] for one without an end, [`UsageCode::TooLarge`] for one with too much metadata.
    pub(super) fn new(mut file: File, n_bytes: u64) -> std::result::Result<Self, UsageError> {
        let mut footer = [0; FOOTER_BYTES];
        let Some(at) = n_bytes.checked_sub(FOOTER_BYTES as u64) else { return Err(cut()) };
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut footer)).map_err(|e| unreadable(&e))?;
        let [a, b, c, d, mark @ ..] = footer;
        if mark != *b"PAR1" {
            return Err(cut());
        }
        let n_metadata = u32::from_le_bytes([a, b, c, d]);
        if n_metadata > MAX_METADATA_BYTES {
            return Err(UsageError::new(UsageCode::TooLarge, "the file has more metadata than any of readings"));
        }
        let Some(at) = at.checked_sub(n_metadata.into()) else { return Err(cut()) };
        let mut metadata = Vec::new();
        file.seek(SeekFrom::Start(at))
            .and_then(|_| (&file).take(n_metadata.into()).read_to_end(&mut metadata))
            .map_err(|e| unreadable(&e))?;
        if schema::is_bounded(&metadata) != Some(true) {
            let message = "the Parquet file is damaged, or its schema has columns far within columns";
            return Err(UsageError::new(UsageCode::BadRow, message));
        }
        Ok(Self { file, n_bytes })
    }
}

fn cut() -> UsageError {
    UsageError::new(UsageCode::BadRow, "the Parquet file has no end: was it cut?")
}

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.n_bytes
    }
}

impl ChunkReader for Bounded {
    type T = BufReader<File>;

    /// The library comes here for the header of each page, and for the end of the file.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(file);
        let is_page = start.saturating_add(FOOTER_BYTES as u64) < self.n_bytes;
        if is_page && !is_bounded(reader.fill_buf()?).unwrap_or(false) {
            let message = "a page is larger than any of readings, or encodes texts by what they share";
            return Err(ParquetError::General(message.to_owned()));
        }
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.saturating_add(length as u64) > self.n_bytes {
            return Err(ParquetError::EOF("the file ends before it says".to_owned()));
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(length);
        file.take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() == length {
            Ok(bytes.into())
        } else {
            Err(ParquetError::EOF("the file ends before it says".to_owned()))
        }
    }
}

/// Whether a page may be read, by its header: a structure in Thrift's compact protocol (parquet-format, `PageHeader`).
/// Looked at is what the library makes room for before it reads.
fn is_bounded(header: &[u8]) -> Option<bool> {
    let mut fields = Fields { bytes: header, id: 0 };
    let kind = fields.number(1)?;
    let n_bytes = fields.number(2)?;
    fields.number(3)?;
    // A checksum.
    let _ = fields.number(4);
    let (id, place_of_encoding) = match kind {
        DATA_PAGE => (5, 2),
        DICTIONARY_PAGE => (7, 2),
        DATA_PAGE_V2 => (8, 4),
        _ => return None,
    };
    let mut page = fields.structure(id)?;
    let n_values = page.number(1)?;
    for id in 2..place_of_encoding {
        page.number(id)?;
    }
    let encoding = page.number(place_of_encoding)?;
    // A value of a dictionary has a byte at least.
    let most_values = if kind == DICTIONARY_PAGE { n_bytes.min(MAX_DICTIONARY_VALUES) } else { MAX_PAGE_VALUES };
    Some(n_bytes <= MAX_PAGE_BYTES && n_values <= most_values && !DELTA_TEXTS.contains(&encoding))
}

/// Kinds of pages.
const DATA_PAGE: u64 = 0;
const DICTIONARY_PAGE: u64 = 2;
const DATA_PAGE_V2: u64 = 3;

/// Encodings of texts by what they share, whose lengths need not be in the page: `DELTA_LENGTH_BYTE_ARRAY` and
/// `DELTA_BYTE_ARRAY`.
const DELTA_TEXTS: [u64; 2] = [6, 7];

/// Fields of a structure, in the order of their numbers.
struct Fields<'b> {
    bytes: &'b [u8],
    id: u8,
}

impl<'b> Fields<'b> {
    /// An `i32` that is not negative.
    fn number(&mut self, id: u8) -> Option<u64> {
        let mut rest = self.begin(id, 5)?;
        let value = varint(&mut rest)?;
        (self.bytes, self.id) = (rest, id);
        // Signs alternate.
        (value % 2 == 0).then_some(value / 2)
    }

    /// A structure within.
    fn structure(&mut self, id: u8) -> Option<Fields<'b>> {
        self.begin(id, 12).map(|bytes| Fields { bytes, id: 0 })
    }

    /// What stands behind the head of a field: its number as the step from the one before, and its type.
    fn begin(&self, id: u8, kind: u8) -> Option<&'b [u8]> {
        let (head, rest) = self.bytes.split_first()?;
        (*head == ((id - self.id) << 4) | kind).then_some(rest)
    }
}
