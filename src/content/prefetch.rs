//! Decodes extents into the cache before a reader asks for them. [`crate::fs`] decides which.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::pieces::Part;
use super::store::Store;
use crate::format::{Codec, EntryId};
use crate::system::memory;

/// Maximum number of packed bytes that are requested from a disk before a program asks for them, because it
/// may stop.
pub(crate) const REQUESTED_MAX: u64 = 1 << 20;
/// Bytes of memory that must stay free for readers when an extent is decoded ahead.
const LEFT_FOR_READERS: usize = 64 << 20;
/// A size that is not known yet is estimated as so many times the packed length.
const TYPICAL_RATIO: u32 = 2;

impl Store {
    /// The packed extents of a file that begin at or after `offset` bytes and are worth decoding ahead, with
    /// their sizes in bytes. A size that is not known yet is estimated. A file whose texels are put into rows
    /// has none.
    pub(crate) fn extents_ahead(&self, id: EntryId, offset: u64) -> impl Iterator<Item = (u32, u32)> {
        let archive = self.content(id.layer).archive();
        let parts = archive.into_iter().flat_map(move |it| it.parts(id.entry).map(move |part| (it, part)));
        let mut start = 0;
        parts.filter_map(move |(archive, (part, size))| {
            let Part::Extent(index) = part else {
                start += size.unwrap_or(0);
                return None;
            };
            let extent = archive.tables.extent(index);
            let size = extent.size.unwrap_or(extent.packed.saturating_mul(TYPICAL_RATIO));
            let is_wanted = start >= offset && min_size(extent.codec).is_some_and(|min| size >= min);
            start += u64::from(size);
            is_wanted.then_some((index, size))
        })
    }

    /// Where the packed bytes of a file lie, in bytes from the start of its archive; `None` for a loose file,
    /// and if there are none.
    pub(crate) fn packed_range(&self, id: EntryId) -> Option<Range<u64>> {
        let archive = self.content(id.layer).archive()?;
        let extents = archive.tables.extents(id.entry).map(|index| archive.tables.extent(index));
        let ranges = extents.map(|it| it.offset..it.offset.saturating_add(u64::from(it.packed)));
        ranges.reduce(|all, it| all.start.min(it.start)..all.end.max(it.end)).filter(|it| !it.is_empty())
    }

    /// Has the kernel read bytes of an archive that will be needed soon, and does not wait for them.
    pub(crate) fn request(&self, layer: u16, range: &Range<u64>) {
        if let Some(archive) = self.content(layer).archive() {
            archive.file.request(range);
        }
    }

    /// Whether a file of an archive has several extents.
    pub(crate) fn has_several_extents(&self, id: EntryId) -> bool {
        self.content(id.layer).archive().is_some_and(|archive| archive.tables.extents(id.entry).len() > 1)
    }

    /// Whether an extent of [`Store::extents_ahead`] is cached or being decoded into the cache.
    pub(crate) fn is_cached(&self, id: EntryId, index: u32) -> bool {
        let layer = self.layer(id.layer);
        layer
            .tables
            .extent(index)
            .size
            .is_some_and(|size| self.shared.cache.contains(&layer.cache_key(index, size)))
    }

    /// How many bytes may be decoded ahead together.
    pub(crate) fn room_ahead_max(&self) -> u64 {
        self.shared.cache.ahead_max()
    }

    /// How many more bytes may be decoded ahead.
    pub(crate) fn room_ahead(&self) -> u64 {
        self.room_ahead_max().saturating_sub(self.shared.cache.ahead())
    }

    /// The number of threads that decode for readers, of this store and of those that replace it.
    pub(crate) fn decoding(&self) -> Arc<AtomicUsize> {
        self.shared.counters.decoding.clone()
    }

    /// Decodes an extent of [`Store::extents_ahead`] into the cache, unless it is cached or being decoded,
    /// or there is no room for it. If that fails, a reader of the extent will get the error.
    pub(crate) fn decode_ahead(&self, id: EntryId, index: u32) {
        let layer = self.layer(id.layer);
        let Ok(size) = self.checked_size(id.layer, index) else { return };
        let len = (layer.tables.extent(index).packed as usize).saturating_add(size as usize);
        let has_memory = || memory::has_room(len.saturating_add(LEFT_FOR_READERS));
        if !has_memory() {
            return;
        }
        let key = layer.cache_key(index, size);
        let read = || layer.read_payload(index, u64::MAX);
        self.shared
            .cache
            .decode_ahead(key, read, |payload| self.decode_for_cache(id, index, key, payload.bytes()));
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
