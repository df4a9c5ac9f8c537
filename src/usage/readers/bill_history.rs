//! Histories of bills (Xcel Energy, Opower's "Electric billing" and others): one row a bill, with kWh and money. They say
//! nothing of the hours in which the energy was used and are refused by name.

use chrono::NaiveDate;

use super::super::stamp::{DateOrder, parse_date};
use super::super::table::Table;
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Heading, delimiter_of, plain_names};

/// Days of the shortest bill.
const DAYS_OF_A_BILL: i64 = 20;

/// Rows whose dates are looked at.
const MAX_ROWS: usize = 8;

/// Knows histories of bills, to refuse them.
#[derive(Debug, Clone, Copy)]
pub(super) struct BillHistory;

impl UsageReader for BillHistory {
    fn format(&self) -> &'static str {
        "bill_history"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let Some(delimiter) = delimiter_of(source, may_be_heading) else { return false };
        let mut table = Table::new(Box::new(source.head()), delimiter);
        match Heading::find(&mut table, may_be_heading, |_| ()) {
            Ok(found) => names_bills(found.plain()) || are_months_apart(&mut table, found.plain()),
            Err(_) => false,
        }
    }

    fn read(&self, source: &mut Source<'_>, _: &ReadOptions) -> Result<UsageFile, UsageError> {
        if source.head().trim_ascii().is_empty() {
            return Err(UsageError::new(UsageCode::NoReadings, "the file is empty"));
        }
        let delimiter = delimiter_of(source, may_be_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let found = Heading::find(&mut table, may_be_heading, |_| ())?;
        let message = "the file is a history of bills, one row a bill: it does not say when the energy was used; ask the \
                       supplier's site for interval data (hourly or 15-minute usage, Green Button)";
        Err(UsageError::new(UsageCode::NotIntervals, message).at_line(found.line))
    }
}

/// Energy or money by days or months, and no time of day.
fn may_be_heading(names: &[String]) -> bool {
    let has_time =
        names.iter().any(|name| ["time", "hour", "interval", "duration"].iter().any(|word| name.contains(word)));
    let has_date = names.iter().any(|name| is_day(name));
    !has_time
        && (names_bills(names) || has_date && names.iter().any(|n| is_energy(n)) && names.iter().any(|n| is_money(n)))
}

/// Names that only bills have, beside energy or money.
fn names_bills(names: &[String]) -> bool {
    let is_bill = |name: &String| {
        let (first, second) = name.split_once(' ').unwrap_or((name, ""));
        matches!(first, "bill" | "billing" | "invoice" | "statement")
            && matches!(second, "date" | "period" | "month" | "start" | "end" | "start date" | "end date")
    };
    names.iter().any(is_bill) && names.iter().any(|name| is_energy(name) || is_money(name))
}

fn is_energy(name: &str) -> bool {
    name.contains("kwh") || name.contains("usage") || name.contains("consumption")
}

fn is_money(name: &str) -> bool {
    ["cost", "charge", "amount", "dollars", "total bill", "$", "€", "£"].iter().any(|word| name.contains(word))
}

/// Whether a column holds days: of one date, of the first or of the last of a bill.
fn is_day(name: &str) -> bool {
    matches!(
        name,
        "date" | "read date" | "meter read date" | "reading date" | "start date" | "end date" | "from" | "to"
    )
}

/// Whether the first rows last weeks each, or lie weeks apart where each has one date.
fn are_months_apart(table: &mut Table<'_>, names: &[String]) -> bool {
    let columns: Vec<usize> = (0..names.len()).filter(|idx| is_day(&names[*idx])).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    while rows.len() < MAX_ROWS {
        let Ok(Some(row)) = table.next_row() else { break };
        let cells = plain_names(row);
        rows.push(columns.iter().map(|idx| cells.get(*idx).cloned().unwrap_or_default()).collect());
    }
    let orders = [DateOrder::YearMonthDay, DateOrder::MonthDayYear, DateOrder::DayMonthYear];
    orders.into_iter().any(|order| {
        let days_of = |row: &Vec<String>| row.iter().map(|text| parse_date(text, order)).collect::<Result<Vec<_>, _>>();
        let Ok(days) = rows.iter().map(days_of).collect::<Result<Vec<_>, _>>() else { return false };
        let is_long = |a: &NaiveDate, b: &NaiveDate| (*b - *a).num_days().abs() >= DAYS_OF_A_BILL;
        match days.as_slice() {
            [] => false,
            rows if columns.len() > 1 => rows.iter().all(|row| is_long(&row[0], &row[1])),
            rows => rows.len() > 1 && rows.windows(2).all(|pair| is_long(&pair[0][0], &pair[1][0])),
        }
    })
}
