//! Energy times price: the loops over readings and prices in a row.

use std::array::from_fn;

use super::aggregate::sum as energy;
use super::join::Lane;

/// A sum of products that is wide enough for all of them: their bits were counted, so that nothing is checked on the way.
pub(super) trait Sum: Copy + Default + From<i64> {
    fn plus(self, other: Self) -> Self;
    fn product(milliwatt_hours: i64, price: i64) -> Self;
    fn checked_product(milliwatt_hours: i64, price: i64) -> Self;
    fn of(cost: i128) -> Self;
}

impl Sum for i64 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn product(milliwatt_hours: i64, price: i64) -> Self {
        milliwatt_hours.wrapping_mul(price)
    }

    fn checked_product(milliwatt_hours: i64, price: i64) -> Self {
        milliwatt_hours.checked_mul(price).expect("the bits of readings and prices were counted")
    }

    fn of(cost: i128) -> Self {
        Self::try_from(cost).expect("the bits of readings and prices were counted")
    }
}

impl Sum for i128 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn product(milliwatt_hours: i64, price: i64) -> Self {
        Self::from(milliwatt_hours).wrapping_mul(Self::from(price))
    }

    fn checked_product(milliwatt_hours: i64, price: i64) -> Self {
        Self::product(milliwatt_hours, price)
    }

    fn of(cost: i128) -> Self {
        cost
    }
}

/// How long the numbers are that are multiplied.
#[derive(Debug, Clone, Copy)]
pub(super) enum Factors {
    /// Readings have 32 bits and are not negative, prices have 31 and a sign, and every sum of their products fits 64: any
    /// processor multiplies two pairs or more of such numbers at once.
    Short,
    /// As long as the sum allows.
    Any,
}

/// Adds readings times prices to the cells from the first reading's on.
///
/// * `stride`: slots from one reading to the next.
pub(super) fn add<S: Sum>(cells: &mut [S], lane: &Lane<'_>, stride: usize, factors: Factors) {
    if let [whole_day] = cells {
        *whole_day = whole_day.plus(lane.cost(factors));
        return;
    }
    let has_room = lane.readings.len() <= cells.len();
    if stride == 1 && has_room && lane.n_a_price == 1 {
        for ((cell, reading), price) in cells.iter_mut().zip(lane.readings).zip(lane.prices) {
            *cell = cell.plus(S::product(*reading, *price));
        }
    } else if stride == 1 && has_room {
        let n_first = lane.n_first.min(lane.readings.len());
        let (cells, readings) = (&mut cells[..lane.readings.len()], lane.readings);
        let ((first_cells, cells), (first, readings)) = (cells.split_at_mut(n_first), readings.split_at(n_first));
        if let Some((first_price, prices)) = lane.prices.split_first() {
            add_at(first_cells, first, *first_price);
            // Quarter hours and half hours of an hour's price: loops of a known length.
            match lane.n_a_price {
                2 => add_each::<S, 2>(cells, readings, prices),
                4 => add_each::<S, 4>(cells, readings, prices),
                n => {
                    for ((cells, readings), price) in cells.chunks_mut(n).zip(readings.chunks(n)).zip(prices) {
                        add_at(cells, readings, *price);
                    }
                }
            }
        }
    } else {
        // Readings longer than a slot, or a day longer than the clock says: the last slot takes what lies beyond.
        let last = cells.len() - 1;
        for (i, (reading, price)) in lane.pairs().enumerate() {
            let cell = &mut cells[(i * stride).min(last)];
            *cell = cell.plus(S::product(reading, price));
        }
    }
}

impl Lane<'_> {
    /// The cost of all readings. A multiplication that is checked at each reading takes one step here; of unchecked ones
    /// the compiler makes loops of half that speed, since processors multiply no two 64-bit numbers at once.
    fn cost<S: Sum>(&self, factors: Factors) -> S {
        match (self.n_a_price, factors) {
            (1, Factors::Short) => return S::from(cost_of_short(self.readings, self.prices)),
            (1, Factors::Any) => return cost_one_by_one(self.readings, self.prices),
            _ => {}
        }
        let (first, rest) = self.readings.split_at(self.n_first.min(self.readings.len()));
        let Some((first_price, prices)) = self.prices.split_first() else { return S::default() };
        let of_first = S::product(energy(first), *first_price);
        of_first.plus(match self.n_a_price {
            2 => cost_of_each::<S, 2>(rest, prices),
            4 => cost_of_each::<S, 4>(rest, prices),
            n => cost_of(rest.chunks(n), prices),
        })
    }
}

/// The cost of readings that each have a price, of [`Factors::Short`]. Prices are told from the lowest that has 31 bits, so
/// that no factor is negative, and the energy at that price is taken off the sum. What does not fit on the way comes back.
fn cost_of_short(readings: &[i64], prices: &[i64]) -> i64 {
    const LOWEST: i64 = -(1 << 31);
    const BITS: i64 = 0xffff_ffff;
    let ((eights, last), (prices, last_prices)) = (readings.as_chunks::<8>(), prices.as_chunks::<8>());
    let product = |reading: i64, price: i64| (reading & BITS).wrapping_mul(price.wrapping_sub(LOWEST) & BITS);
    let (mut costs, mut energies) = ([0i64; 8], [0i64; 8]);
    for (readings, prices) in eights.iter().zip(prices) {
        costs = from_fn(|i| costs[i].wrapping_add(product(readings[i], prices[i])));
        energies = from_fn(|i| energies[i].wrapping_add(readings[i]));
    }
    let cost = last
        .iter()
        .zip(last_prices)
        .fold(energy(&costs), |sum, (reading, price)| sum.wrapping_add(product(*reading, *price)));
    cost.wrapping_add(energy(&energies).wrapping_add(energy(last)).wrapping_mul(LOWEST))
}

/// The cost of readings that each have a price, eight at a time.
fn cost_one_by_one<S: Sum>(readings: &[i64], prices: &[i64]) -> S {
    let ((readings, last), (prices, last_prices)) = (readings.as_chunks::<8>(), prices.as_chunks::<8>());
    let add = |sum: S, (reading, price): (&i64, &i64)| sum.plus(S::checked_product(*reading, *price));
    let of_eight = |sum: S, (readings, price): (&[i64; 8], &[i64; 8])| readings.iter().zip(price).fold(sum, add);
    let sum = readings.iter().zip(prices).fold(S::default(), of_eight);
    last.iter().zip(last_prices).fold(sum, add)
}

/// The cost of readings of which each `N` have one price; the last price may have fewer.
fn cost_of_each<S: Sum, const N: usize>(readings: &[i64], prices: &[i64]) -> S {
    let (readings, last) = readings.as_chunks::<N>();
    let of_last = prices.get(readings.len()).map_or(S::default(), |price| S::product(energy(last), *price));
    of_last.plus(cost_of(readings.iter().map(<[i64; N]>::as_slice), prices))
}

fn cost_of<'s, S: Sum>(readings: impl Iterator<Item = &'s [i64]>, prices: &[i64]) -> S {
    let of_price = |(readings, price): (&[i64], &i64)| S::checked_product(energy(readings), *price);
    readings.zip(prices).fold(S::default(), |sum, pair| sum.plus(of_price(pair)))
}

/// Adds readings that have one price.
fn add_at<S: Sum>(cells: &mut [S], readings: &[i64], price: i64) {
    for (cell, reading) in cells.iter_mut().zip(readings) {
        *cell = cell.plus(S::product(*reading, price));
    }
}

/// Adds readings of which each `N` have one price; the last price may have fewer.
fn add_each<S: Sum, const N: usize>(cells: &mut [S], readings: &[i64], prices: &[i64]) {
    let ((cells, last_cells), (readings, last)) = (cells.as_chunks_mut::<N>(), readings.as_chunks::<N>());
    for ((cells, readings), price) in cells.iter_mut().zip(readings).zip(prices) {
        add_at(cells, readings, *price);
    }
    if let Some(price) = prices.get(readings.len()) {
        add_at(last_cells, last, *price);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_factors_come_to_the_sum_of_their_products() {
        let readings = [0, 1, (1 << 32) - 1, 77, (1 << 32) - 1, 1 << 31, 5, 0, 4_000_000_000, 3, 12];
        let prices = [-(1 << 31), (1 << 31) - 1, -1, 0, -(1 << 31), -(1 << 31), 1, 2, (1 << 31) - 1, -7, 1 << 30];
        for n in 0..=readings.len() {
            for from in 0..=n {
                // What passes 64 bits on the way comes back there too.
                let products = readings[from..n].iter().zip(&prices[from..n]).map(|(reading, price)| reading * price);
                let expected = products.fold(0i64, i64::wrapping_add);
                assert_eq!(cost_of_short(&readings[from..n], &prices[from..n]), expected, "{from}..{n}");
            }
        }
    }
}
