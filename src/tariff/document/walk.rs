//! Walking a document: each member is taken once, what nobody takes is refused, every fault is kept.

#[cfg(test)]
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::super::TariffError;
use super::super::conventions::UnknownChoice;
use super::super::json::{Json, push_token};
use super::super::number::{Decimal, DecimalError};

#[cfg(test)]
thread_local! {
    /// The members that were taken of each object read on this thread: the schema must know the same.
    pub(super) static TAKEN: std::cell::RefCell<BTreeMap<String, BTreeSet<&'static str>>> = const { std::cell::RefCell::new(BTreeMap::new()) };
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) Vec<TariffError>);

impl Faults {
    /// Notes a fault.
    pub(super) fn add(&mut self, code: &str, pointer: &str, message: impl Into<String>) {
        self.0.push(TariffError::new(code, pointer, message));
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) json: &'a Json<'a>,
    pub(super) pointer: String,
}

/// An object whose members are being taken.
#[derive(Debug)]
pub(super) struct Object<'a> {
    members: &'a [(std::borrow::Cow<'a, str>, Json<'a>)],
    pub(super) pointer: String,
    taken: Vec<&'static str>,
}

impl<'a> Node<'a> {
    fn wrong(&self, wanted: &str, faults: &mut Faults) {
        faults.add("wrong_type", &self.pointer, format!("this is {}; wanted is {wanted}", self.json.kind()));
    }

    /// An object.
    pub(super) fn object(&self, faults: &mut Faults) -> Option<Object<'a>> {
        if let Json::Object(members) = self.json {
            Some(Object { members, pointer: self.pointer.clone(), taken: Vec::new() })
        } else {
            self.wrong("an object", faults);
            None
        }
    }

    /// The members of an object whose names the document chooses, each with its place.
    pub(super) fn entries(&self, faults: &mut Faults) -> Vec<(&'a str, Node<'a>)> {
        if let Json::Object(members) = self.json {
            members.iter().map(|(name, json)| (name.as_ref(), self.child(name, json))).collect()
        } else {
            self.wrong("an object", faults);
            Vec::new()
        }
    }

    fn child(&self, token: &str, json: &'a Json<'a>) -> Node<'a> {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, token);
        Node { json, pointer }
    }

    /// The items of a list.
    pub(super) fn items(&self, faults: &mut Faults) -> Vec<Node<'a>> {
        if let Json::Array(items) = self.json {
            items.iter().enumerate().map(|(i, json)| self.child(&i.to_string(), json)).collect()
        } else {
            self.wrong("a list", faults);
            Vec::new()
        }
    }

    /// A text.
    pub(super) fn text(&self, faults: &mut Faults) -> Option<&'a str> {
        if let Json::String(text) = self.json {
            Some(text)
        } else {
            self.wrong("a text", faults);
            None
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, faults: &mut Faults) -> Option<bool> {
        if let Json::Bool(flag) = self.json {
            Some(*flag)
        } else {
            self.wrong("true or false", faults);
            None
        }
    }

    /// A whole number in a range, written as a JSON number.
    pub(super) fn integer(&self, range: std::ops::RangeInclusive<u32>, faults: &mut Faults) -> Option<u32> {
        let Json::Number(text) = self.json else {
            self.wrong("a whole number", faults);
            return None;
        };
        match text.parse::<u32>() {
            Ok(number) if range.contains(&number) => Some(number),
            _ => {
                let (least, most) = range.into_inner();
                faults.add(
                    "out_of_range",
                    &self.pointer,
                    format!("{text} is not allowed; wanted is a whole number from {least} to {most}"),
                );
                None
            }
        }
    }

    /// A decimal written as text.
    pub(super) fn decimal(&self, max_decimals: u32, faults: &mut Faults) -> Option<Decimal> {
        let Json::String(text) = self.json else {
            let code = if matches!(self.json, Json::Number(_)) { "not_a_text" } else { "wrong_type" };
            faults.add(
                code,
                &self.pointer,
                format!("this is {}; a price or quantity is a decimal in quotes, such as \"0.245\"", self.json.kind()),
            );
            return None;
        };
        match Decimal::parse(text, max_decimals) {
            Ok(decimal) => Some(decimal),
            Err(error) => {
                let code = if error == DecimalError::NotANumber { "not_a_number" } else { "too_many_digits" };
                faults.add(code, &self.pointer, format!("{text:?} {error}"));
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: FromStr<Err = UnknownChoice>>(&self, faults: &mut Faults) -> Option<T> {
        let text = self.text(faults)?;
        match text.parse() {
            Ok(choice) => Some(choice),
            Err(error) => {
                faults.add("unknown_choice", &self.pointer, error.to_string());
                None
            }
        }
    }

    /// One of a few words with what each stands for.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], faults: &mut Faults) -> Option<T> {
        let text = self.text(faults)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            faults.add("unknown_choice", &self.pointer, format!("{text:?} is not one of {}", known.join(", ")));
        }
        found
    }

    /// An id or a name: `[a-z][a-z0-9_]*`, at most 64 characters.
    pub(super) fn name(&self, faults: &mut Faults) -> Option<&'a str> {
        let text = self.text(faults)?;
        check_name(text, &self.pointer, faults).then_some(text)
    }

    /// A date `2026-06-14`.
    pub(super) fn date(&self, faults: &mut Faults) -> Option<chrono::NaiveDate> {
        let text = self.text(faults)?;
        let date = (text.len() == 10).then(|| text.parse().ok()).flatten();
        if date.is_none() {
            faults.add("bad_date", &self.pointer, format!("{text:?} is no date; write 2026-06-14"));
        }
        date
    }
}

/// Whether a text can be an id or a name; notes a fault when it cannot.
pub(super) fn check_name(text: &str, pointer: &str, faults: &mut Faults) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let good =
        text.len() <= 64 && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && text.bytes().all(plain);
    if !good {
        let message = format!("{text:?} is no name; write a-z, 0-9 and _, a letter first, at most 64 characters");
        faults.add("bad_name", pointer, message);
    }
    good
}

impl<'a> Object<'a> {
    /// A member that may be absent.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.taken.push(name);
        let (_, json) = self.members.iter().find(|(other, _)| other == name)?;
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, name);
        Some(Node { json, pointer })
    }

    /// Whether a member is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(other, _)| other == name)
    }

    /// A member that must be there.
    pub(super) fn want(&mut self, name: &'static str, faults: &mut Faults) -> Option<Node<'a>> {
        let node = self.take(name);
        if node.is_none() {
            faults.add("missing_field", &self.place(name), format!("{name:?} must be given"));
        }
        node
    }

    /// The place of a member.
    pub(super) fn place(&self, name: &str) -> String {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, name);
        pointer
    }

    /// Refuses what was not taken.
    pub(super) fn finish(self, what: &str, faults: &mut Faults) {
        #[cfg(test)]
        TAKEN.with_borrow_mut(|taken| taken.entry(what.to_owned()).or_default().extend(&self.taken));
        for (name, _) in self.members {
            if !self.taken.iter().any(|taken| taken == name) {
                let message = format!("{what} has no {name:?}; it may have {}", self.taken.join(", "));
                faults.add("unknown_field", &self.place(name), message);
            }
        }
    }
}
