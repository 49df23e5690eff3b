//! The frozen tree.

use std::time::SystemTime;

use super::fold;
use super::hash_index::HashIndex;
use super::layer_names::{LayerNames, NameRef};
use super::node::{Hidden, Kind, Node, NodeId};
use super::numbers::Numbers;
use super::unnamed::UnnamedFiles;
use crate::folder::system_time;
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash, placeholder_name};
use crate::format::{EntryId, name};

/// Folders and files, immutable until the mount ends.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    by_hash: HashIndex,
    layers: Vec<LayerNames>,
    /// In the order of their nodes; of one node, the latest layer first.
    hidden: Vec<Hidden>,
    unnamed: Vec<UnnamedFiles>,
    /// Of folders of loose files, in the order of their nodes: when they were last changed, in nanoseconds since 1970.
    times: Vec<(NodeId, i64)>,
    numbers: Numbers,
}

/// Deepest path that is assumed to be a folder of unnamed files.
const ASSUMED_DEPTH_MAX: usize = 16;

impl Tree {
    /// Freezes a tree of nodes whose names are in `layers`.
    pub(super) fn new(
        mut nodes: Vec<Node>,
        mut layers: Vec<LayerNames>,
        hidden: Vec<Hidden>,
        times: Vec<(NodeId, i64)>,
    ) -> Self {
        layers.iter_mut().for_each(LayerNames::freeze);
        // Every name of a tree is short enough to have a hash.
        let by_hash = HashIndex::new(&mut nodes, |node| {
            fold::hash(layers[usize::from(node.layer)].name(node.name)).unwrap_or_default()
        });
        let unnamed = UnnamedFiles::of_layers(&layers, &nodes);
        Self { nodes, by_hash, layers, hidden, unnamed, times, numbers: Numbers::default() }
    }

    /// The same with these inode numbers, one for each node.
    pub(super) fn numbered(self, numbers: Vec<u32>) -> Self {
        Self { numbers: Numbers::new(numbers), ..self }
    }

    /// The names of one of its archives, to be merged again.
    pub fn layer(&self, layer: u16) -> LayerNames {
        let frozen = &self.layers[usize::from(layer)];
        let mut names = vec![None; frozen.folder_of_file.len()];
        for node in self.nodes.iter().filter(|node| !node.is_folder && node.layer == layer) {
            names[node.first as usize] = Some(node.name);
        }
        for hidden in self.hidden.iter().filter(|hidden| hidden.entry.layer == layer) {
            names[hidden.entry.entry as usize] = Some(hidden.name);
        }
        frozen.thawed(&names)
    }

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

    /// All listed files in the order of their nodes, and the entries that they show.
    pub fn entries(&self) -> impl Iterator<Item = (NodeId, EntryId)> {
        self.nodes().filter_map(|node| match self.kind(node) {
            Kind::File(entry) => Some((node, entry)),
            Kind::Folder => None,
        })
    }

    /// How many files are listed.
    pub fn files(&self) -> usize {
        self.entries().count()
    }

    /// The node with this inode number.
    pub fn node(&self, ino: u64) -> Option<NodeId> {
        self.numbers.node(ino, self.len())
    }

    /// The inode number of a node: the root's is 1.
    pub fn ino(&self, node: NodeId) -> u64 {
        self.numbers.ino(node)
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

    /// The name that is shown for a node, in UTF-8; the root has none. Nothing else decides it: lookups, listings, paths,
    /// spellings of folders, comparisons of trees and reports about a file ask here. [`Tree::lookup`] finds a node under
    /// every name that folds like this one, so a shown name must fold like the stored one.
    pub fn name(&self, node: NodeId) -> &[u8] {
        let node = self.get(node);
        self.layers.get(usize::from(node.layer)).map_or(&[], |layer| layer.name(node.name))
    }

    /// The folder that a node is in; the root is in itself.
    pub fn parent(&self, node: NodeId) -> NodeId {
        NodeId(self.get(node).parent)
    }

    /// The children of a folder, in the order of their folded names; none of a file.
    pub fn children(&self, folder: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.get(folder).children().map(NodeId)
    }

    /// When a folder of loose files was last changed; `None` where only archives have it.
    pub fn folder_time(&self, folder: NodeId) -> Option<SystemTime> {
        let found = self.times.binary_search_by_key(&folder, |(node, _)| *node).ok()?;
        Some(system_time(self.times[found].1))
    }

    /// The child of a folder with a name, in any case; also where what is not printable in it is listed escaped.
    pub fn lookup(&self, folder: NodeId, name: &[u8]) -> Option<NodeId> {
        self.find(folder, name).or_else(|| {
            let text = std::str::from_utf8(name).ok().filter(|it| !it.chars().all(name::is_printable))?;
            self.find(folder, name::component(text.as_bytes(), Encoding::UTF_8).as_bytes())
        })
    }

    fn find(&self, folder: NodeId, name: &[u8]) -> Option<NodeId> {
        let compare = |child| fold::compare(self.name(NodeId(child)), name);
        self.by_hash.find(&self.nodes, self.get(folder), fold::hash(name)?, compare).map(NodeId)
    }

    /// The node at a path from the root, in any case and with either separator; for the path of an unnamed file, that
    /// file.
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

    /// The entries that a file hides; the one that would be listed without it is the first.
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

    /// A file's hash in hexadecimal: as stored where its name or its folder's is not, otherwise that of the stored
    /// name. Empty for folders, and where the archive has no hashes.
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

    /// Whether there are files that only their hash can find.
    pub fn has_unnamed(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// The unnamed file whose path from the root this is; later layers win.
    pub fn resolve_unnamed(&self, path: &[u8]) -> Option<NodeId> {
        self.unnamed.iter().rev().find_map(|layer| layer.resolve(path))
    }

    /// Whether a path from the root may be a folder with unnamed files somewhere below.
    ///
    /// A hash identifies the folder that directly contains a file, but none of the folders above, and where whole
    /// paths are hashed no folder at all. A name with a dot is then assumed to be no folder: file managers look up
    /// such names (`.Trash`, `.hidden`, `autorun.inf`), and games have no such folders but those of plugins' voices.
    pub fn may_hold_unnamed(&self, path: &[u8]) -> bool {
        let depth = path.split(|&byte| byte == b'/').count();
        depth <= ASSUMED_DEPTH_MAX && self.unnamed.iter().any(|layer| layer.may_be_below(path))
    }

    fn hash_text_of(&self, entry: EntryId, stored: &[u8]) -> String {
        let layer = &self.layers[usize::from(entry.layer)];
        let hash = layer.unnamed_hash(entry.entry).unwrap_or_else(|| layer.family.of(b"", stored));
        hash_text(layer.family, &hash)
    }

    fn stored(&self, entry: EntryId, name: NameRef) -> Vec<u8> {
        let layer = &self.layers[usize::from(entry.layer)];
        layer.stored_name(entry.entry, layer.name(name))
    }

    fn get(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }
}

/// A hash as an unnamed file would be listed by it; empty where the archive has none.
fn hash_text(family: Family, hash: &Hash) -> String {
    if family == Family::None {
        return String::new();
    }
    let [.., a, b, c, d] = hash.file.to_be_bytes();
    let (folder, file) = placeholder_name(family, hash, [d, c, b, a]);
    folder.map_or(file.clone(), |folder| format!("{folder}/{file}"))
}
