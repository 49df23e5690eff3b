//! Ranges of inode numbers, and the names of files that are in no archive.
//!
//! | inode numbers | node |
//! |---|---|
//! | 1 to the tree's length | folders and files of the tree; the root is 1 |
//! | up to `CIOPFS_INO` | further spellings of folders, and assumed folders ([`crate::tree::Spellings`]) |
//! | `CIOPFS_INO` | `.ciopfs`, in every folder |
//! | `STATUS_INO` | the link `.bsafs:status` in the root |
//! | `SOURCES_INO` + p | the link `.bsafs:sources:p` in the root, page p of the mounted sources |
//! | `WHICH_INO` + n + `PAGE_INO` * p | the link `.bsafs:which:n:p` in every folder, page p about node n |
//! | `CHANGES_INO` | the link `.bsafs:changes` in the root |
//! | `CHANGES_INO` + 1 + n | the link `.bsafs:changes:n` in the root, changes of files from number n on |
//!
//! Files that programs open have numbers below 2^32. Above, 32-bit programs get EOVERFLOW from `stat`.

use crate::tree::Ino;

/// Name of the symbolic link in the root whose target is the daemon's status as JSON. Lookups find
/// it, but listings leave it out. A link needs no open file, and the kernel never caches its
/// target. Reading it takes no privilege and no `unsafe`, unlike an ioctl.
pub const STATUS_LINK: &str = ".bsafs:status";
/// Name of the links in the root whose target is the mounted sources and their options as JSON. Unless the
/// page number ([`crate::fs::read_pages`]) is 0, it follows after a colon.
pub const SOURCES_LINK: &str = ".bsafs:sources";
/// Name of the link in the root whose target has the number of the next change of a file, as JSON. If a colon
/// and a number follow, the target has the changes from that number on.
pub const CHANGES_LINK: &str = ".bsafs:changes";
/// Prefix of the links whose target says where a file comes from, as JSON. The file's inode number follows.
/// Unless the page number ([`crate::fs::read_pages`]) is 0, it follows after another colon. The links are in
/// every folder, because a bind mount of a folder has that folder as its root.
pub const WHICH_LINK: &str = ".bsafs:which:";

/// If a folder on a FUSE file system has a file of this name, Wine assumes that the folder ignores
/// case. It then does not read whole folders in search of a spelling.
pub(crate) const CIOPFS: &[u8] = b".ciopfs";
/// Lies above the numbers of all nodes and spellings.
pub(crate) const CIOPFS_INO: Ino = Ino(u32::MAX as u64);
/// All numbers from here on are those of links.
pub(crate) const STATUS_INO: Ino = Ino(1 << 32);
/// The first page of the mounted sources.
pub(crate) const SOURCES_INO: Ino = Ino(STATUS_INO.0 + 1);
/// Added to the inode number of the file that the link describes.
pub(crate) const WHICH_INO: Ino = Ino(1 << 33);
/// Added for each page.
const PAGE_INO: u64 = 1 << 34;
/// Lies above the numbers of all pages.
pub(crate) const CHANGES_INO: Ino = Ino(1 << 44);
/// Maximum number of pages of a link: about a million bytes.
const PAGES_MAX: u64 = 256;

/// Inode number of the link `name` in a folder.
pub(crate) fn link_ino(parent: Ino, name: &[u8]) -> Option<Ino> {
    if name == STATUS_LINK.as_bytes() {
        return (parent == Ino::ROOT).then_some(STATUS_INO);
    }
    if let Some(page) = name.strip_prefix(SOURCES_LINK.as_bytes()) {
        let page = number_after_colon(page)?.unwrap_or(0);
        return (parent == Ino::ROOT && page < PAGES_MAX).then_some(Ino(SOURCES_INO.0 + page));
    }
    if let Some(from) = name.strip_prefix(CHANGES_LINK.as_bytes()) {
        let from = number_after_colon(from)?;
        let is_link = parent == Ino::ROOT && from < Some(CHANGES_INO.0);
        return is_link.then(|| Ino(CHANGES_INO.0 + from.map_or(0, |from| from + 1)));
    }
    let numbers = std::str::from_utf8(name.strip_prefix(WHICH_LINK.as_bytes())?).ok()?;
    let (ino, page) = numbers.split_once(':').unwrap_or((numbers, "0"));
    let (ino, page) = (ino.parse::<u64>().ok()?, page.parse::<u64>().ok()?);
    (ino < CIOPFS_INO.0 && page < PAGES_MAX).then_some(Ino(WHICH_INO.0 + ino + PAGE_INO * page))
}

/// The number after the colon that follows the name of a link; `Some(None)` if nothing follows, and `None` if
/// anything else does.
fn number_after_colon(rest: &[u8]) -> Option<Option<u64>> {
    if rest.is_empty() {
        return Some(None);
    }
    std::str::from_utf8(rest.strip_prefix(b":")?).ok()?.parse().ok().map(Some)
}

/// The page of the mounted sources for a link's number; `None` for other links.
pub(crate) fn sources_page(link: Ino) -> Option<usize> {
    usize::try_from(link.0.checked_sub(SOURCES_INO.0).filter(|page| *page < PAGES_MAX)?).ok()
}

/// The number of the first change for a link's number; `None` if the link only asks for the next number.
pub(crate) fn changes_from(link: Ino) -> Option<u64> {
    link.0.checked_sub(CHANGES_INO.0)?.checked_sub(1)
}

/// The file (by inode number) and the page for a link's number.
pub(crate) fn which(link: Ino) -> (Ino, usize) {
    let number = link.0.saturating_sub(WHICH_INO.0);
    (Ino(number % PAGE_INO), usize::try_from(number / PAGE_INO).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_number_encodes_its_file_and_page() {
        for (name, file) in
            [(".bsafs:which:7", (Ino(7), 0)), (".bsafs:which:4294967294:255", (Ino(4_294_967_294), 255))]
        {
            let link = link_ino(Ino(5), name.as_bytes()).expect(name);
            assert!(link >= WHICH_INO && which(link) == file, "{name}: {link:?}");
        }
        for name in [".bsafs:which:", ".bsafs:which:4294967295", ".bsafs:which:7:256", ".bsafs:status"] {
            assert_eq!(link_ino(Ino(5), name.as_bytes()), None, "{name}");
        }
        assert_eq!(link_ino(Ino::ROOT, STATUS_LINK.as_bytes()), Some(STATUS_INO));
        assert_eq!(sources_page(STATUS_INO), None);
        for (name, page) in [(".bsafs:sources", Some(0)), (".bsafs:sources:255", Some(255))] {
            let link = link_ino(Ino::ROOT, name.as_bytes());
            assert_eq!(
                (link.and_then(sources_page), link_ino(Ino(5), name.as_bytes())),
                (page, None),
                "{name}"
            );
            assert!(link < Some(WHICH_INO), "{name}");
        }
        for (name, from) in
            [(".bsafs:changes", None), (".bsafs:changes:0", Some(0)), (".bsafs:changes:77", Some(77))]
        {
            let link = link_ino(Ino::ROOT, name.as_bytes()).expect(name);
            assert!(link >= CHANGES_INO && changes_from(link) == from, "{name}: {link:?}");
            assert_eq!(link_ino(Ino(5), name.as_bytes()), None, "{name}");
        }
        for name in [
            ".bsafs:sources:",
            ".bsafs:sources:256",
            ".bsafs:sources7",
            ".bsafs:changes:x",
            ".bsafs:changes7",
        ] {
            assert_eq!(link_ino(Ino::ROOT, name.as_bytes()), None, "{name}");
        }
    }
}
