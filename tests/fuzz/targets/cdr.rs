#![no_main]

use libfuzzer_sys::fuzz_target;
use samebill::tariff::PlanFormat;
use samebill_fuzz::read_and_bill;

fuzz_target!(|bytes: &[u8]| read_and_bill(PlanFormat::Cdr, bytes));
