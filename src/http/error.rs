//! Refusals: one table of every code with its status, and the problem document (RFC 9457) made from it.
//!
//! A code never changes its meaning. Texts for the client and causes for the log are held apart: a client never sees
//! SQL or the insides of a panic.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::comparison::question::{QuestionError, QuestionFault};
use crate::comparison::{ComparisonError, NotInForce};
use crate::engine::EngineError;
use crate::shared::SharedError;
use crate::store::StoreError;
use crate::tariff::TariffErrors;
use crate::usage::UsageError;
use crate::words::PeriodError;

/// Seconds after which a refused request may be repeated.
const RETRY_AFTER_S: u64 = 1;

macro_rules! codes {
    ($($code:ident $text:literal $status:literal $retryable:literal $title:literal)*) => {
        /// Why a request is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $code,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// The code as clients see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text,)* }
            }

            /// The status it comes with.
            pub fn status(self) -> u16 {
                match self { $(Self::$code => $status,)* }
            }

            /// Whether the same request can succeed later.
            pub fn is_retryable(self) -> bool {
                match self { $(Self::$code => $retryable,)* }
            }

            /// What it means, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)* }
            }
        }
    };
}

// variant              code                      status retryable title
codes! {
    MalformedJson       "malformed_json"          400 false "The body is not JSON"
    IncompleteBody      "incomplete_body"         400 true  "The body stopped before its end"
    UnknownMember       "unknown_member"          400 false "The body has a member that is not known"
    InvalidMember       "invalid_member"          400 false "A member of the body is missing or wrong"
    UnknownParameter    "unknown_parameter"       400 false "The query has a parameter that is not known"
    InvalidParameter    "invalid_parameter"       400 false "A parameter of the query is missing or wrong"
    InvalidHeader       "invalid_header"          400 false "A header is wrong"
    InvalidId           "invalid_id"              400 false "An id has a form that no id has"
    InvalidPeriod       "invalid_period"          400 false "The dates make no period"
    PlanCount           "plan_count"              400 false "No plan, or too many"
    UsageUnreadable     "usage_unreadable"        400 false "The readings cannot be read exactly"
    InputUnreadable     "input_unreadable"        400 false "The calendar, the prices or the event list cannot be read exactly"
    ForeignHost         "foreign_host"            403 false "The request is not for this machine"
    ForeignOrigin       "foreign_origin"          403 false "The request comes from a foreign web page"
    NoSuchPath          "no_such_path"            404 false "There is nothing at this path"
    CustomerNotFound    "customer_not_found"      404 false "The customer does not exist"
    PlanNotFound        "plan_not_found"          404 false "The plan or its version does not exist"
    CalendarNotFound    "calendar_not_found"      404 false "The calendar does not exist"
    PriceSeriesNotFound "price_series_not_found"  404 false "The price series does not exist"
    EventListNotFound   "event_list_not_found"    404 false "The event list does not exist"
    PeriodNotFound      "period_not_found"        404 false "The billing period is not registered"
    ComparisonNotFound  "comparison_not_found"    404 false "The comparison does not exist"
    ImportNotFound      "import_not_found"        404 false "The import does not exist"
    UsageRevisionNotFound "usage_revision_not_found" 404 false "The usage revision does not exist"
    NoPredecessor       "no_predecessor"          404 false "The comparison replaced none"
    MethodNotAllowed    "method_not_allowed"      405 false "The path does not take this method"
    PeriodRegistered    "period_registered"       409 false "The billing period is registered with other dates"
    PeriodOverlap       "period_overlap"          409 false "The billing period overlaps another one of its cycle"
    PricesOverlap       "prices_overlap"          409 false "A price overlaps a stored one of another length"
    UsageConflict       "usage_conflict"          409 false "A reading differs from the stored one"
    UsageOverlap        "usage_overlap"           409 false "A reading overlaps a stored one of another length"
    NewerEngine         "newer_engine"            409 false "The comparison was made by a newer engine"
    EvidenceIncomplete  "evidence_incomplete"     409 false "Inputs of the comparison are not kept any more"
    ImportNotRevertible "import_not_revertible"   409 false "The import cannot be reverted"
    UsageRevisionGone   "usage_revision_gone"     410 false "The readings of the usage revision are not kept"
    PreconditionFailed  "precondition_failed"     412 false "The comparison is no longer what If-Match names"
    BodyTooLarge        "body_too_large"          413 false "The body is too large"
    UnsupportedMediaType "unsupported_media_type" 415 false "The content type is not taken here"
    PeriodTooLong       "period_too_long"         422 false "The billing period is too long"
    PlanInvalid         "plan_invalid"            422 false "The plan cannot be billed"
    PlanNotInForce      "plan_not_in_force"       422 false "A plan has no version on some days"
    UsageIncomplete     "usage_incomplete"        422 false "Too many readings are missing"
    UsageInstant        "usage_instant"           422 false "An instant lies outside the years 1 to 9999"
    NoMeterPoints       "no_meter_points"         422 false "The file names no meter point"
    FillUneven          "fill_uneven"             422 false "A gap holds no whole number of intervals"
    CurrenciesDiffer    "currencies_differ"       422 false "The plans have different currencies"
    PlansNotBillable    "plans_not_billable"      422 false "Some plans cannot be billed here"
    NumbersTooLarge     "numbers_too_large"       422 false "The numbers are too large to be exact"
    ResultTooLarge      "result_too_large"        422 false "The result is too large"
    DifferentQuestions  "different_questions"     422 false "The comparisons answer different questions"
    Internal            "internal"                500 true  "A fault of ours"
    Overloaded          "overloaded"              503 true  "Too much to do"
    Busy                "busy"                    503 true  "The database is busy"
    StorageFull         "storage_full"            503 true  "There is no room to store it"
    InputsChanging      "inputs_changing"         503 true  "The inputs changed while they were used"
    OutcomeUnknown      "outcome_unknown"         503 true  "It is not known whether the answer was stored"
    NotReady            "not_ready"               503 true  "The service is not ready"
}

/// A refusal on its way to the client.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    detail: String,
    members: Map<String, Value>,
    allow: Option<String>,
    cause: Option<String>,
}

impl Problem {
    /// A refusal with its text for the client.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), members: Map::new(), allow: None, cause: None }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// A member of the case, or null.
    pub fn member(&self, name: &str) -> Value {
        self.members.get(name).cloned().unwrap_or_default()
    }

    /// The same with a member of the case.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.members.insert(name.to_owned(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }

    /// The same with the JSON pointer of the member it speaks of.
    #[must_use]
    pub fn at(self, pointer: impl Into<String>) -> Self {
        self.with("pointer", pointer.into())
    }

    /// The same with the parameter it speaks of.
    #[must_use]
    pub fn of_parameter(self, name: &str) -> Self {
        self.with("parameter", name)
    }

    /// The same with the methods that the path takes.
    #[must_use]
    pub fn allowing(mut self, methods: &str) -> Self {
        self.allow = Some(methods.to_owned());
        self
    }

    /// The same with a cause that only the log sees.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What the log should see, if there is more than the client does.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The problem document, without what belongs to one request: offline commands refuse with the same one.
    pub fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("type".to_owned(), json!(format!("urn:samebill:problem:{}", self.code.as_str())));
        document.insert("title".to_owned(), json!(self.code.title()));
        document.insert("status".to_owned(), json!(self.code.status()));
        document.insert("detail".to_owned(), json!(self.detail));
        document.insert("code".to_owned(), json!(self.code.as_str()));
        document.insert("retryable".to_owned(), json!(self.code.is_retryable()));
        document.extend(self.members.clone());
        document
    }

    /// The response, with the id and the path of the request.
    pub fn respond(&self, request_id: &str, path: &str) -> HttpResponse {
        let mut document = self.document();
        document.insert("instance".to_owned(), json!(path));
        document.insert("request_id".to_owned(), json!(request_id));
        let document = Value::Object(document);
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CONTENT_TYPE, "application/problem+json"));
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        if matches!(self.code.status(), 429 | 503) {
            response.insert_header((header::RETRY_AFTER, RETRY_AFTER_S));
        }
        if let Some(allow) = self.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            response.insert_header((header::ALLOW, allow));
        }
        response.body(document.to_string())
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).expect("the table holds statuses")
    }

    // Without request id and path; `guard.rs` answers with them.
    fn error_response(&self) -> HttpResponse {
        self.respond("", "")
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        ComparisonError::from(error).into()
    }
}

impl From<std::sync::Arc<ComparisonError>> for Problem {
    fn from(error: std::sync::Arc<ComparisonError>) -> Self {
        Self::from(&*error)
    }
}

impl From<ComparisonError> for Problem {
    fn from(error: ComparisonError) -> Self {
        Self::from(&error)
    }
}

impl From<&ComparisonError> for Problem {
    fn from(error: &ComparisonError) -> Self {
        let text = error.to_string();
        match error {
            ComparisonError::NotFound { what, id } => {
                let code = match *what {
                    "customer" => Code::CustomerNotFound,
                    "plan" => Code::PlanNotFound,
                    "period" => Code::PeriodNotFound,
                    "comparison" => Code::ComparisonNotFound,
                    "import" => Code::ImportNotFound,
                    "usage revision" => Code::UsageRevisionNotFound,
                    _ => Code::NoSuchPath,
                };
                Self::new(code, text).with("id", id)
            }
            ComparisonError::PlansNotFound(plans) => {
                let names: Vec<&str> = plans.iter().map(crate::words::PlanReference::as_str).collect();
                Self::new(Code::PlanNotFound, format!("there is no plan {}", names.join(", "))).with("plan_ids", plans)
            }
            ComparisonError::PlanCount(_) => Self::new(Code::PlanCount, text).at("/plan_ids"),
            ComparisonError::PlansNotInForce(plans) => {
                let detail = format!("{text}; ask for the version you mean, such as {}", pinned(plans));
                let plans: Vec<Value> = plans.iter().map(not_in_force).collect();
                Self::new(Code::PlanNotInForce, detail).with("plans", plans)
            }
            ComparisonError::NotBillable { cause, billable } => engine_problem(cause, text).with_billable(billable),
            ComparisonError::ResultTooLarge { bytes, max_bytes } => {
                let detail = format!("{text}; ask for fewer plans");
                Self::new(Code::ResultTooLarge, detail).with("bytes", bytes).with("max_bytes", max_bytes)
            }
            ComparisonError::InputsChanging => Self::new(Code::InputsChanging, format!("{text}; repeat the request")),
            ComparisonError::OutcomeUnknown => {
                Self::new(Code::OutcomeUnknown, format!("{text}; repeat the same request, which is safe"))
            }
            ComparisonError::Overloaded(_) => Self::new(Code::Overloaded, format!("{text}; repeat the request later")),
            ComparisonError::NewerEngine(_) => Self::new(Code::NewerEngine, format!("{text}; ask a newer server")),
            ComparisonError::PreconditionFailed(_) => {
                Self::new(Code::PreconditionFailed, format!("{text}; read it again"))
            }
            ComparisonError::NotOneChain { .. } => Self::new(Code::DifferentQuestions, text).of_parameter("with"),
            ComparisonError::NoPredecessor(_) => {
                Self::new(Code::NoPredecessor, format!("{text}; name the other side with ?with="))
            }
            ComparisonError::EvidenceIncomplete { what, .. } => {
                Self::new(Code::EvidenceIncomplete, format!("{text}; the answer itself can be read")).with("what", what)
            }
            ComparisonError::Store(StoreError::Conflict { code, detail }) => {
                let known = Code::ALL.iter().find(|known| known.as_str() == *code);
                match known {
                    Some(known) => Self::new(*known, detail.clone()),
                    None => Self::internal(format!("the store refuses with an unknown code {code}: {detail}")),
                }
            }
            ComparisonError::Store(StoreError::Busy(cause)) => {
                let problem = Self::new(Code::Busy, "the database is busy; repeat the request later");
                match cause {
                    Some(cause) => problem.caused_by(cause.to_string()),
                    None => problem,
                }
            }
            ComparisonError::Store(StoreError::StorageFull(cause)) => {
                let problem = Self::storage_full();
                match cause {
                    Some(cause) => problem.caused_by(cause.to_string()),
                    None => problem,
                }
            }
            ComparisonError::Store(StoreError::Database(cause)) => Self::internal(cause.to_string()),
            ComparisonError::Store(other) => Self::internal(other.to_string()),
            ComparisonError::Internal(cause) => Self::internal(cause.clone()),
        }
    }
}

impl Problem {
    /// A fault of ours: the client gets the request id, the log the cause.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self::new(Code::Internal, "the service failed; the request id names it in the log").caused_by(cause)
    }

    /// No room for a body or for what was to be stored.
    pub(super) fn storage_full() -> Self {
        Self::new(Code::StorageFull, "the disk is full; nothing was stored, repeat the request later")
    }

    fn with_billable(self, billable: &[crate::words::PlanReference]) -> Self {
        if self.code == Code::PlansNotBillable { self.with("billable_plan_ids", billable) } else { self }
    }
}

fn engine_problem(error: &EngineError, text: String) -> Problem {
    match error {
        EngineError::UsageIncomplete { channel, intervals, expected_intervals, gaps } => {
            Problem::new(Code::UsageIncomplete, format!("{text} on channel {channel}; import the missing ones"))
                .with("channel", channel)
                .with("intervals", intervals)
                .with("expected_intervals", expected_intervals)
                .with("gaps", gaps)
        }
        EngineError::CurrenciesDiffer(plans) => {
            let plans: Vec<Value> =
                plans.iter().map(|(plan, currency)| json!({"plan_id": plan, "currency": currency})).collect();
            Problem::new(Code::CurrenciesDiffer, text).with("plans", plans)
        }
        EngineError::PlansNotBillable(faults) => {
            Problem::new(Code::PlansNotBillable, format!("{text}; the others are in billable_plan_ids"))
                .with("plans", faults)
        }
        EngineError::TooLarge => Problem::new(Code::NumbersTooLarge, text),
    }
}

fn not_in_force(plan: &NotInForce) -> Value {
    let days: Vec<Value> = plan.days.iter().map(|days| json!({"start": days.start, "end": days.end})).collect();
    let pinned: Vec<String> =
        plan.versions.iter().map(|version| format!("{}@{version}", plan.reference.plan_id())).collect();
    json!({"plan_id": plan.reference, "days_without_version": days, "pinnable": pinned})
}

fn pinned(plans: &[NotInForce]) -> String {
    plans
        .first()
        .and_then(|plan| Some(format!("{}@{}", plan.reference.plan_id(), plan.versions.last()?)))
        .unwrap_or_default()
}

impl From<QuestionError> for Problem {
    fn from(error: QuestionError) -> Self {
        let code = match &error.cause {
            QuestionFault::Id(_) => Code::InvalidId,
            QuestionFault::Period(period) => period_code(period),
        };
        Self::new(code, error.cause.to_string()).at(error.pointer)
    }
}

/// A period that is too long is well-formed; the others are not.
pub(super) fn period_code(error: &PeriodError) -> Code {
    match error {
        PeriodError::TooLong(_) => Code::PeriodTooLong,
        PeriodError::NotADate(_) | PeriodError::Empty { .. } => Code::InvalidPeriod,
    }
}

impl From<TariffErrors> for Problem {
    fn from(errors: TariffErrors) -> Self {
        let detail = match errors.0.as_slice() {
            [only] => only.message.clone(),
            [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
            [] => String::new(),
        };
        let pointer = errors.0.first().map(|first| first.pointer.clone()).unwrap_or_default();
        Self::new(Code::PlanInvalid, detail).at(pointer).with("errors", &errors.0)
    }
}

impl From<UsageError> for Problem {
    fn from(error: UsageError) -> Self {
        let mut problem = Self::new(Code::UsageUnreadable, error.to_string()).with("reason", error.code.as_str());
        if let Some(line) = error.line {
            problem = problem.with("line", line);
        }
        if let Some(line) = error.other_line {
            problem = problem.with("other_line", line);
        }
        match error.field {
            Some(field) if field.starts_with('/') => problem.at(field),
            Some(field) => problem.with("field", field),
            None => problem,
        }
    }
}

impl From<SharedError> for Problem {
    fn from(error: SharedError) -> Self {
        let mut problem = Self::new(Code::InputUnreadable, error.to_string());
        if let Some(line) = error.line {
            problem = problem.with("line", line);
        }
        match error.pointer {
            Some(pointer) => problem.at(pointer),
            None => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_once_and_has_a_status_of_refusal() {
        let texts: std::collections::BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{}", code.as_str());
            assert_eq!(code.is_retryable(), code.status() >= 500 || *code == Code::IncompleteBody, "{}", code.as_str());
        }
    }

    #[test]
    fn a_client_never_sees_the_cause_of_a_fault() {
        let problem = Problem::from(StoreError::Database("relation \"comparisons\" does not exist".into()));
        assert_eq!(problem.code(), Code::Internal);
        assert!(!problem.to_string().contains("relation"));
        assert!(problem.cause().is_some_and(|cause| cause.contains("relation")));
    }
}
