//! Exact numbers: a numerator and a denominator, multiplied out first and divided once.
//!
//! Most values fit 128 bits and stay there; what does not is carried in as many digits as it takes.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::MONEY_DECIMALS;
use super::decimal::{Decimal, scaled_text};
use super::rounding::{RoundingMode, rounded_big_quotient, rounded_quotient};

/// Values of more bits than this are too large to go on with.
const MAX_BITS: u64 = 1 << 16;

const N_POWERS: usize = 39;
const POWERS_OF_TEN: [i128; N_POWERS] = {
    let mut powers = [1i128; N_POWERS];
    let mut i = 1;
    while i < N_POWERS {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// `digits x 10^exponent`, if it fits.
#[inline]
pub(super) fn scaled_up(digits: i128, exponent: u32) -> Option<i128> {
    if exponent == 0 { Some(digits) } else { product(digits, power_of_ten(exponent)?) }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    POWERS_OF_TEN.get(exponent as usize).copied()
}

/// An exact number: `numerator / (10^scale x denominator)`.
#[derive(Debug, Clone)]
pub(crate) struct Exact(Repr);

#[derive(Debug, Clone)]
enum Repr {
    /// The denominator is greater than zero.
    Small {
        numerator: i128,
        scale: u32,
        denominator: i64,
    },
    Big(Box<(BigInt, BigInt)>),
}

impl Exact {
    /// Zero.
    pub(crate) const ZERO: Self = Self::scaled(0, 0);
    /// One.
    pub(crate) const ONE: Self = Self::scaled(1, 0);

    /// `digits / 10^scale`, with a scale of at most 38.
    pub(crate) const fn scaled(digits: i128, scale: u32) -> Self {
        Self(Repr::Small { numerator: digits, scale, denominator: 1 })
    }

    /// A whole number.
    pub(crate) fn whole(number: i64) -> Self {
        Self::scaled(i128::from(number), 0)
    }

    /// `numerator / denominator`, the denominator not zero.
    pub(crate) fn fraction(numerator: i64, denominator: i64) -> Self {
        Self::whole(numerator).divided_by(&Self::whole(denominator)).expect("the denominator is not zero")
    }

    fn big(numerator: BigInt, denominator: BigInt) -> Self {
        let (numerator, denominator) =
            if denominator.is_negative() { (-numerator, -denominator) } else { (numerator, denominator) };
        let divisor = gcd(&numerator, &denominator);
        let (numerator, denominator) =
            if divisor.is_one() { (numerator, denominator) } else { (numerator / &divisor, denominator / &divisor) };
        match (numerator.to_i128(), denominator.to_i64()) {
            (Some(numerator), Some(denominator)) => Self(Repr::Small { numerator, scale: 0, denominator }),
            _ => Self(Repr::Big(Box::new((numerator, denominator)))),
        }
    }

    fn parts(&self) -> (BigInt, BigInt) {
        match &self.0 {
            Repr::Small { numerator, scale, denominator } => {
                (BigInt::from(*numerator), BigInt::from(10u8).pow(*scale) * BigInt::from(*denominator))
            }
            Repr::Big(parts) => (**parts).clone(),
        }
    }

    /// The sum.
    #[must_use]
    #[inline]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.small_sum(other).unwrap_or_else(|| self.big_sum(other))
    }

    #[cold]
    fn big_sum(&self, other: &Self) -> Self {
        let ((an, ad), (bn, bd)) = (self.parts(), other.parts());
        if ad == bd { Self::big(an + bn, ad) } else { Self::big(an * &bd + bn * &ad, ad * bd) }
    }

    #[inline]
    fn small_sum(&self, other: &Self) -> Option<Self> {
        let (
            Repr::Small { numerator: an, scale: a_scale, denominator: ad },
            Repr::Small { numerator: bn, scale: b_scale, denominator: bd },
        ) = (&self.0, &other.0)
        else {
            return None;
        };
        let (an, bn, scale) = aligned((*an, *a_scale), (*bn, *b_scale))?;
        let (numerator, denominator) = if ad == bd {
            (an.checked_add(bn)?, *ad)
        } else {
            (product(an, i128::from(*bd))?.checked_add(product(bn, i128::from(*ad))?)?, ad.checked_mul(*bd)?)
        };
        Some(Self(Repr::Small { numerator, scale, denominator }))
    }

    /// The difference.
    #[must_use]
    #[inline]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.small_difference(other).unwrap_or_else(|| self.plus(&other.negated()))
    }

    /// Of numbers without a denominator.
    #[inline]
    fn small_difference(&self, other: &Self) -> Option<Self> {
        let (an, bn, scale) = aligned(self.digits()?, other.digits()?)?;
        Some(Self::scaled(an.checked_sub(bn)?, scale))
    }

    /// Digits and scale of a number without a denominator.
    #[inline]
    fn digits(&self) -> Option<(i128, u32)> {
        match &self.0 {
            Repr::Small { numerator, scale, denominator: 1 } => Some((*numerator, *scale)),
            _ => None,
        }
    }

    /// `self x part / total`: multiplied out first; `None` when the total is zero.
    #[inline]
    pub(crate) fn share(&self, part: &Self, total: &Self) -> Option<Self> {
        match self.small_share(part, total) {
            Some(share) => Some(share),
            None => self.times(part).divided_by(total),
        }
    }

    /// Of numbers without a denominator, the total greater than zero.
    #[inline]
    fn small_share(&self, part: &Self, total: &Self) -> Option<Self> {
        let ((an, a_scale), (bn, b_scale), (tn, t_scale)) = (self.digits()?, part.digits()?, total.digits()?);
        let denominator = i64::try_from(tn).ok().filter(|total| *total > 0)?;
        let scale = (a_scale + b_scale).checked_sub(t_scale)?;
        power_of_ten(scale)?;
        Some(Self(Repr::Small { numerator: product(an, bn)?, scale, denominator }))
    }

    /// `slice x part / total`, each in units of `10^-scale`; `None` unless the total is greater than zero.
    #[inline]
    pub(crate) fn prorated((slice, part, total): (i64, i64, i64), scale: u32) -> Option<Self> {
        let numerator = i128::from(slice) * i128::from(part);
        (total > 0).then_some(Self(Repr::Small { numerator, scale, denominator: total }))
    }

    /// The value with the other sign.
    #[must_use]
    #[inline]
    pub(crate) fn negated(&self) -> Self {
        match &self.0 {
            Repr::Small { numerator, scale, denominator } if *numerator != i128::MIN => {
                Self(Repr::Small { numerator: -numerator, scale: *scale, denominator: *denominator })
            }
            _ => {
                let (numerator, denominator) = self.parts();
                Self::big(-numerator, denominator)
            }
        }
    }

    /// The product.
    #[must_use]
    #[inline]
    pub(crate) fn times(&self, other: &Self) -> Self {
        self.small_product(other).unwrap_or_else(|| self.big_product(other))
    }

    #[cold]
    fn big_product(&self, other: &Self) -> Self {
        let ((an, ad), (bn, bd)) = (self.parts(), other.parts());
        Self::big(an * bn, ad * bd)
    }

    #[inline]
    fn small_product(&self, other: &Self) -> Option<Self> {
        let (
            Repr::Small { numerator: an, scale: a_scale, denominator: ad },
            Repr::Small { numerator: bn, scale: b_scale, denominator: bd },
        ) = (&self.0, &other.0)
        else {
            return None;
        };
        let scale = a_scale + b_scale;
        power_of_ten(scale)?;
        let (numerator, denominator) = (product(*an, *bn)?, ad.checked_mul(*bd)?);
        Some(Self(Repr::Small { numerator, scale, denominator }))
    }

    /// The quotient; `None` when the divisor is zero.
    #[inline]
    pub(crate) fn divided_by(&self, divisor: &Self) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        Some(self.small_quotient(divisor).unwrap_or_else(|| self.big_quotient(divisor)))
    }

    #[cold]
    fn big_quotient(&self, divisor: &Self) -> Self {
        let ((an, ad), (bn, bd)) = (self.parts(), divisor.parts());
        Self::big(an * bd, ad * bn)
    }

    #[inline]
    fn small_quotient(&self, divisor: &Self) -> Option<Self> {
        let (
            Repr::Small { numerator: an, scale: a_scale, denominator: ad },
            Repr::Small { numerator: bn, scale: b_scale, denominator: bd },
        ) = (&self.0, &divisor.0)
        else {
            return None;
        };
        let mut numerator = product(*an, i128::from(*bd))?;
        let mut denominator = product(i128::from(*ad), *bn)?;
        if denominator < 0 {
            numerator = numerator.checked_neg()?;
            denominator = denominator.checked_neg()?;
        }
        let denominator = i64::try_from(denominator).ok()?;
        let scale = if let Some(scale) = a_scale.checked_sub(*b_scale) {
            scale
        } else {
            numerator = product(numerator, power_of_ten(b_scale - a_scale)?)?;
            0
        };
        Some(Self(Repr::Small { numerator, scale, denominator }))
    }

    /// The same as a percent.
    #[must_use]
    pub(crate) fn of_a_hundred(&self) -> Self {
        self.times(&Self::scaled(1, 2))
    }

    /// The whole number of units of `10^-scale` that it is; `None` when it is none or does not fit 64 bits.
    #[inline]
    pub(crate) fn digits_at(&self, scale: u32) -> Option<i64> {
        let (digits, own) = self.digits()?;
        let digits = product(digits, power_of_ten(scale.checked_sub(own)?)?)?;
        i64::try_from(digits).ok()
    }

    /// Whether it is plainly written as one: to multiply with it changes nothing.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        matches!(self.0, Repr::Small { numerator: 1, scale: 0, denominator: 1 })
    }

    /// Whether it is zero.
    pub(crate) fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { numerator, .. } => *numerator == 0,
            Repr::Big(parts) => parts.0.is_zero(),
        }
    }

    /// Whether it is less than zero.
    pub(crate) fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { numerator, .. } => *numerator < 0,
            Repr::Big(parts) => parts.0.is_negative(),
        }
    }

    /// The smaller of two.
    #[must_use]
    pub(crate) fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    /// The larger of two.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }

    /// Whether it has grown past what any bill can mean.
    #[inline]
    pub(crate) fn is_too_large(&self) -> bool {
        match &self.0 {
            Repr::Small { .. } => false,
            Repr::Big(parts) => parts.0.bits().max(parts.1.bits()) > MAX_BITS,
        }
    }

    /// The whole number of units of `10^-decimals` it is settled to; `None` when that does not fit 128 bits.
    #[inline]
    pub(crate) fn settled(&self, decimals: u32, mode: RoundingMode) -> Option<i128> {
        match &self.0 {
            Repr::Small { numerator, scale, denominator } if *scale <= decimals => {
                let numerator = product(*numerator, power_of_ten(decimals - scale)?);
                match numerator {
                    Some(numerator) if *denominator == 1 => Some(numerator),
                    Some(numerator) => Some(rounded_quotient(numerator, i128::from(*denominator), mode)),
                    None => self.divided_out(decimals, mode),
                }
            }
            _ => self.divided_out(decimals, mode),
        }
    }

    fn divided_out(&self, decimals: u32, mode: RoundingMode) -> Option<i128> {
        if let Repr::Small { numerator, scale, denominator } = &self.0
            && let Some(down) = scale.checked_sub(decimals)
            && let Some(denominator) = power_of_ten(down).and_then(|p| product(i128::from(*denominator), p))
        {
            return Some(rounded_quotient(*numerator, denominator, mode));
        }
        let (numerator, denominator) = self.parts();
        rounded_big_quotient(&(numerator * BigInt::from(10u8).pow(decimals)), &denominator, mode).to_i128()
    }

    /// The nearest multiple of `unit` by `mode`; `None` when the unit is zero or the result too large.
    pub(crate) fn rounded(&self, unit: Decimal, mode: RoundingMode) -> Option<Self> {
        let unit = Self::from(unit);
        let n_units = self.divided_by(&unit)?.settled(0, mode)?;
        Some(Self::scaled(n_units, 0).times(&unit))
    }

    /// As a decimal of at most 18 decimals (half even where it has more), at least `least_decimals` of them.
    pub(crate) fn text(&self, least_decimals: u32) -> Option<String> {
        if let Repr::Small { numerator, scale, denominator: 1 } = &self.0
            && *scale <= MONEY_DECIMALS
        {
            return Some(scaled_text(*numerator, *scale, least_decimals));
        }
        let digits = self.settled(MONEY_DECIMALS, RoundingMode::HalfEven)?;
        Some(scaled_text(digits, MONEY_DECIMALS, least_decimals))
    }
}

fn gcd(a: &BigInt, b: &BigInt) -> BigInt {
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        let rest = &a % &b;
        a = std::mem::replace(&mut b, rest);
    }
    a
}

/// The product, if it fits: of two factors of 64 bits it always does, and most are.
#[inline]
fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// Two numbers at the larger of their scales, and the scale; `None` when one does not fit.
#[inline]
fn aligned((an, a_scale): (i128, u32), (bn, b_scale): (i128, u32)) -> Option<(i128, i128, u32)> {
    match a_scale.cmp(&b_scale) {
        Ordering::Equal => Some((an, bn, a_scale)),
        Ordering::Less => Some((product(an, power_of_ten(b_scale - a_scale)?)?, bn, b_scale)),
        Ordering::Greater => Some((an, product(bn, power_of_ten(a_scale - b_scale)?)?, a_scale)),
    }
}

impl From<Decimal> for Exact {
    #[inline]
    fn from(decimal: Decimal) -> Self {
        Self::scaled(decimal.digits, decimal.scale)
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Exact {}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Some(a), Some(b)) = (self.digits(), other.digits())
            && let Some((an, bn, _)) = aligned(a, b)
        {
            return an.cmp(&bn);
        }
        let difference = self.minus(other);
        if difference.is_zero() {
            Ordering::Equal
        } else if difference.is_negative() {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Exact {
        Decimal::parse(text, 18).unwrap().into()
    }

    #[test]
    fn a_tie_survives_a_division() {
        // 0.25 x (1/30) x 30 = 0.25, half up 0.3
        let quarter = exact("0.25").times(&Exact::fraction(1, 30)).times(&Exact::whole(30));
        let tenth = Decimal::parse("0.1", 1).unwrap();
        assert_eq!(quarter.rounded(tenth, RoundingMode::HalfUp).unwrap(), exact("0.3"));
        assert_eq!(quarter.rounded(tenth, RoundingMode::HalfEven).unwrap(), exact("0.2"));
    }

    #[test]
    fn every_mode_settles_ties_and_signs() {
        use RoundingMode::{Down, HalfEven, HalfUp, Up};
        for (text, half_up, half_even, down, up) in [
            ("2.5", 3, 2, 2, 3),
            ("3.5", 4, 4, 3, 4),
            ("-2.5", -3, -2, -2, -3),
            ("2.4", 2, 2, 2, 3),
            ("-2.6", -3, -3, -2, -3),
            ("2", 2, 2, 2, 2),
        ] {
            let number = exact(text);
            let got = [HalfUp, HalfEven, Down, Up].map(|mode| number.settled(0, mode).unwrap());
            assert_eq!(got, [half_up, half_even, down, up], "{text}");
            let big = number.times(&exact("100000000000000000")).times(&exact("100000000000000000"));
            let big = big.times(&big).divided_by(&big).unwrap();
            let small = big.divided_by(&exact("100000000000000000")).unwrap();
            let small = small.divided_by(&exact("100000000000000000")).unwrap();
            let got = [HalfUp, HalfEven, Down, Up].map(|mode| small.settled(0, mode).unwrap());
            assert_eq!(got, [half_up, half_even, down, up], "{text} by way of many digits");
        }
    }

    #[test]
    fn products_past_128_bits_stay_exact() {
        let large = exact("123456789012345678.123456789012345678");
        let back = large.times(&large).times(&large).divided_by(&large).unwrap().divided_by(&large).unwrap();
        assert_eq!(back, large);
        assert_eq!(back.text(0).unwrap(), "123456789012345678.123456789012345678");
        assert!(large.times(&large).settled(18, RoundingMode::HalfUp).is_none());
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert_eq!(Exact::fraction(1, 2), exact("0.5"));
        assert!(Exact::fraction(1, 3) > exact("0.333333333333333333"));
        assert!(exact("-1") < Exact::ZERO);
    }
}
