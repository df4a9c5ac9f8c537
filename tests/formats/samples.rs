//! Files that other hands made, in `samples/` below the root that `SAMEBILL_SHARED` names: every series that
//! `expected.json` lists must be found, to the last digit, and what it says is refused must be.

use std::io::Cursor;
use std::path::PathBuf;
use std::str::FromStr;

use rust_decimal::Decimal;
use samebill::usage::{Inspection, ReadOptions, UsageError, inspect, open, read};
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
fn samples() -> Option<PathBuf> {
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

/// All cases of one folder.
#[track_caller]
fn check(folder: &str) {
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
