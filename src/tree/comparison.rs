//! What differs between the trees of two views, and the inode numbers of the later one: what did not change keeps its own.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::fold;
use super::node::{Kind, NodeId};
use super::spelling::Spellings;
use super::tree::Tree;
use crate::format::EntryId;

/// What differs, as far as the kernel remembers it.
#[derive(Debug, Default)]
pub struct Changes {
    /// Folders by their own numbers, and names in them that stand for something else now. Of a folder that is new its own name
    /// is one, and none below it.
    pub names: Vec<(u64, Box<[u8]>)>,
    /// The same of names that stand for what they stood for, and are no longer the stored spelling.
    pub respelled: Vec<(u64, Box<[u8]>)>,
    /// Own numbers of folders whose listings or attributes are others now.
    pub folders: Vec<u64>,
    /// Files that the later view does not have: their numbers, and their entries in the earlier one.
    pub retired: Vec<(u64, EntryId)>,
    /// Numbers of files that are the same, and whose bytes may be others all the same.
    pub uncertain: Vec<u64>,
    /// How many files the layers of the later view have that were not there, by layer.
    pub added: BTreeMap<u16, usize>,
    /// The same of other files that were there.
    pub replaced: BTreeMap<u16, usize>,
    /// Files of layers of the earlier view that are gone.
    pub removed: BTreeMap<u16, usize>,
}

impl Changes {
    /// Whether both views are one to the kernel.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.respelled.is_empty() && self.folders.is_empty()
    }
}

/// How files of two views compare.
pub trait CompareFiles {
    /// Whether an entry of the later view is the same file as one of the earlier that has its path.
    fn is_kept(&self, later: EntryId, earlier: EntryId) -> bool;

    /// Whether the bytes of a kept file are certainly the same.
    fn is_certain(&self, _later: EntryId, _earlier: EntryId) -> bool {
        true
    }

    /// The number that the kernel may still hold of an entry of the later view, which an earlier one showed.
    fn held(&self, later: EntryId) -> Option<u64>;
}

/// Compares two trees, and numbers the later one. `None` where all numbers were given.
pub fn compare(
    earlier: &Tree,
    later: Tree,
    spellings: &Spellings,
    files: &impl CompareFiles,
) -> Option<(Tree, Changes)> {
    let numbers = vec![0; later.len() as usize];
    let mut comparison =
        Comparison { earlier, later: &later, spellings, files, numbers, changes: Changes::default() };
    comparison.numbers[0] = NodeId::ROOT_INO as u32;
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
    /// Of the later tree's nodes; 0 for those that were not reached.
    numbers: Vec<u32>,
    changes: Changes,
}

impl<F: CompareFiles> Comparison<'_, F> {
    /// Compares a folder that both have, whose number is known; folders in it that both have are put on `pairs`.
    fn folder(&mut self, then: NodeId, now: NodeId, pairs: &mut Vec<(NodeId, NodeId)>) -> Option<()> {
        let (earlier, later) = (self.earlier, self.later);
        let mut is_changed = earlier.folder_time(then) != later.folder_time(now);
        let (mut old, mut new) = (earlier.children(then).peekable(), later.children(now).peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(&old), Some(&new)) => fold::compare(earlier.name(old), later.name(new)),
            };
            let removed = if order == Ordering::Greater { None } else { old.next() };
            let added = if order == Ordering::Less { None } else { new.next() };
            is_changed |= match (removed, added) {
                (Some(old), Some(new)) => self.child((then, old), (now, new), pairs)?,
                (old, new) => {
                    old.into_iter().for_each(|old| self.remove(old));
                    new.map_or(Some(()), |new| self.add(new))?;
                    true
                }
            };
        }
        if is_changed {
            self.changes.folders.push(self.ino(now));
            if earlier.ino(then) != self.ino(now) {
                self.changes.folders.push(earlier.ino(then));
            }
        }
        Some(())
    }

    /// Compares what has one name in both; returns whether the listing of its folder differs.
    fn child(
        &mut self,
        (parent_then, then): (NodeId, NodeId),
        (parent_now, now): (NodeId, NodeId),
        pairs: &mut Vec<(NodeId, NodeId)>,
    ) -> Option<bool> {
        let (old_parent, parent) = (self.earlier.ino(parent_then), self.ino(parent_now));
        let (old_name, name) = (self.earlier.name(then), self.later.name(now));
        let (old_ino, is_respelled) = (self.earlier.ino(then), old_name != name);
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
            (Kind::File(old), Kind::File(new)) if self.files.is_kept(new, old) => {
                self.set(now, old_ino);
                if !self.files.is_certain(new, old) {
                    self.changes.uncertain.push(old_ino);
                }
            }
            (Kind::File(old), Kind::File(new)) => {
                let number = self.number_file(new)?;
                self.set(now, number);
                self.changes.retired.push((old_ino, old));
                self.changes.names.push((parent, Box::from(old_name)));
                *self.changes.replaced.entry(new.layer).or_default() += 1;
                return Some(true);
            }
            _ => {
                self.remove(then);
                self.add(now)?;
                return Some(true);
            }
        }
        // The root of a mount that was respelled above has no names of its own.
        if is_respelled {
            self.changes.respelled.push((old_parent, Box::from(old_name)));
        }
        Some(is_respelled)
    }

    /// The number of a folder under another spelling than before: the one that this spelling has.
    fn respelled_folder(&self, parent: u64, name: &[u8]) -> Option<u64> {
        self.spellings.known(parent, name).or_else(|| self.spellings.allocate())
    }

    /// Takes out a node of the earlier tree with all that is below it.
    fn remove(&mut self, node: NodeId) {
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            let parent = self.earlier.ino(self.earlier.parent(node));
            self.changes.names.push((parent, Box::from(self.earlier.name(node))));
            match self.earlier.kind(node) {
                Kind::Folder => {
                    // Whoever has it open would go on listing what was in it.
                    self.changes.folders.push(self.earlier.ino(node));
                    nodes.extend(self.earlier.children(node));
                }
                Kind::File(entry) => {
                    self.changes.retired.push((self.earlier.ino(node), entry));
                    *self.changes.removed.entry(entry.layer).or_default() += 1;
                }
            }
        }
    }

    /// Numbers a node of the later tree with all that is below it.
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
                    self.number_file(entry)?
                }
            };
            self.set(node, number);
        }
        Some(())
    }

    fn number_file(&self, entry: EntryId) -> Option<u64> {
        self.files.held(entry).or_else(|| self.spellings.allocate())
    }

    fn set(&mut self, node: NodeId, number: u64) {
        // All numbers are below 2^32: so they were allocated.
        self.numbers[node.0 as usize] = u32::try_from(number).unwrap_or(0);
    }

    fn ino(&self, node: NodeId) -> u64 {
        u64::from(self.numbers[node.0 as usize])
    }
}
