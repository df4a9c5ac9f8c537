//! Bills written down: exact numbers to decimal text, ranks, subtotals.

use std::collections::{BTreeMap, BTreeSet};

use super::bill::{BilledLine, Bills};
use super::condition::WouldBe;
use super::lines::Line;
use super::result::{ComparisonResult, LineItem, LineSeries, NotApplied, PeriodBill, PlanBill, UsageSummary};
use super::{EngineError, PlanToBill, Question};
use crate::tariff::NotBilled;
use crate::tariff::model::{Kind, Plan};
use crate::tariff::number::{Exact, Money, RoundingMode};

/// One version of a plan.
#[derive(Debug)]
pub(super) struct Edition<'a> {
    pub(super) version: u32,
    pub(super) plan: &'a Plan,
}

/// The bills of one plan, not yet compared.
#[derive(Debug)]
pub(super) struct Billed {
    bill: PlanBill,
    total: Money,
}

/// Writes one plan's bill.
pub(super) fn plan(
    plan: &PlanToBill,
    documents: &[Edition<'_>],
    bills: Bills,
    usage: &UsageSummary,
    split_evenly: bool,
) -> Result<Billed, EngineError> {
    let last = documents.last().expect("a plan to bill has a version").plan;
    let decimals = last.currency_decimals;
    let mut total = Money::ZERO;
    let mut tax = Money::ZERO;
    let mut by_kind: BTreeMap<&str, Money> = BTreeMap::new();
    let mut not_applied: Vec<(NotApplied, Option<Money>)> = Vec::new();
    let mut missing_history = false;
    let Bills { months, billed, lines, rates } = bills;
    let mut periods = Vec::with_capacity(months.len());
    for month in months {
        let mut add = |kind: Kind, money: Money| {
            let sum = by_kind.entry(kind.as_str()).or_default();
            *sum = sum.plus(money).ok_or(EngineError::TooLarge)?;
            if kind == Kind::Tax {
                tax = tax.plus(money).ok_or(EngineError::TooLarge)?;
            }
            Ok::<(), EngineError>(())
        };
        let billed = &billed[month.billed];
        let mut line_items = Vec::with_capacity(billed.len() + usize::from(!month.rounding.is_zero()));
        for billed in billed {
            let line = &lines[billed.line as usize];
            let kind = documents[billed.document as usize].plan.charges[billed.charge as usize].kind;
            add(kind, line.money)?;
            line_items.push(line_item(documents, *billed, line, &rates)?);
        }
        if !month.rounding.is_zero() {
            add(Kind::Rounding, month.rounding)?;
            line_items.push(rounding_line(documents, month.rounding, last));
        }
        for would_be in &month.not_applied {
            add_not_applied(&mut not_applied, documents, would_be)?;
        }
        total = total.plus(month.total).ok_or(EngineError::TooLarge)?;
        missing_history |= !month.missing_history.is_empty();
        periods.push(PeriodBill {
            start: month.period.start(),
            end: month.period.end(),
            total: month.total.text(decimals),
            missing_history: month.missing_history,
            line_items,
        });
    }
    let not_billed: BTreeSet<&NotBilled> = documents.iter().flat_map(|document| &document.plan.not_billed).collect();
    let not_applied = not_applied
        .into_iter()
        .map(|(charge, amount)| NotApplied { amount: amount.map(|amount| amount.text(0)), ..charge });
    let mut flags = Vec::new();
    flags.extend(split_evenly.then(|| "intervals_split_evenly".to_owned()));
    flags.extend(missing_history.then(|| "missing_history".to_owned()));
    let bill = PlanBill {
        plan_id: plan.reference.as_str().to_owned(),
        name: last.name.clone(),
        complete: not_billed.iter().all(|part| part.optional),
        total: total.text(decimals),
        rank: None,
        difference_from_cheapest: None,
        tax: tax.text(decimals),
        average_price_per_kwh: average_price(total, &usage.import_kwh)?,
        subtotals: by_kind.into_iter().map(|(kind, money)| (kind.to_owned(), money.text(0))).collect(),
        flags,
        not_applied: not_applied.collect(),
        not_billed: not_billed.into_iter().cloned().collect(),
        periods,
    };
    Ok(Billed { bill, total })
}

/// Adds what a charge would have been in a month to what it would have been in others.
fn add_not_applied(
    known: &mut Vec<(NotApplied, Option<Money>)>,
    documents: &[Edition<'_>],
    would_be: &WouldBe,
) -> Result<(), EngineError> {
    let charge = &documents[would_be.document].plan.charges[would_be.charge];
    let condition = charge.condition.as_ref().map(ToString::to_string).unwrap_or_default();
    let sum = known.iter_mut().find(|(other, _)| other.charge_id == charge.id && other.condition == condition);
    if let Some((_, sum)) = sum {
        *sum = match (*sum, would_be.amount) {
            (Some(sum), Some(amount)) => Some(sum.plus(amount).ok_or(EngineError::TooLarge)?),
            _ => None,
        };
    } else {
        let (charge_id, label) = (charge.id.clone(), charge.label.clone());
        known.push((NotApplied { charge_id, label, condition, amount: None }, would_be.amount));
    }
    Ok(())
}

/// * `rates`: those of lines that were measured.
fn line_item(
    documents: &[Edition<'_>],
    billed: BilledLine,
    line: &Line,
    rates: &[Exact],
) -> Result<LineItem, EngineError> {
    let document = &documents[billed.document as usize];
    let charge = &document.plan.charges[billed.charge as usize];
    let (period, step) = (line.period.map(usize::from), line.step.map(usize::from));
    let tou_period = charge.split.zip(period).map(|(s, p)| document.plan.schedules[s].periods[p].clone());
    let included = document.plan.sources[charge.source].included.as_ref();
    Ok(LineItem {
        charge_id: charge.id.clone(),
        kind: charge.kind.as_str().to_owned(),
        label: charge.label.clone(),
        plan_version: included.map_or(document.version, |included| included.version),
        included_plan_id: included.map(|included| included.plan_id.as_str().to_owned()),
        tou_period,
        tier: line.step.map(|step| u32::from(step) + 1),
        quantity: line.quantity.text(0).ok_or(EngineError::TooLarge)?,
        unit: charge.unit.clone(),
        rate: line.rate.of(document.plan, rates).map(|rate| rate.text(0).ok_or(EngineError::TooLarge)).transpose()?,
        price_series: match document.plan.series_of(charge, period, step) {
            Some(series) => {
                let mean_rate = mean(line.money, &line.quantity)?;
                Some(Box::new(LineSeries { id: series.to_owned(), mean_rate }))
            }
            None => None,
        },
        amount: line.money.text(0),
    })
}

fn rounding_line(documents: &[Edition<'_>], money: Money, plan: &Plan) -> LineItem {
    LineItem {
        charge_id: "rounding".to_owned(),
        kind: Kind::Rounding.as_str().to_owned(),
        label: "rounding".to_owned(),
        plan_version: documents.last().map_or(1, |document| document.version),
        included_plan_id: None,
        tou_period: None,
        tier: None,
        quantity: money.text(0),
        unit: plan.currency.clone(),
        rate: None,
        price_series: None,
        amount: money.text(0),
    }
}

/// `total / kWh`, six decimals, half up; `None` when nothing was used.
fn average_price(total: Money, import_kwh: &str) -> Result<Option<String>, EngineError> {
    let kwh = crate::tariff::number::Decimal::parse(import_kwh, 6).map_err(|_| EngineError::TooLarge)?;
    mean(total, &Exact::from(kwh))
}

/// Money by a quantity, six decimals, half up; `None` when the quantity is zero.
fn mean(money: Money, quantity: &Exact) -> Result<Option<String>, EngineError> {
    let Some(price) = Exact::from(money).divided_by(quantity) else { return Ok(None) };
    let digits = price.settled(6, RoundingMode::HalfUp).ok_or(EngineError::TooLarge)?;
    let settled = Money::settle(&Exact::scaled(digits, 6)).ok_or(EngineError::TooLarge)?;
    Ok(Some(settled.text(6)))
}

/// Ranks the complete bills, cheapest first; ties keep the order of the references.
pub(super) fn ranked(
    question: &Question,
    usage: UsageSummary,
    mut billed: Vec<Billed>,
) -> Result<ComparisonResult, EngineError> {
    let first = question.plans.first().and_then(|plan| plan.versions.first());
    let currency = first.map_or_else(String::new, |version| version.tariff.currency().to_owned());
    let decimals = first.map_or(2, |version| version.tariff.plan().currency_decimals);
    let mut order: Vec<usize> = (0..billed.len()).filter(|i| billed[*i].bill.complete).collect();
    order.sort_by_key(|i| billed[*i].total);
    let cheapest = order.first().map(|i| billed[*i].total);
    for (rank, i) in (1u32..).zip(&order) {
        billed[*i].bill.rank = Some(rank);
    }
    if let Some(cheapest) = cheapest {
        for billed in &mut billed {
            let difference = billed.total.minus(cheapest).ok_or(EngineError::TooLarge)?;
            billed.bill.difference_from_cheapest = Some(difference.text(decimals));
        }
    }
    Ok(ComparisonResult {
        currency,
        usage,
        cheapest_plan_id: order.first().map(|i| billed[*i].bill.plan_id.clone()),
        plans: billed.into_iter().map(|billed| billed.bill).collect(),
    })
}
