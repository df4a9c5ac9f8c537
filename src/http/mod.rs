//! HTTP: the only place that knows actix and status codes. A handler checks and unpacks, asks the service or the
//! store, and wraps the answer.
//!
//! Start with `routes.rs`, the whole table; `error.rs` holds every refusal.

mod billing_periods;
mod calendars;
mod comparisons;
mod coverage;
mod customers;
mod error;
mod event_lists;
mod evidence;
mod guard;
mod imports;
mod inspect;
mod lists;
mod meter_points;
mod plans;
mod price_series;
mod request;
mod routes;
mod schemas;
mod service;
mod upload;
mod usage;
mod usage_revisions;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub use error::{Code, Problem};
pub use guard::guard;
pub(crate) use lists::{is_number, safe_cell};
pub use routes::routes;

use crate::comparison::Service;
use crate::config::Settings;
use crate::words::TenantId;

/// What every handler works with.
pub struct Api {
    service: Arc<Service>,
    settings: Settings,
    tenant: TenantId,
    n_in_flight: AtomicUsize,
}

impl Api {
    /// The API of a service. Until there are API keys there is one tenant.
    pub fn new(service: Arc<Service>, settings: Settings) -> Self {
        let tenant = "default".parse().expect("the implicit tenant has a right id");
        Self { service, settings, tenant, n_in_flight: AtomicUsize::new(0) }
    }
}

/// What a handler gives.
type Answered = Result<actix_web::HttpResponse, Problem>;
