//! Decodes extents into the caller's buffer or into one for the cache, and counts the bytes. With
//! `--salvage`, a wrong checksum is no error.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cache::{Buffer, CacheKey, LARGE, Reservation, zeros};
use super::codec::{self, DecodeError, Quirk};
use super::error::{EntryError, Reason};
use super::payload::PayloadBytes;
use super::store::{Counters, Store};
use crate::format::{Codec, EntryId};
use crate::shown::Shown;

/// Number of packed bytes to read beyond the length of the prefix, for headers of streams.
const STREAM_HEADER: u64 = 1024;

impl Store {
    /// Decodes a payload into `out`, which has the size of the extent. Returns the payload's quirk, if any.
    /// If the payload is not whole, the bytes that follow its stated length may complete it.
    pub(super) fn decode(
        &self,
        id: EntryId,
        index: u32,
        payload: PayloadBytes<'_>,
        out: &mut [u8],
    ) -> Result<Option<Quirk>, Reason> {
        let layer = self.layer(id.layer);
        let extent = layer.tables.extent(index);
        let is_cut = layer.available(&extent) < u64::from(extent.packed);
        let mut decoded = codec::decode(extent.codec, payload.stated, out);
        if matches!(decoded, Err(DecodeError::Corrupt(_)))
            && payload.extended.len() > payload.stated.len()
            && let Ok(None | Some(Quirk::Trailing)) = codec::decode(extent.codec, payload.extended, out)
        {
            decoded = Ok(Some(Quirk::LeavesOutPrefix));
        }
        match decoded {
            Err(DecodeError::Corrupt(_)) | Ok(Some(Quirk::Other(Codec::Stored))) if is_cut => {
                return Err(Reason::BeyondEnd);
            }
            Ok(None) if is_cut => decoded = Ok(Some(Quirk::PastEnd)),
            _ => {}
        }
        let quirk = match (decoded, self.salvages) {
            (Err(error @ DecodeError::Suspect(_)), true) => {
                let fault = EntryError { entry: id, at: extent.offset, reason: error.into(), is_new: true };
                self.shared.salvaged.record((layer.number, id.entry), fault);
                None
            }
            (decoded, _) => decoded?,
        };
        self.shared.counters.decoded.fetch_add(out.len() as u64, Ordering::Relaxed);
        if let Some(quirk) = quirk {
            let (archive, offset) = (layer.path.shown(), extent.offset);
            log::debug!("{archive}: data at offset {offset}: {quirk}; the data is complete");
        }
        Ok(quirk)
    }

    /// Decodes a payload into a buffer for the cache, which has the size in the key.
    pub(super) fn decode_for_cache(
        &self,
        id: EntryId,
        index: u32,
        key: CacheKey,
        payload: PayloadBytes<'_>,
    ) -> Result<Buffer, Reason> {
        let size = key.size as usize;
        let mut out = Buffer::for_cache(size, self.reserve(size))?;
        self.decode(id, index, payload, &mut out)?;
        Ok(out)
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
        let codec = layer.tables.extent(index).codec;
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

    /// Reserves memory for `len` decoded bytes; `None` if they are too few to count. Waits until
    /// other threads release theirs, and evicts cached extents to make room. No thread that has a
    /// share waits for a device.
    pub(super) fn reserve(&self, len: usize) -> Option<Reservation> {
        (len >= LARGE).then(|| self.shared.memory.reserve(len as u64, || self.shared.cache.evict_shared()))
    }
}

/// Counts a thread that decodes, until this is dropped.
pub(super) struct Decoding<'c>(&'c AtomicUsize);

impl Counters {
    pub(super) fn begin_decoding(&self) -> Decoding<'_> {
        self.decoding.fetch_add(1, Ordering::Relaxed);
        Decoding(&self.decoding)
    }
}

impl Drop for Decoding<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
