//! Any bytes as a payload of any codec: tests/robustness/codec.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/codec.rs"]
mod codec;

fuzz_target!(|bytes: &[u8]| {
    codec::run(bytes);
});
