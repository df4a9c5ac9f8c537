//! `samebill inspect`: what a file of readings holds, offline.

mod plot;

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use chrono_tz::Tz;

use self::plot::Plot;
use super::reading::ReadFlags;
use super::{CliError, Format, Report, Sheet};
use crate::usage::{InspectedRange, InspectedSeries, Inspection, Quality, inspect_with, open};

/// Ranges that are listed for a series on the terminal; JSON has more.
const MAX_LISTED: usize = 8;

/// Say what a file of readings holds: every series, energy, gaps, and what was assumed
///
/// Nothing is stored. The format is found by content, whatever the file is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill inspect interval-data.xml
  samebill inspect download.csv --time-zone America/Los_Angeles --plot
  samebill inspect meters.csv --as nem12 --format json")]
pub(super) struct Inspect {
    /// The file: CSV, XML, JSON, Parquet, or one of them in a zip archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What local times without an offset are in, an IANA name such as Europe/London
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<Tz>,
    #[command(flatten)]
    reading: ReadFlags,
    /// Draw each series: a mean day, and a calendar of all days
    #[arg(long)]
    plot: bool,
}

impl Inspect {
    /// Reads and prints.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let options = self.reading.options(self.time_zone);
        let file = File::open(&self.file).map_err(|e| CliError::unreadable(&self.file, &e))?;
        let refused = |e: crate::usage::UsageError| CliError::refused(Some(&self.file), &e.into());
        let mut usage = open(file, &options).map_err(refused)?;
        let zone = self.time_zone.unwrap_or(Tz::UTC);
        let mut plots: Vec<Plot> = Vec::new();
        let inspection = inspect_with(&mut usage, &options.channels, |series, readings| {
            if self.plot && series.kwh.is_some() {
                plots.extend(Plot::new(&series.name, zone, readings));
            }
        });
        let inspection = inspection.map_err(refused)?;
        let json = serde_json::to_string(&inspection).map_err(|e| CliError::new("bad_result", e))?;
        let mut text = text(&inspection);
        for plot in plots {
            let _ = write!(text, "\n{}", plot.draw());
        }
        Report { json, text, sheet: sheet(&inspection, " ") }.print(format)
    }
}

/// `blank` stands for a blank in names: on the terminal one at which a line does not break.
fn sheet(inspection: &Inspection, blank: &str) -> Sheet {
    let header = ["series", "direction", "unit", "minutes", "intervals", "kWh", "from", "to", "gaps", "feeds"];
    let mut sheet = Sheet::new(header);
    for series in &inspection.series {
        let direction = serde_json::to_value(series.direction).unwrap_or_default();
        let instant = |instant: &Option<String>| instant.as_deref().map(short).unwrap_or_default();
        sheet.row([
            series.name.replace(' ', blank),
            direction.as_str().unwrap_or_default().to_owned(),
            series.unit.clone(),
            series.interval_minutes.map(|minutes| minutes.to_string()).unwrap_or_default(),
            series.intervals.to_string(),
            series.kwh.clone().unwrap_or_default(),
            instant(&series.first_start),
            instant(&series.last_end),
            series.n_gaps.to_string(),
            series.feeds.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    sheet
}

fn text(inspection: &Inspection) -> String {
    let count = match inspection.series.len() {
        1 => "one series".to_owned(),
        n => format!("{n} series"),
    };
    let mut text = format!("{}: {count}, instants in UTC\n\n", inspection.format);
    let _ = writeln!(text, "{}", sheet(inspection, "\u{a0}").table());
    for series in &inspection.series {
        remarks(series, &mut text);
    }
    for warning in &inspection.warnings {
        let line = warning.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let _ = writeln!(text, "note: {line}{} ({})", warning.detail, warning.code);
    }
    text
}

/// What is to be said of one series beyond its row.
fn remarks(series: &InspectedSeries, text: &mut String) {
    let name = &series.name;
    let not_measured = series.quality.iter().filter(|(quality, _)| **quality != Quality::Measured);
    for (quality, n) in not_measured {
        let word = serde_json::to_value(quality).unwrap_or_default();
        let _ = writeln!(text, "{name}: {n} {}", word.as_str().unwrap_or_default().replace('_', " "));
    }
    for (n, what) in [
        (series.blank, "left blank"),
        (series.exact_repeats, "repeated, counted once"),
        (series.older_versions, "replaced by a newer version in the file"),
    ] {
        if n > 0 {
            let _ = writeln!(text, "{name}: {n} {what}");
        }
    }
    list(name, "gap", &series.gaps, series.n_gaps, text);
    list(name, "claimed twice", &series.overlaps, series.overlaps.len() as u64, text);
    for problem in series.problems.iter().take(MAX_LISTED) {
        let place = match (problem.line, problem.other_line) {
            (Some(a), Some(b)) => format!("lines {a} and {b}: "),
            (Some(a), None) => format!("line {a}: "),
            _ => String::new(),
        };
        let _ = writeln!(text, "{name}: {place}{} ({})", problem.detail, problem.code);
    }
    if series.problems.len() > MAX_LISTED {
        let _ = writeln!(text, "{name}: and {} more contradictions", series.problems.len() - MAX_LISTED);
    }
}

fn list(name: &str, what: &str, ranges: &[InspectedRange], n: u64, text: &mut String) {
    for range in ranges.iter().take(MAX_LISTED) {
        let _ = writeln!(text, "{name}: {what} {} to {}", short(&range.start), short(&range.end));
    }
    let n_listed = ranges.len().min(MAX_LISTED) as u64;
    if n > n_listed {
        let _ = writeln!(text, "{name}: and {} more such ranges (--format json)", n - n_listed);
    }
}

/// An instant to the minute: `2026-06-14T00:30`.
fn short(instant: &str) -> String {
    instant.get(..16).unwrap_or(instant).to_owned()
}
