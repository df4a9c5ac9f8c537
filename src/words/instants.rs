//! Stretches of time: coincident peaks, critical days. Source: PLAN-MODEL section 2, `during`.

use std::ops::Range;
use std::sync::Arc;

use chrono::DateTime;
use thiserror::Error;

/// Most intervals of one list, in a plan or imported.
pub const MAX_INTERVALS: usize = 10_000;

/// Stretches of time, seconds since the epoch, end exclusive: sorted, apart from each other. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instants(Arc<[Range<i64>]>);

/// A text that is no interval.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no interval; write two instants, 2026-07-15T14:00-04:00/2026-07-15T15:00-04:00, or the first and a \
     duration, 2026-07-15T14:00-04:00/PT1H, in whole minutes"
)]
pub struct NotAnInterval(String);

impl Instants {
    /// The instants that lie in any of the stretches, which may overlap and come in any order.
    pub fn new(mut stretches: Vec<Range<i64>>) -> Self {
        stretches.retain(|stretch| !stretch.is_empty());
        stretches.sort_by_key(|stretch| stretch.start);
        let mut apart: Vec<Range<i64>> = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            match apart.last_mut() {
                Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
                _ => apart.push(stretch),
            }
        }
        Self(apart.into())
    }

    /// Sorted, apart from each other.
    pub fn stretches(&self) -> &[Range<i64>] {
        &self.0
    }

    /// Whether an instant lies in one of them.
    pub fn contains(&self, instant: i64) -> bool {
        let next = self.0.partition_point(|stretch| stretch.end <= instant);
        self.0.get(next).is_some_and(|stretch| stretch.start <= instant)
    }

    /// Those of `[start, end)`.
    #[must_use]
    pub fn within(&self, range: &Range<i64>) -> Self {
        let cut = |stretch: &Range<i64>| stretch.start.max(range.start)..stretch.end.min(range.end);
        Self(self.0.iter().map(cut).filter(|stretch| !stretch.is_empty()).collect())
    }

    /// Bounds of the instants that lie in one of the two only, end exclusive; `None` when they are the same.
    pub fn difference(&self, other: &Self) -> Option<Range<i64>> {
        let mut bounds: Vec<i64> =
            self.0.iter().chain(other.0.iter()).flat_map(|stretch| [stretch.start, stretch.end]).collect();
        bounds.sort_unstable();
        let mut differing = bounds.windows(2).filter(|pair| {
            let [start, end] = [pair[0], pair[1]];
            start < end && self.contains(start) != other.contains(start)
        });
        let first = differing.next()?;
        let last = differing.next_back().unwrap_or(first);
        Some(first[0]..last[1])
    }
}

/// Reads `start/end` or `start/PT1H30M`: seconds since the epoch, end exclusive.
///
/// # Errors
/// [`NotAnInterval`] for another form, an instant without offset, before 1970 or after 2199, an end not after its
/// start.
pub fn interval(text: &str) -> Result<Range<i64>, NotAnInterval> {
    read_interval(text).ok_or_else(|| NotAnInterval(text.chars().take(80).collect()))
}

/// An interval as [`interval`] reads it: two instants in UTC.
pub fn interval_text(stretch: &Range<i64>) -> String {
    let text = |seconds: i64| {
        DateTime::from_timestamp(seconds, 0)
            .map_or_else(|| seconds.to_string(), |at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
    };
    format!("{}/{}", text(stretch.start), text(stretch.end))
}

/// `start/end` or `start/PT1H30M`, seconds since the epoch.
fn read_interval(text: &str) -> Option<Range<i64>> {
    let (start, end) = text.split_once('/')?;
    let start = instant(start)?;
    let end = match end.strip_prefix("PT") {
        Some(duration) => start + seconds(duration)?,
        None => instant(end)?,
    };
    (start < end).then_some(start..end)
}

/// `2026-07-15T14:00-04:00`, seconds of zero and `Z` allowed, of the years 1970 to 2199.
fn instant(text: &str) -> Option<i64> {
    let (local, offset) = match text.strip_suffix('Z') {
        Some(local) => (local, "+00:00"),
        None => text.split_at_checked(text.len().checked_sub(6)?)?,
    };
    let local = if local.len() == 19 { local.strip_suffix(":00")? } else { local };
    let has_shape = |text: &str, shape: &str| {
        let fits = |(b, shape): (u8, u8)| if shape == b'0' { b.is_ascii_digit() } else { b == shape };
        text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
    };
    if !has_shape(local, "0000-00-00T00:00") || !(has_shape(offset, "+00:00") || has_shape(offset, "-00:00")) {
        return None;
    }
    let instant = DateTime::parse_from_str(&format!("{local}{offset}"), "%Y-%m-%dT%H:%M%:z").ok()?.timestamp();
    (0..7_258_118_400).contains(&instant).then_some(instant)
}

/// `1H`, `30M` or `1H30M` of at most 99,999 hours or minutes.
fn seconds(text: &str) -> Option<i64> {
    let (hours, rest) = text.split_once('H').map_or((None, text), |(hours, rest)| (Some(hours), rest));
    let minutes = if rest.is_empty() { None } else { Some(rest.strip_suffix('M')?) };
    if hours.is_none() && minutes.is_none() {
        return None;
    }
    let number = |text: Option<&str>| match text {
        None => Some(0),
        Some(text) if (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse::<i64>().ok()
        }
        Some(_) => None,
    };
    Some(number(hours)? * 3600 + number(minutes)? * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instants(stretches: &[(i64, i64)]) -> Instants {
        Instants::new(stretches.iter().map(|(start, end)| *start..*end).collect())
    }

    #[test]
    fn instants_are_joined_where_they_meet() {
        let instants = instants(&[(30, 40), (0, 10), (5, 12), (12, 14), (20, 20)]);
        assert_eq!(instants.stretches(), [0..14, 30..40]);
        let held: Vec<i64> = (-1..41).filter(|instant| instants.contains(*instant)).collect();
        assert_eq!((held.len(), held[0], held[13], held[14]), (24, 0, 13, 30));
        assert_eq!(instants.within(&(10..35)).stretches(), [10..14, 30..35]);
        assert_eq!(instants.within(&(14..30)), Instants::default());
    }

    #[test]
    fn what_differs_is_bounded_by_instants_of_one_side_only() {
        let before = instants(&[(0, 10), (20, 30), (40, 50)]);
        for (after, expected) in [
            (&[(0, 10), (20, 30), (40, 50)][..], None),
            (&[(0, 10), (20, 25), (40, 50)], Some(25..30)),
            (&[(0, 12), (20, 30), (45, 50)], Some(10..45)),
            (&[(0, 10), (20, 30), (40, 50), (60, 70)], Some(60..70)),
            (&[(0, 30), (40, 50)], Some(10..20)),
            (&[], Some(0..50)),
        ] {
            let after = instants(after);
            assert_eq!(before.difference(&after), expected, "{after:?}");
            assert_eq!(after.difference(&before), expected, "{after:?}");
        }
    }

    #[test]
    fn an_interval_reads_as_it_is_written() {
        let stretch = interval("2026-07-15T14:00-04:00/PT1H30M").unwrap();
        assert_eq!(interval_text(&stretch), "2026-07-15T18:00:00Z/2026-07-15T19:30:00Z");
        assert_eq!(interval(&interval_text(&stretch)), Ok(stretch));
        let refused = interval("yesterday").unwrap_err().to_string();
        assert!(refused.starts_with("\"yesterday\" is no interval"), "{refused}");
    }
}
