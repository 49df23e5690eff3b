//! The bytes of one layer: an archive or a folder of loose files.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use super::fault_log::FaultLog;
use super::loose::LooseFiles;
use super::read::ArchiveContent;

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
