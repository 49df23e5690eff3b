//! Fuzz target: any bytes as an archive, with default options. The checks are in
//! tests/robustness/pipeline.rs.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

#[path = "../caught_panics.rs"]
mod caught_panics;
#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(init: caught_panics::unwind(), |bytes: &[u8]| {
    // Each input gets a new file, because an open archive relies on its file staying unchanged.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    pipeline::run(file.path(), &pipeline::Scope::FUZZED);
});
