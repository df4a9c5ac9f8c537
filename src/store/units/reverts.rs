//! Undoing imports: what one changed is taken back wherever it still stands.

use std::collections::BTreeMap;

use super::imports::{
    ChannelPlan, Plan, WHOLE_DAYS_SECONDS, current, get_known, import_landed, revision_after, show, write,
};
use super::lock_known_head;
use super::usage::{instant_of_change, month_of, next_month, seconds_of, states_around};
use crate::store::StoreError;
use crate::store::engine::UnitError;
use crate::store::queries::Queries;
use crate::store::rows::id_bytes;
use crate::store::types::{ImportCounts, ImportKind, ImportPreview, ImportRow, ImportState, Reverted};
use crate::usage::{Reading, ReadingChange, differences};
use crate::words::{CustomerId, ImportId, TenantId, Timestamp};

pub(crate) fn revert<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
    new_id: ImportId,
    now: Timestamp,
) -> Result<Reverted, UnitError> {
    match plan(connection, tenant, id, new_id, now)? {
        RevertPlan::Already(record) => Ok(Reverted::Already(record)),
        RevertPlan::New(customer, plan, record) => {
            let outcome = write(connection, tenant, &customer, &plan, record)?;
            connection.mark_reverted(tenant.as_str(), &id_bytes(id), &id_bytes(new_id))?;
            Ok(Reverted::Done(outcome))
        }
    }
}

pub(crate) fn preview<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
    new_id: ImportId,
    now: Timestamp,
) -> Result<ImportPreview, UnitError> {
    match plan(connection, tenant, id, new_id, now)? {
        RevertPlan::Already(record) => Ok(ImportPreview { record, channels: BTreeMap::new(), stale: Vec::new() }),
        RevertPlan::New(customer, plan, record) => show(connection, tenant, &customer, plan, record),
    }
}

pub(crate) fn landed<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    reverted: &Reverted,
) -> Result<bool, UnitError> {
    let Reverted::Done(outcome) = reverted else { return Ok(false) };
    match &outcome.record.customer_id {
        Some(customer) => import_landed(connection, tenant, customer, outcome),
        None => Ok(false),
    }
}

enum RevertPlan {
    Already(ImportRow),
    New(CustomerId, Plan, ImportRow),
}

fn plan<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: ImportId,
    new_id: ImportId,
    now: Timestamp,
) -> Result<RevertPlan, UnitError> {
    let not_revertible = |what: &str| StoreError::Conflict { code: "import_not_revertible", detail: what.to_owned() };
    let Some(customer) = get_known(connection, tenant, id)?.customer_id else {
        return Err(not_revertible("a file of many meter points is reverted in its parts").into());
    };
    let head = lock_known_head(connection, tenant, &customer)?;
    let import = get_known(connection, tenant, id)?;
    if let Some(by) = import.reverted_by {
        return get_known(connection, tenant, by).map(RevertPlan::Already);
    }
    let revisions = match (import.kind, import.revision_before, import.revision_after) {
        (ImportKind::Usage, Some(before), Some(after)) => (before, after),
        _ => return Err(not_revertible("a revert is not reverted: import the file again").into()),
    };
    let (mut counts, mut channels) = (ImportCounts::default(), Vec::new());
    if revisions.0 != revisions.1 {
        for (channel, (months, before, after)) in states_around(connection, tenant, &customer, revisions.1)? {
            let Some((first, last)) = months.first().zip(months.last()) else { continue };
            let months = (
                month_of(seconds_of(*first) - WHOLE_DAYS_SECONDS)?,
                month_of(seconds_of(next_month(*last)?).saturating_add(WHOLE_DAYS_SECONDS))?,
            );
            let (blocks, stands) = current(connection, tenant, &customer, &channel, months)?;
            let (restored, newer) = take_back(&stands, &differences(&before, &after));
            counts.newer += newer;
            channels.push(ChannelPlan::new(channel, blocks, stands, restored));
        }
    }
    let plan = Plan::new(channels, counts);
    let record = ImportRow {
        id: new_id,
        kind: ImportKind::Revert,
        state: ImportState::Done,
        customer_id: Some(customer.clone()),
        part_of: None,
        reverts: Some(id),
        reverted_by: None,
        same_file_as: None,
        file_name: import.file_name,
        sha256: import.sha256,
        format: ImportKind::Revert.as_str().to_owned(),
        n_bytes: 0,
        on_conflict: None,
        counts: plan.counts,
        choices: serde_json::Value::Object(serde_json::Map::new()),
        warnings: serde_json::Value::Array(Vec::new()),
        revision_before: Some(head.usage_revision),
        revision_after: Some(revision_after(&head, &plan)),
        created_at: instant_of_change(connection, &head, now)?,
    };
    Ok(RevertPlan::New(customer, plan, record))
}

/// What stands once changes are taken back wherever what they made still stands, and the number of those where another
/// reading stands by now.
fn take_back(stands: &[Reading], changes: &[ReadingChange]) -> (Vec<Reading>, u64) {
    let mut readings: BTreeMap<i64, Reading> = stands.iter().map(|reading| (reading.start, *reading)).collect();
    let mut newer = 0;
    for change in changes {
        let Some(made) = change.after else { continue };
        if readings.get(&made.start) != Some(&made) {
            newer += 1;
        } else if let Some(old) = change.before {
            readings.insert(old.start, old);
        } else {
            readings.remove(&made.start);
        }
    }
    // What it removed comes back where its place is free.
    for change in changes {
        let (Some(old), None) = (change.before, change.after) else { continue };
        let before = readings.range(..old.end()).next_back();
        if before.is_some_and(|(_, reading)| reading.end() > old.start) {
            newer += 1;
        } else {
            readings.insert(old.start, old);
        }
    }
    (readings.into_values().collect(), newer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Quality;

    fn hours(values: &[i64]) -> Vec<Reading> {
        let reading = |(hour, value): (i64, &i64)| Reading {
            start: hour * 3600,
            seconds: 3600,
            milliwatt_hours: *value,
            quality: Quality::Measured,
        };
        (0..).zip(values).map(reading).collect()
    }

    #[test]
    fn what_was_made_is_taken_back_and_what_is_newer_stays() {
        let (before, after) = (hours(&[1, 2]), hours(&[1, 5, 6, 7]));
        let changes = differences(&before, &after);
        assert_eq!(take_back(&after, &changes), (before.clone(), 0));
        let corrected = hours(&[1, 5, 9, 7]);
        assert_eq!(take_back(&corrected, &changes), ([&before[..], &corrected[2..3]].concat(), 1));
        assert_eq!(take_back(&before, &changes), (before, 3), "all of it was taken back before");
    }

    #[test]
    fn what_was_removed_comes_back_where_its_place_is_free() {
        let zero = |start| Reading { start, seconds: 900, milliwatt_hours: 0, quality: Quality::FilledZero };
        let (before, after) = ([zero(0), zero(900), zero(1800), zero(2700)], hours(&[8]));
        let changes = differences(&before, &after);
        assert_eq!(take_back(&after, &changes), (before.to_vec(), 0));
        let corrected = hours(&[9]);
        assert_eq!(take_back(&corrected, &changes), (corrected, 5));
    }
}
