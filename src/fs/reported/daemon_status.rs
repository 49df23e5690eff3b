//! The daemon's status, as `bsafs status` and the benchmark read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The daemon's status. Counts are since the mount.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    /// Process ID.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Whole seconds since the mount.
    pub uptime: u64,
    /// Time of the mount, in seconds since 1970; 0 if the daemon's version does not report it.
    #[serde(default)]
    pub since: u64,
    /// Number of mounted archives.
    pub archives: usize,
    /// Number of archives by the encoding of their names, without those whose names are ASCII.
    #[serde(default)]
    pub encodings: BTreeMap<String, usize>,
    /// Number of mounted folders of loose files.
    #[serde(default)]
    pub folders: usize,
    /// Number of visible files, without those that later layers hide.
    pub files: usize,
    /// The kernel's requests by operation. Requests for this status are counted as `status`.
    pub requests: BTreeMap<String, u64>,
    /// The cache of decoded extents.
    pub cache: CacheStatus,
    /// Bytes decoded from packed extents.
    pub decoded_bytes: u64,
    /// Bytes read from archives and loose files, without the tables of archives.
    pub read_bytes: u64,
    /// Number of reads that failed.
    pub errors: u64,
    /// Number of views that were served before the current one.
    #[serde(default)]
    pub views: u32,
    /// How the last reload went.
    #[serde(default)]
    pub last_reload: LastReload,
    /// How the disk is watched.
    #[serde(default)]
    pub watches: WatchCounts,
    /// Number of names that changed on the disk and are not shown yet.
    #[serde(default)]
    pub pending_names: usize,
}

/// Maximum number of seconds between two checks of a folder for which the user has no watch left.
pub const POLLING_INTERVAL: u32 = 28;
/// Minimum number of folders to check in a second, if there are as many.
const CHECKED_PER_SECOND: usize = 100;

/// Number of seconds between two checks of each of `folders` folders without a watch.
pub fn polling_interval(folders: usize) -> u32 {
    u32::try_from(folders.div_ceil(CHECKED_PER_SECOND)).unwrap_or(u32::MAX).clamp(1, POLLING_INTERVAL)
}

/// How many folders are watched for changes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct WatchCounts {
    /// Folders whose changes the system reports.
    pub watched: usize,
    /// How many of these are watched because programs use them through the mount.
    #[serde(default)]
    pub used: usize,
    /// Folders that are checked every [`POLLING_INTERVAL`], because the user has no watches left for them.
    pub polled: usize,
    /// Why these have no watch; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_polled: String,
}

/// The cache of decoded extents.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct CacheStatus {
    /// Bytes in the cache now.
    pub bytes: u64,
    /// Size in bytes beyond which extents are evicted (`--cache-size`).
    pub budget: u64,
    /// Number of reads that found their extent in the cache.
    pub hits: u64,
}

/// How a reload went.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LastReload {
    /// Number of reloads so far, including those that found no change or failed.
    pub count: u64,
    /// When the last reload ended, in whole seconds since 1970.
    pub at: u64,
    /// What the last reload changed, or why it failed.
    pub what: String,
    /// Whether the last reload failed. The daemon then goes on serving the previous view.
    pub is_failed: bool,
    /// Whether another reload is running.
    #[serde(default)]
    pub is_running: bool,
    /// When the last reload began, or the running one; in whole seconds since 1970.
    #[serde(default)]
    pub began: u64,
}

impl LastReload {
    /// Whether this reload began after another one.
    pub(crate) fn began_after(&self, other: &Self) -> bool {
        // A reload that is running has the count of the last one that ended.
        self.count + u64::from(self.is_running) > other.count + u64::from(other.is_running)
    }
}

impl DaemonStatus {
    /// Formats the status as one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
