//! A look at a whole table before it is read: what its times and numbers are.

use std::collections::HashMap;

use itertools::Itertools as _;

use super::super::super::collect::Collector;
use super::super::super::detect::StampSide;
use super::super::super::number::NumberFormat;
use super::super::super::stamp::DateOrder;
use super::super::super::table::{Table, TableRow};
use super::super::super::{UsageCode, UsageError};
use super::super::columns::Role;
use super::layout::Layout;
use super::looks::{DateText, Look, look};
use super::numbers::{SignSniff, begins_like_number, is_blank, is_missing, may_have_sign, read_number};

/// Days whose highest number of an hour is remembered: a century.
const MAX_NUMBERED_DAYS: usize = 36_600;

/// What was seen in one column.
#[derive(Debug, Default)]
pub(super) struct ColumnSniff {
    pub(super) n_filled: u64,
    pub(super) times: TimeSniff,
    /// Rises and falls of the numbers, read with a decimal point and with a comma.
    pub(super) rises: [RiseSniff; 2],
}

/// What was seen of times.
#[derive(Debug, Default)]
pub(super) struct TimeSniff {
    pub(super) n_dates: u64,
    pub(super) n_clocks: u64,
    pub(super) n_instants: u64,
    pub(super) n_ranges: u64,
    pub(super) n_numbers: u64,
    pub(super) has_end_of_day: bool,
    pub(super) least_number: u32,
    pub(super) most_number: u32,
    first: Option<Look>,
    /// The first that is another time than the first.
    second: Option<Look>,
    last: Option<Look>,
}

/// What was seen of numbers that follow each other.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct RiseSniff {
    last: Option<i64>,
    n_up: u64,
    n_down: u64,
    least: Option<i64>,
    most_step: i64,
}

impl RiseSniff {
    fn add(&mut self, value: i64) {
        if let Some(last) = self.last {
            self.n_up += u64::from(value > last);
            self.n_down += u64::from(value < last);
            // A fall of a register is no step.
            self.most_step = self.most_step.max(value.saturating_sub(last));
        }
        self.last = Some(value);
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
    }

    /// Whether the numbers go one way but for a few.
    pub(super) fn is_monotone(&self) -> bool {
        let (most, few) = (self.n_up.max(self.n_down), self.n_up.min(self.n_down));
        most >= 3 && few * 10 <= most && self.least.is_some_and(|least| least >= 0)
    }

    /// Whether they look like standings where no heading says so: many, and all far above their steps.
    pub(super) fn looks_like_standings(&self) -> bool {
        let far = self.least.is_some_and(|least| least > self.most_step.saturating_mul(10));
        self.is_monotone() && self.n_up.max(self.n_down) >= 12 && self.most_step > 0 && far
    }
}

/// What was seen of the order of day and month.
#[derive(Debug, Default)]
struct OrderSniff {
    n_dates: u64,
    first_over_12: bool,
    second_over_12: bool,
    is_dotted: bool,
    last: Option<DateText>,
    /// Steps to another date.
    n_steps: u64,
    /// Those of one day, with the day first and with the month first.
    n_day_steps: [u64; 2],
}

impl OrderSniff {
    fn add(&mut self, date: DateText) {
        let DateText::Parts { first, second, is_dotted, .. } = date else { return };
        self.n_dates += 1;
        self.first_over_12 |= first > 12;
        self.second_over_12 |= second > 12;
        self.is_dotted |= is_dotted;
        if let Some(last) = self.last.filter(|last| *last != date) {
            self.n_steps += 1;
            let orders = [DateOrder::DayMonthYear, DateOrder::MonthDayYear];
            for (count, order) in self.n_day_steps.iter_mut().zip(orders) {
                let step = last.day(order).zip(date.day(order)).map(|(a, b)| (b - a).num_days().abs());
                *count += u64::from(step == Some(1));
            }
        }
        self.last = Some(date);
    }

    /// The order, and whether the steps alone told it.
    fn order(&self) -> Option<(DateOrder, bool)> {
        let [day_first, month_first] = self.n_day_steps;
        let all_steps = |count: u64| self.n_steps >= 2 && count == self.n_steps;
        if self.n_dates == 0 {
            Some((DateOrder::YearMonthDay, false))
        } else if self.first_over_12 || self.is_dotted && !self.second_over_12 {
            Some((DateOrder::DayMonthYear, false))
        } else if self.second_over_12 {
            Some((DateOrder::MonthDayYear, false))
        } else if all_steps(day_first) && month_first == 0 {
            Some((DateOrder::DayMonthYear, true))
        } else if all_steps(month_first) && day_first == 0 {
            Some((DateOrder::MonthDayYear, true))
        } else {
            None
        }
    }
}

/// What was seen in a table.
#[derive(Debug, Default)]
pub(super) struct Sniff {
    pub(super) columns: Vec<ColumnSniff>,
    pub(super) signs: SignSniff,
    order: OrderSniff,
    /// The highest number of an hour on each day.
    pub(super) most_number_of_day: HashMap<DateText, u32>,
}

impl Sniff {
    /// Looks at all rows below the headings.
    ///
    /// # Errors
    /// What cannot be read as a row.
    pub(super) fn of(table: &mut Table<'_>, layout: &Layout) -> Result<Self, UsageError> {
        let mut sniff = Self::default();
        sniff.columns.resize_with(layout.headings.len(), ColumnSniff::default);
        let mut owner = String::new();
        while let Some(row) = table.next_row()? {
            if row.line > layout.line && !is_total(row) {
                sniff.add(row, layout, &mut owner);
            }
        }
        Ok(sniff)
    }

    fn add(&mut self, row: TableRow<'_>, layout: &Layout, owner: &mut String) {
        let n = layout.headings.len().min(row.len());
        // Numbers of another meter or channel do not go on from those of the row before.
        let is_owner = |idx: &usize| matches!(layout.roles[*idx], Some(Role::Meter | Role::Channel));
        let mut owners = (0..n).filter(is_owner).filter_map(|idx| row.text(idx).ok()).peekable();
        if owners.peek().is_some() {
            let now = owners.join("\u{1f}");
            if now != *owner {
                *owner = now;
                for column in &mut self.columns {
                    column.rises.iter_mut().for_each(|rises| rises.last = None);
                }
            }
        }
        let (mut date, mut number) = (None, None);
        for idx in 0..n {
            let Ok(text) = row.text(idx) else { continue };
            let column = &mut self.columns[idx];
            column.n_filled += u64::from(!text.is_empty());
            match &layout.roles[idx] {
                Some(Role::Time(_)) => {
                    let Some(look) = look(text) else { continue };
                    column.times.add(look);
                    if let Some(found) = look.date {
                        self.order.add(found);
                        date = date.or(Some(found));
                    }
                    number = number.or(look.number);
                }
                Some(Role::Value(_)) if !is_blank(text) && !is_missing(text) => {
                    self.signs.add(text);
                    for (rises, decimal_sign) in column.rises.iter_mut().zip([b'.', b',']) {
                        let format = NumberFormat { decimal_sign, is_register: true, ..NumberFormat::KWH };
                        if may_have_sign(text, decimal_sign)
                            && let Ok(value) = read_number(text, format)
                        {
                            rises.add(value);
                        }
                    }
                }
                _ => {}
            }
        }
        for interval in &layout.intervals {
            if let Ok(text) = row.text(interval.column)
                && !is_blank(text)
                && !is_missing(text)
            {
                self.signs.add(text);
            }
        }
        if let (Some(date), Some(number)) = (date, number)
            && (self.most_number_of_day.len() < MAX_NUMBERED_DAYS || self.most_number_of_day.contains_key(&date))
        {
            let most = self.most_number_of_day.entry(date).or_default();
            *most = number.max(*most);
        }
    }

    /// The order of day and month that the caller said or the dates show, and whether their steps alone told it.
    ///
    /// # Errors
    /// [`UsageCode::DateOrderNeeded`].
    pub(super) fn date_order(&self, said: Option<DateOrder>) -> Result<(DateOrder, bool), UsageError> {
        match said.map(|order| (order, false)).or_else(|| self.order.order()) {
            Some(found) => Ok(found),
            None => {
                let example = match self.order.last {
                    Some(DateText::Parts { first, second, year, .. }) => format!("{first:02}/{second:02}/{year}"),
                    _ => "03/04/2026".to_owned(),
                };
                let message = format!(
                    "dates like {example} are right in two orders all through the file: say --date-order dmy, mdy or \
                     ymd (date_order in the API)"
                );
                Err(UsageError::new(UsageCode::DateOrderNeeded, message))
            }
        }
    }
}

impl TimeSniff {
    fn add(&mut self, look: Look) {
        self.n_dates += u64::from(look.date.is_some());
        self.n_clocks += u64::from(look.clock.is_some());
        self.n_instants += u64::from(look.epoch.is_some());
        self.n_ranges += u64::from(look.until.is_some());
        self.has_end_of_day |= look.clock == Some(24 * 60);
        if let Some(number) = look.number {
            self.least_number = if self.n_numbers == 0 { number } else { self.least_number.min(number) };
            self.most_number = self.most_number.max(number);
            self.n_numbers += 1;
        }
        match self.first {
            None => self.first = Some(look),
            Some(first) if self.second.is_none() && (first.date, first.clock) != (look.date, look.clock) => {
                self.second = Some(look);
            }
            Some(_) => {}
        }
        self.last = Some(look);
    }
}

/// The end of the interval that single times stamp, as the first and last of them show; `None`: they do not.
///
/// * `dates`, `clocks`: what was seen of dates and of times of day; one column may have both.
pub(super) fn stamp_side(dates: &TimeSniff, clocks: &TimeSniff, order: DateOrder) -> Option<StampSide> {
    if clocks.has_end_of_day {
        return Some(StampSide::End);
    }
    let day = |look: Option<Look>| look.and_then(|look| look.date).and_then(|date| date.day(order));
    let clock = |look: Option<Look>| look.and_then(|look| look.clock);
    let (first, second, last) = (clock(clocks.first)?, clock(clocks.second)?, clock(clocks.last)?);
    let is_newest_first = match day(dates.first).cmp(&day(dates.last)) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => first > last,
    };
    let (early, late) = if is_newest_first { (last, first) } else { (first, last) };
    let step = first.abs_diff(second);
    let step = step.min(24 * 60 - step);
    // Ends begin with the end of the first interval: none of them is the midnight before it.
    if early == 0 && late != 0 {
        Some(StampSide::Start)
    } else if early == step && late == 0 {
        Some(StampSide::End)
    } else {
        None
    }
}

/// Rows of totals: left out, and the first of them said.
#[derive(Debug, Default)]
pub(super) struct Totals {
    is_said: bool,
}

impl Totals {
    /// Whether a row is one.
    pub(super) fn skips(&mut self, row: TableRow<'_>, collector: &mut Collector) -> bool {
        let is_one = is_total(row);
        if is_one && !std::mem::replace(&mut self.is_said, true) {
            let detail = "a row of totals repeats the energy of others: not used";
            collector.warn("total_row_not_used", Some(row.line), detail);
        }
        is_one
    }
}

/// Whether a row is a sum of others: `Total`, `Summe`, `合計`.
pub(super) fn is_total(row: TableRow<'_>) -> bool {
    const WORDS: [&str; 12] = [
        "total",
        "totals",
        "sum",
        "summe",
        "gesamt",
        "totale",
        "totaal",
        "somme",
        "suma",
        "合計",
        "grand total",
        "抽出期間合計",
    ];
    let first = (0..row.len()).find_map(|idx| row.text(idx).ok().filter(|text| !text.is_empty()));
    first.is_some_and(|text| {
        if begins_like_number(text) {
            return false;
        }
        let lower = text.trim_end_matches(':').to_lowercase();
        WORDS.contains(&lower.as_str())
    })
}

/// Whether a row is the headings once more: files that were joined have them in the middle.
pub(super) fn repeats_headings(row: TableRow<'_>, headings: &[String]) -> bool {
    row.len() == headings.len() && headings.iter().enumerate().all(|(idx, heading)| row.text(idx) == Ok(heading))
}
