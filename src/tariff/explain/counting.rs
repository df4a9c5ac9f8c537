//! What holds for all charges of a plan: holidays, conventions, roundings.

use std::collections::BTreeSet;

use super::list;
use super::phrases::Phrases;
use crate::tariff::conventions::{
    BrokenMonthBounds, DailyAmounts, DatedValues, MissingHistory, MonthlyAmounts, YearlyAmounts,
};
use crate::tariff::model::{BoundsPer, Charge, Measure, MeasureId, Per, Resets, Source, TimeUnit};
use crate::tariff::schedule::{HOLIDAY, Schedule};

/// Sentences, each only where the plan has something that it holds for; those of an included plan name it.
pub(super) fn rules(phrases: &Phrases<'_>) -> Vec<String> {
    let plan = phrases.plan;
    let mut rules: Vec<String> = Vec::new();
    for sentence in plan.schedules.iter().filter_map(holidays) {
        if !rules.contains(&sentence) {
            rules.push(sentence);
        }
    }
    for (index, source) in plan.sources.iter().enumerate() {
        let of_source = of_document(phrases, index, source);
        match &source.included {
            None => rules.extend(of_source),
            Some(included) => {
                rules.extend(of_source.into_iter().map(|rule| format!("Plan {}: {rule}", included.plan_id)));
            }
        }
    }
    rules.push(match plan.total_rounding {
        Some(rounding) => format!("The total is {}.", phrases.rounding(rounding)),
        None => "The total is the sum of the lines.".to_owned(),
    });
    rules
}

/// What one document decides for its own charges.
fn of_document(phrases: &Phrases<'_>, index: usize, source: &Source) -> Vec<String> {
    let plan = phrases.plan;
    let conventions = &source.conventions;
    let mut rules = Vec::new();
    let charges: Vec<&Charge> = plan.charges.iter().filter(|charge| charge.source == index).collect();
    let measures: BTreeSet<MeasureId> = charges.iter().flat_map(|charge| plan.measures_of(charge)).collect();
    let has = |wanted: fn(&Measure) -> bool| measures.iter().any(|id| wanted(&plan.measures[*id]));
    let is_per = |unit: TimeUnit| charges.iter().any(|charge| charge.per == Per::Time(unit));
    if is_per(TimeUnit::Day) || has(|m| matches!(m, Measure::Count { unit: TimeUnit::Day, .. })) {
        rules.push(
            match conventions.daily_amounts.unwrap_or(DailyAmounts::ActualDays) {
                DailyAmounts::ActualDays => "A day is a local day.",
                DailyAmounts::AverageMonth => "Days are 365/12 a billing month.",
            }
            .to_owned(),
        );
    }
    if is_per(TimeUnit::Month) || has(|m| matches!(m, Measure::Count { unit: TimeUnit::Month, .. })) {
        rules.push(
            match conventions.monthly_amounts.unwrap_or(MonthlyAmounts::Whole) {
                MonthlyAmounts::Whole => "A month is a billing month; a broken one counts by its days.",
                MonthlyAmounts::ByDays => "Months count by days: those of each calendar month over its length.",
            }
            .to_owned(),
        );
    }
    if is_per(TimeUnit::Year) || has(|m| matches!(m, Measure::Count { unit: TimeUnit::Year, .. })) {
        rules.push(
            match conventions.yearly_amounts.unwrap_or(YearlyAmounts::ActualDays) {
                YearlyAmounts::ActualDays => "A year counts by its days over 365 or 366.",
                YearlyAmounts::Days365 => "A year counts by its days over 365.",
                YearlyAmounts::Days365_25 => "A year counts by its days over 365.25.",
                YearlyAmounts::Twelfths => "A billing month is a twelfth of a year.",
            }
            .to_owned(),
        );
    }
    let has_monthly_bounds = charges.iter().any(|charge| {
        charge.resets == Resets::BillingMonth
            && charge.bounds_per != Some(BoundsPer::Day)
            && charge.extensive_bounds
            && charge.parts.iter().any(|part| part.steps.iter().any(|step| step.to.is_some()))
    });
    if has_monthly_bounds {
        rules.push(
            match conventions.broken_month_bounds.unwrap_or(BrokenMonthBounds::Prorated) {
                BrokenMonthBounds::Prorated => "In a broken billing month the bounds of steps are their share by days.",
                BrokenMonthBounds::Whole => "In a broken billing month the bounds of steps are as written.",
            }
            .to_owned(),
        );
    }
    if has(|m| matches!(m, Measure::ByDate(_))) {
        rules.push(
            match conventions.dated_values.unwrap_or(DatedValues::Split) {
                DatedValues::Split => {
                    "A dated value holds from its date on, with none before the first; a billing month in which it changes is cut."
                }
                DatedValues::AtStart => "Of a dated value a billing month takes the one in force on its first day.",
                DatedValues::AtEnd => "Of a dated value a billing month takes the one in force on its last day.",
            }
            .to_owned(),
        );
    }
    let day = match conventions.dated_values {
        Some(DatedValues::AtStart) => Some("first"),
        Some(DatedValues::AtEnd) => Some("last"),
        None | Some(DatedValues::Split) => None,
    };
    if let Some(day) = day
        && charges.iter().any(|charge| charge.condition.is_some())
    {
        rules.push(format!("A condition holds in a billing month if it does on its {day} day."));
    }
    if has(|m| matches!(m, Measure::OverMonths(_))) {
        rules.push(
            match conventions.missing_history.unwrap_or(MissingHistory::Ignore) {
                MissingHistory::Ignore => "Earlier months without readings are left out, and the bill lists them.",
                MissingHistory::Refuse => "It cannot be billed where earlier months have no readings.",
            }
            .to_owned(),
        );
    }
    if let Some(rounding) = source.lines {
        rules.push(format!("Every line is {}, unless its charge says otherwise.", phrases.rounding(rounding)));
    }
    rules
}

/// What holidays are and count as.
fn holidays(schedule: &Schedule) -> Option<String> {
    const DAYS: [&str; 7] = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"];
    if schedule.holidays.is_empty() {
        return None;
    }
    let calendars = match schedule.holidays.as_slice() {
        [calendar] => format!("calendar {calendar}"),
        calendars => format!("calendars {}", list(calendars.iter().cloned())),
    };
    Some(match schedule.holiday_type() {
        HOLIDAY => format!("Holidays are the dates of {calendars}, whatever their weekday."),
        day => format!("Dates of {calendars} count as {}.", DAYS[day]),
    })
}
