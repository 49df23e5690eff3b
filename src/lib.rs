//! bsafs opens what Bethesda's games open: every BSA and BA2 archive (Arena to Starfield, PC and consoles), folders of loose
//! files, and installed games with their mods, in the order in which the game loads them.
//!
//! This crate is the library, and, with its default features, the program `bsafs`, which mounts all of that as a read-only
//! folder.
//!
//! # The library
//!
//! ```no_run
//! let vfs = bsafs::Vfs::open(["skyrimse", "MyMod.bsa"])?;
//! let file = vfs.file(r"Textures\Clutter\Bucket01.dds").ok_or("not there")?;
//! let bytes = file.read()?;
//! println!("{} hides {}", file.layer().path().display(), file.hidden().count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Vfs::open`] is short for [`OpenOptions::open`]. A [`Vfs`] is one tree of [files](VfsFile), made of
//! [layers](VfsLayer): it finds a file in any case, reads it whole, in pieces or through [`std::io::Read`], and knows what
//! the file hides. [`Vfs::conflicts`] and [`Vfs::diff`] compare layers and trees, [`Vfs::reopen`] follows the disk. Errors
//! are [`OpenError`] and [`ReadError`]. Everything else in this crate is hidden from this page: it is open to the crate's
//! own tests, and may change at any time.
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` | the program with the commands that mount nothing |
//! | `mount` | mounts, their daemon, and the commands for them |
//! | `desktop` | `bsafs open`, messages on the desktop; needs the two above |
//! | `completion` | what the Tab key offers; needs `cli` |
//! | `pictures` | `bsafs thumbnail` |
//!
//! All are on by default. A program that uses the library says `default-features = false`.
//!
//! # The rooms
//!
//! ```text
//!   cli                        arguments, commands, output, exit codes
//!    │
//!   mounts                     all mounts of this machine: status, who uses them
//!    │
//!   daemon                     the life of a mount: mountpoint, log, following the disk, overlay
//!    │
//!   fuse                       the kernel: adaptor, workers, notifications, mount(2)      fuse/FUSE.md
//!    │
//!   fs                         file system operations on a view, in plain types
//!    │
//!   vfs                        the library: sources -> layers -> tree and bytes
//!    ├──────────┬─────────┐
//!   tree     content     game  names; bytes on demand; what a game loads, and why
//!    │          │         │
//!   format ─────┴─────────┘    archives as plain types; one file for each archive format  format/FORMATS.md
//!
//!   folder  archive_file  watch      loose files; an archive on disk; changes on the disk
//!   picture  texture                 texels as pictures; headers and pixel formats
//!   read  system  limits             bytes in bounds; the operating system; what bounds memory
//! ```
//!
//! A room imports from rooms below it. `tests/layering.rs` has the exact table and fails on any other import. Inside a room,
//! `mod.rs` is the door: it says what each file is for, and re-exports what other rooms use. Files import in one direction,
//! and a type lives in the file that has its name.
//!
//! The crate is an hourglass: `format` parses the bytes of any archive into one plain `Archive`, and nothing below knows what
//! a BSA is. `tree` (names) and `content` (bytes) never import each other; `vfs` joins them.
//!
//! # The path of a read
//!
//! 1. `fuse/adaptor.rs`: fuser calls it with a READ for an inode number.
//! 2. `fuse/device_queues.rs`: the request runs at once, or waits in the queue of its device if that has its share of workers.
//! 3. `fs/view.rs`: finds the entry of the number, an archive and a file in it.
//! 4. `content/read.rs`: cuts the range at the borders of the file's head and extents.
//! 5. `content/read_strategy.rs`: decides for each piece how it is read.
//!
//!    | `ReadStrategy` | if | the bytes come from |
//!    |---|---|---|
//!    | `Stored` | the extent is not compressed | one positioned read |
//!    | `Whole` | the whole extent is requested | a decode into the reply; nothing is cached |
//!    | `Prefix` | the piece is near the beginning of a long extent | a decode of that much; nothing is cached |
//!    | `Cached` | in all other cases, and if the extent is cached already | the cache; decoded once |
//! 6. `content/decode.rs`, `content/cache.rs`: one reader decodes an extent, others wait for it.
//! 7. `content/layer.rs`, `archive_file/`: read the packed bytes, and check whether the archive was changed meanwhile. If
//!    so, the read is an error.
//! 8. `content/codec/`: decodes the payload into a buffer of the declared size.
//!
//! A loose file is read by `folder/` after step 3. The reply is sent from where the bytes are. A second read of the same bytes
//! does not reach the daemon.
//!
//! # The path of a mount
//!
//! `cli/command/mount.rs` runs. In the background, it starts the program again as the daemon (`daemon/detach.rs`), which does
//! all that follows, and waits for its report. -> `cli/options/mount_plan.rs` takes command line, profiles and `-o` together
//! -> `vfs/sources/resolve.rs` plans what games load, through `game/plan/` -> `vfs/open.rs` walks folders, and opens and parses archives in parallel -> `tree/merge.rs`
//! merges their names in load order -> `cli/command/mount.rs` prepares everything that can fail: the log, the mountpoint,
//! threads and descriptors -> `fuse/mount.rs` mounts -> the daemon leaves the terminal and reports success -> the session
//! serves until `umount` or a signal, unmounts, and removes the mountpoint if it was made. After mount(2) every
//! failure unmounts.
//!
//! # The path of a change
//!
//! `daemon/follow.rs` waits for `watch` or SIGUSR1, and until the disk is quiet -> `vfs/reopening.rs` opens the sources again
//! beside those that are served; `vfs/reuse.rs` keeps a source that cannot be opened now, and what is known of loose files in
//! folders in which nothing happened -> `fs/filesystem.rs` takes over unchanged archives (`content/later_view.rs`), compares
//! both trees (`tree/comparison.rs`), swaps the view and has the kernel notified of each name that changed
//! (`fuse/notify.rs`) -> files that are open go on from the old sources (`fs/retired.rs`). `FUSE.md` 9 has the reasons.
//!
//! # Where to find
//!
//! | question | place |
//! |---|---|
//! | Why do opens send no message? | `FUSE.md` 2.2: ENOSYS to the first OPEN; `open` in `fuse/adaptor.rs` |
//! | How is a path found in any case? | `tree/hash_index.rs`: a hash of the folded name; spellings of folders: `tree/spelling.rs` |
//! | Which name is shown for a node? | `Tree::name`, and nothing else |
//! | Who wins if two layers have a path? | `tree/merge.rs`, by the rule that the caller passes |
//! | Which archives does a game load, and why? | its row in `game/titles/`, the plan in `game/plan/`; `bsafs order` prints it |
//! | Where is a game looked for? | `game/find/`; `bsafs games` prints what is found |
//! | Which files count as archives? | the extensions in the rows of `FORMATS`, `format/mod.rs` |
//! | Where is a wrong checksum noticed, and what then? | `content/codec/zlib.rs`, `lz4_frame.rs`; EIO, unless `--salvage` says otherwise in `content/decode.rs` |
//! | Which error does a program get? | the match at the end of `fuse/adaptor.rs` |
//! | Which exit code does a command have? | `cli/exit.rs`, for every error of the library |
//! | What does the kernel cache, and for how long? | `FUSE.md` 2.1 to 2.4: everything, until a view differs |
//! | What if a disk fails or hangs? | EIO, and a line in the log for each outage; `fuse/device_queues.rs` keeps a worker free |
//! | How are all mounts listed, even if a daemon hangs? | `mounts/status.rs`: a subprocess asks each, with a time limit |
//! | What bounds memory? | `limits.rs`, with a table |
//! | What is measured, and what was tried? | `tests/bench/RESULTS.md` |
//!
//! # Recipes
//!
//! * **A format**: one file in `format/` with its row, `pub(super)`; its `mod` line, and its line in `FORMATS`, before
//!   Morrowind's, whose magic number is a likely count of files. Every list of extensions follows. A section in `FORMATS.md`.
//!   If an extension is new, a test asks for it in `scripts/share`.
//! * **A codec**: one file in `content/codec/`, its `mod` line, its variant of `Codec`, its line of the table in
//!   `content/codec/table.rs`.
//! * **A command**: one file in `cli/command/`, its `mod` line, and in `cli/args.rs` its variant and its arm. Help, manual and
//!   completions follow; tests ask for its line in `tests/cli/documents.rs` and for the snapshot of its help.
//! * **A mount option**: one row in `cli/options/option_table.rs`; then the code that acts on it: `fs::Presentation` has
//!   owners and permissions, `fuse::MountRequest` what the kernel gets. What changes names or bytes is an option of opening: a
//!   field of `OpenOptions`, a line in its `set` and one in `over`.
//! * **A texture format**: one row in `texture/pixel_format.rs`; its picture follows from its name, unless it is of another
//!   make than the others: then an arm of `picture/texels.rs`.
//! * **A game**: one row in `game/titles/`; the lists of its unchanged INI files in `vanilla.rs` there.
//!
//! # Tests
//!
//! `cargo test` runs all of them: unit tests beside the code, the others in `tests/`, a file or folder for each room. A filter
//! is a path: `cargo test mount::caching` runs one file of mount tests. Mounts need `/dev/fuse`, as root or with
//! `fusermount3`. `scripts/check` is the gate, `scripts/fuzz` mutates inputs, `scripts/soak` compares every byte of two mounts
//! while daemons, archives and caches come and go, `scripts/bench` measures.

// What only the program uses is not used without it.
#![cfg_attr(not(all(feature = "completion", feature = "desktop")), allow(dead_code, unused_imports))]
#![forbid(unsafe_code)]

// The rooms are open to the crate's own tests, fuzz targets and oracles. They are no part of the library.
#[doc(hidden)]
pub mod archive_file;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod content;
#[cfg(feature = "mount")]
pub(crate) mod daemon;
#[doc(hidden)]
pub mod folder;
#[doc(hidden)]
pub mod format;
#[cfg(feature = "mount")]
#[doc(hidden)]
pub mod fs;
#[cfg(feature = "mount")]
#[doc(hidden)]
pub mod fuse;
#[doc(hidden)]
pub mod game;
#[doc(hidden)]
pub mod limits;
#[cfg(feature = "mount")]
pub(crate) mod mounts;
#[cfg(feature = "pictures")]
#[doc(hidden)]
pub mod picture;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod system;
#[doc(hidden)]
pub mod texture;
#[doc(hidden)]
pub mod tree;
pub(crate) mod vfs;
#[cfg(feature = "mount")]
#[doc(hidden)]
pub mod watch;

pub use content::TextureForm;
pub use content::codec::Quirk;
pub use format::ParseError;
pub use game::{NoteCode, PlanNote};
#[doc(hidden)]
pub use vfs::Opened;
pub use vfs::{
    BadPattern, CACHE_SIZE, Change, Comparing, Conflict, Difference, FileCopy, FileReader, FolderArchives,
    Layout, OpenError, OpenErrorKind, OpenOptions, Patterns, Progress, Provenance, READ_LIMIT, ReadError,
    ReadErrorKind, Reopened, Vfs, VfsEntry, VfsFile, VfsFolder, VfsLayer,
};
