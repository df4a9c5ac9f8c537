//! Rates: a ladder of prices, when it holds, and the charges that several of them make.

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use super::super::foreign::{Members, Place, cut, fresh_name};
use super::season::Season;
use super::window::{Window, tile};

/// When the steps of a ladder start again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resets {
    Day,
    BillingMonth,
}

/// Prices by steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ladder {
    /// Price and upper bound, at least one.
    steps: Vec<(Decimal, Option<Decimal>)>,
    resets: Resets,
}

impl Ladder {
    /// Whether energy costs the same on both, whatever was used before.
    pub(super) fn costs_the_same(&self, other: &Self) -> bool {
        matches!((self.steps.as_slice(), other.steps.as_slice()), ([(a, None)], [(b, None)]) if a == b)
    }

    fn is_one_price(&self) -> bool {
        matches!(self.steps.as_slice(), [(_, None)])
    }

    /// As steps of ours.
    fn steps(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|(price, bound)| {
                let mut step = Map::new();
                if let Some(bound) = bound {
                    step.insert("to".to_owned(), bound.to_string().into());
                }
                step.insert("price".to_owned(), price.to_string().into());
                step.into()
            })
            .collect();
        steps.into()
    }
}

/// One price whatever is used.
pub(super) fn single_price(price: Decimal) -> Ladder {
    Ladder { steps: vec![(price, None)], resets: Resets::BillingMonth }
}

/// A ladder and when it holds.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    /// What it is called, for its period.
    pub(super) name: String,
    pub(super) ladder: Ladder,
    pub(super) windows: Vec<Window>,
    pub(super) season: Season,
}

/// Reads the ladder of an object with `rates` (in order of volume) and `period`.
pub(super) fn ladder(members: &Members<'_>) -> Option<Ladder> {
    let period = members.take("period");
    let items = members.want("rates")?.items();
    let n_steps = items.len();
    let mut steps = Vec::with_capacity(n_steps);
    let mut bound = Decimal::ZERO;
    for (i, item) in items.iter().enumerate() {
        let rate = item.members()?;
        let price = rate.want("unitPrice").and_then(|place| place.decimal());
        let unit = rate.take("measureUnit");
        let width = rate.take("volume");
        rate.finish(&[], &[]);
        if let Some(unit) = unit
            && let Some(text) = unit.text()
            && text != "KWH"
        {
            unit.fault("unknown_unit", format!("a price per {text} cannot be billed; known is KWH"));
            return None;
        }
        // `volume` is a width, ours is a bound.
        let to = match width {
            Some(place) => {
                let width = place.decimal()?;
                let Some(sum) = bound.checked_add(width).filter(|_| width > Decimal::ZERO) else {
                    place.fault("out_of_range", "the volume of a step is its width in kWh, greater than zero");
                    return None;
                };
                bound = sum;
                Some(bound.normalize())
            }
            None if i + 1 < n_steps => {
                item.fault("open_inner_step", "every step but the last has a volume: its width in kWh");
                return None;
            }
            None => None,
        };
        steps.push((price?, to));
    }
    if steps.is_empty() {
        return None;
    }
    let has_bounds = steps.iter().any(|(_, to)| to.is_some());
    let resets = match (has_bounds, period) {
        (false, _) => Resets::BillingMonth,
        (true, None) => {
            let place = members.place();
            place.fault("missing_field", "steps want a \"period\" after which they start again");
            return None;
        }
        (true, Some(period)) => match period.text()? {
            "P1D" => Resets::Day,
            "P1M" => Resets::BillingMonth,
            other => {
                let message = format!(
                    "steps that start again after {other} want the day from which it is counted, which a plan does \
                     not hold; billed are P1D and P1M"
                );
                period.fault("no_anchor", message);
                return None;
            }
        },
    };
    Some(Ladder { steps, resets })
}

/// Reads an object with a ladder of its own and, under `windows`, when it holds. `season`: the days of the year.
pub(super) fn rate(place: &Place<'_>, windows: &'static str, season: &Season, other: Read<'_>) -> Option<Rate> {
    let members = place.members()?;
    let name = members.text("displayName").or_else(|| members.text("type")).unwrap_or_default().to_owned();
    let written = members.take(windows);
    members.take("type");
    let ladder = ladder(&members);
    other(&members);
    members.finish(&[], &["description"]);
    let windows = match written {
        Some(written) => {
            let items = written.items();
            let read: Vec<Window> = items.iter().filter_map(Window::read).collect();
            if read.is_empty() {
                return None;
            }
            read
        }
        None => vec![Window::always(&place.pointer)],
    };
    Some(Rate { name, ladder: ladder?, windows, season: season.clone() })
}

/// Takes the members of a rate that are not its ladder.
pub(super) type Read<'r> = &'r mut dyn FnMut(&Members<'_>);

/// What several rates of one stream of energy become.
pub(super) struct EnergyCharge<'a> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) label: &'a str,
    pub(super) channel: Option<&'a str>,
    pub(super) may_leave_gaps: bool,
}

impl EnergyCharge<'_> {
    /// Adds the charges and their schedule; gives their ids, none where a fault was noted.
    pub(super) fn add(
        &self,
        place: &Place<'_>,
        rates: &[Rate],
        schedules: &mut Map<String, Value>,
        charges: &mut Vec<Value>,
    ) -> Vec<String> {
        let mut stepped = rates.iter().filter(|rate| !rate.ladder.is_one_price()).map(|rate| rate.ladder.resets);
        let resets = stepped.next();
        let all_alike = stepped.all(|other| Some(other) == resets);
        // One charge notices energy in a gap when it bills; several would each look at their own hours.
        let Some(tiled) = tile(place, rates, self.may_leave_gaps && all_alike) else { return Vec::new() };
        if let [only] = rates
            && tiled.is_gapless
        {
            let mut charge = self.charge(self.id);
            put_ladder(&mut charge, &only.ladder);
            charges.push(charge);
            return vec![self.id.to_owned()];
        }
        let mut used = Vec::new();
        let names: Vec<String> = rates.iter().map(|rate| fresh_name(&rate.name, "rate", &mut used)).collect();
        let rules: Vec<Value> = rates
            .iter()
            .zip(&names)
            .flat_map(|(rate, name)| rate.windows.iter().flat_map(|window| window.rules(name, &rate.season)))
            .collect();
        let mut schedule = json!({"periods": rules});
        if tiled.has_holidays {
            schedule["holidays"] = json!([place.holidays()]);
        }
        if tiled.own_day {
            schedule["wrapping_window"] = "own_day".into();
        }
        schedules.insert(self.id.to_owned(), schedule);
        if !all_alike {
            return self.one_charge_a_rate(rates, &names, charges);
        }
        let mut charge = self.charge(self.id);
        charge["schedule"] = self.id.into();
        if resets.is_none() {
            let prices: Map<String, Value> =
                rates.iter().zip(names).map(|(rate, name)| (name, rate.ladder.steps[0].0.to_string().into())).collect();
            charge["prices"] = prices.into();
        } else {
            let ladders: Map<String, Value> =
                rates.iter().zip(names).map(|(rate, name)| (name, rate.ladder.steps())).collect();
            charge["steps"] = ladders.into();
            charge["tier_scope"] = "per_period".into();
        }
        if resets == Some(Resets::Day) {
            charge["resets"] = "day".into();
        }
        charges.push(charge);
        vec![self.id.to_owned()]
    }

    /// A charge resets all its ladders alike: rates that differ there are charges of their own.
    fn one_charge_a_rate(&self, rates: &[Rate], names: &[String], charges: &mut Vec<Value>) -> Vec<String> {
        let mut ids = Vec::new();
        for (rate, name) in rates.iter().zip(names) {
            let id = format!("{}_{name}", self.id);
            let mut charge = self.charge(&id);
            charge["schedule"] = self.id.into();
            charge["period"] = name.as_str().into();
            put_ladder(&mut charge, &rate.ladder);
            charges.push(charge);
            ids.push(id);
        }
        ids
    }

    fn charge(&self, id: &str) -> Value {
        let mut charge = json!({"id": id, "kind": self.kind});
        if !self.label.is_empty() {
            charge["label"] = cut(self.label).into();
        }
        if let Some(channel) = self.channel {
            charge["channel"] = channel.into();
        }
        charge
    }
}

fn put_ladder(charge: &mut Value, ladder: &Ladder) {
    if ladder.is_one_price() {
        charge["price"] = ladder.steps[0].0.to_string().into();
        return;
    }
    charge["steps"] = ladder.steps();
    if ladder.resets == Resets::Day {
        charge["resets"] = "day".into();
    }
}
