//! Files whose archive keeps only the hash of their path: their real paths are found by hashing what is asked for.

use std::borrow::Cow;

use super::{Layer, Node, NodeId, Tree, fold};
use crate::format::EntryId;
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};

/// The unnamed files of one layer.
#[derive(Debug)]
pub(super) struct Unnamed {
    family: Family,
    encoding: Encoding,
    /// The name of the folder that holds the layer; empty for the root.
    base: Vec<u8>,
    /// Sorted by hash.
    files: Vec<(Hash, NodeId)>,
    /// Hashes of the folders that they are in, sorted; none where whole paths are hashed.
    folders: Vec<u64>,
}

/// Deepest path that is taken on trust before its file is known.
const DEPTH_MAX: usize = 16;

/// Finds the nodes of all layers' unnamed files.
pub(super) fn index(nodes: &[Node], layers: &[Layer]) -> Vec<Unnamed> {
    let mut of_layers = Vec::new();
    for (number, layer) in
        (0_u16..).zip(layers).filter(|(_, layer)| layer.unnamed.iter().any(|it| !it.is_recovered))
    {
        let hashes: std::collections::HashMap<u32, Hash> = layer
            .unnamed
            .iter()
            .filter(|it| !it.is_recovered)
            .map(|unnamed| (unnamed.entry, unnamed.hash))
            .collect();
        let mut files: Vec<(Hash, NodeId)> = (0_u32..)
            .zip(nodes)
            .filter(|(_, node)| !node.is_folder && node.layer == number)
            .filter_map(|(place, node)| Some((*hashes.get(&node.first)?, NodeId(place))))
            .collect();
        files.sort_unstable();
        let mut folders: Vec<u64> = match layer.family {
            Family::Tes3 => Vec::new(),
            _ => files.iter().map(|(hash, _)| hash.folder).collect(),
        };
        folders.dedup();
        let base = match layer.base {
            0 => Vec::new(),
            base => layer.text(layer.folders[base as usize].name).to_vec(),
        };
        of_layers.push(Unnamed { family: layer.family, encoding: layer.encoding, base, files, folders });
    }
    of_layers
}

impl Unnamed {
    /// The path within the layer, in its own code page, of a path from the root.
    fn stored<'p>(&self, path: &'p [u8]) -> Option<Cow<'p, [u8]>> {
        let within = match self.base.is_empty() {
            true => path,
            false => {
                let (base, within) = path.split_at_checked(self.base.len())?;
                within.strip_prefix(b"/").filter(|_| fold::same(base, &self.base))?
            }
        };
        self.encoding.encode(within)
    }

    fn file(&self, path: &[u8]) -> Option<NodeId> {
        let mut hashes = self.family.candidates(b"", path).chain(self.spelled(path));
        hashes.find_map(|hash| {
            let place = self.files.partition_point(|(known, _)| *known < hash);
            self.files.get(place).filter(|(known, _)| *known == hash).map(|(_, node)| *node)
        })
    }

    /// The hash that a path spells out, as files are listed by it but for an extension that was guessed.
    fn spelled(&self, path: &[u8]) -> Option<Hash> {
        let at = path.iter().rposition(|byte| matches!(byte, b'/' | b'\\'));
        let (folder, file) = at.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let file = hex(file)?;
        let folder = match self.family {
            Family::Tes3 if folder.is_empty() => 0,
            Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
                let named = |&hash: &u64| self.folders.binary_search(&hash).is_ok();
                hex(folder).or_else(|| self.family.folder_candidates(folder).find(named))?
            }
            _ => return None,
        };
        Some(Hash { folder, file })
    }
}

impl Tree {
    /// Whether there are files that only their hash can find.
    pub fn has_unnamed(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// The stored hash of an unnamed file.
    pub(super) fn unnamed_hash(&self, id: EntryId) -> Option<Hash> {
        let layer = &self.layers[usize::from(id.layer)];
        let place = layer.unnamed.binary_search_by_key(&id.entry, |unnamed| unnamed.entry).ok()?;
        Some(layer.unnamed[place].hash)
    }

    /// The unnamed file whose real path from the root this is; the layer that wins is asked first.
    pub fn resolve_unnamed(&self, path: &[u8]) -> Option<NodeId> {
        self.unnamed.iter().rev().find_map(|layer| {
            let stored = layer.stored(path)?;
            layer.file(&stored)
        })
    }

    /// Whether a path from the root may be a folder with unnamed files somewhere below.
    ///
    /// Hashes tell which paths are the very folder of a file, but nothing of the folders above, and where whole paths
    /// are hashed nothing at all. A name with a dot is then believed to be no folder: that is what file managers
    /// probe for (`.Trash`, `.hidden`, `autorun.inf`), and no game has such folders but for plugins' voices.
    pub fn may_hold_unnamed(&self, path: &[u8]) -> bool {
        let depth = path.split(|&byte| byte == b'/').count();
        let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        depth <= DEPTH_MAX
            && self.unnamed.iter().filter_map(|layer| Some((layer, layer.stored(path)?))).any(
                |(layer, stored)| {
                    let mut hashes = layer.family.folder_candidates(&stored);
                    hashes.any(|hash| layer.folders.binary_search(&hash).is_ok()) || !last.contains(&b'.')
                },
            )
    }
}

/// A hash of sixteen hexadecimal digits.
fn hex(text: &[u8]) -> Option<u64> {
    let is_hash = text.len() == 16 && text.iter().all(u8::is_ascii_hexdigit);
    u64::from_str_radix(std::str::from_utf8(text).ok().filter(|_| is_hash)?, 16).ok()
}
