//! Imports of readings over any database engine: each method is one unit.

use std::sync::Arc;

use super::Database;
use crate::store::engine::{Engine, Stops, stops};
use crate::store::types::{
    CustomerShare, ImportFilter, ImportOutcome, ImportPreview, ImportProgress, ImportRow, MeterPointCustomers,
    MeterPointRefusal, MeterPointRow, MeterPointState, MeterPointsImport, Reverted, ShareOutcome, UsageImport,
};
use crate::store::units::{imports, meter_points, reverts};
use crate::store::{ImportStore, StoreError};
use crate::usage::Readings;
use crate::words::{CustomerId, ImportId, TenantId, Timestamp};

impl<E: Engine> ImportStore for Database<E> {
    fn import_usage(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        import: &UsageImport,
        now: Timestamp,
    ) -> Result<ImportOutcome, StoreError> {
        let key = Arc::new((tenant.clone(), customer.clone(), import.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("import_usage"),
            bytes_of_import(import),
            move |c| imports::import(c, &key.0, &key.1, &key.2, now),
            move |c, outcome| imports::import_landed(c, &again.0, &again.1, outcome),
        )
    }

    fn preview_import(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        import: &UsageImport,
        now: Timestamp,
    ) -> Result<ImportPreview, StoreError> {
        let key = (tenant.clone(), customer.clone(), import.clone());
        self.0.write(
            stops!("preview_import"),
            0,
            move |c| imports::preview(c, &key.0, &key.1, &key.2, now),
            |_, _| Ok(false),
        )
    }

    fn revert_import(
        &self,
        tenant: &TenantId,
        id: ImportId,
        new_id: ImportId,
        now: Timestamp,
    ) -> Result<Reverted, StoreError> {
        let tenant = tenant.clone();
        let again = tenant.clone();
        self.0.write(
            stops!("revert_import"),
            100_000,
            move |c| reverts::revert(c, &tenant, id, new_id, now),
            move |c, reverted| reverts::landed(c, &again, reverted),
        )
    }

    fn preview_revert(
        &self,
        tenant: &TenantId,
        id: ImportId,
        new_id: ImportId,
        now: Timestamp,
    ) -> Result<ImportPreview, StoreError> {
        let tenant = tenant.clone();
        self.0.write(
            stops!("preview_revert"),
            0,
            move |c| reverts::preview(c, &tenant, id, new_id, now),
            |_, _| Ok(false),
        )
    }

    fn import(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError> {
        self.0.read(|c| meter_points::progress(c, tenant, id))
    }

    fn list_imports(
        &self,
        tenant: &TenantId,
        filter: &ImportFilter,
        before: Option<ImportId>,
        limit: u32,
    ) -> Result<Vec<ImportRow>, StoreError> {
        self.0.read(|c| imports::list(c, tenant, filter, before, limit))
    }

    fn customers_of_meter_points(&self, tenant: &TenantId, ids: &[&str]) -> Result<MeterPointCustomers, StoreError> {
        self.0.read(|c| meter_points::customers(c, tenant, ids))
    }

    fn begin_meter_points(
        &self,
        tenant: &TenantId,
        new: &MeterPointsImport,
        now: Timestamp,
    ) -> Result<ImportRow, StoreError> {
        let key = Arc::new((tenant.clone(), new.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("begin_meter_points"),
            1_000 + 100 * new.meter_points.len(),
            move |c| meter_points::begin(c, &key.0, &key.1, now),
            move |c, row| meter_points::begin_landed(c, &again.0, row),
        )
    }

    fn import_share(
        &self,
        tenant: &TenantId,
        share: &CustomerShare,
        now: Timestamp,
    ) -> Result<ShareOutcome, StoreError> {
        let key = Arc::new((tenant.clone(), share.clone()));
        let again = Arc::clone(&key);
        self.0.write(
            stops!("import_share"),
            bytes_of_import(&share.import),
            move |c| meter_points::import_share(c, &key.0, &key.1, now),
            move |c, outcome| meter_points::share_landed(c, &again.0, &again.1.customer_id, outcome),
        )
    }

    fn refuse_meter_points(
        &self,
        tenant: &TenantId,
        id: ImportId,
        refusals: &[MeterPointRefusal],
    ) -> Result<(), StoreError> {
        let key = (tenant.clone(), refusals.to_vec());
        self.0.write(
            stops!("refuse_meter_points"),
            500 * refusals.len(),
            move |c| meter_points::refuse(c, &key.0, id, &key.1),
            |_, ()| Ok(false),
        )
    }

    fn finish_meter_points(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError> {
        let tenant = tenant.clone();
        self.0.write(
            stops!("finish_meter_points"),
            500,
            move |c| meter_points::finish(c, &tenant, id),
            |_, _| Ok(false),
        )
    }

    fn revert_meter_points(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError> {
        let tenant = tenant.clone();
        self.0.write(
            stops!("revert_meter_points"),
            500,
            move |c| meter_points::mark_reverted(c, &tenant, id),
            |_, _| Ok(false),
        )
    }

    fn import_meter_points(
        &self,
        tenant: &TenantId,
        id: ImportId,
        states: &[MeterPointState],
        after: Option<u32>,
        limit: u32,
    ) -> Result<Vec<MeterPointRow>, StoreError> {
        self.0.read(|c| meter_points::list(c, tenant, id, states, after, limit))
    }
}

fn bytes_of_import(import: &UsageImport) -> usize {
    2_000 + 3 * import.readings.values().map(Readings::len).sum::<usize>()
}
