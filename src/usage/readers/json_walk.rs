//! A JSON document walked without holding it: members by name, and the elements of the arrays that hold readings one by
//! one, with lines and JSON pointers.

use std::cell::Cell as StdCell;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::source::unreadable;
use super::super::{UsageCode, UsageError};

/// A reading or a text longer than this is none.
const MAX_PIECE_BYTES: u64 = 1 << 20;

/// A value without parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar<'s> {
    Null,
    Text(&'s str),
    Count(u64),
    /// Another number, or a truth value.
    Other,
}

/// What is done with the parts of a document. Errors get the line and the pointer of the part.
pub(super) trait JsonDocument {
    /// Whether a member is the array of readings; refuses members that are not known.
    fn holds_readings(&mut self, member: &str, depth: usize) -> Result<bool, UsageError>;
    /// A member without parts, `depth` objects within the document.
    fn scalar(&mut self, member: &str, value: Scalar<'_>, depth: usize) -> Result<(), UsageError>;
    /// An array of readings begins.
    fn begin(&mut self) -> Result<(), UsageError>;
    /// One of them, as JSON text.
    fn reading(&mut self, raw: &str, line: u64) -> Result<(), UsageError>;
}

/// Walks through a document.
///
/// # Errors
/// [`UsageCode::BadJson`], [`UsageCode::Unreadable`], and what `document` refuses; with line and pointer.
pub(super) fn walk(input: Box<dyn Read + '_>, document: &mut impl JsonDocument) -> Result<(), UsageError> {
    let (bytes, place) = Bytes::new(input);
    let mut walk = Walk { document, place, path: Vec::new(), depth: 0, refused: None };
    let mut deserializer = serde_json::Deserializer::from_reader(bytes);
    let outcome = Node { walk: &mut walk, member: "" }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if let Some(refused) = walk.refused {
        return Err(refused);
    }
    outcome.map_err(|e| json_error(&e))
}

/// serde's error as ours.
pub(super) fn json_error(error: &serde_json::Error) -> UsageError {
    let line = u64::try_from(error.line()).unwrap_or(0);
    let at_line = |e: UsageError| if line > 0 { e.at_line(line) } else { e };
    match error.io_error_kind() {
        Some(io::ErrorKind::InvalidData) => {
            let message = format!("a value has more than {MAX_PIECE_BYTES} bytes: these are no readings");
            at_line(UsageError::new(UsageCode::BadJson, message))
        }
        Some(kind) => unreadable(&io::Error::from(kind)),
        None if error.is_eof() => {
            at_line(UsageError::new(UsageCode::BadJson, "the JSON stops in the middle: was the file cut?"))
        }
        None => at_line(UsageError::new(UsageCode::BadJson, error.to_string())),
    }
}

/// Text of a reading as its members.
///
/// # Errors
/// [`UsageCode::BadJson`], [`UsageCode::UnknownColumn`] for a member that is not known; without a place.
pub(super) fn members<'t, T: serde::Deserialize<'t>>(raw: &'t str) -> Result<T, UsageError> {
    serde_json::from_str(raw).map_err(|e| {
        let text = e.to_string();
        // serde's "at line 1 column 2" would count inside one reading.
        let text = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]);
        let code = if text.starts_with("unknown field") { UsageCode::UnknownColumn } else { UsageCode::BadJson };
        UsageError::new(code, text)
    })
}

/// The digits of a number that is written as a number or as a text; `None` for null.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place.
pub(super) fn digits(raw: &RawValue) -> Result<Option<std::borrow::Cow<'_, str>>, UsageError> {
    let text = raw.get();
    if text == "null" {
        return Ok(None);
    }
    if !text.starts_with('"') {
        return Ok(Some(text.into()));
    }
    let bad = |e: serde_json::Error| UsageError::new(UsageCode::BadNumber, format!("{text} is no number: {e}"));
    serde_json::from_str::<String>(text).map(|text| Some(text.into())).map_err(bad)
}

struct Walk<'w, D> {
    document: &'w mut D,
    place: Rc<Place>,
    /// Members and indices down to here.
    path: Vec<String>,
    depth: usize,
    /// What one of our own checks refused; serde's error then only ends the walk.
    refused: Option<UsageError>,
}

impl<D> Walk<'_, D> {
    fn refuse<E: serde::de::Error>(&mut self, error: UsageError, line: u64) -> E {
        let mut pointer: String = self.path.iter().map(|part| format!("/{part}")).collect();
        if let Some(field) = &error.field {
            pointer = format!("{pointer}/{field}");
        }
        self.refused = Some(error.in_field(pointer).at_line(line));
        E::custom("refused")
    }

    fn line(&self) -> u64 {
        self.place.line.get()
    }
}

/// A value anywhere in the document.
struct Node<'n, 'w, D> {
    walk: &'n mut Walk<'w, D>,
    member: &'n str,
}

impl<D: JsonDocument> Node<'_, '_, D> {
    fn scalar<E: serde::de::Error>(self, value: Scalar<'_>) -> Result<(), E> {
        let depth = self.walk.depth;
        let outcome = self.walk.document.scalar(self.member, value, depth);
        let line = self.walk.line();
        outcome.map_err(|e| self.walk.refuse(e, line))
    }
}

impl<'de, D: JsonDocument> DeserializeSeed<'de> for Node<'_, '_, D> {
    type Value = ();
    fn deserialize<De: Deserializer<'de>>(self, deserializer: De) -> Result<(), De::Error> {
        self.walk.place.piece_bytes.set(0);
        deserializer.deserialize_any(self)
    }
}

impl<'de, D: JsonDocument> Visitor<'de> for Node<'_, '_, D> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.scalar(Scalar::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.scalar(Scalar::Other)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.scalar(Scalar::Count(value))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.scalar(Scalar::Other)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.scalar(Scalar::Other)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.scalar(Scalar::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.walk;
        walk.depth += 1;
        while let Some(member) = map.next_key::<String>()? {
            walk.path.push(member.replace('~', "~0").replace('/', "~1"));
            let depth = walk.depth;
            let line = walk.line();
            let is_readings = walk.document.holds_readings(&member, depth).map_err(|e| walk.refuse(e, line))?;
            if is_readings {
                walk.document.begin().map_err(|e| walk.refuse(e, line))?;
                map.next_value_seed(Readings { walk })?;
            } else {
                map.next_value_seed(Node { walk, member: &member })?;
            }
            walk.path.pop();
        }
        walk.depth -= 1;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let walk = self.walk;
        for number in 0_u64.. {
            walk.path.push(number.to_string());
            if seq.next_element_seed(Node { walk, member: self.member })?.is_none() {
                walk.path.pop();
                return Ok(());
            }
            walk.path.pop();
        }
        Err(A::Error::custom("no array is that long"))
    }
}

/// The array of readings.
struct Readings<'n, 'w, D> {
    walk: &'n mut Walk<'w, D>,
}

impl<'de, D: JsonDocument> DeserializeSeed<'de> for Readings<'_, '_, D> {
    type Value = ();
    fn deserialize<De: Deserializer<'de>>(self, deserializer: De) -> Result<(), De::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, D: JsonDocument> Visitor<'de> for Readings<'_, '_, D> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of readings")
    }

    /// None.
    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let walk = self.walk;
        let mut number = 0_u64;
        loop {
            walk.place.begin_value();
            let Some(raw) = seq.next_element::<Box<RawValue>>()? else { return Ok(()) };
            let n_lines = raw.get().bytes().filter(|b| *b == b'\n').count() as u64;
            let line = walk.line() - n_lines;
            if let Err(error) = walk.document.reading(raw.get(), line) {
                walk.path.push(number.to_string());
                return Err(walk.refuse(error, line));
            }
            number += 1;
        }
    }
}

/// How far the document was taken.
pub(super) struct Place {
    /// From 1.
    line: StdCell<u64>,
    /// Bytes since the last value began.
    piece_bytes: StdCell<u64>,
}

impl Place {
    /// A value begins.
    pub(super) fn begin_value(&self) {
        self.piece_bytes.set(0);
    }
}

/// Bytes as serde takes them, one at a time; a value of more than a megabyte ends them.
pub(super) struct Bytes<'a> {
    input: BufReader<Box<dyn Read + 'a>>,
    place: Rc<Place>,
}

impl<'a> Bytes<'a> {
    /// Of `input`, and where they are.
    pub(super) fn new(input: Box<dyn Read + 'a>) -> (Self, Rc<Place>) {
        let place = Rc::new(Place { line: StdCell::new(1), piece_bytes: StdCell::new(0) });
        (Self { input: BufReader::with_capacity(1 << 16, input), place: Rc::clone(&place) }, place)
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        let n_lines = buffer[..n].iter().filter(|b| **b == b'\n').count() as u64;
        self.place.line.set(self.place.line.get() + n_lines);
        self.place.piece_bytes.set(self.place.piece_bytes.get() + n as u64);
        if self.place.piece_bytes.get() > MAX_PIECE_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        Ok(n)
    }
}
