//! A published bill asked of the engine, and held against what was published.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rust_decimal::{Decimal, RoundingStrategy};
use samebill::engine::{
    self, EngineError, LineItem, Options, PlanBill, PlanFault, PlanToBill, Price, PriceSeries, Question, VersionInForce,
};
use samebill::tariff::Tariff;

use super::case::{Bill, Case, Published, PublishedStep, Selector, SeriesColumns, Step};
use super::{Worked, readings};

/// What became of a published bill.
pub(crate) enum Outcome {
    /// Every line and total as published.
    Right,
    /// Lines or totals that differ.
    Wrong(Vec<String>),
    /// The plan or the question is refused: every fault.
    Refused(Vec<String>),
}

/// Bills every bill of a case.
pub(crate) fn outcome(worked: &Worked, published_folder: &Path) -> Outcome {
    let mut differences = Vec::new();
    let mut steps_seen = BTreeSet::new();
    let plan_file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/plans/worked/{}.json", worked.name));
    let tariff = match Tariff::from_json(&super::text_of(&plan_file)) {
        Ok(tariff) => Arc::new(tariff),
        Err(faults) => {
            return Outcome::Refused(faults.0.iter().map(|f| format!("{} {f}", f.code)).collect());
        }
    };
    for bill in &worked.case.bills {
        let question = question(worked, bill, &tariff, published_folder);
        match engine::compare(&question) {
            Ok(result) => {
                let found = differences_of(&worked.published, bill, &result.plans[0], &mut steps_seen);
                differences.extend(found.into_iter().map(|difference| format!("{} {difference}", bill.name)));
            }
            Err(EngineError::PlansNotBillable(faults)) => {
                let fault = |f: &PlanFault| format!("{} {}: {}", f.code, f.pointer, f.message);
                return Outcome::Refused(faults.iter().map(fault).collect());
            }
            Err(error) => return Outcome::Refused(vec![error.to_string()]),
        }
    }
    for (n, step) in worked.published.steps.iter().enumerate() {
        if !steps_seen.contains(&n) {
            differences.push(format!("published line {n} ({}) is not compared", step.item));
        }
    }
    if differences.is_empty() { Outcome::Right } else { Outcome::Wrong(differences) }
}

fn question(Worked { case, .. }: &Worked, bill: &Bill, tariff: &Arc<Tariff>, published_folder: &Path) -> Question {
    let Case { time_zone, .. } = case;
    let cycle = if bill.registered { vec![bill.period] } else { Vec::new() };
    Question {
        time_zone: *time_zone,
        period: bill.period,
        months: engine::billing_months(&bill.period, &cycle),
        months_registered: engine::is_registered(&bill.period, &cycle),
        earlier_months: engine::earlier_months(&bill.period, tariff.look_back_months(), &cycle),
        readings: readings::make(bill, *time_zone, published_folder),
        attributes: bill.attributes.clone(),
        calendars: bill.calendars.iter().map(|(name, dates)| (name.clone(), dates.iter().copied().collect())).collect(),
        price_series: bill
            .series
            .iter()
            .map(|(name, columns)| (name.clone(), series(columns, published_folder)))
            .collect(),
        event_lists: BTreeMap::new(),
        plans: vec![PlanToBill {
            reference: "worked".parse().expect("a reference"),
            versions: vec![VersionInForce { version: 1, days: bill.period, tariff: Arc::clone(tariff) }],
        }],
        options: Options::default(),
    }
}

fn series(columns: &SeriesColumns, published_folder: &Path) -> Arc<PriceSeries> {
    let prices = readings::prices(columns, published_folder);
    let scale = prices.values().map(Decimal::scale).max().unwrap_or(0);
    let price = |(start, price): (&i64, &Decimal)| {
        let digits = price.mantissa() * 10_i128.pow(scale - price.scale());
        Price {
            start: *start,
            seconds: columns.minutes * 60,
            digits: digits.try_into().expect("a price of few digits"),
        }
    };
    Arc::new(PriceSeries::from_sorted(prices.iter().map(price), scale))
}

fn differences_of(
    published: &Published,
    bill: &Bill,
    plan: &PlanBill,
    steps_seen: &mut BTreeSet<usize>,
) -> Vec<String> {
    let mut differences = Vec::new();
    let mut covered = BTreeSet::new();
    for step in &bill.steps {
        steps_seen.insert(step.index);
        let line = &published.steps[step.index];
        let lines = lines_of(plan, step, &mut covered);
        let amount: Decimal = lines.iter().map(|line| decimal(&line.amount)).sum();
        let wanted = wanted_amount(published, line, step);
        if amount != wanted {
            differences.push(format!("{}: published {wanted}, ours {amount} ({})", line.item, shown(&lines)));
        }
        if let Some(wanted) = wanted_quantity(line, step) {
            let quantity: Decimal = lines.iter().map(|line| decimal(&line.quantity)).sum();
            if quantity != wanted {
                differences.push(format!("{}: quantity {wanted}, ours {quantity} ({})", line.item, shown(&lines)));
            }
        }
    }
    let all = plan.periods.iter().flat_map(|period| &period.line_items).enumerate();
    for (n, line) in all {
        let is_shown = covered.contains(&n) || line.kind == "rounding" || bill.unpublished.contains(&line.charge_id);
        if !is_shown && !decimal(&line.amount).is_zero() {
            differences.push(format!("a line that nobody published: {}", shown(&[line])));
        }
    }
    let total = decimal(&plan.total);
    if let Some(wanted) = wanted_total(published, bill, steps_seen)
        && total != wanted
    {
        differences.push(format!("total: published {wanted}, ours {total}"));
    }
    let sum: Decimal = plan.periods.iter().flat_map(|p| &p.line_items).map(|line| decimal(&line.amount)).sum();
    if sum != total {
        differences.push(format!("the lines add up to {sum}, the total is {total}"));
    }
    if !plan.complete {
        differences.push("the bill is not complete".to_owned());
    }
    differences
}

/// The lines of a step; their places among all lines are added to `covered`.
fn lines_of<'a>(plan: &'a PlanBill, step: &Step, covered: &mut BTreeSet<usize>) -> Vec<&'a LineItem> {
    let mut lines = Vec::new();
    let all = plan.periods.iter().flat_map(|month| month.line_items.iter().map(move |line| (month, line)));
    for (n, (month, line)) in all.enumerate() {
        let of_month = step.months.is_empty() || step.months.iter().any(|m| month.start.to_string().starts_with(m));
        if of_month && step.lines.iter().any(|selector| selects(selector, line)) {
            covered.insert(n);
            lines.push(line);
        }
    }
    lines
}

fn selects(selector: &Selector, line: &LineItem) -> bool {
    selector.charge == line.charge_id
        && selector.period.as_ref().is_none_or(|period| line.tou_period.as_ref() == Some(period))
        && selector.tier.is_none_or(|tier| line.tier == Some(tier))
}

/// The published amount in units of the currency. A line published without one is its quantity times its rate.
fn wanted_amount(published: &Published, line: &PublishedStep, step: &Step) -> Decimal {
    if let Some(ours) = step.ours {
        let differs = published.does_not_come_out.is_some() && line.amount != Some(ours);
        assert!(differs, "{}: our own number stands only for one that does not come out", line.item);
        return ours;
    }
    let unit = step.unit.unwrap_or(Decimal::ONE);
    if let Some(amount) = line.amount {
        return amount * unit;
    }
    let rate = line.rate.as_deref().unwrap_or_else(|| panic!("{}: neither amount nor rate", line.item));
    let quantity = line.quantity.as_deref().map_or(Decimal::ONE, decimal);
    let product = quantity * decimal(rate) * Decimal::from(line.months.unwrap_or(1));
    match step.round {
        Some(to) => product.round_dp_with_strategy(to.scale(), RoundingStrategy::MidpointAwayFromZero),
        None => product,
    }
}

/// The published quantity, where it is energy or demand of one charge.
fn wanted_quantity(line: &PublishedStep, step: &Step) -> Option<Decimal> {
    let unit = line.unit.as_deref()?;
    if step.lines.len() != 1 || !(unit == "kW" || unit == "kWh" || unit.starts_with("kWh ")) {
        return None;
    }
    Some(decimal(line.quantity.as_deref()?) * Decimal::from(line.months.unwrap_or(1)))
}

fn wanted_total(published: &Published, bill: &Bill, steps_seen: &mut BTreeSet<usize>) -> Option<Decimal> {
    if let Some(ours) = bill.total_ours {
        let first_bill_differs = published.does_not_come_out.is_some() && published.total != Some(ours);
        assert!(first_bill_differs || !bill.name.is_empty(), "the published total stands, not our own");
        return Some(ours);
    }
    if let Some(step) = bill.total_step {
        steps_seen.insert(step);
        return published.steps[step].amount;
    }
    Some(published.total? * bill.total_in.unwrap_or(Decimal::ONE))
}

fn shown(lines: &[&LineItem]) -> String {
    let show = |line: &&LineItem| {
        let period = line.tou_period.as_deref().unwrap_or("-");
        let tier = line.tier.map_or_else(|| "-".to_owned(), |tier| tier.to_string());
        format!("{} {period} {tier}: {} {} = {}", line.charge_id, line.quantity, line.unit, line.amount)
    };
    if lines.is_empty() { "no line".to_owned() } else { lines.iter().map(show).collect::<Vec<_>>().join(", ") }
}

fn decimal(text: &str) -> Decimal {
    Decimal::from_str_exact(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}
