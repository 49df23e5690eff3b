//! Decoding extents: into a caller's buffer, or once into the cache.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::buffer;
use super::cache::CacheKey;
use super::codec::{self, DecodeError, Quirk};
use super::decoded::Decoded;
use super::error::{ReadError, Reason};
use super::large::Buffer;
use super::store::Store;
use crate::format::EntryId;

/// Packed bytes that are read beyond the length of the prefix, for the headers of streams.
const STREAM_HEADER: u64 = 1024;

impl Store {
    /// The bytes under a key, if they are in the cache.
    pub(super) fn cached(&self, key: CacheKey) -> Option<Decoded> {
        let cell = self
            .shared
            .cache
            .decoded(&key, Instant::now())
            .filter(|cell| matches!(cell.get(), Some(Ok(_))))?;
        self.shared.counters.hits.fetch_add(1, Ordering::Relaxed);
        Some(Decoded { cell, key })
    }

    /// The bytes under a key: from the cache, or decoded into it by `decode` while other threads that ask for them wait.
    pub(super) fn get_or_decode(
        &self,
        key: CacheKey,
        decode: impl FnOnce() -> Result<Buffer, Reason>,
    ) -> Result<Decoded, Reason> {
        let cell = self.shared.cache.cell(key, Instant::now());
        let mut is_hit = true;
        let result = cell.get_or_init(|| {
            is_hit = false;
            decode()
        });
        if is_hit {
            self.shared.counters.hits.fetch_add(1, Ordering::Relaxed);
        }
        match result {
            Ok(_) => Ok(Decoded { cell, key }),
            Err(reason) => {
                // An error is not kept: the disk may have been away for a moment.
                self.shared.cache.remove(&key);
                Err(reason.clone())
            }
        }
    }

    /// A whole extent, from the cache or into it. The size was checked. Its packed bytes are read before others wait for
    /// them to be decoded: nobody waits for somebody who waits for a device.
    pub(super) fn decode_cached(&self, id: EntryId, index: u32, key: CacheKey) -> Result<Decoded, Reason> {
        if let Some(decoded) = self.cached(key) {
            return Ok(decoded);
        }
        self.layer(id.layer).with_payload(index, u64::MAX, |payload, _| {
            self.get_or_decode(key, || {
                let size = key.size as usize;
                let mut out = Buffer::new(size, self.share(size));
                self.decode_payload(id, index, payload, &mut out)?;
                Ok(out)
            })
        })
    }

    /// Decodes a whole extent of a file into `out`, which has its size.
    pub(super) fn decode(&self, id: EntryId, index: u32, out: &mut [u8]) -> Result<(), Reason> {
        let layer = self.layer(id.layer);
        layer.with_payload(index, u64::MAX, |payload, _| {
            self.decode_payload(id, index, payload, out).map(drop)
        })
    }

    /// Calls `use_it` with a whole extent of a file, whose size was checked, and what is not as it should be with it.
    pub(super) fn with_decoded<T>(
        &self,
        id: EntryId,
        index: u32,
        size: u32,
        use_it: impl FnOnce(&[u8], Option<Quirk>) -> T,
    ) -> Result<T, Reason> {
        let size = size as usize;
        self.layer(id.layer).with_payload(index, u64::MAX, |payload, _| {
            buffer::answer(size, self.share(size), |out| {
                let quirk = self.decode_payload(id, index, payload, out)?;
                Ok(use_it(out, quirk))
            })
        })
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
                let fault = ReadError { entry: id, at: extent.offset, reason: error.into(), is_new: true };
                self.shared.salvage.record((layer.number, id.entry), fault);
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

    /// Decodes an extent as far as the end of `within`, a range near its beginning, and fills `out` with that range. Returns
    /// whether that was possible: not where the stream ends early, or is of a kind that only its full size proves.
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
            let (decoded, is_all) = layer.with_payload(index, len, |payload, is_all| {
                // An error of the prefix is left to the decoding of the whole, which reports it in full.
                Ok(codec::prefix(codec, payload, &mut first).map_or((0, true), |len| (len, is_all)))
            })?;
            self.shared.counters.decoded.fetch_add(decoded as u64, Ordering::Relaxed);
            if decoded == first.len() {
                out.copy_from_slice(&first[within.start as usize..]);
                return Ok(true);
            }
            if is_all || decoded == 0 {
                return Ok(false);
            }
            len = len.saturating_mul(2);
        }
    }
}
