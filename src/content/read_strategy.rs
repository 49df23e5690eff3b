//! How a piece of a file is read. A piece of an extent has a [`ReadStrategy`].

use std::ops::Range;

use super::cache::CacheKey;
use super::codec;
use super::error::{EntryError, Reason};
use super::payload::Payload;
use super::pieces::{Part, Piece, PieceBytes};
use super::store::Store;
use crate::format::{Codec, EntryId};

/// Maximum length of a prefix that is decoded separately, in bytes. File managers and file(1) read
/// only the beginning of a file; the kernel turns that into a read of 16 KiB. A program that reads
/// a whole file asks for more at once, so its reads decode nothing twice.
pub(crate) const PREFIX_LEN: u64 = 64 << 10;
/// A prefix is decoded separately only if the extent is at least this many times as long: if the
/// reader goes on, the prefix is decoded again.
const PREFIX_MIN_RATIO: u64 = 4;
/// Maximum length, in bytes, of a read at the start of an extent other than the first that is decoded as a
/// prefix. A READ of the kernel is no longer than this.
const MIP_PREFIX_LEN: u64 = 1 << 20;
/// In extents longer than this, in bytes, a second read within the prefix is decoded separately
/// too. It costs at most 0.2 ms.
const LARGE_EXTENT: u64 = 512 << 10;

/// How a range of an extent is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStrategy {
    /// One positioned read into the reply, because the extent is not packed.
    Stored,
    /// Decoded into the reply, because the whole extent is requested.
    Whole,
    /// Decoded into the reply up to the end of the range, which is near the extent's beginning. If that is
    /// impossible, it falls back to [`ReadStrategy::Cached`].
    Prefix(CacheKey),
    /// Decoded once into the cache. The reply is sent from there.
    Cached(CacheKey),
}

impl Store {
    /// Reads a piece into `out`, which has the piece's length, or leaves it in the cache.
    /// `is_only_piece` says whether the read has only this piece.
    pub(super) fn read_piece(
        &self,
        id: EntryId,
        piece: &Piece,
        is_only_piece: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes<'_>, EntryError> {
        match piece.part {
            Part::Head => {
                out.copy_from_slice(&self.layer(id.layer).tables.head_bytes(id.entry)[piece.range()]);
                Ok(PieceBytes::InBuffer)
            }
            Part::Linear(texture, len) => {
                let rows = self.decode_linear(id, (texture, len))?;
                Ok(PieceBytes::InCache(rows.range(piece.range())))
            }
            Part::Extent(index) => {
                let read = self.read_extent(id, index, piece, is_only_piece, out);
                read.map_err(|reason| self.fault(id, index, reason))
            }
        }
    }

    fn read_extent(
        &self,
        id: EntryId,
        index: u32,
        piece: &Piece,
        is_only_piece: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes<'_>, Reason> {
        let layer = self.layer(id.layer);
        // The size of an extent has 32 bits.
        let size = piece.part_size as u32;
        let read = || layer.read_payload(index, u64::MAX);
        let key = match self.strategy(id, index, size, &piece.within, is_only_piece)? {
            ReadStrategy::Stored => {
                layer.read_stored(index, size, piece.within.start, out)?;
                return Ok(PieceBytes::InBuffer);
            }
            ReadStrategy::Whole => {
                let payload = read()?;
                let _decoding = self.shared.counters.begin_decoding();
                self.decode(id, index, payload.bytes(), out)?;
                return Ok(PieceBytes::InBuffer);
            }
            ReadStrategy::Prefix(key) => {
                if self.decode_prefix(id, index, &piece.within, out)? {
                    return Ok(PieceBytes::InBuffer);
                }
                key
            }
            ReadStrategy::Cached(key) => key,
        };
        let decode = |payload: Payload| {
            let _decoding = self.shared.counters.begin_decoding();
            self.decode_for_cache(id, index, key, payload.bytes())
        };
        let decoded = self.shared.cache.decode_once(key, read, decode)?;
        Ok(PieceBytes::InCache(decoded.range(piece.range())))
    }

    /// Chooses how to read a range of an extent of `size` bytes. If the extent is packed, its size is checked
    /// here. So all buffers stay within the limits.
    fn strategy(
        &self,
        id: EntryId,
        index: u32,
        size: u32,
        within: &Range<u64>,
        is_only_piece: bool,
    ) -> Result<ReadStrategy, Reason> {
        let layer = self.layer(id.layer);
        let extent = layer.tables.extent(index);
        if extent.codec == Codec::Stored {
            return Ok(ReadStrategy::Stored);
        }
        self.check_size(id.layer, index, size)?;
        let key = layer.cache_key(index, size);
        let size = u64::from(size);
        let is_prefix = match index == layer.tables.extents(id.entry).start {
            true => {
                size > PREFIX_LEN
                    && within.end <= PREFIX_LEN.min(size / PREFIX_MIN_RATIO)
                    && (within.start == 0 || size > LARGE_EXTENT)
            }
            // The header of a texture shifts later extents off page boundaries. So a reader that reads in
            // pages enters such an extent from the one before, and will read on. A read that starts exactly
            // at the extent fetches a single mip, for a thumbnail.
            false => is_only_piece && within.start == 0 && within.end <= MIP_PREFIX_LEN,
        };
        let uncached = if *within == (0..size) {
            ReadStrategy::Whole
        } else if is_prefix && codec::has_prefix(extent.codec) && u64::from(extent.packed) != size {
            // As many packed bytes as unpacked ones may not be packed at all, which only all of them show.
            ReadStrategy::Prefix(key)
        } else {
            return Ok(ReadStrategy::Cached(key));
        };
        Ok(if self.shared.cache.contains(&key) { ReadStrategy::Cached(key) } else { uncached })
    }
}
