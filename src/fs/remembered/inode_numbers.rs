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

use std::collections::{HashMap, HashSet};

use twox_hash::XxHash3_64;

use super::pending::NameIn;
use crate::limits::{EXPOSED_BYTES_MAX, EXPOSED_NAMES_MAX};
use crate::system::sync::Mutex;
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

// Generations of inode numbers. They decide whether a handle of an NFS client is still valid for
// the node that has the number.
//
// A generation is a hash of the path and, for a file, of the identity of its source. It stays as
// long as the number does. If it changed, the kernel would take the inode for another one, and
// programs that have it open would get EIO.
//
// After a restart, unchanged sources give the same handles. Other sources, or another spelling of
// a folder, give different ones. A file has one number under all spellings, and its stored
// spelling may disappear with a layer, so its path is hashed without case.

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

// Names and inode numbers that the kernel was sent and may have cached, if answers or invalidation depend
// on them.

/// Bounded set of names that the kernel may have cached.
#[derive(Debug, Default)]
pub(crate) struct ExposedNames {
    /// By the inode number of their folder.
    folders: HashMap<Ino, HashSet<Box<[u8]>>>,
    count: usize,
    bytes: usize,
    /// Whether a name was refused for lack of room.
    is_full: bool,
}

impl ExposedNames {
    /// Records a name. Returns false if there is no room for it.
    pub(crate) fn insert(&mut self, name: NameIn) -> bool {
        if self.folders.get(&name.0).is_some_and(|names| names.contains(&name.1)) {
            return true;
        }
        let bytes = self.bytes + bytes(&name);
        self.is_full |= self.count >= EXPOSED_NAMES_MAX || bytes > EXPOSED_BYTES_MAX;
        if self.is_full {
            return false;
        }
        (self.bytes, self.count) = (bytes, self.count + 1);
        let (folder, name) = name;
        self.folders.entry(folder).or_default().insert(name)
    }

    /// Removes and returns a quarter of the names if the set is full. The kernel must drop them.
    pub(crate) fn take_surplus(&mut self) -> Vec<NameIn> {
        if !self.is_full {
            return Vec::new();
        }
        self.is_full = false;
        let taken: Vec<NameIn> = self.names().take(self.count / 4).collect();
        for name in taken.iter() {
            self.remove(name);
        }
        taken
    }

    /// The names in a folder that differ from `name` only in case, or not at all.
    pub(crate) fn like(&self, folder: Ino, name: &[u8]) -> impl Iterator<Item = &[u8]> {
        let names = self.folders.get(&folder).into_iter().flatten();
        names.map(|it| &**it).filter(move |it| it.eq_ignore_ascii_case(name))
    }

    /// Returns all names.
    pub(crate) fn into_names(self) -> HashSet<NameIn> {
        self.names().collect()
    }

    fn names(&self) -> impl Iterator<Item = NameIn> {
        self.folders.iter().flat_map(|(folder, names)| names.iter().map(|name| (*folder, name.clone())))
    }

    fn remove(&mut self, name: &NameIn) {
        let Some(names) = self.folders.get_mut(&name.0) else { return };
        if names.remove(&name.1) {
            (self.bytes, self.count) = (self.bytes - bytes(name), self.count - 1);
        }
        if names.is_empty() {
            self.folders.remove(&name.0);
        }
    }
}

/// Memory that a name takes in bytes, without the table.
fn bytes(name: &NameIn) -> usize {
    size_of::<NameIn>() + name.1.len()
}

/// Inode numbers of loose files that reached the kernel before the files could be statted, when only their
/// paths were known. There is at most one number per loose file.
#[derive(Debug, Default)]
pub(crate) struct EarlyNumbers(Mutex<HashSet<Ino>>);

impl EarlyNumbers {
    /// The identity of a file, as `look` returns it. Once reported as unknown (0), an identity stays unknown.
    pub(crate) fn identity(&self, ino: Ino, look: impl FnOnce() -> u64) -> u64 {
        // `look` runs under the lock, because another thread may learn the identity at any moment.
        let mut early = self.0.lock();
        match look() {
            0 => {
                early.insert(ino);
                0
            }
            _ if early.contains(&ino) => 0,
            identity => identity,
        }
    }
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

    #[test]
    fn a_full_table_has_room_again_after_a_name_is_removed() {
        let mut exposed = ExposedNames::default();
        let name = |n| (Ino(n), Box::from(vec![b'x'; 1 << 20]));
        let fit = (0..).take_while(|&n| exposed.insert(name(n))).count();
        assert!(exposed.bytes <= EXPOSED_BYTES_MAX && fit == 31, "{fit}");
        assert!(
            exposed.insert(name(0)) && !exposed.insert(name(99)),
            "a full table must accept only names that it has already"
        );
        exposed.is_full = false;
        exposed.remove(&name(0));
        assert!(exposed.insert(name(99)) && !exposed.insert(name(100)));
    }
}
