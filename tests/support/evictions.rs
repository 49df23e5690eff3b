//! What the kernel evicted from its caches, so that a test can tell an eviction from an invalidation by bsafs.
//!
//! Some machines evict pages that were idle for less than a second while most memory is free: DAMON does it in virtual
//! machines. The kernel counts an evicted page when a program reads it again, and counts no page that bsafs invalidated.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::fs;
use std::thread;
use std::time::Duration;

/// How much the kernel had evicted at some time: pages that were read again, inodes, and drops of all caches. It counts
/// those of the whole machine.
pub struct Evictions(u64);

impl Evictions {
    /// What it counts now.
    pub fn so_far() -> Self {
        let counts = fs::read_to_string("/proc/vmstat").unwrap();
        let count = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            let names = ["drop_", "pginodesteal", "kswapd_inodesteal", "workingset_refault"];
            names.iter().any(|it| name.starts_with(it)).then(|| value.parse::<u64>().unwrap())
        };
        Self(counts.lines().filter_map(count).sum())
    }

    /// How much more it is by now. Each processor adds what it counted only once a second.
    pub fn since(&self) -> u64 {
        thread::sleep(Duration::from_secs(3));
        Self::so_far().0 - self.0
    }
}
