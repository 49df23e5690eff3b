//! READLINK of the symbolic links whose targets are JSON: the daemon's status, and where a file comes from.

use super::error::Error;
use super::filesystem::FileSystem;
use super::inode_numbers::{STATUS_INO, WHICH_INO};
use super::provenance::Provenance;
use super::status::Status;

impl FileSystem {
    /// The target of a link, which is one line of JSON.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the node is no link or a link about a folder, [`Error::NoNode`] where it is about no node.
    pub fn read_link(&self, ino: u64) -> Result<String, Error> {
        match ino {
            STATUS_INO => Ok(Status::of(self).to_json()),
            WHICH_INO.. => {
                let node = self.inode(ino - WHICH_INO)?.node.ok_or(Error::Invalid)?;
                Provenance::of(self, node).map(|it| it.to_json()).ok_or(Error::Invalid)
            }
            _ => Err(Error::Invalid),
        }
    }
}
