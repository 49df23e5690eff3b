//! Unpacked sizes of extents: what the tables or the data state, and whether that is possible.

use super::archive_content::ArchiveContent;
use crate::content::cache::Buffer;
use crate::content::codec::{self, Quirk};
use crate::content::error::Reason;
use crate::format::{Codec, Extent};
use crate::limits::PACKED_MAX;

/// If a program asks for one file after the other, one read learns the sizes of all further extents whose
/// prefixes end within this many bytes. From the page cache, this read takes about 1 us longer, and each
/// request that then needs no read takes 2 us less.
const AHEAD: u64 = 16 << 10;
/// Maximum number of extents whose sizes are learnt ahead.
const AHEAD_MAX: usize = 64;

impl ArchiveContent {
    /// Unpacked size of an extent. If only its prefix states the size, the first call reads the prefix.
    ///
    /// # Errors
    /// The size cannot be read, or the packed bytes cannot yield it.
    pub(super) fn size(&self, index: u32) -> Result<u32, Reason> {
        let extent = self.tables.extent(index);
        match (possible_size(&extent), extent.size) {
            (Some(size), _) => Ok(size),
            (None, Some(size)) => Err(Reason::UnpackedSize(size)),
            (None, None) if extent.is_sized_by_decoding() => self.decoded_size(index),
            (None, None) => Ok(self.read_prefix(index)?.size),
        }
    }

    /// Unpacked size of an extent, if it is known and possible.
    pub(super) fn known_extent_size(&self, index: u32) -> Option<u32> {
        possible_size(&self.tables.extent(index))
    }

    /// How the prefix of an extent contradicts its flags. Reads it.
    pub(super) fn prefix_quirk(&self, index: u32) -> Option<Quirk> {
        if self.tables.extent(index).prefix.is_none() {
            return None;
        }
        self.read_prefix(index).ok()?.quirk
    }

    /// Whether an extent's size can never be learnt, even from a sound disk.
    pub(super) fn is_size_lost(&self, index: u32) -> bool {
        let extent = self.tables.extent(index);
        let is_impossible = extent.size.is_some() && possible_size(&extent).is_none();
        let bad = self.bad_prefixes.lock();
        is_impossible || self.file.is_changed() || bad.contains(&index)
    }

    /// Unpacked size of an extent in bytes, checked by [`ArchiveContent::check_size`].
    pub(super) fn checked_size(&self, index: u32) -> Result<u32, Reason> {
        let size = self.size(index)?;
        self.check_size(index, size).map(|()| size)
    }

    /// Checks the unpacked size of an extent, in bytes, before a buffer is allocated for it. The size must be
    /// within its limit, and the packed bytes must be able to yield it. Stored bytes must lie within the
    /// archive. Unless the codec is `Stored`, they must also be within their own limit, and no more than
    /// data of this size can need.
    pub(super) fn check_size(&self, index: u32, size: u32) -> Result<(), Reason> {
        let extent = self.tables.extent(index);
        let packed = u64::from(extent.packed);
        let limits = &self.shared.limits;
        if u64::from(size) > codec::max_unpacked(extent.codec, packed) || size > limits.extent {
            return Err(Reason::UnpackedSize(size));
        }
        let available = self.available(&extent);
        let is_stored = extent.codec == Codec::Stored;
        // A stream that is whole is read although its stated length passes the end of the archive.
        if available < packed && (is_stored || available == 0) {
            return Err(Reason::BeyondEnd);
        }
        let is_too_long = available > limits.packed.into() || available > codec::max_packed(size);
        if !is_stored && is_too_long {
            return Err(Reason::PackedSize(extent.packed));
        }
        Ok(())
    }

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
        self.file.read_exact_at(&mut bytes, start)?;
        for (index, range) in prefixes {
            let first = &bytes[(range.start - start) as usize..(range.end - start) as usize];
            // A bad prefix does not concern its neighbours.
            let _ = self.parse_prefix(index, first);
        }
        Ok(())
    }

    /// Learns the size of an extent by a read of its own.
    pub(crate) fn learn_size(&self, index: u32) -> Result<(), Reason> {
        self.size(index).map(drop)
    }

    /// Unpacked size of an extent for which nothing states it. Reads all of its data.
    fn decoded_size(&self, index: u32) -> Result<u32, Reason> {
        let extent = self.tables.extent(index);
        if extent.packed > PACKED_MAX {
            return Err(Reason::PackedSize(extent.packed));
        }
        let payload = self.read_payload(index, u64::MAX)?;
        let size = codec::unpacked_size(extent.codec, &payload).ok_or(Reason::Prefix)?;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        self.tables.set_size(index, size);
        Ok(size)
    }
}

/// The size of an extent, if it is known and its packed bytes can yield it.
fn possible_size(extent: &Extent) -> Option<u32> {
    extent.size.filter(|&size| {
        // An extent of the form that most have needs no arithmetic.
        size <= extent.packed || u64::from(size) <= codec::max_unpacked(extent.codec, extent.packed.into())
    })
}
