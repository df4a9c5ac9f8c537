//! Questions from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samebill::engine::{Options, PlanToBill, Question, VersionInForce, billing_months, earlier_months};
use samebill::tariff::{ForeignOptions, PlanFormat, Tariff};
use samebill::usage::{Channel, ReadOptions, Series};
use samebill::words::BillingPeriod;

/// The folder of the reference data, or `None` when it is absent, which in CI is a failure.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SAMEBILL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join(folder);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is not there: name its root in SAMEBILL_SHARED", folder.display());
    eprintln!("DID NOT RUN: {} is not there; name its root in SAMEBILL_SHARED", folder.display());
    None
}

/// The readings of a file, by channel.
pub(crate) fn usage(path: &Path) -> BTreeMap<Channel, Series> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let parsed =
        samebill::usage::read(file, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parsed.readings.into_iter().map(|(channel, readings)| (channel, Series::from_sorted(&readings.to_vec()))).collect()
}

/// The tariff of a file in any format.
pub(crate) fn tariff(path: &Path, options: &ForeignOptions) -> Result<Tariff, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let read = Tariff::from_format(PlanFormat::detect(&text), &text, options);
    read.map_err(|e| format!("{}: {e}", path.display()))
}

/// A period from its two dates.
pub(crate) fn period(start: &str, end: &str) -> BillingPeriod {
    BillingPeriod::new(start.parse().unwrap(), end.parse().unwrap()).unwrap()
}

/// A question about one tariff and nothing before its period.
pub(crate) fn question(
    tariff: Tariff,
    time_zone: chrono_tz::Tz,
    period: BillingPeriod,
    readings: BTreeMap<Channel, Series>,
    options: Options,
) -> Question {
    Question {
        time_zone,
        period,
        months: billing_months(&period, &[]),
        months_registered: false,
        earlier_months: earlier_months(&period, tariff.look_back_months(), &[]),
        readings,
        attributes: BTreeMap::new(),
        calendars: BTreeMap::new(),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::new(),
        plans: vec![PlanToBill {
            reference: "plan".parse().unwrap(),
            versions: vec![VersionInForce { version: 1, days: period, tariff: Arc::new(tariff) }],
        }],
        options,
    }
}

/// Cases of a property whose case takes long: `usual`, or as many times more as `PROPTEST_CASES` is above proptest's 256.
pub(crate) fn cases(usual: u32) -> u32 {
    let asked: Option<u32> = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    asked.map_or(usual, |asked| (usual * asked / 256).max(1))
}
