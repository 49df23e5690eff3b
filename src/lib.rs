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
//! [`Vfs::open`] is short for [`OpenOptions::open`]. A [`Vfs`] is one tree of [files](VfsFile), merged from
//! [layers](VfsLayer). It finds a file in any case, reads it whole, in pieces or through [`std::io::Read`],
//! and knows what the file hides. [`Vfs::conflicts`] compares layers, [`Vfs::diff`] compares trees, and
//! [`Vfs::reopen`] follows the disk. Errors are [`OpenError`] and [`ReadError`].
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
//!    │   pack                  writes archives: plan, encode, read back, place
//!    ├────┘
//!   answers                    what became of a file and why; how trees differ; what is missing
//!    │
//!   vfs                        the library: sources -> layers -> tree and bytes
//!    ├──────────┬─────────┐
//!   tree     content     game  names; bytes on demand; what a game loads, and why
//!    │          │         │
//!   format ─────┴─────────┘    archives as plain types; one file per archive format       format/FORMATS.md
//!
//!   folder  archive_file  watch      loose files; an archive on disk; changes on the disk
//!   picture  texture                 texels as pictures; headers and pixel formats
//!   mesh                             names of other files in meshes and materials
//!   read  system  limits             bounds-checked reads; the operating system; limits of memory
//!   note  shown  failure             notes; how names are printed; the program's one error
//!   kinds  named                     what endings and folders are, and who opens them; enums that are tables
//! ```
//!
//! A room is a top-level module. It imports only from rooms below it. `tests/layering.rs` has the
//! exact table and fails on any other import. Inside a room, `mod.rs` is the door: it says what the
//! files are for if their names do not, and re-exports what other rooms use. Files import in one
//! direction, and a file is one answer to "how does this work?", with the types, errors and helpers of that.
//!
//! The crate is an hourglass: `format` parses the bytes of any archive into one plain `Archive`,
//! and the rest of the crate works with that. `tree` (names) and `content` (bytes) never import
//! each other; `vfs` joins them.
//!
//! # The path of a read
//!
//! The files named here are those to open for a READ of a file in an archive, in this order; what is in
//! brackets need not be opened.
//!
//! 1. `read` in `fuse/adaptor.rs` receives a READ for an inode number from fuser, and sends the reply. (It
//!    counts the request. It takes the current view, which never changes: `View::opened` is a tree of names
//!    and a store of bytes. `record_used_file` counts the folder as used if some folders have no watch.)
//! 2. `DeviceQueues::run` in `fuse/device_queues.rs` runs the read at once, as soon as step 3 has found the
//!    device. If the device already uses its share of workers, or if only one worker is free, the request
//!    waits in the queue of the device. After the reply, a worker that is not needed rests.
//! 3. `fs/read.rs`: `ReadTarget::find` takes the node with the inode number from the tree. Its `EntryId`, a
//!    layer and a number in it, is the file in the store. `answer` reads it, logs a fault once, and starts a
//!    reload if the archive has changed. (`record_read` in `fs/prefetch.rs` may let other threads decode what
//!    comes next. `free_after_read` has the cache shrink soon. The end of the file is on loose files.)
//! 4. `StoredFile::read_at` in `content/stored_file.rs`: the layer is an archive or a folder, and a file of
//!    an archive is shown as it is stored, or as a texture in another form. (`LayerTables::form` knows that.)
//! 5. `PlainFile::read` in `content/read/plain_file.rs` cuts the range at the borders of the file's head and
//!    extents, and at the end of the file.
//! 6. `FileExtent::read` in `content/read/file_extent.rs` decides how each extent is read. It checks the size
//!    of a packed one, and decodes it:
//!
//!    | `ReadStrategy` | if | the bytes come from |
//!    |---|---|---|
//!    | `Stored` | the extent is not compressed | one positioned read |
//!    | `Whole` | the whole extent is requested | a decode into the reply; not cached |
//!    | `Prefix` | the piece is near the beginning of an extent | a decode up to its end; not cached |
//!    | `Cached` | in all other cases, and if the extent is cached already | the cache; decoded once |
//!
//!    If the stream of a `Prefix` ends early, the whole extent is decoded into the cache. `read_payload` in
//!    the same file reads the packed bytes, and finds where the payload begins. (The tables of the archive,
//!    `content/layer_tables.rs`, say where each extent is, how long, and in which codec.)
//! 7. `Cache::decode_once` in `content/cache.rs`, only for `Cached` and if the bytes are not there: each
//!    thread that needs them reads the payload, then one decodes it, and the others wait. A thread that needs
//!    a large buffer may wait there until others are freed.
//! 8. `Scattered::watch` in `content/read/scattered.rs` runs each read of an archive, and measures it. If
//!    many reads of a disk seek, a thread reads the archive ahead in the order of its data.
//! 9. `read_exact_at` in `archive_file/archive_file.rs` is that read. Afterwards it checks whether the
//!    archive changed. If it did, the read fails.
//! 10. `codec::decode` in `content/codec/table.rs` has a decoder for each codec, such as `zlib.rs`, which
//!     fills a buffer of the declared size. A `Prefix` reads and decodes only as much as it needs.
//!
//! Two kinds of files leave this path at step 4: loose files, which `folder/loose_folder.rs` reads, and
//! textures in other forms, which `content/textures/` makes from what steps 5 to 10 read.
//!
//! The daemon sends a reply directly from the memory that has the bytes. The kernel answers a second read of
//! the same bytes from its page cache.
//!
//! # The path of a mount
//!
//! The files named here are those to open for `bsafs mount skyrimse`. What a whole sentence in brackets says
//! need not be read in the code. `cover` and `uncovered` are everywhere: they give the path below the mount
//! of this process, if the mountpoint is also a source.
//!
//! 1. `cli/run.rs` parses the arguments and runs `cli/command/mount/mount.rs`. Its `MountPlan` applies
//!    options one after the other by the rows of `cli/options/option_table.rs`: those of profiles, the
//!    command line, and `-o`. Then it knows sources and mountpoint. (Profiles are replaced by the sources
//!    that they name, and mounts of bsafs by their own: `named_sources.rs`, `mount_as_source.rs`. `skyrimse`
//!    is neither.)
//! 2. To mount in the background, `daemon/detach.rs` starts the program again as the daemon, and waits for
//!    its report. The daemon begins with step 1 and does all that follows. (With `setuid=`, root starts it as
//!    that user: `daemon/user.rs`.)
//! 3. `vfs/opening/open.rs` has `vfs/sources/resolve.rs` find out what each source is. It asks
//!    `game/load_order.rs`, the door of `game`, for the load order of `skyrimse`: layers with reasons, the
//!    rule by which one wins, plugins, settings and notes. (`game/find/` finds the game and its prefix, and
//!    `game/plan/` plans.) `vfs/sources/layer_plan.rs` says how each layer is opened: which files of a folder
//!    count, and whether a layer may be missing. (`for_others.rs` there refuses what another user can change,
//!    if root shows it.)
//! 4. `vfs/opening/open.rs` then walks folders in `folder/scan.rs`, and opens and parses archives in
//!    `vfs/opened_archive.rs`, in parallel. What remains of an archive are its names, and the tables that
//!    `content` needs to read it.
//! 5. `tree/merge.rs` merges the names of all layers, lowest first, by the rule of step 3.
//! 6. `daemon/mountpoint.rs` prepares the mountpoint. It is opened once, by the walk of `system/walk.rs`,
//!    because another user may rename folders above it. (A folder that is made for it is marked, so that it
//!    is removed later: `daemon/mounts_folder.rs`. `cli/terminal/report.rs` says what was found.)
//!    `daemon/service.rs` puts the mount together: the log, the file system, the handler of SIGUSR1, and what
//!    follows.
//! 7. `fuse/session.rs` reserves descriptors, has `fuse/mount.rs` mount (root on the mountpoint that was
//!    opened, other users by fusermount3), answers INIT by `init` in `fuse/adaptor.rs`, and starts the
//!    workers. If that fails, it unmounts.
//! 8. The daemon leaves the terminal and reports success. Then `Follower::start` in `daemon/watching.rs`
//!    starts two threads. That of `daemon/follow.rs` watches the disk, and finds what changed since the
//!    sources were opened.
//! 9. The session serves until the mount ends: by `umount`, or because a signal has the daemon unmount
//!    (`fuse/unmount.rs`). Then the daemon removes a mountpoint that it created.
//!
//! # The path of a change
//!
//! The files named here are those to open for a loose file that was written to. What a whole sentence in
//! brackets says need not be read in the code.
//!
//! 1. `Watching::step` in `daemon/watching.rs` waits for events of inotify, for SIGUSR1, and for changes of
//!    the mount table. It notes in the `Trigger` of step 5 in which folders something changed. (`read_events`
//!    in `watch/watcher.rs` says for each event in which folder and what it means. `DiskChanges` is the set
//!    of changed folders. `asleep::at` gives up what a disk does not answer. `daemon/polling.rs` checks
//!    folders without a watch.)
//! 2. `fs/disk_events.rs` is called at once. `record_written_file` finds the inode number that shows the file,
//!    and stats the file. If a name was added or removed, `record_changed_name` has the kernel drop it, and a
//!    LOOKUP of it waits for the next view (`fs/remembered/pending.rs`).
//! 3. `WrittenFiles::follow` in `fs/remembered/written.rs` has the size and time that the mount shows from
//!    now on, before any reload: the smaller size until the kernel has dropped its pages, then the new one.
//!    (Until then, `fuse/adaptor.rs` lets a GETATTR and a LOOKUP of the file wait.)
//! 4. `Notify::drop_pages` in `fuse/notify.rs` has the kernel drop the pages and then the attributes of the
//!    file, in a thread of its own, because that waits for READs under way.
//! 5. `daemon/follow.rs` reloads in a second thread. `Trigger::wait` returns when the disk is quiet or a
//!    LOOKUP waits. `reload` opens the sources again (steps 6 to 8), and replaces the view (steps 9 to 11).
//!    (Then `watch` requests watches for new folders. Mounts are compared in `daemon/disks.rs`.)
//! 6. `Reopening::open` in `vfs/opening/reopening.rs` keeps the plan of the layers, unless this is the first
//!    reload, or something changed that the plan depends on. `Reuse` says what of the served view stays: an
//!    archive whose path, size and times did not change, a folder in which nothing changed, and a source that
//!    cannot be opened now.
//! 7. `Opened::open_plan` in `vfs/opening/open.rs` asks it for each layer, and opens the others, as steps 4
//!    and 5 of a mount do.
//! 8. `Scans::scan_again` in `folder/scan.rs` lists the top and the changed folders, and copies all else.
//!    After SIGUSR1, or if events were lost, all are listed. What proves to be the same then goes on, and if
//!    nothing changed, so does the whole tree.
//! 9. `FileSystem::replace` in `fs/filesystem.rs` swaps the view. (`Store::take_over` goes on with the
//!    earlier archive if one that was opened again proves to be the same. `fs/remembered/retired.rs` keeps
//!    the bytes of open files that are gone.)
//! 10. `compare` in `tree/comparison.rs` gives each node of the new tree the number that it had, and collects
//!     names, folders and files that differ.
//! 11. `LooseFolder::change_since` in `folder/stale.rs` stats a file again that the kernel knows, and says
//!     whether it is another file or was written to. What differs goes to step 4, names and folders as well.
//!
//! The next READ goes to `folder/loose_folder.rs`.
//!
//! A READ that finds its archive changed, or that fails as if its disk was lost, starts a reload, too
//! (`fs/read.rs`). It need not say which archive, because each reload stats all archives.
//!
//! `FUSE.md` 9 has the reasons.
//!
//! # The path of a pack
//!
//! As for a mount, what a whole sentence in brackets says need not be read in the code.
//!
//! 1. `cli/command/write/pack.rs` makes the `PackOptions` of `pack/pack_options.rs`, which has the rules of
//!    the game from `game/titles/packing.rs`, and opens the sources as steps 3 to 5 of a mount do.
//! 2. `pack/plan.rs` plans. `pack/source.rs` lists each copy of a file that a layer has, and refuses a source
//!    whose files of a game begin further down, or that is a game's own folder. `pack/verdict.rs` says what
//!    stays loose, and what is not compressed. Files are grouped, split by size and named; `pack/planned.rs`
//!    has the result. For each archive, `format/write/new_archive.rs` sorts the files, and refuses
//!    collisions. `new_entry.rs` there makes their stored paths and hashes.
//! 3. `pack/write.rs` opens the output folder, checks what is there, and has `system/new_file.rs` make a file
//!    without a name for each archive. (The one walk that follows no link of another user is in
//!    `system/walk.rs`.)
//! 4. `pack/archive_writer.rs` writes the data that the threads of `pack/pipeline.rs` read and encode, in
//!    order, and around it the tables of `format/write/tes4.rs`, `tes3.rs` or `ba2.rs`. (The encoders are in
//!    `content/codec/encode.rs`, and `texture/parts.rs` cuts the textures of a BA2.)
//! 5. It opens each archive as any other, and compares every file with what was read of the sources.
//! 6. `system/new_file.rs` gives all files their names, or none. With `--overwrite`, `pack/write.rs` then
//!    removes archives that an earlier run left, if step 5 was not left out and the new ones have all their
//!    bytes.
//!
//! # Where to find
//!
//! | question | place |
//! |---|---|
//! | Why do opens send no message? | `FUSE.md` 2.2: ENOSYS to the first OPEN; `open` in `fuse/adaptor.rs` |
//! | How is a path found in any case? | `tree/tree.rs`; spellings of folders: `tree/spelling.rs` |
//! | Which name is shown for a node? | `Tree::name`, and nothing else |
//! | Who wins if two layers have a path? | `tree/merge.rs`, by the rule that the caller passes |
//! | Which archives does a game load? | its row in `game/titles/`, the plan in `game/plan/` |
//! | Why does it load them? | `bsafs order` prints the reasons |
//! | Where does bsafs look for a game? | `game/find/`; `bsafs games` prints what it finds |
//! | Which files count as archives? | the extensions in the rows of `FORMATS`, `format/mod.rs` |
//! | Where are checksums verified? | `content/codec/zlib.rs`, `content/codec/lz4_frame.rs` |
//! | What if a checksum is wrong? | EIO; with `--salvage` see `content/read/file_extent.rs` |
//! | Which error does a program get? | `fuse/adaptor.rs` |
//! | Which exit code does a command have? | `failure.rs`; of errors of the library: `cli/exit.rs` |
//! | What does the kernel cache, for how long? | `FUSE.md` 2.1 to 2.4: everything, until a view differs |
//! | What is read ahead of an archive? | `content/read/scattered.rs`, `fs/prefetch.rs` |
//! | What if a disk fails? | EIO, and one line in the log for each outage |
//! | What if a disk hangs? | `fuse/device_queues.rs` keeps a worker free |
//! | How does a deletion in a writable mount stay? | marks: `folder/whiteouts.rs`; layers: `tree/erased.rs` |
//! | Which copies does a path have? | `answers/copies.rs`; outside of layers: `answers/why/of_file.rs` |
//! | What if a source is a mount of bsafs? | `cli/options/mount_as_source.rs`: its own sources replace it |
//! | What does a game, an instance or OpenMW load? | `game/load_order.rs`, the door of `game` |
//! | How are mounts listed if a daemon hangs? | `mounts/mount_status.rs`: a subprocess asks, with a limit |
//! | Can another user redirect root's mount? | `system/place.rs`, `fuse/unmount.rs`: no |
//! | What does a program get that bsafs starts? | `system/subprocess.rs`; a test allows no other place |
//! | How does root ask or serve another user? | `system/credentials.rs`: a process that he cannot trace |
//! | What is a file or folder of a game, and who opens it? | `kinds.rs`, a row for each |
//! | What bounds memory? | `limits.rs`, with a table |
//! | What if memory is limited (`ulimit -v`)? | `system/memory.rs` |
//! | What is measured, and what was tried? | `tests/bench/RESULTS.md` |
//!
//! # Recipes
//!
//! * **A format**: one file in `format/` with its row; its `mod` line; and its line in `FORMATS`. Every list
//!   of extensions is made from these rows. Add a section to `FORMATS.md`. If an extension is new, tests
//!   demand it in three files in `scripts/share`.
//! * **A codec**: one file in `content/codec/`, its `mod` line, its variant of `Codec`, and its
//!   line in the table in `content/codec/table.rs`.
//! * **A note** on something odd: one row in `note.rs`, and the code that adds it to a plan, an archive or a
//!   folder.
//! * **A command**: one file in the folder of its group of the help in `cli/command/`, and its `mod` line
//!   there; in `cli/command/mod.rs`, its variant, arm and group. Help, manual and completions are made from
//!   them. If it asks something of sources, it goes through `Inquiry` in `cli/inquiry.rs`, and `source_set`
//!   in `cli/options/named_sources.rs` opens them. Tests demand its line in `tests/cli/documents.rs`. If it
//!   prints JSON, a definition in `cli/schema.json`, and a line in its test.
//! * **A mount option**: one row in `cli/options/option_table.rs`, and the code that acts on it.
//!   `fs::Presentation` has owners and permissions, `fuse::MountRequest` what the kernel gets, and
//!   `MountOptions` in `cli/options/option_table.rs` what the daemon itself needs, which
//!   `cli/command/mount/mount.rs` passes to `daemon/service.rs`. A profile that came with a mod may set it
//!   only if it is in `OF_ANY_PROFILE` in `vfs/sources/profile.rs`.
//! * **An option of opening**, which changes names or bytes: a field of `OpenOptions` and a line in its
//!   `put`; a row in that table, which is its long option, too; the help of its values in `value_names.rs`
//!   there, if they are named; and the code that acts on it. `OF_ANY_PROFILE` has it, too.
//!   `vfs/opening/open.rs` passes it on to the tree and the bytes. Options apply in one order: profiles, the
//!   command line, `-o`.
//! * **A texture format**: one row in `texture/pixel_format.rs`. Its name determines how it is
//!   decoded into a picture. Only an unusual format needs an arm in `picture/texels.rs`.
//! * **An ending or a folder**: one row in `kinds.rs`, with who opens it, and the source that says so.
//! * **A game**: one row in `game/titles/`, and the lists of its unchanged INI files in `vanilla.rs` there.
//!
//! If a text of the program changes, the snapshots of help, manual and messages differ. The tests that fail
//! say how to update them.
//!
//! # Tests
//!
//! `cargo test` runs all tests: unit tests beside the code, the others in `tests/`, one file or
//! folder for each room. A filter is a path: `cargo test mount::caching` runs one file of mount
//! tests. Tests that mount need `/dev/fuse`, and root or `fusermount3`. `scripts/check` is the
//! gate. `scripts/fuzz` mutates inputs. `scripts/soak` compares every byte of three mounts while
//! daemons, archives, sources and caches come and go. `scripts/bench` measures.

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
