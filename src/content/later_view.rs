//! What a later view of a mount takes over from an earlier one: archives that did not change, layers that cannot be opened
//! anew, and how often the kernel was given numbers of their files.

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
    /// An empty store for a later view of the same mount: with the same cache, bounds and counts.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { layers: Vec::new(), shared: self.shared.clone(), salvages: self.salvages }
    }

    /// A store of one of the layers, which is its layer 0.
    #[must_use]
    pub fn only(&self, layer: u16) -> Self {
        Self { layers: vec![self.layers[usize::from(layer)].clone()], ..self.emptied() }
    }

    /// Replaces archives that are those of an earlier view by these, with all that was learnt and cached of them.
    pub fn take_over(&mut self, earlier: &Self) {
        let mut by_path: HashMap<&Path, Vec<&Arc<LayerContent>>> = HashMap::new();
        for layer in &earlier.layers {
            if let Some(archive) = layer.archive() {
                by_path.entry(archive.source.path()).or_default().push(layer);
            }
        }
        for layer in &mut self.layers {
            let Some(now) = layer.archive() else { continue };
            let Some(earlier) = by_path.get_mut(now.source.path()) else { continue };
            let is_same = |then: &&Arc<LayerContent>| then.archive().is_some_and(|then| now.is_same(then));
            // One that is named twice is two layers.
            if let Some(index) = earlier.iter().position(is_same) {
                *layer = earlier.swap_remove(index).clone();
            }
        }
    }

    /// Whether a file is the one that an earlier view had at the same path: its bytes and its attributes are the same. Looks
    /// at a loose file that the earlier view knew.
    pub fn is_kept(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) -> bool {
        match (self.content(id.layer), earlier.content(earlier_id.layer)) {
            (LayerContent::Archive(now), LayerContent::Archive(then)) => {
                now.number == then.number && id.entry == earlier_id.entry
            }
            (LayerContent::Folder(now), LayerContent::Folder(then)) => {
                let is_known = |known| now.folder.stat(id.entry).is_ok_and(|now| now.is_equal(&known));
                // Nobody was told anything of a file that is not known.
                now.folder.path() == then.folder.path()
                    && then.folder.known(earlier_id.entry).is_none_or(is_known)
            }
            _ => false,
        }
    }

    /// Whether the bytes of a [kept](Self::is_kept) file are certainly what they were: not of one that was looked at amid a write,
    /// perhaps, and has the same attributes after it.
    pub fn is_certain(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) -> bool {
        let (Some(now), Some(then)) = (self.loose(id), earlier.loose(earlier_id)) else { return true };
        let known = then.folder.known(earlier_id.entry);
        known.is_none_or(|known| known.is_settled() || now.folder.is_carried(id.entry))
    }

    /// Takes over what was learnt of a [kept](Self::is_kept) loose file since then: the kernel was told of it. Where the file is
    /// another by now, its folder changed, and the next view finds out.
    pub fn learn_kept(&self, id: EntryId, earlier: &Self, earlier_id: EntryId) {
        if let (Some(now), Some(then)) = (self.loose(id), earlier.loose(earlier_id))
            && let Some(known) = then.folder.known(earlier_id.entry)
        {
            now.folder.set_known(id.entry, known);
        }
    }

    /// Adds a layer of an earlier view as the next one.
    pub fn add_kept(&mut self, earlier: &Self, layer: u16) {
        self.layers.push(earlier.layers[usize::from(layer)].clone());
    }

    /// The first layer whose archive or folder has a path.
    pub fn layer_at(&self, path: &Path) -> Option<u16> {
        self.layers_at(path).next()
    }

    /// All such layers.
    pub fn layers_at(&self, path: &Path) -> impl Iterator<Item = u16> {
        (0..).zip(&self.layers).map(|(layer, _)| layer).filter(move |layer| self.path(*layer) == path)
    }

    /// Whether one of the archives is this one, and was not changed.
    pub fn has_open(&self, source: &ArchiveFile) -> bool {
        self.archives().any(|archive| archive.source.is_same(source))
    }

    /// A layer's folder, if it is one.
    pub fn folder(&self, layer: u16) -> Option<&Arc<LooseFolder>> {
        self.content(layer).folder().map(|files| &files.folder)
    }

    /// The paths of all archives, and of the folders of loose files.
    pub fn paths(&self) -> (Vec<&Path>, Vec<&LooseFolder>) {
        let folders = self.layers.iter().filter_map(|layer| layer.folder());
        (
            self.archives().map(|archive| archive.source.path()).collect(),
            folders.map(|files| &*files.folder).collect(),
        )
    }

    /// The folders of loose files for which `is_asked` holds and in which one is not what it was when it was looked at.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let folders = self.layers.iter().filter_map(|layer| layer.folder());
        folders.flat_map(|files| files.folder.stale_folders(&is_asked)).collect()
    }

    /// The numbers of all archives.
    pub fn sources(&self) -> Vec<u32> {
        self.archives().map(|archive| archive.number).collect()
    }

    /// The number of a file's archive, which no other archive of the mount has; `None` of a loose file.
    pub fn source(&self, id: EntryId) -> Option<u32> {
        self.archive(id).map(|archive| archive.number)
    }

    /// A hash of which source a file's bytes are from, and in which state: the same after a restart.
    pub fn identity(&self, id: EntryId) -> u64 {
        match self.content(id.layer) {
            LayerContent::Archive(archive) => archive.source.state_hash(),
            LayerContent::Folder(files) => files.folder.known(id.entry).map_or(0, |stat| stat.state_hash()),
        }
    }

    /// Records that the kernel was given a file's number so many times more, or forgot it where that is negative; returns how
    /// often it has numbers of the same archive.
    pub fn count_lookups(&self, id: EntryId, more: i64) -> i64 {
        let Some(archive) = self.archive(id) else { return 0 };
        archive.lookups.fetch_add(more, Ordering::Relaxed).saturating_add(more)
    }

    /// A loose file that is open, to be read after its folder is gone.
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
