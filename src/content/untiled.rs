//! Textures of consoles as a PC has them: all extents of a file are decoded together, and their texels put into rows.
//!
//! Texels of one row are spread over a whole tile row, and faces of a cube over all mips, so that no part of such a
//! file is one part of its data. It is made whole and kept like a decoded extent.

use std::cell::Cell;

use super::cache::Key;
use super::{Decoded, ReadError, Reason, Store, buffer};
use crate::format::{Codec, EntryId, LinearTexture};

/// How textures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureForm {
    /// A PC's as DDS files, those of consoles under the headers of their own tools.
    #[default]
    Default,
    /// As DDS files in plain rows wherever that can be made; what cannot is as in [`TextureForm::Default`].
    Dds,
    /// The bytes as the archive has them, without a header.
    Raw,
}

/// Keeps keys of such files apart from those of extents, whose offsets are smaller.
const MARK: u64 = 1 << 63;

impl Store {
    /// The number of the arrangement in which a texture's texels are shown, where it is a console's. No data is read.
    pub fn tile_mode(&self, id: EntryId) -> Option<u8> {
        self.layers[usize::from(id.layer)].tile_mode(id.entry)
    }

    /// The texels of a file in rows, from the cache or into it.
    pub(super) fn untiled(&self, id: EntryId) -> Result<Decoded, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let first = layer.extents_of(id.entry).start;
        let untiled = layer.untiled(id.entry).ok_or(Reason::Size(0));
        let (plain, len) = untiled.map_err(|reason| self.fault(id, first, reason))?;
        // Asked before a slot is made, for which others must go.
        let tiled = self.affordable_together(id)?;
        let size = u32::try_from(len).map_err(|_| self.fault(id, first, Reason::Size(u32::MAX)))?;
        // The entry and not its first extent, which textures of other shapes may share.
        let key = Key { layer: id.layer, offset: MARK | u64::from(id.entry), size };
        let at = Cell::new(first);
        let made = self.hold(key, || self.untile(id, &plain, tiled, size, &at));
        made.map_err(|reason| self.fault(id, at.get(), reason))
    }

    /// Bytes that all extents of a file become, once it is known that none lies about it and that we can hold them.
    pub(super) fn affordable_together(&self, id: EntryId) -> Result<u32, ReadError> {
        let layer = &self.layers[usize::from(id.layer)];
        let mut sum = 0_u32;
        for index in layer.extents_of(id.entry) {
            let added = layer.size(index).and_then(|size| {
                let extent = layer.extent(index);
                if extent.offset.saturating_add(u64::from(extent.packed)) > layer.source.len() {
                    return Err(Reason::Beyond);
                }
                self.affordable(id.layer, index, size)?;
                sum = sum.saturating_add(size);
                if sum <= self.limits.extent { Ok(()) } else { Err(Reason::Size(sum)) }
            });
            added.map_err(|reason| self.fault(id, index, reason))?;
        }
        Ok(sum)
    }

    /// Decodes all extents of a file, `tiled` bytes, and puts their texels into rows, `size` bytes; `at` is left at the
    /// extent that fails.
    fn untile(
        &self,
        id: EntryId,
        plain: &LinearTexture,
        tiled: u32,
        size: u32,
        at: &Cell<u32>,
    ) -> Result<Box<[u8]>, Reason> {
        let layer = &self.layers[usize::from(id.layer)];
        buffer::answer(tiled as usize, |tiled| {
            let mut rest = &mut tiled[..];
            for index in layer.extents_of(id.entry) {
                at.set(index);
                let (out, others) =
                    rest.split_at_mut_checked(layer.size(index)? as usize).ok_or(Reason::Prefix)?;
                match layer.extent(index).codec {
                    Codec::Stored => layer.read_stored(index, 0, out)?,
                    _ => drop(self.decode(id.layer, index, out)?),
                }
                rest = others;
            }
            let mut rows = vec![0; size as usize].into_boxed_slice();
            plain.to_rows(tiled, &mut rows).map_err(|_| Reason::Size(size))?;
            Ok(rows)
        })
    }
}
