//! The energy dashboard: a row a sensor, a column an hour (a day, by the view). Times are starts, in UTC.

use std::collections::HashMap;

use super::super::super::collect::{Cell, Collector, Rank, Times};
use super::super::super::file::{Direction, Quantity, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::stamp::Stamp;
use super::super::super::table::{Table, TableRow};
use super::super::super::unit::Unit;
use super::super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile};
use super::super::generic::read_number;
use super::FORMAT;

/// Columns before the first time.
const N_NAMES: usize = 3;

/// Reads the file.
///
/// # Errors
/// What cannot be read exactly, with its place.
pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
    let mut table = Table::new(source.open()?, b',');
    let mut collector = Collector::new(options);
    let mut columns: Option<Vec<Times>> = None;
    let mut sensors = Sensors::default();
    while let Some(row) = table.next_row()? {
        let read = match &columns {
            Some(columns) => sensors.read_row(row, columns, options, &mut collector),
            None => times_of(row, &mut collector).map(|times| columns = Some(times)),
        };
        read.map_err(|e| e.at_line(row.line))?;
    }
    for (kind, sensors) in sensors.by_kind.iter().filter(|(_, sensors)| sensors.len() > 1) {
        let names: Vec<String> = sensors.iter().map(|name| clip(name)).collect();
        collector.warn("sensors_added", None, format!("{kind} is the sum of {}", names.join(", ")));
    }
    collector.finish(FORMAT)
}

fn times_of(header: TableRow<'_>, collector: &mut Collector) -> Result<Vec<Times>, UsageError> {
    (N_NAMES..header.len())
        .map(|idx| {
            let text = header.text(idx)?;
            let placed = Stamp::parse(text).and_then(|stamp| collector.starting(stamp));
            placed.map_err(|e| e.in_field(clip(text)))
        })
        .collect()
}

/// Sensors of a type whose rows are one series, in the order of the file: `grid_consumption`, `grid_return`.
#[derive(Debug, Default)]
struct Sensors {
    by_kind: HashMap<&'static str, Vec<String>>,
}

impl Sensors {
    /// One sensor into the collector. Errors come without their line.
    fn read_row(
        &mut self,
        row: TableRow<'_>,
        columns: &[Times],
        options: &ReadOptions,
        collector: &mut Collector,
    ) -> Result<(), UsageError> {
        row.expect_len(N_NAMES + columns.len())?;
        let (entity, kind, said) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let unit = if said.is_empty() { options.unit } else { said.parse::<Unit>().ok() };
        let (channel, direction) = match kind {
            "grid_consumption" => ("grid_consumption", Direction::Import),
            "grid_return" => ("grid_return", Direction::Export),
            _ if entity.is_empty() => (kind, Direction::Other),
            _ => (entity, Direction::Other),
        };
        let is_goods = !matches!(kind, "gas" | "water") && !kind.ends_with("_cost") && !kind.ends_with("_compensation");
        let quantity = match unit.filter(|_| is_goods).map(Unit::quantity) {
            Some(Quantity::Energy) => Quantity::Energy,
            _ if direction != Direction::Other => {
                let message = format!("{:?} is no unit of energy", clip(said));
                return Err(UsageError::new(UsageCode::BadUnit, message).in_field("unit"));
            }
            _ => Quantity::Other,
        };
        let label = SeriesLabel {
            meter: None,
            channel: Some(channel.to_owned()),
            direction,
            // Parts of one series may count in different units: each is read in its own.
            unit: if direction == Direction::Other { said.to_owned() } else { "kWh".to_owned() },
            quantity,
        };
        let series_idx = collector.series(&label)?;
        let part = match direction {
            Direction::Import => self.part("grid_consumption", entity)?,
            Direction::Export => self.part("grid_return", entity)?,
            Direction::Net | Direction::Total | Direction::Other => 0,
        };
        let power_of_ten = unit.filter(|_| quantity == Quantity::Energy).map_or(0, Unit::power_of_ten);
        let format = NumberFormat { power_of_ten, ..NumberFormat::KWH };
        collector.count_row();
        for (idx, times) in columns.iter().enumerate() {
            let text = row.text(N_NAMES + idx)?;
            let cell = match text {
                "" => Cell::Blank,
                text => {
                    Cell::Value(read_number(text, format).map_err(|e| e.in_field(clip(entity)))?, Quality::Measured)
                }
            };
            collector.push_ranked(series_idx, row.line, *times, cell, Rank { version: 0, part })?;
        }
        Ok(())
    }

    /// The number of a sensor among those of its type.
    fn part(&mut self, kind: &'static str, entity: &str) -> Result<u8, UsageError> {
        let known = self.by_kind.entry(kind).or_default();
        let idx = known.iter().position(|name| name == entity).unwrap_or_else(|| {
            known.push(entity.to_owned());
            known.len() - 1
        });
        u8::try_from(idx).map_err(|_| {
            let message = format!("the file has more than 256 sensors of {kind}: split it");
            UsageError::new(UsageCode::TooLarge, message).in_field("entity_id")
        })
    }
}
