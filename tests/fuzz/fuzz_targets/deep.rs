//! Fuzz target: any bytes as one or two archives, opened with any options. The checks are in
//! tests/robustness/all_options.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/all_options.rs"]
mod all_options;
#[path = "../caught_panics.rs"]
mod caught_panics;
#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(init: caught_panics::unwind(), |bytes: &[u8]| {
    all_options::run(bytes);
});
