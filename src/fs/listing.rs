//! Listings of folders: READDIR and READDIRPLUS.
//!
//! A cookie has the position after an entry: 1 after `.`, 2 after `..`, then counted on through the
//! children. Above it are seven bits that change with each change of the folder's listing. The listing
//! continues with the names that the folder had when it began
//! (`remembered/kept_listings.rs`), because it would skip names if positions had shifted.
//!
//! Cookies stay below 2^31. A 32-bit program gets EOVERFLOW for a larger one, or loses its upper bits.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::remembered::kept_listings::LISTINGS;
use super::view::View;
use crate::tree::{Ino, Inode, Kind, NodeId};

/// An entry of a listing.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// Inode number.
    pub ino: Ino,
    /// The position from which a listing continues after this entry.
    pub cookie: u64,
    /// File or folder.
    pub kind: NodeKind,
    /// Name.
    pub name: &'a [u8],
}

/// Number of entries before the children: `.` and `..`.
const DOTS: u64 = 2;
/// Bits of the position in a cookie; the number of the listing ([`FolderChange::listing`]) is above them.
const POSITION_BITS: u32 = COOKIES.ilog2() - LISTINGS.ilog2();
/// All cookies are below this.
const COOKIES: u64 = 1 << 31;
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
        ino: Ino,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>) -> bool,
    ) -> Result<(), Error> {
        let folder = self.folder(ino)?;
        let parent = self.shared.remembered.spellings.parent(self.tree(), folder);
        let place = self.place(folder, cookie);
        let cookie = |next: u64| place.cookie(next);
        for (next, (name, ino)) in (1..).zip([(&b"."[..], folder.ino), (b"..", parent)]) {
            if next > place.position
                && !add(DirEntry { ino, cookie: cookie(next), kind: NodeKind::Folder, name })
            {
                return Ok(());
            }
        }
        let mut is_end = place.position >= DOTS;
        for (next, child) in self.children_after(folder, place)? {
            let name = self.tree().name(child);
            let kind = match self.tree().kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.shared.remembered.spellings.child(self.tree(), folder, name, child).ino;
            is_end = false;
            if !add(DirEntry { ino, cookie: cookie(next), kind, name }) {
                break;
            }
        }
        if is_end {
            self.drop_cached_listing(folder);
        }
        Ok(())
    }

    /// Makes the kernel drop a complete listing if another one may be under way that began before the
    /// folder changed. If the length of the cached one is a multiple of the page size, the kernel takes
    /// the other one for complete.
    fn drop_cached_listing(&self, folder: Inode) {
        let is_kept =
            folder.node.is_some_and(|node| self.shared.remembered.listings.contains(self.tree().ino(node)));
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
        ino: Ino,
        cookie: u64,
        mut add: impl FnMut(DirEntry<'_>, Attr) -> bool,
    ) -> Result<(), Error> {
        let mut count = 0;
        self.list(ino, cookie, |entry| match self.attr(entry.ino) {
            Ok(attr) => {
                count += 1;
                count <= AT_ONCE && add(entry, attr)
            }
            Err(_) => true,
        })
    }

    /// Files [to learn](View::is_to_learn) among the next entries of a folder after `cookie`.
    pub(crate) fn children_to_learn(&self, ino: Ino, cookie: u64) -> impl Iterator<Item = NodeId> {
        let folder = self.folder(ino).ok().filter(|_| !self.store().states_sizes());
        let next = folder.and_then(|folder| self.children_after(folder, self.place(folder, cookie)).ok());
        let next = next.into_iter().flatten().take(AT_ONCE as usize);
        next.map(|(_, child)| child).filter(|node| self.is_to_learn(*node))
    }

    /// The next children in a listing, each with its position.
    fn children_after(
        &self,
        folder: Inode,
        place: ListingPosition,
    ) -> Result<Box<dyn Iterator<Item = (u64, NodeId)> + '_>, Error> {
        let Some(node) = folder.node else { return Ok(Box::new([].into_iter())) };
        let before = usize::try_from(place.position.saturating_sub(DOTS)).unwrap_or(usize::MAX);
        if place.listing == self.listing(folder) {
            return Ok(Box::new((DOTS + 1..).zip(self.tree().listed_children(node)).skip(before)));
        }
        let own = self.tree().ino(node);
        let names = self.shared.remembered.listings.names(own, place.listing).ok_or(Error::ListingGone)?;
        let next = (DOTS + 1..).zip(names.split(|&byte| byte == b'/')).skip(before);
        let existing = next.filter_map(|(at, name)| Some((at, self.tree().lookup(node, name)?)));
        let children: Vec<(u64, NodeId)> = existing.take(AT_ONCE as usize).collect();
        Ok(Box::new(children.into_iter()))
    }

    /// Where a listing continues. The kernel may continue from a very old cookie.
    fn place(&self, folder: Inode, cookie: u64) -> ListingPosition {
        let now = self.listing(folder);
        let children = folder.node.map_or(0, |node| self.tree().children(node).len() as u64);
        let is_vast = (children + DOTS) >> POSITION_BITS != 0;
        let position = if is_vast { cookie } else { cookie & ((1 << POSITION_BITS) - 1) };
        let began = u8::try_from(cookie >> POSITION_BITS).unwrap_or(u8::MAX);
        ListingPosition { listing: if position == 0 || is_vast { now } else { began }, position, is_vast }
    }

    /// The number of a folder's listing. It differs from the number before the last change of the folder.
    fn listing(&self, folder: Inode) -> u8 {
        self.change(folder).map_or(self.shared.remembered.first_listing, |change| change.listing)
    }
}

/// A place in a listing.
#[derive(Clone, Copy)]
struct ListingPosition {
    /// The number of the listing.
    listing: u8,
    position: u64,
    /// Whether the folder has too many children for cookies with the number of a listing. If such a folder
    /// changes, its listings continue by position.
    is_vast: bool,
}

impl ListingPosition {
    /// The cookie of another position in this listing.
    fn cookie(self, position: u64) -> u64 {
        let listing = if self.is_vast { 0 } else { u64::from(self.listing) << POSITION_BITS };
        (listing | position).min(COOKIES - 1)
    }
}
