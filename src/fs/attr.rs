//! Attributes of nodes, as `stat` reports them, and the options for how all nodes of a mount appear.

use std::time::SystemTime;

use crate::tree::Ino;

/// Attributes of a node. Owner and permissions are not among them, because all nodes share these ([`Owner`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Inode number.
    pub ino: Ino,
    /// File, folder or link.
    pub kind: NodeKind,
    /// Size in bytes; an estimate if a file's size is unknown.
    pub size: u64,
    /// The mtime of the archive; for a loose file or folder, its own mtime.
    pub modified: SystemTime,
    /// How long the kernel may cache the attributes.
    pub validity: Validity,
}

/// How long the kernel may cache attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Not at all: they are unknown, or about to change.
    None,
    /// For this many seconds: no event reports a change.
    Seconds(u32),
    /// Until the kernel is notified.
    Lasting,
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link whose target is JSON ([`super::STATUS_LINK`], [`super::WHICH_LINK`]).
    OwnLink,
}

/// How nodes appear, independently of their content.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// Owner and permissions of all nodes.
    pub owner: Owner,
    /// Whether a lookup must match the case of the stored name.
    pub is_exact: bool,
    /// Whether nodes have extended attributes.
    pub xattrs: bool,
}

/// Owner and permissions of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User ID of all nodes.
    pub uid: u32,
    /// Group ID of all nodes.
    pub gid: u32,
    /// Permission bits of files, before `file_mask` is applied.
    pub file_mode: u16,
    /// Permission bits of folders, before `folder_mask` is applied.
    pub folder_mode: u16,
    /// Permission bits to remove from files.
    pub file_mask: u16,
    /// Permission bits to remove from folders.
    pub folder_mask: u16,
}

impl Owner {
    /// Every user may read the files. Their owner may also write, although a read-only mount refuses that.
    /// Otherwise the owner could not change or remove copies made by `cp -r` and `rsync -a`.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, file_mode: 0o644, folder_mode: 0o755, file_mask: 0, folder_mask: 0 }
    }

    /// Whether a user may list folders. Only the primary group counts, because the kernel passes no other.
    pub(crate) fn may_list(&self, uid: u32, gid: u32) -> bool {
        let shift = match () {
            () if uid == 0 => return true,
            () if uid == self.uid => 6,
            () if gid == self.gid => 3,
            () => 0,
        };
        self.mode(NodeKind::Folder) >> shift & 0o5 == 0o5
    }

    /// Permission bits of a node of this type.
    pub(crate) fn mode(&self, kind: NodeKind) -> u16 {
        match kind {
            NodeKind::File => self.file_mode & !self.file_mask,
            NodeKind::Folder => self.folder_mode & !self.folder_mask,
            NodeKind::OwnLink => 0o777,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_matching_class_decides_if_a_user_may_list() {
        let owner = Owner { folder_mode: 0o751, ..Owner::new(7, 8) };
        let may = |uid, gid| owner.may_list(uid, gid);
        assert_eq!([may(0, 0), may(7, 9), may(9, 8), may(9, 9)], [true, true, true, false]);
        let owner = Owner { folder_mask: 0o700, ..Owner::new(7, 8) };
        assert!(!owner.may_list(7, 8) && owner.may_list(9, 9));
    }
}
