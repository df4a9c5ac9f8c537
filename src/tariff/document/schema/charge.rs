//! Charges and their ladders.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::super::conventions::{TierAllocation, TierScope};
use super::super::super::model::Kind;
use super::super::words::RESETS;
use super::measure::{DemandMembers, LookBack, Measure, Percent, Price};
use super::plan::ChargeRounding;
use super::text::{Channel, Date, Decimal, Name, Short};
use super::{not_both, required, words};

/// amount = ladder(measure) x per, then rounding. The kind is for the reader of the bill and sets defaults, nothing else.
/// Source: PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Charge {
    Energy(EnergyCharge),
    Demand(DemandCharge),
    Fixed(FixedCharge),
    Minimum(MinimumCharge),
    Percent(PercentCharge),
    Measured(MeasuredCharge),
}

/// Members of every charge. Source: PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
pub(super) struct Common {
    /// The charge's own name, once in a plan.
    id: Name,
    /// What the bill calls it; by default the id.
    label: Option<Short>,
    /// A name for several charges.
    group: Option<Name>,
    /// The first day of the charge.
    from: Option<Date>,
    /// The day after its last.
    to: Option<Date>,
    /// By default true; else it is a subtotal that other charges refer to.
    on_bill: Option<bool>,
    condition: Option<Condition>,
    rounding: Option<ChargeRounding>,
    /// A schedule: with `prices` or `steps` by period the charge is split over its periods, with `period` it looks at one.
    schedule: Option<Name>,
    period: Option<Name>,
    /// What is counted; by default that of the kind.
    measure: Option<Measure>,
    /// One price for all of it.
    price: Option<Price>,
    /// A price for each period of the schedule.
    prices: Option<BTreeMap<Name, Price>>,
    steps: Option<Steps>,
    /// A percent of what is counted, usually an amount.
    percent: Option<Percent>,
    /// The measure that picks the step; the charge's own measure is priced there whole.
    chosen_by: Option<Measure>,
    /// When the ladder starts again; by default with the `billing_month`.
    #[schemars(extend("enum" = words(&RESETS)))]
    resets: Option<String>,
    bounds_per: Option<BoundsPer>,
    tier_scope: Option<TierScope>,
    tier_allocation: Option<TierAllocation>,
    per: Option<Per>,
}

/// What must be so with the customer for the charge to be on the bill: an attribute that is true, `is` something else, or
/// is a number within bounds, both of which belong to it. Where it does not hold the charge is listed with what it would
/// have come to. Source: DESIGN section 8.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("not" = serde_json::json!({"required": ["is"], "anyOf": required(&["at_least", "at_most"])}))
)]
pub(super) struct Condition {
    /// The customer's attribute, such as `direct_debit`.
    attribute: Name,
    is: Option<FlagOrWord>,
    at_least: Option<Decimal>,
    at_most: Option<Decimal>,
}

/// True, false or a word of letters, digits, `_`, `-` and `.`.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum FlagOrWord {
    Flag(bool),
    Word(#[schemars(extend("pattern" = "^[A-Za-z][A-Za-z0-9_.-]{0,63}$"))] String),
}

/// What multiplies every bound of a ladder: `day` is the local days, else a measure. Source: PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(super) struct BoundsPer(Measure);

/// The factor of a charge: `billing_period` (1), `day`, `month`, `year`, or a measure. Source: PLAN-MODEL section 2,
/// charges.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(super) struct Per(Measure);

/// A ladder, or with a schedule one for each period. Source: PLAN-MODEL section 2, steps.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Steps {
    List(Ladder),
    ByPeriod(BTreeMap<Name, Ladder>),
}

/// Steps from the lowest up.
#[derive(JsonSchema)]
#[schemars(extend("minItems" = 1, "maxItems" = super::super::MAX_STEPS))]
pub(super) struct Ladder(Vec<Step>);

/// One step of a ladder. Source: PLAN-MODEL section 2, steps.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("anyOf" = required(&["price", "percent", "amount"]), "not" = not_both("price", "percent"))
)]
pub(super) struct Step {
    /// Upper bound, which belongs to this step; only the last may be open.
    to: Option<Measure>,
    price: Option<Price>,
    percent: Option<Percent>,
    /// Charged once when the step is reached; that of the first always.
    amount: Option<Measure>,
    /// If the quantity ends in this step, all of it is priced here.
    whole: Option<bool>,
}

/// Prices exclude each other, and one must be given.
const PRICES: [&str; 4] = ["price", "prices", "steps", "percent"];

/// `period` names no schedule by itself, and neither do prices by period.
fn want_schedule() -> serde_json::Value {
    serde_json::json!({"period": ["schedule"], "prices": ["schedule"]})
}

/// Names of kinds.
fn kinds(kinds: &[Kind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.as_str()).collect()
}

/// By default the kWh of a channel, `import` (of an `export_credit`: `export`, counted with the other sign), for the
/// billing period.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = required(&PRICES), "not" = not_both("measure", "channel"), "dependentRequired" = want_schedule())
)]
pub(super) struct EnergyCharge {
    #[schemars(extend("enum" = kinds(&[Kind::Energy, Kind::Adder, Kind::ExportCredit])))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
    channel: Option<Channel>,
}

/// By default the highest reading in kW, for each month.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = required(&PRICES), "dependentRequired" = want_schedule()))]
pub(super) struct DemandCharge {
    #[schemars(extend("const" = Kind::Demand.as_str()))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
    #[schemars(flatten)]
    how: DemandMembers,
    /// The least that is billed, in kW.
    at_least: Option<Measure>,
    ratchet: Option<Ratchet>,
}

/// A share of earlier months' demand that is billed at least. Source: PLAN-MODEL section 2, charges.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Ratchet {
    #[schemars(extend("pattern" = r"^-?0*[0-9]{1,18}(\.[0-9]{1,10}0*)?$"))]
    percent: Decimal,
    #[schemars(flatten)]
    months: LookBack,
    /// What is looked at in those months; by default the charge's own demand.
    of: Option<Measure>,
}

/// By default a price for each month; with `capacity` for each kW, kVA or A that the named attribute holds.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = required(&PRICES), "not" = not_both("measure", "capacity"), "dependentRequired" = want_schedule())
)]
pub(super) struct FixedCharge {
    #[schemars(extend("const" = Kind::Fixed.as_str()))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
    /// The customer's attribute that is charged for, such as `contract_kw`.
    capacity: Option<Name>,
}

/// What `of` falls short of the `floor`, by default a month: max(0, floor x per - amount(of)).
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = required(&["floor", "measure"]), "dependentRequired" = want_schedule())
)]
pub(super) struct MinimumCharge {
    #[schemars(extend("const" = Kind::Minimum.as_str()))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
    floor: Option<Measure>,
    /// Ids and groups of the charges that count; by default all above that are on the bill.
    of: Option<Vec<Name>>,
}

/// By default a percent of the amount of `on`: a tax adds it, a discount takes it off.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = required(&PRICES), "not" = not_both("measure", "on"), "dependentRequired" = want_schedule())
)]
pub(super) struct PercentCharge {
    #[schemars(extend("enum" = kinds(&[Kind::Tax, Kind::Discount])))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
    /// Ids and groups of the charges that count; by default, for a tax, all above that are on the bill.
    on: Option<Vec<Name>>,
}

/// A charge whose measure must be given: a subtotal that is shown, or what a rounding adds.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = required(&PRICES), "required" = ["id", "kind", "measure"], "dependentRequired" = want_schedule())
)]
pub(super) struct MeasuredCharge {
    #[schemars(extend("enum" = kinds(&[Kind::Subtotal, Kind::Rounding])))]
    kind: String,
    #[schemars(flatten)]
    common: Common,
}
