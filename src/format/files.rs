//! The files of an archive, parsed from its tables for each walk.
//!
//! A list of half a million entries would take 40 MB while names and extents are built from it. The
//! kernel takes longer to provide these pages than the parse takes. The tables are in memory
//! anyway. So a format stores where they begin, and parses them again for each walk.

use std::fmt;
use std::sync::Arc;

use super::entry::{Entry, Name};
use super::extent::Extent;
use super::hash::Hash;

/// An archive's files in stored order. The tables were checked when they were parsed. If the file
/// changed since, a walk ends early.
pub trait Files<'a>: fmt::Debug + Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_>;

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_>;

    /// Whether every entry is known to have a name without a walk.
    fn has_all_names(&self) -> bool {
        false
    }

    fn has_one_extent_each(&self) -> bool;
}

/// Files in memory, for formats whose archives have few files.
#[derive(Clone, Debug, Default)]
pub struct FileList<'a> {
    pub entries: Vec<Entry<'a>>,
    /// The extents of all entries, in the order of the entries.
    pub extents: Vec<Extent>,
}

impl<'a> Files<'a> for FileList<'a> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        Box::new(self.entries.iter().copied())
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        Box::new(self.extents.iter().copied())
    }

    fn has_one_extent_each(&self) -> bool {
        self.entries.iter().all(|entry| entry.extents == 1)
    }
}

impl<'a> From<FileList<'a>> for Arc<dyn Files<'a> + 'a> {
    fn from(files: FileList<'a>) -> Self {
        Arc::new(files)
    }
}

/// A walk through the entries of an archive. It returns as many entries as were counted, even if
/// the file changed since.
pub struct Entries<'a, 'w> {
    walk: Box<dyn Iterator<Item = Entry<'a>> + 'w>,
    left: usize,
}

impl<'a, 'w> Entries<'a, 'w> {
    pub(super) fn new(files: &'w (dyn Files<'a> + 'a)) -> Self {
        Self { walk: files.entries(), left: files.len() }
    }
}

impl<'a> Iterator for Entries<'a, '_> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        const LOST: Entry<'_> = Entry {
            name: Name::Unknown { extension: [0; 4] },
            hash: Hash { folder: 0, file: 0 },
            extents: 0,
        };
        self.left = self.left.checked_sub(1)?;
        Some(self.walk.next().unwrap_or(LOST))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Entries<'_, '_> {}
