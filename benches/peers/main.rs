//! Our side of `benches/peers/run`: bills the URDB tariffs of a folder on its readings, and prints the least seconds
//! of each stage and every total as JSON.
//!
//! The folder is named by `SAMEBILL_PEERS` and holds `readings.csv` and `plans/*.json`. Without it nothing is run.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use samebill::engine::{Aggregated, Options, PlanToBill, Question, VersionInForce, compare};
use samebill::tariff::{ConventionOverrides, Tariff};
use samebill::usage::{ReadOptions, Series};
use samebill::words::BillingPeriod;

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const N_ROUNDS: usize = 50;

fn question(folder: &Path) -> Question {
    let period = BillingPeriod::new("2018-01-01".parse().unwrap(), "2019-01-01".parse().unwrap()).unwrap();
    let file = fs::File::open(folder.join("readings.csv")).unwrap();
    let readings = samebill::usage::read(file, &ReadOptions::default()).unwrap().readings;
    let mut paths: Vec<_> = fs::read_dir(folder.join("plans")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let plans = paths.iter().map(|path| {
        let tariff = Tariff::from_urdb(&fs::read_to_string(path).unwrap(), false).unwrap();
        PlanToBill {
            reference: path.file_stem().unwrap().to_str().unwrap().parse().unwrap(),
            versions: vec![VersionInForce { version: 1, days: period, tariff: Arc::new(tariff) }],
        }
    });
    Question {
        time_zone: chrono_tz::America::Phoenix,
        period,
        months: period.billing_months(&[]),
        months_registered: false,
        earlier_months: Vec::new(),
        readings: readings.into_iter().map(|(channel, list)| (channel, Series::from_sorted(&list.to_vec()))).collect(),
        attributes: BTreeMap::new(),
        calendars: BTreeMap::new(),
        price_series: BTreeMap::new(),
        event_lists: BTreeMap::new(),
        plans: plans.collect(),
        options: Options { conventions: ConventionOverrides::sam(), ..Options::default() },
    }
}

/// The least seconds that a closure took in many rounds.
fn least_seconds<T>(mut run: impl FnMut() -> T) -> f64 {
    let timed = |_| {
        let begin = Instant::now();
        black_box(run());
        begin.elapsed().as_secs_f64()
    };
    (0..N_ROUNDS).map(timed).fold(f64::INFINITY, f64::min)
}

fn main() {
    let Some(folder) = std::env::var_os("SAMEBILL_PEERS") else {
        eprintln!("peers: nothing was run; benches/peers/run names the folder of cases");
        return;
    };
    let question = question(Path::new(&folder));
    // One thread, this one: as the others have.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().unwrap();
    let values = &question.readings.values().next().unwrap().runs()[0].milliwatt_hours;
    let sum = least_seconds(|| black_box(values).iter().sum::<i64>());
    let aggregate = least_seconds(|| Aggregated::new(&question).unwrap());
    let aggregated = Aggregated::new(&question).unwrap();
    let price = least_seconds(|| aggregated.price().unwrap().n_lines());
    let with_text = least_seconds(|| compare(&question).unwrap());
    let plans = compare(&question).unwrap().plans;
    let totals: BTreeMap<String, String> = plans.into_iter().map(|bill| (bill.plan_id, bill.total)).collect();
    let report = serde_json::json!({
        "sum_seconds": sum,
        "aggregate_seconds": aggregate,
        "price_seconds": price,
        "with_text_seconds": with_text,
        "totals": totals,
    });
    println!("{report}");
}
