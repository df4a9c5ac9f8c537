//! Bills small enough to check on paper: `check(plan, readings, expected lines)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;

use super::*;
use crate::usage::{Quality, Reading};

/// A question of one plan on one channel.
fn question(plan: &str, zone: Tz, start: &str, end: &str, import: &Series) -> Question {
    let tariff = Arc::new(Tariff::from_json(plan).unwrap_or_else(|e| panic!("{e}")));
    let period = BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
    Question {
        time_zone: zone,
        period,
        months: billing_months(&period, &[]),
        months_registered: false,
        earlier_months: earlier_months(&period, tariff.look_back_months(), &[]),
        readings: BTreeMap::from([(Channel::import(), import.clone())]),
        attributes: BTreeMap::new(),
        plans: vec![PlanToBill {
            reference: "plan".parse().unwrap(),
            versions: vec![VersionInForce { version: 1, days: period, tariff }],
        }],
        options: Options::default(),
    }
}

/// Hourly readings of local days, kWh by day and hour on the clock.
fn hourly(zone: Tz, start: &str, end: &str, kwh: impl Fn(chrono::DateTime<Tz>) -> f64) -> Series {
    let period = BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
    let range = instants(zone, &period);
    let readings: Vec<Reading> = range
        .step_by(3600)
        .map(|start| Reading {
            start,
            seconds: 3600,
            #[expect(clippy::cast_possible_truncation, reason = "small test values")]
            milliwatt_hours: (kwh(chrono::DateTime::from_timestamp(start, 0).unwrap().with_timezone(&zone)) * 1e6)
                .round() as i64,
            quality: Quality::Measured,
        })
        .collect();
    Series::from_sorted(&readings)
}

fn lines(bill: &PlanBill) -> Vec<String> {
    bill.periods
        .iter()
        .flat_map(|period| &period.line_items)
        .map(|line| {
            format!(
                "{}{}{} {} {} x {} = {}",
                line.charge_id,
                line.tou_period.as_ref().map_or(String::new(), |p| format!("/{p}")),
                line.tier.map_or(String::new(), |t| format!("#{t}")),
                line.quantity,
                line.unit,
                line.rate.as_deref().unwrap_or("-"),
                line.amount
            )
        })
        .collect()
}

/// Bills January 2026 in London, 1 kWh an hour: 744 hours.
fn january(plan: &str) -> PlanBill {
    let zone = Tz::Europe__London;
    let readings = hourly(zone, "2026-01-01", "2026-02-01", |_| 1.0);
    compare(&question(plan, zone, "2026-01-01", "2026-02-01", &readings)).unwrap().plans.remove(0)
}

#[test]
fn a_flat_plan_with_a_standing_charge_and_tax() {
    let bill = january(
        r#"{"name": "Flat", "currency": "GBP", "charges": [
          {"id": "standing", "kind": "fixed", "price": "0.48", "per": "day"},
          {"id": "energy", "kind": "energy", "price": "0.245"},
          {"id": "vat", "kind": "tax", "percent": "5"}]}"#,
    );
    // 31 x 0.48 = 14.88; 744 x 0.245 = 182.28; 5 % of 197.16 = 9.858; 207.018
    assert_eq!(
        lines(&bill),
        [
            "standing 31 day x 0.48 = 14.88",
            "energy 744 kWh x 0.245 = 182.28",
            "vat 197.16 GBP x 0.05 = 9.858",
            "rounding 0.002 GBP x - = 0.002"
        ]
    );
    assert_eq!((bill.total.as_str(), bill.tax.as_str()), ("207.02", "9.858"));
    assert_eq!(bill.average_price_per_kwh.as_deref(), Some("0.278253"));
}
