//! Sources that were opened: the names and bytes of their layers, and what opening found out.

use std::fmt;
use std::path::PathBuf;

use super::opened_archive::Description;
use super::options::OpenOptions;
use crate::content::Store;
use crate::game::{LoadOrder, ReadSet};
use crate::tree::Tree;

/// Sources that were opened, the tree and the store being made of the same layers in the same order.
pub struct Opened {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    /// One for each archive, lowest first; none for folders.
    pub(crate) descriptions: Vec<Description>,
    /// Why each layer is one; empty where a user named it.
    pub(crate) reasons: Vec<String>,
    /// What was planned for the games among the sources.
    pub(crate) order: LoadOrder,
    /// What that plan depends on.
    pub(crate) looked: ReadSet,
    /// The caller's sources and options, with absolute paths, for a reopening.
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
}

impl fmt::Debug for Opened {
    /// Counts alone: a tree may have a million files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layers, files) = (self.store.layers(), self.tree.files());
        f.debug_struct("Opened").field("layers", &layers).field("files", &files).finish_non_exhaustive()
    }
}
