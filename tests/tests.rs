//! All tests outside src/, in one program: a module for each room of the crate, from the bottom up.
//!
//! - `cargo test` runs all; `cargo test mount::caching` those of one file; `cargo test second_look` those whose names
//!   contain the text; `-- --nocapture` shows what they print. Tests of
//!   private items are at the ends of the files in src/.
//! - `mount`, `presented` and `status` mount. They need `/dev/fuse` and, unless root runs them, fusermount3:
//!   `scripts/setup` installs it. Root and other users can run them.
//! - `mount::real_archives` reads archives that other tools wrote, from `../shared/archives`. Where these are missing,
//!   it says so on standard error and passes. So does `game`, of the worlds that `../shared/games/mkgames.py` writes. No
//!   other test needs files from outside the project.
//! - `scripts/check` runs all of these, and the comparison with other readers in tests/oracles, a crate of its own.
//! - `scripts/fuzz 60` fuzzes each target of tests/fuzz for a minute, with the invariants of `robustness`.
//! - `scripts/soak 1` compares every byte of two mounts for a minute, in which archives and loose files are swapped and daemons
//!   killed (tests/soak).
//! - `PROPTEST_CASES=100 cargo test mount::following::model` compares mounts with fresh ones after a hundred sequences of changes.
//! - `scripts/bench --quick` measures (tests/bench); `scripts/bench --tiny` tries the benchmark itself.

// A test that fails says so by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/disk.rs"]
mod disk; // a disk that fails or hangs when a test says so
#[path = "support/evictions.rs"]
mod evictions; // what the kernel evicted from its caches
#[path = "support/mounted.rs"]
mod mounted; // the one way to run the program and to mount
mod support; // archives of every format, written in memory
#[path = "support/watchdog.rs"]
mod watchdog; // the time limit of tests that mount

mod cli; // every command, without a mount
mod consoles; // BA2 of the PlayStation 4 and the Xbox One, from bytes to files
mod content; // bytes: every cut, how often decoded, bad entries, changed archives
mod desktop; // what desktops and shells get: types, installation, completion
mod folder; // loose files: what a walk finds, links, reads, changes
mod force; // unknown versions and kinds, refused or read by --force
mod format; // parsers, on valid and on damaged tables
mod fs_views; // views that take each other's place, without a kernel
mod game; // what games load, in worlds of ../shared/games
mod hangs; // a test that hangs ends the run
mod layering; // which room and which file may import which
mod legacy; // the archives of Arena and Daggerfall, from bytes to files
mod library; // the library as another program uses it
mod limits; // their table in the documentation
mod mount; // real mounts
mod names; // --names, hashes of all platforms, extensions found from first bytes
#[cfg(feature = "pictures")]
mod picture; // thumbnails, and PNG
mod presented; // --textures: textures of consoles as linear DDS files or raw
mod read; // the cursor over an archive's bytes
mod robustness; // damaged archives, through the whole pipeline
mod status; // the counts of a running daemon
mod texture; // tiled to linear textures, compared with a tiler of the tests' own
mod tree; // names: layers, duplicates, hostile names, hashes without names
#[cfg(feature = "mount")]
mod watch; // what counts as a change
