//! The content of all archives that were opened together: their layers, one cache, and what was counted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use super::cache::Cache;
use super::codec;
use super::error::{ReadError, Reason};
use super::large;
use super::layer::{Layer, LayerTables};
use super::memory::{LARGE, Memory, Share};
use super::salvage::Salvage;
use crate::format::{Codec, EntryId, Head, Limits};
use crate::source::Source;

/// The bytes of all layers.
#[derive(Debug)]
pub struct Store {
    pub(super) layers: Vec<Layer>,
    pub(super) cache: Cache<Reason>,
    /// Of large decoded extents, cached ones included: the largest that is accepted fits.
    memory: Arc<Memory>,
    pub(super) limits: Limits,
    pub(super) counters: Counters,
    /// `None` where suspect bytes are an error.
    pub(super) salvage: Option<Salvage>,
}

/// What was done so far. Each count is exact; two of them may be of different moments.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Bytes decoded.
    pub(super) decoded: AtomicU64,
    /// Answers from the cache.
    pub(super) hits: AtomicU64,
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
        let (cache, counters) = (Cache::new(cache_size), Counters::default());
        let memory = Memory::new(u64::from(limits.extent));
        Self { layers: Vec::new(), cache, memory, limits, counters, salvage: None }
    }

    /// The same, and whether it serves bytes that are [suspect](codec::DecodeError::Suspect) instead of an error.
    #[must_use]
    pub fn with_salvage(self, is_on: bool) -> Self {
        Self { salvage: is_on.then(Salvage::default), ..self }
    }

    /// What is wrong with a file whose bytes were read all the same; returned once, to be logged.
    pub fn take_salvaged(&self, id: EntryId) -> Option<ReadError> {
        self.salvage.as_ref()?.take(id)
    }

    /// Adds an archive's content as the next layer.
    pub fn add(&mut self, source: Source, tables: LayerTables) {
        let device = source.identity().0;
        let of_device = self.layers.iter().find(|layer| layer.source.identity().0 == device);
        let packed = of_device
            .map_or_else(|| Memory::new(u64::from(self.limits.packed)), |layer| layer.packed_memory.clone());
        self.layers.push(Layer::new(source, tables, packed));
    }

    /// The device that a layer's archive is on (`st_dev`).
    pub fn device(&self, layer: u16) -> u64 {
        self.layer(layer).source.identity().0
    }

    /// Device and inode number of each archive.
    pub fn identities(&self) -> Vec<(u64, u64)> {
        self.layers.iter().map(|layer| layer.source.identity()).collect()
    }

    /// How many layers there are.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The path of a layer's archive.
    pub fn path(&self, layer: u16) -> &Path {
        self.layer(layer).source.path()
    }

    /// When a layer's archive was last changed before it was opened.
    pub fn modified(&self, layer: u16) -> SystemTime {
        self.layer(layer).source.modified()
    }

    /// Bytes that all archives take on the disk.
    pub fn archive_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.source.len()).sum()
    }

    /// Brings the cache back to its size where readers did not come back for what is beyond, and gives back the memory that
    /// was not used since the last call; returns whether that was all.
    pub fn trim(&self) -> bool {
        let is_trimmed = self.cache.trim(Instant::now());
        large::release() && is_trimmed
    }

    /// Whether there is something for [`Store::trim`].
    pub fn is_to_be_trimmed(&self) -> bool {
        self.cache.is_over_budget() || large::is_used()
    }

    /// Bytes of decoded extents in the cache, and the most that it may hold for longer than a moment.
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.cache.bytes(), self.cache.budget())
    }

    /// Bytes decoded so far, prefixes included.
    pub fn decoded_bytes(&self) -> u64 {
        self.counters.decoded.load(Ordering::Relaxed)
    }

    /// Reads so far that were answered from the cache.
    pub fn cache_hits(&self) -> u64 {
        self.counters.hits.load(Ordering::Relaxed)
    }

    /// Reads so far that failed.
    pub fn faults(&self) -> u64 {
        self.counters.faults.load(Ordering::Relaxed)
    }

    /// Bytes read from all archives so far, the mapped tables not counted.
    pub fn bytes_read(&self) -> u64 {
        self.layers.iter().map(|layer| layer.source.bytes_read()).sum()
    }

    /// Where a file's data begins, in bytes from the start of its archive; 0 where it has none.
    pub fn offset(&self, id: EntryId) -> u64 {
        let layer = self.layer(id.layer);
        layer.extents(id.entry).next().map_or(0, |index| layer.extent(index).offset)
    }

    /// How a file is packed.
    pub fn packing(&self, id: EntryId) -> Packing {
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
        self.layer(id.layer).head(id.entry)
    }

    /// The tile mode in which a texture's texels are shown; `None` where they are linear. Reads no data.
    pub fn tile_mode(&self, id: EntryId) -> Option<u8> {
        self.layer(id.layer).tile_mode(id.entry)
    }

    pub(super) fn layer(&self, layer: u16) -> &Layer {
        &self.layers[usize::from(layer)]
    }

    /// Refuses an unpacked size that the packed bytes cannot become, packed bytes that it cannot need or that the archive does
    /// not have, and either beyond its limit. Asked before anything of these sizes is allocated.
    pub(super) fn check_size(&self, layer: u16, index: u32, size: u32) -> Result<(), Reason> {
        let layer = self.layer(layer);
        let extent = layer.extent(index);
        let packed = u64::from(extent.packed);
        if u64::from(size) > codec::most(extent.codec, packed) || size > self.limits.extent {
            return Err(Reason::Size(size));
        }
        if extent.offset.saturating_add(packed) > layer.source.len() {
            return Err(Reason::Beyond);
        }
        let is_stored = extent.codec == Codec::Stored;
        if !is_stored && (extent.packed > self.limits.packed || packed > codec::most_packed(size)) {
            return Err(Reason::Packed(extent.packed));
        }
        Ok(())
    }

    /// A share of the memory for so many decoded bytes, where these are large. Waits for others who decode, for whom cached
    /// extents give way; nobody who has one waits for a device.
    pub(super) fn share(&self, len: usize) -> Option<Share> {
        (len >= LARGE).then(|| self.memory.take(len as u64, || self.cache.evict_large()))
    }

    /// The error of a read of an extent, which is counted.
    pub(super) fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> ReadError {
        self.counters.faults.fetch_add(u64::from(reason != Reason::OutOfReach), Ordering::Relaxed);
        let layer = self.layer(entry.layer);
        let is_new = layer.is_new_fault(entry.entry, &reason);
        ReadError { entry, at: layer.extent(index).offset, reason, is_new }
    }
}
