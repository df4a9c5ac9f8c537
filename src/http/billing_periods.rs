//! `/v1/billing-periods`: periods registered for the tenant, never changed once registered.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::customers::NoParameters;
use super::error::{Code, Problem, period_code};
use super::lists::{MAX_PAGE, page, page_size};
use super::request::{json, parameter, path_id, query};
use super::{Answered, Api};
use crate::comparison::question::date;
use crate::store::Put;
use crate::words::{BillingPeriod, CustomerId, PeriodId, RegisteredPeriod, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeriodBody {
    start: String,
    end: String,
    #[serde(default)]
    cycle: Option<String>,
}

/// `PUT /v1/billing-periods/{id}`: the same again changes nothing, other dates are 409.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: PeriodId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let body: PeriodBody = json(&request, payload, api.settings.max_body_bytes).await?;
    let day = |text: &str, pointer: &str| {
        date(text).map_err(|error| Problem::new(Code::InvalidPeriod, error.to_string()).at(pointer))
    };
    let (start, end) = (day(&body.start, "/start")?, day(&body.end, "/end")?);
    BillingPeriod::new(start, end).map_err(|e| Problem::new(period_code(&e), e.to_string()).at("/end"))?;
    if let Some(cycle) = &body.cycle {
        cycle.parse::<CustomerId>().map_err(|e| Problem::new(Code::InvalidId, e.to_string()).at("/cycle"))?;
    }
    let period = RegisteredPeriod { id, start, end, cycle: body.cycle };
    let tenant = api.tenant.clone();
    let put = api.service.store().write(move |store| store.register_period(&tenant, &period, Timestamp::now())).await?;
    let mut response = match &put {
        Put::Created(_) => HttpResponse::Created(),
        Put::Changed(_) | Put::Unchanged(_) => HttpResponse::Ok(),
    };
    let period = put.into_inner();
    response.insert_header((header::LOCATION, format!("/v1/billing-periods/{}", period.id)));
    Ok(response.json(period))
}

/// `GET /v1/billing-periods/{id}`.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: PeriodId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    Ok(HttpResponse::Ok().json(read(&api, id).await?))
}

/// A registered period.
///
/// # Errors
/// 404.
pub(super) async fn read(api: &Api, id: PeriodId) -> Result<RegisteredPeriod, Problem> {
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let found = api.service.store().read(move |store| store.period(&tenant, &wanted)).await?;
    found.ok_or_else(|| {
        let detail = format!("no billing period is registered as {id}; a month is written 2026-06");
        Problem::new(Code::PeriodNotFound, detail).with("id", id.as_str())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/billing-periods`, ordered by id.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: Option<PeriodId> = parameter("cursor", parameters.cursor.as_deref())?;
    let tenant = api.tenant.clone();
    let found = api.service.store().read(move |store| store.list_periods(&tenant, after.as_ref(), limit + 1)).await?;
    Ok(page(&request, found, limit, |last| last.id.to_string()))
}
