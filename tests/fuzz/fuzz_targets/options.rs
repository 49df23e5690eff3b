//! Any text as a mount profile and values of `-o`: tests/robustness/options.rs.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/options.rs"]
mod options;

/// Where profiles are written. One folder for all, because paths depend on it.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|bytes: &[u8]| {
    options::run(bytes, FOLDER.path());
});
