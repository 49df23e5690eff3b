//! The daemon's status, as `bsafs status` and the benchmark read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The daemon's status. Counts are since the mount.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    /// The process ID.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Whole seconds since the mount.
    pub uptime: u64,
    /// When it was mounted, in seconds since 1970; 0 if the daemon is of a version that does not report it.
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

/// How a reload went.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LastReload {
    /// Reloads so far, those that found no change or failed among them.
    pub count: u64,
    /// When it ended, in whole seconds since 1970.
    pub at: u64,
    /// What it changed, or why it failed.
    pub what: String,
    /// Whether it failed: the view before is served on.
    pub is_failed: bool,
    /// Whether a further one is under way.
    #[serde(default)]
    pub is_running: bool,
    /// When the last one began, the one that is under way if there is one; in whole seconds since 1970.
    #[serde(default)]
    pub began: u64,
}

impl DaemonStatus {
    /// As one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
