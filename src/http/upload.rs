//! Files of readings on their way in: spooled to a temporary file, with what the caller says about them.

use std::io::{self, Seek as _, SeekFrom, Write as _};

use actix_web::HttpRequest;
use actix_web::web::Payload;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::Api;
use super::error::{Code, Problem};
use super::request::{parameter, payload_problem, refuse_announced_size, split_query, too_large};
use crate::usage::{ChannelChoice, ReadOptions};

/// Bytes of a body that are held in memory before they go to the spool.
const SPOOL_CHUNK: usize = 1024 * 1024;

/// What a file of readings may be sent as; what it is, its content tells.
pub(super) const MEDIA_TYPES: [&str; 8] = [
    "application/octet-stream",
    "text/csv",
    "application/json",
    "application/xml",
    "text/xml",
    "application/atom+xml",
    "application/zip",
    "application/vnd.apache.parquet",
];

/// Names of the parameters that say how a file is read.
const READING: [&str; 5] = ["time_zone", "as", "unit", "stamp", "date_order"];

/// What the caller says about a file, as it stands in the query.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingParameters {
    time_zone: Option<String>,
    r#as: Option<String>,
    unit: Option<String>,
    stamp: Option<String>,
    date_order: Option<String>,
}

/// The query of a call that takes a file: how it is read, checked, and the parameters of the call itself.
///
/// # Errors
/// 400 `invalid_parameter` and `unknown_parameter`, naming it.
pub(super) fn reading_query<T: DeserializeOwned>(request: &HttpRequest) -> Result<(ReadOptions, T), Problem> {
    let (reading, own): (ReadingParameters, T) = split_query(request, &READING)?;
    let options = ReadOptions {
        time_zone: parameter("time_zone", reading.time_zone.as_deref())?,
        format: reading.r#as,
        unit: parameter("unit", reading.unit.as_deref())?,
        stamp: parameter("stamp", reading.stamp.as_deref())?,
        date_order: parameter("date_order", reading.date_order.as_deref())?,
        channels: Vec::new(),
    };
    Ok((options, own))
}

/// Which series feed which channel: `import=E1,export=B1`.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn channel_choices(text: Option<&str>) -> Result<Vec<ChannelChoice>, Problem> {
    let choices = text.unwrap_or_default().split(',').filter(|choice| !choice.trim().is_empty());
    choices.filter_map(|choice| parameter("channel", Some(choice)).transpose()).collect()
}

/// A body in a temporary file.
pub(super) struct Spooled {
    /// At its beginning.
    pub(super) file: tempfile::SpooledTempFile,
    pub(super) sha256: [u8; 32],
    pub(super) n_bytes: u64,
}

/// Writes a body to a temporary file, a chunk at a time on a blocking thread; small ones stay in memory.
///
/// # Errors
/// 413, and 400 for a body that stops.
pub(super) async fn spool(api: &Api, request: &HttpRequest, mut payload: Payload) -> Result<Spooled, Problem> {
    let max_bytes = api.settings.max_usage_bytes;
    refuse_announced_size(request, max_bytes)?;
    let mut file = tempfile::spooled_tempfile(SPOOL_CHUNK);
    let mut hash = Sha256::new();
    let mut n_bytes = 0;
    let mut pending = Vec::new();
    loop {
        let chunk = payload.next().await.transpose().map_err(|error| payload_problem(&error))?;
        let at_end = chunk.is_none();
        if let Some(chunk) = chunk {
            n_bytes += chunk.len() as u64;
            if n_bytes > max_bytes {
                return Err(too_large(max_bytes));
            }
            pending.extend_from_slice(&chunk);
        }
        if at_end || pending.len() >= SPOOL_CHUNK {
            let bytes = std::mem::take(&mut pending);
            let written = api.service.blocking(move || {
                hash.update(&bytes);
                file.write_all(&bytes).map(|()| (file, hash))
            });
            (file, hash) = written.await?.map_err(|error| spool_problem(&error))?;
        }
        if at_end {
            file.seek(SeekFrom::Start(0)).map_err(|error| spool_problem(&error))?;
            return Ok(Spooled { file, sha256: hash.finalize().into(), n_bytes });
        }
    }
}

/// A body that cannot be kept: the disk is full, or too many files are open, which passes.
fn spool_problem(error: &io::Error) -> Problem {
    /// EMFILE and ENFILE, which the library gives no kind.
    const TOO_MANY_FILES: [i32; 2] = [24, 23];
    let problem = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Problem::storage_full(),
        _ if error.raw_os_error().is_some_and(|number| cfg!(unix) && TOO_MANY_FILES.contains(&number)) => {
            Problem::new(Code::Overloaded, "too many files are open; repeat the request later")
        }
        _ => return Problem::internal(format!("the spool: {error}")),
    };
    problem.caused_by(format!("the spool: {error}"))
}
