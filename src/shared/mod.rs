//! Calendars, price series and event lists, which all customers of a tenant share: what files of them hold, how a new
//! file and what is stored become the next version, and the bytes of a version. No tariff, no money, no database here.
//!
//! `calendar.rs`, `prices.rs` and `events.rs` are what a version holds, `read.rs` reads files of prices.

mod calendar;
mod events;
mod prices;
mod read;

pub use calendar::{Calendar, days_of};
pub use events::EventList;
pub use prices::{MergedPrices, PricesOverlap, change, decode, encode, instant, merge, price_text};
pub use read::{PriceRow, read_csv_prices, read_prices, series_of};

use serde::de::DeserializeOwned;

use crate::usage::UsageError;

/// Longest name, characters.
const MAX_NAME: usize = 500;

/// A file or a body that cannot be read exactly, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SharedError {
    /// What is wrong and what to do.
    pub message: String,
    /// Line of a file, from 1.
    pub line: Option<u64>,
    /// JSON pointer.
    pub pointer: Option<String>,
}

impl SharedError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None, pointer: None }
    }

    fn at(self, place: &Place) -> Self {
        match place {
            Place::Line(line) => Self { line: Some(*line), ..self },
            Place::Pointer(pointer) => Self { pointer: Some(pointer.clone()), ..self },
        }
    }
}

impl From<UsageError> for SharedError {
    fn from(error: UsageError) -> Self {
        Self { message: error.to_string(), line: error.line, pointer: None }
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Line of a file, from 1.
    Line(u64),
    /// JSON pointer.
    Pointer(String),
}

/// What is stored cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored calendar, price series or event list is damaged")]
pub struct Damaged;

/// A name for people, where there is one.
fn check_name(name: Option<&str>) -> Result<(), SharedError> {
    if name.is_some_and(|name| name.chars().count() > MAX_NAME || name.chars().any(char::is_control)) {
        let error = SharedError::new(format!("a name has at most {MAX_NAME} printable characters"));
        return Err(error.at(&Place::Pointer("/name".to_owned())));
    }
    Ok(())
}

/// A document as clients write it.
///
/// * `what`: what it should be.
fn document<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, SharedError> {
    serde_json::from_str(text).map_err(|error| {
        let place = Place::Line(u64::try_from(error.line()).unwrap_or(u64::MAX));
        SharedError::new(format!("no {what}: {error}")).at(&place)
    })
}

/// The lines of a text that say something, each with its number: no blank line, none that begins with `#`, and not one
/// of the headers as the first.
fn lines_of<'t>(text: &'t str, headers: &[&str]) -> impl Iterator<Item = (u64, &'t str)> {
    let is_header = |line: u64, text: &str| line == 1 && headers.iter().any(|header| text.eq_ignore_ascii_case(header));
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(move |(line, text)| !(text.is_empty() || text.starts_with('#') || is_header(*line, text)))
}
