//! All extents of one archive in 16 bytes each, for a mount may hold millions: a size that only the data tells takes
//! its place once it is known, and the few ways in which an archive packs are written down once.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::format::{Archive, Codec, Extent, ExtentPrefix};

/// A size that nobody asked for yet.
const UNKNOWN: u32 = u32::MAX;
/// Bits of an offset that are kept; no file is larger. The others number the manner.
const OFFSET_BITS: u32 = 56;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// The extents of one archive, entry by entry.
#[derive(Debug)]
pub(super) struct Extents {
    slots: Vec<Slot>,
    manners: Vec<Manner>,
    /// Where each entry's extents begin, and one more place where the last one's end; empty where each entry has one.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    offset_and_manner: u64,
    packed: u32,
    size: AtomicU32,
}

/// A way of packing. Codecs and leads make fewer of them than a byte can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    codec: Codec,
    prefix: ExtentPrefix,
    /// Whether the archive's tables tell the size.
    is_sized: bool,
}

impl Extents {
    /// Takes the extents of an archive. Counts are bounded by the archive's length, so that 32 bits hold them.
    pub(super) fn new(archive: &Archive<'_>) -> Self {
        let mut manners = Vec::new();
        let mut slots = Vec::with_capacity(archive.files.len());
        for extent in archive.extents() {
            let manner =
                Manner { codec: extent.codec, prefix: extent.prefix, is_sized: extent.size.is_some() };
            let number = manners.iter().position(|known| *known == manner).unwrap_or_else(|| {
                manners.push(manner);
                manners.len() - 1
            });
            // An offset that does not fit lies beyond the end of any file, and still does.
            let offset = extent.offset.min(OFFSET_MASK);
            slots.push(Slot {
                offset_and_manner: offset | (number as u64) << OFFSET_BITS,
                packed: extent.packed,
                size: AtomicU32::new(extent.size.unwrap_or(UNKNOWN)),
            });
        }
        slots.shrink_to_fit();
        let starts = starts(archive, slots.len());
        Self { slots, manners, starts }
    }

    /// Which extents are an entry's; none of an entry that does not exist.
    pub(super) fn of(&self, entry: u32) -> Range<u32> {
        let place = entry as usize;
        if self.starts.is_empty() {
            return if place < self.slots.len() { entry..entry + 1 } else { 0..0 };
        }
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// An extent, its size included if it is known by now.
    pub(super) fn get(&self, index: u32) -> Extent {
        let slot = &self.slots[index as usize];
        let manner = self.manners[(slot.offset_and_manner >> OFFSET_BITS) as usize];
        let size = slot.size.load(Ordering::Relaxed);
        Extent {
            offset: slot.offset_and_manner & OFFSET_MASK,
            packed: slot.packed,
            size: (manner.is_sized || size != UNKNOWN).then_some(size),
            codec: manner.codec,
            prefix: manner.prefix,
        }
    }

    /// Keeps a size that the data told.
    pub(super) fn learn(&self, index: u32, size: u32) {
        self.slots[index as usize].size.store(size, Ordering::Relaxed);
    }
}

/// Never beyond the `most` extents that there are, even if the archive is overwritten in this moment.
fn starts(archive: &Archive<'_>, most: usize) -> Vec<u32> {
    if archive.files.has_one_extent_each() {
        return Vec::new();
    }
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let mut next = 0_u32;
    let mut starts = Vec::with_capacity(archive.files.len() + 1);
    starts.push(0);
    for entry in archive.entries() {
        next = next.saturating_add(u32::from(entry.extents)).min(most);
        starts.push(next);
    }
    starts
}
