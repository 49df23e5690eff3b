//! Builders of test archives: small archives of every kind, in memory, both correct and damaged.
//! `bsafs pack` writes archives, too; these stay independent of it.
//!
//! Nothing here uses the crate under test. The builders implement the formats a second time, from the same
//! description but by other means. So a test compares two implementations, and not one with itself.
//!
//! A builder writes a correct archive by default. Each further method adds one way in which real or hostile
//! archives differ. [`samples`] makes one archive of each kind, with the files that a mount must show for it.

#![allow(
    dead_code,
    unused_imports,
    reason = "a test binary and an example share it, and neither uses all of it"
)]
#![allow(unreachable_pub, reason = "`pub` here means: for tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what is wrong with a test's own archive is a mistake in the test"
)]

pub mod ba2;
pub mod consoles;
pub mod content;
pub mod dds;
mod game_seeds;
pub mod hash;
pub mod home;
pub mod legacy;
pub mod mesh;
pub mod mod_files;
pub mod pack;
pub mod parts;
mod samples;
mod seeds;
pub mod tes3;
pub mod tes4;
pub mod tiler;
pub mod vectors;

pub use ba2::{Ba2, Ba2File, Chunk, NamesForm, Texture};
pub use parts::{Parts, dense, write_sparse};
pub use samples::{Sample, samples};
pub use seeds::{Seed, seeds};
pub use tes3::{Tes3, Tes3File};
pub use tes4::{Tes4, Tes4File, Tes4Folder};
