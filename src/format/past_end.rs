//! Counts the extents that end past the end of an archive.

use super::extent::Extent;
use crate::note::{NoteCode, Notes};

/// Counts the extents that end past the end of an archive.
#[derive(Debug)]
pub(super) struct PastEnd {
    /// Length of the archive in bytes.
    len: u64,
    count: u32,
}

impl PastEnd {
    pub(super) fn new(len: u64) -> Self {
        Self { len, count: 0 }
    }

    pub(super) fn check(&mut self, extent: &Extent) {
        let is_past_end = extent.offset.saturating_add(u64::from(extent.packed)) > self.len;
        self.count = self.count.saturating_add(u32::from(is_past_end));
    }

    /// Adds a note if there were any. `things` is the user's word for extents.
    pub(super) fn add_note(&self, notes: &mut Notes, things: &str) {
        let Self { len, count } = self;
        if *count > 0 {
            notes.add_at(NoteCode::ArchiveCutOff, *len, || {
                format!(
                    "the archive seems cut off: the data of {count} {things} lies beyond its end; download \
                     or copy it again"
                )
            });
        }
    }
}
