//! A file in an archive: its stored name, its hashes and its number of extents.

use super::hash::Hash;

#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The name, as far as the archive stores it.
    pub name: Name<'a>,
    /// The hashes as stored.
    pub hash: Hash,
    /// How many of the archive's extents belong to this file. They follow those of the previous entry.
    pub extents: u8,
}

/// What an archive stores of a file's name, in the archive's own code page and with its own separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// One string with folders and file.
    Path(&'a [u8]),
    /// Folder and file separately. If one is absent, the archive stores only its hash.
    Split {
        /// The folder's full path.
        folder: Option<&'a [u8]>,
        /// The file's name within it.
        file: Option<&'a [u8]>,
    },
    /// A number, listed as decimal digits, as in Daggerfall's archives of sounds and models.
    Number(u32),
    /// Only hashes, and the extension (up to four characters) if the format stores it separately.
    Unknown {
        /// The extension, NUL-padded, without its dot.
        extension: [u8; 4],
    },
}

impl Name<'_> {
    /// Whether folder and file are both stored, so that their hash can be computed.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Path(path) => !path.is_empty(),
            Self::Split { folder, file } => folder.is_some() && file.is_some_and(|file| !file.is_empty()),
            Self::Number(_) => true,
            Self::Unknown { .. } => false,
        }
    }

    /// Folder and file of a whole name, as [`super::hash::Family::of`] takes them. `file` may still
    /// contain folders.
    pub fn parts(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Path(path) => Some((&b""[..], *path)),
            Self::Split { folder, file } => Some(((*folder)?, (*file)?)),
            Self::Number(_) | Self::Unknown { .. } => None,
        }
        .filter(|_| self.is_whole())
    }
}

/// Identifies a file among all archives that were opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId {
    /// The archive's index in load order.
    pub layer: u16,
    /// The file's index among [`super::Archive::entries`].
    pub entry: u32,
}
