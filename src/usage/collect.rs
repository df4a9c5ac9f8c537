//! Rows in the order of a file to the readings of channels: local times settled, repeats counted, conflicts and
//! overlaps refused, interval lengths found.
//!
//! Every reader feeds a [`Collector`]; what is a conflict or a gap is decided here once for all formats.

use chrono::NaiveDateTime;
use chrono_tz::Tz;

use super::interval::{derive_lengths, is_allowed};
use super::stamp::{Resolved, Stamp, resolve};
use super::{Channel, ParsedUsage, Quality, Reading, UsageCode, UsageError, UsageWarning};

/// A cell of one row: what it says, or that it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// Milliwatt-hours and how they came to be.
    Value(i64, Quality),
    /// Left blank: the interval is one of the file's, its energy is not known.
    Blank,
}

/// One reading on its way; the size of a [`Reading`], so that the one list becomes the other in place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Seconds since the epoch. For an unsettled repeated hour: the first of its two instants.
    pub(super) start: i64,
    milliwatt_hours: i64,
    line: u32,
    /// Zero while it is not known.
    pub(super) seconds: u16,
    /// `None`: blank.
    quality: Option<Quality>,
}

/// Rows of a file, channel by channel.
#[derive(Debug)]
pub(super) struct Collector {
    zone: Option<Tz>,
    channels: Vec<(Channel, Vec<Row>)>,
    /// Rows whose local time the clock showed twice.
    repeated_hours: Vec<RepeatedHour>,
    n_rows: u64,
    offsets: Offsets,
}

/// Which offsets the times of a file carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offsets {
    NoTimes,
    All(i32),
    Mixed,
}

#[derive(Debug)]
struct RepeatedHour {
    channel_idx: usize,
    row_idx: usize,
    local: NaiveDateTime,
    first: i64,
    second: i64,
}

/// When a row begins and, where the file says so, how long it lasts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    start: i64,
    twice: Option<(NaiveDateTime, i64)>,
    seconds: u16,
}

impl Collector {
    /// An empty one. `zone`: what local times without an offset are in.
    pub(super) fn new(zone: Option<Tz>) -> Self {
        Self { zone, channels: Vec::new(), repeated_hours: Vec::new(), n_rows: 0, offsets: Offsets::NoTimes }
    }

    /// The place of a channel, made on first sight.
    pub(super) fn channel(&mut self, channel: &Channel) -> usize {
        self.channels.iter().position(|(known, _)| known == channel).unwrap_or_else(|| {
            self.channels.push((channel.clone(), Vec::new()));
            self.channels.len() - 1
        })
    }

    /// Settles the start of a row, and its length from its end or its minutes where they are given.
    ///
    /// # Errors
    /// Without a place: a local time without a zone, one that does not exist, a length that is none of ours.
    pub(super) fn times(&mut self, start: &str, end: Option<&str>, minutes: Option<u64>) -> Result<Times, UsageError> {
        let start_stamp = Stamp::parse(start).map_err(|e| e.in_field("start"))?;
        let resolved = self.instants(start_stamp).map_err(|e| e.in_field("start"))?;
        self.offsets = match (self.offsets, start_stamp) {
            (Offsets::NoTimes, Stamp::Instant(_, offset)) => Offsets::All(offset),
            (Offsets::All(all), Stamp::Instant(_, offset)) if all == offset => Offsets::All(all),
            _ => Offsets::Mixed,
        };
        let (start, twice) = match (resolved, start_stamp) {
            (Resolved::Twice(first, second), Stamp::Local(local)) => (first, Some((local, second))),
            (Resolved::Once(instant) | Resolved::Twice(instant, _), _) => (instant, None),
        };
        let mut times = Times { start, twice, seconds: 0 };
        if let Some(minutes) = minutes {
            times.seconds = allowed_seconds(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60))
                .ok_or_else(|| length_error(&format!("{minutes} minutes")).in_field("interval_minutes"))?;
        }
        if let Some(end) = end {
            let seconds = self.length(start_stamp, times, end).map_err(|e| e.in_field("end"))?;
            if times.seconds != 0 && times.seconds != seconds {
                return Err(length_error(&format!("{} and {} seconds", times.seconds, seconds)).in_field("end"));
            }
            times.seconds = seconds;
        }
        Ok(times)
    }

    /// Seconds from a start to an end. Between two local times also their plain difference counts, because files
    /// write the end of the hour before a clock change either way.
    fn length(&self, start_stamp: Stamp, times: Times, end: &str) -> Result<u16, UsageError> {
        let end_stamp = Stamp::parse(end)?;
        let mut candidates = Vec::new();
        if let (Stamp::Local(a), Stamp::Local(b)) = (start_stamp, end_stamp) {
            candidates.push((b - a).num_seconds());
        }
        let starts = [Some(times.start), times.twice.map(|(_, second)| second)];
        match self.instants(end_stamp) {
            Ok(Resolved::Once(instant)) => candidates.extend(starts.into_iter().flatten().map(|s| instant - s)),
            Ok(Resolved::Twice(a, b)) => {
                candidates.extend(starts.into_iter().flatten().flat_map(|s| [a - s, b - s]));
            }
            Err(e) if e.code == UsageCode::LocalTimeDoesNotExist && !candidates.is_empty() => {}
            Err(e) => return Err(e),
        }
        let shortest = candidates.iter().copied().find(|seconds| *seconds > 0).or(candidates.first().copied());
        candidates.into_iter().find_map(allowed_seconds).ok_or_else(|| match shortest {
            Some(seconds) if seconds % 60 == 0 => length_error(&format!("{} minutes", seconds / 60)),
            _ => length_error("another length"),
        })
    }

    fn instants(&self, stamp: Stamp) -> Result<Resolved, UsageError> {
        match (stamp, self.zone) {
            (Stamp::Instant(instant, _), _) => Ok(Resolved::Once(instant)),
            (Stamp::Local(local), Some(zone)) => resolve(local, zone),
            (Stamp::Local(local), None) => Err(UsageError::new(
                UsageCode::TimeZoneNeeded,
                format!(
                    "{local} has no offset: say in which time zone it is, with --time-zone (time_zone in the API), \
                     as in Europe/London"
                ),
            )),
        }
    }

    /// Counts a row of the file.
    pub(super) fn count_row(&mut self) {
        self.n_rows += 1;
    }

    /// Adds a cell of the row at `line`.
    pub(super) fn push(&mut self, channel_idx: usize, line: u64, times: Times, cell: Cell) {
        let rows = &mut self.channels[channel_idx].1;
        if let Some((local, second)) = times.twice {
            let first = times.start;
            self.repeated_hours.push(RepeatedHour { channel_idx, row_idx: rows.len(), local, first, second });
        }
        let (milliwatt_hours, quality) = match cell {
            Cell::Value(milliwatt_hours, quality) => (milliwatt_hours, Some(quality)),
            Cell::Blank => (0, None),
        };
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        rows.push(Row { start: times.start, milliwatt_hours, line, seconds: times.seconds, quality });
    }

    /// The readings, sorted and free of overlap.
    ///
    /// # Errors
    /// Conflicts, overlaps and lengths, with their lines; [`UsageCode::NoReadings`] when there is none.
    pub(super) fn finish(mut self, format: &'static str) -> Result<ParsedUsage, UsageError> {
        let warnings = self.settle_repeated_hours()?;
        let offset_seconds = match self.offsets {
            Offsets::All(offset) => Some(offset),
            Offsets::NoTimes | Offsets::Mixed => None,
        };
        let mut parsed =
            ParsedUsage { format, n_rows: self.n_rows, offset_seconds, warnings, ..ParsedUsage::default() };
        // Rows whose channel has too few of them take the length that the rest of the file shows.
        let mut known_length = None;
        self.channels.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        for (channel, mut rows) in self.channels {
            rows.sort_unstable_by_key(|row| (row.start, row.line));
            let n_rows = rows.len();
            drop_exact_repeats(&mut rows)?;
            let n_repeats = (n_rows - rows.len()) as u64;
            derive_lengths(&mut rows, known_length).map_err(|(idx, e)| e.at_line(u64::from(rows[idx].line)))?;
            known_length = known_length.or_else(|| rows.first().map(|row| row.seconds));
            check_overlaps(&rows)?;
            let n_filled = rows.iter().filter(|row| row.quality.is_some()).count();
            parsed.blank += (rows.len() - n_filled) as u64;
            parsed.exact_repeats += n_repeats;
            if n_filled > 0 {
                parsed.readings.insert(channel, into_readings(rows));
            }
        }
        if parsed.readings.is_empty() {
            return Err(UsageError::new(UsageCode::NoReadings, "there is no reading in it"));
        }
        Ok(parsed)
    }

    /// Tells the first showing of a repeated local hour from the second by the order in the file.
    fn settle_repeated_hours(&mut self) -> Result<Vec<UsageWarning>, UsageError> {
        let mut warnings: Vec<UsageWarning> = Vec::new();
        self.repeated_hours.sort_by_key(|hour| hour.channel_idx);
        let mut rest = self.repeated_hours.as_slice();
        while let Some(head) = rest.first() {
            // One group: rows that follow each other in the file, of one channel and one clock change.
            let n = rest
                .iter()
                .enumerate()
                .take_while(|(i, hour)| {
                    hour.channel_idx == head.channel_idx
                        && hour.row_idx == head.row_idx + i
                        && (hour.local - head.local).num_hours().abs() < 12
                })
                .count();
            let (group, tail) = rest.split_at(n);
            rest = tail;
            let rows = &mut self.channels[head.channel_idx].1;
            let lines: Vec<u64> = group.iter().map(|hour| u64::from(rows[hour.row_idx].line)).collect();
            let is_falling = is_falling(rows, group);
            let mut locals: Vec<NaiveDateTime> = group.iter().map(|hour| hour.local).collect();
            if is_falling {
                locals.reverse();
            }
            let Some(mut is_second) = passes(&locals) else {
                return Err(UsageError::new(
                    UsageCode::LocalTimeAmbiguous,
                    "the clock showed these local times twice, and the file has them more often; give offsets",
                )
                .at_lines(lines[0], lines[n - 1])
                .in_field("start"));
            };
            if is_falling {
                is_second.reverse();
            }
            let line = Some(lines[0].min(lines[n - 1]));
            if !is_second.contains(&true) && !warnings.iter().any(|warning| warning.line == line) {
                warnings.push(UsageWarning {
                    code: "repeated_hour_once",
                    line,
                    detail: format!(
                        "the clock showed {} twice, the file has it once: taken as the first, an hour may be missing",
                        locals[0]
                    ),
                });
            }
            for (hour, is_second) in group.iter().zip(is_second) {
                rows[hour.row_idx].start = if is_second { hour.second } else { hour.first };
            }
        }
        Ok(warnings)
    }
}

/// Whether the rows around a group run backwards in time.
fn is_falling(rows: &[Row], group: &[RepeatedHour]) -> bool {
    let first = &group[0];
    let last = &group[group.len() - 1];
    let before = first.row_idx.checked_sub(1).map(|i| rows[i].start);
    let after = rows.get(last.row_idx + 1).map(|row| row.start);
    match (before, after) {
        (Some(before), Some(after)) => before > after,
        (Some(before), None) => before > first.second,
        (None, Some(after)) => after < first.first,
        // The whole file is the repeated hour: the steps of its local times tell.
        (None, None) => {
            let falls = group.windows(2).filter(|pair| pair[1].local < pair[0].local).count();
            2 * falls > group.len()
        }
    }
}

/// For local times of a repeated hour in the order of time, which ones are of its second showing. `None` when
/// there are more than two showings.
fn passes(locals: &[NaiveDateTime]) -> Option<Vec<bool>> {
    // 01:00 01:30 01:00 01:30: the clock falls back once.
    let mut n_falls = 0;
    let mut by_falls = Vec::with_capacity(locals.len());
    for (i, local) in locals.iter().enumerate() {
        if i > 0 && *local <= locals[i - 1] {
            n_falls += 1;
        }
        by_falls.push(n_falls > 0);
    }
    if n_falls <= 1 {
        return Some(by_falls);
    }
    // 01:00 01:00 01:30 01:30: the two copies stand side by side.
    (0..locals.len())
        .map(|i| match locals[..i].iter().filter(|earlier| **earlier == locals[i]).count() {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
        .collect()
}

/// Keeps one of each group of rows that say the same; the better quality wins.
fn drop_exact_repeats(rows: &mut Vec<Row>) -> Result<(), UsageError> {
    let mut conflict = None;
    rows.dedup_by(|later, kept| {
        if later.start != kept.start {
            return false;
        }
        let same_value =
            later.milliwatt_hours == kept.milliwatt_hours && later.quality.is_some() == kept.quality.is_some();
        let same_length = later.seconds == kept.seconds || later.seconds == 0 || kept.seconds == 0;
        if !(same_value && same_length) && conflict.is_none() {
            conflict = Some((kept.line, later.line, kept.start));
        }
        kept.quality = kept.quality.min(later.quality);
        kept.seconds = kept.seconds.max(later.seconds);
        true
    });
    match conflict {
        None => Ok(()),
        Some((a, b, start)) => Err(UsageError::new(
            UsageCode::Conflict,
            format!("two different values for the interval that starts at {}; keep the right one", instant(start)),
        )
        .at_lines(u64::from(a), u64::from(b))),
    }
}

fn check_overlaps(rows: &[Row]) -> Result<(), UsageError> {
    match rows.windows(2).find(|pair| pair[0].start + i64::from(pair[0].seconds) > pair[1].start) {
        None => Ok(()),
        Some(pair) => Err(UsageError::new(
            UsageCode::Overlap,
            format!(
                "the reading from {} lasts {} minutes and reaches into the one from {}",
                instant(pair[0].start),
                pair[0].seconds / 60,
                instant(pair[1].start)
            ),
        )
        .at_lines(u64::from(pair[0].line), u64::from(pair[1].line))),
    }
}

fn into_readings(rows: Vec<Row>) -> Vec<Reading> {
    rows.into_iter()
        .filter_map(|row| {
            row.quality.map(|quality| Reading {
                start: row.start,
                seconds: u32::from(row.seconds),
                milliwatt_hours: row.milliwatt_hours,
                quality,
            })
        })
        .collect()
}

fn allowed_seconds(seconds: i64) -> Option<u16> {
    is_allowed(seconds).then(|| u16::try_from(seconds).expect("an hour at most"))
}

fn length_error(length: &str) -> UsageError {
    UsageError::new(UsageCode::IntervalLength, format!("an interval has 5, 15, 30 or 60 minutes, not {length}"))
}

pub(super) fn instant(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |t| t.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_no_more_room_than_its_reading() {
        assert_eq!((size_of::<Row>(), size_of::<Reading>()), (24, 24));
    }

    #[test]
    fn a_fall_of_the_local_clock_tells_the_second_showing() {
        let at = |minutes: i64| NaiveDateTime::default() + chrono::TimeDelta::minutes(minutes);
        let passes_of = |minutes: &[i64]| passes(&minutes.iter().map(|m| at(*m)).collect::<Vec<_>>());
        assert_eq!(passes_of(&[60, 90, 60, 90]), Some(vec![false, false, true, true]));
        assert_eq!(passes_of(&[90, 60, 90]), Some(vec![false, true, true]), "the first 60 is a gap");
        assert_eq!(passes_of(&[60, 60, 90, 90]), Some(vec![false, true, false, true]), "side by side");
        assert_eq!(passes_of(&[60, 90]), Some(vec![false, false]), "one copy");
        assert_eq!(passes_of(&[60, 60, 60]), None);
    }
}
