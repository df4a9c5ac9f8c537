//! Named stops of the protocol in a process of its own, for tests of this very binary; not compiled into a release.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use fail::FailScenario;

/// Sets what `FAILPOINTS` says (`store::supersede::before_commit=sleep(50)`), and has the process killed where
/// `SAMEBILL_KILLED_AT` says: `compare::computed=3` is the third time that anybody comes to that stop.
pub(super) fn from_environment() -> FailScenario<'static> {
    let scenario = FailScenario::setup();
    if let Ok(place) = std::env::var("SAMEBILL_KILLED_AT") {
        let (name, nth) = place.split_once('=').unwrap_or((&place, "1"));
        let nth: u64 = nth.parse().unwrap_or(1);
        let n_seen = AtomicU64::new(0);
        let set = fail::cfg_callback(name, move || {
            if n_seen.fetch_add(1, Ordering::SeqCst) + 1 >= nth {
                die();
            }
        });
        if let Err(error) = set {
            super::output::remark(&format!("samebill: SAMEBILL_KILLED_AT: {error}"));
        }
    }
    scenario
}

/// SIGKILL: nothing is finished, flushed or said.
fn die() -> ! {
    let killed = Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
    match killed {
        // It is on its way; whoever came here goes no further.
        Ok(status) if status.success() => loop {
            std::thread::park();
        },
        _ => std::process::abort(),
    }
}
