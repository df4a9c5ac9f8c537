//! Lists: `{"items": […], "next": cursor or null}` and the same as a `Link`.

use std::borrow::Cow;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use super::Answered;
use super::error::Problem;
use super::request::parameter;

/// Most items of a page.
pub(super) const MAX_PAGE: u32 = 200;

/// The size of a page: `limit`, at most [`MAX_PAGE`], which is also what holds without it.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn page_size(limit: Option<&str>, max: u32) -> Result<u32, Problem> {
    match parameter::<u32>("limit", limit)? {
        None => Ok(max),
        Some(n) if (1..=max).contains(&n) => Ok(n),
        Some(_) => Err(Problem::new(super::Code::InvalidParameter, format!("limit is a number from 1 to {max}"))
            .of_parameter("limit")),
    }
}

/// A page, given one item more than it may hold if there are more; `cursor_of` names the last item that it holds.
pub(super) fn page<T: Serialize>(
    request: &HttpRequest,
    mut items: Vec<T>,
    limit: u32,
    cursor_of: impl Fn(&T) -> String,
) -> HttpResponse {
    let has_more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| has_more).map(cursor_of);
    list(request, &items, next.as_deref())
}

/// A page whose next one is known.
pub(super) fn list<T: Serialize>(request: &HttpRequest, items: &[T], next: Option<&str>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        response.insert_header((header::LINK, format!("<{}>; rel=\"next\"", next_url(request, next))));
    }
    response.json(Page { items, next })
}

/// A page of something that has members of its own besides.
pub(super) fn page_of<T: Serialize, H: Serialize>(
    request: &HttpRequest,
    head: H,
    mut items: Vec<T>,
    limit: u32,
    cursor_of: impl Fn(&T) -> String,
) -> HttpResponse {
    #[derive(Serialize)]
    struct PageOf<'a, T, H> {
        #[serde(flatten)]
        head: H,
        items: &'a [T],
        next: Option<&'a str>,
    }
    let has_more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| has_more).map(cursor_of);
    let mut response = HttpResponse::Ok();
    if let Some(next) = &next {
        response.insert_header((header::LINK, format!("<{}>; rel=\"next\"", next_url(request, next))));
    }
    response.json(PageOf { head, items: &items, next: next.as_deref() })
}

/// A page as CSV, for the clients that ask for it: a header, then one row an item. The next page is in `Link` alone.
///
/// * `row`: as many cells as `header` has.
pub(super) fn csv_page<T>(
    request: &HttpRequest,
    header: &[&str],
    mut items: Vec<T>,
    limit: u32,
    cursor_of: impl Fn(&T) -> String,
    row: impl Fn(&T) -> Vec<String>,
) -> Answered {
    let has_more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| has_more).map(cursor_of);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(header).and_then(|()| {
        items.iter().try_for_each(|item| writer.write_record(row(item).iter().map(|cell| safe_cell(cell).into_owned())))
    });
    written.map_err(|error| Problem::internal(format!("a sheet: {error}")))?;
    let body = writer.into_inner().map_err(|error| Problem::internal(format!("a sheet: {error}")))?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = &next {
        response.insert_header((header::LINK, format!("<{}>; rel=\"next\"", next_url(request, next))));
    }
    Ok(response.content_type("text/csv; charset=utf-8").body(body))
}

/// Written member by member, so that items keep the order of their members.
#[derive(Serialize)]
struct Page<'a, T> {
    items: &'a [T],
    next: Option<&'a str>,
}

/// The same path and query with another cursor. Cursors hold only characters that stand in a query as they are.
fn next_url(request: &HttpRequest, cursor: &str) -> String {
    let query = request.query_string().split('&').filter(|part| !part.is_empty() && !part.starts_with("cursor="));
    let query: Vec<String> = query.map(str::to_owned).chain([format!("cursor={cursor}")]).collect();
    format!("{}?{}", request.path(), query.join("&"))
}

/// A cell of a sheet: a text that a spreadsheet would take for a formula gets an apostrophe in front.
pub(crate) fn safe_cell(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell) {
        format!("'{cell}").into()
    } else {
        cell.into()
    }
}

/// Digits with sign, point, separators, percent.
pub(crate) fn is_number(cell: &str) -> bool {
    cell.bytes().any(|b| b.is_ascii_digit())
        && cell.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b',' | b'%'))
        && !cell.get(1..).is_some_and(|rest| rest.contains('-'))
}
