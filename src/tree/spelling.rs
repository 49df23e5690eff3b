//! Inode numbers for every spelling of a folder's path.
//!
//! The kernel compares names byte by byte, and caches one name for a folder. If one program looks up
//! `Textures` and another `textures`, the kernel moves the directory entry between the two names. This costs
//! a LOOKUP for each component of each path. So each spelling is a separate folder to the kernel, with the
//! same children. A file has one inode number in all spellings, and so one page cache.
//!
//! Spellings are kept as long as their folders, because the kernel may cache them as long. Their
//! number is limited. Beyond the limit, a folder has its node's number in any further spelling,
//! which is slower but correct.
//!
//! This file also numbers assumed folders: folders that may contain a file which only its hash can
//! find. They have no node, and are kept while the kernel references their inode numbers.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::assumed::AssumedFolders;
use super::node::{Kind, NodeId};
use super::tree::Tree;

/// What an inode number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The inode number.
    pub ino: u64,
    /// The node; `None` for an assumed folder.
    pub node: Option<NodeId>,
}

impl Inode {
    /// The inode of a node under the node's own number.
    pub fn of(tree: &Tree, node: NodeId) -> Self {
        Self { ino: tree.ino(node), node: Some(node) }
    }

    /// Whether a node has its own number when it is looked up as `name` in `parent`. A file always
    /// has. A folder has only under the name that is shown.
    fn is_called(self, tree: &Tree, parent: Self, name: &[u8]) -> bool {
        let Some(node) = self.node else { return false };
        let is_shown = parent.node.is_some_and(|folder| tree.ino(folder) == parent.ino);
        tree.kind(node) != Kind::Folder || (is_shown && tree.name(node) == name)
    }
}

/// The spellings that were looked up so far, in all views of a mount.
#[derive(Debug)]
pub struct Spellings {
    /// The first number after those of the first view's nodes.
    first: u64,
    most: usize,
    table: RwLock<Table>,
}

#[derive(Debug)]
struct Table {
    /// The next free number, and the end of all numbers.
    next: u64,
    end: u64,
    numbers: HashMap<(u64, Box<[u8]>), u64>,
    spellings: HashMap<u64, Spelling>,
    assumed: AssumedFolders,
}

#[derive(Clone, Debug)]
struct Spelling {
    parent: u64,
    name: Box<[u8]>,
    /// The number of the folder's node.
    own: u64,
    /// The number of the folder's node in the previous view if the folder had another spelling
    /// there; otherwise 0.
    previous_ino: u64,
}

impl Spellings {
    /// Starts with the tree of a first view. At most `most` spellings are kept. All numbers are below `end`.
    pub fn new(tree: &Tree, most: usize, end: u64) -> Self {
        let first = u64::from(tree.len()) + NodeId::ROOT_INO;
        let (numbers, spellings, assumed) = Default::default();
        let table = Table { next: first, end, numbers, spellings, assumed };
        Self { first, most, table: RwLock::new(table) }
    }

    /// What an inode number stands for.
    pub fn inode(&self, tree: &Tree, ino: u64) -> Option<Inode> {
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
        if own.is_called(tree, parent, name) {
            return own;
        }
        self.number(parent.ino, name, own.ino).map_or(own, |ino| Inode { ino, node: Some(node) })
    }

    /// The number that [`Spellings::child`] gave; `None` if it would give a new one.
    pub fn given(&self, tree: &Tree, parent: Inode, name: &[u8], node: NodeId) -> Option<u64> {
        let own = Inode::of(tree, node);
        if own.is_called(tree, parent, name) {
            return Some(own.ino);
        }
        self.read().number(&(parent.ino, Box::from(name)), own.ino)
    }

    /// Returns an assumed folder, and counts one lookup of it. `None` if numbers ran out.
    pub fn assume_folder(&self, parent: Inode, name: &[u8]) -> Option<Inode> {
        let mut table = self.write();
        let Table { next, end, assumed, .. } = &mut *table;
        let ino = assumed.look_up(parent.ino, name, || allocate(next, *end))?;
        Some(Inode { ino, node: None })
    }

    /// A number that was never given before; `None` if numbers ran out.
    pub fn allocate(&self) -> Option<u64> {
        let mut table = self.write();
        let Table { next, end, .. } = &mut *table;
        allocate(next, *end)
    }

    /// Records that the kernel forgot `lookups` lookups of an inode number.
    pub fn forget(&self, ino: u64, lookups: u64) {
        // Most numbers belong to nodes, which are not counted.
        if ino >= self.first {
            self.write().assumed.forget(ino, lookups);
        }
    }

    /// How many assumed folders there are.
    pub fn assumed(&self) -> usize {
        self.read().assumed.len()
    }

    /// Parents and names of the oldest assumed folders beyond `most`, at most `step` of them. The
    /// next call returns others.
    pub fn surplus(&self, most: usize, step: usize) -> Vec<(u64, Box<[u8]>)> {
        self.write().assumed.surplus(most, step)
    }

    /// The inode number of the folder that contains an inode.
    pub fn parent(&self, tree: &Tree, inode: Inode) -> u64 {
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
        // This loop ends: every step goes to a number that was given earlier, or into the tree.
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

    /// The number of the spelling `name` in the folder with the number `parent`; `None` if it has
    /// no number of its own.
    pub(super) fn known(&self, parent: u64, name: &[u8]) -> Option<u64> {
        self.read().numbers.get(&(parent, Box::from(name))).copied()
    }

    /// Records that a folder's spelling changed, and with it the folder's own number from `old` to
    /// `now`. The old number remains valid for the old spelling.
    pub(super) fn respell(&self, old: u64, parent: u64, name: &[u8], now: u64) {
        let mut table = self.write();
        for spelling in table.spellings.values_mut().filter(|spelling| spelling.own == old) {
            (spelling.own, spelling.previous_ino) = (now, old);
        }
        table.numbers.insert((parent, Box::from(name)), old);
        table.spellings.insert(old, Spelling { parent, name: Box::from(name), own: now, previous_ino: old });
    }

    /// Forgets the spellings of folders that do not exist in a later view.
    pub fn keep_those_of(&self, tree: &Tree) {
        let mut table = self.write();
        let Table { numbers, spellings, .. } = &mut *table;
        // A respelled folder may have its first name back.
        spellings.retain(|ino, spelling| spelling.node(tree).is_some() && tree.node(*ino).is_none());
        numbers.retain(|_, ino| spellings.contains_key(ino));
    }

    /// The further numbers of these folders, by the folder's own number. If a folder had another
    /// spelling in the previous view, its own number there counts too.
    pub fn further_numbers(&self, folders: &HashSet<u64>) -> HashMap<u64, Vec<u64>> {
        let mut found: HashMap<u64, Vec<u64>> = HashMap::new();
        for (&ino, &Spelling { own, previous_ino, .. }) in &self.read().spellings {
            if folders.contains(&own) {
                found.entry(own).or_default().push(ino);
            }
            if previous_ino != own && folders.contains(&previous_ino) {
                let others = found.entry(previous_ino).or_default();
                others.extend((ino != previous_ino).then_some(ino));
                // Exactly one spelling of a respelled folder has this number, so `own` is added once.
                others.extend((ino == previous_ino).then_some(own));
            }
        }
        found
    }

    /// The number of a spelling, which is new if there is none; `None` beyond the limit.
    fn number(&self, parent: u64, name: &[u8], own: u64) -> Option<u64> {
        let key = (parent, Box::from(name));
        if let Some(ino) = self.read().number(&key, own) {
            return Some(ino);
        }
        let mut table = self.write();
        if let Some(ino) = table.number(&key, own) {
            return Some(ino);
        }
        if table.spellings.len() >= self.most {
            return None;
        }
        // A request in the previous view may ask after the folder was respelled for the next view.
        let respelled = table.spellings.get(&own).filter(|it| it.previous_ino == own).map(|it| it.own);
        let (own, previous_ino) = respelled.map_or((own, 0), |now| (now, own));
        let Table { next, end, .. } = &mut *table;
        let ino = allocate(next, *end)?;
        table.spellings.insert(ino, Spelling { parent, name: Box::from(name), own, previous_ino });
        // The key had the number of a folder that vanished and came back with another number.
        if let Some(gone) = table.numbers.insert(key, ino) {
            table.spellings.remove(&gone);
        }
        Some(ino)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spelling {
    /// The folder's node, in the tree of the current or the previous view.
    fn node(&self, tree: &Tree) -> Option<NodeId> {
        tree.node(self.own).or_else(|| tree.node(self.previous_ino))
    }
}

impl Table {
    /// The number of a spelling of the folder whose own number is `own`.
    fn number(&self, key: &(u64, Box<[u8]>), own: u64) -> Option<u64> {
        let ino = *self.numbers.get(key)?;
        self.spellings.get(&ino).filter(|it| it.own == own || it.previous_ino == own).map(|_| ino)
    }

    /// Parent and name of a spelling or of an assumed folder.
    fn name(&self, ino: u64) -> Option<(u64, &[u8])> {
        let assumed = || self.assumed.get(ino).map(|folder| (folder.parent, &*folder.name));
        self.spellings.get(&ino).map(|spelling| (spelling.parent, &*spelling.name)).or_else(assumed)
    }
}

fn allocate(next: &mut u64, end: u64) -> Option<u64> {
    let ino = *next;
    (ino < end).then(|| *next += 1)?;
    Some(ino)
}
