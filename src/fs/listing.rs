//! Listings of folders: READDIR and READDIRPLUS.
//!
//! A cookie has the position after an entry: 1 after `.`, 2 after `..`, then counted on through the
//! children. Its upper half is the number of the view in which the listing began. The listing must
//! continue there, because it would skip names in a view that lists the folder differently.

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::view::View;
use crate::tree::{Kind, NodeId};

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
    /// Whether a listing of a folder can continue in this view at `cookie`. It can if it began
    /// here, or in an earlier view since which the folder has not changed. The kernel may continue
    /// from a cookie that it cached long ago.
    pub fn continues(&self, ino: u64, cookie: u64) -> bool {
        let (began, now) = (cookie >> VIEW_SHIFT, u64::from(self.number));
        let is_alike = |folder| self.change(folder).is_none_or(|change| u64::from(change.view) <= began);
        began == now || (began < now && self.folder(ino).is_ok_and(is_alike))
    }

    /// READDIR: passes the entries of a folder after `cookie` (0: all) to `add` until it returns false.
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
        let parent = self.shared.spellings.parent(self.tree(), folder);
        let (view, cookie) = (u64::from(self.number) << VIEW_SHIFT, position(cookie));
        for (next, (name, ino)) in (1..).zip([(&b"."[..], folder.ino), (b"..", parent)]) {
            if next > cookie && !add(DirEntry { ino, cookie: view | next, kind: NodeKind::Folder, name }) {
                return Ok(());
            }
        }
        let Some(node) = folder.node else { return Ok(()) };
        for (next, child) in (DOTS + 1..).zip(self.tree().children(node)).skip(children_before(cookie)) {
            let name = self.tree().name(child);
            let kind = match self.tree().kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.shared.spellings.child(self.tree(), folder, name, child).ino;
            if !add(DirEntry { ino, cookie: view | next, kind, name }) {
                break;
            }
        }
        Ok(())
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

    /// Files of unknown size among the next entries of a folder after `cookie`.
    pub(crate) fn unsized_children(&self, ino: u64, cookie: u64) -> Vec<NodeId> {
        let folder = self.inode(ino).ok().and_then(|inode| inode.node);
        let Some(folder) = folder.filter(|_| !self.store().states_sizes()) else { return Vec::new() };
        let next = self.tree().children(folder).skip(children_before(cookie)).take(AT_ONCE as usize);
        next.filter(|node| self.is_unsized(*node)).collect()
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
