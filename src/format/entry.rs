//! One file of an archive: its stored name, its hashes and how many extents it has.

use super::hash::Hash;

/// One file in an archive.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its name, as far as the archive stores it.
    pub name: Name<'a>,
    /// Its hashes as stored.
    pub hash: Hash,
    /// How many of the archive's extents are its own; they follow those of the entry before it.
    pub extents: u8,
}

/// What an archive stores of a file's name, in its own code page and with its own separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// One string: folders and file.
    Path(&'a [u8]),
    /// Folder and file apart; either may be absent, and only its hash stored.
    Split {
        /// The folder's full path.
        folder: Option<&'a [u8]>,
        /// The file's name within it.
        file: Option<&'a [u8]>,
    },
    /// A number, listed as decimal digits: Daggerfall's archives of sounds and models.
    Number(u32),
    /// Only hashes are stored, and the extension (up to four characters) where the format keeps it apart.
    Unknown {
        /// NUL-padded, without its dot.
        extension: [u8; 4],
    },
}

impl Name<'_> {
    /// Whether folder and file are both stored, so that a hash can be made of them.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Path(path) => !path.is_empty(),
            Self::Split { folder, file } => folder.is_some() && file.is_some_and(|file| !file.is_empty()),
            Self::Number(_) => true,
            Self::Unknown { .. } => false,
        }
    }

    /// Folder and file of a whole name, as [`super::hash::Family::of`] takes them; the folder may still be part of
    /// the file.
    pub fn parts(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Path(path) => Some((&b""[..], *path)),
            Self::Split { folder, file } => Some(((*folder)?, (*file)?)),
            Self::Number(_) | Self::Unknown { .. } => None,
        }
        .filter(|_| self.is_whole())
    }
}

/// A file of one archive among those that were opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId {
    /// The archive's index in load order.
    pub layer: u16,
    /// The file's index among [`super::Archive::entries`].
    pub entry: u32,
}
