//! Decides which of many failing reads are logged.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::error::{ReadFault, Reason};
use crate::system::sync::Mutex;

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
