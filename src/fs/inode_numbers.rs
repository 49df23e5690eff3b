//! Ranges of inode numbers, and the names of files that are in no archive.
//!
//! | inode numbers | node |
//! |---|---|
//! | 1 to the tree's length | folders and files of the tree; the root is 1 |
//! | up to `CIOPFS_INO` | further spellings of folders, and assumed folders ([`crate::tree::Spellings`]) |
//! | `CIOPFS_INO` | `.ciopfs`, in every folder |
//! | `STATUS_INO` | the link `.bsafs:status` in the root |
//! | `SOURCES_INO` + p | the link `.bsafs:sources:p` in the root, page p of what the mount was made from |
//! | `WHICH_INO` + n + `PAGE_INO` * p | the link `.bsafs:which:n:p` in every folder, page p of what is known of node n |
//!
//! Numbers of files that programs open stay below 2^32: 32-bit programs get EOVERFLOW from `stat` above it.

use crate::tree::NodeId;

/// The symbolic link in the root whose target is the daemon's status as JSON. Lookups find it, listings leave
/// it out. A link needs no open file, its target is never cached, and reading it takes no privilege and no
/// `unsafe` (an ioctl would).
pub const STATUS_LINK: &str = ".bsafs:status";
/// The links in the root whose target is what the mount was made from, as JSON; behind a colon follows the
/// number of a page ([`crate::fs::read_pages`]), where that is not 0.
pub const SOURCES_LINK: &str = ".bsafs:sources";
/// Prefix of the links in every folder whose target is where a file comes from, as JSON; the file's inode
/// number follows, and behind a further colon the number of a page ([`crate::fs::read_pages`]), where that is
/// not 0. In every folder, because a bind mount of a folder has no other root.
pub const WHICH_LINK: &str = ".bsafs:which:";

/// Where a folder of a FUSE file system has a file of this name, Wine takes it to ignore case, and does not
/// read whole folders in search of a spelling.
pub(crate) const CIOPFS: &[u8] = b".ciopfs";
/// Above all nodes and spellings.
pub(crate) const CIOPFS_INO: u64 = u32::MAX as u64;
/// All numbers from here on are links.
pub(crate) const STATUS_INO: u64 = 1 << 32;
/// The first page of the sources.
pub(crate) const SOURCES_INO: u64 = STATUS_INO + 1;
/// Added to the inode number of the file that the link is about.
pub(crate) const WHICH_INO: u64 = 1 << 33;
/// Added for each page.
const PAGE_INO: u64 = 1 << 34;
/// Pages that a link may ask for: a million bytes.
const PAGES_MAX: u64 = 256;

/// The inode number of the link of this name in a folder.
pub(crate) fn link_ino(parent: u64, name: &[u8]) -> Option<u64> {
    if name == STATUS_LINK.as_bytes() {
        return (parent == NodeId::ROOT_INO).then_some(STATUS_INO);
    }
    if let Some(page) = name.strip_prefix(SOURCES_LINK.as_bytes()) {
        let page = match page {
            b"" => 0,
            _ => std::str::from_utf8(page.strip_prefix(b":")?).ok()?.parse::<u64>().ok()?,
        };
        return (parent == NodeId::ROOT_INO && page < PAGES_MAX).then_some(SOURCES_INO + page);
    }
    let numbers = std::str::from_utf8(name.strip_prefix(WHICH_LINK.as_bytes())?).ok()?;
    let (ino, page) = numbers.split_once(':').unwrap_or((numbers, "0"));
    let (ino, page) = (ino.parse::<u64>().ok()?, page.parse::<u64>().ok()?);
    (ino < CIOPFS_INO && page < PAGES_MAX).then_some(WHICH_INO + ino + PAGE_INO * page)
}

/// Which page of the sources a link's number stands for; `None` where it is another link's.
pub(crate) fn sources_page(link: u64) -> Option<usize> {
    usize::try_from(link.checked_sub(SOURCES_INO).filter(|page| *page < PAGES_MAX)?).ok()
}

/// Which file, by its inode number, and which page a link's number stands for.
pub(crate) fn which(link: u64) -> (u64, usize) {
    let number = link.saturating_sub(WHICH_INO);
    (number % PAGE_INO, usize::try_from(number / PAGE_INO).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_link_names_its_file_and_page_and_no_other_link_has_it() {
        for (name, file) in
            [(".bsafs:which:7", (7, 0)), (".bsafs:which:4294967294:255", (4_294_967_294, 255))]
        {
            let link = link_ino(5, name.as_bytes()).expect(name);
            assert!(link >= WHICH_INO && which(link) == file, "{name}: {link}");
        }
        for name in [".bsafs:which:", ".bsafs:which:4294967295", ".bsafs:which:7:256", ".bsafs:status"] {
            assert_eq!(link_ino(5, name.as_bytes()), None, "{name}");
        }
        assert_eq!(link_ino(NodeId::ROOT_INO, STATUS_LINK.as_bytes()), Some(STATUS_INO));
        assert_eq!(sources_page(STATUS_INO), None);
        for (name, page) in [(".bsafs:sources", Some(0)), (".bsafs:sources:255", Some(255))] {
            let link = link_ino(NodeId::ROOT_INO, name.as_bytes());
            assert_eq!((link.and_then(sources_page), link_ino(5, name.as_bytes())), (page, None), "{name}");
            assert!(link < Some(WHICH_INO), "{name}");
        }
        for name in [".bsafs:sources:", ".bsafs:sources:256", ".bsafs:sources7"] {
            assert_eq!(link_ino(NodeId::ROOT_INO, name.as_bytes()), None, "{name}");
        }
    }
}
