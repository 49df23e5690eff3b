//! Counts the extents that end past the end of an archive, and those that have data at all.

use super::extent::Extent;
use crate::note::{NoteCode, Notes};

/// Counts the extents that end past the end of an archive, and those that have data at all.
#[derive(Debug)]
pub(super) struct PastEnd {
    /// Length of the archive in bytes.
    len: u64,
    count: u32,
    all: u32,
    has_data: bool,
}

impl PastEnd {
    pub(super) fn new(len: u64) -> Self {
        Self { len, count: 0, all: 0, has_data: false }
    }

    pub(super) fn check(&mut self, extent: &Extent) {
        let is_past_end = extent.offset.saturating_add(u64::from(extent.packed)) > self.len;
        self.count = self.count.saturating_add(u32::from(is_past_end));
        self.all = self.all.saturating_add(1);
        self.has_data |= extent.packed > 0 || extent.offset > 0;
    }

    /// Adds a note if there were any. `things` is the user's word for extents.
    pub(super) fn add_note(&self, notes: &mut Notes, things: &str) {
        let Self { len, count, all, has_data } = self;
        if *all > 0 && !has_data {
            notes.add_at(NoteCode::ArchiveUnfinished, 0, || {
                format!(
                    "the archive was never finished: all {all} {things} have the size 0 and the offset 0; \
                     pack or download it again"
                )
            });
        }
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
