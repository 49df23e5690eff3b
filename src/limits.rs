//! Limits of memory: every such number is a constant in this file, and the table says what it bounds.
//!
//! Every room may import this file, and it imports nothing. So a limit that two rooms share has one
//! place. A test compares the table with the constants. Timeouts, and block sizes that do not
//! limit memory, are defined where they are used.
//!
//! # What the daemon keeps in memory
//!
//! The table lists all that grows with use. "See below" refers to the list below the table.
//!
//! | what | bytes | bound |
//! |---|---|---|
//! | names | 36 a node, 12 a file, and the name; see below | `ARCHIVE_ENTRIES_MAX` (16,777,216) an archive |
//! | files of all layers of one opening | as names | `LAYERS_FILES_MAX` (16,777,216) |
//! | folders of an archive | about 100 while the tree is made | `ARCHIVE_FOLDERS_MIN` (4,096); see below |
//! | more folders for a stored path | about 100 each | 1, and 1 for each `BYTES_A_FOLDER` (8) bytes |
//! | tables of an archive being parsed | a copy; see below | `ARCHIVE_TABLES_MAX` (1 GiB) an archive |
//! | notes of an archive | a line each | `ARCHIVE_NOTES_MAX` (8) of each code |
//! | loose files | 28 each; see below | `FOLDER_ENTRIES_MAX` (4,194,304) files and folders of a folder |
//! | open loose files | a descriptor each | `OPEN_FILES_MAX` (128) of all folders together |
//! | showings of one folder behind links | as loose files | `LINKED_FOLDER_MAX` (64) of a walk |
//! | counted files of an `--edit` folder | names of marks | `CHANGES_COUNTED_MAX` (262,144) entries |
//! | notes of the walk of a folder | the path of each | `WALK_NOTES_MAX` (1,000) of a folder |
//! | extents | 16 each; 4 a file more if files have several | as names |
//! | heads of textures | 10 for a DX10 texture, 32 for a GNMF texture | as names |
//! | textures with `--textures=rgba` or `compatible` | about 200 each | as names |
//! | all tables of files together | 78 to 120 a file, measured in `tests/bench/RESULTS.md` | |
//! | cache of decoded extents | `--cache-size`, by default `CACHE_SIZE` (64 MiB) | see below |
//! | extents cached beyond that | for 1 to 5 s after their last read; see below | `CACHE_BEYOND` (256 MiB) |
//! | a file that the library reads whole | its size | `READ_LIMIT` (1 GiB) by default |
//! | free buffers (`content/cache.rs`) | 128 KiB and more, for a second | `FREE_BUFFERS_MAX` (64 MiB) |
//! | extents being decoded | large buffers of all threads; see below | `EXTENT_MAX` (1 GiB) |
//! | packed bytes being decoded | all threads, for each device; see below | `PACKED_MAX` (512 MiB) |
//! | extents not counted there | packed bytes | fewer than `UNCOUNTED_BUFFER_MAX` (1 MiB) each |
//! | buffers of workers | packed bytes and the reply, for each READ being handled | workers; see below |
//! | state of decoders | about 100 KiB | one for each worker |
//! | receive buffers of fuser | 16 MiB of addresses; only touched pages count | one for each worker |
//! | spellings of folders | 120 and the name twice | `SPELLINGS_MAX` (65,536), about 10 MiB |
//! | exposed names (`inode_numbers.rs`) | 60 and the name; see below | `EXPOSED_NAMES_MAX` (262,144) names |
//! | exposed names together | | `EXPOSED_BYTES_MAX` (32 MiB) |
//! | inode numbers, once something changed | 8 a node | nodes |
//! | replaced archives | their extents, and 70 a file; see below | `RETIRED_ARCHIVES_MAX` (8) |
//! | replaced loose files that may be open | a descriptor each | `RETIRED_FILES_MAX` (128) |
//! | used folders (`fs/used_folders.rs`) | about 40 each, for a moment | `USED_FOLDERS_MAX` (65,536) |
//! | the same, only listed | about 40 each, for a moment | `LISTED_FOLDERS_MAX` (256) |
//! | folders on the disk by nodes (`fs/disk_folders.rs`), if some have no watch | 12 each | folders |
//! | watches of folders, unless `-o static` | about 250 and the path of each (`watch/`) | folders |
//! | watches of files with several names | about 200 and the path of each | `WATCHED_LINKS_MAX` (8,192) |
//! | pending names (`pending.rs`) | about 60 and the name | names that changed since the last reload |
//! | replies that wait for a view | about 200 each, for a second | requests under way |
//! | the next view | as the view | while a change is read |
//! | listings of changed folders | their names, for 30 s | `KEPT_LISTINGS_MAX` (16 MiB) |
//! | assumed folders | 250 and the name twice; see below | `ASSUMED_MAX` (65,536); see below |
//! | logged faults | 8 a damaged file; about 200 a suspect one with `--salvage` | damaged files |
//! | lists of `--names` | their text; see below | `NAMES_TEXT_MAX` (64 MiB) |
//! | paths of these lists | 8 each, and 24 for each hash function used | `NAMES_PATHS_MAX` (4,194,304) |
//! | a settings file, or a list of plugins or mods | its text and lines | `SETTINGS_MAX` (4 MiB) |
//! | a list of deployed files, for `why` and `which` | its files and mods | `DEPLOYMENT_LIST_MAX` (32 MiB) |
//! | a list of games of Steam or Heroic | its values, about 15 times its size | `LAUNCHER_LIST_MAX` (4 MiB) |
//! | files that one plan or search reads, and names of data folders | see below | `PLAN_READ_MAX` (64 MiB) |
//! | all lists of launchers that one search reads | their values, as above | `SEARCH_READ_MAX` (8 MiB) |
//! | each line of such a file | counts as more bytes | `LINE_COST` (256) |
//! | values of a chain of `openmw.cfg` | their text; see below | `CHAIN_VALUES_MAX` (8 MiB) |
//! | names that an instance of Mod Organizer hides | about 100 each, once | `FILTERS_MAX` (10,000) |
//! | names in folders that a plan or `bsafs why` remembers | about 100 each | `LISTED_NAMES_MAX` (262,144) |
//! | folders whose links were followed | their paths, twice | `LINK_PATHS_MAX` (16 MiB) |
//! | a profile (`*.toml`) | about 50 times its size while it is read | `PROFILE_MAX` (1 MiB) |
//! | sources of a profile | a path each | `PROFILE_SOURCES_MAX` (65,536) |
//! | names that patterns of a profile are compared with | their time | `PROFILE_MATCHES_MAX` (16,777,216) |
//! | the mount table | its text, and about 300 a mount | `MOUNT_TABLE_MAX` (64 MiB) |
//! | the table of locks, if a folder is locked | its text | `LOCKS_MAX` (16 MiB) |
//! | another file in `/proc`, or its beginning | its text | `PROC_FILE_MAX` (64 KiB) |
//! | what a new daemon reports to its parent | its text | `REPORT_MAX` (1 MiB) |
//! | a text of a file in a message | | `EXCERPT_MAX` (200) |
//! | lines that wait for the log | a line each | `LOG_LINES_MAX` (1,024) |
//! | lines of an opening, to log none again | a line each | `LOG_REMEMBERED_MAX` (10,000), twice |
//! | a manifest that `diff` reads | its text, and 120 and the path of a file | `MANIFEST_MAX` (512 MiB) |
//! | pictures of a page of `conflicts --html` | their text | `PAGE_PICTURES_MAX` (3 MiB) |
//! | textures whose pictures such a page shows | their decoding | `PAGE_TEXTURES_MAX` (128 GiB) |
//! | other text of such a page | its text | `PAGE_TEXT_MAX` (6 MiB) |
//! | files that such a page lists | about 100 each | `PAGE_FILES_MAX` (20,000) |
//! | output of a subprocess | its text | `SUBPROCESS_OUTPUT_MAX` (4 MiB) |
//! | files that are packed | three times their size, and the largest one | `PACK_BUDGET` (512 MiB) |
//! | larger ones than `PACK_WHOLE_MAX` (64 MiB) | some MiB each, one at a time | |
//! | names in a mesh or material | the names, in each thread of `needs` | `MESH_NAMES_MAX` (16,384) a file |
//! | each of these names | its bytes | `MESH_NAME_MAX` (260) |
//! | what `needs` finds in all meshes | about 100 each | `NEEDS_MAX` (4,194,304) |
//! | what it prints of files that others name | its text, of one file | `NEEDS_FOLLOWED_MAX` (128 MiB) |
//! | kept free under `ulimit -v`, for small allocations | | `HEADROOM` (16 MiB) |
//!
//! - **Names**: a node takes 36 bytes with its hash index. A file takes 12 more for its layer. A
//!   hidden file takes 12 more, a file without a name 80. A file that is listed under another name
//!   takes 20 and its stored name. While an archive is opened, it takes at most
//!   24 bytes for each of its bytes, and 4 MiB ([`mod@crate::tree`]).
//! - **Folders of an archive**: 4,096, plus one for each distinct stored path, plus one for each 8
//!   bytes of such a path.
//! - **Tables being parsed**: as many archives at once as processors. They are freed after the parse.
//! - **Loose files**: they share their names with the tree. A file behind a link takes 12 more, and
//!   each folder that links lead to takes its path.
//! - **Cache**: besides `CACHE_BEYOND`, one extent may be larger than the cache, up to `EXTENT_MAX`. After a
//!   second, another extent may take the room. After 5 s, the daemon frees it. In other programs that use
//!   the library, it stays until later reads need the room.
//! - **Extents being decoded**: includes cached and evicted extents (`content/cache.rs`).
//! - **Packed bytes being decoded**: counts extents of `UNCOUNTED_BUFFER_MAX` and more.
//! - **Workers**: 6 to 16, two for each processor. If there are several processors, one more thread for each
//!   decodes files into the cache before a program asks for them, up to half of the cache (`fs/prefetch.rs`).
//!   While programs seek, one more thread for each disk reads ahead, into the page cache only.
//! - **Exposed names**: names that the kernel may have cached and that are not the stored ones.
//! - **Replaced archives**: includes their files whose inode numbers the kernel may still have.
//! - **Assumed folders**: folders of archives without names, as many as the kernel references.
//!   Beyond the limit, the daemon asks the kernel to drop the oldest.
//! - **Files of a plan**: what a plan keeps of them is in proportion to their bytes and lines. Of each
//!   `openmw.cfg`, it keeps the values of settings that it uses; each value counts as 64 bytes more.
//! - **Lists of `--names`**: freed once the archives are open.
//!
//! So `--cache-size` bounds the cache, and not the daemon. 500,000 files take about 45 MB of tables
//! before anything is read. During a decode, a worker also needs memory for the packed bytes of its
//! extent. It needs more for the unpacked bytes if they are not in the cache. The kernel adds 1.1
//! KB for each entry that was listed or looked up, and the pages that were read. It reclaims both.

/// Maximum number of entries of an archive. Each entry takes at least 16 bytes of tables, so the tables of
/// such an archive have at least 256 MiB. The largest known archive has about 300,000 entries.
pub const ARCHIVE_ENTRIES_MAX: u32 = 1 << 24;
/// Maximum number of files of all layers together. Many sources may be links to one archive or folder.
pub const LAYERS_FILES_MAX: usize = 1 << 24;
/// Number of folders that the paths of any archive may make.
pub const ARCHIVE_FOLDERS_MIN: usize = 1 << 12;
/// Bytes of distinct stored paths that allow one more folder. A folder takes about 100 bytes while
/// the tree is made, but only two bytes in a path.
pub const BYTES_A_FOLDER: usize = 8;
/// Maximum number of bytes of an archive that its parser reads: enough for [`ARCHIVE_ENTRIES_MAX`]
/// entries with 64 bytes of tables each.
pub const ARCHIVE_TABLES_MAX: u64 = 1 << 30;
/// Maximum number of notes of each code about an archive. More notes would add little.
pub const ARCHIVE_NOTES_MAX: usize = 8;
/// Maximum number of entries below a folder, so that mounting `/` fails before memory is full.
pub const FOLDER_ENTRIES_MAX: u32 = 1 << 22;
/// Maximum number of loose files kept open, not counting those being read. By default a process may
/// have 1,024 descriptors.
pub const OPEN_FILES_MAX: usize = 128;
/// How often the walk of a folder shows one folder that links lead to. A chain of folders with two links each
/// would double the work with each folder. Real mods link a folder a few times.
pub const LINKED_FOLDER_MAX: u32 = 64;
/// Maximum number of notes about the walk of a folder. Other notes are only counted.
pub const WALK_NOTES_MAX: usize = 1000;
/// Maximum number of files and folders that are counted in the folder of a writable mount that has ended.
pub const CHANGES_COUNTED_MAX: usize = 1 << 18;
/// Maximum size of a decoded extent in bytes, and of all extents that all threads decode at a time.
/// The largest known texture chunk has about 350 MB.
pub const EXTENT_MAX: u32 = 1 << 30;
/// Maximum size of a packed extent in bytes, and of all packed extents that all threads read from
/// one device at a time.
pub const PACKED_MAX: u32 = 1 << 29;
/// Default size of the cache of decoded extents, in bytes.
pub const CACHE_SIZE: u64 = 64 << 20;
/// Default size in bytes of the largest file that the library reads whole.
pub const READ_LIMIT: u64 = 1 << 30;
/// Bytes that cached extents may take beyond the cache's size until their reader comes back. This
/// fits about ten of the largest textures of most mods.
pub const CACHE_BEYOND: u64 = 256 << 20;
/// Maximum number of bytes of free buffers, kept so that a decode needs no fresh map (FUSE.md section 5).
pub const FREE_BUFFERS_MAX: usize = 64 << 20;
/// Size in bytes from which a buffer counts against the memory that all threads share. Each request
/// has at most two smaller ones.
pub const UNCOUNTED_BUFFER_MAX: usize = 1 << 20;
/// Maximum number of spellings of folders with an inode number of their own (FUSE.md section 2.13).
pub const SPELLINGS_MAX: usize = 65_536;
/// Maximum number of exposed names. The kernel may have cached them, and no comparison of two views
/// finds them: absent names, and spellings other than the stored one. Beyond this limit, names have
/// no lifetime until the kernel was asked to drop some.
pub const EXPOSED_NAMES_MAX: usize = 1 << 18;
/// Maximum number of bytes of exposed names.
pub const EXPOSED_BYTES_MAX: usize = 32 << 20;
/// Maximum number of bytes of names that are kept for listings of changed folders.
pub const KEPT_LISTINGS_MAX: usize = 16 << 20;
/// Number of assumed folders beyond which the daemon asks the kernel to drop the oldest.
pub const ASSUMED_MAX: usize = 65_536;
/// Maximum number of replaced archives that stay open for files that the kernel may still
/// reference. The archive that was replaced first is closed first.
pub const RETIRED_ARCHIVES_MAX: usize = 8;
/// Maximum number of folders that were used and wait for watches. Further ones get none until they are used
/// again.
pub const USED_FOLDERS_MAX: usize = 65_536;
/// The same for folders that were only listed. What a program that walks the whole mount listed before gets
/// no watches.
pub const LISTED_FOLDERS_MAX: usize = 256;
/// Maximum number of files with several names (hard links) that have watches of their own.
pub const WATCHED_LINKS_MAX: usize = 8192;
/// Maximum number of replaced loose files that stay open. The kernel may have forgotten some of them.
pub const RETIRED_FILES_MAX: usize = 128;
/// Maximum number of bytes of a manifest. A line takes about 150, so this is enough for three million files.
pub const MANIFEST_MAX: usize = 512 << 20;
/// Maximum number of bytes of all lists of names. All known paths of all games take about 40 MiB.
pub const NAMES_TEXT_MAX: usize = 64 << 20;
/// Maximum number of paths of all lists of names. An index takes 24 bytes a path, so at most 96 MiB
/// for each hash function.
pub const NAMES_PATHS_MAX: usize = 1 << 22;
/// Maximum size of a settings file, or of a list of plugins or mods, in bytes. Real ones have some 100 KiB.
pub const SETTINGS_MAX: usize = 4 << 20;
/// Maximum number of bytes of a list of the files that a mod manager deployed: Vortex writes 200 for each.
pub const DEPLOYMENT_LIST_MAX: usize = 32 << 20;
/// Maximum size of a list of games of Steam or Heroic, in bytes. Users with thousands of games have
/// lists of some 100 KiB.
pub const LAUNCHER_LIST_MAX: usize = 4 << 20;
/// Maximum number of bytes of all files that one plan, or one search for games, reads. A file that is
/// read twice counts twice.
pub const PLAN_READ_MAX: usize = 64 << 20;
/// Maximum number of bytes of all lists of launchers that one search for games reads. YAML is parsed at
/// about 10 MB/s, and the Tab key waits for the search.
pub const SEARCH_READ_MAX: usize = 8 << 20;
/// Number of bytes as which each line of such a file counts in addition. What a plan keeps of a short
/// line takes more memory than the line.
pub const LINE_COST: usize = 256;
/// Maximum number of bytes of all values that a plan keeps of a chain of `openmw.cfg`.
pub const CHAIN_VALUES_MAX: usize = 8 << 20;
/// Maximum number of endings and names of folders that the settings of an instance of Mod Organizer hide.
pub const FILTERS_MAX: usize = 10_000;
/// Maximum number of names in folders, and of folders, that one plan or question remembers.
pub const LISTED_NAMES_MAX: usize = 1 << 18;
/// Maximum number of bytes of the paths that one walk along links remembers.
pub const LINK_PATHS_MAX: usize = 16 << 20;
/// Maximum size of a profile (`*.toml`) in bytes. One with 1,500 long paths has 200 KiB.
pub const PROFILE_MAX: usize = 1 << 20;
/// Maximum number of sources of a profile, those that its patterns match included.
pub const PROFILE_SOURCES_MAX: usize = 65_536;
/// How often patterns of a profile are compared with a name. A folder may have as many names as a profile has
/// patterns.
pub const PROFILE_MATCHES_MAX: usize = 1 << 24;
/// Maximum size of the mount table in bytes. The kernel allows 100,000 mounts by default.
pub const MOUNT_TABLE_MAX: usize = 64 << 20;
/// Maximum size of the table of locks in bytes: about 250,000 locks.
pub const LOCKS_MAX: usize = 16 << 20;
/// Maximum number of bytes that are read of another file in `/proc`. The kernel writes most of them; a
/// process chooses its command line.
pub const PROC_FILE_MAX: usize = 64 << 10;
/// Maximum size of the report of a new daemon in bytes. The daemon may be a process of another user.
pub const REPORT_MAX: usize = 1 << 20;
/// Maximum number of bytes of a file that a message quotes.
pub const EXCERPT_MAX: usize = 200;
/// Maximum number of lines that wait for the log. Other lines are dropped and counted.
pub const LOG_LINES_MAX: usize = 1024;
/// Maximum number of different lines that are remembered of an opening.
pub const LOG_REMEMBERED_MAX: usize = 10_000;
/// Maximum number of bytes of all pictures of a page. A page is sent to others and opened by browsers, which
/// need several times its size, so it should stay below 10 MB.
pub const PAGE_PICTURES_MAX: usize = 3 << 20;
/// Maximum number of bytes of all textures whose pictures a page shows. A texture counts once, however many
/// names of an archive share its bytes.
pub const PAGE_TEXTURES_MAX: u64 = 128 << 30;
/// Maximum number of bytes of what a page lists, without its pictures. A line takes 150 to 1,000 bytes.
pub const PAGE_TEXT_MAX: usize = 6 << 20;
/// Maximum number of files that a page lists. Others are counted.
pub const PAGE_FILES_MAX: usize = 20_000;
/// Maximum number of bytes read of a subprocess's output. The rest is dropped.
pub const SUBPROCESS_OUTPUT_MAX: u64 = 4 << 20;
/// Number of bytes of addresses that work under a limit of the address space leaves free. A small
/// allocation that fails would end the process (`system/memory.rs`).
pub const HEADROOM: usize = 16 << 20;
/// Bytes of files that are packed at a time, with their encodings and what decoding them takes. A larger
/// texture is packed alone.
pub const PACK_BUDGET: u64 = 512 << 20;
/// Maximum size of a file that is encoded in memory, in bytes. A larger one is encoded while it is copied.
pub const PACK_WHOLE_MAX: u64 = 64 << 20;
/// Maximum length of a name in a mesh or a material, in bytes: the longest path of Windows.
pub const MESH_NAME_MAX: usize = 260;
/// Maximum number of different names in a mesh or a material. Real ones have some hundreds at most.
pub const MESH_NAMES_MAX: usize = 1 << 14;
/// Maximum number of names in all meshes of one question. 60,000 meshes have about 400,000.
pub const NEEDS_MAX: usize = 1 << 22;
/// Maximum number of bytes that `needs` prints of what materials and other meshes name, for all meshes that
/// name these. The last mesh may exceed it. 250 materials that name each other have 190 MB.
pub const NEEDS_FOLLOWED_MAX: usize = 128 << 20;
