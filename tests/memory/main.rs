//! How much memory a question takes beside its readings. A binary of its own: it counts all that is allocated.

#[path = "../../benches/support/year.rs"]
mod year;

use peak_alloc::PeakAlloc;
use samebill::engine::{Aggregated, compare};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MEGABYTE: usize = 1_000_000;

/// The most that was allocated at once beyond what was there before.
fn peak(work: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    MEMORY.peak_usage() - before
}

#[test]
fn a_hundred_plans_on_a_year_of_quarter_hours_take_less_than_four_megabytes() {
    let question = year::question(0, 100);
    assert_eq!(question.readings.values().map(samebill::usage::Series::n_readings).sum::<usize>(), year::N_READINGS);
    let numbers = peak(|| {
        let aggregated = Aggregated::new(&question).unwrap();
        let priced = aggregated.price().unwrap();
        assert!(priced.n_lines() > 100 * 12 * 5, "a month of a plan has a handful of lines");
    });
    assert!(numbers < 2 * MEGABYTE, "{numbers} bytes for the numbers");
    let text = peak(|| assert_eq!(compare(&question).unwrap().plans.len(), 100));
    assert!(text < 4 * MEGABYTE, "{text} bytes for the answer");
    eprintln!("numbers: {numbers} bytes, answer: {text} bytes");
}
