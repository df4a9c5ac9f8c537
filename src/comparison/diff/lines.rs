//! Two bills of one plan, line by line.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use itertools::{EitherOrBoth, Itertools as _};
use serde::Serialize;

use super::difference;
use crate::comparison::ComparisonError;
use crate::engine::{LineItem, LineSeries, PlanBill};

/// A line that is not the same in both bills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineDifference {
    /// First day of the billing month.
    pub period_start: NaiveDate,
    /// The charge.
    pub charge_id: String,
    /// Its kind.
    pub kind: String,
    /// For people.
    pub label: String,
    /// Time-of-use period.
    pub tou_period: Option<String>,
    /// Step of the ladder.
    pub tier: Option<u32>,
    /// The line before; `None` when there was none.
    pub before: Option<LineSide>,
    /// The line after; `None` when there is none.
    pub after: Option<LineSide>,
    /// Amount after less amount before; no line counts as zero.
    pub difference: String,
}

/// One side of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineSide {
    /// How much.
    pub quantity: String,
    /// Of what.
    pub unit: String,
    /// Price of one unit.
    pub rate: Option<String>,
    /// The price series in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_series: Option<LineSeries>,
    /// Money.
    pub amount: String,
    /// The plan version it comes from.
    pub plan_version: u32,
    /// The included plan whose version that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub included_plan_id: Option<String>,
}

type Place = (NaiveDate, String, String, Option<String>, Option<u32>);

/// The lines of two bills that differ. Lines of one charge, time-of-use period and step are held against each other in
/// their order (a charge can have several where its price changed within the month).
///
/// # Errors
/// When a stored amount is no decimal.
pub(super) fn differences(before: &PlanBill, after: &PlanBill) -> Result<Vec<LineDifference>, ComparisonError> {
    let (mut before, order_before) = by_place(before);
    let (mut after, mut order) = by_place(after);
    order.extend(order_before);
    let mut differences = Vec::new();
    for place in order.into_iter().unique() {
        let old = before.remove(&place).unwrap_or_default();
        let new = after.remove(&place).unwrap_or_default();
        for pair in old.into_iter().zip_longest(new) {
            let (old, new) = match pair {
                EitherOrBoth::Both(old, new) => (Some(old), Some(new)),
                EitherOrBoth::Left(old) => (Some(old), None),
                EitherOrBoth::Right(new) => (None, Some(new)),
            };
            if let Some(line) = line_difference(&place, old, new)? {
                differences.push(line);
            }
        }
    }
    // Lines that are gone stand with their month and not at the end.
    differences.sort_by_key(|line| line.period_start);
    Ok(differences)
}

fn by_place(bill: &PlanBill) -> (BTreeMap<Place, Vec<&LineItem>>, Vec<Place>) {
    let mut lines: BTreeMap<Place, Vec<&LineItem>> = BTreeMap::new();
    let mut order = Vec::new();
    for period in &bill.periods {
        for line in &period.line_items {
            let place = (period.start, line.charge_id.clone(), line.kind.clone(), line.tou_period.clone(), line.tier);
            order.push(place.clone());
            lines.entry(place).or_default().push(line);
        }
    }
    (lines, order)
}

fn line_difference(
    place: &Place,
    old: Option<&LineItem>,
    new: Option<&LineItem>,
) -> Result<Option<LineDifference>, ComparisonError> {
    if old == new {
        return Ok(None);
    }
    let amount = |line: Option<&LineItem>| line.map_or("0", |line| line.amount.as_str()).to_owned();
    let side = |line: &LineItem| LineSide {
        quantity: line.quantity.clone(),
        unit: line.unit.clone(),
        rate: line.rate.clone(),
        price_series: line.price_series.as_deref().cloned(),
        amount: line.amount.clone(),
        plan_version: line.plan_version,
        included_plan_id: line.included_plan_id.clone(),
    };
    let (period_start, charge_id, kind, tou_period, tier) = place.clone();
    Ok(Some(LineDifference {
        period_start,
        charge_id,
        kind,
        label: new.or(old).map_or_else(String::new, |line| line.label.clone()),
        tou_period,
        tier,
        difference: difference(&amount(old), &amount(new))?,
        before: old.map(side),
        after: new.map(side),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::PeriodBill;

    fn line(charge: &str, rate: &str, amount: &str) -> LineItem {
        LineItem {
            charge_id: charge.to_owned(),
            kind: "energy".to_owned(),
            label: charge.to_owned(),
            plan_version: 1,
            included_plan_id: None,
            tou_period: None,
            tier: None,
            quantity: "1".to_owned(),
            unit: "kWh".to_owned(),
            rate: Some(rate.to_owned()),
            price_series: None,
            amount: amount.to_owned(),
        }
    }

    fn bill(months: Vec<(&str, Vec<LineItem>)>) -> PlanBill {
        PlanBill {
            plan_id: "flat".to_owned(),
            name: "Flat".to_owned(),
            complete: true,
            total: "0".to_owned(),
            rank: None,
            difference_from_cheapest: None,
            tax: "0".to_owned(),
            average_price_per_kwh: None,
            subtotals: BTreeMap::new(),
            flags: Vec::new(),
            not_applied: Vec::new(),
            not_billed: Vec::new(),
            periods: months
                .into_iter()
                .map(|(start, line_items)| PeriodBill {
                    start: start.parse().unwrap(),
                    end: start.parse().unwrap(),
                    total: "0".to_owned(),
                    missing_history: Vec::new(),
                    line_items,
                })
                .collect(),
        }
    }

    #[test]
    fn only_lines_that_differ_are_listed_in_the_order_of_the_bill() {
        let before = bill(vec![
            ("2026-05-01", vec![line("gone", "1", "1.00"), line("same", "1", "1")]),
            ("2026-06-01", vec![line("energy", "0.2", "2.00"), line("energy", "0.3", "3.00")]),
        ]);
        let after = bill(vec![
            ("2026-05-01", vec![line("same", "1", "1"), line("new", "1", "-0.50")]),
            ("2026-06-01", vec![line("energy", "0.2", "2.00"), line("energy", "0.31", "3.10")]),
        ]);
        let found = differences(&before, &after).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|l| (l.charge_id.as_str(), l.before.is_some(), l.after.is_some(), l.difference.as_str()))
            .collect();
        let expected = [("new", false, true, "-0.50"), ("gone", true, false, "-1.00"), ("energy", true, true, "0.10")];
        assert_eq!(told, expected);
        assert_eq!(differences(&after, &after).unwrap(), []);
    }
}
