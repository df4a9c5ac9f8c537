//! One channel and UTC month of readings as bytes, and back.
//!
//! Layout: the version byte; four bytes of SHA-256 over what follows them; stretches of time (gap before,
//! interval length, number of intervals); stretches of quality; the values that are there, by pco, which finds
//! their common divisor (a meter counts whole watt-hours). Numbers are LEB128. A block is small (a month of half
//! hours is some 2 kB), so it is read and written whole. Version 1 has two bits for a quality. Version 2 has three and is
//! written only where a reading needs them, so that blocks without one can be read by earlier programs.

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::{Quality, Reading};

const VERSION: u8 = 1;
/// Qualities of three bits.
const VERSION_WIDE: u8 = 2;
const HEADER_LENGTH: usize = 5;
/// A month of seconds: more intervals than this are no month.
const MAX_READINGS: u64 = 31 * 86_400;

/// Bytes that are no block, or one that was damaged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockError {
    /// Written by a newer program.
    #[error("a block of layout {0} is not known here")]
    UnknownVersion(u8),
    /// Too short, or the checksum differs.
    #[error("a block of readings is damaged")]
    Damaged,
}

/// Readings as bytes; any interval lengths, gaps and qualities. Sorted by start, free of overlap.
pub fn encode(readings: &[Reading]) -> Vec<u8> {
    let mut stretches: Vec<(i64, u32, u64)> = Vec::new();
    let mut qualities: Vec<(u64, Quality)> = Vec::new();
    let mut values = Vec::with_capacity(readings.len());
    let mut end = 0;
    for reading in readings {
        let gap = reading.start.wrapping_sub(end);
        match stretches.last_mut() {
            Some((_, seconds, count)) if gap == 0 && *seconds == reading.seconds => *count += 1,
            _ => stretches.push((gap, reading.seconds, 1)),
        }
        match qualities.last_mut() {
            Some((count, quality)) if *quality == reading.quality => *count += 1,
            _ => qualities.push((1, reading.quality)),
        }
        if reading.quality != Quality::Missing {
            values.push(reading.milliwatt_hours);
        }
        end = reading.end();
    }

    let is_wide = qualities.iter().any(|(_, quality)| code(*quality) > 3);
    let (version, bits) = if is_wide { (VERSION_WIDE, 3) } else { (VERSION, 2) };
    let mut block = vec![version, 0, 0, 0, 0];
    put(&mut block, stretches.len() as u64);
    for (gap, seconds, count) in stretches {
        put(&mut block, zigzag(gap));
        put(&mut block, u64::from(seconds));
        put(&mut block, count);
    }
    put(&mut block, qualities.len() as u64);
    for (count, quality) in qualities {
        put(&mut block, count << bits | code(quality));
    }
    let config = pco::ChunkConfig::default();
    block.extend(pco::standalone::simple_compress(&values, &config).expect("the default configuration is a valid one"));
    let checksum = checksum(&block[HEADER_LENGTH..]);
    block[1..HEADER_LENGTH].copy_from_slice(&checksum);
    block
}

/// The readings of a block.
///
/// # Errors
/// * [`BlockError::UnknownVersion`] when the first byte is not known.
/// * [`BlockError::Damaged`] when a byte is missing or differs from what was written.
pub fn decode(block: &[u8]) -> Result<Vec<Reading>, BlockError> {
    let bits = match block.first() {
        Some(&VERSION) => 2,
        Some(&VERSION_WIDE) => 3,
        Some(other) => return Err(BlockError::UnknownVersion(*other)),
        None => return Err(BlockError::Damaged),
    };
    let (header, mut rest) = block.split_at_checked(HEADER_LENGTH).ok_or(BlockError::Damaged)?;
    if header[1..] != checksum(rest) {
        return Err(BlockError::Damaged);
    }

    let mut times: Vec<(i64, u32)> = Vec::new();
    let mut end = 0_i64;
    for _ in 0..take(&mut rest)? {
        let gap = unzigzag(take(&mut rest)?);
        let seconds = u32::try_from(take(&mut rest)?).map_err(|_| BlockError::Damaged)?;
        let count = take(&mut rest)?;
        if count > MAX_READINGS - (times.len() as u64) {
            return Err(BlockError::Damaged);
        }
        end = end.wrapping_add(gap);
        for _ in 0..count {
            times.push((end, seconds));
            end = end.checked_add(i64::from(seconds)).ok_or(BlockError::Damaged)?;
        }
    }
    let n_qualities = take(&mut rest)?;
    let mut qualities = Vec::new();
    for _ in 0..n_qualities {
        let number = take(&mut rest)?;
        let count = usize::try_from(number >> bits).map_err(|_| BlockError::Damaged)?;
        if count > times.len() - qualities.len() {
            return Err(BlockError::Damaged);
        }
        let quality = quality(number & ((1 << bits) - 1)).ok_or(BlockError::Damaged)?;
        qualities.extend(std::iter::repeat_n(quality, count));
    }
    let values = pco::standalone::simple_decompress::<i64>(rest).map_err(|_| BlockError::Damaged)?;
    let n_values = qualities.iter().filter(|quality| **quality != Quality::Missing).count();
    if qualities.len() != times.len() || values.len() != n_values {
        return Err(BlockError::Damaged);
    }

    let mut values = values.into_iter();
    let readings = times.into_iter().zip(qualities).map(|((start, seconds), quality)| {
        let milliwatt_hours = if quality == Quality::Missing {
            0
        } else {
            values.next().expect("there is a value for each, counted above")
        };
        Reading { start, seconds, milliwatt_hours, quality }
    });
    Ok(readings.collect())
}

pub(crate) fn checksum(bytes: &[u8]) -> [u8; 4] {
    let digest = Sha256::digest(bytes);
    [digest[0], digest[1], digest[2], digest[3]]
}

fn code(quality: Quality) -> u64 {
    match quality {
        Quality::Measured => 0,
        Quality::Substituted => 1,
        Quality::Estimated => 2,
        Quality::Missing => 3,
        Quality::FilledZero => 4,
    }
}

fn quality(code: u64) -> Option<Quality> {
    match code {
        0 => Some(Quality::Measured),
        1 => Some(Quality::Substituted),
        2 => Some(Quality::Estimated),
        3 => Some(Quality::Missing),
        4 => Some(Quality::FilledZero),
        _ => None,
    }
}

pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

pub(crate) fn put(block: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        block.push(u8::try_from(number & 0x7f).expect("seven bits fit a byte") | 0x80);
        number >>= 7;
    }
    block.push(u8::try_from(number).expect("seven bits fit a byte"));
}

pub(crate) fn take(bytes: &mut &[u8]) -> Result<u64, BlockError> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(BlockError::Damaged)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits > u64::MAX >> shift {
            return Err(BlockError::Damaged);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BlockError::Damaged)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn month_of(readings: &[Reading]) -> std::collections::BTreeMap<i64, Vec<Reading>> {
        let mut months = std::collections::BTreeMap::<i64, Vec<Reading>>::new();
        for reading in readings {
            months.entry(reading.start.div_euclid(86_400 * 30)).or_default().push(*reading);
        }
        months
    }

    #[test]
    fn nothing_is_a_block_too() {
        assert_eq!(decode(&encode(&[])), Ok(vec![]));
    }

    #[test]
    fn a_damaged_block_is_an_error() {
        let readings: Vec<Reading> = (0..1488)
            .map(|i| Reading { start: i * 1800, seconds: 1800, milliwatt_hours: i * 1000, quality: Quality::Measured })
            .collect();
        let block = encode(&readings);
        assert_eq!(decode(&block).unwrap(), readings);
        for i in 0..block.len() {
            let mut damaged = block.clone();
            damaged[i] ^= 0x10;
            assert!(decode(&damaged).is_err(), "byte {i}");
            assert!(decode(&block[..i]).is_err(), "cut at {i}");
        }
        assert_eq!(decode(&[9, 9]), Err(BlockError::UnknownVersion(9)));
        assert_eq!(decode(&[]), Err(BlockError::Damaged));
    }

    #[test]
    fn only_a_block_that_needs_it_has_the_wide_layout() {
        let hour = |quality| Reading { start: 0, seconds: 3600, milliwatt_hours: 0, quality };
        assert_eq!(encode(&[hour(Quality::Missing)])[0], VERSION);
        let filled = [hour(Quality::FilledZero)];
        assert_eq!(encode(&filled)[0], VERSION_WIDE);
        assert_eq!(decode(&encode(&filled)).unwrap(), filled);
    }

    /// The goal is 2.5 bytes a reading for real households, blocks of a month, checksum and all.
    #[test]
    fn real_households_take_few_bytes() {
        let root = std::env::var_os("SAMEBILL_SHARED")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
        let folder = root.join("reference/usage");
        if !folder.is_dir() {
            assert!(std::env::var_os("CI").is_none(), "{} is not there", folder.display());
            eprintln!("NOT RUN: {} is not there; set SAMEBILL_SHARED", folder.display());
            return;
        }
        for (name, seconds) in [
            ("uk-home-30min-2013-dst.csv", 1800),
            ("il-home-60min-2017-dst.csv", 3600),
            ("il-home-60min-2016-leap.csv", 3600),
        ] {
            let mut rows = ::csv::Reader::from_path(folder.join(name)).unwrap();
            let readings: Vec<Reading> = rows
                .records()
                .map(|row| {
                    let row = row.unwrap();
                    let kwh = rust_decimal::Decimal::from_str_exact(&row[1]).unwrap();
                    Reading {
                        start: chrono::DateTime::parse_from_rfc3339(&row[0]).unwrap().timestamp(),
                        seconds,
                        milliwatt_hours: i64::try_from(kwh * rust_decimal::Decimal::from(1_000_000)).unwrap(),
                        quality: Quality::Measured,
                    }
                })
                .collect();
            let mut n_bytes = 0;
            for month in month_of(&readings).values() {
                let block = encode(month);
                assert_eq!(&decode(&block).unwrap(), month);
                n_bytes += block.len();
            }
            println!("{name}: {n_bytes} bytes for {} readings", readings.len());
            assert!(n_bytes * 2 <= readings.len() * 5, "{name}: {n_bytes} bytes for {} readings", readings.len());
        }
    }

    fn any_quality() -> impl Strategy<Value = Quality> {
        prop::sample::select(vec![
            Quality::Measured,
            Quality::Substituted,
            Quality::Estimated,
            Quality::FilledZero,
            Quality::Missing,
        ])
    }

    proptest! {
        #[test]
        fn any_readings_come_back(
            first in -4_000_000_000_i64..8_000_000_000,
            rows in prop::collection::vec((0_i64..3, prop::sample::select(vec![300_u32, 900, 1800, 3600]), any::<i64>(), any_quality()), 0..200),
        ) {
            let mut end = first;
            let readings: Vec<Reading> = rows.into_iter().map(|(gap, seconds, value, quality)| {
                let start = end + gap * 300;
                end = start + i64::from(seconds);
                let milliwatt_hours = if quality == Quality::Missing { 0 } else { value };
                Reading { start, seconds, milliwatt_hours, quality }
            }).collect();
            prop_assert_eq!(decode(&encode(&readings)).unwrap(), readings);
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            for version in [VERSION, VERSION_WIDE] {
                let mut bytes = bytes.clone();
                bytes.insert(0, version);
                let _ = decode(&bytes);
            }
        }
    }
}
