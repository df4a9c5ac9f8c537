//! Rows of one series to readings: repeated hours told apart, newer versions taken, parts added, repeats counted,
//! lengths found, conflicts and overlaps reported, power and standings made energy.

use std::borrow::Cow;
use std::ops::Range;

use chrono::NaiveDateTime;

use super::collect::{RepeatedHour, Row, Warnings};
use super::file::{FileSeries, Quantity, SeriesLabel};
use super::interval::{allowed_minutes, derive_lengths};
use super::number::divide_half_even;
use super::readings::ReadingStretch;
use super::spill::SeriesRows;
use super::stamp::instant;
use super::{Quality, Reading, Readings, UsageCode, UsageError};

/// Problems of one series that are reported; a file with more of them is read with the wrong words.
const MAX_PROBLEMS: usize = 100;

/// Settles a series.
///
/// * `rows`: in the order of the file.
/// * `has_bare_ends`: their instants are ends of intervals of unknown length.
/// * `common_minutes`: the length that the rest of the file shows.
pub(super) fn settle(
    label: &SeriesLabel,
    mut rows: Vec<Row>,
    repeated_hours: &[RepeatedHour],
    has_bare_ends: bool,
    common_minutes: Option<u16>,
    warnings: &mut Warnings,
) -> FileSeries {
    let mut series = FileSeries::new(label);
    settle_hours_of_parts(&mut rows, repeated_hours, &mut series, warnings);
    rows.sort_unstable_by_key(|row| (row.start, row.part, std::cmp::Reverse(row.version), row.line));
    let conflicting_lines = drop_repeats(&mut rows, &mut series);
    add_parts(&mut rows);
    if label.quantity == Quantity::Register {
        series.blank = rows.iter().filter(|row| row.quality.is_none()).count() as u64;
        rows = differences(&rows, warnings);
    } else {
        let derived = if has_bare_ends {
            ends_to_starts(&mut rows, common_minutes)
        } else {
            derive_lengths(&mut rows, common_minutes)
        };
        if let Err((idx, error)) = derived {
            series.report(error.at_line(u64::from(rows[idx].line)));
            rows.clear();
        }
    }
    let conflicting = rows.iter().filter(|row| conflicting_lines.contains(&row.line));
    series.overlaps.extend(conflicting.map(range_of));
    drop_overlaps(&mut rows, &mut series);
    series.span = rows.first().zip(rows.last()).map(|(first, last)| first.start..range_of(last).end);
    for row in rows {
        match row.quality {
            None => series.blank += 1,
            Some(quality) => series.readings.push(reading(&row, quality, label.quantity)),
        }
    }
    series
}

/// A series whose intervals follow each other in the file as in time, as most do: nothing is said twice, no clock is to
/// be told from another, every length is known or is the one step of the whole file. Gives the rows back where it is not
/// that simple.
///
/// * `parts`: in the order of the file.
pub(super) fn settle_in_order<'r>(
    label: &SeriesLabel,
    mut parts: Vec<Cow<'r, SeriesRows>>,
) -> Result<FileSeries, Vec<Cow<'r, SeriesRows>>> {
    let mut series = FileSeries::new(label);
    let Some(stretches) = stretches_in_order(label, &parts, &mut series) else { return Err(parts) };
    parts.retain(|part| !part.stretches().is_empty());
    let values = match (parts.pop(), parts.as_slice()) {
        // All of them, as they stand.
        (Some(only), []) if series.blank == 0 && label.quantity != Quantity::MeanPower => {
            only.into_owned().into_values()
        }
        (last, earlier) => {
            let known = earlier.iter().chain(&last).flat_map(|part| part.known_values());
            if label.quantity == Quantity::MeanPower {
                let minutes = stretches
                    .iter()
                    .flat_map(|stretch| std::iter::repeat_n(stretch.first.seconds / 60, stretch.n as usize));
                known.zip(minutes).map(|(power, minutes)| energy_of_power(power, minutes)).collect()
            } else {
                known.collect()
            }
        }
    };
    series.readings = Readings::from_stretches(stretches, values);
    Ok(series)
}

/// The stretches of such a series that have values; span and blanks are told to it.
fn stretches_in_order(
    label: &SeriesLabel,
    parts: &[Cow<'_, SeriesRows>],
    series: &mut FileSeries,
) -> Option<Vec<ReadingStretch>> {
    if label.quantity == Quantity::Register {
        return None;
    }
    let stretches = || parts.iter().flat_map(|part| part.stretches());
    // The one step of a file that gives no lengths.
    let mut all = stretches();
    let common = match (all.next(), all.next()) {
        (Some(only), None) if only.n > 3 => allowed_minutes(only.seconds),
        _ => None,
    };
    let mut valued = Vec::with_capacity(stretches().count());
    for stretch in stretches() {
        let row = stretch.first;
        let minutes = if row.minutes == 0 { common? } else { row.minutes };
        let seconds = u32::from(minutes) * 60;
        let last_end = series.span.as_ref().map_or(row.start, |span| span.end);
        if stretch.n > 1 && stretch.seconds < i64::from(seconds) || row.start < last_end {
            return None;
        }
        let end = row.start + stretch.seconds * (i64::from(stretch.n) - 1) + i64::from(seconds);
        series.span = Some(series.span.as_ref().map_or(row.start, |span| span.start)..end);
        match row.quality {
            None => series.blank += u64::from(stretch.n),
            Some(quality) => {
                let first = Reading { start: row.start, seconds, milliwatt_hours: 0, quality };
                valued.push(ReadingStretch { first, step: stretch.seconds, n: stretch.n });
            }
        }
    }
    Some(valued)
}

impl FileSeries {
    fn new(label: &SeriesLabel) -> Self {
        Self {
            label: label.clone(),
            readings: Readings::default(),
            span: None,
            blank: 0,
            exact_repeats: 0,
            older_versions: 0,
            problems: Vec::new(),
            overlaps: Vec::new(),
        }
    }

    fn report(&mut self, problem: UsageError) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

fn reading(row: &Row, quality: Quality, quantity: Quantity) -> Reading {
    let milliwatt_hours = match quantity {
        Quantity::MeanPower => energy_of_power(row.value, row.minutes.into()),
        Quantity::Energy | Quantity::Register | Quantity::Other => row.value,
    };
    Reading { start: row.start, seconds: u32::from(row.minutes) * 60, milliwatt_hours, quality }
}

/// Energy of so many minutes of mean power.
fn energy_of_power(milliwatts: i64, minutes: u32) -> i64 {
    let energy = divide_half_even(i128::from(milliwatts) * i128::from(minutes), 60);
    i64::try_from(energy).expect("a day of the highest power fits")
}

/// Settles the repeated hours of each part by itself: a day and a night register stand side by side.
fn settle_hours_of_parts(
    rows: &mut [Row],
    repeated_hours: &[RepeatedHour],
    series: &mut FileSeries,
    warnings: &mut Warnings,
) {
    let part_of = |hour: &RepeatedHour, rows: &[Row]| rows[hour.row_idx].part;
    let mut parts: Vec<u8> = repeated_hours.iter().map(|hour| part_of(hour, rows)).collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.len() <= 1 {
        return settle_repeated_hours(rows, repeated_hours, series, warnings);
    }
    for part in parts {
        let idxs: Vec<usize> = (0..rows.len()).filter(|idx| rows[*idx].part == part).collect();
        let mut rows_of_part: Vec<Row> = idxs.iter().map(|idx| rows[*idx]).collect();
        let hours: Vec<RepeatedHour> = repeated_hours
            .iter()
            .filter(|hour| part_of(hour, rows) == part)
            .map(|hour| RepeatedHour { row_idx: idxs.partition_point(|idx| *idx < hour.row_idx), ..*hour })
            .collect();
        settle_repeated_hours(&mut rows_of_part, &hours, series, warnings);
        for (idx, row) in idxs.into_iter().zip(rows_of_part) {
            rows[idx] = row;
        }
    }
}

/// Tells the first showing of a repeated local hour from the second by the order in the file.
fn settle_repeated_hours(
    rows: &mut [Row],
    repeated_hours: &[RepeatedHour],
    series: &mut FileSeries,
    warnings: &mut Warnings,
) {
    let mut rest = repeated_hours;
    while let Some(head) = rest.first() {
        // One group: rows that follow each other in the file, of one clock change.
        let n = rest
            .iter()
            .enumerate()
            .take_while(|(i, hour)| {
                hour.row_idx == head.row_idx + i && (hour.local - head.local).num_hours().abs() < 12
            })
            .count();
        let (group, tail) = rest.split_at(n);
        rest = tail;
        let lines: Vec<u64> = group.iter().map(|hour| u64::from(rows[hour.row_idx].line)).collect();
        let is_falling = is_falling(rows, group);
        let mut locals: Vec<NaiveDateTime> = group.iter().map(|hour| hour.local).collect();
        if is_falling {
            locals.reverse();
        }
        let Some(mut is_second) = passes(&locals) else {
            series.report(
                UsageError::new(
                    UsageCode::LocalTimeAmbiguous,
                    "the clock showed these local times twice, and the file has them more often; give offsets",
                )
                .at_lines(lines[0], lines[n - 1])
                .in_field("start"),
            );
            continue;
        };
        if is_falling {
            is_second.reverse();
        }
        let line = Some(lines[0].min(lines[n - 1]));
        if !is_second.contains(&true) && !warnings.has("repeated_hour_once", line) {
            let detail = format!(
                "the clock showed {} twice, the file has it once: taken as the first, an hour may be missing",
                locals[0]
            );
            warnings.add("repeated_hour_once", line, detail);
        }
        for (hour, is_second) in group.iter().zip(is_second) {
            rows[hour.row_idx].start = if is_second { hour.second } else { hour.first };
        }
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

/// Keeps one of each group of rows for one interval and part: the newest version, the better quality of two that say
/// the same. Rows that contradict each other are reported, the first of them stays; gives the lines of those.
fn drop_repeats(rows: &mut Vec<Row>, series: &mut FileSeries) -> Vec<u32> {
    let (mut repeats, mut older) = (0, 0);
    let mut conflicts = Vec::new();
    rows.dedup_by(|later, kept| {
        if later.start != kept.start || later.part != kept.part {
            return false;
        }
        let same_length = later.minutes == kept.minutes || later.minutes == 0 || kept.minutes == 0;
        if later.version < kept.version && same_length {
            older += 1;
            return true;
        }
        let same_value = later.value == kept.value && later.quality.is_some() == kept.quality.is_some();
        if same_value && same_length {
            repeats += 1;
            kept.quality = kept.quality.min(later.quality);
            kept.minutes = kept.minutes.max(later.minutes);
        } else {
            conflicts.push((*kept, *later));
        }
        true
    });
    series.exact_repeats = repeats;
    series.older_versions = older;
    for (kept, later) in &conflicts {
        let message =
            format!("two different values for the interval that starts at {}; keep the right one", instant(kept.start));
        let error = UsageError::new(UsageCode::Conflict, message);
        series.report(error.at_lines(u64::from(kept.line), u64::from(later.line)));
    }
    conflicts.into_iter().map(|(kept, _)| kept.line).take(MAX_PROBLEMS).collect()
}

/// The time of a row.
fn range_of(row: &Row) -> Range<i64> {
    row.start..row.start + i64::from(row.minutes) * 60
}

/// Adds the parts of each interval: a day and a night register. A part left blank adds nothing to one that is there.
fn add_parts(rows: &mut Vec<Row>) {
    rows.dedup_by(|later, kept| {
        if later.start != kept.start || later.part == kept.part || later.minutes != kept.minutes {
            return false;
        }
        kept.part = later.part;
        match (kept.quality, later.quality) {
            (Some(a), Some(b)) => {
                kept.value = kept.value.saturating_add(later.value);
                kept.quality = Some(a.max(b));
            }
            (None, Some(_)) => (kept.value, kept.quality) = (later.value, later.quality),
            (_, None) => {}
        }
        true
    });
}

/// Standings of a register, sorted, as the energy between them. A fall is a reset or another meter: the interval is
/// left out and said. What lies between standings further apart than a day is no interval.
fn differences(standings: &[Row], warnings: &mut Warnings) -> Vec<Row> {
    let mut rows = Vec::with_capacity(standings.len());
    let known: Vec<&Row> = standings.iter().filter(|row| row.quality.is_some_and(|q| q != Quality::Missing)).collect();
    for pair in known.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let line = Some(u64::from(after.line));
        let Some(minutes) = allowed_minutes(after.start - before.start) else {
            let detail = format!(
                "the standing before is of {}: that is no interval, its energy is not known in time",
                instant(before.start)
            );
            warnings.add("standings_apart", line, detail);
            continue;
        };
        if after.value < before.value {
            let detail = format!(
                "the register fell after {}: it was reset or the meter exchanged; the interval is missing",
                instant(before.start)
            );
            warnings.add("register_fell", line, detail);
            continue;
        }
        rows.push(Row {
            start: before.start,
            value: after.value - before.value,
            minutes,
            quality: before.quality.max(after.quality),
            ..*after
        });
    }
    rows
}

/// Intervals that a file stamps at their ends, sorted by these: finds their lengths and moves each to its start.
fn ends_to_starts(rows: &mut [Row], common_minutes: Option<u16>) -> Result<(), (usize, UsageError)> {
    // Seen backwards in time, ends are starts.
    let n = rows.len();
    let turn = |rows: &mut [Row]| {
        rows.reverse();
        for row in rows {
            row.start = -row.start;
        }
    };
    turn(rows);
    let derived = derive_lengths(rows, common_minutes);
    turn(rows);
    derived.map_err(|(idx, error)| (n - 1 - idx, error))?;
    for row in rows {
        row.start -= i64::from(row.minutes) * 60;
    }
    Ok(())
}

/// Reports rows that reach into the next one; the longer of two that begin together goes, else the later one.
fn drop_overlaps(rows: &mut Vec<Row>, series: &mut FileSeries) {
    let mut found = Vec::new();
    rows.dedup_by(|later, kept| {
        let overlaps = range_of(kept).end > later.start;
        if overlaps {
            found.push((*kept, *later));
        }
        overlaps
    });
    for (kept, later) in found {
        let message = format!(
            "the reading from {} lasts {} minutes and reaches into the one from {}",
            instant(kept.start),
            kept.minutes,
            instant(later.start)
        );
        let error = UsageError::new(UsageCode::Overlap, message);
        series.report(error.at_lines(u64::from(kept.line), u64::from(later.line)));
        let end = range_of(&kept).end.min(range_of(&later).end);
        match series.overlaps.last_mut() {
            Some(last) if last.end >= later.start && last.start <= later.start => last.end = last.end.max(end),
            _ => series.overlaps.push(later.start..end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
