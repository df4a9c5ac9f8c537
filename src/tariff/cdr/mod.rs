//! Australian energy plans of the Consumer Data Right as plan documents of ours: the reply of one plan, its `data`, or
//! the contract alone.
//!
//! Every field is billed, known to say nothing about money, or refused by its place; with `allow_unbilled` the last are
//! listed in the document's `not_billed` instead; what the customer chooses or gets once is listed there in any case, as
//! optional. Charge ids are fixed: `supply`, `energy`, `controlled_load` (`controlled_load_supply`), `demand`, `discount`,
//! `gst`, `fee`, `metering`, `feed_in`; a second of its kind ends in `_2`. A fee for what the customer does is `fee_` and
//! the customer's attribute that says so: `fee_paper_bill`.
//!
//! Prices exclude GST, of which one tax charge of 10 % holds; fees and metering charges include it, and what is fed in
//! is without. Field meanings: the Consumer Data Standards, energy plan detail, versions 1 to 3.

mod extras;
mod rate;
mod season;
mod window;

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use self::rate::{EnergyCharge, Rate};
use self::season::Season;
use self::window::Window;
use super::TariffErrors;
use super::foreign::{Findings, ForeignOptions, Members, Place, cut, fresh_name};
use super::json::Json;

/// The plan document, as JSON text, of one plan.
///
/// # Errors
/// Every fault found: windows that overlap at different prices or leave hours without a price, steps whose first day
/// is not told, and, unless `allow_unbilled`, what holds money and cannot be billed.
pub(super) fn document_from_cdr(text: &str, options: &ForeignOptions) -> Result<String, TariffErrors> {
    let json = Json::parse(text)?;
    let findings = Findings::naming_holidays(options);
    let mut adapter = Adapter::default();
    adapter.plan(&Place::root(&json, &findings));
    if adapter.charges.is_empty() && findings.is_faultless() {
        findings.fault("missing_field", "", "there is no charge in it: no tariffPeriod with a supply charge or rates");
    }
    findings.finish(adapter.document(), options.allow_unbilled)
}

/// Says nothing about the bill: who offers the plan, to whom, since when.
const PLAN_INFORMATION: &[&str] =
    &["applicationUri", "additionalInformation", "customerType", "effectiveFrom", "effectiveTo", "lastUpdated", "type"];
const CONTRACT_INFORMATION: &[&str] =
    &["billFrequency", "coolingOffDays", "intrinsicGreenPower", "meterTypes", "paymentOption", "termType"];
/// Free text that may hold charges.
const CONTRACT_TEXTS: &[&str] =
    &["additionalFeeInformation", "benefitPeriod", "onExpiryDescription", "terms", "variation"];

/// Most loads, demand charges, discounts, fees and metering charges of a plan: an id is looked for among those before it,
/// and a share of the bill names all above.
const MAX_OF_A_KIND: usize = 100;

/// A supply charge per day and the season in which it holds.
struct Supply<'a> {
    season: Season,
    name: String,
    price: Decimal,
    place: Place<'a>,
}

/// The document while it is made.
#[derive(Default)]
struct Adapter {
    head: Map<String, Value>,
    schedules: Map<String, Value>,
    charges: Vec<Value>,
    /// Ids of charges that are without GST.
    without_gst: Vec<String>,
    /// Ids of charges for energy used.
    usage: Vec<String>,
    time_zone: Option<&'static str>,
    /// Whether it has fees for what the customer does.
    has_events: bool,
    ids: Vec<String>,
}

impl Adapter {
    fn document(self) -> Map<String, Value> {
        let mut document = self.head;
        document.entry("name").or_insert_with(|| "Energy plan".into());
        document.insert("currency".to_owned(), "AUD".into());
        if let Some(zone) = self.time_zone {
            document.insert("time_zone".to_owned(), zone.into());
        }
        if !self.schedules.is_empty() {
            document.insert("schedules".to_owned(), self.schedules.into());
        }
        if self.has_events {
            // Whole in a billing month or not at all: half a reconnection costs nothing.
            document.insert("conventions".to_owned(), json!({"dated_values": "at_end"}));
        }
        document.insert("charges".to_owned(), self.charges.into());
        document
    }

    fn plan(&mut self, root: &Place<'_>) {
        let Some(reply) = root.members() else { return };
        if let Some(data) = reply.take("data") {
            if let Some(plan) = data.members() {
                self.plan_detail(plan);
            }
            reply.finish(&["links", "meta"], &[]);
        } else if root.json.get("electricityContract").is_some() || root.json.get("tariffPeriod").is_none() {
            self.plan_detail(reply);
        } else {
            self.contract(reply, &[]);
        }
    }

    fn plan_detail(&mut self, plan: Members<'_>) {
        let id = plan.text("planId");
        let name = plan.text("displayName").or(id);
        let brand = plan.text("brand");
        self.put_text("name", name);
        self.put_text("provider", plan.text("brandName").or(brand));
        if let Some(id) = id {
            self.put_text("source", Some(&format!("CDR energy plan {id}")));
        }
        if let Some(fuel) = plan.take("fuelType")
            && fuel.text() == Some("GAS")
        {
            fuel.fault("not_electricity", "this is a plan for gas");
            return;
        }
        if let Some(gas) = plan.take("gasContract") {
            gas.unbilled("the gas of this plan is not billed here");
        }
        if let Some(geography) = plan.take("geography").and_then(|place| place.members()) {
            let distributors: Vec<&str> = geography.items("distributors").iter().filter_map(Place::text).collect();
            self.put_text("territory", Some(&distributors.join(", ")));
            geography.finish(&["includedPostcodes", "excludedPostcodes"], &[]);
        }
        let metering = few(plan.take("meteringCharges"));
        if let Some(contract) = plan.want("electricityContract").and_then(|place| place.members()) {
            self.contract(contract, &metering);
        }
        plan.finish(PLAN_INFORMATION, &["description"]);
    }

    fn put_text(&mut self, member: &str, text: Option<&str>) {
        if let Some(text) = text.map(cut).filter(|text| !text.is_empty()) {
            self.head.insert(member.to_owned(), text.into());
        }
    }

    /// * `metering`: charges for the meter, which stand outside the contract.
    fn contract(&mut self, contract: Members<'_>, metering: &[Place<'_>]) {
        if let Some(model) = contract.take("pricingModel")
            && model.text() == Some("QUOTA")
        {
            model.unbilled("a quota of energy for a fixed price is not told in prices that can be billed");
        }
        if let Some(is_fixed) = contract.take("isFixed").and_then(|place| place.flag()) {
            self.head.insert("tags".to_owned(), json!([if is_fixed { "fixed_price" } else { "variable_price" }]));
        }
        self.clock(contract.take("timeZone"));
        if let Some(periods) = contract.want("tariffPeriod") {
            self.tariff_periods(&periods);
        }
        for load in few(contract.take("controlledLoad")) {
            self.controlled_load(&load);
        }
        self.discounts(&few(contract.take("discounts")), contract.take("solarFeedInTariff").is_some());
        self.gst();
        let shares = self.fees(&few(contract.take("fees")));
        self.metering(metering);
        self.feed_in(&contract.items("solarFeedInTariff"));
        self.shares_of_the_bill(shares);
        extras::choices(&contract);
        contract.finish(CONTRACT_INFORMATION, CONTRACT_TEXTS);
    }

    /// `LOCAL` is the customer's clock, `AEST` that of the market, without summer time.
    fn clock(&mut self, place: Option<Place<'_>>) {
        let Some(place) = place else { return };
        let zone = match place.text() {
            Some("LOCAL") => None,
            Some("AEST") => Some("Australia/Brisbane"),
            Some(other) => {
                place.fault("unknown_time_zone", format!("{other:?} is neither LOCAL nor AEST"));
                return;
            }
            None => return,
        };
        self.time_zone = self.time_zone.or(zone);
    }

    fn tariff_periods(&mut self, place: &Place<'_>) {
        let items = place.items();
        let is_alone = items.len() == 1;
        let mut supplies: Vec<Supply<'_>> = Vec::new();
        let mut rates: Vec<Rate> = Vec::new();
        let mut demands: Vec<(Place<'_>, Season)> = Vec::new();
        let mut n_read = 0;
        for item in &items {
            let Some(period) = item.members() else { continue };
            let name = period.text("displayName").unwrap_or("season").to_owned();
            let season = Season::read(&period);
            if let Some(zone) = period.take("timeZone") {
                let said = self.time_zone;
                self.clock(Some(zone.clone()));
                if n_read > 0 && said != self.time_zone {
                    zone.fault(
                        "unknown_time_zone",
                        "a plan has one clock, and this period another than the ones above",
                    );
                }
            }
            n_read += 1;
            let Some(season) = season else { continue };
            let supply = period.take("dailySupplyCharge").or_else(|| period.take("dailySupplyCharges"));
            if let Some(place) = supply
                && let Some(price) = place.decimal()
                && !price.is_zero()
            {
                supplies.push(Supply { season: season.clone(), name: name.clone(), price, place });
            }
            if let Some(bands) = period.take("bandedDailySupplyCharges") {
                bands.fault(
                    "not_billable",
                    "a supply charge in bands cannot be billed: what its volumes count is not told",
                );
            }
            let before = rates.len();
            if let Some(single) = period.take("singleRate") {
                let mut quota = |members: &Members<'_>| extras::general_unit_price(members);
                rates.extend(rate::rate(&single, "timeOfUse", &season, &mut quota));
            }
            for rate in period.items("timeOfUseRates") {
                rates.extend(rate::rate(&rate, "timeOfUse", &season, &mut |_| {}));
            }
            if !is_alone {
                for rate in &mut rates[before..] {
                    rate.name = format!("{name} {}", rate.name);
                }
            }
            demands.extend(period.items("demandCharges").into_iter().map(|charge| (charge, season.clone())));
            period.finish(&["type", "rateBlockUType", "dailySupplyChargeType"], &["description"]);
        }
        self.supply(&supplies);
        if rates.is_empty() && place.is_faultless() {
            place.fault(
                "missing_field",
                "no tariffPeriod has a singleRate or timeOfUseRates, so that energy has no price",
            );
        }
        if place.is_faultless() {
            let charge = EnergyCharge { id: "energy", kind: "energy", label: "", channel: None, may_leave_gaps: false };
            let ids = charge.add(place, &rates, &mut self.schedules, &mut self.charges);
            self.usage.extend(ids.iter().cloned());
            self.without_gst.extend(ids);
        }
        if demands.len() > MAX_OF_A_KIND {
            place.fault("too_many", format!("a plan has at most {MAX_OF_A_KIND} demand charges"));
            return;
        }
        for (charge, season) in &demands {
            self.demand(charge, season);
        }
    }

    /// One charge per day, at the price of its season.
    fn supply(&mut self, supplies: &[Supply<'_>]) {
        for (i, supply) in supplies.iter().enumerate() {
            let earlier = supplies[..i]
                .iter()
                .find_map(|other| other.season.first_common_day(&supply.season).map(|day| (&other.place.pointer, day)));
            if let Some((other, day)) = earlier {
                let message = format!(
                    "on {day} the supply charge at {other} holds as well; whether both are charged is not told"
                );
                supply.place.fault("overlapping_periods", message);
                return;
            }
        }
        let Some(first) = supplies.first() else { return };
        let id = self.id("supply");
        let mut charge = json!({"id": id, "kind": "fixed", "per": "day"});
        if first.season.is_whole_year() {
            charge["price"] = first.price.to_string().into();
        } else {
            let mut used = Vec::new();
            let mut prices = Map::new();
            let mut rules = Vec::new();
            for supply in supplies {
                let name = fresh_name(&supply.name, "season", &mut used);
                rules.extend(Window::always("").rules(&name, &supply.season));
                prices.insert(name, supply.price.to_string().into());
            }
            self.schedules.insert(id.clone(), json!({"periods": rules}));
            charge["schedule"] = id.as_str().into();
            charge["prices"] = prices.into();
        }
        self.charges.push(charge);
        self.without_gst.push(id);
    }

    /// The highest demand of the billing month in its hours, charged for each day or month of its season.
    fn demand(&mut self, place: &Place<'_>, season: &Season) {
        let Some(charge) = place.members() else { return };
        let label = charge.text("displayName");
        let amount = charge.want("amount").and_then(|place| place.decimal());
        let unit = charge.want("measureUnit");
        let measured = charge.take("measurementPeriod");
        let charged = charge.take("chargePeriod");
        let bounds = [charge.decimal("minDemand"), charge.take("maxDemand").and_then(|place| place.decimal())];
        let own_season = Season::read(&charge);
        let times = ["days", "startTime", "endTime"].map(|name| charge.take(name));
        let [days, start, end] = times.each_ref().map(Option::as_ref);
        let window = Window::of(days, start, end, &place.pointer);
        charge.finish(&[], &["description"]);
        let (Some(amount), Some(unit), Some(own_season), Some(window)) = (amount, unit, own_season, window) else {
            return;
        };
        if amount.is_zero() {
            return;
        }
        if unit.text() != Some("KW") {
            unit.unbilled("only demand in KW can be measured from readings of energy");
            return;
        }
        if let Some(place) = measured.filter(|place| place.text() != Some("MONTH")) {
            place.unbilled("only the highest demand of a MONTH can be billed");
            return;
        }
        let per = match charged.as_ref().and_then(Place::text) {
            Some("DAY") => "day",
            Some("MONTH") | None => "month",
            Some(_) => {
                place.unbilled("only demand charged for each DAY or MONTH can be billed");
                return;
            }
        };
        if bounds.iter().flatten().any(|bound| !bound.is_zero()) {
            place.unbilled("whether minDemand and maxDemand bound what is billed or who is billed is not told");
            return;
        }
        let id = self.id("demand");
        let rules = window.rules("demand", &season.and(&own_season));
        let mut schedule = json!({"periods": rules});
        if window.names_holidays {
            schedule["holidays"] = json!([place.holidays()]);
        }
        self.schedules.insert(id.clone(), schedule);
        let mut charge = json!({"id": id, "kind": "demand", "schedule": id, "period": "demand",
            "price": amount.to_string(), "per": per});
        if let Some(label) = label {
            charge["label"] = cut(label).into();
        }
        self.charges.push(charge);
        self.without_gst.push(id);
    }

    /// Energy of a meter of its own, which the retailer switches: a channel.
    fn controlled_load(&mut self, place: &Place<'_>) {
        let Some(load) = place.members() else { return };
        let id = self.id("controlled_load");
        let label = load.text("displayName").unwrap_or_default();
        let season = Season::read(&load);
        let mut supply: Vec<(Decimal, String)> = Vec::new();
        let mut rates = Vec::new();
        if let Some(season) = &season {
            let mut take_supply = |members: &Members<'_>| {
                if let Some(place) = members.take("dailySupplyCharge")
                    && let Some(price) = place.decimal()
                    && !price.is_zero()
                {
                    supply.push((price, place.pointer.clone()));
                }
            };
            if let Some(single) = load.take("singleRate") {
                rates.extend(rate::rate(&single, "timeOfUse", season, &mut take_supply));
            }
            for item in load.items("timeOfUseRates") {
                rates.extend(rate::rate(&item, "timeOfUse", season, &mut take_supply));
            }
        }
        load.finish(&["rateBlockUType"], &[]);
        if rates.is_empty() && place.is_faultless() {
            place.fault("missing_field", "a controlled load has a singleRate or timeOfUseRates");
        }
        if !place.is_faultless() {
            return;
        }
        let charge = EnergyCharge { id: &id, kind: "energy", label, channel: Some(&id), may_leave_gaps: true };
        let ids = charge.add(place, &rates, &mut self.schedules, &mut self.charges);
        self.usage.extend(ids.iter().cloned());
        self.without_gst.extend(ids);
        let Some((price, _)) = supply.first() else { return };
        if let Some((_, other)) = supply.iter().find(|(other, _)| other != price) {
            let message =
                format!("this supply charge differs from that at {}; which is charged is not told", supply[0].1);
            place.fault_at(other, "overlapping_periods", message);
            return;
        }
        let supply_id = format!("{id}_supply");
        let mut charge = json!({"id": supply_id, "kind": "fixed", "price": price.to_string(), "per": "day"});
        if let Some(season) = season.filter(|season| !season.is_whole_year()) {
            let rules = Window::always("").rules("season", &season);
            self.schedules.insert(supply_id.clone(), json!({"periods": rules}));
            charge["schedule"] = supply_id.as_str().into();
            charge["period"] = "season".into();
        }
        self.charges.push(charge);
        self.without_gst.push(supply_id);
    }

    fn gst(&mut self) {
        if !self.without_gst.is_empty() {
            let on = std::mem::take(&mut self.without_gst);
            self.charges.push(json!({"id": "gst", "kind": "tax", "label": "GST", "percent": "10", "on": on}));
        }
    }

    /// What is paid for energy fed in, without GST.
    fn feed_in(&mut self, tariffs: &[Place<'_>]) {
        if let [_, others @ ..] = tariffs
            && !others.is_empty()
        {
            for tariff in tariffs {
                tariff.unbilled("of several feed-in tariffs the plan does not tell which ones a customer gets");
            }
            return;
        }
        for place in tariffs {
            let Some(tariff) = place.members() else { continue };
            let label = tariff.text("displayName").unwrap_or_default();
            let season = Season::read(&tariff);
            let mut rates = Vec::new();
            if let Some(season) = &season {
                if let Some(single) = tariff.take("singleTariff") {
                    rates.extend(extras::feed_in_rate(&single, season));
                }
                if let Some(varying) = tariff.take("timeVaryingTariffs") {
                    let items =
                        if varying.json.get("timeVariations").is_some() { vec![varying] } else { varying.items() };
                    rates.extend(items.iter().filter_map(|item| extras::feed_in_rate(item, season)));
                }
            }
            tariff.finish(&["scheme", "payerType", "tariffUType"], &["description"]);
            if rates.is_empty() && place.is_faultless() {
                place.fault("missing_field", "a feed-in tariff has a singleTariff or timeVaryingTariffs");
            }
            if place.is_faultless() {
                let charge =
                    EnergyCharge { id: "feed_in", kind: "export_credit", label, channel: None, may_leave_gaps: true };
                charge.add(place, &rates, &mut self.schedules, &mut self.charges);
            }
        }
    }

    /// The id of a charge, with a number from the second of its kind on.
    fn id(&mut self, name: &str) -> String {
        fresh_name(name, name, &mut self.ids)
    }
}

/// The items of a list that holds few.
fn few(list: Option<Place<'_>>) -> Vec<Place<'_>> {
    let Some(list) = list else { return Vec::new() };
    let items = list.items();
    if items.len() > MAX_OF_A_KIND {
        list.fault("too_many", format!("a plan has at most {MAX_OF_A_KIND} of them"));
        return Vec::new();
    }
    items
}

#[cfg(test)]
mod tests;
