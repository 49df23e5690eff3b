//! A file of an archive as it is stored: a header that bsafs adds, and the extents behind it. A range of the
//! file is cut into pieces at their borders, and each extent reads its piece.

use std::io::Write;
use std::ops::Range;

use super::archive_content::ArchiveContent;
use super::file_extent::{FileBytes, FileExtent, PieceBytes};
use crate::content::cache::Buffer;
use crate::content::codec::{self, Quirk};
use crate::content::error::{CopyError, ReadFault};
use crate::format::Codec;
use crate::texture::file_header::HEADER_MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainFile<'s> {
    pub(crate) archive: &'s ArchiveContent,
    pub(crate) entry: u32,
}

/// What was found in a file that was decoded in full.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// The quirks of its extents.
    pub(crate) quirks: Vec<Quirk>,
    /// The stated codec of the first extent that no checksum covers.
    pub(crate) unchecked: Option<Codec>,
    /// The first bytes, at most as many as a texture's header needs.
    pub(crate) first: Vec<u8>,
    /// Length of the file in bytes.
    pub(crate) len: u64,
}

impl Examined {
    /// Adds bytes of the file, in their order.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let more = HEADER_MAX.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(&bytes[..more]);
        self.len += bytes.len() as u64;
    }
}

/// A range of a part of the file.
struct FilePiece<'s> {
    part: FilePart<'s>,
    /// The range within the part.
    within: Range<u64>,
}

enum FilePart<'s> {
    /// The header that bsafs adds.
    Head,
    /// One of the extents, and its size in bytes.
    Extent(FileExtent<'s>, u32),
}

impl<'s> PlainFile<'s> {
    pub(crate) fn new(archive: &'s ArchiveContent, entry: u32) -> Self {
        Self { archive, entry }
    }

    /// The extents in order.
    pub(crate) fn extents(self) -> impl ExactSizeIterator<Item = FileExtent<'s>> + Clone {
        self.archive.tables.extents(self.entry).map(move |index| self.extent(index))
    }

    /// One of the extents, by its index in the archive.
    pub(crate) fn extent(self, index: u32) -> FileExtent<'s> {
        FileExtent { archive: self.archive, entry: self.entry, index }
    }

    /// Length of the header in bytes.
    pub(crate) fn head_len(self) -> u64 {
        self.archive.tables.head(self.entry).len()
    }

    /// The size in bytes, if it is known without reading data.
    pub(crate) fn size_if_known(self) -> Option<u64> {
        let data: Option<u64> = self.extents().map(|extent| extent.size_if_known().map(u64::from)).sum();
        Some(self.head_len() + data?)
    }

    /// The size in bytes. Reads what is needed to know it.
    pub(crate) fn size(self) -> Result<u64, ReadFault> {
        self.extents().try_fold(self.head_len(), |sum, extent| Ok(sum + u64::from(size_of(extent)?)))
    }

    /// The size in bytes if it can never be learnt: what the file is packed into, but at least one.
    pub(crate) fn estimated_size(self) -> u64 {
        let packed = self.extents().map(|extent| u64::from(extent.record().packed.max(1)));
        self.head_len() + packed.sum::<u64>()
    }

    /// Whether the size can never be learnt, because the data contradicts itself or the archive was changed.
    pub(crate) fn is_size_lost(self) -> bool {
        self.extents().any(FileExtent::is_size_lost)
    }

    /// Reads a range of the file, or less at the end of the file.
    ///
    /// # Errors
    /// The fault of the first extent that cannot be read.
    pub(crate) fn read(self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        let pieces = self.pieces(range)?;
        if pieces.is_empty() {
            return Ok(FileBytes::EMPTY);
        }
        let len = pieces.iter().map(FilePiece::len).sum();
        let mut out = Buffer::new(len, None).map_err(ReadFault::at_start)?;
        // Nearly all reads have one piece. If it is cached, its bytes need no copy.
        if let [piece] = &pieces[..] {
            return Ok(match self.read_piece(piece, true, &mut out)? {
                PieceBytes::InBuffer => FileBytes::in_buffer(out, len),
                PieceBytes::InCache(bytes) => FileBytes::in_cache(bytes),
            });
        }
        self.read_pieces(&pieces, &mut out)?;
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Fills `out` with a range of the file. The range lies within the file.
    pub(crate) fn read_into(self, range: &Range<u64>, out: &mut [u8]) -> Result<(), ReadFault> {
        self.read_pieces(&self.pieces(range)?, out)
    }

    /// Writes the whole file, extent by extent. Returns its size in bytes.
    pub(crate) fn copy(self, to: &mut impl Write) -> Result<u64, CopyError> {
        to.write_all(&self.archive.tables.head_bytes(self.entry)).map_err(CopyError::Writer)?;
        for extent in self.extents() {
            let written = extent.with_bytes(|bytes, _| to.write_all(bytes));
            written.map_err(|reason| extent.fault(reason))?.map_err(CopyError::Writer)?;
        }
        Ok(self.size()?)
    }

    /// Decodes all extents, and finds out what no checksum covers.
    pub(crate) fn examine(self) -> Result<Examined, ReadFault> {
        let mut examined = Examined::default();
        examined.add(&self.archive.tables.head_bytes(self.entry));
        for extent in self.extents() {
            examined.quirks.extend(extent.prefix_quirk());
            let note = |bytes: &[u8], packed: Option<(&[u8], Option<Quirk>)>| {
                let codec = extent.record().codec;
                let quirk = packed.and_then(|(_, quirk)| quirk);
                let is_covered = packed.is_some_and(|(packed, _)| codec::has_checksum(codec, packed, quirk));
                if !is_covered && !bytes.is_empty() {
                    examined.unchecked = examined.unchecked.or(Some(codec));
                }
                examined.quirks.extend(quirk);
                examined.add(bytes);
                Ok::<_, ReadFault>(())
            };
            extent.with_bytes(note).map_err(|reason| extent.fault(reason))??;
        }
        Ok(examined)
    }

    /// Cuts a range of the file at the borders of its parts, and at the end of the file.
    fn pieces(self, range: &Range<u64>) -> Result<Vec<FilePiece<'s>>, ReadFault> {
        let mut start = 0;
        let mut pieces = Vec::new();
        let mut cut = |part, size: u64| {
            let end = start + size;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                pieces.push(FilePiece { part, within: from - start..to - start });
            }
            start = end;
        };
        cut(FilePart::Head, self.head_len());
        for extent in self.extents() {
            let size = size_of(extent)?;
            cut(FilePart::Extent(extent, size), u64::from(size));
        }
        Ok(pieces)
    }

    /// Fills `out` from pieces, one after the other.
    fn read_pieces(self, pieces: &[FilePiece<'s>], out: &mut [u8]) -> Result<(), ReadFault> {
        let mut rest = out;
        for piece in pieces {
            let (to, others) = rest.split_at_mut(piece.len());
            if let PieceBytes::InCache(bytes) = self.read_piece(piece, pieces.len() == 1, to)? {
                to.copy_from_slice(&bytes);
            }
            rest = others;
        }
        Ok(())
    }

    /// Reads a piece into `out`, which has the piece's length, or leaves it in the cache.
    fn read_piece(
        self,
        piece: &FilePiece<'s>,
        is_only_piece: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes<'s>, ReadFault> {
        let FilePiece { part, within } = piece;
        match part {
            FilePart::Head => {
                let head = self.archive.tables.head_bytes(self.entry);
                out.copy_from_slice(&head[within.start as usize..within.end as usize]);
                Ok(PieceBytes::InBuffer)
            }
            FilePart::Extent(extent, size) => {
                extent.read(*size, within, is_only_piece, out).map_err(|reason| extent.fault(reason))
            }
        }
    }
}

impl FilePiece<'_> {
    fn len(&self) -> usize {
        (self.within.end - self.within.start) as usize
    }
}

fn size_of(extent: FileExtent<'_>) -> Result<u32, ReadFault> {
    extent.size().map_err(|reason| extent.fault(reason))
}
