//! The content of all archives and folders of a view: its layers, the cache, limits and counters.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use super::archive_content::ArchiveContent;
use super::cache;
use super::cache::{Cache, MemoryLimit};
use super::error::{EntryError, Reason};
use super::fault_log::Salvaged;
use super::loose::LooseFiles;
use super::tables::LayerTables;
use crate::archive_file::ArchiveFile;
use crate::folder::LooseFolder;
use crate::format::{Codec, EntryId, Head, Limits};

/// The bytes of all layers.
#[derive(Debug)]
pub struct Store {
    pub(super) layers: Vec<Arc<LayerContent>>,
    pub(super) shared: Arc<Shared>,
    /// Whether suspect bytes are served instead of an error.
    pub(super) salvages: bool,
}

/// What the stores of all views of a mount share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) cache: Cache<Reason>,
    /// Limit on large decoded extents, cached ones included. The largest extent that is accepted fits.
    pub(super) memory: Arc<MemoryLimit>,
    /// Limit on large packed extents, by device.
    packed: Mutex<HashMap<u64, Arc<MemoryLimit>>>,
    pub(super) limits: Limits,
    pub(super) counters: Counters,
    pub(super) salvaged: Salvaged,
    /// Number of the next archive to be added.
    next_archive: AtomicU32,
}

/// The bytes of one layer.
#[derive(Debug)]
pub(super) enum LayerContent {
    Archive(ArchiveContent),
    Folder(LooseFiles),
}

impl LayerContent {
    pub(super) fn archive(&self) -> Option<&ArchiveContent> {
        match self {
            Self::Archive(archive) => Some(archive),
            Self::Folder(_) => None,
        }
    }

    pub(super) fn folder(&self) -> Option<&LooseFiles> {
        match self {
            Self::Archive(_) => None,
            Self::Folder(files) => Some(files),
        }
    }

    /// Bytes read so far, without the tables of an archive.
    fn bytes_read(&self) -> u64 {
        match self {
            Self::Archive(archive) => archive.file.bytes_read(),
            Self::Folder(files) => files.folder.bytes_read(),
        }
    }

    /// The address of what counts the bytes.
    fn counter(&self) -> *const () {
        match self {
            Self::Archive(archive) => Arc::as_ptr(&archive.file).cast(),
            Self::Folder(files) => Arc::as_ptr(&files.folder).cast(),
        }
    }
}

/// Counters since the mount. Each count is exact, but two counts may be from different moments.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Bytes decoded.
    pub(super) decoded: AtomicU64,
    /// Reads that failed.
    pub(super) faults: AtomicU64,
    /// Threads that decode for readers.
    pub(super) decoding: Arc<AtomicUsize>,
}

/// How a file is packed, as listings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The codec of the file's extents. If there are several, this is the first one that is not `Stored`.
    pub codec: Codec,
    /// Total size of the extents in the archive, in bytes.
    pub packed: u64,
}

impl Store {
    /// An empty store whose cache holds `cache_size` bytes of decoded extents. For a moment, the
    /// cache may exceed this by 256 MiB, or by one extent if that is larger.
    pub fn new(cache_size: u64, limits: Limits) -> Self {
        let (packed, counters, salvaged, next_archive) = Default::default();
        let (cache, memory) = (Cache::new(cache_size), MemoryLimit::new(u64::from(limits.extent)));
        let shared = Shared { cache, memory, packed, limits, counters, salvaged, next_archive };
        Self { layers: Vec::new(), shared: Arc::new(shared), salvages: false }
    }

    /// Sets whether the store serves bytes that are [suspect](codec::DecodeError::Suspect) instead
    /// of returning an error.
    #[must_use]
    pub fn with_salvage(self, is_on: bool) -> Self {
        Self { salvages: is_on, ..self }
    }

    /// Adds an archive's content as the next layer.
    pub fn add(&mut self, file: ArchiveFile, tables: LayerTables) {
        self.add_at(file.path().to_owned(), file.into(), tables.into());
    }

    /// Adds an archive's content as the next layer, under a path that leads to the file. Layers may share
    /// the file and its tables.
    pub fn add_at(&mut self, path: PathBuf, file: Arc<ArchiveFile>, tables: Arc<LayerTables>) {
        let shared = &self.shared;
        let number = shared.next_archive.fetch_add(1, Ordering::Relaxed);
        let mut packed = shared.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let packed = packed
            .entry(file.identity().0)
            .or_insert_with(|| MemoryLimit::new(u64::from(shared.limits.packed)))
            .clone();
        let content = ArchiveContent::new(number, path, (file, tables), packed);
        self.layers.push(Arc::new(LayerContent::Archive(content)));
    }

    /// Adds a folder's content as the next layer.
    pub fn add_folder(&mut self, folder: Arc<LooseFolder>) {
        self.layers.push(Arc::new(LayerContent::Folder(LooseFiles::new(folder))));
    }

    /// The device of a file's bytes (`st_dev`).
    pub fn device(&self, id: EntryId) -> u64 {
        match self.content(id.layer) {
            LayerContent::Archive(layer) => layer.file.identity().0,
            LayerContent::Folder(files) => files.folder.device(id.entry),
        }
    }

    /// Device and inode number of each archive and folder.
    pub fn identities(&self) -> Vec<(u64, u64)> {
        let identity = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.file.identity(),
            LayerContent::Folder(files) => files.folder.identity(),
        };
        self.layers.iter().map(|layer| identity(layer)).collect()
    }

    /// Whether two files certainly have the same bytes; nothing is read. Two entries do if they are
    /// the same entry of one unchanged archive, provided that both stores opened it with the same
    /// options. Two loose files do if they are one file that both stores have statted.
    pub fn is_same_file(&self, id: EntryId, other: &Self, other_id: EntryId) -> bool {
        match (self.content(id.layer), other.content(other_id.layer)) {
            (LayerContent::Archive(one), LayerContent::Archive(two)) => {
                let state = |layer: &ArchiveContent| {
                    let file = &layer.file;
                    (file.identity(), file.modified(), file.len())
                };
                id.entry == other_id.entry && state(one) == state(two)
            }
            (LayerContent::Folder(one), LayerContent::Folder(two)) => {
                let known = one.folder.known(id.entry);
                known.is_some() && known == two.folder.known(other_id.entry)
            }
            _ => false,
        }
    }

    /// Where the data of a file lies on its disk: in an archive its offset in bytes, and for a loose file the
    /// inode number of its folder. Files of one archive or folder that lie side by side follow each other by
    /// place, and then by entry.
    pub fn place(&self, id: EntryId) -> u64 {
        match self.content(id.layer) {
            LayerContent::Archive(layer) => {
                layer.tables.extents(id.entry).next().map_or(0, |index| layer.tables.extent(index).offset)
            }
            LayerContent::Folder(files) => files.folder.inode_of_folder(id.entry),
        }
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The path of a layer's archive or folder.
    pub fn path(&self, layer: u16) -> &Path {
        match self.content(layer) {
            LayerContent::Archive(layer) => &layer.path,
            LayerContent::Folder(files) => files.folder.path(),
        }
    }

    /// Whether a layer is a folder of loose files.
    pub fn is_folder(&self, layer: u16) -> bool {
        self.content(layer).folder().is_some()
    }

    /// The mtime of a layer's archive or folder when it was opened.
    pub fn modified(&self, layer: u16) -> SystemTime {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer.file.modified(),
            LayerContent::Folder(files) => files.folder.modified().system_time(),
        }
    }

    /// The mtime of a file. For an entry of an archive, this is the archive's. For a loose file
    /// that was not statted, it is the folder's.
    pub fn file_modified(&self, id: EntryId) -> SystemTime {
        let known = self.loose(id).and_then(|files| files.folder.known(id.entry));
        known.map_or_else(|| self.modified(id.layer), |stat| stat.modified())
    }

    /// Total size on disk of all archives, and of all loose files that were statted.
    pub fn archive_bytes(&self) -> u64 {
        let bytes = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.file.len(),
            LayerContent::Folder(files) => files.folder.known_bytes(),
        };
        self.layers.iter().map(|layer| bytes(layer)).sum()
    }

    /// Total number of blocks of `block` bytes that all archives and loose files take on the disk. A loose
    /// file that was not statted counts as one block. At least one, because `df` omits an empty disk.
    pub fn blocks(&self, block: u32) -> u64 {
        let blocks = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.file.len().div_ceil(block.into()),
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
        let is_trimmed = self.shared.cache.trim(Instant::now());
        cache::release() && is_trimmed
    }

    /// Whether [`Store::trim`] has something to do.
    pub fn needs_trim(&self) -> bool {
        self.shared.cache.is_over_budget() || cache::is_used()
    }

    /// Bytes of decoded extents in the cache, and the size that it may exceed only for a moment.
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.shared.cache.bytes(), self.shared.cache.budget())
    }

    /// Bytes decoded so far, prefixes included.
    pub fn decoded_bytes(&self) -> u64 {
        self.shared.counters.decoded.load(Ordering::Relaxed)
    }

    /// Number of reads that were answered from the cache.
    pub fn cache_hits(&self) -> u64 {
        self.shared.cache.hits()
    }

    /// Number of reads that failed.
    pub fn faults(&self) -> u64 {
        self.shared.counters.faults.load(Ordering::Relaxed)
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

    /// Offset of a file's data in its archive; 0 for a file without data and for a loose file.
    pub fn offset(&self, id: EntryId) -> u64 {
        if self.loose(id).is_some() {
            return 0;
        }
        let layer = self.layer(id.layer);
        layer.tables.extents(id.entry).next().map_or(0, |index| layer.tables.extent(index).offset)
    }

    /// How a file is packed. A loose file that was not statted counts as 0 bytes.
    pub fn packing(&self, id: EntryId) -> Packing {
        if let Some(files) = self.loose(id) {
            return Packing { codec: Codec::Stored, packed: files.known_size(id.entry).unwrap_or(0) };
        }
        let layer = self.layer(id.layer);
        let extents = layer.tables.extents(id.entry).map(|index| layer.tables.extent(index));
        let codec = extents.clone().map(|extent| extent.codec).find(|&codec| codec != Codec::Stored);
        Packing {
            codec: codec.unwrap_or(Codec::Stored),
            packed: extents.map(|extent| u64::from(extent.packed)).sum(),
        }
    }

    /// The header that is added in front of a file's data.
    pub fn head(&self, id: EntryId) -> Head {
        if self.loose(id).is_some() {
            return Head::None;
        }
        self.layer(id.layer).tables.head(id.entry)
    }

    /// The tile mode of a texture as it is shown; `None` if its texels are linear. Reads no data.
    pub fn tile_mode(&self, id: EntryId) -> Option<u8> {
        if self.loose(id).is_some() {
            return None;
        }
        self.layer(id.layer).tables.tile_mode(id.entry)
    }

    /// The fault of a file whose suspect bytes were served. It is returned once, for the log.
    pub fn take_salvaged(&self, id: EntryId) -> Option<EntryError> {
        // Loose files are never suspect.
        if !self.salvages || self.loose(id).is_some() {
            return None;
        }
        let error = self.shared.salvaged.take((self.layer(id.layer).number, id.entry))?;
        Some(EntryError { entry: id, ..error })
    }

    /// Makes the error of a failed read of an extent, and counts it.
    pub(super) fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> EntryError {
        self.fault_at(entry, self.layer(entry.layer).tables.extent(index).offset, reason)
    }

    /// Makes the error of a read that failed at an offset of the archive, and counts it.
    pub(super) fn fault_at(&self, entry: EntryId, at: u64, reason: Reason) -> EntryError {
        let is_new = self.layer(entry.layer).faults.is_new(entry.entry, &reason);
        self.count_fault();
        EntryError { entry, at, reason, is_new }
    }

    /// Counts a failed read.
    pub(super) fn count_fault(&self) {
        self.shared.counters.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// The loose files of the file's layer; `None` if the layer is an archive.
    pub(super) fn loose(&self, id: EntryId) -> Option<&LooseFiles> {
        self.content(id.layer).folder()
    }

    /// The archive of a layer. If the layer may be a folder, the caller checks [`Store::loose`] first.
    pub(super) fn layer(&self, layer: u16) -> &ArchiveContent {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer,
            LayerContent::Folder(_) => unreachable!("a loose file has no extents"),
        }
    }

    pub(super) fn content(&self, layer: u16) -> &LayerContent {
        &self.layers[usize::from(layer)]
    }
}
