//! READ. Its file is found once, and the file's device decides in which queue the request waits. Once the
//! device has a worker for it, the file is read.

use std::sync::Arc;

use rustix::io::Errno;

use super::error::Error;
use super::prefetch::FollowedView;
use super::remembered::inode_numbers::CIOPFS_INO;
use super::remembered::retired::RetiredBytes;
use super::view::View;
use crate::content::{self, EntryError, FileBytes, Reason};
use crate::format::EntryId;
use crate::shown::Shown;
use crate::tree::{Ino, Kind, NodeId};

/// The file that a READ is for.
#[derive(Debug)]
pub struct ReadTarget {
    view: Arc<View>,
    file: ReadFile,
    /// The device that has the file's bytes. If no device has them, this is 0, which is never a device.
    pub(crate) device: u64,
}

#[derive(Debug)]
enum ReadFile {
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
    pub fn find(view: Arc<View>, ino: Ino) -> Result<Self, Error> {
        let (file, device) = match view.inode(ino) {
            _ if ino == CIOPFS_INO => (ReadFile::Ciopfs, 0),
            Ok(inode) => {
                let node = inode.node.ok_or(Error::IsFolder)?;
                let Kind::File(entry) = view.tree().kind(node) else { return Err(Error::IsFolder) };
                (ReadFile::Shown { node, entry }, view.store().file(entry).device())
            }
            Err(_) => {
                let retired = view.shared.retired.get(ino).ok_or(Error::Replaced)?;
                let device = match &retired {
                    RetiredBytes::Entry(store, id) => store.file(*id).device(),
                    RetiredBytes::Loose(file) => file.device(),
                };
                (ReadFile::Retired(retired), device)
            }
        };
        Ok(Self { view, file, device })
    }

    /// Reads up to `len` bytes of the file from `offset` on. Fewer are read only at the end of the file.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Changed`], [`Error::Unreadable`], [`Error::NoMemory`], or for a loose
    /// file [`Error::Replaced`] or [`Error::NotPermitted`]. Each fault is logged once.
    pub fn read(&self, offset: u64, len: u32) -> Result<FileBytes<'_>, Error> {
        match &self.file {
            ReadFile::Ciopfs => Ok(FileBytes::EMPTY),
            ReadFile::Shown { node, entry } => self.read_shown(*node, *entry, offset, len),
            ReadFile::Retired(RetiredBytes::Entry(store, id)) => {
                store.file(*id).read_at(offset, len).map_err(|error| {
                    // It has no path any more.
                    if error.is_new {
                        log::error!("{}: a file that is still open: {error}", store.path(id.layer).shown());
                    }
                    error_of(&error.reason)
                })
            }
            ReadFile::Retired(RetiredBytes::Loose(file)) => {
                content::read_open(file, offset, len).map_err(|reason| error_of(&reason))
            }
        }
    }

    fn read_shown(
        &self,
        node: NodeId,
        entry: EntryId,
        offset: u64,
        len: u32,
    ) -> Result<FileBytes<'_>, Error> {
        let (view, file) = (&self.view, self.view.store().file(entry));
        let followed = FollowedView { number: view.number, vfs: &view.vfs };
        let range = offset..offset.saturating_add(u64::from(len));
        view.shared.prefetch.note_read(&followed, (node, entry), &range);
        let read = file.read_at(offset, len);
        // This comes before the report of the change: the reload that follows must find the cut to end it.
        if let Ok(bytes) = &read
            && bytes.is_cut()
        {
            self.note_cut(node, offset + bytes.len() as u64);
        }
        if view.store().needs_trim()
            && let Some(host) = view.shared.host.get()
        {
            host.trim_cache();
        }
        if file.take_outdated() {
            view.shared.report_change(file.loose_folder().as_deref());
        }
        let bytes = read.map_err(|error| self.report(node, &error))?;
        // Logged before the reply, so that a program that has the bytes finds the line in the log.
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; it is served because of --salvage", view.path_of(node, entry));
        }
        if let Some(why) = file.take_kept() {
            let path = view.path_of(node, entry);
            log::warn!("{path}: the texture stays as it is: {why}; `bsafs status` counts such textures");
        }
        Ok(bytes)
    }

    /// Records before the reply that a loose file ends earlier than it did. The kernel fills its pages with
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
            self.view.shared.report_change(self.view.store().file(error.entry).loose_folder().as_deref());
        }
        error_of(&error.reason)
    }
}

fn error_of(reason: &Reason) -> Error {
    match reason {
        Reason::NoMemory(_) => Error::NoMemory,
        Reason::FileReplaced => Error::Replaced,
        Reason::FileIo(errno) if Errno::from_raw_os_error(*errno) == Errno::ACCESS => Error::NotPermitted,
        Reason::Io(_) | Reason::FileIo(_) => Error::Unreadable,
        Reason::Changed => Error::Changed,
        Reason::BeyondEnd
        | Reason::Prefix
        | Reason::UnpackedSize(_)
        | Reason::PackedSize(_)
        | Reason::Decode(_) => Error::Damaged,
    }
}
