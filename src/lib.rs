//! bsafs mounts Bethesda's archives (BSA and BA2, Arena to Starfield, of PC and consoles) as a read-only folder.
//!
//! The crate is an hourglass. At its waist, [`mod@format`] turns the bytes of any archive into one plain
//! [`format::Archive`]: entries with names, hashes and extents. Nothing below knows what a BSA is.
//!
//! [`read`] is the bounds-checked cursor that the formats read with, [`texture`] makes the headers that archives
//! leave out of their textures and puts the texels of consoles into rows, and [`source`] is an archive file on the disk:
//! identity, positioned reads, and the only map. None of them knows another part of the crate.
//!
//! Two siblings stand on the waist. [`tree`] holds names: it merges archives in load order and freezes them into flat
//! arrays, and finds files by hash whose names are not stored. [`content`] holds bytes: it reads and decodes extents on
//! demand, and keeps what was decoded in one cache. They never see each other.
//!
//! [`fs`] joins the two into a file system of plain types, adapts that to FUSE, and runs the mount's session. It also
//! tells where files come from and what the daemon has done.
//!
//! [`cli`] is every command, a file each: it opens archives, and uses all of the above.
//!
//! The tests read this crate's source, and fail on an import that goes another way.

pub mod cli;
pub mod content;
pub mod format;
pub mod fs;
pub mod read;
pub mod source;
pub mod texture;
pub mod tree;
