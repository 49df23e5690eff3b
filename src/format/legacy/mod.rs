//! The archives of The Elder Scrolls before Morrowind: Arena's `GLOBAL.BSA`, and Daggerfall's BSA
//! and SND files (FORMATS.md section 9).

mod arena;
mod daggerfall;
mod layout;

pub use arena::FORMAT as ARENA;
pub use daggerfall::FORMAT as DAGGERFALL;
