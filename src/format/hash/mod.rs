//! The hashes by which the games find files in their archives (FORMATS.md section 4).
//!
//! Every function sees a path the same way: ASCII letters in lower case, `/` as `\`, no separators at either end, and
//! all other bytes as they are stored, whatever their code page. Bytes are folded while they are hashed, so that a
//! mount that hashes half a million names allocates for none of them.

mod family;
mod fo4;
mod path;
mod placeholder;
mod tes3;
mod tes4;

pub use family::{Family, Hash, xbox};
pub use placeholder::placeholder_name;
