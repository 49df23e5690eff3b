//! Decodes extents, either into the caller's buffer or once into the cache.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::buffer::zeros;
use super::cache::{CacheKey, Decoded};
use super::codec;
use super::error::Reason;
use super::store::{Counters, Store};
use crate::format::EntryId;

/// Number of packed bytes to read beyond the length of the prefix, for headers of streams.
const STREAM_HEADER: u64 = 1024;

impl Store {
    /// Decodes a whole extent into the cache, unless another thread does. The caller has checked its size.
    pub(super) fn decode_into_cache(
        &self,
        id: EntryId,
        index: u32,
        key: CacheKey,
    ) -> Result<Decoded<Reason>, Reason> {
        let payload = self.layer(id.layer).read_payload(index, u64::MAX)?;
        self.shared.cache.decode_once(key, Instant::now(), payload, |payload| {
            let _decoding = self.shared.counters.decode();
            self.unpack_for_cache(id, index, key, &payload)
        })
    }

    /// Decodes a whole extent into `out`, which has the extent's size.
    pub(super) fn decode(&self, id: EntryId, index: u32, out: &mut [u8]) -> Result<(), Reason> {
        let payload = self.layer(id.layer).read_payload(index, u64::MAX)?;
        let _decoding = self.shared.counters.decode();
        self.unpack(id, index, &payload, out).map(drop)
    }

    /// Decodes an extent up to the end of `within`, a range near its beginning, and fills `out`
    /// with that range. Returns false if that is impossible: the stream ends early, or only its
    /// full size proves what it is.
    pub(super) fn decode_prefix(
        &self,
        id: EntryId,
        index: u32,
        within: &Range<u64>,
        out: &mut [u8],
    ) -> Result<bool, Reason> {
        let layer = self.layer(id.layer);
        let codec = layer.extent(index).codec;
        let mut first = zeros(within.end as usize)?;
        // Packed data usually yields more than its own length. If it does not, the next attempt
        // reads twice as much.
        let mut len = within.end + STREAM_HEADER;
        loop {
            let payload = layer.read_payload(index, len)?;
            // An error is ignored here: decoding the whole extent will report it in full.
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

/// Counts a thread that decodes, until this is dropped.
pub(super) struct Decoding<'c>(&'c AtomicUsize);

impl Counters {
    pub(super) fn decode(&self) -> Decoding<'_> {
        self.decoding.fetch_add(1, Ordering::Relaxed);
        Decoding(&self.decoding)
    }
}

impl Drop for Decoding<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
