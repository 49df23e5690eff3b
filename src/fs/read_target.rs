//! The file of a READ. It is found once, and its device decides in which queue the request waits.

use std::sync::Arc;

use super::error::Error;
use super::remembered::inode_numbers::CIOPFS_INO;
use super::remembered::retired::RetiredBytes;
use super::view::View;
use crate::format::EntryId;
use crate::tree::{Ino, Kind, NodeId};

/// The file that a READ is for.
#[derive(Debug)]
pub struct ReadTarget {
    pub(super) view: Arc<View>,
    pub(super) file: ReadFile,
    /// The device that has the file's bytes. If no device has them, this is 0, which is never a device.
    pub(crate) device: u64,
}

#[derive(Debug)]
pub(super) enum ReadFile {
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
                (ReadFile::Retired(ino, retired), device)
            }
        };
        Ok(Self { view, file, device })
    }
}
