//! Windows of the week: days, first and last minute; and whether those of several rates tile it.

use serde_json::{Map, Value, json};

use super::super::foreign::Place;
use super::rate::Rate;
use super::season::{Season, kinds_of_days, shown};

/// Most windows of one stream of energy, and most parts of weeks over which they are laid to check them.
const MAX_WINDOWS: usize = 2_000;
const MAX_CELLS: usize = 100_000_000;

const MINUTES_OF_DAY: usize = 1440;
/// What a day can be; a holiday is no weekday.
const DAYS: [&str; 8] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun", "holiday"];
const HOLIDAY: usize = 7;
const ALL_DAYS: [bool; 8] = [true; 8];

/// Days and the minutes `[start, end)` that begin on them; an end not after the start is on the next day.
#[derive(Debug, Clone)]
pub(super) struct Window {
    days: [bool; 8],
    /// The plan names public holidays here, so that they are days of their own.
    pub(super) names_holidays: bool,
    start: usize,
    end: usize,
    pub(super) pointer: String,
}

impl Window {
    /// The whole week.
    pub(super) fn always(pointer: &str) -> Self {
        Self { days: ALL_DAYS, names_holidays: false, start: 0, end: MINUTES_OF_DAY, pointer: pointer.to_owned() }
    }

    /// Reads `days`, `startTime` and `endTime`, whose minute is still inside; `None` when it never opens.
    pub(super) fn read(place: &Place<'_>) -> Option<Self> {
        let members = place.members()?;
        let days = members.take("days");
        let start = members.take("startTime");
        let end = members.take("endTime");
        members.finish(&["additionalInfoUri"], &["additionalInfo"]);
        Self::of(days.as_ref(), start.as_ref(), end.as_ref(), &place.pointer)
    }

    /// The window of these members.
    pub(super) fn of(
        days: Option<&Place<'_>>,
        start: Option<&Place<'_>>,
        end: Option<&Place<'_>>,
        pointer: &str,
    ) -> Option<Self> {
        let (days, names_holidays) = days.map_or(Some((ALL_DAYS, false)), days_of)?;
        let (start, end) = match (start, end) {
            (None, None) => (0, MINUTES_OF_DAY),
            (Some(start), Some(end)) => {
                let (start, last) = (minute(start), minute(end));
                // 23:59, 24:00 and 00:00 are all midnight; any other end is the last minute inside.
                let last = last?;
                (start? % MINUTES_OF_DAY, if last % MINUTES_OF_DAY == 0 { MINUTES_OF_DAY } else { last + 1 })
            }
            (Some(one), None) | (None, Some(one)) => {
                one.fault("missing_field", "a window has a startTime and an endTime, or neither");
                return None;
            }
        };
        Some(Self { days, names_holidays, start, end, pointer: pointer.to_owned() })
    }

    fn wraps(&self) -> bool {
        self.end <= self.start
    }

    /// What it opens of days, as cells: each day cut at `cuts`. After midnight a wrapping window belongs to the day on
    /// which it began.
    ///
    /// * `days`: what the day before is and what the day itself is.
    fn cells(&self, cuts: &[usize], days: &[(usize, usize)]) -> impl Iterator<Item = usize> {
        let n_cells = cuts.len() - 1;
        let cell = |minute: usize| cuts.partition_point(|cut| *cut < minute);
        let (start, end) = (cell(self.start), cell(self.end));
        let (own, next) = if self.wraps() { (start..n_cells, 0..end) } else { (start..end, 0..0) };
        days.iter().enumerate().flat_map(move |(i, (yesterday, today))| {
            let own = if self.days[*today] { own.clone() } else { 0..0 };
            let next = if self.days[*yesterday] { next.clone() } else { 0..0 };
            own.chain(next).map(move |cell| i * n_cells + cell)
        })
    }

    /// As rules of one of our schedules.
    pub(super) fn rules(&self, period: &str, season: &Season) -> Vec<Value> {
        let mut rule = Map::new();
        rule.insert("period".to_owned(), period.into());
        if self.days != ALL_DAYS {
            let names: Vec<&str> =
                DAYS.iter().zip(self.days).filter(|(_, is_in)| *is_in).map(|(day, _)| *day).collect();
            rule.insert("days".to_owned(), json!(names));
        }
        let clock = |minute: usize| format!("{:02}:{:02}", minute / 60, minute % 60);
        let window = |start: usize, end: usize| format!("{}-{}", clock(start), clock(end));
        if self.start == self.end {
            // A whole day that begins inside one: cut, since a window cannot end where it starts.
            let middle = usize::midpoint(self.start, MINUTES_OF_DAY);
            rule.insert("hours".to_owned(), json!([window(self.start, middle), window(middle, self.end)]));
        } else if (self.start, self.end) != (0, MINUTES_OF_DAY) {
            rule.insert("hours".to_owned(), json!([window(self.start, self.end)]));
        }
        if season.is_whole_year() {
            return vec![rule.into()];
        }
        let with_season = |run: String| {
            let mut rule = rule.clone();
            rule.insert("season".to_owned(), run.into());
            rule.into()
        };
        season.runs().into_iter().map(with_season).collect()
    }
}

/// How windows cover the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiled {
    /// Some window names public holidays.
    pub(super) has_holidays: bool,
    /// What comes after midnight belongs to its own date.
    pub(super) own_day: bool,
    pub(super) is_gapless: bool,
}

/// Checks that the windows of `rates` cover each minute of the year once, or at one price.
///
/// What comes after midnight is taken to belong to the day on which a window began; where only the other reading,
/// each date for itself, covers the week exactly, that one holds. With `may_leave_gaps` uncovered minutes are no fault.
pub(super) fn tile(place: &Place<'_>, rates: &[Rate], may_leave_gaps: bool) -> Option<Tiled> {
    if rates.iter().map(|rate| rate.windows.len()).sum::<usize>() > MAX_WINDOWS {
        place.fault("too_many", format!("at most {MAX_WINDOWS} windows can be checked"));
        return None;
    }
    let has_holidays = rates.iter().flat_map(|rate| &rate.windows).any(|window| window.names_holidays);
    let faults = [false, true].map(|own_day| first_fault(rates, &neighbours(has_holidays, own_day)));
    if let Some(own_day) = faults.iter().position(Option::is_none) {
        return Some(Tiled { has_holidays, own_day: own_day == 1, is_gapless: true });
    }
    let is_gap = |fault: &Option<Fault>| matches!(fault, Some(Fault::Gap { .. }));
    if may_leave_gaps && let Some(own_day) = faults.iter().position(is_gap) {
        return Some(Tiled { has_holidays, own_day: own_day == 1, is_gapless: false });
    }
    let [fault, _] = faults;
    match fault? {
        Fault::TooMuch => place.fault("too_many", "there are more windows in more seasons than can be checked"),
        Fault::Overlap { first, second, day, minute } => {
            let message = format!(
                "on {day} at {minute} this window and the one at {} hold with different prices: only one may",
                rates[first.0].windows[first.1].pointer
            );
            place.fault_at(&rates[second.0].windows[second.1].pointer, "overlapping_windows", message);
        }
        Fault::Gap { day, minute } => {
            place.fault("uncovered_time", format!("on {day} at {minute} no rate holds, so that energy has no price"));
        }
    }
    None
}

enum Fault {
    /// Two windows, each by rate and number.
    Overlap {
        first: (usize, usize),
        second: (usize, usize),
        day: String,
        minute: String,
    },
    Gap {
        day: String,
        minute: String,
    },
    TooMuch,
}

/// What the day before and the day itself can be; with `own_day` what comes after midnight is its own date's.
fn neighbours(has_holidays: bool, own_day: bool) -> Vec<(usize, usize)> {
    let mut days: Vec<(usize, usize)> = (0..HOLIDAY).map(|today| ((today + 6) % 7, today)).collect();
    if has_holidays {
        days.extend((0..HOLIDAY).map(|today| (HOLIDAY, today)));
        days.extend((0..=HOLIDAY).map(|yesterday| (yesterday, HOLIDAY)));
    }
    if own_day {
        for (yesterday, today) in &mut days {
            *yesterday = *today;
        }
    }
    days
}

/// An overlap, else a gap.
fn first_fault(rates: &[Rate], days: &[(usize, usize)]) -> Option<Fault> {
    let windows = rates.iter().flat_map(|rate| &rate.windows);
    let mut cuts: Vec<usize> = windows.flat_map(|window| [window.start, window.end]).collect();
    cuts.extend([0, MINUTES_OF_DAY]);
    cuts.sort_unstable();
    cuts.dedup();
    let n_cells = cuts.len() - 1;
    let mut gap = None;
    let mut n_looked_at = 0;
    let seasons: Vec<&Season> = rates.iter().map(|rate| &rate.season).collect();
    for (month_day, hold) in kinds_of_days(&seasons) {
        let place = |cell: usize| {
            let minute = cuts[cell % n_cells];
            let day = format!("a {} from {}", DAYS[days[cell / n_cells].1], shown(month_day));
            (day, format!("{:02}:{:02}", minute / 60, minute % 60))
        };
        let mut laid: Vec<Option<(usize, usize)>> = vec![None; days.len() * n_cells];
        for (r, rate) in rates.iter().enumerate().filter(|(r, _)| hold[*r]) {
            for (w, window) in rate.windows.iter().enumerate() {
                n_looked_at += laid.len();
                if n_looked_at > MAX_CELLS {
                    return Some(Fault::TooMuch);
                }
                for cell in window.cells(&cuts, days) {
                    match laid[cell] {
                        Some(first) if first.0 != r && !rates[first.0].ladder.costs_the_same(&rate.ladder) => {
                            let (day, minute) = place(cell);
                            return Some(Fault::Overlap { first, second: (r, w), day, minute });
                        }
                        Some(_) => {}
                        None => laid[cell] = Some((r, w)),
                    }
                }
            }
        }
        if gap.is_none()
            && let Some(cell) = laid.iter().position(Option::is_none)
        {
            let (day, minute) = place(cell);
            gap = Some(Fault::Gap { day, minute });
        }
    }
    gap
}

/// `MON` … `SUN`, and whether public holidays are named, which want a calendar that the plan does not hold.
fn days_of(place: &Place<'_>) -> Option<([bool; 8], bool)> {
    let mut days = [false; 8];
    let mut is_good = true;
    for item in place.items() {
        match item.text() {
            Some("PUBLIC_HOLIDAYS") if item.holidays().is_some() => days[HOLIDAY] = true,
            Some("PUBLIC_HOLIDAYS") => item.unbilled(
                "which days are public holidays is not in the plan: name a calendar of them in holidays, or they are \
                 billed as the weekdays on which they fall",
            ),
            Some(text) => {
                let weekdays = &DAYS[..HOLIDAY];
                if let Some(day) = weekdays.iter().position(|day| day.eq_ignore_ascii_case(text)) {
                    days[day] = true;
                } else {
                    item.fault("unknown_day", format!("{text:?} is none of MON to SUN and PUBLIC_HOLIDAYS"));
                    is_good = false;
                }
            }
            None => is_good = false,
        }
    }
    let names_holidays = days[HOLIDAY];
    // All weekdays are all days: holidays are left out where others are named only.
    days[HOLIDAY] |= days[..HOLIDAY].iter().all(|day| *day);
    (is_good && days.contains(&true)).then_some((days, names_holidays))
}

/// `HH:MM` and `HH:MM:SS` of a clock, `24:00` included; a clock with an offset is refused.
fn minute(place: &Place<'_>) -> Option<usize> {
    let text = place.text()?;
    let digits = |part: &str| (part.len() == 2).then(|| part.parse::<usize>().ok()).flatten();
    let parts: Option<Vec<usize>> = text.trim_start_matches('T').split(':').map(digits).collect();
    match parts.as_deref() {
        Some([hour, minute] | [hour, minute, 0 | 59]) if *minute < 60 && hour * 60 + minute <= MINUTES_OF_DAY => {
            Some(hour * 60 + minute)
        }
        _ => {
            place.fault("bad_time", format!("{text:?} is no local time of day to the minute; written is 20:59"));
            None
        }
    }
}
