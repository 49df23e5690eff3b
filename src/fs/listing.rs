//! Listings of folders: READDIR and READDIRPLUS.
//!
//! A cookie has the position after an entry: 1 after `.`, 2 after `..`, then counted on through the
//! children. Its upper half is the number of the view in which the listing began. The listing continues with
//! the names that the folder had there ([`KeptListings`](super::kept_listings::KeptListings)), because it
//! would skip names if positions had shifted.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::view::View;
use crate::tree::{Inode, Kind, NodeId};

/// An entry of a listing.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// Inode number.
    pub ino: u64,
    /// The position from which a listing continues after this entry.
    pub cookie: u64,
    /// File or folder.
    pub kind: NodeKind,
    /// Name.
    pub name: &'a [u8],
}

/// Number of entries before the children: `.` and `..`.
const DOTS: u64 = 2;
/// Bits of the position in a cookie; the view's number is above them.
const VIEW_SHIFT: u32 = 32;
/// Maximum number of entries in one READDIRPLUS. Their sizes are learnt together. A program that
/// lists with the usual 32 KiB asks for 200.
const AT_ONCE: u64 = 512;

impl View {
    /// READDIR: passes the entries of a folder after `cookie` (0: all) to `add` until it returns false.
    ///
    /// # Errors
    /// [`Error::NoNode`] or [`Error::NotFolder`]; [`Error::ListingGone`] if the folder changed long after the
    /// listing began.
    pub fn list(
        &self,
        ino: u64,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>) -> bool,
    ) -> Result<(), Error> {
        let folder = self.folder(ino)?;
        let parent = self.shared.spellings.parent(self.tree(), folder);
        let view = u64::from(self.listing_view(folder, cookie)) << VIEW_SHIFT;
        for (next, (name, ino)) in (1..).zip([(&b"."[..], folder.ino), (b"..", parent)]) {
            if next > position(cookie)
                && !add(DirEntry { ino, cookie: view | next, kind: NodeKind::Folder, name })
            {
                return Ok(());
            }
        }
        let mut is_end = position(cookie) >= DOTS;
        for (next, child) in self.children_after(folder, cookie)? {
            let name = self.tree().name(child);
            let kind = match self.tree().kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.shared.spellings.child(self.tree(), folder, name, child).ino;
            is_end = false;
            if !add(DirEntry { ino, cookie: view | next, kind, name }) {
                break;
            }
        }
        if is_end {
            self.drop_cached_listing(folder);
        }
        Ok(())
    }

    /// Has the kernel drop a complete listing if another one may be under way that began before the folder
    /// changed. If the length of the cached one is a multiple of the page size, the kernel takes the other
    /// one for complete.
    fn drop_cached_listing(&self, folder: Inode) {
        let is_kept = folder.node.is_some_and(|node| self.shared.listings.contains(self.tree().ino(node)));
        if let Some(host) = self.shared.host.get().filter(|_| is_kept) {
            host.drop_listing(folder.ino);
        }
    }

    /// READDIRPLUS: like [`View::list`], with the attributes of each entry, and at most 512 entries.
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
            Ok(attr) => position(entry.cookie) - position(cookie) <= AT_ONCE && add(entry, attr),
            Err(_) => true,
        })
    }

    /// Files [to learn](View::is_to_learn) among the next entries of a folder after `cookie`.
    pub(crate) fn children_to_learn(&self, ino: u64, cookie: u64) -> impl Iterator<Item = NodeId> {
        let folder = self.folder(ino).ok().filter(|_| !self.store().states_sizes());
        let next = folder.and_then(|folder| self.children_after(folder, cookie).ok());
        let next = next.into_iter().flatten().take(AT_ONCE as usize);
        next.map(|(_, child)| child).filter(|node| self.is_to_learn(*node))
    }

    /// The next children in a listing, each with its position.
    fn children_after(
        &self,
        folder: Inode,
        cookie: u64,
    ) -> Result<Box<dyn Iterator<Item = (u64, NodeId)> + '_>, Error> {
        let Some(node) = folder.node else { return Ok(Box::new([].into_iter())) };
        let view = self.listing_view(folder, cookie);
        let before = children_before(cookie);
        if view == self.number {
            return Ok(Box::new((DOTS + 1..).zip(self.tree().children(node)).skip(before)));
        }
        let own = self.tree().ino(node);
        let names = self.shared.listings.names(own, view).ok_or(Error::ListingGone)?;
        let next = (DOTS + 1..).zip(names.split(|&byte| byte == b'/')).skip(before);
        let existing = next.filter_map(|(at, name)| Some((at, self.tree().lookup(node, name)?)));
        let children: Vec<(u64, NodeId)> = existing.take(AT_ONCE as usize).collect();
        Ok(Box::new(children.into_iter()))
    }

    /// The number of the view in which a listing continues at `cookie`: the one in which it began, or this
    /// one if the folder has not changed since. The kernel may continue from a cookie of long ago.
    fn listing_view(&self, folder: Inode, cookie: u64) -> u32 {
        let began = u32::try_from(cookie >> VIEW_SHIFT).unwrap_or(u32::MAX);
        let is_alike = self.change(folder).is_none_or(|change| change.view <= began);
        if position(cookie) == 0 || is_alike { self.number } else { began }
    }
}

/// Number of children before a cookie.
fn children_before(cookie: u64) -> usize {
    usize::try_from(position(cookie).saturating_sub(DOTS)).unwrap_or(usize::MAX)
}

/// The position that a cookie has.
fn position(cookie: u64) -> u64 {
    cookie & ((1 << VIEW_SHIFT) - 1)
}
