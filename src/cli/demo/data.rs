//! What the demo works on, compiled in: real readings, published rates.

/// A home, its clock and a year of its readings.
pub(super) struct Home {
    pub(super) id: &'static str,
    pub(super) what: &'static str,
    pub(super) time_zone: &'static str,
    pub(super) file_name: &'static str,
    pub(super) readings: &'static str,
}

/// A sample home with Illinois weather, 2017, hourly.
pub(super) const CHICAGO: Home = Home {
    id: "chicago-home",
    what: "a home with Illinois weather, every hour of 2017",
    time_zone: "America/Chicago",
    file_name: "il-home-60min-2017-dst.csv",
    readings: include_str!("../../../fixtures/usage/il-home-60min-2017-dst.csv"),
};

/// A measured UK household, 2013, half-hourly.
pub(super) const LONDON: Home = Home {
    id: "london-home",
    what: "a UK household, every half hour of 2013",
    time_zone: "Europe/London",
    file_name: "uk-home-30min-2013-dst.csv",
    readings: include_str!("../../../fixtures/usage/uk-home-30min-2013-dst.csv"),
};

/// Plan id, what is special about it, document.
pub(super) type DemoPlan = (&'static str, &'static str, &'static str);

/// Plans in dollars.
pub(super) const PLANS: [DemoPlan; 4] = [
    (
        "fpl-rs-1",
        "one price up to 1,000 kWh a month, a higher one above",
        include_str!("../../../fixtures/plans/fpl-rs-1.json"),
    ),
    (
        "srp-e-26",
        "dear on weekdays from 14:00 to 20:00 in summer",
        include_str!("../../../fixtures/plans/srp-e-26.json"),
    ),
    ("psco-rd", "cheap energy, and a price for the highest hour", include_str!("../../../fixtures/plans/psco-rd.json")),
    (
        "georgia-power-r",
        "three steps in summer, a charge per day",
        include_str!("../../../fixtures/plans/georgia-power-r.json"),
    ),
];

/// A plan in pounds.
pub(super) const UK_PLAN: DemoPlan = (
    "uk-bulb-2017-08",
    "one price and a charge per day",
    include_str!("../../../fixtures/plans/worked/uk-bulb-2017-08.json"),
);

/// The six hours of July above 10 kWh, read again: 1.5 kWh each.
pub(super) const CORRECTION: &str = r#"{"interval_minutes": 60, "readings": [
  {"start": "2017-07-07T19:00:00-05:00", "kwh": "1.5"},
  {"start": "2017-07-12T22:00:00-05:00", "kwh": "1.5"},
  {"start": "2017-07-20T16:00:00-05:00", "kwh": "1.5"},
  {"start": "2017-07-20T17:00:00-05:00", "kwh": "1.5"},
  {"start": "2017-07-21T21:00:00-05:00", "kwh": "1.5"},
  {"start": "2017-07-21T22:00:00-05:00", "kwh": "1.5"}]}
"#;
