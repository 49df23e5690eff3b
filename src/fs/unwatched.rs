//! Loose files in folders that the user has no watches left for. No event reports a write to them.
//!
//! The kernel caches their attributes only for as long as such a folder is left unchecked. When it asks
//! again, the file is statted before the answer. If the file was written to, its name is pending, as after an
//! event.

use std::ffi::OsStr;
use std::sync::Arc;

use super::attr::Validity;
use super::reported::status::polling_interval;
use super::view::View;
use crate::format::EntryId;
use crate::tree::NodeId;

impl View {
    /// How long the attributes of a file that was statted stay valid.
    pub(crate) fn validity(&self, entry: EntryId) -> Validity {
        if self.store().folder(entry.layer).is_none() {
            return Validity::Lasting;
        }
        match self.shared.unwatched() {
            // It will soon be known whether the folder has a watch.
            None => Validity::Seconds(polling_interval(0)),
            Some(folders) if self.is_in(entry, &folders) => {
                Validity::Seconds(polling_interval(folders.len()))
            }
            _ => Validity::Lasting,
        }
    }

    /// Whether a node is a file in a folder without a watch that was statted.
    pub(crate) fn is_unwatched(&self, node: NodeId) -> bool {
        let Some(folders) = self.shared.unwatched() else { return false };
        let is_known = |entry: EntryId| self.store().known_size(entry).is_some();
        self.entry(node).is_some_and(|entry| self.is_in(entry, &folders) && is_known(entry))
    }

    /// The node with this number, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_file(&self, ino: u64) -> Option<NodeId> {
        self.inode(ino).ok()?.node.filter(|node| self.is_unwatched(*node))
    }

    /// The child of a folder, if it is [unwatched](View::is_unwatched).
    pub(crate) fn unwatched_child(&self, parent: u64, name: &[u8]) -> Option<NodeId> {
        let is_any = self.shared.unwatched().is_some_and(|folders| !folders.is_empty());
        let child = is_any.then(|| self.tree().lookup(self.folder(parent).ok()?.node?, name))?;
        child.filter(|node| self.is_unwatched(*node))
    }

    /// Stats an unwatched file. If it was written to since it was statted, its name is pending.
    pub(crate) fn check_unwatched(&self, node: NodeId) {
        let Some(entry) = self.entry(node).filter(|entry| self.store().is_stale(*entry)) else { return };
        let folder = self.tree().ino(self.tree().parent(node));
        self.shared.pending.add(folder, self.tree().name(node));
        self.shared.report_change(self.store().watched_folder_of(entry).as_deref());
        if let Some(host) = self.shared.host.get() {
            host.drop_pages(self.tree().ino(node));
        }
    }

    fn is_in(&self, entry: EntryId, folders: &[Arc<OsStr>]) -> bool {
        let folder = || self.store().watched_folder_of(entry);
        let is_found =
            |folder: &OsStr| folders.binary_search_by(|unwatched| (**unwatched).cmp(folder)).is_ok();
        !folders.is_empty() && folder().is_some_and(|folder| is_found(folder.as_os_str()))
    }
}
