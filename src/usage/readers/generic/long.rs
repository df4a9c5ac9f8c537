//! Tables with a row an interval.

use std::collections::HashMap;
use std::str::FromStr as _;

use super::super::super::collect::{Cell, Collector};
use super::super::super::detect::StampSide;
use super::super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::table::{Table, TableRow};
use super::super::super::unit::Unit;
use super::super::super::{Quality, ReadOptions, UsageCode, UsageError};
use super::super::columns::{HeadingUnit, RegisterHint, Role, ValueColumn, direction_of};
use super::layout::Layout;
use super::numbers::{is_blank, is_missing, quality_of, read_number};
use super::sniff::{Sniff, Totals, repeats_headings};
use super::times::TimePlan;

/// Columns of numbers of one row.
#[derive(Debug)]
struct Values<'l> {
    layout: &'l Layout,
    times: TimePlan,
    columns: Vec<Value<'l>>,
    meter: Option<usize>,
    channel: Option<usize>,
    quality: Option<usize>,
    unit: Option<usize>,
    said_unit: Option<Unit>,
    decimal_sign: u8,
    /// Series of the columns, by meter, channel and unit of the row.
    known: HashMap<String, Vec<(usize, NumberFormat)>>,
    key: String,
}

#[derive(Debug)]
struct Value<'l> {
    column: usize,
    heading: &'l ValueColumn,
    is_register: bool,
}

/// Reads all rows.
///
/// # Errors
/// The first that cannot be read, with its line.
pub(super) fn read(
    table: &mut Table<'_>,
    layout: &Layout,
    mut sniff: Sniff,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), UsageError> {
    let at_headings = |e: UsageError| if e.line.is_some() { e } else { e.at_line(layout.line) };
    let decimal_sign = sniff.signs.decimal_sign(layout.delimiter);
    let columns = columns_of(layout, &sniff, decimal_sign, collector).map_err(at_headings)?;
    // A standing is of a moment: it has no side.
    let side = options.stamp.or_else(|| columns.iter().all(|value| value.is_register).then_some(StampSide::Start));
    let placed = ReadOptions { stamp: side, ..options.clone() };
    let times = TimePlan::of(layout, &mut sniff, &placed, collector).map_err(at_headings)?;
    let mut values = Values::of(layout, times, columns, decimal_sign, options);
    let mut totals = Totals::default();
    while let Some(row) = table.next_row()? {
        if row.line <= layout.line {
            continue;
        }
        if totals.skips(row, collector) {
            continue;
        }
        let at_row = |e: UsageError| if e.line.is_some() { e } else { e.at_line(row.line) };
        values.read_row(row, collector).map_err(at_row)?;
    }
    Ok(())
}

impl<'l> Values<'l> {
    fn of(
        layout: &'l Layout,
        times: TimePlan,
        columns: Vec<Value<'l>>,
        decimal_sign: u8,
        options: &ReadOptions,
    ) -> Self {
        let find = |wanted: &Role| layout.roles.iter().position(|role| role.as_ref() == Some(wanted));
        Self {
            layout,
            times,
            columns,
            meter: find(&Role::Meter),
            channel: find(&Role::Channel),
            quality: find(&Role::Quality),
            unit: find(&Role::Unit),
            said_unit: options.unit,
            decimal_sign,
            known: HashMap::new(),
            key: String::new(),
        }
    }

    fn read_row(&mut self, row: TableRow<'_>, collector: &mut Collector) -> Result<(), UsageError> {
        let n = self.layout.headings.len();
        if row.len() != n && !((n..row.len()).all(|idx| row.bytes(idx).is_empty()) && row.len() > n) {
            row.expect_len(n)?;
        }
        if (0..n).all(|idx| row.bytes(idx).is_empty()) || repeats_headings(row, &self.layout.headings) {
            return Ok(());
        }
        let times = self.times.times(row, collector)?;
        let quality = match self.quality {
            Some(column) => quality_of(row.text(column)?).map_err(|e| e.in_field(&self.layout.headings[column]))?,
            None => Quality::Measured,
        };
        // Never empty: to compare empty texts that lie nowhere is slow on some processors.
        self.key.clear();
        self.key.push('=');
        for column in [self.meter, self.channel, self.unit].into_iter().flatten() {
            self.key.push_str(row.text(column)?);
            self.key.push('\u{1f}');
        }
        if !self.known.contains_key(&self.key) {
            let series = self.series_of(row, collector)?;
            self.known.insert(self.key.clone(), series);
        }
        collector.count_row();
        for (value, (series_idx, format)) in self.columns.iter().zip(&self.known[&self.key]) {
            let cell = cell(row.text(value.column)?, *format, quality);
            let cell = cell.map_err(|e| e.in_field(clip(&self.layout.headings[value.column])))?;
            collector.push(*series_idx, row.line, times, cell)?;
        }
        Ok(())
    }

    /// The series of the columns for the meter, channel and unit of a row.
    fn series_of(
        &self,
        row: TableRow<'_>,
        collector: &mut Collector,
    ) -> Result<Vec<(usize, NumberFormat)>, UsageError> {
        let text = |column: Option<usize>| match column {
            Some(column) => row.text(column).map(|text| Some(text).filter(|text| !text.is_empty())),
            None => Ok(None),
        };
        let (meter, stream, row_unit) = (text(self.meter)?, text(self.channel)?, text(self.unit)?);
        let units: Vec<HeadingUnit> =
            self.columns.iter().map(|value| self.unit_of(value, row_unit, collector)).collect::<Result<_, _>>()?;
        let quantity = |unit: &HeadingUnit| match unit {
            HeadingUnit::Energy(unit) => unit.quantity(),
            HeadingUnit::Unsaid | HeadingUnit::Other(_) => Quantity::Other,
        };
        let has_energy = units.iter().any(|unit| quantity(unit) == Quantity::Energy);
        let of_grid = |value: &Value<'_>| value.heading.direction == Direction::Import && !value.heading.is_use;
        let has_grid_import = self.columns.iter().any(of_grid);
        let mut series = Vec::with_capacity(units.len());
        for (value, unit) in self.columns.iter().zip(&units) {
            let heading = &self.layout.headings[value.column];
            let direction = match (value.heading.direction, stream) {
                // What a house used is not what it took from the grid.
                (Direction::Import, None) if value.heading.is_use && has_grid_import => Direction::Other,
                (Direction::Import, Some(stream)) if value.heading.is_use => match direction_of(stream) {
                    Direction::Other => Direction::Import,
                    direction => direction,
                },
                (Direction::Other, Some(stream)) => direction_of(stream),
                (direction, _) => direction,
            };
            let quantity = match quantity(unit) {
                Quantity::Energy if value.is_register => Quantity::Register,
                // Beside energy, kW are its peaks or say the same once more.
                Quantity::MeanPower if has_energy => Quantity::Other,
                quantity => quantity,
            };
            let channel = match stream {
                Some(stream) if self.columns.len() == 1 => stream.to_owned(),
                Some(stream) => format!("{stream} {heading}"),
                None => heading.clone(),
            };
            let (unit, power_of_ten) = match unit {
                HeadingUnit::Energy(unit) => (unit.as_str(), unit.power_of_ten()),
                HeadingUnit::Other(unit) => (*unit, 0),
                HeadingUnit::Unsaid => ("", 0),
            };
            let label = SeriesLabel {
                meter: meter.map(str::to_owned),
                channel: Some(channel),
                direction,
                unit: unit.to_owned(),
                quantity,
            };
            let is_register = quantity == Quantity::Register;
            let format = NumberFormat {
                decimal_sign: self.decimal_sign,
                power_of_ten: if quantity == Quantity::Other { 0 } else { power_of_ten },
                is_register,
            };
            series.push((collector.series(&label)?, format));
        }
        Ok(series)
    }

    /// The unit of a column: what the caller says, the heading, the column of units, the word energy.
    fn unit_of(
        &self,
        value: &Value<'_>,
        row_unit: Option<&str>,
        collector: &mut Collector,
    ) -> Result<HeadingUnit, UsageError> {
        let heading = &self.layout.headings[value.column];
        let found = match (&value.heading.unit, row_unit) {
            (HeadingUnit::Unsaid, Some(text)) => match Unit::from_str(text) {
                Ok(unit) => HeadingUnit::Energy(unit),
                Err(_) if self.said_unit.is_some() => HeadingUnit::Unsaid,
                Err(e) => {
                    let error = UsageError::new(UsageCode::BadUnit, format!("{e}; or give --unit (unit in the API)"));
                    return Err(error.in_field(clip(&self.layout.headings[self.unit.unwrap_or(0)])));
                }
            },
            (unit, _) => unit.clone(),
        };
        match (found, self.said_unit) {
            (HeadingUnit::Other(unit), _) => Ok(HeadingUnit::Other(unit)),
            (HeadingUnit::Unsaid, Some(said)) => Ok(HeadingUnit::Energy(said)),
            (HeadingUnit::Energy(unit), Some(said)) => {
                let is_meant = self.columns.len() == 1 || unit.quantity() == said.quantity();
                Ok(HeadingUnit::Energy(if is_meant { said } else { unit }))
            }
            (HeadingUnit::Energy(unit), None) => Ok(HeadingUnit::Energy(unit)),
            (HeadingUnit::Unsaid, None) if value.heading.says_energy => {
                let detail = format!("{:?} says energy and no unit: taken as kWh; else give --unit", clip(heading));
                collector.warn("unit_assumed", Some(self.layout.line), detail);
                Ok(HeadingUnit::Energy(Unit::KilowattHour))
            }
            (HeadingUnit::Unsaid, None) => {
                let message = format!(
                    "nothing says in which unit {:?} is: give --unit kWh, Wh, MWh, kW or W (unit in the API)",
                    clip(heading)
                );
                let error = UsageError::new(UsageCode::UnitNeeded, message);
                Err(error.at_line(self.layout.line).in_field(clip(heading)))
            }
        }
    }
}

/// The columns of numbers, and which of them are standings.
fn columns_of<'l>(
    layout: &'l Layout,
    sniff: &Sniff,
    decimal_sign: u8,
    collector: &mut Collector,
) -> Result<Vec<Value<'l>>, UsageError> {
    let mut columns = Vec::new();
    for (column, role) in layout.roles.iter().enumerate() {
        match role {
            Some(Role::Value(heading)) => {
                let rises = &sniff.columns[column].rises[usize::from(decimal_sign == b',')];
                let is_register = match heading.register {
                    RegisterHint::Yes => true,
                    RegisterHint::Likely => rises.is_monotone(),
                    RegisterHint::No => rises.looks_like_standings(),
                };
                if is_register && heading.register != RegisterHint::Yes {
                    let name = clip(&layout.headings[column]);
                    let detail =
                        format!("numbers of {name:?} only rise: taken as standings, energy is their difference");
                    collector.warn("register_assumed", Some(layout.line), detail);
                }
                columns.push(Value { column, heading, is_register });
            }
            None if sniff.columns[column].n_filled > 0 => return Err(unknown_column(&layout.headings[column])),
            _ => {}
        }
    }
    Ok(columns)
}

/// A cell of numbers, with the quality of its row.
pub(in super::super) fn cell(text: &str, format: NumberFormat, quality: Quality) -> Result<Cell, UsageError> {
    if is_missing(text) {
        return Ok(Cell::Value(0, Quality::Missing));
    }
    if is_blank(text) {
        return Ok(if quality == Quality::Missing { Cell::Value(0, Quality::Missing) } else { Cell::Blank });
    }
    let value = read_number(text, format)?;
    if quality == Quality::Missing && value != 0 {
        let message = "a missing reading has no energy: leave the value blank, or give its real quality";
        return Err(UsageError::new(UsageCode::BadQuality, message));
    }
    Ok(Cell::Value(value, quality))
}

/// The refusal of a column whose meaning nobody knows.
pub(super) fn unknown_column(heading: &str) -> UsageError {
    let name = if heading.is_empty() { "without a heading".to_owned() } else { format!("{:?}", clip(heading)) };
    let message = format!(
        "the column {name} is not known, and nothing may be ignored: take it out, or name it as in timestamp, end, \
         import_kwh, export_kwh, meter, channel, quality, unit, cost, notes"
    );
    UsageError::new(UsageCode::UnknownColumn, message).in_field(clip(heading))
}
