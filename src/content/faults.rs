//! Makes the errors of failed reads, and counts them.

use std::sync::atomic::Ordering;

use super::error::{EntryError, Reason};
use super::store::Store;
use crate::format::EntryId;

impl Store {
    /// The fault of a file whose suspect bytes were served. It is returned once, for the log.
    pub fn take_salvaged(&self, id: EntryId) -> Option<EntryError> {
        // Loose files are never suspect.
        if !self.salvages || self.loose(id).is_some() {
            return None;
        }
        let error = self.shared.salvaged.take((self.layer(id.layer).number, id.entry))?;
        Some(EntryError { entry: id, ..error })
    }

    /// Makes the error of a failed read of an extent, and counts it.
    pub(super) fn fault(&self, entry: EntryId, index: u32, reason: Reason) -> EntryError {
        self.fault_at(entry, self.layer(entry.layer).extent(index).offset, reason)
    }

    /// Makes the error of a read that failed at an offset of the archive, and counts it.
    pub(super) fn fault_at(&self, entry: EntryId, at: u64, reason: Reason) -> EntryError {
        let is_new = self.layer(entry.layer).faults.is_new(entry.entry, &reason);
        self.count_fault();
        EntryError { entry, at, reason, is_new }
    }

    /// Counts a failed read.
    pub(super) fn count_fault(&self) {
        self.shared.counters.faults.fetch_add(1, Ordering::Relaxed);
    }
}
