//! Decoding extents: into a caller's buffer, or once into the cache.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::buffer::Buffer;
use super::cache::{CacheKey, Decoded};
use super::codec::{self, DecodeError, Quirk};
use super::error::{EntryError, Reason};
use super::store::Store;
use crate::format::EntryId;

/// Packed bytes that are read beyond the length of the prefix, for the headers of streams.
const STREAM_HEADER: u64 = 1024;

impl Store {
    /// A whole extent, from the cache or into it. The size was checked. Its packed bytes are read before
    /// other threads wait for them to be decoded: no thread waits for another that waits for a device.
    pub(super) fn decode_cached(
        &self,
        id: EntryId,
        index: u32,
        key: CacheKey,
    ) -> Result<Decoded<Reason>, Reason> {
        if let Some(decoded) = self.shared.cache.get(key, Instant::now()) {
            return Ok(decoded);
        }
        let payload = self.layer(id.layer).read_payload(index, u64::MAX)?;
        self.shared.cache.get_or_decode(key, Instant::now(), || {
            let size = key.size as usize;
            let mut out = Buffer::for_cache(size, self.reserve(size));
            self.decode_payload(id, index, &payload, &mut out)?;
            Ok(out)
        })
    }

    /// Decodes a whole extent of a file into `out`, which has its size.
    pub(super) fn decode(&self, id: EntryId, index: u32, out: &mut [u8]) -> Result<(), Reason> {
        let payload = self.layer(id.layer).read_payload(index, u64::MAX)?;
        self.decode_payload(id, index, &payload, out).map(drop)
    }

    pub(super) fn decode_payload(
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
            let (archive, offset) = (layer.source.path().display(), extent.offset);
            log::debug!("{archive}: data at offset {offset}: {quirk}; its bytes are whole");
        }
        Ok(quirk)
    }

    /// Decodes an extent as far as the end of `within`, a range near its beginning, and fills `out` with that
    /// range. Returns whether that was possible: not where the stream ends early, or is of a kind that only
    /// its full size proves.
    pub(super) fn decode_prefix(
        &self,
        id: EntryId,
        index: u32,
        within: &Range<u64>,
        out: &mut [u8],
    ) -> Result<bool, Reason> {
        let layer = self.layer(id.layer);
        let codec = layer.extent(index).codec;
        let mut first = vec![0; within.end as usize];
        // Data that packs at all yields more than it takes; where it does not, twice as much is read next.
        let mut len = within.end + STREAM_HEADER;
        loop {
            let payload = layer.read_payload(index, len)?;
            // An error of the prefix is left to the decoding of the whole, which reports it in full.
            let decoded = codec::prefix(codec, &payload, &mut first).unwrap_or(0);
            self.shared.counters.decoded.fetch_add(decoded as u64, Ordering::Relaxed);
            if decoded == first.len() {
                out.copy_from_slice(&first[within.start as usize..]);
                return Ok(true);
            }
            if payload.is_all || decoded == 0 {
                return Ok(false);
            }
            len = len.saturating_mul(2);
        }
    }
}
