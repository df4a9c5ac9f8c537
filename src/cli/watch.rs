//! `samebill watch DIR`: files of readings are imported as they appear in a folder.
//!
//! A file is imported, then its report is written, then it is moved. Killed in between, the next run begins with the same
//! file again, and the same file again changes nothing: no file is lost and no reading counts twice.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono_tz::Tz;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client::{Client, Target, escape, query};
use super::import::OnConflictFlag;
use super::output::{print_line, remark, write_whole};
use super::reading::ReadFlags;
use super::{CliError, Format};
use crate::words::{CustomerId, Timestamp};

/// Endings under which programs write files that are not complete.
const UNFINISHED: [&str; 6] = ["part", "partial", "tmp", "filepart", "crdownload", "swp"];

/// Import files of readings as they appear in a folder
///
/// Each file goes to the customers that list its meter points, or all to one customer. A file is taken when it has
/// stopped growing; it is then moved to done/ or refused/ in the same folder, with a report beside it
/// (NAME.report.json). Killed at any moment, nothing is lost or counted twice. The folder is looked through rather than
/// subscribed to: that works on network shares, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill watch /srv/meter-data --server http://127.0.0.1:8080
  samebill watch inbox --customer c-1 --time-zone Europe/London --once")]
pub(super) struct Watch {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Whose readings all files are [default: those of the customers that list their meter points]
    #[arg(long, value_name = "ID")]
    customer: Option<CustomerId>,
    /// What local times without an offset are in [default: the customer's time zone]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<Tz>,
    #[command(flatten)]
    reading: ReadFlags,
    /// What becomes of a reading that differs from the stored one [default: replace, unless its quality is worse]
    #[arg(long, value_enum, value_name = "RULE")]
    on_conflict: Option<OnConflictFlag>,
    /// Seconds between two looks; a file that did not change from one to the next is complete
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    every: u64,
    /// Import what is there and complete, and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    target: Target,
}

/// Size and time of the last change: while they change, a file is being written.
type Look = HashMap<PathBuf, (u64, Option<SystemTime>)>;

/// What became of a file.
struct Outcome {
    is_done: bool,
    /// The service's answer, or its refusal.
    answer: Value,
}

impl Watch {
    /// Watches until the process is stopped, or once.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        for name in ["done", "refused"] {
            let folder = self.folder.join(name);
            fs::create_dir_all(&folder).map_err(|e| CliError::unreadable(&folder, &e))?;
        }
        let client = self.target.client()?;
        let mut before = self.look()?;
        loop {
            std::thread::sleep(Duration::from_secs(self.every));
            let now = self.look()?;
            let mut complete: Vec<&PathBuf> =
                now.iter().filter(|(path, seen)| before.get(*path) == Some(*seen)).map(|(path, _)| path).collect();
            complete.sort();
            let mut n_left = 0;
            for path in complete {
                match self.take(&client, path) {
                    Ok(Some(report)) => tell(&report, format)?,
                    Ok(None) => {}
                    Err(error) => {
                        n_left += 1;
                        remark(&format!("samebill: {} stays, and is tried again: {error}", path.display()));
                    }
                }
            }
            if self.once {
                let left = format!("{n_left} files could not be imported now and are still there");
                return if n_left == 0 { Ok(()) } else { Err(CliError::new("files_left", left)) };
            }
            before = now;
        }
    }

    /// Every file of the folder itself that could be one of readings.
    fn look(&self) -> Result<Look, CliError> {
        let unreadable = |e: io::Error| CliError::unreadable(&self.folder, &e);
        let mut look = Look::new();
        for entry in fs::read_dir(&self.folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
            let is_unfinished = ending.is_some_and(|ending| UNFINISHED.contains(&ending.as_str()));
            // A file may go between the list and this: then it is not there.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() && !is_hidden && !is_unfinished {
                look.insert(path, (metadata.len(), metadata.modified().ok()));
            }
        }
        Ok(look)
    }

    /// Imports one file, writes its report and moves it away. `None`: somebody else has.
    fn take(&self, client: &Client, path: &Path) -> Result<Option<Value>, CliError> {
        let unreadable = |e: io::Error| CliError::unreadable(path, &e);
        let sha256 = match digest(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            digest => digest.map_err(unreadable)?,
        };
        let outcome = self.import(client, path)?;
        let folder = self.folder.join(if outcome.is_done { "done" } else { "refused" });
        let place = free_place(&folder, path, &sha256);
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let report = json!({
            "file": name(path),
            "moved_to": format!("{}/{}", name(&folder), name(&place)),
            "sha256": sha256,
            "outcome": if outcome.is_done { "done" } else { "refused" },
            "at": Timestamp::now(),
            "answer": outcome.answer,
        });
        let mut report_place = place.clone().into_os_string();
        report_place.push(".report.json");
        write_whole(Path::new(&report_place), format!("{report:#}\n").as_bytes()).map_err(unreadable)?;
        match fs::rename(path, &place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            moved => moved.map(|()| Some(report)).map_err(unreadable),
        }
    }

    /// The service's word on a file.
    ///
    /// # Errors
    /// What may succeed later: the service is busy or away, the file cannot be read now.
    fn import(&self, client: &Client, path: &Path) -> Result<Outcome, CliError> {
        let zone = self.time_zone.map(|zone| zone.to_string());
        let name = path.file_name().map(|name| name.to_string_lossy());
        let reading = self.reading.parameters();
        let mut parameters = vec![
            ("time_zone", zone.as_deref()),
            ("on_conflict", self.on_conflict.map(OnConflictFlag::as_str)),
            ("file_name", name.as_deref()),
        ];
        parameters.extend(reading.iter().map(|(name, value)| (*name, value.as_deref())));
        let parameters = query(&parameters);
        let path_of_api = match &self.customer {
            Some(customer) => format!("/v1/customers/{}/usage{parameters}", escape(customer.as_str())),
            None => format!("/v1/imports{parameters}"),
        };
        match client.upload(&path_of_api, "application/octet-stream", || File::open(path)) {
            Ok(reply) => {
                let answer = reply.json()?;
                // Of a file of many meter points one at least has to find its customer.
                let is_done = answer["meter_points"].is_null() || answer["meter_points"]["done"].as_u64() > Some(0);
                Ok(Outcome { is_done, answer })
            }
            Err(CliError::Problem(problem)) if problem["status"].is_u64() && problem["retryable"] == json!(false) => {
                // The customer may be put later: that is no fault of the file.
                if problem["code"] == "customer_not_found" {
                    return Err(CliError::Problem(problem));
                }
                Ok(Outcome { is_done: false, answer: problem })
            }
            Err(error) => Err(error),
        }
    }
}

fn tell(report: &Value, format: Format) -> Result<(), CliError> {
    let text = |member: &str| report[member].as_str().unwrap_or_default();
    match format {
        Format::Json => print_line(&report.to_string()),
        Format::Table | Format::Csv => {
            let answer = &report["answer"];
            // A record has its counts in an object of their own.
            let number = |member: &str| answer[member].as_u64().or(answer["counts"][member].as_u64()).unwrap_or(0);
            let detail = match answer["detail"].as_str() {
                Some(detail) => detail.to_owned(),
                None => format!(
                    "{} added, {} replaced, {} unchanged",
                    number("added"),
                    number("replaced"),
                    number("unchanged")
                ),
            };
            let points = &answer["meter_points"];
            let of_points = points["done"].as_u64().map(|done| {
                let count = |state: &str| points[state].as_u64().unwrap_or(0);
                format!("; {done} meter points done, {} unmapped, {} refused", count("unmapped"), count("refused"))
            });
            print_line(&format!(
                "{}: {} ({detail}{})",
                text("moved_to"),
                text("outcome"),
                of_points.unwrap_or_default()
            ))
        }
    }
}

/// SHA-256 of a file, hex.
fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(&buffer[..n]);
    }
}

/// Where a file is moved: under its own name, or one with its digest where that name is taken.
fn free_place(folder: &Path, path: &Path, sha256: &str) -> PathBuf {
    let place = folder.join(path.file_name().unwrap_or_default());
    if !place.exists() {
        return place;
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    folder.join(format!("{stem}.{}{ending}", &sha256[..12]))
}
