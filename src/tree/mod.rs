//! Names: the frozen tree of folders and files, from layers in load order.
//!
//! Flat arrays without pointers. A node's number is its place, and (plus one) its inode number. The children of a
//! folder are one run of nodes in the order of their folded names, so that one order serves lookup (a binary search
//! that compares integers first), listing, and the position within a listing. An index by hash beside it was equally
//! fast and is left out.

mod build;
mod dictionary;
mod fold;
mod layer;
mod spelling;
mod unnamed;

use std::ops::Range;

pub use build::{TooManyNodes, merge};
pub use dictionary::{Dictionary, TooManyPaths};
pub use layer::{Layer, TooManyNames};
pub use spelling::{Inode, Spellings};

use crate::format::EntryId;
use crate::format::hash::{Family, Hash, placeholder_name};
use layer::Text;
use unnamed::Unnamed;

/// A node's place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The folder that holds everything.
    pub const ROOT: Self = Self(0);

    /// The inode number of the node: the root is 1.
    pub fn ino(self) -> u64 {
        u64::from(self.0) + 1
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file, and the entry that it shows.
    File(EntryId),
}

/// An entry that is not to be seen, because a later layer has a file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The file that is seen in its place.
    pub by: NodeId,
    /// The entry.
    pub entry: EntryId,
    name: Text,
}

/// A folder or file; 32 bytes. `layer` spells the name, which for a file is the layer that it comes from.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The first eight folded bytes of the name.
    key: u64,
    name: Text,
    parent: u32,
    /// Folder: the first of its children. File: its entry.
    first: u32,
    /// Folder: how many children it has.
    count: u32,
    layer: u16,
    is_folder: bool,
}

/// The tree, as it stays until the mount ends.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    layers: Vec<Layer>,
    /// In the order of their nodes; of one node, the nearest to winning first.
    hidden: Vec<Hidden>,
    unnamed: Vec<Unnamed>,
}

impl Tree {
    /// How many nodes there are; they are numbered from 0.
    pub fn len(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Never: there is always a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, the root first, every folder before its children.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.len()).map(NodeId)
    }

    /// All files that are to be seen, in the order of their nodes, and the entries that they show.
    pub fn entries(&self) -> impl Iterator<Item = (NodeId, EntryId)> {
        self.nodes().filter_map(|node| match self.kind(node) {
            Kind::File(entry) => Some((node, entry)),
            Kind::Folder => None,
        })
    }

    /// How many files there are to be seen.
    pub fn files(&self) -> usize {
        self.entries().count()
    }

    /// The node with this inode number.
    pub fn node(&self, ino: u64) -> Option<NodeId> {
        let place = u32::try_from(ino.checked_sub(1)?).ok()?;
        (place < self.len()).then_some(NodeId(place))
    }

    /// Whether a node is a folder, or which entry it shows.
    pub fn kind(&self, node: NodeId) -> Kind {
        let node = self.get(node);
        if node.is_folder {
            Kind::Folder
        } else {
            Kind::File(EntryId { layer: node.layer, entry: node.first })
        }
    }

    /// A node's name in UTF-8; the root has none.
    pub fn name(&self, node: NodeId) -> &[u8] {
        let node = self.get(node);
        self.layers.get(usize::from(node.layer)).map_or(&[], |layer| layer.text(node.name))
    }

    /// The folder that a node is in; the root is in itself.
    pub fn parent(&self, node: NodeId) -> NodeId {
        NodeId(self.get(node).parent)
    }

    /// The children of a folder, in the order of their folded names; none of a file.
    pub fn children(&self, folder: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.run(folder).map(NodeId)
    }

    /// The child of a folder that goes by a name, in any case.
    pub fn lookup(&self, folder: NodeId, name: &[u8]) -> Option<NodeId> {
        let run = self.run(folder);
        let children = &self.nodes[run.start as usize..run.end as usize];
        let key = fold::key(name);
        let found = children.binary_search_by(|child| {
            child
                .key
                .cmp(&key)
                .then_with(|| fold::compare(self.layers[usize::from(child.layer)].text(child.name), name))
        });
        found.ok().map(|place| NodeId(run.start + u32::try_from(place).unwrap_or(u32::MAX)))
    }

    /// The node at a path from the root, in any case and with either separator; for a path whose file is known by
    /// its hash alone, that file.
    pub fn resolve(&self, path: &[u8]) -> Option<NodeId> {
        let mut components =
            path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|name| !matches!(*name, b"" | b"."));
        components
            .try_fold(NodeId::ROOT, |folder, name| self.lookup(folder, name))
            .or_else(|| self.resolve_unnamed(path))
    }

    /// A node's path from the root, with `/` between folders and none in front.
    pub fn path(&self, node: NodeId) -> Vec<u8> {
        let mut parts = Vec::new();
        let mut at = node;
        while at != NodeId::ROOT {
            parts.push(self.name(at));
            at = self.parent(at);
        }
        parts.reverse();
        parts.join(&b'/')
    }

    /// The entries that a file hides, the one that would be seen without it first.
    pub fn hidden(&self, node: NodeId) -> &[Hidden] {
        let start = self.hidden.partition_point(|hidden| hidden.by < node);
        let end = self.hidden.partition_point(|hidden| hidden.by <= node);
        &self.hidden[start..end]
    }

    /// The bytes that a file's archive stores as its name; empty where it stores none, and for folders.
    pub fn stored_name(&self, node: NodeId) -> Vec<u8> {
        match self.kind(node) {
            Kind::Folder => Vec::new(),
            Kind::File(entry) => self.stored(entry, self.get(node).name),
        }
    }

    /// The bytes that a hidden entry's archive stores as its name.
    pub fn stored_name_of_hidden(&self, hidden: &Hidden) -> Vec<u8> {
        self.stored(hidden.entry, hidden.name)
    }

    /// A file's hash, as people write it: as stored where its name or its folder's is not, otherwise that of the
    /// stored name.
    pub fn hash_text(&self, node: NodeId) -> String {
        match self.kind(node) {
            Kind::Folder => String::new(),
            Kind::File(entry) => self.hash_text_of(entry, &self.stored_name(node)),
        }
    }

    /// The same of a hidden entry.
    pub fn hash_text_of_hidden(&self, hidden: &Hidden) -> String {
        self.hash_text_of(hidden.entry, &self.stored_name_of_hidden(hidden))
    }

    fn hash_text_of(&self, entry: EntryId, stored: &[u8]) -> String {
        let family = self.layers[usize::from(entry.layer)].family;
        let hash = self.unnamed_hash(entry).unwrap_or_else(|| family.of(b"", stored));
        show(family, &hash)
    }

    fn stored(&self, entry: EntryId, name: Text) -> Vec<u8> {
        let layer = &self.layers[usize::from(entry.layer)];
        layer.stored_name(entry.entry, layer.text(name))
    }

    fn get(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }

    fn run(&self, folder: NodeId) -> Range<u32> {
        let node = self.get(folder);
        if node.is_folder { node.first..node.first + node.count } else { 0..0 }
    }
}

/// A hash as an unnamed file would be listed by it; empty where the archive has none.
fn show(family: Family, hash: &Hash) -> String {
    if family == Family::None {
        return String::new();
    }
    let [.., a, b, c, d] = hash.file.to_be_bytes();
    let (folder, file) = placeholder_name(family, hash, [d, c, b, a]);
    folder.map_or(file.clone(), |folder| format!("{folder}/{file}"))
}
