//! The bytes of a file as text: zip archives opened, byte-order marks taken off, other charsets than UTF-8 decoded.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use encoding_rs_io::DecodeReaderBytesBuilder;

use super::number::clip;
use super::{UsageCode, UsageError, UsageWarning};

/// Bytes at the beginning of a file that a reader may look at.
const HEAD_BYTES: u64 = 64 * 1024;

/// The most that comes out of an archive.
const MAX_UNPACKED_BYTES: u64 = 8 << 30;

/// The most that comes out of a byte of an archive: digits of meters pack ten to thirty times, a bomb a thousand times.
const MAX_RATIO: u64 = 200;

/// Bytes of an unpacked file that stay in memory.
const SPOOL_BYTES: usize = 1 << 20;

/// What can be read and read again.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// A file of readings that can be read from its beginning as often as wanted.
pub struct Source<'a> {
    input: Box<dyn ReadSeek + 'a>,
    encoding: &'static Encoding,
    n_mark: u64,
    head: Vec<u8>,
    warnings: Vec<UsageWarning>,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("encoding", &self.encoding.name()).finish_non_exhaustive()
    }
}

impl<'a> Source<'a> {
    /// Looks at the beginning of `input` and opens it if it is a zip archive of one file.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`]; [`UsageCode::BadArchive`] for an archive that is damaged, locked, larger than it says,
    /// or of several files.
    pub(super) fn new(input: impl ReadSeek + 'a) -> Result<Self, UsageError> {
        let mut input: Box<dyn ReadSeek + 'a> = Box::new(input);
        let mut head = read_head(&mut *input)?;
        let mut warnings = Vec::new();
        if head.starts_with(b"PK\x03\x04") {
            let (unpacked, name) = unpack(&mut *input)?;
            input = Box::new(unpacked);
            head = read_head(&mut *input)?;
            let detail = format!("read the file {:?} of the archive", clip(&name));
            warnings.push(UsageWarning { code: "archive_opened", line: None, detail });
        }
        let (encoding, n_mark) = match Encoding::for_bom(&head) {
            Some((encoding, n_mark)) => (encoding, n_mark as u64),
            None => (guess(&head), 0),
        };
        if encoding != UTF_8 && n_mark == 0 {
            let detail = format!("the file is not UTF-8: read as {}", encoding.name());
            warnings.push(UsageWarning { code: "charset_assumed", line: None, detail });
        }
        let mut source = Self { input, encoding, n_mark, head: Vec::new(), warnings };
        let mut head = Vec::new();
        source.open()?.take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| unreadable(&e))?;
        source.head = head;
        Ok(source)
    }

    /// The first 64 KiB as text, without a byte-order mark.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The first lines of the head, without their ends; the last one may be cut.
    pub(super) fn head_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// What was assumed on the way to the text.
    pub(super) fn take_warnings(&mut self) -> Vec<UsageWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// The text from its beginning, as UTF-8; bytes that are none come through where the file was taken for UTF-8.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`].
    pub(super) fn open(&mut self) -> Result<Box<dyn Read + '_>, UsageError> {
        self.input.seek(SeekFrom::Start(self.n_mark)).map_err(|e| unreadable(&e))?;
        if self.encoding == UTF_8 {
            return Ok(Box::new(&mut self.input));
        }
        let decoder = DecodeReaderBytesBuilder::new()
            .encoding(Some(self.encoding))
            .bom_sniffing(false)
            .build(BufReader::new(&mut self.input));
        Ok(Box::new(decoder))
    }

    /// The bytes as they are, from the beginning.
    ///
    /// # Errors
    /// [`UsageCode::Unreadable`].
    pub(super) fn bytes(&mut self) -> Result<&mut (dyn ReadSeek + 'a), UsageError> {
        self.input.seek(SeekFrom::Start(0)).map_err(|e| unreadable(&e))?;
        Ok(&mut *self.input)
    }
}

/// The refusal of bytes that could not be read.
pub(super) fn unreadable(error: &io::Error) -> UsageError {
    UsageError::new(UsageCode::Unreadable, format!("the file could not be read: {error}"))
}

fn read_head(input: &mut dyn ReadSeek) -> Result<Vec<u8>, UsageError> {
    let mut head = Vec::new();
    input
        .seek(SeekFrom::Start(0))
        .and_then(|_| input.take(HEAD_BYTES).read_to_end(&mut head))
        .map_err(|e| unreadable(&e))?;
    Ok(head)
}

/// The charset of a text without a mark.
fn guess(head: &[u8]) -> &'static Encoding {
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // Cut within its last character.
        Err(error) => error.error_len().is_none() && head.len() as u64 == HEAD_BYTES,
    };
    match head {
        [b'<' | b' '..=b'~', 0, b' '..=b'~', 0, ..] => UTF_16LE,
        [0, b'<' | b' '..=b'~', 0, b' '..=b'~', ..] => UTF_16BE,
        // Formats that are no text.
        [b'P', b'A', b'R', b'1', ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => UTF_8,
        _ if is_utf8 => UTF_8,
        _ => {
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
            detector.feed(head, true);
            detector.guess(None, Utf8Detection::Deny)
        }
    }
}

fn bad_archive(why: impl Into<String>) -> UsageError {
    UsageError::new(UsageCode::BadArchive, why)
}

/// The one file of readings in an archive, unpacked, and its name.
fn unpack(input: &mut dyn ReadSeek) -> Result<(tempfile::SpooledTempFile, String), UsageError> {
    let damaged = |error: zip::result::ZipError| bad_archive(format!("the zip archive cannot be opened: {error}"));
    let mut archive = zip::ZipArchive::new(input).map_err(damaged)?;
    let mut found: Option<(usize, String)> = None;
    for idx in 0..archive.len() {
        let member = archive.by_index_raw(idx).map_err(damaged)?;
        let name = member.name().map_err(damaged)?.into_owned();
        let lower = name.to_ascii_lowercase();
        if lower == "[content_types].xml" {
            return Err(bad_archive("the file is a spreadsheet; save the sheet with the readings as CSV"));
        }
        let is_extra = [".html", ".htm", ".xsl", ".xslt", ".css", ".pdf", ".png", ".jpg", ".md"];
        let is_data = !member.is_dir()
            && !lower.starts_with("__macosx/")
            && !lower.rsplit('/').next().is_some_and(|file| file.starts_with('.') || file.starts_with("readme"))
            && !is_extra.iter().any(|extension| lower.ends_with(extension));
        if !is_data {
            continue;
        }
        if let Some((_, other)) = &found {
            let (a, b) = (clip(other), clip(&name));
            return Err(bad_archive(format!("the archive holds several files ({a:?}, {b:?}, …); send one at a time")));
        }
        found = Some((idx, name));
    }
    let Some((idx, name)) = found else { return Err(bad_archive("the archive holds no file of readings")) };
    let member = archive.by_index(idx).map_err(damaged)?;
    let bomb = || bad_archive(format!("{:?} is far larger than its archive: this is no file of readings", clip(&name)));
    let most = member.compressed_size().saturating_mul(MAX_RATIO).clamp(SPOOL_BYTES as u64, MAX_UNPACKED_BYTES);
    if member.size() > most {
        return Err(bomb());
    }
    let mut unpacked = tempfile::spooled_tempfile(SPOOL_BYTES);
    let n = io::copy(&mut member.take(most + 1), &mut unpacked)
        .map_err(|e| bad_archive(format!("the zip archive cannot be read to its end: {e}")))?;
    if n > most { Err(bomb()) } else { Ok((unpacked, name)) }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::*;

    fn text(bytes: &[u8]) -> (String, Option<&'static str>) {
        let mut source = Source::new(Cursor::new(bytes)).unwrap();
        let mut text = String::new();
        source.open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(source.head(), text.as_bytes());
        let code = source.take_warnings().first().map(|warning| warning.code);
        (text, code)
    }

    #[test]
    fn marks_are_taken_off_and_charsets_decoded() {
        let sentence = "使用量,年月日,ご使用量,お客さま番号,売電量";
        let (cp932, ..) = encoding_rs::SHIFT_JIS.encode(sentence);
        assert_eq!(text(&cp932), (sentence.to_owned(), Some("charset_assumed")));
        assert_eq!(text(sentence.as_bytes()), (sentence.to_owned(), None));
        assert_eq!(text(b"\xef\xbb\xbfstart,kwh"), ("start,kwh".to_owned(), None));
        let utf16: Vec<u8> = "start,kwh".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(text(&utf16), ("start,kwh".to_owned(), Some("charset_assumed")));
        let marked = [&[0xff, 0xfe], utf16.as_slice()].concat();
        assert_eq!(text(&marked), ("start,kwh".to_owned(), None));
        let latin = b"Relev\xe9,\xc9nergie (kWh)\n";
        assert_eq!(text(latin).0, "Relevé,Énergie (kWh)\n");
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn the_one_file_of_an_archive_is_read() {
        let packed = archive(&[("a/view.html", b"<html>"), ("a/data.csv", b"start,kwh\n")]);
        assert_eq!(text(&packed), ("start,kwh\n".to_owned(), Some("archive_opened")));
        let refused = |bytes: Vec<u8>| Source::new(Cursor::new(bytes)).unwrap_err().code;
        assert_eq!(refused(archive(&[("a.csv", b""), ("b.csv", b"")])), UsageCode::BadArchive);
        assert_eq!(refused(archive(&[("[Content_Types].xml", b""), ("xl/workbook.xml", b"")])), UsageCode::BadArchive);
        assert_eq!(refused(packed[..packed.len() / 2].to_vec()), UsageCode::BadArchive);
        assert_eq!(refused(archive(&[("zeros.csv", &vec![b'0'; 20 << 20])])), UsageCode::BadArchive, "a bomb");
    }
}
