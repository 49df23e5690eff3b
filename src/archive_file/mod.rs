//! An archive file on disk: its identity, positioned reads that detect a change of the file, and
//! the bytes of its tables.
//!
//! Whether the file changed is decided in `stat.rs` by what `fstat` reports, and in `reported.rs` by what
//! inotify reported.

#[expect(clippy::module_inception, reason = "a type lives in a file that bears its name")]
mod archive_file;
mod pieces; // the bytes that a parser needs

pub use archive_file::{ArchiveFile, ArchiveReadError, COARSEST_TICK};
