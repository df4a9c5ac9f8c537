//! Which columns of a table place a row in time, and how.

use std::collections::HashMap;

use super::super::super::collect::{Collector, Times};
use super::super::super::detect::StampSide;
use super::super::super::number::clip;
use super::super::super::stamp::{DateOrder, Stamp};
use super::super::super::table::TableRow;
use super::super::super::{ReadOptions, UsageCode, UsageError};
use super::super::columns::{Role, TimeColumn};
use super::layout::Layout;
use super::looks::{DateText, Look, look};
use super::sniff::{Sniff, stamp_side};

/// Where one end of an interval is found.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In one column: date and time, an instant, or a day.
    Whole(usize),
    /// In two.
    Pair { date: usize, clock: usize },
    /// Date, and the number of the hour (the half hour, …) in the day.
    Numbered { date: usize, number: usize, minutes: u32, base: u32 },
    /// A time of day after the start.
    ClockAfterStart(usize),
}

/// How rows of a table are placed in time.
#[derive(Debug)]
pub(super) struct TimePlan {
    start: Place,
    end: Option<Place>,
    side: StampSide,
    order: DateOrder,
    is_utc: bool,
    minutes: Option<usize>,
    /// The column whose times of day are ranges.
    ranges: Option<usize>,
    /// The highest number of each day, for days on which a clock is set.
    most_number_of_day: HashMap<DateText, u32>,
    headings: Vec<String>,
}

struct Candidate<'s> {
    column: usize,
    heading: TimeColumn,
    seen: &'s super::sniff::TimeSniff,
}

impl TimePlan {
    /// Finds it from the headings and from what was seen below them, and says what was assumed.
    ///
    /// # Errors
    /// [`UsageCode::DateOrderNeeded`]; [`UsageCode::BadHeader`] where no column gives a time.
    pub(super) fn of(
        layout: &Layout,
        sniff: &mut Sniff,
        options: &ReadOptions,
        collector: &mut Collector,
    ) -> Result<Self, UsageError> {
        let (order, by_steps) = sniff.date_order(options.date_order).map_err(|e| e.at_line(layout.line))?;
        if by_steps {
            let word = if order == DateOrder::DayMonthYear { "day first" } else { "month first" };
            collector.warn("date_order_assumed", None, format!("dates go on day by day when read {word}: read so"));
        }
        let candidates: Vec<Candidate<'_>> = layout
            .roles
            .iter()
            .enumerate()
            .filter_map(|(column, role)| match role {
                Some(Role::Time(heading)) => {
                    Some(Candidate { column, heading: *heading, seen: &sniff.columns[column].times })
                }
                _ => None,
            })
            .collect();
        let of_side =
            |is_end: bool| candidates.iter().filter(move |c| (c.heading.side == Some(StampSide::End)) == is_end);
        let starts: Vec<&Candidate<'_>> = of_side(false).collect();
        let ends: Vec<&Candidate<'_>> = of_side(true).collect();
        let (start, end, mut side) = match (place(&starts)?, place(&ends)?) {
            (Some(start), Some(end)) => (start, Some(end), Some(StampSide::Start)),
            (Some(start), None) => {
                let end = ends.iter().find(|c| c.seen.n_clocks > 0).map(|c| c.column);
                let said = starts.iter().find_map(|c| c.heading.side);
                match (start, end) {
                    // A day and the number of its hours, named after their ends.
                    (Place::Whole(date), None) if ends.iter().any(|c| c.seen.n_numbers > 0) => {
                        let of_date = starts.iter().filter(|c| c.column == date);
                        let both: Vec<&Candidate<'_>> = of_date.chain(&ends).copied().collect();
                        (place(&both)?.unwrap_or(start), None, None)
                    }
                    // A day and the time of an end.
                    (Place::Whole(date), Some(clock)) if sniff.columns[date].times.n_clocks == 0 => {
                        (Place::Pair { date, clock }, None, Some(StampSide::End))
                    }
                    (_, Some(clock)) => (start, Some(Place::ClockAfterStart(clock)), Some(StampSide::Start)),
                    (_, None) => (start, None, said),
                }
            }
            (None, Some(end)) => (end, None, Some(StampSide::End)),
            (None, None) => return Err(no_time(layout)),
        };
        let seen = |column: usize| &sniff.columns[column].times;
        if end.is_none() {
            side = options.stamp.or(side);
            let clocks = match start {
                Place::Whole(column) => Some((column, column)),
                Place::Pair { date, clock } => Some((date, clock)),
                Place::Numbered { .. } | Place::ClockAfterStart(_) => None,
            };
            if let (None, Some((date, clock))) = (side, clocks)
                && seen(clock).n_clocks > seen(clock).n_ranges
            {
                side = stamp_side(seen(date), seen(clock), order);
                let detail = match side {
                    Some(StampSide::Start) => None,
                    Some(StampSide::End) => Some("times run from the first interval's end to midnight: taken as ends"),
                    None => {
                        Some("nothing says whether times are starts or ends: taken as starts; else give --stamp end")
                    }
                };
                if let Some(detail) = detail {
                    collector.warn("stamp_assumed", None, detail);
                }
            }
        }
        let used = [Some(start), end].into_iter().flatten().flat_map(Place::columns);
        let used: Vec<usize> = used.collect();
        let is_utc = candidates.iter().any(|c| c.heading.is_utc && used.contains(&c.column));
        for unused in candidates.iter().filter(|c| !used.contains(&c.column)) {
            let heading = clip(&layout.headings[unused.column]);
            collector.warn("column_not_used", Some(layout.line), format!("the times in {heading:?} were not needed"));
        }
        Ok(Self {
            start,
            end,
            side: side.unwrap_or(StampSide::Start),
            order,
            is_utc,
            ranges: match start {
                Place::Pair { clock, .. } => Some(clock).filter(|clock| sniff.columns[*clock].times.n_ranges > 0),
                Place::Whole(_) | Place::Numbered { .. } | Place::ClockAfterStart(_) => None,
            },
            minutes: layout.roles.iter().position(|role| *role == Some(Role::Minutes)),
            most_number_of_day: std::mem::take(&mut sniff.most_number_of_day),
            headings: layout.headings.clone(),
        })
    }

    /// Where a row lies in time.
    ///
    /// # Errors
    /// Without a line: what is no time, what has no place.
    pub(super) fn times(&self, row: TableRow<'_>, collector: &mut Collector) -> Result<Times, UsageError> {
        let field = self.headings[self.start.columns().next().unwrap_or(0)].as_str();
        let start = self.stamp(self.start, row, collector)?;
        let times = match self.end {
            Some(Place::ClockAfterStart(column)) => {
                let seen = look(row.text(column)?).and_then(|look| look.clock);
                let end = seen.and_then(|clock| after(start, clock));
                let end = end.ok_or_else(|| no_clock(row, column)).map_err(|e| e.in_field(&self.headings[column]))?;
                collector.between(start, end)
            }
            Some(place) => {
                let end = self.stamp(place, row, collector)?;
                collector.between(start, end)
            }
            None if self.until(row).is_some() => {
                let end = self.until(row).and_then(|until| after(start, until));
                collector.between(start, end.unwrap_or(start))
            }
            None if self.side == StampSide::End => collector.ending(start),
            None => collector.starting(start),
        };
        let times = times.map_err(|e| if e.field.is_some() { e } else { e.in_field(field) })?;
        match self.minutes.filter(|_| self.end.is_none()) {
            Some(column) => {
                let text = row.text(column)?;
                let seconds = text.trim_end_matches(" min").parse::<i64>().ok().and_then(|m| m.checked_mul(60));
                let seconds = seconds.filter(|seconds| *seconds > 0).ok_or_else(|| {
                    let message = format!("{:?} is no number of minutes", clip(text));
                    UsageError::new(UsageCode::BadTime, message).in_field(&self.headings[column])
                })?;
                times.lasting(seconds).map_err(|e| e.in_field(&self.headings[column]))
            }
            None => Ok(times),
        }
    }

    /// The end of a range of times of day: `00:00-00:30`.
    fn until(&self, row: TableRow<'_>) -> Option<u32> {
        let column = self.ranges?;
        look(row.text(column).ok()?)?.until
    }

    /// The local day of a row of a table of days.
    ///
    /// # Errors
    /// [`UsageCode::BadTime`] for what is no date.
    pub(super) fn day(&self, row: TableRow<'_>) -> Result<chrono::NaiveDate, UsageError> {
        let column = self.start.columns().next().unwrap_or(0);
        let found = look(row.text(column)?).filter(|look| look.clock.is_none_or(|clock| clock == 0));
        let day = found.and_then(|look| look.date).and_then(|date| date.day(self.order));
        day.ok_or_else(|| self.no_time(row, column))
    }

    fn stamp(&self, place: Place, row: TableRow<'_>, collector: &mut Collector) -> Result<Stamp, UsageError> {
        let seen = |column: usize| {
            look(row.text(column).map_err(|e| e.in_field(&self.headings[column]))?)
                .ok_or_else(|| self.no_time(row, column))
        };
        let day = |look: Look, column: usize| {
            look.date.and_then(|date| date.day(self.order)).ok_or_else(|| self.no_time(row, column))
        };
        let placed = |stamp: Stamp, offset: Option<i32>| match offset {
            Some(offset) => stamp.at_offset(offset),
            None if self.is_utc => stamp.at_offset(0),
            None => stamp,
        };
        match place {
            Place::Whole(column) | Place::ClockAfterStart(column) => {
                let look = seen(column)?;
                match look.epoch {
                    Some(seconds) => Ok(Stamp::Instant(seconds, look.offset)),
                    None => {
                        let stamp = Stamp::local(day(look, column)?, look.clock.unwrap_or(0));
                        Ok(placed(stamp.map_err(|e| e.in_field(&self.headings[column]))?, look.offset))
                    }
                }
            }
            Place::Pair { date, clock } => {
                let time = seen(clock)?;
                let minutes = time.clock.ok_or_else(|| self.no_time(row, clock))?;
                let stamp = Stamp::local(day(seen(date)?, date)?, minutes);
                Ok(placed(stamp.map_err(|e| e.in_field(&self.headings[date]))?, time.offset))
            }
            Place::Numbered { date, number, minutes, base } => {
                let seen_date = seen(date)?;
                let day = day(seen_date, date)?;
                let number_of_day = seen(number)?.number.and_then(|n| n.checked_sub(base));
                let idx = number_of_day.ok_or_else(|| self.no_time(row, number))?;
                let midnight = Stamp::local(day, 0).map_err(|e| e.in_field(&self.headings[date]))?;
                if self.is_utc {
                    return Ok(Stamp::local(day, idx * minutes)?.at_offset(0));
                }
                let clock = collector.clock(&day)?;
                let start = clock.start_of_day(day)?;
                let length = day.succ_opt().map_or(Ok(start), |next| clock.start_of_day(next))? - start;
                let most = seen_date.date.and_then(|date| self.most_number_of_day.get(&date)).copied();
                let n_day = length / (60 * i64::from(minutes));
                let has_all =
                    most.and_then(|most| most.checked_sub(base)).map(|most| i64::from(most) + 1) == Some(n_day);
                if length != 24 * 3600 && has_all {
                    // Numbered through: 23 or 25 hours.
                    return Stamp::epoch(start + i64::from(idx * minutes) * 60);
                }
                match midnight {
                    Stamp::Local(_) if idx * minutes < 24 * 60 => Stamp::local(day, idx * minutes),
                    Stamp::Local(_) | Stamp::Instant(..) => Err(self.no_time(row, number)),
                }
            }
        }
    }

    fn no_time(&self, row: TableRow<'_>, column: usize) -> UsageError {
        let text = row.text(column).unwrap_or_default();
        let message = format!(
            "{:?} is no time like those of the other rows, or no date of the calendar; dates need a year of four digits",
            clip(text)
        );
        UsageError::new(UsageCode::BadTime, message).in_field(clip(&self.headings[column]))
    }
}

impl Place {
    fn columns(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Whole(column) | Self::ClockAfterStart(column) => (column, None),
            Self::Pair { date, clock } => (date, Some(clock)),
            Self::Numbered { date, number, .. } => (date, Some(number)),
        };
        [Some(first), second].into_iter().flatten()
    }
}

/// The columns among these that make a time.
fn place(candidates: &[&Candidate<'_>]) -> Result<Option<Place>, UsageError> {
    let find = |wanted: &dyn Fn(&Candidate<'_>) -> bool| candidates.iter().find(|c| wanted(c)).map(|c| c.column);
    // Instants before local times, whole times before parts.
    if let Some(column) = find(&|c| c.seen.n_instants > 0) {
        return Ok(Some(Place::Whole(column)));
    }
    if let Some(column) = find(&|c| c.seen.n_dates > 0 && c.seen.n_clocks > 0) {
        return Ok(Some(Place::Whole(column)));
    }
    let Some(date) = find(&|c| c.seen.n_dates > 0) else { return Ok(None) };
    if let Some(clock) = find(&|c| c.seen.n_clocks > 0) {
        return Ok(Some(Place::Pair { date, clock }));
    }
    let Some(number) = candidates.iter().find(|c| c.seen.n_numbers > 0 && c.column != date) else {
        return Ok(Some(Place::Whole(date)));
    };
    let (least, most) = (number.seen.least_number, number.seen.most_number);
    let (base, n) = match least {
        0 => (0, most + 1),
        _ if number.heading.side == Some(StampSide::End) || matches!(most, 23..=25 | 46 | 48 | 50 | 92 | 96 | 100) => {
            (1, most)
        }
        _ => {
            let message = format!(
                "numbers from {least} to {most} do not say whether the first hour of a day is 0 or 1; give times like 00:00"
            );
            return Err(UsageError::new(UsageCode::BadTime, message));
        }
    };
    let minutes = match n {
        ..=25 => 60,
        26..=50 => 30,
        _ => 15,
    };
    Ok(Some(Place::Numbered { date, number: number.column, minutes, base }))
}

/// The next time after `start` at which a clock shows `minutes`.
fn after(start: Stamp, minutes: u32) -> Option<Stamp> {
    match start {
        Stamp::Local(local) => {
            let same_day = Stamp::local(local.date(), minutes).ok()?;
            match same_day {
                Stamp::Local(end) if end <= local => Stamp::local(local.date().succ_opt()?, minutes).ok(),
                end => Some(end),
            }
        }
        Stamp::Instant(seconds, offset) => {
            let offset = i64::from(offset.unwrap_or(0));
            let day = (seconds + offset).div_euclid(86_400) * 86_400 - offset;
            let end = day + i64::from(minutes) * 60;
            Some(Stamp::Instant(if end <= seconds { end + 86_400 } else { end }, None))
        }
    }
}

fn no_clock(row: TableRow<'_>, column: usize) -> UsageError {
    let text = row.text(column).unwrap_or_default();
    UsageError::new(UsageCode::BadTime, format!("{:?} is no time of day", clip(text)))
}

fn no_time(layout: &Layout) -> UsageError {
    let names: Vec<String> = layout.headings.iter().map(|heading| clip(heading)).collect();
    let message = format!("no column gives a date; the headings are {}", names.join(", "));
    UsageError::new(UsageCode::BadHeader, message).at_line(layout.line)
}
