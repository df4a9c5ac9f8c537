//! What a year of 15-minute readings costs: added up once, priced under one plan and under a hundred, on one thread
//! and on two.
//!
//! The yardstick, `engine/sum_of_readings`, is the plain sum of the same 35,040 readings; figures are best told as
//! ratios to it. Run with `cargo bench --bench engine`.

#[path = "support/year.rs"]
mod year;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use samebill::engine::{Aggregated, LocalDays, Price, PriceSeries, Question, compare, instants, utc_offsets};
use samebill::tariff::Tariff;

use year::{N_READINGS, ZONE, question, readings, year};

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A plan that pays for each quarter hour at the price of a series.
fn question_by_series(price_minutes: u32) -> Question {
    let document = r#"{"name": "hourly", "currency": "USD", "charges": [
        {"id": "standing", "kind": "fixed", "price": "0.41", "per": "day"},
        {"id": "energy", "kind": "energy", "price": {"series": "spot", "factor": "1.05", "adder": "0.0217"}},
        {"id": "tax", "kind": "tax", "percent": "6.25"}]}"#;
    let mut question = question(0, 1);
    question.plans[0].versions[0].tariff = Arc::new(Tariff::from_json(document).unwrap());
    // Below zero now and then, five decimals.
    let digits = |start: i64| start / 900 * 7_919 % 30_000 - 2_000;
    let starts = instants(ZONE, &year()).step_by(price_minutes as usize * 60);
    let prices = starts.map(|start| Price { start, seconds: price_minutes * 60, digits: digits(start) });
    question.price_series.insert("spot".to_owned(), Arc::new(PriceSeries::from_sorted(prices, 5)));
    question
}

fn work(c: &mut Criterion) {
    // One thread, this one: what is measured is work, not cores, and no hand-over.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().unwrap();
    let series = readings(0);
    let values = &series.runs()[0].milliwatt_hours;
    let sum: i64 = values.iter().sum();
    let mut group = c.benchmark_group("engine");
    group.throughput(Throughput::Elements(N_READINGS as u64));
    group.bench_function("sum_of_readings", |b| b.iter(|| black_box(black_box(values).iter().sum::<i64>())));
    group.bench_function("calendar/cold", |b| b.iter(|| utc_offsets(black_box(ZONE), 2026)));
    group.bench_function("calendar/shared", |b| b.iter(|| LocalDays::of(ZONE, black_box(&year()))));
    for n_plans in [1, 100] {
        let question = question(0, n_plans);
        let result = compare(&question).unwrap();
        assert_eq!(result.plans.len(), n_plans);
        let import: f64 = result.usage.import_kwh.parse().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a check of a few digits")]
        let expected = sum as f64 / 1e6;
        assert!((import - expected).abs() < 1e-3);
        group.bench_function(format!("aggregate/{n_plans}_plans/year_15min"), |b| {
            b.iter(|| Aggregated::new(black_box(&question)).unwrap());
        });
        let aggregated = Aggregated::new(&question).unwrap();
        group.bench_function(format!("price/{n_plans}_plans/year_15min"), |b| {
            b.iter(|| aggregated.price().unwrap().n_lines());
        });
        group.bench_function(format!("compare/{n_plans}_plans/year_15min"), |b| {
            b.iter(|| compare(black_box(&question)).unwrap());
        });
    }
    for (name, price_minutes) in [("year_15min", 15), ("year_15min_of_hourly_prices", 60)] {
        let question = question_by_series(price_minutes);
        let result = compare(&question).unwrap();
        assert!(result.plans[0].periods.iter().all(|month| month.line_items[1].price_series.is_some()));
        // Without the text: the readings added up, joined with their prices, and billed.
        group.bench_function(format!("price_series/{name}"), |b| {
            b.iter(|| {
                let aggregated = Aggregated::new(black_box(&question)).unwrap();
                aggregated.price().unwrap().n_lines();
            });
        });
    }
    group.finish();
}

/// The same work on one thread and on two: a thousand plans of one customer, and a plan of a thousand customers.
fn threads(c: &mut Criterion) {
    let plans = question(0, 1000);
    // 50 customers in turn: their readings are more than the cores' own caches hold.
    let customers: Vec<Question> = (0..50).map(|customer| question(customer, 1)).collect();
    let mut group = c.benchmark_group("engine");
    group.sample_size(10);
    for n_threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        group.bench_function(format!("threads/1000_plans/{n_threads}"), |b| {
            // The answer is dropped by one thread, whoever made it: not part of the work.
            b.iter_with_large_drop(|| pool.install(|| compare(black_box(&plans)).unwrap()));
        });
        group.bench_function(format!("threads/1000_customers/{n_threads}"), |b| {
            let bill = |i: usize| compare(&customers[i % customers.len()]).unwrap().plans.len();
            b.iter(|| pool.install(|| assert_eq!((0..1000).into_par_iter().map(bill).sum::<usize>(), 1000)));
        });
    }
    group.finish();
}

criterion_group!(benches, work, threads);
criterion_main!(benches);
