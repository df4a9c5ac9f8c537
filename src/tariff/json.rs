//! JSON as it was written: numbers keep their digits, a member that stands twice is refused.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::{self, Write};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::TariffError;

/// Deeper documents are refused: a plan needs a dozen levels, a hundred nested measures two hundred.
const MAX_DEPTH: usize = 256;

/// One value of a document, borrowing its text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// The digits as they stand.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// Members in the order in which they stand, each name once.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole document.
    pub(super) fn parse(text: &'a str) -> Result<Self, TariffError> {
        let raw: &RawValue = serde_json::from_str(text)
            .map_err(|e| TariffError::new("invalid_json", "", format!("this is no JSON: {e}")))?;
        Self::from_raw(raw, &mut String::new(), 0)
    }

    fn from_raw(raw: &'a RawValue, pointer: &mut String, depth: usize) -> Result<Self, TariffError> {
        let text = raw.get();
        let invalid = |pointer: &str, e: serde_json::Error| {
            TariffError::new("invalid_json", pointer, format!("this is no JSON: {e}"))
        };
        if depth > MAX_DEPTH {
            return Err(TariffError::new("too_deep", pointer.as_str(), "this is nested too deeply"));
        }
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::Deserializer::from_str(text)
                    .deserialize_map(MembersVisitor)
                    .map_err(|e| invalid(pointer, e))?;
                let mut object: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(members.len());
                let mut seen = HashSet::with_capacity(members.len());
                for (name, value) in members {
                    let length = pointer.len();
                    push_token(pointer, &name);
                    let value = Self::from_raw(value, pointer, depth + 1)?;
                    if !seen.insert(name.clone()) {
                        return Err(TariffError::new("duplicate_member", pointer.as_str(), "this member stands twice"));
                    }
                    pointer.truncate(length);
                    object.push((name, value));
                }
                Ok(Self::Object(object))
            }
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(text).map_err(|e| invalid(pointer, e))?;
                let mut array = Vec::with_capacity(items.len());
                for (i, item) in items.into_iter().enumerate() {
                    let length = pointer.len();
                    push_token(pointer, &i.to_string());
                    array.push(Self::from_raw(item, pointer, depth + 1)?);
                    pointer.truncate(length);
                }
                Ok(Self::Array(array))
            }
            Some(b'"') => {
                let borrowed: Result<&'a str, _> = serde_json::from_str(text);
                match borrowed {
                    Ok(string) => Ok(Self::String(Cow::Borrowed(string))),
                    Err(_) => serde_json::from_str::<String>(text)
                        .map(|string| Self::String(Cow::Owned(string)))
                        .map_err(|e| invalid(pointer, e)),
                }
            }
            Some(b't') => Ok(Self::Bool(true)),
            Some(b'f') => Ok(Self::Bool(false)),
            Some(b'n') => Ok(Self::Null),
            _ => Ok(Self::Number(Cow::Borrowed(text))),
        }
    }

    /// A text.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::String(text.into())
    }

    /// An object of these members.
    pub(super) fn object<const N: usize>(members: [(&'a str, Json<'a>); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
    }

    /// A member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(members) => members.iter().find(|(other, _)| other == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Sets a member of an object, in place of the one of that name.
    pub(super) fn set(&mut self, name: &'a str, value: Json<'a>) {
        if let Self::Object(members) = self {
            match members.iter_mut().find(|(other, _)| other == name) {
                Some((_, old)) => *old = value,
                None => members.push((Cow::Borrowed(name), value)),
            }
        }
    }

    /// Takes a member out of an object.
    pub(super) fn remove(&mut self, name: &str) {
        if let Self::Object(members) = self {
            members.retain(|(other, _)| other != name);
        }
    }

    /// The text, when it is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The one canonical spelling: no white space, members ordered by the bytes of their names.
    pub(super) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        let write_text = |out: &mut String, text: &str| {
            out.push_str(&serde_json::to_string(text).expect("a text can always be written as JSON"));
        };
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_text(out, text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut ordered: Vec<_> = members.iter().collect();
                ordered.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
                out.push('{');
                for (i, (name, value)) in ordered.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(out, name);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends `/token` to a JSON pointer (RFC 6901).
pub(super) fn push_token(pointer: &mut String, token: &str) {
    let _ = write!(pointer, "/{}", token.replace('~', "~0").replace('/', "~1"));
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<MemberName<'de>>()? {
            members.push((name.0, map.next_value()?));
        }
        Ok(Members(members))
    }
}

#[derive(serde::Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let json = Json::parse(r#"{"rate": 19.538999557495117000, "max": 1e38}"#).unwrap();
        assert_eq!(json.get("rate"), Some(&Json::Number("19.538999557495117000".into())));
        assert_eq!(json.get("max"), Some(&Json::Number("1e38".into())));
    }

    #[test]
    fn a_member_that_stands_twice_is_refused() {
        let error = Json::parse(r#"{"a": {"b/c": 1, "d": 2, "b/c": 3}}"#).unwrap_err();
        assert_eq!((error.code.as_str(), error.pointer.as_str()), ("duplicate_member", "/a/b~1c"));
    }

    #[test]
    fn the_canonical_spelling_forgets_order_and_white_space() {
        let text = r#" { "b" : [ 1 , "x\u0041\n" ] , "a" : { "d":null, "c":true } } "#;
        assert_eq!(Json::parse(text).unwrap().canonical(), r#"{"a":{"c":true,"d":null},"b":[1,"xA\n"]}"#);
    }

    #[test]
    fn text_that_is_no_json_is_refused() {
        for bad in ["", "{", "[1,]", "{\"a\":}", "nul", "{} {}"] {
            assert_eq!(Json::parse(bad).unwrap_err().code, "invalid_json", "{bad}");
        }
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        assert!(Json::parse(&deep).is_err());
    }
}
