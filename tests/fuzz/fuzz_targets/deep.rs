//! Any bytes as one or two archives that are opened with any options: tests/robustness/deep.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/deep.rs"]
mod deep;
#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(|bytes: &[u8]| {
    deep::run(bytes);
});
