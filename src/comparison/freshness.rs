//! Whether the inputs of a comparison are still what they were.
//!
//! Changes of usage and customer *mark* a row in the transaction that makes them; changes of what many customers
//! share (plan versions, calendars, price series, event lists, the engine, registered periods) are *derived* here at
//! every read. A row that is read unmarked and then found without newer versions was fresh at the instant of the first
//! read: versions are only ever added. A superseded row keeps the freshness it had when it was superseded: what its successor had seen.

use serde::Serialize;

use super::ComparisonError;
use super::inputs::unchanged_cycle;
use crate::engine::ENGINE_VERSION;
use crate::store::{
    ComparisonRow, NewerPlanVersion, NewerSharedInput, RecordedShared, SharedKind, Store, StoredComparison,
};
use crate::words::{ComparisonId, TenantId, Timestamp};

/// Entries of the revision log read at once.
const LOG_PAGE: u32 = 1000;

/// The `freshness` member of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freshness {
    /// Fresh or stale.
    pub state: State,
    /// When the first change was made; `None` when fresh, or when the change has no time of its own (the engine).
    pub stale_since: Option<Timestamp>,
    /// One entry a kind.
    pub reasons: Vec<Reason>,
    /// For a stale current row: the call that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersede: Option<String>,
}

/// Fresh or stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// At some instant since the request arrived every input was the recorded one.
    Fresh,
    /// An input has changed since.
    Stale,
}

/// What changed, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The kind of input.
    pub kind: Kind,
    /// The first change; `None` where the change has no time of its own.
    pub first: Option<Timestamp>,
    /// The last change.
    pub last: Option<Timestamp>,
    /// Number of changes.
    pub count: u64,
}

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Readings of the input window.
    UsageCorrected,
    /// The customer's document.
    CustomerChanged,
    /// A newer version of a plan, or of one that a plan includes, applies to a day of the period.
    PlanChanged,
    /// A calendar that a plan names has a newer version, and the first to the last date in which it differs reach into the
    /// days that the comparison looked at.
    CalendarChanged,
    /// The same of a price series and the instants of the input window.
    PriceSeriesChanged,
    /// The same of an event list.
    EventListChanged,
    /// Periods of the customer's billing cycle were registered that can cut the billing months elsewhere.
    PeriodsRegistered,
    /// A newer engine computes.
    EngineChanged,
}

impl Kind {
    fn of(kind: SharedKind) -> Self {
        match kind {
            SharedKind::Calendar => Self::CalendarChanged,
            SharedKind::PriceSeries => Self::PriceSeriesChanged,
            SharedKind::EventList => Self::EventListChanged,
        }
    }
}

impl Freshness {
    /// Every input is the recorded one.
    pub fn fresh() -> Self {
        Self { state: State::Fresh, stale_since: None, reasons: Vec::new(), supersede: None }
    }

    /// Whether an input has changed.
    pub fn is_stale(&self) -> bool {
        self.state == State::Stale
    }

    /// The reason to give when this staleness is the cause of a successor.
    pub fn supersede_reason(&self) -> &'static str {
        match self.reasons.first().map(|reason| reason.kind) {
            Some(Kind::UsageCorrected) => "usage_corrected",
            Some(Kind::PlanChanged) => "plan_changed",
            Some(Kind::CalendarChanged) => "calendar_changed",
            Some(Kind::PriceSeriesChanged) => "price_series_changed",
            Some(Kind::EventListChanged) => "event_list_changed",
            Some(Kind::EngineChanged) => "engine_changed",
            Some(Kind::CustomerChanged | Kind::PeriodsRegistered) | None => "manual",
        }
    }

    /// The freshness of a current row.
    ///
    /// * `plans`, `shared`: versions that it has not seen, read after the row itself.
    ///
    /// # Errors
    /// The store's.
    pub fn of_current(
        store: &dyn Store,
        tenant: &TenantId,
        row: &ComparisonRow,
        plans: &[NewerPlanVersion],
        shared: &[NewerSharedInput],
    ) -> Result<Self, ComparisonError> {
        let mut reasons = Reasons::default();
        reasons.read_marked(store, tenant, row, None)?;
        for newer in plans {
            reasons.add(Kind::PlanChanged, Some(newer.created_at));
        }
        for newer in shared {
            reasons.add(Kind::of(newer.kind), Some(newer.created_at));
        }
        if let Some(cycle) = &row.inputs.cycle
            && unchanged_cycle(store, tenant, cycle)?.is_none()
        {
            reasons.add(Kind::PeriodsRegistered, None);
        }
        if row.inputs.engine < ENGINE_VERSION {
            reasons.add(Kind::EngineChanged, None);
        }
        let mut freshness = reasons.into_freshness(row);
        if freshness.is_stale() {
            freshness.supersede = Some(format!("POST /v1/comparisons/{}/supersede", row.id));
        }
        Ok(freshness)
    }

    /// The freshness that a superseded row had when `successor` took its place.
    ///
    /// # Errors
    /// The store's.
    pub fn of_superseded(
        store: &dyn Store,
        tenant: &TenantId,
        row: &ComparisonRow,
        successor: &ComparisonRow,
    ) -> Result<Self, ComparisonError> {
        let mut reasons = Reasons::default();
        reasons.read_marked(store, tenant, row, Some(successor))?;
        let seen = |plan: &crate::words::PlanId, version: u32| {
            let inputs = &successor.inputs;
            inputs.plans.iter().any(|p| p.reference.plan_id() == plan && version <= p.newest_version)
                || inputs.included.iter().any(|p| p.plan_id == *plan && version <= p.newest_version)
        };
        for newer in store.newer_plan_versions(tenant, row.id)? {
            if seen(&newer.plan_id, newer.version) {
                reasons.add(Kind::PlanChanged, Some(newer.created_at));
            }
        }
        for newer in store.newer_shared_inputs(tenant, row.id)? {
            let seen = |input: &RecordedShared| {
                (input.kind, &input.id) == (newer.kind, &newer.id) && newer.version <= input.version
            };
            if successor.inputs.shared.iter().any(seen) {
                reasons.add(Kind::of(newer.kind), Some(newer.created_at));
            }
        }
        let of_cycle = |row: &ComparisonRow| row.inputs.cycle.as_ref().map(|cycle| (cycle.id.clone(), cycle.n_periods));
        if of_cycle(row).zip(of_cycle(successor)).is_some_and(|(old, new)| old.0 == new.0 && old.1 != new.1) {
            reasons.add(Kind::PeriodsRegistered, None);
        }
        if row.inputs.engine < successor.inputs.engine {
            reasons.add(Kind::EngineChanged, None);
        }
        Ok(reasons.into_freshness(row))
    }

    /// The freshness of any stored comparison, and the current row of its chain.
    ///
    /// # Errors
    /// The store's.
    pub fn of(
        store: &dyn Store,
        tenant: &TenantId,
        stored: &StoredComparison,
    ) -> Result<(Self, ComparisonId), ComparisonError> {
        let row = &stored.row;
        let Some(superseded) = &row.superseded else {
            return Ok((
                Self::of_current(store, tenant, row, &stored.newer_plan_versions, &stored.newer_shared_inputs)?,
                row.id,
            ));
        };
        let chain = store.chain(tenant, &row.key_digest)?;
        Self::within_chain(store, tenant, row, superseded.successor_id, &chain)
    }

    /// The same for a superseded row whose chain has been read.
    ///
    /// # Errors
    /// The store's.
    pub fn within_chain(
        store: &dyn Store,
        tenant: &TenantId,
        row: &ComparisonRow,
        successor_id: ComparisonId,
        chain: &[ComparisonRow],
    ) -> Result<(Self, ComparisonId), ComparisonError> {
        let latest = chain.iter().find(|other| other.superseded.is_none()).map_or(row.id, |current| current.id);
        let freshness = match chain.iter().find(|other| other.id == successor_id) {
            Some(successor) => Self::of_superseded(store, tenant, row, successor)?,
            None => Self::fresh(),
        };
        Ok((freshness, latest))
    }
}

#[derive(Default)]
struct Reasons(Vec<Reason>);

impl Reasons {
    fn add(&mut self, kind: Kind, at: Option<Timestamp>) {
        match self.0.iter_mut().find(|reason| reason.kind == kind) {
            Some(reason) => {
                reason.first = reason.first.into_iter().chain(at).min();
                reason.last = reason.last.into_iter().chain(at).max();
                reason.count += 1;
            }
            None => self.0.push(Reason { kind, first: at, last: at, count: 1 }),
        }
    }

    /// Of a marked row, reads the logs of usage and customer from its mark up to what `until` recorded (`None`: to the
    /// end). The mark stays on a row that is superseded, and is set on no such row.
    fn read_marked(
        &mut self,
        store: &dyn Store,
        tenant: &TenantId,
        row: &ComparisonRow,
        until: Option<&ComparisonRow>,
    ) -> Result<(), ComparisonError> {
        let Some(marked) = row.stale_since else { return Ok(()) };
        let last_revision = until.map_or(i64::MAX, |other| other.inputs.usage_revision);
        let mut after = row.inputs.usage_revision;
        while after < last_revision {
            let page = store.usage_revisions(tenant, &row.customer_id, after, LOG_PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.revision;
            for entry in page.iter().filter(|entry| entry.revision <= last_revision) {
                let overlaps = entry.first_start < row.window.end && row.window.start < entry.last_end;
                if overlaps && entry.created_at >= marked {
                    self.add(Kind::UsageCorrected, Some(entry.created_at));
                }
            }
        }
        let last_version = until.map_or(i64::MAX, |other| other.inputs.customer_version);
        for (version, at) in store.customer_versions(tenant, &row.customer_id, row.inputs.customer_version)? {
            if version <= last_version {
                self.add(Kind::CustomerChanged, Some(at));
            }
        }
        Ok(())
    }

    /// Of changes that this row does not know: none is older than it, whatever the clocks of other servers say.
    fn into_freshness(mut self, row: &ComparisonRow) -> Freshness {
        if self.0.is_empty() && row.stale_since.is_none() {
            return Freshness::fresh();
        }
        for at in self.0.iter_mut().flat_map(|reason| [&mut reason.first, &mut reason.last]).flatten() {
            *at = row.created_at.max(*at);
        }
        self.0.sort_by_key(|reason| reason.kind);
        let marked = row.stale_since.map(|at| row.created_at.max(at));
        let stale_since = self.0.iter().filter_map(|reason| reason.first).chain(marked).min();
        Freshness { state: State::Stale, stale_since, reasons: self.0, supersede: None }
    }
}
