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
//! Assumed folders are here too: folders that may contain a file which only its hash can find. They have no node.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

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

#[derive(Debug, Default)]
struct Table {
    numbers: HashMap<(u64, Box<[u8]>), u64>,
    spellings: Vec<Spelling>,
}

#[derive(Clone, Debug)]
struct Spelling {
    parent: u64,
    name: Box<[u8]>,
    node: Option<NodeId>,
}

impl Spellings {
    /// For a tree; at most `most` spellings are kept.
    pub fn new(tree: &Tree, most: usize) -> Self {
        Self { first: u64::from(tree.len()) + 1, most, table: RwLock::default() }
    }

    /// What an inode number stands for.
    pub fn inode(&self, tree: &Tree, ino: u64) -> Option<Inode> {
        if let Some(node) = tree.node(ino) {
            return Some(node.into());
        }
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(ino.checked_sub(self.first)?).ok()?;
        table.spellings.get(index).map(|spelling| Inode { ino, node: spelling.node })
    }

    /// The inode of `node`, a child of `parent` that was looked up as `name`.
    pub fn child(&self, tree: &Tree, parent: Inode, name: &[u8], node: NodeId) -> Inode {
        let is_own = parent.node.is_some_and(|folder| folder.ino() == parent.ino) && tree.name(node) == name;
        if is_own || tree.kind(node) != Kind::Folder {
            return node.into();
        }
        self.number(parent.ino, name, Some(node)).map_or(node.into(), |ino| Inode { ino, node: Some(node) })
    }

    /// An assumed folder; `None` beyond the bound.
    pub fn assume_folder(&self, parent: Inode, name: &[u8]) -> Option<Inode> {
        self.number(parent.ino, name, None).map(|ino| Inode { ino, node: None })
    }

    /// The inode number of the folder that an inode is in.
    pub fn parent(&self, tree: &Tree, inode: Inode) -> u64 {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let spelling = inode
            .ino
            .checked_sub(self.first)
            .and_then(|index| table.spellings.get(usize::try_from(index).ok()?));
        match (spelling, inode.node) {
            (Some(spelling), _) => spelling.parent,
            (None, Some(node)) => tree.parent(node).ino(),
            (None, None) => NodeId::ROOT.ino(),
        }
    }

    /// The path of an inode from the root, as it is spelled.
    pub fn path(&self, tree: &Tree, inode: Inode) -> Vec<u8> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<&[u8]> = Vec::new();
        let mut ino = inode.ino;
        // Ends: every step goes to an earlier spelling or into the tree.
        while let Some(spelling) =
            ino.checked_sub(self.first).and_then(|index| table.spellings.get(usize::try_from(index).ok()?))
        {
            names.push(&spelling.name);
            ino = spelling.parent;
        }
        let from_root = tree.node(ino).map(|node| tree.path(node)).unwrap_or_default();
        names.push(&from_root);
        names.reverse();
        names.retain(|name| !name.is_empty());
        names.join(&b'/')
    }

    /// The number of a spelling, a new one if there is none; `None` beyond the bound.
    fn number(&self, parent: u64, name: &[u8], node: Option<NodeId>) -> Option<u64> {
        let key = (parent, Box::from(name));
        if let Some(&ino) = self.table.read().unwrap_or_else(PoisonError::into_inner).numbers.get(&key) {
            return Some(ino);
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
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
}
