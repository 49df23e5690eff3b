//! Which file or folder something is, whatever paths lead to it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::Stat;

/// The device and the inode number of a file or folder. Two that exist at the same time differ in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskId {
    /// The device (`st_dev`).
    pub device: u64,
    /// The inode number there.
    pub inode: u64,
}

impl From<&Metadata> for DiskId {
    fn from(of: &Metadata) -> Self {
        Self { device: of.dev(), inode: of.ino() }
    }
}

impl From<&Stat> for DiskId {
    fn from(of: &Stat) -> Self {
        Self { device: of.st_dev, inode: of.st_ino }
    }
}
