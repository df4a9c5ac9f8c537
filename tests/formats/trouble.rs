//! Troubles that are the same for every format: no zone, an empty file, a cut, a mark and other line ends.

use std::io::Cursor;

use samebill::usage::{ReadOptions, open, read};

use super::told::{mutate, told};

/// Starts (UTC, `MM-DD hh:mm`) and minutes of the readings of the series at `series_idx`.
pub(crate) fn starts(text: impl AsRef<[u8]>, options: &ReadOptions, series_idx: usize) -> Vec<String> {
    let mut file = open(Cursor::new(text.as_ref()), options).unwrap();
    let series = file.series(series_idx).unwrap();
    assert!(series.problems.is_empty(), "{:?}", series.problems);
    let start = |reading: samebill::usage::Reading| {
        let start = chrono::DateTime::from_timestamp(reading.start, 0).unwrap();
        format!("{} {}", start.format("%m-%d %H:%M"), reading.seconds / 60)
    };
    series.readings.iter().map(start).collect()
}

/// Checks a good file in the troubles that no format is spared.
///
/// * `n_heading`: lines down to the heading.
/// * `delimiter`: what the last row is cut before.
#[track_caller]
pub(crate) fn check_common(base: &str, options: &ReadOptions, n_heading: usize, delimiter: char) {
    let whole = told(base, options);
    let marked = format!("\u{feff}{}", base.replace('\n', "\r\n"));
    assert_eq!(told(marked, options), whole, "byte-order mark and CRLF");
    assert_eq!(told(base.trim_end_matches('\n'), options), whole, "no end of the last line");
    if options.time_zone.is_some() {
        let error = read(Cursor::new(base), &ReadOptions::default()).unwrap_err();
        assert_eq!((error.code.as_str(), error.line.is_some()), ("time_zone_needed", true));
    }
    let heading: String = base.split_inclusive('\n').take(n_heading).collect();
    assert_eq!(told(&heading, options), "no_readings", "a heading alone");
    let format = open(Cursor::new(base), options).unwrap().format;
    let said = ReadOptions { format: Some(format.to_owned()), ..options.clone() };
    assert_eq!(told("", &said), "no_readings", "an empty file");
    assert_eq!(told(base, &said), whole, "the format named");
    let cut = &base[..base.trim_end().rfind(delimiter).unwrap()];
    assert_eq!(told(cut, options), format!("bad_row@{}", cut.lines().count()), "cut within a row");
    mutate(base.as_bytes(), options, 100);
    mutate(base.as_bytes(), &said, 60);
}
