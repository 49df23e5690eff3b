//! What bounds memory: every such number is a constant of this file, and this page says what each bounds.
//!
//! Every room may import this file, and it imports nothing: a limit that two rooms share has one place, and
//! the table below cannot contradict the code. A test compares the two. Limits of time, and sizes of blocks
//! that bound nothing, stay where they are used.
//!
//! # What the daemon holds
//!
//! Nothing else grows with use.
//!
//! | what | bytes | bound |
//! |---|---|---|
//! | names | 36 a node with its hash index, 4 a file for its folder, the name; 20 more for a hidden file, 80 for one without a name; 20 and its stored name for a file that is listed under another one, 12 for one with a number | files of all archives; `ARCHIVE_ENTRIES_MAX` (16,777,216) an archive; while it is opened 24 for each byte of the archive and 4 MiB ([`mod@crate::tree`]) |
//! | folders of an archive | some hundred while the tree is made | `ARCHIVE_FOLDERS_MIN` (4,096), one for each stored path, and one more for each `BYTES_A_FOLDER` (8) bytes of it |
//! | an archive's tables while it is parsed | a copy | `ARCHIVE_TABLES_MAX` (1 GiB) an archive, as many at once as processors; freed when it is parsed |
//! | notes of an archive | a line each | `ARCHIVE_NOTES_MAX` (32) |
//! | loose files | 28 each, their names shared with the tree; 12 more behind a link, and the path of each folder that links lead to | `FOLDER_ENTRIES_MAX` (4,194,304) files and folders of a folder |
//! | open loose files | a descriptor each | `OPEN_FILES_MAX` (128) of all folders together |
//! | notes of the walk of a folder | the path of each | `WALK_NOTES_MAX` (1,000) of a folder |
//! | extents | 16 each; 4 a file more if files have several | as names |
//! | heads of textures | 10 for a DX10 texture, 32 for a GNMF texture | as names |
//! | all tables of files together | 80 to 100 a file, measured in `tests/bench/RESULTS.md` | |
//! | cache of decoded extents | `--cache-size`, by default `CACHE_SIZE` (64 MiB) | that; for a second after their last read, `CACHE_BEYOND` (256 MiB) more; or one extent that is larger, up to `EXTENT_MAX` (1 GiB) |
//! | a file that the library reads whole | its size | `READ_LIMIT` (1 GiB) by default |
//! | buffers that wait for their next use | maps of 128 KiB and more (`content/buffer.rs`) | `FREE_BUFFERS_MAX` (64 MiB), for a second after the last |
//! | what is being decoded | large buffers of all threads together, cached and evicted extents included (`content/memory.rs`) | `EXTENT_MAX` (1 GiB) |
//! | packed bytes being decoded | extents of `UNCOUNTED_BUFFER_MAX` (1 MiB) and more of all threads together, for each device | `PACKED_MAX` (512 MiB) |
//! | buffers of workers | packed bytes and the reply: two for each READ that is under way | 6 to 16 workers, two for each processor |
//! | state of decoders | some 100 KiB | one for each worker |
//! | receive buffers of fuser | 16 MiB of addresses, of which touched pages count | one for each worker |
//! | spellings of folders | 120 and the name twice | `SPELLINGS_MAX` (65,536), some 10 MiB |
//! | names that the kernel may have cached and that are not stored (`fs/exposed.rs`) | 60 and the name | `EXPOSED_NAMES_MAX` (262,144) names, `EXPOSED_BYTES_MAX` (32 MiB) |
//! | numbers of nodes, once something changed | 8 a node | nodes |
//! | archives that were replaced, and their files that the kernel may hold | their extents; 70 a file | `RETIRED_ARCHIVES_MAX` (8) |
//! | loose files that were replaced and may be open | a descriptor each | `RETIRED_FILES_MAX` (128) |
//! | watches of folders, unless `-o static` | some 250 and the path of each (`watch/`) | folders |
//! | the view before | as the view | for 10 s after a change; while a change is read the next one, too |
//! | assumed folders of archives without names | 250 and the name twice | what the kernel holds; beyond `ASSUMED_MAX` (65,536) it is asked to drop the oldest |
//! | faults that were logged | 8 for each damaged file; with `--salvage` some 200 for each that is suspect | damaged files |
//! | list of `--names` | its text, 8 a path, and 24 a path for each hash function used | `NAMES_TEXT_MAX` (64 MiB) and `NAMES_PATHS_MAX` (4,194,304) paths; freed once archives are open |
//! | lines that wait for the log | a line each | `LOG_LINES_MAX` (1,024) |
//! | lines of an opening, so that none is logged again | a line each | `LOG_REMEMBERED_MAX` (10,000), twice |
//! | what a subprocess prints | its text | `SUBPROCESS_OUTPUT_MAX` (4 MiB) |
//!
//! So `--cache-size` bounds the cache, and not the daemon: 500,000 files take some 45 MB of tables before
//! anything is read, and for the moment of a decode a worker holds the packed bytes of its extent, and the
//! unpacked ones if these are not in the cache. The kernel adds 1.1 KB for each entry that was listed or
//! looked up, and the pages that were read; it reclaims both.

/// Entries of an archive. Each takes at least 16 bytes of tables, so that the tables of such an archive have
/// 256 MiB; the largest known archive has some 300,000 entries.
pub const ARCHIVE_ENTRIES_MAX: u32 = 1 << 24;
/// Folders that the paths of any archive may make.
pub const ARCHIVE_FOLDERS_MIN: usize = 1 << 12;
/// Bytes of distinct stored paths that allow one folder more: a folder takes some hundred bytes while the
/// tree is made, and two bytes in a path.
pub const BYTES_A_FOLDER: usize = 8;
/// Bytes of an archive that its parser may read: [`ARCHIVE_ENTRIES_MAX`] entries take that if each has 64
/// bytes of tables.
pub const ARCHIVE_TABLES_MAX: u64 = 1 << 30;
/// Notes that are kept of an archive: further ones would say little more.
pub const ARCHIVE_NOTES_MAX: usize = 32;
/// Files and folders of a folder, so that a mount of `/` fails before memory is full.
pub const FOLDER_ENTRIES_MAX: u32 = 1 << 22;
/// Loose files that are open at a time, without those that are being read: a process may have 1,024 by
/// default.
pub const OPEN_FILES_MAX: usize = 128;
/// Notes that are kept of the walk of a folder; further ones are counted.
pub const WALK_NOTES_MAX: usize = 1000;
/// Bytes that one extent may become, and that all threads together may decode at a time. The largest known
/// texture chunk has some 350 MB.
pub const EXTENT_MAX: u32 = 1 << 30;
/// Bytes that one extent may take in its archive, and that all threads together may read from a device to
/// decode them.
pub const PACKED_MAX: u32 = 1 << 29;
/// Bytes of decoded extents that the cache keeps by default.
pub const CACHE_SIZE: u64 = 64 << 20;
/// Bytes of the largest file that the library reads whole by default.
pub const READ_LIMIT: u64 = 1 << 30;
/// Bytes that extents may take beyond the size of the cache until their reader comes back: some ten of the
/// largest textures of most mods.
pub const CACHE_BEYOND: u64 = 256 << 20;
/// Bytes of large buffers that wait for their next use, so that a decode needs no fresh map (FUSE.md section
/// 5).
pub const FREE_BUFFERS_MAX: usize = 64 << 20;
/// Bytes from which on a buffer takes a share of the memory that all threads have together. Each request
/// that is under way has two smaller ones at most.
pub const UNCOUNTED_BUFFER_MAX: usize = 1 << 20;
/// Spellings of folders that get an inode number of their own (FUSE.md section 2.13).
pub const SPELLINGS_MAX: usize = 65_536;
/// Names that the kernel may have cached and that no comparison of two views finds: absent ones, and
/// spellings that are not the stored ones. Beyond this many, names have no lifetime until the kernel was
/// asked to drop some.
pub const EXPOSED_NAMES_MAX: usize = 1 << 18;
/// Bytes that these names may take.
pub const EXPOSED_BYTES_MAX: usize = 32 << 20;
/// Assumed folders that the kernel may hold. It is asked to drop those beyond.
pub const ASSUMED_MAX: usize = 65_536;
/// Archives that no view has and that stay open for files that the kernel may hold. The first that was
/// replaced is closed first.
pub const RETIRED_ARCHIVES_MAX: usize = 8;
/// Loose files that no view has and that stay open. The kernel may have forgotten some of them.
pub const RETIRED_FILES_MAX: usize = 128;
/// Bytes of all lists of names together; all known paths of all games take about 40 MiB.
pub const NAMES_TEXT_MAX: usize = 64 << 20;
/// Paths of all lists of names together. An index takes 24 bytes a path: at most 96 MiB for a hash function.
pub const NAMES_PATHS_MAX: usize = 1 << 22;
/// Lines that wait until the log takes them. Further ones are lost, and counted.
pub const LOG_LINES_MAX: usize = 1024;
/// Different lines of an opening that are remembered.
pub const LOG_REMEMBERED_MAX: usize = 10_000;
/// Bytes that are read of what a subprocess prints; the rest is dropped.
pub const SUBPROCESS_OUTPUT_MAX: u64 = 4 << 20;
