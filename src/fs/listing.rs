//! Listings of folders: READDIR and READDIRPLUS.
//!
//! A cookie is the position after an entry: 1 after `.`, 2 after `..`, then counted on through the children. It stays
//! valid as long as the mount, so that a listing can be continued from any of them.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::filesystem::FileSystem;
use crate::tree::{Kind, NodeId};

/// An entry of a listing.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// The inode number.
    pub ino: u64,
    /// Where the listing continues after this entry.
    pub cookie: u64,
    /// File or folder.
    pub kind: NodeKind,
    /// The name.
    pub name: &'a [u8],
}

/// Entries in front of the children: `.` and `..`.
const DOTS: u64 = 2;
/// Entries of one READDIRPLUS, whose sizes are learnt together. A program that lists by the usual 32 KiB asks for 200.
const AT_ONCE: u64 = 512;

impl FileSystem {
    /// READDIR: passes the entries of a folder after `cookie` (0: all) to `add`, until it returns false.
    ///
    /// # Errors
    /// [`Error::NoNode`] or [`Error::NotFolder`].
    pub fn list(
        &self,
        ino: u64,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>) -> bool,
    ) -> Result<(), Error> {
        let folder = self.folder(ino)?;
        let parent = self.spellings.parent(&self.tree, folder);
        for (next, (name, ino)) in (1..).zip([(&b"."[..], folder.ino), (b"..", parent)]) {
            if next > cookie && !add(DirEntry { ino, cookie: next, kind: NodeKind::Folder, name }) {
                return Ok(());
            }
        }
        let Some(node) = folder.node else { return Ok(()) };
        for (next, child) in (DOTS + 1..).zip(self.tree.children(node)).skip(children_before(cookie)) {
            let name = self.tree.name(child);
            let kind = match self.tree.kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.spellings.child(&self.tree, folder, name, child).ino;
            if !add(DirEntry { ino, cookie: next, kind, name }) {
                break;
            }
        }
        Ok(())
    }

    /// READDIRPLUS: the same with the attributes of each entry, 512 of them at most.
    ///
    /// # Errors
    /// [`Error::NoNode`] or [`Error::NotFolder`].
    pub fn list_with_attrs(
        &self,
        ino: u64,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>, Attr) -> bool,
    ) -> Result<(), Error> {
        self.list(ino, cookie, |entry| match self.attr(entry.ino) {
            Ok(attr) => entry.cookie - cookie <= AT_ONCE && add(entry, attr),
            Err(_) => true,
        })
    }

    /// Those of the next entries of a folder after `cookie` that are files whose sizes are not known.
    pub(super) fn unsized_children(&self, ino: u64, cookie: u64) -> Vec<NodeId> {
        let folder = self.inode(ino).ok().and_then(|inode| inode.node);
        let Some(folder) = folder.filter(|_| !self.store.states_sizes()) else { return Vec::new() };
        let next = self.tree.children(folder).skip(children_before(cookie)).take(AT_ONCE as usize);
        next.filter(|node| self.is_unsized(*node)).collect()
    }
}

/// How many children are before a cookie.
fn children_before(cookie: u64) -> usize {
    usize::try_from(cookie.saturating_sub(DOTS)).unwrap_or(usize::MAX)
}
