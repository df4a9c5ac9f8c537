//! The client of the HTTP API that the commands use.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use super::CliError;
use super::local::PrivateServer;
use crate::config::{Settings, SettingsFlags};

/// Calls of one request while the service says that it is busy. Repeating is safe: the question is the key.
const N_TRIES: u32 = 5;

/// Longest wait between two of them.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Which service the command talks to.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Service")]
pub(super) struct Target {
    /// Talk to this server instead of a database [example: http://127.0.0.1:8080]
    #[arg(long, value_name = "URL", conflicts_with = "database_url")]
    pub(super) server: Option<String>,
    /// Database: sqlite://FILE or postgres://USER@HOST:PORT/NAME [default: sqlite://samebill.db]
    #[arg(long, value_name = "URL")]
    pub(super) database_url: Option<String>,
    /// TOML file with settings
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl Target {
    /// A client of the server that is named, or of a private one.
    pub(super) fn client(&self) -> Result<Client, CliError> {
        if let Some(server) = &self.server {
            return Client::of_server(server);
        }
        let settings = Settings { listen: "127.0.0.1:0".to_owned(), ..self.settings()? };
        Ok(Client::of_private(PrivateServer::start(settings)?))
    }

    /// The file of an embedded database that would have to be made first.
    pub(super) fn missing_database(&self) -> Result<Option<String>, CliError> {
        if self.server.is_some() {
            return Ok(None);
        }
        let url = self.settings()?.database_url;
        Ok(url.strip_prefix("sqlite://").filter(|file| !Path::new(file).exists()).map(str::to_owned))
    }

    fn settings(&self) -> Result<Settings, CliError> {
        let flags = SettingsFlags { database_url: self.database_url.clone(), ..SettingsFlags::default() };
        Settings::load(&flags, self.config.as_deref()).map_err(|e| CliError::new("bad_settings", e))
    }
}

/// A connection to the service.
pub(super) struct Client {
    agent: Agent,
    base_url: String,
    /// Stops with the client.
    private: Option<PrivateServer>,
}

/// A good answer.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    /// 200 or 201.
    pub(super) status: u16,
    /// The answer existed before this call.
    pub(super) is_replayed: bool,
    /// As it was sent.
    pub(super) body: String,
}

impl Reply {
    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, CliError> {
        serde_json::from_str(&self.body).map_err(|e| CliError::new("bad_answer", format!("the answer is no JSON: {e}")))
    }
}

impl Client {
    /// Of a server somewhere.
    pub(super) fn of_server(url: &str) -> Result<Self, CliError> {
        if !url.starts_with("http://") {
            return Err(CliError::Usage(format!(
                "--server {url}: write http://HOST:PORT (this client speaks no TLS; put the tool beside the server)"
            )));
        }
        Ok(Self { agent: agent(), base_url: url.trim_end_matches('/').to_owned(), private: None })
    }

    /// Of a private server, which stops with the client.
    pub(super) fn of_private(server: PrivateServer) -> Self {
        Self { agent: agent(), base_url: server.base_url(), private: Some(server) }
    }

    /// Keeps the private server up until the process is told to stop.
    pub(super) fn wait(self) -> Result<(), CliError> {
        self.private.map_or(Ok(()), PrivateServer::wait)
    }

    /// `http://127.0.0.1:PORT`.
    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// GET.
    pub(super) fn get(&self, path: &str) -> Result<Reply, CliError> {
        self.repeat(|| self.agent.get(self.url(path)).call())
    }

    /// GET of what is no text.
    pub(super) fn download(&self, path: &str) -> Result<Vec<u8>, CliError> {
        self.repeat_bytes(|| self.agent.get(self.url(path)).call()).map(|(.., body)| body)
    }

    /// PUT of a document.
    pub(super) fn put(&self, path: &str, media_type: &str, body: &str) -> Result<Reply, CliError> {
        self.repeat(|| self.agent.put(self.url(path)).content_type(media_type).send(body))
    }

    /// POST of JSON.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Reply, CliError> {
        let body = body.to_string();
        self.repeat(|| self.agent.post(self.url(path)).content_type("application/json").send(body.as_str()))
    }

    /// POST of a document that is answered in the form that is asked for.
    pub(super) fn ask(&self, path: &str, media_type: &str, body: &str, accept: &str) -> Result<Reply, CliError> {
        self.repeat(|| self.agent.post(self.url(path)).content_type(media_type).header("accept", accept).send(body))
    }

    /// POST of a stream of bytes; `open` begins it anew for every try.
    pub(super) fn upload<R: Read>(
        &self,
        path: &str,
        media_type: &str,
        mut open: impl FnMut() -> io::Result<R>,
    ) -> Result<Reply, CliError> {
        self.repeat(|| {
            let mut body = open()?;
            self.agent.post(self.url(path)).content_type(media_type).send(SendBody::from_reader(&mut body))
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Sends until the service is not busy, and takes the answer apart.
    fn repeat(&self, send: impl FnMut() -> Result<Response<Body>, ureq::Error>) -> Result<Reply, CliError> {
        let (status, is_replayed, body) = self.repeat_bytes(send)?;
        let body = String::from_utf8(body)
            .map_err(|e| CliError::new("bad_answer", format!("the answer could not be read: {e}")))?;
        Ok(Reply { status, is_replayed, body })
    }

    /// Status, whether the answer existed before, and the bytes of a good answer.
    fn repeat_bytes(
        &self,
        mut send: impl FnMut() -> Result<Response<Body>, ureq::Error>,
    ) -> Result<(u16, bool, Vec<u8>), CliError> {
        let mut n = 0;
        loop {
            n += 1;
            let mut response = send().map_err(|e| self.unreachable(&e))?;
            let status = response.status().as_u16();
            let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            let is_replayed = header("idempotent-replayed") == Some("true");
            let wait = header("retry-after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
            let body = response
                .body_mut()
                .with_config()
                .limit(u64::MAX)
                .read_to_vec()
                .map_err(|e| CliError::new("bad_answer", format!("the answer could not be read: {e}")))?;
            match status {
                200..300 => return Ok((status, is_replayed, body)),
                429 | 503 if n < N_TRIES => {
                    std::thread::sleep(wait.unwrap_or(Duration::from_millis(200) * n).min(MAX_WAIT));
                }
                _ => return Err(refusal(status, &String::from_utf8_lossy(&body))),
            }
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> CliError {
        CliError::new("server_unreachable", format!("{}: {error}; is `samebill serve` running there?", self.base_url))
    }
}

fn agent() -> Agent {
    // Comparisons of many plans take their time, and so do imports; the server sheds what it cannot do.
    Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("samebill/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(10)))
        .build()
        .into()
}

/// The problem document of a refusal, or one made up for an answer that is none.
fn refusal(status: u16, body: &str) -> CliError {
    match serde_json::from_str::<Value>(body) {
        Ok(problem @ Value::Object(_)) if problem.get("code").is_some() => CliError::Problem(problem),
        _ => CliError::Problem(serde_json::json!({
            "status": status, "code": "bad_answer",
            "detail": format!("the server answered {status} without a reason: is it a Samebill server?"),
        })),
    }
}

/// A query string from the parameters that are there: `?a=1&b=2`, or nothing.
pub(super) fn query(parameters: &[(&str, Option<&str>)]) -> String {
    let mut text = String::new();
    for (name, value) in parameters.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        text.push_str(&escape(value));
    }
    text
}

/// A part of a path or a query, percent-encoded where it is not plain.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_made_of_what_is_there_and_escaped() {
        assert_eq!(
            query(&[("a", None), ("period", Some("2026-06-14/2026-07-14")), ("p", Some("tou@3"))]),
            "?period=2026-06-14%2F2026-07-14&p=tou%403"
        );
        assert_eq!(query(&[("a", None)]), "");
    }

    #[test]
    fn an_answer_that_is_no_problem_document_becomes_one() {
        assert_eq!(refusal(502, "<html>").problem()["code"], "bad_answer");
        assert_eq!(refusal(404, r#"{"code": "unknown_customer"}"#).problem()["code"], "unknown_customer");
    }
}
