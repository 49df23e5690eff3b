//! Makes the errors of failed reads, and counts them.

use std::sync::atomic::Ordering;

use super::error::{EntryError, Reason};
use super::store::Store;
use crate::format::EntryId;

impl Store {
    /// Makes the error of a failed read of an extent, and counts it.
    pub(super) fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> EntryError {
        let layer = self.layer(entry.layer);
        let is_new = layer.faults.is_new(entry.entry, &reason);
        let error = EntryError { entry, at: layer.extent(index).offset, reason, is_new };
        self.count_fault();
        error
    }

    /// Counts a failed read.
    pub(super) fn count_fault(&self) {
        self.shared.counters.faults.fetch_add(1, Ordering::Relaxed);
    }
}
