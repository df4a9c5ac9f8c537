//! Calendars, price series and event lists: immutable versions, and what a comparison used of them.
//!
//! No head is locked: a version is made from the one before it, and its number, which only one can take, tells whether
//! another came in between.

use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::{ComparisonSharedRecord, SharedInputRecord, read_newer_shared, read_shared_entry};
use crate::store::types::{
    NewSharedInput, NewerSharedInput, Put, RecordedShared, SharedInput, SharedInputEntry, SharedKind,
};
use crate::words::{ComparisonId, InputName, TenantId, Timestamp};

pub(crate) fn put<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    kind: SharedKind,
    id: &InputName,
    new: &NewSharedInput,
    now: Timestamp,
) -> Result<Option<Put<SharedInput>>, UnitError> {
    let newest = connection.newest_shared_input(tenant.as_str(), kind.as_str(), id.as_str())?;
    let newest = newest.map(SharedInputRecord::read).transpose()?;
    if newest.as_ref().map_or(0, |newest| newest.version) != new.after_version {
        return Ok(None);
    }
    let created_at = newest.as_ref().map_or(now, |newest| now.after(newest.created_at));
    if let Some(same) = newest.filter(|newest| newest.content == new.content) {
        return Ok(Some(Put::Unchanged(same)));
    }
    let version = new.after_version.checked_add(1).ok_or_else(|| UnitError::Corrupt("versions ran out".to_owned()))?;
    let input = SharedInput {
        kind,
        id: id.clone(),
        version,
        content: new.content.clone(),
        summary: new.summary.clone(),
        created_at,
    };
    let record = SharedInputRecord::of(tenant, &input, new.changed.as_ref())?;
    if connection.insert_shared_input(&record).map_err(UnitError::HeadHeld)? == 0 {
        return Ok(None);
    }
    Ok(Some(if version == 1 { Put::Created(input) } else { Put::Changed(input) }))
}

pub(crate) fn put_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    put: Option<&Put<SharedInput>>,
) -> Result<bool, UnitError> {
    let Some(Put::Created(ours) | Put::Changed(ours)) = put else { return Ok(false) };
    let stored = version(connection, tenant, ours.kind, &ours.id, ours.version)?;
    Ok(stored.as_ref() == Some(ours))
}

pub(crate) fn newest<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    kind: SharedKind,
    ids: &[&InputName],
) -> Result<Vec<SharedInput>, UnitError> {
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let newest = connection.newest_shared_input(tenant.as_str(), kind.as_str(), id.as_str())?;
        found.extend(newest.map(SharedInputRecord::read).transpose()?);
    }
    Ok(found)
}

pub(crate) fn version<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    kind: SharedKind,
    id: &InputName,
    version: u32,
) -> Result<Option<SharedInput>, UnitError> {
    let Ok(version) = i32::try_from(version) else { return Ok(None) };
    let found = connection.shared_input(tenant.as_str(), kind.as_str(), id.as_str(), version)?;
    found.map(SharedInputRecord::read).transpose()
}

pub(crate) fn versions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    kind: SharedKind,
    id: &InputName,
) -> Result<Vec<SharedInputEntry>, UnitError> {
    let records = connection.shared_input_versions(tenant.as_str(), kind.as_str(), id.as_str())?;
    records.into_iter().map(read_shared_entry).collect()
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    kind: SharedKind,
    after: Option<&InputName>,
    limit: u32,
) -> Result<Vec<SharedInputEntry>, UnitError> {
    let after = after.map_or("", InputName::as_str);
    let records = connection.shared_inputs_after(tenant.as_str(), kind.as_str(), after, limit.into())?;
    records.into_iter().map(read_shared_entry).collect()
}

pub(crate) fn newer<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ComparisonId,
) -> Result<Vec<NewerSharedInput>, UnitError> {
    let records = connection.newer_shared_inputs(tenant.as_str(), id.as_uuid().as_bytes())?;
    records.into_iter().map(read_newer_shared).collect()
}

/// Whether one of these has a version above the recorded one that differs within the range that was used.
pub(super) fn is_outdated<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    recorded: &[RecordedShared],
) -> Result<bool, UnitError> {
    for input in recorded {
        let version = number(input.version)?;
        let used = (input.used.start, input.used.end);
        if connection.is_shared_input_changed(tenant.as_str(), input.kind.as_str(), input.id.as_str(), version, used)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records what a comparison used.
pub(super) fn insert_of_comparison<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    comparison: ComparisonId,
    recorded: &[RecordedShared],
) -> Result<(), UnitError> {
    let comparison = comparison.as_uuid();
    for input in recorded {
        connection.insert_comparison_shared_input(&ComparisonSharedRecord {
            tenant_id: tenant.as_str(),
            comparison_id: comparison.as_bytes(),
            kind: input.kind.as_str(),
            input_id: input.id.as_str(),
            version: number(input.version)?,
            used_start: input.used.start,
            used_end: input.used.end,
        })?;
    }
    Ok(())
}

fn number(version: u32) -> Result<i32, UnitError> {
    i32::try_from(version).map_err(|error| UnitError::Corrupt(error.to_string()))
}
