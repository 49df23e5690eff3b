//! How a range of a file is read: it is cut into pieces, and each piece has a [`ReadStrategy`].

use std::ops::Range;

use super::cache::{CacheKey, Decoded};
use super::codec;
use super::error::{EntryError, Reason};
use super::store::Store;
use crate::format::{Codec, EntryId};

/// The longest prefix that is decoded alone, in bytes: what file managers and `file` look at, of which the
/// kernel makes a read of 16 KiB. A program that reads all of a file asks for more at once, so that nothing
/// is decoded twice.
const PREFIX_LEN: u64 = 64 << 10;
/// A prefix is decoded alone only where the whole is at least so many times as long: a reader that goes on
/// has it decoded again.
const PREFIX_PART: u64 = 4;
/// The longest part of an extent after the first that is decoded alone, in bytes: a read by the kernel has no
/// more.
const ALONE_LEN: u64 = 1 << 20;
/// In extents longer than this, in bytes, a second read within the prefix is decoded alone too: it costs 0.2
/// ms at most.
const LARGE_EXTENT: u64 = 512 << 10;

/// How a range of an extent is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStrategy {
    /// The extent is not packed: one positioned read into the answer.
    Stored,
    /// All of it is asked for: decoded into the answer.
    Whole,
    /// A range near its beginning: decoded into the answer as far as the range's end; where that is not
    /// possible, as [`ReadStrategy::Cached`].
    Prefix(CacheKey),
    /// Decoded once into the cache, and answered from there.
    Cached(CacheKey),
}

/// Where the bytes of a piece are, once it was read.
pub(super) enum PieceBytes {
    /// In the buffer that was to be filled.
    InBuffer,
    /// In the cache; the content of the buffer is unspecified.
    InCache(Decoded<Reason>),
}

/// A part of a file that has one source.
#[derive(Debug)]
pub(super) struct Piece {
    source: PieceSource,
    /// Which bytes of the source.
    within: Range<u64>,
}

#[derive(Clone, Copy, Debug)]
enum PieceSource {
    /// The synthesised header.
    Head,
    /// One of the archive's extents.
    Extent(u32),
    /// All of the file's extents, their texels put into rows.
    Linear,
}

impl Piece {
    /// In bytes.
    pub(super) fn len(&self) -> u64 {
        self.within.end - self.within.start
    }

    /// Which of the source's bytes, as indices of a slice.
    pub(super) fn range(&self) -> Range<usize> {
        self.within.start as usize..self.within.end as usize
    }
}

impl Store {
    /// Cuts a range of a file at the borders of its head and its extents.
    pub(super) fn pieces(&self, id: EntryId, range: &Range<u64>) -> Vec<Piece> {
        let layer = self.layer(id.layer);
        let linear = layer.linear(id.entry).map(|(_, len)| (PieceSource::Linear, len));
        let extents = layer.extents(id.entry).filter(|_| linear.is_none());
        // Known since the range was held against the file's size.
        let size = |index| u64::from(layer.extent(index).size.unwrap_or(0));
        let extents = extents.map(|index| (PieceSource::Extent(index), size(index)));
        let head = (PieceSource::Head, layer.head(id.entry).len());
        let mut start = 0;
        let mut pieces = Vec::new();
        for (source, size) in std::iter::once(head).chain(linear).chain(extents) {
            let end = start + size;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                pieces.push(Piece { source, within: from - start..to - start });
            }
            start = end;
        }
        pieces
    }

    /// Reads a piece into `out`, which has its length, or leaves it in the cache. `is_alone` if the read has
    /// no other pieces.
    pub(super) fn read_piece(
        &self,
        id: EntryId,
        piece: &Piece,
        is_alone: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes, EntryError> {
        let layer = self.layer(id.layer);
        let within = &piece.within;
        let index = match piece.source {
            PieceSource::Head => {
                out.copy_from_slice(&layer.head_bytes(id.entry)[piece.range()]);
                return Ok(PieceBytes::InBuffer);
            }
            PieceSource::Linear => return self.decode_linear(id).map(PieceBytes::InCache),
            PieceSource::Extent(index) => index,
        };
        let in_buffer = |()| PieceBytes::InBuffer;
        let read = self.strategy(id, index, within, is_alone).and_then(|strategy| match strategy {
            ReadStrategy::Stored => layer.read_stored(index, within.start, out).map(in_buffer),
            ReadStrategy::Whole => self.decode(id, index, out).map(in_buffer),
            ReadStrategy::Prefix(_) if self.decode_prefix(id, index, within, out)? => {
                Ok(PieceBytes::InBuffer)
            }
            ReadStrategy::Prefix(key) | ReadStrategy::Cached(key) => {
                self.decode_cached(id, index, key).map(PieceBytes::InCache)
            }
        });
        read.map_err(|reason| self.fault(id, index, reason))
    }

    /// How a range of an extent is read. Its size is checked: whatever the strategy allocates is within
    /// limits.
    fn strategy(
        &self,
        id: EntryId,
        index: u32,
        within: &Range<u64>,
        is_alone: bool,
    ) -> Result<ReadStrategy, Reason> {
        let layer = self.layer(id.layer);
        let extent = layer.extent(index);
        if extent.codec == Codec::Stored {
            return Ok(ReadStrategy::Stored);
        }
        let size = layer.size(index)?;
        self.check_size(id.layer, index, size)?;
        let key = CacheKey { source: layer.number, offset: extent.offset, size };
        let size = u64::from(size);
        let is_prefix = match index == layer.extents(id.entry).start {
            true => {
                size > PREFIX_LEN
                    && within.end <= PREFIX_LEN.min(size / PREFIX_PART)
                    && (within.start == 0 || size > LARGE_EXTENT)
            }
            // A reader in pages has read all that is before it, and will go on. Who begins where it does,
            // which no page of a texture does, wants one mip: that of a thumbnail.
            false => is_alone && within.start == 0 && within.end <= ALONE_LEN,
        };
        Ok(match self.shared.cache.contains(&key) {
            false if *within == (0..size) => ReadStrategy::Whole,
            false if is_prefix && codec::has_prefix(extent.codec) => ReadStrategy::Prefix(key),
            _ => ReadStrategy::Cached(key),
        })
    }
}
