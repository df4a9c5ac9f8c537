//! Calendars and price series, which all customers of a tenant share: what files of them hold, how a new file and what
//! is stored become the next version, and the bytes of a version. No tariff, no money, no database here.
//!
//! `calendar.rs` and `prices.rs` are what a version holds, `read.rs` reads files of prices.

mod calendar;
mod prices;
mod read;

pub use calendar::{Calendar, days_of};
pub use prices::{MergedPrices, PricesOverlap, change, decode, encode, instant, merge, price_text};
pub use read::{PriceRow, read_csv_prices, read_prices, series_of};

use crate::usage::UsageError;

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
#[error("a stored calendar or price series is damaged")]
pub struct Damaged;
