//! Foreign plans and Japanese prices of the shared samples, read in place, with bills worked by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use chrono::{NaiveDateTime, TimeZone};
use samebill::engine::{Options, Question, compare, instants};
use samebill::tariff::{ForeignOptions, Tariff};
use samebill::usage::{Channel, Quality, Reading, Series};
use samebill::words::{AttributeValue, BillingPeriod};

use crate::hand::shown;
use crate::support::{period, question, shared, tariff};

/// The same energy in each half hour, milliwatt-hours.
fn constant(zone: chrono_tz::Tz, days: BillingPeriod, milliwatt_hours: i64) -> Series {
    let readings: Vec<Reading> = instants(zone, &days)
        .step_by(1800)
        .map(|start| Reading { start, seconds: 1800, milliwatt_hours, quality: Quality::Measured })
        .collect();
    Series::from_sorted(&readings)
}

/// Lines and total of each billing month.
fn bill(
    tariff: Tariff,
    zone: chrono_tz::Tz,
    days: BillingPeriod,
    readings: BTreeMap<Channel, Series>,
    attributes: &[(&str, &str)],
) -> Vec<(Vec<String>, String)> {
    let mut question = question(tariff, zone, days, readings, Options::default());
    question.attributes = attributes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), AttributeValue::Number(value.parse().unwrap())))
        .collect();
    let result = compare(&question).unwrap_or_else(|e| panic!("{e:?}"));
    let months = &result.plans[0].periods;
    months.iter().map(|month| (month.line_items.iter().map(shown).collect(), month.total.clone())).collect()
}

#[test]
fn the_sample_of_a_cdr_plan() {
    let Some(samples) = shared("samples/tariffs") else { return };
    let path = samples.join("cdr_plan_tou_controlled_load_demand.json");
    let plan = tariff(&path, &ForeignOptions::default()).unwrap();
    let (zone, days) = (chrono_tz::Australia::Sydney, period("2026-01-01", "2026-02-01"));
    let readings = BTreeMap::from([
        (Channel::import(), constant(zone, days, 500_000)),
        (Channel::export(), constant(zone, days, 500_000)),
        ("controlled_load".parse().unwrap(), constant(zone, days, 250_000)),
    ]);
    // 31 days, 22 of them weekdays: 132 h of peak, 93 h of the free block (3 kWh of its 50 a day), 519 h else.
    let months = bill(plan, zone, days, readings, &[]);
    assert_eq!(
        months,
        [(
            [
                "supply 31 day x 1 = 31",
                "energy/peak 132 kWh x 0.4 = 52.8",
                "energy/free#1 93 kWh x 0 = 0",
                "energy/off_peak 519 kWh x 0.25 = 129.75",
                "demand 31 kW day x 0.15 = 4.65",
                "controlled_load 372 kWh x 0.18 = 66.96",
                "controlled_load_supply 31 day x 0.05 = 1.55",
                // 10 % of 31 + 52.8 + 129.75 + 4.65 + 66.96 + 1.55 = 286.71.
                "gst 286.71 AUD x 0.1 = 28.671",
                "feed_in#1 310 kWh x -0.05 = -15.5",
                "feed_in#2 434 kWh x -0.02 = -8.68",
                "rounding -0.001 AUD = -0.001",
            ]
            .map(str::to_owned)
            .to_vec(),
            "291.20".to_owned()
        )]
    );
}

#[test]
fn a_public_holiday_of_a_cdr_plan_is_billed_by_the_calendar_that_was_named() {
    let plan = r#"{"timeZone": "LOCAL", "tariffPeriod": [{"startDate": "01-01", "endDate": "12-31", "timeOfUseRates": [
        {"displayName": "Work", "rates": [{"unitPrice": "0.40"}],
         "timeOfUse": [{"days": ["MON", "TUE", "WED", "THU", "FRI"], "startTime": "00:00", "endTime": "23:59"}]},
        {"displayName": "Rest", "rates": [{"unitPrice": "0.20"}],
         "timeOfUse": [{"days": ["SAT", "SUN", "PUBLIC_HOLIDAYS"], "startTime": "00:00", "endTime": "23:59"}]}]}]}"#;
    let options = ForeignOptions { holidays: Some("au_nsw".to_owned()), ..ForeignOptions::default() };
    let (zone, days) = (chrono_tz::Australia::Sydney, period("2026-01-01", "2026-02-01"));
    let readings = BTreeMap::from([(Channel::import(), constant(zone, days, 500_000))]);
    let mut question = question(Tariff::from_cdr(plan, &options).unwrap(), zone, days, readings, Options::default());
    let holidays = ["2026-01-01", "2026-01-26"].map(|date| date.parse().unwrap());
    question.calendars.insert("au_nsw".to_owned(), holidays.into());
    let result = compare(&question).unwrap();
    let lines: Vec<String> = result.plans[0].periods[0].line_items.iter().map(shown).collect();
    // 22 weekdays, 2 of them holidays: 20 days of 24 kWh, and 11.
    assert_eq!(
        lines,
        ["energy/work 480 kWh x 0.4 = 192", "energy/rest 264 kWh x 0.2 = 52.8", "gst 244.8 AUD x 0.1 = 24.48"]
    );
}

/// January of 1 kWh each half hour, 1488 kWh: 372 and 31 for supply, with GST 443.30. By post 2, by card 0.5 % of 445.30:
/// 447.53. The plan without fees has 1488 x 0.251 = 373.488 and 31, with GST 444.9368: it is cheaper for that customer only.
#[test]
fn a_cdr_plan_with_fees_and_choices_is_ranked_by_what_the_customer_does() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans/foreign/cdr-fees.json");
    let with_fees = tariff(&file, &ForeignOptions::default()).unwrap();
    let without = r#"{"tariffPeriod": [{"startDate": "01-01", "endDate": "12-31", "dailySupplyCharge": "1",
        "singleRate": {"rates": [{"unitPrice": "0.251"}]}}]}"#;
    let without = Tariff::from_cdr(without, &ForeignOptions::default()).unwrap();
    let (zone, days) = (chrono_tz::Australia::Sydney, period("2026-01-01", "2026-02-01"));
    let readings = BTreeMap::from([(Channel::import(), constant(zone, days, 1_000_000))]);
    let mut question = question(with_fees, zone, days, readings, Options::default());
    let mut other = question.plans[0].clone();
    other.reference = "without".parse().unwrap();
    other.versions[0].tariff = Arc::new(without);
    question.plans.push(other);
    let totals = |question: &Question| {
        let plans = compare(question).unwrap().plans;
        plans.into_iter().map(|plan| (plan.total, plan.complete, plan.rank)).collect::<Vec<_>>()
    };
    let bill = |total: &str, rank| (total.to_owned(), true, Some(rank));
    assert_eq!(totals(&question), [bill("443.30", 1), bill("444.94", 2)]);

    let listed = compare(&question).unwrap().plans.swap_remove(0);
    let not_applied: Vec<(&str, &str)> =
        listed.not_applied.iter().map(|fee| (fee.label.as_str(), fee.amount.as_deref().unwrap())).collect();
    assert_eq!(
        not_applied,
        [("Bill by post", "2"), ("Exit fee", "70"), ("Late payment fee", "15"), ("Visa and Mastercard", "2.2165")]
    );
    let not_billed: Vec<(&str, bool)> =
        listed.not_billed.iter().map(|part| (part.field.rsplit_once('/').unwrap().0, part.optional)).collect();
    let contract = |member: &str| format!("/data/electricityContract/{member}");
    let places = ["eligibility", "greenPowerCharges", "incentives"].map(contract);
    assert_eq!(not_billed, places.each_ref().map(|place| (place.as_str(), true)));

    for attribute in ["paper_bill", "cc_processing"] {
        question.attributes.insert(attribute.to_owned(), AttributeValue::Flag(true));
    }
    assert_eq!(totals(&question), [bill("447.53", 2), bill("444.94", 1)]);
}

#[test]
fn the_sample_of_an_octopus_product() {
    let Some(samples) = shared("samples/tariffs") else { return };
    let path = samples.join("octopus_product_detail_illustrative.json");
    let (zone, days) = (chrono_tz::Europe::London, period("2026-03-01", "2026-04-01"));
    let total = |options: &ForeignOptions| {
        let readings = BTreeMap::from([(Channel::import(), constant(zone, days, 500_000))]);
        bill(tariff(&path, options).unwrap(), zone, days, readings, &[]).remove(0).1
    };
    // 31 days of 50 p; 743 hours, since the clocks go forward, of 1 kWh at 25 p: 15.50 + 185.75.
    assert_eq!(total(&ForeignOptions::default()), "201.25");
    // Two registers: 31 x 0.55 + (31 x 7 - 1) nights hours at 10 p + 31 x 17 at 38 p: the hour that is lost is the
    // night's. 17.05 + 21.60 + 200.26.
    let night_hours = Some("00:30-07:30".to_owned());
    assert_eq!(total(&ForeignOptions { night_hours, ..ForeignOptions::default() }), "238.91");
    // The sample has prices with VAT only.
    let excluding = ForeignOptions { vat: samebill::tariff::Vat::Exc, ..ForeignOptions::default() };
    let refused = tariff(&path, &excluding).unwrap_err();
    assert!(refused.contains("/single_register_electricity_tariffs/_A/varying/standing_charge_exc_vat"), "{refused}");
}

#[test]
fn the_samples_of_urdb_tariffs_are_read() {
    let Some(samples) = shared("samples/tariffs") else { return };
    for name in ["urdb_ohio_flat", "urdb_ohio_tou_tiered", "urdb_demand_and_flat_demand_floats"] {
        tariff(&samples.join(format!("{name}.json")), &ForeignOptions::default()).unwrap();
    }
}

/// The three-step plan of the samples is the one in the fixtures, and its example is the hand-worked bill.
#[test]
fn the_sample_of_a_japanese_step_plan_is_the_one_that_is_billed() {
    let Some(samples) = shared("samples/tariffs") else { return };
    let read =
        |path: &Path| -> serde_json::Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    let sample = read(&samples.join("japan_three_step_plan.json"));
    let plan = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans/japan/three-steps.json"));
    let number = |value: &serde_json::Value| value.as_str().map(|text| text.parse::<f64>().unwrap()).or(value.as_f64());
    let charge = |id: &str| {
        let charges = plan["charges"].as_array().unwrap();
        charges.iter().find(|charge| charge["id"] == id).unwrap().clone()
    };
    for step in charge("basic")["steps"].as_array().unwrap() {
        let yen = &sample["basic_charge"]["yen_per_month"][step["to"].as_str().unwrap()];
        assert_eq!(number(&step["amount"]), number(yen), "{step}");
    }
    let steps = sample["energy_steps_yen_per_kwh"].as_array().unwrap();
    for (step, theirs) in charge("energy")["steps"].as_array().unwrap().iter().zip(steps) {
        assert_eq!(
            (number(&step["to"]), number(&step["price"])),
            (number(&theirs["up_to_kwh"]), number(&theirs["price"]))
        );
    }
    for (id, theirs) in [("fuel", "fuel_adjustment_yen_per_kwh"), ("levy", "renewable_levy_yen_per_kwh")] {
        for (month, price) in charge(id)["price"]["by_date"].as_object().unwrap() {
            assert_eq!(number(price), number(&sample[theirs][month]), "{id} {month}");
        }
    }
}

/// Prices by month, day type and half hour, as Japanese commercial plans are kept: 1,152 rows. Only the months differ,
/// so that two periods of the fixture's schedule hold them all.
#[test]
fn the_sample_of_japanese_prices_by_month_is_the_season_of_the_high_voltage_plan() {
    let Some(samples) = shared("samples/tariffs") else { return };
    let text = std::fs::read_to_string(samples.join("japan_unit_price_by_month_daytype_slot.csv")).unwrap();
    let mut n_rows = 0;
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let is_summer = (7..=9).contains(&cells[0].parse::<u32>().unwrap());
        assert_eq!(cells[3], if is_summer { "15.34" } else { "14.48" }, "{line}");
        n_rows += 1;
    }
    assert_eq!(n_rows, 1152);
}

#[test]
fn the_contract_power_of_the_sample_factory() {
    let Some(samples) = shared("samples/japan") else { return };
    let zone = chrono_tz::Asia::Tokyo;
    let text = std::fs::read_to_string(samples.join("factory_30min_long.csv")).unwrap();
    let readings: Vec<Reading> = text
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let local = NaiveDateTime::parse_from_str(&format!("{} {}", cells[0], cells[1]), "%Y-%m-%d %H:%M").unwrap();
            let start = zone.from_local_datetime(&local).unwrap().timestamp();
            let kwh: i64 = cells[2].parse().unwrap();
            Reading { start, seconds: 1800, milliwatt_hours: kwh * 1_000_000, quality: Quality::Measured }
        })
        .collect();
    assert_eq!(readings.len(), 2832);
    let plan_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans/japan/high-voltage.json");
    let plan = tariff(&plan_file, &ForeignOptions::default()).unwrap();
    let readings = BTreeMap::from([(Channel::import(), Series::from_sorted(&readings))]);
    let months = bill(plan, zone, period("2025-01-01", "2025-03-01"), readings, &[("power_factor_percent", "100")]);
    // 1890 x (1.85 - 1) = 1606.5; January's largest half hour is 983 kWh: 1966 kW; February's 1067 kWh: 2134 kW.
    // January: 1966 x 1606.5 = 3158379; 795314 x 14.48 = 11516146.72; x -5.85 = -4652586.9; x 3.49 = 2775645.86.
    // February: 2134 x 1606.5 = 3428271; 785075 x 14.48 = 11367886; x -6.05 = -4749703.75; x 3.49 = 2739911.75.
    assert_eq!(
        months,
        [
            (
                [
                    "basic 1966 kW x 1606.5 = 3158379",
                    "energy/other 795314 kWh x 14.48 = 11516146.72",
                    "fuel 795314 kWh x -5.85 = -4652586.9",
                    "levy 795314 kWh x 3.49 = 2775645",
                    "rounding -0.82 JPY = -0.82",
                ]
                .map(str::to_owned)
                .to_vec(),
                "12797583".to_owned()
            ),
            (
                [
                    "basic 2134 kW x 1606.5 = 3428271",
                    "energy/other 785075 kWh x 14.48 = 11367886",
                    "fuel 785075 kWh x -6.05 = -4749703.75",
                    "levy 785075 kWh x 3.49 = 2739911",
                    "rounding -0.25 JPY = -0.25",
                ]
                .map(str::to_owned)
                .to_vec(),
                "12786364".to_owned()
            )
        ]
    );
}
