//! New readings of one channel merged into the stored ones. Pure: nothing is read or written here.

use std::ops::Range;

use thiserror::Error;

use super::{Quality, Reading};

/// What to do with a reading that differs from the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The stored reading stays where the new one is of worse quality; else the new one replaces it.
    #[default]
    ReplaceUnlessWorse,
    /// `on_conflict=replace` was said: the new one replaces it, whatever its quality.
    Replace,
    /// The stored one stays.
    Keep,
    /// The import is refused.
    Refuse,
}

impl OnConflict {
    /// The rule's name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReplaceUnlessWorse => "replace_unless_worse",
            Self::Replace => "replace",
            Self::Keep => "keep",
            Self::Refuse => "refuse",
        }
    }
}

/// What a merge made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Stored and new readings together, sorted by start.
    pub readings: Vec<Reading>,
    /// Readings where none was.
    pub added: u64,
    /// Readings that replaced another one.
    pub replaced: u64,
    /// Readings that differ and did not replace the stored one.
    pub kept: u64,
    /// Readings that were there already.
    pub unchanged: u64,
}

/// Why readings cannot be merged. Instants are seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// Two intervals share time without being the same interval: hourly values over quarter hours, or values
    /// that start at another minute. Neither can be said to correct the other.
    #[error("the interval from {} overlaps the one from {}", utc(.incoming.start), utc(.other.start))]
    Overlap {
        /// The new interval.
        incoming: Range<i64>,
        /// The one that is stored, or the new one before it.
        other: Range<i64>,
    },
    /// [`OnConflict::Refuse`], and a reading differs from the stored one.
    #[error("the reading from {} differs from the stored one", utc(*.start))]
    Differs {
        /// The first such reading's start.
        start: i64,
    },
    /// A reading without length, or one that ends after the last instant.
    #[error("the reading from {} has no length", utc(*.start))]
    NoLength {
        /// Its start.
        start: i64,
    },
}

fn utc(seconds: i64) -> String {
    match chrono::DateTime::from_timestamp(seconds, 0) {
        Some(instant) => instant.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        None => format!("{seconds} s"),
    }
}

/// Merges `incoming` into `stored`, both sorted by start; `stored` is free of overlap.
///
/// Intervals correct each other only if they have the same start and length. A gap that was declared zero is no reading:
/// whatever `on_conflict` says, any reading takes its place, also one of another length, and it takes that of none.
///
/// # Errors
/// * [`MergeError::Overlap`] when a new interval overlaps another one that is not the same interval, whatever
///   `on_conflict` says, and when `incoming` is not sorted or overlaps itself.
/// * [`MergeError::Differs`] when `on_conflict` is [`OnConflict::Refuse`] and a value or quality differs.
pub fn merge(stored: &[Reading], incoming: &[Reading], on_conflict: OnConflict) -> Result<Merged, MergeError> {
    let mut merged = Merged { readings: Vec::with_capacity(stored.len().max(incoming.len())), ..Merged::default() };
    let mut rest = stored;
    let mut previous: Option<&Reading> = None;
    for new in incoming {
        if new.seconds == 0 || new.start.checked_add(i64::from(new.seconds)).is_none() {
            return Err(MergeError::NoLength { start: new.start });
        }
        if let Some(previous) = previous.filter(|previous| previous.end() > new.start) {
            return Err(overlap(new, previous));
        }
        previous = Some(new);
        let n_before = rest.iter().take_while(|old| old.end() <= new.start).count();
        let (before, after) = rest.split_at(n_before);
        merged.readings.extend_from_slice(before);
        rest = after;
        while rest.first().is_some_and(|old| gives_way(old, new)) {
            rest = &rest[1..];
        }
        match rest.first().filter(|old| old.start < new.end()) {
            None => {
                merged.added += 1;
                merged.readings.push(*new);
            }
            Some(old) if old.start != new.start || old.seconds != new.seconds => return Err(overlap(new, old)),
            Some(old) => {
                rest = &rest[1..];
                if old == new {
                    merged.unchanged += 1;
                    merged.readings.push(*old);
                } else if replaces(old.quality, new.quality, on_conflict)
                    .ok_or(MergeError::Differs { start: new.start })?
                {
                    merged.replaced += 1;
                    merged.readings.push(*new);
                } else {
                    merged.kept += 1;
                    merged.readings.push(*old);
                }
            }
        }
    }
    merged.readings.extend_from_slice(rest);
    Ok(merged)
}

/// Whether an interval is a gap that was declared zero, in the way of a reading of another interval.
fn gives_way(old: &Reading, new: &Reading) -> bool {
    let is_same = (old.start, old.seconds) == (new.start, new.seconds);
    old.quality == Quality::FilledZero && is_read(new.quality) && old.start < new.end() && !is_same
}

/// Whether somebody says how much energy it was: measured, substituted, estimated.
fn is_read(quality: Quality) -> bool {
    quality < Quality::FilledZero
}

/// Whether the new reading replaces one that differs; `None`: neither, the import is refused.
fn replaces(old: Quality, new: Quality, on_conflict: OnConflict) -> Option<bool> {
    if old == Quality::FilledZero && is_read(new) {
        return Some(true);
    }
    if new == Quality::FilledZero && is_read(old) {
        return Some(false);
    }
    match on_conflict {
        OnConflict::Refuse => None,
        OnConflict::Keep => Some(false),
        OnConflict::Replace => Some(true),
        OnConflict::ReplaceUnlessWorse => Some(new <= old),
    }
}

fn overlap(incoming: &Reading, other: &Reading) -> MergeError {
    MergeError::Overlap { incoming: incoming.start..incoming.end(), other: other.start..other.end() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{changed_instants, differences};
    use super::*;

    fn changed(stored: &[Reading], merged: &Merged) -> Vec<Range<i64>> {
        changed_instants(&differences(stored, &merged.readings))
    }

    fn reading(start: i64, seconds: u32, milliwatt_hours: i64) -> Reading {
        Reading { start, seconds, milliwatt_hours, quality: Quality::Measured }
    }

    fn hours(values: &[i64]) -> Vec<Reading> {
        values.iter().zip(0..).map(|(value, hour)| reading(hour * 3600, 3600, *value)).collect()
    }

    #[test]
    fn new_readings_are_added_and_the_same_again_changes_nothing() {
        let merged = merge(&[], &hours(&[1, 2, 3]), OnConflict::default()).unwrap();
        assert_eq!((merged.added, changed(&[], &merged).as_slice()), (3, std::slice::from_ref(&(0..10_800))));
        let again = merge(&merged.readings, &hours(&[1, 2, 3]), OnConflict::default()).unwrap();
        assert_eq!((again.unchanged, again.added, changed(&merged.readings, &again).len()), (3, 0, 0));
        assert_eq!(again.readings, merged.readings);
    }

    #[test]
    fn a_gap_is_filled_in_the_middle() {
        let stored = [reading(0, 3600, 1), reading(7200, 3600, 3)];
        let merged = merge(&stored, &hours(&[1, 2, 3]), OnConflict::Refuse).unwrap();
        assert_eq!((merged.added, merged.unchanged), (1, 2));
        assert_eq!(changed(&stored, &merged).as_slice(), std::slice::from_ref(&(3600..7200)));
        assert_eq!(merged.readings, hours(&[1, 2, 3]));
    }

    #[test]
    fn a_correction_replaces_and_names_only_what_changed() {
        let stored = hours(&[1, 2, 3, 4]);
        let merged = merge(&stored, &hours(&[1, 9, 3, 8]), OnConflict::default()).unwrap();
        assert_eq!((merged.replaced, merged.unchanged), (2, 2));
        assert_eq!(changed(&stored, &merged), [3600..7200, 10_800..14_400]);
        assert_eq!(merged.readings, hours(&[1, 9, 3, 8]));
    }

    #[test]
    fn a_worse_quality_replaces_only_if_replace_is_said() {
        let stored = hours(&[5]);
        let estimate = [Reading { quality: Quality::Estimated, ..reading(0, 3600, 6) }];
        let kept = merge(&stored, &estimate, OnConflict::ReplaceUnlessWorse).unwrap();
        assert_eq!((kept.kept, kept.readings), (1, stored.clone()));
        let replaced = merge(&stored, &estimate, OnConflict::Replace).unwrap();
        assert_eq!((replaced.replaced, replaced.readings), (1, estimate.to_vec()));
        let better = merge(&estimate, &stored, OnConflict::ReplaceUnlessWorse).unwrap();
        assert_eq!(better.replaced, 1);
        let missing = [Reading { quality: Quality::Missing, ..reading(0, 3600, 0) }];
        assert_eq!(merge(&stored, &missing, OnConflict::ReplaceUnlessWorse).unwrap().kept, 1);
    }

    /// Every pair of qualities under every rule: what becomes of a stored reading that another one differs from.
    #[test]
    fn every_pair_of_qualities_follows_the_stated_rule() {
        use Quality::{Estimated, FilledZero, Measured, Missing, Substituted};
        let all = [Measured, Substituted, Estimated, FilledZero, Missing];
        let one = |milliwatt_hours, quality| {
            let milliwatt_hours = if quality < FilledZero { milliwatt_hours } else { 0 };
            [Reading { milliwatt_hours, quality, ..reading(0, 3600, 0) }]
        };
        // Rows: what is stored; columns: what comes; y replaces, n is kept, x is refused, - is the same.
        let table = [
            (OnConflict::ReplaceUnlessWorse, ["ynnnn", "yynnn", "yyynn", "yyy-n", "yyyy-"]),
            (OnConflict::Replace, ["yyyny", "yyyny", "yyyny", "yyy-y", "yyyy-"]),
            (OnConflict::Keep, ["nnnnn", "nnnnn", "nnnnn", "yyy-n", "nnnn-"]),
            (OnConflict::Refuse, ["xxxnx", "xxxnx", "xxxnx", "yyy-x", "xxxx-"]),
        ];
        for (on_conflict, rows) in table {
            for (old, row) in all.into_iter().zip(rows) {
                for (new, expected) in all.into_iter().zip(row.chars()) {
                    let (stored, incoming) = (one(1, old), one(2, new));
                    let merged = merge(&stored, &incoming, on_conflict);
                    let told = match &merged {
                        Err(MergeError::Differs { start: 0 }) => 'x',
                        Ok(merged) if merged.unchanged == 1 => '-',
                        Ok(merged) if merged.replaced == 1 && merged.readings == incoming => 'y',
                        Ok(merged) if merged.kept == 1 && merged.readings == stored => 'n',
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(told, expected, "{new:?} over {old:?}, {on_conflict:?}");
                }
            }
        }
    }

    #[test]
    fn a_reading_of_another_length_takes_the_place_of_declared_zeros() {
        let zero = |start| Reading { quality: Quality::FilledZero, ..reading(start, 900, 0) };
        let stored = [zero(0), zero(900), zero(1800), zero(2700), zero(3600)];
        let merged = merge(&stored, &hours(&[8]), OnConflict::Keep).unwrap();
        assert_eq!(merged.readings, [reading(0, 3600, 8), zero(3600)]);
        assert_eq!((merged.added, changed(&stored, &merged).as_slice()), (1, std::slice::from_ref(&(0..3600))));
        let missing = [Reading { quality: Quality::Missing, ..reading(0, 3600, 0) }];
        assert!(matches!(merge(&stored, &missing, OnConflict::Replace), Err(MergeError::Overlap { .. })));
    }

    #[test]
    fn keep_keeps_and_refuse_names_the_first_difference() {
        let stored = hours(&[1, 2, 3]);
        let kept = merge(&stored, &hours(&[1, 8, 9, 4]), OnConflict::Keep).unwrap();
        assert_eq!((kept.kept, kept.added, kept.readings), (2, 1, hours(&[1, 2, 3, 4])));
        let refused = merge(&stored, &hours(&[1, 8, 9]), OnConflict::Refuse);
        assert_eq!(refused, Err(MergeError::Differs { start: 3600 }));
    }

    #[test]
    fn an_hour_over_stored_quarters_is_refused_whatever_the_rule() {
        let stored = [reading(900, 900, 1)];
        for on_conflict in [OnConflict::ReplaceUnlessWorse, OnConflict::Replace, OnConflict::Keep, OnConflict::Refuse] {
            let refused = merge(&stored, &[reading(0, 3600, 4)], on_conflict).unwrap_err();
            assert_eq!(refused, MergeError::Overlap { incoming: 0..3600, other: 900..1800 });
        }
        let text = merge(&stored, &[reading(0, 3600, 4)], OnConflict::Replace).unwrap_err().to_string();
        assert_eq!(text, "the interval from 1970-01-01T00:00:00Z overlaps the one from 1970-01-01T00:15:00Z");
        let quarter_over_hour = merge(&hours(&[1]), &[reading(900, 900, 1)], OnConflict::Replace);
        assert_eq!(quarter_over_hour, Err(MergeError::Overlap { incoming: 900..1800, other: 0..3600 }));
        let quarters_beside_hours = merge(&hours(&[1]), &[reading(3600, 900, 1)], OnConflict::Replace).unwrap();
        assert_eq!(quarters_beside_hours.added, 1);
    }

    #[test]
    fn readings_that_overlap_each_other_are_refused() {
        let unsorted = [reading(3600, 3600, 1), reading(0, 3600, 1)];
        assert!(matches!(merge(&[], &unsorted, OnConflict::Replace), Err(MergeError::Overlap { .. })));
        let twice = [reading(0, 3600, 1), reading(0, 3600, 1)];
        assert!(matches!(merge(&[], &twice, OnConflict::Replace), Err(MergeError::Overlap { .. })));
        assert!(matches!(merge(&[], &[reading(0, 0, 1)], OnConflict::Replace), Err(MergeError::NoLength { .. })));
    }

    proptest! {
        /// Import order changes nothing where imports do not contradict each other.
        #[test]
        fn halves_merge_to_the_whole_in_any_order(mask in prop::collection::vec(any::<bool>(), 1..60)) {
            let all = hours(&(0..i64::try_from(mask.len()).unwrap()).collect::<Vec<_>>());
            let part = |side: bool| -> Vec<Reading> {
                all.iter().zip(&mask).filter(|(_, m)| **m == side).map(|(r, _)| *r).collect()
            };
            let (a, b) = (part(true), part(false));
            let ab = merge(&merge(&[], &a, OnConflict::Refuse).unwrap().readings, &b, OnConflict::Refuse).unwrap();
            let ba = merge(&merge(&[], &b, OnConflict::Refuse).unwrap().readings, &a, OnConflict::Refuse).unwrap();
            prop_assert_eq!(&ab.readings, &all);
            prop_assert_eq!(&ba.readings, &all);
        }
    }
}
