//! Fuzz target: any bytes as settings of Mod Organizer 2. The checks are in tests/robustness/settings.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/settings.rs"]
#[allow(dead_code, reason = "four targets share it")]
mod settings;

fuzz_target!(|bytes: &[u8]| {
    settings::qsettings(bytes);
});
