mod extras;

use serde_json::{Value, json};

use super::super::{ForeignOptions, Tariff};
use super::document_from_cdr;

/// The document of a plan, which our own reader takes.
fn convert(plan: &Value) -> Value {
    let text = document_from_cdr(&plan.to_string(), &ForeignOptions::default()).unwrap();
    Tariff::from_json(&text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Code and pointer of every fault.
fn faults(plan: &Value) -> Vec<(String, String)> {
    let errors = document_from_cdr(&plan.to_string(), &ForeignOptions::default()).unwrap_err();
    errors.0.into_iter().map(|e| (e.code, e.pointer)).collect()
}

fn fault(code: &str, pointer: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), pointer.to_owned())]
}

fn rates(price: &str) -> Value {
    json!([{"unitPrice": price}])
}

/// A contract of one period with a flat rate, and what is put over it.
fn contract(over: Value) -> Value {
    let mut contract = json!({"timeZone": "LOCAL", "tariffPeriod": [{"type": "OTHER", "displayName": "All year",
        "startDate": "01-01", "endDate": "12-31", "dailySupplyCharge": "1.10", "rateBlockUType": "singleRate",
        "singleRate": {"displayName": "Anytime", "rates": rates("0.30")}}]});
    merge(&mut contract, over);
    contract
}

/// The period of [`contract`] with other members.
fn period(over: Value) -> Value {
    let mut period = contract(json!({}))["tariffPeriod"][0].clone();
    merge(&mut period, over);
    contract(json!({"tariffPeriod": [period]}))
}

fn merge(into: &mut Value, over: Value) {
    let Value::Object(over) = over else { panic!("an object") };
    into.as_object_mut().unwrap().extend(over);
}

/// A plan whose rates hold in windows of days, first and last minute.
fn windows(windows: &[(&str, &str, &[&str], &str, &str)]) -> Value {
    let rates: Vec<Value> = windows
        .iter()
        .map(|(name, price, days, start, end)| {
            json!({"displayName": name, "type": "PEAK", "rates": rates(price),
                "timeOfUse": [{"days": days, "startTime": start, "endTime": end}]})
        })
        .collect();
    period(json!({"singleRate": null, "rateBlockUType": "timeOfUseRates", "timeOfUseRates": rates}))
}

const ALL: &[&str] = &["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
const WEEKDAYS: &[&str] = &["MON", "TUE", "WED", "THU", "FRI"];
const WEEKEND: &[&str] = &["SAT", "SUN"];

#[test]
fn a_flat_plan_is_supply_energy_and_gst_on_both() {
    let plan = json!({"data": {"planId": "P1", "displayName": "Flat", "brand": "b", "brandName": "Brand",
        "fuelType": "ELECTRICITY", "customerType": "RESIDENTIAL", "type": "MARKET", "lastUpdated": "2026-01-01T00:00:00Z",
        "geography": {"distributors": ["Essential", "Ausgrid"], "includedPostcodes": ["2000"]},
        "electricityContract": contract(json!({"isFixed": false, "pricingModel": "SINGLE_RATE"}))}, "links": {}, "meta": {}});
    let document = convert(&plan);
    assert_eq!(
        document,
        json!({"name": "Flat", "provider": "Brand", "source": "CDR energy plan P1", "territory": "Essential, Ausgrid",
            "tags": ["variable_price"], "currency": "AUD", "charges": [
            {"id": "supply", "kind": "fixed", "per": "day", "price": "1.1"},
            {"id": "energy", "kind": "energy", "price": "0.3"},
            {"id": "gst", "kind": "tax", "label": "GST", "percent": "10", "on": ["supply", "energy"]}]})
    );
    let bare = convert(&plan["data"]);
    assert_eq!(bare, document, "the reply and its data are one plan");
    assert_eq!(convert(&plan["data"]["electricityContract"])["charges"], document["charges"]);
}

#[test]
fn market_time_is_brisbanes_clock() {
    assert_eq!(convert(&contract(json!({"timeZone": "AEST"})))["time_zone"], "Australia/Brisbane");
    assert_eq!(convert(&contract(json!({})))["time_zone"], Value::Null);
    assert_eq!(convert(&period(json!({"timeZone": "AEST"})))["time_zone"], "Australia/Brisbane");
    assert_eq!(faults(&contract(json!({"timeZone": "ACST"}))), fault("unknown_time_zone", "/timeZone"));
    let mut two = contract(json!({}));
    let mut second = two["tariffPeriod"][0].clone();
    two["tariffPeriod"][0]["endDate"] = "06-30".into();
    merge(&mut second, json!({"startDate": "07-01", "timeZone": "AEST"}));
    two["tariffPeriod"].as_array_mut().unwrap().push(second);
    assert_eq!(faults(&two), fault("unknown_time_zone", "/tariffPeriod/1/timeZone"));
}

#[test]
fn the_volume_of_a_step_is_its_width() {
    let single = |period: &str| {
        json!({"singleRate": {"displayName": "Steps", "period": period, "rates": [
            {"unitPrice": "0.25", "measureUnit": "KWH", "volume": 10}, {"unitPrice": "0.30", "volume": 5.5},
            {"unitPrice": "0.35"}]}})
    };
    let steps = json!([{"to": "10", "price": "0.25"}, {"to": "15.5", "price": "0.3"}, {"price": "0.35"}]);
    let daily = &convert(&period(single("P1D")))["charges"][1];
    assert_eq!(*daily, json!({"id": "energy", "kind": "energy", "steps": steps, "resets": "day"}));
    let monthly = &convert(&period(single("P1M")))["charges"][1];
    assert_eq!(*monthly, json!({"id": "energy", "kind": "energy", "steps": steps}));
    for other in ["P3M", "P1Y"] {
        assert_eq!(faults(&period(single(other))), fault("no_anchor", "/tariffPeriod/0/singleRate/period"));
    }
    let flat = json!({"singleRate": {"displayName": "S", "period": "P1Y", "rates": [{"unitPrice": "0.25"}]}});
    assert_eq!(convert(&period(flat))["charges"][1]["price"], "0.25", "one step has nothing to start again");
}

#[test]
fn windows_end_a_minute_later_than_written_and_may_wrap_midnight() {
    let plan = windows(&[("Peak", "0.40", ALL, "15:00", "20:59"), ("Off-peak", "0.20", ALL, "21:00", "14:59")]);
    let document = convert(&plan);
    assert_eq!(
        document["schedules"]["energy"],
        json!({"periods": [{"period": "peak", "hours": ["15:00-21:00"]}, {"period": "off_peak", "hours": ["21:00-15:00"]}]})
    );
    let energy = &document["charges"][1];
    assert_eq!(energy["prices"], json!({"peak": "0.4", "off_peak": "0.2"}));
    for midnight in ["23:59", "24:00", "00:00", "23:59:59"] {
        let plan = windows(&[("A", "0.40", ALL, "00:00", "06:59"), ("B", "0.20", ALL, "07:00", midnight)]);
        let b = &convert(&plan)["schedules"]["energy"]["periods"][1];
        assert_eq!(*b, json!({"period": "b", "hours": ["07:00-24:00"]}), "{midnight}");
    }
}

#[test]
fn a_whole_day_that_begins_inside_one_is_written_as_two_windows() {
    let plan = windows(&[("Week", "0.40", WEEKDAYS, "07:00", "06:59"), ("End", "0.20", WEEKEND, "07:00", "06:59")]);
    let week = &convert(&plan)["schedules"]["energy"]["periods"][0];
    assert_eq!(week["hours"], json!(["07:00-15:30", "15:30-07:00"]));
}

#[test]
fn after_midnight_a_window_is_that_days_where_the_week_fits_only_so() {
    let begun = windows(&[
        ("Peak", "0.40", WEEKDAYS, "07:00", "21:59"),
        ("Night", "0.20", WEEKDAYS, "22:00", "06:59"),
        ("Weekend", "0.20", WEEKEND, "07:00", "06:59"),
    ]);
    assert_eq!(convert(&begun)["schedules"]["energy"]["wrapping_window"], Value::Null);
    let own = windows(&[
        ("Peak", "0.40", WEEKDAYS, "07:00", "21:59"),
        ("Night", "0.20", WEEKDAYS, "22:00", "06:59"),
        ("Weekend", "0.25", WEEKEND, "00:00", "23:59"),
    ]);
    assert_eq!(convert(&own)["schedules"]["energy"]["wrapping_window"], "own_day");
}

#[test]
fn windows_that_overlap_at_different_prices_are_refused_naming_both() {
    let plan = windows(&[("Peak", "0.40", ALL, "15:00", "21:00"), ("Off-peak", "0.20", ALL, "21:00", "14:59")]);
    let errors = document_from_cdr(&plan.to_string(), &ForeignOptions::default()).unwrap_err();
    let [error] = errors.0.as_slice() else { panic!("{errors:?}") };
    assert_eq!(error.code, "overlapping_windows");
    assert_eq!(error.pointer, "/tariffPeriod/0/timeOfUseRates/1/timeOfUse/0");
    assert!(error.message.contains("/tariffPeriod/0/timeOfUseRates/0/timeOfUse/0"), "{}", error.message);
    assert!(error.message.contains("at 21:00"), "{}", error.message);
    let same = windows(&[("Peak", "0.40", ALL, "15:00", "21:00"), ("Off-peak", "0.40", ALL, "21:00", "14:59")]);
    convert(&same);
}

#[test]
fn hours_without_a_rate_are_refused() {
    let plan = windows(&[("Peak", "0.40", ALL, "15:00", "20:59"), ("Off-peak", "0.20", ALL, "21:00", "14:58")]);
    assert_eq!(faults(&plan), fault("uncovered_time", "/tariffPeriod"));
    assert_eq!(faults(&period(json!({"endDate": "11-30"}))), fault("uncovered_time", "/tariffPeriod"));
    let without = period(json!({"singleRate": null}));
    assert_eq!(faults(&without), fault("missing_field", "/tariffPeriod"));
}

#[test]
fn periods_of_the_year_are_seasons_with_their_own_prices() {
    let season = |name: &str, start: &str, end: &str, supply: &str, price: &str| {
        json!({"displayName": name, "startDate": start, "endDate": end, "dailySupplyCharge": supply,
            "singleRate": {"displayName": "Any", "rates": rates(price)}})
    };
    let summer = season("Summer", "11-01", "02-28", "1.2", "0.4");
    let two = json!({"tariffPeriod": [summer, season("Winter", "03-01", "10-31", "1", "0.3")]});
    let document = convert(&two);
    assert_eq!(
        document["schedules"]["supply"]["periods"],
        json!([{"period": "summer", "season": "11-01/03-01"}, {"period": "winter", "season": "03-01/11-01"}])
    );
    assert_eq!(document["charges"][0]["prices"], json!({"summer": "1.2", "winter": "1"}));
    assert_eq!(
        document["schedules"]["energy"]["periods"],
        json!([{"period": "summer_any", "season": "11-01/03-01"}, {"period": "winter_any", "season": "03-01/11-01"}])
    );
    let overlapping = json!({"tariffPeriod": [summer, season("Winter", "02-01", "10-31", "1", "0.4")]});
    assert_eq!(faults(&overlapping), fault("overlapping_periods", "/tariffPeriod/1/dailySupplyCharge"));
    let overlapping = json!({"tariffPeriod": [summer, season("Winter", "02-01", "10-31", "0", "0.3")]});
    assert_eq!(faults(&overlapping), fault("overlapping_windows", "/tariffPeriod/1/singleRate"));
}

#[test]
fn rates_whose_steps_start_again_at_different_times_are_charges_of_their_own() {
    let rate = |name: &str, period: &str, start: &str, end: &str| {
        json!({"displayName": name, "period": period, "rates": [{"unitPrice": "0", "volume": 5}, {"unitPrice": "0.2"}],
            "timeOfUse": [{"startTime": start, "endTime": end}]})
    };
    let plan = period(json!({"singleRate": null,
        "timeOfUseRates": [rate("Day", "P1D", "07:00", "21:59"), rate("Night", "P1M", "22:00", "06:59")]}));
    let document = convert(&plan);
    let steps = json!([{"to": "5", "price": "0"}, {"price": "0.2"}]);
    assert_eq!(
        document["charges"].as_array().unwrap()[1..3],
        [
            json!({"id": "energy_day", "kind": "energy", "schedule": "energy", "period": "day", "steps": steps, "resets": "day"}),
            json!({"id": "energy_night", "kind": "energy", "schedule": "energy", "period": "night", "steps": steps})
        ]
    );
    assert_eq!(document["charges"][3]["on"], json!(["supply", "energy_day", "energy_night"]));
}

#[test]
fn demand_is_charged_by_day_or_month_in_its_hours_and_season() {
    let charge = |over: Value| {
        let mut charge = json!({"displayName": "Peak demand", "amount": "0.15", "measureUnit": "KW", "days": WEEKDAYS,
            "startTime": "15:00", "endTime": "20:59", "measurementPeriod": "MONTH", "chargePeriod": "DAY"});
        merge(&mut charge, over);
        period(json!({"demandCharges": [charge]}))
    };
    let document = convert(&charge(json!({"startDate": "11-01", "endDate": "03-31"})));
    assert_eq!(
        document["charges"][2],
        json!({"id": "demand", "kind": "demand", "label": "Peak demand", "schedule": "demand", "period": "demand",
            "price": "0.15", "per": "day"})
    );
    assert_eq!(
        document["schedules"]["demand"]["periods"],
        json!([{"period": "demand", "season": "11-01/04-01", "days": ["mon", "tue", "wed", "thu", "fri"],
            "hours": ["15:00-21:00"]}])
    );
    assert_eq!(convert(&charge(json!({"chargePeriod": "MONTH"})))["charges"][2]["per"], "month");
    let place = |member: &str| fault("not_billable", &format!("/tariffPeriod/0/demandCharges/0{member}"));
    assert_eq!(faults(&charge(json!({"measureUnit": "KVA"}))), place("/measureUnit"));
    assert_eq!(faults(&charge(json!({"measurementPeriod": "DAY"}))), place("/measurementPeriod"));
    assert_eq!(faults(&charge(json!({"chargePeriod": "TARIFF_PERIOD"}))), place(""));
    assert_eq!(faults(&charge(json!({"minDemand": "5"}))), place(""));
}

#[test]
fn a_controlled_load_is_a_channel_with_its_own_supply_charge() {
    let load = |over: Value| {
        let mut load = json!({"displayName": "CL1", "rateBlockUType": "singleRate",
            "singleRate": {"displayName": "CL1", "dailySupplyCharge": "0.05", "rates": rates("0.18")}});
        merge(&mut load, over);
        load
    };
    let document = convert(&contract(json!({"controlledLoad": [load(json!({})), load(json!({}))]})));
    let charges = document["charges"].as_array().unwrap();
    assert_eq!(
        charges[2..6],
        [
            json!({"id": "controlled_load", "kind": "energy", "label": "CL1", "channel": "controlled_load", "price": "0.18"}),
            json!({"id": "controlled_load_supply", "kind": "fixed", "price": "0.05", "per": "day"}),
            json!({"id": "controlled_load_2", "kind": "energy", "label": "CL1", "channel": "controlled_load_2", "price": "0.18"}),
            json!({"id": "controlled_load_2_supply", "kind": "fixed", "price": "0.05", "per": "day"}),
        ]
    );
    assert_eq!(charges[6]["on"].as_array().unwrap().len(), 6, "GST is on all of them");
    // Its hours are when it is switched on: a rest without a price is no fault, energy in it is refused when billed.
    let rate = |supply: &str, start: &str, end: &str| {
        json!({"displayName": start, "dailySupplyCharge": supply, "rates": rates("0.1"), "type": "OFF_PEAK",
            "timeOfUse": [{"startTime": start, "endTime": end, "additionalInfoUri": "https://example.org"}]})
    };
    let night = load(json!({"singleRate": null, "timeOfUseRates": [rate("0.05", "22:00", "06:59")]}));
    let document = convert(&contract(json!({"controlledLoad": [night]})));
    assert_eq!(document["schedules"]["controlled_load"]["periods"][0]["hours"], json!(["22:00-07:00"]));
    let differ = load(json!({"singleRate": null,
        "timeOfUseRates": [rate("0.05", "22:00", "06:59"), rate("0.06", "07:00", "21:59")]}));
    assert_eq!(
        faults(&contract(json!({"controlledLoad": [differ]}))),
        fault("overlapping_periods", "/controlledLoad/0/timeOfUseRates/1/dailySupplyCharge")
    );
    let none = json!({"controlledLoad": [{"displayName": "CL1"}]});
    assert_eq!(faults(&contract(none)), fault("missing_field", "/controlledLoad/0"));
}

#[test]
fn energy_fed_in_is_credited_without_gst() {
    let tariff = |over: Value| {
        let mut tariff = json!({"displayName": "FiT", "scheme": "OTHER", "payerType": "RETAILER"});
        merge(&mut tariff, over);
        contract(json!({"solarFeedInTariff": [tariff]}))
    };
    let single = convert(&tariff(json!({"tariffUType": "singleTariff", "singleTariff": {"period": "P1D",
        "rates": [{"unitPrice": "0.05", "volume": 10}, {"unitPrice": "0.02"}]}})));
    let charges = single["charges"].as_array().unwrap();
    assert_eq!(charges[2]["on"], json!(["supply", "energy"]));
    assert_eq!(
        charges[3],
        json!({"id": "feed_in", "kind": "export_credit", "label": "FiT", "resets": "day",
            "steps": [{"to": "10", "price": "0.05"}, {"price": "0.02"}]})
    );
    let old = convert(&tariff(json!({"singleTariff": {"amount": "0.07"}})));
    assert_eq!(old["charges"][3]["price"], "0.07");
    let varying = |amount: &str, start: &str, end: &str| json!({"type": "PEAK", "rates": rates(amount), "timeVariations": [{"days": ALL, "startTime": start, "endTime": end}]});
    let varying = json!({"timeVaryingTariffs": [varying("0.1", "16:00", "20:59"), varying("0.03", "21:00", "15:59")]});
    assert_eq!(convert(&tariff(varying))["charges"][3]["prices"], json!({"peak": "0.1", "peak_2": "0.03"}));
    let two = json!({"solarFeedInTariff": [{"singleTariff": {"amount": "0.07"}}, {"singleTariff": {"amount": "0.4"}}]});
    let pointers: Vec<String> = faults(&contract(two)).into_iter().map(|(_, pointer)| pointer).collect();
    assert_eq!(pointers, ["/solarFeedInTariff/0", "/solarFeedInTariff/1"]);
    assert_eq!(faults(&tariff(json!({}))), fault("missing_field", "/solarFeedInTariff/0"));
}

#[test]
fn what_cannot_be_billed_is_refused_by_place_or_listed() {
    let holidays = json!({"days": ["SAT", "SUN", "PUBLIC_HOLIDAYS"], "startTime": "00:00", "endTime": "23:59"});
    let mut plan = windows(&[("Week", "0.4", WEEKDAYS, "00:00", "23:59"), ("End", "0.2", WEEKEND, "00:00", "23:59")]);
    plan["tariffPeriod"][0]["timeOfUseRates"][1]["timeOfUse"][0] = holidays;
    merge(
        &mut plan,
        json!({"pricingModel": "QUOTA", "terms": "a $5 fee applies",
            "variation": "prices may change", "somethingNew": 3}),
    );
    let plan = json!({"data": {"gasContract": {"tariffPeriod": [1]}, "electricityContract": plan}});
    let contract = "/data/electricityContract";
    let holiday = format!("{contract}/tariffPeriod/0/timeOfUseRates/1/timeOfUse/0/days/2");
    let places: Vec<String> = ["/pricingModel", "/somethingNew", "/terms"]
        .iter()
        .map(|member| format!("{contract}{member}"))
        .chain(["/data/gasContract".to_owned(), holiday])
        .collect();
    let mut refused = faults(&plan);
    assert!(refused.iter().all(|(code, _)| code == "not_billable"), "{refused:?}");
    refused.sort();
    let mut expected = places.clone();
    expected.sort();
    assert_eq!(refused.into_iter().map(|(_, pointer)| pointer).collect::<Vec<_>>(), expected);
    let options = ForeignOptions::allowing_unbilled(true);
    let listed: Value = serde_json::from_str(&document_from_cdr(&plan.to_string(), &options).unwrap()).unwrap();
    let mut fields: Vec<&str> =
        listed["not_billed"].as_array().unwrap().iter().map(|entry| entry["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(fields, expected);
    Tariff::from_cdr(&plan.to_string(), &options).unwrap();
}

#[test]
fn every_fault_has_its_place() {
    let rate = |rates: Value| period(json!({"singleRate": {"displayName": "S", "period": "P1D", "rates": rates}}));
    let single = "/tariffPeriod/0/singleRate";
    let time = |start: &str, end: &str| windows(&[("A", "0.4", ALL, start, end)]);
    let window = "/tariffPeriod/0/timeOfUseRates/0/timeOfUse/0";
    let mut open = time("00:00", "23:59");
    open["tariffPeriod"][0]["timeOfUseRates"][0]["timeOfUse"][0]["endTime"] = Value::Null;
    let cases: Vec<(Value, &str, String)> = vec![
        (json!([]), "wrong_type", String::new()),
        (json!({}), "missing_field", "/electricityContract".into()),
        (json!({"fuelType": "GAS", "electricityContract": contract(json!({}))}), "not_electricity", "/fuelType".into()),
        (
            json!({"electricityContract": {"timeZone": "LOCAL"}}),
            "missing_field",
            "/electricityContract/tariffPeriod".into(),
        ),
        (rate(json!([{"unitPrice": "x"}])), "not_a_number", format!("{single}/rates/0/unitPrice")),
        (rate(json!([{"unitPrice": true}])), "wrong_type", format!("{single}/rates/0/unitPrice")),
        (rate(json!([{"unitPrice": "0.12345678901234567"}])), "too_many_digits", format!("{single}/rates/0/unitPrice")),
        (rate(json!([{"measureUnit": "KWH"}])), "missing_field", format!("{single}/rates/0/unitPrice")),
        (
            rate(json!([{"unitPrice": "1", "measureUnit": "DAYS"}])),
            "unknown_unit",
            format!("{single}/rates/0/measureUnit"),
        ),
        (rate(json!([{"unitPrice": "1"}, {"unitPrice": "2"}])), "open_inner_step", format!("{single}/rates/0")),
        (rate(json!([{"unitPrice": "1", "volume": 0}])), "out_of_range", format!("{single}/rates/0/volume")),
        (rate(json!([])), "missing_field", format!("{single}/rates")),
        (
            period(
                json!({"singleRate": {"displayName": "S", "rates": [{"unitPrice": "1", "volume": 5}, {"unitPrice": "2"}]}}),
            ),
            "missing_field",
            single.into(),
        ),
        (time("25:00", "23:59"), "bad_time", format!("{window}/startTime")),
        (time("07:00+10:00", "06:59"), "bad_time", format!("{window}/startTime")),
        (open, "missing_field", window.to_owned() + "/startTime"),
        (windows(&[("A", "0.4", &["MON", "HOLIDAY"], "00:00", "23:59")]), "unknown_day", format!("{window}/days/1")),
        (period(json!({"startDate": "02-30"})), "bad_date", "/tariffPeriod/0/startDate".into()),
        (period(json!({"endDate": null})), "missing_field", "/tariffPeriod/0/endDate".into()),
        (
            period(json!({"bandedDailySupplyCharges": [{"unitPrice": "1"}]})),
            "not_billable",
            "/tariffPeriod/0/bandedDailySupplyCharges".into(),
        ),
        (
            period(json!({"demandCharges": [{"measureUnit": "KW"}]})),
            "missing_field",
            "/tariffPeriod/0/demandCharges/0/amount".into(),
        ),
    ];
    for (plan, code, pointer) in cases {
        let found = faults(&plan);
        assert!(found.contains(&(code.to_owned(), pointer.clone())), "wanted {code} at {pointer}, got {found:?}");
    }
    assert_eq!(document_from_cdr("{", &ForeignOptions::default()).unwrap_err().0[0].code, "invalid_json");
}

#[test]
fn public_holidays_are_the_dates_of_a_named_calendar() {
    let day_off = &["SAT", "SUN", "PUBLIC_HOLIDAYS"];
    let plan = windows(&[
        ("Free", "0", ALL, "11:00", "13:59"),
        ("Peak", "0.4", WEEKDAYS, "14:00", "20:59"),
        ("Off-peak", "0.25", WEEKDAYS, "21:00", "10:59"),
        ("Day off", "0.2", day_off, "14:00", "10:59"),
    ]);
    let options = |name: &str| ForeignOptions { holidays: Some(name.to_owned()), ..ForeignOptions::default() };
    let text = document_from_cdr(&plan.to_string(), &options("au_nsw")).unwrap();
    Tariff::from_json(&text).unwrap();
    let schedule = serde_json::from_str::<Value>(&text).unwrap()["schedules"]["energy"].clone();
    assert_eq!(schedule["holidays"], json!(["au_nsw"]));
    assert_eq!(schedule["periods"][0], json!({"period": "free", "hours": ["11:00-14:00"]}), "every day, holidays too");
    assert_eq!(schedule["periods"][3]["days"], json!(["sat", "sun", "holiday"]));
    let place = "/tariffPeriod/0/timeOfUseRates/3/timeOfUse/0/days/2";
    assert_eq!(faults(&plan), fault("not_billable", place), "without a calendar");
    let code = |plan: &Value, name: &str| {
        let error = document_from_cdr(&plan.to_string(), &options(name)).unwrap_err().0.remove(0);
        (error.code, error.pointer)
    };
    assert_eq!(code(&plan, "NSW"), fault("bad_name", "").remove(0));
    // Where holidays are named they are no weekdays: then each hour of theirs wants a price.
    let gap = windows(&[
        ("Week", "0.4", WEEKDAYS, "00:00", "23:59"),
        ("End", "0.2", WEEKEND, "00:00", "23:59"),
        ("Holiday", "0.1", &["PUBLIC_HOLIDAYS"], "00:00", "19:59"),
    ]);
    assert_eq!(code(&gap, "au_nsw"), fault("uncovered_time", "/tariffPeriod").remove(0));
    let twice =
        windows(&[("All", "0.4", ALL, "00:00", "23:59"), ("Holiday", "0.1", &["PUBLIC_HOLIDAYS"], "00:00", "19:59")]);
    assert_eq!(code(&twice, "au_nsw").0, "overlapping_windows");
}
