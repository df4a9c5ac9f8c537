//! Half hours as the API of Octopus Energy Japan answers them: a GraphQL answer in which each supply point (`spin`) has
//! `halfHourlyReadings`, wherever it lies.
//!
//! ```json
//! {"data": {"account": {"properties": [{"electricitySupplyPoints": [{"spin": "0100000000000000000001",
//!   "halfHourlyReadings": [{"startAt": "2026-07-01T00:00:00+09:00", "endAt": "2026-07-01T00:30:00+09:00",
//!     "value": "0.25", "version": "LATEST"}]}]}]}}}
//! ```
//!
//! `value` is kWh, as text. Of several values for a half hour the one of the newest `version` counts: `LATEST`, or the
//! highest number. Without `endAt` a reading is of half an hour. Costs, steps and bands of prices are no input, nor are
//! `intervalReadings`, which are the same energy by billing month. The direction is not in the answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::collect::{Cell, Collector, Rank};
use super::super::file::{Direction, SeriesLabel};
use super::super::number::{NumberFormat, clip};
use super::super::stamp::Stamp;
use super::super::{Quality, ReadOptions, Source, Unit, UsageError, UsageFile, UsageReader};
use super::json_walk::{JsonDocument, Scalar, digits, members, walk};

/// Length of a reading that does not say its end.
const HALF_HOUR_SECONDS: i64 = 1800;

/// The reader of answers of half hours.
#[derive(Debug, Clone, Copy)]
pub(super) struct OctopusJapanJson;

impl UsageReader for OctopusJapanJson {
    fn format(&self) -> &'static str {
        "octopus_japan_json"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        let name = b"\"halfHourlyReadings\"";
        source.head().trim_ascii_start().first() == Some(&b'{')
            && source.head().windows(name.len()).any(|window| window == name)
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let unit = options.unit.unwrap_or(Unit::KilowattHour);
        let mut answer = Answer {
            collector: Collector::new(options),
            unit,
            format: NumberFormat { power_of_ten: unit.power_of_ten(), ..NumberFormat::KWH },
            spin: None,
            n_unnamed: 0,
            series_idx: 0,
        };
        walk(source.open()?, &mut answer)?;
        answer.collector.finish(self.format())
    }
}

/// An answer while it is read.
struct Answer {
    collector: Collector,
    unit: Unit,
    format: NumberFormat,
    /// Of the supply point that is open, where it comes before its readings, and how deep it lies.
    spin: Option<(String, usize)>,
    n_unnamed: u32,
    series_idx: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Reading<'a> {
    #[serde(borrow)]
    start_at: Cow<'a, str>,
    #[serde(borrow, default)]
    end_at: Option<Cow<'a, str>>,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(borrow, default)]
    version: Option<&'a RawValue>,
    #[serde(default, rename = "costEstimate")]
    _cost_estimate: serde::de::IgnoredAny,
    #[serde(default, rename = "consumptionStep")]
    _consumption_step: serde::de::IgnoredAny,
    #[serde(default, rename = "consumptionRateBand")]
    _consumption_rate_band: serde::de::IgnoredAny,
    #[serde(default, rename = "__typename")]
    _typename: serde::de::IgnoredAny,
}

impl JsonDocument for Answer {
    fn holds_readings(&mut self, member: &str, depth: usize) -> Result<bool, UsageError> {
        // What is told of one supply point does not hold for the next.
        if self.spin.as_ref().is_some_and(|(_, at)| depth < *at) {
            self.spin = None;
        }
        Ok(member == "halfHourlyReadings")
    }

    fn scalar(&mut self, member: &str, value: Scalar<'_>, depth: usize) -> Result<(), UsageError> {
        if let ("spin", Scalar::Text(spin)) = (member, value) {
            self.spin = Some((clip(spin), depth));
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), UsageError> {
        let meter = match self.spin.take() {
            Some((spin, _)) => Some(spin),
            None => {
                self.n_unnamed += 1;
                (self.n_unnamed > 1).then(|| format!("supply point {}", self.n_unnamed))
            }
        };
        let label = SeriesLabel {
            meter,
            unit: self.unit.as_str().to_owned(),
            quantity: self.unit.quantity(),
            ..SeriesLabel::energy(Direction::Other)
        };
        self.series_idx = self.collector.series(&label)?;
        Ok(())
    }

    fn reading(&mut self, raw: &str, line: u64) -> Result<(), UsageError> {
        let reading: Reading<'_> = members(raw)?;
        let cell = match digits(reading.value).map_err(|e| e.in_field("value"))? {
            None => Cell::Blank,
            Some(text) => Cell::Value(self.format.read(&text).map_err(|e| e.in_field("value"))?, Quality::Measured),
        };
        let start = Stamp::parse(&reading.start_at).map_err(|e| e.in_field("startAt"))?;
        let times = match &reading.end_at {
            Some(end) => {
                let end = Stamp::parse(end).map_err(|e| e.in_field("endAt"))?;
                self.collector.between(start, end)
            }
            None => self.collector.starting(start).and_then(|times| times.lasting(HALF_HOUR_SECONDS)),
        };
        let times = times.map_err(|e| {
            let field = if e.field.as_deref() == Some("end") { "endAt" } else { "startAt" };
            e.in_field(field)
        })?;
        let version = reading.version.map_or(Ok(0), version).map_err(|e| e.in_field("version"))?;
        self.collector.count_row();
        self.collector.push_ranked(self.series_idx, line, times, cell, Rank { version, ..Rank::default() })
    }
}

/// The rank of a version: a number, or `LATEST` above all numbers. Two values of versions with other words contradict
/// each other.
fn version(raw: &RawValue) -> Result<i64, UsageError> {
    let text = digits(raw)?;
    Ok(match text.as_deref().map_or("", str::trim) {
        "LATEST" => i64::MAX,
        other => other.parse().unwrap_or(0),
    })
}
