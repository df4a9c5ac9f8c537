//! Readings close together: most follow each other in equal steps and differ in their energy alone, so that a stretch of
//! them is one head and a column of numbers.

use super::Reading;
use super::column::Column;

/// Readings of one series, sorted by start and free of overlap. Four bytes each and a little for every stretch of equal
/// steps, length and quality.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    stretches: Vec<ReadingStretch>,
    milliwatt_hours: Column,
}

/// Readings that differ in their energy alone and follow each other in equal steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadingStretch {
    /// The first one; its energy stands with the others.
    pub(super) first: Reading,
    /// From one start to the next, seconds.
    pub(super) step: i64,
    pub(super) n: u32,
}

impl Readings {
    /// From stretches in order and the energy of all of them.
    pub(super) fn from_stretches(stretches: Vec<ReadingStretch>, milliwatt_hours: Column) -> Self {
        Self { stretches, milliwatt_hours }
    }

    /// Number of readings.
    pub fn len(&self) -> usize {
        self.milliwatt_hours.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.milliwatt_hours.is_empty()
    }

    /// The first reading.
    pub fn first(&self) -> Option<Reading> {
        self.iter().next()
    }

    /// The last reading.
    pub fn last(&self) -> Option<Reading> {
        let stretch = self.stretches.last()?;
        let milliwatt_hours = self.milliwatt_hours.range(self.len() - 1..self.len()).next()?;
        Some(stretch.reading(stretch.n - 1, milliwatt_hours))
    }

    /// Adds a reading that begins where the last one ends, or later.
    #[inline]
    pub fn push(&mut self, reading: Reading) {
        self.milliwatt_hours.push(reading.milliwatt_hours);
        if !self.stretches.last_mut().is_some_and(|last| last.takes(&reading)) {
            let first = Reading { milliwatt_hours: 0, ..reading };
            self.stretches.push(ReadingStretch { first, step: i64::from(reading.seconds), n: 1 });
        }
    }

    /// Every reading, in order.
    pub fn iter(&self) -> impl Iterator<Item = Reading> + Clone + '_ {
        let mut begin = 0;
        let stretches = self.stretches.iter().map(move |stretch| {
            let end = begin + stretch.n as usize;
            (stretch, std::mem::replace(&mut begin, end)..end)
        });
        stretches.flat_map(|(stretch, range)| {
            (0..).zip(self.milliwatt_hours.range(range)).map(|(idx, energy)| stretch.reading(idx, energy))
        })
    }

    /// One after the other, for what looks back and ahead.
    pub fn to_vec(&self) -> Vec<Reading> {
        let mut readings = Vec::with_capacity(self.len());
        readings.extend(self.iter());
        readings
    }
}

impl ReadingStretch {
    #[inline]
    fn reading(&self, idx: u32, milliwatt_hours: i64) -> Reading {
        Reading { start: self.first.start + self.step * i64::from(idx), milliwatt_hours, ..self.first }
    }

    /// Takes a reading in that goes on with it; the second one says how.
    fn takes(&mut self, reading: &Reading) -> bool {
        let first = &self.first;
        if (reading.seconds, reading.quality) != (first.seconds, first.quality) || self.n == u32::MAX {
            return false;
        }
        if self.n == 1 {
            self.step = reading.start - first.start;
        }
        let goes_on = reading.start == first.start + self.step * i64::from(self.n);
        self.n += u32::from(goes_on);
        goes_on
    }
}

impl PartialEq for Readings {
    fn eq(&self, other: &Self) -> bool {
        self.milliwatt_hours == other.milliwatt_hours && self.iter().eq(other.iter())
    }
}

impl Eq for Readings {}

impl FromIterator<Reading> for Readings {
    fn from_iter<I: IntoIterator<Item = Reading>>(readings: I) -> Self {
        let mut all = Self::default();
        readings.into_iter().for_each(|reading| all.push(reading));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Quality;
    use super::*;

    proptest! {
        #[test]
        fn readings_come_back_as_they_were(
            steps in prop::collection::vec((0..3_i64, prop_oneof![Just(900_u32), Just(1_800)], any::<bool>()), 0..60)
        ) {
            let mut start = 1_780_000_000;
            let readings: Vec<Reading> = steps
                .iter()
                .map(|(gap, seconds, is_missing)| {
                    start += gap * 900;
                    let quality = if *is_missing { Quality::Missing } else { Quality::Measured };
                    let reading = Reading { start, seconds: *seconds, milliwatt_hours: start % 997, quality };
                    start = reading.end();
                    reading
                })
                .collect();
            let packed: Readings = readings.iter().copied().collect();
            prop_assert_eq!(packed.len(), readings.len());
            prop_assert_eq!(packed.first(), readings.first().copied());
            prop_assert_eq!(packed.last(), readings.last().copied());
            prop_assert_eq!(packed.to_vec(), readings);
        }
    }

    #[test]
    fn a_year_without_gaps_is_one_stretch() {
        let reading = |i: i64| Reading { start: i * 900, seconds: 900, milliwatt_hours: i, quality: Quality::Measured };
        let packed: Readings = (0..35_040).map(reading).collect();
        assert_eq!(packed.stretches.len(), 1);
        // The same, put together in another way.
        let days = (0..365).map(|day| ReadingStretch {
            first: Reading { milliwatt_hours: 0, ..reading(day * 96) },
            step: 900,
            n: 96,
        });
        assert_eq!(Readings::from_stretches(days.collect(), (0..35_040).collect()), packed);
    }
}
