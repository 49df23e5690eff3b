//! Why a file's bytes could not be read: one bad entry, or an archive or a loose file that changed.

use std::fmt;
use std::io;

use rustix::io::Errno;

use super::codec::DecodeError;
use crate::archive_file::ArchiveReadError;
use crate::format::EntryId;

/// A read that failed.
#[derive(Clone, Debug)]
pub struct EntryError {
    /// The file.
    pub entry: EntryId,
    /// The extent's offset, in bytes from the start of the archive; 0 of a loose file.
    pub at: u64,
    /// What is wrong.
    pub reason: Reason,
    /// Whether this is the first failure of the file, which is to be logged.
    pub is_new: bool,
}

/// What is wrong with an extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The archive is not the one that was opened; its source logs this once.
    Changed,
    /// The extent lies beyond the end of the archive.
    BeyondEnd,
    /// The extent's prefix is longer than the extent.
    Prefix,
    /// The stated unpacked size, in bytes, is more than the codec can make of the data or than the limit.
    UnpackedSize(u32),
    /// The extent takes so many bytes in the archive, more than what it becomes can need or than the limit.
    PackedSize(u32),
    /// The payload does not decode.
    Decode(DecodeError),
    /// The system refused the read, with this error number.
    Io(i32),
    /// A loose file is gone, or is not the one that was looked at first.
    FileChanged,
    /// The system refused to open or read a loose file, with this error number.
    FileIo(i32),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str("the archive was changed while in use"),
            Self::BeyondEnd => f.write_str("its data lies beyond the end of the archive"),
            Self::Prefix => f.write_str("what stands in front of its data is longer than the data"),
            Self::UnpackedSize(size) => write!(
                f,
                "it claims to unpack to {size} bytes, which is more than its data can hold or we can"
            ),
            Self::PackedSize(packed) => {
                write!(
                    f,
                    "its data takes {packed} bytes, which is more than what it becomes can need or we can hold"
                )
            }
            Self::Decode(error) => error.fmt(f),
            Self::Io(errno) => {
                write!(f, "the archive cannot be read: {}", io::Error::from_raw_os_error(*errno))
            }
            Self::FileChanged => f.write_str("the file was changed, moved or removed while in use"),
            Self::FileIo(errno) => {
                write!(f, "the file cannot be read: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::FileChanged | Reason::FileIo(_) => self.reason.fmt(f),
            _ => write!(f, "{} (data at offset {})", self.reason, self.at),
        }
    }
}

impl std::error::Error for EntryError {}

impl From<ArchiveReadError> for Reason {
    fn from(fault: ArchiveReadError) -> Self {
        match fault {
            ArchiveReadError::Changed => Self::Changed,
            ArchiveReadError::Beyond => Self::BeyondEnd,
            // An error without a number is a read that ended early.
            ArchiveReadError::Io(error) => Self::Io(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())),
        }
    }
}

impl From<DecodeError> for Reason {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}
