//! Extents that are decoded into the cache before a reader asks for them. [`crate::fs`] decides which.

use super::file_extent::FileExtent;
use super::plain_file::PlainFile;
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
        size.is_some_and(|size| self.archive.shared.cache.contains(&self.cache_key(size)))
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
        let cache = &self.archive.shared.cache;
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
