//! Money, settled.

use super::MONEY_DECIMALS;
use super::decimal::scaled_text;
use super::exact::{Exact, scaled_up};
use super::rounding::RoundingMode;

/// An amount of money, settled: whole units of 10^-18 of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Money(i128);

impl Money {
    /// Nothing.
    pub(crate) const ZERO: Self = Self(0);

    /// Settles an exact number at 18 decimals, half even; `None` when it is too large.
    #[inline]
    pub(crate) fn settle(exact: &Exact) -> Option<Self> {
        exact.settled(MONEY_DECIMALS, RoundingMode::HalfEven).map(Self)
    }

    /// Rounds an exact number to at most 18 decimals; `None` when it is too large.
    #[inline]
    pub(crate) fn rounded(exact: &Exact, decimals: u32, mode: RoundingMode) -> Option<Self> {
        let digits = exact.settled(decimals, mode)?;
        scaled_up(digits, MONEY_DECIMALS - decimals).map(Self)
    }

    /// What millionths of a unit cost.
    ///
    /// * `per_millionth`: in the last decimal of money.
    #[inline]
    pub(crate) fn product(millionths: i64, per_millionth: i64) -> Self {
        Self(i128::from(millionths) * i128::from(per_millionth))
    }

    /// What `slice x part / total` millionths of a unit cost, half even; `None` where one of them is less than zero. The
    /// total is greater than zero.
    #[inline]
    pub(crate) fn prorated((slice, part, total): (i64, i64, i64), per_millionth: i64) -> Option<Self> {
        let total = u64::try_from(total).ok().filter(|total| *total > 0)?;
        let (slice, part, price) =
            (u64::try_from(slice).ok()?, u64::try_from(part).ok()?, per_millionth.unsigned_abs());
        // Divided before it is multiplied with the price, and what is left over after it: products of 64 bits.
        let (whole, rest) = divided(u128::from(slice) * u128::from(part), total);
        let (of_rest, left) = divided(u128::from(rest) * u128::from(price), total);
        let down = u128::from(u64::try_from(whole).ok()?) * u128::from(price) + of_rest;
        let up = left > total - left || (left == total - left && !down.is_multiple_of(2));
        let money = i128::try_from(down + u128::from(up)).ok()?;
        Some(Self(if per_millionth < 0 { -money } else { money }))
    }

    /// The sum; `None` when it is too large.
    #[inline]
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` when it is too large.
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// Whether it is nothing.
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// As a decimal with at least `least_decimals` decimals.
    pub(crate) fn text(self, least_decimals: u32) -> String {
        scaled_text(self.0, MONEY_DECIMALS, least_decimals)
    }
}

/// The quotient and what is left over.
#[inline]
fn divided(dividend: u128, divisor: u64) -> (u128, u64) {
    let quotient = dividend / u128::from(divisor);
    // The product is no larger than the dividend, and what is left is less than the divisor: the low bits say it all.
    let low = |number: u128| u64::try_from(number & u128::from(u64::MAX)).unwrap_or(0);
    (quotient, low(dividend).wrapping_sub(low(quotient).wrapping_mul(divisor)))
}

impl From<Money> for Exact {
    #[inline]
    fn from(money: Money) -> Self {
        Self::scaled(money.0, MONEY_DECIMALS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tariff::number::Decimal;

    fn exact(text: &str) -> Exact {
        Decimal::parse(text, 18).unwrap().into()
    }

    #[test]
    fn amounts_are_written_with_the_decimals_they_need() {
        let money = |text: &str| Money::settle(&exact(text)).unwrap();
        assert_eq!(money("58.2400").text(0), "58.24");
        assert_eq!(money("58").text(2), "58.00");
        assert_eq!(money("0.005").text(2), "0.005");
        assert_eq!(money("-0.5").text(2), "-0.50");
        assert_eq!(money("13938").text(0), "13938");
        assert_eq!(Money::ZERO.text(2), "0.00");
        assert_eq!(Exact::fraction(2, 3).text(0).unwrap(), "0.666666666666666667");
    }
}
