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

// Inode numbers of a tree's nodes.
//
// In the first view of a mount, a node's inode number follows from its place in listings, and takes no
// memory. A later view keeps the numbers of all unchanged nodes, and needs this table of eight bytes a node.

/// An inode number of a mount. Those of the disk have another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u64);

impl Ino {
    /// Stands for no inode. No node has this number.
    pub const NONE: Self = Self(0);

    /// The number of the root.
    pub const ROOT: Self = Self(1);
}

/// The inode numbers of all nodes, the root first.
#[derive(Clone, Debug)]
pub(super) struct InodeNumbers {
    /// Inode numbers by node.
    of_nodes: Vec<u32>,
    /// The nodes in the order of their inode numbers.
    nodes: Vec<u32>,
}

impl InodeNumbers {
    /// `of_nodes` has one inode number for each node, without duplicates.
    pub(super) fn new(of_nodes: Vec<u32>) -> Self {
        // Most numbers are those of the first view. They need no sorting.
        let mut by_number = vec![None; of_nodes.len() + 1];
        let mut later = Vec::new();
        for (node, &number) in (0_u32..).zip(&of_nodes) {
            match by_number.get_mut(number as usize) {
                Some(place) => *place = Some(node),
                None => later.push((number, node)),
            }
        }
        later.sort_unstable();
        let mut nodes = Vec::with_capacity(of_nodes.len());
        nodes.extend(by_number.into_iter().flatten());
        nodes.extend(later.into_iter().map(|(_, node)| node));
        Self { of_nodes, nodes }
    }

    pub(super) fn ino(&self, node: NodeId) -> Ino {
        Ino(u64::from(self.of_nodes[node.0 as usize]))
    }

    /// The node with an inode number.
    pub(super) fn node(&self, ino: Ino) -> Option<NodeId> {
        let number = |node: &u32| Ino(u64::from(self.of_nodes[*node as usize]));
        let found = self.nodes.binary_search_by_key(&ino, number).ok()?;
        Some(NodeId(self.nodes[found]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inode_numbers_map_to_nodes_by_table() {
        let table = InodeNumbers::new(vec![1, 90, 7]);
        assert_eq!([0, 1, 2].map(|node| table.ino(NodeId(node)).0), [1, 90, 7]);
        assert_eq!([1, 7, 90].map(|ino| table.node(Ino(ino))), [0, 2, 1].map(|node| Some(NodeId(node))));
        assert_eq!([0, 2, 91].map(|ino| table.node(Ino(ino))), [None; 3]);
    }
}
