//! The words that members of a document choose from: one list each, for the reader, the schema and the explanation.

use super::super::model::{DayValue, Distinct, NetPart, Resets, Take};
use super::super::number::RoundingMode;
use super::super::schedule::{ALL_DAYS, HOLIDAY};

pub(super) const RESETS: [(&str, Resets); 3] =
    [("billing_month", Resets::BillingMonth), ("day", Resets::Day), ("year", Resets::Year)];

pub(super) const DISTINCT: [(&str, Distinct); 3] =
    [("readings", Distinct::Readings), ("hours", Distinct::Hours), ("days", Distinct::Days)];

pub(super) const DAY_VALUES: [(&str, DayValue); 2] = [("highest", DayValue::Highest), ("mean", DayValue::Mean)];

pub(super) const NET_PARTS: [(&str, NetPart); 2] = [("billed", NetPart::Billed), ("carried", NetPart::Carried)];

pub(super) const TAKES: [(&str, Take); 3] = [("max", Take::Max), ("mean", Take::Mean), ("sum", Take::Sum)];

pub(super) const ROUNDING_MODES: [(&str, RoundingMode); 4] = [
    ("half_up", RoundingMode::HalfUp),
    ("half_even", RoundingMode::HalfEven),
    ("down", RoundingMode::Down),
    ("up", RoundingMode::Up),
];

/// What a charge's rounding settles: whether the charge as a whole.
pub(super) const ROUNDS_EACH: [(&str, bool); 2] = [("line", false), ("charge", true)];

/// Day types by name.
pub(super) const DAY_TYPES: [(&str, usize); 8] =
    [("mon", 0), ("tue", 1), ("wed", 2), ("thu", 3), ("fri", 4), ("sat", 5), ("sun", 6), ("holiday", HOLIDAY)];

/// Sets of day types, as bits.
pub(super) const DAY_SETS: [(&str, u8); 3] = [("weekdays", 0b001_1111), ("weekends", 0b110_0000), ("all", ALL_DAYS)];

/// The keys of measures that are objects.
pub(super) const MEASURES: [&str; 16] = [
    "days",
    "months",
    "years",
    "energy",
    "demand",
    "net_energy",
    "attribute",
    "amount",
    "by_date",
    "sum",
    "times",
    "max",
    "min",
    "divide",
    "round",
    "over_months",
];
