//! Tables with a row a day and a column an interval: 24, 48, 96 of them, and some more for the long day of autumn.

use std::collections::HashMap;
use std::str::FromStr as _;

use chrono::NaiveDate;

use super::super::super::collect::{Cell, Collector, Rank};
use super::super::super::detect::StampSide;
use super::super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::stamp::Stamp;
use super::super::super::table::{Table, TableRow};
use super::super::super::unit::Unit;
use super::super::super::{Quality, ReadOptions, UsageCode, UsageError};
use super::super::columns::{Role, direction_of};
use super::layout::{IntervalColumn, Label, Layout};
use super::long::{cell, unknown_column};
use super::numbers::{is_blank, quality_of};
use super::sniff::{Sniff, Totals, repeats_headings};
use super::times::TimePlan;

/// Intervals of a day without a clock change that tables have.
const INTERVALS_OF_DAY: [u32; 5] = [288, 144, 96, 48, 24];

const MINUTES_OF_DAY: u32 = 24 * 60;

/// The intervals of a day, in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct DayColumns {
    pub(in super::super) minutes: u32,
    pub(in super::super) slots: Vec<Slot>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Slot {
    pub(in super::super) column: usize,
    /// Minutes of the day at its start; `None` for those that only the long day of autumn has.
    pub(in super::super) start: Option<u32>,
}

impl DayColumns {
    /// Reads the headings of the intervals.
    ///
    /// * `said`: which end of an interval plain times are, where the caller says it.
    ///
    /// # Errors
    /// [`UsageCode::BadHeader`] where they are no whole day.
    pub(in super::super) fn of(columns: &[IntervalColumn], said: Option<StampSide>) -> Result<Self, UsageError> {
        let n = u32::try_from(columns.len()).unwrap_or(u32::MAX);
        let bad = |why: String| Err(UsageError::new(UsageCode::BadHeader, why));
        let Some(n_day) = INTERVALS_OF_DAY.into_iter().find(|n_day| *n_day <= n) else {
            return bad(format!("{n} columns of intervals are no day: 24, 48, 96, … are"));
        };
        let minutes = MINUTES_OF_DAY / n_day;
        let numbers = || columns.iter().filter_map(|c| if let Label::Number(n) = c.label { Some(n) } else { None });
        let base = numbers().min().unwrap_or(0);
        let clocks = || columns.iter().filter_map(|c| if let Label::Clock(m) = c.label { Some(m) } else { None });
        let has_start_of_day = clocks().any(|clock| clock == 0);
        let first_is_step = columns.first().map(|c| c.label) == Some(Label::Clock(minutes));
        let is_end = match said {
            Some(said) => said == StampSide::End,
            None => clocks().any(|clock| clock == MINUTES_OF_DAY) || first_is_step && has_start_of_day,
        };
        let start = |label: Label| match label {
            Label::Range(from, to) => (to == from + minutes).then_some(from),
            Label::Number(number) => (number - base).checked_mul(minutes),
            Label::Clock(clock) if is_end => match clock {
                0 => Some(MINUTES_OF_DAY - minutes),
                clock => clock.checked_sub(minutes),
            },
            Label::Clock(clock) => Some(clock),
        };
        let mut slots = Vec::with_capacity(columns.len());
        let mut expected = 0;
        for interval in columns {
            let Some(found) = start(interval.label) else {
                return bad(format!("a heading of an interval is none of {minutes} minutes like the others"));
            };
            let is_regular = found == expected && found < MINUTES_OF_DAY;
            if is_regular {
                expected += minutes;
            } else if found > expected && found < MINUTES_OF_DAY {
                return bad(format!(
                    "the interval that starts {expected} minutes after midnight is not where it should be"
                ));
            }
            slots.push(Slot { column: interval.column, start: is_regular.then_some(found) });
        }
        let n_extra = n - n_day;
        if expected != MINUTES_OF_DAY || n_extra > 120 / minutes {
            return bad(format!("{n} columns of intervals of {minutes} minutes are no day"));
        }
        Ok(Self { minutes, slots })
    }
}

/// Days of a table.
struct Days<'l> {
    layout: &'l Layout,
    day: DayColumns,
    times: TimePlan,
    meter: Option<usize>,
    channel: Option<usize>,
    quality: Option<usize>,
    unit: Option<usize>,
    said_unit: Option<Unit>,
    decimal_sign: u8,
    known: HashMap<String, (usize, NumberFormat)>,
}

/// Reads all rows.
///
/// # Errors
/// The first that cannot be read, with its line.
pub(super) fn read(
    table: &mut Table<'_>,
    layout: &Layout,
    mut sniff: Sniff,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), UsageError> {
    let at_headings = |e: UsageError| if e.line.is_some() { e } else { e.at_line(layout.line) };
    for (column, role) in layout.roles.iter().enumerate() {
        let is_interval = layout.intervals.iter().any(|interval| interval.column == column);
        if role.is_none() && !is_interval && sniff.columns[column].n_filled > 0 {
            return Err(at_headings(unknown_column(&layout.headings[column])));
        }
    }
    let find = |wanted: &Role| layout.roles.iter().position(|role| role.as_ref() == Some(wanted));
    let mut days = Days {
        day: DayColumns::of(&layout.intervals, options.stamp).map_err(at_headings)?,
        decimal_sign: sniff.signs.decimal_sign(layout.delimiter),
        // Which end of an interval times are, the headings of the intervals say.
        times: TimePlan::of(
            layout,
            &mut sniff,
            &ReadOptions { stamp: Some(StampSide::Start), ..options.clone() },
            collector,
        )
        .map_err(at_headings)?,
        meter: find(&Role::Meter),
        channel: find(&Role::Channel),
        quality: find(&Role::Quality),
        unit: find(&Role::Unit),
        said_unit: options.unit,
        layout,
        known: HashMap::new(),
    };
    let mut totals = Totals::default();
    while let Some(row) = table.next_row()? {
        if row.line <= layout.line || (0..row.len()).all(|idx| row.bytes(idx).is_empty()) {
            continue;
        }
        if totals.skips(row, collector) {
            continue;
        }
        days.read_row(row, collector).map_err(|e| e.at_line(row.line))?;
    }
    Ok(())
}

impl Days<'_> {
    fn read_row(&mut self, row: TableRow<'_>, collector: &mut Collector) -> Result<(), UsageError> {
        if repeats_headings(row, &self.layout.headings) {
            return Ok(());
        }
        let day = self.times.day(row)?;
        let (series_idx, format) = self.series_of(row, collector)?;
        let (quality, rank) = match self.quality {
            Some(column) => {
                let word = row.text(column)?;
                let quality = quality_of(word).map_err(|e| e.in_field(&self.layout.headings[column]))?;
                // A day that was confirmed replaces what was told of it before.
                let version = i64::from(quality == Quality::Measured);
                (quality, Rank { version, part: 0 })
            }
            None => (Quality::Measured, Rank::default()),
        };
        let cells = self
            .day
            .slots
            .iter()
            .map(|slot| {
                let cell = cell(row.text(slot.column)?, format, quality);
                cell.map_err(|e| e.in_field(clip(&self.layout.headings[slot.column])))
            })
            .collect::<Result<Vec<Cell>, UsageError>>()?;
        collector.count_row();
        push_day(
            &self.day,
            day,
            &cells,
            row,
            self.layout.headings.len(),
            &mut |times, cell, collector: &mut Collector| {
                collector.push_ranked(series_idx, row.line, times, cell, rank)
            },
            collector,
        )
    }

    fn series_of(&mut self, row: TableRow<'_>, collector: &mut Collector) -> Result<(usize, NumberFormat), UsageError> {
        let text = |column: Option<usize>| column.map_or(Ok(""), |column| row.text(column));
        let (meter, stream, row_unit) = (text(self.meter)?, text(self.channel)?, text(self.unit)?);
        let key = format!("{meter}\u{1f}{stream}\u{1f}{row_unit}");
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let unit = match (self.said_unit, row_unit) {
            (Some(unit), _) => unit,
            (None, "") => {
                let detail = "nothing says in which unit the values are: taken as kWh; else give --unit";
                collector.warn("unit_assumed", Some(self.layout.line), detail);
                Unit::KilowattHour
            }
            (None, text) => Unit::from_str(text).map_err(|e| {
                let error = UsageError::new(UsageCode::BadUnit, format!("{e}; or give --unit (unit in the API)"));
                error.in_field(clip(&self.layout.headings[self.unit.unwrap_or(0)]))
            })?,
        };
        let label = SeriesLabel {
            meter: Some(meter.to_owned()).filter(|meter| !meter.is_empty()),
            channel: Some(stream.to_owned()).filter(|stream| !stream.is_empty()),
            direction: if stream.is_empty() { Direction::Other } else { direction_of(stream) },
            unit: unit.as_str().to_owned(),
            quantity: unit.quantity(),
        };
        debug_assert!(label.quantity != Quantity::Other, "units are of energy or power");
        let format =
            NumberFormat { decimal_sign: self.decimal_sign, power_of_ten: unit.power_of_ten(), is_register: false };
        let found = (collector.series(&label)?, format);
        self.known.insert(key, found);
        Ok(found)
    }
}

/// Places the cells of a day in time and hands them over, in their order.
///
/// A day on which a clock is set has its intervals either under the local times of their headings, the skipped ones
/// blank; or one after the other from the first column on, as many as the day has.
///
/// * `n_headings`: cells of a whole row; the row of a short day may end early.
///
/// # Errors
/// [`UsageCode::BadRow`] for a row with too few or too many values, [`UsageCode::TimeZoneNeeded`].
pub(in super::super) fn push_day(
    columns: &DayColumns,
    day: NaiveDate,
    cells: &[Cell],
    row: TableRow<'_>,
    n_headings: usize,
    push: &mut dyn FnMut(super::super::super::collect::Times, Cell, &mut Collector) -> Result<(), UsageError>,
    collector: &mut Collector,
) -> Result<(), UsageError> {
    let seconds = i64::from(columns.minutes) * 60;
    Stamp::local(day, 0)?;
    let clock = collector.clock(&day)?;
    let start = clock.start_of_day(day)?;
    let next = day.succ_opt().ok_or_else(|| UsageError::new(UsageCode::BadTime, "the day is the last of all"))?;
    let n_intervals = usize::try_from((clock.start_of_day(next)? - start) / seconds).unwrap_or(0);
    let n_regular = columns.slots.iter().filter(|slot| slot.start.is_some()).count();
    let is_there = |cell: &Cell| *cell != Cell::Blank;
    let n_there = cells.iter().filter(|cell| is_there(cell)).count();
    let n_leading = cells.iter().take_while(|cell| is_there(cell)).count();
    let is_counted = n_intervals != n_regular && n_leading == n_intervals && n_there == n_intervals;
    let n_cells = row.len();
    let n_missing = n_headings.saturating_sub(n_cells);
    let is_short_day = is_counted && n_intervals < n_regular && n_missing == n_regular - n_intervals;
    let has_more = (n_headings..n_cells).any(|idx| !is_blank(row.text(idx).unwrap_or("x")));
    if has_more || n_missing > 0 && !is_short_day {
        row.expect_len(n_headings)?;
    }
    if is_counted {
        for (cell, idx) in cells[..n_intervals].iter().zip(0_i64..) {
            let times = collector.starting(Stamp::Instant(start + idx * seconds, None))?.lasting(seconds)?;
            push(times, *cell, collector)?;
        }
        return Ok(());
    }
    for (slot, cell) in columns.slots.iter().zip(cells) {
        let Some(minutes) = slot.start else {
            if is_there(cell) {
                let message = format!("{day} has {n_intervals} intervals, and the row has {n_there} values");
                return Err(UsageError::new(UsageCode::BadRow, message));
            }
            continue;
        };
        let stamp = Stamp::local(day, minutes)?;
        if let Stamp::Local(local) = stamp
            && n_intervals < n_regular
            && collector.clock(&day)?.resolve(local).is_err()
        {
            match cell {
                Cell::Blank | Cell::Value(_, Quality::Missing) => {}
                Cell::Value(0, _) => {
                    let detail = format!("the clock skipped {local}, the table has 0 for it: left out");
                    collector.warn("skipped_hour_zero", Some(row.line), detail);
                }
                Cell::Value(..) => {
                    let message =
                        format!("the clock skipped {local}, and the table has a value for it: check the time zone");
                    return Err(UsageError::new(UsageCode::LocalTimeDoesNotExist, message));
                }
            }
            continue;
        }
        let times = collector.starting(stamp)?.lasting(seconds)?;
        push(times, *cell, collector)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::layout::label_of;
    use super::*;

    fn starts(headings: &[String], said: Option<StampSide>) -> Result<Vec<Option<u32>>, UsageCode> {
        let columns: Vec<IntervalColumn> = headings
            .iter()
            .enumerate()
            .map(|(column, heading)| IntervalColumn { column, label: label_of(heading).unwrap() })
            .collect();
        let day = DayColumns::of(&columns, said).map_err(|e| e.code)?;
        Ok(day.slots.iter().map(|slot| slot.start).collect())
    }

    #[test]
    fn headings_of_a_day_are_starts_ends_or_numbers() {
        let hours: Vec<Option<u32>> = (0..24).map(|hour| Some(hour * 60)).collect();
        let headings = |name: &dyn Fn(u32) -> String| (0..24).map(name).collect::<Vec<_>>();
        for name in [
            &(|h| format!("{h:02}:00")) as &dyn Fn(u32) -> String,
            &|h| format!("{:02}:00", h + 1),
            &|h| format!("{:02}:00", (h + 1) % 24),
            &|h| format!("{h}-{}時", h + 1),
            &|h| format!("{h}"),
            &|h| format!("H{:02}", h + 1),
        ] {
            assert_eq!(starts(&headings(name), None).as_ref(), Ok(&hours), "{}", name(0));
        }
        let ends = headings(&|h| format!("{h:02}:00"));
        assert!(starts(&ends, Some(StampSide::End)).is_err(), "00:00 first is no end");
        let mut long = headings(&|h| format!("{}", h + 1));
        long.push("25".to_owned());
        assert_eq!(starts(&long, None).unwrap()[23..], [Some(1380), None]);
        let mut twice = headings(&|h| format!("{h:02}:00"));
        twice.insert(3, "02:00*".to_owned());
        assert_eq!(starts(&twice, None).unwrap()[1..5], [Some(60), Some(120), None, Some(180)]);
        let mut hole = headings(&|h| format!("{h:02}:00"));
        hole.remove(5);
        assert_eq!(starts(&hole, None), Err(UsageCode::BadHeader));
        hole.push("23:00".to_owned());
        assert_eq!(starts(&hole, None), Err(UsageCode::BadHeader));
    }
}
