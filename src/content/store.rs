//! The content of all archives and folders of a view: its layers, the cache, limits and counters.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

use super::cache;
use super::layer_tables::LayerTables;
use super::read::{ArchiveContent, Resources};
use super::stored_file::{LayerContent, LooseFiles, StoredFile};
use crate::archive_file::ArchiveFile;
use crate::folder::LooseFolder;
use crate::format::{EntryId, Limits};
use crate::system::disk_id::DiskId;

/// The bytes of all layers.
#[derive(Debug)]
pub struct Store {
    pub(super) layers: Vec<Arc<LayerContent>>,
    pub(super) resources: Arc<Resources>,
}

impl Store {
    /// An empty store whose cache holds `cache_size` bytes of decoded extents. For a moment, the
    /// cache may exceed this by 256 MiB, or by one extent if that is larger.
    pub fn new(cache_size: u64, limits: Limits) -> Self {
        Self { layers: Vec::new(), resources: Arc::new(Resources::new(cache_size, limits)) }
    }

    /// Sets whether the store serves bytes that are [suspect](super::codec::DecodeError::Suspect) instead
    /// of returning an error.
    #[must_use]
    pub fn with_salvage(self, is_on: bool) -> Self {
        self.resources.set_salvages(is_on);
        self
    }

    /// Adds an archive's content as the next layer.
    pub fn add(&mut self, file: ArchiveFile, tables: LayerTables) {
        self.add_at(file.path().to_owned(), file.into(), tables.into());
    }

    /// Adds an archive's content as the next layer, under a path that leads to the file. Layers may share
    /// the file and its tables.
    pub fn add_at(&mut self, path: PathBuf, file: Arc<ArchiveFile>, tables: Arc<LayerTables>) {
        let content = ArchiveContent::new(path, (file, tables), self.resources.clone());
        self.layers.push(Arc::new(LayerContent::of_archive(content)));
    }

    /// Adds a folder's content as the next layer.
    pub fn add_folder(&mut self, folder: Arc<LooseFolder>) {
        self.layers.push(Arc::new(LayerContent::Folder(LooseFiles::new(folder))));
    }

    /// A file, in the form in which it is shown. The layer must be one of this store.
    pub fn file(&self, id: EntryId) -> StoredFile<'_> {
        StoredFile::new(id, &self.resources, self.content(id.layer))
    }

    /// Device and inode number of each archive and folder.
    pub fn identities(&self) -> Vec<DiskId> {
        let identity = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.content.file.identity(),
            LayerContent::Folder(files) => files.folder.identity(),
        };
        self.layers.iter().map(|layer| identity(layer)).collect()
    }

    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    pub fn path(&self, layer: u16) -> &Path {
        match self.content(layer) {
            LayerContent::Archive(layer) => &layer.content.path,
            LayerContent::Folder(files) => files.folder.path(),
        }
    }

    /// The archive of a layer; `None` for a folder.
    pub(crate) fn archive(&self, layer: u16) -> Option<&ArchiveFile> {
        self.content(layer).archive().map(|content| &*content.file)
    }

    /// The paths on the disk of all links to files and folders of a layer.
    pub fn link_paths(&self, layer: u16) -> Vec<std::path::PathBuf> {
        self.content(layer).folder().map(|files| files.folder.link_paths().collect()).unwrap_or_default()
    }

    pub fn is_folder(&self, layer: u16) -> bool {
        self.content(layer).folder().is_some()
    }

    /// The mtime of a layer's archive or folder when it was opened.
    pub fn modified(&self, layer: u16) -> SystemTime {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer.content.file.modified(),
            LayerContent::Folder(files) => files.folder.modified().system_time(),
        }
    }

    /// Total size on disk of all archives, and of all loose files that were statted.
    pub fn archive_bytes(&self) -> u64 {
        let bytes = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.content.file.len(),
            LayerContent::Folder(files) => files.folder.known_bytes(),
        };
        self.layers.iter().map(|layer| bytes(layer)).sum()
    }

    /// Total number of blocks of `block` bytes that all archives and loose files take on the disk. A loose
    /// file that was not statted counts as one block. At least one, because `df` omits an empty disk.
    pub fn blocks(&self, block: u32) -> u64 {
        let blocks = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.content.file.len().div_ceil(block.into()),
            LayerContent::Folder(files) => {
                let unknown = u64::from(files.folder.unknown_files());
                files.folder.known_bytes().div_ceil(block.into()) + unknown
            }
        };
        self.layers.iter().map(|layer| blocks(layer)).sum::<u64>().max(1)
    }

    /// Evicts what the cache has beyond its size, unless a reader is expected back. Frees buffers
    /// that were not used since the last call. Returns whether nothing is left to do.
    pub fn trim(&self) -> bool {
        let is_trimmed = self.resources.cache.trim(Instant::now());
        cache::release() && is_trimmed
    }

    /// Whether [`Store::trim`] has something to do.
    pub fn needs_trim(&self) -> bool {
        self.resources.cache.is_over_budget() || cache::is_used()
    }

    /// Bytes of decoded extents in the cache, and the size that it may exceed only for a moment.
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.resources.cache.bytes(), self.resources.cache.budget())
    }

    /// Bytes decoded so far, prefixes included.
    pub fn decoded_bytes(&self) -> u64 {
        self.resources.decoded.load(Ordering::Relaxed)
    }

    /// Number of reads that were answered from the cache.
    pub fn cache_hits(&self) -> u64 {
        self.resources.cache.hits()
    }

    pub fn faults(&self) -> u64 {
        self.resources.faults.load(Ordering::Relaxed)
    }

    /// Bytes read from all archives and loose files so far, without the tables of archives.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read_without_counters(HashSet::new())
    }

    /// Bytes read so far from the layers that a later view does not have.
    pub fn bytes_read_without(&self, later: &Self) -> u64 {
        self.bytes_read_without_counters(later.layers.iter().map(|layer| layer.counter()).collect())
    }

    /// Bytes read so far, without those that these counters count. Layers may share a counter.
    fn bytes_read_without_counters(&self, mut counted: HashSet<*const ()>) -> u64 {
        let others = self.layers.iter().filter(|layer| counted.insert(layer.counter()));
        others.map(|layer| layer.bytes_read()).sum()
    }

    /// Whether every size is known without reading data: the tables of all archives state all sizes, and
    /// every loose file was statted.
    pub fn states_sizes(&self) -> bool {
        self.layers.iter().all(|layer| match &**layer {
            LayerContent::Archive(layer) => layer.content.tables.states_sizes(),
            LayerContent::Folder(files) => files.folder.is_all_known(),
        })
    }

    /// The entries of a layer that are shown as they are stored, although another form was asked for, and
    /// why, as far as their headers were read.
    pub fn kept_textures(&self, layer: u16) -> Vec<(u32, &'static str)> {
        let archive = self.content(layer).archive();
        archive.map(|it| it.tables.kept_textures().collect()).unwrap_or_default()
    }

    /// Has the kernel read bytes of an archive that will be needed soon, and does not wait for them.
    pub(crate) fn request(&self, layer: u16, range: &Range<u64>) {
        if let Some(archive) = self.content(layer).archive() {
            archive.request(range);
        }
    }

    /// Reads archives ahead from now on, of this store and of those that replace it, for programs that read
    /// their files in no order. The threads for that end when the programs pause.
    pub(crate) fn read_scattered_ahead(&self) {
        self.resources.scattered.start();
    }

    /// How many bytes may be decoded ahead together.
    pub(crate) fn room_ahead_max(&self) -> u64 {
        self.resources.cache.ahead_max()
    }

    /// How many more bytes may be decoded ahead.
    pub(crate) fn room_ahead(&self) -> u64 {
        self.room_ahead_max().saturating_sub(self.resources.cache.ahead())
    }

    /// The number of threads that decode for readers, of this store and of those that replace it.
    pub(crate) fn decoding(&self) -> Arc<AtomicUsize> {
        self.resources.decoding.clone()
    }

    pub(super) fn content(&self, layer: u16) -> &LayerContent {
        &self.layers[usize::from(layer)]
    }
}

// What a later view of a mount takes over from the earlier one: archives that did not change, and
// layers that cannot be opened again; and what was reported about the sources of a view.

impl Store {
    /// An empty store for a later view of the same mount. It shares the cache, limits and counters.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { layers: Vec::new(), resources: self.resources.clone() }
    }

    /// A store with one of the layers, as its layer 0.
    #[must_use]
    pub fn only(&self, layer: u16) -> Self {
        Self { layers: vec![self.layers[usize::from(layer)].clone()], resources: self.resources.clone() }
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
            // An archive that the user named twice is two layers, which stay in their order.
            if let Some(index) = earlier.iter().position(is_same) {
                *layer = earlier.remove(index).clone();
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

    /// Whether a layer is this archive, shown in the same form, and it did not change.
    pub(crate) fn has_same(&self, layer: u16, file: &ArchiveFile, tables: &LayerTables) -> bool {
        self.content(layer).archive().is_some_and(|then| then.is_of(file, tables))
    }

    /// Whether both have the same archives and folders as layers, in the same states.
    pub(crate) fn has_same_layers(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Arc<LayerContent>, &Arc<LayerContent>)| {
            let folders = one.folder().zip(other.folder());
            Arc::ptr_eq(one, other)
                || folders.is_some_and(|(one, other)| Arc::ptr_eq(&one.folder, &other.folder))
        };
        self.layers() == other.layers() && self.layers.iter().zip(&other.layers).all(is_same)
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
    pub fn record_archive_event(&self, identity: DiskId, is_written: bool) {
        // Layers may share a file, and one event may excuse only one touch.
        let mut noted = HashSet::new();
        for archive in self.archives().filter(|archive| archive.file.identity() == identity) {
            if noted.insert(Arc::as_ptr(&archive.file)) {
                archive.file.record_event(is_written);
            }
        }
    }

    /// Records that events of archives are reported, if that holds for their folders.
    pub fn record_watched(&self, is_reported: impl Fn(&Path) -> bool) {
        for archive in self.archives() {
            if archive.path.parent().is_some_and(&is_reported) {
                archive.file.record_watched();
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
