//! Where the heading row of a table is, what stands between its cells, and what its columns hold.

use std::io::Cursor;

use super::super::super::table::Table;
use super::super::columns::{Role, TimePart, role_of};
use super::looks::look;

/// Signs that stand between cells.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Rows in which the headings are looked for: what comes before them is free text.
const MAX_PREAMBLE_ROWS: usize = 60;

/// More columns than any table of readings has: a day of minutes.
const MAX_COLUMNS: usize = 2_000;

/// Columns of intervals that make a table one of days.
const MIN_INTERVAL_COLUMNS: usize = 23;

/// The layout of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Layout {
    pub(in super::super) delimiter: u8,
    /// Line of the headings, from 1.
    pub(in super::super) line: u64,
    pub(in super::super) headings: Vec<String>,
    /// By column; `None`: not known, or an interval of the day in a table of days.
    pub(in super::super) roles: Vec<Option<Role>>,
    /// Columns of intervals of a day, in a table with a row a day.
    pub(in super::super) intervals: Vec<IntervalColumn>,
}

/// A column for one interval of every day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct IntervalColumn {
    pub(in super::super) column: usize,
    pub(in super::super) label: Label,
}

/// What the heading of an interval says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Label {
    /// `00:30`: minutes of the day.
    Clock(u32),
    /// `00:00-00:30`, `0-1時`: from, to.
    Range(u32, u32),
    /// `1`, `H1`.
    Number(u32),
}

impl Layout {
    /// Finds the headings in the beginning of a file.
    pub(in super::super) fn find(head: &[u8]) -> Option<Self> {
        let found = DELIMITERS.into_iter().filter_map(|delimiter| Self::find_with(head, delimiter));
        // Of two that could be, the one with more columns; of two with as many, the first.
        found.reduce(|best, other| if other.headings.len() > best.headings.len() { other } else { best })
    }

    fn find_with(head: &[u8], delimiter: u8) -> Option<Self> {
        let mut table = Table::new(Box::new(Cursor::new(head)), delimiter);
        for _ in 0..MAX_PREAMBLE_ROWS {
            let row = table.next_row().ok()??;
            if (2..=MAX_COLUMNS).contains(&row.len())
                && let Some(layout) = Self::of_headings(delimiter, row.line, row.texts())
            {
                return Some(layout);
            }
        }
        None
    }

    /// The layout, if these are headings.
    fn of_headings(delimiter: u8, line: u64, headings: Vec<String>) -> Option<Self> {
        let intervals = interval_columns(&headings);
        let mut roles: Vec<Option<Role>> = headings.iter().map(|heading| role_of(heading)).collect();
        for interval in &intervals {
            roles[interval.column] = None;
        }
        let n_time = roles.iter().filter(|role| matches!(role, Some(Role::Time(_)))).count();
        let has_date =
            roles.iter().flatten().any(|role| matches!(role, Role::Time(time) if time.part != TimePart::Clock));
        let n_values = roles.iter().filter(|role| matches!(role, Some(Role::Value(_)))).count();
        let n_known = roles.iter().flatten().count() + intervals.len();
        let n_unnamed = headings.iter().filter(|heading| heading.is_empty()).count();
        // A row of values has times and numbers where headings have words.
        let n_data = if intervals.is_empty() { headings.iter().filter(|text| is_data(text)).count() } else { 0 };
        let is_long = n_time > 0 && n_values > 0 && n_data == 0;
        let is_wide = !intervals.is_empty() && has_date;
        let is_table = (is_long || is_wide) && 2 * n_known + n_unnamed >= headings.len();
        is_table.then_some(Self { delimiter, line, headings, roles, intervals })
    }

    /// Whether rows of days are read.
    pub(super) fn is_wide(&self) -> bool {
        !self.intervals.is_empty()
    }
}

fn is_data(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && look(text).is_some()
}

/// Whether a beginning looks like rows of times and numbers without headings.
pub(super) fn is_bare_table(head: &[u8]) -> bool {
    DELIMITERS.into_iter().any(|delimiter| {
        let mut table = Table::new(Box::new(Cursor::new(head)), delimiter);
        (0..5).any(|_| {
            let Ok(Some(row)) = table.next_row() else { return false };
            let texts = row.texts();
            let has_date = texts.iter().any(|text| is_data(text) && look(text).is_some_and(|look| look.date.is_some()));
            let is_number = |text: &String| text.parse::<rust_decimal::Decimal>().is_ok();
            (2..=MAX_COLUMNS).contains(&texts.len()) && has_date && texts.iter().any(is_number)
        })
    })
}

/// The columns whose headings are the intervals of a day, if there are enough of them.
pub(in super::super) fn interval_columns(headings: &[String]) -> Vec<IntervalColumn> {
    let labels: Vec<(usize, Label)> =
        headings.iter().enumerate().filter_map(|(column, heading)| Some((column, label_of(heading)?))).collect();
    // Numbers and clocks do not stand side by side.
    let kind = |label: &Label| std::mem::discriminant(label);
    let Some((_, first)) = labels.get(labels.len() / 2) else { return Vec::new() };
    let columns: Vec<IntervalColumn> = labels
        .iter()
        .filter(|(_, label)| kind(label) == kind(first))
        .map(|(column, label)| IntervalColumn { column: *column, label: *label })
        .collect();
    if columns.len() < MIN_INTERVAL_COLUMNS { Vec::new() } else { columns }
}

/// The interval that a heading names.
pub(super) fn label_of(heading: &str) -> Option<Label> {
    let text = heading.trim().trim_end_matches('*').trim_end();
    if text.len() > 40 || !text.chars().any(|c| c.is_ascii_digit() || ('０'..='９').contains(&c)) {
        return None;
    }
    let range = text.split_once(['-', '–', '~', '〜', '～', '－']).or_else(|| text.split_once(" to "));
    if let Some((from, to)) = range.and_then(|(from, to)| Some((clock_of(from)?, clock_of(to)?))) {
        return Some(Label::Range(from, if to == 0 { 24 * 60 } else { to }));
    }
    let lower = text.to_ascii_lowercase();
    let stripped = ["hour", "hr", "he", "h", "stunde", "hora", "ora", "value", "v", "p", "q"]
        .into_iter()
        .find_map(|prefix| lower.strip_prefix(prefix))
        .map(|rest| rest.trim_start_matches([' ', '_', '.']));
    if let Some(number) = stripped.filter(|rest| rest.len() <= 3).and_then(|rest| rest.parse().ok()) {
        return Some(Label::Number(number));
    }
    if text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Label::Number(text.parse().ok()?));
    }
    let look = look(text)?;
    (look.date.is_none() && look.epoch.is_none()).then_some(Label::Clock(look.clock?))
}

/// Minutes of `00:30`, `0時`, `0`, `24`, `00h30`.
fn clock_of(text: &str) -> Option<u32> {
    let text = text.trim().trim_end_matches('時').trim_end_matches("Uhr").trim();
    let plain = text.replace(['h', 'H'], ":");
    let plain = plain.trim_end_matches(':');
    let look = look(plain)?;
    match (look.clock, look.number) {
        (Some(clock), _) => Some(clock),
        (None, Some(hour)) if hour <= 24 && look.date.is_none() => Some(hour * 60),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_intervals_are_understood() {
        for (heading, expected) in [
            ("00:30", Some(Label::Clock(30))),
            ("0:30:00", Some(Label::Clock(30))),
            ("24:00", Some(Label::Clock(1440))),
            ("00:00-00:30", Some(Label::Range(0, 30))),
            ("23:30 - 00:00", Some(Label::Range(1410, 1440))),
            ("23-24時", Some(Label::Range(1380, 1440))),
            ("0時-1時", Some(Label::Range(0, 60))),
            ("00h00-00h30", Some(Label::Range(0, 30))),
            ("０：００～０：３０", Some(Label::Range(0, 30))),
            ("02:00*", Some(Label::Clock(120))),
            ("H01", Some(Label::Number(1))),
            ("Hour 24", Some(Label::Number(24))),
            ("HE7", Some(Label::Number(7))),
            ("96", Some(Label::Number(96))),
            ("0.0208333333333333", Some(Label::Clock(30))),
            ("1900-01-01 00:00:00", Some(Label::Clock(1440))),
            ("2026-04-03", None),
            ("Total", None),
            ("kWh", None),
            ("", None),
        ] {
            assert_eq!(label_of(heading), expected, "{heading}");
        }
    }

    #[test]
    fn headings_are_found_behind_a_preamble_and_by_their_delimiter() {
        let find =
            |text: &str| Layout::find(text.as_bytes()).map(|l| (char::from(l.delimiter), l.line, l.headings.len()));
        assert_eq!(find("timestamp,kwh\n"), Some((',', 1, 2)));
        assert_eq!(find("Name;Mr, X\nAdresse;Weg 1\n\nDatum;Uhrzeit;Verbrauch (kWh)\n"), Some((';', 4, 3)));
        assert_eq!(find("date\ttime\tusage, kWh\n"), Some(('\t', 1, 3)));
        assert_eq!(find("2026-01-01,1\n"), None);
        assert_eq!(find("a,b\n"), None);
    }
}
