//! The content of one archive, and what the archives of all views of a mount share. An extent
//! (`file_extent.rs`) is read through both.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::scattered::{Scattered, WatchedArchive};
use crate::archive_file::{ArchiveFile, ArchiveReadError};
use crate::content::cache::{Cache, LARGE, MemoryLimit, Reservation};
use crate::content::error::{Reason, Salvaged};
use crate::content::layer_tables::LayerTables;
use crate::format::{Extent, Limits};
use crate::system::sync::Mutex;

/// The content of one archive: its file, its tables, and what was learnt of its extents.
#[derive(Debug)]
pub(crate) struct ArchiveContent {
    /// Unique among all archives of the mount.
    pub(crate) number: u32,
    /// The absolute path. That of the file differs if layers share the file, because they are links to it.
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<ArchiveFile>,
    pub(crate) tables: Arc<LayerTables>,
    pub(crate) resources: Arc<Resources>,
    /// The end of the last read.
    pub(super) position: AtomicU64,
    /// Limit on large packed extents, shared by all archives on the same device.
    pub(super) packed_memory: Arc<MemoryLimit>,
    /// Indices of extents whose prefix contradicts itself. Their sizes can never be learnt.
    pub(super) bad_prefixes: Mutex<HashSet<u32>>,
    /// Whether the prefix of an extent contradicted the flags. It is logged once.
    pub(super) has_odd_prefix: AtomicBool,
}

impl ArchiveContent {
    pub(crate) fn new(
        path: PathBuf,
        (file, tables): (Arc<ArchiveFile>, Arc<LayerTables>),
        resources: Arc<Resources>,
    ) -> Self {
        Self {
            number: resources.next_archive(),
            packed_memory: resources.packed_memory(file.identity().device),
            path,
            file,
            tables,
            resources,
            position: AtomicU64::default(),
            bad_prefixes: Mutex::default(),
            has_odd_prefix: AtomicBool::new(false),
        }
    }

    /// Fills `buffer` with the bytes at `offset`. All reads for programs go this way.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ArchiveReadError> {
        let range = offset..offset.saturating_add(buffer.len() as u64);
        self.resources.scattered.watch(self.watched(), range, || self.file.read_exact_at(buffer, offset))
    }

    /// Has the kernel read bytes that will be needed soon, and does not wait for them. Does nothing while the
    /// whole archive is being read ahead, because seeks between would delay that.
    pub(crate) fn request(&self, range: &Range<u64>) {
        if !self.resources.scattered.replaces(self.watched(), range) {
            self.file.request(range);
        }
    }

    fn watched(&self) -> WatchedArchive<'_> {
        WatchedArchive { number: self.number, file: &self.file, position: &self.position }
    }

    /// Whether both are the same archive, shown in the same form, and it did not change since it was opened.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        other.is_of(&self.file, &self.tables)
    }

    /// As [`is_same`](Self::is_same), for an archive that was opened again.
    pub(crate) fn is_of(&self, file: &ArchiveFile, tables: &LayerTables) -> bool {
        self.tables.textures() == tables.textures() && file.is_same(&self.file)
    }

    /// Number of bytes of an extent that the archive has.
    pub(crate) fn available(&self, extent: &Extent) -> u64 {
        u64::from(extent.packed).min(self.file.len().saturating_sub(extent.offset))
    }
}

// The cache, the limits on memory, and counters.

/// What the stores of all views of a mount share.
#[derive(Debug)]
pub(crate) struct Resources {
    pub(crate) cache: Cache<Reason>,
    /// Limit on large decoded extents, cached ones included. The largest extent that is accepted fits.
    memory: Arc<MemoryLimit>,
    /// Limit on large packed extents, by device.
    packed: Mutex<HashMap<u64, Arc<MemoryLimit>>>,
    pub(crate) limits: Limits,
    /// Bytes decoded.
    pub(crate) decoded: AtomicU64,
    pub(crate) faults: AtomicU64,
    /// Threads that decode for readers.
    pub(crate) decoding: Arc<AtomicUsize>,
    /// Whether suspect bytes are served instead of an error.
    salvages: AtomicBool,
    pub(crate) salvaged: Salvaged,
    /// Files whose stream turned out to be longer than declared, by the numbers of archive and entry.
    pub(crate) longer: Mutex<HashSet<(u32, u32)>>,
    /// What is read ahead for programs that read in no order.
    pub(crate) scattered: Arc<Scattered>,
    /// Number of the next archive to be added.
    next_archive: AtomicU32,
}

/// Counts a thread that decodes, until this is dropped.
pub(crate) struct Decoding<'s>(&'s AtomicUsize);

impl Resources {
    /// A cache of `cache_size` bytes, and limits.
    pub(crate) fn new(cache_size: u64, limits: Limits) -> Self {
        Self {
            cache: Cache::new(cache_size),
            memory: MemoryLimit::new(u64::from(limits.extent)),
            packed: Mutex::default(),
            limits,
            decoded: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            decoding: Arc::default(),
            salvages: AtomicBool::new(false),
            salvaged: Salvaged::default(),
            longer: Mutex::default(),
            scattered: Arc::default(),
            next_archive: AtomicU32::new(0),
        }
    }

    /// Whether suspect bytes are served instead of an error.
    pub(crate) fn salvages(&self) -> bool {
        self.salvages.load(Ordering::Relaxed)
    }

    pub(crate) fn set_salvages(&self, is_on: bool) {
        self.salvages.store(is_on, Ordering::Relaxed);
    }

    /// A number for an archive that is added.
    pub(crate) fn next_archive(&self) -> u32 {
        self.next_archive.fetch_add(1, Ordering::Relaxed)
    }

    /// The limit on large packed extents of a device.
    pub(crate) fn packed_memory(&self, device: u64) -> Arc<MemoryLimit> {
        let mut packed = self.packed.lock();
        packed.entry(device).or_insert_with(|| MemoryLimit::new(u64::from(self.limits.packed))).clone()
    }

    /// Reserves memory for `len` decoded bytes; `None` if they are too few to count. Waits until
    /// other threads release theirs, and evicts cached extents to make room. No thread that has a
    /// share waits for a device.
    pub(crate) fn reserve(&self, len: usize) -> Option<Reservation> {
        (len >= LARGE).then(|| self.memory.reserve(len as u64, || self.cache.evict_shared()))
    }

    pub(crate) fn count_decoded(&self, len: usize) {
        self.decoded.fetch_add(len as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts this thread as one that decodes for a reader, until the returned value is dropped.
    pub(crate) fn begin_decoding(&self) -> Decoding<'_> {
        self.decoding.fetch_add(1, Ordering::Relaxed);
        Decoding(&self.decoding)
    }
}

impl Drop for Decoding<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
