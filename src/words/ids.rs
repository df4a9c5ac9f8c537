//! Identifiers, each a type of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

/// Why a text is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// Empty, or longer than 64 characters.
    #[error("an id has 1 to 64 characters, this one has {0}")]
    Length(usize),
    /// A character outside `[A-Za-z0-9._~:-]`.
    #[error("{0:?} is not allowed in an id; allowed are letters, digits and . _ ~ : -")]
    Character(char),
    /// A pinned version that is not a whole number from 1 on.
    #[error("{0:?} is not a plan version; write the plan's id, or id@3 for its version 3")]
    Version(String),
    /// No name as plan documents write names.
    #[error("{0:?} is no name; a name is a-z, 0-9 and _, begins with a letter and has at most 64 characters")]
    Name(String),
    /// An id of a registered period that reads like a year or a month.
    #[error("{0:?} reads like a year or a month; a registered period needs another id")]
    LooksLikeDate(String),
}

fn check(text: &str) -> Result<(), IdError> {
    let n_characters = text.chars().count();
    if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || "._~:-".contains(*c))) {
        return Err(IdError::Character(bad));
    }
    if n_characters == 0 || n_characters > 64 {
        return Err(IdError::Length(n_characters));
    }
    Ok(())
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id as written; compared exactly, ordered bytewise.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                check(&text)?;
                Ok(Self(text))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// An organisation using the service; nothing crosses from one tenant to another.
    TenantId
);
text_id!(
    /// A supply contract of a tenant.
    CustomerId
);
text_id!(
    /// What a customer can choose; its versions are immutable.
    PlanId
);

/// A billing period registered for the tenant. Never reads like `2026` or `2026-06`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PeriodId(String);

impl PeriodId {
    /// The id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PeriodId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        check(text)?;
        if text.chars().all(|c| c.is_ascii_digit() || c == '-') {
            return Err(IdError::LooksLikeDate(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for PeriodId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<PeriodId> for String {
    fn from(id: PeriodId) -> Self {
        id.0
    }
}

impl fmt::Display for PeriodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a calendar, a price series or an event list: a name that plan documents can refer to,
/// `[a-z][a-z0-9_]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InputName(String);

impl InputName {
    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InputName {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let begins_well = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        if text.len() > 64 || !begins_well || !text.bytes().all(is_plain) {
            return Err(IdError::Name(text.chars().take(80).collect()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for InputName {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<InputName> for String {
    fn from(name: InputName) -> Self {
        name.0
    }
}

impl fmt::Display for InputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A plan as a question names it: `flat` (the versions in force on each day) or `flat@3` (that version for the
/// whole period, whatever its dates). Ordered bytewise by its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlanReference {
    text: String,
    plan_id: PlanId,
    pinned_version: Option<u32>,
}

impl PlanReference {
    /// The reference as written, in its one spelling (`flat@03` is refused).
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The plan it speaks of.
    pub fn plan_id(&self) -> &PlanId {
        &self.plan_id
    }

    /// The version it pins, if it pins one.
    pub fn pinned_version(&self) -> Option<u32> {
        self.pinned_version
    }
}

impl FromStr for PlanReference {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let Some((plan_id, version)) = text.split_once('@') else {
            return Ok(Self { text: text.to_owned(), plan_id: text.parse()?, pinned_version: None });
        };
        let number = version
            .parse::<u32>()
            .ok()
            .filter(|n| *n >= 1 && i32::try_from(*n).is_ok() && n.to_string() == version)
            .ok_or_else(|| IdError::Version(version.to_owned()))?;
        Ok(Self { text: text.to_owned(), plan_id: plan_id.parse()?, pinned_version: Some(number) })
    }
}

impl TryFrom<String> for PlanReference {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<PlanReference> for String {
    fn from(reference: PlanReference) -> Self {
        reference.text
    }
}

impl From<PlanId> for PlanReference {
    fn from(plan_id: PlanId) -> Self {
        Self { text: plan_id.as_str().to_owned(), plan_id, pinned_version: None }
    }
}

impl fmt::Display for PlanReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialOrd for PlanReference {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PlanReference {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.as_bytes().cmp(other.text.as_bytes())
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, later than those this process made before.
            #[expect(clippy::new_without_default, reason = "two calls give two ids: no default value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The sixteen bytes.
            pub fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::try_parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

uuid_id!(
    /// A stored answer. `UUIDv7`, made here and never by a database.
    ComparisonId
);
uuid_id!(
    /// The record of one import of readings. `UUIDv7`, made here and never by a database: a later one is greater.
    ImportId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_plan_documents_can_refer_to() {
        for name in ["us", "us_east_2", "a", &"x".repeat(64)] {
            assert_eq!(name.parse::<InputName>().unwrap().as_str(), name);
        }
        for text in ["", "1st", "_a", "US", "us-east", "us east", "ümlaut", &"x".repeat(65)] {
            assert!(matches!(text.parse::<InputName>(), Err(IdError::Name(_))), "{text}");
        }
    }

    #[test]
    fn an_id_has_one_to_64_plain_characters() {
        assert!("c-1".parse::<CustomerId>().is_ok());
        assert!("A.b_c~d:e-9".parse::<PlanId>().is_ok());
        assert_eq!("".parse::<PlanId>(), Err(IdError::Length(0)));
        assert_eq!("x".repeat(65).parse::<PlanId>(), Err(IdError::Length(65)));
        assert_eq!("a b".parse::<PlanId>(), Err(IdError::Character(' ')));
        assert_eq!("é".parse::<PlanId>(), Err(IdError::Character('é')));
    }

    #[test]
    fn a_reference_pins_a_version_in_one_spelling() {
        let pinned: PlanReference = "tou@3".parse().unwrap();
        assert_eq!((pinned.plan_id().as_str(), pinned.pinned_version()), ("tou", Some(3)));
        for bad in ["tou@", "tou@0", "tou@03", "tou@+3", "tou@x", "tou@3@4", "@3", "tou@4294967296"] {
            assert!(bad.parse::<PlanReference>().is_err(), "{bad}");
        }
    }

    #[test]
    fn references_are_ordered_by_their_bytes() {
        let mut references: Vec<PlanReference> =
            ["b", "a@10", "a-b", "a", "a@9", "B"].map(|t| t.parse().unwrap()).into();
        references.sort();
        let texts: Vec<&str> = references.iter().map(PlanReference::as_str).collect();
        assert_eq!(texts, ["B", "a", "a-b", "a@10", "a@9", "b"]);
    }

    #[test]
    fn a_registered_period_does_not_read_like_a_date() {
        assert!("june-north".parse::<PeriodId>().is_ok());
        assert!("2026".parse::<PeriodId>().is_err());
        assert!("2026-06".parse::<PeriodId>().is_err());
    }
}
