//! Numbers that are never wrong in a digit: decimals as written, exact fractions, settled money.

mod decimal;
mod exact;
mod money;
mod rounding;

pub(crate) use decimal::{Decimal, DecimalError};
pub(crate) use exact::Exact;
pub(crate) use money::Money;
pub(crate) use rounding::RoundingMode;

/// Decimals at which a line without a rounding of its own is settled.
pub(crate) const MONEY_DECIMALS: u32 = 18;
