//! What a later view of a mount takes over from the earlier one: archives that did not change, and
//! layers that cannot be opened again; and what was reported about the sources of a view.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layer_content::LayerContent;
use super::read::ArchiveContent;
use super::store::Store;
use crate::archive_file::ArchiveFile;
use crate::folder::LooseFolder;
use crate::system::disk_id::DiskId;

impl Store {
    /// An empty store for a later view of the same mount. It shares the cache, limits and counters.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { layers: Vec::new(), shared: self.shared.clone() }
    }

    /// A store with one of the layers, as its layer 0.
    #[must_use]
    pub fn only(&self, layer: u16) -> Self {
        Self { layers: vec![self.layers[usize::from(layer)].clone()], shared: self.shared.clone() }
    }

    /// Replaces each archive that did not change by the earlier view's, which keeps what was learnt
    /// and cached.
    pub fn take_over(&mut self, earlier: &Self) {
        let mut by_path: HashMap<&Path, Vec<&Arc<LayerContent>>> = HashMap::new();
        for layer in &earlier.layers {
            if let Some(archive) = layer.archive() {
                by_path.entry(&archive.path).or_default().push(layer);
            }
        }
        for layer in &mut self.layers {
            let Some(now) = layer.archive() else { continue };
            let Some(earlier) = by_path.get_mut(&*now.path) else { continue };
            let is_same = |then: &&Arc<LayerContent>| {
                Arc::ptr_eq(layer, then) || then.archive().is_some_and(|then| now.is_same(then))
            };
            // An archive that the user named twice is two layers.
            if let Some(index) = earlier.iter().position(is_same) {
                *layer = earlier.swap_remove(index).clone();
            }
        }
    }

    /// For each layer, whether it is a folder that was scanned again since an earlier view.
    pub fn rescanned(&self, earlier: &Self) -> Vec<bool> {
        let before: HashSet<_> = earlier.folders().map(|(_, folder)| Arc::as_ptr(folder)).collect();
        let layers = 0..u16::try_from(self.layers()).unwrap_or(u16::MAX);
        layers.map(|it| self.folder(it).is_some_and(|it| !before.contains(&Arc::as_ptr(it)))).collect()
    }

    /// Adds a layer of an earlier view as the next layer.
    pub fn add_kept(&mut self, earlier: &Self, layer: u16) {
        self.layers.push(earlier.layers[usize::from(layer)].clone());
    }

    /// Whether a layer is an archive whose file was not changed in any way. Stats the file.
    pub fn is_untouched(&self, layer: u16) -> bool {
        self.content(layer).archive().is_some_and(|archive| archive.file.is_untouched(&archive.path))
    }

    /// Whether one of the archives is this file, and it did not change.
    pub fn has_open(&self, source: &ArchiveFile) -> bool {
        self.archives().any(|archive| archive.file.is_same(source))
    }

    /// The folder of a layer; `None` if the layer is an archive.
    pub fn folder(&self, layer: u16) -> Option<&Arc<LooseFolder>> {
        self.content(layer).folder().map(|files| &files.folder)
    }

    /// The paths of all archives, and all folders of loose files.
    pub fn paths(&self) -> (Vec<&Path>, Vec<Arc<LooseFolder>>) {
        let archives = self.archives().map(|archive| &*archive.path).collect();
        (archives, self.folders().map(|(_, folder)| folder.clone()).collect())
    }

    /// All folders of loose files, with their layers.
    pub fn folders(&self) -> impl Iterator<Item = (u16, &Arc<LooseFolder>)> {
        (0..).zip(&self.layers).filter_map(|(layer, content)| Some((layer, &content.folder()?.folder)))
    }

    pub fn archive_numbers(&self) -> Vec<u32> {
        self.archives().map(|archive| archive.number).collect()
    }

    /// Records an event of the file with this device and inode number, if it is an archive: `is_written` says
    /// whether its content was written to; otherwise its attributes were changed.
    pub fn note_archive_event(&self, identity: DiskId, is_written: bool) {
        // Layers may share a file, and one event may excuse only one touch.
        let mut noted = HashSet::new();
        for archive in self.archives().filter(|archive| archive.file.identity() == identity) {
            if noted.insert(Arc::as_ptr(&archive.file)) {
                archive.file.note_event(is_written);
            }
        }
    }

    /// Records that events of archives are reported, if that holds for their folders.
    pub fn note_watched(&self, is_reported: impl Fn(&Path) -> bool) {
        for archive in self.archives() {
            if archive.path.parent().is_some_and(&is_reported) {
                archive.file.note_watched();
            }
        }
    }

    /// The folders for which `is_asked` holds and in which a loose file may have changed since it
    /// was statted.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        self.folders().flat_map(|(_, folder)| folder.stale_folders(&is_asked)).collect()
    }

    fn archives(&self) -> impl Iterator<Item = &ArchiveContent> {
        self.layers.iter().filter_map(|layer| layer.archive())
    }
}
