//! Schedules of a document.

use super::super::conventions::{ConventionOverrides, WrappingWindow};
use super::super::schedule::{ALL_DAYS, ALL_MONTHS, HOLIDAY, MINUTES_OF_DAY, Rule, Schedule};
use super::walk::{Node, check_name};
use super::words::{DAY_SETS, DAY_TYPES};
use super::{Reader, month_day};

/// Most rules of one document.
pub(super) const MAX_RULES: usize = 10_000;
/// Most calendars of one schedule.
pub(super) const MAX_CALENDARS: usize = 16;

impl<'a> Reader<'a> {
    /// Reads `schedules`: an object of named lists of rules.
    pub(super) fn read_schedules(&mut self, node: &Node<'a>, conventions: &ConventionOverrides) {
        let mut n_rules = 0;
        for (name, node) in node.entries(&mut self.faults) {
            check_name(name, &node.pointer, &mut self.faults);
            if let Some(schedule) = self.schedule(name, &node, conventions, &mut n_rules) {
                self.schedule_names.insert(name.to_owned(), self.schedules.len());
                self.schedules.push(schedule);
            }
        }
        if n_rules > MAX_RULES {
            let message = format!("a plan has at most {MAX_RULES} rules, this one has {n_rules}");
            self.faults.add("too_many", &node.pointer, message);
        }
    }

    fn schedule(
        &mut self,
        name: &str,
        node: &Node<'a>,
        conventions: &ConventionOverrides,
        n_rules: &mut usize,
    ) -> Option<Schedule> {
        let mut object = node.object(&mut self.faults)?;
        let holidays = object.take("holidays").map(|n| self.calendars(&n)).unwrap_or_default();
        let counts_as = object.take("holidays_count_as").and_then(|n| n.word(&DAY_TYPES, &mut self.faults));
        let wrapping: Option<WrappingWindow> = object.take("wrapping_window").and_then(|n| n.choice(&mut self.faults));
        let items = object.want("periods", &mut self.faults).map(|n| n.items(&mut self.faults)).unwrap_or_default();
        object.finish("a schedule", &mut self.faults);
        *n_rules += items.len();
        if items.is_empty() || *n_rules > MAX_RULES {
            if items.is_empty() {
                self.faults.add("missing_field", &format!("{}/periods", node.pointer), "a schedule needs a rule");
            }
            return None;
        }
        let mut periods: Vec<String> = Vec::new();
        let mut rules = Vec::with_capacity(items.len());
        for item in &items {
            if let Some(rule) = self.rule(item, !holidays.is_empty(), &mut periods) {
                rules.push(rule);
            }
        }
        // Override, then the schedule's own, then the document's.
        let own_day = wrapping.or(conventions.wrapping_window) == Some(WrappingWindow::OwnDay);
        Some(Schedule::compile(name.to_owned(), periods, &rules, (holidays, counts_as), own_day))
    }

    /// Names of calendars.
    fn calendars(&mut self, node: &Node<'a>) -> Vec<String> {
        let items = node.items(&mut self.faults);
        if items.len() > MAX_CALENDARS {
            self.faults.add("too_many", &node.pointer, format!("a schedule names at most {MAX_CALENDARS} calendars"));
        }
        items.iter().filter_map(|n| n.name(&mut self.faults)).map(str::to_owned).collect()
    }

    fn rule(&mut self, node: &Node<'a>, has_holidays: bool, periods: &mut Vec<String>) -> Option<Rule> {
        let mut object = node.object(&mut self.faults)?;
        let name = object.want("period", &mut self.faults).and_then(|n| n.name(&mut self.faults));
        let months = object.take("months").map_or(ALL_MONTHS, |n| self.months(&n));
        let season = object.take("season").and_then(|n| self.season(&n));
        let days = object.take("days").map_or(ALL_DAYS, |n| self.days(&n, has_holidays));
        let hours = object.take("hours").map(|n| self.hours(&n)).unwrap_or_default();
        let during = object.take("during").map(|n| self.during(&n));
        object.finish("a rule", &mut self.faults);
        let name = name?;
        let period = periods.iter().position(|known| known == name).unwrap_or_else(|| {
            periods.push(name.to_owned());
            periods.len() - 1
        });
        Some(Rule { period, months, season, days, hours, during })
    }

    pub(super) fn month_numbers(&mut self, node: &Node<'a>) -> Vec<u32> {
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one month, 1 to 12");
        }
        items.iter().filter_map(|n| n.integer(1..=12, &mut self.faults)).collect()
    }

    fn months(&mut self, node: &Node<'a>) -> u16 {
        self.month_numbers(node).into_iter().fold(0, |mask, month| mask | 1 << (month - 1))
    }

    fn season(&mut self, node: &Node<'a>) -> Option<((u32, u32), (u32, u32))> {
        let text = node.text(&mut self.faults)?;
        let season = text.split_once('/').and_then(|(start, end)| month_day(start).zip(month_day(end)));
        match season {
            Some((start, end)) if start != end => Some((start, end)),
            _ => {
                let message =
                    format!("{text:?} is no season; write 06-15/09-16: its first day and the day after its last");
                self.faults.add("bad_date", &node.pointer, message);
                None
            }
        }
    }

    fn days(&mut self, node: &Node<'a>, has_holidays: bool) -> u8 {
        if node.json.as_str().is_some() {
            return node.word(&DAY_SETS, &mut self.faults).unwrap_or(ALL_DAYS);
        }
        let mut mask = 0;
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one day");
        }
        for item in items {
            let Some(day) = item.word(&DAY_TYPES, &mut self.faults) else { continue };
            if day == HOLIDAY && !has_holidays {
                let message = "a holiday is a date of a calendar: name one in \"holidays\" of this schedule";
                self.faults.add("unknown_name", &item.pointer, message);
            }
            mask |= 1 << day;
        }
        mask
    }

    fn hours(&mut self, node: &Node<'a>) -> Vec<(u16, u16)> {
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one window, such as 22:30-06:30");
        }
        let mut windows = Vec::with_capacity(items.len());
        for item in items {
            let Some(text) = item.text(&mut self.faults) else { continue };
            let window = text.split_once('-').and_then(|(start, end)| minute(start).zip(minute(end)));
            match window {
                Some((start, end)) if start != end && start < MINUTES_OF_DAY => {
                    windows.push((start, if end == 0 { MINUTES_OF_DAY } else { end }));
                }
                _ => {
                    let message = format!("{text:?} is no window; write 22:30-06:30, from 00:00 to 24:00");
                    self.faults.add("bad_window", &item.pointer, message);
                }
            }
        }
        windows
    }
}

/// `HH:MM` as minutes, `24:00` included.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |t: &str| t.len() == 2 && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= MINUTES_OF_DAY).then_some(minute)
}
