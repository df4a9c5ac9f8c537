//! `samebill import usage`: readings of a customer, or of many meter points.

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use chrono_tz::Tz;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::super::client::{Reply, Target, escape, query};
use super::super::imports::{counts_sheet, not_stored};
use super::super::reading::ReadFlags;
use super::super::{CliError, Format, Report, Sheet};
use crate::words::CustomerId;

/// Import readings of a customer from a file, or of many meter points
///
/// All of a customer's readings or none. The same file again changes nothing; a reading that differs from the stored one is a
/// correction and marks the comparisons it touches stale. With --by-meter-point each meter point goes to the customer that
/// lists it, who commits on its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill import usage june.csv --customer c-1
  samebill import usage june.csv --customer c-1 --dry-run
  samebill import usage local-times.csv --customer c-1 --time-zone Europe/London --on-conflict refuse
  samebill import usage nem12.zip --by-meter-point")]
pub(crate) struct ImportUsage {
    /// Readings in any format that `samebill inspect` knows
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Whose readings
    #[arg(long, value_name = "ID", required_unless_present = "by_meter_point")]
    customer: Option<CustomerId>,
    /// Give the readings of each meter point to the customer that lists it
    #[arg(long, conflicts_with_all = ["customer", "channels", "fill_start", "fill_end"])]
    by_meter_point: bool,
    /// What local times without an offset are in [default: the customer's time zone]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<Tz>,
    #[command(flatten)]
    reading: ReadFlags,
    /// What becomes of a reading that differs from the stored one [default: replace, unless its quality is worse]
    #[arg(long, value_enum, value_name = "RULE")]
    on_conflict: Option<OnConflictFlag>,
    /// Declare gaps as zero, with a quality of its own: between the first and the last reading of the file
    #[arg(long, value_enum, value_name = "WITH")]
    fill: Option<FillFlag>,
    /// Fill from here instead: a local date or an instant
    #[arg(long, value_name = "START", requires = "fill", requires = "fill_end")]
    fill_start: Option<String>,
    /// … to here
    #[arg(long, value_name = "END", requires = "fill", requires = "fill_start")]
    fill_end: Option<String>,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

/// What becomes of a reading that differs from the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnConflictFlag {
    /// The new one replaces it, whatever its quality
    Replace,
    /// The stored one stays
    Keep,
    /// The import is refused
    Refuse,
}

impl OnConflictFlag {
    /// The word of the API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Keep => "keep",
            Self::Refuse => "refuse",
        }
    }
}

/// What gaps are declared to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FillFlag {
    /// Nothing was used
    Zero,
}

impl ImportUsage {
    /// Sends it and prints the answer.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let unreadable = |e: std::io::Error| CliError::unreadable(&self.file, &e);
        let n_bytes = std::fs::metadata(&self.file).map_err(unreadable)?.len();
        let zone = self.time_zone.map(|zone| zone.to_string());
        let name = self.file.file_name().map(|name| name.to_string_lossy());
        let reading = self.reading.parameters();
        let mut parameters = vec![
            ("time_zone", zone.as_deref()),
            ("on_conflict", self.on_conflict.map(OnConflictFlag::as_str)),
            ("file_name", name.as_deref()),
            ("fill", self.fill.map(|FillFlag::Zero| "zero")),
            ("fill_start", self.fill_start.as_deref()),
            ("fill_end", self.fill_end.as_deref()),
            ("dry_run", self.dry_run.then_some("true")),
        ];
        parameters.extend(reading.iter().map(|(name, value)| (*name, value.as_deref())));
        let path = match &self.customer {
            Some(customer) => format!("/v1/customers/{}/usage", escape(customer.as_str())),
            None => "/v1/imports".to_owned(),
        };
        let path = format!("{path}{}", query(&parameters));
        let progress = progress_bar(n_bytes);
        let outcome = self.target.client()?.upload(&path, "application/octet-stream", || {
            progress.set_position(0);
            Ok(progress.wrap_read(File::open(&self.file)?))
        });
        progress.finish_and_clear();
        let outcome = outcome?;
        let report = if self.by_meter_point { report_many(&outcome)? } else { report_usage(&outcome)? };
        report.print(format)
    }
}

/// Drawn on stderr, and only where that is a terminal.
fn progress_bar(n_bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}")
        .expect("the template is written in this file");
    ProgressBar::new(n_bytes).with_style(style).with_message("sending")
}

/// What an import of one customer did or would do.
fn report_usage(reply: &Reply) -> Result<Report, CliError> {
    let json = reply.json()?;
    let mut sheet = counts_sheet(&json);
    let mut text = format!("{}\n", sheet.table());
    if json["dry_run"] == true {
        let days = changed_days(&json);
        text = if days.is_empty() {
            "nothing would change\n".to_owned()
        } else {
            format!("What would change; nothing was stored.\n\n{text}\n{}\n", days.table())
        };
        sheet = days;
    } else if json["revision_before"] == json["revision_after"] {
        text.push_str("nothing changed: these readings were there already\n");
    }
    if let Some(earlier) = json["same_file_as"].as_str() {
        let _ = writeln!(text, "note: the same file as import {earlier}");
    }
    if let Some(id) = json["import_id"].as_str() {
        let _ = writeln!(text, "import {id}");
    }
    for warning in json["warnings"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "note: {}", warning["detail"].as_str().unwrap_or(""));
    }
    Ok(Report { json: reply.body.clone(), text, sheet })
}

/// The local days of a dry run.
pub(crate) fn changed_days(json: &Value) -> Sheet {
    let mut sheet = Sheet::new(["date", "channel", "added", "replaced", "removed", "kWh before", "kWh after"]);
    for day in json["days"].as_array().into_iter().flatten() {
        let text = |member: &str| day[member].as_str().unwrap_or("").to_owned();
        let number = |member: &str| day[member].as_u64().unwrap_or(0).to_string();
        sheet.row([
            text("date"),
            text("channel"),
            number("added"),
            number("replaced"),
            number("removed"),
            text("kwh_before"),
            text("kwh_after"),
        ]);
    }
    sheet
}

/// What became of a file of many meter points.
fn report_many(reply: &Reply) -> Result<Report, CliError> {
    let json = reply.json()?;
    let sheet = not_stored(&json["not_stored"]);
    let number = |member: &str| json["meter_points"][member].as_u64().unwrap_or(0);
    let is_dry = json["dry_run"] == true;
    let mut text = format!(
        "{}{} meter points stored, {} unmapped, {} refused, {} left\n\n{}\n",
        if is_dry { "What would be; nothing was stored.\n\n" } else { "" },
        number("done"),
        number("unmapped"),
        number("refused"),
        number("pending"),
        counts_sheet(&json["counts"]).table()
    );
    if !sheet.is_empty() {
        let _ = writeln!(text, "\n{}", sheet.table());
    }
    if let Some(id) = json["id"].as_str() {
        let _ = writeln!(text, "import {id}");
    }
    Ok(Report { json: reply.body.clone(), text, sheet })
}
