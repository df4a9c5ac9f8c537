//! The next version of a calendar, a price series or an event list, made from the newest one and what a client sends.

use super::ComparisonError;
use crate::engine::PriceSeries;
use crate::shared::{self, Calendar, Damaged, EventList, MergedPrices};
use crate::store::{NewSharedInput, Put, SharedInput, SharedKind, Store, StoreError};
use crate::words::{InputName, TenantId, Timestamp};

/// How often a version is made again because another one came in between. Each time somebody's did.
const MAX_TRIES: usize = 64;

/// What a put of prices did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutPrices {
    /// The version that stands.
    pub input: Put<SharedInput>,
    /// What it holds.
    pub series: PriceSeries,
    /// Prices where none was.
    pub added: u64,
    /// Prices that replaced another one.
    pub replaced: u64,
    /// Prices that were there already.
    pub unchanged: u64,
    /// Prices that are gone.
    pub removed: u64,
}

/// Puts a calendar in place of the one before.
///
/// # Errors
/// The store's.
pub fn put_calendar(
    store: &dyn Store,
    tenant: &TenantId,
    id: &InputName,
    calendar: &Calendar,
    now: Timestamp,
) -> Result<Put<SharedInput>, ComparisonError> {
    let dates = &calendar.dates;
    let summary = serde_json::json!({
        "name": calendar.name, "n_dates": dates.len(), "first_date": dates.first(), "last_date": dates.last(),
    });
    put(store, tenant, SharedKind::Calendar, id, now, |newest| {
        let before = newest.map(|newest| Calendar::decode(&newest.content)).transpose()?;
        if before.as_ref() == Some(calendar) {
            return Ok(None);
        }
        let changed = Calendar::change(before.as_ref(), calendar);
        Ok(Some((calendar.encode(), summary.to_string(), changed)))
    })
}

/// Puts an event list in place of the one before.
///
/// # Errors
/// The store's.
pub fn put_event_list(
    store: &dyn Store,
    tenant: &TenantId,
    id: &InputName,
    list: &EventList,
    now: Timestamp,
) -> Result<Put<SharedInput>, ComparisonError> {
    let stretches = list.events.stretches();
    let summary = serde_json::json!({
        "name": list.name, "n_events": stretches.len(),
        "first_start": stretches.first().map(|event| shared::instant(event.start)),
        "last_end": stretches.last().map(|event| shared::instant(event.end)),
    });
    put(store, tenant, SharedKind::EventList, id, now, |newest| {
        let before = newest.map(|newest| EventList::decode(&newest.content)).transpose()?;
        if before.as_ref() == Some(list) {
            return Ok(None);
        }
        let changed = EventList::change(before.as_ref(), list);
        Ok(Some((list.encode(), summary.to_string(), changed)))
    })
}

/// Puts prices into a series, or in place of it.
///
/// * `replace_all`: what is not among the new prices is gone.
///
/// # Errors
/// [`StoreError::Conflict`] `prices_overlap` where a new price lies across a stored one; the store's.
pub fn put_prices(
    store: &dyn Store,
    tenant: &TenantId,
    id: &InputName,
    new: &PriceSeries,
    replace_all: bool,
    now: Timestamp,
) -> Result<PutPrices, ComparisonError> {
    let mut outcome = None;
    let input = put(store, tenant, SharedKind::PriceSeries, id, now, |newest| {
        let before = newest.map(|newest| shared::decode(&newest.content)).transpose()?;
        let merged = if replace_all {
            replaced(before.as_ref(), new)
        } else {
            shared::merge(&before.clone().unwrap_or_default(), new)
                .map(|merged| (merged, 0))
                .map_err(|overlap| StoreError::Conflict { code: "prices_overlap", detail: overlap.to_string() })?
        };
        let series = &merged.0.series;
        let next = (before.as_ref() != Some(series)).then(|| {
            let summary = serde_json::json!({
                "n_prices": series.n_prices(),
                "first_start": series.runs().first().map(|run| shared::instant(run.start)),
                "last_end": series.runs().last().map(|run| shared::instant(run.end())),
            });
            (shared::encode(series), summary.to_string(), shared::change(before.as_ref(), series))
        });
        outcome = Some(merged);
        Ok(next)
    })?;
    let (merged, removed) = outcome.expect("a version was made or found to be the same");
    let MergedPrices { series, added, replaced, unchanged } = merged;
    Ok(PutPrices { input, series, added, replaced, unchanged, removed })
}

/// The new series alone, held against the one before; and the number of prices that are gone.
fn replaced(before: Option<&PriceSeries>, new: &PriceSeries) -> (MergedPrices, u64) {
    use itertools::{EitherOrBoth, Itertools as _};
    let none = PriceSeries::default();
    let before = before.unwrap_or(&none);
    let mut merged = MergedPrices { series: new.clone(), added: 0, replaced: 0, unchanged: 0 };
    let mut removed = 0;
    let text = |series: &PriceSeries, digits| shared::price_text(digits, series.scale());
    for pair in before.prices().merge_join_by(new.prices(), |a, b| a.start.cmp(&b.start)) {
        match pair {
            EitherOrBoth::Both(a, b) if a.seconds == b.seconds && text(before, a.digits) == text(new, b.digits) => {
                merged.unchanged += 1;
            }
            EitherOrBoth::Both(..) => merged.replaced += 1,
            EitherOrBoth::Left(_) => removed += 1,
            EitherOrBoth::Right(_) => merged.added += 1,
        }
    }
    (merged, removed)
}

/// Content, summary and changed range of a version.
type Made = (Vec<u8>, String, Option<std::ops::Range<i64>>);

/// Why a version could not be made.
enum PutFault {
    Damaged,
    Store(StoreError),
}

impl From<Damaged> for PutFault {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

impl From<StoreError> for PutFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// * `make`: the next version after the newest; `None` when that is the same.
fn put(
    store: &dyn Store,
    tenant: &TenantId,
    kind: SharedKind,
    id: &InputName,
    now: Timestamp,
    mut make: impl FnMut(Option<&SharedInput>) -> Result<Option<Made>, PutFault>,
) -> Result<Put<SharedInput>, ComparisonError> {
    for _ in 0..MAX_TRIES {
        let newest = store.shared_inputs(tenant, kind, &[id])?.pop();
        let next = make(newest.as_ref()).map_err(|fault| match fault {
            PutFault::Damaged => {
                ComparisonError::Internal(format!("the newest version of {} {id} is damaged", kind.as_str()))
            }
            PutFault::Store(error) => error.into(),
        })?;
        let after_version = newest.as_ref().map_or(0, |newest| newest.version);
        match (next, newest) {
            (None, Some(same)) => return Ok(Put::Unchanged(same)),
            (None, None) => return Err(ComparisonError::Internal(format!("no version of {id} was made"))),
            (Some((content, summary, changed)), _) => {
                let new = NewSharedInput { after_version, content, summary, changed };
                if let Some(put) = store.put_shared_input(tenant, kind, id, &new, now)? {
                    return Ok(put);
                }
            }
        }
    }
    Err(StoreError::Busy(None).into())
}
