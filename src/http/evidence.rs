//! `/v1/comparisons/{id}/evidence`: everything that an answer was made from, in a zip.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

use super::customers::NoParameters;
use super::request::{entity_tags, path_id, query};
use super::{Answered, Api};
use crate::words::ComparisonId;

/// `GET /v1/comparisons/{id}/evidence`; `If-None-Match` is answered 304. The same row gives the same bytes.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: ComparisonId = path_id(&request, "id")?;
    query::<NoParameters>(&request)?;
    let wanted = entity_tags(&request, &header::IF_NONE_MATCH)?;
    let evidence = api.service.evidence(&api.tenant, id).await?;
    let tag = format!("\"{}\"", evidence.sha256);
    let is_known = wanted.is_some_and(|tags| tags.have(&tag));
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response.insert_header((header::ETAG, tag)).insert_header((header::CACHE_CONTROL, "private, no-cache"));
    if is_known {
        return Ok(response.finish());
    }
    let disposition = format!("attachment; filename=\"samebill-evidence-{id}.zip\"");
    response.insert_header((header::CONTENT_DISPOSITION, disposition));
    Ok(response.content_type("application/zip").body(evidence.zip))
}
