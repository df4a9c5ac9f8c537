//! Rows of one series in the order of the file, close together: most follow the one before in equal steps of time and
//! line and differ in their value alone, so that a run of them is one head and a column of values.

use super::Quality;
use super::collect::Row;

/// What the rows of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Of the first row, seconds since the epoch.
    pub(super) start: i64,
    /// From a row to the next one, seconds; negative where a file is newest first. Zero in a run of one row.
    pub(super) step: i64,
    pub(super) version: i64,
    /// Of the first row.
    pub(super) line: u32,
    /// From a row to the next one: none for the cells of one line.
    pub(super) line_step: u32,
    /// Number of rows.
    pub(super) n: u32,
    pub(super) minutes: u16,
    pub(super) part: u8,
    pub(super) quality: Option<Quality>,
}

impl Run {
    fn of(row: &Row) -> Self {
        let Row { start, version, line, minutes, part, quality, .. } = *row;
        Self { start, step: 0, version, line, line_step: 0, n: 1, minutes, part, quality }
    }

    /// Takes a row in that continues the run.
    fn takes(&mut self, row: &Row) -> bool {
        let is_alike = row.quality == self.quality
            && row.minutes == self.minutes
            && row.version == self.version
            && row.part == self.part
            && row.line >= self.line
            && self.n < u32::MAX;
        if !is_alike {
            return false;
        }
        if self.n == 1 {
            (self.step, self.line_step) = (row.start - self.start, row.line - self.line);
            self.n = 2;
            return true;
        }
        let continues = row.start == self.start + self.step * i64::from(self.n)
            && u64::from(row.line - self.line) == u64::from(self.line_step) * u64::from(self.n);
        self.n += u32::from(continues);
        continues
    }

    /// Start of the last row.
    pub(super) fn last_start(&self) -> i64 {
        self.start + self.step * i64::from(self.n - 1)
    }

    /// Its rows with these values.
    fn rows<'v>(&self, values: &'v [i64]) -> impl Iterator<Item = Row> + use<'v> {
        let Self { start, step, version, line, line_step, minutes, part, quality, .. } = *self;
        values.iter().zip(0_u32..).map(move |(value, idx)| Row {
            start: start + step * i64::from(idx),
            value: *value,
            version,
            line: line + line_step * idx,
            minutes,
            part,
            quality,
        })
    }
}

/// Rows, run by run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) runs: Vec<Run>,
    pub(super) values: Vec<i64>,
}

impl Rows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes that it takes.
    pub(super) fn n_bytes(&self) -> usize {
        self.runs.len() * size_of::<Run>() + self.values.len() * size_of::<i64>()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &Row) {
        if !self.runs.last_mut().is_some_and(|run| run.takes(row)) {
            self.runs.push(Run::of(row));
        }
        self.values.push(row.value);
    }

    /// Adds a run whose values were pushed; one without rows is none.
    pub(super) fn end_run(&mut self, run: Run) {
        if run.n > 0 {
            self.runs.push(run);
        }
    }

    /// Adds what comes after.
    pub(super) fn append(&mut self, later: &mut Self) {
        self.runs.append(&mut later.runs);
        self.values.append(&mut later.values);
    }

    /// Each run with its values.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&Run, &[i64])> {
        let mut rest = self.values.as_slice();
        self.runs.iter().map(move |run| {
            let (values, later) = rest.split_at(usize::try_from(run.n).unwrap_or(usize::MAX).min(rest.len()));
            rest = later;
            (run, values)
        })
    }

    /// Every row, in the order of the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = Row> {
        self.runs().flat_map(|(run, values)| run.rows(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_come_back_as_they_were(
            steps in prop::collection::vec((prop_oneof![Just(900_i64), Just(-900), 0..5_000_i64], 0..3_u32, 0..3_u8, any::<bool>()), 0..60)
        ) {
            let (mut start, mut line) = (1_780_000_000, 2);
            let rows: Vec<Row> = steps
                .iter()
                .map(|(step, lines, part, is_blank)| {
                    start += step;
                    line += lines;
                    let quality = (!is_blank).then_some(Quality::Measured);
                    Row { start, value: start % 997, version: i64::from(*part), line, minutes: 15, part: *part / 2, quality }
                })
                .collect();
            let mut packed = Rows::default();
            rows.iter().for_each(|row| packed.push(row));
            prop_assert_eq!(packed.len(), rows.len());
            prop_assert_eq!(packed.iter().collect::<Vec<Row>>(), rows);
        }
    }

    #[test]
    fn a_year_without_gaps_is_one_run() {
        let mut packed = Rows::default();
        for i in 0..35_040_u32 {
            let start = i64::from(i) * 900;
            packed.push(&Row {
                start,
                value: 1,
                version: 0,
                line: i + 2,
                minutes: 0,
                part: 0,
                quality: Some(Quality::Measured),
            });
        }
        assert_eq!((packed.runs.len(), packed.runs[0].last_start()), (1, 35_039 * 900));
        assert!(packed.n_bytes() < 35_040 * 9);
    }
}
