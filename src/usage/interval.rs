//! How long the intervals of a file are, when the file gives starts alone.
//!
//! The step from a start to the next one is the length, or the length and a gap. A step is taken as a length when
//! it is the file's most frequent one, or when it comes [`N_STEPS_OF_A_CHANGE`] times in a row (the meter was set
//! to another interval); a row before any other step lasts as long as the row before it. Local days last 23, 24 or 25
//! hours.

use super::collect::Row;
use super::{UsageCode, UsageError};

/// Lengths of intervals that are read, minutes: what divides an hour, and local days with and without a clock change
/// (of an hour, or of half an hour on Lord Howe Island).
const ALLOWED_MINUTES: [u16; 17] = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 1380, 1410, 1440, 1470, 1500];

/// The shortest local day, minutes.
const SHORTEST_DAY: u16 = 1380;

/// Equal steps in a row that show another interval rather than gaps.
const N_STEPS_OF_A_CHANGE: usize = 3;

/// The length in minutes, if an interval may have it.
pub(super) fn allowed_minutes(seconds: i64) -> Option<u16> {
    let minutes = u16::try_from(seconds / 60).ok().filter(|_| seconds % 60 == 0)?;
    ALLOWED_MINUTES.contains(&minutes).then_some(minutes)
}

/// The refusal of another length.
pub(super) fn length_error(length: &str) -> UsageError {
    let message =
        format!("an interval has minutes that divide an hour (5, 15, 30, 60, …) or is a local day, not {length}");
    UsageError::new(UsageCode::IntervalLength, message)
}

/// Fills the lengths that are not known.
///
/// * `rows`: sorted by start, no two the same.
/// * `fallback`: length in minutes that other series of the file have, for a series of a single row.
///
/// # Errors
/// The index of a row and why its length cannot be told.
pub(super) fn derive_lengths(rows: &mut [Row], fallback: Option<u16>) -> Result<(), (usize, UsageError)> {
    if rows.iter().all(|row| row.minutes != 0) {
        return Ok(());
    }
    let step = |rows: &[Row], i: usize| rows[i + 1].start - rows[i].start;
    let n_steps = rows.len() - 1;
    let mut counts = [0usize; ALLOWED_MINUTES.len()];
    for i in 0..n_steps {
        let seconds = step(rows, i);
        if let Some(idx) = ALLOWED_MINUTES.iter().position(|allowed| i64::from(*allowed) * 60 == seconds) {
            counts[idx] += 1;
        }
    }
    let mut main = fallback.unwrap_or(0);
    let mut most = 0;
    for (minutes, count) in ALLOWED_MINUTES.iter().zip(counts) {
        // Two readings a day apart may as well be two half hours.
        if count > most && (count > 1 || *minutes < SHORTEST_DAY) {
            (main, most) = (*minutes, count);
        }
    }
    if main == 0 {
        return Err((0, unknown((n_steps > 0).then(|| step(rows, 0)))));
    }

    let is_day = |minutes: u16| minutes >= SHORTEST_DAY;
    let mut first_known = None;
    let mut current = 0;
    let mut i = 0;
    while i < rows.len() {
        let mut end = i + 1;
        if i < n_steps {
            let length = step(rows, i);
            while end < n_steps && step(rows, end) == length {
                end += 1;
            }
            if let Some(minutes) = allowed_minutes(length)
                && (minutes == main || is_day(minutes) && is_day(main) || end - i >= N_STEPS_OF_A_CHANGE)
            {
                current = minutes;
                first_known.get_or_insert(current);
            }
        }
        for row in &mut rows[i..end] {
            if row.minutes == 0 {
                row.minutes = current;
            }
        }
        i = end;
    }
    let first_known = first_known.unwrap_or(main);
    for row in rows.iter_mut().filter(|row| row.minutes == 0) {
        row.minutes = first_known;
    }
    Ok(())
}

fn unknown(first_step: Option<i64>) -> UsageError {
    match first_step {
        None => UsageError::new(
            UsageCode::IntervalUnknown,
            "one reading alone does not say how long its interval is; add an end column (interval_minutes in JSON)",
        ),
        Some(seconds) => length_error(&format!("the {} minutes from one reading to the next", seconds / 60)),
    }
}
