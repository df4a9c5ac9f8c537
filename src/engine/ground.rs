//! What all plans of one clock share: the frame, and the cells of every channel they read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::Question;
use super::aggregate::{self, Cells, Stretch};
use super::clock::SECONDS_OF_DAY;
use super::days;
use super::during::{self, DayPeriods};
use super::frame::{BySegment, Frame};
use super::spot::Spot;
use crate::tariff::model::{Plan, Read};
use crate::tariff::schedule::{Calendars, Schedule};
use crate::usage::{Channel, Series};

/// Width of the slots, and whether readings are spread over those they cover.
pub(super) type Grain = (i64, bool);

/// The frame and the channels.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) frame: Frame,
    pub(super) calendars: &'a Calendars,
    /// What energy costs at prices of series.
    pub(super) spot: Spot<'a>,
    channels: BTreeMap<Channel, ChannelGround<'a>>,
}

#[derive(Debug)]
struct ChannelGround<'a> {
    series: &'a Series,
    /// Its readings, by the pieces of days in which they start.
    stretches: Vec<Stretch<'a>>,
    grids: BTreeSet<(i64, i64)>,
    /// Length of a reading of more than an hour that ends on another local day than it begins on, seconds.
    past_midnight: Option<i64>,
    /// The slots in which every reading begins and ends, seconds.
    natural_slot: i64,
    /// Whether some plan looks at the hours of its readings.
    by_hours: bool,
    /// The grains that plans need, and whether they need maxima.
    wanted: BTreeMap<Grain, bool>,
    cells: BTreeMap<Grain, Cells>,
    /// For grains at which readings are spread: the same with those of more than an hour in even parts.
    in_parts: BTreeMap<Grain, Series>,
}

/// Readings that are too long for what a plan asks of them.
pub(super) struct TooCoarse<'p> {
    pub(super) read: &'p Read,
    /// Length of a reading, seconds.
    pub(super) seconds: i64,
    /// What lies inside it; `None` where the length itself has no power in whole milliwatts.
    pub(super) boundary: Option<Boundary>,
}

/// Where a period of a schedule begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Of the day.
    Minute(u16),
    /// Seconds since the epoch.
    Instant(i64),
}

impl<'a> Ground<'a> {
    /// The frame and its channels, nothing added up yet.
    pub(super) fn new(frame: Frame, question: &'a Question) -> Self {
        let channels = question
            .readings
            .iter()
            .map(|(channel, series)| {
                let stretches = aggregate::stretches(series, frame.days.pieces(0..frame.days.len()));
                let grids = aggregate::grids(&stretches);
                let ground = ChannelGround {
                    series,
                    natural_slot: aggregate::slot_seconds(&grids),
                    past_midnight: days::past_midnight(&frame, &stretches),
                    grids,
                    stretches,
                    by_hours: false,
                    wanted: BTreeMap::new(),
                    cells: BTreeMap::new(),
                    in_parts: BTreeMap::new(),
                };
                (channel.clone(), ground)
            })
            .collect();
        Self { frame, calendars: &question.calendars, spot: Spot::new(question), channels }
    }

    /// Notes what a plan reads; says whether readings are split for it, or which are too long.
    pub(super) fn want<'p>(&mut self, plan: &'p Plan, split_evenly: bool) -> Result<bool, TooCoarse<'p>> {
        let mut splits = false;
        for read in &plan.reads {
            let Some(grain) = self.grain(plan, read) else { continue };
            let Some(channel) = self.channels.get_mut(&read.channel) else { continue };
            if read.maxima
                && let Some(seconds) = days::without_power(&channel.grids)
            {
                return Err(TooCoarse { read, seconds, boundary: None });
            }
            if grain.1
                && !split_evenly
                && let Some((boundary, seconds)) = channel.cut_reading(read.schedule.map(|s| &plan.schedules[s]))
            {
                return Err(TooCoarse { read, seconds, boundary: Some(boundary) });
            }
            channel.by_hours |= read.schedule.is_some();
            *channel.wanted.entry(grain).or_default() |= read.maxima;
            splits |= grain.1;
        }
        for cost in &plan.costs {
            if let Some(grain) = self.grain(plan, &cost.read) {
                self.spot.want(cost, grain);
            }
        }
        Ok(splits)
    }

    /// The slots at which a plan reads a channel; `None` when the channel has no readings.
    pub(super) fn grain(&self, plan: &Plan, read: &Read) -> Option<Grain> {
        let channel = self.channels.get(&read.channel)?;
        if channel.grids.is_empty() {
            return None;
        }
        let natural = channel.natural_slot;
        let schedule = read.schedule.map(|schedule| &plan.schedules[schedule]);
        if channel.cut_reading(schedule).is_none() {
            return Some((natural, false));
        }
        let Some(schedule) = schedule else { return Some((natural, true)) };
        let slot = aggregate::slot_seconds_under(schedule, natural);
        Some((during::slot_seconds_under(&self.frame, schedule, slot), true))
    }

    /// Makes the pass over the readings of every channel. `None` when a sum could pass 64 bits.
    pub(super) fn aggregate(&mut self) -> Option<()> {
        if !self.channels.values().all(|channel| aggregate::sums_fit(channel.series)) {
            return None;
        }
        let frame = &self.frame;
        self.channels.par_iter_mut().for_each(|(_, channel)| {
            if days::has_long_readings(&channel.grids) {
                let spread = channel.wanted.keys().filter(|grain| grain.1);
                channel.in_parts.extend(spread.map(|grain| (*grain, days::in_parts(channel.series, grain.0))));
            }
            for (grain, with_maxima) in &channel.wanted {
                // Where no plan looks at hours the day is one slot.
                let slot = if channel.by_hours { grain.0 } else { SECONDS_OF_DAY };
                let cells = |stretches: &[Stretch<'_>]| {
                    Cells::new(frame, stretches, channel.series.n_bits(), slot, *with_maxima, grain.1)
                };
                let cells = match channel.in_parts.get(grain) {
                    Some(parts) => cells(&aggregate::stretches(parts, frame.days.pieces(0..frame.days.len()))),
                    None => cells(&channel.stretches),
                };
                channel.cells.insert(*grain, cells);
            }
        });
        let channels = &self.channels;
        self.spot.aggregate(frame, |channel, grain| {
            let channel = channels.get(channel)?;
            let stretches = match channel.in_parts.get(&grain) {
                Some(parts) => Cow::Owned(aggregate::stretches(parts, frame.days.pieces(0..frame.days.len()))),
                None => Cow::Borrowed(channel.stretches.as_slice()),
            };
            Some((stretches, channel.series))
        });
        Some(())
    }

    /// The readings of a channel as they are read at a grain.
    pub(super) fn series(&self, channel: &Channel, grain: Grain) -> Option<&Series> {
        self.channels.get(channel).map(|channel| channel.series_at(grain))
    }

    /// Energy of a channel in the billing period, milliwatt-hours; `None` unless a plan has its readings added up, each where
    /// it starts.
    pub(super) fn energy(&self, channel: &Channel) -> Option<i64> {
        let (_, cells) = self.channels.get(channel)?.cells.iter().find(|((_, spread), _)| !spread)?;
        let first_month = self.frame.months.get(self.frame.n_earlier)?;
        let first_group = self.frame.segment_groups.get(first_month.segments.start)?.start;
        Some((first_group..self.frame.group_days.len()).map(|group| cells.group(group).all_energy()).sum())
    }

    /// Whether any channel has a reading in these segments.
    pub(super) fn has_readings(&self, segments: Range<usize>) -> bool {
        let pieces = self.frame.days.pieces(self.frame.days_of(&segments));
        let Some((first, last)) = pieces.first().zip(pieces.last()) else { return false };
        self.channels.values().any(|channel| {
            let runs = channel.series.runs();
            let next = runs.partition_point(|run| run.end() <= first.start);
            runs.get(next).is_some_and(|run| run.start < last.end)
        })
    }
}

impl ChannelGround<'_> {
    /// The first boundary of a schedule that cuts a reading in two, and the length of the reading, seconds. Without a
    /// schedule midnight alone can.
    fn cut_reading(&self, schedule: Option<&Schedule>) -> Option<(Boundary, i64)> {
        let midnight = self.past_midnight.map(|seconds| (Boundary::Minute(0), seconds));
        let by_schedule = |schedule| {
            let by_minute = aggregate::cut_reading(schedule, &self.grids);
            by_minute.map(|(minute, seconds)| (Boundary::Minute(minute), seconds)).or_else(|| {
                let (instant, seconds) = during::cut_reading(schedule, self.series)?;
                Some((Boundary::Instant(instant), seconds))
            })
        };
        midnight.or_else(|| schedule.and_then(by_schedule))
    }

    fn series_at(&self, grain: Grain) -> &Series {
        self.in_parts.get(&grain).unwrap_or(self.series)
    }
}

/// Energy and highest power of one channel by segment and by period of one schedule.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) read: Read,
    pub(super) grain: Option<Grain>,
    /// Periods of the schedule, and one more for what no rule covers; 1 without a schedule.
    width: usize,
    /// Milliwatt-hours.
    energy: Vec<i64>,
    /// Milliwatts, of the periods of which it is asked for.
    highest: Vec<i64>,
    by_day: OnceLock<Vec<i64>>,
}

impl Table {
    /// Reads the cells of a channel through a schedule of a plan.
    ///
    /// * `has_demand`: by period, whether its highest power is asked for; periods past the end are not.
    pub(super) fn new(ground: &Ground<'_>, plan: &Plan, read: &Read, has_demand: &[bool]) -> Self {
        let frame = &ground.frame;
        let schedule = read.schedule.map(|schedule| &plan.schedules[schedule]);
        let width = schedule.map_or(1, |schedule| schedule.periods.len() + 1);
        let grain = ground.grain(plan, read);
        let n_segments = frame.segments.len();
        let mut table = Self {
            read: read.clone(),
            grain,
            width,
            energy: vec![0; n_segments * width],
            highest: if read.maxima { vec![0; n_segments * width] } else { Vec::new() },
            by_day: OnceLock::new(),
        };
        let cells = grain.and_then(|grain| ground.channels.get(&read.channel)?.cells.get(&grain));
        let Some(cells) = cells else { return table };
        let (one_by_one, days) = schedule.map_or_else(Default::default, |s| during::read_one_by_one(frame, s));
        let windows = schedule.map_or_else(Windows::default, |schedule| Windows::new(schedule, cells, has_demand));
        for (segment, groups) in frame.segment_groups.iter().enumerate() {
            for group in groups.clone() {
                if one_by_one.get(group).is_some_and(|one_by_one| *one_by_one) {
                    continue;
                }
                let row = segment * width;
                let of_group = cells.group(group);
                let all = of_group.all_energy();
                let Some(schedule) = schedule else {
                    table.energy[row] += all;
                    if read.maxima {
                        table.highest[row] = of_group.highest_of_all().max(table.highest[row]);
                    }
                    continue;
                };
                let mut covered = 0;
                for window in windows.of(schedule.pattern_index(frame.group_days[group], ground.calendars)) {
                    let energy = of_group.energy(window.slots.clone());
                    table.energy[row + window.period] += energy;
                    covered += energy;
                    if window.has_demand {
                        let highest = &mut table.highest[row + window.period];
                        *highest = of_group.highest(window.slots.clone()).max(*highest);
                    }
                }
                table.energy[row + width - 1] += all - covered;
            }
        }
        for day in days {
            table.add_day(ground, plan, day);
        }
        table
    }

    /// Adds a day reading by reading.
    fn add_day(&mut self, ground: &Ground<'_>, plan: &Plan, day: usize) {
        let row = ground.frame.segment_of(day) * self.width;
        let mut energy = vec![0; self.width];
        let mut highest = vec![0; self.width];
        self.for_each_reading(ground, plan, day..day + 1, |reading| {
            energy[reading.period] += reading.milliwatt_hours;
            highest[reading.period] = reading.milliwatts.max(highest[reading.period]);
        });
        for (period, (energy, highest)) in energy.into_iter().zip(highest).enumerate() {
            self.energy[row + period] += energy;
            if self.read.maxima {
                self.highest[row + period] = self.highest[row + period].max(highest);
            }
        }
    }

    /// Energy of segments, milliwatt-hours: of a period, or without a schedule of all.
    #[inline]
    pub(super) fn energy(&self, segments: Range<usize>, period: usize) -> i64 {
        let mut sum = 0;
        for segment in segments {
            sum += self.energy[segment * self.width + period];
        }
        sum
    }

    /// Energy of a period by segment, milliwatt-hours.
    pub(super) fn energy_by_segment(&self, period: usize) -> BySegment<'_, i64> {
        BySegment::column(&self.energy, self.width, period)
    }

    /// Highest power of a period by segment, milliwatts.
    pub(super) fn highest_by_segment(&self, period: usize) -> BySegment<'_, i64> {
        BySegment::column(&self.highest, self.width, period)
    }

    /// Energy in no period of the schedule, milliwatt-hours.
    pub(super) fn energy_outside(&self, segments: Range<usize>) -> i64 {
        if self.width == 1 { 0 } else { self.energy(segments, self.width - 1) }
    }

    /// Highest power of segments, milliwatts.
    #[inline]
    pub(super) fn highest(&self, segments: Range<usize>, period: usize) -> i64 {
        let mut highest = 0;
        for segment in segments {
            highest = self.highest[segment * self.width + period].max(highest);
        }
        highest
    }

    /// Energy of one day, milliwatt-hours.
    pub(super) fn energy_of_day(&self, ground: &Ground<'_>, plan: &Plan, day: usize, period: usize) -> i64 {
        let by_day = self.by_day.get_or_init(|| {
            let mut by_day = vec![0; ground.frame.days.len() * self.width];
            self.for_each_reading(ground, plan, 0..ground.frame.days.len(), |reading| {
                by_day[reading.day * self.width + reading.period] += reading.milliwatt_hours;
            });
            by_day
        });
        by_day[day * self.width + period]
    }

    /// Calls back with each reading of days, in order of time.
    pub(super) fn for_each_reading(
        &self,
        ground: &Ground<'_>,
        plan: &Plan,
        days: Range<usize>,
        mut call: impl FnMut(PlacedReading),
    ) {
        let frame = &ground.frame;
        let Some(grain) = self.grain else { return };
        let Some(series) = ground.series(&self.read.channel, grain) else { return };
        let (slot, spread) = grain;
        let schedule = self.read.schedule.map(|schedule| &plan.schedules[schedule]);
        let mut known_day = None;
        let mut periods = None;
        for Stretch { piece, seconds, readings, local, .. } in aggregate::stretches(series, frame.days.pieces(days)) {
            if let Some(schedule) = schedule
                && known_day != Some(piece.day)
            {
                periods = Some(DayPeriods::new(frame, ground.calendars, schedule, piece.day));
                known_day = Some(piece.day);
            }
            let n_parts = if spread { usize::try_from(seconds / slot).unwrap_or(1).max(1) } else { 1 };
            let part_seconds = seconds / i64::try_from(n_parts).unwrap_or(1);
            let per_hour = 3600 / seconds;
            let mut at = local;
            for reading in readings {
                for part in 0..n_parts {
                    let minute = u16::try_from(at / 60).unwrap_or(u16::MAX).min(1439);
                    let start = piece.start + at - piece.local;
                    let period = periods
                        .as_ref()
                        .map_or(0, |periods| periods.period(minute, start).map_or(self.width - 1, usize::from));
                    call(PlacedReading {
                        day: piece.day,
                        start,
                        local: at,
                        seconds: part_seconds,
                        milliwatt_hours: aggregate::share_of(*reading, part, n_parts),
                        milliwatts: reading * per_hour,
                        period,
                    });
                    at += part_seconds;
                }
            }
        }
    }
}

/// The patterns of a schedule at the slots of a channel.
#[derive(Default)]
struct Windows {
    /// Pattern after pattern.
    windows: Vec<Window>,
    /// Where each pattern ends.
    ends: Vec<usize>,
}

/// A period of a day, in slots.
struct Window {
    slots: Range<usize>,
    period: usize,
    has_demand: bool,
}

impl Windows {
    /// * `has_demand`: by period, whether its highest power is asked for; periods past the end are not.
    fn new(schedule: &Schedule, cells: &Cells, has_demand: &[bool]) -> Self {
        let patterns = schedule.patterns();
        let mut all = Self {
            windows: Vec::with_capacity(patterns.iter().map(Vec::len).sum()),
            ends: Vec::with_capacity(patterns.len()),
        };
        for pattern in patterns {
            all.windows.extend(pattern.iter().map(|stretch| Window {
                slots: cells.slot(stretch.start)..cells.slot(stretch.end),
                period: usize::from(stretch.period),
                has_demand: has_demand.get(usize::from(stretch.period)) == Some(&true),
            }));
            all.ends.push(all.windows.len());
        }
        all
    }

    #[inline]
    fn of(&self, pattern: usize) -> &[Window] {
        let first = pattern.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.windows[first..self.ends[pattern]]
    }
}

/// A reading, or a part of one that was split, with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedReading {
    pub(super) day: usize,
    /// Seconds since the epoch.
    pub(super) start: i64,
    /// Seconds since local midnight.
    pub(super) local: i64,
    pub(super) seconds: i64,
    pub(super) milliwatt_hours: i64,
    pub(super) milliwatts: i64,
    /// Index of its period; the number of periods where none covers it; 0 without a schedule.
    pub(super) period: usize,
}
