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
        let n_more = DECIMALS + i64::from(self.power_of_ten) - i64::try_from(n_fraction).ok()?;
        let scale = *POWERS_OF_TEN.get(usize::try_from(n_more).ok()?)?;
        magnitude = magnitude.checked_mul(scale)?;
        let most = if self.is_register { MAX_SCALED_REGISTER } else { MAX_SCALED };
        (n_digits > 0 && magnitude <= most).then_some(if negative { -magnitude } else { magnitude })
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
        if magnitude > if self.is_register { MAX_SCALED_REGISTER } else { MAX_SCALED } {
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
    }
}
