//! Counts the extents that end past the end of an archive, and those that have data at all.

use super::extent::{Codec, Extent};
use crate::note::{NoteCode, Notes};

/// How many bytes a packer states too much: the size word, which pybsa counts twice.
const OVERSTATED_MAX: u64 = 4;

#[derive(Debug)]
pub(super) struct PastEnd {
    /// Length of the archive in bytes.
    len: u64,
    /// How many extents end past the end.
    count: u32,
    /// How many of those are packed and may be whole, because only a few bytes are not there.
    may_be_whole: u32,
    all: u32,
    has_data: bool,
}

impl PastEnd {
    pub(super) fn new(len: u64) -> Self {
        Self { len, count: 0, may_be_whole: 0, all: 0, has_data: false }
    }

    pub(super) fn check(&mut self, extent: &Extent) {
        let end = extent.offset.saturating_add(u64::from(extent.packed));
        if let Some(excess @ 1..) = end.checked_sub(self.len) {
            let may_be_whole =
                excess <= OVERSTATED_MAX && extent.offset < self.len && extent.codec != Codec::Stored;
            self.count = self.count.saturating_add(1);
            self.may_be_whole = self.may_be_whole.saturating_add(u32::from(may_be_whole));
        }
        self.all = self.all.saturating_add(1);
        self.has_data |= extent.packed > 0 || extent.offset > 0;
    }

    /// Adds a note if there were any. `thing` is the user's word for an extent.
    pub(super) fn add_note(&self, notes: &mut Notes, thing: &str) {
        let Self { len, count, may_be_whole, all, has_data } = self;
        let counted = |count: u32| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
        if *all > 0 && !has_data {
            notes.add_at(NoteCode::ArchiveUnfinished, 0, || {
                let verb = if *all == 1 { "has" } else { "have" };
                format!(
                    "the archive was never finished: all {} {verb} the size 0 and the offset 0; pack or \
                     download it again",
                    counted(*all)
                )
            });
        }
        if *count == 0 {
            return;
        }
        if may_be_whole == count {
            notes.add_at(NoteCode::LengthWrong, *len, || {
                format!(
                    "the stated length of {} passes the end of the archive by at most {OVERSTATED_MAX} \
                     bytes; `bsafs verify` says whether the data is whole",
                    counted(*count)
                )
            });
        } else {
            notes.add_at(NoteCode::ArchiveCutOff, *len, || {
                format!(
                    "the archive seems cut off: the data of {} lies beyond its end; download or copy it \
                     again",
                    counted(*count)
                )
            });
        }
    }
}
