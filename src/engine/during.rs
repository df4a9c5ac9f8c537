//! Days that the instants of a schedule touch. Source: PLAN-MODEL section 5, need D.
//!
//! Such a day is read reading by reading, since an hour of it can lie in another period than the same hour of its kind of
//! day, and of an hour that the clock repeats one pass only. All other days are read from the cells.

use std::ops::Range;

use super::aggregate::gcd;
use super::calendar::LocalDays;
use super::frame::Frame;
use crate::tariff::schedule::{Calendars, Pattern, Schedule, period_at};
use crate::usage::Series;

/// The periods of one day under a schedule.
#[derive(Debug)]
pub(super) enum DayPeriods<'s> {
    /// By the minute of the day.
    Plain(&'s Pattern),
    /// Up to each instant by the minute of the day, by one of the patterns.
    Cut(Vec<(i64, usize)>, Vec<Pattern>),
}

impl<'s> DayPeriods<'s> {
    /// Of a day of the frame.
    pub(super) fn new(frame: &Frame, calendars: &Calendars, schedule: &'s Schedule, day: usize) -> Self {
        let date = frame.days.day(day);
        match instants_of(&frame.days, day).filter(|instants| schedule.is_touched(instants)) {
            None => Self::Plain(schedule.pattern(date, calendars)),
            Some(instants) => {
                let inside = || schedule.bounds_inside(&instants).iter().copied();
                let starts = [instants.start].into_iter().chain(inside());
                let (of, patterns) = schedule.patterns_at(date, calendars, starts);
                Self::Cut(inside().chain([instants.end]).zip(of).collect(), patterns)
            }
        }
    }

    /// The period of a reading that starts at a minute of the day and an instant.
    pub(super) fn period(&self, minute: u16, instant: i64) -> Option<u16> {
        match self {
            Self::Plain(pattern) => period_at(pattern, minute),
            Self::Cut(ends, patterns) => {
                let next = ends.partition_point(|(end, _)| *end <= instant);
                period_at(&patterns[ends.get(next)?.1], minute)
            }
        }
    }
}

/// From the first instant of a day to the last; `None` for a day that the clock skips.
fn instants_of(days: &LocalDays, day: usize) -> Option<Range<i64>> {
    let pieces = days.pieces(day..day + 1);
    Some(pieces.first()?.start..pieces.last()?.end)
}

/// For each day whether instants of one of the schedules touch it; empty when none speaks of instants.
pub(super) fn touched_days(days: &LocalDays, schedules: &[&Schedule]) -> Vec<bool> {
    let with_instants: Vec<&&Schedule> = schedules.iter().filter(|schedule| !schedule.bounds().is_empty()).collect();
    if with_instants.is_empty() {
        return Vec::new();
    }
    let is_touched = |day| {
        let instants = instants_of(days, day);
        instants.is_some_and(|instants| with_instants.iter().any(|schedule| schedule.is_touched(&instants)))
    };
    (0..days.len()).map(is_touched).collect()
}

/// The day groups that hold a day which instants of the schedule touch, and the days of these groups.
pub(super) fn read_one_by_one(frame: &Frame, schedule: &Schedule) -> (Vec<bool>, Vec<usize>) {
    let mut groups = vec![false; frame.group_days.len()];
    let touched = touched_days(&frame.days, &[schedule]);
    for (day, _) in touched.iter().enumerate().filter(|(_, touched)| **touched) {
        groups[frame.group_of_day[day]] = true;
    }
    let days = (0..touched.len()).filter(|day| groups[frame.group_of_day[*day]]).collect();
    (groups, days)
}

/// The first instant of a schedule that lies inside a reading, and the length of the reading, seconds.
pub(super) fn cut_reading(schedule: &Schedule, series: &Series) -> Option<(i64, i64)> {
    let runs = series.runs();
    schedule.bounds().iter().find_map(|bound| {
        let run = runs.get(runs.partition_point(|run| run.end() <= *bound))?;
        let seconds = i64::from(run.seconds);
        (run.start < *bound && (bound - run.start) % seconds != 0).then_some((*bound, seconds))
    })
}

/// The width of slots at which no instant of a schedule lies inside one: at least a minute.
pub(super) fn slot_seconds_under(frame: &Frame, schedule: &Schedule, slot: i64) -> i64 {
    let pieces = frame.days.pieces(0..frame.days.len());
    let local = |bound: &i64| {
        let piece = pieces.get(pieces.partition_point(|piece| piece.end <= *bound))?;
        (piece.start <= *bound).then_some(piece.local + bound - piece.start)
    };
    schedule.bounds().iter().filter_map(local).fold(slot, gcd).max(60)
}

#[cfg(test)]
mod tests;
