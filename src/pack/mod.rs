//! Writes archives that a game loads, from anything that a [`Vfs`](crate::Vfs) opens.
//!
//! A [`Plan`] decides everything that can be decided without compressing: which archive each file goes to,
//! whether it is compressed, and what stays loose and why. [`Plan::write`] writes the archives into files
//! without names, reads them back through the parsers of this crate, compares every file with what was read
//! of the source, and only then gives all of them their names. The same input gives the same bytes, whatever
//! the number of threads.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # std::fs::create_dir_all("MyMod/Textures/Rocks")?;
//! # std::fs::write("MyMod/MyMod.esp", b"TES4")?;
//! # std::fs::write("MyMod/Textures/Rocks/Rock.dds", vec![7; 5000])?;
//! use bsafs::pack::{PackOptions, Plan};
//!
//! let vfs = bsafs::OpenOptions::new().archives(bsafs::FolderArchives::Files).open(["MyMod"])?;
//! let plan = Plan::new(&vfs, &PackOptions::new("skyrimse")?)?;
//! for left in plan.loose() {
//!     println!("{} stays loose: {}", left.path, left.reason.words());
//! }
//! let packed = plan.write("Packed".as_ref())?;
//! assert_eq!(packed[0].name, "MyMod - Textures.bsa");
//! let archive = bsafs::Vfs::open(["Packed/MyMod - Textures.bsa"])?;
//! assert_eq!(archive.file("textures/rocks/rock.dds").ok_or("not there")?.size()?, 5000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | question | file |
//! |---|---|
//! | what does a game load, and how? | `game/titles/packing.rs` |
//! | what may the caller choose, and what can go wrong? | `pack_options.rs` |
//! | is a file packed, and how? | `verdict.rs` |
//! | which files do the sources have, and where do they begin? | `source.rs` |
//! | which archive gets which file? | `plan.rs`, with `planned.rs` |
//! | how does a file become blocks? | `pipeline.rs` |
//! | how is an archive written? | `archive_writer.rs` |
//! | is it what the source was? | `archive_writer.rs` |
//! | how are archives placed, and what did an earlier run leave? | `write.rs` |
//! | how do packed files leave a mod, and return? | `move_packed.rs` |
//! | which plugins do archives need? | `planned.rs` |
//! | what changes in a game? | `effects.rs` |
//!
//! # How sure the rules are
//!
//! The layouts are those of official archives, and two other readers read every kind. No game could be run
//! for this. Sure, by several sources: names, versions, which files are stored, no embedded names in Skyrim
//! SE, the 2 GiB of BSA, and chunks of textures. Less sure: that an `.esm` of Fallout 3 loads archives; long
//! textures such as 2048 by 512, where tools cut differently and bsafs follows Archive2's own words; formats
//! outside of BC1 to BC7 and plain colours; `.wem`; which plugins of script extenders read archives.
//! Unproved: other versions of Starfield's archives than 2 for files and 3 for textures, and Skyrim SE above
//! 2 GiB, which `--max-size` allows.

mod archive_writer;
mod effects;
mod move_packed;
mod pack_options;
mod pipeline;
mod plan;
mod planned;
mod source;
mod verdict;
mod write;

pub use crate::content::codec::Level;
pub use effects::{Effect, EffectKind, Effects, effects};
pub(crate) use effects::{effects_with, why_no_effects};
pub use move_packed::move_back;
pub use pack_options::{
    OddTextures, PackError, PackErrorKind, PackOptions, PackProgress, PathList, packed_games,
};
pub use plan::Plan;
pub use planned::{How, Loader, PlannedArchive, PlannedFile};
pub use source::Superseded;
pub use verdict::{LeftOut, LooseReason};
pub use write::{Leftover, LeftoverKind, Packed};
