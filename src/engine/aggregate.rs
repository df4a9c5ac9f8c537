//! One pass over the readings of a channel into cells: for each day group and slot of the day, a sum and a maximum.
//!
//! Knows slots and groups, nothing of tariffs. Energy is milliwatt-hours, power milliwatts.

use std::collections::BTreeSet;
use std::ops::Range;

use super::calendar::Piece;
use super::frame::Frame;
use crate::tariff::schedule::{Pattern, Schedule};
use crate::usage::{Run, Series};

const SECONDS_OF_HOUR: i64 = 3600;
const SECONDS_OF_DAY: i64 = 86_400;

/// Sums and maxima of one channel.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) slot_seconds: i64,
    pub(super) n_slots: usize,
    /// Running sums of each group, `n_slots + 1` of them: a window is one difference. Milliwatt-hours.
    running: Vec<i64>,
    /// Highest power of each group and slot, milliwatts; empty when no plan asked.
    highest: Vec<i64>,
    /// Readings of each segment.
    pub(super) n_readings: Vec<u64>,
}

/// Energy of a group from one slot to another.
impl Cells {
    /// Adds up a series. `None` when sums could pass 64 bits.
    ///
    /// * `slot_seconds`: width of a slot; a reading longer than a slot is spread evenly over its slots, the last
    ///   one taking the rest, when `spread`; else it lies in the slot in which it starts.
    pub(super) fn new(
        frame: &Frame,
        series: &Series,
        slot_seconds: i64,
        with_maxima: bool,
        spread: bool,
    ) -> Option<Self> {
        if !sums_fit(series) {
            return None;
        }
        let n_slots = usize::try_from(SECONDS_OF_DAY / slot_seconds).ok()?;
        let n_groups = frame.group_dates.len();
        let width = n_slots + 1;
        let mut cells = Self {
            slot_seconds,
            n_slots,
            running: vec![0; n_groups * width],
            highest: if with_maxima { vec![0; n_groups * n_slots] } else { Vec::new() },
            n_readings: vec![0; frame.segments.len()],
        };
        for (segment, days) in frame.segments.iter().enumerate() {
            for_each_stretch(series, frame.days.pieces(days.clone()), |piece, run, readings, local| {
                let group = frame.group_of_day[piece.day];
                cells.n_readings[segment] += readings.len() as u64;
                let seconds = i64::from(run.seconds);
                let slot = usize::try_from(local / slot_seconds).unwrap_or(0).min(n_slots - 1);
                let energy = &mut cells.running[group * width + 1..(group + 1) * width];
                let per_reading = usize::try_from(seconds / slot_seconds).unwrap_or(1).max(1);
                if per_reading == 1 {
                    add(&mut energy[slot..], readings);
                } else if spread {
                    add_spread(&mut energy[slot..], readings, per_reading);
                } else {
                    add_strided(&mut energy[slot..], readings, per_reading);
                }
                if with_maxima {
                    let highest = &mut cells.highest[group * n_slots..(group + 1) * n_slots];
                    let n_wide = if spread { per_reading } else { 1 };
                    raise(&mut highest[slot..], readings, per_reading, n_wide, SECONDS_OF_HOUR / seconds);
                }
            });
        }
        for group in cells.running.chunks_exact_mut(width) {
            let mut sum = 0;
            for cell in group {
                sum += *cell;
                *cell = sum;
            }
        }
        Some(cells)
    }

    /// Energy of a group in minutes `[start, end)`, milliwatt-hours.
    pub(super) fn energy(&self, group: usize, start: u16, end: u16) -> i64 {
        let row = &self.running[group * (self.n_slots + 1)..];
        row[self.slot(end)] - row[self.slot(start)]
    }

    /// Highest power of a group in minutes `[start, end)`, milliwatts; 0 without readings.
    pub(super) fn highest(&self, group: usize, start: u16, end: u16) -> i64 {
        let row = &self.highest[group * self.n_slots..(group + 1) * self.n_slots];
        row[self.slot(start)..self.slot(end)].iter().copied().max().unwrap_or(0)
    }

    /// The first slot that starts at a minute or later.
    fn slot(&self, minute: u16) -> usize {
        usize::try_from((i64::from(minute) * 60 + self.slot_seconds - 1) / self.slot_seconds).unwrap_or(0)
    }
}

/// Calls back with each stretch of readings that lies in one piece of a day: the piece, the run, the readings that
/// start in the piece, and the seconds since local midnight at the first of them.
pub(super) fn for_each_stretch(series: &Series, pieces: &[Piece], mut call: impl FnMut(&Piece, &Run, &[i64], i64)) {
    let runs = series.runs();
    let mut first_run = 0;
    for piece in pieces {
        while first_run < runs.len() && runs[first_run].end() <= piece.start {
            first_run += 1;
        }
        for run in &runs[first_run..] {
            if run.start >= piece.end {
                break;
            }
            let range = readings_starting_in(run, piece);
            if !range.is_empty() {
                let first = run.start + i64::try_from(range.start).unwrap_or(0) * i64::from(run.seconds);
                call(piece, run, &run.milliwatt_hours[range], piece.local + first - piece.start);
            }
        }
    }
}

fn readings_starting_in(run: &Run, piece: &Piece) -> Range<usize> {
    let seconds = i64::from(run.seconds);
    let index = |instant: i64| {
        let reading = (instant - run.start + seconds - 1).div_euclid(seconds).max(0);
        usize::try_from(reading).unwrap_or(0).min(run.milliwatt_hours.len())
    };
    index(piece.start)..index(piece.end)
}

fn add(cells: &mut [i64], readings: &[i64]) {
    let n_fit = readings.len().min(cells.len());
    for (cell, reading) in cells.iter_mut().zip(&readings[..n_fit]) {
        *cell += reading;
    }
    // A day longer than the clock says (a plan's own clock at the edge of a period): the last slot takes it.
    if let Some(last) = cells.last_mut() {
        *last += readings[n_fit..].iter().sum::<i64>();
    }
}

fn add_strided(cells: &mut [i64], readings: &[i64], stride: usize) {
    let last = cells.len() - 1;
    for (i, reading) in readings.iter().enumerate() {
        cells[(i * stride).min(last)] += reading;
    }
}

fn add_spread(cells: &mut [i64], readings: &[i64], n_parts: usize) {
    let last = cells.len() - 1;
    for (i, reading) in readings.iter().enumerate() {
        for part in 0..n_parts {
            cells[(i * n_parts + part).min(last)] += share_of(*reading, part, n_parts);
        }
    }
}

/// The share of one of `n_parts` even parts; the last takes the rest.
pub(super) fn share_of(milliwatt_hours: i64, part: usize, n_parts: usize) -> i64 {
    let n = i64::try_from(n_parts).unwrap_or(1);
    let even = milliwatt_hours / n;
    if part + 1 == n_parts { milliwatt_hours - even * (n - 1) } else { even }
}

fn raise(highest: &mut [i64], readings: &[i64], stride: usize, n_wide: usize, per_hour: i64) {
    if stride == 1 {
        for (cell, reading) in highest.iter_mut().zip(readings) {
            let power = reading * per_hour;
            *cell = (*cell).max(power);
        }
        return;
    }
    for (i, reading) in readings.iter().enumerate() {
        for cell in highest.iter_mut().skip(i * stride).take(n_wide) {
            *cell = (*cell).max(reading * per_hour);
        }
    }
}

/// Whether every sum of these readings, and each as power, fits 64 bits.
pub(super) fn sums_fit(series: &Series) -> bool {
    let mut bits = 0i64;
    for run in series.runs() {
        // Of a number and its complement one is not negative and bounds the magnitude.
        bits |= run.milliwatt_hours.iter().fold(0, |bits, reading| bits | (reading ^ (reading >> 63)));
    }
    let n_bits = 64 - bits.leading_zeros();
    let n_readings = u64::try_from(series.n_readings()).unwrap_or(u64::MAX);
    // 12 readings an hour at most: the factor from energy to power.
    let n_sum_bits = 64 - n_readings.max(12).leading_zeros();
    n_bits + n_sum_bits < 63
}

/// Lengths of readings and where they begin within their length on the local clock, seconds.
pub(super) fn grids(frame: &Frame, series: &Series) -> BTreeSet<(i64, i64)> {
    let mut grids = BTreeSet::new();
    for_each_stretch(series, frame.days.pieces(0..frame.days.len()), |_, run, _, local| {
        let seconds = i64::from(run.seconds);
        grids.insert((seconds, local.rem_euclid(seconds)));
    });
    grids
}

/// The widest slot, a divisor of the hour, in which every reading of these grids begins and ends: at least a minute.
pub(super) fn slot_seconds(grids: &BTreeSet<(i64, i64)>) -> i64 {
    grids.iter().fold(SECONDS_OF_HOUR, |slot, (seconds, shift)| gcd(gcd(slot, *seconds), *shift)).max(60)
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The first boundary of a schedule that cuts a reading in two: the minute of the day and the length of the reading.
pub(super) fn cut_reading(schedule: &Schedule, grids: &BTreeSet<(i64, i64)>) -> Option<(u16, i64)> {
    for pattern in schedule.patterns() {
        for minute in boundaries(pattern) {
            for (seconds, shift) in grids {
                if (i64::from(minute) * 60 - shift).rem_euclid(*seconds) != 0 {
                    return Some((minute, *seconds));
                }
            }
        }
    }
    None
}

/// The width of slots at which no boundary of a schedule lies inside one.
pub(super) fn slot_seconds_under(schedule: &Schedule, slot: i64) -> i64 {
    let edges = schedule.patterns().iter().flat_map(boundaries);
    edges.fold(slot, |slot, minute| gcd(slot, i64::from(minute) * 60)).max(60)
}

/// Minutes, midnight left out, at which the period changes or ends.
fn boundaries(pattern: &Pattern) -> Vec<u16> {
    let mut minutes: Vec<u16> = pattern.iter().flat_map(|stretch| [stretch.start, stretch.end]).collect();
    minutes.retain(|minute| *minute != 0 && *minute != crate::tariff::schedule::MINUTES_OF_DAY);
    minutes
}
