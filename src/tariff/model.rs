//! The checked tariff: schedules, measures, ladders, roundings, and the charges made of them, with every default
//! filled in and every name replaced by an index.

mod known;
mod measure;

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

pub(crate) use self::known::{
    Bounds, Cell, ChargeFacts, Known, MILLIONTHS, PartFacts, PlainFacts, PlainRate, Quantity, Rate, period_index, rise,
};
pub(crate) use self::measure::{
    CostRead, CostSpec, DayValue, DemandSpec, Distinct, EnergySpec, Measure, NetEnergySpec, NetPart, OverMonths, Read,
    Take, TimeUnit,
};
pub(crate) use super::condition::{Condition, Test};
use super::conventions::{TierAllocation, TierScope};
use super::number::{Decimal, RoundingMode};
use super::schedule::Schedule;
pub(crate) use super::sources::{Include, IncludedVersion, PlanPlace, Source};

/// Index into [`Plan::measures`].
pub(crate) type MeasureId = usize;

/// A period of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PeriodRef {
    pub(crate) schedule: usize,
    pub(crate) period: usize,
}

/// A plan document that has passed every check.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) currency: String,
    /// Decimals of the currency: 2 for USD, 0 for JPY.
    pub(crate) currency_decimals: u32,
    pub(crate) provider: Option<String>,
    pub(crate) territory: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) time_zone: Option<Tz>,
    pub(crate) schedules: Vec<Schedule>,
    /// The plans it includes, in the order of their names.
    pub(crate) includes: Vec<Include>,
    /// The documents it is read from: those of included plans, then its own.
    pub(crate) sources: Vec<Source>,
    /// Every distinct measure once; parts stand before what is made of them.
    pub(crate) measures: Vec<Measure>,
    pub(crate) charges: Vec<Charge>,
    /// The rounding of the total; that of the lines is the sources'.
    pub(crate) total_rounding: Option<Rounding>,
    pub(crate) not_billed: Vec<NotBilled>,
    pub(crate) look_back_months: u32,
    pub(crate) attributes: BTreeSet<String>,
    /// Calendars that its schedules name.
    pub(crate) calendars: BTreeSet<String>,
    /// Price series that its charges name.
    pub(crate) price_series: BTreeSet<String>,
    /// Event lists that rules of its schedules name.
    pub(crate) event_lists: BTreeSet<String>,
    /// What its charges read of the channels, each once.
    pub(crate) reads: BTreeSet<Read>,
    /// What its charges price by series, each once.
    pub(crate) costs: BTreeSet<CostRead>,
    /// What no month and no question changes.
    pub(crate) known: Known,
}

/// A part of the tariff that is not on the bills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotBilled {
    /// Where it stands: the field of the foreign tariff.
    pub field: String,
    /// Why it is not billed.
    pub reason: String,
    /// The customer chooses it, or it comes once: the bill of who did not choose it is whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// What a charge is, for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Energy,
    Adder,
    ExportCredit,
    Demand,
    Fixed,
    Minimum,
    Tax,
    Discount,
    Subtotal,
    Rounding,
}

impl Kind {
    /// Every kind with its name.
    pub(crate) const ALL: [(&'static str, Self); 10] = [
        ("energy", Self::Energy),
        ("adder", Self::Adder),
        ("export_credit", Self::ExportCredit),
        ("demand", Self::Demand),
        ("fixed", Self::Fixed),
        ("minimum", Self::Minimum),
        ("tax", Self::Tax),
        ("discount", Self::Discount),
        ("subtotal", Self::Subtotal),
        ("rounding", Self::Rounding),
    ];

    /// Its name in documents and on bills.
    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).expect("every kind has a name").0
    }
}

/// amount = ladder(measure) x per, then rounding.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a charge")]
pub(crate) struct Charge {
    /// Of an included plan with the name under which it is included before it: `network_standing`.
    pub(crate) id: String,
    /// The document it stands in: index into [`Plan::sources`].
    pub(crate) source: usize,
    pub(crate) kind: Kind,
    pub(crate) label: String,
    /// The schedule over whose periods the charge is split.
    pub(crate) split: Option<usize>,
    /// The one period it looks at, when it is not split.
    pub(crate) period: Option<PeriodRef>,
    /// One a priced period, in the order of the schedule; one in all when nothing is split.
    pub(crate) parts: Vec<Part>,
    /// The periods have one measure in common: only `per` is split.
    pub(crate) shares_measure: bool,
    /// The measure that picks the step.
    pub(crate) chosen_by: Option<MeasureId>,
    pub(crate) resets: Resets,
    pub(crate) bounds_per: Option<BoundsPer>,
    pub(crate) tier_scope: Option<TierScope>,
    pub(crate) tier_allocation: Option<TierAllocation>,
    pub(crate) per: Per,
    pub(crate) rounding: Option<Rounding>,
    pub(crate) from: Option<NaiveDate>,
    pub(crate) to: Option<NaiveDate>,
    pub(crate) on_bill: bool,
    /// Without it the charge always holds.
    pub(crate) condition: Option<Condition>,
    /// Prices and amounts count with the other sign: a credit, a discount's percent.
    pub(crate) negated: bool,
    /// The dates on which it, or a charge that refers to it, begins or ends: they cut its billing months.
    pub(crate) term_cuts: BTreeSet<NaiveDate>,
    /// The dates of its dated values, and of those that refer to it: they cut where dated values are split.
    pub(crate) value_cuts: BTreeSet<NaiveDate>,
    /// It, or a charge that refers to it, starts again with the year: 1 January cuts.
    pub(crate) cut_by_year: bool,
    /// The customer's attributes whose dates cut it like dated values.
    pub(crate) cut_attributes: BTreeSet<String>,
    /// What its quantity counts, for the line.
    pub(crate) unit: String,
    /// Whether its quantity grows with the days: energy does, demand does not.
    pub(crate) extensive: bool,
    /// Whether what its bounds are held against does.
    pub(crate) extensive_bounds: bool,
}

/// A ladder and what runs through it.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Index of the period in the split schedule.
    pub(crate) period: Option<usize>,
    pub(crate) measure: MeasureId,
    pub(crate) steps: Vec<Step>,
}

/// One step of a ladder.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Upper bound; it belongs to this step. The last may be open.
    pub(crate) to: Option<MeasureId>,
    pub(crate) price: Option<StepPrice>,
    /// Charged once when the step is reached.
    pub(crate) amount: Option<MeasureId>,
    /// If the quantity ends in this step, all of it is priced here.
    pub(crate) whole: bool,
}

/// What a unit costs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepPrice {
    Price(MeasureId),
    Percent(MeasureId),
    /// By a price series: `factor` times the cost, and `adder` for each unit. Without them 1 and 0.
    Series {
        /// A [`Measure::Cost`] of the energy that the step prices.
        cost: MeasureId,
        factor: Option<MeasureId>,
        adder: Option<MeasureId>,
    },
}

impl StepPrice {
    /// The measures it is made of.
    fn measures(self) -> impl Iterator<Item = MeasureId> {
        let measures = match self {
            Self::Price(id) | Self::Percent(id) => [Some(id), None, None],
            Self::Series { cost, factor, adder } => [Some(cost), factor, adder],
        };
        measures.into_iter().flatten()
    }
}

/// When a ladder starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resets {
    BillingMonth,
    Day,
    Year,
}

/// What multiplies the bounds of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoundsPer {
    /// The local days, whatever `daily_amounts` says.
    Day,
    Measure(MeasureId),
}

/// The factor of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    BillingPeriod,
    Time(TimeUnit),
    Measure(MeasureId),
}

/// How amounts are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounding {
    pub(crate) to: Decimal,
    pub(crate) mode: RoundingMode,
    /// The charge as a whole, not each line.
    pub(crate) each_charge: bool,
}

impl Part {
    /// Its quantity, and the bounds, prices and amounts of its steps.
    fn measures(&self) -> impl Iterator<Item = MeasureId> {
        let of_step = |step: &Step| {
            let price = step.price.into_iter().flat_map(StepPrice::measures);
            step.to.into_iter().chain(step.amount).chain(price)
        };
        std::iter::once(self.measure).chain(self.steps.iter().flat_map(of_step))
    }
}

impl Charge {
    /// Its prices, bounds, quantities and factors, one after the other.
    pub(crate) fn own_measures(&self) -> impl Iterator<Item = MeasureId> {
        let per_bound = match self.bounds_per {
            Some(BoundsPer::Measure(id)) => Some(id),
            _ => None,
        };
        let per = match self.per {
            Per::Measure(id) => Some(id),
            _ => None,
        };
        self.parts.iter().flat_map(Part::measures).chain(self.chosen_by).chain(per_bound).chain(per)
    }
}

impl Plan {
    /// What a charge refers to: every measure below its prices, bounds, quantities and factors.
    pub(crate) fn measures_of(&self, charge: &Charge) -> BTreeSet<MeasureId> {
        let mut found = BTreeSet::new();
        let mut open: Vec<MeasureId> = charge.own_measures().collect();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(self.measures[id].parts());
            }
        }
        found
    }

    /// The charges named by a measure `amount` somewhere below this charge.
    pub(crate) fn referred_charges(&self, charge: &Charge) -> BTreeSet<usize> {
        self.measures_of(charge)
            .into_iter()
            .filter_map(|id| match &self.measures[id] {
                Measure::Amount(charges) => Some(charges.iter().copied()),
                _ => None,
            })
            .flatten()
            .collect()
    }

    /// The price series of a charge's step, if it has one.
    ///
    /// * `period`: index in the charge's schedule; `step`: index in the ladder, `None` for the only one.
    pub(crate) fn series_of(&self, charge: &Charge, period: Option<usize>, step: Option<usize>) -> Option<&str> {
        let part = charge.parts.iter().find(|part| part.period == period)?;
        let Some(StepPrice::Series { cost, .. }) = part.steps.get(step.unwrap_or(0))?.price else { return None };
        match &self.measures[cost] {
            Measure::Cost(spec) => Some(&spec.series),
            _ => None,
        }
    }

    /// The first charge that a price series prices.
    pub(crate) fn charge_by_series(&self, series: &str) -> Option<usize> {
        let names = |id: &MeasureId| matches!(&self.measures[*id], Measure::Cost(spec) if spec.series == series);
        self.charges.iter().position(|charge| self.measures_of(charge).iter().any(names))
    }

    /// Index of a charge by its id.
    pub(crate) fn charge_named(&self, id: &str) -> Option<usize> {
        self.charges.iter().position(|charge| charge.id == id)
    }
}

/// Names of a document by kind, for messages and look-ups.
pub(crate) type Names = BTreeMap<String, usize>;
