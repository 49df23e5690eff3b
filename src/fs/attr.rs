//! What is known of a node without its bytes.

use std::time::SystemTime;

/// What is known of a node without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Its inode number.
    pub ino: u64,
    /// What it is.
    pub shape: NodeKind,
    /// In bytes.
    pub size: u64,
    /// When its archive was last changed.
    pub modified: SystemTime,
    /// Whether the answer holds for ever.
    pub is_lasting: bool,
}

/// What a node is to those who look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link that is no link: its target is a text.
    StatusLink,
}
