//! How often, and after which pauses, a unit is run again.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// No pause is longer.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_millis(400);
const N_RETRIES: usize = 5;

/// Pauses before each further try, then none: exponential with full jitter (anything from nothing to the bound).
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    let bound = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(LONGEST_PAUSE)
        .with_max_times(N_RETRIES);
    // backon adds a random part up to the bound; what it adds alone is full jitter.
    bound.with_jitter().build().zip(bound.build()).map(|(jittered, bound)| jittered.saturating_sub(bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_few_and_short() {
        for _ in 0..100 {
            let pauses: Vec<Duration> = pauses().collect();
            assert_eq!(pauses.len(), N_RETRIES);
            assert!(pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        }
        assert!((0..100).any(|_| pauses().next() != pauses().next()), "no jitter");
    }
}
