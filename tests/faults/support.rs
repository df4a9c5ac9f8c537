//! What the stories share: one at a time, from a seed, short or long.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::helpers::Reply;

/// Stories measure times and kill processes: each runs alone in this program.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static STORY: Mutex<()> = Mutex::new(());
    STORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The seed of this run, printed so that a failure can be played again with `SAMEBILL_SEED`.
pub(crate) fn seed(story: &str) -> u64 {
    let given = std::env::var("SAMEBILL_SEED").ok().map(|text| text.parse().expect("SAMEBILL_SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{story}: SAMEBILL_SEED={seed}");
    seed
}

/// Whether this is `tests/run --long`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("SAMEBILL_LONG").is_some()
}

/// Of two sizes the one of this run.
pub(crate) fn short_or_long<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// What a client does: the same request again, until there is an answer.
#[track_caller]
pub(crate) fn repeat(call: impl Fn() -> Reply) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = call();
        if reply.status != 503 {
            return reply;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no answer: {}", reply.code());
        std::thread::sleep(Duration::from_millis(20));
    }
}
