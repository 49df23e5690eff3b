//! Which file or folder something is, whatever paths lead to it.

use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FsWord, Stat, fstatfs};

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

// Disks on which an open file has effects that others see.
//
// If a file is removed while it is open, a FUSE daemon keeps it as `.fuse_hidden…`, and an NFS client as
// `.nfs…`. Then the folder cannot be removed. Other servers refuse to remove it. So on such disks nothing
// stays open when nothing is read.

/// The file systems of FUSE daemons and of networks, as `linux/magic.h` and their sources number them: FUSE
/// (virtiofs and ntfs-3g included), NFS, SMB (three), 9p, Ceph, AFS (two), Coda, VirtualBox and VMware.
const EFFECTS: [FsWord; 12] = [
    0x6573_5546,
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x00c3_6400,
    0x5346_414f,
    0x6b41_4653,
    0x7375_7245,
    0x786f_4256,
    0xbacb_acbc,
];

/// Names that such disks give to files that were removed while they were open. No listing shows these files.
const REMOVED: [&[u8]; 2] = [b".fuse_hidden", b".nfs"];

/// Whether an open file has effects on the disk that it is on. If the disk does not answer, it has.
pub(crate) fn has_effects(file: impl AsFd) -> bool {
    fstatfs(file).map_or(true, |disk| EFFECTS.contains(&disk.f_type))
}

/// Whether a name is that of a file that was removed while it was open.
pub(crate) fn is_removed(name: &[u8]) -> bool {
    REMOVED.iter().any(|removed| name.starts_with(removed))
}
