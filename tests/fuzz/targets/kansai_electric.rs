#![no_main]

use libfuzzer_sys::fuzz_target;
use samebill_fuzz::read_and_inspect;

fuzz_target!(|bytes: &[u8]| read_and_inspect("kansai_electric", bytes));
