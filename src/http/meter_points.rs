//! `POST /v1/imports`: a file of many meter points, a commit a customer; what became of each meter point.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::error::{Code, Problem};
use super::imports::{ProgressBody, file_name, on_conflict};
use super::lists::{csv_page, page, page_size};
use super::request::{choice, expect_media_type, is_true, parameter, path_id, prefers_csv, query};
use super::upload::{MEDIA_TYPES, reading_query, spool};
use super::{Answered, Api};
use crate::comparison::{MeterPointsError, MeterPointsFile};
use crate::store::{ImportCounts, MeterPointCounts, MeterPointRow, MeterPointState};
use crate::words::{ComparisonId, CustomerId, ImportId};

/// Most meter points of a page.
const MAX_METER_POINTS: u32 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportParameters {
    on_conflict: Option<String>,
    file_name: Option<String>,
    fill: Option<String>,
    dry_run: Option<String>,
}

#[derive(Serialize)]
struct ImportedBody {
    #[serde(flatten)]
    progress: ProgressBody,
    /// Comparisons that this call made stale.
    stale_comparison_ids: Vec<ComparisonId>,
    /// The first of those that are unmapped or refused.
    not_stored: Vec<MeterPointRow>,
}

/// `POST /v1/imports?time_zone=&on_conflict=&fill=zero&dry_run=`: the readings of each meter point go to the customer that lists it. 201
/// for a new record, 200 when the call went on with one that was not finished. With `Accept: text/csv` the answer is the
/// list of meter points that are not stored.
pub(super) async fn import(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let (options, parameters): (_, ImportParameters) = reading_query(&request)?;
    let on_conflict = on_conflict(parameters.on_conflict.as_deref())?;
    let fill_zero = choice("fill", parameters.fill.as_deref(), &[("zero", true)])?.unwrap_or(false);
    let dry_run = is_true("dry_run", parameters.dry_run.as_deref())?;
    let file_name = file_name(parameters.file_name)?;
    expect_media_type(&request, &MEDIA_TYPES)?;
    let spooled = spool(&api, &request, payload).await?;
    let file = MeterPointsFile {
        input: spooled.file,
        options,
        file_name,
        sha256: spooled.sha256,
        n_bytes: spooled.n_bytes,
        on_conflict,
        fill_zero,
    };
    if dry_run {
        return preview(&api, &request, file).await;
    }
    let done = api.service.import_meter_points(&api.tenant, file).await?;
    api.service.stop_at("meter_points::before_response").await?;
    let (tenant, id) = (api.tenant.clone(), done.progress.record.id);
    let states = [MeterPointState::Unmapped, MeterPointState::Refused];
    let limit = MAX_METER_POINTS;
    let not_stored =
        api.service.store().read(move |store| store.import_meter_points(&tenant, id, &states, None, limit)).await?;
    let location = (header::LOCATION, format!("/v1/imports/{id}"));
    if prefers_csv(&request) {
        let mut response = sheet(&request, not_stored, limit)?;
        let value = header::HeaderValue::from_str(&location.1).map_err(|e| Problem::internal(e.to_string()))?;
        response.headers_mut().insert(header::LOCATION, value);
        return Ok(response);
    }
    let mut response = if done.is_resumed { HttpResponse::Ok() } else { HttpResponse::Created() };
    response.insert_header(location);
    Ok(response.json(ImportedBody {
        progress: ProgressBody::from(done.progress),
        stale_comparison_ids: done.stale,
        not_stored,
    }))
}

/// What a file of many meter points would do.
#[derive(Serialize)]
struct PreviewBody {
    dry_run: bool,
    format: String,
    sha256: String,
    counts: ImportCounts,
    meter_points: MeterPointCounts,
    customers: u64,
    stale_comparison_ids: Vec<ComparisonId>,
    /// The first of those that would be unmapped or refused.
    not_stored: Vec<MeterPointRow>,
}

async fn preview(api: &Api, request: &HttpRequest, file: MeterPointsFile<tempfile::SpooledTempFile>) -> Answered {
    let sha256 = hex::encode(file.sha256);
    let preview = api.service.preview_meter_points(&api.tenant, file).await?;
    let mut counted = MeterPointCounts::default();
    for point in &preview.meter_points {
        *match point.state {
            MeterPointState::Pending => &mut counted.pending,
            MeterPointState::Done => &mut counted.done,
            MeterPointState::Unmapped => &mut counted.unmapped,
            MeterPointState::Refused => &mut counted.refused,
        } += 1;
    }
    let is_left = |point: &MeterPointRow| point.state != MeterPointState::Done;
    let not_stored: Vec<MeterPointRow> = preview.meter_points.into_iter().filter(is_left).collect();
    if prefers_csv(request) {
        return sheet(request, not_stored, u32::MAX);
    }
    Ok(HttpResponse::Ok().json(PreviewBody {
        dry_run: true,
        format: preview.format,
        sha256,
        counts: preview.counts,
        meter_points: counted,
        customers: preview.n_customers,
        stale_comparison_ids: preview.stale,
        not_stored: not_stored.into_iter().take(MAX_METER_POINTS as usize).collect(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    state: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

const COLUMNS: [&str; 8] =
    ["place", "meter_point_id", "state", "customer_id", "n_readings", "import_id", "code", "detail"];

/// `GET /v1/imports/{id}/meter-points?state=`: in the order of the file. `state` is one of the states, or `not_stored` for those
/// that are unmapped or refused.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: ImportId = path_id(&request, "id")?;
    let parameters: ListParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_METER_POINTS)?;
    let after: Option<u32> = parameter("cursor", parameters.cursor.as_deref())?;
    let states: &[MeterPointState] = choice(
        "state",
        parameters.state.as_deref(),
        &[
            ("pending", &[MeterPointState::Pending][..]),
            ("done", &[MeterPointState::Done]),
            ("unmapped", &[MeterPointState::Unmapped]),
            ("refused", &[MeterPointState::Refused]),
            ("not_stored", &[MeterPointState::Unmapped, MeterPointState::Refused]),
        ],
    )?
    .unwrap_or(&[]);
    let tenant = api.tenant.clone();
    let items = api
        .service
        .store()
        .read(move |store| {
            store.import(&tenant, id)?;
            store.import_meter_points(&tenant, id, states, after, limit + 1)
        })
        .await?;
    if prefers_csv(&request) {
        return sheet(&request, items, limit);
    }
    Ok(page(&request, items, limit, |last| last.place.to_string()))
}

fn sheet(request: &HttpRequest, items: Vec<MeterPointRow>, limit: u32) -> Answered {
    csv_page(
        request,
        &COLUMNS,
        items,
        limit,
        |last| last.place.to_string(),
        |item| {
            vec![
                item.place.to_string(),
                item.meter_point_id.clone().unwrap_or_default(),
                item.state.as_str().to_owned(),
                item.customer_id.as_ref().map(CustomerId::to_string).unwrap_or_default(),
                item.n_readings.to_string(),
                item.part_id.map(|id| id.to_string()).unwrap_or_default(),
                item.code.clone().unwrap_or_default(),
                item.detail.clone().unwrap_or_default(),
            ]
        },
    )
}

impl From<MeterPointsError> for Problem {
    fn from(error: MeterPointsError) -> Self {
        match error {
            MeterPointsError::Unreadable(error) => error.into(),
            MeterPointsError::NoMeterPoints => Self::new(Code::NoMeterPoints, error.to_string()),
            MeterPointsError::Service(error) => error.into(),
        }
    }
}
