//! A result as it is stored: the bytes of `result`, the same without line items, and the totals for lists.

use serde::Serialize;

use crate::engine::{ComparisonResult, NotApplied, UsageSummary};
use crate::tariff::NotBilled;

/// The three renderings, written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The `result` object.
    pub result: Vec<u8>,
    /// The `result` object without line items.
    pub summary: Vec<u8>,
    /// A small object for lists.
    pub totals: String,
}

/// Writes a result.
///
/// # Errors
/// When it cannot be written, which plain values always can.
pub fn render(result: &ComparisonResult) -> serde_json::Result<Rendered> {
    Ok(Rendered {
        result: serde_json::to_vec(result)?,
        summary: serde_json::to_vec(&Summary::of(result))?,
        totals: serde_json::to_string(&Totals::of(result))?,
    })
}

/// The `result` object, in its order of members, with periods that have no lines.
#[derive(Serialize)]
struct Summary<'a> {
    currency: &'a str,
    usage: &'a UsageSummary,
    cheapest_plan_id: Option<&'a str>,
    plans: Vec<PlanSummary<'a>>,
}

#[derive(Serialize)]
struct PlanSummary<'a> {
    plan_id: &'a str,
    name: &'a str,
    complete: bool,
    total: &'a str,
    rank: Option<u32>,
    difference_from_cheapest: Option<&'a str>,
    tax: &'a str,
    average_price_per_kwh: Option<&'a str>,
    subtotals: &'a std::collections::BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    flags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_applied: &'a [NotApplied],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_billed: &'a [NotBilled],
    periods: Vec<PeriodSummary<'a>>,
}

#[derive(Serialize)]
struct PeriodSummary<'a> {
    start: chrono::NaiveDate,
    end: chrono::NaiveDate,
    total: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing_history: &'a [chrono::NaiveDate],
}

impl<'a> Summary<'a> {
    fn of(result: &'a ComparisonResult) -> Self {
        let plans = result.plans.iter().map(|plan| PlanSummary {
            plan_id: &plan.plan_id,
            name: &plan.name,
            complete: plan.complete,
            total: &plan.total,
            rank: plan.rank,
            difference_from_cheapest: plan.difference_from_cheapest.as_deref(),
            tax: &plan.tax,
            average_price_per_kwh: plan.average_price_per_kwh.as_deref(),
            subtotals: &plan.subtotals,
            flags: &plan.flags,
            not_applied: &plan.not_applied,
            not_billed: &plan.not_billed,
            periods: plan
                .periods
                .iter()
                .map(|period| PeriodSummary {
                    start: period.start,
                    end: period.end,
                    total: &period.total,
                    missing_history: &period.missing_history,
                })
                .collect(),
        });
        Self {
            currency: &result.currency,
            usage: &result.usage,
            cheapest_plan_id: result.cheapest_plan_id.as_deref(),
            plans: plans.collect(),
        }
    }
}

#[derive(Serialize)]
struct Totals<'a> {
    currency: &'a str,
    cheapest_plan_id: Option<&'a str>,
    plans: Vec<PlanTotal<'a>>,
}

#[derive(Serialize)]
struct PlanTotal<'a> {
    plan_id: &'a str,
    complete: bool,
    total: &'a str,
    rank: Option<u32>,
}

impl<'a> Totals<'a> {
    fn of(result: &'a ComparisonResult) -> Self {
        let plan = |plan: &'a crate::engine::PlanBill| PlanTotal {
            plan_id: &plan.plan_id,
            complete: plan.complete,
            total: &plan.total,
            rank: plan.rank,
        };
        Self {
            currency: &result.currency,
            cheapest_plan_id: result.cheapest_plan_id.as_deref(),
            plans: result.plans.iter().map(plan).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{LineItem, PeriodBill, PlanBill};

    #[test]
    fn the_summary_is_the_result_without_its_lines() {
        let date = |text: &str| text.parse().unwrap();
        let result = ComparisonResult {
            currency: "USD".to_owned(),
            usage: UsageSummary {
                import_kwh: "1".to_owned(),
                export_kwh: "0".to_owned(),
                days: 1,
                intervals: 24,
                expected_intervals: 24,
                estimated: 0,
                filled_zero: 0,
                missing: 0,
                gaps: Vec::new(),
            },
            cheapest_plan_id: Some("flat".to_owned()),
            plans: vec![PlanBill {
                plan_id: "flat".to_owned(),
                name: "Flat".to_owned(),
                complete: true,
                total: "0.10".to_owned(),
                rank: Some(1),
                difference_from_cheapest: Some("0.00".to_owned()),
                tax: "0.00".to_owned(),
                average_price_per_kwh: None,
                subtotals: [("energy".to_owned(), "0.10".to_owned())].into(),
                flags: vec!["missing_history".to_owned()],
                not_applied: Vec::new(),
                not_billed: vec![NotBilled { field: "x".to_owned(), reason: "y".to_owned(), optional: true }],
                periods: vec![PeriodBill {
                    start: date("2026-06-01"),
                    end: date("2026-06-02"),
                    total: "0.10".to_owned(),
                    missing_history: vec![date("2026-05-01")],
                    line_items: vec![LineItem {
                        charge_id: "energy".to_owned(),
                        kind: "energy".to_owned(),
                        label: "Energy".to_owned(),
                        plan_version: 1,
                        included_plan_id: None,
                        tou_period: None,
                        tier: None,
                        quantity: "1".to_owned(),
                        unit: "kWh".to_owned(),
                        rate: Some("0.10".to_owned()),
                        price_series: None,
                        amount: "0.10".to_owned(),
                    }],
                }],
            }],
        };
        let rendered = render(&result).unwrap();
        let mut expected: serde_json::Value = serde_json::from_slice(&rendered.result).unwrap();
        expected["plans"][0]["periods"][0].as_object_mut().unwrap().remove("line_items").unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&rendered.summary).unwrap(), expected);
    }
}
