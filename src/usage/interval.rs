//! How long the intervals of a file are, when the file gives starts alone.
//!
//! The step from a start to the next one is the length, or the length and a gap. A step is taken as a length when
//! it is the file's most frequent one, or when it comes [`N_STEPS_OF_A_CHANGE`] times in a row (the meter was set
//! to another interval); a row before any other step lasts as long as the row before it.

use super::collect::Row;
use super::{UsageCode, UsageError};

/// Lengths of intervals that are read, seconds.
const ALLOWED_SECONDS: [i64; 4] = [300, 900, 1800, 3600];

/// Equal steps in a row that show another interval rather than gaps.
const N_STEPS_OF_A_CHANGE: usize = 3;

/// Whether an interval may have this length.
pub(super) fn is_allowed(seconds: i64) -> bool {
    ALLOWED_SECONDS.contains(&seconds)
}

/// Fills the lengths that are not known.
///
/// * `rows`: sorted by start, no two the same.
/// * `fallback`: length that other channels of the file have, for a channel of a single row.
///
/// # Errors
/// The index of a row and why its length cannot be told.
pub(super) fn derive_lengths(rows: &mut [Row], fallback: Option<u16>) -> Result<(), (usize, UsageError)> {
    if rows.iter().all(|row| row.seconds != 0) {
        return Ok(());
    }
    let step = |rows: &[Row], i: usize| rows[i + 1].start - rows[i].start;
    let n_steps = rows.len() - 1;
    let mut counts = [0usize; ALLOWED_SECONDS.len()];
    for i in 0..n_steps {
        if let Some(idx) = ALLOWED_SECONDS.iter().position(|allowed| *allowed == step(rows, i)) {
            counts[idx] += 1;
        }
    }
    let mut main = fallback.map_or(0, i64::from);
    let mut most = 0;
    for (seconds, count) in ALLOWED_SECONDS.iter().zip(counts) {
        if count > most {
            (main, most) = (*seconds, count);
        }
    }
    if main == 0 {
        return Err((0, unknown((n_steps > 0).then(|| step(rows, 0)))));
    }

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
            if length == main || (is_allowed(length) && end - i >= N_STEPS_OF_A_CHANGE) {
                current = u16::try_from(length).expect("an hour at most");
                first_known.get_or_insert(current);
            }
        }
        for row in &mut rows[i..end] {
            if row.seconds == 0 {
                row.seconds = current;
            }
        }
        i = end;
    }
    let first_known = first_known.unwrap_or(u16::try_from(main).expect("an hour at most"));
    for row in rows.iter_mut().filter(|row| row.seconds == 0) {
        row.seconds = first_known;
    }
    Ok(())
}

fn unknown(first_step: Option<i64>) -> UsageError {
    match first_step {
        None => UsageError::new(
            UsageCode::IntervalUnknown,
            "one reading alone does not say how long its interval is; add an end column (interval_minutes in JSON)",
        ),
        Some(seconds) => UsageError::new(
            UsageCode::IntervalLength,
            format!("readings are {} minutes apart; intervals of 5, 15, 30 and 60 minutes are read", seconds / 60),
        ),
    }
}
