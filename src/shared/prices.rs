//! A price series as it is stored: merging, what differs between two versions, and the bytes.
//!
//! Layout of the bytes, version 1: the version byte; four bytes of SHA-256 over what follows them; the scale; the runs
//! (gap before, step, number of prices); the prices by pco. Numbers are LEB128, as in blocks of readings.

use std::ops::Range;

use itertools::{EitherOrBoth, Itertools as _};
use rust_decimal::Decimal;

use super::Damaged;
use crate::engine::{MAX_PRICE_SCALE, Price, PriceSeries};
use crate::usage::block::{checksum, put, take, unzigzag, zigzag};

const VERSION: u8 = 1;
const HEADER_LENGTH: usize = 5;
/// More prices than this are no price series: 190 years of steps of five minutes.
const MAX_PRICES: u64 = 20_000_000;

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedPrices {
    /// All prices.
    pub series: PriceSeries,
    /// Prices where none was.
    pub added: u64,
    /// Prices that replaced another one.
    pub replaced: u64,
    /// Prices that were there already.
    pub unchanged: u64,
}

/// A new price overlaps a stored one that has another start or length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the price from {} for {} minutes overlaps the stored one from {} for {} minutes; send the whole series to replace it",
    instant(new.start), new.seconds / 60, instant(stored.start), stored.seconds / 60
)]
pub struct PricesOverlap {
    /// The new one.
    pub new: Price,
    /// The stored one.
    pub stored: Price,
}

/// An instant as clients see it: RFC 3339, UTC.
pub fn instant(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

/// A price as clients see it, with no more decimals than it needs.
pub fn price_text(digits: i64, scale: u32) -> String {
    Decimal::new(digits, scale).normalize().to_string()
}

/// Digits at a scale that is not below the one they are given at.
fn digits_at(price: Price, from: u32, to: u32) -> Option<i64> {
    price.digits.checked_mul(10_i64.checked_pow(to - from)?)
}

/// Stored prices with new ones, which win where both have one.
///
/// # Errors
/// [`PricesOverlap`] where a new price lies across a stored one.
///
/// # Panics
/// When a price does not fit: readers bound them.
pub fn merge(stored: &PriceSeries, new: &PriceSeries) -> Result<MergedPrices, PricesOverlap> {
    let scale = stored.scale().max(new.scale());
    let at_scale = |series: &PriceSeries| {
        let from = series.scale();
        series
            .prices()
            .map(|price| Price { digits: digits_at(price, from, scale).expect("readers bound prices"), ..price })
            .collect::<Vec<_>>()
    };
    let (old, new) = (at_scale(stored), at_scale(new));
    let (mut added, mut replaced, mut unchanged) = (0, 0, 0);
    let mut merged: Vec<Price> = Vec::with_capacity(old.len() + new.len());
    let mut last_old: Option<Price> = None;
    let mut last_new: Option<Price> = None;
    for pair in old.iter().merge_join_by(&new, |old, new| old.start.cmp(&new.start)) {
        let (before, after) = (pair.as_ref().left().copied().copied(), pair.as_ref().right().copied().copied());
        match pair {
            EitherOrBoth::Both(old, new) if old.seconds != new.seconds => {
                return Err(PricesOverlap { new: *new, stored: *old });
            }
            EitherOrBoth::Both(old, new) if old.digits == new.digits => unchanged += 1,
            EitherOrBoth::Both(..) => replaced += 1,
            EitherOrBoth::Left(old) => {
                if let Some(new) = last_new.filter(|new| new.end() > old.start) {
                    return Err(PricesOverlap { new, stored: *old });
                }
            }
            EitherOrBoth::Right(new) => {
                if let Some(old) = last_old.filter(|old| old.end() > new.start) {
                    return Err(PricesOverlap { new: *new, stored: old });
                }
                added += 1;
            }
        }
        merged.extend(after.or(before));
        (last_old, last_new) = (before.or(last_old), after.or(last_new));
    }
    Ok(MergedPrices { series: PriceSeries::from_sorted(merged, scale), added, replaced, unchanged })
}

/// Bounds of the instants whose price differs, seconds; `None` when there is none.
pub fn change(before: Option<&PriceSeries>, after: &PriceSeries) -> Option<Range<i64>> {
    let none = PriceSeries::default();
    let before = before.unwrap_or(&none);
    let value = |price: &Price, scale: u32| (price.seconds, Decimal::new(price.digits, scale));
    let differing =
        before.prices().merge_join_by(after.prices(), |a, b| a.start.cmp(&b.start)).filter_map(|pair| match pair {
            EitherOrBoth::Both(a, b) if value(&a, before.scale()) == value(&b, after.scale()) => None,
            EitherOrBoth::Both(a, b) => Some(a.start..a.end().max(b.end())),
            EitherOrBoth::Left(price) | EitherOrBoth::Right(price) => Some(price.start..price.end()),
        });
    differing.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
}

/// A series as bytes.
pub fn encode(series: &PriceSeries) -> Vec<u8> {
    let mut bytes = vec![VERSION, 0, 0, 0, 0];
    put(&mut bytes, u64::from(series.scale()));
    put(&mut bytes, series.runs().len() as u64);
    let mut end = 0;
    for run in series.runs() {
        put(&mut bytes, zigzag(run.start - end));
        put(&mut bytes, u64::from(run.step_seconds));
        put(&mut bytes, run.prices.len() as u64);
        end = run.end();
    }
    let prices: Vec<i64> = series.runs().iter().flat_map(|run| run.prices.iter().copied()).collect();
    let config = pco::ChunkConfig::default();
    bytes.extend(pco::standalone::simple_compress(&prices, &config).expect("the default configuration is a valid one"));
    let checksum = checksum(&bytes[HEADER_LENGTH..]);
    bytes[1..HEADER_LENGTH].copy_from_slice(&checksum);
    bytes
}

/// The series of some bytes.
///
/// # Errors
/// [`Damaged`] when a byte is missing or differs from what was written.
pub fn decode(bytes: &[u8]) -> Result<PriceSeries, Damaged> {
    let (header, mut rest) = bytes.split_at_checked(HEADER_LENGTH).ok_or(Damaged)?;
    if header[0] != VERSION || header[1..] != checksum(rest) {
        return Err(Damaged);
    }
    let mut number = || take(&mut rest).map_err(|_| Damaged);
    let scale = u32::try_from(number()?).ok().filter(|scale| *scale <= MAX_PRICE_SCALE).ok_or(Damaged)?;
    let mut steps: Vec<(i64, u32)> = Vec::new();
    let mut end = 0_i64;
    for _ in 0..number()? {
        let gap = unzigzag(number()?);
        let seconds = u32::try_from(number()?).map_err(|_| Damaged)?;
        let count = number()?;
        if count > MAX_PRICES - steps.len() as u64 {
            return Err(Damaged);
        }
        end = end.checked_add(gap).ok_or(Damaged)?;
        for _ in 0..count {
            steps.push((end, seconds));
            end = end.checked_add(i64::from(seconds)).ok_or(Damaged)?;
        }
    }
    let digits = pco::standalone::simple_decompress::<i64>(rest).map_err(|_| Damaged)?;
    if digits.len() != steps.len() {
        return Err(Damaged);
    }
    let prices = steps.into_iter().zip(digits).map(|((start, seconds), digits)| Price { start, seconds, digits });
    Ok(PriceSeries::from_sorted(prices, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half hours from the epoch on, cents; `None` is a gap.
    fn cents(values: &[Option<i64>]) -> PriceSeries {
        let starts = (0..).step_by(1800);
        let prices = starts
            .zip(values)
            .filter_map(|(start, digits)| digits.map(|digits| Price { start, seconds: 1800, digits }));
        PriceSeries::from_sorted(prices, 2)
    }

    #[test]
    fn new_prices_win_and_the_others_stay() {
        let stored = cents(&[Some(10), Some(20), None, Some(41)]);
        let new = PriceSeries::from_sorted(
            [(1800, 205), (3600, -300), (5400, 410)].map(|(start, digits)| Price { start, seconds: 1800, digits }),
            3,
        );
        let merged = merge(&stored, &new).unwrap();
        assert_eq!((merged.added, merged.replaced, merged.unchanged), (1, 1, 1));
        let told: Vec<_> =
            merged.series.prices().map(|price| price_text(price.digits, merged.series.scale())).collect();
        assert_eq!(told, ["0.1", "0.205", "-0.3", "0.41"]);
        assert_eq!(change(Some(&stored), &merged.series), Some(1800..5400));
        assert_eq!(merge(&merged.series, &new).unwrap().series, merged.series);
        assert_eq!(change(Some(&merged.series), &merged.series), None);
        assert_eq!(merge(&PriceSeries::default(), &stored).unwrap().series, stored);
    }

    #[test]
    fn a_price_across_a_stored_one_is_refused() {
        let stored = cents(&[Some(10), Some(20)]);
        let price = |start, seconds| Price { start, seconds, digits: 1 };
        for new in [price(0, 3600), price(-1800, 3600), price(900, 900), price(2700, 1800), price(1800, 900)] {
            let refused = merge(&stored, &PriceSeries::from_sorted([new], 0)).unwrap_err();
            assert_eq!((refused.new.start, refused.new.seconds), (new.start, new.seconds));
            assert!(refused.to_string().contains("overlaps the stored one from 1970-01-01T00:"), "{refused}");
        }
        assert!(merge(&stored, &PriceSeries::from_sorted([price(-3600, 3600), price(3600, 900)], 0)).is_ok());
    }

    #[test]
    fn what_is_gone_has_changed_too() {
        let (before, after) = (cents(&[Some(10), Some(20), Some(30)]), cents(&[Some(10)]));
        assert_eq!(change(Some(&before), &after), Some(1800..5400));
        assert_eq!(change(None, &after), Some(0..1800));
        assert_eq!(change(None, &PriceSeries::default()), None);
        let longer = PriceSeries::from_sorted([Price { start: 0, seconds: 3600, digits: 1 }], 1);
        assert_eq!(change(Some(&after), &longer), Some(0..3600), "the same price for another time");
    }

    #[test]
    fn bytes_are_read_back_and_damage_is_found() {
        for series in [
            PriceSeries::default(),
            cents(&[Some(1)]),
            cents(&[Some(10), None, Some(-999_999), Some(i64::MAX / 1000), None, None, Some(3)]),
            PriceSeries::from_sorted(
                (0..20_000).map(|i| Price { start: -i64::from(900) + i * 900, seconds: 900, digits: i % 97 }),
                12,
            ),
        ] {
            let bytes = encode(&series);
            assert_eq!(decode(&bytes).unwrap(), series);
            assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(Damaged));
            for i in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                let mut damaged = bytes.clone();
                damaged[i] ^= 1;
                assert_eq!(decode(&damaged), Err(Damaged), "byte {i}");
            }
        }
        assert_eq!(decode(&[]), Err(Damaged));
    }
}
