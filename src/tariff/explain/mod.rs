//! A plan in words: what will be billed, when and at what price, what must be known for it, and what is not billed.
//!
//! Made from the checked model, every default filled in, so that it says what the engine does and not what the document
//! looks like. `charge.rs` words a charge, `phrases.rs` measures and prices, `when.rs` periods; `picture.rs` draws a week
//! of prices; `text.rs` lays all of it out for a terminal.

mod charge;
mod counting;
mod phrases;
mod picture;
mod text;
mod warnings;
mod when;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::phrases::Phrases;
use super::json::Json;
use super::model::Measure;
use super::{NotBilled, Tariff};

/// A plan in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The plan's name.
    pub name: String,
    /// ISO 4217.
    pub currency: String,
    /// Who offers it.
    pub provider: Option<String>,
    /// Where it is offered.
    pub territory: Option<String>,
    /// Where the prices are published.
    pub source: Option<String>,
    /// What the document itself wants its readers to know.
    pub notes: Option<String>,
    /// The time zone of its hours, where it is not the customer's.
    pub time_zone: Option<String>,
    /// In the order of the bill.
    pub charges: Vec<ChargeWords>,
    /// Holidays, conventions and roundings that hold for all charges.
    pub rules: Vec<String>,
    /// What must be known of the customer and imported before it can be billed.
    pub needs: Needs,
    /// Parts of the tariff that are not on its bills.
    pub not_billed: Vec<NotBilled>,
    /// What its author may not have meant.
    pub warnings: Vec<String>,
    /// Weeks of prices, one for each season in which they differ.
    pub pictures: Vec<Picture>,
}

/// A charge in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChargeWords {
    /// Its id in the document.
    pub charge_id: String,
    /// What the bill calls it.
    pub label: String,
    /// `energy`, `fixed`, …
    pub kind: &'static str,
    /// Sentences; what begins with `- ` is an item of the list that the sentence before announces.
    pub words: Vec<String>,
}

/// What a plan needs besides itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// Attributes that the customer must have.
    pub attributes: BTreeSet<String>,
    /// Attributes that only conditions ask for: who lacks one does not meet them.
    pub conditions: BTreeSet<String>,
    /// Calendars whose dates are holidays.
    pub calendars: BTreeSet<String>,
    /// Series of prices by instant.
    pub price_series: BTreeSet<String>,
    /// Lists of instants within which rules of its schedules hold.
    pub event_lists: BTreeSet<String>,
    /// Plans that it includes, by what it calls them.
    pub plans: BTreeMap<String, String>,
    /// Channels of readings.
    pub channels: BTreeSet<String>,
    /// Billing months of earlier readings.
    pub look_back_months: u32,
}

/// A week of prices, as lines of text: a row a day, a column a half hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// What the prices are of and which dates the week is from.
    pub title: String,
    /// Rows and legend.
    pub lines: Vec<String>,
}

impl Tariff {
    /// The plan in words.
    pub fn explain(&self) -> Explanation {
        let plan = self.plan();
        let phrases = Phrases::new(plan);
        let document = Json::parse(self.canonical_json()).ok();
        let is_measured =
            |name: &String| plan.measures.iter().any(|m| matches!(m, Measure::Attribute(of) if of == name));
        let (attributes, conditions) = plan.attributes.iter().cloned().partition(is_measured);
        let text = |name: &str| Some(document.as_ref()?.get(name)?.as_str()?.to_owned());
        Explanation {
            name: plan.name.clone(),
            currency: plan.currency.clone(),
            provider: plan.provider.clone(),
            territory: plan.territory.clone(),
            source: text("source"),
            notes: text("notes"),
            time_zone: plan.time_zone.map(|zone| zone.to_string()),
            charges: plan
                .charges
                .iter()
                .map(|charge| ChargeWords {
                    charge_id: charge.id.clone(),
                    label: charge.label.clone(),
                    kind: charge.kind.as_str(),
                    words: charge::words(&phrases, charge),
                })
                .collect(),
            rules: counting::rules(&phrases),
            needs: Needs {
                attributes,
                conditions,
                calendars: plan.calendars.clone(),
                price_series: plan.price_series.clone(),
                event_lists: plan.event_lists.clone(),
                plans: plan.includes.iter().map(|i| (i.name.clone(), i.plan_id.to_string())).collect(),
                channels: plan.reads.iter().map(|read| read.channel.to_string()).collect(),
                look_back_months: plan.look_back_months,
            },
            not_billed: plan.not_billed.clone(),
            warnings: {
                let missing = self.not_included().into_iter().flat_map(|faults| &faults.0);
                missing.map(|fault| fault.message.clone()).chain(warnings::warnings(&phrases)).collect()
            },
            pictures: picture::pictures(&phrases),
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// The same, with the first items alone where there are many.
fn short_list(items: impl ExactSizeIterator<Item = String>) -> String {
    const MOST: usize = 20;
    let n_items = items.len();
    if n_items <= MOST {
        return list(items);
    }
    format!("{} and {} more", items.take(MOST - 1).collect::<Vec<_>>().join(", "), n_items - (MOST - 1))
}

/// The beginning of a text that is too long.
fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The first letter as a capital.
fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `1 day`, `3 days`.
fn counted(n: u32, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

#[cfg(test)]
mod tests;
