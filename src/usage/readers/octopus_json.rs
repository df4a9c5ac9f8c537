//! Consumption as the API of Octopus Energy (Great Britain) answers it:
//!
//! ```json
//! {"count": 96, "next": null, "previous": null, "results": [
//!   {"consumption": 0.095,
//!    "interval_start": "2026-05-31T23:30:00+01:00", "interval_end": "2026-06-01T00:00:00+01:00"}]}
//! ```
//!
//! Newest first, in pages of which `next` names the next one: a file of one page says so. The answer for electricity,
//! fed in or taken, and for gas is the same, and none of them says the unit: it is read as electricity in kWh, which is
//! said; `--unit` overrides the unit. There are no qualities. A consumption of null is a gap.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::collect::{Cell, Collector};
use super::super::file::{Direction, SeriesLabel};
use super::super::number::NumberFormat;
use super::super::{Quality, ReadOptions, Source, Unit, UsageCode, UsageError, UsageFile, UsageReader};
use super::json_walk::{JsonDocument, Scalar, digits, members, walk};

/// The reader of answers about consumption.
#[derive(Debug, Clone, Copy)]
pub(super) struct OctopusJson;

impl UsageReader for OctopusJson {
    fn format(&self) -> &'static str {
        "octopus_json"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let has = |name: &str| source.head().windows(name.len()).any(|window| window == name.as_bytes());
        source.head().trim_ascii_start().first() == Some(&b'{')
            && has("\"results\"")
            && (has("\"interval_start\"") || has("\"count\""))
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let mut collector = Collector::new(options);
        let label = SeriesLabel {
            channel: Some("consumption".to_owned()),
            unit: unit.as_str().to_owned(),
            quantity: unit.quantity(),
            ..SeriesLabel::energy(Direction::Other)
        };
        let series_idx = collector.series(&label)?;
        let format = NumberFormat { power_of_ten: unit.power_of_ten(), ..NumberFormat::KWH };
        let mut page = Page { collector, series_idx, format, n_results: 0, count: None, is_part: false };
        walk(source.open()?, &mut page)?;
        if options.unit.is_none() {
            let detail = "the file does not say whether it is electricity or gas: read as electricity in kWh";
            page.collector.warn("electricity_assumed", None, detail);
        }
        if page.is_part {
            let detail = "the answer has more pages: only the readings of this one are read";
            page.collector.warn("more_pages", None, detail);
        } else if let Some(count) = page.count.filter(|count| *count != page.n_results) {
            let detail = format!("the answer counts {count} readings and has {}", page.n_results);
            page.collector.warn("count_differs", None, detail);
        }
        page.collector.finish(self.format())
    }
}

/// A page while it is read.
struct Page {
    collector: Collector,
    series_idx: usize,
    format: NumberFormat,
    n_results: u64,
    count: Option<u64>,
    is_part: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading<'a> {
    #[serde(borrow)]
    consumption: &'a RawValue,
    #[serde(borrow)]
    interval_start: Cow<'a, str>,
    #[serde(borrow)]
    interval_end: Cow<'a, str>,
}

impl JsonDocument for Page {
    fn holds_readings(&mut self, member: &str, depth: usize) -> Result<bool, UsageError> {
        match member {
            "results" if depth == 1 => Ok(true),
            "count" | "next" | "previous" if depth == 1 => Ok(false),
            _ => {
                let message = "the member is not known; known are count, next, previous and results";
                Err(UsageError::new(UsageCode::UnknownColumn, message))
            }
        }
    }

    fn scalar(&mut self, member: &str, value: Scalar<'_>, _: usize) -> Result<(), UsageError> {
        match (member, value) {
            ("count", Scalar::Count(count)) => self.count = Some(count),
            ("next" | "previous", Scalar::Text(_)) => self.is_part = true,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), UsageError> {
        Ok(())
    }

    fn reading(&mut self, raw: &str, line: u64) -> Result<(), UsageError> {
        let reading: Reading<'_> = members(raw)?;
        self.n_results += 1;
        let cell = match digits(reading.consumption).map_err(|e| e.in_field("consumption"))? {
            None => Cell::Blank,
            Some(text) => {
                let value = self.format.read(&text).map_err(|e| e.in_field("consumption"))?;
                Cell::Value(value, Quality::Measured)
            }
        };
        let times = self.collector.times(&reading.interval_start, Some(&reading.interval_end), None);
        let times = times.map_err(|e| {
            let field = e
                .field
                .as_ref()
                .map_or("interval", |field| if field == "start" { "interval_start" } else { "interval_end" });
            e.in_field(field)
        })?;
        self.collector.count_row();
        self.collector.push(self.series_idx, line, times, cell)
    }
}
