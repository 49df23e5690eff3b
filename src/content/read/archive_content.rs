//! The content of one archive: its file, its tables, and what was learnt of its extents.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::resources::Resources;
use crate::archive_file::ArchiveFile;
use crate::content::cache::MemoryLimit;
use crate::content::tables::LayerTables;
use crate::format::Extent;
use crate::system::sync::Mutex;

#[derive(Debug)]
pub(crate) struct ArchiveContent {
    /// Unique among all archives of the mount.
    pub(crate) number: u32,
    /// The absolute path. That of the file differs if layers share the file, because they are links to it.
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<ArchiveFile>,
    pub(crate) tables: Arc<LayerTables>,
    pub(crate) shared: Arc<Resources>,
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
        shared: Arc<Resources>,
    ) -> Self {
        Self {
            number: shared.next_archive(),
            packed_memory: shared.packed_memory(file.identity().device),
            path,
            file,
            tables,
            shared,
            bad_prefixes: Mutex::default(),
            has_odd_prefix: AtomicBool::new(false),
        }
    }

    /// Whether both are the same archive, shown in the same form, and it did not change since it was opened.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.tables.textures() == other.tables.textures() && self.file.is_same(&other.file)
    }

    /// Number of bytes of an extent that the archive has.
    pub(crate) fn available(&self, extent: &Extent) -> u64 {
        u64::from(extent.packed).min(self.file.len().saturating_sub(extent.offset))
    }
}
