//! The content of all archives and folders that were opened together: their layers, one cache, and what was counted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use super::archive_content::{ArchiveContent, LayerTables};
use super::buffer;
use super::cache::Cache;
use super::codec;
use super::error::{EntryError, Reason};
use super::fault_log::Salvaged;
use super::loose::LooseFiles;
use super::memory::{LARGE, MemoryLimit, Reservation};
use crate::archive_file::ArchiveFile;
use crate::folder::{LooseFolder, system_time};
use crate::format::{Codec, EntryId, Head, Limits};

/// The bytes of all layers.
#[derive(Debug)]
pub struct Store {
    pub(super) layers: Vec<Arc<LayerContent>>,
    pub(super) shared: Arc<Shared>,
    /// Whether suspect bytes are served.
    pub(super) salvages: bool,
}

/// What the stores of all views of a mount have together.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) cache: Cache<Reason>,
    /// Of large decoded extents, cached ones included: the largest that is accepted fits.
    memory: Arc<MemoryLimit>,
    /// Of large packed extents, by device.
    packed: Mutex<HashMap<u64, Arc<MemoryLimit>>>,
    pub(super) limits: Limits,
    pub(super) counters: Counters,
    pub(super) salvaged: Salvaged,
    /// The number of the next archive that is opened.
    next_source: AtomicU32,
}

/// The bytes of one layer.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a mount has some thousand layers at most, and reads go through them"
)]
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
}

/// What was done so far. Each count is exact; two of them may be of different moments.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Bytes decoded.
    pub(super) decoded: AtomicU64,
    /// Reads that failed.
    pub(super) faults: AtomicU64,
}

/// How a file is packed, for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The codec of the file's extents; of several, the first that is not stored.
    pub codec: Codec,
    /// Bytes that they take in the archive.
    pub packed: u64,
}

impl Store {
    /// An empty store whose cache holds `cache_size` bytes of decoded extents, and for a moment 256 MiB more, or one extent
    /// where that is larger.
    pub fn new(cache_size: u64, limits: Limits) -> Self {
        let (packed, counters, salvaged, next_source) = Default::default();
        let (cache, memory) = (Cache::new(cache_size), MemoryLimit::new(u64::from(limits.extent)));
        let shared = Shared { cache, memory, packed, limits, counters, salvaged, next_source };
        Self { layers: Vec::new(), shared: Arc::new(shared), salvages: false }
    }

    /// The same, and whether it serves bytes that are [suspect](codec::DecodeError::Suspect) instead of an error.
    #[must_use]
    pub fn with_salvage(self, is_on: bool) -> Self {
        Self { salvages: is_on, ..self }
    }

    /// What is wrong with a file whose bytes were read all the same; returned once, to be logged.
    pub fn take_salvaged(&self, id: EntryId) -> Option<EntryError> {
        // Loose files are never suspect.
        if !self.salvages || self.loose(id).is_some() {
            return None;
        }
        let error = self.shared.salvaged.take((self.layer(id.layer).number, id.entry))?;
        Some(EntryError { entry: id, ..error })
    }

    /// Adds an archive's content as the next layer.
    pub fn add(&mut self, source: ArchiveFile, tables: LayerTables) {
        let shared = &self.shared;
        let number = shared.next_source.fetch_add(1, Ordering::Relaxed);
        let mut packed = shared.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let packed = packed
            .entry(source.identity().0)
            .or_insert_with(|| MemoryLimit::new(u64::from(shared.limits.packed)))
            .clone();
        self.layers
            .push(Arc::new(LayerContent::Archive(ArchiveContent::new(number, source, tables, packed))));
    }

    /// Adds a folder's content as the next layer.
    pub fn add_folder(&mut self, folder: Arc<LooseFolder>) {
        self.layers.push(Arc::new(LayerContent::Folder(LooseFiles::new(folder))));
    }

    /// The device that a file's bytes are on (`st_dev`).
    pub fn device(&self, id: EntryId) -> u64 {
        match self.content(id.layer) {
            LayerContent::Archive(layer) => layer.source.identity().0,
            LayerContent::Folder(files) => files.folder.device(id.entry),
        }
    }

    /// Device and inode number of each archive and folder.
    pub fn identities(&self) -> Vec<(u64, u64)> {
        let identity = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.source.identity(),
            LayerContent::Folder(files) => files.folder.identity(),
        };
        self.layers.iter().map(|layer| identity(layer)).collect()
    }

    /// Whether two files have the same bytes for certain, without a read: they are one entry of one unchanged archive, which
    /// both stores opened with the same options, or one loose file that both looked at.
    pub fn is_same_file(&self, id: EntryId, other: &Self, other_id: EntryId) -> bool {
        match (self.content(id.layer), other.content(other_id.layer)) {
            (LayerContent::Archive(one), LayerContent::Archive(two)) => {
                let state = |layer: &ArchiveContent| {
                    let source = &layer.source;
                    (source.identity(), source.modified(), source.len())
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

    /// How many layers there are.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The path of a layer's archive or folder.
    pub fn path(&self, layer: u16) -> &Path {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer.source.path(),
            LayerContent::Folder(files) => files.folder.path(),
        }
    }

    /// Whether a layer is a folder of loose files.
    pub fn is_folder(&self, layer: u16) -> bool {
        self.content(layer).folder().is_some()
    }

    /// When a layer's archive or folder was last changed before it was opened.
    pub fn modified(&self, layer: u16) -> SystemTime {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer.source.modified(),
            LayerContent::Folder(files) => system_time(files.folder.modified()),
        }
    }

    /// When a file was last changed: its archive, or the file itself, where it is a loose one that was looked at.
    pub fn file_modified(&self, id: EntryId) -> SystemTime {
        let known = self.loose(id).and_then(|files| files.folder.known(id.entry));
        known.map_or_else(|| self.modified(id.layer), |stat| system_time(stat.modified))
    }

    /// Bytes that all archives take on the disk, and all loose files that were looked at.
    pub fn archive_bytes(&self) -> u64 {
        let bytes = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.source.len(),
            LayerContent::Folder(files) => files.folder.known_bytes(),
        };
        self.layers.iter().map(|layer| bytes(layer)).sum()
    }

    /// Brings the cache back to its size where readers did not come back for what is beyond, and gives back the memory that
    /// was not used since the last call; returns whether that was all.
    pub fn trim(&self) -> bool {
        let is_trimmed = self.shared.cache.trim(Instant::now());
        buffer::release() && is_trimmed
    }

    /// Whether there is something for [`Store::trim`].
    pub fn needs_trim(&self) -> bool {
        self.shared.cache.is_over_budget() || buffer::is_used()
    }

    /// Bytes of decoded extents in the cache, and the most that it may hold for longer than a moment.
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.shared.cache.bytes(), self.shared.cache.budget())
    }

    /// Bytes decoded so far, prefixes included.
    pub fn decoded_bytes(&self) -> u64 {
        self.shared.counters.decoded.load(Ordering::Relaxed)
    }

    /// Reads so far that were answered from the cache.
    pub fn cache_hits(&self) -> u64 {
        self.shared.cache.hits()
    }

    /// Reads so far that failed.
    pub fn faults(&self) -> u64 {
        self.shared.counters.faults.load(Ordering::Relaxed)
    }

    /// Bytes read from all archives and loose files so far, the mapped tables not counted.
    pub fn bytes_read(&self) -> u64 {
        let bytes = |layer: &LayerContent| match layer {
            LayerContent::Archive(layer) => layer.source.bytes_read(),
            LayerContent::Folder(files) => files.folder.bytes_read(),
        };
        self.layers.iter().map(|layer| bytes(layer)).sum()
    }

    /// Where a file's data begins, in bytes from the start of its archive; 0 where it has none, and of loose files.
    pub fn offset(&self, id: EntryId) -> u64 {
        if self.loose(id).is_some() {
            return 0;
        }
        let layer = self.layer(id.layer);
        layer.extents(id.entry).next().map_or(0, |index| layer.extent(index).offset)
    }

    /// How a file is packed. A loose file that nobody looked at takes 0 bytes.
    pub fn packing(&self, id: EntryId) -> Packing {
        if let Some(files) = self.loose(id) {
            return Packing { codec: Codec::Stored, packed: files.known_size(id.entry).unwrap_or(0) };
        }
        let layer = self.layer(id.layer);
        let extents = layer.extents(id.entry).map(|index| layer.extent(index));
        let codec = extents.clone().map(|extent| extent.codec).find(|&codec| codec != Codec::Stored);
        Packing {
            codec: codec.unwrap_or(Codec::Stored),
            packed: extents.map(|extent| u64::from(extent.packed)).sum(),
        }
    }

    /// The header that is put in front of a file.
    pub fn head(&self, id: EntryId) -> Head {
        if self.loose(id).is_some() {
            return Head::None;
        }
        self.layer(id.layer).head(id.entry)
    }

    /// The tile mode in which a texture's texels are shown; `None` where they are linear. Reads no data.
    pub fn tile_mode(&self, id: EntryId) -> Option<u8> {
        if self.loose(id).is_some() {
            return None;
        }
        self.layer(id.layer).tile_mode(id.entry)
    }

    /// The loose files that a file is one of; `None` where it is in an archive.
    pub(super) fn loose(&self, id: EntryId) -> Option<&LooseFiles> {
        self.content(id.layer).folder()
    }

    /// A layer that is an archive; what concerns loose files asks [`Store::loose`] first.
    pub(super) fn layer(&self, layer: u16) -> &ArchiveContent {
        match self.content(layer) {
            LayerContent::Archive(layer) => layer,
            LayerContent::Folder(_) => unreachable!("a loose file has no extents"),
        }
    }

    pub(super) fn content(&self, layer: u16) -> &LayerContent {
        &self.layers[usize::from(layer)]
    }

    /// Counts a read that failed.
    pub(super) fn count_fault(&self) {
        self.shared.counters.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses an unpacked size that the packed bytes cannot become, packed bytes that it cannot need or that the archive does
    /// not have, and either beyond its limit. Asked before anything of these sizes is allocated.
    pub(super) fn check_size(&self, layer: u16, index: u32, size: u32) -> Result<(), Reason> {
        let layer = self.layer(layer);
        let extent = layer.extent(index);
        let packed = u64::from(extent.packed);
        if u64::from(size) > codec::max_unpacked(extent.codec, packed) || size > self.shared.limits.extent {
            return Err(Reason::UnpackedSize(size));
        }
        if extent.offset.saturating_add(packed) > layer.source.len() {
            return Err(Reason::BeyondEnd);
        }
        let is_stored = extent.codec == Codec::Stored;
        if !is_stored && (extent.packed > self.shared.limits.packed || packed > codec::max_packed(size)) {
            return Err(Reason::PackedSize(extent.packed));
        }
        Ok(())
    }

    /// A share of the memory for so many decoded bytes, if these are many. Waits for other threads that decode, for
    /// which cached extents are evicted; no thread that has a share waits for a device.
    pub(super) fn reserve(&self, len: usize) -> Option<Reservation> {
        (len >= LARGE).then(|| self.shared.memory.reserve(len as u64, || self.shared.cache.evict_shared()))
    }

    /// The error of a read of an extent, which is counted.
    pub(super) fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> EntryError {
        let layer = self.layer(entry.layer);
        let is_new = layer.is_new_fault(entry.entry, &reason);
        let error = EntryError { entry, at: layer.extent(index).offset, reason, is_new };
        self.count_fault();
        error
    }
}
