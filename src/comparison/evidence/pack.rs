//! Writing the zip: entries sorted by name, the manifest last, no times and no rights of their own.

use std::io::{self, BufWriter, Cursor, Write};

use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::entries::{
    self, CUSTOMER, EntryMember, FORMAT, FORMAT_VERSION, INPUTS, KeyMember, MANIFEST, Manifest, PLANS, PlanItem,
    QUESTION, READINGS, README, RESULT, SupersededMember, TERMS, Terms,
};
use super::gather::Gathered;
use super::material::Material;
use super::tables;
use crate::comparison::question::{Dates, PeriodBody, QuestionBody};
use crate::config::SplitIntervals;
use crate::store::ComparisonRow;

/// What stands in `README.txt`.
const README_TEXT: &str = include_str!("README.txt");

/// Buffer in front of the compression, bytes.
const BUFFER: usize = 64 * 1024;

/// Writes the evidence of an answer.
///
/// # Errors
/// What the compression refuses: never, in memory.
pub(super) fn pack(gathered: &Gathered) -> io::Result<Vec<u8>> {
    let Gathered { stored, material } = gathered;
    let row = &stored.row;
    let mut packer = Packer { zip: ZipWriter::new(Cursor::new(Vec::new())), entries: Vec::new() };
    packer.bytes(README, README_TEXT.as_bytes())?;
    let calendars = material.calendars.iter();
    for (name, calendar) in by_name(calendars.map(|(id, (version, c))| (entries::calendar_entry(id, *version), c))) {
        packer.bytes(&name, &calendar.encode())?;
    }
    packer.json(CUSTOMER, &material.customer)?;
    let lists = material.event_lists.iter();
    for (name, list) in by_name(lists.map(|(id, (version, list))| (entries::event_list_entry(id, *version), list))) {
        packer.bytes(&name, &list.encode())?;
    }
    packer.json(INPUTS, &row.inputs)?;
    let versions = || material.plans.values().flatten();
    let items: Vec<PlanItem> = versions()
        .map(|version| PlanItem {
            plan_id: version.plan_id.clone(),
            version: version.version,
            in_force_from: version.content.in_force_from,
            in_force_to: version.content.in_force_to,
            created_at: version.created_at,
        })
        .collect();
    packer.json(PLANS, &items)?;
    let documents = versions().map(|v| (entries::plan_entry(&v.plan_id, v.version), &v.content.document));
    for (name, document) in by_name(documents) {
        packer.bytes(&name, document.as_bytes())?;
    }
    let series = material.price_series.iter();
    for (name, prices) in by_name(series.map(|(id, (version, p))| (entries::prices_entry(id, *version), p))) {
        packer.entry(&name, |out| tables::write_prices(prices, out))?;
    }
    packer.json(QUESTION, &question(row))?;
    packer.entry(READINGS, |out| tables::write_readings(&material.readings, out))?;
    packer.bytes(RESULT, &stored.result)?;
    packer.json(TERMS, &terms(material))?;
    debug_assert!(packer.entries.is_sorted_by(|a, b| a.name < b.name));
    let manifest = manifest(row, material, std::mem::take(&mut packer.entries));
    packer.json(MANIFEST, &manifest)?;
    Ok(packer.zip.finish()?.into_inner())
}

/// In the order in which entries stand.
fn by_name<T>(entries: impl Iterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut entries: Vec<(String, T)> = entries.collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

fn question(row: &ComparisonRow) -> QuestionBody {
    let (start, end) = (row.period.start().to_string(), row.period.end().to_string());
    QuestionBody {
        customer_id: row.customer_id.to_string(),
        billing_period: PeriodBody::Dates(Dates { start, end }),
        plan_ids: row.plan_references.iter().map(ToString::to_string).collect(),
    }
}

fn terms(material: &Material) -> Terms {
    let even = material.options.split_intervals_even;
    Terms {
        min_coverage: material.options.min_coverage,
        split_intervals: if even { SplitIntervals::Even } else { SplitIntervals::Refuse },
        months: material.months.of_period.iter().map(|month| (*month).into()).collect(),
        months_registered: material.months.are_registered,
        earlier_months: material.months.earlier.iter().map(|month| (*month).into()).collect(),
    }
}

fn manifest(row: &ComparisonRow, material: &Material, entries: Vec<EntryMember>) -> Manifest {
    Manifest {
        format: FORMAT.to_owned(),
        format_version: if material.event_lists.is_empty() { 1 } else { FORMAT_VERSION },
        comparison_id: row.id,
        tenant_id: material.key.tenant().clone(),
        customer_id: row.customer_id.clone(),
        billing_period: row.period.into(),
        plan_ids: row.plan_references.clone(),
        natural_key: KeyMember { digest: hex::encode(row.key_digest), text: row.key_text.clone() },
        created_at: row.created_at,
        predecessor_id: row.predecessor_id,
        superseded: row.superseded.as_ref().map(|superseded| SupersededMember {
            at: superseded.at,
            reason: superseded.reason.clone(),
            note: superseded.note.clone(),
            successor_id: superseded.successor_id,
        }),
        engine: row.inputs.engine,
        inputs_digest: hex::encode(row.inputs.digest),
        entries,
    }
}

/// Writes entries and remembers their digests.
struct Packer {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    entries: Vec<EntryMember>,
}

impl Packer {
    fn json(&mut self, name: &str, value: &impl serde::Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.bytes(name, &text)
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.entry(name, |out| out.write_all(bytes))
    }

    fn entry(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(6))
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        self.zip.start_file(name, options)?;
        let hashed = Hashed { out: &mut self.zip, digest: Sha256::new(), bytes: 0 };
        let mut buffered = BufWriter::with_capacity(BUFFER, hashed);
        write(&mut buffered)?;
        let hashed = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (bytes, sha256) = (hashed.bytes, hex::encode(hashed.digest.finalize()));
        let what = entries::what(name).to_owned();
        self.entries.push(EntryMember { name: name.to_owned(), bytes, sha256, what });
        Ok(())
    }
}

/// Counts and digests what goes through.
struct Hashed<W> {
    out: W,
    digest: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.digest.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
