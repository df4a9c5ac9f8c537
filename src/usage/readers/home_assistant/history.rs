//! History: states of sensors that count, written whenever they change.
//!
//! The standing at a full hour is the last state at or before it. A sensor that was silent for more than a day, or not
//! there at the full hour, has no standing then.

use std::collections::HashMap;

use chrono::DateTime;

use super::super::super::collect::{Cell, Collector};
use super::super::super::file::{Quantity, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::stamp::Stamp;
use super::super::super::table::{Table, TableRow};
use super::super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile};
use super::super::columns::direction_of;
use super::super::generic::read_number;
use super::super::heading::Heading;
use super::{FORMAT, is_unknown, unit_of_standings};

const HOUR: i64 = 3600;

/// The longest silence for which a state stands, seconds.
const MAX_SILENCE: i64 = 24 * HOUR;

/// Reads the file.
///
/// # Errors
/// What cannot be read exactly, with its place.
pub(super) fn read(
    source: &mut Source<'_>,
    options: &ReadOptions,
    is_heading: impl Fn(&[String]) -> bool,
) -> Result<UsageFile, UsageError> {
    let mut table = Table::new(source.open()?, b',');
    let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
    let entity = heading.need(&["entity_id"])?;
    let state = heading.need(&["state"])?;
    let changed = match heading.take(&["last_changed"])? {
        Some(changed) => changed,
        None => heading.need(&["last_updated"])?,
    };
    let unit = heading.take(&["unit", "unit_of_measurement"])?;
    heading.ignore(|name| matches!(name, "last_updated" | "last_reported" | "attributes" | "friendly_name"));
    heading.finish()?;
    let mut rows = Rows {
        entity,
        state,
        changed,
        unit,
        options,
        collector: Collector::new(options),
        sensors: HashMap::new(),
        heading,
    };
    let detail = "states stand at odd times: the last one at or before each full hour is taken as its standing";
    rows.collector.warn("hourly_standings", None, detail);
    while let Some(row) = table.next_row()? {
        rows.read_row(row).map_err(|e| e.at_line(row.line))?;
    }
    rows.finish()
}

struct Rows<'o> {
    entity: usize,
    state: usize,
    changed: usize,
    unit: Option<usize>,
    options: &'o ReadOptions,
    collector: Collector,
    sensors: HashMap<String, Sensor>,
    heading: Heading,
}

/// One sensor: what it said last.
#[derive(Debug)]
struct Sensor {
    series_idx: usize,
    format: NumberFormat,
    at: i64,
    line: u64,
    /// `None`: it was not there.
    value: Option<i64>,
}

impl Sensor {
    /// Its standings at the full hours from its last state up to, not including, `until`.
    fn push_hours(&self, until: i64, collector: &mut Collector) -> Result<(), UsageError> {
        let Some(value) = self.value else { return Ok(()) };
        let first = self.at.div_euclid(HOUR) * HOUR + if self.at.rem_euclid(HOUR) == 0 { 0 } else { HOUR };
        let until = if until - self.at > MAX_SILENCE { self.at + 1 } else { until };
        let mut hour = first;
        while hour < until {
            let times = collector.starting(Stamp::epoch(hour)?)?;
            collector.push(self.series_idx, self.line, times, Cell::Value(value, Quality::Measured))?;
            hour += HOUR;
        }
        Ok(())
    }
}

impl Rows<'_> {
    /// One state. Errors come without their line.
    fn read_row(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        self.heading.check(row)?;
        let text = row.text(self.changed)?;
        let at = DateTime::parse_from_rfc3339(text)
            .map(|at| at.timestamp())
            .ok()
            .filter(|at| Stamp::epoch(*at - *at % 60).is_ok());
        let at = at.ok_or_else(|| {
            let message = format!("{:?} is no time with an offset, like 2026-01-05T00:00:12.345Z", clip(text));
            UsageError::new(UsageCode::BadTime, message).in_field("last_changed")
        })?;
        let (entity, state) = (row.text(self.entity)?, row.text(self.state)?);
        self.collector.count_row();
        if !self.sensors.contains_key(entity) {
            let said = self.unit.map_or(Ok(""), |unit| row.text(unit))?;
            let unit = unit_of_standings(self.options, said).map_err(|e| e.in_field("state"))?;
            let label = SeriesLabel {
                channel: Some(entity.to_owned()),
                unit: unit.as_str().to_owned(),
                quantity: Quantity::Register,
                ..SeriesLabel::energy(direction_of(entity))
            };
            let series_idx = self.collector.series(&label)?;
            let format = NumberFormat { power_of_ten: unit.power_of_ten(), is_register: true, ..NumberFormat::KWH };
            let sensor = Sensor { series_idx, format, at, line: row.line, value: None };
            self.sensors.insert(entity.to_owned(), sensor);
        }
        let Some(sensor) = self.sensors.get_mut(entity) else { return Ok(()) };
        if at < sensor.at {
            let message = format!("{:?} is before the row above of the same sensor: sort the rows by time", clip(text));
            return Err(UsageError::new(UsageCode::BadTime, message).in_field("last_changed"));
        }
        let value = match state {
            state if is_unknown(state) => None,
            state => Some(read_number(state, sensor.format).map_err(|e| e.in_field("state"))?),
        };
        sensor.push_hours(at, &mut self.collector)?;
        (sensor.at, sensor.line, sensor.value) = (at, row.line, value);
        Ok(())
    }

    fn finish(mut self) -> Result<UsageFile, UsageError> {
        for sensor in self.sensors.values() {
            sensor.push_hours(sensor.at + 1, &mut self.collector)?;
        }
        self.collector.finish(FORMAT)
    }
}
