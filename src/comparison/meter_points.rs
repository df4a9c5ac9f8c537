//! Files of many meter points: which of them are whose, a commit a customer, and what is left.
//!
//! The whole runs to its end though its caller may be gone. Whatever stops it, the customers that were stored stay so, and
//! the same file again goes on: its record is found by the file's digest and by how it is read.

mod matching;
mod preview;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Seek};
use std::sync::Arc;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use self::matching::{Why, contradicts, first_row, meter_points, names, owner};
pub use self::preview::MeterPointsPreview;
use super::{ComparisonError, Service};
use crate::store::{
    CustomerShare, FillZero, ImportCounts, ImportFilter, ImportProgress, ImportSource, ImportState,
    MeterPointCustomers, MeterPointRefusal, MeterPointRow, MeterPointState, MeterPointsImport, OnConflict, Reverted,
    ShareMeterPoint, ShareOutcome, StoreError, UsageImport,
};
use crate::usage::{
    self, Channel, Direction, ParsedUsage, ReadOptions, Reading, SeriesLabel, UsageError, UsageFile, channels_of_meter,
};
use crate::words::{ComparisonId, CustomerId, ImportId, TenantId, Timestamp};

/// Meter points, or parts, that are read of the store at once.
const PAGE: u32 = 5_000;

/// A file as it was sent.
#[derive(Debug)]
pub struct MeterPointsFile<F> {
    /// Its bytes.
    pub input: F,
    /// How it is read.
    pub options: ReadOptions,
    /// Its name, if it has one.
    pub file_name: Option<String>,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Its size.
    pub n_bytes: u64,
    /// Rule for readings that differ.
    pub on_conflict: OnConflict,
    /// Declare gaps within the file as zero.
    pub fill_zero: bool,
}

/// Why a file of many meter points is not stored.
#[derive(Debug, thiserror::Error)]
pub enum MeterPointsError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UsageError),
    /// It names no meter.
    #[error("the file names no meter point; import it for a customer")]
    NoMeterPoints,
    /// Something stopped it: the same file again goes on.
    #[error(transparent)]
    Service(#[from] ComparisonError),
}

impl From<StoreError> for MeterPointsError {
    fn from(error: StoreError) -> Self {
        Self::Service(error.into())
    }
}

/// What a file of many meter points did.
#[derive(Debug, Clone)]
pub struct MeterPointsOutcome {
    /// The record and what became of the meter points.
    pub progress: ImportProgress,
    /// Whether an earlier call had begun it.
    pub is_resumed: bool,
    /// Comparisons that this call made stale.
    pub stale: Vec<ComparisonId>,
}

/// What the revert of such a file did to its parts.
#[derive(Debug, Clone, Default)]
pub struct PartsReverted {
    /// Parts that this call took back.
    pub n_parts: u64,
    /// What that changed.
    pub counts: ImportCounts,
    /// Comparisons that became stale.
    pub stale: Vec<ComparisonId>,
}

impl Service {
    /// Reads a file of many meter points and stores each customer's share on its own.
    ///
    /// # Errors
    /// [`MeterPointsError`]; customers that were stored before it stay so.
    pub async fn import_meter_points<F: Read + Seek + Send + 'static>(
        self: &Arc<Self>,
        tenant: &TenantId,
        file: MeterPointsFile<F>,
    ) -> Result<MeterPointsOutcome, MeterPointsError> {
        let (service, tenant) = (Arc::clone(self), tenant.clone());
        self.detached(async move {
            let _permit = service.import_permit().await?;
            let begun = Begun::read(&service, &tenant, file).await?;
            begun.run(&service, &tenant).await
        })
        .await?
    }

    /// What [`Service::import_meter_points`] would do, found out in the same way; nothing is written.
    ///
    /// # Errors
    /// [`MeterPointsError`].
    pub async fn preview_meter_points<F: Read + Seek + Send + 'static>(
        self: &Arc<Self>,
        tenant: &TenantId,
        file: MeterPointsFile<F>,
    ) -> Result<MeterPointsPreview, MeterPointsError> {
        let (service, tenant) = (Arc::clone(self), tenant.clone());
        self.detached(async move {
            let _permit = service.import_permit().await?;
            let (begun, new) = Begun::open(&service, &tenant, file).await?;
            begun.preview(&service, &tenant, new.meter_points).await
        })
        .await?
    }

    /// Takes back every part of a file of many meter points, and lets no more of it be stored. Called again it takes back
    /// what is left.
    ///
    /// # Errors
    /// The store's; parts that were taken back before it stay so.
    pub async fn revert_meter_points(
        self: &Arc<Self>,
        tenant: &TenantId,
        id: ImportId,
    ) -> Result<(ImportProgress, PartsReverted), ComparisonError> {
        let (service, tenant) = (Arc::clone(self), tenant.clone());
        self.detached(async move {
            let of = tenant.clone();
            let progress = service.store.write(move |store| store.revert_meter_points(&of, id)).await?;
            let mut total = PartsReverted::default();
            loop {
                let of = tenant.clone();
                let filter =
                    ImportFilter { part_of: Some(id), state: Some(ImportState::Done), ..ImportFilter::default() };
                let parts = service.store.read(move |store| store.list_imports(&of, &filter, None, PAGE)).await?;
                if parts.is_empty() {
                    return Ok((progress, total));
                }
                for part in parts {
                    let of = tenant.clone();
                    let reverted = service
                        .store
                        .write(move |store| store.revert_import(&of, part.id, ImportId::new(), Timestamp::now()))
                        .await?;
                    if let Reverted::Done(outcome) = reverted {
                        total.n_parts += 1;
                        total.counts = total.counts.plus(outcome.record.counts);
                        total.stale.extend(outcome.stale);
                    }
                }
            }
        })
        .await?
    }
}

/// Places and names of the meter points of each customer.
type Shares = BTreeMap<CustomerId, Vec<(u32, String)>>;

/// A file with its record, its readings still to be stored.
struct Begun {
    file: UsageFile,
    labels: Vec<SeriesLabel>,
    /// Series of each meter point.
    series: HashMap<String, Vec<usize>>,
    id: ImportId,
    is_resumed: bool,
    on_conflict: OnConflict,
    fill: Option<FillZero>,
    source: ImportSource,
}

impl Begun {
    /// Reads the file, with the record that it would begin.
    async fn open<F: Read + Seek + Send + 'static>(
        service: &Arc<Service>,
        tenant: &TenantId,
        sent: MeterPointsFile<F>,
    ) -> Result<(Self, MeterPointsImport), MeterPointsError> {
        let MeterPointsFile { input, options, file_name, sha256, n_bytes, on_conflict, fill_zero } = sent;
        let resume_key = |labels: &[SeriesLabel]| resume_key(&sha256, &options, on_conflict, fill_zero, labels);
        let reading = options.clone();
        let mut file = service.blocking(move || usage::open(input, &reading)).await??;
        let labels: Vec<SeriesLabel> = file.labels().cloned().collect();
        if labels.iter().all(|label| label.meter.is_none()) {
            return Err(MeterPointsError::NoMeterPoints);
        }
        let source = ImportSource {
            file_name,
            sha256,
            format: file.format.to_owned(),
            n_bytes,
            rows: file.n_rows,
            exact_repeats: 0,
            blank: 0,
            choices: json!({}),
            warnings: json!(std::mem::take(&mut file.warnings)),
        };
        let listed = customers_of(service, tenant, names(&labels)).await?;
        let points = meter_points(&labels, |name| listed.contains_key(name));
        let rows = (0..).zip(&points).map(|(place, (id, _))| first_row(place, id.as_deref(), &listed)).collect();
        let new = MeterPointsImport {
            id: ImportId::new(),
            on_conflict,
            source: source.clone(),
            resume_key: resume_key(&labels),
            meter_points: rows,
        };
        let begun = Self {
            file,
            labels,
            series: HashMap::new(),
            id: new.id,
            is_resumed: false,
            on_conflict,
            fill: fill_zero.then_some(FillZero::WithinFile),
            source,
        };
        Ok((begun, new))
    }

    async fn read<F: Read + Seek + Send + 'static>(
        service: &Arc<Service>,
        tenant: &TenantId,
        sent: MeterPointsFile<F>,
    ) -> Result<Self, MeterPointsError> {
        let (begun, new) = Self::open(service, tenant, sent).await?;
        let of = tenant.clone();
        let record = service.store.write(move |store| store.begin_meter_points(&of, &new, Timestamp::now())).await?;
        service.stop_at("meter_points::begun").await?;
        Ok(Self { id: record.id, is_resumed: record.id != begun.id, ..begun })
    }

    /// The pending ones of these meter points by their customers, and why the others have none.
    async fn by_customer(
        &mut self,
        service: &Service,
        tenant: &TenantId,
        rows: &[MeterPointRow],
    ) -> Result<(Shares, MeterPointCustomers, Vec<MeterPointRefusal>), ComparisonError> {
        let known: BTreeSet<&str> = rows.iter().filter_map(|row| row.meter_point_id.as_deref()).collect();
        let points = meter_points(&self.labels, |name| known.contains(name));
        self.series = points.into_iter().filter_map(|(id, idxs)| Some((id?, idxs))).collect();
        let pending: Vec<(u32, String)> = rows
            .iter()
            .filter(|row| row.state == MeterPointState::Pending)
            .filter_map(|row| Some((row.place, row.meter_point_id.clone()?)))
            .collect();
        let listed = customers_of(service, tenant, pending.iter().map(|(_, id)| id.clone()).collect()).await?;
        let (mut shares, mut refusals) = (Shares::new(), Vec::new());
        for (place, point) in pending {
            match owner(&point, &listed) {
                Ok(customer) => shares.entry(customer).or_default().push((place, point)),
                Err(why) => refusals.push(why.at(place)),
            }
        }
        Ok((shares, listed, refusals))
    }

    async fn run(mut self, service: &Arc<Service>, tenant: &TenantId) -> Result<MeterPointsOutcome, MeterPointsError> {
        let (id, is_resumed) = (self.id, self.is_resumed);
        let rows = self.rows(service, tenant).await?;
        let (by_customer, listed, mut refusals) = self.by_customer(service, tenant, &rows).await?;
        let mut stale = Vec::new();
        for (customer, points) in by_customer {
            let channels = listed.clone();
            let whose = customer.clone();
            let made = service.blocking(move || {
                let share = self.share(&whose, &points, &channels);
                (self, share)
            });
            let (begun, (share, mut refused)) = made.await?;
            self = begun;
            refusals.append(&mut refused);
            let Some(share) = share else { continue };
            let places: Vec<u32> = share.meter_points.iter().map(|point| point.place).collect();
            let of = tenant.clone();
            let store_share = move |store: &dyn crate::store::Store| store.import_share(&of, &share, Timestamp::now());
            let stored = service.store.write_for(tenant, &customer, store_share).await;
            let why = match stored {
                Ok(ShareOutcome::Done(outcome)) => {
                    stale.extend(outcome.stale);
                    None
                }
                Ok(ShareOutcome::Already) => None,
                Ok(ShareOutcome::Reverted) => break,
                Ok(ShareOutcome::Moved) => Some(Why::moved()),
                Err(ComparisonError::Store(StoreError::Conflict { code, detail })) => Some(Why::refused(code, detail)),
                Err(other) => return Err(other.into()),
            };
            if let Some(why) = why {
                let why = Why { customer: Some(customer), ..why };
                refusals.extend(places.into_iter().map(|place| why.clone().at(place)));
            }
            service.stop_at("meter_points::between").await?;
        }
        let of = tenant.clone();
        let finish = move |store: &dyn crate::store::Store| {
            if !refusals.is_empty() {
                store.refuse_meter_points(&of, id, &refusals)?;
            }
            store.finish_meter_points(&of, id)
        };
        let progress = service.store.write(finish).await?;
        Ok(MeterPointsOutcome { progress, is_resumed, stale })
    }

    /// Every meter point of the record.
    async fn rows(&self, service: &Service, tenant: &TenantId) -> Result<Vec<MeterPointRow>, ComparisonError> {
        let (of, id) = (tenant.clone(), self.id);
        let read = move |store: &dyn crate::store::Store| {
            let mut rows: Vec<MeterPointRow> = Vec::new();
            loop {
                let after = rows.last().map(|row| row.place);
                let mut page = store.import_meter_points(&of, id, &[], after, PAGE)?;
                let is_last = page.len() < PAGE as usize;
                rows.append(&mut page);
                if is_last {
                    return Ok::<_, StoreError>(rows);
                }
            }
        };
        service.store.read(read).await
    }

    /// The readings of one customer's meter points; those that cannot be read or placed are refused on their own.
    fn share(
        &mut self,
        customer: &CustomerId,
        points: &[(u32, String)],
        listed: &MeterPointCustomers,
    ) -> (Option<CustomerShare>, Vec<MeterPointRefusal>) {
        let mut readings = BTreeMap::<Channel, Vec<Reading>>::new();
        let mut choices = BTreeMap::<Channel, Vec<String>>::new();
        let (mut stored, mut refusals, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut source = ImportSource { rows: 0, ..self.source.clone() };
        for (place, point) in points {
            let placed = self.place(point, listed.get(point).map_or(&[][..], Vec::as_slice));
            let parsed = match placed {
                Ok(parsed) => parsed,
                Err(why) => {
                    refusals.push(Why { customer: Some(customer.clone()), ..why }.at(*place));
                    continue;
                }
            };
            source.exact_repeats += parsed.exact_repeats;
            source.blank += parsed.blank;
            let n_readings = parsed.n_readings() as u64;
            warnings.extend(parsed.warnings);
            source.rows += n_readings;
            let channels = parsed.readings.keys().cloned().collect();
            stored.push(ShareMeterPoint { place: *place, id: point.clone(), channels, n_readings });
            for (channel, mut names) in parsed.sources {
                choices.entry(channel).or_default().append(&mut names);
            }
            for (channel, of_point) in parsed.readings {
                readings.entry(channel).or_default().extend(of_point.iter());
            }
        }
        if stored.is_empty() {
            return (None, refusals);
        }
        // Two meters of one channel follow each other; where they overlap, the merge refuses them.
        let in_order = |mut of_channel: Vec<Reading>| {
            of_channel.sort_by_key(|reading| reading.start);
            of_channel.into_iter().collect()
        };
        let readings = readings.into_iter().map(|(channel, of_channel)| (channel, in_order(of_channel))).collect();
        source.choices = json!(choices);
        source.warnings = json!(warnings);
        let import = UsageImport {
            id: ImportId::new(),
            readings,
            on_conflict: self.on_conflict,
            fill: self.fill.clone(),
            source,
        };
        let share = CustomerShare { import_id: self.id, customer_id: customer.clone(), meter_points: stored, import };
        (Some(share), refusals)
    }

    /// The readings of a meter point by the channels that its customer lists for it.
    fn place(&mut self, point: &str, listed: &[(CustomerId, Channel)]) -> Result<ParsedUsage, Why> {
        let idxs = self.series.get(point).map_or(&[][..], Vec::as_slice);
        self.file.warnings.clear();
        let mut parsed = channels_of_meter(&mut self.file, idxs).map_err(|error| Why::unreadable(&error))?;
        let directions: Vec<Direction> = idxs.iter().map(|idx| self.labels[*idx].direction).collect();
        let listed: Vec<&Channel> = listed.iter().map(|(_, channel)| channel).collect();
        let (mut readings, mut sources) = (BTreeMap::new(), BTreeMap::new());
        let is_alone = parsed.readings.len() == 1;
        for (found, of_channel) in std::mem::take(&mut parsed.readings) {
            let channel = if listed.contains(&&found) {
                found.clone()
            } else {
                match listed.as_slice() {
                    [only] if is_alone && !contradicts(only, &directions) => (*only).clone(),
                    _ => return Err(Why::not_listed(&found, &listed)),
                }
            };
            sources.insert(channel.clone(), parsed.sources.remove(&found).unwrap_or_default());
            readings.insert(channel, of_channel);
        }
        Ok(ParsedUsage { readings, sources, ..parsed })
    }
}

/// By which the same file, read in the same way, finds its record.
fn resume_key(
    sha256: &[u8; 32],
    options: &ReadOptions,
    on_conflict: OnConflict,
    fill_zero: bool,
    labels: &[SeriesLabel],
) -> [u8; 32] {
    let names: Vec<String> = labels.iter().map(SeriesLabel::name).collect();
    let text = format!("{options:?} {} {fill_zero} {names:?}", on_conflict.as_str());
    Sha256::new().chain_update(sha256).chain_update(text).finalize().into()
}

async fn customers_of(
    service: &Service,
    tenant: &TenantId,
    ids: Vec<String>,
) -> Result<MeterPointCustomers, ComparisonError> {
    let of = tenant.clone();
    service
        .store
        .read(move |store| {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            store.customers_of_meter_points(&of, &ids)
        })
        .await
}
