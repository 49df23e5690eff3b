//! READ: decides in which form a file is shown. Loose files are read by `loose.rs`, textures that are
//! converted to `rgba` by `rgba.rs`, those with another header by `header.rs`, and all other files in pieces
//! (`pieces.rs`).

use super::cache::Buffer;
use super::error::{EntryError, Reason};
use super::file_bytes::FileBytes;
use super::loose;
use super::store::Store;
use super::tables::Converted;
use crate::folder::LooseFile;
use crate::format::EntryId;

impl Store {
    /// Reads `len` bytes of a file from `offset` on, or fewer at the end of the file.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn read_at(&self, id: EntryId, offset: u64, len: u32) -> Result<FileBytes<'_>, EntryError> {
        if let Some(files) = self.loose(id) {
            return files.read(id, offset, len).inspect_err(|_| self.count_fault());
        }
        let range = offset..offset.saturating_add(u64::from(len));
        match self.converted(id)? {
            Some(Converted::Rgba(texture)) => self.read_rgba(id, texture, &range),
            Some(Converted::Headed(header)) => self.read_headed(id, header, &range),
            Some(Converted::Kept(_)) | None => self.read_parts(id, &range),
        }
    }

    /// Reads `len` bytes of a loose file that has left the view, from `offset` on, or fewer at its end.
    ///
    /// # Errors
    /// [`Reason::FileIo`] or [`Reason::NoMemory`].
    pub fn read_open(file: &LooseFile, offset: u64, len: u32) -> Result<FileBytes<'static>, Reason> {
        let mut out = Buffer::new(len as usize, None)?;
        let read = file.read_at(&mut out, offset).map_err(|error| loose::reason(&error))?;
        Ok(FileBytes::in_buffer(out, read))
    }
}
