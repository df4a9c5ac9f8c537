//! Readings: blocks and their revisions, as they stand and as they stood.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, Datelike, Months, NaiveDate};

use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::{BlockRecord, CustomerRecord, UsageRevisionRecord};
use crate::store::types::{BlockRevision, RevisionChanges, StoredUsage, UsageRevision};
use crate::usage::{Channel, Reading, Series, block, differences};
use crate::words::{CustomerId, TenantId, Timestamp};

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

/// The instant of a change to a customer's readings or document, under the lock of its head: after every earlier one,
/// whatever the clocks of the servers say that made them. The log is read by these times from a row's mark on.
pub(super) fn instant_of_change<C: Queries>(
    connection: &mut C,
    head: &CustomerRecord,
    now: Timestamp,
) -> Result<Timestamp, UnitError> {
    let last = connection.usage_revisions_after(&head.tenant_id, &head.id, head.usage_revision - 1, 1)?;
    let earlier = last.iter().map(|entry| entry.created_at).fold(head.updated_at, i64::max);
    Ok(now.after(Timestamp::from_micros(earlier)))
}

/// The readings of a window as they stood at a revision.
pub(crate) fn read_at_revision<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    window: &Range<i64>,
    revision: i64,
) -> Result<StoredUsage, UnitError> {
    check_kept(connection, tenant, customer, revision, revision + 1)?;
    let Some(months) = months_of(window)? else { return Ok(StoredUsage::default()) };
    assemble(connection.blocks_at_revision(tenant.as_str(), customer.as_str(), months, revision)?, window)
}

/// What a revision changed, by channel.
pub(crate) fn changes<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    revision: i64,
) -> Result<RevisionChanges, UnitError> {
    check_kept(connection, tenant, customer, revision, revision)?;
    let mut changes = RevisionChanges::new();
    for (channel, (_, before, after)) in states_around(connection, tenant, customer, revision)? {
        changes.insert(channel, differences(&before, &after));
    }
    Ok(changes)
}

/// By channel the months that a revision wrote, and their readings before and after it.
pub(super) type States = BTreeMap<Channel, (Vec<NaiveDate>, Vec<Reading>, Vec<Reading>)>;

/// The months that a revision wrote, before and after.
pub(super) fn states_around<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    revision: i64,
) -> Result<States, UnitError> {
    let mut states = States::new();
    for record in connection.blocks_around_revision(tenant.as_str(), customer.as_str(), revision)? {
        let channel = block_revision(&record.channel, record.month, record.revision)?.channel;
        let (months, before, after) = states.entry(channel).or_default();
        if months.last() != Some(&record.month) {
            months.push(record.month);
        }
        (if record.revision == revision { after } else { before }).append(&mut decode(&record)?);
    }
    Ok(states)
}

/// Refuses a revision that is not there yet, and one whose readings may be gone: a revision from `from` on was made
/// before replaced blocks were kept.
fn check_kept<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    revision: i64,
    from: i64,
) -> Result<(), UnitError> {
    let not_found = |what, id| UnitError::Refused(StoreError::NotFound { what, id });
    let head = connection.customer(tenant.as_str(), customer.as_str())?;
    let head = head.ok_or_else(|| not_found("customer", customer.to_string()))?;
    if !(0..=head.usage_revision).contains(&revision) {
        return Err(not_found("usage revision", revision.to_string()));
    }
    if connection.is_revision_unrecorded(tenant.as_str(), customer.as_str(), from)? {
        let detail = format!(
            "usage revision {revision} is not kept: it was replaced by an earlier release, which kept replaced readings \
             only where a comparison had used them"
        );
        return Err(StoreError::Conflict { code: "usage_revision_gone", detail }.into());
    }
    Ok(())
}

/// Every reading, also those that are said to be missing, by channel: of a window, or of all months.
pub(crate) fn readings<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    window: Option<&Range<i64>>,
) -> Result<BTreeMap<Channel, Vec<Reading>>, UnitError> {
    let months = match window {
        Some(window) => months_of(window)?,
        None => NaiveDate::from_ymd_opt(1, 1, 1).zip(NaiveDate::from_ymd_opt(9999, 12, 1)),
    };
    let Some(months) = months else { return Ok(BTreeMap::new()) };
    let mut readings = BTreeMap::<Channel, Vec<Reading>>::new();
    for record in connection.current_blocks(tenant.as_str(), customer.as_str(), None, months)? {
        let channel = block_revision(&record.channel, record.month, record.revision)?.channel;
        let month = decode(&record)?;
        let within = window.map_or(&month[..], |window| starting_in(&month, window.clone()));
        readings.entry(channel).or_default().extend_from_slice(within);
    }
    Ok(readings)
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

pub(super) fn decode(record: &BlockRecord) -> Result<Vec<Reading>, UnitError> {
    block::decode(&record.data).map_err(|error| {
        let BlockRecord { tenant_id, customer_id, channel, month, revision, .. } = record;
        UnitError::Corrupt(format!("{tenant_id}/{customer_id}/{channel}/{month}, revision {revision}: {error}"))
    })
}

/// The part of sorted readings that starts in `[start, end)`.
pub(super) fn starting_in(readings: &[Reading], instants: Range<i64>) -> &[Reading] {
    let from = readings.partition_point(|reading| reading.start < instants.start);
    let to = readings.partition_point(|reading| reading.start < instants.end);
    &readings[from..to.max(from)]
}

/// First and last UTC month that `[start, end)` touches; `None` when it is empty.
fn months_of(window: &Range<i64>) -> Result<Option<(NaiveDate, NaiveDate)>, UnitError> {
    if window.is_empty() { Ok(None) } else { Ok(Some((month_of(window.start)?, month_of(window.end - 1)?))) }
}

/// First day of the UTC month of an instant.
pub(super) fn month_of(seconds: i64) -> Result<NaiveDate, UnitError> {
    let day = DateTime::from_timestamp(seconds, 0).map(|instant| instant.date_naive());
    // Years of four digits: their texts are ordered as their dates are.
    day.filter(|day| (1..=9999).contains(&day.year())).and_then(|day| day.with_day(1)).ok_or_else(out_of_calendar)
}

pub(super) fn next_month(month: NaiveDate) -> Result<NaiveDate, UnitError> {
    month.checked_add_months(Months::new(1)).ok_or_else(out_of_calendar)
}

fn out_of_calendar() -> UnitError {
    let detail = "an instant lies outside the years 1 to 9999".to_owned();
    StoreError::Conflict { code: "usage_instant", detail }.into()
}

/// The instant at which a UTC day begins, seconds since the epoch.
pub(super) fn seconds_of(day: NaiveDate) -> i64 {
    day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()
}
