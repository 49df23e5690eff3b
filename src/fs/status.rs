//! The daemon's status, as `bsafs status` and the benchmark read it.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::last_reload::LastReload;
use super::view::View;
use crate::system::clock::unix_seconds;

/// The daemon's status. Counts are since the mount.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The process ID.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Whole seconds since the mount.
    pub uptime: u64,
    /// When it was mounted, in seconds since 1970; 0 where the daemon is of a version that does not tell.
    #[serde(default)]
    pub since: u64,
    /// Archives that are mounted.
    pub archives: usize,
    /// Files that are visible; those hidden by later archives are not counted.
    pub files: usize,
    /// The kernel's requests by operation. Those for this status are counted as `status`.
    pub requests: BTreeMap<String, u64>,
    /// The cache of decoded extents.
    pub cache: CacheStatus,
    /// Bytes that were decoded from packed extents.
    pub decoded_bytes: u64,
    /// Bytes read from archives, without their tables.
    pub read_bytes: u64,
    /// Reads that failed.
    pub errors: u64,
    /// Views that were served before the current one.
    #[serde(default)]
    pub views: u32,
    /// How the last reload went.
    #[serde(default)]
    pub last_reload: LastReload,
}

/// The cache of decoded extents.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct CacheStatus {
    /// Bytes in it now.
    pub bytes: u64,
    /// Bytes beyond which extents are evicted (`--cache-size`).
    pub budget: u64,
    /// Reads that found their extent in it.
    pub hits: u64,
}

impl Status {
    pub(crate) fn of(fs: &View) -> Self {
        let (bytes, budget) = fs.store.cached_bytes();
        Self {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: fs.shared.started.elapsed().as_secs(),
            since: unix_seconds(fs.shared.since),
            archives: fs.store.layers(),
            files: fs.tree.files(),
            requests: fs.shared.requests.by_operation(),
            cache: CacheStatus { bytes, budget, hits: fs.store.cache_hits() },
            decoded_bytes: fs.store.decoded_bytes(),
            read_bytes: fs.store.bytes_read(),
            errors: fs.store.faults(),
            views: fs.shared.announced.load(Ordering::Relaxed),
            last_reload: fs.shared.last_reload.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// As one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
