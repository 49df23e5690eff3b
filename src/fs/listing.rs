//! Listings of folders: READDIR and READDIRPLUS.
//!
//! A cookie is the position after an entry: 1 after `.`, 2 after `..`, then counted on through the children. It stays
//! valid as long as the mount, so that a listing can be continued from any of them.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::filesystem::FileSystem;
use crate::tree::Kind;

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
/// Files of a folder whose sizes are loaded together.
const SIZES_AT_ONCE: usize = 512;

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
        let skipped = usize::try_from(cookie.saturating_sub(DOTS)).unwrap_or(usize::MAX);
        for (next, child) in (DOTS + 1..).zip(self.tree.children(node)).skip(skipped) {
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

    /// READDIRPLUS: the same with the attributes of each entry. Sizes that must be read from the archive are read for
    /// many entries at once.
    ///
    /// # Errors
    /// [`Error::NoNode`] or [`Error::NotFolder`].
    pub fn list_with_attrs(
        &self,
        ino: u64,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>, Attr) -> bool,
    ) -> Result<(), Error> {
        // A size that could not be loaded is not tried again for every entry.
        let mut loaded_up_to = 0;
        self.list(ino, cookie, |entry| {
            if entry.cookie > loaded_up_to
                && let Some(Kind::File(id)) = self.tree.node(entry.ino).map(|node| self.tree.kind(node))
                && !self.store.is_sized(id)
            {
                self.load_sizes(ino, entry.cookie);
                loaded_up_to = entry.cookie + SIZES_AT_ONCE as u64;
            }
            match self.attr(entry.ino) {
                Ok(attr) => add(entry, attr),
                Err(_) => true,
            }
        })
    }

    /// Loads the sizes of the next files of a folder, from the entry with this cookie on.
    fn load_sizes(&self, ino: u64, cookie: u64) {
        let Some(folder) = self.inode(ino).ok().and_then(|inode| inode.node) else { return };
        let skipped = usize::try_from(cookie.saturating_sub(DOTS + 1)).unwrap_or(usize::MAX);
        let files = self.tree.children(folder).skip(skipped).filter_map(|node| match self.tree.kind(node) {
            Kind::File(entry) => Some(entry),
            Kind::Folder => None,
        });
        self.store.learn_sizes(files.take(SIZES_AT_ONCE));
    }
}
