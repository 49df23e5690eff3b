//! A folder of the tree.

use std::sync::Arc;

use super::file::VfsFile;
use super::opened::Opened;
use crate::tree::{Kind, NodeId};

/// A folder of a [`Vfs`](crate::Vfs).
#[derive(Clone, Debug)]
pub struct VfsFolder {
    opened: Arc<Opened>,
    node: NodeId,
}

/// A file or folder in a folder.
#[derive(Clone, Debug)]
pub enum VfsEntry {
    /// A file.
    File(VfsFile),
    /// A folder.
    Folder(VfsFolder),
}

impl VfsFolder {
    pub(crate) fn new(opened: Arc<Opened>, node: NodeId) -> Self {
        Self { opened, node }
    }

    /// The path in the tree, with `/` between names; empty for the root.
    pub fn path(&self) -> String {
        String::from_utf8_lossy(&self.opened.tree.path(self.node)).into_owned()
    }

    /// The files and folders directly in this folder, in the order of the tree.
    pub fn entries(&self) -> impl Iterator<Item = VfsEntry> {
        self.opened.tree.children(self.node).map(|node| match self.opened.tree.kind(node) {
            Kind::File(entry) => VfsEntry::File(VfsFile::new(self.opened.clone(), node, entry)),
            Kind::Folder => VfsEntry::Folder(Self { opened: self.opened.clone(), node }),
        })
    }
}
