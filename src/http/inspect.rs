//! `/v1/usage/inspect`: what a file of readings holds, without storing anything.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::request::expect_media_type;
use super::upload::{MEDIA_TYPES, channel_choices, reading_query, spool};
use super::{Answered, Api};
use crate::usage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InspectParameters {
    channel: Option<String>,
}

/// `POST /v1/usage/inspect?time_zone=&as=&unit=&stamp=&date_order=&channel=`: every series of a file, with counts, energy,
/// gaps, overlaps and what was assumed.
pub(super) async fn inspect(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let (mut options, parameters): (_, InspectParameters) = reading_query(&request)?;
    options.channels = channel_choices(parameters.channel.as_deref())?;
    expect_media_type(&request, &MEDIA_TYPES)?;
    let spooled = spool(&api, &request, payload).await?;
    let _permit = api.service.import_permit().await?;
    let inspect = move || usage::inspect(usage::open(spooled.file, &options)?, &options.channels);
    let inspection = api.service.blocking(inspect).await??;
    Ok(HttpResponse::Ok().json(inspection))
}
