//! Measures and prices.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::MAX_LOOK_BACK_MONTHS;
use super::super::words::{DAY_VALUES, DISTINCT, NET_PARTS, TAKES};
use super::plan::Mode;
use super::text::{Channel, MonthDay, MonthOrDate, Name, RoundingUnit};
use super::words;

/// A number of a billing month: a decimal in quotes, a name (`one`, `days`, `months`, `years`, `days_in_year` or one of
/// the plan's `measures`), or an object with exactly one key. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Measure {
    Text(MeasureText),
    Object(Box<MeasureObject>),
}

/// A decimal or a name.
#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = r"^(-?0*[0-9]{1,18}(\.[0-9]{1,18}0*)?|[a-z][a-z0-9_]{0,63})$"))]
pub(super) struct MeasureText(String);

/// What a unit costs: a measure, or on plain energy the prices of a series. Source: PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Price {
    Text(MeasureText),
    Object(Box<MeasureObject>),
    Series(SeriesPrice),
}

/// The price of each interval in an imported series, times `factor` (by default 1), plus `adder` (by default 0). Source:
/// PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SeriesPrice {
    /// The name under which the prices are imported.
    series: Name,
    factor: Option<Measure>,
    adder: Option<Measure>,
}

/// A percent: as a decimal it has at most 10 decimals, else it is a measure. Source: PLAN-MODEL section 3, exactness.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Percent {
    Text(PercentText),
    Object(Box<MeasureObject>),
}

/// A decimal of at most 10 decimals, or a name.
#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = r"^(-?0*[0-9]{1,18}(\.[0-9]{1,10}0*)?|[a-z][a-z0-9_]{0,63})$"))]
pub(super) struct PercentText(String);

/// A measure that is looked up, counted or made of others. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum MeasureObject {
    /// Local days on which a period can occur by its months and season.
    Days(InPeriod),
    /// Billing months, or their share by those days.
    Months(InPeriod),
    /// Years, by those days over the year's length.
    Years(InPeriod),
    /// kWh of a channel, in a period if one is named.
    Energy(Energy),
    /// kW: the mean of the highest values of a channel, in a period if one is named.
    Demand(Demand),
    /// kWh: import less export less what was carried, at least 0.
    NetEnergy(NetEnergy),
    /// An attribute of the customer, by date, such as `contract_kw`.
    Attribute(Name),
    /// Money of other charges, by their ids or groups, after their rounding.
    Amount(Vec<Name>),
    /// The value in force from each month or date on.
    ByDate(#[schemars(extend("minProperties" = 1))] BTreeMap<MonthOrDate, Measure>),
    /// The sum; a difference is a sum with `times` -1.
    Sum(#[schemars(length(min = 1))] Vec<Measure>),
    /// The product.
    Times(#[schemars(length(min = 1))] Vec<Measure>),
    /// The largest.
    Max(#[schemars(length(min = 1))] Vec<Measure>),
    /// The smallest.
    Min(#[schemars(length(min = 1))] Vec<Measure>),
    /// The first over the second.
    Divide(#[schemars(length(min = 2, max = 2))] Vec<Measure>),
    /// A rounded value.
    Round(Round),
    /// A measure in other billing months: ratchets, contract power of a year, means of monthly peaks.
    OverMonths(OverMonths),
}

/// A period of a schedule.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct InPeriod {
    schedule: Name,
    period: Name,
}

/// Energy of a channel. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("dependentRequired" = both_or_neither()))]
pub(super) struct Energy {
    /// By default `import`.
    channel: Option<Channel>,
    schedule: Option<Name>,
    period: Option<Name>,
}

/// How demand is measured. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("dependentRequired" = both_or_neither()))]
pub(super) struct Demand {
    #[schemars(flatten)]
    how: DemandMembers,
    schedule: Option<Name>,
    period: Option<Name>,
}

/// Members of a demand, of a measure and of a charge alike.
#[derive(JsonSchema)]
pub(super) struct DemandMembers {
    /// By default `import`.
    channel: Option<Channel>,
    /// Length of the window; by default that of a reading.
    #[schemars(range(min = 1, max = 1440))]
    window_minutes: Option<u32>,
    /// A window begins at every reading, not at multiples of its length.
    sliding: Option<bool>,
    /// How many of the highest values are averaged; by default 1.
    #[schemars(range(min = 1, max = 10_000))]
    highest: Option<u32>,
    /// What may count once among them; by default `readings`.
    #[schemars(extend("enum" = words(&DISTINCT)))]
    distinct: Option<String>,
    /// What stands for a day among distinct days: its highest value (the default) or the mean of its hours.
    #[schemars(extend("enum" = words(&DAY_VALUES)))]
    day_value: Option<String>,
}

/// Net metering of two channels. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("dependentRequired" = both_or_neither()))]
pub(super) struct NetEnergy {
    /// By default `import`.
    import: Option<Channel>,
    /// By default `export`.
    export: Option<Channel>,
    schedule: Option<Name>,
    period: Option<Name>,
    /// The day on which the account is emptied; without it nothing is carried.
    carry_until: Option<MonthDay>,
    /// Which side of the account: what is billed (the default) or what is carried.
    #[schemars(extend("enum" = words(&NET_PARTS)))]
    part: Option<String>,
}

/// A rounded value. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Round {
    of: Measure,
    to: RoundingUnit,
    mode: Option<Mode>,
}

/// `of` in the billing months before this one. Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct OverMonths {
    of: Measure,
    #[schemars(flatten)]
    months: LookBack,
    #[schemars(extend("enum" = words(&TAKES)))]
    take: String,
}

/// The months that a look-back takes.
#[derive(JsonSchema)]
pub(super) struct LookBack {
    /// How many billing months.
    #[schemars(range(min = 1, max = MAX_LOOK_BACK_MONTHS))]
    last: u32,
    /// Whether this one is the last of them.
    current: Option<bool>,
    /// Only these calendar months count.
    #[schemars(length(min = 1), inner(range(min = 1, max = 12)))]
    named: Option<Vec<u32>>,
}

/// A schedule and its period stand together.
fn both_or_neither() -> serde_json::Value {
    serde_json::json!({"schedule": ["period"], "period": ["schedule"]})
}
