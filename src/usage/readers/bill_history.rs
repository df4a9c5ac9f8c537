//! Histories of bills (Xcel Energy, Opower's "Electric billing" and others): one row a bill, with kWh and money. They say
//! nothing of the hours in which the energy was used and are refused by name.

use super::super::stamp::{DateOrder, parse_date};
use super::super::table::Table;
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Heading, delimiter_of, plain_names};

/// Knows histories of bills, to refuse them.
#[derive(Debug, Clone, Copy)]
pub(super) struct BillHistory;

impl UsageReader for BillHistory {
    fn format(&self) -> &'static str {
        "bill_history"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let heading = |names: &[String]| is_heading(names) || has_period(names);
        let Some(delimiter) = delimiter_of(source, heading) else { return false };
        let mut table = Table::new(Box::new(source.head()), delimiter);
        match Heading::find(&mut table, heading, |_| ()) {
            Ok(found) => is_heading(found.plain()) || has_long_rows(&mut table, found.plain()),
            Err(_) => false,
        }
    }

    fn read(&self, source: &mut Source<'_>, _: &ReadOptions) -> Result<UsageFile, UsageError> {
        if source.head().trim_ascii().is_empty() {
            return Err(UsageError::new(UsageCode::NoReadings, "the file is empty"));
        }
        let heading = |names: &[String]| is_heading(names) || has_period(names);
        let delimiter = delimiter_of(source, heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let found = Heading::find(&mut table, heading, |_| ())?;
        let message = "the file is a history of bills, one row a bill: it does not say when the energy was used; ask the \
                       supplier's site for interval data (hourly or 15-minute usage, Green Button)";
        Err(UsageError::new(UsageCode::NotIntervals, message).at_line(found.line))
    }
}

/// Names that only bills have, beside energy or money.
fn is_heading(names: &[String]) -> bool {
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
    ["cost", "charge", "amount", "total bill", "$"].iter().any(|word| name.contains(word))
}

/// A first and a last day, energy and money, and no time of day.
fn has_period(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("start date")
        && has("end date")
        && !names.iter().any(|name| name.contains("time"))
        && names.iter().any(|name| is_energy(name))
        && names.iter().any(|name| is_money(name))
}

/// Whether the first row spans more than two days.
fn has_long_rows(table: &mut Table<'_>, names: &[String]) -> bool {
    let Ok(Some(row)) = table.next_row() else { return false };
    let cells = plain_names(row);
    let date = |name: &str| {
        let text = cells.get(names.iter().position(|other| other == name)?)?;
        let orders = [DateOrder::YearMonthDay, DateOrder::MonthDayYear, DateOrder::DayMonthYear];
        orders.into_iter().find_map(|order| parse_date(text, order).ok())
    };
    match (date("start date"), date("end date")) {
        (Some(first), Some(last)) => (last - first).num_days() > 2,
        _ => false,
    }
}
