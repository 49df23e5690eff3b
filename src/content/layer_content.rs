//! The bytes of one layer: an archive or a folder of loose files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use rustix::io::Errno;

use super::cache::Buffer;
use super::error::{EntryError, FaultLog, Reason};
use super::read::{ArchiveContent, FileBytes};
use crate::folder::{FileFault, FileStat, LooseFile, LooseFolder, WholeRead};
use crate::format::EntryId;

#[derive(Debug)]
pub(super) enum LayerContent {
    Archive(ArchiveLayer),
    Folder(LooseFiles),
}

#[derive(Debug)]
pub(super) struct ArchiveLayer {
    pub(super) content: ArchiveContent,
    pub(super) faults: FaultLog,
    /// The kernel's references to inode numbers of this archive: answers that gave it one, minus
    /// those that it forgot.
    pub(super) lookups: AtomicI64,
}

impl LayerContent {
    pub(super) fn of_archive(content: ArchiveContent) -> Self {
        Self::Archive(ArchiveLayer { content, faults: FaultLog::default(), lookups: AtomicI64::new(0) })
    }

    pub(super) fn archive(&self) -> Option<&ArchiveContent> {
        match self {
            Self::Archive(archive) => Some(&archive.content),
            Self::Folder(_) => None,
        }
    }

    pub(super) fn folder(&self) -> Option<&LooseFiles> {
        match self {
            Self::Archive(_) => None,
            Self::Folder(files) => Some(files),
        }
    }

    /// Bytes read so far, without the tables of an archive.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Archive(archive) => archive.content.file.bytes_read(),
            Self::Folder(files) => files.folder.bytes_read(),
        }
    }

    /// The address of what counts the bytes.
    pub(super) fn counter(&self) -> *const () {
        match self {
            Self::Archive(archive) => Arc::as_ptr(&archive.content.file).cast(),
            Self::Folder(files) => Arc::as_ptr(&files.folder).cast(),
        }
    }
}

// The content of a folder of loose files. Each file is one stored extent in a file of its own,
// whose size is learnt when it is first needed.

/// Length of the pieces in which a file is copied and checked, in bytes.
const COPY_LEN: u32 = 1 << 20;

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

    /// Reads `len` bytes of a file from `offset` on, or fewer at the end of the file.
    pub(super) fn read(&self, id: EntryId, offset: u64, len: u32) -> Result<FileBytes<'static>, EntryError> {
        let size = self.known_size(id.entry);
        let out = Buffer::new(len as usize, None);
        let mut out = out.map_err(|reason| self.error(id, reason))?;
        let read = self.folder.read_at(id.entry, &mut out, offset);
        let read = read.map_err(|fault| self.fault(id, fault))?;
        let end = offset.saturating_add(read as u64);
        let is_cut = read < out.len() && size.is_some_and(|size| end < size);
        Ok(FileBytes::in_buffer(out, read).with_cut(is_cut))
    }

    /// Begins to read a whole file.
    pub(super) fn begin(&self, id: EntryId) -> Result<WholeRead, EntryError> {
        self.folder.begin_whole(id.entry).map_err(|fault| self.fault(id, fault))
    }

    /// Ends the read of a whole file, of which `len` bytes were read. Fails if another program wrote to it
    /// meanwhile, so that they may be parts of two states.
    pub(super) fn end(&self, id: EntryId, begun: &WholeRead, len: u64) -> Result<(), EntryError> {
        if begun.is_whole(len) { Ok(()) } else { Err(self.error(id, Reason::FileWritten)) }
    }

    /// Reads a whole file, piece by piece. Returns the number of bytes.
    pub(super) fn each_piece<E: From<EntryError>>(
        &self,
        id: EntryId,
        mut use_it: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let begun = self.begin(id)?;
        let mut at = 0;
        loop {
            let bytes = self.read(id, at, COPY_LEN)?;
            use_it(&bytes)?;
            at += bytes.len() as u64;
            if bytes.len() < COPY_LEN as usize {
                self.end(id, &begun, at)?;
                return Ok(at);
            }
        }
    }

    fn fault(&self, entry: EntryId, fault: FileFault) -> EntryError {
        let reason = match fault {
            FileFault::Replaced => Reason::FileReplaced,
            FileFault::Io(error) => reason(&error),
        };
        self.error(entry, reason)
    }

    fn error(&self, entry: EntryId, reason: Reason) -> EntryError {
        let is_new = self.faults.is_new(entry.entry, &reason);
        EntryError { entry, at: 0, reason, is_new }
    }
}

/// Reads `len` bytes of a loose file that has left the view, from `offset` on, or fewer at its end.
///
/// # Errors
/// [`Reason::FileIo`] or [`Reason::NoMemory`].
pub fn read_open(file: &LooseFile, offset: u64, len: u32) -> Result<FileBytes<'static>, Reason> {
    let mut out = Buffer::new(len as usize, None)?;
    let read = file.read_at(&mut out, offset).map_err(|error| reason(&error))?;
    Ok(FileBytes::in_buffer(out, read))
}

fn reason(error: &io::Error) -> Reason {
    Reason::FileIo(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
}
