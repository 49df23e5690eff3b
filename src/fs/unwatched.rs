//! Loose files whose writes may cause no event: files in folders for which the user has no watches left,
//! and files with several names (hard links), which may be written to under a name in another folder.
//!
//! The kernel caches their attributes only for as long as such a folder is left unchecked, or for a second.
//! When it asks again, the file is statted before the answer. If the file was written to, its name is
//! pending, as after an event. A file with several names that programs read gets a watch of its own.

use super::attr::{Attr, NodeKind};
use super::view::View;
use crate::format::EntryId;
use crate::tree::{Ino, Kind, NodeId};

impl View {
    /// Whether a node is a file that was statted, and to which a write may go unreported.
    pub(crate) fn is_unwatched(&self, node: NodeId) -> bool {
        let Some(entry) = self.entry(node) else { return false };
        if self.is_linked_unwatched(self.tree().ino(node), entry) {
            return true;
        }
        self.is_in_unwatched(entry).is_some() && self.store().file(entry).size_if_known().is_some()
    }

    /// Whether a file has several names and no watch of its own.
    pub(crate) fn is_linked_unwatched(&self, ino: Ino, entry: EntryId) -> bool {
        // A static mount follows nothing.
        self.store().file(entry).has_links()
            && self.shared.on_change.get().is_some()
            && !self.shared.watched.linked.is_watched(ino)
    }

    /// The node with this number, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_file(&self, ino: Ino) -> Option<NodeId> {
        self.inode(ino).ok()?.node.filter(|node| self.is_unwatched(*node))
    }

    /// The child of a folder, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_child(&self, parent: Ino, name: &[u8]) -> Option<NodeId> {
        self.tree().lookup(self.folder(parent).ok()?.node?, name).filter(|node| self.is_unwatched(*node))
    }

    /// The own number of the folder and the name of a file, if the answer to a GETATTR of it must wait for
    /// the next view.
    pub(crate) fn pending_file(&self, ino: Ino) -> Option<(Ino, Vec<u8>)> {
        if self.shared.remembered.pending.is_empty() {
            return None;
        }
        let node = self.inode(ino).ok()?.node.filter(|node| self.is_unwatched(*node))?;
        let (folder, name) = (self.tree().ino(self.tree().parent(node)), self.tree().name(node));
        self.shared.remembered.pending.contains(folder, name).then(|| (folder, name.to_owned()))
    }

    /// Stats an unwatched file. If it was written to since it was statted, its name is pending.
    pub(crate) fn check_unwatched(&self, node: NodeId) {
        let Some(entry) = self.entry(node).filter(|entry| self.store().file(*entry).is_stale()) else {
            return;
        };
        let (ino, folder) = (self.tree().ino(node), self.tree().ino(self.tree().parent(node)));
        self.shared.remembered.pending.add(folder, self.tree().name(node));
        self.shared.report_change(self.store().file(entry).watched_folder().as_deref());
        self.follow_write(ino);
    }
}

impl View {
    /// Records that a program read a file, if the file has several names and no watch.
    pub(crate) fn record_read_link(&self, node: NodeId, entry: EntryId) {
        let ino = self.tree().ino(node);
        if self.is_linked_unwatched(ino, entry)
            && self.shared.watched.linked.note(ino)
            && let Some(on_use) = self.shared.watched.used.on_use.get()
        {
            (on_use.0)();
        }
    }

    /// Records that a program listed a folder.
    pub(crate) fn record_listed(&self, folder: Ino) {
        if self.shared.watched.used.is_needed() {
            self.shared.watched.used.note(folder, false);
        }
    }

    /// Records that a program looked up a name in a folder. Folders on the way to a file are not used.
    pub(crate) fn record_looked_up(&self, parent: Ino, found: Option<&Attr>) {
        if found.is_none_or(|attr| attr.kind == NodeKind::File) {
            self.record_listed(parent);
        }
    }

    /// Records that a program used a file, and whether it read the file.
    pub(crate) fn record_used_file(&self, ino: Ino, is_read: bool) {
        if !self.shared.watched.used.is_needed() {
            return;
        }
        let node = self.inode(ino).ok().and_then(|inode| inode.node);
        if let Some(node) = node.filter(|node| matches!(self.tree().kind(*node), Kind::File(_))) {
            self.shared.watched.used.note(self.tree().ino(self.tree().parent(node)), is_read);
        }
    }
}
