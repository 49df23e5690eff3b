//! Console textures as a PC has them: all extents of a file are decoded, and their texels put into rows.
//!
//! The texels of one row are spread over a whole row of tiles, and the faces of a cube over all
//! mips. So no part of the shown file corresponds to one part of its data. The file is made as a
//! whole, and cached like a decoded extent.

use std::cell::Cell;
use std::ops::Range;

use super::cache::{Buffer, CacheKey, CachedContent, Decoded};
use super::error::{EntryError, Reason};
use super::store::Store;
use crate::format::{EntryId, LinearTexture};

/// The payloads of all extents of a file.
struct Payloads {
    packed: Buffer,
    /// Their ranges in `packed`.
    ranges: Vec<Range<usize>>,
}

impl Store {
    /// The untiled texels of a file, from the cache or decoded into it.
    pub(super) fn decode_linear(
        &self,
        id: EntryId,
        (texture, len): (LinearTexture, u64),
    ) -> Result<Decoded<'_, Reason>, EntryError> {
        let layer = self.layer(id.layer);
        let first = layer.tables.extents(id.entry).start;
        let fault = |reason| self.fault(id, first, reason);
        let tiled = self.check_sizes(id)?;
        let size = u32::try_from(len).map_err(|_| fault(Reason::UnpackedSize(u32::MAX)))?;
        let key = CacheKey { archive: layer.number, content: CachedContent::Rows { entry: id.entry }, size };
        let failed = Cell::new(first);
        let read = || self.read_payloads(id, &failed);
        let decode = |payloads| self.decode_tiled(id, &texture, &payloads, (tiled, size), &failed);
        let made = self.shared.cache.decode_once(key, read, decode);
        made.map_err(|reason| self.fault(id, failed.get(), reason))
    }

    /// Total unpacked size of a file's extents, in bytes. Checks that each extent lies within the
    /// archive and that the sum is within the limit.
    pub(super) fn check_sizes(&self, id: EntryId) -> Result<u32, EntryError> {
        let layer = self.layer(id.layer);
        let mut sum = 0_u32;
        for index in layer.tables.extents(id.entry) {
            let added = self.checked_size(id.layer, index).and_then(|size| {
                sum = sum.saturating_add(size);
                // The rows take as much memory again.
                if sum <= self.shared.limits.extent / 2 { Ok(()) } else { Err(Reason::UnpackedSize(sum)) }
            });
            added.map_err(|reason| self.fault(id, index, reason))?;
        }
        Ok(sum)
    }

    /// Reads the payloads of all extents of a file, whose sizes were checked. If an extent fails, `failed`
    /// has its index.
    fn read_payloads(&self, id: EntryId, failed: &Cell<u32>) -> Result<Payloads, Reason> {
        let layer = self.layer(id.layer);
        let extents = layer.tables.extents(id.entry).map(|index| (index, layer.tables.extent(index)));
        let len = extents.clone().map(|(_, extent)| layer.available(&extent)).sum::<u64>();
        if len > u64::from(self.shared.limits.packed) {
            return Err(Reason::PackedSize(u32::try_from(len).unwrap_or(u32::MAX)));
        }
        let mut packed = Buffer::new(len as usize, layer.reserve_packed(len))?;
        let mut ranges = Vec::with_capacity(extents.len());
        let mut start = 0;
        for (index, extent) in extents {
            failed.set(index);
            let end = start + layer.available(&extent) as usize;
            let bytes = &mut packed[start..end];
            layer.file.read_exact_at(bytes, extent.offset)?;
            ranges.push(end - layer.payload(index, bytes)?.len()..end);
            start = end;
        }
        Ok(Payloads { packed, ranges })
    }

    /// Decodes all extents of a file, `tiled` bytes, and puts their texels into rows, `size` bytes.
    /// If an extent fails, `failed` has its index.
    fn decode_tiled(
        &self,
        id: EntryId,
        texture: &LinearTexture,
        payloads: &Payloads,
        (tiled, size): (u32, u32),
        failed: &Cell<u32>,
    ) -> Result<Buffer, Reason> {
        let layer = self.layer(id.layer);
        // One share for both buffers, kept with the rows. With two shares, two threads that have
        // one each would wait for each other.
        let reservation = self.reserve(tiled as usize + size as usize);
        let mut tiled = Buffer::new(tiled as usize, None)?;
        let mut rest = &mut tiled[..];
        for (index, range) in layer.tables.extents(id.entry).zip(&payloads.ranges) {
            failed.set(index);
            let size = layer.size(index)? as usize;
            let (out, others) = rest.split_at_mut_checked(size).ok_or(Reason::Prefix)?;
            self.decode(id, index, payloads.packed[range.clone()].into(), out)?;
            rest = others;
        }
        let mut rows = Buffer::for_cache(size as usize, reservation)?;
        rows.fill(0);
        texture.to_rows(&tiled, &mut rows).map_err(|_| Reason::UnpackedSize(size))?;
        Ok(rows)
    }
}
