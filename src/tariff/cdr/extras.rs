//! Fees, discounts and metering charges: billed where amount, frequency and condition are told, else refused by place.

use rust_decimal::Decimal;
use serde_json::json;

use super::super::foreign::{Members, Place, cut};
use super::Adapter;
use super::rate::{Rate, single_price};
use super::season::Season;
use super::window::Window;

/// Fees that everyone on the plan pays, whatever happens.
const REGULAR_FEES: [&str; 2] = ["MEMBERSHIP", "CONTRIBUTION"];

/// Categories of a conditional discount, and the attribute of the customer that says whether the condition is kept.
const CONDITIONS: [(&str, &str); 2] = [("PAY_ON_TIME", "pay_on_time"), ("DIRECT_DEBIT", "direct_debit")];

impl Adapter {
    /// Discounts that are a share of the use or of the bill: guaranteed, or on a condition that the plan names, which is
    /// an attribute of the customer then. `feeds_in`: the plan pays for energy fed in.
    pub(super) fn discounts(&mut self, discounts: &[Place<'_>], feeds_in: bool) {
        for place in discounts {
            let Some(discount) = place.members() else { continue };
            let label = discount.text("displayName").unwrap_or_default();
            let is_guaranteed = discount.text("type") == Some("GUARANTEED");
            let is_conditional = discount.text("type") == Some("CONDITIONAL");
            let category = discount.text("category");
            let attribute = CONDITIONS.iter().find(|(name, _)| is_conditional && Some(*name) == category);
            let method = discount.text("methodUType").unwrap_or_default();
            let end = discount.take("endDate");
            let share = |name: &'static str| {
                let members = discount.take(name)?.members()?;
                let rate = members.want("rate")?;
                members.finish(&[], &[]);
                rate.decimal().map(|share| (rate, share))
            };
            let shares = [share("percentOfUse"), share("percentOfBill")];
            discount.finish(&["fixedAmount", "percentOverThreshold"], &["description"]);
            let of_use = shares[0].is_some();
            let Some((rate, share)) = shares.into_iter().flatten().next() else {
                place.unbilled("how often a fixed amount, or over what a threshold, is counted is not told");
                continue;
            };
            let Some(percent) = share.checked_mul(Decimal::ONE_HUNDRED).filter(|p| *p <= Decimal::ONE_HUNDRED) else {
                rate.fault("out_of_range", "a rate is a share: 0.05 is 5 %");
                continue;
            };
            if !is_guaranteed && attribute.is_none() {
                place.unbilled("the condition of this discount is not told");
            } else if end.is_some() {
                place.unbilled("whether it ends for those who have it or is only not offered any more is not told");
            } else if !of_use && feeds_in {
                place.unbilled("whether energy fed in is part of the bill that is discounted is not told");
            } else if of_use && method != "percentOfUse" || !of_use && method != "percentOfBill" {
                place.unbilled("its method is not the one whose rate is given");
            } else {
                let on = if of_use { self.usage.clone() } else { self.without_gst.clone() };
                let id = self.id("discount");
                let percent = percent.normalize().to_string();
                let mut charge =
                    json!({"id": id, "kind": "discount", "label": cut(label), "percent": percent, "on": on});
                if let Some((_, attribute)) = attribute {
                    charge["condition"] = json!({"attribute": attribute});
                }
                self.charges.push(charge);
                self.without_gst.push(id);
            }
        }
    }

    /// Fees, which include GST: those of every day, week, month and year.
    pub(super) fn fees(&mut self, fees: &[Place<'_>]) {
        for place in fees {
            let Some(fee) = place.members() else { continue };
            let kind = fee.text("type").unwrap_or_default();
            let term = fee.text("term").unwrap_or_default();
            let amount = fee.decimal("amount");
            let rate = fee.decimal("rate");
            let description = fee.take("description").and_then(|place| place.text());
            fee.finish(&[], &[]);
            if [amount, rate].iter().flatten().all(Decimal::is_zero) && (amount.is_some() || rate.is_some()) {
                continue;
            }
            let per = match term {
                "DAILY" | "WEEKLY" => Some("day"),
                "MONTHLY" => Some("month"),
                "ANNUAL" => Some("year"),
                _ => None,
            };
            match (amount, per) {
                (Some(amount), Some(per)) if REGULAR_FEES.contains(&kind) => {
                    let id = self.id("fee");
                    let label = description.unwrap_or(kind);
                    let price = if term == "WEEKLY" {
                        json!({"divide": [amount.to_string(), "7"]})
                    } else {
                        amount.to_string().into()
                    };
                    self.charges
                        .push(json!({"id": id, "kind": "fixed", "label": cut(label), "price": price, "per": per}));
                }
                _ => place.unbilled(format!("a fee of type {kind}, {term}, depends on what the customer does")),
            }
        }
    }

    /// Charges for the meter, which include GST: of one amount and a known frequency.
    pub(super) fn metering(&mut self, charges: &[Place<'_>]) {
        for place in charges {
            let Some(metering) = place.members() else { continue };
            let label = metering.text("displayName").unwrap_or("metering");
            let least = metering.want("minimumValue").and_then(|place| place.decimal());
            let most = metering.decimal("maximumValue");
            let period = metering.text("period");
            metering.finish(&[], &["description"]);
            let Some(least) = least else { continue };
            if least.is_zero() && most.is_none_or(|most| most.is_zero()) {
                continue;
            }
            let per = match period {
                Some("P1D") => Some("day"),
                Some("P1M") => Some("month"),
                Some("P1Y") => Some("year"),
                _ => None,
            };
            match per {
                Some(per) if most.is_none_or(|most| most == least) => {
                    let id = self.id("metering");
                    self.charges.push(json!({"id": id, "kind": "fixed", "label": cut(label),
                        "price": least.to_string(), "per": per}));
                }
                _ => place.unbilled("a metering charge between two amounts, or at no frequency of day, month or year"),
            }
        }
    }
}

/// What a customer chooses, gets once or must be, which no reading tells.
pub(super) fn choices(contract: &Members<'_>) {
    let lists = [
        ("greenPowerCharges", "green power is a choice of the customer that the plan does not tell"),
        ("incentives", "an incentive is given once, or not on the bill"),
        ("eligibility", "whether a customer may have this plan is not checked"),
    ];
    for (name, reason) in lists {
        for place in contract.items(name) {
            let is_gift = place.json.get("category").and_then(|category| category.as_str()) == Some("GIFT");
            if !is_gift {
                place.unbilled(reason);
            }
        }
    }
}

/// The price above a quota, which only quota plans have.
pub(super) fn general_unit_price(single: &Members<'_>) {
    if let Some(place) = single.take("generalUnitPrice") {
        place.unbilled("a price above an included quantity cannot be billed: the quantity is not told");
    }
}

/// A rate of a feed-in tariff: `rates` as everywhere, or in older plans one `amount`.
pub(super) fn feed_in_rate(place: &Place<'_>, season: &Season) -> Option<Rate> {
    if place.json.get("amount").is_none() {
        return super::rate::rate(place, "timeVariations", season, &mut |_| {});
    }
    let members = place.members()?;
    let name = members.text("type").unwrap_or_default().to_owned();
    let price = members.want("amount").and_then(|place| place.decimal())?;
    let windows: Vec<Window> = members.items("timeVariations").iter().filter_map(Window::read).collect();
    members.finish(&["displayName"], &[]);
    let windows = if windows.is_empty() { vec![Window::always(&place.pointer)] } else { windows };
    Some(Rate { name, ladder: single_price(price), windows, season: season.clone() })
}
