//! Reading files: ranges for the kernel, whole files for `cat` and `extract`, and checks for `verify`.

use std::io::{self, Write};

use super::buffer;
use super::codec::Quirk;
use super::decoded::Decoded;
use super::error::ReadError;
use super::store::Store;
use super::way::{Piece, PieceSource, Way};
use crate::format::{Codec, EntryId};

/// Pieces in which stored files are copied and checked, in bytes.
const COPY_LEN: usize = 1 << 20;

/// Where the bytes of a piece are, once it was read.
enum PieceBytes {
    /// In the buffer that was to be filled.
    InBuffer,
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
        if let Some(files) = self.loose(id) {
            return files.read(id, offset, len, answer).inspect_err(|_| self.count_fault());
        }
        let end = self.exact_size(id)?.min(offset.saturating_add(u64::from(len)));
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else {
            return Ok(answer(&[]));
        };
        let pieces = self.pieces(id, &(offset..end));
        buffer::answer(len as usize, None, |out| {
            // One piece, as nearly always: from the cache it is answered without a copy.
            if let [piece] = &pieces[..] {
                return Ok(match self.read_piece(id, piece, true, out)? {
                    PieceBytes::InBuffer => answer(out),
                    PieceBytes::InCache(decoded) => {
                        let answered = answer(&decoded.bytes()[piece.range()]);
                        self.shared.cache.note_served(&decoded.key, piece.len());
                        answered
                    }
                });
            }
            let mut rest = &mut out[..];
            for piece in &pieces {
                let (to, others) = rest.split_at_mut(piece.range().len());
                if let PieceBytes::InCache(decoded) = self.read_piece(id, piece, false, to)? {
                    to.copy_from_slice(&decoded.bytes()[piece.range()]);
                    self.shared.cache.note_served(&decoded.key, piece.len());
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
            to.write_all(self.decode_linear(id).map_err(io::Error::other)?.bytes())?;
            return self.exact_size(id).map_err(io::Error::other);
        }
        for index in layer.extents(id.entry) {
            self.with_extent(id, index, |bytes, _| to.write_all(bytes)).map_err(io::Error::other)??;
        }
        self.exact_size(id).map_err(io::Error::other)
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
            let note = |_: &[u8], quirk| {
                quirks.extend(quirk);
                Ok::<_, ReadError>(())
            };
            self.with_extent(id, index, note)??;
        }
        Ok(quirks)
    }

    /// Reads a piece into `out`, which has its length, or leaves it in the cache; `is_alone` where a read has no other pieces.
    fn read_piece(
        &self,
        id: EntryId,
        piece: &Piece,
        is_alone: bool,
        out: &mut [u8],
    ) -> Result<PieceBytes, ReadError> {
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
        let read = self.way(id, index, within, is_alone).and_then(|way| match way {
            Way::Stored => layer.read_stored(index, within.start, out).map(in_buffer),
            Way::Whole => self.decode(id, index, out).map(in_buffer),
            Way::Prefix(_) if self.decode_prefix(id, index, within, out)? => Ok(PieceBytes::InBuffer),
            Way::Prefix(key) | Way::Cached(key) => {
                self.decode_cached(id, index, key).map(PieceBytes::InCache)
            }
        });
        read.map_err(|reason| self.fault(id, index, reason))
    }

    /// Calls `use_it` with the bytes of an extent: stored ones in pieces, packed ones as a whole, with what is not as it should
    /// be. Stops where `use_it` fails, with its error inside.
    fn with_extent<E>(
        &self,
        id: EntryId,
        index: u32,
        mut use_it: impl FnMut(&[u8], Option<Quirk>) -> Result<(), E>,
    ) -> Result<Result<(), E>, ReadError> {
        let layer = self.layer(id.layer);
        let fault = |reason| self.fault(id, index, reason);
        let size = layer.size(index).map_err(fault)?;
        if layer.extent(index).codec != Codec::Stored {
            self.check_size(id.layer, index, size).map_err(fault)?;
            return self.with_decoded(id, index, size, use_it).map_err(fault);
        }
        for start in (0..size).step_by(COPY_LEN) {
            let len = COPY_LEN.min((size - start) as usize);
            let used = buffer::answer(len, None, |out| {
                layer.read_stored(index, u64::from(start), out).map_err(fault)?;
                Ok(use_it(out, None))
            })?;
            if used.is_err() {
                return Ok(used);
            }
        }
        Ok(Ok(()))
    }
}
