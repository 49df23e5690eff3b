//! Why a file's bytes could not be read: a bad entry, or an archive or loose file that changed.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::io::Errno;

use super::codec::DecodeError;
use crate::archive_file::ArchiveReadError;
use crate::format::EntryId;
use crate::system::memory;
use crate::system::sync::Mutex;

/// A failed read.
#[derive(Clone, Debug)]
pub struct EntryError {
    pub entry: EntryId,
    /// The extent's offset in the archive, in bytes; 0 for a loose file.
    pub at: u64,
    pub reason: Reason,
    /// Whether this failure should be logged, because it is the first one of the file.
    pub is_new: bool,
}

/// Why bytes of an archive could not be read. [`EntryError`] adds which file they are of.
#[derive(Clone, Debug)]
pub(crate) struct ReadFault {
    /// The offset in the archive, in bytes.
    pub(crate) at: u64,
    pub(crate) reason: Reason,
}

impl ReadFault {
    /// A fault that no extent has.
    pub(crate) fn at_start(reason: Reason) -> Self {
        Self { at: 0, reason }
    }
}

/// Why a file could not be copied.
#[derive(Debug)]
pub(crate) enum CopyError {
    Reader(ReadFault),
    Writer(io::Error),
}

impl From<ReadFault> for CopyError {
    fn from(fault: ReadFault) -> Self {
        Self::Reader(fault)
    }
}

/// What is wrong with an extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The archive is no longer the one that was opened. `archive_file` logs this once.
    Changed,
    /// The extent lies beyond the end of the archive.
    BeyondEnd,
    /// The extent begins inside the tables of the archive, whose bytes are no content.
    InTables,
    /// The extent's prefix is longer than the extent.
    Prefix,
    /// The declared unpacked size, in bytes: more than the codec can make of the data, or more than
    /// the limit.
    UnpackedSize(u32),
    /// The size of the extent in the archive, in bytes: too large for its unpacked size, or more than
    /// the limit.
    PackedSize(u32),
    /// The payload does not decode.
    Decode(DecodeError),
    /// The system refused to read the archive, with this error number.
    Io(i32),
    /// A loose file is gone, or another file has its path now.
    FileReplaced,
    /// Another program wrote to a loose file while all of it was read.
    FileWritten,
    /// The system refused to open or read a loose file, with this error number.
    FileIo(i32),
    /// The system has no memory for a buffer of this many bytes.
    NoMemory(u64),
}

impl Reason {
    /// Whether the bytes were not looked at, so that nothing is known of them. Otherwise they are damaged.
    pub fn is_unseen(&self) -> bool {
        match self {
            Self::Changed
            | Self::Io(_)
            | Self::FileReplaced
            | Self::FileWritten
            | Self::FileIo(_)
            | Self::NoMemory(_) => true,
            Self::BeyondEnd
            | Self::InTables
            | Self::Prefix
            | Self::UnpackedSize(_)
            | Self::PackedSize(_)
            | Self::Decode(_) => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str("the archive was changed while in use"),
            Self::BeyondEnd => f.write_str("its data lies beyond the end of the archive"),
            Self::InTables => {
                f.write_str("its data lies inside the tables of the archive, so its packer did not finish")
            }
            Self::Prefix => f.write_str("its data ends inside the name or size that it begins with"),
            Self::UnpackedSize(size) => write!(
                f,
                "its unpacked size of {size} bytes is more than its data can contain, or more than bsafs \
                 supports"
            ),
            Self::PackedSize(packed) => {
                write!(
                    f,
                    "its packed size of {packed} bytes is too large for its content, or more than \
                     bsafs supports"
                )
            }
            Self::Decode(error) => error.fmt(f),
            Self::Io(errno) => {
                write!(f, "the archive cannot be read: {}", io::Error::from_raw_os_error(*errno))
            }
            Self::FileReplaced => f.write_str("the file was replaced, moved or removed while in use"),
            Self::FileWritten => f.write_str("the file was written to while it was read; try again"),
            Self::FileIo(errno) => {
                write!(f, "the file cannot be read: {}", io::Error::from_raw_os_error(*errno))
            }
            Self::NoMemory(len) => {
                write!(f, "not enough memory for a buffer of {len} bytes{}", memory::under_limit())
            }
        }
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::FileReplaced | Reason::FileWritten | Reason::FileIo(_) | Reason::NoMemory(_) => {
                self.reason.fmt(f)
            }
            _ => write!(f, "{} (data at offset {})", self.reason, self.at),
        }
    }
}

impl std::error::Error for EntryError {}

impl From<EntryError> for io::Error {
    fn from(error: EntryError) -> Self {
        Self::other(error)
    }
}

impl From<ArchiveReadError> for Reason {
    fn from(fault: ArchiveReadError) -> Self {
        match fault {
            ArchiveReadError::Changed => Self::Changed,
            ArchiveReadError::Beyond => Self::BeyondEnd,
            // An error without a number means that the read ended early.
            ArchiveReadError::Io(error) => Self::Io(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())),
        }
    }
}

impl From<DecodeError> for Reason {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

// Decides which of many failing reads are logged.

/// Failing reads closer together than this are one outage.
const OUTAGE_GAP: Duration = Duration::from_secs(600);

/// The faults of one layer that were logged. Only the first fault of each entry is logged. An outage affects
/// all entries, so it is logged once.
#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    entries: Mutex<HashSet<u32>>,
    /// When the system last refused a read.
    outage: Mutex<Option<Instant>>,
}

impl FaultLog {
    /// Whether to log a fault. A changed archive is logged by [`crate::archive_file::ArchiveFile`].
    pub(crate) fn is_new(&self, entry: u32, reason: &Reason) -> bool {
        let is_refused =
            |errno: i32| [Errno::ACCESS, Errno::PERM].iter().any(|it| it.raw_os_error() == errno);
        match *reason {
            Reason::Changed | Reason::FileReplaced | Reason::FileWritten => false,
            // Permissions are those of a single loose file.
            Reason::FileIo(errno) if is_refused(errno) => self.is_first(entry),
            Reason::Io(_) | Reason::FileIo(_) | Reason::NoMemory(_) => self.begins_outage(),
            _ => self.is_first(entry),
        }
    }

    /// Records a fault of an entry. Returns whether it is the entry's first.
    fn is_first(&self, entry: u32) -> bool {
        self.entries.lock().insert(entry)
    }

    /// Records that the system refused a read. Returns whether this begins an outage.
    fn begins_outage(&self) -> bool {
        let mut last = self.outage.lock();
        last.replace(Instant::now()).is_none_or(|last| last.elapsed() > OUTAGE_GAP)
    }
}

/// Files whose suspect bytes are served (`--salvage`), each with its first fault until [`Salvaged::take`]
/// returns that. A file is identified by the numbers of its archive and its entry.
#[derive(Debug, Default)]
pub(crate) struct Salvaged(Mutex<HashMap<(u32, u32), Option<ReadFault>>>);

impl Salvaged {
    /// Records a fault for the log, unless the file has had one before.
    pub(crate) fn record(&self, file: (u32, u32), fault: ReadFault) {
        let mut files = self.0.lock();
        files.entry(file).or_insert(Some(fault));
    }

    /// Returns the recorded fault of a file, but only once.
    pub(crate) fn take(&self, file: (u32, u32)) -> Option<ReadFault> {
        self.0.lock().get_mut(&file)?.take()
    }
}
