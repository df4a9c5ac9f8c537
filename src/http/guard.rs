//! Around every request: its id, who may ask at all, how much is taken on, refusals as problem documents, one line in
//! the log.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use uuid::Uuid;

use super::Api;
use super::error::{Code, Problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The middleware.
///
/// # Errors
/// None of its own: refusals are responses.
pub async fn guard(
    api: Data<Api>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = Uuid::now_v7().to_string();
    let begun = Instant::now();
    let method = request.method().clone();
    let path = request.path().to_owned();

    let in_flight = InFlight::enter(&api.n_in_flight);
    let refused = check_caller(request.headers())
        .and_then(|()| in_flight.check(api.settings.max_requests_in_flight, &path))
        .err();
    let mut response = match refused {
        Some(problem) => {
            log_problem(&problem, &request_id);
            let response = problem.respond(&request_id, &path);
            request.into_response(response)
        }
        None => match next.call(request).await {
            Ok(response) => as_problem(response.map_into_boxed_body(), &request_id, &path),
            Err(error) => return Err(error),
        },
    };

    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    tracing::info!(
        %request_id, %method, path, status = response.status().as_u16(), ms = begun.elapsed().as_millis(), "answered"
    );
    Ok(response)
}

/// A refusal gets its document with the id and the path of the request.
fn as_problem(response: ServiceResponse<BoxBody>, request_id: &str, path: &str) -> ServiceResponse<BoxBody> {
    let problem = match response.response().error() {
        None => return response,
        Some(error) => match error.as_error::<Problem>() {
            Some(problem) => {
                log_problem(problem, request_id);
                problem.respond(request_id, path)
            }
            // What actix refuses by itself; no handler of ours leaves that to it.
            None if response.status().is_server_error() => {
                let problem = Problem::internal(error.to_string());
                log_problem(&problem, request_id);
                problem.respond(request_id, path)
            }
            None => return response,
        },
    };
    response.into_response(problem)
}

fn log_problem(problem: &Problem, request_id: &str) {
    if problem.code().status() >= 500 {
        let cause = problem.cause().unwrap_or_default();
        tracing::error!(request_id, code = problem.code().as_str(), cause, "{problem}");
    } else {
        tracing::debug!(request_id, code = problem.code().as_str(), "{problem}");
    }
}

/// While there are no API keys only this machine may ask, and no web page that it shows: a `Host` that names
/// another machine is DNS rebinding, an `Origin` other than our own is a foreign page.
fn check_caller(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?").to_owned());
    let host = text(header::HOST).unwrap_or_default();
    if !matches!(host_name(&host), "localhost" | "127.0.0.1" | "[::1]") {
        let detail = format!("this service answers to localhost, 127.0.0.1 and [::1], not to {host:?}");
        return Err(Problem::new(Code::ForeignHost, detail));
    }
    match text(header::ORIGIN) {
        Some(origin) if origin != format!("http://{host}") => {
            let detail = format!("a web page of {origin:?} may not use this service");
            Err(Problem::new(Code::ForeignOrigin, detail))
        }
        _ => Ok(()),
    }
}

fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Counts a request while it is in flight.
struct InFlight<'a> {
    counter: &'a AtomicUsize,
    n_before: usize,
}

impl<'a> InFlight<'a> {
    fn enter(counter: &'a AtomicUsize) -> Self {
        Self { counter, n_before: counter.fetch_add(1, Ordering::Relaxed) }
    }

    fn check(&self, max: usize, path: &str) -> Result<(), Problem> {
        // A server that is full is alive: who watches it is answered.
        if self.n_before < max || matches!(path, "/livez" | "/readyz") {
            return Ok(());
        }
        Err(Problem::new(Code::Overloaded, format!("{max} requests are in flight; repeat the request later")))
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, origin: Option<&str>) -> Result<(), Code> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        check_caller(&headers).map_err(|problem| problem.code())
    }

    #[test]
    fn only_this_machine_and_its_own_pages_may_ask() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]", "[::1]:80"] {
            assert_eq!(check(host, None), Ok(()), "{host}");
            assert_eq!(check(host, Some(&format!("http://{host}"))), Ok(()), "{host}");
        }
        for host in ["", "example.org", "localhost.example.org", "127.0.0.1.example.org:80", "[::2]:80", "localhost:"] {
            assert_eq!(check(host, None), Err(Code::ForeignHost), "{host}");
        }
        for origin in ["http://example.org", "null", "https://localhost:8080", "http://localhost:3000"] {
            assert_eq!(check("localhost:8080", Some(origin)), Err(Code::ForeignOrigin), "{origin}");
        }
    }
}
