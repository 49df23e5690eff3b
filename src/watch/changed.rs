//! The folders in which something changed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Folders in which something changed, by the paths under which they are watched.
#[derive(Clone, Debug, Default)]
pub struct ChangedFolders {
    /// Whether something may have changed anywhere.
    is_anywhere: bool,
    folders: HashSet<Arc<Path>>,
}

impl ChangedFolders {
    /// Adds a change in a folder.
    pub fn add(&mut self, folder: Arc<Path>) {
        if !self.is_anywhere {
            self.folders.insert(folder);
        }
    }

    /// Adds a change in an unknown place.
    pub fn add_anywhere(&mut self) {
        *self = Self { is_anywhere: true, folders: HashSet::new() };
    }

    /// Adds all changes of another set.
    pub fn extend(&mut self, other: Self) {
        match other.is_anywhere {
            true => self.add_anywhere(),
            false => other.folders.into_iter().for_each(|folder| self.add(folder)),
        }
    }

    /// Whether something may have changed in a folder.
    pub fn includes(&self, folder: &Path) -> bool {
        self.is_anywhere || self.folders.contains(folder)
    }
}
