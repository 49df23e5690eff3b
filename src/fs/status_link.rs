//! READLINK of the symbolic links whose targets are JSON: the daemon's status, the mounted sources,
//! and where a file comes from.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::error::Error;
use super::inode_numbers::{STATUS_INO, WHICH_INO, sources_page, which};
use super::json_pages::page;
use super::sources::MountedSource;
use super::status::{CacheStatus, DaemonStatus};
use super::view::View;
use crate::system::clock::unix_seconds;

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
    /// - [`Error::NotPermitted`] if the caller may not list folders and so not know the file.
    pub fn read_link(&self, ino: u64, caller: Caller) -> Result<Vec<u8>, Error> {
        match ino {
            STATUS_INO => Ok(self.status().to_json().into_bytes()),
            WHICH_INO.. => {
                self.check_may_list(caller)?;
                let (file, number) = which(ino);
                let node = self.inode(file)?.node.ok_or(Error::Invalid)?;
                let provenance = self.vfs.file_of(node).ok_or(Error::Invalid)?.provenance();
                page(provenance.to_json(), number).ok_or(Error::NoNode)
            }
            _ => {
                let number = sources_page(ino).ok_or(Error::Invalid)?;
                self.check_may_list(caller)?;
                page(MountedSource::to_json(self.shared.sources.get().map_or(&[], Vec::as_slice)), number)
                    .ok_or(Error::NoNode)
            }
        }
    }

    fn status(&self) -> DaemonStatus {
        let (bytes, budget) = self.store().cached_bytes();
        DaemonStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: self.shared.started.elapsed().as_secs(),
            since: unix_seconds(self.shared.since),
            archives: self.store().layers(),
            files: self.tree().files(),
            requests: self.shared.requests.by_operation(),
            cache: CacheStatus { bytes, budget, hits: self.store().cache_hits() },
            decoded_bytes: self.store().decoded_bytes(),
            read_bytes: self.store().bytes_read(),
            errors: self.store().faults(),
            views: self.shared.announced.load(Ordering::Relaxed),
            last_reload: self.shared.last_reload.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn check_may_list(&self, caller: Caller) -> Result<(), Error> {
        match self.shared.presentation.owner.may_list(caller.uid, caller.gid) {
            true => Ok(()),
            false => Err(Error::NotPermitted),
        }
    }
}
