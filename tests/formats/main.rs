//! Files of readings: what each fixture holds, to the last digit, or where and why it is refused.

mod clock_changes;
mod csv_files;
mod europe;
mod europe_hours;
mod generic_csv;
mod green_button;
mod home_assistant;
mod japan;
mod json_files;
mod nem12;
mod octopus;
mod octopus_csv;
#[cfg(feature = "parquet")]
mod parquet;
mod robust;
mod samples;
mod samples_nem;
mod samples_utilities;
mod samples_xml;
mod told;
mod trouble;
mod us_utilities;
mod year_round;

use std::path::PathBuf;

use chrono_tz::Tz;
use samebill::usage::{Channel, ParsedUsage, Quality, ReadOptions, Reading, UsageError, read};

/// Reads a file of `fixtures/usage`.
fn read_fixture(name: &str, zone: Option<Tz>) -> Result<ParsedUsage, UsageError> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    read(file, &ReadOptions { time_zone: zone, ..ReadOptions::default() })
}

fn read_text(text: &str) -> Result<ParsedUsage, UsageError> {
    read(std::io::Cursor::new(text), &ReadOptions::default())
}

fn seconds(instant: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(instant).unwrap().timestamp()
}

/// A measured reading: start, minutes, milliwatt-hours.
fn measured(start: &str, minutes: u32, milliwatt_hours: i64) -> Reading {
    Reading { start: seconds(start), seconds: minutes * 60, milliwatt_hours, quality: Quality::Measured }
}

fn import(usage: &ParsedUsage) -> Vec<Reading> {
    usage.readings[&Channel::import()].to_vec()
}

/// Code and line of a refusal.
#[track_caller]
fn refusal(outcome: Result<ParsedUsage, UsageError>) -> (&'static str, Option<u64>, Option<u64>) {
    let error = outcome.expect_err("the file is refused");
    (error.code.as_str(), error.line, error.other_line)
}
