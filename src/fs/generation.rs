//! Generations of inode numbers. They decide whether a handle of an NFS client is still valid for
//! the node that has the number.
//!
//! A generation is a hash of the path and, for a file, of the identity of its source. It stays as
//! long as the number does. If it changed, the kernel would take the inode for another one, and
//! programs that have it open would get EIO.
//!
//! After a restart, unchanged sources give the same handles. Other sources, or another spelling of
//! a folder, give different ones. A file has one number under all spellings, and its stored
//! spelling may disappear with a layer, so its path is hashed without case.

use twox_hash::XxHash3_64;

use super::inode_numbers::CIOPFS_INO;
use super::view::View;
use crate::format::EntryId;
use crate::tree::NodeId;

/// Hash of a folder's path, without case. The generations of the files in the folder derive from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentPath(u64);

impl View {
    /// Generation of an inode number; 0 for the root and for files that are in no archive.
    pub fn generation(&self, ino: u64) -> u32 {
        if ino == NodeId::ROOT_INO || ino >= CIOPFS_INO {
            return 0;
        }
        let Ok(inode) = self.inode(ino) else { return 0 };
        if let Some(node) = inode.node
            && let Some(entry) = self.entry(node)
        {
            let path = self.tree().path(node);
            let at = path.iter().rposition(|&byte| byte == b'/');
            let (parent, name) = at.map_or((&b""[..], &path[..]), |at| (&path[..at], &path[at + 1..]));
            return self.generation_of_file(ParentPath::new(parent), ino, name, entry);
        }
        upper_half(XxHash3_64::oneshot(&self.shared.spellings.path(self.tree(), inode)))
    }

    /// The hash from which the generations in a folder derive.
    pub(crate) fn parent_path(&self, folder: u64) -> ParentPath {
        let path = self.inode(folder).map(|inode| self.shared.spellings.path(self.tree(), inode));
        ParentPath::new(&path.unwrap_or_default())
    }

    /// Like [`View::generation`], for the child `name` of a folder.
    pub(crate) fn generation_in(&self, parent: ParentPath, ino: u64, name: &[u8]) -> u32 {
        let node = self.inode(ino).ok().and_then(|inode| inode.node);
        match node.and_then(|node| self.entry(node)) {
            Some(entry) => self.generation_of_file(parent, ino, name, entry),
            // Beyond the limit of spellings, the number belongs to another path than this one.
            None => self.generation(ino),
        }
    }

    fn generation_of_file(&self, parent: ParentPath, ino: u64, name: &[u8], entry: EntryId) -> u32 {
        let seed = parent.0 ^ self.exposed_identity(ino, entry);
        upper_half(XxHash3_64::oneshot_with_seed(seed, &name.to_ascii_lowercase()))
    }

    /// The identity of a file's source. It stays 0 if it was unknown when the kernel was first sent the
    /// number.
    fn exposed_identity(&self, ino: u64, entry: EntryId) -> u64 {
        let file = self.store().file(entry);
        if file.archive_number().is_some() {
            return file.identity();
        }
        self.shared.early_numbers.identity(ino, || file.identity())
    }
}

impl ParentPath {
    fn new(path: &[u8]) -> Self {
        Self(XxHash3_64::oneshot(&path.to_ascii_lowercase()))
    }
}

/// A handle has room for 32 bits.
fn upper_half(hash: u64) -> u32 {
    (hash >> u32::BITS) as u32
}
