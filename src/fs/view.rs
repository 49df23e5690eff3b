//! The file system in plain types: names from the tree, bytes from the store. Here are LOOKUP, GETATTR and READ;
//! further operations are in the files that import this one.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use super::attr::{Attr, NodeKind};
use super::cache_trim::CacheTrim;
use super::error::Error;
use super::inode_numbers::{CIOPFS, CIOPFS_INO, STATUS_INO, link_ino};
use super::name_trim::NameTrim;
use super::presentation::Presentation;
use super::requests::Requests;
use crate::content::{Reach, Reason, Store};
use crate::format::EntryId;
use crate::tree::{Inode, Kind, NodeId, Spellings, Tree};

/// Spellings of folders that get an inode number of their own (FUSE.md section 2.13).
const SPELLINGS_MAX: usize = 65_536;
/// Assumed folders that the kernel may hold. It is asked to drop those beyond.
const ASSUMED_MAX: usize = 65_536;
/// Of these, how many at a time: more than come meanwhile.
const DROPPED_AT_ONCE: usize = 64;

/// A mounted file system.
#[derive(Debug)]
pub struct FileSystem {
    pub(super) tree: Tree,
    pub(super) store: Store,
    pub(super) spellings: Spellings,
    /// Why each layer is one; none, or empty, where a user named it.
    pub(super) reasons: Vec<String>,
    pub(super) presentation: Presentation,
    /// Of folders that only archives have: when the newest archive or loose folder was last changed.
    modified: SystemTime,
    /// Set once there is a session.
    pub(super) cache_trim: OnceLock<CacheTrim>,
    /// The same.
    pub(super) name_trim: OnceLock<NameTrim>,
    pub(super) started: Instant,
    pub(super) requests: Requests,
}

impl FileSystem {
    /// Joins names and bytes that were made from the same archives in the same order.
    pub fn new(tree: Tree, store: Store, presentation: Presentation) -> Self {
        let spellings = Spellings::new(&tree, SPELLINGS_MAX, CIOPFS_INO);
        let layers = u16::try_from(store.layers()).unwrap_or(u16::MAX);
        let modified = (0..layers).map(|layer| store.modified(layer)).max().unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            tree,
            store,
            spellings,
            reasons: Vec::new(),
            presentation,
            modified,
            cache_trim: OnceLock::new(),
            name_trim: OnceLock::new(),
            started: Instant::now(),
            requests: Requests::default(),
        }
    }

    /// The same with the reasons for which its layers were planned, lowest first.
    #[must_use]
    pub fn with_reasons(self, reasons: Vec<String>) -> Self {
        Self { reasons, ..self }
    }

    /// The names.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The bytes.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// LOOKUP: the child of a folder with this name, in any case.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NoNode`] or [`Error::NotFolder`] where `parent` is no folder; [`Error::NoNumber`].
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Attr, Error> {
        let folder = self.folder(parent)?;
        if let Some(child) = self.child(folder, name)? {
            return Ok(self.node_attr(child));
        }
        match link_ino(parent, name) {
            Some(ino) => self.attr(ino),
            None if name == CIOPFS => self.attr(CIOPFS_INO),
            None => Err(Error::NotFound),
        }
    }

    /// Parents and names of assumed folders that the kernel is to drop next.
    pub(super) fn surplus_folders(&self) -> Vec<(u64, Box<[u8]>)> {
        self.spellings.surplus(ASSUMED_MAX, DROPPED_AT_ONCE)
    }

    /// FORGET: the kernel dropped a number that so many answers gave it.
    pub fn forget(&self, ino: u64, lookups: u64) {
        self.spellings.forget(ino, lookups);
    }

    /// GETATTR: the attributes of a node.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub fn attr(&self, ino: u64) -> Result<Attr, Error> {
        let (kind, modified, is_lasting) = match ino {
            CIOPFS_INO => (NodeKind::File, self.modified, true),
            STATUS_INO.. => (NodeKind::StatusLink, SystemTime::now(), false),
            _ => return Ok(self.node_attr(self.inode(ino)?)),
        };
        Ok(Attr { ino, kind, size: 0, modified, is_lasting })
    }

    /// READ: passes up to `len` bytes of a file from `offset` on to `answer`, fewer only at its end.
    ///
    /// # Errors
    /// [`Error::OutOfReach`] where `reach` does not suffice; [`Error::Damaged`], logged once for each fault; [`Error::NoNode`] or [`Error::IsFolder`] where the node is no
    /// file.
    pub fn read<T>(
        &self,
        ino: u64,
        offset: u64,
        len: u32,
        reach: Reach,
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        if ino == CIOPFS_INO {
            return Ok(answer(&[]));
        }
        let node = self.inode(ino)?.node.ok_or(Error::IsFolder)?;
        let Kind::File(entry) = self.tree.kind(node) else { return Err(Error::IsFolder) };
        let read = self.store.read_within(entry, offset, len, reach, |bytes| {
            // Before the answer: who has it finds the line in the log.
            if let Some(error) = self.store.take_salvaged(entry) {
                log::warn!("{}: {error}; its bytes are served all the same", self.path_of(node, entry));
            }
            answer(bytes)
        });
        if self.store.is_to_be_trimmed()
            && let Some(trim) = self.cache_trim.get()
        {
            trim.wake();
        }
        read.map_err(|error| {
            if error.is_new {
                log::error!("{}: {error}", self.path_of(node, entry));
            }
            if error.reason == Reason::OutOfReach { Error::OutOfReach } else { Error::Damaged }
        })
    }

    /// The device that a file's bytes are on.
    pub(super) fn device(&self, ino: u64) -> Option<u64> {
        let entry = self.entry(self.inode(ino).ok()?.node?)?;
        Some(self.store.device(entry))
    }

    /// The entry of a file.
    pub(super) fn entry(&self, node: NodeId) -> Option<EntryId> {
        match self.tree.kind(node) {
            Kind::File(entry) => Some(entry),
            Kind::Folder => None,
        }
    }

    /// A file's archive and path, for the log.
    pub(super) fn path_of(&self, node: NodeId, entry: EntryId) -> String {
        let (archive, path) = (self.store.path(entry.layer).display(), self.tree.path(node));
        format!("{archive}: {}", String::from_utf8_lossy(&path))
    }

    /// The child of a folder, by its name, or by the hash of its path where the archive stores no names.
    fn child(&self, folder: Inode, name: &[u8]) -> Result<Option<Inode>, Error> {
        if let Some(node) = folder.node.and_then(|node| self.tree.lookup(node, name)) {
            return Ok(Some(self.spellings.child(&self.tree, folder, name, node)));
        }
        if !self.tree.has_unnamed() || name == CIOPFS {
            return Ok(None);
        }
        let mut path = self.spellings.path(&self.tree, folder);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        match self.tree.resolve_unnamed(&path) {
            Some(node) => Ok(Some(node.into())),
            None if self.tree.may_hold_unnamed(&path) => self.assume_folder(folder, name).map(Some),
            None => Ok(None),
        }
    }

    fn assume_folder(&self, folder: Inode, name: &[u8]) -> Result<Inode, Error> {
        let assumed = self.spellings.assume_folder(folder, name).ok_or(Error::NoNumber)?;
        if self.spellings.assumed() > ASSUMED_MAX
            && let Some(trim) = self.name_trim.get()
        {
            trim.wake();
        }
        Ok(assumed)
    }

    /// A node of the tree, another spelling of it, or an assumed folder.
    pub(super) fn inode(&self, ino: u64) -> Result<Inode, Error> {
        self.spellings.inode(&self.tree, ino).ok_or(Error::NoNode)
    }

    /// The same, if it is a folder.
    pub(super) fn folder(&self, ino: u64) -> Result<Inode, Error> {
        if ino >= CIOPFS_INO {
            return Err(Error::NotFolder);
        }
        let inode = self.inode(ino)?;
        match inode.node.map(|node| self.tree.kind(node)) {
            Some(Kind::File(_)) => Err(Error::NotFolder),
            Some(Kind::Folder) | None => Ok(inode),
        }
    }

    fn node_attr(&self, inode: Inode) -> Attr {
        let ino = inode.ino;
        let Some(Kind::File(entry)) = inode.node.map(|node| self.tree.kind(node)) else {
            let time = inode.node.and_then(|node| self.tree.folder_time(node));
            let modified = time.unwrap_or(self.modified);
            return Attr { ino, kind: NodeKind::Folder, size: 0, modified, is_lasting: true };
        };
        let known = self.store.known_size(entry);
        let size = known.unwrap_or_else(|| self.store.estimated_size(entry));
        let modified = self.store.file_modified(entry);
        Attr { ino, kind: NodeKind::File, size, modified, is_lasting: known.is_some() }
    }
}
