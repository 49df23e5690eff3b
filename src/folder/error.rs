//! Errors of scanning a folder and of reading its files.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// Why a folder could not be scanned.
#[derive(Debug)]
pub enum ScanError {
    /// The system refused to open the folder.
    Io(io::Error),
    /// The folder is on a file system of this kind, which shows the state of the system and no files.
    NoFiles(&'static str),
    /// The folder has more files and folders than this, including those behind links.
    TooMany(u32),
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => {
                f.write_str("reading a folder needs Linux 5.6 or later, and a sandbox must allow openat2")
            }
            Self::Io(error) => error.fmt(f),
            Self::NoFiles(kind) => {
                write!(
                    f,
                    "it is on a {kind} file system, which shows the state of the system; give a folder on \
                     a disk"
                )
            }
            Self::TooMany(most) => {
                write!(
                    f,
                    "more than {most} files and folders, including those behind links; give a subfolder"
                )
            }
        }
    }
}

impl std::error::Error for ScanError {}

impl From<Errno> for ScanError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Why a file could not be statted or read.
#[derive(Debug)]
pub enum FileFault {
    /// The file is gone, or its path leads to another file than the one that was statted first.
    Replaced,
    /// The system refused access.
    Io(io::Error),
}

impl From<Errno> for FileFault {
    fn from(errno: Errno) -> Self {
        match errno {
            // The scan found a file here; now the path has nothing, a link, or a mount.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::STALE => Self::Replaced,
            errno => Self::Io(errno.into()),
        }
    }
}
