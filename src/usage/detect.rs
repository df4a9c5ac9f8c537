//! Which reader understands a file, by its content and never by its name.

use std::io::{self, Read};

use chrono_tz::Tz;

use super::{CsvReader, JsonReader, ParsedUsage, UsageCode, UsageError};

/// Bytes at the beginning of a file that a reader may look at.
const HEAD_BYTES: usize = 4096;

/// What the caller knows and a file may not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What local times without an offset are in.
    pub time_zone: Option<Tz>,
}

/// A reader of one format. The next format is one file that implements this, and a line in [`READERS`].
pub trait UsageReader: Sync {
    /// Its name: `csv`, `json`.
    fn format(&self) -> &'static str;

    /// Whether these are the first bytes (at most 4 KiB, without a byte-order mark and leading blanks) of such a file.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Reads it to its end.
    ///
    /// # Errors
    /// The first thing that cannot be read exactly, with its place.
    fn read(&self, input: &mut dyn Read, options: &ReadOptions) -> Result<ParsedUsage, UsageError>;
}

/// In the order in which they are asked.
const READERS: [&dyn UsageReader; 2] = [&JsonReader, &CsvReader];

/// The reader of a file that begins like this, if there is one.
pub fn detect(head: &[u8]) -> Option<&'static dyn UsageReader> {
    READERS.into_iter().find(|reader| reader.recognises(head))
}

/// Reads a file of any format known.
///
/// ```
/// use samebill::usage::{ReadOptions, read};
///
/// let csv = "start,kwh\n2026-06-01T00:00:00Z,0.25\n2026-06-01T00:30:00Z,0.5\n";
/// let usage = read(csv.as_bytes(), &ReadOptions::default()).unwrap();
/// assert_eq!(usage.n_readings(), 2);
///
/// let local = "start,kwh\n2026-06-01 00:00,0.25\n";
/// let refused = read(local.as_bytes(), &ReadOptions::default()).unwrap_err();
/// assert_eq!((refused.code.as_str(), refused.line), ("time_zone_needed", Some(2)));
/// ```
///
/// # Errors
/// [`UsageCode::UnknownFormat`], and what its reader refuses.
pub fn read(mut input: impl Read, options: &ReadOptions) -> Result<ParsedUsage, UsageError> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    input
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|e| UsageError::new(UsageCode::Unreadable, format!("the file could not be read: {e}")))?;
    let unknown = |what: &str| Err(UsageError::new(UsageCode::UnknownFormat, what));
    match head.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return unknown("the file is UTF-16; save it as UTF-8"),
        [b'P', b'K', 3, 4, ..] => return unknown("the file is a zip archive or a spreadsheet; give the CSV in it"),
        _ => {}
    }
    let body = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let Some(reader) = detect(body.trim_ascii_start()) else {
        return unknown("neither CSV with a header (start,kwh) nor JSON readings");
    };
    reader.read(&mut io::Cursor::new(body).chain(input), options)
}
