//! Prices by instant, as runs of equal steps.

/// Most decimals that a price of a series has.
pub const MAX_PRICE_SCALE: u32 = 12;

/// Prices by instant, in the currency of the plans that name them: sorted, no two overlap. There may be gaps; a reading in
/// one has no price.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceSeries {
    scale: u32,
    runs: Vec<PriceRun>,
    n_bits: u32,
}

/// Prices that follow each other without a gap, each for one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRun {
    /// Start of the first step, seconds since the epoch, UTC.
    pub start: i64,
    /// Length of every step, seconds.
    pub step_seconds: u32,
    /// Price of each step as a whole number of the series' last decimal.
    pub prices: Vec<i64>,
}

impl PriceRun {
    /// The instant after the last step, seconds since the epoch.
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.step_seconds) * i64::try_from(self.prices.len()).expect("a run fits memory")
    }
}

/// One price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Seconds since the epoch, UTC.
    pub start: i64,
    /// For how long it holds.
    pub seconds: u32,
    /// The price as a whole number of the series' last decimal.
    pub digits: i64,
}

impl Price {
    /// The instant at which it ends, seconds since the epoch.
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.seconds)
    }
}

impl PriceSeries {
    /// From prices sorted by start that do not overlap. The scale becomes the least that holds all of them, so that the
    /// same prices are the same series.
    ///
    /// * `scale`: decimals of the prices as given, at most [`MAX_PRICE_SCALE`].
    ///
    /// # Panics
    /// When they are not sorted, overlap or have too many decimals: callers have checked.
    pub fn from_sorted(prices: impl IntoIterator<Item = Price>, scale: u32) -> Self {
        assert!(scale <= MAX_PRICE_SCALE, "a price has at most {MAX_PRICE_SCALE} decimals");
        let mut runs: Vec<PriceRun> = Vec::new();
        for price in prices {
            match runs.last_mut() {
                Some(run) if run.step_seconds == price.seconds && run.end() == price.start => {
                    run.prices.push(price.digits);
                }
                last => {
                    assert!(last.is_none_or(|run| run.end() <= price.start), "prices are sorted and do not overlap");
                    let run = PriceRun { start: price.start, step_seconds: price.seconds, prices: vec![price.digits] };
                    runs.push(run);
                }
            }
        }
        let mut series = Self { scale, runs, n_bits: 0 };
        series.reduce();
        series.n_bits = series.runs.iter().map(|run| magnitude_bits(&run.prices)).max().unwrap_or(0);
        series
    }

    fn reduce(&mut self) {
        let mut n_zeros = self.scale;
        for digits in self.runs.iter().flat_map(|run| &run.prices) {
            while n_zeros > 0 && digits % 10_i64.pow(n_zeros) != 0 {
                n_zeros -= 1;
            }
        }
        if n_zeros > 0 {
            for digits in self.runs.iter_mut().flat_map(|run| &mut run.prices) {
                *digits /= 10_i64.pow(n_zeros);
            }
            self.scale -= n_zeros;
        }
    }

    /// Decimals of every price.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// No price is above 2^n or below -2^n, in units of the last decimal.
    pub(super) fn n_bits(&self) -> u32 {
        self.n_bits
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[PriceRun] {
        &self.runs
    }

    /// Whether there is no price.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Number of prices.
    pub fn n_prices(&self) -> usize {
        self.runs.iter().map(|run| run.prices.len()).sum()
    }

    /// Every price, in order.
    pub fn prices(&self) -> impl Iterator<Item = Price> {
        self.runs.iter().flat_map(|run| {
            let starts = (0..).map(|i: i64| run.start + i64::from(run.step_seconds) * i);
            starts.zip(&run.prices).map(|(start, digits)| Price { start, seconds: run.step_seconds, digits: *digits })
        })
    }

    /// The prices that hold at some instant of `[start, end)`.
    #[must_use]
    pub fn within(&self, instants: &std::ops::Range<i64>) -> Self {
        let overlaps = |price: &Price| price.start < instants.end && instants.start < price.end();
        Self::from_sorted(self.prices().filter(overlaps), self.scale)
    }
}

/// A number of bits n such that no magnitude of the numbers is above 2^n.
pub(super) fn magnitude_bits(numbers: &[i64]) -> u32 {
    // Of a number and its complement one is not negative, and bounds the magnitude.
    let bits = numbers.iter().fold(0, |bits, number| bits | (number ^ (number >> 63)));
    64 - bits.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(start: i64, seconds: u32, digits: i64) -> Price {
        Price { start, seconds, digits }
    }

    #[test]
    fn prices_become_runs_at_the_least_scale() {
        let prices = [price(0, 1800, 1230), price(1800, 1800, -400), price(3600, 900, 0), price(9000, 900, 10)];
        let series = PriceSeries::from_sorted(prices, 4);
        assert_eq!((series.scale(), series.n_prices(), series.runs().len()), (3, 4, 3));
        assert_eq!(series.runs()[0].prices, [123, -40]);
        assert_eq!(series.prices().map(|p| (p.start, p.digits)).collect::<Vec<_>>()[2..], [(3600, 0), (9000, 1)]);
        assert_eq!(PriceSeries::from_sorted([price(0, 60, 0)], 12).scale(), 0);
    }

    #[test]
    fn a_part_is_what_holds_in_it() {
        let series = PriceSeries::from_sorted([price(0, 1800, 1), price(1800, 1800, 20), price(3600, 1800, 30)], 2);
        assert_eq!(series.within(&(1799..1801)).n_prices(), 2);
        let part = series.within(&(1800..5400));
        assert_eq!((part.scale(), part.runs()[0].prices.as_slice()), (1, &[2, 3][..]), "whatever lies outside");
        assert!(series.within(&(5400..9000)).is_empty());
    }

    #[test]
    #[should_panic(expected = "do not overlap")]
    fn prices_that_overlap_are_no_series() {
        let _ = PriceSeries::from_sorted([price(0, 3600, 1), price(1800, 3600, 1)], 0);
    }
}
