//! Whether the disk of a database is full. SQLite says so in an error text or, where a log or an index of it cannot grow,
//! not at all; texts are not matched, so the file system itself is asked.

use std::io::{self, Write as _};
use std::path::Path;

/// What a small transaction needs beside its own bytes: pages of the log and of its index.
const LEAST_ROOM: usize = 1 << 20;

/// Whether there is no room for so many bytes beside a file. Asked after a failure only: it writes them.
pub(super) fn is_full(file: &str, n_bytes: usize) -> bool {
    let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = write(folder.unwrap_or(Path::new(".")), n_bytes + LEAST_ROOM);
    written.is_err_and(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// Writes to a file without a name, which is gone when it is closed.
fn write(folder: &Path, n_bytes: usize) -> io::Result<()> {
    let mut probe = tempfile::tempfile_in(folder)?;
    let zeros = vec![0; 64 << 10];
    let mut left = n_bytes;
    while left > 0 {
        let n = left.min(zeros.len());
        probe.write_all(&zeros[..n])?;
        left -= n;
    }
    probe.flush()
}
