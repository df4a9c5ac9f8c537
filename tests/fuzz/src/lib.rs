//! What every target does with a tariff that was read: bill it; and with a file of readings: settle all of its series.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use samebill::engine::{Options, PlanToBill, Question, VersionInForce, compare, earlier_months, instants};
use samebill::tariff::{ForeignOptions, PlanFormat, Tariff};
use samebill::usage::{Channel, Quality, ReadOptions, Reading, Series, inspect, open};
use samebill::words::{BillingPeriod, Instants, interval};

const ZONE: chrono_tz::Tz = chrono_tz::America::Chicago;

/// Half-hourly readings of two channels over a clock change.
static READINGS: LazyLock<BTreeMap<Channel, Series>> = LazyLock::new(|| {
    let series = |step: i64| {
        let readings: Vec<Reading> = instants(ZONE, &period())
            .step_by(1800)
            .zip(0_i64..)
            .map(|(start, i)| Reading {
                start,
                seconds: 1800,
                milliwatt_hours: i * step % 3_000_001,
                quality: Quality::Measured,
            })
            .collect();
        Series::from_sorted(&readings)
    };
    BTreeMap::from([(Channel::import(), series(700_001)), (Channel::export(), series(300_007))])
});

fn period() -> BillingPeriod {
    BillingPeriod::new("2026-10-15".parse().unwrap(), "2026-12-03".parse().unwrap()).unwrap()
}

/// Reads a document and bills it; refusals of either are fine, panics are not.
pub fn read_and_bill(format: PlanFormat, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let options = ForeignOptions::allowing_unbilled(true);
    let Ok(tariff) = Tariff::from_format(format, text, &options) else { return };
    let calendar = BTreeSet::from(["2026-11-26".parse().unwrap()]);
    let peak = interval("2026-11-03T17:00-06:00/PT1H").unwrap();
    let question = Question {
        time_zone: ZONE,
        period: period(),
        months: period().billing_months(&[]),
        months_registered: false,
        earlier_months: earlier_months(&period(), tariff.look_back_months(), &[]),
        readings: READINGS.clone(),
        attributes: BTreeMap::new(),
        calendars: BTreeMap::from([("es".to_owned(), calendar)]),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::from([("peaks".to_owned(), Instants::new(vec![peak]))]),
        plans: vec![PlanToBill {
            reference: "plan".parse().unwrap(),
            versions: vec![VersionInForce { version: 1, days: period(), tariff: Arc::new(tariff) }],
        }],
        options: Options::default(),
    };
    let _ = compare(&question);
}

/// Reads a file of readings of a format and settles its series; refusals are fine, panics are not.
pub fn read_and_inspect(format: &str, bytes: &[u8]) {
    let options = ReadOptions { format: Some(format.to_owned()), time_zone: Some(ZONE), ..ReadOptions::default() };
    if let Ok(file) = open(std::io::Cursor::new(bytes), &options) {
        let _ = inspect(file, &[]);
    }
}
