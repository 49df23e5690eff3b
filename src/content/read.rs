//! READ: from the range of a file to the bytes of the reply. Loose files are read by `loose.rs`, textures
//! that are converted to `rgba` by `rgba.rs`, and all other files in pieces (`pieces.rs`).

use super::buffer::Buffer;
use super::error::{EntryError, Reason};
use super::loose;
use super::pieces::PieceBytes;
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
        let mut out = Buffer::new(len as usize, None)?;
        let read = file.read_at(&mut out, offset).map_err(|error| loose::reason(&error))?;
        Ok(answer(&out[..read]))
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
        let range = offset..offset.saturating_add(u64::from(len));
        if let Some(file) = self.rgba(id)? {
            return self.read_rgba(id, file, &range, answer);
        }
        let pieces = self.pieces(id, &range)?;
        if pieces.is_empty() {
            return Ok(answer(&[]));
        }
        let len = pieces.iter().map(|piece| piece.range().len()).sum();
        let mut out = Buffer::new(len, None).map_err(|reason| self.fault_at(id, 0, reason))?;
        // Nearly all reads have one piece. If it is cached, the answer needs no copy.
        if let [piece] = &pieces[..] {
            return Ok(match self.read_piece(id, piece, true, &mut out)? {
                PieceBytes::InBuffer => answer(&out),
                PieceBytes::InCache(decoded) => self.shared.cache.serve(&decoded, piece.range(), answer),
            });
        }
        self.read_pieces(id, &pieces, &mut out)?;
        Ok(answer(&out))
    }
}
