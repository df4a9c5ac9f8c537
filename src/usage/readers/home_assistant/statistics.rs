//! Statistics: `sum` is what a sensor had counted at the end of the hour (of the five minutes) that begins at `start`. It
//! goes on over a reset of the sensor, which `state` does not: `state` is not read.

use super::super::super::collect::{Cell, Collector};
use super::super::super::file::{Quantity, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::stamp::Stamp;
use super::super::super::table::Table;
use super::super::super::{Quality, ReadOptions, Source, UsageError, UsageFile};
use super::super::columns::direction_of;
use super::super::generic::read_number;
use super::super::heading::Heading;
use super::{FORMAT, is_unknown, unit_of_standings};

/// Long-term statistics are of hours, those of the last days of five minutes.
const HOUR: i64 = 3600;
const FIVE_MINUTES: i64 = 300;

/// Reads the file.
///
/// # Errors
/// What cannot be read exactly, with its place.
pub(super) fn read(
    source: &mut Source<'_>,
    options: &ReadOptions,
    is_heading: impl Fn(&[String]) -> bool,
) -> Result<UsageFile, UsageError> {
    let period = period_of(source);
    let mut table = Table::new(source.open()?, b',');
    let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
    let (start, sum) = (heading.need(&["start"])?, heading.need(&["sum"])?);
    let id = heading.take(&["statistic_id", "entity_id", "id"])?;
    let unit = heading.take(&["unit", "unit_of_measurement"])?;
    heading.ignore(|name| matches!(name, "state" | "end" | "mean" | "min" | "max" | "change" | "last_reset"));
    heading.finish()?;
    let mut collector = Collector::new(options);
    let mut last: Option<(String, usize, NumberFormat)> = None;
    while let Some(row) = table.next_row()? {
        let mut read = || {
            heading.check(row)?;
            let name = id.map_or(Ok(""), |id| row.text(id))?;
            let (series_idx, format) = match &last {
                Some((known, series_idx, format)) if known == name => (*series_idx, *format),
                _ => {
                    let said = unit.map_or(Ok(""), |unit| row.text(unit))?;
                    let unit = unit_of_standings(options, said).map_err(|e| e.in_field("sum"))?;
                    let label = SeriesLabel {
                        channel: Some(name.to_owned()).filter(|name| !name.is_empty()),
                        unit: unit.as_str().to_owned(),
                        quantity: Quantity::Register,
                        ..SeriesLabel::energy(direction_of(name))
                    };
                    let format =
                        NumberFormat { power_of_ten: unit.power_of_ten(), is_register: true, ..NumberFormat::KWH };
                    let series_idx = collector.series(&label)?;
                    last = Some((name.to_owned(), series_idx, format));
                    (series_idx, format)
                }
            };
            let stamp = stamp_of(row.text(start)?).map_err(|e| e.in_field("start"))?;
            let end = match stamp {
                Stamp::Instant(seconds, _) => Stamp::epoch(seconds + period).map_err(|e| e.in_field("start"))?,
                Stamp::Local(local) => Stamp::Local(local + chrono::TimeDelta::seconds(period)),
            };
            let times = collector.starting(end).map_err(|e| e.in_field("start"))?;
            let text = row.text(sum)?;
            let cell = match text {
                text if is_unknown(text) => Cell::Blank,
                text => Cell::Value(read_number(text, format).map_err(|e| e.in_field("sum"))?, Quality::Measured),
            };
            collector.count_row();
            collector.push(series_idx, row.line, times, cell)
        };
        read().map_err(|e: UsageError| e.at_line(row.line))?;
    }
    collector.finish(FORMAT)
}

/// ISO 8601, or seconds or milliseconds since the epoch.
fn stamp_of(text: &str) -> Result<Stamp, UsageError> {
    let whole = text.strip_suffix(".0").unwrap_or(text);
    match whole.parse::<i64>() {
        Ok(milliseconds) if whole.len() >= 13 => Stamp::epoch(milliseconds.div_euclid(1000)),
        Ok(seconds) if whole.len() >= 9 => Stamp::epoch(seconds),
        _ => Stamp::parse(text).map_err(|mut e| {
            e.message = format!("{:?} is no time like 2026-01-05T00:00:00Z or seconds since 1970", clip(text));
            e
        }),
    }
}

/// Five minutes where the beginning of the file has a time between full hours.
fn period_of(source: &Source<'_>) -> i64 {
    let mut table = Table::new(Box::new(source.head()), b',');
    let mut start = None;
    while let Ok(Some(row)) = table.next_row() {
        let Some(idx) = start else {
            start = row.texts().iter().position(|name| name.eq_ignore_ascii_case("start"));
            continue;
        };
        let seconds = match row.text(idx).and_then(stamp_of) {
            Ok(Stamp::Instant(seconds, _)) => seconds,
            Ok(Stamp::Local(local)) => local.and_utc().timestamp(),
            Err(_) => continue,
        };
        if seconds % HOUR != 0 {
            return FIVE_MINUTES;
        }
    }
    HOUR
}
