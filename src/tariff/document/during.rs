//! `during` of a rule: ISO 8601 intervals of instants. Source: PLAN-MODEL section 2, "Schedule".

use std::ops::Range;

use chrono::DateTime;

use super::super::schedule::Instants;
use super::Reader;
use super::walk::Node;

/// Most intervals of one document.
pub(super) const MAX_INTERVALS: usize = 10_000;

impl<'a> Reader<'a> {
    /// Reads a list of intervals. What cannot be read is left out, its fault noted.
    pub(super) fn during(&mut self, node: &Node<'a>) -> Instants {
        if node.json.as_str().is_some() {
            let message = "lists of instants cannot be imported under a name yet: write the intervals here, as in \
                           [\"2026-07-15T14:00-04:00/2026-07-15T15:00-04:00\"]";
            self.faults.add("not_supported_yet", &node.pointer, message);
            return Instants::default();
        }
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one interval");
        }
        self.n_instants += items.len();
        if self.n_instants > MAX_INTERVALS {
            let message = format!("a plan has at most {MAX_INTERVALS} intervals in \"during\"");
            self.faults.add("too_many", &node.pointer, message);
            return Instants::default();
        }
        let mut stretches = Vec::with_capacity(items.len());
        for item in &items {
            let Some(text) = item.text(&mut self.faults) else { continue };
            if let Some(stretch) = interval(text) {
                stretches.push(stretch);
            } else {
                let message = format!(
                    "{text:?} is no interval; write two instants, 2026-07-15T14:00-04:00/2026-07-15T15:00-04:00, or \
                     the first and a duration, 2026-07-15T14:00-04:00/PT1H, in whole minutes"
                );
                self.faults.add("bad_interval", &item.pointer, message);
            }
        }
        Instants::new(stretches)
    }
}

/// `start/end` or `start/PT1H30M`, seconds since the epoch.
fn interval(text: &str) -> Option<Range<i64>> {
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
