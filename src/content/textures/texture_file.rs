//! Textures that are shown in another form than they are stored in: with their texels in rows, or as their
//! header decides: as pixels, under another header, or as they are.
//!
//! If an archive stores headers within the files, the size of the shown file is known once the header has
//! been read.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::OnceLock;

use super::linear_file::{LinearFile, Unconverted};
use super::rgba_file::RgbaFile;
use crate::content::cache::Buffer;
use crate::content::error::{CopyError, ReadFault, Reason};
use crate::content::layer_tables::{Converted, NewHeader, OtherForm, TOO_LARGE};
use crate::content::read::{FileBytes, PlainFile};
use crate::texture::file_header::HEADER_MAX;

/// A file of an archive that is shown in another form than it is stored in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureFile<'s> {
    file: Unconverted<'s>,
    /// How it is shown, once its header was read; `None` if no header decides that.
    shown: Option<&'s OnceLock<Converted>>,
}

impl<'s> TextureFile<'s> {
    pub(crate) fn new(file: PlainFile<'s>, form: OtherForm<'s>) -> Self {
        let linear = form.rows.map(|rows| Unconverted::Linear(LinearFile::new(file, rows)));
        Self { file: linear.unwrap_or(Unconverted::Plain(file)), shown: form.shown }
    }

    /// Reads a range of the file, or less at the end of the file.
    ///
    /// # Errors
    /// The fault of the first extent that cannot be read, or of the header, if it decides how the file is
    /// shown.
    pub(crate) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        match self.learnt()? {
            Some(Converted::Rgba(texture)) => RgbaFile::new(self.file, texture).read(range),
            Some(Converted::Headed(header)) => HeadedFile::new(self.file, header).read(range),
            Some(Converted::Kept(_)) | None => self.file.read(range),
        }
    }

    /// Writes the whole file. Returns its size in bytes.
    pub(crate) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        match self.learnt()? {
            Some(Converted::Rgba(texture)) => RgbaFile::new(self.file, texture).copy(to),
            Some(Converted::Headed(header)) => HeadedFile::new(self.file, header).copy(to),
            Some(Converted::Kept(_)) | None => self.file.copy(to),
        }
    }

    pub(crate) fn plain(&self) -> PlainFile<'s> {
        self.file.plain()
    }

    /// The file as it is stored, if that is from what it is converted.
    pub(crate) fn as_plain(&self) -> Option<PlainFile<'s>> {
        match self.file {
            Unconverted::Plain(file) => Some(file),
            Unconverted::Linear(_) => None,
        }
    }

    /// Checks that each extent lies within the archive, and the sum of their sizes, if all are decoded
    /// together.
    pub(crate) fn check_sizes(&self) -> Result<(), ReadFault> {
        match &self.file {
            Unconverted::Plain(_) => Ok(()),
            Unconverted::Linear(file) => file.check_sizes().map(|_| ()),
        }
    }

    /// The size in bytes. Reads what is needed to know it. If the header cannot be read, the file has the
    /// size of what is stored.
    pub(crate) fn size(&self) -> Result<u64, ReadFault> {
        let _ = self.learn_header();
        self.converted_len().map_or_else(|| self.file.size(), Ok)
    }

    /// The size in bytes, if it is known without reading data.
    pub(crate) fn size_if_known(&self) -> Option<u64> {
        if self.needs_header() { None } else { self.converted_len().or_else(|| self.file.size_if_known()) }
    }

    /// The size in bytes, if the header was read and makes it another size than the stored one.
    pub(crate) fn converted_len(&self) -> Option<u64> {
        self.shown?.get()?.file_len()
    }

    /// Whether the header must be read to know how the file is shown.
    pub(crate) fn needs_header(&self) -> bool {
        self.shown.is_some_and(|shown| shown.get().is_none())
    }

    /// Why the file is shown as it is stored, although another form was asked for; `None` if it is not, or
    /// if its header was not read yet.
    pub(crate) fn kept_reason(&self) -> Option<&'static str> {
        match self.shown?.get()? {
            Converted::Kept(reason) if !reason.is_empty() => Some(reason),
            _ => None,
        }
    }

    /// Reads the header, unless it is known. If the data is damaged, the file is not converted.
    pub(crate) fn learn_header(&self) -> Result<(), ReadFault> {
        if !self.needs_header() {
            return Ok(());
        }
        let PlainFile { archive, entry } = self.file.plain();
        let textures = archive.tables.converted();
        match self.read_header() {
            Ok(shown) => textures.set(entry, shown),
            // The device or the memory may be there again later.
            Err(fault) if matches!(fault.reason, Reason::Io(_) | Reason::NoMemory(_) | Reason::Changed) => {
                return Err(fault);
            }
            Err(fault) => {
                textures.set(entry, Converted::Kept("damaged data"));
                return Err(fault);
            }
        }
        Ok(())
    }

    fn read_header(&self) -> Result<Converted, ReadFault> {
        let len = self.file.size()?;
        let PlainFile { archive, entry } = self.file.plain();
        if archive.tables.has_huge_extent(entry) {
            return Ok(Converted::Kept(TOO_LARGE));
        }
        let mut first = [0; HEADER_MAX];
        let first = &mut first[..len.min(HEADER_MAX as u64) as usize];
        self.file.read_into(&(0..first.len() as u64), first)?;
        Ok(Converted::of(archive.tables.textures(), first, len))
    }

    /// How the file is shown. Reads the header if that is not known.
    fn learnt(&self) -> Result<Option<&'s Converted>, ReadFault> {
        match self.learn_header() {
            Err(fault) if self.needs_header() => Err(fault),
            _ => Ok(self.shown.and_then(OnceLock::get)),
        }
    }
}

// Textures that are shown under another header (`--textures=compatible`).

/// A file with another header.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadedFile<'s> {
    file: Unconverted<'s>,
    header: &'s NewHeader,
}

impl<'s> HeadedFile<'s> {
    pub(super) fn new(file: Unconverted<'s>, header: &'s NewHeader) -> Self {
        Self { file, header }
    }

    /// Reads a range of the file, or less at the end of the file.
    pub(super) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        let (header, head) = (self.header, self.header.bytes.len() as u64);
        let stored = |at: u64| at - head + header.replaces;
        let range = range.start.min(header.file_len())..range.end.min(header.file_len());
        if range.start >= head {
            return self.file.read(&(stored(range.start)..stored(range.end)));
        }
        let len = (range.end - range.start) as usize;
        let mut out = Buffer::new(len, None).map_err(ReadFault::at_start)?;
        let of_head = &header.bytes[range.start as usize..range.end.min(head) as usize];
        let (to_head, to_rest) = out.split_at_mut(of_head.len());
        to_head.copy_from_slice(of_head);
        if !to_rest.is_empty() {
            self.file.read_into(&(stored(head)..stored(range.end)), to_rest)?;
        }
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Writes the whole file. Returns its size in bytes.
    pub(super) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        to.write_all(&self.header.bytes).map_err(CopyError::Writer)?;
        self.file.copy(&mut Skipping { to, left: self.header.replaces })?;
        Ok(self.header.file_len())
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
