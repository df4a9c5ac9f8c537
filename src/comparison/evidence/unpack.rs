//! Reading a zip of evidence that comes from anywhere: within bounds, every entry held against the manifest.
//!
//! Nothing is unpacked to disk. What must be held in memory is bounded together; tables are read row by row.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Seek};

use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use super::entries::{
    self, CUSTOMER, EntryMember, FORMAT, FORMAT_VERSION, INPUTS, MANIFEST, Manifest, PLANS, PlanItem, QUESTION,
    READINGS, RESULT, TERMS, Terms,
};
use super::material::{Material, Months};
use super::tables::{PRICES_HEADER, PricesTable, READINGS_HEADER, ReadingsTable};
use crate::comparison::NaturalKey;
use crate::comparison::question::{Period, QuestionBody};
use crate::config::SplitIntervals;
use crate::engine::Options;
use crate::shared;
use crate::store::{NewPlanVersion, PlanVersion, RecordedInputs, SharedKind};
use crate::words::{BillingPeriod, CustomerDocument, PlanId};

/// A file that is no evidence, or none that can be read.
#[derive(Debug, Error)]
pub enum EvidenceError {
    /// No zip archive, or a damaged one.
    #[error("the file is no zip archive that can be read: {0}")]
    NoArchive(String),
    /// Another archive.
    #[error("the archive is no evidence of samebill: {0}")]
    NoEvidence(String),
    /// Of a program to come.
    #[error("the archive has version {0} of the format; this program reads up to version {FORMAT_VERSION}")]
    NewerFormat(u32),
    /// An entry that must be there.
    #[error("the archive lacks {0}")]
    Missing(String),
    /// An entry that cannot be read as what it should be.
    #[error("{entry}: {reason}")]
    Unreadable {
        /// The entry.
        entry: String,
        /// Why, and where.
        reason: String,
    },
    /// More than is read.
    #[error("the archive is too large to be evidence: {0}")]
    TooLarge(String),
}

impl From<ZipError> for EvidenceError {
    fn from(error: ZipError) -> Self {
        Self::NoArchive(error.to_string())
    }
}

/// How much of an archive is read, whatever it says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of the file, bytes.
    pub(super) file: u64,
    /// Entries.
    pub(super) entries: usize,
    /// Of one document, unpacked, bytes.
    pub(super) document: u64,
    /// Of all documents and the result together, unpacked, bytes.
    pub(super) held: u64,
    /// Of one table, unpacked, bytes.
    pub(super) table: u64,
    /// Of one table.
    pub(super) rows: u64,
}

impl Limits {
    /// Twice a year of minutes on several channels, and results four times the largest that a server stores by default.
    pub(super) const DEFAULT: Self =
        Self { file: 256 << 20, entries: 20_000, document: 32 << 20, held: 256 << 20, table: 1 << 30, rows: 8_000_000 };
}

/// The longest row of a table, bytes.
const MAX_ROW: u64 = 400;

/// What an archive holds.
pub(super) struct Unpacked {
    pub(super) manifest: Manifest,
    /// Where entries are not what the manifest says, in words.
    pub(super) faults: Vec<EntryFault>,
    pub(super) material: Material,
    pub(super) recorded: RecordedInputs,
    pub(super) result: Vec<u8>,
    /// Entries that were held against the manifest.
    pub(super) n_entries: usize,
}

/// An entry that is not what the manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryFault {
    pub(super) entry: String,
    pub(super) fault: String,
}

/// Reads an archive.
///
/// # Errors
/// [`EvidenceError`]; an entry whose digest differs but that can be read is a fault, not an error.
pub(super) fn unpack(mut file: impl Read + Seek, limits: &Limits) -> Result<Unpacked, EvidenceError> {
    let broken = |e: io::Error| EvidenceError::NoArchive(e.to_string());
    let length = file.seek(io::SeekFrom::End(0)).map_err(broken)?;
    if length > limits.file {
        return Err(EvidenceError::TooLarge(format!("{length} bytes, at most {} are read", limits.file)));
    }
    file.rewind().map_err(broken)?;
    let mut archive = ZipArchive::new(BufReader::new(file))?;
    if archive.len() > limits.entries {
        return Err(EvidenceError::TooLarge(format!("{} entries, at most {} are read", archive.len(), limits.entries)));
    }
    if archive.index_for_name(MANIFEST).is_none() {
        return Err(EvidenceError::NoEvidence(format!("it has no {MANIFEST}")));
    }
    let text = held(&mut archive, MANIFEST, limits.document)?;
    let manifest = read_manifest(&text)?;
    let listed = manifest.entries.iter().map(|entry| (entry.name.clone(), entry.clone())).collect();
    let left = limits.held.saturating_sub(text.len() as u64);
    let mut entries = Entries { archive, limits, left, listed, seen: BTreeSet::new(), faults: Vec::new() };

    let recorded: RecordedInputs = entries.json(INPUTS)?;
    let material = entries.material(&manifest, &recorded)?;
    let result = entries.document(RESULT, limits.held)?;
    entries.check_the_rest(&manifest)?;
    let Entries { seen, faults, .. } = entries;
    Ok(Unpacked { manifest, faults, material, recorded, result, n_entries: seen.len() })
}

fn read_manifest(text: &[u8]) -> Result<Manifest, EvidenceError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
        format_version: u32,
    }
    let no_manifest = |e: serde_json::Error| EvidenceError::NoEvidence(format!("its {MANIFEST} is another one: {e}"));
    let head: Head = serde_json::from_slice(text).map_err(no_manifest)?;
    if head.format != FORMAT {
        return Err(EvidenceError::NoEvidence(format!("its format is not {FORMAT}")));
    }
    if head.format_version > FORMAT_VERSION {
        return Err(EvidenceError::NewerFormat(head.format_version));
    }
    serde_json::from_slice(text).map_err(no_manifest)
}

/// The bytes of an entry, unpacked, at most so many.
fn held<R: Read + Seek>(archive: &mut ZipArchive<R>, name: &str, most: u64) -> Result<Vec<u8>, EvidenceError> {
    let member = archive.by_name(name).map_err(|error| entry_error(name, &error))?;
    let too_large = || EvidenceError::TooLarge(format!("{name} has more than {most} bytes"));
    if member.size() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    member.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, error.to_string()))?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

fn entry_error(name: &str, error: &ZipError) -> EvidenceError {
    match error {
        ZipError::FileNotFound => EvidenceError::Missing(name.to_owned()),
        other => unreadable(name, other.to_string()),
    }
}

fn unreadable(entry: &str, reason: impl Into<String>) -> EvidenceError {
    EvidenceError::Unreadable { entry: entry.to_owned(), reason: reason.into() }
}

/// An archive that is being read.
struct Entries<'a, R> {
    archive: ZipArchive<R>,
    limits: &'a Limits,
    /// Bytes that may still be held.
    left: u64,
    /// By the manifest.
    listed: BTreeMap<String, EntryMember>,
    /// Entries that were held against it.
    seen: BTreeSet<String>,
    faults: Vec<EntryFault>,
}

impl<R: Read + Seek> Entries<'_, R> {
    /// The inputs of the answer.
    fn material(&mut self, manifest: &Manifest, recorded: &RecordedInputs) -> Result<Material, EvidenceError> {
        let key = self.key(manifest)?;
        let customer: CustomerDocument = self.json(CUSTOMER)?;
        customer.check_attributes().map_err(|(at, fault)| unreadable(CUSTOMER, format!("{at}: {fault}")))?;
        let (months, options) = terms(&self.json(TERMS)?)?;
        let plans = self.plans()?;
        let (mut calendars, mut price_series, mut event_lists) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for input in &recorded.shared {
            let (id, version) = (input.id.clone(), input.version);
            match input.kind {
                SharedKind::Calendar => {
                    let name = entries::calendar_entry(&id, version);
                    let document = self.document(&name, self.limits.document)?;
                    let calendar = shared::Calendar::decode(&document)
                        .map_err(|_| unreadable(&name, "this is no calendar: {\"dates\": [\"2026-01-01\", …]}"))?;
                    calendars.insert(id, (version, calendar));
                }
                SharedKind::PriceSeries => {
                    let name = entries::prices_entry(&id, version);
                    let (mut table, rows) = (PricesTable::default(), self.limits.rows);
                    self.table(&name, PRICES_HEADER, |line| table.row(line, rows))?;
                    price_series.insert(id, (version, table.finish().map_err(|fault| unreadable(&name, fault))?));
                }
                SharedKind::EventList => {
                    let name = entries::event_list_entry(&id, version);
                    let document = self.document(&name, self.limits.document)?;
                    let what =
                        "this is no event list: {\"events\": [\"2026-07-15T18:00:00Z/2026-07-15T19:00:00Z\", …]}";
                    let list = shared::EventList::decode(&document).map_err(|_| unreadable(&name, what))?;
                    event_lists.insert(id, (version, list));
                }
            }
        }
        let (mut table, rows) = (ReadingsTable::default(), self.limits.rows);
        self.table(READINGS, READINGS_HEADER, |line| table.row(line, rows))?;
        let readings = table.finish().map_err(|fault| unreadable(READINGS, fault))?;
        Ok(Material { key, customer, plans, readings, calendars, price_series, event_lists, months, options })
    }

    fn key(&mut self, manifest: &Manifest) -> Result<NaturalKey, EvidenceError> {
        let body: QuestionBody = self.json(QUESTION)?;
        let question = body.check().map_err(|error| unreadable(QUESTION, error.to_string()))?;
        let Period::Days(period) = question.period else {
            return Err(unreadable(QUESTION, "the billing period is not written as its days"));
        };
        NaturalKey::new(manifest.tenant_id.clone(), question.customer_id, period, question.plan_ids)
            .map_err(|error| unreadable(QUESTION, error.to_string()))
    }

    fn plans(&mut self) -> Result<BTreeMap<PlanId, Vec<PlanVersion>>, EvidenceError> {
        let items: Vec<PlanItem> = self.json(PLANS)?;
        let mut plans: BTreeMap<PlanId, Vec<PlanVersion>> = BTreeMap::new();
        for PlanItem { plan_id, version, in_force_from, in_force_to, created_at } in items {
            let name = entries::plan_entry(&plan_id, version);
            let document = String::from_utf8(self.document(&name, self.limits.document)?)
                .map_err(|_| unreadable(&name, "this is no text"))?;
            let versions = plans.entry(plan_id.clone()).or_default();
            if versions.iter().any(|known| known.version == version) {
                return Err(unreadable(PLANS, format!("version {version} of {plan_id} stands twice")));
            }
            // What lists show of a plan is not looked at here.
            let content = NewPlanVersion {
                document,
                source: None,
                media_type: String::new(),
                in_force_from,
                in_force_to,
                name: String::new(),
                currency: String::new(),
                provider: None,
                territory: None,
                tags: Vec::new(),
            };
            versions.push(PlanVersion { plan_id, version, content, created_at });
        }
        Ok(plans)
    }

    fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, EvidenceError> {
        let document = self.document(name, self.limits.document)?;
        serde_json::from_slice(&document).map_err(|error| unreadable(name, error.to_string()))
    }

    /// An entry that is held in memory.
    fn document(&mut self, name: &str, most: u64) -> Result<Vec<u8>, EvidenceError> {
        let bytes = held(&mut self.archive, name, most.min(self.left))?;
        self.left -= bytes.len() as u64;
        self.check(name, bytes.len() as u64, &hex::encode(Sha256::digest(&bytes)));
        Ok(bytes)
    }

    /// An entry that is read row by row after its header.
    fn table(
        &mut self,
        name: &str,
        header: &str,
        mut row: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<(), EvidenceError> {
        let member = self.archive.by_name(name).map_err(|error| entry_error(name, &error))?;
        let mut source = BufReader::new(Hashing { source: member, digest: Sha256::new(), bytes: 0 });
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let n = (&mut source).take(MAX_ROW).read_until(b'\n', &mut line);
            let at = |fault: &str| unreadable(name, format!("line {number}: {fault}"));
            if n.map_err(|error| at(&error.to_string()))? == 0 && number > 1 {
                break;
            }
            if source.get_ref().bytes > self.limits.table {
                return Err(EvidenceError::TooLarge(format!("{name} has more than {} bytes", self.limits.table)));
            }
            let Some(text) = line.strip_suffix(b"\n") else { return Err(at("a row that is too long, or has no end")) };
            let text = std::str::from_utf8(text).map_err(|_| at("this is no text"))?;
            match number {
                1 if text != header => return Err(at(&format!("the header is {header}"))),
                1 => {}
                _ => row(text).map_err(|fault| at(&fault))?,
            }
        }
        let Hashing { digest, bytes, .. } = source.into_inner();
        self.check(name, bytes, &hex::encode(digest.finalize()));
        Ok(())
    }

    /// Holds an entry against the manifest.
    fn check(&mut self, name: &str, bytes: u64, sha256: &str) {
        self.seen.insert(name.to_owned());
        let fault = match self.listed.get(name) {
            None => "the manifest does not list it".to_owned(),
            Some(listed) if listed.bytes != bytes => format!("it has {bytes} bytes, listed are {}", listed.bytes),
            Some(listed) if listed.sha256 != sha256 => format!("its SHA-256 is {sha256}, listed is {}", listed.sha256),
            Some(_) => return,
        };
        self.faults.push(EntryFault { entry: name.to_owned(), fault });
    }

    /// Entries that the computation does not need: those of the manifest must be as listed, others must not be there.
    fn check_the_rest(&mut self, manifest: &Manifest) -> Result<(), EvidenceError> {
        let listed = manifest.entries.iter().map(|entry| entry.name.clone());
        let mut others: BTreeSet<String> = listed.collect();
        for name in self.archive.file_names() {
            others.insert(name?.into_owned());
        }
        for name in others {
            if name != MANIFEST && !self.seen.contains(&name) {
                self.document(&name, self.limits.document)?;
            }
        }
        Ok(())
    }
}

/// The months and the settings of a document.
fn terms(terms: &Terms) -> Result<(Months, Options), EvidenceError> {
    let periods = |days: &[entries::Days]| {
        let period = |days: &entries::Days| BillingPeriod::try_from(*days);
        days.iter().map(period).collect::<Result<_, _>>().map_err(|error| unreadable(TERMS, error.to_string()))
    };
    let months = Months {
        of_period: periods(&terms.months)?,
        are_registered: terms.months_registered,
        earlier: periods(&terms.earlier_months)?,
    };
    let split_intervals_even = terms.split_intervals == SplitIntervals::Even;
    Ok((months, Options { min_coverage: terms.min_coverage, split_intervals_even, ..Options::default() }))
}

/// Counts and digests what is read through it.
struct Hashing<R> {
    source: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.digest.update(&buffer[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
}
