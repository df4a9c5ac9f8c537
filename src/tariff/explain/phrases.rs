//! Measures and prices in words.

use std::cell::OnceCell;

use super::when::when;
use super::{counted, cut, list, short_list};
use crate::tariff::model::{
    BoundsPer, Charge, CostSpec, DayValue, DemandSpec, Distinct, EnergySpec, Measure, MeasureId, NetPart, OverMonths,
    Per, PeriodRef, Plan, Rounding, Step, StepPrice, Take, TimeUnit,
};
use crate::tariff::number::{Decimal, Exact, RoundingMode};
use crate::usage::Channel;

/// Longest words of one measure, characters.
const MAX_TEXT: usize = 1_000;
/// Factors of a product that are told.
const MAX_FACTORS: usize = 100;
/// Longest number that is worked out rather than told as arithmetic.
const MAX_DIGITS: usize = 40;

/// A plan whose parts are put into words.
pub(super) struct Phrases<'p> {
    pub(super) plan: &'p Plan,
    /// Of each measure: whether it grows with the days, and its unit.
    facts: Vec<(bool, String)>,
    /// Measures refer to measures as often as they like: each is put into words, and worked out, once.
    words: Vec<OnceCell<String>>,
    values: Vec<OnceCell<Option<Exact>>>,
    /// Of each schedule, when its periods are.
    whens: Vec<OnceCell<Vec<String>>>,
}

impl<'p> Phrases<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let mut facts: Vec<(bool, String)> = Vec::with_capacity(plan.measures.len());
        for measure in &plan.measures {
            facts.push((measure.is_extensive(&facts), measure.unit(&facts, &plan.currency)));
        }
        Self {
            plan,
            facts,
            words: vec![OnceCell::new(); plan.measures.len()],
            values: vec![OnceCell::new(); plan.measures.len()],
            whens: vec![OnceCell::new(); plan.schedules.len()],
        }
    }

    /// When a period is.
    pub(super) fn when(&self, period: PeriodRef) -> &str {
        &self.whens(period.schedule)[period.period]
    }

    /// The hours that no rule of a schedule covers, if there are any.
    pub(super) fn gaps(&self, schedule: usize) -> Option<&str> {
        self.whens(schedule).last().map(String::as_str).filter(|gaps| *gaps != "never")
    }

    fn whens(&self, schedule: usize) -> &[String] {
        self.whens[schedule].get_or_init(|| when(&self.plan.schedules[schedule]))
    }

    /// The unit of a measure; an attribute that says none has none.
    pub(super) fn unit(&self, id: MeasureId) -> &str {
        let unit = self.facts[id].1.as_str();
        if self.plan.attributes.contains(unit) || unit.contains('/') { "" } else { unit }
    }

    pub(super) fn constant(&self, id: MeasureId) -> Option<Decimal> {
        match self.plan.measures[id] {
            Measure::Constant(decimal) => Some(decimal),
            _ => None,
        }
    }

    pub(super) fn is_one(&self, id: MeasureId) -> bool {
        self.constant(id) == Some(Decimal::ONE)
    }

    /// A measure as a noun: `the highest 15-minute mean in kW`.
    pub(super) fn measure(&self, id: MeasureId) -> String {
        self.words[id].get_or_init(|| cut(self.put(id), MAX_TEXT)).clone()
    }

    fn put(&self, id: MeasureId) -> String {
        match &self.plan.measures[id] {
            Measure::Constant(decimal) => decimal.to_string(),
            Measure::Count { unit, period, .. } => {
                let what = match unit {
                    TimeUnit::Day => "the days",
                    TimeUnit::Month => "the months",
                    TimeUnit::Year => "the years",
                };
                period.map_or_else(
                    || what.to_owned(),
                    |period| format!("{what} on which {} can be", self.period_name(period)),
                )
            }
            Measure::DaysInYear => "the days of the year (365 or 366)".to_owned(),
            Measure::Energy(spec) => self.energy(spec),
            Measure::Cost(CostSpec { energy, series }) => format!("{} at the prices of {series}", self.energy(energy)),
            Measure::Demand(spec) => self.demand(spec),
            Measure::NetEnergy(spec) => {
                let period = self.in_period(spec.period);
                let carried = spec.carry_until.map(|(month, day)| format!("{month:02}-{day:02}"));
                let channels = match (spec.import.as_str(), spec.export.as_str()) {
                    ("import", "export") => "kWh from the grid less those fed in".to_owned(),
                    (import, export) => format!("kWh of {import} less those of {export}"),
                };
                match (spec.part, carried) {
                    (NetPart::Billed, None) => format!("the {channels}{period}, at least 0"),
                    (NetPart::Billed, Some(until)) => {
                        format!(
                            "the {channels} and those carried over{period}, at least 0 (nothing is carried past {until})"
                        )
                    }
                    (NetPart::Carried, until) => {
                        let until = until.map(|until| format!(" on {until}")).unwrap_or_default();
                        format!("the kWh fed in{period} that are left over{until}")
                    }
                }
            }
            Measure::Attribute(name) => format!("the customer's {name}"),
            Measure::Amount(charges) => self.charges(charges),
            Measure::ByDate(values) => {
                let values = values.iter().map(|(from, id)| format!("{} from {from}", self.nested(*id)));
                short_list(values)
            }
            Measure::Sum(parts) => self.sum(parts),
            Measure::Times(parts) => self.product(parts),
            Measure::Max(parts) => self.at_least(parts),
            Measure::Min(parts) => format!("the smallest of {}", short_list(parts.iter().map(|id| self.nested(*id)))),
            Measure::Divide(a, b) => format!("{} / {}", self.nested(*a), self.nested(*b)),
            Measure::Round { of, to, mode } => {
                format!("{} rounded to {to}{}", self.nested(*of), mode_words(*mode))
            }
            Measure::OverMonths(over) => self.over_months(over),
        }
    }

    /// The same inside of a larger one.
    fn nested(&self, id: MeasureId) -> String {
        let text = self.measure(id);
        match self.plan.measures[id] {
            Measure::Sum(_)
            | Measure::Times(_)
            | Measure::Divide(..)
            | Measure::Max(_)
            | Measure::Min(_)
            | Measure::ByDate(_) => format!("({text})"),
            _ => text,
        }
    }

    /// Energy of a channel.
    pub(super) fn energy(&self, spec: &EnergySpec) -> String {
        format!("the kWh {}{}", channel_words(&spec.channel), self.in_period(spec.period))
    }

    fn demand(&self, spec: &DemandSpec) -> String {
        let value = match spec.window_minutes {
            Some(minutes) if spec.sliding => format!("{minutes}-minute mean, sliding"),
            Some(minutes) => format!("{minutes}-minute mean"),
            None => "reading".to_owned(),
        };
        let channel = if spec.channel == Channel::import() {
            String::new()
        } else {
            format!(" {}", channel_words(&spec.channel))
        };
        let place = format!("{channel}{}", self.in_period(spec.period));
        if spec.day_value == DayValue::Mean {
            return format!("the mean kW of the {} with the highest mean{place}", counted(spec.highest, "day"));
        }
        if spec.highest == 1 {
            return format!("the highest {value} in kW{place}");
        }
        let distinct = match spec.distinct {
            Distinct::Readings => "",
            Distinct::Hours => ", each of another hour",
            Distinct::Days => ", each of another day",
        };
        format!("the mean of the {} highest {value}s in kW{place}{distinct}", spec.highest)
    }

    fn sum(&self, parts: &[MeasureId]) -> String {
        let mut text = String::new();
        for (i, id) in parts.iter().enumerate() {
            if text.len() > MAX_TEXT {
                break;
            }
            let (is_less, part) = self.signed(*id);
            match (i, is_less) {
                (0, false) => {}
                (0, true) => text.push_str("less "),
                (_, false) => text.push_str(" + "),
                (_, true) => text.push_str(" - "),
            }
            text.push_str(&part);
        }
        text
    }

    /// Whether a part of a sum is taken off, and what it is.
    fn signed(&self, id: MeasureId) -> (bool, String) {
        match &self.plan.measures[id] {
            Measure::Constant(decimal) if decimal.is_negative() => (true, decimal.negated().to_string()),
            Measure::Times(parts) => match parts.split_first() {
                Some((first, rest)) if self.constant(*first).is_some_and(Decimal::is_negative) => {
                    let factor = self.constant(*first).expect("it is one").negated();
                    if factor == Decimal::ONE {
                        (true, if let [only] = rest { self.nested(*only) } else { self.product(rest) })
                    } else {
                        let rest = rest.iter().map(|id| self.nested(*id));
                        (true, std::iter::once(factor.to_string()).chain(rest).collect::<Vec<_>>().join(" x "))
                    }
                }
                _ => (false, self.measure(id)),
            },
            _ => (false, self.nested(id)),
        }
    }

    /// A product; one with a hundredth in it is a percentage.
    fn product(&self, parts: &[MeasureId]) -> String {
        let is_hundredth = |id: MeasureId| self.constant(id).is_some_and(|d| d.to_string() == "0.01");
        if let [percent, hundredth, of] = parts
            && is_hundredth(*hundredth)
        {
            return format!("{} % of {}", self.nested(*percent), self.nested(*of));
        }
        parts.iter().take(MAX_FACTORS).map(|id| self.nested(*id)).collect::<Vec<_>>().join(" x ")
    }

    fn at_least(&self, parts: &[MeasureId]) -> String {
        if let [a, b] = parts {
            match (self.constant(*a), self.constant(*b)) {
                (Some(least), None) => return format!("{}, at least {least}", self.measure(*b)),
                (None, Some(least)) => return format!("{}, at least {least}", self.measure(*a)),
                _ => {}
            }
        }
        format!("the largest of {}", short_list(parts.iter().map(|id| self.in_list(*id))))
    }

    fn in_list(&self, id: MeasureId) -> String {
        match self.constant(id) {
            Some(decimal) => decimal.to_string(),
            None => self.measure(id),
        }
    }

    fn over_months(&self, over: &OverMonths) -> String {
        let take = match over.take {
            Take::Max => "the highest of",
            Take::Mean => "the mean of",
            Take::Sum => "the sum of",
        };
        let months = match (over.last, over.current) {
            (1, true) => "this billing month".to_owned(),
            (n, true) => format!("this billing month and the {} before it", n - 1),
            (1, false) => "the billing month before".to_owned(),
            (n, false) => format!("the {n} billing months before"),
        };
        let named = if over.named.is_empty() {
            String::new()
        } else {
            let mut named = over.named.clone();
            named.sort_unstable();
            named.dedup();
            format!(" ({} only)", list(named.into_iter().map(month_name)))
        };
        let of = self.nested(over.of);
        if over.take == Take::Max && of.starts_with("the highest ") {
            return format!("{of} of {months}{named}");
        }
        format!("{take} {of} in {months}{named}")
    }

    /// Charges by their ids; all that stand above one another from the first as such.
    pub(super) fn charges(&self, charges: &[usize]) -> String {
        let on_bill = |end: usize| (0..end).filter(|i| self.plan.charges[*i].on_bill);
        match charges {
            [] => "no charge".to_owned(),
            [.., last] if charges.len() > 2 && on_bill(last + 1).eq(charges.iter().copied()) => {
                format!("all charges down to {}", self.plan.charges[*last].id)
            }
            _ => short_list(charges.iter().map(|i| self.plan.charges[*i].id.clone())),
        }
    }

    fn in_period(&self, period: Option<PeriodRef>) -> String {
        period.map(|period| format!(" in {}", self.period_name(period))).unwrap_or_default()
    }

    pub(super) fn period_name(&self, period: PeriodRef) -> &str {
        &self.plan.schedules[period.schedule].periods[period.period]
    }

    /// A step's price with its units: `0.24 EUR/kWh`, `5 %`, `the price of series spot x 1.05 + 0.02 EUR/kWh`.
    ///
    /// * `per`: what one price is for, as [`Phrases::per`] says it.
    pub(super) fn price(&self, price: StepPrice, per: &str) -> String {
        match price {
            StepPrice::Price(id) => self.amount(id, per),
            StepPrice::Percent(id) => match self.less(id) {
                Some(id) => format!("{} % off", self.nested(id)),
                None => format!("{} %", self.nested(id)),
            },
            StepPrice::Series { cost, factor, adder } => {
                let Measure::Cost(spec) = &self.plan.measures[cost] else { return String::new() };
                let mut text = format!("the price of series {}", spec.series);
                if let Some(factor) = factor {
                    text = format!("{text} x {}", self.nested(factor));
                }
                if let Some(adder) = adder {
                    text = format!("{text} + {}", self.nested(adder));
                }
                format!("{text} {}{per}", self.plan.currency)
            }
        }
    }

    /// What a measure with the other sign is of.
    fn less(&self, id: MeasureId) -> Option<MeasureId> {
        match &self.plan.measures[id] {
            Measure::Times(parts) => match parts.as_slice() {
                [minus, of] if self.constant(*minus).is_some_and(|d| d.negated() == Decimal::ONE) => Some(*of),
                _ => None,
            },
            _ => None,
        }
    }

    /// Money, and what it is for: `0.504 GBP a day from 2025-12-31 and 0.525 from 2026-04-01`.
    pub(super) fn amount(&self, id: MeasureId, per: &str) -> String {
        let currency = &self.plan.currency;
        match &self.plan.measures[id] {
            Measure::ByDate(values) => short_list(values.iter().enumerate().map(|(i, (from, id))| {
                let money = if i == 0 { format!(" {currency}{per}") } else { String::new() };
                format!("{}{money} from {from}", self.nested(*id))
            })),
            _ => match self.decimal(id) {
                Some(decimal) => format!("{decimal} {currency}{per}"),
                None => format!("({}) {currency}{per}", self.measure(id)),
            },
        }
    }

    /// A number, or sums and products of numbers worked out.
    fn decimal(&self, id: MeasureId) -> Option<String> {
        let is_exact = match &self.plan.measures[id] {
            Measure::Constant(decimal) => return Some(decimal.to_string()),
            Measure::Sum(parts) | Measure::Times(parts) => parts.iter().all(|part| self.constant(*part).is_some()),
            _ => false,
        };
        self.value(id).filter(|_| is_exact)?.text(0).filter(|text| text.len() <= MAX_DIGITS)
    }

    /// What arithmetic on numbers comes to.
    pub(super) fn value(&self, id: MeasureId) -> Option<Exact> {
        self.values[id].get_or_init(|| self.work_out(id).filter(|value| !value.is_too_large())).clone()
    }

    fn work_out(&self, id: MeasureId) -> Option<Exact> {
        let all = |parts: &[MeasureId]| parts.iter().map(|part| self.value(*part)).collect::<Option<Vec<Exact>>>();
        match &self.plan.measures[id] {
            Measure::Constant(decimal) => Some(Exact::from(*decimal)),
            Measure::Sum(parts) => Some(all(parts)?.into_iter().fold(Exact::ZERO, |sum, part| sum.plus(&part))),
            Measure::Times(parts) => {
                Some(all(parts)?.into_iter().fold(Exact::ONE, |product, part| product.times(&part)))
            }
            Measure::Divide(a, b) => self.value(*a)?.divided_by(&self.value(*b)?),
            Measure::Max(parts) => all(parts)?.into_iter().max(),
            Measure::Min(parts) => all(parts)?.into_iter().min(),
            Measure::Round { of, to, mode } => self.value(*of)?.rounded(*to, *mode),
            _ => None,
        }
    }

    /// What bounds are multiplied with.
    pub(super) fn bound(&self, step: &Step, charge: &Charge, unit: &str) -> String {
        let Some(to) = step.to else { return String::new() };
        let bound = match self.constant(to) {
            Some(decimal) => decimal.to_string(),
            None => self.nested(to),
        };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        match charge.bounds_per {
            None => format!("{bound}{unit}"),
            Some(BoundsPer::Day) => format!("{bound}{unit} x the days"),
            Some(BoundsPer::Measure(id)) => format!("{bound}{unit} x ({})", self.measure(id)),
        }
    }

    /// What one price is for: `/kWh`, `/kW and month`, ` a month`; with a measure in it ` x` that measure.
    pub(super) fn per(&self, charge: &Charge, unit: &str) -> String {
        let word = match charge.per {
            Per::BillingPeriod if unit.is_empty() => "billing period",
            Per::BillingPeriod => return format!("/{unit}"),
            Per::Time(TimeUnit::Day) => "day",
            Per::Time(TimeUnit::Month) => "month",
            Per::Time(TimeUnit::Year) => "year",
            Per::Measure(id) if unit.is_empty() => return format!(" x {}", self.nested(id)),
            Per::Measure(id) => return format!("/{unit} x {}", self.nested(id)),
        };
        if unit.is_empty() { format!(" a {word}") } else { format!("/{unit} and {word}") }
    }

    pub(super) fn rounding(&self, rounding: Rounding) -> String {
        format!("rounded to {} {}{}", rounding.to, self.plan.currency, mode_words(rounding.mode))
    }
}

/// How readings of a channel are told.
pub(super) fn channel_words(channel: &Channel) -> String {
    match channel.as_str() {
        "import" => "from the grid".to_owned(),
        "export" => "fed into the grid".to_owned(),
        name => format!("of channel {name}"),
    }
}

fn mode_words(mode: RoundingMode) -> &'static str {
    match mode {
        RoundingMode::HalfUp => ", half up",
        RoundingMode::HalfEven => ", half to even",
        RoundingMode::Down => ", towards zero",
        RoundingMode::Up => ", away from zero",
    }
}

fn month_name(month: u32) -> String {
    chrono::NaiveDate::from_ymd_opt(2024, month, 1).map(|date| date.format("%B").to_string()).unwrap_or_default()
}
