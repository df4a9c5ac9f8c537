//! Measures: the numbers of a billing month, and the readings they look at. Source: PLAN-MODEL section 2.

use chrono::NaiveDate;

use super::{MeasureId, PeriodRef};
use crate::tariff::number::{Decimal, RoundingMode};
use crate::usage::Channel;

/// Readings that a plan needs: of a channel, by the periods of a schedule, sums or also maxima.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Read {
    pub(crate) channel: Channel,
    pub(crate) schedule: Option<usize>,
    pub(crate) maxima: bool,
}

/// Readings that a plan prices one by one: each times the price of a series that holds while it lasts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CostRead {
    /// The readings, sums only.
    pub(crate) read: Read,
    /// Name of the price series.
    pub(crate) series: String,
}

/// A number of a billing month. Source: PLAN-MODEL section 2.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Measure {
    Constant(Decimal),
    /// Days, billing months or years; of a period: on the days on which it can occur by its months and season.
    Count {
        unit: TimeUnit,
        period: Option<PeriodRef>,
        /// Counted as `per` counts, by the conventions for daily, monthly and yearly amounts.
        by_convention: bool,
    },
    DaysInYear,
    /// kWh.
    Energy(EnergySpec),
    /// The sum of kWh x price over the readings, before factor and adder.
    Cost(CostSpec),
    /// kW.
    Demand(DemandSpec),
    /// kWh: import less export less what was carried, at least 0.
    NetEnergy(NetEnergySpec),
    /// Of the customer, by date.
    Attribute(String),
    /// Money of other charges, after their rounding: indices into [`Plan::charges`].
    Amount(Vec<usize>),
    /// The value in force from each date on.
    ByDate(Vec<(NaiveDate, MeasureId)>),
    Sum(Vec<MeasureId>),
    Times(Vec<MeasureId>),
    Max(Vec<MeasureId>),
    Min(Vec<MeasureId>),
    Divide(MeasureId, MeasureId),
    Round {
        of: MeasureId,
        to: Decimal,
        mode: RoundingMode,
    },
    OverMonths(OverMonths),
}

/// What charges per day, month or year count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TimeUnit {
    Day,
    Month,
    Year,
}

/// Energy of a channel, in a period if one is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EnergySpec {
    pub(crate) channel: Channel,
    pub(crate) period: Option<PeriodRef>,
}

/// Energy of a channel at the prices of a series.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CostSpec {
    pub(crate) energy: EnergySpec,
    /// Name of the price series.
    pub(crate) series: String,
}

impl CostSpec {
    /// The readings it prices.
    pub(crate) fn read(&self) -> CostRead {
        let schedule = self.energy.period.map(|period| period.schedule);
        let read = Read { channel: self.energy.channel.clone(), schedule, maxima: false };
        CostRead { read, series: self.series.clone() }
    }
}

/// The mean of the `highest` values of a channel, in a period if one is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DemandSpec {
    pub(crate) channel: Channel,
    pub(crate) period: Option<PeriodRef>,
    /// Length of the window; without one, the reading's own.
    pub(crate) window_minutes: Option<u32>,
    /// A window begins at every reading, not at multiples of its length.
    pub(crate) sliding: bool,
    pub(crate) highest: u32,
    pub(crate) distinct: Distinct,
    pub(crate) day_value: DayValue,
}

impl DemandSpec {
    /// Whether it is the highest single reading.
    pub(crate) fn is_plain(&self) -> bool {
        self.window_minutes.is_none() && self.highest == 1 && self.day_value == DayValue::Highest
    }
}

/// What may be taken more than once among the highest values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Distinct {
    Readings,
    Hours,
    Days,
}

/// What stands for a day among the highest days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DayValue {
    Highest,
    /// The mean of the period's hours of that day.
    Mean,
}

/// Net metering of two channels.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NetEnergySpec {
    pub(crate) import: Channel,
    pub(crate) export: Channel,
    pub(crate) period: Option<PeriodRef>,
    /// Month and day on which the account is emptied; without it nothing is carried.
    pub(crate) carry_until: Option<(u32, u32)>,
    pub(crate) part: NetPart,
}

/// Which side of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NetPart {
    Billed,
    Carried,
}

/// `of` in other billing months.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OverMonths {
    pub(crate) of: MeasureId,
    pub(crate) last: u32,
    pub(crate) current: bool,
    /// Calendar months that count, by the month's first day; empty: all.
    pub(crate) named: Vec<u32>,
    pub(crate) take: Take,
}

/// What is made of the months' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Take {
    Max,
    Mean,
    Sum,
}

impl Measure {
    /// The measures it is made of.
    pub(crate) fn parts(&self) -> Vec<MeasureId> {
        match self {
            Self::Sum(of) | Self::Times(of) | Self::Max(of) | Self::Min(of) => of.clone(),
            Self::Divide(a, b) => vec![*a, *b],
            Self::Round { of, .. } => vec![*of],
            Self::OverMonths(over) => vec![over.of],
            Self::ByDate(values) => values.iter().map(|(_, id)| *id).collect(),
            _ => Vec::new(),
        }
    }

    /// The readings it looks at itself.
    pub(crate) fn reads(&self) -> Vec<Read> {
        let read = |channel: &Channel, period: &Option<PeriodRef>, maxima| Read {
            channel: channel.clone(),
            schedule: period.map(|period| period.schedule),
            maxima,
        };
        match self {
            Self::Energy(spec) | Self::Cost(CostSpec { energy: spec, .. }) => {
                vec![read(&spec.channel, &spec.period, false)]
            }
            Self::Demand(spec) => vec![read(&spec.channel, &spec.period, true)],
            Self::NetEnergy(spec) => {
                vec![read(&spec.import, &spec.period, false), read(&spec.export, &spec.period, false)]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the value grows with the days it is measured on, from the same of its parts.
    pub(crate) fn is_extensive(&self, facts: &[(bool, String)]) -> bool {
        match self {
            Self::Energy(_) | Self::Cost(_) | Self::NetEnergy(_) | Self::Amount(_) | Self::Count { .. } => true,
            Self::Sum(parts) | Self::Times(parts) | Self::Max(parts) | Self::Min(parts) => {
                parts.iter().any(|id| facts[*id].0)
            }
            Self::Divide(a, b) => facts[*a].0 && !facts[*b].0,
            Self::Round { of: id, .. } => facts[*id].0,
            _ => false,
        }
    }

    /// The unit of the value, as far as it can be told, from those of its parts.
    pub(crate) fn unit(&self, facts: &[(bool, String)], currency: &str) -> String {
        let of = |id: &MeasureId| facts[*id].1.as_str();
        let unit = match self {
            Self::Energy(_) | Self::NetEnergy(_) => "kWh",
            Self::Demand(_) => "kW",
            Self::Count { unit: TimeUnit::Day, .. } | Self::DaysInYear => "day",
            Self::Count { unit: TimeUnit::Month, .. } => "month",
            Self::Count { unit: TimeUnit::Year, .. } => "year",
            Self::Amount(_) | Self::Cost(_) => currency,
            Self::Attribute(name) => match name.rsplit('_').next() {
                Some("kw") => "kW",
                Some("kva") => "kVA",
                Some("ampere") => "A",
                _ => name,
            },
            Self::Sum(parts) | Self::Times(parts) | Self::Max(parts) | Self::Min(parts) => {
                // Money among them makes it money: a floor a month less what was charged.
                let known = parts.iter().map(of).filter(|unit| !unit.is_empty());
                known.clone().find(|unit| *unit == currency).or(known.clone().next()).unwrap_or_default()
            }
            Self::Divide(a, b) => match (of(a), of(b)) {
                (unit, "") => unit,
                (unit, divisor) if unit == divisor => "",
                (unit, divisor) if unit.len() + divisor.len() < 32 => return format!("{unit}/{divisor}"),
                _ => "",
            },
            Self::Round { of: id, .. } | Self::OverMonths(OverMonths { of: id, .. }) => of(id),
            Self::ByDate(values) => values.first().map_or("", |(_, id)| of(id)),
            Self::Constant(_) => "",
        };
        unit.to_owned()
    }
}
