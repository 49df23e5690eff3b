//! Symbolic links whose targets are JSON: the state of the daemon, and where a file comes from.

use super::error::Error;
use super::filesystem::FileSystem;
use super::inode_numbers::{STATUS_INO, WHICH_INO};
use super::provenance::Provenance;
use super::status::Status;

impl FileSystem {
    /// The text that a link tells instead of a target.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the node is no such link.
    pub fn text(&self, ino: u64) -> Result<String, Error> {
        match ino {
            STATUS_INO => Ok(Status::of(self).to_json()),
            WHICH_INO.. => {
                let node = self.place(ino - WHICH_INO)?.node.ok_or(Error::Invalid)?;
                Provenance::of(self, node).map(|it| it.to_json()).ok_or(Error::Invalid)
            }
            _ => Err(Error::Invalid),
        }
    }
}
