//! The document itself, its schedules, roundings and conventions.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::super::conventions::{
    BrokenMonthBounds, DailyAmounts, DatedValues, MissingHistory, MonthlyAmounts, TierAllocation, TierScope,
    WrappingWindow, YearlyAmounts,
};
use super::super::words::{DAY_SETS, DAY_TYPES, ROUNDING_MODES, ROUNDS_EACH};
use super::charge::Charge;
use super::measure::Measure;
use super::text::{Currency, Hours, Interval, Long, Name, PlanId, RoundingUnit, Season, Short};
use super::words;

/// A plan document: schedules cut time into named periods, measures are numbers of a billing month, charges turn them
/// into money by ladders, roundings settle it. Numbers are decimals in quotes, counts are integers; unknown members are
/// refused. Source: PLAN-MODEL section 2.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "Plan document", extend("if" = includes_none(), "then" = has_charges()))]
pub(super) struct Plan {
    /// For people.
    name: Short,
    currency: Currency,
    /// Who offers it.
    provider: Option<Short>,
    /// Where it is offered, such as "US-IL".
    territory: Option<Short>,
    /// For lists of plans.
    #[schemars(length(max = 100))]
    tags: Option<Vec<Tag>>,
    /// Where the prices are published, and when.
    source: Option<Long>,
    /// What a reader of the plan should know.
    notes: Option<Long>,
    /// The IANA name of the time zone of the plan's hours, where it is not the customer's.
    time_zone: Option<String>,
    /// By name: what cuts time into periods.
    schedules: Option<BTreeMap<Name, Schedule>>,
    /// By name: measures that charges refer to.
    measures: Option<BTreeMap<Name, Measure>>,
    /// In the order of the bill's lines. A plan that includes others may have none of its own.
    #[schemars(length(max = super::super::MAX_CHARGES))]
    charges: Option<Vec<Charge>>,
    /// Plans whose charges stand before those of this one, by the name that becomes their group and begins their ids.
    #[schemars(extend("maxProperties" = super::super::include::MAX_INCLUDED))]
    include: Option<BTreeMap<Name, PlanId>>,
    rounding: Option<PlanRounding>,
    conventions: Option<Conventions>,
    /// Parts of the tariff that are not billed: every bill lists them, and is complete only if all are optional.
    not_billed: Option<Vec<NotBilled>>,
}

fn includes_none() -> serde_json::Value {
    serde_json::json!({"not": {"required": ["include"]}})
}

fn has_charges() -> serde_json::Value {
    serde_json::json!({"required": ["charges"], "properties": {"charges": {"minItems": 1}}})
}

/// A word for lists of plans, at most 100 characters.
#[derive(JsonSchema)]
#[schemars(extend("maxLength" = 100))]
pub(super) struct Tag(String);

/// What is not on the bills of this plan.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct NotBilled {
    /// The part of the tariff, such as a field of a foreign document.
    field: Short,
    /// Why it is not billed.
    #[schemars(length(max = 2_000))]
    reason: String,
    /// The customer chooses it, or it comes once: the bill of who did not choose it is whole. By default false.
    optional: Option<bool>,
}

/// Rules that cut time into named periods. They are tried from the top, the first that applies holds; a rule without
/// conditions is the rest. Source: PLAN-MODEL section 2, schedules.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Schedule {
    /// In the order in which they are tried.
    #[schemars(length(min = 1, max = super::super::schedule::MAX_RULES))]
    periods: Vec<Rule>,
    /// Calendars whose dates are holidays and no other day. Without them there are none.
    #[schemars(length(max = super::super::schedule::MAX_CALENDARS))]
    holidays: Option<Vec<Name>>,
    /// The day as which a holiday counts, instead of being one of its own.
    #[schemars(extend("enum" = words(&DAY_TYPES)))]
    holidays_count_as: Option<String>,
    wrapping_window: Option<WrappingWindow>,
}

/// A period and when it is. All conditions of a rule hold together. Source: PLAN-MODEL section 2, schedules.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rule {
    /// The period's name; several rules may name one period.
    period: Name,
    /// Calendar months, 1 to 12.
    #[schemars(length(min = 1), inner(range(min = 1, max = 12)))]
    months: Option<Vec<u32>>,
    season: Option<Season>,
    days: Option<Days>,
    /// Windows of local time; without them the whole day.
    #[schemars(length(min = 1))]
    hours: Option<Vec<Hours>>,
    during: Option<During>,
}

/// Instants outside of which the rule does not hold: coincident peaks, critical days. Intervals, or the name of an
/// imported event list. Source: PLAN-MODEL section 2, schedules.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum During {
    Intervals(#[schemars(length(min = 1, max = crate::words::MAX_INTERVALS))] Vec<Interval>),
    List(Name),
}

/// Days by name or as a set. A holiday is a date of one of the schedule's calendars. Source: PLAN-MODEL section 2,
/// schedules.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Days {
    Set(#[schemars(extend("enum" = words(&DAY_SETS)))] String),
    List(#[schemars(length(min = 1))] Vec<Day>),
}

/// A weekday or a holiday.
#[derive(JsonSchema)]
#[schemars(inline, extend("enum" = words(&DAY_TYPES)))]
pub(super) struct Day(String);

/// Where bills are rounded. Source: PLAN-MODEL section 3, rounding.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PlanRounding {
    /// The lines of all charges that say nothing of their own; "none", the default, leaves them exact.
    lines: Option<RoundingOrNone>,
    /// The total; by default to the currency's digits, half up, unless lines are rounded.
    total: Option<RoundingOrNone>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(super) enum RoundingOrNone {
    None(#[schemars(extend("const" = "none"))] String),
    Unit(RoundingUnit),
    Rounding(Rounding),
}

/// A unit and a mode. Source: PLAN-MODEL section 3, rounding.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rounding {
    to: RoundingUnit,
    mode: Option<Mode>,
}

/// How an amount between two units is settled: `half_up` (away from zero, the default), `half_even`, `down` (towards
/// zero), `up` (away from zero). Source: PLAN-MODEL section 3, rounding.
#[derive(JsonSchema)]
#[schemars(extend("enum" = words(&ROUNDING_MODES)))]
pub(super) struct Mode(String);

/// How the amounts of a charge are rounded: a unit, or more. Source: PLAN-MODEL section 3, rounding.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum ChargeRounding {
    Unit(RoundingUnit),
    Rounding(ChargeRoundingObject),
}

/// A unit, a mode, and what is rounded: each line (the default) or the charge as a whole.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "ChargeRoundingObject")]
pub(super) struct ChargeRoundingObject {
    to: RoundingUnit,
    mode: Option<Mode>,
    #[schemars(extend("enum" = words(&ROUNDS_EACH)))]
    each: Option<String>,
}

/// On what engines of the trade differ. Source: PLAN-MODEL section 3, table of conventions.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Conventions {
    tier_scope: Option<TierScope>,
    tier_allocation: Option<TierAllocation>,
    daily_amounts: Option<DailyAmounts>,
    monthly_amounts: Option<MonthlyAmounts>,
    yearly_amounts: Option<YearlyAmounts>,
    broken_month_bounds: Option<BrokenMonthBounds>,
    wrapping_window: Option<WrappingWindow>,
    dated_values: Option<DatedValues>,
    missing_history: Option<MissingHistory>,
}
