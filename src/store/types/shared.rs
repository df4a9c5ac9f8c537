//! Calendars, price series and event lists as stored.

use std::ops::Range;

use crate::words::{InputName, Timestamp};

/// A tenant-wide input besides plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// Dates. Its unit of ranges: local days, as seconds to their midnight in UTC.
    Calendar,
    /// Prices by instant. Its unit of ranges: seconds since the epoch.
    PriceSeries,
    /// Instants. Its unit of ranges: seconds since the epoch.
    EventList,
}

impl SharedKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Calendar, Self::PriceSeries, Self::EventList];

    /// As databases hold it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calendar => "calendar",
            Self::PriceSeries => "price_series",
            Self::EventList => "event_list",
        }
    }
}

/// A version of a shared input to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSharedInput {
    /// The newest version, from which this one was made; 0: there was none.
    pub after_version: u32,
    /// What it holds, whole, as bytes that the store does not look into.
    pub content: Vec<u8>,
    /// For lists: a small JSON object.
    pub summary: String,
    /// Bounds of what differs from the version before, in the unit of the kind; `None` when no bill can tell.
    pub changed: Option<Range<i64>>,
}

/// An immutable version of a shared input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedInput {
    /// Of what kind it is.
    pub kind: SharedKind,
    /// Its id.
    pub id: InputName,
    /// From 1.
    pub version: u32,
    /// What it holds.
    pub content: Vec<u8>,
    /// For lists: a small JSON object.
    pub summary: String,
    /// When it was put.
    pub created_at: Timestamp,
}

/// A version of a shared input without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedInputEntry {
    /// Its id.
    pub id: InputName,
    /// From 1.
    pub version: u32,
    /// For lists: a small JSON object.
    pub summary: String,
    /// When it was put.
    pub created_at: Timestamp,
}

/// A version of a shared input that a comparison has not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerSharedInput {
    /// Of what kind it is.
    pub kind: SharedKind,
    /// Its id.
    pub id: InputName,
    /// Its version.
    pub version: u32,
    /// When it was put.
    pub created_at: Timestamp,
}
