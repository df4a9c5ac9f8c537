//! `/v1/usage/inspect`: what a file of readings holds, without storing anything.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::request::{expect_media_type, query};
use super::upload::{MEDIA_TYPES, ReadingParameters, spool};
use super::{Answered, Api};
use crate::usage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InspectParameters {
    time_zone: Option<String>,
    r#as: Option<String>,
    unit: Option<String>,
    stamp: Option<String>,
    date_order: Option<String>,
    channel: Option<String>,
}

/// `POST /v1/usage/inspect?time_zone=&as=&unit=&stamp=&date_order=&channel=`: every series of a file, with counts, energy,
/// gaps, overlaps and what was assumed.
pub(super) async fn inspect(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let parameters: InspectParameters = query(&request)?;
    let reading = ReadingParameters {
        time_zone: parameters.time_zone.as_deref(),
        format: parameters.r#as.as_deref(),
        unit: parameters.unit.as_deref(),
        stamp: parameters.stamp.as_deref(),
        date_order: parameters.date_order.as_deref(),
        channel: parameters.channel.as_deref(),
    };
    let options = reading.check()?;
    expect_media_type(&request, &MEDIA_TYPES)?;
    let spooled = spool(&api, &request, payload).await?;
    let _permit = api.service.import_permit().await?;
    let inspect = move || usage::inspect(usage::open(spooled.file, &options)?, &options.channels);
    let inspection = api.service.blocking(inspect).await??;
    Ok(HttpResponse::Ok().json(inspection))
}
