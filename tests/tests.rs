//! All integration tests, built as one program. There is a module for each top-level module of the
//! crate, from the bottom up. Tests of private items are at the ends of the files in src/.
//!
//! - `cargo test` runs all tests, `cargo test mount::caching` those of one file, and `cargo test
//!   second_access` those whose names contain the text. `-- --nocapture` shows what they print.
//! - `mount`, `console_textures` and `status` mount. They need `/dev/fuse`. Unless root runs them,
//!   they also need fusermount3, which `scripts/setup` installs.
//! - `mount::real_archives` reads archives that other tools wrote, from `../shared/archives`. If
//!   they are missing, it says so on standard error and passes. `game` does the same if the script
//!   `../shared/games/mkgames.py` is missing. No other test needs files from outside the project.
//! - `scripts/check` runs all tests, and compares bsafs with other readers (tests/oracles, a crate
//!   of its own).
//! - `scripts/fuzz 60` fuzzes each target of tests/fuzz for a minute, with the invariants of `robustness`.
//! - `scripts/soak 1` compares every byte of three mounts for a minute, while it swaps archives and
//!   loose files, kills daemons, and has sources fail (tests/soak).
//! - `PROPTEST_CASES=100 cargo test mount::following::model` compares mounts with fresh ones after
//!   a hundred sequences of changes.
//! - `scripts/bench --quick` measures (tests/bench). `scripts/bench --tiny` tries the benchmark itself.

// A test fails by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/disk.rs"]
mod disk; // a disk that fails or hangs on request
#[path = "support/evictions.rs"]
mod evictions; // counts what the kernel evicted from its caches
#[path = "support/fake_mount.rs"]
mod fake_mount; // a mount of another user, which lies
#[path = "support/mounted.rs"]
mod mounted; // runs the program and mounts, for all tests
mod snapshot; // texts that must equal a file in tests/data
mod support; // builders for archives of every format, in memory
#[path = "support/watchdog.rs"]
mod watchdog; // time limit of tests that mount

mod cli; // every command, without a mount
mod console_textures; // --textures: console textures as linear DDS files or as stored
mod consoles; // BA2 archives of the PlayStation 4 and the Xbox One, from bytes to files
mod content; // bytes: every range, how often they are decoded, bad entries, changed archives
mod desktop; // what desktops and shells get: file types, installation, completion
mod folder; // loose files: what a walk finds, links, reads, changes
mod format; // parsers, on valid and on damaged tables
mod fs_views; // a view replaces another, without a kernel
mod game; // what games load, in the worlds of ../shared/games
mod hangs; // a test that hangs ends the run
mod layering; // which module and which file may import which
mod legacy; // the archives of Arena and Daggerfall, from bytes to files
mod library; // the library as another program uses it
mod limits; // the limits agree with the table in the documentation
mod mesh; // the names of other files in meshes and materials
mod mount; // real mounts
mod names; // --names, hashes of all platforms, extensions recognised from first bytes
mod picture; // thumbnails, PNG and uncompressed pixels
mod prefetch; // files that are decoded before a program asks for them
mod prose; // the length of lines
mod read; // the bounds-checked reader
mod rgba_textures; // --textures=rgba: textures as uncompressed pixels
mod robustness; // damaged archives, through the whole pipeline
mod status; // the counts of a running daemon
mod texture; // untiling, compared with an independent tiler
mod tree; // the tree: layers, duplicates, hostile names, hashes without names
mod unknown_versions; // unknown versions and kinds: refused, or read with --force
mod watch; // what counts as a change
