//! kWh as text to milliwatt-hours, exactly.

use super::{UsageCode, UsageError};

/// 1 kWh in milliwatt-hours.
const MILLIWATT_HOURS_PER_KWH: i64 = 1_000_000;

/// More than any meter counts in one interval: ten million kWh in an hour are ten gigawatts.
const MAX_KWH: i64 = 10_000_000;

/// Longest text of a number that is looked at.
const MAX_DIGITS: usize = 64;

/// Milliwatt-hours of a decimal number of kWh; decimals beyond the sixth are rounded half to even.
///
/// Signs, `.5` and `5.` are numbers; exponents, thousands separators, decimal commas and `NaN` are not. Negative
/// values are what a netting meter sends.
///
/// # Errors
/// [`UsageCode::BadNumber`], without a place, when the text is no such number or beyond ten million kWh.
pub fn milliwatt_hours(text: &str) -> Result<i64, UsageError> {
    let bad =
        |why: &str| Err(UsageError::new(UsageCode::BadNumber, format!("{:?} is no kWh value: {why}", clip(text))));
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.len() > MAX_DIGITS {
        return bad("it has too many digits");
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return bad("write it like 0.125, with a point and without exponent or separators");
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > 8 {
        return bad("no meter counts that much in one interval");
    }
    let kwh = whole.bytes().fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
    let (kept, rest) = fraction.split_at(fraction.len().min(6));
    let mut parts = kept.bytes().fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
    for _ in kept.len()..6 {
        parts *= 10;
    }
    let magnitude = kwh * MILLIWATT_HOURS_PER_KWH + parts;
    let magnitude = magnitude + i64::from(rounds_up(rest, magnitude % 2 != 0));
    if magnitude > MAX_KWH * MILLIWATT_HOURS_PER_KWH {
        return bad("no meter counts that much in one interval");
    }
    Ok(if negative { -magnitude } else { magnitude })
}

/// Whether the digits after the last kept one round it up, half to even.
fn rounds_up(rest: &str, last_kept_is_odd: bool) -> bool {
    match rest.as_bytes() {
        [] | [b'0'..=b'4', ..] => false,
        [b'5', tail @ ..] if tail.iter().all(|b| *b == b'0') => last_kept_is_odd,
        _ => true,
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

    proptest! {
        #[test]
        fn a_decimal_library_gives_the_same(text in r"-?[0-9]{1,7}(\.[0-9]{1,20})?") {
            let decimal = Decimal::from_str(&text).unwrap() * Decimal::from(1_000_000);
            let expected = decimal.round_dp_with_strategy(0, RoundingStrategy::MidpointNearestEven);
            prop_assert_eq!(Decimal::from(milliwatt_hours(&text).unwrap()), expected);
        }
    }
}
