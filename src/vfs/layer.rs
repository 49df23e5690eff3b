//! A layer of the tree.

use std::path::Path;
use std::sync::Arc;

use super::opened::Opened;

/// An archive or a folder that a [`Vfs`](crate::Vfs) is made of.
#[derive(Clone, Debug)]
pub struct VfsLayer {
    opened: Arc<Opened>,
    number: u16,
}

impl VfsLayer {
    pub(crate) fn new(opened: Arc<Opened>, number: u16) -> Self {
        Self { opened, number }
    }

    /// The path of the archive or folder, absolute.
    pub fn path(&self) -> &Path {
        self.opened.store.path(self.number)
    }

    /// Why a game loads it; empty if a user named it.
    pub fn why(&self) -> &str {
        self.opened.reasons.get(usize::from(self.number)).map_or("", String::as_str)
    }

    /// Whether it is a folder of loose files.
    pub fn is_folder(&self) -> bool {
        self.opened.store.is_folder(self.number)
    }

    /// Its place among the layers, the lowest being 0.
    pub fn number(&self) -> usize {
        usize::from(self.number)
    }
}
