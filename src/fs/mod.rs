//! The file system in plain types: names from the tree, bytes from the store, and nothing of FUSE.
//!
//! Everything is immutable once mounted, so that no operation takes a lock but for new spellings of folders and for
//! the cache of decoded extents. There are no handles and no counts of what the kernel knows.

mod attributes;
mod errno;
mod foresight;
mod fuse;
mod mount;
pub mod mountinfo;
mod provenance;
mod push;
mod requests;
mod session;
mod status;
mod vigil;

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

pub use attributes::Owner;
pub use errno::Error;
pub use mount::{MountError, MountRequest, unmount};
pub use provenance::Provenance;
pub use session::{Session, SessionError};
pub use status::{CacheStatus, Status};

use crate::content::Store;
use crate::tree::{Inode, Kind, NodeId, Spellings, Tree};
use foresight::Foresight;
use push::{Push, PushQueue};
use requests::{Operation, Requests};

/// The name under which a daemon tells of itself. Like the other names that begin so, it can be looked up in the root
/// but is in no listing, and is a symbolic link whose target is JSON: a link costs no open file, its text is never
/// cached, and reading it takes no privilege and no `unsafe` (an ioctl would).
pub const STATUS_LINK: &str = ".bsafs:status";
/// The beginning of the names under which a daemon tells where a file comes from; its inode number follows.
pub const WHICH_LINK: &str = ".bsafs:which:";

/// Wine takes a folder of a FUSE file system in which this name exists for one that ignores case, and then skips the
/// reading of whole folders in search of a spelling.
const CIOPFS: &[u8] = b".ciopfs";
/// The inode number of that file in every folder: above all nodes and spellings, and below 2^32.
const CIOPFS_INO: u64 = u32::MAX as u64;
/// Files of a folder whose sizes are learnt together.
const SIZES_AT_ONCE: usize = 512;
/// Spellings of folders that are remembered.
const SPELLINGS_MAX: usize = 65_536;
/// Inode numbers of links that tell of the daemon, and (plus an inode number) of a file.
const STATUS_INO: u64 = 1 << 32;
const WHICH_INO: u64 = 1 << 33;

/// What the mount looks like, beside its files.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// Whose the files are, and what they may do.
    pub owner: Owner,
    /// Whether extended attributes are answered.
    pub xattrs: bool,
}

/// A mounted file system.
#[derive(Debug)]
pub struct FileSystem {
    tree: Tree,
    store: Store,
    spellings: Spellings,
    look: Presentation,
    /// Of folders: when the newest archive was changed.
    modified: SystemTime,
    notices: OnceLock<PushQueue>,
    started: Instant,
    requests: Requests,
    foresight: Foresight,
}

/// What is known of a node without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Its inode number.
    pub ino: u64,
    /// What it is.
    pub shape: NodeKind,
    /// In bytes.
    pub size: u64,
    /// When its archive was last changed.
    pub modified: SystemTime,
    /// Whether the answer holds for ever.
    pub is_lasting: bool,
}

/// What a node is to those who look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link that is no link: its target is a text.
    StatusLink,
}

/// A line of a folder's listing.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// Its inode number.
    pub ino: u64,
    /// Where to go on after it.
    pub next: u64,
    /// A file or a folder.
    pub shape: NodeKind,
    /// Its name.
    pub name: &'a [u8],
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
            foresight: Foresight::default(),
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
            let attr = self.attr_of(found)?;
            if attr.shape == NodeKind::File {
                self.foresight.looked_up(attr.ino);
            }
            return Ok(attr);
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

    /// Gives `each` the lines of a folder's listing, from the place `from` on, until it answers false.
    ///
    /// # Errors
    /// Where the node is no folder.
    pub fn list(&self, ino: u64, from: u64, mut each: impl FnMut(DirEntry<'_>) -> bool) -> Result<(), Error> {
        let folder = self.folder(ino)?;
        let above = self.spellings.parent(&self.tree, folder);
        for (place, (name, ino)) in (0..).zip([(&b"."[..], folder.ino), (b"..", above)]) {
            if place >= from && !each(DirEntry { ino, next: place + 1, shape: NodeKind::Folder, name }) {
                return Ok(());
            }
        }
        let Some(node) = folder.node else { return Ok(()) };
        let skipped = usize::try_from(from.saturating_sub(2)).unwrap_or(usize::MAX);
        for (place, child) in (2..).zip(self.tree.children(node)).skip(skipped) {
            let name = self.tree.name(child);
            let shape = match self.tree.kind(child) {
                Kind::Folder => NodeKind::Folder,
                Kind::File(_) => NodeKind::File,
            };
            let ino = self.spellings.child(&self.tree, folder, name, child).ino;
            if !each(DirEntry { ino, next: place + 1, shape, name }) {
                break;
            }
        }
        Ok(())
    }

    /// The same with what is known of each node. Sizes that must be read are read for many lines at once.
    ///
    /// # Errors
    /// Where the node is no folder.
    pub fn list_with_attrs(
        &self,
        ino: u64,
        from: u64,
        mut each: impl FnMut(DirEntry<'_>, Attr) -> bool,
    ) -> Result<(), Error> {
        // What could not be learnt once is not tried again for every line.
        let mut learnt = 0;
        self.list(ino, from, |line| {
            if line.next > learnt
                && let Some(Kind::File(entry)) = self.tree.node(line.ino).map(|node| self.tree.kind(node))
                && !self.store.is_sized(entry)
            {
                self.learn_sizes_after(ino, line.next);
                learnt = line.next + SIZES_AT_ONCE as u64;
            }
            match self.attr(line.ino) {
                Ok(attr) => each(line, attr),
                Err(_) => true,
            }
        })
    }

    /// Learns the sizes of the next files of a folder, the one in front of the place `next` first.
    fn learn_sizes_after(&self, ino: u64, next: u64) {
        let Some(folder) = self.place(ino).ok().and_then(|place| place.node) else { return };
        let skipped = usize::try_from(next.saturating_sub(3)).unwrap_or(usize::MAX);
        let files = self.tree.children(folder).skip(skipped).filter_map(|node| match self.tree.kind(node) {
            Kind::File(entry) => Some(entry),
            Kind::Folder => None,
        });
        self.store.learn_sizes(files.take(SIZES_AT_ONCE));
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
        if offset == 0 {
            self.foresight.read(ino);
        }
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

    /// Decodes what will be read next, where that can be told.
    pub(super) fn foresee(&self) {
        let file = self.foresight.next().and_then(|ino| self.place(ino).ok()?.node);
        if let Some(Kind::File(entry)) = file.map(|node| self.tree.kind(node)) {
            self.store.decode_ahead(entry);
        }
    }

    /// The text that a link tells instead of a target.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the node is no such link.
    pub fn text(&self, ino: u64) -> Result<String, Error> {
        match ino {
            STATUS_INO => Ok(self.status().to_json()),
            WHICH_INO.. => {
                let node = self.place(ino - WHICH_INO)?.node.ok_or(Error::Invalid)?;
                Provenance::of(self, node).map(|it| it.to_json()).ok_or(Error::Invalid)
            }
            _ => Err(Error::Invalid),
        }
    }

    /// What the daemon tells of itself.
    pub fn status(&self) -> Status {
        Status::of(self)
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

    fn place(&self, ino: u64) -> Result<Inode, Error> {
        self.spellings.inode(&self.tree, ino).ok_or(Error::NoNode)
    }

    fn folder(&self, ino: u64) -> Result<Inode, Error> {
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

/// The inode number of the link of this name in the root.
fn text_ino(name: &[u8]) -> Option<u64> {
    if name == STATUS_LINK.as_bytes() {
        return Some(STATUS_INO);
    }
    let ino = std::str::from_utf8(name.strip_prefix(WHICH_LINK.as_bytes())?).ok()?.parse::<u64>().ok()?;
    (ino < CIOPFS_INO).then_some(WHICH_INO + ino)
}
