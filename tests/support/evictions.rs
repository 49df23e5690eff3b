//! Counts what the kernel evicted from its caches, so that a test can distinguish an eviction from
//! an invalidation by bsafs.
//!
//! Some machines evict pages that were idle for less than a second, although most memory is free.
//! In virtual machines DAMON does that. The kernel counts an evicted page when a program reads it
//! again. It does not count pages that bsafs invalidated.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::fs;
use std::thread;
use std::time::Duration;

/// Asserts that accesses to cached data send no requests. `pass` receives its number, makes the accesses,
/// and returns a description of the requests that they sent. If the kernel evicted something meanwhile,
/// another pass must send none.
pub fn assert_none_sent(mut pass: impl FnMut(u64) -> Option<String>) {
    for nth in 0..10 {
        let evictions = Evictions::so_far();
        let Some(sent) = pass(nth) else { return };
        let evicted = evictions.since();
        assert!(evicted > 0, "bsafs invalidated what did not change; the kernel evicted nothing: {sent}");
        eprintln!("the kernel evicted {evicted} pages on this machine meanwhile: {sent}");
    }
    panic!("every pass sent requests: bsafs invalidates what did not change, or the kernel evicts it");
}

/// The kernel's eviction counters at one moment, as a sum over the whole machine: evicted pages
/// that were read again, evicted inodes, and drops of all caches.
struct Evictions(u64);

impl Evictions {
    /// Reads the counters.
    fn so_far() -> Self {
        let counts = fs::read_to_string("/proc/vmstat").unwrap();
        let count = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            let names = ["drop_", "pginodesteal", "kswapd_inodesteal", "workingset_refault"];
            names.iter().any(|it| name.starts_with(it)).then(|| value.parse::<u64>().unwrap())
        };
        Self(counts.lines().filter_map(count).sum())
    }

    /// The increase since then. It waits first, because each processor adds its counts only once a second.
    fn since(&self) -> u64 {
        thread::sleep(Duration::from_secs(3));
        Self::so_far().0 - self.0
    }
}
