//! Fuzz target: any bytes as one or two archives, opened with any options. The checks are in
//! tests/robustness/deep.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../caught_panics.rs"]
mod caught_panics;
#[path = "../../robustness/deep.rs"]
mod deep;
#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(init: caught_panics::unwind(), |bytes: &[u8]| {
    deep::run(bytes);
});
