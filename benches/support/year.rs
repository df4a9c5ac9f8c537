//! A year of quarter hours under plans that all differ: what benches measure, and what a test weighs.

use std::collections::BTreeMap;
use std::sync::Arc;

use samebill::engine::{Options, PlanToBill, Question, VersionInForce, instants};
use samebill::tariff::Tariff;
use samebill::usage::{Channel, Quality, Reading, Series};
use samebill::words::BillingPeriod;

/// The customer's clock.
pub(crate) const ZONE: chrono_tz::Tz = chrono_tz::Tz::America__Chicago;

/// 365 days of 96 readings.
pub(crate) const N_READINGS: usize = 35_040;

/// A year with a clock change in spring and one in autumn.
pub(crate) fn year() -> BillingPeriod {
    BillingPeriod::new("2026-01-01".parse().unwrap(), "2027-01-01".parse().unwrap()).unwrap()
}

/// Readings of up to 1 kWh from a plain generator, others for each customer.
pub(crate) fn readings(customer: u64) -> Series {
    let mut state = customer + 1;
    let readings: Vec<Reading> = instants(ZONE, &year())
        .step_by(900)
        .map(|start| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let milliwatt_hours = i64::try_from(state >> 44).unwrap();
            Reading { start, seconds: 900, milliwatt_hours, quality: Quality::Measured }
        })
        .collect();
    assert_eq!(readings.len(), N_READINGS);
    Series::from_sorted(&readings)
}

/// A plan like no other: time of use with tiers, demand on and off peak, a standing charge, a tax.
fn plan(n: usize) -> PlanToBill {
    let (on, off, night) = (13 + n % 5, 18 + n / 5 % 5, 4 + n / 25 % 4);
    let summer = if n.is_multiple_of(2) { "[6, 7, 8, 9]" } else { "[5, 6, 7, 8, 9, 10]" };
    let document = format!(
        r#"{{"name": "plan {n}", "currency": "USD",
        "schedules": {{"tou": {{"periods": [
            {{"period": "summer_on", "months": {summer}, "days": "weekdays", "hours": ["{on}:00-{off}:15"]}},
            {{"period": "night", "hours": ["22:30-0{night}:45"]}},
            {{"period": "off"}}]}}}},
        "charges": [
            {{"id": "standing", "kind": "fixed", "price": "0.4{n:02}", "per": "day"}},
            {{"id": "energy", "kind": "energy", "schedule": "tou", "steps": {{
                "summer_on": [{{"to": "300", "price": "0.31"}}, {{"price": "0.4{n:02}"}}],
                "night": [{{"price": "0.07"}}],
                "off": [{{"to": "500", "price": "0.11"}}, {{"to": "900", "price": "0.13"}}, {{"price": "0.17"}}]}}}},
            {{"id": "demand", "kind": "demand", "schedule": "tou", "prices": {{"summer_on": "6.5", "off": "2.{n:02}"}}}},
            {{"id": "tax", "kind": "tax", "percent": "6.25"}}]}}"#
    );
    PlanToBill {
        reference: format!("plan-{n:03}").parse().unwrap(),
        versions: vec![VersionInForce {
            version: 1,
            days: year(),
            tariff: Arc::new(Tariff::from_json(&document).unwrap()),
        }],
    }
}

/// A customer's question about plans that all differ.
pub(crate) fn question(customer: u64, n_plans: usize) -> Question {
    Question {
        time_zone: ZONE,
        period: year(),
        months: year().billing_months(&[]),
        months_registered: false,
        earlier_months: Vec::new(),
        readings: BTreeMap::from([(Channel::import(), readings(customer))]),
        attributes: BTreeMap::new(),
        calendars: BTreeMap::new(),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::new(),
        plans: (0..n_plans).map(plan).collect(),
        options: Options::default(),
    }
}
