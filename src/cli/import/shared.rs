//! `samebill import calendar`, `import prices` and `import event-list`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::client::{Target, escape, query};
use super::super::foreign::RateFlags;
use super::super::{CliError, Format, Report, Sheet};
use super::report_put;
use crate::shared::{Calendar, EventList};
use crate::tariff::{ForeignOptions, PlanFormat, prices_from_octopus};
use crate::words::InputName;

/// An input that a file holds whole.
#[derive(Debug, clap::Args)]
struct Whole {
    /// The name by which plans refer to it
    #[arg(long)]
    id: InputName,
    /// A name, for people [default: that of the file, if it says one]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// Put a calendar: the dates that plans call holidays
///
/// The file holds all its dates. Other dates make a new version, and the comparisons whose days they concern stale.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill import calendar holidays.txt --id us --name \"Federal holidays\"")]
pub(crate) struct ImportCalendar {
    /// One date a line, or JSON with `dates` and `name`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    whole: Whole,
}

/// Put prices by instant, which plans name as a series
///
/// Prices go into the series, in place of those that begin at the same instants. Other prices make a new version, and
/// the comparisons whose instants they concern stale.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill import prices day-ahead.csv --id spot
  samebill import prices all.csv --id spot --replace-all --step-minutes 30
  samebill import prices agile.json --id octopus_e_1r_agile_24_10_01_c")]
pub(crate) struct ImportPrices {
    /// CSV (start,price), JSON with `step_minutes` and `prices`, or the unit rates of an Octopus tariff
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The name by which plans refer to it
    #[arg(long)]
    id: InputName,
    #[command(flatten)]
    rates: RateFlags,
    /// For how long each price of a CSV file holds [default: the least distance between two]
    #[arg(long, value_name = "MINUTES")]
    step_minutes: Option<u32>,
    /// The file is the whole series: prices that it lacks are removed
    #[arg(long)]
    replace_all: bool,
    #[command(flatten)]
    target: Target,
}

/// Put an event list: the instants within which rules of plans hold, such as coincident peaks
///
/// The file holds all its events; those that overlap or meet are one. Other instants make a new version, and the
/// comparisons whose days they concern stale.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  samebill import event-list peaks.txt --id peaks --name \"Coincident peaks\"

A line of the file: 2026-07-15T14:00-04:00/2026-07-15T15:00-04:00, or 2026-07-15T18:00Z/PT1H")]
pub(crate) struct ImportEventList {
    /// One interval a line, CSV (start,end), or JSON with `events` and `name`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    whole: Whole,
}

impl ImportCalendar {
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let calendar =
            Calendar::read(&read(&self.file)?).map_err(|e| CliError::refused(Some(&self.file), &e.into()))?;
        let document = json!({"dates": calendar.dates});
        self.whole.put("calendar", document, calendar.name, format)
    }
}

impl ImportEventList {
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let list = EventList::read(&read(&self.file)?).map_err(|e| CliError::refused(Some(&self.file), &e.into()))?;
        let document = json!({"events": list.intervals()});
        self.whole.put("event list", document, list.name, format)
    }
}

impl Whole {
    /// Puts a document in place of the one before.
    ///
    /// * `what`: its kind, in words; `named`: its name in the file.
    fn put(self, what: &str, mut document: Value, named: Option<String>, format: Format) -> Result<(), CliError> {
        if let Some(name) = self.name.or(named) {
            document["name"] = json!(name);
        }
        let path = format!("/v1/{}s/{}", what.replace(' ', "-"), escape(self.id.as_str()));
        let reply = self.target.client()?.put(&path, "application/json", &document.to_string())?;
        report_put(&reply, what, self.id.as_str())?.print(format)
    }
}

impl ImportPrices {
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let text = read(&self.file)?;
        let (text, step_minutes) = prices_of(&text, &self.file, self.step_minutes, &self.rates.options())?;
        let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        let media_type = if is_json { "application/json" } else { "text/csv" };
        let step = step_minutes.map(|minutes| minutes.to_string());
        let parameters = query(&[("replace", self.replace_all.then_some("all")), ("step_minutes", step.as_deref())]);
        let path = format!("/v1/price-series/{}{parameters}", escape(self.id.as_str()));
        let reply = self.target.client()?.put(&path, media_type, text.trim_start_matches('\u{feff}'))?;
        let json = reply.json()?;
        let number = |member: &str| json[member].as_u64().unwrap_or(0).to_string();
        let mut sheet = Sheet::new(["id", "version", "prices", "added", "replaced", "unchanged", "removed"]);
        let counts = ["version", "n_prices", "added", "replaced", "unchanged", "removed"].map(number);
        sheet.row([self.id.to_string()].into_iter().chain(counts));
        let text = format!("{}\n", sheet.table());
        Report { json: reply.body.clone(), text, sheet }.print(format)
    }
}

/// A file of prices: as it is, or what the unit rates of an Octopus tariff come to.
pub(in crate::cli) fn prices_of(
    text: &str,
    path: &Path,
    step_minutes: Option<u32>,
    options: &ForeignOptions,
) -> Result<(String, Option<u32>), CliError> {
    if PlanFormat::detect(text) != PlanFormat::Octopus {
        return Ok((text.to_owned(), step_minutes));
    }
    let prices = prices_from_octopus(text, options).map_err(|e| CliError::refused(Some(path), &e.into()))?;
    Ok((prices.0, Some(prices.1)))
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|e| CliError::unreadable(path, &e))
}
