//! READLINK of the symbolic links whose targets are JSON: the daemon's status, and where a file comes from.

use super::error::Error;
use super::inode_numbers::{STATUS_INO, WHICH_INO, which};
use super::provenance::{Provenance, page};
use super::status::Status;
use super::view::View;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The user.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
}

impl View {
    /// The target of a link, which is one line of JSON, or a page of one.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the node is no link or a link about a folder, [`Error::NoNode`] where it is about no node or
    /// there is no such page, [`Error::NotPermitted`] where the caller may not list folders, and so not know the file.
    pub fn read_link(&self, ino: u64, caller: Caller) -> Result<String, Error> {
        match ino {
            STATUS_INO => Ok(Status::of(self).to_json()),
            WHICH_INO.. => {
                if !self.shared.presentation.owner.may_list(caller.uid, caller.gid) {
                    return Err(Error::NotPermitted);
                }
                let (file, number) = which(ino);
                let node = self.inode(file)?.node.ok_or(Error::Invalid)?;
                let provenance = Provenance::of(self, node).ok_or(Error::Invalid)?;
                page(&provenance.to_json(), number).ok_or(Error::NoNode)
            }
            _ => Err(Error::Invalid),
        }
    }
}
