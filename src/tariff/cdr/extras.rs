//! Fees, discounts and metering charges: billed where amount, frequency and condition are told, else refused by place.
//! What a customer chooses is listed.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::super::foreign::{Members, Place, cut};
use super::Adapter;
use super::rate::{Rate, single_price};
use super::season::Season;
use super::window::Window;

/// The types of fees, and what they are for in words. Source: Consumer Data Standards, energy plan fees.
const FEES: [(&str, &str); 16] = [
    ("EXIT", "Exit fee"),
    ("ESTABLISHMENT", "Establishment fee"),
    ("LATE_PAYMENT", "Late payment fee"),
    ("DISCONNECTION", "Disconnection fee"),
    ("DISCONNECT_MOVE_OUT", "Disconnection fee on moving out"),
    ("DISCONNECT_NON_PAY", "Disconnection fee for not paying"),
    ("RECONNECTION", "Reconnection fee"),
    ("CONNECTION", "Connection fee"),
    ("PAYMENT_PROCESSING", "Payment processing fee"),
    ("CC_PROCESSING", "Card processing fee"),
    ("CHEQUE_DISHONOUR", "Fee for a dishonoured cheque"),
    ("DD_DISHONOUR", "Fee for a dishonoured direct debit"),
    ("MEMBERSHIP", "Membership fee"),
    ("CONTRIBUTION", "Contribution"),
    ("PAPER_BILL", "Paper bill fee"),
    ("OTHER", "Other fee"),
];

/// Fees that everyone on the plan pays, whatever happens.
const REGULAR_FEES: [&str; 2] = ["MEMBERSHIP", "CONTRIBUTION"];

/// Terms of fees that are due if the event falls within the first years: one of several may be.
const YEARS: [&str; 5] = ["1_YEAR", "2_YEAR", "3_YEAR", "4_YEAR", "5_YEAR"];

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
            let Some(percent) = percent(&rate, share) else { continue };
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

    /// Fees, which include GST: an amount for each day, month or year, an amount for each time, or a share of the bill.
    ///
    /// What is no regular fee has the condition that the customer does what it is for. Shares of the bill are given back:
    /// they stand below all that they are a share of.
    pub(super) fn fees(&mut self, fees: &[Place<'_>]) -> Vec<Value> {
        let mut shares = Vec::new();
        for place in fees {
            let Some(fee) = place.members() else { continue };
            let kind = fee.text("type").unwrap_or_default();
            let term = fee.text("term").unwrap_or_default();
            let amount = fee.decimal("amount");
            let rate = fee.take("rate").and_then(|place| place.decimal().map(|share| (place, share)));
            let description = fee.take("description").and_then(|place| place.text());
            fee.finish(&[], &[]);
            let numbers = [amount, rate.as_ref().map(|(_, share)| *share)];
            if numbers.iter().flatten().all(Decimal::is_zero) && numbers.iter().any(Option::is_some) {
                continue;
            }
            let is_regular = REGULAR_FEES.contains(&kind);
            let Some((_, what)) = FEES.iter().find(|(name, _)| *name == kind).filter(|_| match kind {
                "OTHER" => is_each_time(term),
                _ => !(is_regular && is_each_time(term)),
            }) else {
                place.unbilled(format!("when a fee of type {kind}, {term}, is paid, or by whom, is not told"));
                continue;
            };
            let mut charge = if term == "PERCENT_OF_BILL" {
                let Some((rate, share)) = rate else {
                    place.unbilled("the share of the bill that this fee is of is not told");
                    continue;
                };
                let Some(percent) = percent(&rate, share) else { continue };
                json!({"percent": percent, "per": "billing_period"})
            } else if let Some(due) = amount.and_then(|amount| due(amount, term)) {
                due
            } else {
                place.unbilled(format!("the amount of a fee of type {kind}, {term}, is not told"));
                continue;
            };
            let id = if is_regular { self.id("fee") } else { self.fee_of_event(kind, term, &mut charge) };
            charge["id"] = id.into();
            charge["kind"] = "fixed".into();
            charge["label"] = cut(description.unwrap_or(what)).into();
            if term == "PERCENT_OF_BILL" { &mut shares } else { &mut self.charges }.push(charge);
        }
        shares
    }

    /// Gives the charge of a fee its condition: an attribute that is named like the fee, of an event within the first years
    /// with their number, and from the second fee of its kind on with a number of its own, since they may be alternatives.
    /// Who does not pay on time pays late: one attribute for the discounts and the fee. The id.
    fn fee_of_event(&mut self, kind: &str, term: &str, charge: &mut Value) -> String {
        let years = if YEARS.contains(&term) { term } else { "" };
        let id = self.id(&format!("fee_{kind}_{years}"));
        charge["condition"] = match id.strip_prefix("fee_") {
            Some("late_payment") => json!({"attribute": "pay_on_time", "is": false}),
            attribute => json!({"attribute": attribute}),
        };
        self.has_events = true;
        id
    }

    /// Fees that are a share of the bill: of all other charges, and of a bill that is a credit there is none.
    pub(super) fn shares_of_the_bill(&mut self, shares: Vec<Value>) {
        let others: Vec<Value> = self.charges.iter().map(|charge| charge["id"].clone()).collect();
        for mut share in shares {
            share["measure"] = json!({"max": ["0", {"amount": others}]});
            self.charges.push(share);
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

/// Whether a fee is due each time that something happens.
fn is_each_time(term: &str) -> bool {
    term == "FIXED" || YEARS.contains(&term)
}

/// Price and count of a fee by its term; `None` where that tells no amount.
fn due(amount: Decimal, term: &str) -> Option<Value> {
    let price = amount.to_string();
    Some(match term {
        "DAILY" => json!({"price": price, "per": "day"}),
        "WEEKLY" => json!({"price": {"divide": [price, "7"]}, "per": "day"}),
        "MONTHLY" => json!({"price": price, "per": "month"}),
        "ANNUAL" => json!({"price": price, "per": "year"}),
        "BIANNUAL" => json!({"price": (amount + amount).normalize().to_string(), "per": "year"}),
        _ if is_each_time(term) => json!({"price": price, "per": "billing_period"}),
        _ => return None,
    })
}

/// A share as a percent; one of more than all is a fault.
fn percent(rate: &Place<'_>, share: Decimal) -> Option<String> {
    let percent = share.checked_mul(Decimal::ONE_HUNDRED).filter(|percent| *percent <= Decimal::ONE_HUNDRED);
    if percent.is_none() {
        rate.fault("out_of_range", "a rate is a share: 0.05 is 5 %");
    }
    percent.map(|percent| percent.normalize().to_string())
}

/// What a customer chooses, gets once or must be, which no reading tells: the bill of who did not choose is whole.
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
                place.optional(reason);
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
