//! Servers as processes under load, while they, their database or the way between them break: what was promised holds.
//!
//! Every story prints its seed; `SAMEBILL_SEED` gives it again. `tests/run --long` makes each of them longer.

mod clocks;
mod cluster;
mod cuts;
mod exhaustion;
mod failover;
#[path = "../api/helpers.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod helpers;
mod herd;
mod histories;
mod history;
mod kills;
mod largest;
mod overload;
mod pooler;
#[path = "../api/process.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod process;
mod proxy;
mod support;
mod workload;
