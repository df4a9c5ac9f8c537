//! XML as elements and texts, with lines: the grammar by the `quick-xml` library, with bounds on what one piece of it
//! may hold. Document types and entities beyond the five of XML are refused.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::errors::Error as XmlError;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::reader::NsReader;

use super::super::super::number::clip;
use super::super::super::source::unreadable;
use super::super::super::{UsageCode, UsageError};

/// A tag, a text or a comment longer than this is none of a feed of readings.
const MAX_PIECE_BYTES: usize = 1 << 20;

/// Elements within elements; a feed has about ten.
const MAX_DEPTH: usize = 64;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// The vocabulary that an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// Readings and what is told of them: `http://naesb.org/espi`.
    Espi,
    /// The feed around them, or no namespace at all.
    Atom,
    /// Anything else.
    Other,
}

/// What is done with the elements of a document.
pub(super) trait Visit {
    /// An element begins. Errors come with their place or get the line.
    fn open(&mut self, vocabulary: Vocabulary, name: &str, start: &BytesStart<'_>, line: u64)
    -> Result<(), UsageError>;
    /// A part of the text of the element that is open.
    fn text(&mut self, part: &str) -> Result<(), UsageError>;
    /// The element that is open ends.
    fn close(&mut self) -> Result<(), UsageError>;
}

/// Shows a document to `visit`, from its first element to its last.
///
/// # Errors
/// [`UsageCode::BadXml`], [`UsageCode::BadEncoding`], [`UsageCode::Unreadable`], and what `visit` refuses; all with
/// their line.
pub(super) fn walk(input: Box<dyn Read + '_>, visit: &mut impl Visit) -> Result<(), UsageError> {
    let mut reader = NsReader::from_reader(Lines::new(input));
    reader.config_mut().expand_empty_elements = true;
    let mut buffer = Vec::new();
    let mut depth = 0_usize;
    let mut has_root = false;
    loop {
        buffer.clear();
        reader.get_mut().piece_bytes = 0;
        let began = reader.get_ref().line;
        let event = reader.read_event_into(&mut buffer);
        let line = reader.get_ref().line;
        let at_line = |e: UsageError| if e.line.is_some() { e } else { e.at_line(line) };
        match event.map_err(|e| xml_error(&e).at_line(line))? {
            Event::Start(start) => {
                if depth == 0 && has_root {
                    return Err(bad_xml("a second document begins here; send one at a time").at_line(line));
                }
                if depth == MAX_DEPTH {
                    return Err(bad_xml("elements lie too deep within each other: these are no readings").at_line(line));
                }
                (depth, has_root) = (depth + 1, true);
                let (space, local) = reader.resolver().resolve_element(start.name());
                visit.open(vocabulary(&space), local.into_inner(), &start, line).map_err(at_line)?;
            }
            Event::End(_) => {
                visit.close().map_err(at_line)?;
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) => {
                if depth > 0 {
                    visit.text(&text).map_err(at_line)?;
                } else if !text.trim_ascii().is_empty() {
                    return Err(bad_xml("there is text outside of the document").at_line(began));
                }
            }
            Event::CData(text) => visit.text(&text).map_err(at_line)?,
            Event::GeneralRef(reference) => {
                let c = character(&reference).map_err(|e| e.at_line(line))?;
                visit.text(c.encode_utf8(&mut [0; 4])).map_err(at_line)?;
            }
            Event::DocType(_) => {
                let message = "a document type is not read; take the <!DOCTYPE …> out of the file";
                return Err(bad_xml(message).at_line(line));
            }
            Event::Eof if depth > 0 => {
                return Err(bad_xml("the XML stops in the middle: was the file cut?").at_line(line));
            }
            Event::Eof if !has_root => return Err(UsageError::new(UsageCode::NoReadings, "the file is empty")),
            Event::Eof => return Ok(()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// The refusal of XML that cannot be read.
pub(super) fn bad_xml(message: impl Into<String>) -> UsageError {
    UsageError::new(UsageCode::BadXml, message)
}

/// The value of an attribute, its entities resolved; `None` where the element has none of this name.
///
/// # Errors
/// [`UsageCode::BadXml`], without a place.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, UsageError> {
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|e| bad_xml(e.to_string()))?;
        if attribute.key.into_inner() == name {
            let value = quick_xml::escape::unescape(&attribute.value).map_err(|e| bad_xml(e.to_string()))?;
            return Ok(Some(value.trim().to_owned()));
        }
    }
    Ok(None)
}

fn vocabulary(space: &ResolveResult<'_>) -> Vocabulary {
    match space {
        ResolveResult::Bound(Namespace("http://naesb.org/espi")) => Vocabulary::Espi,
        ResolveResult::Bound(Namespace("http://www.w3.org/2005/Atom")) | ResolveResult::Unbound => Vocabulary::Atom,
        ResolveResult::Bound(_) | ResolveResult::Unknown(_) => Vocabulary::Other,
    }
}

/// The character that `&…;` stands for.
fn character(reference: &BytesRef<'_>) -> Result<char, UsageError> {
    match reference.resolve_char_ref().map_err(|e| xml_error(&e))? {
        Some(c) => Ok(c),
        None => match &**reference {
            "amp" => Ok('&'),
            "lt" => Ok('<'),
            "gt" => Ok('>'),
            "apos" => Ok('\''),
            "quot" => Ok('"'),
            other => Err(bad_xml(format!(
                "the entity {:?} is not known: entities of a file's own are not read",
                clip(other)
            ))),
        },
    }
}

fn xml_error(error: &XmlError) -> UsageError {
    match error {
        XmlError::Io(e) if e.kind() == io::ErrorKind::InvalidData => {
            bad_xml(format!("a tag or a text has more than {MAX_PIECE_BYTES} bytes: these are no readings"))
        }
        XmlError::Io(e) => unreadable(e),
        XmlError::Encoding(_) => {
            UsageError::new(UsageCode::BadEncoding, "the text is not UTF-8; save the file as UTF-8")
        }
        XmlError::Syntax(e) => bad_xml(format!("the XML is not well formed, or was cut: {e}")),
        other => bad_xml(format!("the XML is not well formed: {other}")),
    }
}

/// Counts lines as they are taken, and passes bytes on until one piece holds too many of them (the loop above sets the
/// count back after each).
struct Lines<'a> {
    input: BufReader<Box<dyn Read + 'a>>,
    /// Of what is taken next, from 1.
    line: u64,
    piece_bytes: usize,
}

impl<'a> Lines<'a> {
    fn new(input: Box<dyn Read + 'a>) -> Self {
        Self { input: BufReader::with_capacity(BUFFER_BYTES, input), line: 1, piece_bytes: 0 }
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Lines<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece_bytes > MAX_PIECE_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        self.input.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        let taken = &self.input.buffer()[..n];
        self.line += taken.iter().filter(|b| **b == b'\n').count() as u64;
        self.piece_bytes += n;
        self.input.consume(n);
    }
}
