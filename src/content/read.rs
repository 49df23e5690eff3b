//! Reading files: ranges for the kernel, whole files for `cat` and `extract`, and checks for `verify`.

use std::io::{self, Write};
use std::ops::Range;

use super::buffer;
use super::codec::Quirk;
use super::decoded::Decoded;
use super::error::ReadError;
use super::store::Store;
use super::way::{Piece, PieceSource, Way};
use crate::format::{Codec, EntryId};
use crate::source::Reach;

/// Pieces in which stored files are copied and checked, in bytes.
const COPY_LEN: u64 = 1 << 20;

/// Where the bytes of a piece are, once it was read.
enum PieceBytes {
    /// In the buffer that was to be filled.
    InBuffer(Option<Quirk>),
    /// In the cache; the content of the buffer is unspecified.
    InCache(Decoded),
}

impl Store {
    /// Calls `answer` with the bytes of a file from `offset` on: `len` of them, or fewer at the file's end.
    ///
    /// # Errors
    /// That of the first extent that cannot be read.
    pub fn read_at<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ReadError> {
        self.read_within(id, offset, len, Reach::Device, answer)
    }

    /// The same, as far as `reach` goes.
    ///
    /// # Errors
    /// That of the first extent that cannot be read; [`super::Reason::OutOfReach`] where `answer` was not called because
    /// one would wait.
    pub fn read_within<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        reach: Reach,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ReadError> {
        if let Some(files) = self.loose(id) {
            return files.read(id, offset, len, reach, answer).inspect_err(|error| self.count_fault(error));
        }
        let end = self.exact_size(id, reach)?.min(offset.saturating_add(u64::from(len)));
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else {
            return Ok(answer(&[]));
        };
        let pieces = self.pieces(id, &(offset..end));
        buffer::answer(len as usize, |out| {
            // One piece, as nearly always: from the cache it is answered without a copy.
            if let [piece] = &pieces[..] {
                return Ok(match self.read_piece(id, piece, out, reach)? {
                    PieceBytes::InBuffer(_) => answer(out),
                    PieceBytes::InCache(decoded) => {
                        let answered = answer(&decoded.bytes()[piece.range()]);
                        self.cache.note_served(&decoded.key, piece.len());
                        answered
                    }
                });
            }
            let mut rest = &mut out[..];
            for piece in &pieces {
                let (to, others) = rest.split_at_mut(piece.range().len());
                if let PieceBytes::InCache(decoded) = self.read_piece(id, piece, to, reach)? {
                    to.copy_from_slice(&decoded.bytes()[piece.range()]);
                    self.cache.note_served(&decoded.key, piece.len());
                }
                rest = others;
            }
            Ok(answer(out))
        })
    }

    /// Writes a whole file, piece by piece; returns its size in bytes.
    ///
    /// # Errors
    /// That of the first extent that cannot be read, as the source of an [`io::Error`]; or the writer's own.
    pub fn copy(&self, id: EntryId, to: &mut impl Write) -> io::Result<u64> {
        if let Some(files) = self.loose(id) {
            return files.copy(id, to);
        }
        let layer = self.layer(id.layer);
        to.write_all(&layer.head_bytes(id.entry))?;
        if layer.linear(id.entry).is_some() {
            to.write_all(self.decode_linear(id, Reach::Device).map_err(io::Error::other)?.bytes())?;
            return self.exact_size(id, Reach::Device).map_err(io::Error::other);
        }
        for index in layer.extents(id.entry) {
            for within in self.steps(id, index).map_err(io::Error::other)? {
                let piece = Piece { source: PieceSource::Extent(index), within };
                buffer::answer(piece.range().len(), |out| {
                    match self.read_piece(id, &piece, out, Reach::Device).map_err(io::Error::other)? {
                        PieceBytes::InBuffer(_) => to.write_all(out),
                        PieceBytes::InCache(decoded) => to.write_all(&decoded.bytes()[piece.range()]),
                    }
                })?;
            }
        }
        self.exact_size(id, Reach::Device).map_err(io::Error::other)
    }

    /// Decodes a whole file; returns what is not as it should be although every byte came.
    ///
    /// # Errors
    /// That of the first extent that cannot be read.
    pub fn check(&self, id: EntryId) -> Result<Vec<Quirk>, ReadError> {
        if let Some(files) = self.loose(id) {
            return files.check(id).map(|()| Vec::new());
        }
        let layer = self.layer(id.layer);
        let mut quirks = Vec::new();
        if layer.linear(id.entry).is_some() {
            // The rest of it is that each extent is sound: the lengths of texels were compared when it was opened.
            self.check_sizes(id)?;
        }
        for index in layer.extents(id.entry) {
            for within in self.steps(id, index)? {
                let piece = Piece { source: PieceSource::Extent(index), within };
                buffer::answer(piece.range().len(), |out| {
                    if let PieceBytes::InBuffer(Some(quirk)) =
                        self.read_piece(id, &piece, out, Reach::Device)?
                    {
                        quirks.push(quirk);
                    }
                    Ok::<(), ReadError>(())
                })?;
            }
        }
        Ok(quirks)
    }

    /// Reads a piece into `out`, which has its length, or leaves it in the cache.
    fn read_piece(
        &self,
        id: EntryId,
        piece: &Piece,
        out: &mut [u8],
        reach: Reach,
    ) -> Result<PieceBytes, ReadError> {
        let layer = self.layer(id.layer);
        let within = &piece.within;
        let index = match piece.source {
            PieceSource::Head => {
                out.copy_from_slice(&layer.head_bytes(id.entry)[piece.range()]);
                return Ok(PieceBytes::InBuffer(None));
            }
            PieceSource::Linear => return self.decode_linear(id, reach).map(PieceBytes::InCache),
            PieceSource::Extent(index) => index,
        };
        let in_buffer = PieceBytes::InBuffer;
        let read = self.way(id, index, within, reach).and_then(|way| match way {
            Way::Stored => layer.read_stored(index, within.start, out, reach).map(|()| in_buffer(None)),
            Way::Whole => self.decode(id, index, out, reach).map(in_buffer),
            Way::Prefix => self.decode_prefix(id, index, within, out, reach).map(|()| in_buffer(None)),
            Way::Cached(key) => self.decode_cached(id, index, key, reach).map(PieceBytes::InCache),
        });
        read.map_err(|reason| self.fault(id, index, reason))
    }

    /// The ranges in which an extent is read through: stored ones in pieces, packed ones whole. An impossible size is
    /// refused here, before anybody makes a buffer of it.
    fn steps(&self, id: EntryId, index: u32) -> Result<impl Iterator<Item = Range<u64>> + use<>, ReadError> {
        let layer = self.layer(id.layer);
        let (size, step) = layer
            .size(index, Reach::Device)
            .and_then(|size| match layer.extent(index).codec {
                Codec::Stored => Ok((size, COPY_LEN)),
                _ => self.check_size(id.layer, index, size).map(|()| (size, u64::from(size.max(1)))),
            })
            .map_err(|reason| self.fault(id, index, reason))?;
        let size = u64::from(size);
        Ok((0..size).step_by(step as usize).map(move |at| at..size.min(at + step)))
    }
}
