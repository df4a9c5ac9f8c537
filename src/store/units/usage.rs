//! Readings: imports, corrections, blocks and their revisions.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, Datelike, Months, NaiveDate};

use super::{lock_head, lock_known_head};
use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::{BlockRecord, UsageRevisionRecord, comparison_id};
use crate::store::types::{BlockRevision, ImportOutcome, StoredUsage, UsageImport, UsageRevision};
use crate::usage::{Channel, MergeError, Merged, Reading, Series, block, merge};
use crate::words::{CustomerId, TenantId, Timestamp};

/// Bounds an import's neighbourhood: no interval is longer than a day.
const LONGEST_INTERVAL_SECONDS: i64 = 86_400;

pub(crate) fn import<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    import: &UsageImport,
    now: Timestamp,
) -> Result<ImportOutcome, UnitError> {
    let head = lock_known_head(connection, tenant, customer)?;
    let revision = head.usage_revision + 1;
    let mut outcome = ImportOutcome {
        added: 0,
        replaced: 0,
        kept: 0,
        unchanged: 0,
        revision_before: head.usage_revision,
        revision_after: head.usage_revision,
        stale: Vec::new(),
    };
    let mut changed: Vec<Range<i64>> = Vec::new();
    for (channel, incoming) in &import.readings {
        let Some((first, last)) = incoming.first().zip(incoming.last()) else { continue };
        // A stored interval of the month before may reach into the first of these.
        let months = (month_of(first.start.saturating_sub(LONGEST_INTERVAL_SECONDS))?, month_of(last.end())?);
        let blocks = connection.current_blocks(tenant.as_str(), customer.as_str(), Some(channel.as_str()), months)?;
        let mut stored = Vec::new();
        for record in &blocks {
            stored.extend(decode(record)?);
        }
        let merged = merge(&stored, incoming, import.on_conflict).map_err(|error| refusal(channel, &error))?;
        outcome.added += merged.added;
        outcome.replaced += merged.replaced;
        outcome.kept += merged.kept;
        outcome.unchanged += merged.unchanged;
        write_blocks(connection, tenant, customer, channel, &blocks, &merged, revision)?;
        changed.extend(merged.changed);
    }
    let Some(first_start) = changed.iter().map(|range| range.start).min() else { return Ok(outcome) };
    let last_end = changed.iter().map(|range| range.end).max().unwrap_or(first_start);

    outcome.revision_after = revision;
    connection.set_usage_revision(tenant.as_str(), customer.as_str(), revision)?;
    connection.insert_usage_revision(&UsageRevisionRecord {
        tenant_id: tenant.as_str().to_owned(),
        customer_id: customer.as_str().to_owned(),
        revision,
        created_at: now.as_micros(),
        first_start,
        last_end,
        added: i64::try_from(outcome.added).unwrap_or(i64::MAX),
        replaced: i64::try_from(outcome.replaced).unwrap_or(i64::MAX),
        file_name: import.file_name.clone(),
        format: import.format.clone(),
        sha256: import.sha256.to_vec(),
    })?;

    let mut touched: Vec<Vec<u8>> = connection
        .unmarked_comparisons(tenant.as_str(), customer.as_str())?
        .into_iter()
        .filter(|(_, start, end)| changed.iter().any(|range| range.start < *end && range.end > *start))
        .map(|(id, ..)| id)
        .collect();
    touched.sort();
    if !touched.is_empty() {
        connection.mark_stale(tenant.as_str(), &touched, now.as_micros())?;
        outcome.stale = touched.iter().map(|id| comparison_id(id)).collect::<Result<_, _>>()?;
    }
    Ok(outcome)
}

/// Writes the months whose readings differ from their block, and retires the block each replaces: it stays if a
/// comparison was made from it, and goes if none was.
fn write_blocks<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    channel: &Channel,
    blocks: &[BlockRecord],
    merged: &Merged,
    revision: i64,
) -> Result<(), UnitError> {
    let mut months: Vec<NaiveDate> = Vec::new();
    for range in &merged.changed {
        let mut month = month_of(range.start)?;
        while seconds_of(month) < range.end {
            if months.last().is_none_or(|last| *last < month) {
                months.push(month);
            }
            month = next_month(month)?;
        }
    }
    for month in months {
        let bounds = (seconds_of(month), seconds_of(next_month(month)?));
        let readings = starting_in(&merged.readings, bounds.0..bounds.1);
        let replaced = blocks.iter().find(|record| record.month == month);
        if let Some(record) = replaced {
            if decode(record)? == readings {
                continue;
            }
            let is_used = connection.is_usage_recorded(
                tenant.as_str(),
                customer.as_str(),
                bounds,
                (record.revision, revision),
            )?;
            if is_used {
                connection.replace_block(record, revision)?;
            } else {
                connection.delete_block(record)?;
            }
        } else if readings.is_empty() {
            continue;
        }
        connection.insert_block(&BlockRecord {
            tenant_id: tenant.as_str().to_owned(),
            customer_id: customer.as_str().to_owned(),
            channel: channel.as_str().to_owned(),
            month,
            revision,
            replaced_by: None,
            n_readings: i32::try_from(readings.len()).unwrap_or(i32::MAX),
            data: block::encode(readings),
        })?;
    }
    Ok(())
}

fn refusal(channel: &Channel, error: &MergeError) -> UnitError {
    let code = match error {
        MergeError::Overlap { .. } | MergeError::NoLength { .. } => "usage_overlap",
        MergeError::Differs { .. } => "usage_conflict",
    };
    StoreError::Conflict { code, detail: format!("channel {channel}: {error}") }.into()
}

pub(crate) fn import_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    import: &UsageImport,
    now: Timestamp,
    outcome: &ImportOutcome,
) -> Result<bool, UnitError> {
    if outcome.revision_after == outcome.revision_before {
        return Ok(false);
    }
    lock_head(connection, tenant, customer)?;
    let logged = connection.usage_revision(tenant.as_str(), customer.as_str(), outcome.revision_after)?;
    Ok(logged.is_some_and(|logged| logged.created_at == now.as_micros() && logged.sha256 == import.sha256))
}

pub(crate) fn read<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    window: &Range<i64>,
) -> Result<StoredUsage, UnitError> {
    let Some(months) = months_of(window)? else { return Ok(StoredUsage::default()) };
    assemble(connection.current_blocks(tenant.as_str(), customer.as_str(), None, months)?, window)
}

pub(crate) fn read_at<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    window: &Range<i64>,
    blocks: &[BlockRevision],
) -> Result<Option<StoredUsage>, UnitError> {
    let Some(months) = months_of(window)? else { return Ok(Some(StoredUsage::default())) };
    let mut revisions: Vec<i64> = blocks.iter().map(|block| block.revision).collect();
    revisions.sort_unstable();
    revisions.dedup();
    let mut records = connection.blocks_of_revisions(tenant.as_str(), customer.as_str(), months, &revisions)?;
    records.retain(|record| {
        let is_this = |block: &BlockRevision| {
            block.revision == record.revision && block.month == record.month && block.channel.as_str() == record.channel
        };
        blocks.iter().any(is_this)
    });
    if records.len() < blocks.len() { Ok(None) } else { assemble(records, window).map(Some) }
}

/// Blocks, sorted by channel and month, as readings of a window.
fn assemble(records: Vec<BlockRecord>, window: &Range<i64>) -> Result<StoredUsage, UnitError> {
    let mut usage = StoredUsage::default();
    let mut readings = BTreeMap::<Channel, Vec<Reading>>::new();
    for record in records {
        let revision = block_revision(&record.channel, record.month, record.revision)?;
        let month = decode(&record)?;
        readings.entry(revision.channel.clone()).or_default().extend_from_slice(starting_in(&month, window.clone()));
        usage.blocks.push(revision);
    }
    usage.readings = readings
        .into_iter()
        .filter(|(_, readings)| !readings.is_empty())
        .map(|(channel, readings)| (channel, Series::from_sorted(&readings)))
        .collect();
    Ok(usage)
}

pub(crate) fn revisions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    after: i64,
    limit: u32,
) -> Result<Vec<UsageRevision>, UnitError> {
    let records = connection.usage_revisions_after(tenant.as_str(), customer.as_str(), after, limit.into())?;
    records.into_iter().map(UsageRevisionRecord::read).collect()
}

/// Revisions of the current blocks of every month a window touches, sorted.
pub(super) fn block_revisions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    window: &Range<i64>,
) -> Result<Vec<BlockRevision>, UnitError> {
    let Some(months) = months_of(window)? else { return Ok(Vec::new()) };
    let records = connection.current_block_revisions(tenant.as_str(), customer.as_str(), months)?;
    records.into_iter().map(|(channel, month, revision)| block_revision(&channel, month, revision)).collect()
}

fn block_revision(channel: &str, month: NaiveDate, revision: i64) -> Result<BlockRevision, UnitError> {
    let channel = channel.parse().map_err(|error: crate::usage::ChannelError| UnitError::Corrupt(error.to_string()))?;
    Ok(BlockRevision { channel, month, revision })
}

fn decode(record: &BlockRecord) -> Result<Vec<Reading>, UnitError> {
    block::decode(&record.data).map_err(|error| {
        let BlockRecord { tenant_id, customer_id, channel, month, revision, .. } = record;
        UnitError::Corrupt(format!("{tenant_id}/{customer_id}/{channel}/{month}, revision {revision}: {error}"))
    })
}

/// The part of sorted readings that starts in `[start, end)`.
fn starting_in(readings: &[Reading], instants: Range<i64>) -> &[Reading] {
    let from = readings.partition_point(|reading| reading.start < instants.start);
    let to = readings.partition_point(|reading| reading.start < instants.end);
    &readings[from..to.max(from)]
}

/// First and last UTC month that `[start, end)` touches; `None` when it is empty.
fn months_of(window: &Range<i64>) -> Result<Option<(NaiveDate, NaiveDate)>, UnitError> {
    if window.is_empty() { Ok(None) } else { Ok(Some((month_of(window.start)?, month_of(window.end - 1)?))) }
}

/// First day of the UTC month of an instant.
fn month_of(seconds: i64) -> Result<NaiveDate, UnitError> {
    let day = DateTime::from_timestamp(seconds, 0).map(|instant| instant.date_naive());
    // Years of four digits: their texts are ordered as their dates are.
    day.filter(|day| (1..=9999).contains(&day.year())).and_then(|day| day.with_day(1)).ok_or_else(out_of_calendar)
}

fn next_month(month: NaiveDate) -> Result<NaiveDate, UnitError> {
    month.checked_add_months(Months::new(1)).ok_or_else(out_of_calendar)
}

fn out_of_calendar() -> UnitError {
    let detail = "an instant lies outside the years 1 to 9999".to_owned();
    StoreError::Conflict { code: "usage_instant", detail }.into()
}

/// The instant at which a UTC day begins, seconds since the epoch.
fn seconds_of(day: NaiveDate) -> i64 {
    day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()
}
