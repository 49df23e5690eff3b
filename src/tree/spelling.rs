//! Inode numbers for every spelling of a folder's path.
//!
//! The kernel compares names byte by byte, and caches one name for a folder. If one program looks up
//! `Textures` and another `textures`, the kernel moves the directory entry between the two names. This costs
//! a LOOKUP for each component of each path. So each spelling is a separate folder to the kernel, with the
//! same children. A file has one inode number in all spellings, and so one page cache.
//!
//! Spellings are kept for as long as their folders exist, because the kernel may cache them that long. The
//! number of spellings is limited. Beyond the limit, any other spelling gets the number of the folder's node,
//! which is slower but correct.
//!
//! This file also numbers assumed folders: folders that no archive names, but that may exist because some
//! archive stores only hashes of paths. They have no node, and are kept while the kernel references their
//! inode numbers.

use std::collections::{HashMap, HashSet};
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

use super::node::{Ino, Kind, NodeId};
use super::tree::Tree;
use super::unnamed::AssumedFolders;
use crate::system::sync::RwLock;

/// What an inode number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The inode number.
    pub ino: Ino,
    /// The node; `None` for an assumed folder.
    pub node: Option<NodeId>,
}

impl Inode {
    /// The inode of a node under the node's own number.
    pub fn of(tree: &Tree, node: NodeId) -> Self {
        Self { ino: tree.ino(node), node: Some(node) }
    }

    /// Whether a node keeps its own number when it is looked up as `name` in `parent`. A file always does; a
    /// folder does only under its listed name.
    fn keeps_own_number(self, tree: &Tree, parent: Self, name: &[u8]) -> bool {
        let Some(node) = self.node else { return false };
        let parent_is_listed = parent.node.is_some_and(|folder| tree.ino(folder) == parent.ino);
        tree.kind(node) != Kind::Folder || (parent_is_listed && tree.name(node) == name)
    }
}

/// The spellings that were looked up so far, in all views of a mount.
#[derive(Debug)]
pub struct Spellings {
    /// The first number after those of the first view's nodes.
    first: Ino,
    max_spellings: usize,
    table: RwLock<SpellingTable>,
}

#[derive(Debug)]
struct SpellingTable {
    /// The next free number.
    next: Ino,
    /// All numbers are below this.
    end: Ino,
    numbers: HashMap<(Ino, Box<[u8]>), Ino>,
    spellings: HashMap<Ino, Spelling>,
    assumed: AssumedFolders,
}

#[derive(Clone, Debug)]
struct Spelling {
    parent: Ino,
    name: Box<[u8]>,
    /// The number of the folder's node.
    node_ino: Ino,
    /// The number of the folder's node in the previous view if the folder had another spelling
    /// there; otherwise [`Ino::NONE`].
    previous_ino: Ino,
}

impl Spellings {
    /// Starts with the tree of a first view. At most `max_spellings` are kept. All numbers are below `end`.
    pub fn new(tree: &Tree, max_spellings: usize, end: Ino) -> Self {
        let first = Ino(u64::from(tree.len()) + Ino::ROOT.0);
        let table = SpellingTable {
            next: first,
            end,
            numbers: Default::default(),
            spellings: Default::default(),
            assumed: Default::default(),
        };
        Self { first, max_spellings, table: RwLock::new(table) }
    }

    /// What an inode number stands for.
    pub fn inode(&self, tree: &Tree, ino: Ino) -> Option<Inode> {
        if let Some(node) = tree.node(ino) {
            return Some(Inode { ino, node: Some(node) });
        }
        let table = self.read();
        match table.spellings.get(&ino) {
            Some(spelling) => spelling.node(tree).map(|node| Inode { ino, node: Some(node) }),
            None => table.assumed.get(ino).map(|_| Inode { ino, node: None }),
        }
    }

    /// The inode of `node`, a child of `parent` that was looked up as `name`.
    pub fn child(&self, tree: &Tree, parent: Inode, name: &[u8], node: NodeId) -> Inode {
        let own = Inode::of(tree, node);
        if own.keeps_own_number(tree, parent, name) {
            return own;
        }
        self.find_or_assign(parent.ino, name, own.ino).map_or(own, |ino| Inode { ino, node: Some(node) })
    }

    /// The number that [`Spellings::child`] would return, without assigning a new one.
    pub fn existing_child_ino(&self, tree: &Tree, parent: Inode, name: &[u8], node: NodeId) -> Option<Ino> {
        let own = Inode::of(tree, node);
        if own.keeps_own_number(tree, parent, name) {
            return Some(own.ino);
        }
        self.read().find(&(parent.ino, Box::from(name)), own.ino)
    }

    /// Returns an assumed folder, and counts one lookup of it. `None` if numbers ran out.
    pub fn assume_folder(&self, parent: Inode, name: &[u8]) -> Option<Inode> {
        let mut table = self.write();
        let SpellingTable { next, end, assumed, .. } = &mut *table;
        let ino = assumed.look_up(parent.ino, name, || allocate(next, *end))?;
        Some(Inode { ino, node: None })
    }

    /// Allocates an inode number; `None` if numbers ran out.
    pub fn allocate(&self) -> Option<Ino> {
        let mut table = self.write();
        let SpellingTable { next, end, .. } = &mut *table;
        allocate(next, *end)
    }

    /// Skips this many numbers, as if they had been allocated.
    pub fn skip(&self, numbers: u64) {
        let mut table = self.write();
        table.next = Ino(table.next.0.saturating_add(numbers)).min(table.end);
    }

    /// Records that the kernel forgot `lookups` lookups of an inode number.
    pub fn forget(&self, ino: Ino, lookups: u64) {
        // Most numbers belong to nodes, whose lookups are not counted here.
        if ino >= self.first {
            self.write().assumed.forget(ino, lookups);
        }
    }

    /// How many assumed folders there are.
    pub fn assumed(&self) -> usize {
        self.read().assumed.len()
    }

    /// Returns the parents and names of the oldest assumed folders beyond `max`, at most `step` of them. The
    /// next call returns others.
    pub fn surplus(&self, max: usize, step: usize) -> Vec<(Ino, Box<[u8]>)> {
        self.write().assumed.next_surplus(max, step)
    }

    /// The inode number of the folder that contains an inode.
    pub fn parent(&self, tree: &Tree, inode: Inode) -> Ino {
        let of_tree = tree.ino(inode.node.map_or(NodeId::ROOT, |node| tree.parent(node)));
        if tree.node(inode.ino).is_some() {
            return of_tree;
        }
        self.read().name(inode.ino).map_or(of_tree, |(parent, _)| parent)
    }

    /// The path of an inode from the root, as it is spelled.
    pub fn path(&self, tree: &Tree, inode: Inode) -> Vec<u8> {
        let table = self.read();
        let mut names: Vec<&[u8]> = Vec::new();
        let mut ino = inode.ino;
        // This loop ends: every step goes to a number that was assigned earlier, or into the tree.
        while tree.node(ino).is_none()
            && let Some((parent, name)) = table.name(ino)
        {
            names.push(name);
            ino = parent;
        }
        let from_root = tree.node(ino).map(|node| tree.path(node)).unwrap_or_default();
        names.push(&from_root);
        names.reverse();
        names.retain(|name| !name.is_empty());
        names.join(&b'/')
    }

    /// The number of the spelling `name` in the folder with the number `parent`; `None` if the spelling has
    /// no number of its own.
    pub(super) fn spelling_ino(&self, parent: Ino, name: &[u8]) -> Option<Ino> {
        self.read().numbers.get(&(parent, Box::from(name))).copied()
    }

    /// Records that a folder was respelled, which changed its own number from `old` to `new`. The old number
    /// remains valid for the old spelling.
    pub(super) fn respell(&self, old: Ino, parent: Ino, name: &[u8], new: Ino) {
        let mut table = self.write();
        for spelling in table.spellings.values_mut().filter(|spelling| spelling.node_ino == old) {
            (spelling.node_ino, spelling.previous_ino) = (new, old);
        }
        table.numbers.insert((parent, Box::from(name)), old);
        table
            .spellings
            .insert(old, Spelling { parent, name: Box::from(name), node_ino: new, previous_ino: old });
    }

    /// Forgets the spellings of folders that do not exist in a later view.
    pub fn retain_existing(&self, tree: &Tree) {
        let mut table = self.write();
        let SpellingTable { numbers, spellings, .. } = &mut *table;
        // A respelled folder may have regained its first name.
        spellings.retain(|ino, spelling| spelling.node(tree).is_some() && tree.node(*ino).is_none());
        numbers.retain(|_, ino| spellings.contains_key(ino));
    }

    /// Maps each folder's own number to the numbers of its other spellings. If a folder had another spelling
    /// in the previous view, its own number in that view counts too.
    pub fn other_numbers(&self, folders: &HashSet<Ino>) -> HashMap<Ino, Vec<Ino>> {
        let mut found: HashMap<Ino, Vec<Ino>> = HashMap::new();
        for (&ino, &Spelling { node_ino, previous_ino, .. }) in &self.read().spellings {
            if folders.contains(&node_ino) {
                found.entry(node_ino).or_default().push(ino);
            }
            if previous_ino != node_ino && folders.contains(&previous_ino) {
                let others = found.entry(previous_ino).or_default();
                others.extend((ino != previous_ino).then_some(ino));
                // Exactly one spelling of a respelled folder has this number, so `node_ino` is added once.
                others.extend((ino == previous_ino).then_some(node_ino));
            }
        }
        found
    }

    /// The numbers of the other spellings of one folder, given its own number.
    pub fn other_numbers_of(&self, folder: Ino) -> Vec<Ino> {
        self.other_numbers(&HashSet::from([folder])).remove(&folder).unwrap_or_default()
    }

    /// The number of a spelling; assigns one if the spelling has none. `None` beyond the limit.
    fn find_or_assign(&self, parent: Ino, name: &[u8], node_ino: Ino) -> Option<Ino> {
        let key = (parent, Box::from(name));
        if let Some(ino) = self.read().find(&key, node_ino) {
            return Some(ino);
        }
        let mut table = self.write();
        if let Some(ino) = table.find(&key, node_ino) {
            return Some(ino);
        }
        if table.spellings.len() >= self.max_spellings {
            return None;
        }
        // A request that still uses the previous view may arrive after the folder was respelled for the next
        // one.
        let respelled =
            table.spellings.get(&node_ino).filter(|it| it.previous_ino == node_ino).map(|it| it.node_ino);
        let (node_ino, previous_ino) = respelled.map_or((node_ino, Ino::NONE), |new| (new, node_ino));
        let SpellingTable { next, end, .. } = &mut *table;
        let ino = allocate(next, *end)?;
        table.spellings.insert(ino, Spelling { parent, name: Box::from(name), node_ino, previous_ino });
        // The key had the number of a folder that vanished and came back with another number.
        if let Some(gone) = table.numbers.insert(key, ino) {
            table.spellings.remove(&gone);
        }
        Some(ino)
    }

    fn read(&self) -> RwLockReadGuard<'_, SpellingTable> {
        self.table.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, SpellingTable> {
        self.table.write()
    }
}

impl Spelling {
    /// The folder's node, in the tree of the current or the previous view.
    fn node(&self, tree: &Tree) -> Option<NodeId> {
        tree.node(self.node_ino).or_else(|| tree.node(self.previous_ino))
    }
}

impl SpellingTable {
    /// Finds the number of a spelling of the folder whose own number is `node_ino`.
    fn find(&self, key: &(Ino, Box<[u8]>), node_ino: Ino) -> Option<Ino> {
        let ino = *self.numbers.get(key)?;
        self.spellings
            .get(&ino)
            .filter(|it| it.node_ino == node_ino || it.previous_ino == node_ino)
            .map(|_| ino)
    }

    /// Parent and name of a spelling or of an assumed folder.
    fn name(&self, ino: Ino) -> Option<(Ino, &[u8])> {
        let assumed = || self.assumed.get(ino).map(|folder| (folder.parent, &*folder.name));
        self.spellings.get(&ino).map(|spelling| (spelling.parent, &*spelling.name)).or_else(assumed)
    }
}

fn allocate(next: &mut Ino, end: Ino) -> Option<Ino> {
    let ino = *next;
    (ino < end).then(|| next.0 += 1)?;
    Some(ino)
}
