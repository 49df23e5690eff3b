//! Any bytes as the description of a texture and its texels: tests/robustness/texture.rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../robustness/texture.rs"]
mod texture;
#[path = "../../support/tiler.rs"]
mod tiler;

fuzz_target!(|bytes: &[u8]| {
    texture::run(bytes);
});
