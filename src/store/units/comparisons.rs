//! Comparisons: the check of inputs, insert, supersede, and what is read of them.

use super::{lock_head, lock_known_head, shared, usage};
use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::{ComparisonConditions, FullComparison, Queries};
use crate::store::rows::{
    ComparisonPlanRecord, ComparisonRecord, CustomerRecord, ResultRecord, inputs_text, read_newer,
};
use crate::store::types::{
    ComparisonFilter, ComparisonRow, Inserted, NewComparison, NewerPlanVersion, RecordedInputs, StoredComparison,
    SupersedeCause, Superseded,
};
use crate::words::{BillingPeriod, ComparisonId, CustomerId, PlanId, PlanReference, TenantId, Timestamp};

pub(crate) fn insert<C: Queries>(
    connection: &mut C,
    new: &NewComparison,
    now: Timestamp,
) -> Result<Inserted, UnitError> {
    let head = lock_known_head(connection, &new.tenant_id, &new.customer_id)?;
    let Some(inputs) = check_inputs(connection, &head, new)? else { return Ok(Inserted::InputsChanged) };
    let record = ComparisonRecord::of(new, &inputs, now, None);
    if connection.insert_comparison(&record)? == 0 {
        return Ok(Inserted::Lost);
    }
    insert_parts(connection, new, &inputs)?;
    Ok(Inserted::Created(record.read()?))
}

pub(crate) fn insert_landed<C: Queries>(
    connection: &mut C,
    new: &NewComparison,
    inserted: &Inserted,
) -> Result<bool, UnitError> {
    let Inserted::Created(row) = inserted else { return Ok(false) };
    is_stored(connection, new, row)
}

pub(crate) fn supersede<C: Queries>(
    connection: &mut C,
    old: ComparisonId,
    new: &NewComparison,
    cause: &SupersedeCause,
    now: Timestamp,
) -> Result<Superseded, UnitError> {
    let tenant = new.tenant_id.as_str();
    let old_id = old.as_uuid();
    let head = lock_known_head(connection, &new.tenant_id, &new.customer_id)?;
    // In a new statement, after the lock: whoever superseded it before has committed.
    let stored = connection
        .comparison(tenant, old_id.as_bytes())?
        .ok_or_else(|| StoreError::NotFound { what: "comparison", id: old.to_string() })?;
    let row = stored.clone().read()?;
    if let Some(superseded) = &row.superseded {
        return Ok(Superseded::Already(superseded.successor_id));
    }
    if row.key_digest != new.key_digest || row.key_text != new.key_text {
        let detail = format!("comparison {old} answers another question than its successor");
        return Err(StoreError::Conflict { code: "natural_key_differs", detail }.into());
    }
    if row.inputs.engine > new.inputs.engine {
        return Ok(Superseded::NewerEngine);
    }
    let Some(inputs) = check_inputs(connection, &head, new)? else { return Ok(Superseded::InputsChanged) };

    if row.inputs.digest == inputs.digest && !cause.force {
        let text = inputs_text(&inputs);
        connection.refresh_comparison(tenant, old_id.as_bytes(), inputs.usage_revision, &text)?;
        if row.inputs.plans != inputs.plans || row.inputs.included != inputs.included {
            connection.delete_comparison_plans(tenant, old_id.as_bytes())?;
            insert_plans(connection, &new.tenant_id, old, &inputs)?;
        }
        if row.inputs.shared != inputs.shared {
            connection.delete_comparison_shared_inputs(tenant, old_id.as_bytes())?;
            shared::insert_of_comparison(connection, &new.tenant_id, old, &inputs.shared)?;
        }
        return Ok(Superseded::Unchanged(ComparisonRow { inputs, stale_since: None, ..row }));
    }

    // After all that is known of the row, whatever the clocks of other servers say.
    let newer_plans = newer_plan_versions(connection, &new.tenant_id, old)?;
    let newer_shared = shared::newer(connection, &new.tenant_id, old)?;
    let changes =
        newer_plans.iter().map(|newer| newer.created_at).chain(newer_shared.iter().map(|newer| newer.created_at));
    let known = changes.chain(row.stale_since).fold(row.created_at, Timestamp::max);
    let at = now.after(known);
    let new_id = new.id.as_uuid();
    let n_superseded = connection.supersede_comparison(
        tenant,
        old_id.as_bytes(),
        at.as_micros(),
        new_id.as_bytes(),
        &cause.reason,
        cause.note.as_deref(),
    )?;
    let record = ComparisonRecord::of(new, &inputs, at, Some(old));
    if n_superseded != 1 || connection.insert_comparison(&record)? != 1 {
        // The head lock excludes it. Never leave half of it.
        return Err(UnitError::Corrupt(format!("comparison {old} changed under the lock of its customer")));
    }
    insert_parts(connection, new, &inputs)?;
    Ok(Superseded::Created(record.read()?))
}

pub(crate) fn supersede_landed<C: Queries>(
    connection: &mut C,
    new: &NewComparison,
    superseded: &Superseded,
) -> Result<bool, UnitError> {
    let Superseded::Created(row) = superseded else { return Ok(false) };
    is_stored(connection, new, row)
}

fn is_stored<C: Queries>(connection: &mut C, new: &NewComparison, row: &ComparisonRow) -> Result<bool, UnitError> {
    lock_head(connection, &new.tenant_id, &new.customer_id)?;
    Ok(connection.comparison(new.tenant_id.as_str(), row.id.as_uuid().as_bytes())?.is_some())
}

/// Compares what the answer was made from with what is stored now, under the head lock. Gives the inputs to
/// record, with revisions as they are now, or `None` when one that this question used has changed.
///
/// Usage: the same revision is the same readings. At another one the blocks of the window are compared, so that a
/// feed into another month is no change; and where a month at the window's edge was written again, the log of
/// revisions says whether a reading in the window was. Plans, calendars, price series and cycles, which many customers
/// share, are not locked: they are read in statements after the lock, and a change that comes later is seen by every
/// later read.
fn check_inputs<C: Queries>(
    connection: &mut C,
    head: &CustomerRecord,
    new: &NewComparison,
) -> Result<Option<RecordedInputs>, UnitError> {
    let tenant = new.tenant_id.as_str();
    let mut inputs = new.inputs.clone();
    if head.version != inputs.customer_version {
        return Ok(None);
    }
    if head.usage_revision != inputs.usage_revision {
        let blocks = usage::block_revisions(connection, &new.tenant_id, &new.customer_id, &new.window)?;
        if blocks != inputs.blocks {
            let window = (new.window.start, new.window.end);
            let after = inputs.usage_revision;
            if connection.is_usage_changed(tenant, new.customer_id.as_str(), after, window)? {
                return Ok(None);
            }
            inputs.blocks = blocks;
        }
        inputs.usage_revision = head.usage_revision;
    }
    let seen: Vec<(&str, i32)> = inputs
        .watched_plans()
        .into_iter()
        .map(|(plan, newest)| Ok((plan.as_str(), version_number(newest)?)))
        .collect::<Result<_, UnitError>>()?;
    let days = (new.period.start(), new.period.end());
    if !seen.is_empty() && !connection.plan_versions_above(tenant, &seen, days)?.is_empty() {
        return Ok(None);
    }
    if shared::is_outdated(connection, &new.tenant_id, &inputs.shared)? {
        return Ok(None);
    }
    if let Some(cycle) = &inputs.cycle {
        let registered = super::periods::of_cycle(connection, &new.tenant_id, &cycle.id, &(cycle.start..cycle.end))?;
        if registered.len() != cycle.n_periods {
            return Ok(None);
        }
    }
    Ok(Some(inputs))
}

/// Result bytes, plan references and shared inputs of a row that was just inserted.
fn insert_parts<C: Queries>(connection: &mut C, new: &NewComparison, inputs: &RecordedInputs) -> Result<(), UnitError> {
    connection.insert_result(&ResultRecord {
        tenant_id: new.tenant_id.as_str(),
        comparison_id: new.id.as_uuid().as_bytes(),
        result: &new.result,
        summary: &new.summary,
    })?;
    insert_plans(connection, &new.tenant_id, new.id, inputs)?;
    shared::insert_of_comparison(connection, &new.tenant_id, new.id, &inputs.shared)
}

fn insert_plans<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ComparisonId,
    inputs: &RecordedInputs,
) -> Result<(), UnitError> {
    let compared = inputs.plans.iter().map(|plan| {
        Ok(ComparisonPlanRecord {
            reference: plan.reference.as_str().to_owned(),
            plan_id: plan.reference.plan_id().as_str().to_owned(),
            newest_version: version_number(plan.newest_version)?,
            pinned: plan.reference.pinned_version().is_some(),
        })
    });
    // One that is compared as well, in no fixed version, is watched already.
    let is_compared = |plan: &PlanId| {
        inputs.plans.iter().any(|other| other.reference.plan_id() == plan && other.reference.pinned_version().is_none())
    };
    let included = inputs.included.iter().filter(|plan| !is_compared(&plan.plan_id)).map(|plan| {
        Ok(ComparisonPlanRecord {
            // No question can ask for this: lists by plan find what compares it, not what includes it.
            reference: format!("+{}", plan.plan_id.as_str()),
            plan_id: plan.plan_id.as_str().to_owned(),
            newest_version: version_number(plan.newest_version)?,
            pinned: false,
        })
    });
    let records: Vec<ComparisonPlanRecord> = compared.chain(included).collect::<Result<_, UnitError>>()?;
    connection.insert_comparison_plans(tenant.as_str(), id.as_uuid().as_bytes(), &records)?;
    Ok(())
}

fn version_number(version: u32) -> Result<i32, UnitError> {
    i32::try_from(version).map_err(|error| UnitError::Corrupt(error.to_string()))
}

pub(crate) fn current<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    key_digest: &[u8; 32],
) -> Result<Option<StoredComparison>, UnitError> {
    let found = connection.current_comparison(tenant.as_str(), key_digest)?;
    found.map(|full| with_freshness(connection, tenant, full)).transpose()
}

pub(crate) fn get<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ComparisonId,
) -> Result<Option<StoredComparison>, UnitError> {
    let found = connection.full_comparison(tenant.as_str(), id.as_uuid().as_bytes())?;
    found.map(|full| with_freshness(connection, tenant, full)).transpose()
}

fn with_freshness<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    (record, result, summary, has_newer_plans, has_newer_shared): FullComparison,
) -> Result<StoredComparison, UnitError> {
    let row = record.read()?;
    let is_current = row.superseded.is_none();
    let newer_plan_versions =
        if has_newer_plans && is_current { newer_plan_versions(connection, tenant, row.id)? } else { Vec::new() };
    let newer_shared_inputs =
        if has_newer_shared && is_current { shared::newer(connection, tenant, row.id)? } else { Vec::new() };
    Ok(StoredComparison { row, result, summary, newer_plan_versions, newer_shared_inputs })
}

pub(crate) fn newer_plan_versions<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ComparisonId,
) -> Result<Vec<NewerPlanVersion>, UnitError> {
    let records = connection.newer_plan_versions(tenant.as_str(), id.as_uuid().as_bytes())?;
    records.into_iter().map(read_newer).collect()
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    filter: &ComparisonFilter,
    before: Option<(Timestamp, ComparisonId)>,
    limit: u32,
) -> Result<Vec<ComparisonRow>, UnitError> {
    let conditions = ComparisonConditions {
        customer_id: filter.customer_id.as_ref().map(|id| id.as_str().to_owned()),
        period: filter.period.map(|period| (period.start(), period.end())),
        plan: filter.plan.as_ref().map(plan_condition),
        current: filter.current,
        stale: filter.stale,
        created_from: filter.created_from.map(Timestamp::as_micros),
        created_to: filter.created_to.map(Timestamp::as_micros),
        before: before.map(|(at, id)| (at.as_micros(), id.as_uuid().as_bytes().to_vec())),
        stood_at: None,
    };
    rows(connection.comparisons(tenant.as_str(), &conditions, limit.into())?)
}

pub(crate) fn chain<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    key_digest: &[u8; 32],
) -> Result<Vec<ComparisonRow>, UnitError> {
    rows(connection.chain(tenant.as_str(), key_digest)?)
}

pub(crate) fn as_of<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    customer: &CustomerId,
    at: Timestamp,
    period: Option<&BillingPeriod>,
    plan: Option<&PlanReference>,
) -> Result<Vec<ComparisonRow>, UnitError> {
    let conditions = ComparisonConditions {
        customer_id: Some(customer.as_str().to_owned()),
        period: period.map(|period| (period.start(), period.end())),
        plan: plan.map(plan_condition),
        stood_at: Some(at.as_micros()),
        ..ComparisonConditions::default()
    };
    rows(connection.comparisons(tenant.as_str(), &conditions, i64::MAX)?)
}

fn plan_condition(reference: &PlanReference) -> (String, String) {
    (reference.plan_id().as_str().to_owned(), reference.as_str().to_owned())
}

fn rows(records: Vec<ComparisonRecord>) -> Result<Vec<ComparisonRow>, UnitError> {
    records.into_iter().map(ComparisonRecord::read).collect()
}
