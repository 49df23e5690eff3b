//! Loose files in folders that the user has no watches left for. No event reports a write to them.
//!
//! The kernel caches their attributes only for as long as such a folder is left unchecked. When it asks
//! again, the file is statted before the answer. If the file was written to, its name is pending, as after an
//! event.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::attr::{Attr, NodeKind};
use super::remembered::invalidation::Invalidation;
use super::view::View;
use crate::format::EntryId;
use crate::tree::{Ino, Kind, NodeId};

impl View {
    /// Whether a node is a file in a folder without a watch that was statted.
    pub(crate) fn is_unwatched(&self, node: NodeId) -> bool {
        let Some(folders) = self.shared.unwatched() else { return false };
        let is_known = |entry: EntryId| self.store().file(entry).known_size().is_some();
        self.entry(node).is_some_and(|entry| self.is_in(entry, &folders) && is_known(entry))
    }

    /// The node with this number, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_file(&self, ino: Ino) -> Option<NodeId> {
        self.inode(ino).ok()?.node.filter(|node| self.is_unwatched(*node))
    }

    /// The child of a folder, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_child(&self, parent: Ino, name: &[u8]) -> Option<NodeId> {
        let is_any = self.shared.unwatched().is_some_and(|folders| !folders.is_empty());
        let child = is_any.then(|| self.tree().lookup(self.folder(parent).ok()?.node?, name))?;
        child.filter(|node| self.is_unwatched(*node))
    }

    /// Stats an unwatched file. If it was written to since it was statted, its name is pending.
    pub(crate) fn check_unwatched(&self, node: NodeId) {
        let Some(entry) = self.entry(node).filter(|entry| self.store().file(*entry).is_stale()) else {
            return;
        };
        let folder = self.tree().ino(self.tree().parent(node));
        self.shared.pending.add(folder, self.tree().name(node));
        self.shared.report_change(self.store().file(entry).watched_folder().as_deref());
        if let Some(host) = self.shared.host.get() {
            host.drop_pages(self.tree().ino(node));
        }
    }
}

impl View {
    /// Records that a program listed a folder.
    pub(crate) fn note_listed(&self, folder: Ino) {
        if self.shared.used.is_needed() {
            self.shared.used.note(folder);
        }
    }

    /// Records that a program looked up a name in a folder. Folders on the way to a file are not used.
    pub(crate) fn note_looked_up(&self, parent: Ino, found: Option<&Attr>) {
        if found.is_none_or(|attr| attr.kind == NodeKind::File) {
            self.note_listed(parent);
        }
    }

    /// Records that a program used a file.
    pub(crate) fn note_used_file(&self, ino: Ino) {
        if !self.shared.used.is_needed() {
            return;
        }
        let node = self.inode(ino).ok().and_then(|inode| inode.node);
        if let Some(node) = node.filter(|node| matches!(self.tree().kind(*node), Kind::File(_))) {
            self.shared.used.note(self.tree().ino(self.tree().parent(node)));
        }
    }

    /// The folders on the disk that a folder of the mount shows, and those with its files.
    pub(crate) fn disk_folders(&self, ino: Ino) -> Vec<PathBuf> {
        let Some(node) = self.folder(ino).ok().and_then(|inode| inode.node) else { return Vec::new() };
        let path = self.tree().path(node);
        let layers = self.store().folders();
        let mut folders: Vec<PathBuf> =
            layers.filter_map(|(layer, it)| it.folder_at(self.tree().path_in_layer(layer, &path)?)).collect();
        let mut last = None;
        for child in self.tree().children(node) {
            let hidden = self.tree().hidden(child).iter().map(|hidden| hidden.entry);
            for entry in self.entry(child).into_iter().chain(hidden) {
                let of_file = self.store().file(entry).watched_folder();
                if of_file.is_some() && of_file != last {
                    folders.extend(of_file.clone());
                    last = of_file;
                }
            }
        }
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// What the kernel may have cached without a time limit although no event reports its changes any more:
    /// the attributes of the files in a folder on the disk, and the listing of the folder that shows them.
    pub(crate) fn cached_of(&self, folder: &Path, unwatched: &mut Invalidation) {
        for node in self.folders_at(folder) {
            let own = self.tree().ino(node);
            unwatched.folders.push(own);
            unwatched.folders.extend(self.shared.spellings.other_numbers_of(own));
            let files = self.tree().children(node).filter(|child| {
                let of = self.entry(*child).and_then(|entry| self.store().file(entry).watched_folder());
                of.is_some_and(|of| of.as_os_str().as_bytes() == folder.as_os_str().as_bytes())
            });
            unwatched.attributes.extend(files.map(|child| self.tree().ino(child)));
        }
    }
}
