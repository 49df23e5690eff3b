//! Textures that are shown under another header (`--textures=compatible`).

use std::io::{self, Write};
use std::ops::Range;

use super::unconverted::Unconverted;
use crate::content::cache::Buffer;
use crate::content::error::{CopyError, ReadFault};
use crate::content::read::FileBytes;
use crate::content::tables::NewHeader;

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
