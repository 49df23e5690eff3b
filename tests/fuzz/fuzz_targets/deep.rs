//! Any bytes as one or two archives that are opened with any options: tests/robustness/deep.rs.

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
