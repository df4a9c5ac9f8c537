//! Customers: the head and its versions.

use itertools::Itertools as _;

use super::{lock_head, usage};
use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::{CustomerRecord, CustomerVersionRecord};
use crate::store::types::{Customer, Put};
use crate::words::{CustomerDocument, CustomerId, TenantId, Timestamp};

pub(crate) fn put<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
    document: &CustomerDocument,
    now: Timestamp,
) -> Result<Put<Customer>, UnitError> {
    let text = serde_json::to_string(document).map_err(|error| UnitError::Corrupt(error.to_string()))?;
    let first = CustomerRecord {
        tenant_id: tenant.as_str().to_owned(),
        id: id.as_str().to_owned(),
        version: 1,
        usage_revision: 0,
        document: text.clone(),
        created_at: now.as_micros(),
        updated_at: now.as_micros(),
    };
    let stored = match lock_head(connection, tenant, id)? {
        Some(stored) => stored,
        None if connection.insert_customer(&first).map_err(UnitError::HeadHeld)? == 1 => {
            insert_version(connection, &first)?;
            set_meter_points(connection, tenant, id, document)?;
            return Ok(Put::Created(first.read()?));
        }
        // Somebody was faster, and a customer is never removed.
        None => lock_head(connection, tenant, id)?.ok_or(diesel::NotFound)?,
    };
    let known = stored.clone().read()?;
    if known.document == *document {
        return Ok(Put::Unchanged(known));
    }
    let changed = CustomerRecord {
        version: stored.version + 1,
        document: text,
        updated_at: usage::instant_of_change(connection, &stored, now)?.as_micros(),
        ..stored
    };
    connection.update_customer(&changed)?;
    insert_version(connection, &changed)?;
    if known.document.meter_points != document.meter_points {
        set_meter_points(connection, tenant, id, document)?;
    }
    let ids: Vec<Vec<u8>> =
        connection.unmarked_comparisons(tenant.as_str(), id.as_str())?.into_iter().map(|(id, ..)| id).collect();
    if !ids.is_empty() {
        connection.mark_stale(tenant.as_str(), &ids, changed.updated_at)?;
    }
    Ok(Put::Changed(changed.read()?))
}

/// By which files that name meter points find the customer.
fn set_meter_points<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
    document: &CustomerDocument,
) -> Result<(), UnitError> {
    let points = document.meter_points.iter().map(|point| (point.id.as_str(), point.channel.as_str()));
    let points: Vec<_> = points.sorted().dedup().collect();
    Ok(connection.set_meter_points(tenant.as_str(), id.as_str(), &points)?)
}

fn insert_version<C: Queries>(connection: &mut C, record: &CustomerRecord) -> Result<(), UnitError> {
    connection.insert_customer_version(&CustomerVersionRecord {
        tenant_id: &record.tenant_id,
        customer_id: &record.id,
        version: record.version,
        document: &record.document,
        created_at: record.updated_at,
    })?;
    Ok(())
}

pub(crate) fn put_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
    put: &Put<Customer>,
) -> Result<bool, UnitError> {
    let (Put::Created(ours) | Put::Changed(ours)) = put else { return Ok(false) };
    lock_head(connection, tenant, id)?;
    let later = connection.customer_versions_after(tenant.as_str(), id.as_str(), ours.version - 1)?;
    Ok(later.contains(&(ours.version, ours.updated_at.as_micros())))
}

pub(crate) fn get<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
) -> Result<Option<Customer>, UnitError> {
    connection.customer(tenant.as_str(), id.as_str())?.map(CustomerRecord::read).transpose()
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    after: Option<&CustomerId>,
    limit: u32,
) -> Result<Vec<Customer>, UnitError> {
    let after = after.map_or("", CustomerId::as_str);
    connection.customers_after(tenant.as_str(), after, limit.into())?.into_iter().map(CustomerRecord::read).collect()
}

pub(crate) fn document<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
    version: i64,
) -> Result<Option<CustomerDocument>, UnitError> {
    let text = connection.customer_version(tenant.as_str(), id.as_str(), version)?;
    let read = |text: String| serde_json::from_str(&text).map_err(|error| UnitError::Corrupt(error.to_string()));
    text.map(read).transpose()
}

pub(crate) fn versions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
    after: i64,
) -> Result<Vec<(i64, Timestamp)>, UnitError> {
    let versions = connection.customer_versions_after(tenant.as_str(), id.as_str(), after)?;
    Ok(versions.into_iter().map(|(version, at)| (version, Timestamp::from_micros(at))).collect())
}
