//! Registered billing periods.

use std::ops::Range;

use chrono::NaiveDate;

use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::PeriodRecord;
use crate::store::types::Put;
use crate::words::{BillingPeriod, PeriodId, RegisteredPeriod, TenantId, Timestamp};

pub(crate) fn register<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    period: &RegisteredPeriod,
    now: Timestamp,
) -> Result<Put<RegisteredPeriod>, UnitError> {
    if let Some(cycle) = &period.cycle {
        // Held, so that two periods that overlap are not registered side by side.
        connection.insert_cycle(tenant.as_str(), cycle).map_err(UnitError::HeadHeld)?;
        connection.lock_cycle(tenant.as_str(), cycle).map_err(UnitError::HeadHeld)?;
    }
    if let Some(stored) = connection.period(tenant.as_str(), period.id.as_str())? {
        return same_or_refused(stored, period);
    }
    if let Some(cycle) = &period.cycle {
        let overlapping = connection.cycle_periods(tenant.as_str(), cycle, (period.start, period.end))?;
        if let Some(other) = overlapping.first() {
            let detail = format!(
                "period {} ({} to {}) overlaps {} ({} to {}) of cycle {cycle}",
                period.id, period.start, period.end, other.id, other.start_date, other.end_date
            );
            return Err(StoreError::Conflict { code: "period_overlap", detail }.into());
        }
    }
    let record = PeriodRecord {
        tenant_id: tenant.as_str().to_owned(),
        id: period.id.as_str().to_owned(),
        start_date: period.start,
        end_date: period.end,
        cycle: period.cycle.clone(),
        created_at: now.as_micros(),
    };
    if connection.insert_period(&record).map_err(UnitError::HeadHeld)? == 1 {
        return Ok(Put::Created(period.clone()));
    }
    let stored = connection.period(tenant.as_str(), period.id.as_str())?.ok_or(diesel::NotFound)?;
    same_or_refused(stored, period)
}

fn same_or_refused(stored: PeriodRecord, period: &RegisteredPeriod) -> Result<Put<RegisteredPeriod>, UnitError> {
    let stored = stored.read()?;
    if stored == *period {
        return Ok(Put::Unchanged(stored));
    }
    let cycle = stored.cycle.as_deref().map_or_else(String::new, |cycle| format!(" of cycle {cycle}"));
    let detail = format!("period {} is registered as {} to {}{cycle}", stored.id, stored.start, stored.end);
    Err(StoreError::Conflict { code: "period_registered", detail }.into())
}

pub(crate) fn register_landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    period: &RegisteredPeriod,
    now: Timestamp,
) -> Result<bool, UnitError> {
    if let Some(cycle) = &period.cycle {
        connection.insert_cycle(tenant.as_str(), cycle).map_err(UnitError::HeadHeld)?;
        connection.lock_cycle(tenant.as_str(), cycle).map_err(UnitError::HeadHeld)?;
    }
    let stored = connection.period(tenant.as_str(), period.id.as_str())?;
    Ok(stored.is_some_and(|stored| stored.created_at == now.as_micros()))
}

pub(crate) fn get<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &PeriodId,
) -> Result<Option<RegisteredPeriod>, UnitError> {
    connection.period(tenant.as_str(), id.as_str())?.map(PeriodRecord::read).transpose()
}

pub(crate) fn list<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    after: Option<&PeriodId>,
    limit: u32,
) -> Result<Vec<RegisteredPeriod>, UnitError> {
    let after = after.map_or("", PeriodId::as_str);
    connection.periods_after(tenant.as_str(), after, limit.into())?.into_iter().map(PeriodRecord::read).collect()
}

pub(crate) fn of_cycle<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    cycle: &str,
    days: &Range<NaiveDate>,
) -> Result<Vec<BillingPeriod>, UnitError> {
    let records = connection.cycle_periods(tenant.as_str(), cycle, (days.start, days.end))?;
    let period = |record: PeriodRecord| {
        BillingPeriod::new(record.start_date, record.end_date).map_err(|error| UnitError::Corrupt(error.to_string()))
    };
    records.into_iter().map(period).collect()
}
