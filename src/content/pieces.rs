//! The parts of a file in an archive: its head and its extents. A range of the file is cut into pieces at
//! their borders, and each piece is read by its strategy (`read_strategy.rs`).

use std::ops::Range;

use super::archive_content::ArchiveContent;
use super::cache::{Buffer, DecodedRange};
use super::error::{EntryError, Reason};
use super::file_bytes::FileBytes;
use super::store::Store;
use crate::format::{EntryId, LinearTexture};

/// A range of a part.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) part: Part,
    /// Size of the whole part in bytes.
    pub(super) part_size: u64,
    /// The range within the part.
    pub(super) within: Range<u64>,
}

/// A part of a file: its header, one extent, or all extents in rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The header that bsafs adds.
    Head,
    /// One of the archive's extents.
    Extent(u32),
    /// All extents of the file, with their texels put into rows. The number is their size in rows, in bytes.
    Linear(LinearTexture, u64),
}

/// Where the bytes of a piece are after the read.
pub(super) enum PieceBytes<'s> {
    /// In the buffer that the caller passed.
    InBuffer,
    /// In the cache. The content of the buffer is unspecified.
    InCache(DecodedRange<'s, Reason>),
}

impl Piece {
    /// The range within the part, to index a slice.
    pub(super) fn range(&self) -> Range<usize> {
        self.within.start as usize..self.within.end as usize
    }
}

impl ArchiveContent {
    /// The parts of an entry in order, each with its size in bytes if that is known.
    pub(super) fn parts(&self, entry: u32) -> impl Iterator<Item = (Part, Option<u64>)> {
        let linear = self.tables.linear(entry);
        let extents = if linear.is_some() { 0..0 } else { self.tables.extents(entry) };
        let head = (Part::Head, Some(self.tables.head(entry).len()));
        let linear = linear.map(|(texture, len)| (Part::Linear(texture, len), Some(len)));
        let extent = |index| (Part::Extent(index), self.known_extent_size(index).map(u64::from));
        std::iter::once(head).chain(linear).chain(extents.map(extent))
    }

    /// The size of [all parts](Self::parts) together in bytes, if it is known. Each entry of a listing needs
    /// it, so it does not walk the parts.
    pub(super) fn known_size(&self, entry: u32) -> Option<u64> {
        let extents =
            || self.tables.extents(entry).map(|index| self.known_extent_size(index).map(u64::from)).sum();
        let data: Option<u64> = self.tables.linear(entry).map_or_else(extents, |(_, len)| Some(len));
        Some(self.tables.head(entry).len() + data?)
    }

    /// The size of a part in bytes. An error has the index of the extent whose size cannot be read.
    fn part_size(&self, part: Part, known: Option<u64>) -> Result<u64, (u32, Reason)> {
        match (part, known) {
            (Part::Extent(index), None) => self.size(index).map(u64::from).map_err(|reason| (index, reason)),
            (_, known) => Ok(known.unwrap_or(0)),
        }
    }
}

impl Store {
    /// The size of a file in bytes, before any conversion to `rgba`. An error has the index of the extent
    /// whose size cannot be read. It is not counted.
    pub(super) fn plain_size(&self, id: EntryId) -> Result<u64, (u32, Reason)> {
        let layer = self.layer(id.layer);
        layer.parts(id.entry).try_fold(0, |sum, (part, known)| Ok(sum + layer.part_size(part, known)?))
    }

    /// Reads a range of a file in an archive, or less at the end of the file.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn read_parts(&self, id: EntryId, range: &Range<u64>) -> Result<FileBytes<'_>, EntryError> {
        let pieces = self.pieces(id, range)?;
        if pieces.is_empty() {
            return Ok(FileBytes::EMPTY);
        }
        let len = pieces.iter().map(|piece| piece.range().len()).sum();
        let mut out = Buffer::new(len, None).map_err(|reason| self.fault_at(id, 0, reason))?;
        // Nearly all reads have one piece. If it is cached, its bytes need no copy.
        if let [piece] = &pieces[..] {
            return Ok(match self.read_piece(id, piece, true, &mut out)? {
                PieceBytes::InBuffer => FileBytes::in_buffer(out, len),
                PieceBytes::InCache(bytes) => FileBytes::in_cache(bytes),
            });
        }
        self.read_pieces(id, &pieces, &mut out)?;
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Fills `out` with a range of a file, before any conversion to `rgba`. The range lies within the file.
    pub(super) fn read_plain(
        &self,
        id: EntryId,
        range: &Range<u64>,
        out: &mut [u8],
    ) -> Result<(), EntryError> {
        self.read_pieces(id, &self.pieces(id, range)?, out)
    }

    /// Cuts a range of a file at the borders of its parts, and at the end of the file.
    ///
    /// # Errors
    /// The size of an extent cannot be read.
    fn pieces(&self, id: EntryId, range: &Range<u64>) -> Result<Vec<Piece>, EntryError> {
        let layer = self.layer(id.layer);
        let mut start = 0;
        let mut pieces = Vec::new();
        for (part, known) in layer.parts(id.entry) {
            let size =
                layer.part_size(part, known).map_err(|(index, reason)| self.fault(id, index, reason))?;
            let end = start + size;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                pieces.push(Piece { part, part_size: size, within: from - start..to - start });
            }
            start = end;
        }
        Ok(pieces)
    }

    /// Fills `out` from pieces, one after the other.
    fn read_pieces(&self, id: EntryId, pieces: &[Piece], out: &mut [u8]) -> Result<(), EntryError> {
        let mut rest = out;
        for piece in pieces {
            let (to, others) = rest.split_at_mut(piece.range().len());
            if let PieceBytes::InCache(bytes) = self.read_piece(id, piece, pieces.len() == 1, to)? {
                to.copy_from_slice(&bytes);
            }
            rest = others;
        }
        Ok(())
    }
}
