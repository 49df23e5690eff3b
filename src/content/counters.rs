//! Counts of what was done, for `bsafs status` and tests; they only grow.

use std::sync::atomic::{AtomicU64, Ordering};

/// Each count is exact; two of them may be of different moments.
#[derive(Debug, Default)]
pub(super) struct Counters {
    decoded: AtomicU64,
    hits: AtomicU64,
    faults: AtomicU64,
}

impl Counters {
    /// Counts decoded bytes.
    pub(super) fn add_decoded(&self, bytes: usize) {
        self.decoded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts an answer from the cache.
    pub(super) fn add_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a read that failed.
    pub(super) fn add_fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(super) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }
}
