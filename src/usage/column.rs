//! A column of integers, in four bytes each while all of them fit: the energies of meters do.

use std::ops::Range;

/// Integers one after the other.
#[derive(Debug, Clone)]
pub(super) enum Column {
    /// All of them fit.
    Narrow(Vec<i32>),
    /// One of them did not.
    Wide(Vec<i64>),
}

impl Default for Column {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Column {
    /// Number of integers.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that they take.
    #[inline]
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Self::Narrow(numbers) => size_of_val(numbers.as_slice()),
            Self::Wide(numbers) => size_of_val(numbers.as_slice()),
        }
    }

    /// Adds one.
    #[inline]
    pub(super) fn push(&mut self, number: i64) {
        match (&mut *self, i32::try_from(number)) {
            (Self::Narrow(numbers), Ok(narrow)) => numbers.push(narrow),
            (Self::Narrow(_), Err(_)) => self.widened().push(number),
            (Self::Wide(numbers), _) => numbers.push(number),
        }
    }

    /// Adds several.
    pub(super) fn extend(&mut self, more: &[i64]) {
        let fits = more.iter().all(|number| i32::try_from(*number).is_ok());
        match self {
            Self::Narrow(numbers) if fits => {
                numbers.extend(more.iter().map(|number| i32::try_from(*number).unwrap_or_default()));
            }
            Self::Narrow(_) => self.widened().extend_from_slice(more),
            Self::Wide(numbers) => numbers.extend_from_slice(more),
        }
    }

    /// Those of a range of places.
    pub(super) fn range(&self, places: Range<usize>) -> impl Iterator<Item = i64> + Clone + '_ {
        let (narrow, wide) = match self {
            Self::Narrow(numbers) => (&numbers[places], &[][..]),
            Self::Wide(numbers) => (&[][..], &numbers[places]),
        };
        narrow.iter().copied().map(i64::from).chain(wide.iter().copied())
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        self.range(0..self.len())
    }

    fn widened(&mut self) -> &mut Vec<i64> {
        if let Self::Narrow(numbers) = self {
            *self = Self::Wide(numbers.iter().copied().map(i64::from).collect());
        }
        match self {
            Self::Wide(numbers) => numbers,
            Self::Narrow(_) => unreachable!("it was widened"),
        }
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl FromIterator<i64> for Column {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Self {
        let mut column = Self::default();
        numbers.into_iter().for_each(|number| column.push(number));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_fit_widens_all() {
        let large = 1 << 40;
        let mut column: Column = [1, -2].into_iter().collect();
        assert_eq!(column.n_bytes(), 8);
        column.extend(&[3]);
        assert!(matches!(column, Column::Narrow(_)));
        column.extend(&[4, large]);
        column.push(5);
        assert_eq!(column.iter().collect::<Vec<_>>(), [1, -2, 3, 4, large, 5]);
        assert_eq!(column.range(2..4).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(column, [1, -2, 3, 4, large, 5].into_iter().collect());
        assert_ne!(column, [1].into_iter().collect());
        let mut pushed: Column = [7].into_iter().collect();
        pushed.push(large);
        assert_eq!((pushed.len(), pushed.n_bytes()), (2, 16));
    }
}
