//! Unpacks the payload of one extent, and counts the bytes. With `--salvage`, a wrong checksum is no error.

use std::sync::atomic::Ordering;

use super::buffer::Buffer;
use super::cache::CacheKey;
use super::codec::{self, DecodeError, Quirk};
use super::error::{EntryError, Reason};
use super::memory::{LARGE, Reservation};
use super::store::Store;
use crate::format::EntryId;

impl Store {
    /// Unpacks a payload into a buffer for the cache, which has the size in the key.
    pub(super) fn unpack_for_cache(
        &self,
        id: EntryId,
        index: u32,
        key: CacheKey,
        payload: &[u8],
    ) -> Result<Buffer, Reason> {
        let size = key.size as usize;
        let mut out = Buffer::for_cache(size, self.reserve(size))?;
        self.unpack(id, index, payload, &mut out)?;
        Ok(out)
    }

    /// Unpacks a payload into `out`, which has the size of the extent. Returns the payload's quirk, if any.
    pub(super) fn unpack(
        &self,
        id: EntryId,
        index: u32,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<Option<Quirk>, Reason> {
        let layer = self.layer(id.layer);
        let extent = layer.extent(index);
        let quirk = match (codec::decode(extent.codec, payload, out), self.salvages) {
            (Err(error @ DecodeError::Suspect(_)), true) => {
                let fault = EntryError { entry: id, at: extent.offset, reason: error.into(), is_new: true };
                self.shared.salvaged.record((layer.number, id.entry), fault);
                None
            }
            (decoded, _) => decoded?,
        };
        self.shared.counters.decoded.fetch_add(out.len() as u64, Ordering::Relaxed);
        if let Some(quirk) = quirk {
            let (archive, offset) = (layer.file.path().display(), extent.offset);
            log::debug!("{archive}: data at offset {offset}: {quirk}; the data is complete");
        }
        Ok(quirk)
    }

    /// Reserves memory for `len` decoded bytes; `None` if they are too few to count. Waits until
    /// other threads release theirs, and evicts cached extents to make room. No thread that has a
    /// share waits for a device.
    pub(super) fn reserve(&self, len: usize) -> Option<Reservation> {
        (len >= LARGE).then(|| self.shared.memory.reserve(len as u64, || self.shared.cache.evict_shared()))
    }
}
