//! Members that are texts of a form.

use schemars::JsonSchema;

use super::super::super::currency::currencies;

/// An id or a name: a-z, 0-9 and _, a letter first, at most 64 characters. Source: PLAN-MODEL section 2.
#[derive(JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(extend("pattern" = NAME))]
pub(super) struct Name(String);

/// Names of one charge, measure, schedule, calendar or group.
pub(super) const NAME: &str = "^[a-z][a-z0-9_]{0,63}$";

/// A decimal in quotes: digits with a point, without exponent, at most 18 decimals. Source: PLAN-MODEL section 3,
/// exactness.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = r"^-?0*[0-9]{1,18}(\.[0-9]{1,18}0*)?$"))]
pub(super) struct Decimal(String);

/// A unit to which amounts are rounded, greater than zero: "0.01", "10", "0.05". Source: PLAN-MODEL section 3, rounding.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = r"^(?=.*[1-9])0*[0-9]{1,18}(\.[0-9]{1,18}0*)?$"))]
pub(super) struct RoundingUnit(String);

/// A stream of readings: `import` (drawn from the grid), `export` (fed in) or a named one such as `controlled_load`.
/// Source: PLAN-MODEL section 2, measures.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[a-z][a-z0-9_]{0,31}$"))]
pub(super) struct Channel(String);

/// The ISO 4217 code of the currency of every price and amount. Source: PLAN-MODEL section 2.
#[derive(JsonSchema)]
#[schemars(extend("enum" = currencies().collect::<Vec<_>>()))]
pub(super) struct Currency(String);

/// The id of a plan, without a version. Source: DESIGN section 3.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[A-Za-z0-9._~:-]{1,64}$"))]
pub(super) struct PlanId(String);

/// A local date: "2026-06-14".
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "format" = "date"))]
pub(super) struct Date(String);

/// A month "2026-05" (its first day) or a date "2026-05-14". Source: PLAN-MODEL section 2, `by_date`.
#[derive(JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$"))]
pub(super) struct MonthOrDate(String);

/// A day of a year, month and day: "12-31".
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]{2}-[0-9]{2}$"))]
pub(super) struct MonthDay(String);

/// The first day of a season and the day after its last, "06-15/09-16"; may wrap the year. Source: PLAN-MODEL section 2,
/// schedules.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]{2}-[0-9]{2}/[0-9]{2}-[0-9]{2}$"))]
pub(super) struct Season(String);

/// Local hours to the minute, end exclusive: "22:30-06:30". 24:00 is allowed as the end; an end before the start wraps
/// midnight. Source: PLAN-MODEL section 2, schedules.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = r"^(?!(.....)-\1$)([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))]
pub(super) struct Hours(String);

/// Two instants, the end exclusive, or the first and a duration, in whole minutes:
/// "2026-07-15T14:00-04:00/2026-07-15T15:00-04:00", "2026-07-15T18:00Z/PT1H". Source: PLAN-MODEL section 2, schedules.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = INTERVAL))]
pub(super) struct Interval(String);

const INTERVAL: &str = concat!(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:00)?(Z|[+-][0-9]{2}:[0-9]{2})/",
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:00)?(Z|[+-][0-9]{2}:[0-9]{2})",
    r"|PT([0-9]{1,5}H)?([0-9]{1,5}M)?)$"
);

/// A text for people, at most 200 characters.
#[derive(JsonSchema)]
#[schemars(extend("maxLength" = 200))]
pub(super) struct Short(String);

/// A text for people, at most 20,000 characters.
#[derive(JsonSchema)]
#[schemars(extend("maxLength" = 20_000))]
pub(super) struct Long(String);
