//! Readings and prices of a series, joined on instants.
//!
//! A reading takes the price that holds while it lasts. One that a change of price cuts in two is refused, or split
//! evenly if the tenant says so; one without a price is told, never taken as free. Source: PLAN-MODEL section 5, need F.

use super::aggregate::{Stretch, gcd, share_of};
use super::ground::Grain;
use super::series::{Price, PriceRun, PriceSeries};

/// Where readings in a row lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) day: usize,
    /// Seconds since local midnight at the first of them.
    pub(super) local: i64,
    /// Start of the first, seconds since the epoch.
    pub(super) start: i64,
    /// Length of each, seconds.
    pub(super) seconds: i64,
}

/// What is found at a place.
pub(super) enum Found<'s> {
    /// Readings in a row, each within one price.
    Lane(Lane<'s>),
    /// One reading, or the part of it in one slot, and its energy times price.
    One {
        cost: i128,
        /// Whether a change of price cuts it.
        is_split: bool,
    },
    /// One reading, or the part of it in one slot, that has no cost.
    Blocked(Why),
}

/// Readings in a row and their prices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane<'s> {
    /// Milliwatt-hours.
    pub(super) readings: &'s [i64],
    pub(super) prices: &'s [i64],
    /// Readings that one price holds for.
    pub(super) n_a_price: usize,
    /// Readings that the first price holds for, from the first reading on.
    pub(super) n_first: usize,
}

impl Lane<'_> {
    /// Every reading with its price, in order.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (i64, i64)> {
        let n_before = self.n_a_price - self.n_first;
        self.readings
            .iter()
            .enumerate()
            .map(move |(i, reading)| (*reading, self.prices[(i + n_before) / self.n_a_price]))
    }
}

/// Why a reading has no cost. Instants are seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// From this instant on there is no price.
    Missing(i64),
    /// The price ends at this instant, inside the reading.
    Cut(i64),
}

/// Calls back with readings in order of time.
pub(super) fn join(
    stretches: &[Stretch<'_>],
    prices: &PriceSeries,
    (slot, spread): Grain,
    split_evenly: bool,
    mut call: impl FnMut(At, Found<'_>),
) {
    let mut runs = prices.runs();
    for Stretch { piece, seconds, readings, start, local } in stretches.iter().copied() {
        let n_parts = if spread { usize::try_from(seconds / slot).unwrap_or(1).max(1) } else { 1 };
        let mut at = At { day: piece.day, local, start, seconds };
        let mut rest = readings;
        while let Some((reading, others)) = rest.split_first() {
            while runs.first().is_some_and(|run| run.end() <= at.start) {
                runs = &runs[1..];
            }
            let lane = if n_parts == 1 { lane(runs, &at, rest) } else { None };
            if let Some(lane) = lane {
                call(at, Found::Lane(lane));
                at = at.after(lane.readings.len());
                rest = &rest[lane.readings.len()..];
                continue;
            }
            let mut part_at = At { seconds: seconds / i64::try_from(n_parts).unwrap_or(1), ..at };
            for part in 0..n_parts {
                call(part_at, one(runs, &part_at, share_of(*reading, part, n_parts), split_evenly));
                part_at = part_at.after(1);
            }
            at = at.after(1);
            rest = others;
        }
    }
}

impl At {
    /// The place of the reading after `n` of them.
    pub(super) fn after(self, n: usize) -> Self {
        let seconds = self.seconds * i64::try_from(n).unwrap_or(0);
        Self { local: self.local + seconds, start: self.start + seconds, ..self }
    }
}

/// The readings from here on that prices of one run hold for, none of them cut; `None` when it is not even the first.
///
/// * `runs`: the first one ends after the first reading begins.
fn lane<'s>(runs: &'s [PriceRun], at: &At, readings: &'s [i64]) -> Option<Lane<'s>> {
    let run = runs.first()?;
    let step = i64::from(run.step_seconds);
    let since = at.start - run.start;
    if since < 0 {
        return None;
    }
    // One lane a day: of divisions, which are slow, only those that are wanted.
    let count = |seconds: i64, of: i64| usize::try_from(seconds / of).unwrap_or(0);
    let lasts = |n: usize| i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(at.seconds);
    let n_a_price = if step == at.seconds { 1 } else { count(step, at.seconds) };
    let first = count(since, step);
    let into = since - i64::try_from(first).unwrap_or(0) * step;
    let n_before = if into == 0 { 0 } else { count(into, at.seconds) };
    if lasts(n_a_price) != step || lasts(n_before) != into {
        return None;
    }
    let n_first = n_a_price - n_before;
    let is_all = lasts(readings.len()) <= run.end() - at.start;
    let n_readings = if is_all { readings.len() } else { count(run.end() - at.start, at.seconds) };
    let n_prices = if n_a_price == 1 { n_readings } else { 1 + n_readings.saturating_sub(n_first).div_ceil(n_a_price) };
    Some(Lane { readings: &readings[..n_readings], prices: &run.prices[first..first + n_prices], n_a_price, n_first })
}

/// A reading on its own.
fn one<'s>(runs: &[PriceRun], at: &At, milliwatt_hours: i64, split_evenly: bool) -> Found<'s> {
    let end = at.start + at.seconds;
    let Some(first) = price_at(runs, at.start) else { return Found::Blocked(Why::Missing(at.start)) };
    if first.end() >= end {
        return Found::One { cost: i128::from(milliwatt_hours) * i128::from(first.digits), is_split: false };
    }
    if !split_evenly {
        return Found::Blocked(Why::Cut(first.end()));
    }
    // Even parts that no price cuts.
    let mut width = at.seconds;
    let mut instant = first.end();
    while instant < end {
        width = gcd(width, instant - at.start);
        let Some(price) = price_at(runs, instant) else { return Found::Blocked(Why::Missing(instant)) };
        instant = price.end();
    }
    let n_parts = usize::try_from(at.seconds / width).unwrap_or(1);
    let starts = (0..).map(|part: i64| at.start + part * width);
    let cost = starts.take(n_parts).enumerate().map(|(part, start)| {
        let price = price_at(runs, start).map_or(0, |price| price.digits);
        i128::from(share_of(milliwatt_hours, part, n_parts)) * i128::from(price)
    });
    Found::One { cost: cost.sum(), is_split: true }
}

/// The price that holds at an instant.
fn price_at(runs: &[PriceRun], instant: i64) -> Option<Price> {
    let run = runs.iter().find(|run| instant < run.end()).filter(|run| run.start <= instant)?;
    let index = (instant - run.start) / i64::from(run.step_seconds);
    let digits = *run.prices.get(usize::try_from(index).ok()?)?;
    Some(Price { start: run.start + index * i64::from(run.step_seconds), seconds: run.step_seconds, digits })
}
