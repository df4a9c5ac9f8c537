//! Rows in the order of a file, series by series; `settle.rs` makes readings of them.
//!
//! Every reader feeds a [`Collector`]; what is a conflict or a gap is decided there once for all formats.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chrono::NaiveDateTime;

use super::clock::{Clock, Resolved};
use super::file::{FileSeries, SeriesLabel, UsageFile, UsageWarning, no_readings};
use super::interval::{allowed_minutes, length_error};
use super::settle::{settle, settle_in_order};
use super::spill::{SeriesRows, Spill};
use super::stamp::{Stamp, StampReader};
use super::{Quality, ReadOptions, UsageCode, UsageError};

/// Warnings of one code that are kept; the rest is counted.
const MAX_WARNINGS_OF_CODE: u64 = 20;

/// Series of one file: more meters than that are a split away.
const MAX_SERIES: usize = 200_000;

/// A cell of one row: what it says, or that it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The number in millionths (milliwatt-hours, milliwatts) and how it came to be.
    Value(i64, Quality),
    /// Left blank: the interval is one of the file's, its energy is not known.
    Blank,
}

/// One value on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Seconds since the epoch; the end of the interval in a series that is stamped at its ends and does not say how
    /// long it is. For an unsettled repeated hour: the first of its two instants.
    pub(super) start: i64,
    /// Millionths.
    pub(super) value: i64,
    /// The higher one replaces the lower for the same interval.
    pub(super) version: i64,
    /// Line of the file.
    pub(super) line: u32,
    /// Length; zero while it is not known.
    pub(super) minutes: u16,
    /// Parts of one interval (a day and a night register) are added.
    pub(super) part: u8,
    /// `None`: blank.
    pub(super) quality: Option<Quality>,
}

/// Which of several values for one interval this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rank {
    /// The higher one replaces the lower for the same interval: an update time, confirmed after provisional.
    pub(super) version: i64,
    /// Parts of one interval (a day and a night register) are added.
    pub(super) part: u8,
}

/// A row whose local time the clock showed twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepeatedHour {
    pub(super) row_idx: usize,
    pub(super) local: NaiveDateTime,
    pub(super) first: i64,
    pub(super) second: i64,
}

/// Where a row lies in time and, where the file says so, how long it lasts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    start: i64,
    twice: Option<(NaiveDateTime, i64)>,
    minutes: u16,
    /// `start` is the end until the length is known.
    is_end: bool,
}

impl Times {
    /// With the length of the interval.
    ///
    /// # Errors
    /// [`UsageCode::IntervalLength`] for a length that is none of ours.
    pub(super) fn lasting(mut self, seconds: i64) -> Result<Self, UsageError> {
        let minutes = allowed_minutes(seconds).ok_or_else(|| length_error(&length_of(seconds)))?;
        self.minutes = minutes;
        if self.is_end {
            self.is_end = false;
            self.start -= seconds;
            self.twice = self.twice.map(|(local, second)| (local, second - seconds));
        }
        Ok(self)
    }
}

impl Times {
    /// The same interval so many of its lengths later.
    pub(super) fn later(self, n: usize) -> Self {
        let seconds = i64::from(self.minutes) * 60 * i64::try_from(n).unwrap_or(0);
        Self { start: self.start + seconds, ..self }
    }
}

fn length_of(seconds: i64) -> String {
    if seconds % 60 == 0 { format!("{} minutes", seconds / 60) } else { format!("{seconds} seconds") }
}

/// Which offsets the times of a file carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offsets {
    NoTimes,
    All(i32),
    Mixed,
}

/// One series on its way.
#[derive(Debug)]
struct State {
    label: SeriesLabel,
    repeated_hours: Vec<RepeatedHour>,
    /// Rows give the ends of intervals, and nothing says how long these are.
    has_bare_ends: bool,
    /// The start of the row before, where lengths are not known.
    last_start: Option<i64>,
}

/// Rows of a file, series by series.
#[derive(Debug)]
pub(super) struct Collector {
    clock: Option<Clock>,
    stamps: StampReader,
    series: Vec<State>,
    idx_by_label: HashMap<SeriesLabel, usize>,
    spill: Spill,
    n_rows: u64,
    offsets: Offsets,
    warnings: Warnings,
    /// How often rows without a length follow each other by 0 to 60 minutes.
    steps: [u64; 61],
}

impl Collector {
    /// An empty one, with what the caller said about local times.
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            clock: options.time_zone.map(Clock::new),
            stamps: StampReader::default(),
            series: Vec::new(),
            idx_by_label: HashMap::new(),
            spill: Spill::default(),
            n_rows: 0,
            offsets: Offsets::NoTimes,
            warnings: Warnings::default(),
            steps: [0; 61],
        }
    }

    /// The place of a series, made on first sight.
    ///
    /// # Errors
    /// [`UsageCode::TooLarge`] when a file has more series than any of ours.
    pub(super) fn series(&mut self, label: &SeriesLabel) -> Result<usize, UsageError> {
        if let Some(idx) = self.idx_by_label.get(label) {
            return Ok(*idx);
        }
        if self.series.len() == MAX_SERIES {
            let message = format!("the file has more than {MAX_SERIES} series; split it");
            return Err(UsageError::new(UsageCode::TooLarge, message));
        }
        let state = State { label: label.clone(), repeated_hours: Vec::new(), has_bare_ends: false, last_start: None };
        self.series.push(state);
        let idx = self.spill.add_series();
        self.idx_by_label.insert(label.clone(), idx);
        Ok(idx)
    }

    /// The clock of the zone that the caller named.
    ///
    /// # Errors
    /// [`UsageCode::TimeZoneNeeded`] when none was named; `local` is what could not be placed.
    pub(super) fn clock(&mut self, local: &dyn std::fmt::Display) -> Result<&mut Clock, UsageError> {
        self.clock.as_mut().ok_or_else(|| {
            UsageError::new(
                UsageCode::TimeZoneNeeded,
                format!(
                    "{local} has no offset: say in which time zone it is, with --time-zone (time_zone in the API), \
                     as in Europe/London"
                ),
            )
        })
    }

    /// An interval that starts at `stamp`.
    ///
    /// # Errors
    /// Without a place: a local time without a zone, one that does not exist.
    #[inline]
    pub(super) fn starting(&mut self, stamp: Stamp) -> Result<Times, UsageError> {
        let resolved = self.instants(stamp, false)?;
        Ok(self.times_of(stamp, resolved, false))
    }

    /// An interval that starts at a time of the day that was read last; `None`: it is to be read as any other.
    #[inline]
    pub(super) fn starting_same_day(&mut self, text: &[u8]) -> Option<Times> {
        let stamp = self.stamps.same_day(text)?;
        self.starting(stamp).ok()
    }

    /// An interval that ends at `stamp`.
    ///
    /// # Errors
    /// As [`Collector::starting`].
    pub(super) fn ending(&mut self, stamp: Stamp) -> Result<Times, UsageError> {
        let resolved = self.instants(stamp, true)?;
        Ok(self.times_of(stamp, resolved, true))
    }

    #[inline]
    fn times_of(&mut self, stamp: Stamp, resolved: Resolved, is_end: bool) -> Times {
        self.offsets = match (self.offsets, stamp) {
            (Offsets::NoTimes, Stamp::Instant(_, Some(offset))) => Offsets::All(offset),
            (Offsets::All(all), Stamp::Instant(_, Some(offset))) if all == offset => Offsets::All(all),
            _ => Offsets::Mixed,
        };
        let (start, twice) = match (resolved, stamp) {
            (Resolved::Twice(first, second), Stamp::Local(local)) => (first, Some((local, second))),
            (Resolved::Once(instant) | Resolved::Twice(instant, _), _) => (instant, None),
        };
        Times { start, twice, minutes: 0, is_end }
    }

    /// An interval from `start` to `end`. Between two local times also their plain difference counts, because files
    /// write the end of the hour before a clock change either way.
    ///
    /// # Errors
    /// As [`Collector::starting`], with the field; a length that is none of ours.
    pub(super) fn between(&mut self, start: Stamp, end: Stamp) -> Result<Times, UsageError> {
        let times = self.starting(start).map_err(|e| e.in_field("start"))?;
        self.until(start, times, end).map_err(|e| e.in_field("end"))
    }

    fn until(&mut self, start: Stamp, times: Times, end: Stamp) -> Result<Times, UsageError> {
        let mut candidates = Vec::new();
        if let (Stamp::Local(a), Stamp::Local(b)) = (start, end) {
            let is_day = a.time() == b.time() && a.time() == chrono::NaiveTime::MIN;
            if !is_day {
                candidates.push((b - a).num_seconds());
            }
        }
        let starts = [Some(times.start), times.twice.map(|(_, second)| second)];
        match self.instants(end, false) {
            Ok(Resolved::Once(instant)) => candidates.extend(starts.into_iter().flatten().map(|s| instant - s)),
            Ok(Resolved::Twice(a, b)) => {
                candidates.extend(starts.into_iter().flatten().flat_map(|s| [a - s, b - s]));
            }
            Err(e) if e.code == UsageCode::LocalTimeDoesNotExist && !candidates.is_empty() => {}
            Err(e) => return Err(e),
        }
        let shortest = candidates.iter().copied().find(|seconds| *seconds > 0).or(candidates.first().copied());
        match candidates.into_iter().find(|seconds| allowed_minutes(*seconds).is_some()).or(shortest) {
            Some(seconds) => times.lasting(seconds),
            None => Err(length_error("another length")),
        }
    }

    /// Settles the start of a row written in ISO 8601, and its length from its end or its minutes where they are given.
    ///
    /// # Errors
    /// Without a place: a local time without a zone, one that does not exist, a length that is none of ours.
    pub(super) fn times(&mut self, start: &str, end: Option<&str>, minutes: Option<u64>) -> Result<Times, UsageError> {
        let start_stamp = self.stamps.parse(start).map_err(|e| e.in_field("start"))?;
        let mut times = self.starting(start_stamp).map_err(|e| e.in_field("start"))?;
        if let Some(minutes) = minutes {
            let seconds = i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60);
            times = times.lasting(seconds).map_err(|e| e.in_field("interval_minutes"))?;
        }
        if let Some(end) = end {
            let end_stamp = Stamp::parse(end).map_err(|e| e.in_field("end"))?;
            let said = times.minutes;
            times = self.until(start_stamp, times, end_stamp).map_err(|e| e.in_field("end"))?;
            if said != 0 && said != times.minutes {
                return Err(length_error(&format!("{said} and {} minutes", times.minutes)).in_field("end"));
            }
        }
        Ok(times)
    }

    #[inline]
    fn instants(&mut self, stamp: Stamp, is_end: bool) -> Result<Resolved, UsageError> {
        match stamp {
            Stamp::Instant(instant, _) => Ok(Resolved::Once(instant)),
            Stamp::Local(local) => {
                let clock = self.clock(&local)?;
                if is_end { clock.resolve_end(local) } else { clock.resolve(local) }
            }
        }
    }

    /// Counts a row of the file.
    pub(super) fn count_row(&mut self) {
        self.n_rows += 1;
    }

    /// Adds a cell of the row at `line`.
    ///
    /// # Errors
    /// [`UsageCode::TooLarge`], [`UsageCode::Unreadable`] of the temporary file.
    #[inline]
    pub(super) fn push(&mut self, series_idx: usize, line: u64, times: Times, cell: Cell) -> Result<(), UsageError> {
        self.push_ranked(series_idx, line, times, cell, Rank::default())
    }

    /// Adds a cell that is one of several for its interval.
    ///
    /// # Errors
    /// As [`Collector::push`].
    #[inline]
    pub(super) fn push_ranked(
        &mut self,
        series_idx: usize,
        line: u64,
        times: Times,
        cell: Cell,
        rank: Rank,
    ) -> Result<(), UsageError> {
        let state = &mut self.series[series_idx];
        state.has_bare_ends |= times.is_end;
        if times.minutes == 0 {
            let step = state.last_start.map(|last| times.start.abs_diff(last) / 60);
            if let Some(count) = step.and_then(|step| self.steps.get_mut(usize::try_from(step).ok()?)) {
                *count += 1;
            }
            state.last_start = Some(times.start);
        }
        if let Some((local, second)) = times.twice {
            let row_idx = self.spill.n_rows(series_idx);
            state.repeated_hours.push(RepeatedHour { row_idx, local, first: times.start, second });
        }
        let (value, quality) = match cell {
            Cell::Value(value, quality) => (value, Some(quality)),
            Cell::Blank => (0, None),
        };
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let Rank { version, part } = rank;
        let row = Row { start: times.start, value, version, line, minutes: times.minutes, part, quality };
        self.spill.push(series_idx, row)
    }

    /// Adds values of one quality, of intervals of one length that follow each other.
    ///
    /// * `first`: times of the first of them, with its length.
    ///
    /// # Errors
    /// As [`Collector::push`].
    pub(super) fn push_run(
        &mut self,
        series_idx: usize,
        line: u64,
        first: Times,
        rank: Rank,
        quality: Quality,
        values: &[i64],
    ) -> Result<(), UsageError> {
        let Rank { version, part } = rank;
        let row = Row {
            start: first.start,
            value: 0,
            version,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            minutes: first.minutes,
            part,
            quality: Some(quality),
        };
        self.spill.push_run(series_idx, row, values)
    }

    /// Notes something that a reader of the numbers should know.
    pub(super) fn warn(&mut self, code: &'static str, line: Option<u64>, detail: impl Into<String>) {
        self.warnings.add(code, line, detail.into());
    }

    /// The file, its series still to be settled.
    ///
    /// # Errors
    /// [`UsageCode::NoReadings`] when there is no row at all.
    pub(super) fn finish(self, format: &'static str) -> Result<UsageFile, UsageError> {
        if (0..self.series.len()).all(|idx| self.spill.n_rows(idx) == 0) {
            return Err(no_readings());
        }
        let (minutes, count) = (1..).zip(&self.steps[1..]).max_by_key(|(_, count)| **count).unwrap_or((0, &0));
        let common_minutes = allowed_minutes(minutes * 60).filter(|_| *count > 0);
        Ok(UsageFile {
            format,
            n_rows: self.n_rows,
            offset_seconds: match self.offsets {
                Offsets::All(offset) => Some(offset),
                Offsets::NoTimes | Offsets::Mixed => None,
            },
            warnings: self.warnings.finish(),
            collected: Collected { series: self.series, spill: self.spill, common_minutes },
            told: HashSet::new(),
            values_per_row: 1,
            own_channels: false,
            place: |error| error,
        })
    }
}

/// The rows of a file that was read to its end.
#[derive(Debug)]
pub(super) struct Collected {
    series: Vec<State>,
    spill: Spill,
    /// The length that most rows without one of their own show.
    common_minutes: Option<u16>,
}

impl Collected {
    pub(super) fn labels(&self) -> impl Iterator<Item = &SeriesLabel> {
        self.series.iter().map(|state| &state.label)
    }

    pub(super) fn settle(&mut self, series_idx: usize) -> Result<(FileSeries, Vec<UsageWarning>), UsageError> {
        let parts = self.spill.load(series_idx)?;
        Ok(settle_parts(&self.series[series_idx], parts, self.common_minutes))
    }

    /// The same of a series that is asked for once.
    pub(super) fn settle_taken(&mut self, series_idx: usize) -> Result<(FileSeries, Vec<UsageWarning>), UsageError> {
        let parts = self.spill.take(series_idx)?;
        Ok(settle_parts(&self.series[series_idx], parts, self.common_minutes))
    }
}

fn settle_parts(
    state: &State,
    parts: Vec<Cow<'_, SeriesRows>>,
    common_minutes: Option<u16>,
) -> (FileSeries, Vec<UsageWarning>) {
    let is_plain = state.repeated_hours.is_empty() && !state.has_bare_ends;
    let parts = match if is_plain { settle_in_order(&state.label, parts) } else { Err(parts) } {
        Ok(series) => return (series, Vec::new()),
        Err(parts) => parts,
    };
    let mut rows = Vec::new();
    for part in &parts {
        part.unpack(&mut rows);
    }
    let mut warnings = Warnings::default();
    let series = settle(&state.label, rows, &state.repeated_hours, state.has_bare_ends, common_minutes, &mut warnings);
    (series, warnings.finish())
}

/// Warnings, with a bound on those of one code.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<UsageWarning>,
    counts: HashMap<&'static str, u64>,
}

impl Warnings {
    /// Keeps it, or counts it.
    pub(super) fn add(&mut self, code: &'static str, line: Option<u64>, detail: String) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= MAX_WARNINGS_OF_CODE {
            self.kept.push(UsageWarning { code, line, detail });
        }
    }

    /// Whether one of this code is there.
    pub(super) fn has(&self, code: &'static str, line: Option<u64>) -> bool {
        self.kept.iter().any(|warning| warning.code == code && warning.line == line)
    }

    /// All, and how many more there were.
    pub(super) fn finish(mut self) -> Vec<UsageWarning> {
        let mut more: Vec<_> = self.counts.into_iter().filter(|(_, count)| *count > MAX_WARNINGS_OF_CODE).collect();
        more.sort_unstable();
        for (code, count) in more {
            let detail = format!("and {} more of this", count - MAX_WARNINGS_OF_CODE);
            self.kept.push(UsageWarning { code, line: None, detail });
        }
        self.kept
    }
}
