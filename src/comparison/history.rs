//! What became of an answer: lists, the chain of one question, what stood at a moment.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use super::envelope::View;
use super::freshness::Freshness;
use super::{ComparisonError, Service};
use crate::store::{ComparisonFilter, ComparisonRow, Store};
use crate::words::{BillingPeriod, ComparisonId, CustomerId, PlanReference, TenantId, Timestamp};

/// A place in the list of comparisons, which runs from the newest to the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub Timestamp, pub ComparisonId);

/// A text that is no cursor of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("this is no cursor; take it from the member next of the page before")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.0.as_micros(), self.1.as_uuid().simple())
    }
}

impl FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (micros, id) = text.split_once('.').ok_or(CursorError)?;
        let micros = i64::from_str_radix(micros, 16).map_err(|_| CursorError)?;
        Ok(Self(Timestamp::from_micros(micros), Uuid::try_parse(id).map_err(|_| CursorError)?.into()))
    }
}

impl Service {
    /// Comparisons, newest first, and where the next page begins.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(
        &self,
        tenant: &TenantId,
        filter: ComparisonFilter,
        before: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<View>, Option<Cursor>), ComparisonError> {
        let tenant = tenant.clone();
        self.store
            .read(move |store| {
                let before = before.map(|cursor| (cursor.0, cursor.1));
                let mut rows = store.list_comparisons(&tenant, &filter, before, limit + 1)?;
                let more = rows.len() > limit as usize;
                rows.truncate(limit as usize);
                let next = rows.last().filter(|_| more).map(|last| Cursor(last.created_at, last.id));
                Ok::<_, ComparisonError>((views(store, &tenant, rows)?, next))
            })
            .await
    }

    /// Every comparison that ever answered the question of this one, newest first.
    ///
    /// # Errors
    /// [`ComparisonError::NotFound`].
    pub async fn chain(&self, tenant: &TenantId, id: ComparisonId) -> Result<Vec<View>, ComparisonError> {
        let tenant = tenant.clone();
        self.store
            .read(move |store| {
                let found = store
                    .comparison(&tenant, id)?
                    .ok_or_else(|| ComparisonError::NotFound { what: "comparison", id: id.to_string() })?;
                let rows = store.chain(&tenant, &found.row.key_digest)?;
                views(store, &tenant, rows)
            })
            .await
    }

    /// What stood at a moment: `created_at <= at < superseded_at`.
    ///
    /// # Errors
    /// The store's.
    pub async fn as_of(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        at: Timestamp,
        period: Option<BillingPeriod>,
        plan: Option<PlanReference>,
    ) -> Result<Vec<View>, ComparisonError> {
        let (tenant, customer) = (tenant.clone(), customer.clone());
        self.store
            .read(move |store| {
                let rows = store.as_of(&tenant, &customer, at, period.as_ref(), plan.as_ref())?;
                views(store, &tenant, rows)
            })
            .await
    }
}

/// Rows with their freshness; the chain of one question is read once.
fn views(store: &dyn Store, tenant: &TenantId, rows: Vec<ComparisonRow>) -> Result<Vec<View>, ComparisonError> {
    let mut chains: HashMap<[u8; 32], Vec<ComparisonRow>> = HashMap::new();
    rows.into_iter()
        .map(|row| {
            let Some(superseded) = &row.superseded else {
                let plans = store.newer_plan_versions(tenant, row.id)?;
                let shared = store.newer_shared_inputs(tenant, row.id)?;
                let freshness = Freshness::of_current(store, tenant, &row, &plans, &shared)?;
                return Ok(View { latest_id: row.id, freshness, row });
            };
            let chain = match chains.entry(row.key_digest) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(unread) => unread.insert(store.chain(tenant, &row.key_digest)?),
            };
            let (freshness, latest_id) = Freshness::within_chain(store, tenant, &row, superseded.successor_id, chain)?;
            Ok(View { row, freshness, latest_id })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = Cursor(Timestamp::from_micros(1_780_000_000_123_456), ComparisonId::new());
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", ".", "x.y", "65.", "65.0198", "-", "zz.00000000000000000000000000000000"] {
            assert_eq!(bad.parse::<Cursor>(), Err(CursorError), "{bad}");
        }
    }
}
