//! Generations of inode numbers, by which a handle of an NFS client is held against what has the number now.
//!
//! A generation is made of the path and, of a file, of its source, and stays as long as the number does (the kernel takes an inode
//! whose generation moved for another one, and whoever has it open gets EIO). So the same sources give the same handles after
//! a restart, and other sources, or another spelling of a folder, none that are taken for these. A file has one number under all
//! spellings, and a layer that goes may take the stored one along: its path counts without case.

use twox_hash::XxHash3_64;

use super::inode_numbers::CIOPFS_INO;
use super::view::View;
use crate::tree::{Kind, NodeId};

/// What the generations of the children of a folder are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParentPath {
    /// A hash of the folder's path as it is spelled.
    spelled: u64,
    /// The same without case.
    folded: u64,
}

impl View {
    /// The generation of a number; 0 of the root, and of files that are in no archive.
    pub fn generation(&self, ino: u64) -> u32 {
        if ino == NodeId::ROOT_INO || ino >= CIOPFS_INO {
            return 0;
        }
        let Ok(inode) = self.inode(ino) else { return 0 };
        let is_file = inode.node.is_some_and(|node| self.entry(node).is_some());
        let path = match inode.node {
            Some(node) if is_file => self.tree.path(node),
            _ => self.shared.spellings.path(&self.tree, inode),
        };
        let at = path.iter().rposition(|&byte| byte == b'/');
        let (parent, name) = at.map_or((&b""[..], &path[..]), |at| (&path[..at], &path[at + 1..]));
        self.generation_in(ParentPath::new(parent), ino, name)
    }

    /// What the generations in a folder are made of.
    pub(super) fn parent_path(&self, folder: u64) -> ParentPath {
        let path = self.inode(folder).map(|inode| self.shared.spellings.path(&self.tree, inode));
        ParentPath::new(&path.unwrap_or_default())
    }

    /// The same as [`View::generation`] of a child that is called `name` in a folder.
    pub(super) fn generation_in(&self, parent: ParentPath, ino: u64, name: &[u8]) -> u32 {
        let node = self.inode(ino).ok().and_then(|inode| inode.node);
        let hash = match node.map(|node| self.tree.kind(node)) {
            Some(Kind::File(entry)) => {
                let seed = parent.folded ^ self.store.identity(entry);
                XxHash3_64::oneshot_with_seed(seed, &name.to_ascii_lowercase())
            }
            Some(Kind::Folder) | None => XxHash3_64::oneshot_with_seed(parent.spelled, name),
        };
        // All that a handle has room for.
        (hash >> u32::BITS) as u32
    }
}

impl ParentPath {
    fn new(path: &[u8]) -> Self {
        Self { spelled: XxHash3_64::oneshot(path), folded: XxHash3_64::oneshot(&path.to_ascii_lowercase()) }
    }
}
