//! The pieces of a READ: its range, cut at the borders of the file's head and extents.

use std::ops::Range;

use super::store::Store;
use crate::format::{EntryId, LinearTexture};

/// A part of a file whose bytes come from one source.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) source: PieceSource,
    /// The range within the source.
    pub(super) within: Range<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PieceSource {
    /// The header that bsafs adds.
    Head,
    /// One of the archive's extents.
    Extent(u32),
    /// All extents of the file, with their texels put into rows. The number is their size in rows, in bytes.
    Linear(LinearTexture, u64),
}

impl Piece {
    /// Length in bytes.
    pub(super) fn len(&self) -> u64 {
        self.within.end - self.within.start
    }

    /// The range of the source, to index a slice.
    pub(super) fn range(&self) -> Range<usize> {
        self.within.start as usize..self.within.end as usize
    }
}

impl Store {
    /// Cuts a range of a file at the borders of its head and its extents.
    pub(super) fn pieces(&self, id: EntryId, range: &Range<u64>) -> Vec<Piece> {
        let layer = self.layer(id.layer);
        let linear = layer.linear(id.entry);
        let linear = linear.map(|(texture, len)| (PieceSource::Linear(texture, len), len));
        let extents = layer.extents(id.entry).filter(|_| linear.is_none());
        // All sizes are known, because the range was compared with the file's size.
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
}
