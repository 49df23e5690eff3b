//! Files for which the disk reported an event.

use std::collections::HashSet;

use super::change_log::KEPT_MAX;
use crate::tree::Ino;

/// The files for which the disk reported an event since the last view. The comparison of two views does not
/// find all of them, because it stats only files that were statted before.
#[derive(Debug, Default)]
pub(crate) struct TouchedFiles {
    /// Inode numbers.
    files: HashSet<Ino>,
    /// Whether any other file may have been touched.
    are_more: bool,
}

impl TouchedFiles {
    /// Adds a file.
    pub(crate) fn add(&mut self, ino: Ino) {
        if self.files.len() < KEPT_MAX {
            self.files.insert(ino);
        } else {
            self.are_more = true;
        }
    }

    /// Adds all files, because events were lost.
    pub(crate) fn add_all(&mut self) {
        self.are_more = true;
    }

    /// Whether no other file was touched.
    pub(crate) fn is_complete(&self) -> bool {
        !self.are_more
    }

    /// Inode numbers of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = Ino> {
        self.files.iter().copied()
    }
}
