//! Results as tables for people, JSON for programs, CSV for spreadsheets.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

use super::CliError;
use crate::http::{is_number, safe_cell};

/// A line under the header and nothing else: what is copied out of a terminal stays readable.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Columns that stay free, for what is printed indented.
const MARGIN: u16 = 3;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// Rows with a header.
    Csv,
}

/// One result in all three forms.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    /// The JSON document, as the service sent it.
    pub(super) json: String,
    /// Text and tables.
    pub(super) text: String,
    /// What a spreadsheet wants.
    pub(super) sheet: Sheet,
}

impl Report {
    /// Prints the form that was asked for.
    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        match format {
            Format::Json => print_line(&self.json),
            Format::Table => print_line(self.text.trim_end()),
            Format::Csv => print_bytes(&self.sheet.csv()?),
        }
    }
}

/// A text and a line feed, to stdout.
pub(super) fn print_line(text: &str) -> Result<(), CliError> {
    print_bytes(&[text.as_bytes(), b"\n"].concat())
}

fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(())
}

/// A remark for people: to stderr, so that it never stands in a result.
pub(super) fn remark(text: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A header and rows of the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sheet {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Without rows.
    pub(super) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether there is no row.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As a table; columns of numbers stand right.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width());
        table.set_header(self.header.clone());
        for row in &self.rows {
            table.add_row(row.clone());
        }
        for idx in 0..self.header.len() {
            let mut cells = self.rows.iter().filter_map(|row| row.get(idx)).filter(|cell| !cell.is_empty()).peekable();
            let is_numeric = cells.peek().is_some() && cells.all(|cell| is_number(cell));
            if let Some(column) = table.column_mut(idx).filter(|_| is_numeric) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for (idx, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            // Ids, dates and amounts are copied out of tables: only texts of several words are broken.
            if self.rows.iter().filter_map(|row| row.get(idx)).all(|cell| !cell.contains(' ')) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table.trim_fmt()
    }

    /// As CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front.
    pub(super) fn csv(&self) -> Result<Vec<u8>, CliError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let fault = |e: csv::Error| CliError::new("io", e);
        writer.write_record(&self.header).map_err(fault)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| safe_cell(cell).into_owned())).map_err(fault)?;
        }
        writer.into_inner().map_err(|e| CliError::new("io", e))
    }
}

/// Columns of the terminal as the shell tells them, else 100.
fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|n| *n >= 40).unwrap_or(100) - MARGIN
}

/// An amount with at least two decimals and no needless ones, for people: `79.78917` stays, `5.5` is `5.50`.
pub(super) fn money(amount: &str) -> String {
    let (whole, decimals) = amount.split_once('.').unwrap_or((amount, ""));
    format!("{whole}.{:0<2}", decimals.trim_end_matches('0'))
}

/// A billing period for people: `2026`, `2026-06` or `2026-06-14/2026-07-14`, as `--period` takes it.
pub(super) fn period(start: &str, end: &str) -> String {
    use crate::words::BillingPeriod;
    let is = |text: &str| match BillingPeriod::from_year_or_month(text) {
        Some(Ok(period)) => period.start().to_string() == start && period.end().to_string() == end,
        _ => false,
    };
    let spellings = [start.get(..4), start.get(..7)];
    match spellings.into_iter().flatten().find(|text| is(text)) {
        Some(text) => text.to_owned(),
        None => format!("{start}/{end}"),
    }
}

/// An instant to the second, for people.
pub(super) fn to_the_second(instant: &str) -> String {
    match instant.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => instant.to_owned(),
    }
}

/// A quantity cut to `n` decimals, for people.
pub(super) fn rounded(quantity: &str, n: u32) -> String {
    use rust_decimal::{Decimal, RoundingStrategy};
    let Ok(number) = Decimal::from_str_exact(quantity) else { return quantity.to_owned() };
    number.round_dp_with_strategy(n, RoundingStrategy::MidpointAwayFromZero).to_string()
}

/// Writes a file so that it is there whole or not at all. What a killed run left half written is written anew, and each
/// part has one writer: somebody else's is replaced, never written into.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.part"));
    if let Err(error) = fs::remove_file(&part)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = File::create_new(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    match fs::rename(&part, path) {
        // Somebody else has written the same file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_a_table_and_a_csv() {
        let mut sheet = Sheet::new(["plan", "total"]);
        sheet.row(["flat", "85.29"]);
        sheet.row(["=tou", "-9.10"]);
        assert_eq!(String::from_utf8(sheet.csv().unwrap()).unwrap(), "plan,total\nflat,85.29\n'=tou,-9.10\n");
        let table = sheet.table();
        assert!(table.lines().any(|line| line.contains("flat") && line.trim_end().ends_with("85.29")), "{table}");
    }

    #[test]
    fn dates_are_no_numbers() {
        assert!(!is_number("2026-06-01"));
        assert!(is_number("-12.50") && is_number("3"));
    }

    #[test]
    fn periods_for_people_are_as_short_as_they_can_be() {
        assert_eq!(period("2026-06-01", "2026-07-01"), "2026-06");
        assert_eq!(period("2026-01-01", "2027-01-01"), "2026");
        assert_eq!(period("2026-06-14", "2026-07-14"), "2026-06-14/2026-07-14");
    }

    #[test]
    fn instants_for_people_end_at_the_second() {
        assert_eq!(to_the_second("2026-11-30T10:47:24.202057Z"), "2026-11-30T10:47:24Z");
        assert_eq!(to_the_second("2026-11-30T10:47:24Z"), "2026-11-30T10:47:24Z");
    }

    #[test]
    fn amounts_for_people_have_two_decimals_at_least() {
        assert_eq!(
            (money("5.5"), money("79.78917"), money("-3"), money("1.230")),
            ("5.50".into(), "79.78917".into(), "-3.00".into(), "1.23".into())
        );
        assert_eq!(rounded("842.231672", 1), "842.2");
        assert_eq!(rounded("x", 1), "x");
    }
}
