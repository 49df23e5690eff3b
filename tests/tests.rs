//! All tests that stand outside the source, in one program: a module for each layer, from the bottom up.

// A test that fails says so by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/mounted.rs"]
mod mounted; // the real program, and mounts that go with the test
mod support;

mod cli; // every command, without a mount
mod consoles; // BA2 of the PlayStation 4 and the Xbox One, from bytes to files
mod content; // bytes: every cut, how often decoded, bad entries, changed archives
mod force; // unknown versions and kinds, refused or forced
mod format; // what the parsers make of tables, honest or not
mod layering; // which part of the crate may import which
mod legacy; // the archives of Arena and Daggerfall, from bytes to files
mod mount; // real mounts
mod names; // lists of names, hashes of all platforms, extensions from first bytes
mod presented; // textures of consoles as DDS files, up to the command line and a mount
mod robustness; // damage of every kind, all the way through
mod status; // what a running daemon tells of itself
mod texture; // what consoles' textures become, against a tiler of the tests' own
mod tree; // names: layers, twins, hostile names, hashes without names
