//! Files whose archive stores only the hash of their path. A lookup finds them by hashing the requested path.

use std::borrow::Cow;
use std::sync::Arc;

use super::fold;
use super::layer_names::LayerNames;
use super::node::{Node, NodeId};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};

/// The unnamed files of one layer.
#[derive(Debug)]
pub(super) struct UnnamedFiles {
    family: Family,
    encoding: Encoding,
    /// The name of the folder that contains the layer; empty for the root.
    base: Vec<u8>,
    /// Files, sorted by hash.
    files: Vec<(Hash, NodeId)>,
    /// Sorted hashes of the files' folders; empty if whole paths are hashed.
    folders: Vec<u64>,
}

impl UnnamedFiles {
    /// The unnamed files of all layers that have any, in load order.
    pub(super) fn of_layers(layers: &[Arc<LayerNames>], nodes: &[Node]) -> Vec<Self> {
        if !layers.iter().any(|layer| layer.has_unnamed()) {
            return Vec::new();
        }
        let mut files = vec![Vec::new(); layers.len()];
        for (index, node) in (0_u32..).zip(nodes).filter(|(_, node)| !node.is_folder) {
            let layer = usize::from(node.layer);
            if let Some(unnamed) = layers[layer].unnamed_entry(node.first).filter(|it| !it.is_recovered) {
                files[layer].push((unnamed.hash, NodeId(index)));
            }
        }
        let of_layers = layers.iter().zip(files).filter(|(layer, _)| layer.has_unnamed());
        of_layers.map(|(layer, files)| Self::of_layer(layer, files)).collect()
    }

    fn of_layer(layer: &LayerNames, mut files: Vec<(Hash, NodeId)>) -> Self {
        files.sort_unstable();
        let mut folders: Vec<u64> = match layer.family {
            Family::Tes3 => Vec::new(),
            _ => files.iter().map(|(hash, _)| hash.folder).collect(),
        };
        folders.dedup();
        let base = layer.base_name().to_vec();
        Self { family: layer.family, encoding: layer.encoding, base, files, folders }
    }

    /// The file at a path from the root.
    pub(super) fn resolve(&self, path: &[u8]) -> Option<NodeId> {
        let stored = self.stored(path)?;
        let mut hashes = self.family.candidates(b"", &stored).chain(self.spelled(&stored));
        hashes.find_map(|hash| {
            let first = self.files.partition_point(|(known, _)| *known < hash);
            self.files.get(first).filter(|(known, _)| *known == hash).map(|(_, node)| *node)
        })
    }

    /// Whether a path from the root may be a folder above files of this layer.
    pub(super) fn may_be_below(&self, path: &[u8]) -> bool {
        let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        self.stored(path).is_some_and(|stored| {
            let mut hashes = self.family.folder_candidates(&stored);
            hashes.any(|hash| self.folders.binary_search(&hash).is_ok()) || !last.contains(&b'.')
        })
    }

    /// Converts a path from the root into a path within the layer, in the layer's code page.
    fn stored<'p>(&self, path: &'p [u8]) -> Option<Cow<'p, [u8]>> {
        let within = if self.base.is_empty() {
            path
        } else {
            let (base, within) = path.split_at_checked(self.base.len())?;
            within.strip_prefix(b"/").filter(|_| fold::same(base, &self.base))?
        };
        self.encoding.encode(within)
    }

    /// The hash that a path spells out: the listed name of a file, with or without its sniffed extension.
    fn spelled(&self, path: &[u8]) -> Option<Hash> {
        let at = path.iter().rposition(|byte| matches!(byte, b'/' | b'\\'));
        let (folder, file) = at.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let file = hex(file)?;
        let folder = match self.family {
            Family::Tes3 if folder.is_empty() => 0,
            Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
                let is_known = |&hash: &u64| self.folders.binary_search(&hash).is_ok();
                hex(folder).or_else(|| self.family.folder_candidates(folder).find(is_known))?
            }
            _ => return None,
        };
        Some(Hash { folder, file })
    }
}

/// Parses a hash of sixteen hexadecimal digits.
fn hex(text: &[u8]) -> Option<u64> {
    let is_hash = text.len() == 16 && text.iter().all(u8::is_ascii_hexdigit);
    u64::from_str_radix(std::str::from_utf8(text).ok().filter(|_| is_hash)?, 16).ok()
}
