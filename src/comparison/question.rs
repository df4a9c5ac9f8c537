//! The question as a client writes it, and its check: every fault with the place where it stands.

use std::fmt;

use chrono::NaiveDate;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use crate::words::{BillingPeriod, CustomerId, IdError, PeriodError, PeriodId, PlanReference};

/// The body of `POST /v1/comparisons`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionBody {
    /// Whose usage.
    pub customer_id: String,
    /// `"2026-06"`, `"2026"`, `{"start", "end"}` (end exclusive) or the id of a registered period.
    pub billing_period: PeriodBody,
    /// 1 to 1,000 plan references; order and repetition do not matter.
    pub plan_ids: Vec<String>,
}

/// A billing period as a client writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PeriodBody {
    /// A year, a month, or the id of a registered period.
    Text(String),
    /// Local dates, end exclusive.
    Dates(Dates),
}

// Not `untagged`: that would hide which member of the dates is wrong.
impl<'de> Deserialize<'de> for PeriodBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PeriodVisitor;
        impl<'de> Visitor<'de> for PeriodVisitor {
            type Value = PeriodBody;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#""2026-06", "2026", {"start", "end"} or the id of a registered period"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PeriodBody, E> {
                Ok(PeriodBody::Text(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<PeriodBody, A::Error> {
                Dates::deserialize(MapAccessDeserializer::new(members)).map(PeriodBody::Dates)
            }
        }
        deserializer.deserialize_any(PeriodVisitor)
    }
}

/// Two local dates, `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dates {
    /// First day.
    pub start: String,
    /// The day after the last.
    pub end: String,
}

/// A question whose parts are right by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedQuestion {
    /// Whose usage.
    pub customer_id: CustomerId,
    /// Over which days.
    pub period: Period,
    /// As written: neither sorted nor without repetition.
    pub plan_ids: Vec<PlanReference>,
}

/// Days, or the name of registered ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Period {
    /// Known days.
    Days(BillingPeriod),
    /// To be looked up.
    Registered(PeriodId),
}

/// A part of a question that is wrong by itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{pointer}: {cause}")]
pub struct QuestionError {
    /// JSON pointer of the member.
    pub pointer: String,
    /// What is wrong with it.
    pub cause: QuestionFault,
}

/// What is wrong with a part of a question.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuestionFault {
    /// No id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// No billing period.
    #[error(transparent)]
    Period(#[from] PeriodError),
}

impl QuestionBody {
    /// Reads ids and dates.
    ///
    /// # Errors
    /// [`QuestionError`] names the first member that is wrong.
    pub fn check(&self) -> Result<CheckedQuestion, QuestionError> {
        let at = |pointer: String| move |cause: IdError| QuestionError { pointer, cause: cause.into() };
        Ok(CheckedQuestion {
            customer_id: self.customer_id.parse().map_err(at("/customer_id".to_owned()))?,
            period: self.billing_period.check("/billing_period")?,
            plan_ids: self
                .plan_ids
                .iter()
                .enumerate()
                .map(|(i, id)| id.parse().map_err(at(format!("/plan_ids/{i}"))))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl PeriodBody {
    /// Reads a period that stands at `pointer`.
    ///
    /// # Errors
    /// [`QuestionError`] for a date that no calendar has, an empty or too long period, or an id that is none.
    pub fn check(&self, pointer: &str) -> Result<Period, QuestionError> {
        let error = |pointer: String, cause: QuestionFault| QuestionError { pointer, cause };
        match self {
            Self::Text(text) => match BillingPeriod::from_year_or_month(text) {
                Some(period) => period.map(Period::Days).map_err(|e| error(pointer.to_owned(), e.into())),
                None => text.parse().map(Period::Registered).map_err(|e: IdError| error(pointer.to_owned(), e.into())),
            },
            Self::Dates(dates) => {
                let start = date(&dates.start).map_err(|e| error(format!("{pointer}/start"), e.into()))?;
                let end = date(&dates.end).map_err(|e| error(format!("{pointer}/end"), e.into()))?;
                BillingPeriod::new(start, end).map(Period::Days).map_err(|e| error(pointer.to_owned(), e.into()))
            }
        }
    }

    /// Reads the spelling of query parameters: as in a body, two dates with a slash between them
    /// (`2026-06-14/2026-07-14`).
    pub fn from_query(text: &str) -> Self {
        match text.split_once('/') {
            Some((start, end)) => Self::Dates(Dates { start: start.to_owned(), end: end.to_owned() }),
            None => Self::Text(text.to_owned()),
        }
    }
}

/// A date in its one spelling, `YYYY-MM-DD`.
///
/// # Errors
/// [`PeriodError::NotADate`] for another spelling or a day that the calendar does not have.
pub fn date(text: &str) -> Result<NaiveDate, PeriodError> {
    let plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    text.parse().ok().filter(|_| plain).ok_or_else(|| PeriodError::NotADate(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(period: &serde_json::Value) -> Result<Period, QuestionError> {
        serde_json::from_value::<PeriodBody>(period.clone()).unwrap().check("/billing_period")
    }

    #[test]
    fn a_month_and_its_dates_are_the_same_days() {
        let dates = serde_json::json!({"start": "2026-06-01", "end": "2026-07-01"});
        assert_eq!(check(&"2026-06".into()).unwrap(), check(&dates).unwrap());
        assert_eq!(PeriodBody::from_query("2026-06-01/2026-07-01").check("").unwrap(), check(&dates).unwrap());
    }

    #[test]
    fn a_wrong_date_is_named_where_it_stands() {
        let at = |period: serde_json::Value| check(&period).unwrap_err().pointer;
        assert_eq!(at(serde_json::json!({"start": "2026-02-31", "end": "2026-04-01"})), "/billing_period/start");
        assert_eq!(at(serde_json::json!({"start": "2026-02-01", "end": "2026-4-1"})), "/billing_period/end");
        assert_eq!(at(serde_json::json!({"start": "2026-02-01", "end": "2026-01-01"})), "/billing_period");
        assert_eq!(at("2026-13".into()), "/billing_period");
        assert_eq!(at("june north".into()), "/billing_period");
    }
}
