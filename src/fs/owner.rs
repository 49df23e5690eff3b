//! Owner and permissions of all nodes.

use super::attr::NodeKind;

/// Owner and permissions of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User ID of all nodes.
    pub uid: u32,
    /// Group ID of all nodes.
    pub gid: u32,
    /// Permission bits of files.
    pub file_mode: u16,
    /// Permission bits of folders.
    pub folder_mode: u16,
}

impl Owner {
    /// Of files that everybody may read.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, file_mode: 0o444, folder_mode: 0o555 }
    }

    /// Permission bits of a node.
    pub(super) fn mode(&self, kind: NodeKind) -> u16 {
        match kind {
            NodeKind::File => self.file_mode,
            NodeKind::Folder => self.folder_mode,
            NodeKind::StatusLink => 0o777,
        }
    }
}
