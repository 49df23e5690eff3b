//! READLINK of the symbolic links whose targets are JSON: the daemon's status, the mounted sources, the last
//! changes of files, and where a file comes from.

use std::sync::atomic::Ordering;

use super::error::Error;
use super::remembered::inode_numbers::{
    CHANGES_INO, STATUS_INO, WHICH_INO, changes_from, sources_page, which,
};
use super::reported::daemon_status::{CacheStatus, DaemonStatus, page};
use super::view::View;
use crate::answers::Provenance;
use crate::answers::unseen::reported;
use crate::note::summaries;
use crate::system::clock::unix_seconds;
use crate::tree::Ino;

/// Replaces the text about the last reload for users who may not know the paths of the sources.
const PRIVATE: &str = "only root and the user who mounted may know what it changed";

/// The user who makes a request.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// User ID.
    pub uid: u32,
    /// ID of the primary group.
    pub gid: u32,
}

impl View {
    /// The target of a link: one line of JSON, or a page of it.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if the node is not a link, or if the link describes a folder.
    /// - [`Error::NoNode`] if the link describes no node, or if the page does not exist.
    /// - [`Error::NotPermitted`] if the caller may not list folders and so not know the file, or if the
    ///   caller asks for the sources and may not know their paths.
    pub fn read_link(&self, ino: Ino, caller: Caller) -> Result<Vec<u8>, Error> {
        match ino {
            STATUS_INO => {
                let mut status = self.status();
                if !self.may_know_paths(caller) && !status.last_reload.what.is_empty() {
                    // The text may name files.
                    status.last_reload.what = PRIVATE.to_owned();
                }
                Ok(status.to_json().into_bytes())
            }
            _ if ino >= CHANGES_INO => {
                self.check_may_list(caller)?;
                let log = self.shared.change_log();
                let is_watching = self.shared.is_unwatched_known();
                Ok(log.since(changes_from(ino).unwrap_or(log.next()), is_watching).into_bytes())
            }
            _ if ino >= WHICH_INO => {
                self.check_may_list(caller)?;
                let (file, number) = which(ino);
                let node = self.inode(file)?.node.ok_or(Error::Invalid)?;
                let file = self.vfs().file_of(node).ok_or(Error::Invalid)?;
                page(self.provenance_for(caller, file.provenance()).to_json(), number).ok_or(Error::NoNode)
            }
            _ => {
                let number = sources_page(ino).ok_or(Error::Invalid)?;
                if !self.may_know_paths(caller) {
                    return Err(Error::NotPermitted);
                }
                let mut sources = self.shared.reported.sources.get().cloned().unwrap_or_default();
                // A reload may have found another profile, and other oddities.
                let vfs = self.vfs();
                let profile = vfs.order().profile.as_ref();
                sources.profile = profile.map(|it| it.to_string_lossy().into_owned());
                let gone = self.shared.reported.gone_disks.lock();
                let kept = vfs.kept_textures();
                sources.odd = summaries(vfs.notes().chain(&kept).chain(&*gone));
                sources.not_looked_at = reported(&vfs);
                page(sources.to_json(), number).ok_or(Error::NoNode)
            }
        }
    }

    fn status(&self) -> DaemonStatus {
        let (bytes, budget) = self.store().cached_bytes();
        DaemonStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: self.shared.reported.started.elapsed().as_secs(),
            since: unix_seconds(self.shared.reported.since),
            archives: self.store().layers() - self.store().folders().count(),
            encodings: self.vfs().encodings(),
            folders: self.store().folders().count(),
            files: self.tree().files(),
            requests: self.shared.reported.requests.by_operation(),
            cache: CacheStatus { bytes, budget, hits: self.store().cache_hits() },
            decoded_bytes: self.store().decoded_bytes(),
            read_bytes: self.store().bytes_read() + self.shared.reported.read_before.load(Ordering::Relaxed),
            errors: self.store().faults(),
            views: self.shared.remembered.announced.load(Ordering::Relaxed),
            watches: self.shared.reported.watches.lock().clone(),
            pending_names: self.shared.remembered.pending.len(),
            last_reload: self.shared.reported.last_reload.lock().clone(),
        }
    }

    /// Where a file comes from, as far as the caller may know.
    pub(super) fn provenance_for(&self, caller: Caller, provenance: Provenance) -> Provenance {
        if self.may_know_paths(caller) { provenance } else { provenance.with_names_only() }
    }

    /// Whether a user may know where the sources are. With `allow_other`, every user can read the mount,
    /// but perhaps not enter the folders of the sources. Only root and the user whose rights the daemon
    /// has can do that in every case.
    fn may_know_paths(&self, caller: Caller) -> bool {
        caller.uid == 0 || caller.uid == self.shared.reported.user
    }

    fn check_may_list(&self, caller: Caller) -> Result<(), Error> {
        if self.shared.presentation.owner.may_list(caller.uid, caller.gid) {
            Ok(())
        } else {
            Err(Error::NotPermitted)
        }
    }
}
