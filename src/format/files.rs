//! The files of an archive, read from its tables each time they are asked for.
//!
//! Half a million entries in a row would take 40 MB for the moment in which names and extents are made of them, and
//! the system takes longer to provide these pages than all else together. The tables lie in memory as they are, so that a
//! format only remembers where they begin, and walks them again.

use std::fmt;
use std::sync::Arc;

use super::{Archive, Entry, Extent, Name, hash::Hash};

/// What a format tells of an archive's files, in stored order. The tables were found sound when they were parsed; where
/// they changed since, a walk ends early.
pub trait Files<'a>: fmt::Debug + Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Walks all entries.
    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_>;

    /// Walks the extents of all entries.
    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_>;

    /// Whether it is known without a walk that every entry has a name.
    fn has_all_names(&self) -> bool {
        false
    }

    /// Whether every entry has one extent.
    fn has_one_extent_each(&self) -> bool;
}

/// Files in a row, for formats that have few of them.
#[derive(Clone, Debug, Default)]
pub struct FileList<'a> {
    /// The entries.
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
    fn from(listed: FileList<'a>) -> Self {
        Arc::new(listed)
    }
}

/// A walk through the entries of an archive: as many as were counted, whatever became of the tables.
pub struct Entries<'a, 'w> {
    walk: Box<dyn Iterator<Item = Entry<'a>> + 'w>,
    left: usize,
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

impl<'a> Archive<'a> {
    /// Walks its entries, in stored order.
    pub fn entries(&self) -> Entries<'a, '_> {
        Entries { walk: self.files.entries(), left: self.files.len() }
    }

    /// Walks the extents of all entries, in the order of the entries.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.files.extents()
    }
}
