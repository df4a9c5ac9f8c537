//! The two files of a case: what was published, and how to ask for it (`fixtures/bills/worked/README.md`).

use std::collections::BTreeMap;

use chrono::{NaiveDate, NaiveDateTime};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use samebill::usage::Channel;
use samebill::words::{AttributeValue, BillingPeriod};
use serde::{Deserialize, Deserializer, de::Error};

/// A published bill.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    pub(crate) steps: Vec<PublishedStep>,
    pub(crate) total: Option<Decimal>,
    /// Why its own numbers contradict each other.
    pub(crate) does_not_come_out: Option<String>,
    /// The file as it is, for pointers into it.
    #[serde(skip)]
    pub(crate) whole: serde_json::Value,
}

/// A line, or a sum of lines, as published.
#[derive(Debug, Deserialize)]
pub(crate) struct PublishedStep {
    pub(crate) item: String,
    pub(crate) quantity: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) rate: Option<String>,
    pub(crate) amount: Option<Decimal>,
    pub(crate) months: Option<u32>,
}

/// How to ask for a published bill.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) time_zone: Tz,
    pub(crate) bills: Vec<Bill>,
}

/// One bill of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bill {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(deserialize_with = "period")]
    pub(crate) period: BillingPeriod,
    #[serde(default)]
    pub(crate) registered: bool,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, AttributeValue>,
    #[serde(default)]
    pub(crate) calendars: BTreeMap<String, Vec<NaiveDate>>,
    #[serde(default)]
    pub(crate) series: BTreeMap<String, SeriesColumns>,
    pub(crate) readings: BTreeMap<Channel, Recipe>,
    /// Pointers into the published file whose sum is the import of the period.
    #[serde(default)]
    pub(crate) import_kwh: Vec<String>,
    pub(crate) steps: Vec<Step>,
    #[serde(default)]
    pub(crate) unpublished: Vec<String>,
    pub(crate) total_in: Option<Decimal>,
    pub(crate) total_step: Option<usize>,
    pub(crate) total_ours: Option<Decimal>,
}

/// A price series: one column of a file less another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesColumns {
    pub(crate) file: String,
    pub(crate) minutes: u32,
    pub(crate) plus: String,
    pub(crate) minus: String,
}

/// How to make the readings of a channel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    pub(crate) minutes: u32,
    pub(crate) file: Option<String>,
    pub(crate) from: Option<NaiveDate>,
    #[serde(default)]
    pub(crate) parts: Vec<RecipePart>,
}

/// Fills the intervals that no part before it has filled and that match all it says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecipePart {
    #[serde(default, deserialize_with = "local_starts")]
    pub(crate) at: Vec<NaiveDateTime>,
    pub(crate) from: Option<NaiveDate>,
    pub(crate) to: Option<NaiveDate>,
    #[serde(default)]
    pub(crate) days: Vec<String>,
    #[serde(default, deserialize_with = "windows")]
    pub(crate) hours: Vec<(u32, u32)>,
    pub(crate) kw: Option<Decimal>,
    pub(crate) kwh: Option<Decimal>,
}

/// Which of our lines add up to a published step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(rename = "step")]
    pub(crate) index: usize,
    #[serde(deserialize_with = "selectors")]
    pub(crate) lines: Vec<Selector>,
    #[serde(default)]
    pub(crate) months: Vec<String>,
    #[serde(rename = "in")]
    pub(crate) unit: Option<Decimal>,
    pub(crate) round: Option<Decimal>,
    pub(crate) ours: Option<Decimal>,
}

/// `charge`, `charge/period`, `charge#tier` or `charge/period#tier`.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) charge: String,
    pub(crate) period: Option<String>,
    pub(crate) tier: Option<u32>,
}

impl Published {
    /// Reads a published file.
    pub(crate) fn from_json(text: &str) -> Self {
        let mut published: Self = serde_json::from_str(text).expect("a published bill");
        published.whole = serde_json::from_str(text).expect("JSON");
        published
    }

    /// The number at a pointer.
    pub(crate) fn number(&self, pointer: &str) -> Decimal {
        let text = self.whole.pointer(pointer).and_then(serde_json::Value::as_str);
        Decimal::from_str_exact(text.unwrap_or_else(|| panic!("no number at {pointer}"))).expect("a decimal")
    }
}

fn period<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BillingPeriod, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Dates {
        start: NaiveDate,
        end: NaiveDate,
    }
    let Dates { start, end } = Dates::deserialize(deserializer)?;
    BillingPeriod::new(start, end).map_err(D::Error::custom)
}

fn local_starts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<NaiveDateTime>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|t| NaiveDateTime::parse_from_str(t, "%Y-%m-%dT%H:%M").map_err(D::Error::custom)).collect()
}

/// `07:00-14:00` in minutes of the day, end exclusive.
fn windows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, u32)>, D::Error> {
    let minute = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        Some(hours.parse::<u32>().ok()? * 60 + minutes.parse::<u32>().ok()?)
    };
    let window = |text: &String| {
        let (start, end) = text.split_once('-')?;
        minute(start).zip(minute(end)).filter(|(start, end)| start < end)
    };
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|t| window(t).ok_or_else(|| D::Error::custom(format!("{t} is no window")))).collect()
}

fn selectors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Selector>, D::Error> {
    let selector = |text: &String| {
        let (rest, tier) = match text.split_once('#') {
            Some((rest, tier)) => (rest, Some(tier.parse().map_err(D::Error::custom)?)),
            None => (text.as_str(), None),
        };
        let (charge, period) = match rest.split_once('/') {
            Some((charge, period)) => (charge, Some(period.to_owned())),
            None => (rest, None),
        };
        Ok(Selector { charge: charge.to_owned(), period, tier })
    };
    Vec::<String>::deserialize(deserializer)?.iter().map(selector).collect()
}
