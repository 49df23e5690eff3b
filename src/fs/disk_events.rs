//! What an event on the disk means for the mount, before the reload that follows it.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::attr::{Attr, NodeKind, Validity};
use super::filesystem::FileSystem;
use super::remembered::pending::NameIn;
use super::shared::Invalidation;
use super::view::View;
use crate::system::disk_id::DiskId;
use crate::tree::{Ino, Kind, NodeId};

impl FileSystem {
    /// Records that a name in a folder of loose files was added or removed on the disk. `folder` is the
    /// absolute path on the disk, and `is_new_folder` says whether a folder was added. The kernel drops the
    /// name, and a LOOKUP of it waits for the next reload.
    pub fn record_changed_name(&self, folder: &Path, name: &[u8], is_new_folder: bool) {
        let view = self.view();
        for node in view.folders_at(folder) {
            let own = view.tree().ino(node);
            let shown = view.tree().lookup(node, name);
            let loose = shown.filter(|node| view.is_loose_in(*node, folder));
            if let Some(node) = loose {
                self.shared.touched_files().add(view.tree().ino(node));
            }
            // The new folder is merged with the one that is shown. Dropping its name would drop everything
            // below it.
            let is_merged = is_new_folder && shown.is_some_and(|it| view.tree().kind(it) == Kind::Folder);
            if is_merged || !self.shared.remembered.pending.add(own, name) {
                continue;
            }
            let shown = shown.map(|child| view.tree().name(child));
            let mut names: Vec<NameIn> = Vec::new();
            for number in std::iter::once(own).chain(self.shared.remembered.spellings.other_numbers_of(own)) {
                let mut spellings = self.shared.exposed_like(number, name);
                spellings.extend([Some(name), shown].into_iter().flatten().map(Box::from));
                names.extend(spellings.into_iter().map(|spelling| (number, spelling)));
            }
            if let Some(host) = self.shared.host.get() {
                host.invalidate(Invalidation { names, ..Invalidation::default() });
            }
        }
    }

    /// Records that files in a folder on the disk were written to, before the reload that notices it.
    pub fn record_touched_files<'n>(&self, folder: &Path, names: impl Iterator<Item = &'n [u8]>) {
        let view = self.view();
        let folders = view.folders_at(folder);
        for name in names {
            view.loose_files_in(&folders, folder, name).for_each(|ino| self.shared.touched_files().add(ino));
        }
    }

    /// Makes the kernel drop the pages of a loose file that was written to, if the mount shows that file.
    pub fn record_written_file(&self, folder: &Path, name: &[u8]) {
        let (view, Some(host)) = (self.view(), self.shared.host.get()) else { return };
        for ino in view.loose_files_in(&view.folders_at(folder), folder, name) {
            // By now, another file may bear the name. Then the reload retires this one.
            if view.follow_write(ino).is_none()
                && let Ok(attr) = view.attr(ino)
            {
                host.drop_pages(self.shared.remembered.written.hold(attr, attr));
            }
        }
    }

    /// Records that events of the disk were lost, so that any file may have been written to.
    pub fn events_were_lost(&self) {
        self.shared.touched_files().add_all();
    }

    /// Records an event of a file that may be an archive, given its device and inode number: `is_written`
    /// says whether its content was written to; otherwise its attributes were changed.
    pub fn record_archive_event(&self, identity: DiskId, is_written: bool) {
        self.view().store().record_archive_event(identity, is_written);
    }
}

// Files that were written to.

impl View {
    /// Records what was written to a loose file that is shown, and makes the kernel drop its pages.
    /// Returns the attributes before and after, or `None` if the file is not known any more.
    pub(crate) fn follow_write(&self, ino: Ino) -> Option<(Attr, Attr)> {
        let (then, now) = (self.attr(ino).ok()?, self.loose_attr_now(ino)?);
        let held = self.shared.remembered.written.follow(then, now);
        self.shared.host.get()?.drop_pages(held);
        Some((then, now))
    }

    /// Like [`View::follow_write`], unless this state of the file was noticed already.
    pub(crate) fn follow_new_write(&self, ino: Ino) -> Option<(Attr, Attr)> {
        let now = self.loose_attr_now(ino)?;
        let is_known = |it: Attr| (it.size, it.modified) == (now.size, now.modified);
        if self.shared.remembered.written.newest(ino).is_some_and(is_known) {
            return None;
        }
        self.follow_write(ino)
    }

    /// Asks the disk for the attributes of a file that was written to, if the mount follows no changes.
    pub(crate) fn follow_static(&self, ino: Ino) {
        if self.shared.on_change.get().is_none() && self.shared.remembered.written.newest(ino).is_some() {
            self.follow_new_write(ino);
        }
    }

    /// Makes the kernel drop the pages and attributes of a retired file that was written to since it was
    /// asked last. Until the pages are dropped, a file that has grown keeps its old size.
    pub(crate) fn follow_retired(&self, ino: Ino) {
        let Some(then) = self.shared.remembered.retired.written(ino) else { return };
        let (Some(now), Some(host)) = (self.shared.remembered.retired.attr(ino), self.shared.host.get())
        else {
            return;
        };
        host.drop_pages(self.shared.remembered.written.hold(then, now));
    }

    /// The size of a loose file as it is on the disk.
    pub(crate) fn size_now(&self, ino: Ino) -> Option<u64> {
        let now = self.loose_attr_now(ino).or_else(|| self.shared.remembered.retired.attr(ino));
        now.map(|now| now.size)
    }

    /// The attributes of a loose file as they are on the disk, if it is known to be that file.
    fn loose_attr_now(&self, ino: Ino) -> Option<Attr> {
        let node = self.inode(ino).ok()?.node?;
        let now = self.store().file(self.entry(node)?).state_now()?;
        let (kind, validity) = (NodeKind::File, Validity::None);
        Some(Attr { ino, kind, size: now.size, modified: now.modified(), validity })
    }
}

// Which nodes show what is at a path on the disk.

impl View {
    /// The nodes that show a folder of loose files, given its absolute path on the disk.
    pub(crate) fn folders_at(&self, path: &Path) -> Vec<NodeId> {
        let node =
            |(layer, within): (u16, &Path)| self.tree().folder_of_layer(layer, within.as_os_str().as_bytes());
        let mut nodes: Vec<NodeId> = self.layers_at(path).filter_map(node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The inode numbers under which the mount shows a loose file, given its folder on the disk, the nodes of
    /// that folder ([`View::folders_at`]), and its name. None if a file of another layer is shown instead.
    pub(crate) fn loose_files_in(
        &self,
        folders: &[NodeId],
        folder: &Path,
        name: &[u8],
    ) -> impl Iterator<Item = Ino> {
        let found = folders.iter().filter_map(|node| self.tree().lookup(*node, name));
        found.filter(|node| self.is_loose_in(*node, folder)).map(|node| self.tree().ino(node))
    }

    /// Whether a node is a loose file in a folder on the disk.
    pub(crate) fn is_loose_in(&self, node: NodeId, folder: &Path) -> bool {
        let of = self.entry(node).and_then(|entry| self.store().file(entry).loose_folder());
        of.is_some_and(|of| of.as_os_str() == folder.as_os_str())
    }

    /// The layers in which a path on the disk is, each with the path within the layer.
    pub(crate) fn layers_at<'p>(&self, path: &'p Path) -> impl Iterator<Item = (u16, &'p Path)> {
        // The path of a layer may end with a slash, so components are compared.
        let roots = self.disk_folders.roots.get_or_init(|| {
            let mut roots: HashMap<PathBuf, Vec<u16>> = HashMap::new();
            for (layer, folder) in self.store().folders() {
                roots.entry(folder.path().to_owned()).or_default().push(layer);
            }
            roots
        });
        let of_root = |root: &'p Path| roots.get(root).map(|layers| (root, layers));
        path.ancestors().filter_map(of_root).flat_map(|(root, layers)| {
            let within = path.strip_prefix(root).unwrap_or(Path::new(""));
            layers.iter().map(move |layer| (*layer, within))
        })
    }
}
