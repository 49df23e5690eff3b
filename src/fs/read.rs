//! READ: finds the file of an inode number, and reads it once its device has a worker for it. What concerns
//! only loose files is at the end.

use std::sync::Arc;

use rustix::io::Errno;

use super::attr::Attr;
use super::error::Error;
use super::prefetch::FollowedView;
use super::remembered::inode_numbers::CIOPFS_INO;
use super::remembered::retired::RetiredBytes;
use super::view::View;
use crate::content::{self, EntryError, FileBytes, Reason};
use crate::format::EntryId;
use crate::shown::Shown;
use crate::tree::{Ino, Kind, NodeId};
use crate::vfs::Opened;

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
    Retired(Ino, RetiredBytes),
}

impl ReadTarget {
    /// Finds the file of an inode number.
    ///
    /// # Errors
    /// [`Error::IsFolder`] if it is a folder; [`Error::Replaced`] if no file has the number any more.
    pub fn find(view: Arc<View>, ino: Ino) -> Result<Self, Error> {
        let Opened { tree, store, .. } = &*view.opened;
        let (file, device) = match tree.node(ino).map(|node| (node, tree.kind(node))) {
            _ if ino == CIOPFS_INO => (ReadFile::Ciopfs, 0),
            Some((_, Kind::Folder)) => return Err(Error::IsFolder),
            Some((node, Kind::File(entry))) => (ReadFile::Shown { node, entry }, store.file(entry).device()),
            None => {
                let retired = view.shared.remembered.retired.get(ino).ok_or(Error::Replaced)?;
                let device = match &retired {
                    RetiredBytes::Entry(store, id) => store.file(*id).device(),
                    RetiredBytes::Loose(file) => file.device(),
                };
                (ReadFile::Retired(ino, retired), device)
            }
        };
        Ok(Self { view, file, device })
    }

    /// Reads like [`ReadTarget::read`], and passes the result to `reply`. If the file is loose, what would
    /// make the kernel show zeros, or a size that the file never had, is an error.
    pub(crate) fn answer(&self, offset: u64, len: u32, reply: impl FnOnce(Result<FileBytes<'_>, Error>)) {
        let read = self.read(offset, len);
        match self.loose_ino() {
            Some(ino) => self.answer_loose(ino, (offset, len), read, reply),
            None => reply(read),
        }
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
            ReadFile::Retired(_, RetiredBytes::Entry(store, id)) => {
                store.file(*id).read_at(offset, len).map_err(|error| {
                    // It has no path any more.
                    if error.is_new {
                        log::error!("{}: a file that is still open: {error}", store.path(id.layer).shown());
                    }
                    error_of(&error.reason)
                })
            }
            ReadFile::Retired(ino, RetiredBytes::Loose(file)) => {
                let read = content::read_open(file, offset, len).map_err(|reason| error_of(&reason));
                // This follows the read, so that it sees a write in between.
                self.view.follow_retired(*ino);
                read
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
        let (view, store) = (&self.view, &self.view.opened.store);
        let file = store.file(entry);
        let followed = FollowedView { number: view.number, opened: &view.opened };
        let range = offset..offset.saturating_add(u64::from(len));
        view.shared.prefetch.record_read(&followed, (node, entry), &range);
        let lent = file.lend_archive();
        let mut read = file.read_at(offset, len);
        view.shared.free_after_read(store, lent);
        if store.is_folder(entry.layer) {
            read = self.record_loose_read(node, entry, (offset, len), read);
        }
        let bytes = read.map_err(|error| self.report(node, &error))?;
        // Logged before the reply, so that a program that has the bytes finds the line in the log.
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; it is served because of --salvage", view.path_of(node, entry));
        }
        if let Some(reason) = file.take_kept() {
            let path = view.path_of(node, entry);
            log::warn!("{path}: the texture stays as it is: {reason}; `bsafs status` counts such textures");
        }
        Ok(bytes)
    }

    /// Logs a fault that is new, and starts a reload if the source has changed.
    fn report(&self, node: NodeId, error: &EntryError) -> Error {
        if error.is_new {
            log::error!("{}: {error}", self.view.path_of(node, error.entry));
        }
        let folder = || self.view.store().file(error.entry).loose_folder();
        match &error.reason {
            Reason::Changed | Reason::FileReplaced => self.view.shared.report_change(folder().as_deref()),
            Reason::Io(errno) | Reason::FileIo(errno) if is_of_lost_disk(*errno) => {
                self.view.shared.report_fault(folder().as_deref());
            }
            _ => {}
        }
        error_of(&error.reason)
    }
}

/// Whether an error may be that of a disk that was unplugged, or of a server or daemon that was restarted.
/// It may be back at the same path.
fn is_of_lost_disk(errno: i32) -> bool {
    [Errno::IO, Errno::NOTCONN, Errno::STALE, Errno::NODEV].contains(&Errno::from_raw_os_error(errno))
}

fn error_of(reason: &Reason) -> Error {
    match reason {
        Reason::NoMemory(_) => Error::NoMemory,
        Reason::FileReplaced => Error::Replaced,
        Reason::FileIo(errno) if Errno::from_raw_os_error(*errno) == Errno::ACCESS => Error::NotPermitted,
        Reason::Io(_) | Reason::FileIo(_) => Error::Unreadable,
        // A READ is never one of a whole file.
        Reason::Changed | Reason::FileWritten => Error::Changed,
        Reason::BeyondEnd
        | Reason::InTables
        | Reason::Prefix
        | Reason::UnpackedSize(_)
        | Reason::PackedSize(_)
        | Reason::Decode(_) => Error::Damaged,
    }
}

// Loose files may be written to at any time, and the kernel has the size and pages from before.

impl ReadTarget {
    /// The inode number, if it is that of a loose file.
    fn loose_ino(&self) -> Option<Ino> {
        match &self.file {
            ReadFile::Shown { node, entry } => {
                self.view.store().is_folder(entry.layer).then(|| self.view.tree().ino(*node))
            }
            ReadFile::Retired(ino, RetiredBytes::Loose(_)) => Some(*ino),
            ReadFile::Retired(_, RetiredBytes::Entry(..)) | ReadFile::Ciopfs => None,
        }
    }

    /// Passes what was read of a loose file to `reply`, or an error if the kernel would take its end for a
    /// size that the file never had, or fill its last page with zeros.
    fn answer_loose(
        &self,
        ino: Ino,
        (offset, len): (u64, u32),
        read: Result<FileBytes<'_>, Error>,
        reply: impl FnOnce(Result<FileBytes<'_>, Error>),
    ) {
        let Some(bytes) = read.as_ref().ok().filter(|bytes| bytes.len() < len as usize) else {
            return reply(read);
        };
        let end = offset + bytes.len() as u64;
        // The kernel reads nothing beyond the size that it has, which is an earlier one. It would take `end`
        // for the size of the file. The disk may hang, so it is asked before other replies wait for this one.
        let is_beyond = bytes.is_empty() && self.view.size_now(ino).is_some_and(|size| offset > size);
        let (is_filled, _replying) = self.view.shared.remembered.written.is_filled(ino, end);
        if is_filled {
            return reply(Err(Error::BeingWritten));
        }
        reply(if is_beyond { Err(Error::Replaced) } else { read })
    }

    /// Records what a read of a loose file found, before the reply: that the file was written to or cut off.
    fn record_loose_read<'s>(
        &'s self,
        node: NodeId,
        entry: EntryId,
        (offset, len): (u64, u32),
        mut read: Result<FileBytes<'s>, EntryError>,
    ) -> Result<FileBytes<'s>, EntryError> {
        let (view, file) = (&self.view, self.view.store().file(entry));
        view.record_read_link(node, entry);
        let is_outdated = file.take_outdated();
        // This comes before the report of the change: the reload that follows must find what was noticed.
        if is_outdated {
            self.record_write(view.tree().ino(node));
        }
        if read.as_ref().is_ok_and(FileBytes::is_cut) {
            read = self.read_after_cut(node, entry, offset, len);
        }
        if is_outdated {
            view.shared.report_change(file.loose_folder().as_deref());
        }
        read
    }

    /// Records before the reply that a loose file was written to. The kernel may have pages from before.
    fn record_write(&self, ino: Ino) {
        // When the program comes to the end that the kernel knows, the kernel must ask for the new one.
        if let Some((then, now)) = self.view.follow_new_write(ino)
            && now.size > then.size
            && let Some(host) = self.view.shared.host.get()
        {
            host.drop_attributes(ino);
        }
    }

    /// Reads a loose file again that ended earlier than expected. It may have been cut off and written again
    /// meanwhile. If it does end there although it has a larger size, its end is its size: some file systems
    /// state sizes that files do not have.
    fn read_after_cut(
        &self,
        node: NodeId,
        entry: EntryId,
        offset: u64,
        len: u32,
    ) -> Result<FileBytes<'_>, EntryError> {
        let (view, ino) = (&self.view, self.view.tree().ino(node));
        let before = view.size_now(ino);
        let bytes = view.store().file(entry).read_at(offset, len)?;
        let end = offset + bytes.len() as u64;
        if bytes.is_cut()
            && let (Ok(then), Some(size)) = (view.attr(ino), before)
            && end < size
            && end < then.size
            && view.size_now(ino) == Some(size)
        {
            let held = view.shared.remembered.written.follow(then, Attr { size: end, ..then });
            if let Some(host) = view.shared.host.get() {
                host.drop_pages(held);
            }
        }
        Ok(bytes)
    }
}
