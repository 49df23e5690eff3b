//! What a daemon tells of itself, as `bsafs status` and the benchmark read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::filesystem::FileSystem;

/// A daemon's account of itself. Everything but the cache's bytes is since the mount.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Whole seconds since the mount.
    pub uptime: u64,
    /// How many archives are mounted.
    pub archives: usize,
    /// How many files are seen.
    pub files: usize,
    /// Requests of the kernel by kind. Those about this account are of the kind `status`.
    pub requests: BTreeMap<String, u64>,
    /// The cache of decoded extents.
    pub cache: CacheStatus,
    /// Bytes that packed extents became.
    pub decoded_bytes: u64,
    /// Bytes read from archives, their tables not counted.
    pub read_bytes: u64,
    /// Reads that failed.
    pub errors: u64,
}

/// The state of the cache.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct CacheStatus {
    /// Bytes held.
    pub bytes: u64,
    /// Bytes that may be held.
    pub budget: u64,
    /// Answers from what was held.
    pub hits: u64,
}

impl Status {
    pub(super) fn of(fs: &FileSystem) -> Self {
        let (bytes, budget) = fs.store.cached_bytes();
        Self {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: fs.started.elapsed().as_secs(),
            archives: fs.store.layers(),
            files: fs.tree.files(),
            requests: fs.requests.by_kind(),
            cache: CacheStatus { bytes, budget, hits: fs.store.cache_hits() },
            decoded_bytes: fs.store.decoded_bytes(),
            read_bytes: fs.store.bytes_read(),
            errors: fs.store.faults(),
        }
    }

    /// One line of JSON.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
