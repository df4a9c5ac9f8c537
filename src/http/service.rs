//! The service itself: alive, ready, configured how.

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;

use super::error::{Code, Problem};
use super::lists::MAX_PAGE;
use super::{Answered, Api};
use crate::comparison::MAX_PLANS;
use crate::engine::ENGINE_VERSION;
use crate::store::Store;
use crate::words::MAX_PERIOD_DAYS;

/// `GET /livez`: the process answers.
pub(super) async fn livez() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "alive"}))
}

/// `GET /readyz`: the database answers and has the schema of this program.
pub(super) async fn readyz(api: Data<Api>) -> Answered {
    match api.service.store().read(Store::check_ready).await {
        Ok(()) => Ok(HttpResponse::Ok().json(json!({"status": "ready"}))),
        Err(error) => {
            Err(Problem::new(Code::NotReady, "the database is not ready").caused_by(format!("{error}: {error:?}")))
        }
    }
}

/// `GET /v1/config`: limits, the grammar of ids, how long things are kept.
pub(super) async fn config(api: Data<Api>) -> HttpResponse {
    let settings = &api.settings;
    HttpResponse::Ok().json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": ENGINE_VERSION,
        "limits": {
            "plans_per_comparison": MAX_PLANS,
            "billing_period_days": MAX_PERIOD_DAYS,
            "page_items": MAX_PAGE,
            "body_bytes": settings.max_body_bytes,
            "usage_bytes": settings.max_usage_bytes,
            "result_bytes": settings.max_result_bytes,
            "requests_in_flight": settings.max_requests_in_flight,
        },
        "ids": {
            "pattern": "[A-Za-z0-9._~:-]{1,64}",
            "plan_reference": "id (the versions in force on each day) or id@N (version N for the whole period)",
            "calendar": "[a-z][a-z0-9_]{0,63}",
            "price_series": "[a-z][a-z0-9_]{0,63}",
            "event_list": "[a-z][a-z0-9_]{0,63}",
            "registered_period": "an id that holds other characters than digits and -",
        },
        "natural_key": ["tenant", "customer_id", "billing_period", "plan_ids as a set"],
        "billing": {
            "min_coverage": String::from(settings.min_coverage),
            "split_intervals": settings.split_intervals,
        },
        "lifetimes": {"comparisons": "kept", "plan_versions": "kept", "calendar_versions": "kept", "price_series_versions": "kept", "event_list_versions": "kept", "usage_revisions": "kept", "imports": "kept"},
    }))
}
