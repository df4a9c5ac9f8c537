//! What a file of readings holds, told: every series, with counts, energy, gaps, overlaps and what was assumed.

use std::collections::BTreeMap;
use std::ops::Range;

use rust_decimal::Decimal;
use serde::Serialize;

use super::choose::choose_labels;
use super::file::{Direction, FileSeries, UsageFile, UsageWarning};
use super::stamp::instant;
use super::{Channel, ChannelChoice, Quality, Quantity, Readings, UsageError};

/// Ranges of gaps or overlaps that are listed for a series; `n_gaps` counts all.
const MAX_RANGES: usize = 1000;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The reader that understood it.
    pub format: &'static str,
    /// Rows (elements) of the file that hold readings.
    pub rows: u64,
    /// Every series, billable or not, in the order of the file.
    pub series: Vec<InspectedSeries>,
    /// What was assumed and what should be known, with lines.
    pub warnings: Vec<UsageWarning>,
}

/// One series of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InspectedSeries {
    /// The meter point or meter as the file writes it.
    pub meter: Option<String>,
    /// The file's own word for the stream.
    pub channel: Option<String>,
    /// Which way the energy flows.
    pub direction: Direction,
    /// The unit as the file gives it.
    pub unit: String,
    /// What the numbers count.
    pub quantity: Quantity,
    /// The name by which it is chosen: `--channel import=NAME`.
    pub name: String,
    /// The customer's channel that an import would feed with it, where that needs no choice.
    pub feeds: Option<Channel>,
    /// The length of most intervals.
    pub interval_minutes: Option<u32>,
    /// Intervals that have a value, repeats counted once.
    pub intervals: u64,
    /// Their sum, a decimal; null where the unit is no energy.
    pub kwh: Option<String>,
    /// Start of the first interval, with or without a value, RFC 3339 in UTC.
    pub first_start: Option<String>,
    /// End of the last.
    pub last_end: Option<String>,
    /// Intervals by quality; `missing` ones have no value.
    pub quality: BTreeMap<Quality, u64>,
    /// Cells left blank.
    pub blank: u64,
    /// Rows that said the same as another one.
    pub exact_repeats: u64,
    /// Values that a newer version in the same file replaced.
    pub older_versions: u64,
    /// Number of ranges without a value between the first and the last.
    pub n_gaps: u64,
    /// The first thousand of them.
    pub gaps: Vec<InspectedRange>,
    /// Ranges that two readings claim.
    pub overlaps: Vec<InspectedRange>,
    /// What contradicts itself: an import of this series is refused for the first of them.
    pub problems: Vec<Problem>,
}

/// A range of instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InspectedRange {
    /// RFC 3339 in UTC.
    pub start: String,
    /// Exclusive.
    pub end: String,
}

/// Something that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Code of the refusal.
    pub code: &'static str,
    /// Line of the file.
    pub line: Option<u64>,
    /// The other line, where two contradict each other.
    pub other_line: Option<u64>,
    /// For people.
    pub detail: String,
}

/// Looks through all series of a file, one at a time.
///
/// * `choices`: which series the caller would feed into which channel.
///
/// # Errors
/// [`super::UsageCode::Unreadable`] when the temporary file cannot be read back.
pub fn inspect(mut file: UsageFile, choices: &[ChannelChoice]) -> Result<Inspection, UsageError> {
    inspect_with(&mut file, choices, |_, _| ())
}

/// As [`inspect`], and shows each series and what is told of it to `look`.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(
    file: &mut UsageFile,
    choices: &[ChannelChoice],
    mut look: impl FnMut(&InspectedSeries, &Readings),
) -> Result<Inspection, UsageError> {
    let mut series = Vec::with_capacity(file.n_series());
    for idx in 0..file.n_series() {
        let settled = file.series(idx)?;
        let inspected = inspect_series(&settled);
        look(&inspected, &settled.readings);
        series.push(inspected);
    }
    let feeds = choose_labels(file, choices);
    for (channel, idx) in feeds {
        series[idx].feeds = Some(channel);
    }
    Ok(Inspection { format: file.format, rows: file.n_rows, series, warnings: file.warnings.clone() })
}

fn inspect_series(series: &FileSeries) -> InspectedSeries {
    let label = &series.label;
    let valued = || series.readings.iter().filter(|reading| reading.quality != Quality::Missing);
    let mut quality: BTreeMap<Quality, u64> = BTreeMap::new();
    for reading in series.readings.iter() {
        *quality.entry(reading.quality).or_default() += 1;
    }
    let sum: i128 = valued().map(|reading| i128::from(reading.milliwatt_hours)).sum();
    let gaps = gaps(series);
    InspectedSeries {
        meter: label.meter.clone(),
        channel: label.channel.clone(),
        direction: label.direction,
        unit: label.unit.clone(),
        quantity: label.quantity,
        name: label.name(),
        feeds: None,
        interval_minutes: main_minutes(&series.readings),
        intervals: valued().count() as u64,
        kwh: label.is_energy().then(|| Decimal::from_i128_with_scale(sum, 6).normalize().to_string()),
        first_start: series.span.as_ref().map(|span| instant(span.start)),
        last_end: series.span.as_ref().map(|span| instant(span.end)),
        quality,
        blank: series.blank,
        exact_repeats: series.exact_repeats,
        older_versions: series.older_versions,
        n_gaps: gaps.len() as u64,
        gaps: ranges(&gaps),
        overlaps: ranges(&series.overlaps),
        problems: series.problems.iter().map(Problem::from).collect(),
    }
}

impl From<&UsageError> for Problem {
    fn from(error: &UsageError) -> Self {
        let detail = error.message.clone();
        Self { code: error.code.as_str(), line: error.line, other_line: error.other_line, detail }
    }
}

fn ranges(found: &[Range<i64>]) -> Vec<InspectedRange> {
    let range = |range: &Range<i64>| InspectedRange { start: instant(range.start), end: instant(range.end) };
    found.iter().take(MAX_RANGES).map(range).collect()
}

/// What lies between the first and the last interval and has no value.
fn gaps(series: &FileSeries) -> Vec<Range<i64>> {
    let Some(span) = &series.span else { return Vec::new() };
    let mut gaps = Vec::new();
    let mut covered_to = span.start;
    for reading in series.readings.iter().filter(|reading| reading.quality != Quality::Missing) {
        if reading.start > covered_to {
            gaps.push(covered_to..reading.start);
        }
        covered_to = reading.end();
    }
    if span.end > covered_to {
        gaps.push(covered_to..span.end);
    }
    gaps
}

fn main_minutes(readings: &Readings) -> Option<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for reading in readings.iter() {
        *counts.entry(reading.seconds / 60).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(minutes, count)| (*count, std::cmp::Reverse(*minutes))).map(|(minutes, _)| minutes)
}
