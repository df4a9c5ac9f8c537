//! Plans and their versions.

use std::collections::BTreeMap;

use crate::store::engine::UnitError;
use crate::store::queries::{PlanConditions, Queries};
use crate::store::rows::PlanVersionRecord;
use crate::store::types::{NewPlanVersion, PlanFilter, PlanVersion, Put};
use crate::words::{PlanId, TenantId, Timestamp};

pub(crate) fn put<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &PlanId,
    new: &NewPlanVersion,
    now: Timestamp,
) -> Result<Put<PlanVersion>, UnitError> {
    connection.insert_plan(tenant.as_str(), id.as_str()).map_err(UnitError::HeadHeld)?;
    let newest = connection.lock_plan(tenant.as_str(), id.as_str()).map_err(UnitError::HeadHeld)?;
    let mut created_at = now;
    if newest > 0 {
        let stored = connection.plan_version(tenant.as_str(), id.as_str(), newest)?.ok_or(diesel::NotFound)?.read()?;
        if is_same(&stored.content, new) {
            return Ok(Put::Unchanged(stored));
        }
        created_at = now.after(stored.created_at);
    }
    let number = newest.checked_add(1).ok_or_else(|| UnitError::Corrupt("plan versions ran out".to_owned()))?;
    let version = PlanVersion { plan_id: id.clone(), version: number.unsigned_abs(), content: new.clone(), created_at };
    connection.insert_plan_version(&PlanVersionRecord::of(tenant, &version))?;
    connection.update_plan(tenant.as_str(), id.as_str(), number, &search_text(id, &new.name))?;
    let tags: Vec<&str> = new.tags.iter().map(String::as_str).collect();
    connection.set_plan_tags(tenant.as_str(), id.as_str(), &tags)?;
    Ok(if newest == 0 { Put::Created(version) } else { Put::Changed(version) })
}

/// Body and dates; what lists show is read from the body.
fn is_same(stored: &NewPlanVersion, new: &NewPlanVersion) -> bool {
    stored.document == new.document
        && stored.source == new.source
        && stored.in_force_from == new.in_force_from
        && stored.in_force_to == new.in_force_to
}

/// Upper and lower case are settled here, since each database has its own idea of them.
fn search_text(id: &PlanId, name: &str) -> String {
    format!("{id}\n{name}").to_lowercase()
}

pub(crate) fn put_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &PlanId,
    put: &Put<PlanVersion>,
) -> Result<bool, UnitError> {
    let (Put::Created(ours) | Put::Changed(ours)) = put else { return Ok(false) };
    connection.insert_plan(tenant.as_str(), id.as_str()).map_err(UnitError::HeadHeld)?;
    connection.lock_plan(tenant.as_str(), id.as_str()).map_err(UnitError::HeadHeld)?;
    let number = i32::try_from(ours.version).map_err(|error| UnitError::Corrupt(error.to_string()))?;
    let stored = connection.plan_version(tenant.as_str(), id.as_str(), number)?;
    Ok(stored.map(PlanVersionRecord::read).transpose()?.as_ref() == Some(ours))
}

pub(crate) fn versions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    ids: &[&PlanId],
) -> Result<BTreeMap<PlanId, Vec<PlanVersion>>, UnitError> {
    let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let mut plans = BTreeMap::<PlanId, Vec<PlanVersion>>::new();
    for record in connection.plan_versions(tenant.as_str(), &ids)? {
        let version = record.read()?;
        plans.entry(version.plan_id.clone()).or_default().push(version);
    }
    Ok(plans)
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    filter: &PlanFilter,
    after: Option<&PlanId>,
    limit: u32,
) -> Result<Vec<PlanVersion>, UnitError> {
    let conditions = PlanConditions {
        like: filter.q.as_deref().map(containing),
        provider: filter.provider.clone(),
        territory: filter.territory.clone(),
        tag: filter.tag.clone(),
        in_force_on: filter.in_force_on,
    };
    let after = after.map_or("", PlanId::as_str);
    let records = connection.plans_after(tenant.as_str(), &conditions, after, limit.into())?;
    records.into_iter().map(PlanVersionRecord::read).collect()
}

/// A pattern for `LIKE` that finds a text as it is, in any case.
fn containing(text: &str) -> String {
    let escaped = text.to_lowercase().replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{escaped}%")
}
