//! `/v1/schemas`: what documents may hold, as JSON Schema.

use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use sha2::{Digest as _, Sha256};

use super::Answered;
use super::customers::NoParameters;
use super::request::{entity_tags, query};
use crate::tariff::plan_schema;

/// `GET /v1/schemas/plan`: the JSON Schema of a plan document. It changes with the program only: `If-None-Match` is
/// answered 304.
pub(super) async fn plan(request: HttpRequest) -> Answered {
    static TAG: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", hex::encode(Sha256::digest(plan_schema()))));
    query::<NoParameters>(&request)?;
    let is_known = entity_tags(&request, &header::IF_NONE_MATCH)?.is_some_and(|tags| tags.have(&TAG));
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response.insert_header((header::ETAG, TAG.as_str())).insert_header((header::CACHE_CONTROL, "no-cache"));
    if is_known {
        return Ok(response.finish());
    }
    Ok(response.content_type("application/schema+json").body(plan_schema()))
}
