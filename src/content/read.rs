//! READ: cuts the range into pieces, reads each by its strategy, and assembles them into the reply.

use std::ops::Range;

use super::buffer::Buffer;
use super::error::{EntryError, Reason};
use super::loose::LooseFiles;
use super::pieces::Piece;
use super::read_strategy::PieceBytes;
use super::store::Store;
use crate::folder::LooseFile;
use crate::format::EntryId;

impl Store {
    /// Calls `answer` with `len` bytes of a loose file that has left the view, or fewer at its end.
    ///
    /// # Errors
    /// [`Reason::FileIo`] or [`Reason::NoMemory`].
    pub fn read_open<T>(
        file: &LooseFile,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Reason> {
        LooseFiles::read_open(file, offset, len, answer)
    }

    /// Calls `answer` with `len` bytes of a file from `offset` on, or fewer at the end of the file.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn read_at<T>(
        &self,
        id: EntryId,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, EntryError> {
        if let Some(files) = self.loose(id) {
            return files.read(id, offset, len, answer).inspect_err(|_| self.count_fault());
        }
        let end = self.exact_size(id)?.min(offset.saturating_add(u64::from(len)));
        let Some(len) = end.checked_sub(offset).filter(|&len| len > 0) else {
            return Ok(answer(&[]));
        };
        // The size depends on the header, so that was read.
        if let Some(file) = self.layer(id.layer).uncompressed(id.entry) {
            return self.read_uncompressed(id, file, offset..end, answer);
        }
        let pieces = self.pieces(id, &(offset..end));
        let mut out = Buffer::new(len as usize, None).map_err(|reason| self.fault_at(id, 0, reason))?;
        // Nearly all reads have one piece. If it is cached, the answer needs no copy.
        if let [piece] = &pieces[..] {
            return Ok(match self.read_piece(id, piece, true, &mut out)? {
                PieceBytes::InBuffer => answer(&out),
                PieceBytes::InCache(decoded) => {
                    let answered = answer(&decoded.bytes()[piece.range()]);
                    self.shared.cache.note_served(&decoded, piece.len());
                    answered
                }
            });
        }
        self.read_pieces(id, &pieces, &mut out)?;
        Ok(answer(&out))
    }

    /// Fills `out` from a range of a file as it is if it is not uncompressed. The sizes of its extents are
    /// known.
    pub(super) fn read_stored_form(
        &self,
        id: EntryId,
        range: &Range<u64>,
        out: &mut [u8],
    ) -> Result<(), EntryError> {
        self.read_pieces(id, &self.pieces(id, range), out)
    }

    fn read_pieces(&self, id: EntryId, pieces: &[Piece], out: &mut [u8]) -> Result<(), EntryError> {
        let mut rest = out;
        for piece in pieces {
            let (to, others) = rest.split_at_mut(piece.range().len());
            if let PieceBytes::InCache(decoded) = self.read_piece(id, piece, pieces.len() == 1, to)? {
                to.copy_from_slice(&decoded.bytes()[piece.range()]);
                self.shared.cache.note_served(&decoded, piece.len());
            }
            rest = others;
        }
        Ok(())
    }
}
