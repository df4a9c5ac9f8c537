//! What the last few rows were of, so that a row costs a comparison of bytes and no text of its own.

use super::super::UsageError;

/// Rows of a file take turns between so many series at most, before the collector's own table is asked.
const MAX_RECENT: usize = 8;

/// Values by the cells that name them, the last few of them.
#[derive(Debug)]
pub(super) struct Recent<T> {
    entries: Vec<(Vec<u8>, T)>,
    key: Vec<u8>,
    next: usize,
}

impl<T: Clone> Recent<T> {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), key: Vec::new(), next: 0 }
    }

    /// The value of these cells; `make` gives it on first sight.
    ///
    /// # Errors
    /// What `make` refuses.
    pub(super) fn get(
        &mut self,
        cells: &[&[u8]],
        make: impl FnOnce() -> Result<T, UsageError>,
    ) -> Result<T, UsageError> {
        self.key.clear();
        for cell in cells {
            self.key.extend_from_slice(cell);
            self.key.push(b'\n');
        }
        if let Some((_, value)) = self.entries.iter().find(|(key, _)| *key == self.key) {
            return Ok(value.clone());
        }
        let value = make()?;
        if self.entries.len() < MAX_RECENT {
            self.entries.push((self.key.clone(), value.clone()));
        } else {
            self.entries[self.next] = (self.key.clone(), value.clone());
            self.next = (self.next + 1) % MAX_RECENT;
        }
        Ok(value)
    }
}
