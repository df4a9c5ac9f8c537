//! Numbers as text to fixed-point integers, exactly: kWh to milliwatt-hours.

use super::{UsageCode, UsageError};

/// Decimals that are kept: 1 kWh is a million milliwatt-hours.
const DECIMALS: i64 = 6;

/// More than any meter counts in one interval: ten million kWh in an hour are ten gigawatts. In the sixth decimal.
const MAX_SCALED: i64 = 10_000_000 * 1_000_000;

/// A register's standing may be a hundred times that.
const MAX_SCALED_REGISTER: i64 = 100 * MAX_SCALED;

/// Longest text of a number that is looked at.
const MAX_DIGITS: usize = 64;

/// Digits that fit 64 bits whatever they are.
const MAX_SHORT_DIGITS: usize = 15;

const POWERS_OF_TEN: [i64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// How a file writes its numbers, and in which unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberFormat {
    /// Between whole and fraction: a point or a comma.
    pub(super) decimal_sign: u8,
    /// Power of ten of the unit in kWh (kW): 0 for kWh, -3 for Wh, 3 for `MWh`.
    pub(super) power_of_ten: i8,
    /// Whether standings of a register are read, which may be larger than the energy of an interval.
    pub(super) is_register: bool,
}

impl NumberFormat {
    /// kWh with a decimal point.
    pub(super) const KWH: Self = Self { decimal_sign: b'.', power_of_ten: 0, is_register: false };

    /// The value in the sixth decimal of kWh (milliwatt-hours) or kW (milliwatts); decimals beyond are rounded half to
    /// even.
    ///
    /// Signs, `.5` and `5.` are numbers; exponents, thousands separators and `NaN` are not. Negative values are what a
    /// netting meter sends.
    ///
    /// # Errors
    /// [`UsageCode::BadNumber`], without a place, when the text is no such number or beyond ten million kWh.
    #[inline]
    pub(super) fn read(self, text: &str) -> Result<i64, UsageError> {
        self.read_bytes(text.as_bytes())
    }

    /// As [`NumberFormat::read`], from bytes.
    ///
    /// # Errors
    /// As [`NumberFormat::read`].
    #[inline]
    pub(super) fn read_bytes(self, bytes: &[u8]) -> Result<i64, UsageError> {
        match self.read_short(bytes) {
            Some(value) => Ok(value),
            None => self.read_long(bytes),
        }
    }

    /// Numbers of few digits, as nearly all are; `None`: not one of them.
    #[inline]
    pub(super) fn read_short(self, bytes: &[u8]) -> Option<i64> {
        let n = bytes.len();
        if let (Some(first), Some(last), 4..=8) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), n) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            let word = u64::from(first) | u64::from(last) << (8 * (n - 4));
            if let Some(value) = self.read_word(word, n) {
                return Some(value);
            }
        }
        self.read_digits(bytes)
    }

    /// Numbers at the beginning of a row's bytes, each of which ends at a comma: adds `n` of them to `values` and gives how
    /// many bytes they take. `None`: one of them is not plain digits of at most seven bytes.
    #[inline]
    pub(super) fn read_cells(self, row: &[u8], n: usize, values: &mut Vec<i64>) -> Option<usize> {
        let word_at = |at: usize| Some(u64::from_le_bytes(*row.get(at..)?.first_chunk()?));
        let (mut at, mut n_left) = (0, n);
        while n_left > 0 {
            // Numbers of one width follow each other. Where the next one begins is known before this one is looked at,
            // so that the processor reads several at a time.
            let width = first_of(word_at(at)?, b',').filter(|width| *width > 0)?;
            let (mask, end) = (u64::MAX >> (64 - 8 * width), u64::from(b',') << (8 * width));
            let byte = 0xff << (8 * width);
            let n_before = n_left;
            while n_left > 0
                && let Some(word) = word_at(at)
                && word & byte == end
                && let Some(value) = self.read_word(word & mask, width)
            {
                values.push(value);
                (at, n_left) = (at + width + 1, n_left - 1);
            }
            if n_left == n_before {
                return None;
            }
        }
        Some(at)
    }

    /// A number without a sign from up to eight bytes at once: the point is taken out, digits are put together by pairs,
    /// pairs by fours, fours by eights.
    ///
    /// * `word`: its bytes, the first one lowest, nothing above them.
    /// * `n`: 1 to 8 of them.
    #[inline]
    fn read_word(self, word: u64, n: usize) -> Option<i64> {
        const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
        let (digits, n_digits, n_fraction) = match first_of(word, self.decimal_sign) {
            None => (word, n, 0),
            Some(at) => {
                let whole = word & !(u64::MAX << (8 * at));
                let fraction = word >> (8 * at) >> 8;
                (whole | fraction << (8 * at), n - 1, n - 1 - at)
            }
        };
        if n_digits == 0 {
            return None;
        }
        let n_leading = 8 * (8 - n_digits);
        let values = ((digits << n_leading) | (ZEROS & !(u64::MAX << n_leading))) ^ ZEROS;
        if (values | values.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0 != 0 {
            return None;
        }
        let pairs = values.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
        let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
        let magnitude = (fours.wrapping_mul(10_000 << 32 | 1) >> 32).cast_signed();
        let scaled = magnitude.checked_mul(self.scale(n_fraction)?)?;
        (scaled <= self.most()).then_some(scaled)
    }

    /// What the digits of a number with so many decimals are multiplied with; `None` where some of them are to be rounded.
    #[inline]
    fn scale(self, n_fraction: usize) -> Option<i64> {
        let n_more = DECIMALS + i64::from(self.power_of_ten) - i64::try_from(n_fraction).ok()?;
        POWERS_OF_TEN.get(usize::try_from(n_more).ok()?).copied()
    }

    #[inline]
    fn most(self) -> i64 {
        if self.is_register { MAX_SCALED_REGISTER } else { MAX_SCALED }
    }

    fn read_digits(self, bytes: &[u8]) -> Option<i64> {
        let (negative, digits) = match bytes {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        if digits.len() > MAX_SHORT_DIGITS {
            return None;
        }
        // So few digits fit whatever they are.
        let with = |magnitude: i64, digit: u8| magnitude.wrapping_mul(10).wrapping_add(i64::from(digit));
        let (mut magnitude, mut rest) = (0, digits);
        while let [byte, after @ ..] = rest
            && byte.is_ascii_digit()
        {
            magnitude = with(magnitude, byte - b'0');
            rest = after;
        }
        let fraction = match rest {
            [] => rest,
            [sign, fraction @ ..] if *sign == self.decimal_sign => fraction,
            _ => return None,
        };
        for byte in fraction {
            if !byte.is_ascii_digit() {
                return None;
            }
            magnitude = with(magnitude, byte - b'0');
        }
        let n_fraction = fraction.len();
        let n_digits = digits.len() - rest.len() + n_fraction;
        magnitude = magnitude.checked_mul(self.scale(n_fraction)?)?;
        (n_digits > 0 && magnitude <= self.most()).then_some(if negative { -magnitude } else { magnitude })
    }

    fn read_long(self, bytes: &[u8]) -> Result<i64, UsageError> {
        let bad = |why: &str| {
            let text = clip(&String::from_utf8_lossy(bytes));
            Err(UsageError::new(UsageCode::BadNumber, format!("{text:?} is no kWh value: {why}")))
        };
        let (negative, digits) = match bytes.first() {
            Some(b'-') => (true, &bytes[1..]),
            Some(b'+') => (false, &bytes[1..]),
            _ => (false, bytes),
        };
        if digits.len() > MAX_DIGITS {
            return bad("it has too many digits");
        }
        let sign_at = digits.iter().position(|b| *b == self.decimal_sign).unwrap_or(digits.len());
        let (whole, fraction) = (&digits[..sign_at], digits.get(sign_at + 1..).unwrap_or_default());
        let all_digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return bad(if self.decimal_sign == b'.' {
                "write it like 0.125, with a point and without exponent or separators"
            } else {
                "write it like 0,125, with a comma and without exponent or separators"
            });
        }
        // The digits that stay: the whole ones and as many of the fraction as reach the sixth decimal of a kWh.
        let n_kept = i64::try_from(whole.len()).expect("a short text") + DECIMALS + i64::from(self.power_of_ten);
        let mut magnitude: i64 = 0;
        let mut all = whole.iter().chain(fraction).copied();
        for _ in 0..n_kept {
            let digit = i64::from(all.next().unwrap_or(b'0') - b'0');
            magnitude = match magnitude.checked_mul(10).and_then(|n| n.checked_add(digit)) {
                Some(magnitude) => magnitude,
                None => return bad("no meter counts that much in one interval"),
            };
        }
        if n_kept >= 0 {
            magnitude += i64::from(rounds_up(all, magnitude % 2 != 0));
        }
        if magnitude > self.most() {
            return bad("no meter counts that much in one interval");
        }
        Ok(if negative { -magnitude } else { magnitude })
    }
}

/// Milliwatt-hours of a decimal number of kWh with a point; decimals beyond the sixth are rounded half to even.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place, when the text is no such number or beyond ten million kWh.
pub fn milliwatt_hours(text: &str) -> Result<i64, UsageError> {
    NumberFormat::KWH.read(text)
}

/// Place of a byte's first showing among eight, counted from the lowest.
#[inline]
fn first_of(word: u64, byte: u8) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let differences = word ^ (ONES * u64::from(byte));
    // The lowest bit that is set is that of the lowest byte without a difference; those above it may be wrong.
    let found = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
    (found != 0).then(|| (found.trailing_zeros() / 8) as usize)
}

/// `numerator / denominator`, rounded half to even; the denominator is positive.
pub(super) fn divide_half_even(numerator: i128, denominator: i128) -> i128 {
    let (quotient, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    let up = match (2 * rest).cmp(&denominator) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient % 2 != 0,
        std::cmp::Ordering::Greater => true,
    };
    quotient + i128::from(up)
}

/// Whether the digits after the last kept one round it up, half to even.
fn rounds_up(mut rest: impl Iterator<Item = u8>, last_kept_is_odd: bool) -> bool {
    match rest.next() {
        None | Some(b'0'..=b'4') => false,
        Some(b'5') => last_kept_is_odd || rest.any(|digit| digit != b'0'),
        Some(_) => true,
    }
}

/// The beginning of a text, for messages.
pub(super) fn clip(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(40).chain("…".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use proptest::prelude::*;
    use rust_decimal::{Decimal, RoundingStrategy};

    use super::*;

    #[test]
    fn numbers_are_read_exactly() {
        let cases = [
            ("0.408648", 408_648),
            ("3", 3_000_000),
            (".005", 5_000),
            ("5.", 5_000_000),
            ("-0.25", -250_000),
            ("+1.5", 1_500_000),
            ("-0", 0),
            ("10000000", 10_000_000_000_000),
            ("00000000000000000001.1", 1_100_000),
            ("0.12345678901234", 123_457),
        ];
        for (text, expected) in cases {
            assert_eq!(milliwatt_hours(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_tie_beyond_the_sixth_decimal_goes_to_the_even_one() {
        assert_eq!(milliwatt_hours("0.0000005"), Ok(0));
        assert_eq!(milliwatt_hours("0.0000015"), Ok(2));
        assert_eq!(milliwatt_hours("0.0000025000000000000000000000000000000"), Ok(2));
        assert_eq!(milliwatt_hours("0.00000250000000000000000000000000000001"), Ok(3));
        assert_eq!(milliwatt_hours("-0.0000015"), Ok(-2));
        assert_eq!(milliwatt_hours("0.9999995"), Ok(1_000_000));
    }

    #[test]
    fn what_is_no_plain_number_is_refused() {
        let long = "1".repeat(100);
        for text in [
            "", "-", ".", "1e3", "1E-5", "NaN", "inf", "1,5", "1_000", "1 000", "0x1f", "--1", "1.2.3", "١", "=1",
            &long,
        ] {
            assert_eq!(milliwatt_hours(text).unwrap_err().code, UsageCode::BadNumber, "{text}");
        }
        assert!(milliwatt_hours("10000000.0000004").is_ok());
        assert!(milliwatt_hours("10000000.000001").is_err());
        assert!(milliwatt_hours("99999999999").is_err());
    }

    #[test]
    fn a_day_of_plain_cells_is_read_at_once() {
        let mut values = Vec::new();
        let row = "0.125,0.250,12.5,7,1.000001,0.5,A,,,20270101000000,";
        assert_eq!(NumberFormat::KWH.read_cells(row.as_bytes(), 4, &mut values), Some(19));
        assert_eq!(values, [125_000, 250_000, 12_500_000, 7_000_000]);
        for not_plain in ["1.0000001,0,A,,,2027", "-1,0,A,,,20270101", ",0,A,,,20270101", ".,0,A,,,20270101", "1,2"] {
            assert_eq!(NumberFormat::KWH.read_cells(not_plain.as_bytes(), 2, &mut values), None, "{not_plain}");
        }
    }

    #[test]
    fn other_units_and_a_decimal_comma_are_read_exactly() {
        let read = |text: &str, decimal_sign, power_of_ten| {
            NumberFormat { decimal_sign, power_of_ten, is_register: false }.read(text)
        };
        assert_eq!(read("0,128", b',', 0), Ok(128_000));
        assert_eq!(read("1234", b'.', -3), Ok(1_234_000), "Wh");
        assert_eq!(read("0.0005", b'.', -3), Ok(0), "half a milliwatt-hour goes to the even one");
        assert_eq!(read("0.0015", b'.', -3), Ok(2));
        assert_eq!(read("1.25", b'.', 3), Ok(1_250_000_000), "MWh");
        assert_eq!(read("7", b'.', -12), Ok(0));
        assert_eq!(read("7", b'.', 9), Err(read("7", b'.', 9).unwrap_err()), "7 TWh are no interval");
        assert!(read("1.5", b',', 0).is_err() && read("1,5", b'.', 0).is_err());
    }

    #[test]
    fn a_quotient_is_rounded_half_to_even() {
        let cases = [(7, 2, 4), (5, 2, 2), (-5, 2, -2), (-7, 2, -4), (10, 4, 2), (11, 4, 3), (-1, 3, 0)];
        for (numerator, denominator, expected) in cases {
            assert_eq!(divide_half_even(numerator, denominator), expected, "{numerator} / {denominator}");
        }
    }

    proptest! {
        #[test]
        fn a_decimal_library_gives_the_same(text in r"-?[0-9]{1,7}(\.[0-9]{1,20})?") {
            let decimal = Decimal::from_str(&text).unwrap() * Decimal::from(1_000_000);
            let expected = decimal.round_dp_with_strategy(0, RoundingStrategy::MidpointNearestEven);
            prop_assert_eq!(Decimal::from(milliwatt_hours(&text).unwrap()), expected);
        }

        #[test]
        fn cells_of_a_row_read_at_once_are_what_each_of_them_is(
            cells in prop::collection::vec(r"[0-9]{0,5}\.?[0-9]{0,4}|-?[0-9]{1,3}|[0-9]{1,2}[x ][0-9]|0\.[0-9]{3}|[0-9]\.[0-9]{3}", 1..20),
            power_of_ten in -3..=3_i8,
        ) {
            let format = NumberFormat { power_of_ten, ..NumberFormat::KWH };
            let row = format!("{},A,,,20270101000000,", cells.join(","));
            let mut values = Vec::new();
            let each: Option<Vec<i64>> = cells.iter().map(|cell| format.read_bytes(cell.as_bytes()).ok()).collect();
            // It may leave a row to be read cell by cell; what it reads is right.
            if let Some(n_bytes) = format.read_cells(row.as_bytes(), cells.len(), &mut values) {
                prop_assert_eq!(Some(values), each);
                prop_assert_eq!(&row[n_bytes..], "A,,,20270101000000,");
            }
        }
    }
}
