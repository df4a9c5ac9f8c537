//! An event list: the instants within which rules of a plan hold, coincident peaks and called hours among them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Damaged, Place, SharedError, check_name, document, lines_of};
use crate::words::{Instants, MAX_INTERVALS, interval, interval_text};

/// Instants under a name for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventList {
    /// For people.
    pub name: Option<String>,
    /// Intervals that overlap or meet are one, as where a plan holds them itself.
    pub events: Instants,
}

/// As clients write it, and as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    events: Vec<String>,
}

impl EventList {
    /// From intervals as clients write them, `start/end` or `start/PT1H`; order and overlap do not matter.
    ///
    /// # Errors
    /// [`SharedError`] with a pointer, for what is no interval, too many of them or too long a name.
    pub fn new(name: Option<String>, events: &[String]) -> Result<Self, SharedError> {
        check_name(name.as_deref())?;
        let at = |place: String| move |error: SharedError| error.at(&Place::Pointer(place));
        check_count(events.len()).map_err(at("/events".to_owned()))?;
        let events = events.iter().enumerate().map(|(i, text)| event(text).map_err(at(format!("/events/{i}"))));
        Ok(Self { name, events: Instants::new(events.collect::<Result<_, _>>()?) })
    }

    /// Reads a file: `{"events": ["2026-07-15T18:00Z/PT1H", …], "name"}`, or a text with one interval a line, its two
    /// parts with a slash or a comma between them (blank lines, lines that begin with `#` and a first line `event` or
    /// `start,end` say nothing).
    ///
    /// # Errors
    /// [`SharedError`] with the line or the pointer.
    pub fn read(text: &str) -> Result<Self, SharedError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('{') {
            let document: Document = document(text, "event list")?;
            return Self::new(document.name, &document.events);
        }
        let mut events = Vec::new();
        for (line, text) in lines_of(text, &["event", "start,end"]) {
            let cells = text.split_once(',').map(|(start, end)| format!("{}/{}", start.trim(), end.trim()));
            let read = check_count(events.len() + 1).and_then(|()| event(cells.as_deref().unwrap_or(text)));
            events.push(read.map_err(|error| error.at(&Place::Line(line)))?);
        }
        Ok(Self { name: None, events: Instants::new(events) })
    }

    /// Its intervals in UTC, in order, apart from each other.
    pub fn intervals(&self) -> Vec<String> {
        self.events.stretches().iter().map(interval_text).collect()
    }

    /// What is stored: the same list is the same bytes.
    ///
    /// # Panics
    /// Never: a name and intervals are JSON.
    pub fn encode(&self) -> Vec<u8> {
        let document = Document { name: self.name.clone(), events: self.intervals() };
        serde_json::to_vec(&document).expect("intervals and a name are JSON")
    }

    /// What was stored.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let document: Document = serde_json::from_slice(bytes).map_err(|_| Damaged)?;
        Self::new(document.name, &document.events).map_err(|_| Damaged)
    }

    /// Bounds of the instants that only one of the two has, seconds since the epoch, end exclusive; `None` when there is
    /// no such instant.
    pub fn change(before: Option<&Self>, after: &Self) -> Option<Range<i64>> {
        before.map_or(&Instants::default(), |list| &list.events).difference(&after.events)
    }
}

fn event(text: &str) -> Result<Range<i64>, SharedError> {
    interval(text).map_err(|error| SharedError::new(error.to_string()))
}

fn check_count(n_events: usize) -> Result<(), SharedError> {
    if n_events > MAX_INTERVALS {
        return Err(SharedError::new(format!("an event list has at most {MAX_INTERVALS} intervals")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> EventList {
        EventList::read(text).unwrap()
    }

    const PEAKS: &str = "2026-07-15T18:00:00Z/2026-07-15T19:00:00Z";

    #[test]
    fn a_list_a_table_and_a_document_are_the_same_events() {
        let list =
            read("\u{feff}# peaks of 2026\r\n2026-08-02T17:00-04:00/PT2H\r\n\r\n2026-07-15T14:00-04:00/PT1H\r\n");
        let table =
            read("start,end\n2026-07-15T18:00Z,2026-07-15T19:00Z\n2026-08-02T21:00:00Z, 2026-08-02T23:00:00Z\n");
        let document = read(&format!(r#"{{"events": ["2026-08-02T21:00Z/PT2H", "{PEAKS}"]}}"#));
        assert_eq!((&list, &table), (&table, &document));
        assert_eq!(list.intervals(), [PEAKS, "2026-08-02T21:00:00Z/2026-08-02T23:00:00Z"]);
        assert_eq!(EventList::decode(&list.encode()), Ok(document));
        let named = read(&format!(r#"{{"name": "PJM", "events": ["{PEAKS}"]}}"#));
        assert_eq!((named.name.as_deref(), EventList::decode(&named.encode())), (Some("PJM"), Ok(named.clone())));
        assert_eq!(read("event\n"), EventList::default(), "none has been called yet");
        assert_eq!(EventList::decode(b"x"), Err(Damaged));
        assert_eq!(EventList::decode(br#"{"events": ["x"]}"#), Err(Damaged));
    }

    #[test]
    fn intervals_that_overlap_or_meet_are_one() {
        let list =
            read("2026-07-15T18:30Z/PT1H\n2026-07-15T18:00Z/PT1H\n2026-07-15T19:30Z/PT30M\n2026-07-15T18:30Z/PT1H\n");
        assert_eq!(list.intervals(), ["2026-07-15T18:00:00Z/2026-07-15T20:00:00Z"]);
    }

    #[test]
    fn what_is_no_interval_is_named() {
        let many = "2026-07-15T18:00Z/PT1H\n".repeat(MAX_INTERVALS + 1);
        for (text, line, pointer) in [
            ("2026-07-15T18:00Z/PT1H\n2026-07-15T18:00/PT1H\n", Some(2), None),
            ("2026-07-15T18:00Z\n", Some(1), None),
            ("event\n2026-07-15T18:00Z/2026-07-15T18:00Z\n", Some(2), None),
            ("2026-07-15T18:00Z/PT1H,0.5\n", Some(1), None),
            ("2026-07-15T18:00Z/PT1H\nevent\n", Some(2), None),
            (&many, Some(10_001), None),
            (r#"{"events": ["2026-07-15T18:00Z/PT1H", "2026-07-15"]}"#, None, Some("/events/1")),
            ("{\n\"events\": [], \"colour\": 1}", Some(2), None),
            ("{\"name\": \"a\\u0000\", \"events\": []}", None, Some("/name")),
        ] {
            let refused = EventList::read(text).unwrap_err();
            assert_eq!((refused.line, refused.pointer.as_deref()), (line, pointer), "{refused}");
        }
        let events: Vec<String> = many.lines().map(str::to_owned).collect();
        assert_eq!(EventList::new(None, &events).unwrap_err().pointer.as_deref(), Some("/events"));
    }

    #[test]
    fn another_name_changes_no_bill() {
        let (plain, named) = (read(PEAKS), read(&format!(r#"{{"name": "PJM", "events": ["{PEAKS}"]}}"#)));
        assert_eq!(EventList::change(Some(&plain), &named), None);
        assert_eq!(EventList::change(None, &plain), plain.events.stretches().first().cloned());
    }
}
