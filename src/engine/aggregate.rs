//! One pass over the readings of a channel into cells: for each day group and slot of the day, a sum and a maximum.
//!
//! Knows slots and groups, nothing of tariffs. Energy is milliwatt-hours, power milliwatts.

use std::collections::BTreeSet;
use std::ops::Range;

use super::calendar::Piece;
use super::clock::SECONDS_OF_DAY;
use super::frame::Frame;
use crate::tariff::schedule::{Schedule, boundaries};
use crate::usage::{Run, Series};

pub(super) const SECONDS_OF_HOUR: i64 = 3600;

/// Sums and maxima of one channel.
#[derive(Debug)]
pub(super) struct Cells {
    n_slots: usize,
    /// Running sums of each group, `n_slots + 1` of them: a window is one difference. Milliwatt-hours.
    running: Vec<i64>,
    /// Highest power of each group and slot, milliwatts; empty when no plan asked.
    highest: Vec<Highest>,
    /// The first slot that starts at a minute of the day or later.
    slot_of_minute: Vec<u16>,
}

/// Slots of a block: the days of a group begin with one.
const BLOCK: usize = 8;

/// The highest power of a slot, and of its block up to it and from it on: a long window is looked at block by block.
#[derive(Debug, Clone, Copy, Default)]
struct Highest {
    own: i64,
    /// From the first slot of the block to this one.
    up_to: i64,
    /// From this slot to the last one of the block.
    from: i64,
}

impl Cells {
    /// Adds up a series whose sums fit ([`sums_fit`]).
    ///
    /// * `stretches`: its readings; `n_bits`: of the largest, its sign left out.
    /// * `slot_seconds`: width of a slot, at most a day; a reading longer than a slot is spread evenly over its slots, the
    ///   last one taking the rest, when `spread`; else it lies in the slot in which it starts.
    pub(super) fn new(
        frame: &Frame,
        stretches: &[Stretch<'_>],
        n_bits: u32,
        slot_seconds: i64,
        with_maxima: bool,
        spread: bool,
    ) -> Self {
        let n_slots = usize::try_from(SECONDS_OF_DAY / slot_seconds).unwrap_or(1);
        let n_groups = frame.group_days.len();
        let width = n_slots + 1;
        let mut running = vec![0; n_groups * width];
        let mut maxima = with_maxima.then(|| Maxima::new(stretches, n_bits, slot_seconds, n_groups * n_slots));
        for Stretch { piece, seconds, readings, local, .. } in stretches {
            let group = frame.group_of_day[piece.day];
            let (slot, per_reading) = place(*local, *seconds, slot_seconds, n_slots);
            let energy = &mut running[group * width + 1 + slot..(group + 1) * width];
            let of_maxima = group * n_slots + slot..(group + 1) * n_slots;
            if per_reading == 1 {
                if let Some(Maxima::Narrow { highest, .. }) = &mut maxima
                    && readings.len() <= energy.len()
                {
                    add_and_raise(energy, &mut highest[of_maxima], readings);
                    continue;
                }
                add(energy, readings);
            } else if spread {
                add_spread(energy, readings, per_reading);
            } else {
                add_strided(energy, readings, per_reading);
            }
            if let Some(maxima) = &mut maxima {
                let n_wide = if spread { per_reading } else { 1 };
                maxima.raise(of_maxima, readings, per_reading, n_wide, *seconds);
            }
        }
        for group in running.chunks_exact_mut(width) {
            let mut sum = 0i64;
            for cell in group {
                sum = sum.wrapping_add(*cell);
                *cell = sum;
            }
        }
        let highest = maxima.map_or_else(Vec::new, |maxima| maxima.into_cells(n_slots));
        Self { n_slots, running, highest, slot_of_minute: slots_of_minutes(slot_seconds) }
    }

    /// The cells of a group.
    #[inline]
    pub(super) fn group(&self, group: usize) -> GroupCells<'_> {
        let highest = if self.highest.is_empty() { 0..0 } else { group * self.n_slots..(group + 1) * self.n_slots };
        let width = self.n_slots + 1;
        GroupCells { running: &self.running[group * width..(group + 1) * width], highest: &self.highest[highest] }
    }

    /// The first slot that starts at a minute of the day or later.
    #[inline]
    pub(super) fn slot(&self, minute: u16) -> usize {
        usize::from(self.slot_of_minute[usize::from(minute)])
    }
}

/// The days of one group, added up.
#[derive(Clone, Copy)]
pub(super) struct GroupCells<'c> {
    running: &'c [i64],
    /// Empty when no plan asked.
    highest: &'c [Highest],
}

impl GroupCells<'_> {
    /// Energy of all slots, milliwatt-hours.
    #[inline]
    pub(super) fn all_energy(&self) -> i64 {
        self.energy(0..self.running.len() - 1)
    }

    /// Energy of slots, milliwatt-hours.
    #[inline]
    pub(super) fn energy(&self, slots: Range<usize>) -> i64 {
        self.running[slots.end] - self.running[slots.start]
    }

    /// Highest power of all slots, milliwatts; 0 without readings.
    #[inline]
    pub(super) fn highest_of_all(&self) -> i64 {
        self.highest(0..self.highest.len())
    }

    /// Highest power of slots, milliwatts; 0 without readings.
    #[inline]
    pub(super) fn highest(&self, slots: Range<usize>) -> i64 {
        let Some(last) = slots.end.checked_sub(1) else { return 0 };
        let (first_block, last_block) = (slots.start / BLOCK, last / BLOCK);
        if first_block == last_block {
            return self.highest[slots].iter().fold(0, |most, cell| most.max(cell.own));
        }
        let most = self.highest[slots.start].from.max(self.highest[last].up_to);
        let between = self.highest.iter().step_by(BLOCK).take(last_block).skip(first_block + 1);
        between.fold(most, |most, block| most.max(block.from))
    }
}

/// The slot in which a reading starts, and the slots that it is long, at least one.
pub(super) fn place(local: i64, seconds: i64, slot_seconds: i64, n_slots: usize) -> (usize, usize) {
    if n_slots == 1 {
        return (0, 1);
    }
    let count = |seconds: i64| usize::try_from(seconds / slot_seconds).unwrap_or(0);
    let slot = if local == 0 { 0 } else { count(local).min(n_slots - 1) };
    (slot, if seconds == slot_seconds { 1 } else { count(seconds).max(1) })
}

/// For each minute of a day, midnight at its end too, the first slot that starts then or later.
fn slots_of_minutes(slot_seconds: i64) -> Vec<u16> {
    let n_minutes = usize::try_from(SECONDS_OF_DAY / 60 + 1).unwrap_or(0);
    let mut slots = Vec::with_capacity(n_minutes);
    let mut minutes = (0..).map(|slot| usize::try_from(slot * slot_seconds / 60 + 1).unwrap_or(0));
    let mut slot = 0;
    while slots.len() < n_minutes {
        slots.resize(minutes.next().map_or(n_minutes, |n| n.min(n_minutes)), slot);
        slot += 1;
    }
    slots
}

/// Readings in a row that start in one piece of a day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'s> {
    pub(super) piece: Piece,
    /// Length of each reading.
    pub(super) seconds: i64,
    /// Milliwatt-hours.
    pub(super) readings: &'s [i64],
    /// Start of the first, seconds since the epoch.
    pub(super) start: i64,
    /// Seconds since local midnight at the first.
    pub(super) local: i64,
}

/// The readings of a series that start in some pieces of days, in order of time.
pub(super) fn stretches<'s>(series: &'s Series, pieces: &[Piece]) -> Vec<Stretch<'s>> {
    let runs = series.runs();
    let mut stretches = Vec::with_capacity(pieces.len().min(series.n_readings()) + runs.len());
    let mut first_run = 0;
    // The first reading of the first run that starts in the piece or later, where it is known from the piece before.
    let mut known: Option<(i64, usize)> = None;
    for piece in pieces {
        while first_run < runs.len() && runs[first_run].end() <= piece.start {
            first_run += 1;
            known = None;
        }
        for (n, run) in runs[first_run..].iter().enumerate() {
            if run.start >= piece.end {
                break;
            }
            let from = match known.filter(|(instant, _)| n == 0 && *instant == piece.start) {
                Some((_, reading)) => reading,
                None => first_reading_from(run, piece.start),
            };
            let to = first_reading_from(run, piece.end);
            if n == 0 {
                known = Some((piece.end, to));
            }
            if from < to {
                let seconds = i64::from(run.seconds);
                let start = run.start + i64::try_from(from).unwrap_or(0) * seconds;
                let local = piece.local + start - piece.start;
                stretches.push(Stretch {
                    piece: *piece,
                    seconds,
                    readings: &run.milliwatt_hours[from..to],
                    start,
                    local,
                });
            }
        }
    }
    stretches
}

/// The first reading of a run that starts at an instant or later.
pub(super) fn first_reading_from(run: &Run, instant: i64) -> usize {
    let seconds = i64::from(run.seconds);
    let reading = (instant - run.start + seconds - 1).div_euclid(seconds).max(0);
    usize::try_from(reading).unwrap_or(0).min(run.milliwatt_hours.len())
}

/// Sums are known to fit: without a check at each addition the loop runs on several readings at once.
pub(super) fn sum(readings: &[i64]) -> i64 {
    let (blocks, rest) = readings.as_chunks::<16>();
    let add = |sum: i64, reading: &i64| sum.wrapping_add(*reading);
    let of_blocks = blocks.iter().fold(0, |sum, block| block.iter().fold(sum, add));
    rest.iter().fold(of_blocks, add)
}

fn add(cells: &mut [i64], readings: &[i64]) {
    if let [whole_day] = cells {
        *whole_day = whole_day.wrapping_add(sum(readings));
        return;
    }
    let n_fit = readings.len().min(cells.len());
    for (cell, reading) in cells.iter_mut().zip(&readings[..n_fit]) {
        *cell = cell.wrapping_add(*reading);
    }
    // A day longer than the clock says (a plan's own clock at the edge of a period): the last slot takes it.
    if let Some(last) = cells.last_mut() {
        *last = last.wrapping_add(sum(&readings[n_fit..]));
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

/// Adds readings to as many cells or more, and raises the same cells of the highest to them. Four at a time, read before they
/// are written: of that the compiler makes one loop on several readings at once.
fn add_and_raise(energy: &mut [i64], highest: &mut [i32], readings: &[i64]) {
    let (energy, highest) = (&mut energy[..readings.len()], &mut highest[..readings.len()]);
    let (readings, last) = readings.as_chunks::<4>();
    let ((energy, last_energy), (highest, last_highest)) = (energy.as_chunks_mut::<4>(), highest.as_chunks_mut::<4>());
    for ((energy, highest), readings) in energy.iter_mut().zip(highest).zip(readings) {
        let narrow_ones = readings.map(narrow);
        *energy = std::array::from_fn(|i| energy[i].wrapping_add(readings[i]));
        *highest = std::array::from_fn(|i| highest[i].max(narrow_ones[i]));
    }
    for ((energy, highest), reading) in last_energy.iter_mut().zip(last_highest).zip(last) {
        *energy = energy.wrapping_add(*reading);
        *highest = (*highest).max(narrow(*reading));
    }
}

/// The highest readings of groups and slots while they are collected.
enum Maxima {
    /// Milliwatt-hours of readings that all last the same and fit 32 bits: any processor has a quick maximum of those.
    Narrow { highest: Vec<i32>, per_hour: i64 },
    /// Milliwatts.
    Wide(Vec<i64>),
}

impl Maxima {
    fn new(stretches: &[Stretch<'_>], n_bits: u32, slot_seconds: i64, n_cells: usize) -> Self {
        let seconds = stretches.first().map_or(SECONDS_OF_HOUR, |stretch| stretch.seconds);
        let is_even = stretches.iter().all(|stretch| stretch.seconds == seconds) && seconds <= slot_seconds;
        if is_even && n_bits < 32 {
            Self::Narrow { highest: vec![0; n_cells], per_hour: SECONDS_OF_HOUR / seconds }
        } else {
            Self::Wide(vec![0; n_cells])
        }
    }

    /// Raises cells to the readings of one stretch: one for every `stride` cells, each as wide as `n_wide`.
    fn raise(&mut self, cells: Range<usize>, readings: &[i64], stride: usize, n_wide: usize, seconds: i64) {
        match self {
            Self::Narrow { highest, .. } => {
                let highest = &mut highest[cells];
                let (each, beyond) = readings.split_at(readings.len().min(highest.len()));
                for (cell, reading) in highest.iter_mut().zip(each) {
                    *cell = (*cell).max(narrow(*reading));
                }
                if let Some(last) = highest.last_mut() {
                    *last = beyond.iter().fold(*last, |most, reading| most.max(narrow(*reading)));
                }
            }
            Self::Wide(highest) => {
                let per_hour = SECONDS_OF_HOUR / seconds;
                let highest = &mut highest[cells];
                if let [whole_day] = highest {
                    *whole_day = readings.iter().fold(*whole_day, |most, reading| most.max(reading * per_hour));
                    return;
                }
                for (i, reading) in readings.iter().enumerate() {
                    for cell in highest.iter_mut().skip(i * stride).take(n_wide) {
                        *cell = (*cell).max(reading * per_hour);
                    }
                }
            }
        }
    }

    fn into_cells(self, n_slots: usize) -> Vec<Highest> {
        match self {
            Self::Narrow { highest, per_hour } => cells_of(&highest, n_slots, |reading| i64::from(reading) * per_hour),
            Self::Wide(highest) => cells_of(&highest, n_slots, |power| power),
        }
    }
}

/// * `highest`: of each group and slot; `power`: of one of them, milliwatts.
fn cells_of<T: Copy>(highest: &[T], n_slots: usize, power: impl Fn(T) -> i64) -> Vec<Highest> {
    let mut cells: Vec<Highest> = Vec::with_capacity(highest.len());
    for block in highest.chunks_exact(n_slots).flat_map(|row| row.chunks(BLOCK)) {
        let mut most = 0;
        cells.extend(block.iter().map(|highest| {
            let own = power(*highest);
            most = own.max(most);
            Highest { own, up_to: most, from: 0 }
        }));
        most = 0;
        for cell in cells.iter_mut().rev().take(block.len()) {
            most = cell.own.max(most);
            cell.from = most;
        }
    }
    cells
}

fn narrow(reading: i64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "narrow readings have 31 bits and a sign")]
    let reading = reading as i32;
    reading
}

/// Whether every sum of these readings, and each as power, fits 64 bits.
pub(super) fn sums_fit(series: &Series) -> bool {
    let n_readings = u64::try_from(series.n_readings()).unwrap_or(u64::MAX);
    // The factor from energy to power: the readings of an hour.
    let shortest = series.runs().iter().map(|run| u64::from(run.seconds)).min().unwrap_or(1);
    let n_an_hour = (SECONDS_OF_HOUR.unsigned_abs() / shortest.max(1)).max(12);
    let n_sum_bits = 64 - n_readings.max(n_an_hour).leading_zeros();
    series.n_bits() + n_sum_bits < 63
}

/// Lengths of readings and where they begin within their length on the local clock, seconds.
pub(super) fn grids(stretches: &[Stretch<'_>]) -> BTreeSet<(i64, i64)> {
    let mut grids = BTreeSet::new();
    let mut last = None;
    for stretch in stretches {
        let place = (stretch.seconds, stretch.local);
        if last != Some(place) {
            grids.insert((stretch.seconds, stretch.local.rem_euclid(stretch.seconds)));
            last = Some(place);
        }
    }
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
    // A reading of more than an hour holds every boundary of its day.
    let cuts = |minute: u16, (seconds, shift): &(i64, i64)| {
        *seconds > SECONDS_OF_HOUR || (i64::from(minute) * 60 - shift).rem_euclid(*seconds) != 0
    };
    let cut_by = |minute: u16| Some((minute, grids.iter().find(|grid| cuts(minute, grid))?.0));
    // In the order of the patterns; the edges say in one look that there is none.
    schedule.edges().iter().find_map(|minute| cut_by(*minute))?;
    let of_patterns = schedule.patterns().iter().flat_map(boundaries).find_map(cut_by);
    of_patterns.or_else(|| schedule.edges().iter().find_map(|minute| cut_by(*minute)))
}

/// The width of slots at which no boundary of a schedule lies inside one.
pub(super) fn slot_seconds_under(schedule: &Schedule, slot: i64) -> i64 {
    schedule.edges().iter().fold(slot, |slot, minute| gcd(slot, i64::from(*minute) * 60)).max(60)
}
