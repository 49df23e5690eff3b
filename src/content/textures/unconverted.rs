//! A file of an archive before its texture is converted: as it is stored, or with its texels in rows.

use std::io::Write;
use std::ops::Range;

use super::linear_file::LinearFile;
use crate::content::error::{CopyError, ReadFault};
use crate::content::read::{FileBytes, PlainFile};

#[derive(Clone, Copy, Debug)]
pub(super) enum Unconverted<'s> {
    Plain(PlainFile<'s>),
    Linear(LinearFile<'s>),
}

impl<'s> Unconverted<'s> {
    pub(super) fn plain(&self) -> PlainFile<'s> {
        match self {
            Self::Plain(file) => *file,
            Self::Linear(file) => file.plain(),
        }
    }

    /// The size in bytes, if it is known without reading data.
    pub(super) fn known_size(&self) -> Option<u64> {
        match self {
            Self::Plain(file) => file.known_size(),
            Self::Linear(file) => Some(file.len()),
        }
    }

    /// The size in bytes. Reads what is needed to know it.
    pub(super) fn size(&self) -> Result<u64, ReadFault> {
        match self {
            Self::Plain(file) => file.size(),
            Self::Linear(file) => Ok(file.len()),
        }
    }

    /// Reads a range of the file, or less at the end of the file.
    pub(super) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        match self {
            Self::Plain(file) => file.read(range),
            Self::Linear(file) => file.read(range),
        }
    }

    /// Fills `out` with a range of the file. The range lies within the file.
    pub(super) fn read_into(&self, range: &Range<u64>, out: &mut [u8]) -> Result<(), ReadFault> {
        match self {
            Self::Plain(file) => file.read_into(range, out),
            Self::Linear(file) => file.read_into(range, out),
        }
    }

    /// Writes the whole file. Returns its size in bytes.
    pub(super) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        match self {
            Self::Plain(file) => file.copy(to),
            Self::Linear(file) => file.copy(to),
        }
    }
}
