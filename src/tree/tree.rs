//! The frozen tree of folders and files.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::fold;
use super::layer_names::{LayerNames, NameRef};
use super::listing_order::{DataPlace, ListingOrder};
use super::node::{Hidden, Ino, InodeNumbers, Kind, Node, NodeId};
use super::runs::for_each_run;
use super::unnamed::UnnamedFiles;
use crate::folder::FileTime;
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash, placeholder_name};
use crate::format::{EntryId, name};

/// A tree of folders and files. It never changes.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    by_hash: HashIndex,
    listing: ListingOrder,
    layers: Vec<Arc<LayerNames>>,
    /// In the order of their nodes; for one node, the latest layer first.
    hidden: Vec<Hidden>,
    unnamed: Vec<UnnamedFiles>,
    /// When folders of loose files were last changed, in the order of their nodes.
    times: Vec<(NodeId, FileTime)>,
    /// `None` in the first view of a mount: inode numbers then follow from places in listings, because
    /// `cp -r` and others read files in the order of these numbers.
    numbers: Option<InodeNumbers>,
}

/// Maximum depth of a path that is assumed to be a folder of unnamed files.
const ASSUMED_DEPTH_MAX: usize = 16;

impl Tree {
    /// Freezes a tree of nodes whose names are in `layers`.
    pub(super) fn new(
        nodes: Vec<Node>,
        layers: Vec<Arc<LayerNames>>,
        hidden: Vec<Hidden>,
        times: Vec<(NodeId, FileTime)>,
    ) -> Self {
        let by_hash = HashIndex::new(&nodes);
        let unnamed = UnnamedFiles::of_layers(&layers, &nodes);
        Self {
            nodes,
            by_hash,
            listing: Default::default(),
            layers,
            hidden,
            unnamed,
            times,
            numbers: Default::default(),
        }
    }

    /// Has folders list their children in the order of the places of their files.
    #[must_use]
    pub fn listed_by_place(self, place: impl Fn(EntryId) -> DataPlace) -> Self {
        let place = |node: NodeId| {
            let Node { layer, first, .. } = self.nodes[node.0 as usize];
            place(EntryId { layer, entry: first })
        };
        let listing = ListingOrder::new(&self.nodes, place);
        Self { listing, ..self }
    }

    /// Replaces the inode numbers. `numbers` has one for each node.
    pub(super) fn numbered(self, numbers: Vec<u32>) -> Self {
        Self { numbers: Some(InodeNumbers::new(numbers)), ..self }
    }

    /// The number of nodes, which are numbered from 0.
    pub fn len(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Always false, because there is always a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes: the root first, every folder before its children.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.len()).map(NodeId)
    }

    /// All nodes whose names are not ASCII.
    pub(crate) fn non_ascii_nodes(&self) -> impl Iterator<Item = NodeId> {
        // Nearly all layers have only ASCII names. A layer is checked faster than its names one by one.
        let is_ascii: Vec<bool> = self.layers.iter().map(|layer| layer.is_ascii()).collect();
        let is_other = move |node: &NodeId| {
            is_ascii.get(usize::from(self.get(*node).layer)) == Some(&false) && !self.name(*node).is_ascii()
        };
        self.nodes().filter(is_other)
    }

    /// All listed files in the order of their nodes, with the entries that they show.
    pub fn entries(&self) -> impl Iterator<Item = (NodeId, EntryId)> {
        self.nodes().filter_map(|node| match self.kind(node) {
            Kind::File(entry) => Some((node, entry)),
            Kind::Folder => None,
        })
    }

    /// The number of listed files.
    pub fn files(&self) -> usize {
        self.entries().count()
    }

    /// The node with this inode number.
    pub fn node(&self, ino: Ino) -> Option<NodeId> {
        if let Some(numbers) = &self.numbers {
            return numbers.node(ino);
        }
        let position = u32::try_from(ino.0.checked_sub(Ino::ROOT.0)?).ok()?;
        (position < self.len()).then(|| self.listing.node_at(position))
    }

    /// The inode number of a node. The root has 1.
    pub fn ino(&self, node: NodeId) -> Ino {
        match &self.numbers {
            Some(numbers) => numbers.ino(node),
            None => Ino(u64::from(self.listing.position(node)) + Ino::ROOT.0),
        }
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

    /// The name that is shown for a node, in UTF-8; empty for the root. Lookups, listings, paths, spellings
    /// of folders, comparisons of trees and reports about a file all use this name. [`Tree::lookup`] finds a
    /// node under every name that folds like this one, so a shown name must fold like the stored one.
    pub fn name(&self, node: NodeId) -> &[u8] {
        let node = self.get(node);
        self.layers.get(usize::from(node.layer)).map_or(&[], |layer| layer.name(node.name))
    }

    /// The layer that stores the name of a node, and where it is stored.
    pub(super) fn name_ref(&self, node: NodeId) -> (u16, NameRef) {
        let node = self.get(node);
        (node.layer, node.name)
    }

    /// For each layer, the layer of another tree that shares its names.
    pub(super) fn layers_shared_with(&self, other: &Self) -> Vec<Option<u16>> {
        let others: HashMap<*const LayerNames, u16> = other.layers.iter().map(Arc::as_ptr).zip(0..).collect();
        self.layers.iter().map(|layer| others.get(&Arc::as_ptr(layer)).copied()).collect()
    }

    /// The folder that contains a node. The root contains itself.
    pub fn parent(&self, node: NodeId) -> NodeId {
        NodeId(self.get(node).parent)
    }

    /// The children of a folder, in the order of their folded names; empty for a file.
    pub fn children(&self, folder: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.get(folder).children().map(NodeId)
    }

    /// The children of a folder in the order in which they are listed; empty for a file.
    pub fn listed_children(&self, folder: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone {
        self.get(folder).children().map(|position| self.listing.node_at(position))
    }

    /// Whether two folders with the same children list them in the same order.
    pub(super) fn lists_like(&self, folder: NodeId, other: &Self, other_folder: NodeId) -> bool {
        self.order(folder).eq(other.order(other_folder))
    }

    /// The children of a folder in the order of its listing, as numbers among the children.
    fn order(&self, folder: NodeId) -> impl Iterator<Item = u32> {
        let first = self.get(folder).children().start;
        self.listed_children(folder).map(move |child| child.0 - first)
    }

    /// The file after this one in the order of `tar` and `cp -r`: folders are entered where they are listed.
    /// `None` after the last file, or if many empty folders follow.
    pub fn next_file(&self, file: NodeId) -> Option<NodeId> {
        const STEPS_MAX: usize = 64;
        let mut at = file;
        for _ in 0..STEPS_MAX {
            at = match self.listed_children(at).next() {
                Some(child) => child,
                None => self.next_outside(at)?,
            };
            if matches!(self.kind(at), Kind::File(_)) {
                return Some(at);
            }
        }
        None
    }

    /// The file after this one in the same folder, in the order of folded names.
    pub fn next_named(&self, file: NodeId) -> Option<NodeId> {
        let siblings = self.get(self.parent(file)).children();
        let mut later = (file.0 + 1..siblings.end).map(NodeId);
        later.find(|node| matches!(self.kind(*node), Kind::File(_)))
    }

    /// The node that is listed after this one, and not inside it.
    fn next_outside(&self, node: NodeId) -> Option<NodeId> {
        let mut at = node;
        while at != NodeId::ROOT {
            let folder = self.parent(at);
            let next = self.listing.position(at) + 1;
            if next < self.get(folder).children().end {
                return Some(self.listing.node_at(next));
            }
            at = folder;
        }
        None
    }

    /// When a folder of loose files was last changed; `None` if only archives have it.
    pub fn folder_time(&self, folder: NodeId) -> Option<SystemTime> {
        let found = self.times.binary_search_by_key(&folder, |(node, _)| *node).ok()?;
        Some(self.times[found].1.system_time())
    }

    /// The child of a folder called `name`, ignoring case. Also finds a child whose unprintable
    /// characters, or bytes that are not UTF-8, are listed escaped.
    pub fn lookup(&self, folder: NodeId, name: &[u8]) -> Option<NodeId> {
        self.find(folder, name).or_else(|| self.find(folder, listed_name(name)?.as_bytes()))
    }

    /// Whether a node is listed as `name` if nothing but unprintable characters and bytes that are not UTF-8
    /// may differ.
    pub fn is_listed_as(&self, node: NodeId, name: &[u8]) -> bool {
        self.name(node) == name
            || listed_name(name).is_some_and(|listed| self.name(node) == listed.as_bytes())
    }

    fn find(&self, folder: NodeId, name: &[u8]) -> Option<NodeId> {
        let compare = |child| fold::compare(self.name(NodeId(child)), name);
        self.by_hash.find(&self.nodes, self.get(folder), fold::hash(name)?, compare).map(NodeId)
    }

    /// The node at a path from the root, ignoring case, with either separator. Also finds an unnamed file
    /// by its path.
    pub fn resolve(&self, path: &[u8]) -> Option<NodeId> {
        let mut components =
            path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|name| !matches!(*name, b"" | b"."));
        components
            .try_fold(NodeId::ROOT, |folder, name| self.lookup(folder, name))
            .or_else(|| self.resolve_unnamed(path))
    }

    /// The node of a folder of loose files, given its path within its layer.
    pub fn folder_of_layer(&self, layer: u16, path: &[u8]) -> Option<NodeId> {
        let base = self.layers.get(usize::from(layer)).map_or(&[][..], |layer| layer.base_name());
        let names = std::iter::once(base).chain(path.split(|&byte| byte == b'/'));
        let found =
            names.filter(|name| !name.is_empty()).try_fold(NodeId::ROOT, |at, name| self.lookup(at, name));
        found.filter(|node| self.kind(*node) == Kind::Folder)
    }

    /// A node's path from the root, with `/` between names and none in front.
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

    /// The entries that a file hides. The entry that would be listed without the file comes first.
    pub fn hidden(&self, node: NodeId) -> &[Hidden] {
        let start = self.hidden.partition_point(|hidden| hidden.by < node);
        let end = self.hidden.partition_point(|hidden| hidden.by <= node);
        &self.hidden[start..end]
    }

    /// The bytes that the archive stores as a file's name; empty for folders, and if the archive stores none.
    pub fn stored_name(&self, node: NodeId) -> Vec<u8> {
        match self.kind(node) {
            Kind::Folder => Vec::new(),
            Kind::File(entry) => self.stored(entry),
        }
    }

    /// The bytes that the archive stores as a hidden entry's name.
    pub fn stored_name_of_hidden(&self, hidden: &Hidden) -> Vec<u8> {
        self.stored(hidden.entry)
    }

    /// A file's hash in hexadecimal. This is the stored hash if the file's or its folder's name is
    /// not stored, and otherwise the hash of the stored name. Empty for folders, and if the archive
    /// has no hashes.
    pub fn hash_text(&self, node: NodeId) -> String {
        match self.kind(node) {
            Kind::Folder => String::new(),
            Kind::File(entry) => self.hash_text_of(entry, &self.stored_name(node)),
        }
    }

    /// The hash of a hidden entry, as [`Tree::hash_text`] for a file.
    pub fn hash_text_of_hidden(&self, hidden: &Hidden) -> String {
        self.hash_text_of(hidden.entry, &self.stored_name_of_hidden(hidden))
    }

    /// Whether there are files that only their hash can find.
    pub fn has_unnamed(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// The unnamed file at a path from the root. Later layers win.
    pub fn resolve_unnamed(&self, path: &[u8]) -> Option<NodeId> {
        self.unnamed.iter().rev().find_map(|layer| layer.resolve(path))
    }

    /// Whether a path from the root may be a folder with unnamed files somewhere below.
    ///
    /// A hash identifies the folder that directly contains a file, but none of the folders above. If whole
    /// paths are hashed, it identifies no folder at all. If no hash identifies a folder, a name with a dot is
    /// assumed not to be one. File managers look up such names (`.Trash`, `.hidden`, `autorun.inf`). The only
    /// game folders with a dot are voice folders, which are named after a plugin (`sound/voice/skyrim.esm`).
    pub fn may_hold_unnamed(&self, path: &[u8]) -> bool {
        let depth = path.split(|&byte| byte == b'/').count();
        depth <= ASSUMED_DEPTH_MAX && self.unnamed.iter().any(|layer| layer.may_be_below(path))
    }

    fn hash_text_of(&self, entry: EntryId, stored: &[u8]) -> String {
        let layer = &self.layers[usize::from(entry.layer)];
        let hash = layer.unnamed_hash(entry.entry).unwrap_or_else(|| layer.family.of(b"", stored));
        hash_text(layer.family, &hash)
    }

    fn stored(&self, entry: EntryId) -> Vec<u8> {
        self.layers[usize::from(entry.layer)].stored_name(entry.entry)
    }

    fn get(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }
}

/// How a name is listed that no layer lists as it is; `None` for a name that is listed as it is.
fn listed_name(name: &[u8]) -> Option<Cow<'_, str>> {
    let is_listable = std::str::from_utf8(name).is_ok_and(|text| text.chars().all(name::is_printable));
    (!is_listable && name.len() <= name::COMPONENT_MAX).then(|| name::component(name, Encoding::UTF_8))
}

/// A path as it is listed, in lower case, with `/` between names and none in front. Two paths of one node are
/// equal in this form.
pub fn listed_path(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|name| !matches!(*name, b"" | b"."));
    let listed = names.map(|name| match listed_name(name) {
        Some(listed) => listed.to_ascii_lowercase().into_bytes(),
        None => name.to_ascii_lowercase(),
    });
    listed.collect::<Vec<_>>().join(&b'/')
}

/// The name under which an unnamed file with this hash would be listed; empty if the archive has no hashes.
fn hash_text(family: Family, hash: &Hash) -> String {
    if family == Family::None {
        return String::new();
    }
    let [.., a, b, c, d] = hash.file.to_be_bytes();
    let (folder, file) = placeholder_name(family, hash, [d, c, b, a]);
    folder.map_or(file.clone(), |folder| format!("{folder}/{file}"))
}

// Index of the children of each folder by the hash of their folded names.

/// The index takes four bytes a node. It has the same runs as the nodes: a folder's run has its
/// children in the order of their keys. Children with equal keys are in the order of their names.
#[derive(Clone, Debug)]
pub(super) struct HashIndex(Vec<u32>);

impl HashIndex {
    /// Indexes all nodes. The children of each folder must be in the order of their names. The key of each
    /// node must be the hash of its name.
    pub(super) fn new(nodes: &[Node]) -> Self {
        // The root is in no run.
        let folders = nodes.iter().filter(|node| node.is_folder);
        let mut starts: Vec<usize> = folders.map(|folder| folder.first as usize - 1).collect();
        starts.push(nodes.len() - 1);
        let mut index: Vec<u32> = (0..nodes.len() as u32).collect();
        for_each_run(&mut index[1..], &starts, |run| {
            run.sort_unstable_by_key(|&node| (nodes[node as usize].key, node));
        });
        Self(index)
    }

    /// The child of a folder with this hash for which `compare` returns `Equal`. `compare` orders a
    /// child's name relative to the requested name.
    pub(super) fn find(
        &self,
        nodes: &[Node],
        folder: &Node,
        hash: u64,
        mut compare: impl FnMut(u32) -> Ordering,
    ) -> Option<u32> {
        let children = folder.children();
        let run = &self.0[children.start as usize..children.end as usize];
        let key = |node: u32| nodes[node as usize].key;
        let equal = &run[run.partition_point(|&node| key(node) < hash)..];
        // Nearly always, only one child has this hash. Names made to collide cost a second search.
        let count = match equal {
            [first, second, ..] if key(*first) == hash && key(*second) == hash => {
                equal.partition_point(|&node| key(node) == hash)
            }
            [first, ..] if key(*first) == hash => 1,
            _ => return None,
        };
        let found = equal[..count].binary_search_by(|node| compare(*node)).ok()?;
        Some(equal[found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with `count` files, whose names are their node numbers.
    fn nodes(count: u32, hash: impl Fn(u32) -> u64) -> Vec<Node> {
        let root = Node { first: 1, count, is_folder: true, ..Node::default() };
        let files = (1..=count).map(|first| Node { first, key: hash(first), ..Node::default() });
        std::iter::once(root).chain(files).collect()
    }

    #[test]
    fn names_are_found_even_if_many_hashes_collide() {
        for distinct in [1, 2, 7, 1000, u64::MAX] {
            let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) % distinct;
            for count in [0, 1, 2, 3, 100] {
                let nodes = nodes(count, hash);
                let index = HashIndex::new(&nodes);
                for number in 0..count + 2 {
                    let found = index.find(&nodes, &nodes[0], hash(number), |node| node.cmp(&number));
                    assert_eq!(found, (1..=count).contains(&number).then_some(number), "{count} {distinct}");
                }
            }
        }
    }

    #[test]
    fn twenty_thousand_colliding_names_need_at_most_16_comparisons() {
        let nodes = nodes(20_000, |_| 7);
        let index = HashIndex::new(&nodes);
        for number in [0, 1, 9_999, 20_000, 20_001] {
            let mut compared = 0;
            index.find(&nodes, &nodes[0], 7, |node| {
                compared += 1;
                node.cmp(&number)
            });
            assert!(compared <= 16, "{compared} names compared to find {number}");
        }
    }
}
