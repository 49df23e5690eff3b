//! Files whose archive stores only the hash of their path. A lookup finds them by hashing the requested path.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::fold;
use super::layer_names::LayerNames;
use super::node::{Ino, Node, NodeId};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};

/// The unnamed files of one layer.
#[derive(Clone, Debug)]
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

// Assumed folders: folders that may contain a file which only its hash can find. They have no node.
//
// Any program can create an unlimited number of them by looking up names. So an assumed folder is
// kept only while the kernel references its inode number: lookups are counted, as FUSE requires. A
// number is never used again.

/// The assumed folders that the kernel references.
#[derive(Debug, Default)]
pub(super) struct AssumedFolders {
    numbers: HashMap<(Ino, Box<[u8]>), Ino>,
    /// By inode number, so that the oldest folder comes first.
    folders: BTreeMap<Ino, AssumedFolder>,
    /// The last inode number that [`AssumedFolders::next_surplus`] returned.
    returned: Option<Ino>,
}

#[derive(Debug)]
pub(super) struct AssumedFolder {
    pub(super) parent: Ino,
    pub(super) name: Box<[u8]>,
    /// How many lookups returned the inode number, minus those that the kernel forgot.
    lookups: u64,
}

impl AssumedFolders {
    /// The inode number of `name` in the folder with the number `parent`. This counts as one
    /// lookup. A new folder gets its number from `allocate`; `None` if that returns none.
    pub(super) fn look_up(
        &mut self,
        parent: Ino,
        name: &[u8],
        allocate: impl FnOnce() -> Option<Ino>,
    ) -> Option<Ino> {
        let key = (parent, Box::from(name));
        if let Some((&ino, folder)) =
            self.numbers.get(&key).and_then(|ino| Some((ino, self.folders.get_mut(ino)?)))
        {
            folder.lookups = folder.lookups.saturating_add(1);
            return Some(ino);
        }
        let ino = allocate()?;
        self.folders.insert(ino, AssumedFolder { parent, name: key.1.clone(), lookups: 1 });
        self.numbers.insert(key, ino);
        Some(ino)
    }

    /// Records that the kernel forgot `lookups` lookups of an inode number.
    pub(super) fn forget(&mut self, ino: Ino, lookups: u64) {
        let Some(folder) = self.folders.get_mut(&ino) else { return };
        folder.lookups = folder.lookups.saturating_sub(lookups);
        if folder.lookups == 0
            && let Some(folder) = self.folders.remove(&ino)
        {
            self.numbers.remove(&(folder.parent, folder.name));
        }
    }

    /// The folder with an inode number.
    pub(super) fn get(&self, ino: Ino) -> Option<&AssumedFolder> {
        self.folders.get(&ino)
    }

    /// The number of assumed folders.
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    /// Returns the parents and names of the oldest folders beyond `max`, at most `step` of them. A folder is
    /// returned again only after all others.
    pub(super) fn next_surplus(&mut self, max: usize, step: usize) -> Vec<(Ino, Box<[u8]>)> {
        let count = self.len().saturating_sub(max).min(step);
        let next = |returned: Option<Ino>| {
            self.folders.range((returned.map_or(Unbounded, Excluded), Unbounded)).take(count)
        };
        let mut found: Vec<_> = next(self.returned).collect();
        if found.is_empty() {
            found = next(None).collect();
        }
        let returned = found.last().map(|(ino, _)| **ino);
        let names = found.into_iter().map(|(_, folder)| (folder.parent, folder.name.clone())).collect();
        self.returned = returned.or(self.returned);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumed_folder_is_kept_until_the_kernel_forgets_its_number() {
        let mut folders = AssumedFolders::default();
        let mut numbers = (10..12).map(Ino);
        let mut look_up =
            |folders: &mut AssumedFolders, name| folders.look_up(Ino::ROOT, name, || numbers.next());
        let first = look_up(&mut folders, b"a").expect("no number was assigned");
        assert_eq!((first, look_up(&mut folders, b"a")), (Ino(10), Some(Ino(10))));
        folders.forget(first, 1);
        assert_eq!(folders.get(first).map(|it| &*it.name), Some(&b"a"[..]));
        folders.forget(first, 1);
        assert!(folders.get(first).is_none() && folders.len() == 0);
        assert_eq!(look_up(&mut folders, b"a"), Some(Ino(11)));
        folders.forget(Ino(99), 1);
        assert_eq!((look_up(&mut folders, b"b"), folders.len()), (None, 1));
    }

    #[test]
    fn surplus_folders_are_returned_oldest_first() {
        let mut folders = AssumedFolders::default();
        for n in 0..9 {
            folders.look_up(Ino::ROOT, &[n], || Some(Ino(u64::from(n) + 10)));
        }
        let mut names = || folders.next_surplus(4, 3).iter().map(|(_, name)| name[0]).collect::<Vec<_>>();
        assert_eq!(
            (names(), names(), names(), names()),
            (vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8], vec![0, 1, 2])
        );
        assert!(folders.next_surplus(9, 3).is_empty());
    }
}
