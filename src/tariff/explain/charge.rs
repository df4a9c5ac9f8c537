//! A charge in words.

use std::collections::BTreeSet;

use super::phrases::Phrases;
use super::when::days_of_year;
use super::{short_list, upper};
use crate::tariff::conventions::{TierAllocation, TierScope};
use crate::tariff::model::{Charge, Kind, Measure, MeasureId, Part, Per, PeriodRef, Resets, Step, StepPrice, TimeUnit};
use crate::tariff::schedule::Schedule;

/// Periods and steps of a charge that are told one by one.
const MAX_PERIODS: usize = 200;
const MAX_STEPS: usize = 200;

/// What a charge counts, at what price, per what and when; each text a sentence, a line of a list begins with `- `.
pub(super) fn words(phrases: &Phrases<'_>, charge: &Charge) -> Vec<String> {
    if charge.parts.iter().all(|part| part.steps.is_empty()) {
        return vec!["Included, and not known here: import that plan to see its charges.".to_owned()];
    }
    let mut words = Vec::new();
    if let Some(condition) = &charge.condition {
        words.push(format!("Only if the customer's {condition}; else the bill lists it as not applied."));
    }
    match (charge.from, charge.to) {
        (Some(from), Some(to)) => words.push(format!("From {from} until before {to}.")),
        (Some(from), None) => words.push(format!("From {from}.")),
        (None, Some(to)) => words.push(format!("Until before {to}.")),
        (None, None) => {}
    }
    let floor = floor_of(phrases, charge);
    match floor {
        Some((floor, of)) => words.push(format!("At least {floor} for {of}: what they fall short of it is charged.")),
        None => prices(phrases, charge, &mut words),
    }
    for period in periods_named(phrases, charge) {
        words.push(format!("{}: {}.", phrases.period_name(period), phrases.when(period)));
    }
    words.extend(ladder_rules(phrases, charge));
    if charge.split.is_some_and(|i| has_seasons(&phrases.plan.schedules[i])) && matches!(charge.per, Per::Time(_)) {
        words.push("A billing month that holds several of these seasons is shared out by days.".to_owned());
    }
    if let Some(rounding) = charge.rounding {
        let what = if rounding.each_charge { "The charge" } else { "Each line" };
        words.push(format!("{what} is {}.", phrases.rounding(rounding)));
    }
    if !charge.on_bill {
        words.push("Not on the bill: other charges refer to it.".to_owned());
    }
    words
}

/// Whether a period can occur on some dates only.
fn has_seasons(schedule: &Schedule) -> bool {
    let spans: BTreeSet<u16> = days_of_year().map(|day| schedule.span(day)).collect();
    spans.into_iter().any(|span| (0..schedule.periods.len()).any(|period| !schedule.occurs(span, period)))
}

/// The floor of a minimum that is written as one, and the charges that count.
fn floor_of(phrases: &Phrases<'_>, charge: &Charge) -> Option<(String, String)> {
    let measures = &phrases.plan.measures;
    let [part] = charge.parts.as_slice() else { return None };
    let (Kind::Minimum, Measure::Max(parts)) = (charge.kind, &measures[part.measure]) else { return None };
    let [_, difference] = parts.as_slice() else { return None };
    let Measure::Sum(terms) = &measures[*difference] else { return None };
    let [floor, counted] = terms.as_slice() else { return None };
    let Measure::Times(factors) = &measures[*counted] else { return None };
    let [_, amount] = factors.as_slice() else { return None };
    let Measure::Amount(charges) = &measures[*amount] else { return None };
    let floor = match &measures[*floor] {
        Measure::Times(factors) => match factors.as_slice() {
            [floor, count] => match measures[*count] {
                Measure::Count { unit, by_convention: true, .. } => Some((*floor, unit)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
    .map_or_else(
        || format!("{} a billing period", phrases.amount(*floor, "")),
        |(floor, unit)| format!("{} a {}", phrases.amount(floor, ""), time_word(unit)),
    );
    Some((floor, phrases.charges(charges)))
}

fn time_word(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Day => "day",
        TimeUnit::Month => "month",
        TimeUnit::Year => "year",
    }
}

/// What is counted and what it costs.
fn prices(phrases: &Phrases<'_>, charge: &Charge, words: &mut Vec<String>) {
    let credit = if charge.negated { "Credited: " } else { "" };
    if let Some(schedule) = charge.split {
        let what = what_split(phrases, charge);
        let what = if credit.is_empty() { upper(&what) } else { what };
        words.push(format!("{credit}{what}, by period:"));
        for part in charge.parts.iter().take(MAX_PERIODS) {
            let period = part.period.expect("a part of a split charge has a period");
            let period = PeriodRef { schedule, period };
            let ladder = ladder(phrases, charge, part);
            words.push(format!("- {} ({}): {ladder}", phrases.period_name(period), phrases.when(period)));
        }
        if charge.parts.len() > MAX_PERIODS {
            words.push(format!("- and {} more periods", charge.parts.len() - MAX_PERIODS));
        }
        // Energy has a price in every period; demand and the like need none.
        let priced: BTreeSet<usize> = charge.parts.iter().filter_map(|part| part.period).collect();
        let names = phrases.plan.schedules[schedule].periods.iter().enumerate();
        let free: Vec<String> = names.filter(|(i, _)| !priced.contains(i)).map(|(_, name)| name.clone()).collect();
        if !free.is_empty() {
            words.push(format!("Free in {}.", short_list(free.into_iter())));
        }
        return;
    }
    let Some(part) = charge.parts.first() else { return };
    let sentence = if let [Step { to: None, price: Some(price), amount: None, .. }] = part.steps.as_slice() {
        let price = one_price(phrases, charge, part.measure, *price);
        if price.starts_with("the ") { upper(&price) } else { price }
    } else {
        let what = what(phrases, charge, part);
        let what = if credit.is_empty() { upper(&what) } else { what };
        format!("{what}: {}", ladder(phrases, charge, part))
    };
    words.push(format!("{credit}{sentence}."));
}

/// `38.04 EUR/kW and year for the customer's contract_kw`, `25 USD a month`, `21 % of energy and power`.
fn one_price(phrases: &Phrases<'_>, charge: &Charge, measure: MeasureId, price: StepPrice) -> String {
    let currency = &phrases.plan.currency;
    let unit = phrases.unit(measure);
    let counted = phrases.measure(measure);
    match price {
        StepPrice::Price(id) if unit == currency && phrases.is_one(id) => format!("{counted}, in {currency}"),
        StepPrice::Price(id) if unit == currency => format!("{} x ({counted}), in {currency}", phrases.measure(id)),
        StepPrice::Percent(_) => {
            let text = phrases.price(price, "");
            format!("{text} {}{counted}", if text.ends_with("off") { "" } else { "of " })
        }
        _ => {
            let text = phrases.price(price, &phrases.per(charge, unit));
            match (phrases.is_one(measure), unit.is_empty()) {
                (true, _) => text,
                (_, true) => format!("{text} x {counted}"),
                _ => format!("{text} for {counted}"),
            }
        }
    }
}

fn what(phrases: &Phrases<'_>, charge: &Charge, part: &Part) -> String {
    match charge.chosen_by {
        Some(id) if phrases.is_one(part.measure) => format!("by {}", phrases.measure(id)),
        Some(id) => format!("for {}, by {}", phrases.measure(part.measure), phrases.measure(id)),
        None if phrases.is_one(part.measure) => "by step".to_owned(),
        None => format!("for {}", phrases.measure(part.measure)),
    }
}

/// What a split charge counts in each of its periods.
fn what_split(phrases: &Phrases<'_>, charge: &Charge) -> String {
    let Some(part) = charge.parts.first() else { return String::new() };
    let text = what(phrases, charge, part);
    match (charge.shares_measure, charge.split.zip(part.period)) {
        (false, Some((schedule, period))) => {
            let name = phrases.period_name(PeriodRef { schedule, period });
            text.replace(&format!(" in {name}"), "")
        }
        _ => text,
    }
}

/// The steps of a ladder, one after the other.
fn ladder(phrases: &Phrases<'_>, charge: &Charge, part: &Part) -> String {
    let per = phrases.per(charge, phrases.unit(part.measure));
    let amount_per = if charge.per == Per::BillingPeriod { " in all".to_owned() } else { phrases.per(charge, "") };
    let bound_unit = phrases.unit(charge.chosen_by.unwrap_or(part.measure));
    let n_steps = part.steps.len();
    let steps = part.steps.iter().enumerate().take(MAX_STEPS).map(|(i, step)| {
        let price = step.price.map(|price| match price {
            StepPrice::Percent(_) => phrases.price(price, ""),
            _ if n_steps == 1 => phrases.price(price, &per),
            _ => format!("at {}", phrases.price(price, &per)),
        });
        let amount = step.amount.map(|amount| format!("for {}", phrases.amount(amount, &amount_per)));
        let price = match (amount, price) {
            (Some(amount), Some(price)) => format!("{amount} and {price}"),
            (Some(amount), None) => amount,
            (None, price) => price.unwrap_or_default(),
        };
        let whole = if step.whole { " (for all of it, if it ends here)" } else { "" };
        let bound = phrases.bound(step, charge, bound_unit);
        match (i, step.to, charge.chosen_by) {
            (0, None, _) => format!("{price}{whole}"),
            (_, None, _) => format!("above that {price}{whole}"),
            (0, Some(_), None) if n_steps > 1 => format!("the first {bound} {price}{whole}"),
            (_, Some(_), _) => format!("up to {bound} {price}{whole}"),
        }
    });
    let mut text = steps.collect::<Vec<_>>().join("; ");
    if n_steps > MAX_STEPS {
        text = format!("{text}; and so on to step {n_steps}");
    }
    if part.steps.last().is_some_and(|step| step.to.is_some()) {
        text.push_str("; more is refused");
    }
    text
}

/// Periods that measures of the charge name and that no list of prices has told.
fn periods_named(phrases: &Phrases<'_>, charge: &Charge) -> BTreeSet<PeriodRef> {
    let mut named: BTreeSet<PeriodRef> = charge.period.into_iter().collect();
    for id in phrases.plan.measures_of(charge) {
        named.extend(match &phrases.plan.measures[id] {
            Measure::Count { period, .. } => *period,
            Measure::Energy(spec) => spec.period,
            Measure::Demand(spec) => spec.period,
            Measure::NetEnergy(spec) => spec.period,
            _ => None,
        });
    }
    named.retain(|period| Some(period.schedule) != charge.split);
    named
}

/// How the ladder is climbed, where there is more than one step.
fn ladder_rules(phrases: &Phrases<'_>, charge: &Charge) -> Vec<String> {
    let has_steps = charge.parts.iter().any(|part| part.steps.len() > 1 || part.steps.iter().any(|s| s.to.is_some()));
    let mut rules = Vec::new();
    if !has_steps || charge.chosen_by.is_some() {
        return rules;
    }
    rules.push(
        match charge.resets {
            Resets::BillingMonth => "The steps begin anew with each billing month.",
            Resets::Day => "The steps begin anew with each local day.",
            Resets::Year => "The steps run on through the calendar year.",
        }
        .to_owned(),
    );
    let is_energy = matches!(
        phrases.plan.measures[charge.parts[0].measure],
        Measure::Energy(_) | Measure::NetEnergy(_) | Measure::Cost(_)
    );
    let conventions = &phrases.plan.sources[charge.source].conventions;
    let scope = charge.tier_scope.or(conventions.tier_scope).unwrap_or(TierScope::AllPeriods);
    if charge.split.is_some() && is_energy && !charge.shares_measure {
        rules.push(
            match scope {
                TierScope::AllPeriods => {
                    "The kWh of all periods together climb the steps; a period gets its share of every step."
                }
                TierScope::PerPeriod => "The kWh of each period climb its own steps.",
            }
            .to_owned(),
        );
    }
    let allocation = charge.tier_allocation.or(conventions.tier_allocation).unwrap_or(TierAllocation::Prorated);
    if is_energy && allocation == TierAllocation::Chronological {
        rules.push("Readings fill the steps in the order of time.".to_owned());
    }
    rules
}
