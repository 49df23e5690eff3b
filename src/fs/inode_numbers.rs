//! Inode numbers that belong to no node of the tree, and the names that lead to them.

/// The name under which a daemon tells of itself. Like the other names that begin so, it can be looked up in the root
/// but is in no listing, and is a symbolic link whose target is JSON: a link costs no open file, its text is never
/// cached, and reading it takes no privilege and no `unsafe` (an ioctl would).
pub const STATUS_LINK: &str = ".bsafs:status";
/// The beginning of the names under which a daemon tells where a file comes from; its inode number follows.
pub const WHICH_LINK: &str = ".bsafs:which:";

/// Wine takes a folder of a FUSE file system in which this name exists for one that ignores case, and then skips the
/// reading of whole folders in search of a spelling.
pub(super) const CIOPFS: &[u8] = b".ciopfs";
/// The inode number of that file in every folder: above all nodes and spellings, and below 2^32.
pub(super) const CIOPFS_INO: u64 = u32::MAX as u64;
/// Inode numbers of links that tell of the daemon, and (plus an inode number) of a file.
pub(super) const STATUS_INO: u64 = 1 << 32;
pub(super) const WHICH_INO: u64 = 1 << 33;

/// The inode number of the link of this name in the root.
pub(super) fn text_ino(name: &[u8]) -> Option<u64> {
    if name == STATUS_LINK.as_bytes() {
        return Some(STATUS_INO);
    }
    let ino = std::str::from_utf8(name.strip_prefix(WHICH_LINK.as_bytes())?).ok()?.parse::<u64>().ok()?;
    (ino < CIOPFS_INO).then_some(WHICH_INO + ino)
}
