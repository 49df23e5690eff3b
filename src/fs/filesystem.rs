//! The file system in plain types: names from the tree, bytes from the store.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use super::attr::{Attr, NodeKind};
use super::error::Error;
use super::inode_numbers::{CIOPFS, CIOPFS_INO, STATUS_INO, text_ino};
use super::presentation::Presentation;
use super::push::{Push, PushQueue};
use super::requests::Requests;
use crate::content::Store;
use crate::tree::{Inode, Kind, NodeId, Spellings, Tree};

/// Spellings of folders that are remembered.
const SPELLINGS_MAX: usize = 65_536;

/// A mounted file system.
#[derive(Debug)]
pub struct FileSystem {
    pub(super) tree: Tree,
    pub(super) store: Store,
    pub(super) spellings: Spellings,
    pub(super) look: Presentation,
    /// Of folders: when the newest archive was changed.
    modified: SystemTime,
    pub(super) notices: OnceLock<PushQueue>,
    pub(super) started: Instant,
    pub(super) requests: Requests,
}

impl FileSystem {
    /// Joins names and bytes that were made from the same archives in the same order.
    pub fn new(tree: Tree, store: Store, look: Presentation) -> Self {
        let spellings = Spellings::new(&tree, SPELLINGS_MAX);
        let layers = u16::try_from(store.layers()).unwrap_or(u16::MAX);
        let modified = (0..layers).map(|layer| store.modified(layer)).max().unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            tree,
            store,
            spellings,
            look,
            modified,
            notices: OnceLock::new(),
            started: Instant::now(),
            requests: Requests::default(),
        }
    }

    /// The names.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The bytes.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The node in a folder that goes by a name, in any case.
    ///
    /// # Errors
    /// [`Error::NotFound`], and others where `parent` is no folder.
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Attr, Error> {
        let folder = self.folder(parent)?;
        if let Some(found) = self.child(folder, name) {
            return self.attr_of(found);
        }
        if name == CIOPFS {
            return self.attr(CIOPFS_INO);
        }
        if parent == NodeId::ROOT.ino()
            && let Some(ino) = text_ino(name)
        {
            return self.attr(ino);
        }
        Err(Error::NotFound)
    }

    /// What is known of a node.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub fn attr(&self, ino: u64) -> Result<Attr, Error> {
        match ino {
            CIOPFS_INO => {
                Ok(Attr { ino, shape: NodeKind::File, size: 0, modified: self.modified, is_lasting: true })
            }
            STATUS_INO.. => Ok(Attr {
                ino,
                shape: NodeKind::StatusLink,
                size: 0,
                modified: SystemTime::now(),
                is_lasting: false,
            }),
            _ => self.attr_of(self.place(ino)?),
        }
    }

    /// Gives `answer` the bytes of a file from `offset` on: `len` of them, or fewer at its end.
    ///
    /// # Errors
    /// [`Error::Damaged`], which is logged the first time, and others where the node is no file.
    pub fn read<T>(
        &self,
        ino: u64,
        offset: u64,
        len: u32,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        if ino == CIOPFS_INO {
            return Ok(answer(&[]));
        }
        let node = self.place(ino)?.node.ok_or(Error::IsFolder)?;
        let Kind::File(entry) = self.tree.kind(node) else { return Err(Error::IsFolder) };
        let (answered, decoded) = self.store.read_and_share(entry, offset, len, answer).map_err(|error| {
            if error.is_new {
                let archive = self.store.path(entry.layer).display();
                log::error!("{archive}: {}: {error}", String::from_utf8_lossy(&self.tree.path(node)));
            }
            Error::Damaged
        })?;
        // Without the thread that tells the kernel, it asks.
        if let (Some(decoded), Some(notices)) = (decoded, self.notices.get()) {
            notices.send(Push { ino, decoded });
        }
        Ok(answered)
    }

    /// The child of a folder that goes by a name, by its listing or else by its hash.
    fn child(&self, folder: Inode, name: &[u8]) -> Option<Inode> {
        if let Some(node) = folder.node.and_then(|node| self.tree.lookup(node, name)) {
            return Some(self.spellings.child(&self.tree, folder, name, node));
        }
        if !self.tree.has_unnamed() || name == CIOPFS {
            return None;
        }
        let mut path = self.spellings.path(&self.tree, folder);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        match self.tree.resolve_unnamed(&path) {
            Some(node) => Some(node.into()),
            None if self.tree.may_hold_unnamed(&path) => self.spellings.assume_folder(folder, name),
            None => None,
        }
    }

    pub(super) fn place(&self, ino: u64) -> Result<Inode, Error> {
        self.spellings.inode(&self.tree, ino).ok_or(Error::NoNode)
    }

    pub(super) fn folder(&self, ino: u64) -> Result<Inode, Error> {
        let place = match ino {
            CIOPFS_INO.. => return Err(Error::NotFolder),
            _ => self.place(ino)?,
        };
        match place.node.map(|node| self.tree.kind(node)) {
            Some(Kind::File(_)) => Err(Error::NotFolder),
            Some(Kind::Folder) | None => Ok(place),
        }
    }

    fn attr_of(&self, place: Inode) -> Result<Attr, Error> {
        Ok(match place.node.map(|node| self.tree.kind(node)) {
            Some(Kind::File(entry)) => Attr {
                ino: place.ino,
                shape: NodeKind::File,
                size: self.store.size(entry),
                modified: self.store.modified(entry.layer),
                is_lasting: true,
            },
            Some(Kind::Folder) | None => Attr {
                ino: place.ino,
                shape: NodeKind::Folder,
                size: 0,
                modified: self.modified,
                is_lasting: true,
            },
        })
    }
}
