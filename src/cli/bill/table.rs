//! A bill for people and for spreadsheets.

use std::fmt::Write as _;

use crate::cli::Sheet;
use crate::cli::output::{money, rounded};
use crate::engine::{ComparisonResult, LineItem, LineSeries, PlanBill, Question};

/// The comparison, then each plan's bill: its lines if it is one billing month, else a row a month.
pub(super) fn text(question: &Question, result: &ComparisonResult) -> String {
    let mut text = format!(
        "{} to {}, {} days, {}\n{}\n",
        question.period.start(),
        question.period.end(),
        result.usage.days,
        question.time_zone,
        usage_line(result)
    );
    if result.plans.len() > 1 {
        let _ = write!(text, "\n{}\n", plans_sheet(result).table());
    }
    for plan in &result.plans {
        let _ = write!(text, "\n{} ({}): {} {}\n", plan.name, plan.plan_id, money(&plan.total), result.currency);
        let sheet = if plan.periods.len() == 1 { lines_sheet(plan) } else { months_sheet(plan) };
        let _ = writeln!(text, "{}", sheet.table());
        for remark in remarks(plan) {
            let _ = writeln!(text, "{remark}");
        }
    }
    text
}

/// What the bills are made from, in a line.
pub(in crate::cli) fn usage_line(result: &ComparisonResult) -> String {
    let usage = &result.usage;
    let mut line = format!("{} kWh used", rounded(&usage.import_kwh, 3));
    if usage.export_kwh.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        let _ = write!(line, ", {} kWh fed in", rounded(&usage.export_kwh, 3));
    }
    let _ = write!(line, ", {} of {} readings", usage.intervals, usage.expected_intervals);
    if usage.estimated > 0 {
        let _ = write!(line, ", {} of them estimated", usage.estimated);
    }
    if usage.filled_zero > 0 {
        let _ = write!(line, ", {} of them gaps declared zero", usage.filled_zero);
    }
    if usage.missing > 0 {
        let _ = write!(line, ", {} missing", usage.missing);
    }
    line
}

/// Plans with totals, rank and difference; the cheapest first.
pub(in crate::cli) fn plans_sheet(result: &ComparisonResult) -> Sheet {
    let mut sheet =
        Sheet::new(["rank", "plan", "name", &format!("total {}", result.currency), "difference", "per kWh"]);
    let mut plans: Vec<&PlanBill> = result.plans.iter().collect();
    plans.sort_by_key(|plan| plan.rank.unwrap_or(u32::MAX));
    for plan in plans {
        let rank = plan.rank.map_or_else(|| "incomplete".to_owned(), |rank| rank.to_string());
        let difference = plan.difference_from_cheapest.as_deref().map(money).unwrap_or_default();
        let per_kwh = plan.average_price_per_kwh.clone().unwrap_or_default();
        sheet.row([rank, plan.plan_id.clone(), plan.name.clone(), money(&plan.total), difference, per_kwh]);
    }
    sheet
}

/// Every line of every plan and billing month.
pub(super) fn sheet(result: &ComparisonResult) -> Sheet {
    let mut sheet = Sheet::new([
        "plan_id",
        "start",
        "end",
        "charge_id",
        "kind",
        "label",
        "plan_version",
        "tou_period",
        "tier",
        "quantity",
        "unit",
        "rate",
        "amount",
        "currency",
        "included_plan_id",
    ]);
    for plan in &result.plans {
        for period in &plan.periods {
            for line in &period.line_items {
                sheet.row([
                    plan.plan_id.clone(),
                    period.start.to_string(),
                    period.end.to_string(),
                    line.charge_id.clone(),
                    line.kind.clone(),
                    line.label.clone(),
                    line.plan_version.to_string(),
                    line.tou_period.clone().unwrap_or_default(),
                    line.tier.map(|tier| tier.to_string()).unwrap_or_default(),
                    line.quantity.clone(),
                    line.unit.clone(),
                    line.rate.clone().unwrap_or_default(),
                    line.amount.clone(),
                    result.currency.clone(),
                    line.included_plan_id.clone().unwrap_or_default(),
                ]);
            }
        }
    }
    sheet
}

fn lines_sheet(plan: &PlanBill) -> Sheet {
    let mut sheet = Sheet::new(["charge", "period", "tier", "quantity", "unit", "rate", "amount"]);
    for line in plan.periods.iter().flat_map(|period| &period.line_items) {
        sheet.row([
            line.label.clone(),
            line.tou_period.clone().unwrap_or_default(),
            line.tier.map(|tier| tier.to_string()).unwrap_or_default(),
            rounded(&line.quantity, 6),
            line.unit.clone(),
            rate(line),
            rounded(&line.amount, 6),
        ]);
    }
    sheet.row(["total", "", "", "", "", "", &money(&plan.total)]);
    sheet
}

/// The rate, or the mean of a price series.
fn rate(line: &LineItem) -> String {
    match (&line.rate, line.price_series.as_deref()) {
        (Some(rate), _) => rounded(rate, 8),
        (None, Some(LineSeries { id, mean_rate: Some(mean) })) => format!("{id}, mean {mean}"),
        (None, Some(LineSeries { id, mean_rate: None })) => id.clone(),
        (None, None) => String::new(),
    }
}

/// A row a billing month, a column a kind of charge.
fn months_sheet(plan: &PlanBill) -> Sheet {
    let kinds: Vec<&String> = plan.subtotals.keys().collect();
    let mut sheet = Sheet::new(
        ["from", "to"]
            .into_iter()
            .map(str::to_owned)
            .chain(kinds.iter().map(|k| (*k).clone()))
            .chain(["total".to_owned()]),
    );
    for period in &plan.periods {
        let sum_of = |kind: &str| -> String {
            let amounts = period.line_items.iter().filter(|line| line.kind == kind);
            let sum: Option<rust_decimal::Decimal> =
                amounts.map(|line| line.amount.parse::<rust_decimal::Decimal>().ok()).sum();
            sum.map_or_else(|| "?".to_owned(), |sum| rounded(&sum.to_string(), 4))
        };
        let cells = [period.start.to_string(), period.end.to_string()].into_iter();
        sheet.row(cells.chain(kinds.iter().map(|kind| sum_of(kind))).chain([rounded(&period.total, 4)]));
    }
    let sums = plan.subtotals.values().map(|amount| rounded(amount, 4));
    sheet.row(["total".to_owned(), String::new()].into_iter().chain(sums).chain([rounded(&plan.total, 4)]));
    sheet
}

/// What a reader of the amounts should know.
fn remarks(plan: &PlanBill) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for part in &plan.not_billed {
        let optional = if part.optional { ", optional" } else { "" };
        remarks.push(format!("not billed{optional}: {} ({})", part.field, part.reason));
    }
    for charge in &plan.not_applied {
        let amount = charge.amount.as_deref().map_or_else(|| "no amount".to_owned(), |amount| rounded(amount, 6));
        remarks.push(format!("not applied: {}, {amount}, which is billed where {}", charge.label, charge.condition));
    }
    for flag in &plan.flags {
        remarks.push(format!("note: {}", flag.replace('_', " ")));
    }
    let missing = plan.periods.iter().map(|period| period.missing_history.len()).max().unwrap_or(0);
    if missing > 0 {
        remarks.push(format!("note: {missing} earlier months that the plan looks back on have no readings"));
    }
    remarks
}
