//! Bills that others published, billed from plans of ours: every line and total to the published digit.
//!
//! The published files are read from `worked-bills` below the root that `SAMEBILL_SHARED` names (default `../shared`);
//! each has a plan in `fixtures/plans/worked` and a case in `fixtures/bills/worked`.

mod bills;
mod case;
mod readings;

use std::path::{Path, PathBuf};

use bills::Outcome;
use case::{Case, Published};
use rust_decimal::Decimal;
use samebill::usage::Channel;

/// A published bill with what is needed to ask for it.
struct Worked {
    name: String,
    published: Published,
    case: Case,
}

#[test]
fn every_line_and_total_is_the_published_one() {
    let Some(folder) = published_folder() else { return };
    let mut failures = Vec::new();
    let mut n_right = 0;
    let cases = every_case(&folder);
    for worked in &cases {
        match bills::outcome(worked, &folder) {
            Outcome::Right => n_right += 1,
            Outcome::Refused(faults) => failures.push(format!("{}: refused: {}", worked.name, faults.join("\n    "))),
            Outcome::Wrong(differences) => failures.push(format!("{}: {}", worked.name, differences.join("\n    "))),
        }
    }
    assert!(failures.is_empty(), "{n_right} bills as published, and\n{}", failures.join("\n"));
}

#[test]
fn the_readings_of_every_case_have_the_published_totals() {
    let Some(folder) = published_folder() else { return };
    for Worked { name, published, case } in every_case(&folder) {
        for bill in &case.bills {
            let made = readings::make(bill, case.time_zone, &folder);
            for (channel, series) in &made {
                let complete = readings::are_complete(series, bill, &bill.readings[channel], case.time_zone);
                assert!(complete, "{name} {}: readings of {channel} have gaps", bill.name);
            }
            let import = &made[&Channel::import()];
            if !bill.import_kwh.is_empty() {
                let wanted: Decimal = bill.import_kwh.iter().map(|pointer| published.number(pointer)).sum();
                assert_eq!(readings::kwh_of_period(import, bill, case.time_zone), wanted, "{name} {}", bill.name);
            }
            for (series, columns) in &bill.series {
                let prices = readings::prices(columns, &folder);
                let minutes = bill.readings[&Channel::import()].minutes;
                assert_eq!(columns.minutes, minutes, "{name}: a price of {series} for each reading");
                assert!(import.readings().all(|r| prices.contains_key(&r.start)), "{name}: {series} lacks a price");
            }
        }
    }
}

/// The folder of the published bills; absent, the test says so, and fails in CI.
fn published_folder() -> Option<PathBuf> {
    let root = std::env::var_os("SAMEBILL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join("worked-bills");
    if folder.is_dir() {
        return Some(folder);
    }
    let message = format!("the published bills are not there: {} (set SAMEBILL_SHARED)", folder.display());
    assert!(std::env::var_os("CI").is_none(), "{message}");
    eprintln!("NOT RUN: {message}");
    None
}

/// Every published bill that has a case, in the order of their names. One without fails in CI.
fn every_case(folder: &Path) -> Vec<Worked> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bills/worked");
    let names = json_files(folder);
    let orphans: Vec<String> = json_files(&fixtures).into_iter().filter(|name| !names.contains(name)).collect();
    assert!(orphans.is_empty(), "cases of bills that are not published: {orphans:?}");
    let (known, unknown): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| fixtures.join(format!("{name}.json")).exists());
    if !unknown.is_empty() {
        let message = format!("published bills without a case and a plan: {unknown:?}");
        assert!(std::env::var_os("CI").is_none(), "{message}");
        eprintln!("NOT RUN: {message}");
    }
    assert!(!known.is_empty(), "no published bill in {}", folder.display());
    let read = |name: String| {
        let published = Published::from_json(&text_of(&folder.join(format!("{name}.json"))));
        let case = serde_json::from_str(&text_of(&fixtures.join(format!("{name}.json"))));
        let case: Case = case.unwrap_or_else(|e| panic!("the case of {name}: {e}"));
        Worked { name, published, case }
    };
    known.into_iter().map(read).collect()
}

fn json_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let file = entry.expect("an entry").file_name().into_string().expect("a plain name");
        file.strip_suffix(".json").map(str::to_owned)
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_unstable();
    names
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
