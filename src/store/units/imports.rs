//! Imports of readings: one commit of one customer, and the record of it.
//!
//! Whatever changes readings is planned first (what stands, what will stand) and then written, or only shown: a preview
//! is the same plan under the same lock.

use std::ops::Range;

use chrono::NaiveDate;

use super::usage::{decode, instant_of_change, month_of, next_month, seconds_of, starting_in};
use super::{lock_head, lock_known_head};
use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::{ImportConditions, Queries};
use crate::store::rows::{
    BlockRecord, CustomerRecord, ImportRecord, UsageRevisionRecord, comparison_id, id_bytes, import_id,
};
use crate::store::types::{
    FillZero, ImportCounts, ImportFilter, ImportKind, ImportOutcome, ImportPreview, ImportRow, ImportState,
    RevisionChannel, UsageImport,
};
use crate::usage::{
    ChangeSum, Channel, FillError, MergeError, Reading, ReadingChange, block, changed_instants, differences, fill_zero,
    merge,
};
use crate::words::{ComparisonId, CustomerId, ImportId, TenantId, Timestamp};

/// Bounds an import's neighbourhood: no interval is longer than a local day of 25 hours.
const LONGEST_INTERVAL_SECONDS: i64 = 25 * 3_600;

/// Bounds the local days that an import can touch, for those who are shown days.
pub(super) const WHOLE_DAYS_SECONDS: i64 = 2 * 86_400;

/// What will stand in one channel in the place of what stands.
pub(super) struct ChannelPlan {
    channel: Channel,
    /// Current blocks of the months that were looked at.
    blocks: Vec<BlockRecord>,
    before: Vec<Reading>,
    after: Vec<Reading>,
    changes: Vec<ReadingChange>,
}

impl ChannelPlan {
    pub(super) fn new(channel: Channel, blocks: Vec<BlockRecord>, before: Vec<Reading>, after: Vec<Reading>) -> Self {
        let changes = differences(&before, &after);
        Self { channel, blocks, before, after, changes }
    }
}

/// What a commit will do.
pub(super) struct Plan {
    channels: Vec<ChannelPlan>,
    pub(super) counts: ImportCounts,
}

impl Plan {
    /// Counts the changes of its channels.
    pub(super) fn new(channels: Vec<ChannelPlan>, mut counts: ImportCounts) -> Self {
        for plan in &channels {
            let sum = ChangeSum::of(&plan.changes);
            counts.added += sum.added;
            counts.replaced += sum.replaced;
            counts.removed += sum.removed;
        }
        Self { channels, counts }
    }

    /// The instants it changes, a channel after the other.
    fn changed(&self) -> Vec<Range<i64>> {
        self.channels.iter().flat_map(|plan| changed_instants(&plan.changes)).collect()
    }
}

pub(crate) fn import<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    import: &UsageImport,
    now: Timestamp,
) -> Result<ImportOutcome, UnitError> {
    let head = lock_known_head(connection, tenant, customer)?;
    import_under_lock(connection, tenant, customer, &head, import, None, now)
}

/// The same for a customer whose head is held; `part_of` is the import of many meter points that it belongs to.
pub(super) fn import_under_lock<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    head: &CustomerRecord,
    import: &UsageImport,
    part_of: Option<ImportId>,
    now: Timestamp,
) -> Result<ImportOutcome, UnitError> {
    let plan = plan_import(connection, tenant, customer, import, LONGEST_INTERVAL_SECONDS)?;
    let row = import_row(connection, tenant, customer, head, import, &plan, now)?;
    write(connection, tenant, customer, &plan, ImportRow { part_of, ..row })
}

pub(crate) fn preview<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    import: &UsageImport,
    now: Timestamp,
) -> Result<ImportPreview, UnitError> {
    let head = lock_known_head(connection, tenant, customer)?;
    let plan = plan_import(connection, tenant, customer, import, WHOLE_DAYS_SECONDS)?;
    let row = import_row(connection, tenant, customer, &head, import, &plan, now)?;
    show(connection, tenant, customer, plan, row)
}

/// Whether the record of an import, which every one leaves, is there.
pub(crate) fn import_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    outcome: &ImportOutcome,
) -> Result<bool, UnitError> {
    lock_head(connection, tenant, customer)?;
    Ok(connection.import(tenant.as_str(), &id_bytes(outcome.record.id))?.is_some())
}

fn plan_import<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    import: &UsageImport,
    margin_seconds: i64,
) -> Result<Plan, UnitError> {
    let source = &import.source;
    let mut counts = ImportCounts {
        rows: source.rows,
        exact_repeats: source.exact_repeats,
        blank: source.blank,
        ..ImportCounts::default()
    };
    let mut channels = Vec::with_capacity(import.readings.len());
    for (channel, incoming) in &import.readings {
        let Some((first, last)) = incoming.first().zip(incoming.last()) else { continue };
        let file = first.start..last.end();
        let filled = match &import.fill {
            None => None,
            Some(FillZero::WithinFile) => Some(file.clone()),
            Some(FillZero::Within(range)) => Some(range.clone()),
        };
        let reach = filled.as_ref().map_or(file.clone(), |f| f.start.min(file.start)..f.end.max(file.end));
        // A stored interval of the month before may reach into the first of these.
        let months = (
            month_of(reach.start.saturating_sub(margin_seconds))?,
            month_of(reach.end.saturating_add(margin_seconds - LONGEST_INTERVAL_SECONDS))?,
        );
        let (blocks, before) = current(connection, tenant, customer, channel, months)?;
        let merged =
            merge(&before, &incoming.to_vec(), import.on_conflict).map_err(|error| merge_refusal(channel, &error))?;
        counts.kept += merged.kept;
        counts.unchanged += merged.unchanged;
        let mut after = merged.readings;
        if let Some(within) = filled {
            counts.filled += fill_zero(&mut after, &within).map_err(|error| fill_refusal(channel, &error))?;
        }
        channels.push(ChannelPlan::new(channel.clone(), blocks, before, after));
    }
    Ok(Plan::new(channels, counts))
}

/// The current blocks of the months from the first to the last, and their readings.
pub(super) fn current<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    channel: &Channel,
    months: (NaiveDate, NaiveDate),
) -> Result<(Vec<BlockRecord>, Vec<Reading>), UnitError> {
    let blocks = connection.current_blocks(tenant.as_str(), customer.as_str(), Some(channel.as_str()), months)?;
    let mut readings = Vec::new();
    for record in &blocks {
        readings.append(&mut decode(record)?);
    }
    Ok((blocks, readings))
}

fn merge_refusal(channel: &Channel, error: &MergeError) -> UnitError {
    let code = match error {
        MergeError::Overlap { .. } | MergeError::NoLength { .. } => "usage_overlap",
        MergeError::Differs { .. } => "usage_conflict",
    };
    StoreError::Conflict { code, detail: format!("channel {channel}: {error}") }.into()
}

fn fill_refusal(channel: &Channel, error: &FillError) -> UnitError {
    StoreError::Conflict { code: "fill_uneven", detail: format!("channel {channel}: {error}") }.into()
}

/// The record of an import under the head's lock.
fn import_row<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    head: &CustomerRecord,
    import: &UsageImport,
    plan: &Plan,
    now: Timestamp,
) -> Result<ImportRow, UnitError> {
    let source = &import.source;
    let same_file = connection.latest_import_of_file(tenant.as_str(), customer.as_str(), &source.sha256)?;
    Ok(ImportRow {
        id: import.id,
        kind: ImportKind::Usage,
        state: ImportState::Done,
        customer_id: Some(customer.clone()),
        part_of: None,
        reverts: None,
        reverted_by: None,
        same_file_as: same_file.as_deref().map(import_id).transpose()?,
        file_name: source.file_name.clone(),
        sha256: hex::encode(source.sha256),
        format: source.format.clone(),
        n_bytes: source.n_bytes,
        on_conflict: Some(import.on_conflict.as_str().to_owned()),
        counts: plan.counts,
        choices: source.choices.clone(),
        warnings: source.warnings.clone(),
        revision_before: Some(head.usage_revision),
        revision_after: Some(revision_after(head, plan)),
        created_at: instant_of_change(connection, head, now)?,
    })
}

pub(super) fn revision_after(head: &CustomerRecord, plan: &Plan) -> i64 {
    head.usage_revision + i64::from(plan.channels.iter().any(|plan| !plan.changes.is_empty()))
}

pub(super) fn show<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    plan: Plan,
    record: ImportRow,
) -> Result<ImportPreview, UnitError> {
    let (_, stale) = to_mark(connection, tenant, customer, &plan.changed())?;
    let changed = plan.channels.into_iter().filter(|plan| !plan.changes.is_empty());
    let channels = changed.map(|plan| (plan.channel, (plan.before, plan.after))).collect();
    Ok(ImportPreview { record, channels, stale })
}

/// Writes blocks, the log, the record and the marks of stale comparisons.
pub(super) fn write<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    plan: &Plan,
    record: ImportRow,
) -> Result<ImportOutcome, UnitError> {
    connection.insert_import(&ImportRecord::of(tenant, &record, None)?)?;
    let changed = plan.changed();
    let Some(first_start) = changed.iter().map(|range| range.start).min() else {
        return Ok(ImportOutcome { record, stale: Vec::new() });
    };
    let last_end = changed.iter().map(|range| range.end).max().unwrap_or(first_start);
    let revision = record.revision_after.unwrap_or_default();
    for plan in &plan.channels {
        write_blocks(connection, tenant, customer, plan, revision)?;
    }
    connection.set_usage_revision(tenant.as_str(), customer.as_str(), revision)?;
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let channels: Vec<RevisionChannel> = plan
        .channels
        .iter()
        .filter(|plan| !plan.changes.is_empty())
        .map(|plan| RevisionChannel { channel: plan.channel.clone(), sum: ChangeSum::of(&plan.changes) })
        .collect();
    connection.insert_usage_revision(&UsageRevisionRecord {
        tenant_id: tenant.as_str().to_owned(),
        customer_id: customer.as_str().to_owned(),
        revision,
        created_at: record.created_at.as_micros(),
        first_start,
        last_end,
        added: count(record.counts.added),
        replaced: count(record.counts.replaced),
        file_name: record.file_name.clone(),
        format: record.format.clone(),
        sha256: hex::decode(&record.sha256).map_err(|error| UnitError::Corrupt(error.to_string()))?,
        import_id: Some(id_bytes(record.id)),
        removed: count(record.counts.removed),
        channels: Some(serde_json::to_string(&channels).map_err(|error| UnitError::Corrupt(error.to_string()))?),
    })?;
    let (touched, stale) = to_mark(connection, tenant, customer, &changed)?;
    if !touched.is_empty() {
        connection.mark_stale(tenant.as_str(), &touched, record.created_at.as_micros())?;
    }
    Ok(ImportOutcome { record, stale })
}

/// The current comparisons whose input window a change touches and that are not marked yet, sorted.
fn to_mark<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    changed: &[Range<i64>],
) -> Result<(Vec<Vec<u8>>, Vec<ComparisonId>), UnitError> {
    if changed.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut touched: Vec<Vec<u8>> = connection
        .unmarked_comparisons(tenant.as_str(), customer.as_str())?
        .into_iter()
        .filter(|(_, start, end)| changed.iter().any(|range| range.start < *end && range.end > *start))
        .map(|(id, ..)| id)
        .collect();
    touched.sort();
    let ids = touched.iter().map(|id| comparison_id(id)).collect::<Result<_, _>>()?;
    Ok((touched, ids))
}

/// Writes the months whose readings differ from their block. The block that each replaces stays, so that every earlier
/// state can be read.
fn write_blocks<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    plan: &ChannelPlan,
    revision: i64,
) -> Result<(), UnitError> {
    let mut months: Vec<NaiveDate> = Vec::new();
    for change in &plan.changes {
        let month = month_of(change.interval().start)?;
        if months.last() != Some(&month) {
            months.push(month);
        }
    }
    for month in months {
        let bounds = seconds_of(month)..seconds_of(next_month(month)?);
        let readings = starting_in(&plan.after, bounds);
        if let Some(replaced) = plan.blocks.iter().find(|record| record.month == month) {
            connection.replace_block(replaced, revision)?;
        }
        if readings.is_empty() {
            continue;
        }
        connection.insert_block(&BlockRecord {
            tenant_id: tenant.as_str().to_owned(),
            customer_id: customer.as_str().to_owned(),
            channel: plan.channel.as_str().to_owned(),
            month,
            revision,
            replaced_by: None,
            n_readings: i32::try_from(readings.len()).unwrap_or(i32::MAX),
            data: block::encode(readings),
        })?;
    }
    Ok(())
}

// ---- records

fn get<C: Queries>(connection: &mut C, tenant: &TenantId, id: ImportId) -> Result<Option<ImportRow>, UnitError> {
    connection.import(tenant.as_str(), &id_bytes(id))?.map(ImportRecord::read).transpose()
}

pub(super) fn get_known<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
) -> Result<ImportRow, UnitError> {
    get(connection, tenant, id)?.ok_or_else(|| StoreError::NotFound { what: "import", id: id.to_string() }.into())
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    filter: &ImportFilter,
    before: Option<ImportId>,
    limit: u32,
) -> Result<Vec<ImportRow>, UnitError> {
    let conditions = ImportConditions {
        customer_id: filter.customer_id.as_ref().map(|id| id.as_str().to_owned()),
        part_of: filter.part_of.map(id_bytes),
        sha256: filter.sha256.map(|digest| digest.to_vec()),
        state: filter.state.map(ImportState::as_str),
        before: before.map(id_bytes),
    };
    connection.imports(tenant.as_str(), &conditions, limit.into())?.into_iter().map(ImportRecord::read).collect()
}
