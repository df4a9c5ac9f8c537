//! Downloads of Tokyo Electric's customer site.
//!
//! | column | holds |
//! | --- | --- |
//! | `供給地点特定番号` | the supply point, 22 digits |
//! | `年月日` | a day; or the END of a half hour, 00:30 to 24:00 of the day it belongs to |
//! | `ご使用量`, `売電量` | kWh used and sold; `---`: no data |
//!
//! Customer, office and bill numbers, weekday, holiday mark and plan are no input. Values are rounded to 0.1 kWh: that is
//! said. `--stamp start` where a file turns out to carry starts.

use std::rc::Rc;

use super::super::super::collect::Collector;
use super::super::super::detect::StampSide;
use super::super::super::file::{Direction, SeriesLabel};
use super::super::super::number::{NumberFormat, clip};
use super::super::super::stamp::{DateOrder, Stamp, parse_clock};
use super::super::super::table::{Table, TableRow};
use super::super::super::unit::Unit;
use super::super::super::{Quality, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::super::generic::cell;
use super::super::heading::{Dates, Heading, delimiter_of, numbers};
use super::super::recent::Recent;
use super::in_japan;

/// The reader of Tokyo Electric's downloads.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct TokyoElectric;

impl UsageReader for TokyoElectric {
    fn format(&self) -> &'static str {
        "tokyo_electric"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        delimiter_of(source, is_heading).is_some()
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let options = in_japan(options);
        let delimiter = delimiter_of(source, is_heading).unwrap_or(b',');
        let mut table = Table::new(source.open()?, delimiter);
        let mut heading = Heading::find(&mut table, is_heading, |_| ())?;
        let meter = heading.take_where(|name| name.contains("供給地点"))?;
        let date = heading.need(&["年月日"])?;
        let mut values = Vec::new();
        if let Some(used) = heading.take_where(|name| name.contains("使用量"))? {
            values.push((used, Direction::Import));
        }
        if let Some(sold) = heading.take_where(|name| name.contains("売電量"))? {
            values.push((sold, Direction::Export));
        }
        heading.ignore(|name| NOT_READ.iter().any(|known| name.contains(known)));
        heading.finish()?;
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let n_values = values.len() as u64;
        let mut rows = Rows {
            meter,
            date,
            values,
            unit,
            number: numbers(unit, b'.'),
            is_end: options.stamp != Some(StampSide::Start),
            dates: Dates::new(&options, DateOrder::YearMonthDay),
            meters: Recent::new(),
            has_fine_values: false,
            collector: Collector::new(&options),
            heading,
        };
        while let Some(row) = table.next_row()? {
            rows.read_row(row).map_err(|e| e.at_line(row.line))?;
        }
        if !rows.has_fine_values {
            let detail = "values are rounded to 0.1 kWh: their sums differ a little from the supplier's bills";
            rows.collector.warn("values_rounded", None, detail);
        }
        let mut file = rows.collector.finish(self.format())?;
        file.values_per_row = n_values;
        Ok(file)
    }
}

/// Columns beside the readings.
const NOT_READ: [&str; 8] =
    ["お客さま番号", "事業所コード", "ご請求番号", "曜日", "休祝日", "契約メニュー", "契約種別", "料金"];

fn is_heading(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name.contains(wanted));
    names.iter().any(|name| name == "年月日") && has("使用量") && (has("事業所コード") || has("ご請求番号"))
}

/// The rows while they are read.
struct Rows {
    meter: Option<usize>,
    date: usize,
    values: Vec<(usize, Direction)>,
    unit: Unit,
    number: NumberFormat,
    is_end: bool,
    dates: Dates,
    /// Series of a supply point, one a column.
    meters: Recent<Rc<[usize]>>,
    /// A value has more decimals than one.
    has_fine_values: bool,
    collector: Collector,
    heading: Heading,
}

impl Rows {
    /// One row into the collector. Errors come without their line.
    fn read_row(&mut self, row: TableRow<'_>) -> Result<(), UsageError> {
        self.heading.check(row)?;
        let placed = self.dates.read_first(row.text(self.date)?).and_then(|(day, clock)| {
            if clock.is_empty() {
                return self.collector.between(Stamp::local(day, 0)?, Stamp::local(day, 24 * 60)?);
            }
            let stamp = Stamp::local(day, parse_clock(clock)?)?;
            if self.is_end { self.collector.ending(stamp) } else { self.collector.starting(stamp) }
        });
        let times = placed.map_err(|e| e.in_field("年月日"))?;
        let series = self.series(row)?;
        self.collector.count_row();
        for ((idx, _), series_idx) in self.values.iter().zip(series.iter()) {
            let text = row.text(*idx)?;
            let cell = cell(text, self.number, Quality::Measured).map_err(|e| e.in_field(self.heading.name(*idx)))?;
            self.has_fine_values |= text.split_once('.').is_some_and(|(_, decimals)| decimals.len() > 1);
            self.collector.push(*series_idx, row.line, times, cell)?;
        }
        Ok(())
    }

    /// The series of the row's supply point, one a column.
    fn series(&mut self, row: TableRow<'_>) -> Result<Rc<[usize]>, UsageError> {
        let Self { meters, meter, values, collector, unit, heading, .. } = self;
        let meter = meter.map_or(Ok(""), |idx| row.text(idx))?;
        if meter.contains(['E', 'e', '.']) {
            let message = format!(
                "{:?} is what a spreadsheet made of a number of 22 digits; download the file again",
                clip(meter)
            );
            return Err(UsageError::new(UsageCode::BadRow, message).in_field("供給地点特定番号"));
        }
        meters.get(&[meter.as_bytes()], || {
            let label = |(idx, direction): &(usize, Direction)| SeriesLabel {
                meter: (!meter.is_empty()).then(|| meter.to_owned()),
                channel: Some(heading.name(*idx).to_owned()),
                direction: *direction,
                unit: unit.as_str().to_owned(),
                quantity: unit.quantity(),
            };
            values.iter().map(|value| collector.series(&label(value))).collect()
        })
    }
}
