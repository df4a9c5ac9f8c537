//! A tariff that is not stored, as it would be with what is: for whoever wants to see it before putting it.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDate;
use uuid::Uuid;

use super::includes::{Library, put_together_one};
use super::{ComparisonError, Service};
use crate::engine::{PlanToBill, VersionInForce};
use crate::tariff::Tariff;
use crate::words::{BillingPeriod, PlanId, TenantId};

impl Service {
    /// A tariff with the plans that it includes, in their versions that are in force on a day. Where one of them is
    /// missing, or they do not fit, the tariff comes without any and keeps the faults.
    ///
    /// # Errors
    /// The store's.
    pub async fn with_included(
        &self,
        tenant: &TenantId,
        tariff: Tariff,
        day: NaiveDate,
    ) -> Result<Arc<Tariff>, ComparisonError> {
        let tariff = Arc::new(tariff);
        let days = day.succ_opt().and_then(|next| BillingPeriod::new(day, next).ok());
        let (Some(days), true) = (days, tariff.includes().next().is_some()) else { return Ok(tariff) };
        // No plan has this id: nothing that is stored includes it.
        let id: PlanId = Uuid::now_v7().to_string().parse().expect("a UUID can be the id of a plan");
        let versions = vec![VersionInForce { version: 1, days, tariff: Arc::clone(&tariff) }];
        let plan = PlanToBill { reference: id.into(), versions };
        let (tenant, tariffs) = (tenant.clone(), Arc::clone(&self.tariffs));
        let put_together = move |store: &dyn crate::store::Store| {
            let plans = std::slice::from_ref(&plan);
            let library = Library::read(store, &tariffs, &tenant, plans, &BTreeMap::new(), |_| u32::MAX)?;
            Ok::<_, ComparisonError>(put_together_one(&library, plan))
        };
        Ok(self.store.read(put_together).await?.unwrap_or(tariff))
    }
}
