//! Files of readings on their way in: spooled to a temporary file, with what the caller says about them.

use std::io::{Seek as _, SeekFrom, Write as _};

use actix_web::HttpRequest;
use actix_web::web::Payload;
use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};

use super::Api;
use super::error::Problem;
use super::request::{parameter, payload_problem, refuse_announced_size, too_large};
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

/// What the caller says about a file, as it stands in the query.
pub(super) struct ReadingParameters<'a> {
    pub(super) time_zone: Option<&'a str>,
    pub(super) format: Option<&'a str>,
    pub(super) unit: Option<&'a str>,
    pub(super) stamp: Option<&'a str>,
    pub(super) date_order: Option<&'a str>,
    /// `import=E1,export=B1`
    pub(super) channel: Option<&'a str>,
}

impl ReadingParameters<'_> {
    /// The same, checked.
    ///
    /// # Errors
    /// 400 `invalid_parameter`, naming it.
    pub(super) fn check(self) -> Result<ReadOptions, Problem> {
        let choices = self.channel.unwrap_or_default().split(',').filter(|choice| !choice.trim().is_empty());
        let channels: Result<Vec<ChannelChoice>, Problem> =
            choices.filter_map(|choice| parameter("channel", Some(choice)).transpose()).collect();
        Ok(ReadOptions {
            time_zone: parameter("time_zone", self.time_zone)?,
            format: self.format.map(str::to_owned),
            unit: parameter("unit", self.unit)?,
            stamp: parameter("stamp", self.stamp)?,
            date_order: parameter("date_order", self.date_order)?,
            channels: channels?,
        })
    }
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
            (file, hash) = written.await?.map_err(|error| Problem::internal(format!("the spool: {error}")))?;
        }
        if at_end {
            file.seek(SeekFrom::Start(0)).map_err(|error| Problem::internal(format!("the spool: {error}")))?;
            return Ok(Spooled { file, sha256: hash.finalize().into(), n_bytes });
        }
    }
}
