//! Quotients settled to whole numbers.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::{Signed, Zero};

/// How a number between two units is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RoundingMode {
    /// To the nearer one; halfway away from zero.
    HalfUp,
    /// To the nearer one; halfway to the even one.
    HalfEven,
    /// Towards zero.
    Down,
    /// Away from zero.
    Up,
}

/// `numerator / denominator` to a whole number; the denominator is greater than zero.
pub(super) fn rounded_quotient(numerator: i128, denominator: i128, mode: RoundingMode) -> i128 {
    // Without signs: a division of 128 bits has enough to do.
    let (magnitude, divisor) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    let quotient = magnitude / divisor;
    // No larger than the magnitude, both of them.
    let rest = magnitude.wrapping_sub(quotient.wrapping_mul(divisor));
    let away = rest != 0
        && match mode {
            RoundingMode::Down => false,
            RoundingMode::Up => true,
            RoundingMode::HalfUp => rest >= divisor - rest,
            RoundingMode::HalfEven => rest > divisor - rest || (rest == divisor - rest && !quotient.is_multiple_of(2)),
        };
    // The quotient is no larger than the numerator; only what was divided by one can be the least number of all.
    let rounded = (quotient + u128::from(away)).cast_signed();
    if numerator < 0 { rounded.wrapping_neg() } else { rounded }
}

/// The same of numbers of any length.
pub(super) fn rounded_big_quotient(numerator: &BigInt, denominator: &BigInt, mode: RoundingMode) -> BigInt {
    let (quotient, rest) = (numerator / denominator, numerator % denominator);
    if rest.is_zero() {
        return quotient;
    }
    let away = match mode {
        RoundingMode::Down => false,
        RoundingMode::Up => true,
        RoundingMode::HalfUp | RoundingMode::HalfEven => match (rest.abs() * 2u8).cmp(denominator) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => mode == RoundingMode::HalfUp || !(&quotient % 2u8).is_zero(),
        },
    };
    if away { quotient + numerator.signum() } else { quotient }
}
