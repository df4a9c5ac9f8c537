//! What a file of readings holds: its series, billable or not, as the file names them.

use std::collections::HashSet;
use std::ops::Range;

use serde::Serialize;

use super::collect::Collected;
use super::{Readings, UsageCode, UsageError};

/// Warnings of one code that a file keeps of its series.
const MAX_WARNINGS_OF_CODE: usize = 100;

/// Which way the energy of a series flows, seen from the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Used from the grid.
    Import,
    /// Fed into the grid.
    Export,
    /// Import less export: it repeats the energy of both.
    Net,
    /// Import and export added up: it repeats the energy of both.
    Total,
    /// The file does not say, or it is a flow behind the meter (a device, a battery, a roof).
    Other,
}

/// What the numbers of a series count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Energy of each interval.
    Energy,
    /// Mean power of each interval: energy by its length.
    MeanPower,
    /// Standings of a register: energy by their differences.
    Register,
    /// No energy (volts, kVArh, the highest kW): kept apart and never billed.
    Other,
}

/// The name of a series within its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SeriesLabel {
    /// The meter point or meter as the file writes it, if it does.
    pub meter: Option<String>,
    /// The file's own word for the stream: `E1`, `Consumption`, a sensor; ours in our own files: `import`.
    pub channel: Option<String>,
    /// Which way the energy flows.
    pub direction: Direction,
    /// The unit as the file gives it: `kWh`, `KWH`, `Wh`, `kVArh`; empty where it gives none.
    pub unit: String,
    /// What the numbers count.
    pub quantity: Quantity,
}

impl SeriesLabel {
    /// Energy in kWh of one direction, without a meter or a channel.
    pub fn energy(direction: Direction) -> Self {
        Self { meter: None, channel: None, direction, unit: "kWh".to_owned(), quantity: Quantity::Energy }
    }

    /// Whether it can be billed.
    pub fn is_energy(&self) -> bool {
        self.quantity != Quantity::Other
    }

    /// Its name for people: `6001234567/E1`, `E1`, `import`.
    pub fn name(&self) -> String {
        let direction = match self.direction {
            Direction::Import => "import",
            Direction::Export => "export",
            Direction::Net => "net",
            Direction::Total => "total",
            Direction::Other => "other",
        };
        let channel = self.channel.as_deref().unwrap_or(direction);
        match &self.meter {
            Some(meter) => format!("{meter}/{channel}"),
            None => channel.to_owned(),
        }
    }
}

/// One series of a file, settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeries {
    /// Its name.
    pub label: SeriesLabel,
    /// Sorted by start, free of overlap; missing ones are in it. Of a series that counts no energy
    /// ([`Quantity::Other`]) the values are the file's numbers in millionths, not milliwatt-hours.
    pub readings: Readings,
    /// From the start of the first interval to the end of the last, blank ones included; seconds since the epoch.
    pub span: Option<Range<i64>>,
    /// Cells left blank: gaps.
    pub blank: u64,
    /// Rows that said the same as another one.
    pub exact_repeats: u64,
    /// Values that a newer version in the same file replaced.
    pub older_versions: u64,
    /// What contradicts itself: conflicts, overlaps, lengths, with their lines. Its readings are not in `readings`.
    pub problems: Vec<UsageError>,
    /// Instants that two readings claim, seconds since the epoch.
    pub overlaps: Vec<Range<i64>>,
}

impl FileSeries {
    /// The series, if nothing in it contradicts itself.
    ///
    /// # Errors
    /// The first of its problems.
    pub fn checked(mut self) -> Result<Self, UsageError> {
        if self.problems.is_empty() { Ok(self) } else { Err(self.problems.swap_remove(0)) }
    }
}

/// Something that was assumed or that a reader of the numbers should know, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsageWarning {
    /// Stable: `repeated_hour_once`.
    pub code: &'static str,
    /// Line of the file.
    pub line: Option<u64>,
    /// For people.
    pub detail: String,
}

/// A file that was read to its end. Its series are settled one at a time, so that a file of thousands of meters does
/// not have to fit into memory.
#[derive(Debug)]
pub struct UsageFile {
    /// The reader that understood it: `csv`, `green_button`, `nem12`.
    pub format: &'static str,
    /// Rows (elements) of the file that hold readings, repeats and blank ones included.
    pub n_rows: u64,
    /// The offset from UTC, seconds east, if all times of the file carry the same one.
    pub offset_seconds: Option<i32>,
    /// What was assumed and what should be known, in the order of the file.
    pub warnings: Vec<UsageWarning>,
    /// Cells that a row has for channels: a row that comes twice is counted that often.
    pub(super) values_per_row: u64,
    /// The channels of the series are ours (`import`, `controlled_load`): nothing is to be chosen.
    pub(super) own_channels: bool,
    pub(super) collected: Collected,
    /// Series whose warnings are among `warnings`.
    pub(super) told: HashSet<usize>,
    /// Turns the row number of a problem into the file's own way to name a place.
    pub(super) place: fn(UsageError) -> UsageError,
}

impl UsageFile {
    /// Names of all series, in the order in which the file begins them.
    pub fn labels(&self) -> impl Iterator<Item = &SeriesLabel> {
        self.collected.labels()
    }

    /// Number of series.
    pub fn n_series(&self) -> usize {
        self.collected.labels().count()
    }

    /// Readings of one series, counted from 0, sorted and free of overlap; what was found on the way is added to the
    /// warnings. Reads nothing but this series into memory.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`] when the temporary file cannot be read back.
    pub fn series(&mut self, series_idx: usize) -> Result<FileSeries, UsageError> {
        let settled = self.collected.settle(series_idx)?;
        Ok(self.placed(series_idx, settled))
    }

    /// The same of a series that is asked for once: what it holds is handed over.
    ///
    /// # Errors
    /// As [`UsageFile::series`].
    pub(super) fn take_series(&mut self, series_idx: usize) -> Result<FileSeries, UsageError> {
        let settled = self.collected.settle_taken(series_idx)?;
        Ok(self.placed(series_idx, settled))
    }

    fn placed(&mut self, series_idx: usize, settled: (FileSeries, Vec<UsageWarning>)) -> FileSeries {
        let (mut series, warnings) = settled;
        let place = self.place;
        series.problems = std::mem::take(&mut series.problems).into_iter().map(place).collect();
        // What a series has to say is said when it is settled for the first time.
        if self.told.insert(series_idx) {
            for warning in warnings {
                self.warn(warning);
            }
        }
        series
    }

    /// Adds a warning of a series, its row named in the file's own way. Of one code a bounded number is kept, however many
    /// series there are.
    fn warn(&mut self, mut warning: UsageWarning) {
        match self.warnings.iter().filter(|known| known.code == warning.code).count() {
            n if n < MAX_WARNINGS_OF_CODE => {}
            MAX_WARNINGS_OF_CODE => {
                let detail = "there are more of this, of other series".to_owned();
                self.warnings.push(UsageWarning { line: None, detail, ..warning });
                return;
            }
            _ => return,
        }
        if let Some(line) = warning.line {
            let placed = (self.place)(UsageError::new(UsageCode::Unreadable, "").at_line(line));
            warning.line = placed.line;
            if let Some(field) = placed.field {
                warning.detail = format!("{field}: {}", warning.detail);
            }
        }
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// The refusal of a file without any reading.
pub(super) fn no_readings() -> UsageError {
    UsageError::new(UsageCode::NoReadings, "there is no reading in it")
}
