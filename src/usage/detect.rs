//! Which reader understands a file, by its content and never by its name.

use std::str::FromStr;

use chrono_tz::Tz;

use super::choose::{ChannelChoice, choose};
use super::file::UsageFile;
use super::readers::READERS;
use super::source::{ReadSeek, Source};
use super::stamp::DateOrder;
use super::unit::Unit;
use super::{ParsedUsage, UsageCode, UsageError};

/// Which end of an interval a file's times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StampSide {
    /// Its start.
    Start,
    /// Its end.
    End,
}

impl StampSide {
    /// `start`, `end`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
        }
    }
}

impl FromStr for StampSide {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Self, WordError> {
        let known = [Self::Start, Self::End];
        known.into_iter().find(|side| side.as_str() == text).ok_or_else(|| WordError::new(text, "start or end"))
    }
}

impl FromStr for DateOrder {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Self, WordError> {
        let known = [Self::YearMonthDay, Self::DayMonthYear, Self::MonthDayYear];
        known.into_iter().find(|order| order.as_str() == text).ok_or_else(|| WordError::new(text, "ymd, dmy or mdy"))
    }
}

/// A text that is none of the words known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not known; write {known}")]
pub struct WordError {
    text: String,
    known: &'static str,
}

impl WordError {
    fn new(text: &str, known: &'static str) -> Self {
        Self { text: text.to_owned(), known }
    }
}

/// What the caller knows and a file may not say. What is said here overrides what is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What local times without an offset are in.
    pub time_zone: Option<Tz>,
    /// Name of the reader to use, instead of finding it by content.
    pub format: Option<String>,
    /// Unit of the values, where the file names none or a wrong one.
    pub unit: Option<Unit>,
    /// Whether times are starts or ends of intervals.
    pub stamp: Option<StampSide>,
    /// What 03/04/2026 is.
    pub date_order: Option<DateOrder>,
    /// Which series of the file feed which channel.
    pub channels: Vec<ChannelChoice>,
}

/// A reader of one format. The next format is one file in `readers/` that implements this, and a line in its list.
pub trait UsageReader: Sync {
    /// Its name: `csv`, `green_button`, `nem12`.
    fn format(&self) -> &'static str;

    /// Whether a file that begins like this ([`Source::head`]) is of the format.
    fn recognises(&self, source: &Source<'_>) -> bool;

    /// Reads it to its end.
    ///
    /// # Errors
    /// The first thing that cannot be read exactly, with its place.
    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError>;
}

/// The reader of a file, if there is one.
pub fn detect(source: &Source<'_>) -> Option<&'static dyn UsageReader> {
    READERS.iter().copied().find(|reader| reader.recognises(source))
}

/// Names of all formats, in the order in which their readers are asked.
pub fn formats() -> impl Iterator<Item = &'static str> {
    READERS.iter().copied().map(UsageReader::format)
}

/// Reads all series of a file of any format known.
///
/// # Errors
/// [`UsageCode::UnknownFormat`], and what its reader refuses.
pub fn open<'a>(input: impl ReadSeek + 'a, options: &ReadOptions) -> Result<UsageFile, UsageError> {
    let mut source = Source::new(input)?;
    let reader = match &options.format {
        None => detect(&source).ok_or_else(|| unknown_format(&source))?,
        Some(name) => READERS.iter().copied().find(|reader| reader.format() == name).ok_or_else(|| {
            let known: Vec<_> = formats().collect();
            let message = format!("{name:?} is no format; known are {}", known.join(", "));
            UsageError::new(UsageCode::UnknownFormat, message)
        })?,
    };
    let mut file = reader.read(&mut source, options)?;
    let found_on_the_way = source.take_warnings();
    file.warnings.splice(0..0, found_on_the_way);
    Ok(file)
}

/// Reads a file of any format known into the channels of one customer.
///
/// ```
/// use std::io::Cursor;
/// use samebill::usage::{ReadOptions, read};
///
/// let csv = "start,kwh\n2026-06-01T00:00:00Z,0.25\n2026-06-01T00:30:00Z,0.5\n";
/// let usage = read(Cursor::new(csv), &ReadOptions::default()).unwrap();
/// assert_eq!(usage.n_readings(), 2);
///
/// let local = "start,kwh\n2026-06-01 00:00,0.25\n";
/// let refused = read(Cursor::new(local), &ReadOptions::default()).unwrap_err();
/// assert_eq!((refused.code.as_str(), refused.line), ("time_zone_needed", Some(2)));
/// ```
///
/// # Errors
/// As [`open`]; whatever contradicts itself in a series that is used; [`UsageCode::ChannelNeeded`] where more than one
/// series could feed a channel.
pub fn read<'a>(input: impl ReadSeek + 'a, options: &ReadOptions) -> Result<ParsedUsage, UsageError> {
    choose(open(input, options)?, &options.channels)
}

fn unknown_format(source: &Source<'_>) -> UsageError {
    if source.head().trim_ascii().is_empty() {
        return UsageError::new(UsageCode::NoReadings, "the file is empty");
    }
    let what = match source.head() {
        [0xd0, 0xcf, 0x11, 0xe0, ..] => "the file is an old spreadsheet; save the sheet with the readings as CSV",
        [b'%', b'P', b'D', b'F', ..] => "the file is a PDF; readings cannot be taken from it",
        [b'P', b'A', b'R', b'1', ..] => "the file is Parquet, and this program was built without the feature parquet",
        [0x1f, 0x8b, ..] => "the file is compressed with gzip; unpack it first",
        _ => "no reader knows a file that begins like this; known as CSV is start,kwh",
    };
    UsageError::new(UsageCode::UnknownFormat, what)
}
