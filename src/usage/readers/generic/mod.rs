//! Tables that no supplier has shaped: whatever people save as CSV.
//!
//! The file is read twice. First all of it is looked at: delimiter and headings (`layout.rs`), what times and numbers are
//! (`sniff.rs`, `looks.rs`, `numbers.rs`); then the rows are read, an interval each (`long.rs`) or a day each (`wide.rs`).
//! What is not certain after the first look is refused with the flag that settles it; what was assumed is said.
//!
//! What a column holds its heading says (`columns.rs`). Cost, prices and notes are no input. Any other heading that is
//! not known is refused by name. `--time-zone`, `--unit`, `--stamp` and `--date-order` override what is found.

mod layout;
mod long;
mod looks;
mod numbers;
mod sniff;
mod times;
mod wide;

use super::super::collect::Collector;
use super::super::table::Table;
use super::super::{ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
pub(super) use layout::{Label, Layout, interval_columns};
pub(super) use long::cell;
pub(super) use numbers::{is_blank, is_missing, read_number};
pub(super) use wide::{DayColumns, push_day};

use layout::is_bare_table;
use sniff::Sniff;

/// The reader of tables of any shape, asked last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Generic;

impl UsageReader for Generic {
    fn format(&self) -> &'static str {
        "generic_csv"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        Layout::find(source.head()).is_some() || is_bare_table(source.head())
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        read_table(self.format(), source, options)
    }
}

/// Whether headings are found that say what the columns below them hold.
pub(super) fn is_table(head: &[u8]) -> bool {
    Layout::find(head).is_some()
}

/// Reads a table as a format.
///
/// # Errors
/// What cannot be read exactly, with its place; what is not certain, with the flag that settles it.
pub(super) fn read_table(
    format: &'static str,
    source: &mut Source<'_>,
    options: &ReadOptions,
) -> Result<UsageFile, UsageError> {
    let layout = Layout::find(source.head()).ok_or_else(|| no_headings(source))?;
    let sniff = Sniff::of(&mut Table::new(source.open()?, layout.delimiter), &layout)?;
    let mut table = Table::new(source.open()?, layout.delimiter);
    let mut collector = Collector::new(options);
    if sniff.columns.iter().all(|column| column.n_filled == 0) {
        return Err(UsageError::new(UsageCode::NoReadings, "there is no row below the headings"));
    }
    if layout.is_wide() {
        wide::read(&mut table, &layout, sniff, options, &mut collector)?;
    } else {
        long::read(&mut table, &layout, sniff, options, &mut collector)?;
    }
    let mut file = collector.finish(format)?;
    let n_values = layout.roles.iter().filter(|role| matches!(role, Some(super::columns::Role::Value(_)))).count();
    file.values_per_row = if layout.is_wide() { 1 } else { n_values.max(1) as u64 };
    Ok(file)
}

fn no_headings(source: &Source<'_>) -> UsageError {
    if source.head().trim_ascii().is_empty() {
        return UsageError::new(UsageCode::NoReadings, "the file is empty");
    }
    let message =
        "no row of headings was found; write one above the values, as in timestamp,kwh, or date,time,import_kwh";
    UsageError::new(UsageCode::BadHeader, message).at_line(1)
}
