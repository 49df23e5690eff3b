//! What a plan consists of: archives and their files.

use std::time::SystemTime;

use crate::format::write::{NewArchive, NewKind, StoredPath};
use crate::shown::Shown;
use crate::texture::parts::TextureParts;
use crate::vfs::VfsFile;

/// An archive that will be written.
#[derive(Clone, Debug)]
pub struct PlannedArchive {
    /// The name of the file.
    pub name: String,
    /// What loads it.
    pub loader: Loader,
    /// Whether it has only tables that belong to a plugin other than the one of the other archives.
    pub is_of_other: bool,
    pub(super) kind: NewKind,
    pub(super) layout: NewArchive,
    /// The files, by the number that the layout has.
    pub(super) files: Vec<PlannedFile>,
}

/// What loads an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// A plugin of the source.
    Plugin(String),
    /// A plugin that the source lacks. The name has no extension.
    Missing(String),
    /// A line of an INI file.
    Line(String),
}

/// A file that will be packed.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    /// The path in the archive, with `/` between names and in the spelling of the source.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// How it is stored.
    pub how: How,
    pub(super) file: VfsFile,
    pub(super) stored: StoredPath,
    pub(super) parts: Option<TextureParts>,
}

/// How a file is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it is.
    Stored,
    /// Compressed, if that makes it smaller.
    Compressed,
    /// As a texture without its header, always compressed.
    Texture,
}

impl PlannedArchive {
    /// The kind in words: `BSA 105`, `BA2 1 GNRL`.
    pub fn kind(&self) -> String {
        self.kind.words()
    }

    /// The files, ordered by path without regard to case.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// The newest date of a file.
    pub(super) fn newest(&self) -> Option<SystemTime> {
        self.files.iter().map(|file| file.file.modified()).max()
    }
}

impl Loader {
    /// What loads the archive, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Plugin(plugin) => format!("loaded by {}", plugin.shown()),
            Self::Missing(name) => format!("loaded by a plugin called {}", name.shown()),
            Self::Line(line) => format!("loaded by {}", line.shown()),
        }
    }
}
