//! Textures of consoles as a PC has them: all extents of a file are decoded together, and their texels put into rows.
//!
//! Texels of one row are spread over a whole row of tiles, and faces of a cube over all mips, so that no part of such a
//! file is one part of its data. It is made whole, and cached like a decoded extent.

use std::cell::Cell;

use super::buffer;
use super::cache::CacheKey;
use super::decoded::Decoded;
use super::error::{ReadError, Reason};
use super::large::Buffer;
use super::store::Store;
use crate::format::{Codec, EntryId, LinearTexture};
use crate::source::Reach;

/// Set in the offset of such a file's cache key, so that it differs from those of extents, whose offsets are smaller.
const LINEAR_KEY: u64 = 1 << 63;

impl Store {
    /// The texels of a file in rows, from the cache or into it; into it only with [`Reach::Device`].
    pub(super) fn decode_linear(&self, id: EntryId, reach: Reach) -> Result<Decoded, ReadError> {
        let layer = self.layer(id.layer);
        let first = layer.extents(id.entry).start;
        let fault = |reason| self.fault(id, first, reason);
        let (texture, len) = layer.linear(id.entry).ok_or_else(|| fault(Reason::Size(0)))?;
        let tiled = self.check_sizes(id)?;
        let size = u32::try_from(len).map_err(|_| fault(Reason::Size(u32::MAX)))?;
        // The entry and not its first extent, which textures of other shapes may share.
        let key = CacheKey { layer: id.layer, offset: LINEAR_KEY | u64::from(id.entry), size };
        if let Some(decoded) = self.cached(key) {
            return Ok(decoded);
        }
        if reach == Reach::PageCache {
            return Err(fault(Reason::OutOfReach));
        }
        let index = Cell::new(first);
        let made = self.get_or_decode(key, || self.decode_tiled(id, &texture, tiled, size, &index));
        made.map_err(|reason| self.fault(id, index.get(), reason))
    }

    /// Bytes that all extents of a file become, once each is known to lie within the archive and their sum within the
    /// limit.
    pub(super) fn check_sizes(&self, id: EntryId) -> Result<u32, ReadError> {
        let layer = self.layer(id.layer);
        let mut sum = 0_u32;
        for index in layer.extents(id.entry) {
            let added = layer.size(index, Reach::Device).and_then(|size| {
                let extent = layer.extent(index);
                if extent.offset.saturating_add(u64::from(extent.packed)) > layer.source.len() {
                    return Err(Reason::Beyond);
                }
                self.check_size(id.layer, index, size)?;
                sum = sum.saturating_add(size);
                if sum <= self.limits.extent { Ok(()) } else { Err(Reason::Size(sum)) }
            });
            added.map_err(|reason| self.fault(id, index, reason))?;
        }
        Ok(sum)
    }

    /// Decodes all extents of a file, `tiled` bytes, and puts their texels into rows, `size` bytes; `failed` is left at
    /// the extent that fails.
    fn decode_tiled(
        &self,
        id: EntryId,
        texture: &LinearTexture,
        tiled: u32,
        size: u32,
        failed: &Cell<u32>,
    ) -> Result<Buffer, Reason> {
        let layer = self.layer(id.layer);
        buffer::answer(tiled as usize, |tiled| {
            let mut rest = &mut tiled[..];
            for index in layer.extents(id.entry) {
                failed.set(index);
                let size = layer.size(index, Reach::Device)? as usize;
                let (out, others) = rest.split_at_mut_checked(size).ok_or(Reason::Prefix)?;
                match layer.extent(index).codec {
                    Codec::Stored => layer.read_stored(index, 0, out, Reach::Device)?,
                    _ => drop(self.decode(id, index, out, Reach::Device)?),
                }
                rest = others;
            }
            let mut rows = Buffer::new(size as usize);
            rows.fill(0);
            texture.to_rows(tiled, &mut rows).map_err(|_| Reason::Size(size))?;
            Ok(rows)
        })
    }
}
