//! READ, once its file is known (`read_target.rs`) and its device has a worker for it.

use rustix::io::Errno;

use super::error::Error;
use super::prefetch::FollowedView;
use super::read_target::{ReadFile, ReadTarget};
use super::remembered::retired::RetiredBytes;
use crate::content::{self, EntryError, FileBytes, Reason};
use crate::format::EntryId;
use crate::shown::Shown;
use crate::tree::NodeId;

impl ReadTarget {
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
        let (view, file) = (&self.view, self.view.store().file(entry));
        let followed = FollowedView { number: view.number, vfs: &view.vfs };
        let range = offset..offset.saturating_add(u64::from(len));
        view.shared.prefetch.note_read(&followed, (node, entry), &range);
        let lent = file.lend_archive();
        let read = file.read_at(offset, len);
        if let Some(lent) = lent {
            view.shared.lent.note_used(lent);
            view.shared.host.get().into_iter().for_each(|host| host.trim_cache());
        }
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
        view.note_read_link(node, entry);
        if file.take_outdated() {
            // Pages that were read before the write go before its bytes are sent.
            if view.is_unwatched(node)
                && let Some(host) = view.shared.host.get()
            {
                host.drop_pages(view.tree().ino(node));
            }
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
        | Reason::Prefix
        | Reason::UnpackedSize(_)
        | Reason::PackedSize(_)
        | Reason::Decode(_) => Error::Damaged,
    }
}
