//! Readings as JSON:
//!
//! ```json
//! {"interval_minutes": 30, "readings": [
//!   {"start": "2026-06-01T00:00:00+01:00", "kwh": "0.219"},
//!   {"start": "2026-06-01T00:30:00+01:00", "kwh": 0.241, "channel": "export", "quality": "estimated"},
//!   {"start": "2026-06-01T01:00:00+01:00", "end": "2026-06-01T01:15:00+01:00", "kwh": null}]}
//! ```
//!
//! `start` and `kwh` are wanted. `kwh` is a decimal as text or as a number, read by its digits either way (no
//! exponent), or `null` where it is not known. `channel` (default `import`) and `interval_minutes` may stand in a
//! reading or, before `readings`, for all of them; without them and without `end` the starts tell the length. Any
//! other member is refused. Readings stream; places are JSON pointers.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::collect::Collector;
use super::super::{Channel, ReadOptions, Source, UsageCode, UsageError, UsageFile, UsageReader};
use super::json_walk::{Bytes, Place, json_error};
use super::own_csv::{own_label, parse_cell, parse_quality};

/// The reader of JSON readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnJson;

impl UsageReader for OwnJson {
    fn format(&self) -> &'static str {
        "json"
    }

    fn recognises(&self, source: &Source<'_>) -> bool {
        source.head().trim_ascii_start().first() == Some(&b'{')
    }

    fn read(&self, source: &mut Source<'_>, options: &ReadOptions) -> Result<UsageFile, UsageError> {
        let (bytes, place) = Bytes::new(source.open()?);
        let mut document = Document {
            collector: Collector::new(options),
            place,
            channel: Channel::import(),
            interval_minutes: None,
            refused: None,
        };
        let mut deserializer = serde_json::Deserializer::from_reader(bytes);
        let outcome = deserializer.deserialize_map(&mut document).and_then(|()| deserializer.end());
        if let Some(refused) = document.refused {
            return Err(refused);
        }
        outcome.map_err(|e| json_error(&e))?;
        let mut file = document.collector.finish(self.format())?;
        file.place = by_pointer;
        file.own_channels = true;
        Ok(file)
    }
}

/// The object around the readings, while it is read.
struct Document {
    collector: Collector,
    place: Rc<Place>,
    channel: Channel,
    interval_minutes: Option<u64>,
    /// What one of our own checks refused; serde's error then only ends the reading.
    refused: Option<UsageError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonReading<'a> {
    #[serde(borrow)]
    start: Cow<'a, str>,
    kwh: Box<RawValue>,
    #[serde(borrow, default)]
    end: Option<Cow<'a, str>>,
    #[serde(default)]
    channel: Option<Channel>,
    #[serde(borrow, default)]
    quality: Option<Cow<'a, str>>,
    #[serde(default)]
    interval_minutes: Option<u64>,
}

impl Document {
    fn refuse<E: serde::de::Error>(&mut self, error: UsageError) -> E {
        self.refused = Some(error);
        E::custom("refused")
    }

    /// One reading, the `number`th from 1, into the collector. Errors come with the field of the reading only.
    fn add(&mut self, reading: &JsonReading<'_>, number: u64) -> Result<(), UsageError> {
        let raw = reading.kwh.get();
        let kwh: Cow<'_, str> = if raw == "null" {
            Cow::Borrowed("")
        } else if raw.starts_with('"') {
            let text = serde_json::from_str(raw);
            Cow::Owned(text.map_err(|e| UsageError::new(UsageCode::BadJson, strip_place(&e)).in_field("kwh"))?)
        } else {
            Cow::Borrowed(raw)
        };
        if kwh.is_empty() && raw != "null" {
            let message = "an empty text is no number; write null where the energy is not known";
            return Err(UsageError::new(UsageCode::BadNumber, message).in_field("kwh"));
        }
        let quality = parse_quality(reading.quality.as_deref().unwrap_or(""))?;
        let cell = parse_cell(&kwh, quality).map_err(|e| e.in_field("kwh"))?;
        let minutes = reading.interval_minutes.or(self.interval_minutes.filter(|_| reading.end.is_none()));
        let times = self.collector.times(&reading.start, reading.end.as_deref(), minutes)?;
        let label = own_label(reading.channel.as_ref().unwrap_or(&self.channel));
        let series_idx = self.collector.series(&label)?;
        self.collector.count_row();
        self.collector.push(series_idx, number, times, cell)
    }
}

impl<'de> Visitor<'de> for &mut Document {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with readings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_readings = false;
        while let Some(member) = map.next_key::<String>()? {
            match member.as_str() {
                "channel" | "interval_minutes" if has_readings => {
                    let error = UsageError::new(UsageCode::BadJson, "write it before the readings it is meant for");
                    return Err(self.refuse(error.in_field(format!("/{member}"))));
                }
                "channel" => self.channel = map.next_value()?,
                "interval_minutes" => self.interval_minutes = Some(map.next_value()?),
                "readings" if !has_readings => {
                    has_readings = true;
                    map.next_value_seed(Readings(&mut *self))?;
                }
                _ => {
                    let message =
                        "the member is not known; known are readings, channel and interval_minutes, once each";
                    let error = UsageError::new(UsageCode::UnknownColumn, message);
                    return Err(self.refuse(error.in_field(format!("/{member}"))));
                }
            }
        }
        if has_readings {
            Ok(())
        } else {
            let error = UsageError::new(UsageCode::NoReadings, "the object has no member readings");
            Err(self.refuse(error.in_field("/readings")))
        }
    }
}

/// The array of readings, fed into the document one by one.
struct Readings<'a>(&'a mut Document);

impl<'de> DeserializeSeed<'de> for Readings<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Readings<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of readings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut number = 0;
        loop {
            self.0.place.begin_value();
            let Some(raw) = seq.next_element::<Box<RawValue>>()? else { return Ok(()) };
            let pointer = format!("/readings/{number}");
            number += 1;
            let outcome = serde_json::from_str::<JsonReading<'_>>(raw.get())
                .map_err(|e| UsageError::new(UsageCode::BadJson, strip_place(&e)))
                .and_then(|reading| self.0.add(&reading, number));
            if let Err(error) = outcome {
                let field = error.field.as_ref().map_or(pointer.clone(), |field| format!("{pointer}/{field}"));
                return Err(self.0.refuse(error.in_field(field)));
            }
        }
    }
}

/// The place of a fault between readings: their numbers as pointers.
fn by_pointer(mut error: UsageError) -> UsageError {
    let pointer = |number: u64| format!("/readings/{}", number.saturating_sub(1));
    if let Some(other) = error.other_line.take() {
        error.message = format!("{} (and {})", error.message, pointer(other));
    }
    match error.line.take() {
        Some(number) => error.in_field(pointer(number)),
        None => error,
    }
}

/// serde's text without its "at line 1 column 2", which would count inside one reading.
fn strip_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
