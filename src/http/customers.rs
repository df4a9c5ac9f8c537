//! `/v1/customers`.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::error::{Code, Problem};
use super::lists::{MAX_PAGE, page, page_size};
use super::request::{json, parameter, path_id, query};
use super::{Answered, Api};
use crate::store::{Customer, Put};
use crate::words::{CustomerDocument, CustomerId, Timestamp};

/// Longest text of a customer's name, characters.
const MAX_NAME: usize = 500;

#[derive(Serialize)]
struct CustomerBody<'a> {
    id: &'a CustomerId,
    version: i64,
    usage_revision: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(flatten)]
    document: &'a CustomerDocument,
}

impl<'a> From<&'a Customer> for CustomerBody<'a> {
    fn from(customer: &'a Customer) -> Self {
        Self {
            id: &customer.id,
            version: customer.version,
            usage_revision: customer.usage_revision,
            created_at: customer.created_at,
            updated_at: customer.updated_at,
            document: &customer.document,
        }
    }
}

/// `PUT /v1/customers/{id}`: a changed document is a new customer version, the same one is none.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let document: CustomerDocument = json(&request, payload, api.settings.max_body_bytes).await?;
    check(&document)?;
    let (tenant, of) = (api.tenant.clone(), id.clone());
    let put = api
        .service
        .store()
        .write_for(&api.tenant, &id, move |store| store.put_customer(&tenant, &of, &document, Timestamp::now()))
        .await?;
    let mut response = match &put {
        Put::Created(_) => HttpResponse::Created(),
        Put::Changed(_) | Put::Unchanged(_) => HttpResponse::Ok(),
    };
    let customer = put.into_inner();
    response.insert_header((header::LOCATION, format!("/v1/customers/{}", customer.id)));
    Ok(response.json(CustomerBody::from(&customer)))
}

/// What the type of the document leaves open: names and ids within it.
fn check(document: &CustomerDocument) -> Result<(), Problem> {
    if let Some(cycle) = &document.billing_cycle {
        cycle.parse::<CustomerId>().map_err(|e| Problem::new(Code::InvalidId, e.to_string()).at("/billing_cycle"))?;
    }
    if document.name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME) {
        let detail = format!("a name has at most {MAX_NAME} characters");
        return Err(Problem::new(Code::InvalidMember, detail).at("/name"));
    }
    for (i, point) in document.meter_points.iter().enumerate() {
        if !(1..=64).contains(&point.id.chars().count()) || point.id.chars().any(char::is_control) {
            let detail = "the id of a meter point has 1 to 64 characters";
            return Err(Problem::new(Code::InvalidId, detail).at(format!("/meter_points/{i}/id")));
        }
    }
    let attributes = document.check_attributes();
    attributes.map_err(|(pointer, detail)| Problem::new(Code::InvalidMember, detail).at(pointer))
}

/// `GET /v1/customers/{id}`.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: CustomerId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let customer = read(&api, id).await?;
    Ok(HttpResponse::Ok().json(CustomerBody::from(&customer)))
}

/// The head of a customer.
///
/// # Errors
/// 404.
pub(super) async fn read(api: &Api, id: CustomerId) -> Result<Customer, Problem> {
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let found = api.service.store().read(move |store| store.customer(&tenant, &wanted)).await?;
    found.ok_or_else(|| {
        Problem::new(Code::CustomerNotFound, format!("customer {id} does not exist")).with("id", id.as_str())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/customers`, ordered by id.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PAGE)?;
    let after: Option<CustomerId> = parameter("cursor", parameters.cursor.as_deref())?;
    let tenant = api.tenant.clone();
    let found = api.service.store().read(move |store| store.list_customers(&tenant, after.as_ref(), limit + 1)).await?;
    let items: Vec<CustomerBody<'_>> = found.iter().map(CustomerBody::from).collect();
    Ok(page(&request, items, limit, |last| last.id.to_string()))
}

/// The query of calls that take no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}
