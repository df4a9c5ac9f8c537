//! Measures of a document.

use chrono::NaiveDate;

use super::super::json::Json;
use super::super::model::{
    DayValue, DemandSpec, Distinct, EnergySpec, Measure, MeasureId, NetEnergySpec, NetPart, OverMonths, PeriodRef,
    TimeUnit,
};
use super::super::number::Decimal;
use super::walk::{Node, Object};
use super::words::{DAY_VALUES, DISTINCT, MEASURES, NET_PARTS, TAKES};
use super::{MAX_LOOK_BACK_MONTHS, NamedMeasure, Reader, month_day};
use crate::usage::Channel;
use crate::words::dated;

/// Deepest nesting of measures.
const MAX_NESTED: usize = 100;
/// Most measures of one document.
const MAX_MEASURES: usize = 100_000;

/// A measure that can be measured in each period of a schedule, or the id of one that has one value in all.
pub(super) enum ReadMeasure {
    /// An `energy`, `demand` or `net_energy` written in place, without a period of its own.
    Plain(Measure),
    Composed(MeasureId),
}

impl<'a> Reader<'a> {
    /// Reads a measure to its id.
    pub(super) fn measure(&mut self, node: &Node<'a>) -> Option<MeasureId> {
        match self.open_measure(node)? {
            ReadMeasure::Plain(measure) => Some(self.intern(measure)),
            ReadMeasure::Composed(id) => Some(id),
        }
    }

    /// Reads a measure, leaving one that can be split over periods open.
    pub(super) fn open_measure(&mut self, node: &Node<'a>) -> Option<ReadMeasure> {
        if self.n_nested >= MAX_NESTED {
            let message = format!("measures may be nested {MAX_NESTED} deep");
            self.faults.add("too_deep", &node.pointer, message);
            return None;
        }
        if self.measures.len() >= MAX_MEASURES {
            self.faults.add("too_many", &node.pointer, format!("a plan has at most {MAX_MEASURES} measures"));
            return None;
        }
        self.n_nested += 1;
        let read = match node.json {
            Json::String(text) => self.measure_by_text(text, node).map(ReadMeasure::Composed),
            Json::Object(_) => self.measure_object(node),
            Json::Number(_) => {
                node.decimal(18, &mut self.faults);
                None
            }
            _ => {
                let message = "a measure is a decimal in quotes, a name, or an object with one key";
                self.faults.add("wrong_type", &node.pointer, message);
                None
            }
        };
        self.n_nested -= 1;
        read
    }

    fn measure_by_text(&mut self, text: &'a str, node: &Node<'a>) -> Option<MeasureId> {
        if text.as_bytes().first().is_some_and(|b| b.is_ascii_digit() || *b == b'-') {
            let decimal = node.decimal(18, &mut self.faults)?;
            return Some(self.constant(decimal));
        }
        let measure = match text {
            "one" => Measure::Constant(Decimal::ONE),
            "days" => Measure::Count { unit: TimeUnit::Day, period: None, by_convention: false },
            "months" => Measure::Count { unit: TimeUnit::Month, period: None, by_convention: false },
            "years" => Measure::Count { unit: TimeUnit::Year, period: None, by_convention: false },
            "days_in_year" => Measure::DaysInYear,
            name => {
                let id = self.named_measure(name);
                if id.is_none() && !self.named_measures.contains_key(name) {
                    let message = format!(
                        "{name:?} is no measure; write a decimal, one, days, months, years, days_in_year or a name \
                         from \"measures\""
                    );
                    self.faults.add("unknown_name", &node.pointer, message);
                }
                return id;
            }
        };
        Some(self.intern(measure))
    }

    /// The measure of a name in `measures`.
    pub(super) fn named_measure(&mut self, name: &str) -> Option<MeasureId> {
        let (key, entry) = self.named_measures.iter_mut().find(|(key, _)| **key == name)?;
        let key = *key;
        match std::mem::replace(entry, NamedMeasure::BeingRead) {
            NamedMeasure::Unread(node) => {
                let id = self.measure(&node);
                self.named_measures.insert(key, NamedMeasure::Read(id));
                id
            }
            NamedMeasure::BeingRead => {
                let message = format!("the measure {name:?} is made of itself");
                self.faults.add("cycle", &format!("/measures/{name}"), message);
                None
            }
            NamedMeasure::Read(id) => {
                self.named_measures.insert(key, NamedMeasure::Read(id));
                id
            }
        }
    }

    fn measure_object(&mut self, node: &Node<'a>) -> Option<ReadMeasure> {
        let entries = node.entries(&mut self.faults);
        let [(key, value)] = entries.as_slice() else {
            let message = format!("a measure has exactly one key, this one has {}", entries.len());
            self.faults.add("one_key", &node.pointer, message);
            return None;
        };
        let measure = match *key {
            "days" => self.count(TimeUnit::Day, value)?,
            "months" => self.count(TimeUnit::Month, value)?,
            "years" => self.count(TimeUnit::Year, value)?,
            "energy" => return self.energy(value),
            "demand" => {
                let mut object = value.object(&mut self.faults)?;
                let period = self.period_of(&mut object);
                let spec = self.demand_spec(&mut object);
                object.finish("demand", &mut self.faults);
                let mut spec = spec?;
                spec.period = period?;
                return Some(ReadMeasure::Plain(Measure::Demand(spec)));
            }
            "net_energy" => return self.net_energy(value),
            "attribute" => Measure::Attribute(value.name(&mut self.faults)?.to_owned()),
            "amount" => Measure::Amount(self.charges_named(value)),
            "by_date" => self.by_date(value)?,
            "sum" => Measure::Sum(self.measures(value)?),
            "times" => Measure::Times(self.measures(value)?),
            "max" => Measure::Max(self.measures(value)?),
            "min" => Measure::Min(self.measures(value)?),
            "divide" => {
                let parts = self.measures(value)?;
                let [dividend, divisor] = parts.as_slice() else {
                    self.faults.add("wrong_type", &value.pointer, "a division has two measures");
                    return None;
                };
                Measure::Divide(*dividend, *divisor)
            }
            "round" => {
                let mut object = value.object(&mut self.faults)?;
                let of = object.want("of", &mut self.faults).and_then(|n| self.measure(&n));
                let to = object.want("to", &mut self.faults).and_then(|n| self.rounding_unit(&n));
                let mode = match object.take("mode") {
                    Some(n) => self.rounding_mode(&n),
                    None => Some(super::RoundingMode::HalfUp),
                };
                object.finish("round", &mut self.faults);
                Measure::Round { of: of?, to: to?, mode: mode? }
            }
            "over_months" => self.over_months(value)?,
            "series" => {
                let message =
                    "a price series is no measure: it stands as the price itself, with \"factor\" and \"adder\"";
                self.faults.add("unknown_field", &value.pointer, message);
                return None;
            }
            other => {
                let message = format!("{other:?} is no measure; there are {}", MEASURES.join(", "));
                self.faults.add("unknown_field", &value.pointer, message);
                return None;
            }
        };
        Some(ReadMeasure::Composed(self.intern(measure)))
    }

    fn measures(&mut self, node: &Node<'a>) -> Option<Vec<MeasureId>> {
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            if matches!(node.json, Json::Array(_)) {
                self.faults.add("missing_field", &node.pointer, "name at least one measure");
            }
            return None;
        }
        let read: Vec<Option<MeasureId>> = items.iter().map(|n| self.measure(n)).collect();
        read.into_iter().collect()
    }

    fn count(&mut self, unit: TimeUnit, node: &Node<'a>) -> Option<Measure> {
        let mut object = node.object(&mut self.faults)?;
        let period = self.period_of(&mut object);
        object.finish("this measure", &mut self.faults);
        if let Some(period) = period? {
            Some(Measure::Count { unit, period: Some(period), by_convention: false })
        } else {
            self.faults.add("missing_field", &node.pointer, "name a schedule and a period");
            None
        }
    }

    /// `schedule` and `period` of a measure, both or neither; `None` when they cannot be read.
    #[expect(clippy::option_option, reason = "no period is one thing, a wrong one another")]
    fn period_of(&mut self, object: &mut Object<'a>) -> Option<Option<PeriodRef>> {
        let schedule = object.take("schedule");
        let period = object.take("period");
        match (schedule, period) {
            (None, None) => Some(None),
            (Some(schedule), Some(period)) => self.period_ref(&schedule, &period).map(Some),
            (Some(node), None) => {
                self.faults.add("missing_field", &node.pointer, "name the period of this schedule, too");
                None
            }
            (None, Some(node)) => {
                self.faults.add("missing_field", &node.pointer, "name the schedule of this period, too");
                None
            }
        }
    }

    /// A schedule by name.
    pub(super) fn schedule_ref(&mut self, node: &Node<'a>) -> Option<usize> {
        let name = node.text(&mut self.faults)?;
        let schedule = self.schedule_names.get(name).copied();
        if schedule.is_none() {
            let message = format!("{name:?} is not among the schedules of this plan");
            self.faults.add("unknown_name", &node.pointer, message);
        }
        schedule
    }

    /// A period of a schedule by their names.
    pub(super) fn period_ref(&mut self, schedule: &Node<'a>, period: &Node<'a>) -> Option<PeriodRef> {
        let schedule = self.schedule_ref(schedule)?;
        let name = period.text(&mut self.faults)?;
        let found = self.schedules[schedule].period_named(name);
        if found.is_none() {
            let known = self.schedules[schedule].periods.join(", ");
            let message = format!("{name:?} is no period of this schedule; it has {known}");
            self.faults.add("unknown_name", &period.pointer, message);
        }
        found.map(|period| PeriodRef { schedule, period })
    }

    /// A channel by name.
    pub(super) fn channel(&mut self, node: Option<Node<'a>>, default: Channel) -> Option<Channel> {
        let Some(node) = node else { return Some(default) };
        let text = node.text(&mut self.faults)?;
        match text.parse() {
            Ok(channel) => Some(channel),
            Err(error) => {
                let error: crate::usage::ChannelError = error;
                self.faults.add("bad_name", &node.pointer, error.to_string());
                None
            }
        }
    }

    fn energy(&mut self, node: &Node<'a>) -> Option<ReadMeasure> {
        let mut object = node.object(&mut self.faults)?;
        let channel = self.channel(object.take("channel"), Channel::import());
        let period = self.period_of(&mut object);
        object.finish("energy", &mut self.faults);
        Some(ReadMeasure::Plain(Measure::Energy(EnergySpec { channel: channel?, period: period? })))
    }

    /// The members that say how demand is measured, without its period.
    pub(super) fn demand_spec(&mut self, object: &mut Object<'a>) -> Option<DemandSpec> {
        let channel = self.channel(object.take("channel"), Channel::import());
        let window_minutes = object.take("window_minutes").map(|n| n.integer(1..=1440, &mut self.faults));
        let sliding = object.take("sliding").map_or(Some(false), |n| n.flag(&mut self.faults));
        let highest = object.take("highest").map_or(Some(1), |n| n.integer(1..=10_000, &mut self.faults));
        let distinct =
            object.take("distinct").map_or(Some(Distinct::Readings), |n| n.word(&DISTINCT, &mut self.faults));
        let day_value =
            object.take("day_value").map_or(Some(DayValue::Highest), |n| n.word(&DAY_VALUES, &mut self.faults));
        if day_value == Some(DayValue::Mean) && distinct != Some(Distinct::Days) {
            let place = object.place("day_value");
            self.faults.add("conflicting_fields", &place, "a mean of days wants \"distinct\": \"days\"");
        }
        if sliding == Some(true) && window_minutes.is_none() {
            let place = object.place("sliding");
            self.faults.add("missing_field", &place, "a sliding window wants \"window_minutes\"");
        }
        let window_minutes = match window_minutes {
            None => None,
            Some(read) => Some(read?),
        };
        Some(DemandSpec {
            channel: channel?,
            period: None,
            window_minutes,
            sliding: sliding?,
            highest: highest?,
            distinct: distinct?,
            day_value: day_value?,
        })
    }

    fn net_energy(&mut self, node: &Node<'a>) -> Option<ReadMeasure> {
        let mut object = node.object(&mut self.faults)?;
        let import = self.channel(object.take("import"), Channel::import());
        let export = self.channel(object.take("export"), Channel::export());
        let period = self.period_of(&mut object);
        let carry_until = object.take("carry_until").map(|n| {
            let text = n.text(&mut self.faults)?;
            let date = month_day(text);
            if date.is_none() {
                self.faults.add("bad_date", &n.pointer, format!("{text:?} is no day of a year; write 12-31"));
            }
            date
        });
        let part = object.take("part").map_or(Some(NetPart::Billed), |n| n.word(&NET_PARTS, &mut self.faults));
        object.finish("net_energy", &mut self.faults);
        let carry_until = match carry_until {
            None => None,
            Some(read) => Some(read?),
        };
        Some(ReadMeasure::Plain(Measure::NetEnergy(NetEnergySpec {
            import: import?,
            export: export?,
            period: period?,
            carry_until,
            part: part?,
        })))
    }

    /// A list of ids and groups of charges.
    pub(super) fn charges_named(&mut self, node: &Node<'a>) -> Vec<usize> {
        let mut charges = Vec::new();
        for item in node.items(&mut self.faults) {
            let Some(name) = item.text(&mut self.faults) else { continue };
            if let Some(charge) = self.charge_names.get(name) {
                charges.push(*charge);
            } else if let Some(group) = self.groups.get(name) {
                charges.extend(group);
            } else if let Some(charge) = self.stand_in_for(name) {
                if !charges.contains(&charge) {
                    charges.push(charge);
                }
            } else {
                let message = format!("{name:?} is neither a charge nor a group of this plan");
                self.faults.add("unknown_name", &item.pointer, message);
            }
        }
        let n_named = charges.len();
        charges.sort_unstable();
        charges.dedup();
        if charges.len() < n_named {
            self.faults.add("duplicate_name", &node.pointer, "a charge is named twice, itself or through a group");
        }
        charges
    }

    fn by_date(&mut self, node: &Node<'a>) -> Option<Measure> {
        let entries = node.entries(&mut self.faults);
        if entries.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one month or date");
            return None;
        }
        let mut values: Vec<(NaiveDate, MeasureId)> = Vec::with_capacity(entries.len());
        for (text, value) in &entries {
            let id = self.measure(value);
            match (dated(text), id) {
                (Some(date), Some(id)) => values.push((date, id)),
                (None, _) => {
                    let message = format!("{text:?} is no month and no date; write 2026-05 or 2026-05-14");
                    self.faults.add("bad_date", &value.pointer, message);
                }
                (Some(_), None) => {}
            }
        }
        values.sort_by_key(|(date, _)| *date);
        if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            self.faults.add("duplicate_name", &node.pointer, "two values begin on the same date");
        }
        (values.len() == entries.len()).then_some(Measure::ByDate(values))
    }

    fn over_months(&mut self, node: &Node<'a>) -> Option<Measure> {
        let mut object = node.object(&mut self.faults)?;
        let of = object.want("of", &mut self.faults).and_then(|n| self.measure(&n));
        let (last, current, named) = self.months_looked_at(&mut object);
        let take = object.want("take", &mut self.faults).and_then(|n| n.word(&TAKES, &mut self.faults));
        object.finish("over_months", &mut self.faults);
        Some(Measure::OverMonths(OverMonths { of: of?, last: last?, current, named, take: take? }))
    }

    /// `last`, `current` and `named` of a look-back.
    pub(super) fn months_looked_at(&mut self, object: &mut Object<'a>) -> (Option<u32>, bool, Vec<u32>) {
        let last =
            object.want("last", &mut self.faults).and_then(|n| n.integer(1..=MAX_LOOK_BACK_MONTHS, &mut self.faults));
        let current = object.take("current").and_then(|n| n.flag(&mut self.faults)).unwrap_or(false);
        let named = object.take("named").map(|n| self.month_numbers(&n)).unwrap_or_default();
        (last, current, named)
    }
}
