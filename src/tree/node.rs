//! A folder or file of the tree, and its number.

use std::ops::Range;

use super::layer_names::NameRef;
use crate::format::EntryId;

/// A node's number: its index in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The folder that contains everything.
    pub const ROOT: Self = Self(0);

    /// The inode number of the root.
    pub const ROOT_INO: u64 = 1;
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file, and the entry that it shows.
    File(EntryId),
}

/// An entry that is not listed, because a later layer has a file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The file that is listed instead.
    pub by: NodeId,
    /// The entry.
    pub entry: EntryId,
    pub(super) name: NameRef,
}

/// A folder or file; 32 bytes. While layers are merged, some fields have another meaning, so that nodes are sorted and
/// numbered where they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    /// The hash of the folded name. Merging: its first eight bytes ([`super::fold::prefix`]).
    pub(super) key: u64,
    pub(super) name: NameRef,
    pub(super) parent: u32,
    /// Folder: the first of its children. File: its entry. Merging: a folder's number among the merged folders.
    pub(super) first: u32,
    /// Folder: how many children it has.
    pub(super) count: u32,
    /// The layer that stores the name; for a file also the layer of its entry.
    pub(super) layer: u16,
    pub(super) is_folder: bool,
    /// Merging: whether the node before it has the same name.
    pub(super) is_repeated: bool,
}

impl Node {
    /// The children of a folder; none of a file.
    pub(super) fn children(&self) -> Range<u32> {
        if self.is_folder { self.first..self.first + self.count } else { 0..0 }
    }
}

const _: () = assert!(size_of::<Node>() == 32);
