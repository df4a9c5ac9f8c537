//! Compiled plan versions, kept because versions are immutable.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::ComparisonError;
use crate::store::PlanVersion;
use crate::tariff::{IncludedTariff, Tariff, TariffErrors};
use crate::words::{PlanId, TenantId};

/// A bounded map from plan version to tariff; the least recently used one goes first.
pub(super) struct TariffCache {
    compiled: Mutex<LruCache<(TenantId, PlanId, u32), Arc<Tariff>>>,
    /// By the text of all versions that a tariff is put together of.
    composed: Mutex<LruCache<(TenantId, String), Arc<Tariff>>>,
}

impl TariffCache {
    /// * `n_entries`: plan versions kept, at least one.
    pub(super) fn new(n_entries: usize) -> Self {
        let n_entries = NonZeroUsize::new(n_entries).unwrap_or(NonZeroUsize::MIN);
        Self { compiled: Mutex::new(LruCache::new(n_entries)), composed: Mutex::new(LruCache::new(n_entries)) }
    }

    /// The tariff of a stored version.
    ///
    /// # Errors
    /// [`ComparisonError::Internal`] when a stored document is not readable any more: it was when it was put.
    pub(super) fn compile(&self, tenant: &TenantId, version: &PlanVersion) -> Result<Arc<Tariff>, ComparisonError> {
        let key = (tenant.clone(), version.plan_id.clone(), version.version);
        if let Some(tariff) = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(tariff));
        }
        // Compiled outside the lock: two callers may do it twice, nobody waits for a large document.
        let tariff = Tariff::from_json(&version.content.document).map(Arc::new).map_err(|errors| {
            ComparisonError::Internal(format!(
                "the stored version {} of plan {} cannot be read: {errors}",
                version.version, version.plan_id
            ))
        })?;
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).put(key, Arc::clone(&tariff));
        Ok(tariff)
    }

    /// The tariff of a version and the versions that it includes.
    ///
    /// # Errors
    /// Faults that only the whole shows.
    pub(super) fn compose(
        &self,
        tenant: &TenantId,
        plan: &PlanId,
        version: u32,
        tariff: &Tariff,
        included: Vec<IncludedTariff>,
    ) -> Result<Arc<Tariff>, TariffErrors> {
        let key = (tenant.clone(), format!("{}@{version}{}", plan.as_str(), text(&included)));
        if let Some(tariff) = self.composed.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(tariff));
        }
        let tariff = Arc::new(tariff.including(included)?);
        self.composed.lock().unwrap_or_else(PoisonError::into_inner).put(key, Arc::clone(&tariff));
        Ok(tariff)
    }
}

/// `(network=ausgrid@2(…),…)`; neither names nor ids hold any of these characters.
fn text(included: &[IncludedTariff]) -> String {
    let one = |of: &IncludedTariff| format!("{}={}@{}{}", of.name, of.plan_id, of.version, text(of.tariff.included()));
    format!("({})", included.iter().map(one).collect::<Vec<_>>().join(","))
}
