//! Ranges of inode numbers, and the names of files that are in no archive.
//!
//! | inode numbers | node |
//! |---|---|
//! | 1 to the tree's length | folders and files of the tree; the root is 1 |
//! | up to `CIOPFS_INO` | further spellings of folders, and assumed folders ([`crate::tree::Spellings`]) |
//! | `CIOPFS_INO` | `.ciopfs`, in every folder |
//! | `STATUS_INO` | the link `.bsafs:status` in the root |
//! | `WHICH_INO` + n | the link `.bsafs:which:n` in the root, about node n |
//!
//! Numbers of files that programs open stay below 2^32: 32-bit programs get EOVERFLOW from `stat` above it.

use crate::tree::NodeId;

/// The symbolic link in the root whose target is the daemon's status as JSON. Lookups find it, listings leave it out.
/// A link needs no open file, its target is never cached, and reading it takes no privilege and no `unsafe` (an ioctl
/// would).
pub const STATUS_LINK: &str = ".bsafs:status";
/// Prefix of the links in the root whose target is where a file comes from, as JSON; its inode number follows.
pub const WHICH_LINK: &str = ".bsafs:which:";

/// Where a folder of a FUSE file system has a file of this name, Wine takes it to ignore case, and does not read whole
/// folders in search of a spelling.
pub(super) const CIOPFS: &[u8] = b".ciopfs";
/// Above all nodes and spellings.
pub(super) const CIOPFS_INO: u64 = u32::MAX as u64;
/// All numbers from here on are links.
pub(super) const STATUS_INO: u64 = 1 << 32;
/// Added to the inode number of the file that the link is about.
pub(super) const WHICH_INO: u64 = 1 << 33;

/// The inode number of the link of this name in a folder.
pub(super) fn link_ino(parent: u64, name: &[u8]) -> Option<u64> {
    if parent != NodeId::ROOT.ino() {
        return None;
    }
    if name == STATUS_LINK.as_bytes() {
        return Some(STATUS_INO);
    }
    let ino = std::str::from_utf8(name.strip_prefix(WHICH_LINK.as_bytes())?).ok()?.parse::<u64>().ok()?;
    (ino < CIOPFS_INO).then_some(WHICH_INO + ino)
}
