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

/// Hash of a folder's path, without case. The generations of the files in the folder derive from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentPath(u64);

impl ParentPath {
    /// The hash of a folder's path.
    pub(crate) fn new(path: &[u8]) -> Self {
        Self(XxHash3_64::oneshot(&path.to_ascii_lowercase()))
    }

    /// The generation of a file in the folder, whose source has this identity.
    pub(crate) fn generation_of_file(self, name: &[u8], identity: u64) -> u32 {
        upper_half(XxHash3_64::oneshot_with_seed(self.0 ^ identity, &name.to_ascii_lowercase()))
    }
}

/// The generation of a folder with this path.
pub(crate) fn generation_of_folder(path: &[u8]) -> u32 {
    upper_half(XxHash3_64::oneshot(path))
}

/// A handle has room for 32 bits.
fn upper_half(hash: u64) -> u32 {
    (hash >> u32::BITS) as u32
}
