//! An immutable view of the sources, in plain types: names from the tree, bytes from the store.
//! This file has LOOKUP and GETATTR; the files that import it have the other operations.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::attr::{Attr, NodeKind, Validity};
use super::error::Error;
use super::remembered::inode_numbers::{
    CIOPFS, CIOPFS_INO, ParentPath, STATUS_INO, generation_of_folder, link_ino,
};
use super::remembered::pending::NameIn;
use super::reported::daemon_status::polling_interval;
use super::shared::Shared;
use crate::content::Store;
use crate::format::EntryId;
use crate::format::name::COMPONENT_MAX;
use crate::limits::ASSUMED_MAX;
use crate::shown::Shown;
use crate::tree::{Ino, Inode, Kind, NodeId, Tree};
use crate::vfs::{Opened, Vfs};

/// Maximum number of surplus assumed folders to drop at a time. Fewer are added in the meantime.
const DROPPED_AT_ONCE: usize = 64;

/// What the mount serves until something changes on disk.
#[derive(Debug)]
pub struct View {
    /// Counts up from 0 with each change.
    pub(crate) number: u32,
    /// Its tree has the names, and its store the bytes.
    pub(crate) opened: Arc<Opened>,
    /// The last change of each folder since the mount, by the folder's own inode number.
    pub(crate) changes: HashMap<Ino, FolderChange>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) disk_folders: DiskFolders,
}

/// What a view knows of the folders on the disk, as soon as it is asked.
#[derive(Debug, Default)]
pub(crate) struct DiskFolders {
    /// The layers of loose files, by the paths of their folders.
    pub(super) roots: OnceLock<HashMap<PathBuf, Vec<u16>>>,
    /// Nodes with the folders that they show, in order: each with its layer and its number there.
    pub(super) shown: OnceLock<Box<[(NodeId, u16, u32)]>>,
}

/// The last change of a folder since the mount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderChange {
    /// The number of the folder's listing. It differs from those of earlier listings that may continue.
    pub(crate) listing: u8,
    pub(crate) at: SystemTime,
}

/// The answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `None` if there is no such name.
    pub attr: Option<Attr>,
    /// Whether the kernel will be notified when the answer changes.
    pub is_lasting: bool,
}

/// The child of a folder, before it has an inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    Node(NodeId),
    /// A folder that may contain files whose archives store only hashes of their paths.
    Assumed,
    None,
}

impl View {
    /// What is served, as the library has it.
    pub fn vfs(&self) -> Vfs {
        Vfs::of(self.opened.clone())
    }

    /// The tree of names.
    pub fn tree(&self) -> &Tree {
        &self.opened.tree
    }

    /// The store of bytes.
    pub fn store(&self) -> &Store {
        &self.opened.store
    }

    /// Whether this view has not been replaced.
    pub fn is_current(&self) -> bool {
        self.shared.is_current(self.number)
    }

    /// LOOKUP: the child of a folder with this name, ignoring case unless the mount is exact.
    ///
    /// # Errors
    /// [`Error::NoNode`] or [`Error::NotFolder`] if `parent` is not a folder; [`Error::NameTooLong`];
    /// [`Error::OutOfInodeNumbers`].
    pub fn lookup(&self, parent: Ino, name: &[u8]) -> Result<Lookup, Error> {
        if let b"." | b".." = name {
            return self.lookup_dots(parent, name);
        }
        let folder = self.folder(parent)?;
        let child = self.child(folder, name);
        if child == Child::None && name.len() > COMPONENT_MAX {
            return Err(Error::NameTooLong);
        }
        let inode = match child {
            Child::Node(node) => {
                Some(self.shared.remembered.spellings.child(self.tree(), folder, name, node))
            }
            Child::Assumed => Some(self.assume_folder(folder, name)?),
            Child::None => None,
        };
        let (attr, is_constant) = match inode {
            Some(inode) => (Some(self.node_attr(inode)), false),
            None => match link_ino(parent, name) {
                Some(ino) => (Some(self.attr(ino)?), true),
                None if name == CIOPFS && !self.shared.presentation.is_exact => {
                    (Some(self.attr(CIOPFS_INO)?), true)
                }
                None => (None, false),
            },
        };
        // A stored name needs no record: if it changes, the comparison of two views finds that.
        let is_shown = matches!(child, Child::Node(node) if self.tree().name(node) == name);
        let is_lasting = is_constant || is_shown || self.shared.record_exposed(self.number, parent, name);
        Ok(Lookup { attr, is_lasting })
    }

    /// LOOKUP of `.`, which works for files too, and `..`. NFS servers use them to resolve a handle.
    fn lookup_dots(&self, ino: Ino, name: &[u8]) -> Result<Lookup, Error> {
        let inode = match name {
            b"." => self.inode(ino)?,
            _ => self.inode(self.shared.remembered.spellings.parent(self.tree(), self.folder(ino)?))?,
        };
        Ok(Lookup { attr: Some(self.node_attr(inode)), is_lasting: true })
    }

    /// Counts one more answer that gave the kernel this inode number.
    pub fn count_lookup(&self, ino: Ino) {
        let node = self.tree().node(ino);
        if let Some(entry) = node.and_then(|node| self.entry(node)) {
            self.store().file(entry).count_lookups(1);
        }
    }

    /// Names that the kernel should drop next, each with the inode number of its folder.
    pub(crate) fn surplus_names(&self) -> Vec<NameIn> {
        let mut names = self.shared.remembered.spellings.surplus(ASSUMED_MAX, DROPPED_AT_ONCE);
        names.extend(self.shared.take_surplus());
        names
    }

    /// FORGET: the kernel dropped an inode number that `lookups` answers had given it.
    pub fn forget(&self, ino: Ino, lookups: u64) {
        let less = i64::try_from(lookups).unwrap_or(i64::MAX).saturating_neg();
        match self.tree().node(ino).map(|node| self.entry(node)) {
            Some(Some(entry)) => _ = self.store().file(entry).count_lookups(less),
            Some(None) => {}
            None => {
                self.shared.remembered.retired.forget(ino, less);
                self.shared.remembered.spellings.forget(ino, lookups);
            }
        }
    }

    /// GETATTR: the attributes of a node.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        let (kind, modified, validity) = match ino {
            CIOPFS_INO => (NodeKind::File, self.shared.modified, Validity::Lasting),
            _ if ino >= STATUS_INO => (NodeKind::OwnLink, SystemTime::now(), Validity::None),
            _ => {
                return match self.inode(ino) {
                    Ok(inode) => Ok(self.node_attr(inode)),
                    Err(_) => self.retired_attr(ino).ok_or(Error::NoNode),
                };
            }
        };
        Ok(Attr { ino, kind, size: 0, modified, validity })
    }

    fn retired_attr(&self, ino: Ino) -> Option<Attr> {
        self.follow_retired(ino);
        self.shared.remembered.written.attr(ino).or_else(|| self.shared.remembered.retired.attr(ino))
    }

    /// The attributes of a loose file that this view knows.
    pub(crate) fn known_attr(&self, ino: Ino) -> Option<Attr> {
        let node = self.inode(ino).ok()?.node?;
        let file = self.store().file(self.entry(node)?);
        let (kind, validity) = (NodeKind::File, Validity::None);
        Some(Attr { ino, kind, size: file.size_if_known()?, modified: file.modified(), validity })
    }

    /// The entry of a file; `None` for a folder.
    pub(crate) fn entry(&self, node: NodeId) -> Option<EntryId> {
        match self.tree().kind(node) {
            Kind::File(entry) => Some(entry),
            Kind::Folder => None,
        }
    }

    /// A file's archive and path, for the log.
    pub(crate) fn path_of(&self, node: NodeId, entry: EntryId) -> String {
        let (archive, path) = (self.store().path(entry.layer).shown(), self.tree().path(node));
        format!("{archive}: {}", String::from_utf8_lossy(&path).as_ref().shown())
    }

    /// The child of a folder, by its name, or by the hash of its path if the archive stores no names.
    pub(crate) fn child(&self, folder: Inode, name: &[u8]) -> Child {
        let is_exact = self.shared.presentation.is_exact;
        if let Some(node) = folder.node.and_then(|node| self.tree().lookup(node, name)) {
            let is_shown = !is_exact || self.tree().is_listed_as(node, name);
            return if is_shown { Child::Node(node) } else { Child::None };
        }
        if !self.tree().has_unnamed() || name == CIOPFS {
            return Child::None;
        }
        let mut path = self.shared.remembered.spellings.path(self.tree(), folder);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        match self.tree().resolve_unnamed(&path) {
            Some(node) => Child::Node(node),
            None if self.tree().may_hold_unnamed(&path) => Child::Assumed,
            None => Child::None,
        }
    }

    /// The own number of a folder, if the answer to a LOOKUP of `name` in it must wait for the next view.
    pub(crate) fn pending_folder(&self, parent: Ino, name: &[u8]) -> Option<Ino> {
        if self.shared.remembered.pending.is_empty() {
            return None;
        }
        let folder = self.tree().ino(self.folder(parent).ok()?.node?);
        self.shared.remembered.pending.contains(folder, name).then_some(folder)
    }

    fn assume_folder(&self, folder: Inode, name: &[u8]) -> Result<Inode, Error> {
        let assumed =
            self.shared.remembered.spellings.assume_folder(folder, name).ok_or(Error::OutOfInodeNumbers)?;
        if self.shared.remembered.spellings.assumed() > ASSUMED_MAX
            && let Some(host) = self.shared.host.get()
        {
            host.drop_surplus_names();
        }
        Ok(assumed)
    }

    /// The node of the tree with this number, another spelling of it, or an assumed folder.
    pub(crate) fn inode(&self, ino: Ino) -> Result<Inode, Error> {
        self.shared.remembered.spellings.inode(self.tree(), ino).ok_or(Error::NoNode)
    }

    /// Like [`View::inode`], but fails if the node is not a folder.
    pub(crate) fn folder(&self, ino: Ino) -> Result<Inode, Error> {
        if ino >= CIOPFS_INO {
            return Err(Error::NotFolder);
        }
        let inode = self.inode(ino)?;
        match inode.node.map(|node| self.tree().kind(node)) {
            Some(Kind::File(_)) => Err(Error::NotFolder),
            Some(Kind::Folder) | None => Ok(inode),
        }
    }

    /// The last change of a folder since the mount.
    pub(crate) fn change(&self, folder: Inode) -> Option<FolderChange> {
        self.changes.get(&self.tree().ino(folder.node?)).copied()
    }

    fn node_attr(&self, inode: Inode) -> Attr {
        let ino = inode.ino;
        let Some(Kind::File(entry)) = inode.node.map(|node| self.tree().kind(node)) else {
            let loose = inode.node.and_then(|node| self.tree().folder_time(node));
            let changed = || Some(self.change(inode)?.at);
            let modified = loose.or_else(changed).unwrap_or(self.shared.modified);
            return Attr { ino, kind: NodeKind::Folder, size: 0, modified, validity: Validity::Lasting };
        };
        let file = self.store().file(entry);
        let known = file.size_if_known();
        let size = known.unwrap_or_else(|| file.estimated_size());
        let modified = file.modified();
        let validity = known.map_or(Validity::None, |_| self.validity(ino, entry));
        let now = Attr { ino, kind: NodeKind::File, size, modified, validity };
        self.shared.remembered.written.attr(ino).unwrap_or(now)
    }

    /// How long the attributes of a file that was statted stay valid.
    fn validity(&self, ino: Ino, entry: EntryId) -> Validity {
        if self.store().folder(entry.layer).is_none() {
            return Validity::Lasting;
        }
        if self.is_linked_unwatched(ino, entry) {
            return Validity::Seconds(polling_interval(0));
        }
        if !self.shared.is_unwatched_known() {
            // It will soon be known whether the folder has a watch.
            return Validity::Seconds(polling_interval(0));
        }
        let polled = self.is_in_unwatched(entry);
        polled.map_or(Validity::Lasting, |folders| Validity::Seconds(polling_interval(folders)))
    }

    /// If a loose file is in a folder that is known to have no watch, the number of such folders.
    pub(crate) fn is_in_unwatched(&self, entry: EntryId) -> Option<usize> {
        self.shared.find_unwatched(|| self.store().file(entry).watched_folder())
    }
}

impl View {
    /// Generation of an inode number; 0 for the root and for files that are in no archive.
    pub fn generation(&self, ino: Ino) -> u32 {
        if ino == Ino::ROOT || ino >= CIOPFS_INO {
            return 0;
        }
        let Ok(inode) = self.inode(ino) else { return 0 };
        if let Some(node) = inode.node
            && let Some(entry) = self.entry(node)
        {
            let path = self.tree().path(node);
            let at = path.iter().rposition(|&byte| byte == b'/');
            let (parent, name) = at.map_or((&b""[..], &path[..]), |at| (&path[..at], &path[at + 1..]));
            return self.generation_of_file(ParentPath::new(parent), ino, name, entry);
        }
        generation_of_folder(&self.shared.remembered.spellings.path(self.tree(), inode))
    }

    /// The hash from which the generations in a folder derive.
    pub(crate) fn parent_path(&self, folder: Ino) -> ParentPath {
        let path = self.inode(folder).map(|inode| self.shared.remembered.spellings.path(self.tree(), inode));
        ParentPath::new(&path.unwrap_or_default())
    }

    /// Like [`View::generation`], for the child `name` of a folder.
    pub(crate) fn generation_in(&self, parent: ParentPath, ino: Ino, name: &[u8]) -> u32 {
        let node = self.inode(ino).ok().and_then(|inode| inode.node);
        match node.and_then(|node| self.entry(node)) {
            Some(entry) => self.generation_of_file(parent, ino, name, entry),
            // Beyond the limit of spellings, the number belongs to another path than this one.
            None => self.generation(ino),
        }
    }

    fn generation_of_file(&self, parent: ParentPath, ino: Ino, name: &[u8], entry: EntryId) -> u32 {
        parent.generation_of_file(name, self.exposed_identity(ino, entry))
    }

    /// The identity of a file's source. It stays 0 if it was unknown when the kernel was first sent the
    /// number.
    fn exposed_identity(&self, ino: Ino, entry: EntryId) -> u64 {
        let file = self.store().file(entry);
        if file.archive_number().is_some() {
            return file.identity();
        }
        self.shared.remembered.early_numbers.identity(ino, || file.identity())
    }
}

// Learns sizes from an archive's data when an answer needs them.
//
// The answer waits for the device for at most a second. A size that is still unknown then is not
// sent: requests for the file fail with EIO, and a listing has its name without attributes. An
// estimate would do harm, because a copy by sendfile or mmap ends at the first size that it got.

/// Number of files whose sizes are learnt together. They are few, so that a slow disk finishes the first ones
/// while an answer waits.
const AT_A_TIME: usize = 32;

/// A job that reads a device. It calls the function that it is passed after each read.
pub(crate) type SizeJob = Box<dyn FnOnce(&dyn Fn()) + Send>;

impl View {
    /// Whether a node is a file that must be statted or read before an answer has its size.
    pub(crate) fn is_to_learn(&self, node: NodeId) -> bool {
        self.is_unsized(node) || self.is_unwatched(node)
    }

    /// The node, if it is a file of unknown size.
    pub(crate) fn unsized_file(&self, ino: Ino) -> Option<NodeId> {
        self.inode(ino).ok()?.node.filter(|node| self.is_unsized(*node))
    }

    /// Whether a node is a file whose size is unknown, but can be learnt.
    pub(crate) fn is_unsized(&self, node: NodeId) -> bool {
        self.entry(node).is_some_and(|entry| {
            self.store().file(entry).size_if_known().is_none() && !self.store().file(entry).is_size_lost()
        })
    }

    /// Why the size of a file is still unknown.
    pub(crate) fn size_error(&self, node: NodeId) -> Error {
        match self.entry(node) {
            Some(entry) if self.store().file(entry).is_gone() => {
                self.shared.report_change(self.store().file(entry).loose_folder().as_deref());
                Error::NotFound
            }
            _ => Error::Damaged,
        }
    }

    /// Jobs that learn the sizes of these files: one for each device, with the number of the device.
    pub(crate) fn size_jobs(
        self: &Arc<Self>,
        nodes: impl IntoIterator<Item = NodeId>,
    ) -> Vec<(u64, SizeJob)> {
        // Devices are few, and most requests are for one file.
        let mut by_device = Vec::<(u64, Vec<NodeId>)>::new();
        for node in nodes {
            let device = self.entry(node).map_or(0, |entry| self.store().file(entry).device());
            match by_device.iter_mut().find(|(known, _)| *known == device) {
                Some((_, nodes)) => nodes.push(node),
                None => by_device.push((device, vec![node])),
            }
        }
        let learn = |(device, mut nodes): (u64, Vec<NodeId>)| {
            let fs = self.clone();
            let job: SizeJob = Box::new(move |record_progress| {
                nodes.sort_unstable_by_key(|node| {
                    fs.entry(*node).map(|entry| (entry.layer, fs.store().file(entry).offset()))
                });
                nodes.chunks(AT_A_TIME).for_each(|some| fs.learn_sizes(some, record_progress));
            });
            (device, job)
        };
        by_device.into_iter().map(learn).collect()
    }

    fn learn_sizes(&self, nodes: &[NodeId], record_progress: &dyn Fn()) {
        let unwatched: Vec<_> = nodes.iter().filter(|node| self.is_unwatched(**node)).collect();
        let unsized_ones = nodes.iter().filter(|node| !unwatched.contains(node));
        let entries = unsized_ones.filter_map(|node| self.entry(*node));
        for error in self.store().learn_sizes_with_progress(entries, record_progress) {
            let node = nodes.iter().find(|node| self.entry(**node) == Some(error.entry));
            if let Some(&node) = node.filter(|_| error.is_new) {
                log::error!("{}: cannot determine its size: {error}", self.path_of(node, error.entry));
            }
        }
        for node in unwatched {
            self.check_unwatched(*node);
            record_progress();
        }
    }
}
