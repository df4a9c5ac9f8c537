//! What the service asks of a database about imports of readings.

use super::StoreError;
use super::types::{
    CustomerShare, ImportFilter, ImportOutcome, ImportPreview, ImportProgress, ImportRow, MeterPointCustomers,
    MeterPointRefusal, MeterPointRow, MeterPointState, MeterPointsImport, Reverted, ShareOutcome, UsageImport,
};
use crate::words::{CustomerId, ImportId, TenantId, Timestamp};

/// Imports of readings, their records and their undoing: a part of [`super::Store`].
pub trait ImportStore: Send + Sync + 'static {
    /// Merges readings into what is stored: all of them or nothing. The usage revision rises by one if and only if
    /// a reading changed; every current comparison whose input window overlaps a change is marked stale. The record of the
    /// import stays, also where nothing changed. [`StoreError::NotFound`] for an unknown customer.
    fn import_usage(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        import: &UsageImport,
        now: Timestamp,
    ) -> Result<ImportOutcome, StoreError>;

    /// What [`ImportStore::import_usage`] would do, found out in the same way under the same lock; nothing is written.
    fn preview_import(
        &self,
        tenant: &TenantId,
        customer: &CustomerId,
        import: &UsageImport,
        now: Timestamp,
    ) -> Result<ImportPreview, StoreError>;

    /// Takes back what an import of one customer changed, wherever that still stands, and marks what becomes stale by it. What a
    /// later import changed again stays and is counted. An import is taken back once: later calls give the record of that.
    /// [`StoreError::NotFound`] for an unknown import.
    ///
    /// * `new_id`: of the record of the revert.
    fn revert_import(
        &self,
        tenant: &TenantId,
        id: ImportId,
        new_id: ImportId,
        now: Timestamp,
    ) -> Result<Reverted, StoreError>;

    /// What [`ImportStore::revert_import`] would do; nothing is written.
    fn preview_revert(
        &self,
        tenant: &TenantId,
        id: ImportId,
        new_id: ImportId,
        now: Timestamp,
    ) -> Result<ImportPreview, StoreError>;

    /// The record of one import; of a file of many meter points with what became of them by now.
    /// [`StoreError::NotFound`] for an unknown import.
    fn import(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError>;

    /// Records of imports before an id, newest first.
    fn list_imports(
        &self,
        tenant: &TenantId,
        filter: &ImportFilter,
        before: Option<ImportId>,
        limit: u32,
    ) -> Result<Vec<ImportRow>, StoreError>;

    /// Which customers list these meter points, and as which channels.
    fn customers_of_meter_points(&self, tenant: &TenantId, ids: &[&str]) -> Result<MeterPointCustomers, StoreError>;

    /// The record of a file of many meter points: that of the same file which is not finished, or a new one.
    fn begin_meter_points(
        &self,
        tenant: &TenantId,
        new: &MeterPointsImport,
        now: Timestamp,
    ) -> Result<ImportRow, StoreError>;

    /// One customer's share of such a file, whole or not at all, as [`ImportStore::import_usage`] does it. Shares can be stored in any
    /// order, by several callers at once, and again.
    fn import_share(
        &self,
        tenant: &TenantId,
        share: &CustomerShare,
        now: Timestamp,
    ) -> Result<ShareOutcome, StoreError>;

    /// Notes meter points that are not stored.
    fn refuse_meter_points(
        &self,
        tenant: &TenantId,
        id: ImportId,
        refusals: &[MeterPointRefusal],
    ) -> Result<(), StoreError>;

    /// Says that such a file is done, if nothing is left to do, and gives the record by now.
    fn finish_meter_points(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError>;

    /// Says that such a file is reverted: nothing more of it is stored. Its parts are taken back by
    /// [`ImportStore::revert_import`].
    fn revert_meter_points(&self, tenant: &TenantId, id: ImportId) -> Result<ImportProgress, StoreError>;

    /// The meter points of such a file after a place, in the order of the file; of these states, or of all.
    fn import_meter_points(
        &self,
        tenant: &TenantId,
        id: ImportId,
        states: &[MeterPointState],
        after: Option<u32>,
        limit: u32,
    ) -> Result<Vec<MeterPointRow>, StoreError>;
}
