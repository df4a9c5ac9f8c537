//! Reading requests: bodies, queries, ids of paths, content types. Whatever is not known is refused.

use std::str::FromStr;

use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut, Payload, Query};
use futures_util::StreamExt as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_path_to_error::Segment;

use super::error::{Code, Problem};

/// A JSON body, whole.
///
/// # Errors
/// 415 for another content type, 413, 400 for a body that stops, is no JSON, has unknown, missing or wrong members.
pub(super) async fn json<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: Payload,
    max_bytes: u64,
) -> Result<T, Problem> {
    expect_media_type(request, &["application/json"])?;
    let body = body(request, payload, max_bytes).await?;
    parse_json(&body)
}

/// The bytes of a body that fits in memory.
///
/// # Errors
/// 413, and 400 for a body that stops.
pub(super) async fn body(request: &HttpRequest, mut payload: Payload, max_bytes: u64) -> Result<Bytes, Problem> {
    refuse_announced_size(request, max_bytes)?;
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| payload_problem(&error))?;
        if (body.len() + chunk.len()) as u64 > max_bytes {
            return Err(too_large(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Refuses a body whose `Content-Length` says that it is too large, before it is read.
///
/// # Errors
/// 413.
pub(super) fn refuse_announced_size(request: &HttpRequest, max_bytes: u64) -> Result<(), Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced: Option<u64> = announced.and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes| bytes > max_bytes) { Err(too_large(max_bytes)) } else { Ok(()) }
}

/// 413 with the limit.
pub(super) fn too_large(max_bytes: u64) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("a body here has at most {max_bytes} bytes")).with("max_bytes", max_bytes)
}

/// What a broken transfer means.
pub(super) fn payload_problem(error: &PayloadError) -> Problem {
    Problem::new(Code::IncompleteBody, "the body stopped before its end; send it again").caused_by(error.to_string())
}

/// The content type without parameters, in small letters, if it is one of those.
///
/// # Errors
/// 415 without one, with another one, with a character set other than UTF-8, or with a content encoding.
pub(super) fn expect_media_type(request: &HttpRequest, allowed: &[&'static str]) -> Result<&'static str, Problem> {
    let refused = |what: String| {
        let taken = allowed.join(" or ");
        Problem::new(Code::UnsupportedMediaType, format!("{what}; taken here: {taken}")).with("allowed", allowed)
    };
    if let Some(encoding) = request.headers().get(header::CONTENT_ENCODING)
        && encoding.as_bytes() != b"identity"
    {
        return Err(refused("bodies are taken without a content encoding".to_owned()));
    }
    let Some(value) = request.headers().get(header::CONTENT_TYPE) else {
        return Err(refused("the request has no content type".to_owned()));
    };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let is_utf8 = |parameter: &str| parameter.replace('"', "") == "charset=utf-8";
    match allowed.iter().find(|allowed| **allowed == media_type) {
        Some(found) if parts.all(is_utf8) => Ok(found),
        _ => Err(refused(format!("{text:?} is not taken here"))),
    }
}

/// Reads JSON, naming the member that is wrong.
///
/// # Errors
/// 400 `malformed_json` with line and column, `unknown_member` or `invalid_member` with a JSON pointer.
pub(super) fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // What is no JSON at all is called that, whatever its first members are.
    serde_json::from_slice::<IgnoredAny>(body).map_err(|error| json_problem(&error, ""))?;
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(error.path());
        json_problem(error.inner(), &pointer)
    })
}

fn json_problem(error: &serde_json::Error, pointer: &str) -> Problem {
    if !error.is_data() {
        return Problem::new(Code::MalformedJson, format!("the body is not JSON: {error}"))
            .with("line", error.line())
            .with("column", error.column());
    }
    // serde names the member in its own, documented words; the path may end at the object around it.
    let text = error.to_string();
    let named = |before: &str| text.strip_prefix(before).and_then(|rest| rest.split('`').next()).map(escape);
    let member = |name: String| {
        if pointer.ends_with(&format!("/{name}")) { pointer.to_owned() } else { format!("{pointer}/{name}") }
    };
    if let Some(name) = named("unknown field `") {
        return Problem::new(Code::UnknownMember, text.clone()).at(member(name));
    }
    let place = match (named("missing field `"), named("duplicate field `")) {
        (Some(name), _) => format!("{pointer}/{name}"),
        (None, Some(name)) => member(name),
        (None, None) => pointer.to_owned(),
    };
    Problem::new(Code::InvalidMember, text).at(place)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } => format!("{pointer}/{}", escape(key)),
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}

/// A member's name within a JSON pointer (RFC 6901).
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The query, whose members are all optional texts.
///
/// # Errors
/// 400 `unknown_parameter`, or `invalid_parameter` for one that stands twice or holds a NUL.
pub(super) fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Problem> {
    parse_query(request.query_string())
}

/// The query in two: parameters that several calls take alike, by their names, and those of this call.
///
/// # Errors
/// As [`query`].
pub(super) fn split_query<A: DeserializeOwned, B: DeserializeOwned>(
    request: &HttpRequest,
    names: &[&str],
) -> Result<(A, B), Problem> {
    let parts = request.query_string().split('&');
    let (alike, own): (Vec<&str>, Vec<&str>) =
        parts.partition(|part| names.contains(&part.split('=').next().unwrap_or_default()));
    Ok((parse_query(&alike.join("&"))?, parse_query(&own.join("&"))?))
}

fn parse_query<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    if text.contains("%00") {
        return Err(Problem::new(Code::InvalidParameter, "no parameter holds a NUL character"));
    }
    Query::<T>::from_query(text).map(Query::into_inner).map_err(|error| {
        let text = error.to_string();
        let name = |before: &str| Some(text.split_once(before)?.1.split('`').next()?.to_owned());
        if let Some(name) = name("unknown field `") {
            return Problem::new(Code::UnknownParameter, format!("there is no parameter {name} here"))
                .of_parameter(&name);
        }
        match name("duplicate field `") {
            Some(name) => Problem::new(Code::InvalidParameter, format!("{name} stands twice")).of_parameter(&name),
            None => Problem::new(Code::InvalidParameter, text),
        }
    })
}

/// One parameter of the query, read from its text.
///
/// # Errors
/// 400 `invalid_parameter` naming it.
pub(super) fn parameter<T: FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>, Problem>
where
    T::Err: std::fmt::Display,
{
    let read = |text: &str| {
        text.parse().map_err(|e| Problem::new(Code::InvalidParameter, format!("{name}: {e}")).of_parameter(name))
    };
    text.map(read).transpose()
}

/// One parameter of the query that takes one of a few words.
///
/// # Errors
/// 400 `invalid_parameter` naming it and the words.
pub(super) fn choice<T: Copy>(name: &str, text: Option<&str>, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
    let Some(text) = text else { return Ok(None) };
    if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
        return Ok(Some(*choice));
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let detail = format!("{name} is one of {}, not {text:?}", words.join(", "));
    Err(Problem::new(Code::InvalidParameter, detail).of_parameter(name))
}

/// A parameter that is `true` or `false`, which is what holds without it.
///
/// # Errors
/// 400 `invalid_parameter`.
pub(super) fn is_true(name: &str, text: Option<&str>) -> Result<bool, Problem> {
    Ok(choice(name, text, &[("true", true), ("false", false)])?.unwrap_or(false))
}

/// A parameter that must be there.
///
/// # Errors
/// 400 `invalid_parameter` naming it.
pub(super) fn required<T>(name: &str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::new(Code::InvalidParameter, format!("{name} is needed here")).of_parameter(name))
}

/// An id in the path.
///
/// # Errors
/// 400 `invalid_id`.
pub(super) fn path_id<T: FromStr>(request: &HttpRequest, name: &str) -> Result<T, Problem>
where
    T::Err: std::fmt::Display,
{
    let text = path_part(request, name);
    text.parse().map_err(|error| Problem::new(Code::InvalidId, format!("{text:?} in the path: {error}")))
}

/// A part of the path, its percent signs decoded.
pub(super) fn path_part(request: &HttpRequest, name: &str) -> String {
    let decoded: Vec<String> = request.match_info().load().unwrap_or_default();
    let parts = request.match_info().iter().map(|(name, _)| name).zip(decoded);
    parts.into_iter().find(|(part, _)| *part == name).map(|(_, text)| text).unwrap_or_default()
}

/// Whether the client wants text for people: `Accept` names `text/plain` before any JSON.
pub(super) fn prefers_text(request: &HttpRequest) -> bool {
    prefers(request, "text/plain")
}

/// Whether the client wants a sheet: `Accept` names `text/csv` before any JSON.
pub(super) fn prefers_csv(request: &HttpRequest) -> bool {
    prefers(request, "text/csv")
}

fn prefers(request: &HttpRequest, media_type: &str) -> bool {
    let accepted = request.headers().get_all(header::ACCEPT).filter_map(|value| value.to_str().ok());
    let mut types = accepted
        .flat_map(|value| value.split(','))
        .map(|part| part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    types.find(|name| name == media_type || name == "application/json").is_some_and(|name| name == media_type)
}

/// What `If-Match` and `If-None-Match` ask for.
pub(super) enum Tags {
    /// `*`: whatever there is.
    Any,
    /// One of these, with their quotes.
    These(Vec<String>),
}

impl Tags {
    /// Whether one of them is this one, weak or strong: what `If-None-Match` compares.
    pub(super) fn have(&self, tag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|known| known.strip_prefix("W/").unwrap_or(known) == tag),
        }
    }
}

/// The entity tags of a header.
///
/// # Errors
/// 400 `invalid_header` for something else than tags.
pub(super) fn entity_tags(request: &HttpRequest, name: &header::HeaderName) -> Result<Option<Tags>, Problem> {
    let mut tags = Vec::new();
    let mut is_there = false;
    for value in request.headers().get_all(name) {
        is_there = true;
        let wrong = || {
            Problem::new(Code::InvalidHeader, format!("{name} is a list of entity tags or *"))
                .with("header", name.as_str())
        };
        let text = value.to_str().map_err(|_| wrong())?.trim();
        if text == "*" {
            return Ok(Some(Tags::Any));
        }
        for tag in text.split(',').map(str::trim) {
            let bare = tag.strip_prefix("W/").unwrap_or(tag);
            if bare.len() < 2 || !bare.starts_with('"') || !bare.ends_with('"') {
                return Err(wrong());
            }
            tags.push(tag.to_owned());
        }
    }
    Ok(is_there.then_some(Tags::These(tags)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::question::QuestionBody;
    use crate::words::CustomerDocument;

    fn refused<T: DeserializeOwned>(body: &str) -> (Code, serde_json::Value) {
        let Err(problem) = parse_json::<T>(body.as_bytes()) else { panic!("{body} is refused") };
        (problem.code(), problem.member("pointer"))
    }

    #[test]
    fn a_wrong_member_is_named_by_its_pointer() {
        let cases = [
            (
                r#"{"customer_id":"c","billing_period":"2026","plan_ids":["a"],"force":1}"#,
                Code::UnknownMember,
                "/force",
            ),
            (
                r#"{"customer_id":"c","billing_period":{"start":"2026-01-01","end":"2026-02-01","x~/":1},"plan_ids":["a"]}"#,
                Code::UnknownMember,
                "/billing_period/x~0~1",
            ),
            (r#"{"customer_id":"c","plan_ids":["a"]}"#, Code::InvalidMember, "/billing_period"),
            (
                r#"{"customer_id":"c","billing_period":{"start":"2026-01-01"},"plan_ids":["a"]}"#,
                Code::InvalidMember,
                "/billing_period/end",
            ),
            (r#"{"customer_id":1,"billing_period":"2026","plan_ids":["a"]}"#, Code::InvalidMember, "/customer_id"),
            (r#"{"customer_id":"c","billing_period":"2026","plan_ids":["a",2]}"#, Code::InvalidMember, "/plan_ids/1"),
            (
                r#"{"customer_id":"c","customer_id":"d","billing_period":"2026","plan_ids":["a"]}"#,
                Code::InvalidMember,
                "/customer_id",
            ),
            (r#"{"customer_id":"c","billing_period":7,"plan_ids":["a"]}"#, Code::InvalidMember, "/billing_period"),
        ];
        for (body, code, pointer) in cases {
            assert_eq!(refused::<QuestionBody>(body), (code, pointer.into()), "{body}");
        }
        let zone = r#"{"time_zone":"Mars/Olympus"}"#;
        assert_eq!(refused::<CustomerDocument>(zone), (Code::InvalidMember, "/time_zone".into()));
        let point = r#"{"time_zone":"Europe/London","meter_points":[{"id":"1","channel":"import","y":1}]}"#;
        assert_eq!(refused::<CustomerDocument>(point), (Code::UnknownMember, "/meter_points/0/y".into()));
    }

    #[test]
    fn what_is_not_json_is_refused_as_such() {
        for body in ["", "{", "{\"a\":", "nonsense", "{} {}", "[1,]", "{\"customer_id\":\"\u{0}\"}"] {
            assert_eq!(refused::<QuestionBody>(body).0, Code::MalformedJson, "{body}");
        }
        assert_eq!(refused::<QuestionBody>(&"[".repeat(100_000)).0, Code::MalformedJson);
    }
}
