#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use samebill_fuzz::read_and_inspect;

/// The Parquet library panics on some damages, which the reader makes refusals of: only panics that come through count,
/// and those `fuzz_target` sees without its hook.
static QUIET: LazyLock<()> = LazyLock::new(|| std::panic::set_hook(Box::new(|_| {})));

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&QUIET);
    read_and_inspect("parquet", bytes);
});
