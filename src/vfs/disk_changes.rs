//! What changed on the disk since a view was opened.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders in which something changed, and what else may have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskChanges {
    /// Whether something may have changed anywhere.
    is_anywhere: bool,
    /// Whether something changed that the load order depends on, or that names sources.
    is_plan: bool,
    /// By the paths under which the folders are watched.
    folders: HashSet<Arc<Path>>,
    /// Paths that may lead elsewhere now, with all paths below them.
    moved: Vec<PathBuf>,
}

impl DiskChanges {
    /// A change in an unknown place.
    pub(crate) fn anywhere() -> Self {
        Self { is_anywhere: true, is_plan: true, moved: vec!["/".into()], ..Self::default() }
    }

    /// Adds a change in a folder.
    pub(crate) fn add(&mut self, folder: Arc<Path>) {
        if !self.is_anywhere {
            self.folders.insert(folder);
        }
    }

    /// Adds a change of something that the load order depends on.
    pub(crate) fn add_plan(&mut self) {
        self.is_plan = true;
    }

    /// Adds a path that may lead elsewhere now.
    pub(crate) fn add_moved(&mut self, path: PathBuf) {
        self.add(path.as_path().into());
        self.add_plan();
        self.moved.push(path);
    }

    /// Adds a change in an unknown place.
    pub(crate) fn add_anywhere(&mut self) {
        *self = Self::anywhere();
    }

    pub(crate) fn extend(&mut self, other: Self) {
        if other.is_anywhere {
            self.add_anywhere()
        } else {
            other.folders.into_iter().for_each(|folder| self.add(folder))
        }
        self.moved.extend(other.moved);
        self.is_plan |= other.is_plan;
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_anywhere && !self.is_plan && self.folders.is_empty()
    }

    /// The paths that may lead elsewhere now, with all paths below them.
    pub(crate) fn moved(&self) -> &[PathBuf] {
        &self.moved
    }

    pub(super) fn is_anywhere(&self) -> bool {
        self.is_anywhere
    }

    /// Whether the load order may differ.
    pub(super) fn is_plan(&self) -> bool {
        self.is_plan
    }

    /// Whether something may have changed in a folder.
    pub(super) fn includes(&self, folder: &Path) -> bool {
        self.is_anywhere || self.folders.contains(folder)
    }

    /// The folders in which something changed.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| &**folder)
    }
}
