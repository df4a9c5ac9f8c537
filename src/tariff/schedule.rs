//! Schedules: rules that cut time into named periods, compiled to runs of minutes for each kind of day.

mod during;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{Datelike, NaiveDate};

use self::during::During;
pub(crate) use self::during::Within;
use crate::words::Instants;

/// Minutes of a day on a clock without changes.
pub(crate) const MINUTES_OF_DAY: u16 = 1440;

/// Days of a leap year: one row for each month-day.
const N_MONTH_DAYS: usize = 366;

/// Time cut into named periods.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) name: String,
    /// Names, in the order in which the rules bring them up.
    pub(crate) periods: Vec<String>,
    /// Calendars whose dates are holidays.
    pub(crate) holidays: Vec<String>,
    /// What a holiday is priced as.
    holiday_type: DayType,
    /// Whether no rule speaks of days or hours: the periods are seasons.
    pub(crate) is_seasonal: bool,
    /// Index into `spans` by month-day.
    span_of_month_day: Vec<u16>,
    spans: Vec<Span>,
    /// Of the rules that speak of no instants.
    patterns: Vec<Pattern>,
    /// Days on which other rules hold by month and season than on the day before.
    changes: MonthDays,
    /// A number for each weekday, Monday first: equal where the hours are the same on both in every span.
    weekday_classes: [u8; 7],
    /// Minutes, midnight left out, at which some pattern changes or ends, in order.
    edges: Vec<u16>,
    /// The rules, where one of them holds within instants only.
    during: Option<During>,
}

/// A set of days of the year, leap years and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MonthDays([u64; 6]);

impl MonthDays {
    /// Bit of the 1st of March of a year that is no leap year: the day before it is another one.
    const MARCH_AFTER_28: usize = N_MONTH_DAYS;

    fn bit(date: NaiveDate) -> usize {
        let index = month_day_index(date);
        if index == 60 && !date.leap_year() { Self::MARCH_AFTER_28 } else { index }
    }

    /// The days of a year that are among them.
    pub(crate) fn in_year(self, year: i32) -> impl Iterator<Item = NaiveDate> {
        let bits = self.0.into_iter().zip(0u32..).flat_map(|(word, n)| bits_of(word).map(move |bit| 64 * n + bit));
        bits.filter_map(move |bit| {
            // Its number is that of a leap year, in which the days from March on are one later.
            let mut days = [bit + 1, bit, 60].into_iter().filter_map(|ordinal| NaiveDate::from_yo_opt(year, ordinal));
            days.find(|date| u32::try_from(Self::bit(*date)) == Ok(bit))
        })
    }

    /// Puts in those of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }
}

/// The bits of a word that are set, the lowest first.
fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

/// A date as schedules look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Day {
    pub(crate) date: NaiveDate,
    /// Monday 0.
    pub(crate) weekday: u8,
    /// Of the year, as schedules count its days.
    row: u16,
}

impl Day {
    /// * `weekday`: that of the date, Monday 0.
    pub(crate) fn new(date: NaiveDate, weekday: usize) -> Self {
        let small = |number: usize| u16::try_from(number).expect("a year has 366 days");
        Self { date, weekday: small(weekday).to_le_bytes()[0], row: small(month_day_index(date)) }
    }
}

/// Dates on which the same rules hold by month and season.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// For each period, whether it can occur.
    occurs: Vec<bool>,
    /// Index into the patterns by the type of the day and of the day before.
    pattern: [[u32; N_DAY_TYPES]; N_DAY_TYPES],
}

/// What a day is to a rule: a weekday from Monday, 0, to Sunday, 6, or a holiday.
pub(crate) type DayType = usize;

/// A date of a calendar, and no weekday.
pub(super) const HOLIDAY: DayType = 7;
/// Seven weekdays and the holiday.
const N_DAY_TYPES: usize = 8;

/// Dates by the name of their calendar.
pub(crate) type Calendars = BTreeMap<String, BTreeSet<NaiveDate>>;

/// Instants by the name of their event list.
pub(crate) type EventLists = BTreeMap<String, Instants>;

/// A day as stretches of minutes `[start, end)`, each with its period; in order, without overlap, what no rule
/// covers left out.
pub(crate) type Pattern = Vec<Stretch>;

/// Part of a day in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stretch {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) period: u16,
}

/// One rule as written: the first that applies holds.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) period: usize,
    /// Bit n: month n + 1.
    pub(super) months: u16,
    /// Month and day of the first day and of the day after the last; may wrap the year.
    pub(super) season: Option<((u32, u32), (u32, u32))>,
    /// Bit n: day type n.
    pub(super) days: u8,
    /// Minutes `[start, end)`; an end not after the start wraps midnight. Empty: the whole day.
    pub(super) hours: Vec<(u16, u16)>,
    /// Instants outside of which it does not hold.
    pub(super) during: Option<Within>,
}

/// Every month.
pub(super) const ALL_MONTHS: u16 = 0x0fff;
/// Every day.
pub(super) const ALL_DAYS: u8 = 0xff;
/// Every day that is no holiday.
const ALL_WEEKDAYS: u8 = 0x7f;

impl Rule {
    fn holds_on(&self, month: u32, day: u32) -> bool {
        let in_season = self.season.is_none_or(|(start, end)| {
            let date = (month, day);
            if start < end { start <= date && date < end } else { start <= date || date < end }
        });
        self.months & (1 << (month - 1)) != 0 && in_season
    }

    fn is_whole_day(&self, has_holidays: bool) -> bool {
        let all = if has_holidays { ALL_DAYS } else { ALL_WEEKDAYS };
        self.hours.is_empty() && self.days & all == all && self.during.is_none()
    }
}

impl Schedule {
    /// Compiles rules.
    ///
    /// * `holidays`: names of calendars, and the weekday as which their dates count, if they count as one.
    /// * `own_day`: after midnight a wrapping window has the day type of its own date, not of the day it began on.
    pub(super) fn compile(
        name: String,
        periods: Vec<String>,
        rules: &[Rule],
        (holidays, counts_as): (Vec<String>, Option<DayType>),
        own_day: bool,
    ) -> Self {
        let has_holidays = !holidays.is_empty();
        let mut schedule = Self {
            name,
            is_seasonal: rules.iter().all(|rule| rule.is_whole_day(has_holidays)),
            holiday_type: counts_as.unwrap_or(HOLIDAY),
            holidays,
            span_of_month_day: Vec::with_capacity(N_MONTH_DAYS),
            spans: Vec::new(),
            patterns: Vec::new(),
            changes: MonthDays::default(),
            weekday_classes: [0; 7],
            edges: Vec::new(),
            during: During::of(rules, own_day),
            periods,
        };
        let mut span_of_rules: HashMap<Vec<u32>, u16> = HashMap::new();
        let mut pattern_of: HashMap<Pattern, u32> = HashMap::new();
        for date in days_of_a_leap_year() {
            let active: Vec<u32> = (0u32..)
                .zip(rules)
                .filter(|(_, rule)| rule.holds_on(date.month(), date.day()))
                .map(|(i, _)| i)
                .collect();
            if let Some(span) = span_of_rules.get(&active) {
                schedule.span_of_month_day.push(*span);
                continue;
            }
            let active_rules: Vec<&Rule> = active.iter().map(|i| &rules[*i as usize]).collect();
            let mut occurs = vec![false; schedule.periods.len()];
            for rule in &active_rules {
                occurs[rule.period] = true;
                if rule.is_whole_day(has_holidays) {
                    break;
                }
            }
            let lasting: Vec<&Rule> = active_rules.into_iter().filter(|rule| rule.during.is_none()).collect();
            let mut pattern = [[0; N_DAY_TYPES]; N_DAY_TYPES];
            for (today, yesterday) in day_pairs(has_holidays) {
                let compiled = day_pattern(&lasting, today, if own_day { today } else { yesterday });
                pattern[today][yesterday] = *pattern_of.entry(compiled).or_insert_with_key(|compiled| {
                    schedule.patterns.push(compiled.clone());
                    u32::try_from(schedule.patterns.len() - 1).expect("a schedule has few patterns")
                });
            }
            let span = u16::try_from(schedule.spans.len()).expect("a year has 366 days");
            schedule.spans.push(Span { occurs, pattern });
            schedule.span_of_month_day.push(span);
            span_of_rules.insert(active, span);
        }
        schedule.summarise();
        schedule
    }

    /// Fills in what is asked of a schedule as a whole.
    fn summarise(&mut self) {
        let of = &self.span_of_month_day;
        let changes_after = |day: usize, before: usize| of[day] != of[before];
        for day in 0..N_MONTH_DAYS {
            if changes_after(day, (day + N_MONTH_DAYS - 1) % N_MONTH_DAYS) {
                self.changes.0[day / 64] |= 1 << (day % 64);
            }
        }
        if changes_after(60, 58) {
            self.changes.0[MonthDays::MARCH_AFTER_28 / 64] |= 1 << (MonthDays::MARCH_AFTER_28 % 64);
        }
        let pattern = |span: &Span, weekday: DayType| span.pattern[weekday][(weekday + 6) % 7];
        for weekday in 0..7 {
            let same = |other: &usize| self.spans.iter().all(|span| pattern(span, weekday) == pattern(span, *other));
            let first = (0..weekday).find(same).unwrap_or(weekday);
            self.weekday_classes[weekday] = u8::try_from(first).expect("a week has seven days");
        }
        let edges: BTreeSet<u16> = self.patterns.iter().flat_map(boundaries).chain(self.edges_during()).collect();
        self.edges = edges.into_iter().collect();
    }

    /// Which rules hold by month and season on a date: equal numbers, equal rules.
    pub(crate) fn span(&self, date: NaiveDate) -> u16 {
        self.span_of_month_day[month_day_index(date)]
    }

    /// The rules that hold on a day by month and season.
    fn span_of(&self, day: Day) -> &Span {
        &self.spans[usize::from(self.span_of_month_day[usize::from(day.row)])]
    }

    /// Days on which other rules hold by month and season than on the day before.
    pub(crate) fn changes(&self) -> &MonthDays {
        &self.changes
    }

    /// A number for each weekday, Monday first: equal where the hours are the same on both in every span.
    pub(crate) fn weekday_classes(&self) -> [u8; 7] {
        self.weekday_classes
    }

    /// Minutes, midnight left out, at which the period of some day changes or ends, in order.
    pub(crate) fn edges(&self) -> &[u16] {
        &self.edges
    }

    /// Index of the stretches of a day among [`Schedule::patterns`].
    pub(crate) fn pattern_index(&self, day: Day, calendars: &Calendars) -> usize {
        let span = self.span_of(day);
        let (today, yesterday) = if self.holidays.is_empty() {
            (usize::from(day.weekday), usize::from(day.weekday + 6) % 7)
        } else {
            let today = self.day_type(day.date, calendars);
            (today, day.date.pred_opt().map_or(today, |date| self.day_type(date, calendars)))
        };
        span.pattern[today][yesterday] as usize
    }

    /// The stretches of a day, on which no rule holds that speaks of instants.
    pub(crate) fn pattern(&self, day: Day, calendars: &Calendars) -> &Pattern {
        &self.patterns[self.pattern_index(day, calendars)]
    }

    /// The stretches of a day of one type after a day of another, on the dates of a span.
    pub(crate) fn day(&self, span: u16, today: DayType, yesterday: DayType) -> &Pattern {
        &self.patterns[self.spans[span as usize].pattern[today][yesterday] as usize]
    }

    /// What a holiday is priced as.
    pub(crate) fn holiday_type(&self) -> DayType {
        self.holiday_type
    }

    /// What a date is to the rules.
    fn day_type(&self, date: NaiveDate, calendars: &Calendars) -> DayType {
        let is_holiday =
            self.holidays.iter().any(|name| calendars.get(name).is_some_and(|dates| dates.contains(&date)));
        if is_holiday { self.holiday_type } else { date.weekday().num_days_from_monday() as usize }
    }

    /// All patterns there are.
    pub(crate) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether a period can occur on the dates of a span.
    pub(crate) fn occurs(&self, span: u16, period: usize) -> bool {
        self.spans[span as usize].occurs[period]
    }

    /// Whether a period can occur on a day by its months and season.
    pub(crate) fn occurs_on(&self, day: Day, period: usize) -> bool {
        self.span_of(day).occurs[period]
    }

    /// Index of a period.
    pub(crate) fn period_named(&self, name: &str) -> Option<usize> {
        self.periods.iter().position(|period| period == name)
    }
}

/// The period of a minute.
pub(crate) fn period_at(pattern: &Pattern, minute: u16) -> Option<u16> {
    pattern.iter().find(|stretch| stretch.start <= minute && minute < stretch.end).map(|stretch| stretch.period)
}

/// Minutes of a pattern, midnight left out, at which the period changes or ends.
pub(crate) fn boundaries(pattern: &Pattern) -> impl Iterator<Item = u16> {
    let minutes = pattern.iter().flat_map(|stretch| [stretch.start, stretch.end]);
    minutes.filter(|minute| *minute != 0 && *minute != MINUTES_OF_DAY)
}

fn days_of_a_leap_year() -> impl Iterator<Item = NaiveDate> {
    NaiveDate::from_ymd_opt(2024, 1, 1).expect("a date of the calendar").iter_days().take(N_MONTH_DAYS)
}

fn month_day_index(date: NaiveDate) -> usize {
    let is_leap = date.leap_year();
    let ordinal = date.ordinal0() as usize;
    if !is_leap && ordinal >= 59 { ordinal + 1 } else { ordinal }
}

/// The types that a day and the day before it can have: neighbouring weekdays, and with holidays any two.
fn day_pairs(has_holidays: bool) -> Vec<(DayType, DayType)> {
    if !has_holidays {
        return (0..7).map(|weekday| (weekday, (weekday + 6) % 7)).collect();
    }
    (0..N_DAY_TYPES).flat_map(|today| (0..N_DAY_TYPES).map(move |yesterday| (today, yesterday))).collect()
}

/// Lays the rules over the minutes of a day from the first to the last; a minute keeps the first it gets.
fn day_pattern(rules: &[&Rule], weekday: DayType, yesterday: DayType) -> Pattern {
    const FREE: u16 = u16::MAX;
    let mut painted = [FREE; MINUTES_OF_DAY as usize];
    // next[m]: no minute in [m, next[m]) is free; followed and shortened as minutes are taken.
    let mut next: Vec<u16> = (0..=MINUTES_OF_DAY).collect();
    let mut n_free = MINUTES_OF_DAY;
    let mut paint = |start: u16, end: u16, period: usize, n_free: &mut u16| {
        let mut minute = find_free(&mut next, start);
        while minute < end {
            painted[minute as usize] = u16::try_from(period).expect("a schedule has at most 10,000 rules");
            next[minute as usize] = minute + 1;
            *n_free -= 1;
            minute = find_free(&mut next, minute);
        }
    };
    for rule in rules {
        let applies = |day: usize| rule.days & (1 << day) != 0;
        if rule.hours.is_empty() {
            if applies(weekday) {
                paint(0, MINUTES_OF_DAY, rule.period, &mut n_free);
            }
        } else {
            for (start, end) in &rule.hours {
                if start < end {
                    if applies(weekday) {
                        paint(*start, *end, rule.period, &mut n_free);
                    }
                } else {
                    if applies(weekday) {
                        paint(*start, MINUTES_OF_DAY, rule.period, &mut n_free);
                    }
                    if applies(yesterday) {
                        paint(0, *end, rule.period, &mut n_free);
                    }
                }
            }
        }
        if n_free == 0 {
            break;
        }
    }
    let mut pattern: Pattern = Vec::new();
    for (minute, period) in (0u16..).zip(painted) {
        match pattern.last_mut() {
            Some(last) if last.end == minute && last.period == period => last.end = minute + 1,
            _ if period == FREE => {}
            _ => pattern.push(Stretch { start: minute, end: minute + 1, period }),
        }
    }
    pattern
}

fn find_free(next: &mut [u16], minute: u16) -> u16 {
    let mut root = minute;
    while next[root as usize] != root {
        root = next[root as usize];
    }
    let mut at = minute;
    while next[at as usize] != root {
        at = std::mem::replace(&mut next[at as usize], root);
    }
    root
}

#[cfg(test)]
mod tests;
