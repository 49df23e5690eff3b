//! Why a read of an archive file failed.

use std::io;

/// Why a read failed.
#[derive(Debug)]
pub enum ArchiveReadError {
    /// The file was changed since its tables were read.
    Changed,
    /// The bytes lie beyond the end of the file.
    Beyond,
    /// The system returned an error.
    Io(io::Error),
}
