//! Numbers as spreadsheets leave them: thousands apart, exponents, full-width digits, either decimal sign.

use super::super::super::number::NumberFormat;
use super::super::super::{Quality, UsageCode, UsageError};

/// What a look at all numbers of a file tells of their decimal sign.
#[expect(clippy::struct_excessive_bools, reason = "five things that were seen or not, each by itself")]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SignSniff {
    point_is_decimal: bool,
    comma_is_decimal: bool,
    point_groups: bool,
    comma_groups: bool,
    has_bare_comma: bool,
}

impl SignSniff {
    /// Looks at one more number.
    pub(super) fn add(&mut self, text: &str) {
        let Some(last) = text.rfind(['.', ',']) else { return };
        let is_comma = text.as_bytes()[last] == b',';
        let n_same = text.bytes().filter(|b| *b == text.as_bytes()[last]).count();
        let has_other = text.contains(if is_comma { '.' } else { ',' });
        let whole = text[..last].trim_start_matches(['-', '+']);
        let n_after = text[last + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let (is_decimal, groups) = if is_comma {
            (&mut self.comma_is_decimal, &mut self.comma_groups)
        } else {
            (&mut self.point_is_decimal, &mut self.point_groups)
        };
        if n_same > 1 {
            *groups = true;
        } else if has_other || n_after != 3 || whole.is_empty() || whole.starts_with('0') || whole.len() > 3 {
            *is_decimal = true;
        } else if is_comma {
            self.has_bare_comma = true;
        }
    }

    /// The decimal sign. A comma that is always followed by three digits is one only where the cells are not apart by
    /// commas: there it groups thousands.
    pub(super) fn decimal_sign(self, delimiter: u8) -> u8 {
        if self.comma_is_decimal && !self.point_is_decimal {
            b','
        } else if self.point_is_decimal || self.comma_groups {
            b'.'
        } else if self.point_groups || self.has_bare_comma && delimiter != b',' {
            b','
        } else {
            b'.'
        }
    }
}

/// Whether a number may be written with that decimal sign: its last sign is that one, or one before three digits.
pub(super) fn may_have_sign(text: &str, decimal_sign: u8) -> bool {
    let bytes = text.as_bytes();
    match bytes.iter().rposition(|b| matches!(b, b'.' | b',')) {
        None => true,
        Some(last) => bytes[last] == decimal_sign || last + 4 == bytes.len(),
    }
}

/// The number in millionths, however a spreadsheet shows it: blanks, apostrophes or the other sign between groups of
/// three digits, an exponent, full-width digits.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place.
pub(in super::super) fn read_number(text: &str, format: NumberFormat) -> Result<i64, UsageError> {
    if let Some(value) = format.read_short(text.as_bytes()) {
        return Ok(value);
    }
    match plain(text, format.decimal_sign) {
        Some((plain, exponent)) => {
            let power_of_ten = format.power_of_ten.saturating_add(exponent);
            NumberFormat { decimal_sign: b'.', power_of_ten, ..format }.read(&plain)
        }
        None => format.read(text),
    }
}

/// The digits with a point, and the exponent; `None` where it is no such number.
fn plain(text: &str, decimal_sign: u8) -> Option<(String, i8)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent: i64 = exponent.parse().ok()?;
            (mantissa, i8::try_from(exponent.clamp(-100, 100)).ok()?)
        }
        None => (text, 0),
    };
    let mut plain = String::with_capacity(mantissa.len());
    // Digits since the last sign between groups; `None` before the first one.
    let mut n_in_group: Option<usize> = None;
    let mut n_whole = 0;
    let mut is_fraction = false;
    for (idx, c) in mantissa.chars().enumerate() {
        match c {
            '0'..='9' | '０'..='９' => {
                let digit = if c.is_ascii() { u32::from(c) - 0x30 } else { u32::from(c) - 0xff10 };
                plain.push(char::from_digit(digit, 10)?);
                if !is_fraction {
                    n_whole += 1;
                    n_in_group = n_in_group.map(|n| n + 1);
                }
            }
            '-' | '−' | '－' if idx == 0 => plain.push('-'),
            '+' if idx == 0 => {}
            _ if c == char::from(decimal_sign) || c == '．' => {
                if is_fraction || n_in_group.is_some_and(|n| n != 3) {
                    return None;
                }
                is_fraction = true;
                plain.push('.');
            }
            ',' | '.' | ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’' => {
                let is_group = !is_fraction && n_in_group.map_or((1..=3).contains(&n_whole), |n| n == 3);
                if !is_group {
                    return None;
                }
                n_in_group = Some(0);
            }
            _ => return None,
        }
    }
    (is_fraction || n_in_group.is_none_or(|n| n == 3)).then_some((plain, exponent))
}

/// Whether a text in a column of numbers says that there is none.
pub(in super::super) fn is_missing(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "missing",
        "n/a",
        "na",
        "null",
        "none",
        "nan",
        "unavailable",
        "unknown",
        "no data",
        "nodata",
        "fehlt",
        "#n/a",
        "欠測",
        "manquant",
        "falta",
        "ontbreekt",
    ];
    if begins_like_number(text) {
        return false;
    }
    let lower = text.to_lowercase();
    WORDS.contains(&lower.as_str())
}

/// Whether a text begins with a digit, behind a sign perhaps: it is none of the words.
pub(super) fn begins_like_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+', '.', ',']).as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// Whether a cell is left blank: dashes stand for blanks.
pub(in super::super) fn is_blank(text: &str) -> bool {
    text.is_empty() || text.chars().all(|c| matches!(c, '-' | '–' | '—' | '*' | '―' | 'ー'))
}

/// A quality by the words of many files; blank is measured.
///
/// # Errors
/// [`UsageCode::BadQuality`] for a word nobody knows.
pub(super) fn quality_of(word: &str) -> Result<Quality, UsageError> {
    const MEASURED: &[&str] = &[
        "",
        "measured",
        "actual",
        "act",
        "a",
        "m",
        "real",
        "r",
        "valid",
        "validated",
        "ok",
        "good",
        "read",
        "meter",
        "w",
        "gemessen",
        "wahrer wert",
        "mesure",
        "reel",
        "medido",
        "reale",
        "gemeten",
        "確定",
        "確定値",
        "confirmed",
        "final",
        "0",
    ];
    const ESTIMATED: &[&str] = &[
        "estimated",
        "estimate",
        "est",
        "e",
        "geschatzt",
        "geschaetzt",
        "prognose",
        "estime",
        "estimada",
        "estimado",
        "stimato",
        "stimata",
        "geschat",
        "速報",
        "速報値",
        "暫定",
        "仮",
        "provisional",
    ];
    const SUBSTITUTED: &[&str] = &["substituted", "substitute", "sub", "s", "f", "ersatzwert", "ersatz", "corrected"];
    const MISSING: &[&str] = &["missing", "n", "no data", "invalid", "fehlt", "欠測"];
    let folded = super::super::columns::fold(word);
    let word_is = |known: &[&str]| known.contains(&folded.as_str());
    if word_is(MEASURED) {
        Ok(Quality::Measured)
    } else if word_is(ESTIMATED) {
        Ok(Quality::Estimated)
    } else if word_is(SUBSTITUTED) {
        Ok(Quality::Substituted)
    } else if word_is(MISSING) {
        Ok(Quality::Missing)
    } else {
        let word = super::super::super::number::clip(word);
        let message = format!("{word:?} is no quality; write measured, substituted, estimated or missing");
        Err(UsageError::new(UsageCode::BadQuality, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_spreadsheets_are_read_exactly() {
        let read =
            |text: &str, decimal_sign| read_number(text, NumberFormat { decimal_sign, ..NumberFormat::KWH }).ok();
        for (text, sign, expected) in [
            ("1,234.5", b'.', Some(1_234_500_000)),
            ("1.234,5", b',', Some(1_234_500_000)),
            ("1 234,5", b',', Some(1_234_500_000)),
            ("1\u{202f}234\u{a0}567,5", b',', Some(1_234_567_500_000)),
            ("1’234.5", b'.', Some(1_234_500_000)),
            ("1.5E-03", b'.', Some(1_500)),
            ("1,5e2", b',', Some(150_000_000)),
            ("-1E0", b'.', Some(-1_000_000)),
            ("１．５", b'.', Some(1_500_000)),
            ("−0.5", b'.', Some(-500_000)),
            ("1E-200", b'.', Some(0)),
            ("1E200", b'.', None),
            ("1,23.5", b'.', None),
            ("12,34", b'.', None),
            ("1,234,5", b'.', None),
            ("1.2.3", b'.', None),
            ("1e", b'.', None),
            ("e5", b'.', None),
            ("1 2", b'.', None),
            ("0x10", b'.', None),
        ] {
            assert_eq!(read(text, sign), expected, "{text}");
        }
    }

    #[test]
    fn the_decimal_sign_is_found_in_the_whole_file() {
        let sign = |texts: &[&str], delimiter| {
            let mut sniff = SignSniff::default();
            for text in texts {
                sniff.add(text);
            }
            char::from(sniff.decimal_sign(delimiter))
        };
        assert_eq!(sign(&["1", "0.5", "1.234"], b','), '.');
        assert_eq!(sign(&["1,234", "0,5"], b';'), ',');
        assert_eq!(sign(&["1,234", "2,345"], b';'), ',');
        assert_eq!(sign(&["1,234", "987"], b','), '.', "thousands");
        assert_eq!(sign(&["1,234,567"], b';'), '.');
        assert_eq!(sign(&["1.234,5"], b';'), ',');
        assert_eq!(sign(&["1.234.567"], b';'), ',');
        assert_eq!(sign(&[], b';'), '.');
    }
}
