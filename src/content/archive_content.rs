//! The content of one archive: its file, its tables, and what was learnt of it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};

use super::cache::{CacheKey, CachedContent, MemoryLimit};
use super::fault_log::FaultLog;
use super::tables::LayerTables;
use crate::archive_file::ArchiveFile;

/// One archive's content.
#[derive(Debug)]
pub(super) struct ArchiveContent {
    /// Unique among all archives of the mount.
    pub(super) number: u32,
    /// The absolute path. That of the file differs if layers share the file, because they are links to it.
    pub(super) path: PathBuf,
    pub(super) file: Arc<ArchiveFile>,
    pub(super) tables: Arc<LayerTables>,
    /// Limit on large packed extents, shared by all archives on the same device.
    pub(super) packed_memory: Arc<MemoryLimit>,
    pub(super) faults: FaultLog,
    /// Indices of extents whose prefix contradicts itself. Their sizes can never be learnt.
    pub(super) bad_prefixes: Mutex<HashSet<u32>>,
    /// Whether the prefix of an extent contradicted the flags. It is logged once.
    pub(super) has_odd_prefix: AtomicBool,
    /// The kernel's references to inode numbers of this archive: answers that gave it one, minus
    /// those that it forgot.
    pub(super) lookups: AtomicI64,
}

impl ArchiveContent {
    pub(super) fn new(
        number: u32,
        path: PathBuf,
        (file, tables): (Arc<ArchiveFile>, Arc<LayerTables>),
        packed_memory: Arc<MemoryLimit>,
    ) -> Self {
        let (faults, bad_prefixes, has_odd_prefix, lookups) = Default::default();
        Self { number, path, file, tables, packed_memory, faults, bad_prefixes, has_odd_prefix, lookups }
    }

    /// Whether both are the same archive, shown in the same form, and it did not change since it was opened.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.tables.textures() == other.tables.textures() && self.file.is_same(&other.file)
    }

    /// The key of an extent in the cache, given its unpacked size.
    pub(super) fn cache_key(&self, index: u32, size: u32) -> CacheKey {
        let content = CachedContent::Extent(self.tables.extent(index).offset);
        CacheKey { archive: self.number, content, size }
    }
}
