//! Textures whose header decides how they are shown: as pixels (`rgba.rs`), or under another header
//! (`--textures=compatible`).
//!
//! If an archive stores headers within the files, the size of the shown file is known once the header has
//! been read.

use std::io::{self, Write};
use std::ops::Range;

use super::archive_content::ArchiveContent;
use super::cache::Buffer;
use super::error::{EntryError, Reason};
use super::file_bytes::FileBytes;
use super::store::Store;
use super::tables::{Converted, NewHeader, TOO_LARGE};
use crate::format::EntryId;
use crate::texture::file_header::HEADER_MAX;

impl ArchiveContent {
    /// How an entry is converted; `None` if it is not, or if that is not known yet.
    pub(super) fn converted(&self, entry: u32) -> Option<&Converted> {
        self.tables.converted().file(entry)?.get()
    }

    /// Whether the header of an entry must be read to know how the entry is shown.
    pub(super) fn needs_header(&self, entry: u32) -> bool {
        self.tables.converted().file(entry).is_some_and(|file| file.get().is_none())
    }
}

impl Store {
    /// How a file is converted; `None` if it is not a texture. Reads the file's header if that decides it.
    ///
    /// # Errors
    /// The header cannot be read now.
    pub(super) fn converted(&self, id: EntryId) -> Result<Option<&Converted>, EntryError> {
        let Some(file) = self.layer(id.layer).tables.converted().file(id.entry) else { return Ok(None) };
        if let Err(error) = self.learn_header(id)
            && file.get().is_none()
        {
            return Err(error);
        }
        Ok(file.get())
    }

    /// Reads the header of a file, if that decides how the file is shown. If the data is damaged, the file is
    /// not converted.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn learn_header(&self, id: EntryId) -> Result<(), EntryError> {
        let layer = self.layer(id.layer);
        if !layer.needs_header(id.entry) {
            return Ok(());
        }
        let read = self.plain_size(id).map_err(|(index, reason)| self.fault(id, index, reason));
        let read = read.and_then(|len| {
            if layer.tables.has_huge_extent(id.entry) {
                return Ok(Converted::Kept(TOO_LARGE));
            }
            let mut first = [0; HEADER_MAX];
            let first = &mut first[..len.min(HEADER_MAX as u64) as usize];
            self.read_plain(id, &(0..first.len() as u64), first)?;
            Ok(Converted::of(layer.tables.textures(), first, len))
        });
        match read {
            Ok(file) => layer.tables.converted().set(id.entry, file),
            // The device or the memory may be there again later.
            Err(error) if matches!(error.reason, Reason::Io(_) | Reason::NoMemory(_) | Reason::Changed) => {
                return Err(error);
            }
            Err(error) => {
                layer.tables.converted().set(id.entry, Converted::Kept("damaged data"));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Why a texture is shown as it is stored, although another form was asked for; `None` if it is not, or
    /// if its header was not read yet.
    pub fn why_kept(&self, id: EntryId) -> Option<&'static str> {
        match self.content(id.layer).archive()?.converted(id.entry)? {
            Converted::Kept(why) if !why.is_empty() => Some(why),
            _ => None,
        }
    }

    /// Like [`Store::why_kept`], but only for the first such texture of an archive, for the log.
    pub fn take_kept(&self, id: EntryId) -> Option<&'static str> {
        let why = self.why_kept(id)?;
        self.content(id.layer).archive()?.tables.converted().is_first_kept().then_some(why)
    }

    /// The entries of a layer that are shown as they are stored, although another form was asked for, and
    /// why, as far as their headers were read.
    pub fn kept_textures(&self, layer: u16) -> Vec<(u32, &'static str)> {
        self.content(layer).archive().map(|it| it.tables.kept_textures().collect()).unwrap_or_default()
    }

    /// Reads a range of a file that has another header, as far as the file reaches.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub(super) fn read_headed(
        &self,
        id: EntryId,
        header: &NewHeader,
        range: &Range<u64>,
    ) -> Result<FileBytes<'_>, EntryError> {
        let head = header.bytes.len() as u64;
        let stored = |at: u64| at - head + header.replaces;
        let range = range.start.min(header.file_len())..range.end.min(header.file_len());
        if range.start >= head {
            return self.read_parts(id, &(stored(range.start)..stored(range.end)));
        }
        let len = (range.end - range.start) as usize;
        let mut out = Buffer::new(len, None).map_err(|reason| self.fault_at(id, 0, reason))?;
        let of_head = &header.bytes[range.start as usize..range.end.min(head) as usize];
        let (to_head, to_rest) = out.split_at_mut(of_head.len());
        to_head.copy_from_slice(of_head);
        if !to_rest.is_empty() {
            self.read_plain(id, &(stored(head)..stored(range.end)), to_rest)?;
        }
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Writes a whole file that has another header.
    pub(super) fn copy_headed(
        &self,
        id: EntryId,
        header: &NewHeader,
        to: &mut impl Write,
    ) -> io::Result<u64> {
        to.write_all(&header.bytes)?;
        self.copy_plain(id, &mut Skipping { to, left: header.replaces })?;
        Ok(header.file_len())
    }
}

/// A writer that drops the first bytes.
struct Skipping<'w, W> {
    to: &'w mut W,
    left: u64,
}

impl<W: Write> Write for Skipping<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return self.to.write(bytes);
        }
        let dropped = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= dropped as u64;
        Ok(dropped)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
