//! Nodes: the folders and files of the tree, and their numbers.

use std::ops::Range;

use super::layer_names::NameRef;
use crate::format::EntryId;

/// A node's number: its index in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The root folder.
    pub const ROOT: Self = Self(0);
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file, with the entry that it shows.
    File(EntryId),
}

/// An entry that is not listed because another layer's file of the same name wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The file that is listed instead.
    pub by: NodeId,
    /// The hidden entry.
    pub entry: EntryId,
}

/// A folder or file in 32 bytes. While layers are merged, some fields have another meaning, so that
/// nodes can be sorted and numbered in place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    /// The hash of the folded name. While names are sorted: its first eight bytes ([`super::fold::prefix`]).
    pub(super) key: u64,
    pub(super) name: NameRef,
    pub(super) parent: u32,
    /// Folder: its first child. File: its entry. While merging: the number of a merged folder.
    pub(super) first: u32,
    /// Folder: its number of children.
    pub(super) count: u32,
    /// The layer that stores the name; for a file, also the layer of its entry.
    pub(super) layer: u16,
    pub(super) is_folder: bool,
    /// While merging: whether the previous node has the same name.
    pub(super) is_repeated: bool,
}

impl Node {
    /// The children of a folder; empty for a file.
    pub(super) fn children(&self) -> Range<u32> {
        if self.is_folder { self.first..self.first + self.count } else { 0..0 }
    }
}

const _: () = assert!(size_of::<Node>() == 32);
