//! Attributes of a node, as `stat` reports them.

use std::time::SystemTime;

/// Attributes of a node; owner and permissions are the same for all ([`super::Owner`]).
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
