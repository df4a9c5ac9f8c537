//! Record times: microseconds since the epoch, UTC.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant of the record, in microseconds since 1970-01-01T00:00:00Z; the same number in both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// This machine's clock, now.
    pub fn now() -> Self {
        Self(Utc::now().timestamp_micros())
    }

    /// From microseconds since the epoch.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// This instant, or the first one after `earlier` (a microsecond later, the least step of the record): what follows on
    /// something is dated after it, whatever the clocks of the servers say.
    #[must_use]
    pub fn after(self, earlier: Self) -> Self {
        self.max(Self(earlier.0 + 1))
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(instant: DateTime<Utc>) -> Self {
        Self(instant.timestamp_micros())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_micros(self.0) {
            Some(instant) => f.write_str(&instant.to_rfc3339_opts(SecondsFormat::Micros, true)),
            None => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        DateTime::parse_from_rfc3339(&text).map(|t| t.with_timezone(&Utc).into()).map_err(serde::de::Error::custom)
    }
}
