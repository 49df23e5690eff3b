//! Takes any bytes the whole way of an archive. `scripts/fuzz` runs it.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/pipeline.rs"]
mod pipeline;

fuzz_target!(|bytes: &[u8]| {
    // A file of its own each time: a source believes a file that it opened to stay as it was.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    pipeline::survive(file.path(), &pipeline::Doubt::ALL);
});
