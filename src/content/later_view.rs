//! What a later view of a mount takes over from the earlier one: archives that did not change,
//! layers that cannot be opened again, and the counts of the kernel's references.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::archive_content::ArchiveContent;
use super::store::{LayerContent, Store};
use crate::archive_file::ArchiveFile;
use crate::folder::{LooseFile, LooseFolder};
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
                by_path.entry(archive.file.path()).or_default().push(layer);
            }
        }
        for layer in &mut self.layers {
            let Some(now) = layer.archive() else { continue };
            let Some(earlier) = by_path.get_mut(now.file.path()) else { continue };
            let is_same = |then: &&Arc<LayerContent>| then.archive().is_some_and(|then| now.is_same(then));
            // An archive that the user named twice is two layers.
            if let Some(index) = earlier.iter().position(is_same) {
                *layer = earlier.swap_remove(index).clone();
            }
        }
    }

    /// Whether a file is the one that an earlier view had at the same path, with the same bytes and
    /// attributes. Stats a loose file if the earlier view had statted it.
    pub fn is_kept(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) -> bool {
        match (self.content(id.layer), earlier.content(earlier_id.layer)) {
            (LayerContent::Archive(now), LayerContent::Archive(then)) => {
                now.number == then.number && id.entry == earlier_id.entry
            }
            (LayerContent::Folder(now), LayerContent::Folder(then)) => {
                let is_known = |known| now.folder.stat(id.entry).is_ok_and(|now| now.is_equal(&known));
                // The kernel has never seen the attributes of a file that was not statted.
                now.folder.path() == then.folder.path()
                    && then.folder.known(earlier_id.entry).is_none_or(is_known)
            }
            _ => false,
        }
    }

    /// Whether the bytes of a [kept](Self::is_kept) file are certainly unchanged. They may differ if a loose
    /// file was statted while it was being written and its attributes are the same afterwards.
    pub fn is_certain(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) -> bool {
        let (Some(now), Some(then)) = (self.loose(id), earlier.loose(earlier_id)) else { return true };
        let known = then.folder.known(earlier_id.entry);
        known.is_none_or(|known| known.is_settled() || now.folder.is_carried(id.entry))
    }

    /// Takes over what the earlier view has learnt meanwhile about a [kept](Self::is_kept) loose
    /// file, because the kernel was sent it. If the file was replaced since, its folder changed,
    /// and the next view detects that.
    pub fn learn_kept(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) {
        if let (Some(now), Some(then)) = (self.loose(id), earlier.loose(earlier_id))
            && let Some(known) = then.folder.known(earlier_id.entry)
        {
            now.folder.set_known(id.entry, known);
        }
    }

    /// Adds a layer of an earlier view as the next layer.
    pub fn add_kept(&mut self, earlier: &Self, layer: u16) {
        self.layers.push(earlier.layers[usize::from(layer)].clone());
    }

    /// The first layer whose archive or folder has this path.
    pub fn layer_at(&self, path: &Path) -> Option<u16> {
        self.layers_at(path).next()
    }

    /// All layers whose archive or folder has this path.
    pub fn layers_at(&self, path: &Path) -> impl Iterator<Item = u16> {
        (0..).zip(&self.layers).map(|(layer, _)| layer).filter(move |layer| self.path(*layer) == path)
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
    pub fn paths(&self) -> (Vec<&Path>, Vec<&LooseFolder>) {
        let folders = self.layers.iter().filter_map(|layer| layer.folder());
        (
            self.archives().map(|archive| archive.file.path()).collect(),
            folders.map(|files| &*files.folder).collect(),
        )
    }

    /// The folders for which `is_asked` holds and in which a loose file may have changed since it
    /// was statted.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let folders = self.layers.iter().filter_map(|layer| layer.folder());
        folders.flat_map(|files| files.folder.stale_folders(&is_asked)).collect()
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
            LayerContent::Folder(files) => files.folder.known(id.entry).map_or(0, |stat| stat.state_hash()),
        }
    }

    /// Adds to the count of the kernel's references to a file's archive, or subtracts if `more` is
    /// negative. Returns the new count.
    pub fn count_lookups(&self, id: EntryId, more: i64) -> i64 {
        let Some(archive) = self.archive(id) else { return 0 };
        archive.lookups.fetch_add(more, Ordering::Relaxed).saturating_add(more)
    }

    /// A loose file, if it is open. It stays readable after its folder is gone.
    pub fn open_loose(&self, id: EntryId) -> Option<LooseFile> {
        self.loose(id)?.folder.open_file(id.entry)
    }

    fn archive(&self, id: EntryId) -> Option<&ArchiveContent> {
        self.content(id.layer).archive()
    }

    fn archives(&self) -> impl Iterator<Item = &ArchiveContent> {
        self.layers.iter().filter_map(|layer| layer.archive())
    }
}
