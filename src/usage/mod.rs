//! Readings: the model, the readers of files, the merge of corrections, the stored block.
//!
//! Start with [`Series`] (what a channel is). A file goes this way: `source.rs` (bytes to text), `detect.rs` (which
//! reader), `readers/` (one file a format, `table.rs`, `stamp.rs`, `clock.rs`, `number.rs` and `unit.rs` are their tools),
//! `collect.rs` and `settle.rs` (what a conflict, a gap and an interval are, for every format), `file.rs` (the series
//! of a file), `choose.rs` (which of them feed which channel), `inspect.rs` (what is told of it). Then `merge.rs` (readings into what is stored) and
//! `block.rs` (a month of readings as bytes). No tariff and no money here.

pub mod block;
mod changes;
mod choose;
mod clock;
mod collect;
mod column;
mod coverage;
mod detect;
mod error;
mod file;
mod fill;
mod inspect;
mod interval;
mod merge;
mod number;
mod readers;
mod readings;
mod settle;
mod source;
mod spill;
mod stamp;
mod table;
mod unit;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use changes::{ChangeSum, DayChange, ReadingChange, changed_days, changed_instants, differences, kwh};
pub use choose::{ChannelChoice, ChoiceError, channels_of_meter, choose};
pub use coverage::{MonthCoverage, MonthSpan, coverage};
pub use detect::{ReadOptions, StampSide, UsageReader, WordError, detect, formats, open, read};
pub use error::{UsageCode, UsageError};
pub use file::{Direction, FileSeries, Quantity, SeriesLabel, UsageFile, UsageWarning};
pub use fill::{FillError, fill_zero};
pub use inspect::{InspectedRange, InspectedSeries, Inspection, Problem, inspect, inspect_with};
pub use merge::{MergeError, Merged, OnConflict, merge};
pub use number::milliwatt_hours;
pub use readings::Readings;
pub use source::{ReadSeek, Source};
pub use stamp::DateOrder;
pub use unit::{Unit, UnitError};

use serde::{Deserialize, Serialize};

/// One stream of interval readings of a customer: `import`, `export`, or a named one (`controlled_load`).
/// `[a-z][a-z0-9_]{0,31}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Channel(String);

impl Channel {
    /// Used from the grid.
    pub fn import() -> Self {
        Self("import".to_owned())
    }

    /// Fed into the grid.
    pub fn export() -> Self {
        Self("export".to_owned())
    }

    /// The channel's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that names no channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no channel; write import, export or a name of a-z, 0-9 and _ with at most 32 characters")]
pub struct ChannelError(String);

impl FromStr for Channel {
    type Err = ChannelError;
    fn from_str(text: &str) -> Result<Self, ChannelError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Channel {
    type Error = ChannelError;
    fn try_from(text: String) -> Result<Self, ChannelError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if text.len() <= 32 && text.bytes().all(plain) && text.bytes().next().is_some_and(|b| b.is_ascii_lowercase()) {
            Ok(Self(text))
        } else {
            Err(ChannelError(text))
        }
    }
}

impl From<Channel> for String {
    fn from(channel: Channel) -> Self {
        channel.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a reading came to be. Ordered from the best to the worst: a worse quality replaces a better one only on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Read from the meter.
    Measured,
    /// Put in place of a reading by the meter operator.
    Substituted,
    /// Estimated.
    Estimated,
    /// Nobody read it: whoever imported declared the gap to be zero. Any reading takes its place.
    FilledZero,
    /// Said to be missing: no energy is known. Counts as a gap.
    Missing,
}

impl Quality {
    /// The word in files and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Substituted => "substituted",
            Self::Estimated => "estimated",
            Self::FilledZero => "filled_zero",
            Self::Missing => "missing",
        }
    }
}

/// Energy in `[start, start + seconds)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Seconds since the epoch, UTC.
    pub start: i64,
    /// Length of the interval in seconds: minutes that divide an hour, or a local day of 23 to 25 hours.
    pub seconds: u32,
    /// 1 kWh = 1,000,000. Zero when missing.
    pub milliwatt_hours: i64,
    /// How it came to be.
    pub quality: Quality,
}

impl Reading {
    /// The instant at which the interval ends, seconds since the epoch.
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.seconds)
    }
}

/// The readings of one channel: sorted by start, no two overlap. Stored as runs, so that the engine's loops
/// see plain slices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    runs: Vec<Run>,
    n_bits: u32,
    has_negative: bool,
}

/// Readings of one length that follow each other without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Start of the first interval, seconds since the epoch, UTC.
    pub start: i64,
    /// Length of every interval, seconds.
    pub seconds: u32,
    /// Energy of each interval, milliwatt-hours; no missing ones in here.
    pub milliwatt_hours: Vec<i64>,
    /// Stretches of one quality, in order: their counts add up to the number of intervals.
    pub qualities: Vec<(u32, Quality)>,
}

impl Run {
    /// The instant after the last interval, seconds since the epoch.
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.seconds) * i64::try_from(self.milliwatt_hours.len()).expect("a run fits memory")
    }
}

impl Series {
    /// From readings sorted by start that do not overlap; missing ones become gaps.
    ///
    /// # Panics
    /// When they are not sorted or overlap: callers have checked.
    pub fn from_sorted(readings: &[Reading]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut last_end = i64::MIN;
        let (mut bits, mut signs) = (0, 0);
        for reading in readings {
            assert!(reading.start >= last_end, "readings are sorted and do not overlap");
            last_end = reading.end();
            if reading.quality == Quality::Missing {
                continue;
            }
            // Of a number and its complement one is not negative, and bounds the magnitude.
            bits |= reading.milliwatt_hours ^ (reading.milliwatt_hours >> 63);
            signs |= reading.milliwatt_hours;
            match runs.last_mut() {
                Some(run) if run.seconds == reading.seconds && run.end() == reading.start => {
                    run.milliwatt_hours.push(reading.milliwatt_hours);
                    match run.qualities.last_mut() {
                        Some((count, quality)) if *quality == reading.quality => *count += 1,
                        _ => run.qualities.push((1, reading.quality)),
                    }
                }
                _ => runs.push(Run {
                    start: reading.start,
                    seconds: reading.seconds,
                    milliwatt_hours: vec![reading.milliwatt_hours],
                    qualities: vec![(1, reading.quality)],
                }),
            }
        }
        Self { runs, n_bits: 64 - bits.leading_zeros(), has_negative: signs < 0 }
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// No reading is above 2^n or below -2^n, in milliwatt-hours: says how wide a sum has to be.
    pub fn n_bits(&self) -> u32 {
        self.n_bits
    }

    /// Whether some reading is below zero.
    pub fn has_negative(&self) -> bool {
        self.has_negative
    }

    /// Whether there is no reading.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Number of readings.
    pub fn n_readings(&self) -> usize {
        self.runs.iter().map(|run| run.milliwatt_hours.len()).sum()
    }

    /// Every reading, in order.
    pub fn readings(&self) -> impl Iterator<Item = Reading> {
        self.runs.iter().flat_map(|run| {
            let qualities = run.qualities.iter().flat_map(|(n, quality)| std::iter::repeat_n(*quality, *n as usize));
            run.milliwatt_hours.iter().zip(qualities).enumerate().map(|(i, (milliwatt_hours, quality))| Reading {
                start: run.start + i64::from(run.seconds) * i64::try_from(i).expect("a run fits memory"),
                seconds: run.seconds,
                milliwatt_hours: *milliwatt_hours,
                quality,
            })
        })
    }
}

/// What a file holds for the channels of one customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedUsage {
    /// The reader that understood it: `csv`, `green_button`.
    pub format: &'static str,
    /// By channel, each sorted by start and free of overlap. At least one reading.
    pub readings: BTreeMap<Channel, Readings>,
    /// Names of the series of the file that feed each channel.
    pub sources: BTreeMap<Channel, Vec<String>>,
    /// Rows of the file, repeats and blank ones included.
    pub n_rows: u64,
    /// Rows that said the same as another one.
    pub exact_repeats: u64,
    /// Cells left blank: gaps.
    pub blank: u64,
    /// The offset from UTC, seconds east, if all times of the file carry the same one.
    pub offset_seconds: Option<i32>,
    /// What a reader of the numbers should know.
    pub warnings: Vec<UsageWarning>,
}

impl ParsedUsage {
    /// Number of readings of all channels.
    pub fn n_readings(&self) -> usize {
        self.readings.values().map(Readings::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_knows_the_bits_of_its_largest_reading_whatever_its_sign() {
        let n_bits = |energies: &[i64]| {
            let readings = (0..).zip(energies).map(|(i, milliwatt_hours)| Reading {
                start: i * 900,
                seconds: 900,
                milliwatt_hours: *milliwatt_hours,
                quality: Quality::Measured,
            });
            let series = Series::from_sorted(&readings.collect::<Vec<_>>());
            (series.n_bits(), series.has_negative())
        };
        let positive = [n_bits(&[]), n_bits(&[0]), n_bits(&[1]), n_bits(&[3, 8]), n_bits(&[i64::MAX])];
        assert_eq!(positive, [(0, false), (0, false), (1, false), (4, false), (63, false)]);
        let negative = [n_bits(&[-8]), n_bits(&[3, -9]), n_bits(&[-1, 7]), n_bits(&[i64::MIN])];
        assert_eq!(negative, [(3, true), (4, true), (3, true), (63, true)]);
    }
}
