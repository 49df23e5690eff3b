//! Extents that are decoded into the cache before a reader asks for them. [`crate::fs`] decides which.

use super::archive_content::ArchiveContent;
use super::file_extent::FileExtent;
use super::plain_file::PlainFile;
use crate::content::cache::Buffer;
use crate::content::error::Reason;
use crate::format::Codec;
use crate::system::memory;

/// Maximum number of packed bytes that are requested from a disk before a program asks for them, because it
/// may stop.
pub(crate) const REQUESTED_MAX: u64 = 1 << 20;
/// Bytes of memory that must stay free for readers when an extent is decoded ahead.
const LEFT_FOR_READERS: usize = 64 << 20;
/// A size that is not known yet is estimated as so many times the packed length.
const TYPICAL_RATIO: u32 = 2;

impl<'s> PlainFile<'s> {
    /// The packed extents that begin at or after `offset` bytes and are worth decoding ahead, with their
    /// sizes in bytes. A size that is not known yet is estimated.
    pub(crate) fn extents_ahead(self, offset: u64) -> impl Iterator<Item = (FileExtent<'s>, u32)> {
        let mut start = self.head_len();
        self.extents().filter_map(move |extent| {
            let record = extent.record();
            let size = record.size.unwrap_or(record.packed.saturating_mul(TYPICAL_RATIO));
            let is_wanted = start >= offset && min_size(record.codec).is_some_and(|min| size >= min);
            start += u64::from(size);
            is_wanted.then_some((extent, size))
        })
    }
}

impl FileExtent<'_> {
    /// Whether the extent is cached or being decoded into the cache.
    pub(crate) fn is_cached(self) -> bool {
        let size = self.record().size;
        size.is_some_and(|size| self.archive.resources.cache.contains(&self.cache_key(size)))
    }

    /// Decodes the extent into the cache, unless it is cached or being decoded, or there is no room for it.
    /// If that fails, a reader of the extent will get the error.
    pub(crate) fn decode_ahead(self) {
        let Ok(size) = self.checked_size() else { return };
        let len = (self.record().packed as usize).saturating_add(size as usize);
        if !memory::has_room(len.saturating_add(LEFT_FOR_READERS)) {
            return;
        }
        let key = self.cache_key(size);
        let cache = &self.archive.resources.cache;
        cache.decode_ahead(key, || self.payload(), |payload| self.decode_for_cache(key, &payload));
    }
}

/// Minimum size in bytes of an extent that is decoded ahead; `None` if nothing is decoded. For smaller ones,
/// waking a thread costs about as much as decoding, and slows down other readers (`tests/bench/RESULTS.md`).
fn min_size(codec: Codec) -> Option<u32> {
    match codec {
        Codec::Stored | Codec::Unsupported => None,
        Codec::Lz4Frame | Codec::Lz4Block => Some(64 << 10),
        Codec::Zlib | Codec::Xmem | Codec::Lzss | Codec::Detect => Some(32 << 10),
    }
}

// Sizes of many extents that only their prefixes state, by one read.

/// If a program asks for one file after the other, one read learns the sizes of all further extents whose
/// prefixes end within this many bytes. From the page cache, this read takes about 1 us longer, and each
/// request that then needs no read takes 2 us less.
const AHEAD: u64 = 16 << 10;
/// Maximum number of extents whose sizes are learnt ahead.
const AHEAD_MAX: usize = 64;

impl ArchiveContent {
    /// Learns the sizes of extents that lie near each other, sorted by offset, and of some that follow them,
    /// by a single read.
    pub(crate) fn learn_together(&self, near: &[u32]) -> Result<(), Reason> {
        let (Some(&first), Some(&last)) = (near.first(), near.last()) else { return Ok(()) };
        let (start, last_offset) = (self.tables.extent(first).offset, self.tables.extent(last).offset);
        let mut prefixes: Vec<_> = near.iter().map(|&index| (index, self.prefix_range(index))).collect();
        let following = (last + 1..self.tables.extent_count())
            .map(|index| (index, self.prefix_range(index)))
            .take_while(|(index, range)| {
                let extent = self.tables.extent(*index);
                let is_unsized = extent.size.is_none() && !extent.is_sized_by_decoding();
                is_unsized && range.start >= last_offset && range.end <= self.file.len().min(start + AHEAD)
            });
        // The size of the extent before is known if a program asks for one file after the other.
        let is_in_order = first == 0 || self.tables.extent(first - 1).size.is_some();
        prefixes.extend(following.take(if is_in_order { AHEAD_MAX } else { 0 }));
        let stop = prefixes.iter().map(|(_, range)| range.end).max().unwrap_or(start);
        if stop > self.file.len() {
            return Err(Reason::BeyondEnd);
        }
        let mut bytes = Buffer::new((stop - start) as usize, None)?;
        self.read_exact_at(&mut bytes, start)?;
        for (index, range) in prefixes {
            let first = &bytes[(range.start - start) as usize..(range.end - start) as usize];
            // A bad prefix does not concern its neighbours.
            let _ = self.parse_prefix(index, first);
        }
        Ok(())
    }
}
