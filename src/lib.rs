//! bsafs opens what Bethesda's games open, in the game's load order: BSA and BA2 archives (Arena to
//! Starfield, PC and consoles), folders of loose files, and installed games with mods.
//!
//! This crate is the library. With its default feature it is also the program `bsafs`, which
//! mounts all of that as a read-only folder.
//!
//! # The library
//!
//! ```
//! # // An archive of Morrowind's format with one file, in a new folder.
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # let name = br"textures\rock.dds";
//! # let number = |number: usize| (number as u32).to_le_bytes();
//! # let header = [number(0x100), number(12 + name.len() + 1), number(1), number(4), number(0), number(0)];
//! # std::fs::write("Rocks.bsa", [&header.concat()[..], name, b"\0", &[0; 8], b"DDS "].concat())?;
//! # std::fs::create_dir_all("MyMod/Textures")?;
//! # std::fs::write("MyMod/Textures/Rock.dds", b"DDS 2")?;
//! // An archive, and a folder of loose files, which wins because it comes last.
//! let vfs = bsafs::Vfs::open(["Rocks.bsa", "MyMod"])?;
//! let file = vfs.file(r"TEXTURES\Rock.DDS").ok_or("not there")?;
//! assert_eq!(file.read()?, b"DDS 2");
//! println!("{} hides {}", file.layer().path().display(), file.hidden().count()); // /…/MyMod hides 1
//! # assert!(file.layer().path().ends_with("MyMod") && file.hidden().count() == 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A source may also be an installed game, by its id: `Vfs::open(["skyrimse"])` opens what Skyrim loads.
//! [`Vfs::open`] is short for [`OpenOptions::open`]. A [`Vfs`] is one tree of [files](VfsFile), merged
//! from [layers](VfsLayer). It finds a file, ignoring case, reads it whole, in pieces or through
//! [`std::io::Read`], and knows what the file hides. [`Vfs::conflicts`] compares layers, [`Vfs::diff`]
//! compares trees, and [`Vfs::reopen`] follows the disk. Errors are [`OpenError`] and [`ReadError`].
//!
//! # Guarantees
//!
//! * **Threads**: all types are `Send` and `Sync`. Any number of threads may read from one `Vfs`, also from
//!   the same file. If several need the same compressed part at once, one decodes it.
//! * **A `Vfs` does not change**: its names, layers and conflicts stay as they were when it was opened. A
//!   read of a loose file returns the bytes that the file has at that time. If an archive is written to, or
//!   only its time is set, reads return cached bytes or fail until it is opened again. If another file
//!   replaces an archive by a rename, reads return the old bytes; those of a loose file may also fail.
//! * **What is cached**: decoded parts of compressed files, up to [`OpenOptions::cache_size`]. Parts that are
//!   read in pieces may exceed that by 256 MiB, and a single larger part may too. Free buffers take up to 64
//!   MiB. Loose files and uncompressed ones are read from the disk each time; 128 loose files stay open.
//! * **What is checked**: each count, offset and length in an archive, before it is used. Checksums of zlib
//!   and LZ4 frames, whenever such a part is decoded whole, as [`VfsFile::read`] does. A short read at the
//!   beginning of a long file or of a mip checks none; stored files, LZ4 blocks and XMem have none.
//! * **Hostile files**: no content of a file causes a panic. A damaged file gives an error, and others stay
//!   readable. Opening an archive takes time in proportion to its length.
//! * **Memory**: `src/limits.rs` has a table of all limits. An archive has at most 16,777,216 files, a folder
//!   4,194,304, and [`VfsFile::read`] reads at most [`OpenOptions::read_limit`]. Without memory for a large
//!   buffer, a call returns an error.
//! * **No side effects**: the library reads its sources; only `pack` writes files. It prints nothing;
//!   warnings go to the crate `log`. Outside of a `Vfs`, it keeps only buffers.
//!
//! # Stability
//!
//! Until 1.0, a release that changes or removes an item on this page raises the second number of the
//! version: code for 0.1.0 compiles with 0.1.1, but perhaps not with 0.2.0. A release that needs a newer Rust
//! raises it too. Other releases only add items, and variants to `#[non_exhaustive]` enums. `CHANGELOG.md`
//! lists the changes. Everything that is hidden from this page exists for the crate's own tests, and may
//! change at any time.
//!
//! # Features
//!
//! The default feature `program` adds the program `bsafs`: its command line, mounts, and their daemon. A
//! program that uses the library sets `default-features = false`.
//!
//! # For maintainers
//!
//! `src/ARCHITECTURE.md` is the map of the code: its parts, its words, the paths of a read, a mount, a change
//! and a pack, and recipes for a new format, codec, command, option or game.

// Code that only the program uses is unused in a build without it.
#![cfg_attr(not(feature = "program"), allow(dead_code, unused_imports))]
#![forbid(unsafe_code)]

// The rooms are public for the crate's own tests, fuzz targets and oracles. They are not part of
// the library's API, so their documents are for readers of the code.
pub(crate) mod answers;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod archive_file;
#[cfg(feature = "program")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod cli;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod content;
#[cfg(feature = "program")]
pub(crate) mod daemon;
#[cfg(feature = "program")]
pub(crate) mod failure;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod folder;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod format;
#[cfg(feature = "program")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fs;
#[cfg(feature = "program")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuse;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod game;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod kinds;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod limits;
#[doc(hidden)]
pub mod mesh;
#[cfg(feature = "program")]
pub(crate) mod mounts;
mod named;
#[doc(hidden)]
pub mod note;
pub mod pack;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod picture;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod read;
pub(crate) mod shown;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod system;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod texture;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod tree;
pub(crate) mod vfs;
#[cfg(feature = "program")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod watch;

pub use answers::{Change, Comparing, Conflict, Difference, FileCopy, Provenance, Reopened};
pub use content::TextureForm;
pub use content::codec::Quirk;
pub use format::{ParseError, ParseErrorKind};
pub use note::{Note, NoteCode};
pub use vfs::{
    BadPattern, CACHE_SIZE, FileReader, FolderArchives, Layout, OpenError, OpenErrorKind, OpenOptions,
    Patterns, READ_LIMIT, ReadError, ReadErrorKind, Vfs, VfsEntry, VfsFile, VfsFolder, VfsLayer,
};
#[doc(hidden)]
pub use {answers::NotLookedAt, vfs::Opened};
