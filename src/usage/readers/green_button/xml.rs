//! XML as elements and texts, with lines: the grammar by the `quick-xml` library, with bounds on what one piece of it
//! may hold. Document types and entities beyond the five of XML are refused.

use std::io::{self, BufRead, Read};

use quick_xml::errors::Error as XmlError;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, NamespaceResolver, ResolveResult};
use quick_xml::reader::Reader;

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
    /// An element begins; whether its line is wanted. Errors come with their place or get the line.
    fn open(&mut self, vocabulary: Vocabulary, name: &str, start: &BytesStart<'_>) -> Result<bool, UsageError>;
    /// The line of the element that is open.
    fn line(&mut self, line: u64);
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
    let mut reader = Reader::from_reader(Lines::new(input));
    reader.config_mut().expand_empty_elements = true;
    let mut names = Names::default();
    let mut buffer = Vec::new();
    let mut depth = 0_usize;
    let mut has_root = false;
    loop {
        buffer.clear();
        reader.get_mut().piece_bytes = 0;
        // Looked at in place: moved, each event would be copied once more.
        let event = reader.read_event_into(&mut buffer);
        let outcome = match &event {
            Err(error) => Err(xml_error(error)),
            Ok(Event::Start(start)) => {
                if depth == 0 && has_root {
                    Err(bad_xml("a second document begins here; send one at a time"))
                } else if depth == MAX_DEPTH {
                    Err(bad_xml("elements lie too deep within each other: these are no readings"))
                } else {
                    (depth, has_root) = (depth + 1, true);
                    let opened = names.open(start, depth);
                    let wants_line = opened.and_then(|(vocabulary, name)| visit.open(vocabulary, name, start));
                    wants_line.map(|wants_line| {
                        if wants_line {
                            visit.line(reader.get_mut().line());
                        }
                    })
                }
            }
            Ok(Event::End(_)) => {
                names.close(depth);
                depth = depth.saturating_sub(1);
                visit.close()
            }
            Ok(Event::Text(text)) if depth > 0 => visit.text(text),
            Ok(Event::Text(text)) if text.trim_ascii().is_empty() => Ok(()),
            Ok(Event::Text(text)) => {
                let n_lines = text.trim_start().matches('\n').count() as u64;
                let line = reader.get_mut().line() - n_lines;
                Err(bad_xml("there is text outside of the document").at_line(line))
            }
            Ok(Event::CData(text)) => visit.text(text),
            Ok(Event::GeneralRef(reference)) => {
                character(reference).and_then(|c| visit.text(c.encode_utf8(&mut [0; 4])))
            }
            Ok(Event::DocType(_)) => Err(bad_xml("a document type is not read; take the <!DOCTYPE …> out of the file")),
            Ok(Event::Eof) if depth > 0 => Err(bad_xml("the XML stops in the middle: was the file cut?")),
            Ok(Event::Eof) if !has_root => return Err(UsageError::new(UsageCode::NoReadings, "the file is empty")),
            Ok(Event::Eof) => return Ok(()),
            Ok(Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_)) => Ok(()),
        };
        if let Err(error) = outcome {
            let line = reader.get_mut().line();
            return Err(if error.line.is_some() { error } else { error.at_line(line) });
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

/// Namespaces that are bound. Few elements bind any, so that the one of a prefix is looked up once.
#[derive(Debug, Default)]
struct Names {
    resolver: NamespaceResolver,
    /// Depths whose elements bind namespaces, a bit each.
    scopes: u64,
    /// The prefix that was looked up last, and its vocabulary.
    last: Option<(String, Vocabulary)>,
}

impl Names {
    /// Vocabulary and local name of an element, from 1 to [`MAX_DEPTH`] deep.
    fn open<'s>(&mut self, start: &'s BytesStart<'_>, depth: usize) -> Result<(Vocabulary, &'s str), UsageError> {
        let attributes = start.attributes_raw();
        if !attributes.is_empty() && attributes.contains("xmlns") {
            self.resolver.push(start).map_err(|e| bad_xml(e.to_string()))?;
            self.scopes |= 1 << (depth - 1);
            self.last = None;
        }
        let (local, prefix) = start.name().decompose();
        let prefix = prefix.map_or("", |prefix| prefix.into_inner());
        let vocabulary = match &self.last {
            Some((last, vocabulary)) if last == prefix => *vocabulary,
            _ => {
                let vocabulary = vocabulary(&self.resolver.resolve_element(start.name()).0);
                self.last = Some((prefix.to_owned(), vocabulary));
                vocabulary
            }
        };
        Ok((vocabulary, local.into_inner()))
    }

    fn close(&mut self, depth: usize) {
        let scope = 1 << depth.saturating_sub(1);
        if self.scopes & scope != 0 {
            self.scopes &= !scope;
            self.resolver.pop();
            self.last = None;
        }
    }
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

/// Passes bytes on until one piece holds too many of them (the loop above sets the count back after each), and knows
/// the line of what is taken next. Lines are counted when they are asked for, many bytes at a time.
struct Lines<'a> {
    input: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that are filled, taken, and counted.
    n_filled: usize,
    n_taken: usize,
    n_counted: usize,
    n_line_feeds: u64,
    piece_bytes: usize,
}

impl<'a> Lines<'a> {
    fn new(input: Box<dyn Read + 'a>) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { input, buffer, n_filled: 0, n_taken: 0, n_counted: 0, n_line_feeds: 0, piece_bytes: 0 }
    }

    /// The line of what is taken next, from 1.
    fn line(&mut self) -> u64 {
        // Sums that fit a byte, so that many bytes are compared at once.
        for bytes in self.buffer[self.n_counted..self.n_taken].chunks(255) {
            let n = bytes.iter().fold(0_u8, |n, byte| n.wrapping_add(u8::from(*byte == b'\n')));
            self.n_line_feeds += u64::from(n);
        }
        self.n_counted = self.n_taken;
        1 + self.n_line_feeds
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
        if self.n_taken == self.n_filled {
            self.line();
            self.n_filled = self.input.read(&mut self.buffer)?;
            (self.n_taken, self.n_counted) = (0, 0);
        }
        Ok(&self.buffer[self.n_taken..self.n_filled])
    }

    fn consume(&mut self, n: usize) {
        self.n_taken += n;
        self.piece_bytes += n;
    }
}
