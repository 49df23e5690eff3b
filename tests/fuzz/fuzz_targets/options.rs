//! Fuzz target: any text as a mount profile and values of `-o`. The checks are in
//! tests/robustness/options.rs.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/options.rs"]
mod options;

/// Folder for the profile of every input. There is only one, because planned paths depend on it.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|bytes: &[u8]| {
    options::run(bytes, FOLDER.path());
});
