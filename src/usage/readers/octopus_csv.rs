//! Half hours as Octopus Energy (United Kingdom) lets its customers download them.
//!
//! | column | holds |
//! | --- | --- |
//! | `Consumption (kwh)` | energy of the half hour |
//! | `Estimated Cost Inc. Tax (p)`, `Standing Charge Inc. Tax (p)` | the supplier's own bill: no input |
//! | `Start`, `End` | local time with its offset |
//!
//! Blanks follow the commas. Some files leave out half hours in which nothing was used; a gap stays a gap, and where no row
//! of the file has a zero that is said. A file of the export meter has the same headings: `--channel export=Consumption`
//! feeds it in. Gas in kWh does, too; nothing in the file tells.

use super::super::collect::{Cell, Collector};
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::Stamp;
use super::super::table::{Table, TableRow};
use super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::heading::{Heading, cell, numbers, plain_names, unit_in_brackets, unit_of};

/// The reader of Octopus downloads.
#[derive(Debug, Clone, Copy)]
pub(super) struct OctopusCsv;

impl UsageReader for OctopusCsv {
    fn format(&self) -> &'static str {
        "octopus_csv"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        // The headings are the first row: to look through a preamble would cost every other file.
        let mut table = Table::new(Box::new(source.head()), b',');
        matches!(table.next_row(), Ok(Some(row)) if is_heading(&plain_names(row)))
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let mut table = Table::new(source.open()?, b',');
        let heading = Heading::find(&mut table, is_heading, |_| ())?;
        let line = heading.line;
        let mut collector = Collector::new(options);
        let mut rows = Rows::of(heading, options, &mut collector).map_err(|e| e.at_line(line))?;
        while let Some(row) = table.next_row()? {
            rows.read_row(row, &mut collector).map_err(|e| e.at_line(row.line))?;
        }
        rows.warn_of_gaps(&mut collector);
        collector.finish(self.format())
    }
}

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let is_known = |name: &String| is_consumption(name) || is_bill(name) || name == "start" || name == "end";
    has("start") && has("end") && names.iter().any(|name| is_consumption(name)) && names.iter().all(is_known)
}

fn is_consumption(name: &str) -> bool {
    name.starts_with("consumption (")
}

/// Cost and standing charge.
fn is_bill(name: &str) -> bool {
    name.starts_with("estimated cost") || name.starts_with("standing charge")
}

/// The rows below the headings.
#[derive(Debug)]
struct Rows {
    heading: Heading,
    consumption: usize,
    start: usize,
    end: usize,
    series_idx: usize,
    number: NumberFormat,
    /// From the first start to the last end.
    span: Option<(i64, i64)>,
    /// How much of it rows cover, seconds.
    covered: i64,
    has_zero: bool,
}

impl Rows {
    fn of(mut heading: Heading, options: &ReadOptions, collector: &mut Collector) -> Result<Self, UsageError> {
        let consumption = heading.take_where(is_consumption)?.ok_or_else(|| {
            let message = "the header has no column Consumption (kwh)";
            UsageError::new(UsageCode::BadHeader, message).in_field("Consumption (kwh)")
        })?;
        let (start, end) = (heading.need(&["start"])?, heading.need(&["end"])?);
        heading.ignore(is_bill);
        heading.finish()?;
        let name = heading.name(consumption).to_owned();
        let said = unit_in_brackets(&name).unwrap_or_default();
        if said.starts_with("m3") || said.starts_with("m³") {
            let message = "cubic metres are gas, and no electricity";
            return Err(UsageError::new(UsageCode::NotElectricity, message).in_field(clip(&name)));
        }
        let unit = unit_of(options, said).map_err(|e| e.in_field(clip(&name)))?;
        let label = SeriesLabel {
            channel: Some("Consumption".to_owned()),
            unit: said.to_owned(),
            quantity: unit.quantity(),
            ..SeriesLabel::energy(Direction::Import)
        };
        Ok(Self {
            heading,
            consumption,
            start,
            end,
            series_idx: collector.series(&label)?,
            number: numbers(unit, b'.'),
            span: None,
            covered: 0,
            has_zero: false,
        })
    }

    /// One row into the collector. Errors come without their line.
    fn read_row(&mut self, row: TableRow<'_>, collector: &mut Collector) -> Result<(), UsageError> {
        self.heading.check(row)?;
        let stamp = |idx: usize, field: &str| row.text(idx).and_then(Stamp::parse).map_err(|e| e.in_field(field));
        let (start, end) = (stamp(self.start, "Start")?, stamp(self.end, "End")?);
        let times = collector.between(start, end)?;
        let cell = cell(row.text(self.consumption)?, self.number, Quality::Measured);
        let cell = cell.map_err(|e| e.in_field(clip(self.heading.name(self.consumption))))?;
        self.has_zero |= matches!(cell, Cell::Value(0, _));
        if let (Stamp::Instant(start, _), Stamp::Instant(end, _)) = (start, end) {
            let (first, last) = self.span.unwrap_or((start, end));
            self.span = Some((first.min(start), last.max(end)));
            self.covered = self.covered.saturating_add(end - start);
        }
        collector.count_row();
        collector.push(self.series_idx, row.line, times, cell)
    }

    fn warn_of_gaps(&self, collector: &mut Collector) {
        if let Some((first, last)) = self.span
            && last - first > self.covered
            && !self.has_zero
        {
            let detail = "half hours are missing and no row has a zero: some files leave out half hours without use. They \
                          stay gaps; declare them as zero if you know that they are";
            collector.warn("zero_may_be_left_out", None, detail);
        }
    }
}
