//! When the periods of a schedule are, in words.
//!
//! The words are made from the compiled schedule, not from its rules: they say which hours a period has in the end, after
//! the rules above it took theirs.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, NaiveDate};

use super::{cut, list, short_list};
use crate::tariff::schedule::{HOLIDAY, MINUTES_OF_DAY, Pattern, Schedule};

/// Windows of one day, minutes `[start, end)`; an end beyond midnight lies in the next day.
type Windows = Vec<(u16, u16)>;

const WHOLE_DAY: (u16, u16) = (0, MINUTES_OF_DAY);
const WEEKDAYS: u8 = 0b001_1111;
const WEEKEND: u8 = 0b110_0000;
const WEEK: u8 = 0b111_1111;
const HOLIDAYS: u8 = 1 << HOLIDAY;

/// Longest words of one period, characters: a schedule of thousands of windows is not read by people.
const MAX_TEXT: usize = 2_000;

/// When each period of a schedule is: `weekdays 10:00-14:00 and 18:00-22:00, June to September`. The last one is no period:
/// the hours that no rule covers.
pub(super) fn when(schedule: &Schedule) -> Vec<String> {
    let mut spans: BTreeMap<u16, Vec<NaiveDate>> = BTreeMap::new();
    for date in days_of_year() {
        spans.entry(schedule.span(date)).or_default().push(date);
    }
    let mut periods: Vec<Vec<(String, Vec<NaiveDate>)>> = vec![Vec::new(); schedule.periods.len() + 1];
    for (span, dates) in spans {
        for (period, week) in weeks(schedule, span) {
            let groups = &mut periods[period];
            let words = week.words();
            match groups.iter_mut().find(|(known, _)| *known == words) {
                Some((_, known)) => known.extend(&dates),
                None => groups.push((words, dates.clone())),
            }
        }
    }
    let lasting = periods.into_iter().map(clauses_of_year);
    lasting.enumerate().map(|(period, words)| with_instants(schedule, period, words)).collect()
}

/// The words of a period with the instants that rules of it name: `2026-07-15T18:00Z to 2026-07-15T19:00Z`, `the events
/// of list peaks`.
fn with_instants(schedule: &Schedule, period: usize, words: String) -> String {
    let (lists, stretches, has_more) = schedule.instants_of(period);
    if stretches.is_empty() && lists.is_empty() {
        return words;
    }
    let text = |seconds: i64| {
        let instant = DateTime::from_timestamp(seconds, 0);
        instant.map(|instant| instant.format("%Y-%m-%dT%H:%MZ").to_string()).unwrap_or_default()
    };
    let written = stretches.iter().map(|stretch| format!("{} to {}", text(stretch.start), text(stretch.end)));
    let of_lists = lists.iter().map(|list| format!("the events of list {list}"));
    let named: Vec<String> = of_lists.chain(written).collect();
    let mut instants = short_list(named.into_iter());
    if has_more {
        instants.push_str(", at the hours and on the days that its rule names");
    }
    if words == "never" { instants } else { format!("{words}; {instants}") }
}

/// Weeks with the dates on which they hold, in the order of the year.
fn clauses_of_year(mut groups: Vec<(String, Vec<NaiveDate>)>) -> String {
    for (_, days) in &mut groups {
        days.sort_unstable();
    }
    groups.sort_by(|(_, a), (_, b)| a.cmp(b));
    let mut text = String::new();
    for (week, days) in &groups {
        let clause = match (week.as_str(), dates(days)) {
            (week, None) => week.to_owned(),
            ("always", Some(dates)) => dates,
            (week, Some(dates)) => format!("{week}, {dates}"),
        };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&clause);
        if text.len() > MAX_TEXT {
            break;
        }
    }
    if text.is_empty() { "never".to_owned() } else { cut(text, MAX_TEXT) }
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

/// The windows of a period in a week.
#[derive(Debug, Clone)]
struct Week {
    days: Vec<Windows>,
    /// Where a holiday is a day of its own.
    holiday: Option<Windows>,
}

impl Week {
    fn words(&self) -> String {
        let plain = clauses(&self.days, self.holiday.as_ref());
        let joined = clauses(&over_midnight(&self.days), self.holiday.as_ref());
        if joined.len() < plain.len() { joined } else { plain }
    }
}

/// The week of each period that has hours on the dates of a span.
fn weeks(schedule: &Schedule, span: u16) -> BTreeMap<usize, Week> {
    let has_holidays = !schedule.holidays.is_empty() && schedule.holiday_type() == HOLIDAY;
    let empty = Week { days: vec![Windows::new(); 7], holiday: has_holidays.then(Windows::new) };
    let mut weeks: BTreeMap<usize, Week> = BTreeMap::new();
    for weekday in 0..7 {
        for (period, window) in windows(schedule, schedule.day(span, weekday, (weekday + 6) % 7)) {
            weeks.entry(period).or_insert_with(|| empty.clone()).days[weekday].push(window);
        }
    }
    if has_holidays {
        for (period, window) in windows(schedule, schedule.day(span, HOLIDAY, HOLIDAY)) {
            weeks.entry(period).or_insert_with(|| empty.clone()).holiday.get_or_insert_default().push(window);
        }
    }
    weeks
}

/// The windows of a day with their periods, and what lies between them with the number after the last period.
fn windows(schedule: &Schedule, pattern: &Pattern) -> Vec<(usize, (u16, u16))> {
    let mut windows = Vec::with_capacity(pattern.len());
    let mut covered = 0;
    for stretch in pattern {
        if covered < stretch.start {
            windows.push((schedule.periods.len(), (covered, stretch.start)));
        }
        windows.push((usize::from(stretch.period), (stretch.start, stretch.end)));
        covered = stretch.end;
    }
    if covered < MINUTES_OF_DAY {
        windows.push((schedule.periods.len(), (covered, MINUTES_OF_DAY)));
    }
    windows
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
