//! Files of many meter points: one record of the whole, and a commit a customer.
//!
//! The record is made before the first customer and says what is left, so that whatever stops in between is seen and the
//! same file goes on with it.

use super::imports::{get_known, import_under_lock};
use super::lock_head;
use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::{MeterPointConditions, Queries};
use crate::store::rows::{ImportRecord, MeterPointRecord, id_bytes};
use crate::store::types::{
    CustomerShare, ImportCounts, ImportKind, ImportOutcome, ImportProgress, ImportRow, ImportState, MeterPointCounts,
    MeterPointCustomers, MeterPointRefusal, MeterPointRow, MeterPointState, MeterPointsImport, ShareOutcome,
};
use crate::words::{CustomerId, ImportId, TenantId, Timestamp};

fn corrupt(error: impl std::fmt::Display) -> UnitError {
    UnitError::Corrupt(error.to_string())
}

/// The record of the same file that is not finished, or a new one.
pub(crate) fn begin<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    new: &MeterPointsImport,
    now: Timestamp,
) -> Result<ImportRow, UnitError> {
    if let Some(found) = connection.unfinished_import(tenant.as_str(), &new.resume_key)? {
        return found.read();
    }
    let source = &new.source;
    let row = ImportRow {
        id: new.id,
        kind: ImportKind::MeterPoints,
        state: ImportState::Incomplete,
        customer_id: None,
        part_of: None,
        reverts: None,
        reverted_by: None,
        same_file_as: None,
        file_name: source.file_name.clone(),
        sha256: hex::encode(source.sha256),
        format: source.format.clone(),
        n_bytes: source.n_bytes,
        on_conflict: Some(new.on_conflict.as_str().to_owned()),
        counts: ImportCounts { rows: source.rows, ..ImportCounts::default() },
        choices: source.choices.clone(),
        warnings: source.warnings.clone(),
        revision_before: None,
        revision_after: None,
        created_at: now,
    };
    let record = ImportRecord::of(tenant, &row, Some(&new.resume_key))?;
    if connection.insert_unfinished_import(&record).map_err(UnitError::HeadHeld)? == 0 {
        // Somebody was faster, and may even be done by now: then the caller has to come again.
        let found = connection.unfinished_import(tenant.as_str(), &new.resume_key)?;
        return found.ok_or(StoreError::Busy(None))?.read();
    }
    let points: Vec<MeterPointRecord> =
        new.meter_points.iter().map(|point| MeterPointRecord::of(tenant, new.id, point)).collect::<Result<_, _>>()?;
    connection.insert_import_meter_points(&points)?;
    Ok(row)
}

pub(crate) fn begin_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    row: &ImportRow,
) -> Result<bool, UnitError> {
    Ok(connection.import(tenant.as_str(), &id_bytes(row.id))?.is_some())
}

/// Which customers list these meter points.
pub(crate) fn customers<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    ids: &[&str],
) -> Result<MeterPointCustomers, UnitError> {
    let mut found = MeterPointCustomers::new();
    for (point, customer, channel) in connection.customers_of_meter_points(tenant.as_str(), ids)? {
        let listed = (customer.parse().map_err(corrupt)?, channel.parse().map_err(corrupt)?);
        found.entry(point).or_default().push(listed);
    }
    Ok(found)
}

/// One customer's commit: its readings, its record, and what became of its meter points.
pub(crate) fn import_share<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    share: &CustomerShare,
    now: Timestamp,
) -> Result<ShareOutcome, UnitError> {
    let customer = &share.customer_id;
    let Some(head) = lock_head(connection, tenant, customer)? else { return Ok(ShareOutcome::Moved) };
    let whole = id_bytes(share.import_id);
    match connection.share_import(tenant.as_str(), &whole).map_err(UnitError::HeadHeld)?.as_deref() {
        Some("reverted") => return Ok(ShareOutcome::Reverted),
        Some(_) => {}
        None => return Err(StoreError::NotFound { what: "import", id: share.import_id.to_string() }.into()),
    }
    let mut pending = Vec::new();
    for point in &share.meter_points {
        let place = i32::try_from(point.place).map_err(corrupt)?;
        let record = connection.import_meter_point(tenant.as_str(), &whole, place)?;
        let record = record.ok_or_else(|| corrupt(format!("meter point {place} of import {}", share.import_id)))?;
        if record.state == MeterPointState::Pending.as_str() {
            pending.push((record, point.n_readings));
        }
    }
    if pending.is_empty() {
        return Ok(ShareOutcome::Already);
    }
    let ids: Vec<&str> = share.meter_points.iter().map(|point| point.id.as_str()).collect();
    let listed = customers(connection, tenant, &ids)?;
    for point in &share.meter_points {
        let listed = listed.get(&point.id).map_or(&[][..], Vec::as_slice);
        let is_listed = |channel| listed.iter().any(|(_, listed)| listed == channel);
        if listed.iter().any(|(other, _)| other != customer) || !point.channels.iter().all(is_listed) {
            return Ok(ShareOutcome::Moved);
        }
    }
    let outcome = import_under_lock(connection, tenant, customer, &head, &share.import, Some(share.import_id), now)?;
    for (record, n_readings) in pending {
        connection.settle_import_meter_point(&MeterPointRecord {
            state: MeterPointState::Done.as_str().to_owned(),
            customer_id: Some(customer.as_str().to_owned()),
            n_readings: i64::try_from(n_readings).map_err(corrupt)?,
            part_id: Some(id_bytes(outcome.record.id)),
            ..record
        })?;
    }
    Ok(ShareOutcome::Done(outcome))
}

pub(crate) fn share_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    outcome: &ShareOutcome,
) -> Result<bool, UnitError> {
    match outcome {
        ShareOutcome::Done(ImportOutcome { record, .. }) => {
            lock_head(connection, tenant, customer)?;
            Ok(connection.import(tenant.as_str(), &id_bytes(record.id))?.is_some())
        }
        ShareOutcome::Already | ShareOutcome::Moved | ShareOutcome::Reverted => Ok(false),
    }
}

/// Notes meter points that are not stored, those that are still pending.
pub(crate) fn refuse<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
    refusals: &[MeterPointRefusal],
) -> Result<(), UnitError> {
    for refusal in refusals {
        connection.settle_import_meter_point(&MeterPointRecord {
            tenant_id: tenant.as_str().to_owned(),
            import_id: id_bytes(id),
            place: i32::try_from(refusal.place).map_err(corrupt)?,
            meter_point_id: None,
            n_readings: 0,
            state: refusal.state.as_str().to_owned(),
            customer_id: refusal.customer_id.as_ref().map(|id| id.as_str().to_owned()),
            part_id: None,
            code: Some(refusal.code.clone()),
            detail: Some(refusal.detail.clone()),
        })?;
    }
    Ok(())
}

/// The record by now.
pub(crate) fn progress<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
) -> Result<ImportProgress, UnitError> {
    let mut record = get_known(connection, tenant, id)?;
    if record.kind != ImportKind::MeterPoints {
        return Ok(ImportProgress { record, meter_points: None, n_customers: None });
    }
    let id = id_bytes(id);
    let mut states = MeterPointCounts::default();
    for (state, n) in connection.import_meter_point_states(tenant.as_str(), &id)? {
        let n = u64::try_from(n).map_err(corrupt)?;
        match MeterPointState::ALL.into_iter().find(|known| known.as_str() == state) {
            Some(MeterPointState::Pending) => states.pending = n,
            Some(MeterPointState::Done) => states.done = n,
            Some(MeterPointState::Unmapped) => states.unmapped = n,
            Some(MeterPointState::Refused) => states.refused = n,
            None => return Err(corrupt(format!("{state:?} is no state of a meter point"))),
        }
    }
    let parts = connection.part_counts(tenant.as_str(), &id)?;
    let n_customers = Some(parts.len() as u64);
    if record.state == ImportState::Incomplete {
        let rows = record.counts.rows;
        let mut counts = ImportCounts::default();
        for part in parts {
            counts = counts.plus(serde_json::from_str(&part).map_err(corrupt)?);
        }
        record.counts = ImportCounts { rows, ..counts };
    }
    Ok(ImportProgress { record, meter_points: Some(states), n_customers })
}

/// Says that a file is done if none of its meter points is pending, and gives the record by now.
pub(crate) fn finish<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
) -> Result<ImportProgress, UnitError> {
    let mut progress = progress(connection, tenant, id)?;
    let is_left = progress.meter_points.is_none_or(|states| states.pending > 0);
    if progress.record.state == ImportState::Incomplete && !is_left {
        let counts = serde_json::to_string(&progress.record.counts).map_err(corrupt)?;
        connection.finish_import(tenant.as_str(), &id_bytes(id), ImportState::Done.as_str(), &counts)?;
        progress.record.state = ImportState::Done;
    }
    Ok(progress)
}

/// Says that a file of many meter points is reverted, so that nothing more of it is stored; its parts are then taken
/// back one by one.
pub(crate) fn mark_reverted<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
) -> Result<ImportProgress, UnitError> {
    let mut progress = progress(connection, tenant, id)?;
    if progress.meter_points.is_none() {
        let detail = "only a file of many meter points is reverted in parts".to_owned();
        return Err(StoreError::Conflict { code: "import_not_revertible", detail }.into());
    }
    let counts = serde_json::to_string(&progress.record.counts).map_err(corrupt)?;
    connection.revert_whole(tenant.as_str(), &id_bytes(id), &counts).map_err(UnitError::HeadHeld)?;
    progress.record.state = ImportState::Reverted;
    Ok(progress)
}

/// Meter points after a place, in the order of the file.
pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
    states: &[MeterPointState],
    after: Option<u32>,
    limit: u32,
) -> Result<Vec<MeterPointRow>, UnitError> {
    let conditions = MeterPointConditions {
        states: states.iter().map(|state| state.as_str()).collect(),
        after: after.map_or(Ok(-1), i32::try_from).unwrap_or(i32::MAX),
    };
    let found = connection.import_meter_points(tenant.as_str(), &id_bytes(id), &conditions, limit.into())?;
    found.into_iter().map(MeterPointRecord::read).collect()
}
