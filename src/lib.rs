//! bsafs mounts the archives of Bethesda's games (BSA and BA2, Arena to Starfield, of PC and consoles) as a read-only
//! folder, and lists, checks and extracts them.
//!
//! This page is the map of the crate. The formats are described byte by byte in [`mod@format`], the reasons for the
//! mount's design in [`fuse`]; both pages are files beside the code (`src/format/FORMATS.md`, `src/fuse/FUSE.md`).
//!
//! # Layers
//!
//! ```text
//!        read        texture                    import nothing of the crate
//!           ▲           ▲
//!           └─────┬─────┘
//!   TES3  TES4  BA2  Arena  Daggerfall           format: one file an archive format
//!        └────┴────┼────┴─────┘
//!      Archive, Entry, Extent, Codec             format: the waist, plain types
//!           ▲           ▲
//!           │           │   source, folder       an archive file; a folder of loose files: names, positioned reads
//!           │           │          ▲
//!         tree       content ──────┤             names; bytes: neither imports the other
//!           └──────────────────────┘             (tree imports folder alone)
//!           ▲           ▲
//!           └─────┬─────┘
//!                fs                              operations, FUSE adaptor, session, mount
//!                 ▲
//!                cli ────────► game              one file a command; what a game loads, in which order and why
//!
//!   data flows down; an arrow is an import, and there is no other (fs also imports the waist)
//! ```
//!
//! The crate is an hourglass. [`mod@format`] parses the bytes of any archive into one plain [`format::Archive`]; nothing
//! below knows what a BSA is. [`tree`] and [`content`] both use the waist and never each other: names and bytes are joined
//! in [`fs`]. `picture`, which makes thumbnails, imports [`texture`] alone; the feature `thumbnails` has it. [`read`], [`texture`] and [`mountinfo`] import nothing of the crate; [`source`], [`mod@folder`], [`game`] and [`watch`] open paths by
//! way of [`covered`], for a mount may cover what it is made of. [`fs`], [`game`] and `cli` read the mount table by [`mountinfo`]. A loose file is an entry of
//! one stored extent in a file of its own. [`game`] plans which archives and folders a game loads and opens none of them;
//! `cli` opens what it planned.
//!
//! Inside a room the same rule holds: `mod.rs` is its table of contents, types live in files that bear their names, and
//! files import in one direction. `tests/layering.rs` reads the source and fails on any other import.
//!
//! # The walk of a read
//!
//! 1. The kernel sends READ for an inode number. A worker thread of fuser calls the adaptor (`fuse/adaptor.rs`), which runs it
//!    there, or leaves it in the queue of the archive's device if that has its share of the workers (`fuse/device_queues.rs`).
//! 2. The operation (`fs/view.rs`, of the current view) finds the node of the number and the entry of the node: an archive and a file
//!    in it.
//! 3. The store (`content/read.rs`) cuts the range at the borders of the file's head and extents (`content/read_strategy.rs`). The
//!    head is synthesised; textures that are made linear are decoded whole into the cache (`content/linear.rs`).
//! 4. Each piece of an extent has a `ReadStrategy` (`content/read_strategy.rs`):
//!
//!    | `ReadStrategy` | when | bytes come from |
//!    |---|---|---|
//!    | `Stored` | the extent is not compressed | one positioned read |
//!    | `Whole` | all of the extent is requested | decoded into the reply, not cached |
//!    | `Prefix` | near the beginning of a file's long first extent, see `PREFIX_LEN`; or from the beginning of a later one, see `ALONE_LEN` | as much decoded as is requested, not cached |
//!    | `Cached` | any other range, or the extent is cached already | decoded once, kept in the cache |
//! 5. The cache (`content/cache.rs`) returns the decoded extent or has one reader decode it while others wait.
//! 6. The codec ([`content::codec`]) decodes a payload into a buffer of the declared size.
//! 7. [`source`] reads the packed bytes (a loose file is read by [`mod@folder`] right away, without steps 4 to 6), and then
//!    looks whether the archive was changed (device, inode, size, mtime; where only the ctime moved, a digest of the tables):
//!    if so the read is an error.
//! 8. The reply is sent from where the bytes are. A cache that exceeds its size meanwhile is brought back by a thread of its
//!    own (`fuse/notify.rs`).
//!
//! A second read of the same bytes does not reach the daemon.
//!
//! # The walk of a mount
//!
//! parse arguments, `-o` and profiles (`cli/mount_plan.rs`, `cli/source_set.rs`) -> plan what games load ([`game`], by `cli/sources.rs`) -> walk
//! folders (`cli/layer_plan.rs`) -> open and parse all archives in parallel (`cli/open.rs`) -> merge their names in load order
//! and freeze the tree ([`tree::merge()`]) -> open and start everything that can fail: the log (`cli/logging.rs`), threads and
//! descriptors (`fuse/session.rs`) -> mount(2) or fusermount3 (`fuse/mount.rs`) -> INIT and worker threads -> detach from the terminal and the process group, report success (`cli/daemon.rs`) -> serve until `umount`
//! or a signal -> unmount -> remove the mountpoint if it was made. After mount(2) every failure unmounts.
//!
//! # The walk of a change
//!
//! A thread (`cli/follow.rs`) waits for inotify ([`watch`]) or SIGUSR1 -> when it was quiet for a moment, all sources are planned and
//! opened anew beside those that are served (`cli/reopening.rs`); what is known of loose files where nothing happened is carried
//! over (`folder/carry_over.rs`), and what cannot be opened is kept as it is mounted (`cli/earlier_view.rs`) -> archives that did
//! not change are taken over (`content/later_view.rs`) -> both trees are compared, and the later one is numbered (`tree/comparison.rs`) -> the view is
//! replaced, and the kernel is notified name by name (`fs/filesystem.rs`, `fs/invalidation.rs`, `fuse/notify.rs`) -> what is open goes on from the old
//! sources (`fs/retired.rs`). `FUSE.md` 9 has the reasons.
//!
//! # Where to find
//!
//! | question | place |
//! |---|---|
//! | why do opens send no message? | `src/fuse/FUSE.md` 2.2: ENOSYS to the first OPEN; `open` in `fuse/adaptor.rs` |
//! | how is a path found in any case? | hash of the folded name: [`tree`]; spellings of folders: `tree/spelling.rs`, `FUSE.md` 2.13 |
//! | who wins where two archives have a path? | [`tree::merge()`] |
//! | which archives does a game load, and why? | its row in `game/titles/`, the plan in `game/plan/`; `bsafs order` prints it |
//! | what does the Tab key offer? | `cli/expected.rs` and `cli/candidates.rs`, by way of `bsafs complete` and the scripts in `cli/completion_scripts/` |
//! | where is a game looked for? | `game/find/`; `bsafs games` prints what is found |
//! | where is a wrong checksum noticed, and what then? | `content/codec/zlib.rs` and `lz4_frame.rs`: [`content::codec::DecodeError::Suspect`], EIO; a missing one is a [`content::codec::Quirk`] |
//! | where does `--salvage` act? | `decode` in `content/decode.rs`, alone |
//! | where is a damaged extent noticed? | [`content::codec::decode`]; its size is checked before, in `content/store.rs` |
//! | how are links in folders of loose files followed, and what keeps a read out of our own mount? | [`mod@folder`] |
//! | which error does a program get? | the end of `fuse/adaptor.rs`, one match |
//! | which name is shown for a node? | [`tree::Tree::name`] alone decides it |
//! | what does the kernel cache, and for how long? | `FUSE.md` 2.1 to 2.4: everything, until a view differs |
//! | what happens when an archive changes? | the walk of a change, above; [`source`]: EIO meanwhile |
//! | what when its disk fails or hangs? | EIO, and a line in the log for each outage; `fuse/device_queues.rs` keeps a worker free, `fs/sizes.rs` tells no size that is not known |
//! | how are all mounts listed, though a daemon hangs? | `cli/mount_status.rs`: each is asked by a process of its own, in a bounded time; `cli/holders.rs` finds who uses a mount by device numbers alone |
//! | where does `bsafs open` mount, and what ends that? | `~/bsafs/NAME`: GLib shows no mounts below dot folders or the runtime directory; `cli/desktop_open.rs`, `cli/mounts_folder.rs`, `cli/user_manager.rs` |
//! | what is measured, and what was tried and left out? | `tests/bench/RESULTS.md` |
//!
//! # Memory
//!
//! [`limits`] has what the daemon holds, and the constants that bound it.
//!
//! # Recipes
//!
//! * **A format**: one file in `src/format/` with its row, whose extensions folders, games and completion recognise; in
//!   `src/format/mod.rs` its `mod` line and its line in `FORMATS`. A section in `FORMATS.md`. If an extension is new, a test
//!   asks for it in `scripts/share`.
//! * **A codec**: one file in `src/content/codec/` and its `mod` line; its variant of [`format::Codec`] and that variant's
//!   name; its line of the table in `src/content/codec/table.rs`.
//! * **A command**: one file in `src/cli/`, its `mod` line, and in `src/cli/args.rs` its variant and its arm. Help, the
//!   manual and completions follow by themselves; `tests/cli/documents.rs` fails until its list has the command, and a test in
//!   `cli/expected.rs` until the name of each value is known to completion.
//! * **A mount option**: one row of the table in `src/cli/option_table.rs`, from which parsing, `--help`, the manual,
//!   completions and the tests are made; then the code that acts on it: [`fs::Presentation`] is how nodes appear,
//!   [`fuse::MountRequest`] what the kernel gets.
//! * **A texture format**: one row in `src/texture/pixel_format.rs`; its picture follows from its name, unless it is of
//!   another make than the others: then an arm of `src/picture/texels.rs`.
//! * **A game**: one row in `src/game/titles/`; the lists of its unchanged INI files in `vanilla.rs` there.
//!
//! # Tests
//!
//! `cargo test` runs all of them: unit tests beside the code, the others in `tests/`, one file a noun. A filter is a path:
//! `cargo test mount::caching` runs one file of mount tests, `cargo test format::` the parsers. Mounts need `/dev/fuse`,
//! as root or with `fusermount3`. `scripts/check` is the gate, `scripts/fuzz` mutates inputs, `scripts/soak` compares
//! every byte of two mounts while daemons, archives and caches come and go, `scripts/bench` measures.

// What only the program uses is not used without it.
#![cfg_attr(not(all(feature = "completion", feature = "desktop")), allow(dead_code, unused_imports))]
#![forbid(unsafe_code)]

pub mod archive_file;
#[cfg(feature = "cli")]
pub mod cli;
pub mod content;
#[cfg(feature = "mount")]
pub mod daemon;
pub mod folder;
pub mod format;
#[cfg(feature = "mount")]
pub mod fs;
#[cfg(feature = "mount")]
pub mod fuse;
pub mod game;
pub mod limits;
#[cfg(feature = "mount")]
pub mod mounts;
#[cfg(feature = "pictures")]
pub mod picture;
pub mod read;
pub mod system;
pub mod texture;
pub mod tree;
pub mod vfs;
#[cfg(feature = "mount")]
pub mod watch;

pub use vfs::{
    BadPattern, CACHE_SIZE, Change, Comparing, Conflict, Difference, FileCopy, FileReader, FolderArchives,
    Layout, OpenError, OpenErrorKind, OpenOptions, Patterns, Progress, Provenance, READ_LIMIT, ReadError,
    ReadErrorKind, Vfs, VfsEntry, VfsFile, VfsFolder, VfsLayer,
};
