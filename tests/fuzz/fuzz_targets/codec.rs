//! Fuzz target: any bytes as a payload of any codec. The checks are in tests/robustness/codec.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../caught_panics.rs"]
mod caught_panics;
#[path = "../../robustness/codec.rs"]
mod codec;

fuzz_target!(init: caught_panics::unwind(), |bytes: &[u8]| {
    codec::run(bytes);
});
