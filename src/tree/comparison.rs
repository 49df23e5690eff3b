//! Compares the trees of two views, and gives the later tree its inode numbers: unchanged nodes keep theirs.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::fold;
use super::node::{Ino, Kind, NodeId};
use super::spelling::Spellings;
use super::tree::Tree;
use crate::folder::FileChange;
use crate::format::EntryId;

/// The differences between two views that matter to what the kernel caches.
#[derive(Debug, Default)]
pub struct Changes {
    /// Names that now mean another node, each with its folder's own number. If a folder is new, its own name
    /// is included, but no names below it.
    pub names: Vec<(Ino, Box<[u8]>)>,
    /// Names that mean the same node as before but are no longer the stored spelling, each with its folder's
    /// own number.
    pub respelled: Vec<(Ino, Box<[u8]>)>,
    /// Own numbers of folders whose listing or attributes changed.
    pub folders: Vec<Ino>,
    /// Files that were removed, or replaced by another file of the same path: their inode numbers, and their
    /// entries in the earlier view.
    pub retired: Vec<(Ino, EntryId)>,
    /// Inode numbers of files that were kept although they were written to.
    pub written: Vec<Ino>,
    /// Inode numbers of files whose attributes are the same, but whose bytes may have changed.
    pub uncertain: Vec<Ino>,
    /// The files that differ. A file that was only respelled, with its folder or alone, is not among them.
    pub files: Vec<NodeChange>,
    /// How many files are new, by layer of the later view.
    pub added: BTreeMap<u16, usize>,
    /// How many files replaced another file of the same path, by layer of the later view.
    pub replaced: BTreeMap<u16, usize>,
    /// How many files were written to, by layer of the later view.
    pub writes: BTreeMap<u16, usize>,
    /// How many files are gone, by layer of the earlier view.
    pub removed: BTreeMap<u16, usize>,
}

impl Changes {
    /// Whether the kernel would notice no difference.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
            && self.respelled.is_empty()
            && self.folders.is_empty()
            && self.written.is_empty()
    }

    /// Whether files were written to, and nothing else changed.
    pub fn is_only_writes(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.replaced.is_empty()
            && !self.writes.is_empty()
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// The later tree has a new file.
    Added(NodeId),
    /// The earlier tree had a file that is gone.
    Removed(NodeId),
    /// The later tree has another file at the path, or one that was written to.
    Modified(NodeId),
}

/// Compares files of two views.
pub trait CompareFiles {
    /// What happened to the file at a path, given its entries in the later and the earlier view.
    fn change(&self, later: EntryId, earlier: EntryId) -> FileChange;

    /// The inode number that the kernel may still reference for an entry of the later view, if an
    /// earlier view showed that entry.
    fn held(&self, later: EntryId) -> Option<Ino>;
}

/// Compares two trees, and numbers the later one. `None` if numbers ran out.
pub fn compare(
    earlier: &Tree,
    later: Tree,
    spellings: &Spellings,
    files: &impl CompareFiles,
) -> Option<(Tree, Changes)> {
    let numbers = vec![0; later.len() as usize];
    let (same_layers, changes) = (later.layers_shared_with(earlier), Changes::default());
    let mut comparison =
        Comparison { earlier, later: &later, spellings, files, numbers, same_layers, changes };
    comparison.set(NodeId::ROOT, Ino::ROOT);
    let mut pairs = vec![(NodeId::ROOT, NodeId::ROOT)];
    while let Some((then, now)) = pairs.pop() {
        comparison.folder(then, now, &mut pairs)?;
    }
    let Comparison { numbers, changes, .. } = comparison;
    Some((later.numbered(numbers), changes))
}

struct Comparison<'a, F> {
    earlier: &'a Tree,
    later: &'a Tree,
    spellings: &'a Spellings,
    files: &'a F,
    /// Inode numbers of the later tree's nodes; 0 for nodes that were not reached yet.
    numbers: Vec<u32>,
    /// For each layer of the later tree, the layer of the earlier one that shares its names.
    same_layers: Vec<Option<u16>>,
    changes: Changes,
}

impl<F: CompareFiles> Comparison<'_, F> {
    /// Compares a folder that both trees have and whose number is known. Pushes the subfolders that
    /// both have on `pairs`.
    fn folder(&mut self, then: NodeId, now: NodeId, pairs: &mut Vec<(NodeId, NodeId)>) -> Option<()> {
        let (earlier, later) = (self.earlier, self.later);
        let mut is_changed = earlier.folder_time(then) != later.folder_time(now);
        let (mut old, mut new) = (earlier.children(then).peekable(), later.children(now).peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(&old), Some(&new)) if self.is_same_name(old, new) => Ordering::Equal,
                (Some(&old), Some(&new)) => fold::compare(earlier.name(old), later.name(new)),
            };
            let removed = if order == Ordering::Greater { None } else { old.next() };
            let added = if order == Ordering::Less { None } else { new.next() };
            is_changed |= match (removed, added) {
                (Some(old), Some(new)) => self.child((then, old), (now, new), pairs)?,
                (old, new) => {
                    if let Some(old) = old {
                        self.remove(old);
                    }
                    new.map_or(Some(()), |new| self.add(new))?;
                    true
                }
            };
        }
        // Without this, a listing that goes on after the reload would skip names, or show them twice.
        if is_changed || !earlier.lists_like(then, later, now) {
            self.changes.folders.push(self.ino(now));
            if earlier.ino(then) != self.ino(now) {
                self.changes.folders.push(earlier.ino(then));
            }
        }
        Some(())
    }

    /// Compares two nodes of one name. Returns whether the listing of their folder differs.
    fn child(
        &mut self,
        (parent_then, then): (NodeId, NodeId),
        (parent_now, now): (NodeId, NodeId),
        pairs: &mut Vec<(NodeId, NodeId)>,
    ) -> Option<bool> {
        let (old_parent, parent) = (self.earlier.ino(parent_then), self.ino(parent_now));
        let (old_name, name) = (self.earlier.name(then), self.later.name(now));
        let is_respelled = !self.is_same_name(then, now) && old_name != name;
        let old_ino = self.earlier.ino(then);
        match (self.earlier.kind(then), self.later.kind(now)) {
            (Kind::Folder, Kind::Folder) => {
                let is_moved = is_respelled || old_parent != parent;
                let number = if is_moved { self.respelled_folder(parent, name)? } else { old_ino };
                self.set(now, number);
                if is_moved {
                    self.spellings.respell(old_ino, old_parent, old_name, number);
                }
                pairs.push((then, now));
            }
            (Kind::File(old), Kind::File(new)) => {
                let change = self.files.change(new, old);
                if change == FileChange::Replaced {
                    *self.changes.replaced.entry(new.layer).or_default() += 1;
                    self.changes.files.push(NodeChange::Modified(now));
                    let number = self.number_file(new)?;
                    self.set(now, number);
                    self.changes.retired.push((old_ino, old));
                    self.changes.names.push((parent, Box::from(old_name)));
                    return Some(true);
                }
                self.set(now, old_ino);
                match change {
                    FileChange::Written => {
                        self.changes.written.push(old_ino);
                        self.changes.files.push(NodeChange::Modified(now));
                        *self.changes.writes.entry(new.layer).or_default() += 1;
                    }
                    FileChange::Unknown => self.changes.uncertain.push(old_ino),
                    FileChange::None | FileChange::Replaced => {}
                }
            }
            _ => {
                self.remove(then);
                self.add(now)?;
                return Some(true);
            }
        }
        // A folder that only moved because a folder above it was respelled keeps its name.
        if is_respelled {
            self.changes.respelled.push((old_parent, Box::from(old_name)));
        }
        Some(is_respelled)
    }

    /// Whether two nodes have one name, because they share it in memory. Nearly all nodes do, and then no
    /// names need to be compared.
    fn is_same_name(&self, then: NodeId, now: NodeId) -> bool {
        let (then, now) = (self.earlier.name_ref(then), self.later.name_ref(now));
        self.same_layers.get(usize::from(now.0)) == Some(&Some(then.0)) && then.1 == now.1
    }

    /// The number of a folder whose spelling changed: the number of the new spelling, or a new one.
    fn respelled_folder(&self, parent: Ino, name: &[u8]) -> Option<Ino> {
        self.spellings.spelling_ino(parent, name).or_else(|| self.spellings.allocate())
    }

    /// Records the removal of a node of the earlier tree with everything below it.
    fn remove(&mut self, node: NodeId) {
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            let parent = self.earlier.ino(self.earlier.parent(node));
            self.changes.names.push((parent, Box::from(self.earlier.name(node))));
            match self.earlier.kind(node) {
                Kind::Folder => {
                    // Otherwise a program that has the folder open would continue to list its old content.
                    self.changes.folders.push(self.earlier.ino(node));
                    nodes.extend(self.earlier.children(node));
                }
                Kind::File(entry) => {
                    self.changes.retired.push((self.earlier.ino(node), entry));
                    *self.changes.removed.entry(entry.layer).or_default() += 1;
                    self.changes.files.push(NodeChange::Removed(node));
                }
            }
        }
    }

    /// Numbers a new node of the later tree with everything below it.
    fn add(&mut self, node: NodeId) -> Option<()> {
        let parent = self.ino(self.later.parent(node));
        self.changes.names.push((parent, Box::from(self.later.name(node))));
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            let number = match self.later.kind(node) {
                Kind::Folder => {
                    nodes.extend(self.later.children(node));
                    self.spellings.allocate()?
                }
                Kind::File(entry) => {
                    *self.changes.added.entry(entry.layer).or_default() += 1;
                    self.changes.files.push(NodeChange::Added(node));
                    self.number_file(entry)?
                }
            };
            self.set(node, number);
        }
        Some(())
    }

    fn number_file(&self, entry: EntryId) -> Option<Ino> {
        self.files.held(entry).or_else(|| self.spellings.allocate())
    }

    fn set(&mut self, node: NodeId, number: Ino) {
        // Cannot fail, because all allocated numbers are below 2^32.
        self.numbers[node.0 as usize] = u32::try_from(number.0).unwrap_or(0);
    }

    fn ino(&self, node: NodeId) -> Ino {
        Ino(u64::from(self.numbers[node.0 as usize]))
    }
}
