//! READ. The file of an inode number is found once; its device decides in which queue the request waits.

use std::sync::Arc;

use rustix::io::Errno;

use super::error::Error;
use super::inode_numbers::CIOPFS_INO;
use super::retired::RetiredBytes;
use super::view::View;
use crate::content::{EntryError, Reason, Store};
use crate::format::EntryId;
use crate::tree::{Kind, NodeId};

/// The file that a READ is for.
#[derive(Debug)]
pub struct ReadTarget {
    view: Arc<View>,
    file: File,
}

#[derive(Debug)]
enum File {
    /// The empty file by which Wine recognises a file system that ignores case.
    Ciopfs,
    Shown {
        node: NodeId,
        entry: EntryId,
    },
    /// A file that is open, but no longer in the view.
    Retired(RetiredBytes),
}

impl ReadTarget {
    /// Finds the file of an inode number.
    ///
    /// # Errors
    /// [`Error::IsFolder`] if it is a folder; [`Error::Replaced`] if no file has the number any more.
    pub fn find(view: Arc<View>, ino: u64) -> Result<Self, Error> {
        let file = match view.inode(ino) {
            _ if ino == CIOPFS_INO => File::Ciopfs,
            Ok(inode) => {
                let node = inode.node.ok_or(Error::IsFolder)?;
                let Kind::File(entry) = view.tree().kind(node) else { return Err(Error::IsFolder) };
                File::Shown { node, entry }
            }
            Err(_) => File::Retired(view.shared.retired.get(ino).ok_or(Error::Replaced)?),
        };
        Ok(Self { view, file })
    }

    /// The device that has the file's bytes. If no device has them, this is 0, which is never a device.
    pub fn device(&self) -> u64 {
        match &self.file {
            File::Ciopfs => 0,
            File::Shown { entry, .. } => self.view.store().device(*entry),
            File::Retired(RetiredBytes::Entry(store, id)) => store.device(*id),
            File::Retired(RetiredBytes::Loose(file)) => file.device(),
        }
    }

    /// Passes up to `len` bytes of the file from `offset` on to `answer`. Fewer are passed only at
    /// the end of the file.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::NoMemory`], or for a loose file [`Error::Replaced`] or
    /// [`Error::NotPermitted`]. Each fault of a file in the view is logged once.
    pub fn read<T>(&self, offset: u64, len: u32, answer: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        match &self.file {
            File::Ciopfs => Ok(answer(&[])),
            File::Shown { node, entry } => self.read_shown(*node, *entry, offset, len, answer),
            File::Retired(RetiredBytes::Entry(store, id)) => {
                store.read_at(*id, offset, len, answer).map_err(|error| error_of(&error.reason))
            }
            File::Retired(RetiredBytes::Loose(file)) => {
                Store::read_open(file, offset, len, answer).map_err(|reason| error_of(&reason))
            }
        }
    }

    fn read_shown<T>(
        &self,
        node: NodeId,
        entry: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        let (view, store) = (&self.view, self.view.store());
        let read = store.read_at(entry, offset, len, |bytes| {
            // Logged before the answer, so that a program that has the bytes finds the line in the log.
            if let Some(error) = store.take_salvaged(entry) {
                log::warn!("{}: {error}; it is served because of --salvage", view.path_of(node, entry));
            }
            let end = offset + bytes.len() as u64;
            if bytes.len() < len as usize && store.known_size(entry).is_some_and(|size| end < size) {
                self.note_cut(node, end);
            }
            answer(bytes)
        });
        if store.needs_trim()
            && let Some(host) = view.shared.host.get()
        {
            host.trim_cache();
        }
        if store.take_outdated(entry) {
            view.shared.report_change(store.loose_folder(entry).as_deref());
        }
        read.map_err(|error| self.report(node, &error))
    }

    /// Records before the answer that a loose file ends earlier than it did. The kernel fills its pages with
    /// zeros up to the size that it knows, so it must drop them.
    fn note_cut(&self, node: NodeId, size: u64) {
        let shared = &self.view.shared;
        let Ok(attr) = self.view.attr(self.view.tree().ino(node)) else { return };
        if shared.written.cut(attr, size)
            && let Some(host) = shared.host.get()
        {
            host.drop_pages(attr.ino);
        }
    }

    /// Logs a fault that is new, and starts a reload if the source has changed.
    fn report(&self, node: NodeId, error: &EntryError) -> Error {
        if error.is_new {
            log::error!("{}: {error}", self.view.path_of(node, error.entry));
        }
        if matches!(error.reason, Reason::Changed | Reason::FileReplaced) {
            self.view.shared.report_change(self.view.store().loose_folder(error.entry).as_deref());
        }
        error_of(&error.reason)
    }
}

fn error_of(reason: &Reason) -> Error {
    match reason {
        Reason::NoMemory(_) => Error::NoMemory,
        Reason::FileReplaced => Error::Replaced,
        Reason::FileIo(errno) if Errno::from_raw_os_error(*errno) == Errno::ACCESS => Error::NotPermitted,
        _ => Error::Damaged,
    }
}
