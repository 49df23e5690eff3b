//! Fuzz target: any bytes as an INI file. The checks are in tests/robustness/game.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/game.rs"]
#[allow(dead_code, reason = "two targets share it")]
mod game;

fuzz_target!(|bytes: &[u8]| {
    game::ini(bytes);
});
