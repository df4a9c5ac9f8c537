//! `/v1/price-series`: prices by instant that plans name as a series, and their immutable versions.

use actix_web::http::header;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::DateTime;
use serde::{Deserialize, Serialize};

use super::calendars::{list_of_kind, newest, versions_of};
use super::error::{Code, Problem};
use super::lists::{page_of, page_size};
use super::request::{body, choice, expect_media_type, parameter, parse_json, path_id, query};
use super::{Answered, Api};
use crate::comparison::{PutPrices, put_prices};
use crate::shared::{self, Place, PriceRow};
use crate::store::{Put, SharedKind};
use crate::words::{InputName, Timestamp};

/// Most prices of a page.
const MAX_PRICES: u32 = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutParameters {
    replace: Option<String>,
    step_minutes: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutBody {
    #[serde(default)]
    step_minutes: Option<u32>,
    prices: Vec<PriceBody>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceBody {
    start: String,
    price: String,
}

#[derive(Serialize)]
struct PutAnswer {
    id: InputName,
    version: u32,
    n_prices: usize,
    first_start: Option<String>,
    last_end: Option<String>,
    added: u64,
    replaced: u64,
    unchanged: u64,
    removed: u64,
    created_at: Timestamp,
}

/// `PUT /v1/price-series/{id}`: prices go into the series, in place of those that begin at the same instants; with
/// `?replace=all` they are the whole series. A series that differs is a new version. CSV can say `?step_minutes=`.
pub(super) async fn put(api: Data<Api>, request: HttpRequest, payload: Payload) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    let parameters: PutParameters = query(&request)?;
    let replace_all = choice("replace", parameters.replace.as_deref(), &[("all", true)])?.unwrap_or(false);
    let step_minutes: Option<u32> = parameter("step_minutes", parameters.step_minutes.as_deref())?;
    let media_type = expect_media_type(&request, &["text/csv", "application/json"])?;
    let is_json = media_type == "application/json";
    if is_json && step_minutes.is_some() {
        let detail = "step_minutes is a member of a JSON body";
        return Err(Problem::new(Code::InvalidParameter, detail).of_parameter("step_minutes"));
    }
    let body = body(&request, payload, api.settings.max_body_bytes).await?;
    let series = api
        .service
        .blocking(move || {
            if is_json {
                let sent: PutBody = parse_json(&body)?;
                let row = |(i, price): (usize, PriceBody)| PriceRow {
                    start: price.start,
                    price: price.price,
                    place: Place::Pointer(format!("/prices/{i}")),
                };
                let rows = sent.prices.into_iter().enumerate().map(row).collect();
                return shared::series_of(rows, sent.step_minutes).map_err(Problem::from);
            }
            let text = std::str::from_utf8(&body)
                .map_err(|_| Problem::new(Code::InputUnreadable, "the file is not UTF-8; save it as UTF-8"))?;
            shared::read_csv_prices(text, step_minutes).map_err(Problem::from)
        })
        .await??;
    let (tenant, wanted) = (api.tenant.clone(), id.clone());
    let put = api
        .service
        .store()
        .write(move |store| put_prices(store, &tenant, &wanted, &series, replace_all, Timestamp::now()))
        .await?;
    let mut response = match &put.input {
        Put::Created(_) => HttpResponse::Created(),
        Put::Changed(_) | Put::Unchanged(_) => HttpResponse::Ok(),
    };
    let PutPrices { input, series, added, replaced, unchanged, removed } = put;
    let input = input.into_inner();
    response.insert_header((header::LOCATION, format!("/v1/price-series/{id}")));
    Ok(response.json(PutAnswer {
        id,
        version: input.version,
        n_prices: series.n_prices(),
        first_start: series.runs().first().map(|run| shared::instant(run.start)),
        last_end: series.runs().last().map(|run| shared::instant(run.end())),
        added,
        replaced,
        unchanged,
        removed,
        created_at: input.created_at,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadParameters {
    start: Option<String>,
    end: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Head {
    id: InputName,
    version: u32,
    created_at: Timestamp,
}

#[derive(Serialize)]
struct PriceItem {
    start: String,
    end: String,
    price: String,
    #[serde(skip)]
    instant: i64,
}

/// `GET /v1/price-series/{id}?start=&end=`: prices of the newest version that hold at some instant of the range.
pub(super) async fn get(api: Data<Api>, request: HttpRequest) -> Answered {
    let id: InputName = path_id(&request, "id")?;
    let parameters: ReadParameters = query(&request)?;
    let limit = page_size(parameters.limit.as_deref(), MAX_PRICES)?;
    let after: Option<i64> = parameter("cursor", parameters.cursor.as_deref())?;
    let start = instant("start", parameters.start.as_deref())?.unwrap_or(i64::MIN);
    let end = instant("end", parameters.end.as_deref())?.unwrap_or(i64::MAX);
    if end <= start {
        return Err(Problem::new(Code::InvalidParameter, "a range ends after it starts").of_parameter("end"));
    }
    let newest = newest(&api, SharedKind::PriceSeries, id).await?;
    let series = shared::decode(&newest.content).map_err(|error| {
        Problem::internal(format!("version {} of price series {}: {error}", newest.version, newest.id))
    })?;
    let series = series.within(&(start..end));
    let items = series.prices().filter(|price| after.is_none_or(|after| price.start > after));
    let items: Vec<PriceItem> = items
        .take(limit as usize + 1)
        .map(|price| PriceItem {
            start: shared::instant(price.start),
            end: shared::instant(price.end()),
            price: shared::price_text(price.digits, series.scale()),
            instant: price.start,
        })
        .collect();
    let head = Head { id: newest.id, version: newest.version, created_at: newest.created_at };
    Ok(page_of(&request, head, items, limit, |last| last.instant.to_string()))
}

fn instant(name: &str, text: Option<&str>) -> Result<Option<i64>, Problem> {
    text.map(|text| {
        // A plus sign that was not escaped reads as a blank.
        DateTime::parse_from_rfc3339(&text.replace(' ', "+")).map(|instant| instant.timestamp()).map_err(|_| {
            let detail = format!("{name} is an instant, such as 2026-06-01T00:00:00Z");
            Problem::new(Code::InvalidParameter, detail).of_parameter(name)
        })
    })
    .transpose()
}

/// `GET /v1/price-series/{id}/versions`, newest first, without prices.
pub(super) async fn versions(api: Data<Api>, request: HttpRequest) -> Answered {
    versions_of(&api, &request, SharedKind::PriceSeries).await
}

/// `GET /v1/price-series`: the newest version of each, ordered by id, without prices.
pub(super) async fn list(api: Data<Api>, request: HttpRequest) -> Answered {
    list_of_kind(&api, &request, SharedKind::PriceSeries).await
}
