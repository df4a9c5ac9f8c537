//! Tariffs of the OpenEI Utility Rate Database (URDB, versions 3 to 8) as plan documents of ours.
//!
//! Every field is billed, known to say nothing about money, or refused by its name; with `allow_unbilled` the
//! last are listed in the document's `not_billed` instead, and so on every bill. Charge ids are fixed: `fixed`,
//! `energy`, `export`, `fuel_adjustment`, `demand_flat`, `demand_tou`, `minimum`, `minimum_year`.
//!
//! Field meanings: the URDB's own description of its API, version 8; `rate + adj` is the price, `max` the cumulative
//! upper bound of a tier, tables are months by local hours from January and midnight.

mod fields;
mod ladder;
mod table;

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use self::fields::Fields;
pub(super) use self::fields::speaks_of_money;
use self::ladder::{Bounds, Structure};
use self::table::Table;
use super::{TariffError, TariffErrors};

/// The plan document, as JSON text, of one URDB object or of an API reply `{"items": [one]}`.
///
/// # Errors
/// Every fault found: fields that contradict each other, a table that names a period which does not exist, and, unless
/// `allow_unbilled`, what holds money and cannot be billed (coincident peaks, reactive power, kVA, text that
/// speaks of money).
pub(super) fn document_from_urdb(text: &str, allow_unbilled: bool) -> Result<String, TariffErrors> {
    let mut fields = Fields::read(text)?;
    let document = Adapter { fields: &mut fields, schedules: Map::new(), charges: Vec::new() }.document();
    fields.finish(document, allow_unbilled)
}

struct Adapter<'f, 'a> {
    fields: &'f mut Fields<'a>,
    schedules: Map<String, Value>,
    charges: Vec<Value>,
}

/// How energy fed in is settled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Export {
    /// The tariff says nothing of it.
    None,
    /// Credited at the `sell` price of its tier.
    Sold,
    /// Set against the import, a surplus carried on to the end of the year.
    NetMetered,
}

impl Adapter<'_, '_> {
    fn document(mut self) -> Map<String, Value> {
        let mut document = Map::new();
        let name = self.fields.text("name").or_else(|| self.fields.text("label"));
        document.insert("name".into(), name.unwrap_or_else(|| "URDB tariff".to_owned()).into());
        document.insert("currency".into(), "USD".into());
        if let Some(utility) = self.fields.text("utility") {
            document.insert("provider".into(), utility.into());
        }
        let source: Vec<String> = [
            self.fields.text("label").map(|label| format!("OpenEI Utility Rate Database, {label}")),
            self.fields.text("source"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !source.is_empty() {
            document.insert("source".into(), source.join("; ").into());
        }
        self.fixed();
        self.energy();
        self.fuel_adjustment();
        self.flat_demand();
        self.tou_demand();
        self.minimums();
        if self.charges.is_empty() && self.fields.is_faultless() {
            self.fields.fault("missing_field", "", "there is no charge in it: no rate structure, no fixed charge");
        }
        if let Some(minutes) = self.fields.number("demandwindow") {
            let note = format!(
                "The tariff measures demand over {minutes} minutes; it is billed at the interval of the readings."
            );
            document.insert("notes".into(), note.into());
        }
        if !self.schedules.is_empty() {
            document.insert("schedules".into(), Value::Object(self.schedules));
        }
        document.insert("charges".into(), Value::Array(self.charges));
        document
    }

    fn fixed(&mut self) {
        let old = self.fields.number("fixedmonthlycharge");
        let new = self.fields.number("fixedchargefirstmeter");
        let unit = self.fields.text("fixedchargeunits");
        let (price, field, unit) = match (new, old) {
            (Some(price), _) => (price, "fixedchargeunits", unit.unwrap_or_else(|| "$/month".to_owned())),
            (None, Some(price)) => (price, "fixedmonthlycharge", "$/month".to_owned()),
            (None, None) => return,
        };
        if let Some(per) = self.per(&unit, field)
            && !price.is_zero()
        {
            self.charges.push(json!({"id": "fixed", "kind": "fixed", "price": price.to_string(), "per": per}));
        }
    }

    /// `$/day`, `$/month`, `$/year` as the factor of a charge.
    fn per(&mut self, unit: &str, field: &str) -> Option<&'static str> {
        match unit {
            "$/day" => Some("day"),
            "$/month" => Some("month"),
            "$/year" => Some("year"),
            _ => {
                let message = format!("{unit:?} is no unit of a fixed amount; known are $/day, $/month and $/year");
                self.fields.fault("unknown_unit", &format!("/{field}"), message);
                None
            }
        }
    }

    /// A rate structure and its two tables as a schedule and the ladders of the periods that occur.
    fn scheduled(
        &mut self,
        structure: &'static str,
        tables: [&'static str; 2],
        schedule: &str,
    ) -> Option<(Structure, Table)> {
        // Tables without a structure are common, and say nothing.
        self.fields.expect(&tables);
        let structure = Structure::read(self.fields, structure)?;
        let table = Table::of_hours(self.fields, tables, structure.n_periods())?;
        if let Some(rules) = table.rules() {
            self.schedules.insert(schedule.to_owned(), json!({"periods": rules}));
        }
        Some((structure, table))
    }

    fn energy(&mut self) {
        let rules = self.fields.text("dgrules").unwrap_or_default();
        let is_net_metered = self.fields.flag("usenetmetering").unwrap_or(false) || rules == "Net Metering";
        let tables = ["energyweekdayschedule", "energyweekendschedule"];
        let Some((structure, table)) = self.scheduled("energyratestructure", tables, "energy") else { return };
        let export = match rules.as_str() {
            _ if is_net_metered => Export::NetMetered,
            "" if structure.sells() => Export::Sold,
            "" | "None" => Export::None,
            "Net Billing Instantaneous" | "Net Billing Hourly" => Export::Sold,
            other => {
                let message = format!("{other:?} is no rule for energy fed in that can be billed");
                self.fields.unbilled("dgrules", message);
                Export::None
            }
        };
        let mut charge = json!({"id": "energy", "kind": "energy"});
        if export == Export::NetMetered {
            // What is left at the end of the calendar year is worth nothing, as SAM has it.
            charge["measure"] = json!({"net_energy": {"carry_until": "01-01"}});
        }
        let bounds = structure.bounds();
        put_ladders(&mut charge, "energy", &table, |period| structure.steps(period, &bounds, false));
        if let Bounds::Each(per) = &bounds {
            charge["bounds_per"] = per.clone();
        }
        self.charges.push(charge);
        if export == Export::Sold {
            let mut charge = json!({"id": "export", "kind": "export_credit"});
            put_ladders(&mut charge, "energy", &table, |period| structure.steps(period, &bounds, true));
            if let Bounds::Each(per) = &bounds {
                charge["bounds_per"] = per.clone();
            }
            self.charges.push(charge);
        }
    }

    /// `$/kWh` by month, on top of the rates.
    fn fuel_adjustment(&mut self) {
        let Some(prices) = self.fields.numbers_by_month("fueladjustmentsmonthly") else { return };
        if prices.iter().all(Decimal::is_zero) {
            return;
        }
        let mut charge = json!({"id": "fuel_adjustment", "kind": "adder"});
        let mut distinct: Vec<Decimal> = Vec::new();
        let months: Vec<usize> = prices
            .iter()
            .map(|price| {
                distinct.iter().position(|known| known == price).unwrap_or_else(|| {
                    distinct.push(*price);
                    distinct.len() - 1
                })
            })
            .collect();
        let table = Table::of_months(&months);
        if let Some(rules) = table.rules() {
            self.schedules.insert("fuel_adjustment".to_owned(), json!({"periods": rules}));
        }
        put_ladders(&mut charge, "fuel_adjustment", &table, |period| {
            vec![json!({"price": distinct[period].to_string()})]
        });
        self.charges.push(charge);
    }

    fn flat_demand(&mut self) {
        self.fields.expect(&["lookbackpercent", "lookbackmonths", "lookbackrange", "dgrules", "usenetmetering"]);
        let unit = self.fields.text_of(&["flatdemandunit", "flatdemandunits"]);
        self.fields.expect(&["flatdemandmonths"]);
        let Some(structure) = Structure::read(self.fields, "flatdemandstructure") else { return };
        let months = self.fields.indices("flatdemandmonths", structure.n_periods()).unwrap_or_else(|| vec![0; 12]);
        let table = Table::of_months(&months);
        if let Some(rules) = table.rules() {
            self.schedules.insert("demand_flat".to_owned(), json!({"periods": rules}));
        }
        self.demand("demand_flat", &structure, &table, unit.as_deref(), "flatdemandunit");
    }

    fn tou_demand(&mut self) {
        let unit = self.fields.text_of(&["demandrateunit", "demandrateunits"]);
        let tables = ["demandweekdayschedule", "demandweekendschedule"];
        let Some((structure, table)) = self.scheduled("demandratestructure", tables, "demand_tou") else { return };
        self.demand("demand_tou", &structure, &table, unit.as_deref(), "demandrateunit");
    }

    fn demand(&mut self, id: &'static str, structure: &Structure, table: &Table, unit: Option<&str>, field: &str) {
        if structure.is_free() {
            return;
        }
        let per = match unit.unwrap_or("kW") {
            "kW" => "month",
            "kW daily" => "day",
            other => {
                let message = format!("demand in {other:?} cannot be measured from energy readings");
                self.fields.unbilled(field, message);
                return;
            }
        };
        let mut charge = json!({"id": id, "kind": "demand", "per": per});
        if let Some(ratchet) = self.ratchet() {
            charge["ratchet"] = ratchet;
        }
        put_ladders(&mut charge, id, table, |period| structure.steps(period, &Bounds::AsWritten, false));
        self.charges.push(charge);
    }

    /// `lookbackPercent` of the highest demand of earlier months: of the last `lookbackRange` months, or of the
    /// named `lookbackMonths` among the last twelve.
    fn ratchet(&mut self) -> Option<Value> {
        let share = self.fields.number("lookbackpercent").filter(|share| !share.is_zero())?;
        let percent = (share * Decimal::ONE_HUNDRED).normalize().to_string();
        let named: Vec<usize> = self
            .fields
            .flags("lookbackmonths")
            .unwrap_or_default()
            .iter()
            .enumerate()
            .filter_map(|(month, is_named)| is_named.then_some(month + 1))
            .collect();
        if !named.is_empty() {
            return Some(json!({"percent": percent, "last": 12, "current": true, "named": named}));
        }
        let range = self.fields.number("lookbackrange").and_then(|range| u32::try_from(range).ok()).unwrap_or(0);
        if range == 0 {
            let message = "a share of earlier demand wants lookbackMonths or lookbackRange";
            self.fields.fault("missing_field", "/lookbackrange", message);
            return None;
        }
        Some(json!({"percent": percent, "last": range}))
    }

    fn minimums(&mut self) {
        let unit = self.fields.text("minchargeunits").unwrap_or_else(|| "$/month".to_owned());
        let new = self.fields.number("mincharge").filter(|floor| !floor.is_zero());
        let old = self.fields.number("minmonthlycharge").filter(|floor| !floor.is_zero());
        let mut yearly = self.fields.number("annualmincharge").filter(|floor| !floor.is_zero());
        let monthly = match new {
            Some(floor) => match self.per(&unit, "minchargeunits") {
                Some("year") => {
                    yearly = yearly.or(Some(floor));
                    old.map(|floor| (floor, "month"))
                }
                Some(per) => Some((floor, per)),
                None => None,
            },
            None => old.map(|floor| (floor, "month")),
        };
        let charged: Vec<Value> = self.charges.iter().map(|charge| charge["id"].clone()).collect();
        if let Some((floor, per)) = monthly {
            let charge = json!({"id": "minimum", "kind": "minimum", "floor": floor.to_string(), "per": per});
            self.charges.push(charge);
        }
        if let Some(floor) = yearly {
            // Counts the monthly minimum among its amounts, so that both together never charge twice.
            let of: Vec<Value> = charged.into_iter().chain(monthly.map(|_| Value::from("minimum"))).collect();
            self.schedules.insert(
                "year_end".to_owned(),
                json!({"periods": [{"period": "december", "months": [12]}, {"period": "other"}]}),
            );
            let year = json!({"over_months": {"of": {"amount": of}, "last": 12, "current": true, "take": "sum"}});
            let missing = json!({"sum": [floor.to_string(), {"times": ["-1", year]}]});
            self.charges.push(json!({"id": "minimum_year", "kind": "minimum", "schedule": "year_end",
                "period": "december", "price": "1", "per": "billing_period", "measure": {"max": ["0", missing]}}));
        }
    }
}

/// Ladders for each period that occurs, or the one ladder where only one does.
fn put_ladders(charge: &mut Value, schedule: &str, table: &Table, ladder: impl Fn(usize) -> Vec<Value>) {
    let periods = table.periods();
    if let [only] = periods.as_slice() {
        charge["steps"] = ladder(*only).into();
        return;
    }
    charge["schedule"] = schedule.into();
    let ladders: Map<String, Value> =
        periods.into_iter().map(|period| (table::period_name(period), ladder(period).into())).collect();
    charge["steps"] = Value::Object(ladders);
}

fn fault(code: &str, pointer: &str, message: impl Into<String>) -> TariffError {
    TariffError { code: code.to_owned(), pointer: pointer.to_owned(), message: message.into() }
}

#[cfg(test)]
mod tests;
