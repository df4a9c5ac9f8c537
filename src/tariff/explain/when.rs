//! When the periods of a schedule are, in words.
//!
//! The words are made from the compiled schedule, not from its rules: they say which hours a period has in the end, after
//! the rules above it took theirs.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, NaiveDate};

use super::list;
use crate::tariff::schedule::{DayType, HOLIDAY, MINUTES_OF_DAY, Pattern, Schedule};

/// Windows of one day, minutes `[start, end)`; an end beyond midnight lies in the next day.
type Windows = Vec<(u16, u16)>;

const WHOLE_DAY: (u16, u16) = (0, MINUTES_OF_DAY);
const WEEKDAYS: u8 = 0b001_1111;
const WEEKEND: u8 = 0b110_0000;
const WEEK: u8 = 0b111_1111;
const HOLIDAYS: u8 = 1 << HOLIDAY;

/// When a period is: `weekdays 10:00-14:00 and 18:00-22:00, June to September`.
pub(super) fn when(schedule: &Schedule, period: usize) -> String {
    let mut groups: Vec<(String, Vec<NaiveDate>)> = Vec::new();
    let mut weeks: BTreeMap<u16, String> = BTreeMap::new();
    for date in days_of_year() {
        let span = schedule.span(date);
        let week = weeks.entry(span).or_insert_with(|| week(schedule, span, period));
        match groups.iter_mut().find(|(known, _)| known == week) {
            Some((_, dates)) => dates.push(date),
            None => groups.push((week.clone(), vec![date])),
        }
    }
    groups.retain(|(week, _)| !week.is_empty());
    let clauses = groups.iter().map(|(week, days)| match (week.as_str(), dates(days)) {
        (week, None) => week.to_owned(),
        ("always", Some(dates)) => dates,
        (week, Some(dates)) => format!("{week}, {dates}"),
    });
    let clauses: Vec<String> = clauses.collect();
    if clauses.is_empty() { "never".to_owned() } else { clauses.join("; ") }
}

/// Which dates of a year: `June to September`, `15 June to 15 September`; `None` for all of them.
///
/// * `days`: of [`days_of_year`], in order.
pub(super) fn dates(days: &[NaiveDate]) -> Option<String> {
    let mut ranges: Vec<(NaiveDate, NaiveDate)> = Vec::new();
    for day in days {
        match ranges.last_mut() {
            Some((_, last)) if last.succ_opt() == Some(*day) => *last = *day,
            _ => ranges.push((*day, *day)),
        }
    }
    let (new_year, year_end) = (day(1, 1), day(12, 31));
    if ranges == [(new_year, year_end)] {
        return None;
    }
    if ranges.len() > 1 && ranges[0].0 == new_year && ranges.last().is_some_and(|(_, last)| *last == year_end) {
        let (start, _) = ranges.pop().expect("there is more than one");
        let (_, end) = ranges.remove(0);
        ranges.push((start, end));
    }
    Some(list(ranges.into_iter().map(|(first, last)| range(first, last))))
}

/// The days of a leap year.
pub(super) fn days_of_year() -> impl Iterator<Item = NaiveDate> {
    day(1, 1).iter_days().take(366)
}

fn day(month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, month, day).expect("a date of the calendar")
}

fn range(first: NaiveDate, last: NaiveDate) -> String {
    let begins_month = first.day() == 1;
    let ends_month = last.checked_add_days(Days::new(1)).is_some_and(|next| next.day() == 1);
    if begins_month && ends_month {
        if first.month() == last.month() && first <= last {
            return first.format("%B").to_string();
        }
        return format!("{} to {}", first.format("%B"), last.format("%B"));
    }
    if first == last {
        return first.format("%-d %B").to_string();
    }
    format!("{} to {}", first.format("%-d %B"), last.format("%-d %B"))
}

/// When a period is within a week of a span; empty when it is not.
fn week(schedule: &Schedule, span: u16, period: usize) -> String {
    let windows = |today: DayType, yesterday: DayType| windows_of(schedule.day(span, today, yesterday), period);
    let days: Vec<Windows> = (0..7).map(|weekday| windows(weekday, (weekday + 6) % 7)).collect();
    let has_holidays = !schedule.holidays.is_empty() && schedule.holiday_type() == HOLIDAY;
    let holiday = if has_holidays { Some(windows(HOLIDAY, HOLIDAY)) } else { None };
    let plain = clauses(&days, holiday.as_ref());
    let joined = clauses(&over_midnight(&days), holiday.as_ref());
    if joined.len() < plain.len() { joined } else { plain }
}

fn windows_of(pattern: &Pattern, period: usize) -> Windows {
    pattern.iter().filter(|stretch| usize::from(stretch.period) == period).map(|s| (s.start, s.end)).collect()
}

/// The same week with windows that touch at midnight told as one, on the day on which it begins.
fn over_midnight(days: &[Windows]) -> Vec<Windows> {
    let mut joined = days.to_vec();
    for today in 0..7 {
        let next = (today + 1) % 7;
        let ends = days[today].last().copied().filter(|window| window.1 == MINUTES_OF_DAY && *window != WHOLE_DAY);
        let begins = days[next].first().copied().filter(|window| window.0 == 0 && *window != WHOLE_DAY);
        if let (Some(evening), Some(morning)) = (ends, begins)
            && morning.1 <= evening.0
        {
            if let Some(window) = joined[today].iter_mut().find(|window| **window == evening) {
                window.1 = MINUTES_OF_DAY + morning.1;
            }
            joined[next].retain(|window| *window != morning);
        }
    }
    joined
}

/// Days with the same windows together.
fn clauses(days: &[Windows], holiday: Option<&Windows>) -> String {
    let mut groups: Vec<(u8, &Windows)> = Vec::new();
    let holiday = holiday.map(|windows| (HOLIDAY, windows));
    for (day, windows) in days.iter().enumerate().chain(holiday).filter(|(_, windows)| !windows.is_empty()) {
        match groups.iter_mut().find(|(_, known)| *known == windows) {
            Some((mask, _)) => *mask |= 1 << day,
            None => groups.push((1 << day, windows)),
        }
    }
    let all = if holiday.is_some() { WEEK | HOLIDAYS } else { WEEK };
    let clauses = groups.into_iter().map(|(mask, windows)| {
        let is_whole = windows.as_slice() == [WHOLE_DAY];
        match (mask == all, is_whole) {
            (true, true) => "always".to_owned(),
            (true, false) => format!("every day {}", hours(windows)),
            (false, true) => format!("{} all day", day_names(mask, all)),
            (false, false) => format!("{} {}", day_names(mask, all), hours(windows)),
        }
    });
    clauses.collect::<Vec<_>>().join(", plus ")
}

fn hours(windows: &Windows) -> String {
    let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    let end = |minute: u16| clock(if minute > MINUTES_OF_DAY { minute - MINUTES_OF_DAY } else { minute });
    list(windows.iter().map(|window| format!("{}-{}", clock(window.0), end(window.1))))
}

/// `weekdays`, `weekends and holidays`, `Mondays to Thursdays and Saturdays`.
fn day_names(mask: u8, all: u8) -> String {
    const NAMES: [&str; 7] = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"];
    if mask & WEEK == WEEK {
        return if all & HOLIDAYS != 0 { "every day but holidays" } else { "every day" }.to_owned();
    }
    let mut names = Vec::new();
    let mut rest = mask & WEEK;
    for (set, name) in [(WEEKDAYS, "weekdays"), (WEEKEND, "weekends")] {
        if rest & set == set {
            names.push(name.to_owned());
            rest &= !set;
        }
    }
    let mut day = 0;
    while day < 7 {
        let n_days = (day..7).take_while(|other| rest & (1 << other) != 0).count();
        match n_days {
            0 => day += 1,
            1 | 2 => names.extend((day..day + n_days).map(|other| NAMES[other].to_owned())),
            _ => names.push(format!("{} to {}", NAMES[day], NAMES[day + n_days - 1])),
        }
        day += n_days;
    }
    if mask & HOLIDAYS != 0 {
        names.push("holidays".to_owned());
    }
    list(names)
}
