//! The `result` object of a comparison, in the order in which it is written. Amounts and quantities are decimal
//! strings without exponent; the member order and the spelling are part of the promise that bytes never differ.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::tariff::NotBilled;

/// The bills of every plan of a question, the cheapest named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonResult {
    /// ISO 4217, the same for all plans.
    pub currency: String,
    /// What the bills are made from.
    pub usage: UsageSummary,
    /// The plan with the lowest total among the complete ones; `None` when none is complete.
    pub cheapest_plan_id: Option<String>,
    /// One bill a plan reference, in the order of the references.
    pub plans: Vec<PlanBill>,
}

/// Readings of the billing period (not of the look-back).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSummary {
    /// kWh of channel `import`.
    pub import_kwh: String,
    /// kWh of channel `export`.
    pub export_kwh: String,
    /// Local days of the period.
    pub days: u32,
    /// Readings that are there, of the channel `import` (of the fullest channel when there is no import).
    pub intervals: u64,
    /// Readings that the period would hold without a gap.
    pub expected_intervals: u64,
    /// Of the readings that are there: estimated or substituted.
    pub estimated: u64,
    /// Of the readings that are there: gaps that an import declared to be zero. Absent where there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub filled_zero: u64,
    /// `expected_intervals - intervals`.
    pub missing: u64,
    /// Where readings are missing, as instants.
    pub gaps: Vec<Gap>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A stretch without readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// First missing instant, RFC 3339 UTC.
    pub start: String,
    /// First instant that is there again.
    pub end: String,
    /// Missing intervals.
    pub intervals: u64,
}

/// One plan's bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBill {
    /// The reference, `flat` or `tou@3`.
    pub plan_id: String,
    /// The plan's name.
    pub name: String,
    /// Whether everything the plan charges is on the bill, but for what is optional.
    pub complete: bool,
    /// What would have been paid.
    pub total: String,
    /// 1 is the cheapest; ties keep the order of the references; `None` for an incomplete bill.
    pub rank: Option<u32>,
    /// `total` less the cheapest total.
    pub difference_from_cheapest: Option<String>,
    /// Taxes within the total.
    pub tax: String,
    /// `total / import_kwh`, six decimals, half up; `None` when nothing was used.
    pub average_price_per_kwh: Option<String>,
    /// Sums of the lines by kind, without those that are zero by absence.
    pub subtotals: std::collections::BTreeMap<String, String>,
    /// Codes of what a reader should know: `intervals_split_evenly`, `missing_history`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Charges whose condition the customer does not meet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_applied: Vec<NotApplied>,
    /// What the foreign tariff holds and no bill can show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_billed: Vec<NotBilled>,
    /// One a billing month.
    pub periods: Vec<PeriodBill>,
}

/// A charge that would apply if the customer met its condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotApplied {
    /// The charge.
    pub charge_id: String,
    /// For people.
    pub label: String,
    /// What must be so, in words: `direct_debit is true`.
    pub condition: String,
    /// What it would have been beside what is on the bill, over all billing months; `None` where it has no amount on
    /// these readings.
    pub amount: Option<String>,
}

/// The bill of one billing month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodBill {
    /// First local day.
    pub start: NaiveDate,
    /// The day after the last.
    pub end: NaiveDate,
    /// Sum of the lines.
    pub total: String,
    /// Earlier billing months that a look-back wanted and no readings cover.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_history: Vec<NaiveDate>,
    /// The lines, in the order of the plan's charges.
    pub line_items: Vec<LineItem>,
}

/// One line: quantity x rate, settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineItem {
    /// The charge it comes from.
    pub charge_id: String,
    /// `energy`, `demand`, `fixed`, `minimum`, `tax`, `discount`, `adder`, `export_credit`, `subtotal`, `rounding`.
    pub kind: String,
    /// For people.
    pub label: String,
    /// The plan version it comes from; the last one where lines of several were added.
    pub plan_version: u32,
    /// The included plan whose version that is; `None` for charges of the plan's own document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included_plan_id: Option<String>,
    /// Time-of-use period, where the charge has them.
    pub tou_period: Option<String>,
    /// Step of the ladder, from 1, where it has more than one.
    pub tier: Option<u32>,
    /// How much.
    pub quantity: String,
    /// Of what: `kWh`, `kW`, `day`, `month`, …
    pub unit: String,
    /// Price of one unit; `None` where there is no single one.
    pub rate: Option<String>,
    /// Where each reading has the price of a series: which one, in place of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_series: Option<Box<LineSeries>>,
    /// Money; a credit is negative.
    pub amount: String,
}

/// A price series on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineSeries {
    /// Its name.
    pub id: String,
    /// `amount / quantity`, factor, adder and rounding included, six decimals, half up; `None` when nothing was used.
    pub mean_rate: Option<String>,
}
