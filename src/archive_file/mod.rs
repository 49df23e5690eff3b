//! An archive file on disk: its identity, positioned reads that detect a change of the file, and
//! the bytes of its tables.
//!
//! Whether the file changed is decided by what `fstat` and inotify report.

#[expect(clippy::module_inception, reason = "the room has one file beside the pieces")]
mod archive_file;
mod pieces; // the bytes that a parser needs

pub use archive_file::{ArchiveFile, ArchiveReadError, COARSEST_TICK};
