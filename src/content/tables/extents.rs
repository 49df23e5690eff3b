//! All extents of an archive, in 16 bytes each, because a mount may have millions. The few combinations of
//! codec and prefix are stored once. A size that only the data states is filled in when it is read.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::format::{Archive, Codec, Extent, ExtentPrefix};

/// Marks a size that has not been read yet.
const UNKNOWN: u32 = u32::MAX;
/// Bits that store an offset; no file is larger. The other bits store the index of the layout.
const OFFSET_BITS: u32 = 56;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// The extents of one archive, entry by entry.
#[derive(Debug)]
pub(crate) struct ExtentTable {
    records: Vec<ExtentRecord>,
    layouts: Vec<ExtentLayout>,
    /// Index of each entry's first extent, followed by the end of the last entry's extents. Empty
    /// if each entry has one extent.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct ExtentRecord {
    offset_and_layout: u64,
    packed: u32,
    size: AtomicU32,
}

/// Properties that many extents share. A byte can number all combinations of codec and prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExtentLayout {
    codec: Codec,
    prefix: ExtentPrefix,
    /// Whether the archive's tables state the size.
    has_size: bool,
}

impl ExtentTable {
    /// Takes the extents of an archive. The archive's length bounds their count, so it fits 32 bits.
    pub(crate) fn new(archive: &Archive<'_>) -> Self {
        let mut layouts = Vec::new();
        let mut records = Vec::with_capacity(archive.files.len());
        for extent in archive.extents() {
            let Extent { codec, prefix, .. } = extent;
            let layout = ExtentLayout { codec, prefix, has_size: extent.size.is_some() };
            let index = layouts.iter().position(|known| *known == layout).unwrap_or_else(|| {
                layouts.push(layout);
                layouts.len() - 1
            });
            // An offset that does not fit lies beyond the end of any file, and so does the clamped one.
            let offset = extent.offset.min(OFFSET_MASK);
            records.push(ExtentRecord {
                offset_and_layout: offset | (index as u64) << OFFSET_BITS,
                packed: extent.packed,
                size: AtomicU32::new(extent.size.unwrap_or(UNKNOWN)),
            });
        }
        records.shrink_to_fit();
        let starts = starts(archive, records.len());
        Self { records, layouts, starts }
    }

    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// The indices of an entry's extents; empty if there is no such entry.
    pub(crate) fn range(&self, entry: u32) -> Range<u32> {
        let index = entry as usize;
        if self.starts.is_empty() {
            return if index < self.records.len() { entry..entry + 1 } else { 0..0 };
        }
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// An extent. It has a size if the size is known by now.
    pub(crate) fn get(&self, index: u32) -> Extent {
        let record = &self.records[index as usize];
        let layout = self.layouts[(record.offset_and_layout >> OFFSET_BITS) as usize];
        let size = record.size.load(Ordering::Relaxed);
        Extent {
            offset: record.offset_and_layout & OFFSET_MASK,
            packed: record.packed,
            size: (layout.has_size || size != UNKNOWN).then_some(size),
            codec: layout.codec,
            prefix: layout.prefix,
        }
    }

    /// Whether the archive's tables state the sizes of all extents.
    pub(crate) fn states_sizes(&self) -> bool {
        self.layouts.iter().all(|layout| layout.has_size)
    }

    /// Keeps a size that was read from the data. A size that equals the mark for unknown is reduced
    /// by one byte, and is still beyond all limits.
    pub(crate) fn set_size(&self, index: u32, size: u32) {
        self.records[index as usize].size.store(size.min(UNKNOWN - 1), Ordering::Relaxed);
    }
}

/// The first extent of each entry. None is greater than `most`, the number of extents, even if
/// another process is overwriting the archive.
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
