//! Units of work: what one method of the store does inside one transaction, the same on both engines.
//!
//! Order, always: the customer's head, then what is to be merged or checked, then comparisons. Any other order
//! loses a correction, leaves a row fresh for ever, or deadlocks.

pub(super) mod comparisons;
pub(super) mod customers;
pub(super) mod imports;
pub(super) mod meter_points;
pub(super) mod periods;
pub(super) mod plans;
pub(super) mod reverts;
pub(super) mod shared;
pub(super) mod usage;

use super::engine::UnitError;
use super::queries::Queries;
use super::rows::CustomerRecord;
use crate::store::StoreError;
use crate::words::{CustomerId, TenantId};

/// Reads the customer's head and holds it to the end of the transaction.
fn lock_head<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
) -> Result<Option<CustomerRecord>, UnitError> {
    connection.lock_customer(tenant.as_str(), id.as_str()).map_err(UnitError::HeadHeld)
}

/// The same of a customer that has to exist.
fn lock_known_head<C: Queries>(
    connection: &mut C,
    tenant: &TenantId,
    id: &CustomerId,
) -> Result<CustomerRecord, UnitError> {
    lock_head(connection, tenant, id)?
        .ok_or_else(|| StoreError::NotFound { what: "customer", id: id.to_string() }.into())
}
