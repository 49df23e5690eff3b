//! Attributes of nodes, as `stat` reports them, and what a user chooses of them for all nodes of a mount.

use std::time::SystemTime;

/// Attributes of a node; owner and permissions are the same for all ([`Owner`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// The inode number.
    pub ino: u64,
    /// File, folder or link.
    pub kind: NodeKind,
    /// In bytes; an estimate where it is not lasting, of a file whose size is lost.
    pub size: u64,
    /// When its archive was last changed; a loose file or folder itself.
    pub modified: SystemTime,
    /// Whether it is known and never changes, so that the kernel may cache it for ever; else its TTL is 0.
    pub is_lasting: bool,
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link whose target is JSON ([`super::STATUS_LINK`], [`super::WHICH_LINK`]).
    StatusLink,
}

/// How nodes appear, whatever their content.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// Owner and permissions of all nodes.
    pub owner: Owner,
    /// Whether names are found in their stored spelling alone.
    pub is_exact: bool,
    /// Whether extended attributes are answered.
    pub xattrs: bool,
}

/// Owner and permissions of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User ID of all nodes.
    pub uid: u32,
    /// Group ID of all nodes.
    pub gid: u32,
    /// Permission bits of files, from which `file_mask` takes away.
    pub file_mode: u16,
    /// Permission bits of folders, from which `folder_mask` takes away.
    pub folder_mode: u16,
    /// Permission bits that files do not have.
    pub file_mask: u16,
    /// Permission bits that folders do not have.
    pub folder_mask: u16,
}

impl Owner {
    /// Every user may read the files. Their owner may also write, although a read-only mount refuses that:
    /// otherwise copies that `cp -r` and `rsync -a` make could not be changed and removed.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, file_mode: 0o644, folder_mode: 0o755, file_mask: 0, folder_mask: 0 }
    }

    /// Whether a user may list folders. Of groups the primary one counts: the kernel passes no other.
    pub(crate) fn may_list(&self, uid: u32, gid: u32) -> bool {
        let shift = match () {
            () if uid == 0 => return true,
            () if uid == self.uid => 6,
            () if gid == self.gid => 3,
            () => 0,
        };
        self.mode(NodeKind::Folder) >> shift & 0o5 == 0o5
    }

    /// Permission bits of a node.
    pub(crate) fn mode(&self, kind: NodeKind) -> u16 {
        match kind {
            NodeKind::File => self.file_mode & !self.file_mask,
            NodeKind::Folder => self.folder_mode & !self.folder_mask,
            NodeKind::StatusLink => 0o777,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_list_folders_is_decided_by_the_first_class_that_a_user_is_of() {
        let owner = Owner { folder_mode: 0o751, ..Owner::new(7, 8) };
        let may = |uid, gid| owner.may_list(uid, gid);
        assert_eq!([may(0, 0), may(7, 9), may(9, 8), may(9, 9)], [true, true, true, false]);
        let owner = Owner { folder_mask: 0o700, ..Owner::new(7, 8) };
        assert!(!owner.may_list(7, 8) && owner.may_list(9, 9));
    }
}
