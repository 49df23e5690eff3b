//! A layer of the tree.

use std::path::Path;
use std::sync::Arc;

use super::opened::Opened;

/// A layer of a [`Vfs`](crate::Vfs): an archive or a folder.
#[derive(Clone, Debug)]
pub struct VfsLayer {
    opened: Arc<Opened>,
    number: u16,
}

impl VfsLayer {
    pub(crate) fn new(opened: Arc<Opened>, number: u16) -> Self {
        Self { opened, number }
    }

    /// The absolute path of the archive or folder.
    pub fn path(&self) -> &Path {
        self.opened.store.path(self.number)
    }

    /// The encoding in which stored names are read, such as `windows-1252` or `UTF-8`.
    pub fn encoding(&self) -> &'static str {
        self.opened.names.get(self.number()).map_or("UTF-8", |names| names.encoding().name())
    }

    /// Why a game loads the layer; empty if the user named it.
    pub fn why(&self) -> &str {
        self.opened.reasons.get(usize::from(self.number)).map_or("", String::as_str)
    }

    /// Whether the layer is a folder of loose files.
    pub fn is_folder(&self) -> bool {
        self.opened.store.is_folder(self.number)
    }

    /// The position among the layers; the lowest layer has 0.
    pub fn number(&self) -> usize {
        usize::from(self.number)
    }
}
