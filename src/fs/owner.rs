//! Owner and permissions of every node.

use super::attr::NodeKind;

/// Whose the files are, and what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User of all nodes.
    pub uid: u32,
    /// Group of all nodes.
    pub gid: u32,
    /// Permissions of files.
    pub file_mode: u16,
    /// Permissions of folders.
    pub folder_mode: u16,
}

impl Owner {
    /// Files that everybody reads, whose owner is the given one.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, file_mode: 0o444, folder_mode: 0o555 }
    }

    /// Permissions of a node.
    pub(super) fn mode(&self, shape: NodeKind) -> u16 {
        match shape {
            NodeKind::File => self.file_mode,
            NodeKind::Folder => self.folder_mode,
            NodeKind::StatusLink => 0o777,
        }
    }
}
