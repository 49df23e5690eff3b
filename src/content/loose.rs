//! The content of a folder of loose files. Each file is one stored extent in a file of its own,
//! whose size is learnt when it is first needed.

use std::io::{self, Write};
use std::sync::Arc;

use rustix::io::Errno;

use super::buffer::Buffer;
use super::error::{EntryError, Reason};
use super::fault_log::FaultLog;
use crate::folder::{FileFault, FileStat, LooseFolder};
use crate::format::EntryId;

/// Length of the pieces in which a file is copied and checked, in bytes.
const COPY_LEN: u64 = 1 << 20;

/// The content of one folder.
#[derive(Debug)]
pub(super) struct LooseFiles {
    pub(super) folder: Arc<LooseFolder>,
    faults: FaultLog,
}

impl LooseFiles {
    pub(super) fn new(folder: Arc<LooseFolder>) -> Self {
        Self { folder, faults: FaultLog::default() }
    }

    /// A file's size; `None` if it was not statted yet.
    pub(super) fn known_size(&self, file: u32) -> Option<u64> {
        self.folder.known(file).map(|stat| stat.size)
    }

    /// A file's size, mtime and identity. Stats the file unless they are known.
    pub(super) fn stat(&self, id: EntryId) -> Result<FileStat, EntryError> {
        self.folder.stat(id.entry).map_err(|fault| self.fault(id, fault))
    }

    /// Calls `answer` with `len` bytes of a file from `offset` on, or fewer at the end of the file.
    pub(super) fn read<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, EntryError> {
        let size = self.stat(id)?.size;
        let end = size.min(offset.saturating_add(u64::from(len)));
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else {
            return Ok(answer(&[]));
        };
        let out = Buffer::new(usize::try_from(len).unwrap_or(usize::MAX), None);
        let mut out = out.map_err(|reason| self.error(id, reason))?;
        let read = self.folder.read_exact_at(id.entry, &mut out, offset);
        read.map_err(|fault| self.fault(id, fault))?;
        Ok(answer(&out))
    }

    /// Writes a whole file, piece by piece. Returns its size in bytes.
    pub(super) fn copy(&self, id: EntryId, to: &mut impl Write) -> io::Result<u64> {
        let size = self.stat(id).map_err(io::Error::other)?.size;
        for at in (0..size).step_by(COPY_LEN as usize) {
            let written = self.read(id, at, COPY_LEN as u32, |bytes| to.write_all(bytes));
            written.map_err(io::Error::other)??;
        }
        Ok(size)
    }

    /// Reads a whole file and drops its bytes.
    pub(super) fn check(&self, id: EntryId) -> Result<(), EntryError> {
        let size = self.stat(id)?.size;
        (0..size).step_by(COPY_LEN as usize).try_for_each(|at| self.read(id, at, COPY_LEN as u32, |_| ()))
    }

    fn fault(&self, entry: EntryId, fault: FileFault) -> EntryError {
        let reason = match fault {
            FileFault::Changed => Reason::FileChanged,
            FileFault::Io(error) => Reason::FileIo(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())),
        };
        self.error(entry, reason)
    }

    fn error(&self, entry: EntryId, reason: Reason) -> EntryError {
        let is_refused =
            |errno: i32| [Errno::ACCESS, Errno::PERM].iter().any(|it| it.raw_os_error() == errno);
        let is_new = match reason {
            // An error that concerns all files of a disk is reported once.
            Reason::FileIo(errno) if !is_refused(errno) => self.faults.begins_outage(),
            Reason::NoMemory(_) => self.faults.begins_outage(),
            _ => self.faults.is_first(entry.entry),
        };
        EntryError { entry, at: 0, reason, is_new }
    }
}
