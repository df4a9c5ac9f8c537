//! One small file a format, changed a line at a time: what is told of each change, in one line of text.

use std::fmt::Write as _;
use std::io::Cursor;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use samebill::usage::{Quality, ReadOptions, inspect, open};

/// A file of `fixtures/usage`.
pub(crate) fn fixture(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Options with a time zone.
pub(crate) fn zone(name: &str) -> ReadOptions {
    ReadOptions { time_zone: Some(name.parse().unwrap()), ..ReadOptions::default() }
}

/// `E1 48 53.328 estimated=2 repeats=1 gaps=1 conflict@3+5; B1 …| code code`, or `bad_row@3 field`.
pub(crate) fn told(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let inspection = match open(Cursor::new(bytes.as_ref()), options).and_then(|file| inspect(file, &[])) {
        Ok(inspection) => inspection,
        Err(error) => {
            let line = error.line.map_or(String::new(), |line| format!("@{line}"));
            let field = error.field.map_or(String::new(), |field| format!(" {field}"));
            return format!("{}{line}{field}", error.code);
        }
    };
    let mut text = String::new();
    for (idx, series) in inspection.series.iter().enumerate() {
        let kwh = series.kwh.as_deref().unwrap_or("-");
        let separator = if idx == 0 { "" } else { "; " };
        write!(text, "{separator}{} {} {kwh}", series.name, series.intervals).unwrap();
        for (quality, n) in series.quality.iter().filter(|(quality, _)| **quality != Quality::Measured) {
            write!(text, " {}={n}", format!("{quality:?}").to_lowercase()).unwrap();
        }
        let counts = [
            ("blank", series.blank),
            ("repeats", series.exact_repeats),
            ("older", series.older_versions),
            ("gaps", series.n_gaps),
        ];
        for (name, n) in counts.into_iter().filter(|(_, n)| *n > 0) {
            write!(text, " {name}={n}").unwrap();
        }
        for problem in &series.problems {
            write!(text, " {}@{}", problem.code, problem.line.unwrap_or(0)).unwrap();
            if let Some(other) = problem.other_line {
                write!(text, "+{other}").unwrap();
            }
        }
    }
    let codes: Vec<&str> = inspection.warnings.iter().map(|warning| warning.code).collect();
    if !codes.is_empty() {
        write!(text, " | {}", codes.join(" ")).unwrap();
    }
    text
}

/// The file with one text in place of another that has to be in it.
#[track_caller]
pub(crate) fn changed(base: &str, from: &str, to: &str) -> String {
    assert!(base.contains(from), "{from:?} is not in the file");
    base.replacen(from, to, 1)
}

/// Checks what is told of each change.
#[track_caller]
pub(crate) fn check_changes(base: &str, options: &ReadOptions, changes: &[(&str, &str, &str)]) {
    let mut faults = String::new();
    for (from, to, expected) in changes {
        let found = told(changed(base, from, to), options);
        if found != *expected {
            writeln!(faults, "{from:?} -> {to:?}\n  found    {found}\n  expected {expected}").unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Bytes cut off and flipped: readings or a refusal, never a panic.
pub(crate) fn mutate(bytes: &[u8], options: &ReadOptions, n_cases: u32) {
    let config = ProptestConfig { cases: n_cases, failure_persistence: None, ..ProptestConfig::default() };
    let flips = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let strategy = (any::<prop::sample::Index>(), any::<bool>(), flips);
    TestRunner::new(config)
        .run(&strategy, |(cut, is_cut, flips)| {
            let n = if is_cut { cut.index(bytes.len()) } else { bytes.len() };
            let mut bytes = bytes[..n].to_vec();
            for (at, byte) in flips.into_iter().filter(|_| n > 0) {
                bytes[at.index(n)] = byte;
            }
            let _ = told(bytes, options);
            Ok(())
        })
        .unwrap();
}
