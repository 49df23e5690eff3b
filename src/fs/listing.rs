//! Listings of folders: READDIR and READDIRPLUS.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::filesystem::FileSystem;
use crate::tree::Kind;

/// A line of a folder's listing.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// Its inode number.
    pub ino: u64,
    /// Where to go on after it.
    pub next: u64,
    /// A file or a folder.
    pub shape: NodeKind,
    /// Its name.
    pub name: &'a [u8],
}

/// Files of a folder whose sizes are learnt together.
const SIZES_AT_ONCE: usize = 512;
impl FileSystem {
    /// Gives `each` the lines of a folder's listing, from the place `from` on, until it answers false.
    ///
    /// # Errors
    /// Where the node is no folder.
    pub fn list(&self, ino: u64, from: u64, mut each: impl FnMut(DirEntry<'_>) -> bool) -> Result<(), Error> {
        let folder = self.folder(ino)?;
        let above = self.spellings.parent(&self.tree, folder);
        for (place, (name, ino)) in (0..).zip([(&b"."[..], folder.ino), (b"..", above)]) {
            if place >= from && !each(DirEntry { ino, next: place + 1, shape: NodeKind::Folder, name }) {
                return Ok(());
            }
        }
        let Some(node) = folder.node else { return Ok(()) };
        let skipped = usize::try_from(from.saturating_sub(2)).unwrap_or(usize::MAX);
        for (place, child) in (2..).zip(self.tree.children(node)).skip(skipped) {
            let name = self.tree.name(child);
            let shape = match self.tree.kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.spellings.child(&self.tree, folder, name, child).ino;
            if !each(DirEntry { ino, next: place + 1, shape, name }) {
                break;
            }
        }
        Ok(())
    }

    /// The same with what is known of each node. Sizes that must be read are read for many lines at once.
    ///
    /// # Errors
    /// Where the node is no folder.
    pub fn list_with_attrs(
        &self,
        ino: u64,
        from: u64,
        mut each: impl FnMut(DirEntry<'_>, Attr) -> bool,
    ) -> Result<(), Error> {
        // What could not be learnt once is not tried again for every line.
        let mut learnt = 0;
        self.list(ino, from, |line| {
            if line.next > learnt
                && let Some(Kind::File(entry)) = self.tree.node(line.ino).map(|node| self.tree.kind(node))
                && !self.store.is_sized(entry)
            {
                self.learn_sizes_after(ino, line.next);
                learnt = line.next + SIZES_AT_ONCE as u64;
            }
            match self.attr(line.ino) {
                Ok(attr) => each(line, attr),
                Err(_) => true,
            }
        })
    }

    /// Learns the sizes of the next files of a folder, the one in front of the place `next` first.
    fn learn_sizes_after(&self, ino: u64, next: u64) {
        let Some(folder) = self.place(ino).ok().and_then(|place| place.node) else { return };
        let skipped = usize::try_from(next.saturating_sub(3)).unwrap_or(usize::MAX);
        let files = self.tree.children(folder).skip(skipped).filter_map(|node| match self.tree.kind(node) {
            Kind::File(entry) => Some(entry),
            Kind::Folder => None,
        });
        self.store.learn_sizes(files.take(SIZES_AT_ONCE));
    }
}
