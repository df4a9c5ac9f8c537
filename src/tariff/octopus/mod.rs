//! Products of Octopus Energy (UK) and its lists of rates as plan documents of ours.
//!
//! A product holds prices by region and payment method; which ones count is an option, and what stays ambiguous is refused
//! naming what to give. Lists of rates come as one object whose members are named as the API's own addresses:
//! `standard-unit-rates` or `day-unit-rates` and `night-unit-rates`, and `standing-charges`, each a reply or its `results`.
//! Charge ids are fixed: `standing`, `energy`, `vat`; of a product that buys energy fed in `feed_in`.
//!
//! Unit rates that change inside a day become a price series that the plan names by the tariff's code; the same file, imported as
//! prices, fills it.
//!
//! Prices are pence, with or without VAT as the options say. Field meanings: the public description of the API.

mod rates;

use chrono::NaiveTime;
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use self::rates::{price_by_date, price_by_date_or_series};
use super::foreign::{Findings, ForeignOptions, Members, Place, Vat, cut};
use super::json::Json;
use super::{TariffError, TariffErrors};

/// VAT on the energy of homes.
const VAT_PERCENT: &str = "5";

/// Says nothing about the bill, or holds prices that others pay.
const PRODUCT_INFORMATION: &[&str] = &[
    "available_from",
    "available_to",
    "description",
    "full_name",
    "is_green",
    "is_prepay",
    "is_restricted",
    "links",
    "sample_consumption",
    "sample_quotes",
    "single_register_gas_tariffs",
    "tariffs_active_at",
    "term",
];

/// The plan document, as JSON text, of one product or of the lists of one tariff.
///
/// # Errors
/// Every fault found: a choice that is open, rates that overlap or leave a gap, and, unless `allow_unbilled`, what
/// holds money and cannot be billed (exit fees, discounts).
pub(super) fn document_from_octopus(text: &str, options: &ForeignOptions) -> Result<String, TariffErrors> {
    let json = Json::parse(text)?;
    let findings = Findings::default();
    let root = Place::root(&json, &findings);
    let mut adapter = Adapter { options, head: Map::new(), night: None, is_export: false, prices: Prices::default() };
    adapter.night = options.night_hours.as_deref().and_then(|hours| night_windows(hours, &findings));
    let is_product = ["single_register_electricity_tariffs", "dual_register_electricity_tariffs"];
    if is_product.iter().any(|name| json.get(name).is_some()) {
        adapter.product(&root);
    } else if matches!(json, Json::Array(_)) || json.get("results").is_some() {
        let message = "one list of rates does not tell which one it is: send an object with the members \
                       standard-unit-rates (or day-unit-rates and night-unit-rates) and standing-charges";
        root.fault("ambiguous", message);
    } else {
        adapter.lists(&root);
    }
    findings.finish(adapter.document(), options.allow_unbilled)
}

/// The unit rates of one tariff as a file of prices: CSV of `start,price`, pounds a kWh, and for how many minutes each
/// holds. Of an object of lists those under `standard-unit-rates`, or one list by itself.
///
/// # Errors
/// Every fault found: rates that overlap or have no end, a payment method that is left open.
pub(super) fn prices_from_octopus(text: &str, options: &ForeignOptions) -> Result<(String, u32), TariffErrors> {
    let json = Json::parse(text)?;
    let findings = Findings::default();
    let root = Place::root(&json, &findings);
    let list = match json.get("standard-unit-rates") {
        Some(list) => root.child("standard-unit-rates", list),
        None => root.clone(),
    };
    let prices = rates::prices(&list, options);
    findings.finish(Map::new(), true)?;
    prices.ok_or_else(|| TariffError::new("wrong_type", "", "these are no unit rates").into())
}

/// The price series of a tariff whose rates change inside a day: `octopus_e_1r_agile_24_10_01_c`.
fn series_name(code: Option<&str>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = code.unwrap_or("unit_rates").chars().map(plain).collect();
    format!("octopus_{name}").chars().take(64).collect()
}

/// Prices as measures of ours.
#[derive(Default)]
struct Prices {
    standing: Option<Value>,
    standard: Option<Value>,
    day_and_night: Option<(Value, Value)>,
}

struct Adapter<'o> {
    options: &'o ForeignOptions,
    head: Map<String, Value>,
    /// Windows of the night rate.
    night: Option<Vec<String>>,
    is_export: bool,
    prices: Prices,
}

impl Adapter<'_> {
    fn document(self) -> Map<String, Value> {
        let mut document = self.head;
        document.entry("name").or_insert_with(|| "Octopus tariff".into());
        document.insert("provider".to_owned(), "Octopus Energy".into());
        document.insert("currency".to_owned(), "GBP".into());
        document.insert("time_zone".to_owned(), "Europe/London".into());
        let mut charges = Vec::new();
        if let Some(price) = self.prices.standing.filter(|price| price.as_str() != Some("0")) {
            charges.push(json!({"id": "standing", "kind": "fixed", "price": price, "per": "day"}));
        }
        let mut energy = if self.is_export {
            json!({"id": "feed_in", "kind": "export_credit"})
        } else {
            json!({"id": "energy", "kind": "energy"})
        };
        match (self.prices.day_and_night, self.night) {
            (Some((day, night)), Some(hours)) => {
                let periods = json!([{"period": "night", "hours": hours}, {"period": "day"}]);
                document.insert("schedules".to_owned(), json!({"registers": {"periods": periods}}));
                energy["schedule"] = "registers".into();
                energy["prices"] = json!({"day": day, "night": night});
            }
            _ => energy["price"] = self.prices.standard.unwrap_or_default(),
        }
        charges.push(energy);
        if self.options.vat == Vat::Exc && !self.is_export {
            charges.push(json!({"id": "vat", "kind": "tax", "label": "VAT", "percent": VAT_PERCENT}));
        }
        document.insert("charges".to_owned(), charges.into());
        document
    }

    fn product(&mut self, root: &Place<'_>) {
        let Some(product) = root.members() else { return };
        let code = product.text("code").unwrap_or_default();
        let name = product.text("display_name").filter(|name| !name.is_empty()).unwrap_or(code);
        if !name.is_empty() {
            self.head.insert("name".to_owned(), cut(name).into());
        }
        if let Some(is_variable) = product.take("is_variable").and_then(|place| place.flag()) {
            let tag = if is_variable { "variable_price" } else { "fixed_price" };
            self.head.insert("tags".to_owned(), json!([tag]));
        }
        if let Some(place) = product.take("is_tracker")
            && place.flag() == Some(true)
        {
            place.unbilled("its price changes every day, and a product holds one: send its lists of rates");
        }
        if let Some(place) = product.take("is_business")
            && place.flag() == Some(true)
            && self.options.vat == Vat::Exc
        {
            let message = "a business pays VAT of 20 %, or 5 % for little use: bill the prices with VAT in (vat=inc)";
            place.fault("ambiguous", message);
        }
        product.take("brand");
        self.is_export = product.text("direction") == Some("EXPORT");
        let single = product.take("single_register_electricity_tariffs");
        let dual = product.take("dual_register_electricity_tariffs");
        let wants_dual = self.options.night_hours.is_some();
        let tariffs = match (single, dual) {
            (Some(single), _) if !wants_dual => single,
            (_, Some(dual)) if wants_dual => dual,
            (_, Some(dual)) => {
                let message = "the hours of the night rate are not in it: give night_hours, such as 00:30-07:30";
                dual.fault("option_needed", message);
                return;
            }
            (single, None) => {
                let place = single.unwrap_or_else(|| root.clone());
                place.fault("option_needed", "there is no tariff of two registers in it: leave out night_hours");
                return;
            }
        };
        self.tariff_of(&tariffs, code);
        product.finish(PRODUCT_INFORMATION, &[]);
    }

    /// The prices of the region and payment method that were chosen.
    fn tariff_of(&mut self, tariffs: &Place<'_>, code: &str) {
        let wanted = self.options.region.as_deref().map(|region| region.trim_start_matches('_').to_ascii_uppercase());
        let Some((region, methods)) = chosen(tariffs, "region", wanted.as_deref()) else { return };
        let wanted = self.options.payment_method.as_deref();
        let Some((method, place)) = chosen(&methods, "payment_method", wanted) else { return };
        let Some(tariff) = place.members() else { return };
        let tariff_code = tariff.text("code").unwrap_or_default();
        let source = format!("Octopus product {code}, tariff {tariff_code}, region {region}, payment {method}");
        self.head.insert("source".to_owned(), cut(&source).into());
        self.head.insert("territory".to_owned(), region.into());
        self.prices.standing = self.pence(&tariff, ["standing_charge_inc_vat", "standing_charge_exc_vat"]);
        if self.options.night_hours.is_some() {
            let day = self.pence(&tariff, ["day_unit_rate_inc_vat", "day_unit_rate_exc_vat"]);
            let night = self.pence(&tariff, ["night_unit_rate_inc_vat", "night_unit_rate_exc_vat"]);
            self.prices.day_and_night = day.zip(night);
        } else {
            self.prices.standard = self.pence(&tariff, ["standard_unit_rate_inc_vat", "standard_unit_rate_exc_vat"]);
        }
        let once = [
            ["exit_fees_inc_vat", "exit_fees_exc_vat"],
            ["online_discount_inc_vat", "online_discount_exc_vat"],
            ["dual_fuel_discount_inc_vat", "dual_fuel_discount_exc_vat"],
        ];
        for place in once.iter().filter_map(|names| {
            let [inc, exc] = names.map(|name| tariff.take(name));
            inc.or(exc)
        }) {
            if place.decimal().is_some_and(|amount| !amount.is_zero()) {
                place.unbilled("whether this customer pays or gets it, and when, is not told");
            }
        }
        tariff.finish(&["exit_fees_type", "links"], &[]);
    }

    /// A price in pounds: of the two fields the one that the VAT option names.
    fn pence(&self, members: &Members<'_>, [inc, exc]: [&'static str; 2]) -> Option<Value> {
        let (counts, other) = if self.options.vat == Vat::Inc { (inc, exc) } else { (exc, inc) };
        members.take(other);
        let place = members.want(counts)?;
        pounds(&place).map(|price| price.to_string().into())
    }

    fn lists(&mut self, root: &Place<'_>) {
        let Some(lists) = root.members() else { return };
        let code = lists.text("code");
        if let Some(name) = lists.text("name").or_else(|| lists.text("display_name")).or(code) {
            self.head.insert("name".to_owned(), cut(name).into());
        }
        let [standing, standard, day, night] =
            ["standing-charges", "standard-unit-rates", "day-unit-rates", "night-unit-rates"]
                .map(|name| lists.take(name));
        if let Some(list) = standing {
            self.prices.standing = price_by_date(&list, self.options);
        } else {
            let message = "the list standing-charges must be given, if need be with a price of 0";
            root.fault("missing_field", message);
        }
        let is_dual = self.options.night_hours.is_some();
        match (standard, day, night) {
            (Some(list), _, _) if !is_dual => {
                self.prices.standard = price_by_date_or_series(&list, self.options, &series_name(code));
            }
            (_, Some(day), Some(night)) if is_dual => {
                let prices = [day, night].map(|list| price_by_date(&list, self.options));
                let [day, night] = prices;
                self.prices.day_and_night = day.zip(night);
            }
            (_, Some(place), _) | (_, None, Some(place)) if !is_dual => {
                let message = "the hours of the night rate are not in it: give night_hours, such as 00:30-07:30";
                place.fault("option_needed", message);
            }
            _ => {
                let wanted = if is_dual { "day-unit-rates and night-unit-rates" } else { "standard-unit-rates" };
                root.fault("missing_field", format!("of the lists of rates {wanted} must be given"));
            }
        }
        lists.finish(&[], &[]);
    }
}

/// The one entry, or the one that is wanted.
fn chosen<'a>(place: &Place<'a>, option: &str, wanted: Option<&str>) -> Option<(&'a str, Place<'a>)> {
    let entries = place.entries();
    let bare = |name: &'a str| name.trim_start_matches('_');
    let known = || entries.iter().map(|(name, _)| bare(name)).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = wanted {
        let found = entries.iter().find(|(name, _)| bare(name) == wanted);
        if found.is_none() {
            place.fault("unknown_name", format!("there is no {option} {wanted:?} in it; there are {}", known()));
        }
        return found.map(|(name, place)| (bare(name), place.clone()));
    }
    if let [(name, only)] = entries.as_slice() {
        return Some((bare(name), only.clone()));
    }
    place.fault("option_needed", format!("it holds several prices: give {option}, one of {}", known()));
    None
}

/// Pence as pounds.
fn pounds(place: &Place<'_>) -> Option<Decimal> {
    let pence = place.decimal()?;
    let pounds = pence.checked_mul(Decimal::new(1, 2)).map(|pounds| pounds.normalize());
    if pounds.is_none() {
        place.fault("out_of_range", "this is no price");
    }
    pounds
}

/// `00:30-07:30`, several with commas between.
fn night_windows(text: &str, findings: &Findings) -> Option<Vec<String>> {
    let is_time = |text: &str| text == "24:00" || text.len() == 5 && NaiveTime::parse_from_str(text, "%H:%M").is_ok();
    let windows: Vec<String> = text.split(',').map(|window| window.trim().to_owned()).collect();
    let is_window = |window: &String| {
        window
            .split_once('-')
            .is_some_and(|(start, end)| start != end && start != "24:00" && is_time(start) && is_time(end))
    };
    if windows.iter().all(is_window) {
        return Some(windows);
    }
    findings.fault("bad_window", "", format!("night_hours {text:?} is no window of the day; write 00:30-07:30"));
    None
}

#[cfg(test)]
mod tests;
