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
pub(super) enum Found<'l> {
    /// Readings in a row, each within one price.
    Lane(&'l Lane<'l>),
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
    let mut next = None;
    for Stretch { piece, seconds, readings, start, local } in stretches.iter().copied() {
        let n_parts = if spread { usize::try_from(seconds / slot).unwrap_or(1).max(1) } else { 1 };
        let mut at = At { day: piece.day, local, start, seconds };
        let mut rest = readings;
        while let Some((reading, others)) = rest.split_first() {
            while runs.first().is_some_and(|run| run.end() <= at.start) {
                runs = &runs[1..];
                next = None;
            }
            let lane = if n_parts == 1 { lane(runs, &at, rest, &mut next) } else { None };
            if let Some(lane) = &lane {
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

/// Where a reading lies among the prices of a run, none of which cuts it or one after it.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Start of the reading, seconds since the epoch.
    start: i64,
    /// Its length.
    seconds: i64,
    /// Index of the price that holds for it.
    price: usize,
    /// Readings of this length before it that the same price holds for.
    n_before: usize,
    /// Readings that a price holds for.
    n_a_price: usize,
}

impl Place {
    /// The place of a reading that starts in a run; `None` when a price cuts readings of this length.
    fn of(run: &PriceRun, at: &At) -> Option<Self> {
        let step = i64::from(run.step_seconds);
        let since = at.start - run.start;
        let is_in_step = since >= 0 && step % at.seconds == 0 && since % step % at.seconds == 0;
        is_in_step.then(|| Self {
            start: at.start,
            seconds: at.seconds,
            price: count(since, step),
            n_before: count(since % step, at.seconds),
            n_a_price: count(step, at.seconds),
        })
    }

    /// The place of the reading after `n` of them.
    fn after(self, n: usize) -> Self {
        let n_before = self.n_before + n;
        // Of divisions, which are slow, only those that are wanted.
        let (n_prices, n_before) =
            if self.n_a_price == 1 { (n_before, 0) } else { (n_before / self.n_a_price, n_before % self.n_a_price) };
        Self { start: self.start + lasts(n, self.seconds), price: self.price + n_prices, n_before, ..self }
    }
}

fn count(seconds: i64, of: i64) -> usize {
    usize::try_from(seconds / of).unwrap_or(0)
}

fn lasts(n: usize, seconds: i64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(seconds)
}

/// The readings from here on that prices of one run hold for, none of them cut; `None` when it is not even the first.
///
/// * `runs`: the first one ends after the first reading begins.
/// * `next`: where the reading after the last lane of this run lies, becomes that of this one.
fn lane<'s>(runs: &'s [PriceRun], at: &At, readings: &'s [i64], next: &mut Option<Place>) -> Option<Lane<'s>> {
    let run = runs.first()?;
    let place = match *next {
        Some(place) if (place.start, place.seconds) == (at.start, at.seconds) => place,
        _ => Place::of(run, at)?,
    };
    let is_all = lasts(readings.len(), at.seconds) <= run.end() - at.start;
    let n_readings = if is_all { readings.len() } else { count(run.end() - at.start, at.seconds) };
    let after = place.after(n_readings);
    *next = Some(after);
    Some(Lane {
        readings: &readings[..n_readings],
        prices: &run.prices[place.price..after.price + usize::from(after.n_before > 0)],
        n_a_price: place.n_a_price,
        n_first: place.n_a_price - place.n_before,
    })
}

/// A reading on its own.
fn one(runs: &[PriceRun], at: &At, milliwatt_hours: i64, split_evenly: bool) -> Found<'static> {
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
