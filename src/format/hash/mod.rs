//! The hashes by which the games find files in their archives (FORMATS.md section 4).
//!
//! Every function treats a path as if it had this form: ASCII letters in lower case, `/` as `\`, and no
//! separators at either end. All other bytes are as stored, whatever their code page. Bytes are folded while
//! they are hashed, so that a mount that hashes half a million names allocates nothing for them.

mod family;
mod fo4;
mod path;
mod placeholder;
mod tes3;
mod tes4;

pub use family::{Family, Hash, xbox};
pub use placeholder::placeholder_name;
