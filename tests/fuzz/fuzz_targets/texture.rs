//! Fuzz target: any bytes as a texture. The checks are in tests/robustness/texture.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/texture.rs"]
mod texture;
#[path = "../../support/tiler.rs"]
mod tiler;

fuzz_target!(|bytes: &[u8]| {
    texture::run(bytes);
});
