//! What a file of readings is refused for: one code, one place, one sentence on what to do.

use std::fmt;

use serde::Serialize;

/// Why readings are refused. The texts of [`UsageCode::as_str`] are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageCode {
    /// No reading at all: an empty file, a header alone, blank cells only.
    NoReadings,
    /// Neither CSV nor JSON of ours.
    UnknownFormat,
    /// The header lacks a column that is needed, or names one twice.
    BadHeader,
    /// A column or member whose meaning is not known: nothing may be ignored.
    UnknownColumn,
    /// A row with too few or too many cells (a file cut in the middle of a row), or too long a one.
    BadRow,
    /// Bytes that are not UTF-8.
    BadEncoding,
    /// JSON that stops in the middle, or has another shape.
    BadJson,
    /// A cell that is no number, or one beyond every meter.
    BadNumber,
    /// A cell that is no instant, or one that no interval starts at.
    BadTime,
    /// A quality that is not known, or one that contradicts its value.
    BadQuality,
    /// Local times without an offset, and nobody said in which time zone.
    TimeZoneNeeded,
    /// A local time that the clock skipped.
    LocalTimeDoesNotExist,
    /// A local time given more often than the clock showed it.
    LocalTimeAmbiguous,
    /// Intervals of another length than 5, 15, 30 or 60 minutes.
    IntervalLength,
    /// A single row does not say how long its interval is.
    IntervalUnknown,
    /// Two values for one start.
    Conflict,
    /// A reading reaches into the next one.
    Overlap,
    /// The bytes could not be read.
    Unreadable,
    /// A zip archive that is damaged, far larger than it says, or holds several files.
    BadArchive,
    /// More series or rows than a file of readings has.
    TooLarge,
    /// More than one series could feed a channel, or a choice names none.
    ChannelNeeded,
    /// Dates that are right in two orders of day and month, all through the file.
    DateOrderNeeded,
    /// Values whose unit neither the file nor the caller says.
    UnitNeeded,
    /// A unit that is no energy.
    BadUnit,
    /// Bills or register reads at odd dates: no energy of intervals.
    NotIntervals,
    /// Gas, water or heat.
    NotElectricity,
    /// XML that is not well formed, or with a document type or entities of its own.
    BadXml,
}

impl UsageCode {
    /// The code as programs see it: `conflict`, `bad_number`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoReadings => "no_readings",
            Self::UnknownFormat => "unknown_format",
            Self::BadHeader => "bad_header",
            Self::UnknownColumn => "unknown_column",
            Self::BadRow => "bad_row",
            Self::BadEncoding => "bad_encoding",
            Self::BadJson => "bad_json",
            Self::BadNumber => "bad_number",
            Self::BadTime => "bad_time",
            Self::BadQuality => "bad_quality",
            Self::TimeZoneNeeded => "time_zone_needed",
            Self::LocalTimeDoesNotExist => "local_time_does_not_exist",
            Self::LocalTimeAmbiguous => "local_time_ambiguous",
            Self::IntervalLength => "interval_length",
            Self::IntervalUnknown => "interval_unknown",
            Self::Conflict => "conflict",
            Self::Overlap => "overlap",
            Self::Unreadable => "unreadable",
            Self::BadArchive => "bad_archive",
            Self::TooLarge => "too_large",
            Self::ChannelNeeded => "channel_needed",
            Self::DateOrderNeeded => "date_order_needed",
            Self::UnitNeeded => "unit_needed",
            Self::BadUnit => "bad_unit",
            Self::NotIntervals => "not_intervals",
            Self::NotElectricity => "not_electricity",
            Self::BadXml => "bad_xml",
        }
    }
}

impl fmt::Display for UsageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Readings that cannot be read exactly: the place and the reason. Nothing of the file is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsageError {
    /// What is wrong.
    pub code: UsageCode,
    /// Line of a CSV file, from 1 (the header is line 1).
    pub line: Option<u64>,
    /// The other line, where two contradict each other.
    pub other_line: Option<u64>,
    /// The column, or the JSON pointer of the member.
    pub field: Option<String>,
    /// What is wrong and what to do, without the place.
    pub message: String,
}

impl UsageError {
    /// An error without a place.
    pub fn new(code: UsageCode, message: impl Into<String>) -> Self {
        Self { code, line: None, other_line: None, field: None, message: message.into() }
    }

    /// The same at a line.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same between two lines, the earlier one first.
    #[must_use]
    pub fn at_lines(mut self, a: u64, b: u64) -> Self {
        self.line = Some(a.min(b));
        self.other_line = Some(a.max(b));
        self
    }

    /// The same in a column or member.
    #[must_use]
    pub fn in_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.other_line) {
            (Some(a), Some(b)) => write!(f, "lines {a} and {b}")?,
            (Some(a), None) => write!(f, "line {a}")?,
            _ => {}
        }
        if let Some(field) = &self.field {
            let comma = if self.line.is_some() { ", " } else { "" };
            write!(f, "{comma}{field}")?;
        }
        if self.line.is_some() || self.field.is_some() {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}
