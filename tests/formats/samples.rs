//! Files that other hands made, in `samples/` below the root that `SAMEBILL_SHARED` names: every series that
//! `expected.json` lists must be found, to the last digit, and what it says is refused must be.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rust_decimal::Decimal;
use samebill::usage::{Inspection, Quality, ReadOptions, UsageError, inspect, open, read};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    file: String,
    args: Vec<String>,
    #[serde(default)]
    series: Vec<(Option<u64>, String)>,
    refused: Option<String>,
}

/// The folder of samples; `None`, said aloud, where it is not and need not be.
pub(crate) fn samples() -> Option<PathBuf> {
    let root = std::env::var_os("SAMEBILL_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let samples = root.join("samples");
    if samples.is_dir() {
        return Some(samples);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is not there", samples.display());
    eprintln!("did not run: {} is not there", samples.display());
    None
}

fn options(args: &[String]) -> ReadOptions {
    let mut options = ReadOptions::default();
    for pair in args.chunks(2) {
        match pair {
            [flag, value] if flag == "--time-zone" => options.time_zone = Some(value.parse().unwrap()),
            other => panic!("{other:?} is no argument this test knows"),
        }
    }
    options
}

fn inspect_file(path: &PathBuf, options: &ReadOptions) -> Result<Inspection, UsageError> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    inspect(open(Cursor::new(bytes), options)?, &[])
}

/// Whether a series of the expected count and energy is there.
fn is_found(inspection: &Inspection, count: Option<u64>, kwh: &str) -> bool {
    let kwh = Decimal::from_str(kwh).unwrap();
    inspection.series.iter().any(|series| {
        let found = series.kwh.as_ref().map(|found| Decimal::from_str(found).unwrap());
        count.is_none_or(|count| count == series.intervals) && found == Some(kwh)
    })
}

/// The arguments that a sample needs.
fn options_of(file: &str, samples: &Path) -> ReadOptions {
    let text = std::fs::read_to_string(samples.join("expected.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    let case = cases.into_iter().find(|case| case.file == file && case.refused.is_none());
    case.map(|case| options(&case.args)).unwrap_or_default()
}

/// What the README of a sample says of one series: name, intervals with a value, kWh (blank where it is no energy), start
/// of the first, end of the last, intervals by quality other than measured.
pub(crate) type Fact<'f> = (&'f str, u64, &'f str, &'f str, &'f str, &'f [(Quality, u64)]);

/// Holds a sample to all of its series, and to the channels that an import finds in it (readings each; none where it
/// has to be asked).
#[track_caller]
pub(crate) fn facts(file: &str, expected: &[Fact<'_>], channels: &[(&str, usize)]) {
    let Some(samples) = samples() else { return };
    let options = options_of(file, &samples);
    let found = inspect_file(&samples.join(file), &options).unwrap();
    let found: Vec<String> = found
        .series
        .iter()
        .map(|s| {
            let qualities: BTreeMap<_, _> = s.quality.iter().filter(|(q, _)| **q != Quality::Measured).collect();
            let at = |instant: &Option<String>| instant.clone().unwrap_or_default().replace(":00Z", "Z");
            let kwh = s.kwh.clone().unwrap_or_default();
            format!("{} {} {kwh} {} {} {qualities:?}", s.name, s.intervals, at(&s.first_start), at(&s.last_end))
        })
        .collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|(name, intervals, kwh, first, last, qualities)| {
            let qualities: BTreeMap<_, _> = qualities.iter().copied().collect();
            format!("{name} {intervals} {kwh} {first} {last} {qualities:?}")
        })
        .collect();
    assert_eq!(found, expected, "{file}");
    let parsed = read(std::fs::File::open(samples.join(file)).unwrap(), &options);
    let read: Vec<(String, usize)> = match parsed {
        Ok(parsed) => parsed.readings.iter().map(|(channel, readings)| (channel.to_string(), readings.len())).collect(),
        Err(error) => {
            assert_eq!(error.code.as_str(), "channel_needed", "{error}");
            Vec::new()
        }
    };
    let channels: Vec<(String, usize)> = channels.iter().map(|(channel, n)| ((*channel).to_owned(), *n)).collect();
    assert_eq!(read, channels, "{file}");
}

/// All cases of one folder.
#[track_caller]
pub(crate) fn check(folder: &str) {
    let Some(samples) = samples() else { return };
    let text = std::fs::read_to_string(samples.join("expected.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.file.starts_with(&format!("{folder}/"))).collect();
    assert!(!cases.is_empty(), "no case in {folder}");
    let mut faults = Vec::new();
    for case in cases {
        let options = options(&case.args);
        let path = samples.join(&case.file);
        match (inspect_file(&path, &options), &case.refused) {
            (Ok(found), None) => {
                for (count, kwh) in &case.series {
                    if !is_found(&found, *count, kwh) {
                        let series: Vec<_> = found.series.iter().map(|s| (&s.name, s.intervals, &s.kwh)).collect();
                        faults.push(format!("{}: no series of {count:?} and {kwh} kWh in {series:?}", case.file));
                    }
                }
                for series in found.series.iter().filter(|series| !series.problems.is_empty()) {
                    faults.push(format!("{}: {} {:?}", case.file, series.name, series.problems));
                }
            }
            (Err(error), None) => faults.push(format!("{}: {} {error}", case.file, error.code)),
            (Err(_), Some(_)) => {}
            (Ok(_), Some(why)) => {
                // Read as series, and refused where it would be imported.
                let bytes = std::fs::read(&path).unwrap();
                if read(Cursor::new(bytes), &options).is_ok() {
                    faults.push(format!("{}: was read, and is {why}", case.file));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
