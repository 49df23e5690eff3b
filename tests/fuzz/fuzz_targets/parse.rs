//! Any bytes as an archive, with default options: tests/robustness/pipeline.rs.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

#[path = "../caught_panics.rs"]
mod caught_panics;
#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(init: caught_panics::unwind(), |bytes: &[u8]| {
    // A new file each time: a source relies on an open file not to change.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    pipeline::run(file.path(), &pipeline::Scope::FUZZED);
});
