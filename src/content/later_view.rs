//! What a later view of a mount takes over from the earlier one: archives that did not change,
//! layers that cannot be opened again, and the counts of the kernel's references.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::archive_content::ArchiveContent;
use super::store::{LayerContent, Store};
use crate::archive_file::ArchiveFile;
use crate::folder::{FileChange, LooseFolder};
use crate::format::EntryId;

impl Store {
    /// An empty store for a later view of the same mount. It shares the cache, limits and counters.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { layers: Vec::new(), shared: self.shared.clone(), salvages: self.salvages }
    }

    /// A store with one of the layers, as its layer 0.
    #[must_use]
    pub fn only(&self, layer: u16) -> Self {
        Self { layers: vec![self.layers[usize::from(layer)].clone()], ..self.emptied() }
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

    /// What happened to a file since an earlier view had it at the same path. Stats a loose file if the
    /// earlier view had statted it.
    pub fn change(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) -> FileChange {
        let is_kept = match (self.content(id.layer), earlier.content(earlier_id.layer)) {
            (LayerContent::Archive(now), LayerContent::Archive(then)) => {
                now.number == then.number && id.entry == earlier_id.entry
            }
            (LayerContent::Folder(now), LayerContent::Folder(then)) => {
                if Arc::ptr_eq(&now.folder, &then.folder) && id.entry == earlier_id.entry {
                    return FileChange::None;
                }
                // Comparing bytes is much faster than comparing components.
                if now.folder.path().as_os_str() == then.folder.path().as_os_str() {
                    return loose_change(&now.folder, id.entry, &then.folder, earlier_id.entry);
                }
                false
            }
            _ => false,
        };
        if is_kept { FileChange::None } else { FileChange::Replaced }
    }

    /// For each layer, whether it is a folder that was scanned again since an earlier view.
    pub fn rescanned(&self, earlier: &Self) -> Vec<bool> {
        let before: HashSet<_> = earlier.folders().map(|(_, folder)| Arc::as_ptr(folder)).collect();
        let layers = 0..u16::try_from(self.layers()).unwrap_or(u16::MAX);
        layers.map(|it| self.folder(it).is_some_and(|it| !before.contains(&Arc::as_ptr(it)))).collect()
    }

    /// Takes over what the earlier view has learnt meanwhile about an unchanged loose file, because the
    /// kernel was sent it, and its descriptor. If the file was replaced since, its folder changed, and the
    /// next view detects that.
    pub fn learn_kept(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) {
        if let (Some(now), Some(then)) = (self.loose(id), earlier.loose(earlier_id))
            && let Some(known) = then.folder.known(earlier_id.entry)
        {
            now.folder.set_known(id.entry, known);
            now.folder.share_open(id.entry, &then.folder, earlier_id.entry);
        }
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

    /// The numbers of all archives.
    pub fn archive_numbers(&self) -> Vec<u32> {
        self.archives().map(|archive| archive.number).collect()
    }

    /// The number of a file's archive, unique in the mount; `None` for a loose file.
    pub fn archive_number(&self, id: EntryId) -> Option<u32> {
        self.archive(id).map(|archive| archive.number)
    }

    /// A hash of the identity and state of a file's source. It is the same after a restart.
    pub fn identity(&self, id: EntryId) -> u64 {
        match self.content(id.layer) {
            LayerContent::Archive(archive) => archive.file.state_hash(),
            LayerContent::Folder(files) => files.folder.known(id.entry).map_or(0, |stat| stat.object()),
        }
    }

    /// Adds to the count of the kernel's references to a file's archive, or subtracts if `more` is
    /// negative. Returns the new count.
    pub fn count_lookups(&self, id: EntryId, more: i64) -> i64 {
        let Some(archive) = self.archive(id) else { return 0 };
        archive.lookups.fetch_add(more, Ordering::Relaxed).saturating_add(more)
    }

    fn archive(&self, id: EntryId) -> Option<&ArchiveContent> {
        self.content(id.layer).archive()
    }

    pub(super) fn archives(&self) -> impl Iterator<Item = &ArchiveContent> {
        self.layers.iter().filter_map(|layer| layer.archive())
    }
}

/// What happened to a loose file since an earlier scan of its folder.
fn loose_change(now: &LooseFolder, file: u32, then: &LooseFolder, earlier: u32) -> FileChange {
    // The kernel has never seen the attributes of a file that was not statted.
    let Some(known) = then.known(earlier) else { return FileChange::None };
    match now.stat(file) {
        Ok(stat) if !stat.is_same_file(&known) => FileChange::Replaced,
        Ok(stat) if !stat.is_equal(&known) => FileChange::Written,
        // If a file is statted while it is written, its attributes may stay the same afterwards.
        Ok(_) if !known.is_settled() && !now.is_carried(file) => FileChange::Unknown,
        Ok(_) => FileChange::None,
        Err(_) => FileChange::Replaced,
    }
}
