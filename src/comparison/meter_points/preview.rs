//! What a file of many meter points would do: the same steps, nothing written.

use std::sync::Arc;

use super::Begun;
use super::matching::Why;
use crate::comparison::{ComparisonError, MeterPointsError, Service};
use crate::store::{CustomerShare, ImportCounts, MeterPointRefusal, MeterPointRow, MeterPointState, StoreError};
use crate::words::{ComparisonId, TenantId, Timestamp};

/// What a file of many meter points would do.
#[derive(Debug, Clone)]
pub struct MeterPointsPreview {
    /// The reader that understood it.
    pub format: String,
    /// What would become of each meter point.
    pub meter_points: Vec<MeterPointRow>,
    /// Customers whose readings would be stored.
    pub n_customers: u64,
    /// What that would count.
    pub counts: ImportCounts,
    /// Comparisons that would become stale.
    pub stale: Vec<ComparisonId>,
}

impl MeterPointsPreview {
    /// Meter points stand at their places.
    fn row(&mut self, place: u32) -> Option<&mut MeterPointRow> {
        self.meter_points.get_mut(usize::try_from(place).ok()?)
    }
}

impl Begun {
    pub(super) async fn preview(
        mut self,
        service: &Arc<Service>,
        tenant: &TenantId,
        rows: Vec<MeterPointRow>,
    ) -> Result<MeterPointsPreview, MeterPointsError> {
        let (shares, listed, mut refusals) = self.by_customer(service, tenant, &rows).await?;
        let mut preview = MeterPointsPreview {
            format: self.source.format.clone(),
            meter_points: rows,
            n_customers: 0,
            counts: ImportCounts::default(),
            stale: Vec::new(),
        };
        let rows_of_file = self.source.rows;
        for (customer, points) in shares {
            let (whose, channels) = (customer.clone(), listed.clone());
            let made = service.blocking(move || {
                let share = self.share(&whose, &points, &channels);
                (self, share)
            });
            let (begun, (share, mut refused)) = made.await?;
            self = begun;
            refusals.append(&mut refused);
            let Some(CustomerShare { meter_points: stored, import, .. }) = share else { continue };
            let (of, whose) = (tenant.clone(), customer.clone());
            let show =
                move |store: &dyn crate::store::Store| store.preview_import(&of, &whose, &import, Timestamp::now());
            let shown = service.store.write_for(tenant, &customer, show).await;
            match shown {
                Ok(shown) => {
                    preview.n_customers += 1;
                    preview.counts = preview.counts.plus(shown.record.counts);
                    preview.stale.extend(shown.stale);
                    for point in stored {
                        if let Some(row) = preview.row(point.place) {
                            (row.state, row.n_readings) = (MeterPointState::Done, point.n_readings);
                        }
                    }
                }
                Err(ComparisonError::Store(StoreError::Conflict { code, detail })) => {
                    let why = Why { customer: Some(customer), ..Why::refused(code, detail) };
                    refusals.extend(stored.into_iter().map(|point| why.clone().at(point.place)));
                }
                Err(other) => return Err(other.into()),
            }
        }
        preview.counts.rows = rows_of_file;
        for MeterPointRefusal { place, state, customer_id, code, detail } in refusals {
            if let Some(row) = preview.row(place) {
                (row.state, row.customer_id) = (state, customer_id);
                (row.code, row.detail) = (Some(code), Some(detail));
            }
        }
        Ok(preview)
    }
}
