//! Rate structures: periods of tiers, each `{rate, adj, sell, max, unit}`.

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fields::Fields;

/// Bounds from here on mean "open": the database writes 1e38, also as a 32-bit float.
const OPEN: f64 = 1e30;

/// What a tier's `max` is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Kwh,
    KwhDaily,
    KwhPerKw,
    KwhPerKwDaily,
}

impl Unit {
    /// What a bound is multiplied with.
    fn factor(self) -> Option<Value> {
        match self {
            Self::Kwh => None,
            Self::KwhDaily => Some("day".into()),
            Self::KwhPerKw => Some(json!({"demand": {}})),
            Self::KwhPerKwDaily => Some(json!({"times": [{"demand": {}}, "days"]})),
        }
    }
}

/// How the bounds of a whole structure are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bounds {
    /// As they stand.
    AsWritten,
    /// Each times this: `bounds_per` of the charge.
    Each(Value),
    /// Tiers of several units: each bound is a measure of its own.
    Mixed,
}

#[derive(Debug, Clone)]
struct Tier {
    price: Decimal,
    sell: Option<Decimal>,
    to: Option<Decimal>,
    unit: Unit,
}

/// Ladders by period number.
#[derive(Debug, Clone)]
pub(super) struct Structure {
    periods: Vec<Vec<Tier>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTier<'a> {
    #[serde(borrow)]
    rate: Option<&'a RawValue>,
    #[serde(borrow)]
    adj: Option<&'a RawValue>,
    #[serde(borrow)]
    sell: Option<&'a RawValue>,
    #[serde(borrow)]
    max: Option<&'a RawValue>,
    unit: Option<String>,
}

impl Structure {
    /// Reads a structure; `None` when it is not there, is empty, or has faults (which are noted).
    pub(super) fn read(fields: &mut Fields<'_>, field: &'static str) -> Option<Self> {
        let raw: Vec<Vec<&RawValue>> = fields.parsed(field, "a list of periods, each a list of tiers")?;
        if raw.iter().all(Vec::is_empty) {
            return None;
        }
        let mut periods = Vec::with_capacity(raw.len());
        let mut is_good = true;
        for (p, tiers) in raw.iter().enumerate() {
            let n_tiers = tiers.len();
            let mut ladder: Vec<Tier> = Vec::with_capacity(n_tiers);
            for (t, tier) in tiers.iter().enumerate() {
                let pointer = format!("/{field}/{p}/{t}");
                match tier_of(fields, tier, &pointer, t + 1 == n_tiers) {
                    Some(tier) => {
                        let last = ladder.last().and_then(|tier| tier.to);
                        if tier.to.is_some() && tier.to <= last {
                            let message = "each max is above the one before it: bounds are cumulative";
                            fields.fault("bounds_fall", &format!("{pointer}/max"), message);
                            is_good = false;
                        }
                        ladder.push(tier);
                    }
                    None => is_good = false,
                }
            }
            periods.push(ladder);
        }
        is_good.then_some(Self { periods })
    }

    pub(super) fn n_periods(&self) -> usize {
        self.periods.len()
    }

    /// Whether any tier buys energy fed in.
    pub(super) fn sells(&self) -> bool {
        self.periods.iter().flatten().any(|tier| tier.sell.is_some_and(|sell| !sell.is_zero()))
    }

    /// Whether every price is zero.
    pub(super) fn is_free(&self) -> bool {
        self.periods.iter().flatten().all(|tier| tier.price.is_zero())
    }

    /// How the bounds of all tiers together are written.
    pub(super) fn bounds(&self) -> Bounds {
        let mut units = self.periods.iter().flatten().filter(|tier| tier.to.is_some()).map(|tier| tier.unit);
        let Some(first) = units.next() else { return Bounds::AsWritten };
        if units.any(|unit| unit != first) {
            return Bounds::Mixed;
        }
        first.factor().map_or(Bounds::AsWritten, Bounds::Each)
    }

    /// The steps of one period, at the buying or the selling price.
    pub(super) fn steps(&self, period: usize, bounds: &Bounds, selling: bool) -> Vec<Value> {
        self.periods[period]
            .iter()
            .map(|tier| {
                let price = if selling { tier.sell.unwrap_or_default() } else { tier.price };
                let mut step = json!({"price": price.to_string()});
                if let Some(to) = tier.to {
                    step["to"] = match (bounds, tier.unit.factor()) {
                        (Bounds::Mixed, Some(Value::String(_))) => json!({"times": [to.to_string(), "days"]}),
                        (Bounds::Mixed, Some(factor)) => json!({"times": [to.to_string(), factor]}),
                        _ => to.to_string().into(),
                    };
                }
                step
            })
            .collect()
    }
}

fn tier_of(fields: &mut Fields<'_>, raw: &RawValue, pointer: &str, is_last: bool) -> Option<Tier> {
    let tier: RawTier<'_> = match serde_json::from_str(raw.get()) {
        Ok(tier) => tier,
        Err(e) => {
            let message = format!("a tier has rate, adj, sell, max and unit, nothing else: {e}");
            fields.fault("wrong_type", pointer, message);
            return None;
        }
    };
    let mut number = |raw: Option<&RawValue>, name: &str| match raw {
        None => Some(None),
        Some(raw) => fields.decimal(raw, &format!("{pointer}/{name}")).map(Some),
    };
    let rate = number(tier.rate, "rate")?.unwrap_or_default();
    let adj = number(tier.adj, "adj")?.unwrap_or_default();
    let sell = number(tier.sell, "sell")?;
    let is_open = |raw: &&RawValue| raw.get().parse::<f64>().is_ok_and(|max| max >= OPEN);
    // The last tier is open whatever its max says: nothing above it would be billed otherwise.
    let to = match tier.max.filter(|max| !is_last && !is_open(max)) {
        Some(max) => Some(fields.decimal(max, &format!("{pointer}/max"))?),
        None => None,
    };
    if to.is_none() && !is_last {
        let message = "a tier below the last one wants its upper bound in max";
        fields.fault("open_inner_step", pointer, message);
        return None;
    }
    let unit = match tier.unit.as_deref() {
        None | Some("kWh" | "kW" | "kW daily" | "") => Unit::Kwh,
        Some("kWh daily") => Unit::KwhDaily,
        Some("kWh/kW") => Unit::KwhPerKw,
        Some("kWh/kW daily") => Unit::KwhPerKwDaily,
        Some(other) => {
            let message = format!("{other:?} is no unit of a tier; known are kWh, kWh daily, kWh/kW and kWh/kW daily");
            fields.fault("unknown_unit", &format!("{pointer}/unit"), message);
            return None;
        }
    };
    Some(Tier { price: (rate + adj).normalize(), sell, to, unit })
}
