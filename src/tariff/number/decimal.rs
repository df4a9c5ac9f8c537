//! Decimals as they are written in documents and on bills.

use std::fmt;

use super::{Exact, MONEY_DECIMALS};

/// A decimal as written: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    pub(super) digits: i128,
    pub(super) scale: u32,
}

/// Why a text is no decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecimalError {
    /// Not digits with at most one point and a sign.
    #[error("is no decimal number; write digits with a point, without exponent")]
    NotANumber,
    /// More decimals than the field holds.
    #[error("has more than {0} decimals")]
    TooManyDecimals(u32),
    /// More than 18 digits before the point.
    #[error("has more than 18 digits before the point")]
    TooLarge,
}

impl Decimal {
    /// Zero.
    pub(crate) const ZERO: Self = Self { digits: 0, scale: 0 };
    /// One.
    pub(crate) const ONE: Self = Self { digits: 1, scale: 0 };

    /// Reads `-12.50`: a sign, digits, a point with digits behind it; trailing zeros are not kept.
    ///
    /// # Errors
    /// [`DecimalError`] when it is none, or has more than `max_decimals` decimals.
    pub(crate) fn parse(text: &str, max_decimals: u32) -> Result<Self, DecimalError> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, decimals) = match unsigned.split_once('.') {
            Some((_, "")) => return Err(DecimalError::NotANumber),
            Some((whole, decimals)) => (whole, decimals.trim_end_matches('0')),
            None => (unsigned, ""),
        };
        let is_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(decimals) {
            return Err(DecimalError::NotANumber);
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 18 {
            return Err(DecimalError::TooLarge);
        }
        let scale = u32::try_from(decimals.len()).unwrap_or(u32::MAX);
        if scale > max_decimals.min(MONEY_DECIMALS) {
            return Err(DecimalError::TooManyDecimals(max_decimals));
        }
        let mut digits = 0i128;
        for b in whole.bytes().chain(decimals.bytes()) {
            digits = digits * 10 + i128::from(b - b'0');
        }
        Ok(Self { digits: if negative { -digits } else { digits }, scale })
    }

    /// Whether it is greater than zero.
    pub(crate) fn is_positive(self) -> bool {
        self.digits > 0
    }

    /// Whether it is less than zero.
    pub(crate) fn is_negative(self) -> bool {
        self.digits < 0
    }

    /// Whether it is greater than another one.
    pub(crate) fn is_above(self, other: Self) -> bool {
        Exact::from(self) > Exact::from(other)
    }

    /// The decimals of a unit that is a power of ten, at most one: 2 of 0.01.
    pub(crate) fn decimals_of_unit(self) -> Option<u32> {
        (self.digits == 1).then_some(self.scale)
    }

    /// The value with the other sign.
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        Self { digits: -self.digits, scale: self.scale }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&scaled_text(self.digits, self.scale, 0))
    }
}

/// `digits / 10^scale` as text, without trailing zeros beyond `least_decimals` decimals.
pub(super) fn scaled_text(digits: i128, scale: u32, least_decimals: u32) -> String {
    let (scale, least_decimals) = (scale as usize, least_decimals as usize);
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(digits.unsigned_abs());
    let (whole, decimals) = text.split_at(text.len().saturating_sub(scale));
    // Those between the point and the first digit that is there.
    let n_zeros = scale - decimals.len();
    let decimals = decimals.trim_end_matches('0');
    let n_decimals = if decimals.is_empty() { 0 } else { n_zeros + decimals.len() };
    let n_shown = n_decimals.max(least_decimals);
    let mut out = String::with_capacity(3 + whole.len() + n_shown);
    if digits < 0 {
        out.push('-');
    }
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if n_shown > 0 {
        out.push('.');
        if n_decimals > 0 {
            out.extend(std::iter::repeat_n('0', n_zeros));
            out.push_str(decimals);
        }
        out.extend(std::iter::repeat_n('0', n_shown - n_decimals));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_digits_with_a_point() {
        for (text, shown) in [("0", "0"), ("-0.50", "-0.5"), ("007", "7"), ("12.340", "12.34"), ("-3", "-3")] {
            assert_eq!(Decimal::parse(text, 18).unwrap().to_string(), shown);
        }
        for bad in ["", "-", ".5", "5.", "1e3", "+1", " 1", "1,5", "NaN", "--1", "1.2.3", "٣"] {
            assert_eq!(Decimal::parse(bad, 18), Err(DecimalError::NotANumber), "{bad}");
        }
        assert_eq!(Decimal::parse("0.123", 2), Err(DecimalError::TooManyDecimals(2)));
        assert_eq!(Decimal::parse("0.1200", 2).unwrap().to_string(), "0.12");
        assert_eq!(Decimal::parse("1234567890123456789", 2), Err(DecimalError::TooLarge));
    }

    #[test]
    fn digits_of_any_length_are_written() {
        let check = |digits: i128, scale: u32, least: u32, shown: &str| {
            assert_eq!(scaled_text(digits, scale, least), shown, "{digits} {scale} {least}");
        };
        check(0, 0, 0, "0");
        check(0, 18, 2, "0.00");
        check(5, 0, 2, "5.00");
        check(-5, 18, 0, "-0.000000000000000005");
        check(58_240_000_000_000_000_000, 18, 0, "58.24");
        check(58_200_000_000_000_000_000, 18, 2, "58.20");
        check(10_i128.pow(19), 0, 0, "10000000000000000000");
        check(-(10_i128.pow(38)) - 7, 18, 0, "-100000000000000000000.000000000000000007");
        check(i128::MIN, 0, 0, "-170141183460469231731687303715884105728");
        check(i128::MAX, 38, 0, "1.70141183460469231731687303715884105727");
        check(1, 38, 40, "0.0000000000000000000000000000000000000100");
        for digits in (-2_000..2_000).step_by(7) {
            let plain = format!(
                "{}{}.{:03}",
                if digits < 0 { "-" } else { "" },
                i128::abs(digits) / 1000,
                i128::abs(digits) % 1000
            );
            check(digits, 3, 3, &plain);
        }
    }
}
