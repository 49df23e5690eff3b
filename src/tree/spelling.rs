//! An inode number for every spelling of a folder's path.
//!
//! The kernel compares names byte by byte, and caches one name for a folder. If one program looks up `Textures` and
//! another `textures`, it moves the directory entry between the two names, with a LOOKUP for each component of each
//! path. So each spelling is a folder of its own to the kernel, with the same children; a file has one number in all
//! spellings, and with it one page cache.
//!
//! Spellings are kept until the mount ends, because the kernel may cache them as long. Their number is bounded: beyond
//! it a folder has its node's number in any further spelling, which is slower but correct.
//!
//! Assumed folders are here too: folders that may contain a file which only its hash can find. They have no node, and are kept
//! while the kernel holds their numbers.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::assumed::AssumedFolders;
use super::node::{Kind, NodeId};
use super::tree::Tree;

/// What an inode number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The number.
    pub ino: u64,
    /// The node; `None` is an assumed folder.
    pub node: Option<NodeId>,
}

impl From<NodeId> for Inode {
    fn from(node: NodeId) -> Self {
        Self { ino: node.ino(), node: Some(node) }
    }
}

/// The spellings seen so far.
#[derive(Debug)]
pub struct Spellings {
    /// The number of the first spelling: one more than the tree's last.
    first: u64,
    most: usize,
    table: RwLock<Table>,
}

#[derive(Debug)]
struct Table {
    numbers: HashMap<(u64, Box<[u8]>), u64>,
    spellings: Vec<Spelling>,
    assumed: AssumedFolders,
}

#[derive(Clone, Debug)]
struct Spelling {
    parent: u64,
    name: Box<[u8]>,
    node: NodeId,
}

impl Spellings {
    /// For a tree; at most `most` spellings are kept. All numbers are below `end`.
    pub fn new(tree: &Tree, most: usize, end: u64) -> Self {
        let first = u64::from(tree.len()) + 1;
        let assumed = AssumedFolders::new(first + most as u64, end);
        let table = Table { numbers: HashMap::new(), spellings: Vec::new(), assumed };
        Self { first, most, table: RwLock::new(table) }
    }

    /// What an inode number stands for.
    pub fn inode(&self, tree: &Tree, ino: u64) -> Option<Inode> {
        if let Some(node) = tree.node(ino) {
            return Some(node.into());
        }
        let table = self.read();
        match table.spelling(self.first, ino) {
            Some(spelling) => Some(Inode { ino, node: Some(spelling.node) }),
            None => table.assumed.get(ino).map(|_| Inode { ino, node: None }),
        }
    }

    /// The inode of `node`, a child of `parent` that was looked up as `name`.
    pub fn child(&self, tree: &Tree, parent: Inode, name: &[u8], node: NodeId) -> Inode {
        let is_own = parent.node.is_some_and(|folder| folder.ino() == parent.ino) && tree.name(node) == name;
        if is_own || tree.kind(node) != Kind::Folder {
            return node.into();
        }
        self.number(parent.ino, name, node).map_or(node.into(), |ino| Inode { ino, node: Some(node) })
    }

    /// An assumed folder, counted as one lookup; `None` where all numbers were given.
    pub fn assume_folder(&self, parent: Inode, name: &[u8]) -> Option<Inode> {
        self.write().assumed.look_up(parent.ino, name).map(|ino| Inode { ino, node: None })
    }

    /// Records that the kernel dropped an inode number that it was given so many times.
    pub fn forget(&self, ino: u64, lookups: u64) {
        // Most numbers are those of nodes.
        if ino >= self.first {
            self.write().assumed.forget(ino, lookups);
        }
    }

    /// How many assumed folders there are.
    pub fn assumed(&self) -> usize {
        self.read().assumed.len()
    }

    /// Parents and names of the oldest assumed folders beyond `most`, at most `step` of them, and others the next time.
    pub fn surplus(&self, most: usize, step: usize) -> Vec<(u64, Box<[u8]>)> {
        self.write().assumed.surplus(most, step)
    }

    /// The inode number of the folder that an inode is in.
    pub fn parent(&self, tree: &Tree, inode: Inode) -> u64 {
        let of_tree = inode.node.map_or(NodeId::ROOT, |node| tree.parent(node)).ino();
        self.read().name(self.first, inode.ino).map_or(of_tree, |(parent, _)| parent)
    }

    /// The path of an inode from the root, as it is spelled.
    pub fn path(&self, tree: &Tree, inode: Inode) -> Vec<u8> {
        let table = self.read();
        let mut names: Vec<&[u8]> = Vec::new();
        let mut ino = inode.ino;
        // Ends: every step goes to an earlier number or into the tree.
        while let Some((parent, name)) = table.name(self.first, ino) {
            names.push(name);
            ino = parent;
        }
        let from_root = tree.node(ino).map(|node| tree.path(node)).unwrap_or_default();
        names.push(&from_root);
        names.reverse();
        names.retain(|name| !name.is_empty());
        names.join(&b'/')
    }

    /// The number of a spelling, a new one if there is none; `None` beyond the bound.
    fn number(&self, parent: u64, name: &[u8], node: NodeId) -> Option<u64> {
        let key = (parent, Box::from(name));
        if let Some(&ino) = self.read().numbers.get(&key) {
            return Some(ino);
        }
        let mut table = self.write();
        if let Some(&ino) = table.numbers.get(&key) {
            return Some(ino);
        }
        if table.spellings.len() >= self.most {
            return None;
        }
        let ino = self.first + table.spellings.len() as u64;
        table.spellings.push(Spelling { parent, name: Box::from(name), node });
        table.numbers.insert(key, ino);
        Some(ino)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The spelling with a number; `first` is that of the first.
    fn spelling(&self, first: u64, ino: u64) -> Option<&Spelling> {
        self.spellings.get(usize::try_from(ino.checked_sub(first)?).ok()?)
    }

    /// Parent and name of a spelling or of an assumed folder.
    fn name(&self, first: u64, ino: u64) -> Option<(u64, &[u8])> {
        let assumed = || self.assumed.get(ino).map(|folder| (folder.parent, &*folder.name));
        self.spelling(first, ino).map(|spelling| (spelling.parent, &*spelling.name)).or_else(assumed)
    }
}
