//! The days of a question, cut where anything changes: billing months, segments, day groups.
//!
//! Within a *segment* no month, season, price date or version changes. A *group* holds the days of a segment on
//! which every schedule has the same hours. Made once for all plans of one clock. Source: PLAN-MODEL section 5.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chrono::{Datelike, Months, NaiveDate};
use chrono_tz::Tz;

use super::Question;
use super::calendar::{LocalDays, day_start};
use super::during;
use crate::tariff::number::Exact;
use crate::tariff::schedule::{Calendars, Day, MonthDays, Schedule};
use crate::words::BillingPeriod;

/// Days, billing months, segments and groups.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) days: LocalDays,
    /// The earlier months first.
    pub(super) months: Vec<Month>,
    pub(super) n_earlier: usize,
    /// The days of each segment.
    pub(super) segments: Vec<Range<usize>>,
    /// The first day of each segment.
    pub(super) segment_days: Vec<Day>,
    /// The groups of each segment.
    pub(super) segment_groups: Vec<Range<usize>>,
    /// A day of each group.
    pub(super) group_days: Vec<Day>,
    pub(super) group_of_day: Vec<usize>,
}

/// A number for each segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct BySegment<'a, T> {
    /// The first of every `width`.
    numbers: &'a [T],
    width: usize,
}

impl<'a, T: Copy> BySegment<'a, T> {
    /// A column of a table.
    ///
    /// * `rows`: one for each segment, `width` long each.
    pub(super) fn column(rows: &'a [T], width: usize, column: usize) -> Self {
        Self { numbers: rows.get(column..).unwrap_or_default(), width }
    }

    /// The number of a segment.
    #[inline]
    pub(super) fn of(&self, segment: usize) -> T {
        self.numbers[segment * self.width]
    }
}

/// One billing month.
#[derive(Debug)]
pub(super) struct Month {
    pub(super) period: BillingPeriod,
    pub(super) segments: Range<usize>,
    pub(super) n_days: i64,
    /// How many billing months it counts: 1, 2 for a registered cycle of two, the share by days of a broken one.
    pub(super) n_months: Exact,
    /// The share by days of a broken month.
    pub(super) broken_share: Option<Exact>,
}

impl Frame {
    /// Cuts the days of a question at `cuts` and wherever one of the schedules changes.
    pub(super) fn new(question: &Question, time_zone: Tz, cuts: &BTreeSet<NaiveDate>, schedules: &[&Schedule]) -> Self {
        let all: Vec<&BillingPeriod> = question.earlier_months.iter().chain(&question.months).collect();
        let first = all.first().map_or(question.period.start(), |month| month.start());
        let end = all.last().map_or(question.period.end(), |month| month.end());
        let customers = || day_start(question.time_zone, first)..day_start(question.time_zone, end);
        let within = (time_zone != question.time_zone).then(customers);
        let days = LocalDays::new(time_zone, first, end, within.as_ref());
        let n_days = days.len();

        let mut is_cut = vec![false; n_days + 1];
        for month in &all {
            is_cut[days.index(month.start())] = true;
            is_cut[days.index(month.end())] = true;
        }
        for cut in cuts {
            if *cut > first && *cut < end {
                is_cut[days.index(*cut)] = true;
            }
        }
        is_cut[0] = true;
        is_cut[n_days] = true;
        let mut changes = MonthDays::default();
        for schedule in schedules {
            changes.add(schedule.changes());
        }
        for date in (first.year()..=end.year()).flat_map(|year| changes.in_year(year)) {
            if date > first && date < end {
                is_cut[days.index(date)] = true;
            }
        }
        let bounds: Vec<usize> = (0..=n_days).filter(|day| is_cut[*day]).collect();
        let segments: Vec<Range<usize>> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();

        let class_of_weekday = weekday_classes(schedules);
        let holidays = Holidays::of(schedules, &question.calendars);
        let touched = during::touched_days(&days, schedules);
        let is_plain = touched.is_empty() && holidays.0.is_empty();
        let mut frame = Self {
            months: Vec::with_capacity(all.len()),
            n_earlier: question.earlier_months.len(),
            segment_groups: Vec::with_capacity(segments.len()),
            group_days: Vec::new(),
            group_of_day: Vec::with_capacity(n_days),
            segment_days: segments.iter().map(|segment| days.day(segment.start)).collect(),
            segments,
            days,
        };
        // Classes of plain weekdays first, then one for each kind of day near a holiday.
        let mut group_of_class: Vec<((usize, u64), usize)> = Vec::new();
        for (segment, first_day) in frame.segments.iter().zip(&frame.segment_days) {
            let first_group = frame.group_days.len();
            group_of_class.clear();
            // Where weekdays are all that counts, the groups of a week are those of every week.
            let n_looked_at = if is_plain { segment.len().min(7) } else { segment.len() };
            let mut day = *first_day;
            for index in segment.start..segment.start + n_looked_at {
                if index > segment.start {
                    day = frame.days.day(index);
                }
                let near = holidays.near(day.date);
                let class = match (touched.get(index), near) {
                    // A day that instants touch is a group of its own: it is read reading by reading.
                    (Some(true), _) => (7 + index, near),
                    (_, 0) => (usize::from(class_of_weekday[usize::from(day.weekday)]), 0),
                    _ => (usize::from(day.weekday), near),
                };
                let known = group_of_class.iter().find(|(known, _)| *known == class).map(|(_, group)| *group);
                let group = known.unwrap_or_else(|| {
                    frame.group_days.push(day);
                    group_of_class.push((class, frame.group_days.len() - 1));
                    frame.group_days.len() - 1
                });
                frame.group_of_day.push(group);
            }
            for index in segment.start + n_looked_at..segment.end {
                frame.group_of_day.push(frame.group_of_day[index - 7]);
            }
            frame.segment_groups.push(first_group..frame.group_days.len());
        }
        for (i, period) in all.into_iter().enumerate() {
            let full_days = if i < frame.n_earlier || question.months_registered {
                period.n_days()
            } else {
                full_days(question, i - frame.n_earlier)
            };
            let month = frame.month(*period, full_days);
            frame.months.push(month);
        }
        frame
    }

    /// * `full_days`: the days that the month would have if it were not broken.
    fn month(&self, period: BillingPeriod, full_days: i64) -> Month {
        let (from, to) = (self.days.index(period.start()), self.days.index(period.end()));
        let segments =
            self.segments.partition_point(|s| s.start < from)..self.segments.partition_point(|s| s.start < to);
        let n_days = period.n_days();
        let mut month = Month { period, segments, n_days, n_months: Exact::ONE, broken_share: None };
        if full_days > n_days {
            let share = Exact::fraction(n_days, full_days);
            month.n_months = share.clone();
            month.broken_share = Some(share);
        } else if n_days > 45 {
            // A registered cycle of several months: by the months of 30.4 days it is nearest to.
            month.n_months = Exact::whole((n_days * 10 + 152) / 304);
        }
        month
    }

    /// The dates of a segment.
    pub(super) fn first_date(&self, segment: usize) -> NaiveDate {
        self.segment_days[segment].date
    }

    /// The segment that holds a day.
    pub(super) fn segment_of(&self, day: usize) -> usize {
        self.segments.partition_point(|segment| segment.end <= day)
    }

    /// The first segment that begins on a date or later.
    pub(super) fn segment_from(&self, date: NaiveDate) -> usize {
        let day = self.days.index(date);
        self.segments.partition_point(|segment| segment.start < day)
    }

    /// The days of segments in a row.
    pub(super) fn days_of(&self, segments: &Range<usize>) -> Range<usize> {
        if segments.is_empty() {
            return 0..0;
        }
        self.segments[segments.start].start..self.segments[segments.end - 1].end
    }
}

/// The days that a billing month would have if the period did not begin or end inside it.
///
/// Counted from the first day of the period only the last month can be broken. Where registered periods cover the
/// period without tiling it, the first and the last can be; how long those are is not asked, a month stands for them.
fn full_days(question: &Question, month: usize) -> i64 {
    let period = question.months[month];
    let n_days = period.n_days();
    let is_last = month + 1 == question.months.len();
    if month > 0 && !is_last {
        return n_days;
    }
    let counted_start = |n: usize| question.period.start().checked_add_months(Months::new(u32::try_from(n).ok()?));
    let is_counted = question.months.iter().enumerate().all(|(n, m)| counted_start(n) == Some(m.start()));
    let full_end = match (is_counted, is_last, month) {
        (true, true, _) => counted_start(month + 1),
        (false, true, _) | (false, _, 0) => period.start().checked_add_months(Months::new(1)),
        _ => None,
    };
    full_end.map_or(n_days, |end| (end - period.start()).num_days())
}

/// The dates of the calendars that schedules name, each with a number from 1 for the set of those that hold it.
struct Holidays(BTreeMap<NaiveDate, u64>);

impl Holidays {
    fn of(schedules: &[&Schedule], calendars: &Calendars) -> Self {
        let names: BTreeSet<&String> = schedules.iter().flat_map(|schedule| &schedule.holidays).collect();
        let mut by_date: BTreeMap<NaiveDate, BTreeSet<&String>> = BTreeMap::new();
        for name in names {
            for date in calendars.get(name).into_iter().flatten() {
                by_date.entry(*date).or_default().insert(name);
            }
        }
        let mut number_of: BTreeMap<BTreeSet<&String>, u64> = BTreeMap::new();
        let mut number = |names| {
            let next = number_of.len() as u64 + 1;
            *number_of.entry(names).or_insert(next)
        };
        Self(by_date.into_iter().map(|(date, names)| (date, number(names))).collect())
    }

    /// Which calendars hold the date, and which the day before it: 0 for none.
    fn near(&self, date: NaiveDate) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let of = |date: Option<NaiveDate>| date.and_then(|date| self.0.get(&date)).copied().unwrap_or(0);
        of(Some(date)) | (of(date.pred_opt()) << 32)
    }
}

/// A number for each weekday, Monday first: equal where every schedule has the same hours on both in every season.
fn weekday_classes(schedules: &[&Schedule]) -> [u8; 7] {
    let mut classes = [0; 7];
    for schedule in schedules {
        let of_schedule = schedule.weekday_classes();
        let before = classes;
        for weekday in 1..7 {
            let same = |other: &usize| before[*other] == before[weekday] && of_schedule[*other] == of_schedule[weekday];
            let first = (0..weekday).find(same).unwrap_or(weekday);
            classes[weekday] = u8::try_from(first).expect("a week has seven days");
        }
    }
    classes
}
