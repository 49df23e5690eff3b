//! The walk through a folder. It reads every name once, works by descriptors, and follows links
//! without running in circles.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::process::Uid;

use super::error::ScanError;
use super::file_state::{FileTime, kind_of, stat_of};
use super::filter::Filter;
use super::location::{BaseFolder, Locations};
use super::loose_folder::{FolderScan, LooseFolder};
use super::loose_names::{LooseFolderRecord, LooseNames, Whiteout, joined, name_at, path_from};
use super::mounts::{Referent, Root, device_of, refused};
use super::notes::{ScanNotes, Why};
use super::open_files::OpenFiles;
use super::whiteouts::{Mark, is_opaque};
use crate::limits::{FOLDER_ENTRIES_MAX, LINKED_FOLDER_MAX};
use crate::system::covered::is_mountpoint;
use crate::system::disk_id::{DiskId, is_removed};
use crate::system::memory;
use crate::system::mountinfo::ForeignMounts;
use crate::system::once_per_file::OncePerFile;
use crate::system::owners::{Liars, may_others_add};
use crate::system::paths::{self, enters_any, path_of_open};
use crate::system::root_only::only_root_decides;
use crate::system::walk::{PATH_MAX, uncovered_target};

/// Maximum depth, as for names in archives. Other programs cannot walk deeper trees.
const DEPTH_MAX: u8 = 64;
/// Buffer size of a directory listing, in bytes.
const LISTING: usize = 1 << 15;

/// Scans a folder, and finds all that the filter takes.
///
/// # Errors
/// A folder of this many files and folders is too large, or a system call fails for the folder itself.
pub(super) fn walk(
    root: Arc<Root>,
    filter: &Filter,
    files: &Arc<OpenFiles>,
) -> Result<FolderScan, ScanError> {
    let mut scan = Scan::new(root, filter, files);
    scan.add_root()?;
    let mut at = 0;
    while (at as usize) < scan.folders.len() {
        scan.read_folder(at)?;
        at += 1;
    }
    Ok(scan.finish())
}

/// Minimum number of bytes of names for which a check of the memory holds.
const ROOM_MIN: usize = 64 << 10;

pub(super) struct Scan<'a> {
    filter: &'a Filter,
    files: &'a Arc<OpenFiles>,
    root: Arc<Root>,
    /// Each name follows a byte with its length.
    pub(super) bytes: Vec<u8>,
    /// Up to this many bytes of names, there is memory for them and the tree.
    room: usize,
    pub(super) folders: Vec<LooseFolderRecord>,
    depths: Vec<u8>,
    file_names: Vec<u32>,
    whiteouts: Vec<Whiteout>,
    pub(super) locations: Locations,
    /// Bases of linked files, by mount number and by the paths of root and folder.
    bases: HashMap<(u64, Vec<u8>), u32>,
    /// How often each folder behind links was listed.
    behind_links: HashMap<DiskId, u32>,
    pub(super) notes: ScanNotes,
    liars: Liars,
    /// Known as soon as there is a link.
    foreign: Option<ForeignMounts>,
    buffer: Vec<MaybeUninit<u8>>,
}

/// Why an entry could not be taken.
enum Left {
    /// Leave out the entry and go on.
    Out(Why),
    /// Fail the scan.
    All(ScanError),
}

impl From<Why> for Left {
    fn from(why: Why) -> Self {
        Self::Out(why)
    }
}

impl From<ScanError> for Left {
    fn from(error: ScanError) -> Self {
        Self::All(error)
    }
}

/// An entry of a directory listing.
struct FolderEntry {
    name: Vec<u8>,
    kind: FileType,
    ino: u64,
}

struct LinkTarget {
    found: Referent,
    root: Arc<Root>,
    /// Path beneath the root.
    path: Vec<u8>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(root: Arc<Root>, filter: &'a Filter, files: &'a Arc<OpenFiles>) -> Self {
        Self {
            filter,
            files,
            locations: Locations::new(root.clone()),
            root,
            room: 0,
            bytes: Vec::new(),
            folders: Vec::new(),
            depths: Vec::new(),
            file_names: Vec::new(),
            whiteouts: Vec::new(),
            bases: HashMap::new(),
            behind_links: HashMap::new(),
            notes: ScanNotes::default(),
            liars: Liars::default(),
            foreign: None,
            buffer: vec![MaybeUninit::uninit(); LISTING],
        }
    }

    pub(super) fn finish(self) -> FolderScan {
        let Self { filter, bytes, folders, file_names, whiteouts, mut locations, notes, .. } = self;
        locations.shrink();
        let names = LooseNames::new(bytes, folders, file_names, whiteouts);
        FolderScan { filter: filter.clone(), names, locations, notes }
    }

    /// Makes the files that are added from now on those of a folder. Returns the number of the first one.
    pub(super) fn begin_files(&mut self, folder: u32) -> Result<u32, ScanError> {
        let first = number(self.file_names.len())?;
        self.folders[folder as usize].first_file = first;
        Ok(first)
    }

    /// Checks that there is memory for the names and the tree, each time that the names have doubled.
    fn check_memory(&mut self) -> Result<(), ScanError> {
        if self.bytes.len() < self.room {
            return Ok(());
        }
        self.room = self.bytes.len().saturating_mul(2).max(ROOM_MIN);
        // The tree takes more than the names. A folder has at most a few thousand files.
        if memory::has_room(self.room.saturating_mul(4)) {
            Ok(())
        } else {
            Err(ScanError::Io(std::io::ErrorKind::OutOfMemory.into()))
        }
    }

    /// Reads a folder and takes all its entries. Its files become one run.
    pub(super) fn read_folder(&mut self, folder: u32) -> Result<(), ScanError> {
        self.check_memory()?;
        self.begin_files(folder)?;
        if self.filter.only.as_ref().is_some_and(|only| !only.enters(&self.listed_path(folder))) {
            return Ok(());
        }
        let (root, path) = self.locations.of_folder(&self.bytes, &self.folders, folder);
        let opened = root.open_beneath(&path, OFlags::RDONLY | OFlags::DIRECTORY);
        let opened = opened.and_then(|fd| stat_of(&fd).map(|stat| (fd, stat)));
        let (fd, stat) = match opened {
            Ok(opened) => opened,
            Err(errno) if folder == 0 => return Err(errno.into()),
            Err(errno) => {
                self.note(folder, b"", errno.into());
                return Ok(());
            }
        };
        self.folders[folder as usize].modified = FileTime::of(&stat.stx_mtime);
        let identity = DiskId { device: device_of(&stat), inode: stat.stx_ino };
        self.folders[folder as usize].identity = identity;
        if self.locations.base_above(&self.folders, folder).0 != 0 {
            let listed = self.behind_links.entry(identity).or_default();
            *listed += 1;
            if *listed > LINKED_FOLDER_MAX {
                self.note(folder, b"", Why::LinkedOften);
                return Ok(());
            }
        }
        if is_opaque(&fd) {
            self.add_whiteout(folder, b"")?;
        }
        // Whether only root can have made the links in it. It is asked only if that matters.
        let is_roots_folder = self.filter.only_roots_links
            && rustix::fs::fstat(&fd).is_ok_and(|it| !may_others_add(&it, Uid::ROOT))
            && self.liars.about(fd.as_fd()).is_none();
        let listed_path = if self.filter.is_all() { Vec::new() } else { self.listed_path(folder) };
        for FolderEntry { name, kind, .. } in self.list(folder, &fd)? {
            if path.len() + 1 + name.len() > PATH_MAX {
                self.note(folder, &name, Why::Deep);
                continue;
            }
            let kind = if kind == FileType::Unknown { kind_of(&fd, &name) } else { Ok(kind) };
            if is_removed(&name) && kind == Ok(FileType::RegularFile) {
                continue;
            }
            let taken = kind
                .map_err(|errno| Why::from(errno).into())
                .and_then(|kind| self.take(folder, &fd, (&name, kind), &listed_path, is_roots_folder));
            match taken {
                Ok(()) if name.contains(&b'\\') => self.note(folder, &name, Why::Backslash),
                Ok(()) => {}
                Err(Left::Out(why)) => self.note(folder, &name, why),
                Err(Left::All(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes an entry of a folder if the filter does.
    fn take(
        &mut self,
        folder: u32,
        fd: &OwnedFd,
        (name, kind): (&[u8], FileType),
        listed: &[u8],
        is_roots_folder: bool,
    ) -> Result<(), Left> {
        if let Some(mark) = Mark::of(fd, name, kind) {
            match mark {
                Mark::Deleted(name) if self.filter.takes_mark(listed, name) => {
                    self.add_whiteout(folder, name)?
                }
                Mark::Opaque => self.add_whiteout(folder, b"")?,
                Mark::Deleted(_) | Mark::Internal => {}
            }
            return Ok(());
        }
        match kind {
            FileType::RegularFile if self.takes_file(listed, name) => self.add_file(name).map(|_| ())?,
            FileType::Directory if self.takes_folder(listed, name) => self.add_subfolder(folder, fd, name)?,
            FileType::RegularFile | FileType::Directory => {}
            FileType::Symlink => {
                let path = self.link_path(folder, fd, name).map_err(Why::from)?;
                self.check_link(fd, name, &path, is_roots_folder)?;
                self.add_link(folder, fd, name, &path, listed)?;
            }
            _ => return Err(Why::Special.into()),
        }
        Ok(())
    }

    /// Lists a folder: files in the order of their inode numbers, which is about that of their data on the
    /// disk, and all else by name. If the system fails midway, returns the entries so far and adds a note.
    ///
    /// # Errors
    /// The folder is too large, or the scanned folder itself cannot be listed at all.
    fn list(&mut self, folder: u32, fd: &OwnedFd) -> Result<Vec<FolderEntry>, ScanError> {
        let mut listed = Vec::new();
        let mut failed = None;
        let mut entries = RawDir::new(fd, &mut self.buffer);
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => {
                    let (name, kind) = (entry.file_name().to_bytes().to_vec(), entry.file_type());
                    listed.push(FolderEntry { name, kind, ino: entry.ino() });
                    if self.folders.len() + self.file_names.len() + listed.len() > FOLDER_ENTRIES_MAX as usize
                    {
                        return Err(ScanError::TooMany(FOLDER_ENTRIES_MAX));
                    }
                }
                Err(errno) => {
                    failed = Some(errno);
                    break;
                }
            }
        }
        match failed {
            // Nothing is known of the source, so it is not an empty one.
            Some(errno) if folder == 0 && listed.is_empty() => return Err(errno.into()),
            Some(errno) => self.note(folder, b"", errno.into()),
            None => {}
        }
        let key = |it: &FolderEntry| if it.kind == FileType::RegularFile { it.ino } else { 0 };
        listed.sort_unstable_by(|a, b| (key(a), &a.name).cmp(&(key(b), &b.name)));
        Ok(listed)
    }

    /// Takes a subfolder. If a file system is mounted on it, it is treated like the target of a link.
    fn add_subfolder(&mut self, folder: u32, fd: &OwnedFd, name: &[u8]) -> Result<(), Left> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let is_mount = rustix::fs::statx(fd, name, flags, StatxFlags::TYPE)
            .is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
        if !is_mount {
            return self.add_folder(folder, name, None);
        }
        // No O_DIRECTORY: it would trigger an automount.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = rustix::fs::openat(fd, name, flags, Mode::empty()).map_err(Why::from)?;
        let target = self.target(&target)?;
        self.add_linked_folder(folder, name, target)
    }

    /// The path to which a link leads, in the folder where it really is. It may contain `..` and more links.
    fn link_path(&self, folder: u32, fd: &OwnedFd, name: &[u8]) -> Result<PathBuf, Errno> {
        let link = rustix::fs::readlinkat(fd, name, Vec::new())?;
        let (root, within) = self.locations.of_folder(&self.bytes, &self.folders, folder);
        let path = |bytes| Path::new(std::ffi::OsStr::from_bytes(bytes));
        Ok(root.path.join(path(&within)).join(path(link.as_bytes())))
    }

    /// Refuses a link into a FUSE mount of another user, whose daemon may never answer, and one that another
    /// user decides, if only root's links are followed.
    fn check_link(
        &mut self,
        fd: &OwnedFd,
        name: &[u8],
        path: &Path,
        is_roots_folder: bool,
    ) -> Result<(), Why> {
        if enters_any(self.foreign.get_or_insert_with(ForeignMounts::now), path) {
            return Err(Why::Mount("FUSE"));
        }
        // The folder may have been another user's when he made the link.
        let is_roots = || {
            let link = rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW);
            is_roots_folder && link.is_ok_and(|it| it.st_uid == 0)
        };
        if !self.filter.only_roots_links || is_roots() && only_root_decides(path, &mut self.liars) {
            return Ok(());
        }
        Err(Why::OfOtherUser)
    }

    /// Takes the target of a link.
    fn add_link(
        &mut self,
        folder: u32,
        fd: &OwnedFd,
        name: &[u8],
        path: &Path,
        listed_path: &[u8],
    ) -> Result<(), Left> {
        let target = open_link(fd, name, path).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => Why::Dangling,
            errno => errno.into(),
        })?;
        let target = self.target(&target)?;
        match target.found.kind {
            FileType::Directory if self.takes_folder(listed_path, name) => {
                self.add_linked_folder(folder, name, target)
            }
            FileType::RegularFile if self.takes_file(listed_path, name) => {
                self.add_linked_file(name, &target)
            }
            FileType::Directory | FileType::RegularFile => Ok(()),
            _ => Err(Why::Special.into()),
        }
    }

    /// Locates what a descriptor refers to: beneath the scanned folder, or beneath the top of its mount.
    fn target(&self, fd: &OwnedFd) -> Result<LinkTarget, Why> {
        let found = Referent::of(fd)?;
        let path = path_of_open(fd)?;
        let is_same_mount = found.mount == self.root.mount;
        if is_same_mount && let Ok(within) = path.strip_prefix(&self.root.path) {
            let path = within.as_os_str().as_bytes().to_vec();
            return Ok(LinkTarget { found, root: self.root.clone(), path });
        }
        if is_mountpoint(&path) {
            // This is the mountpoint of this daemon; open the folder that the mount covers.
            let root = Arc::new(Root::open(&path, OFlags::DIRECTORY)?);
            let found = Referent { mount: root.mount, identity: root.identity, ..found };
            return Ok(LinkTarget { found, root, path: Vec::new() });
        }
        if !is_same_mount && let Some(kind) = refused(fd, found.identity.device) {
            return Err(Why::Mount(kind));
        }
        let root = self.files.mounts.top(found.mount, &path)?;
        let within = path.strip_prefix(&root.path).map_err(|_| Errno::XDEV)?;
        Ok(LinkTarget { found, path: within.as_os_str().as_bytes().to_vec(), root })
    }

    fn add_linked_folder(&mut self, folder: u32, name: &[u8], target: LinkTarget) -> Result<(), Left> {
        if self.is_ancestor(folder, &target) {
            return Err(Why::Circle.into());
        }
        let base = self.locations.add_base(BaseFolder { root: target.root, path: target.path.into() });
        self.add_folder(folder, name, Some(base))
    }

    fn add_linked_file(&mut self, name: &[u8], target: &LinkTarget) -> Result<(), Left> {
        let at = target.path.iter().rposition(|&byte| byte == b'/');
        let (folder, file) = match at {
            Some(at) => (&target.path[..at], &target.path[at + 1..]),
            None => (&b""[..], &target.path[..]),
        };
        if file.is_empty() || target.path.len() > PATH_MAX {
            return Err(Why::Deep.into());
        }
        Ok(self.push_link(name, &target.root, folder, file)?)
    }

    /// Adds a file that is reached through a link: its name at the link, and the folder and name of the
    /// target.
    pub(super) fn push_link(
        &mut self,
        name: &[u8],
        root: &Arc<Root>,
        folder: &[u8],
        file: &[u8],
    ) -> Result<(), ScanError> {
        let key = (root.mount, [root.path.as_os_str().as_bytes(), b"\0", folder].concat());
        let base = match self.bases.get(&key) {
            Some(&base) => base,
            None => {
                let base = BaseFolder { root: root.clone(), path: folder.into() };
                let base = self.locations.add_base(base);
                self.bases.insert(key, base);
                base
            }
        };
        let index = self.add_file(name)?;
        let listed = self.file_names[index as usize];
        let stored = if file == name { listed } else { self.add_name(file)? };
        self.locations.link_file(index, base, stored);
        Ok(())
    }

    /// Whether the target of a link is an ancestor of the scanned folder, of the link's folder, or of the
    /// folder of another link in between. Folders are compared by identity and by path.
    fn is_ancestor(&self, of: u32, target: &LinkTarget) -> bool {
        let target_path = target.root.path.join(Path::new(std::ffi::OsStr::from_bytes(&target.path)));
        let mut at = of;
        let mut is_behind_link = true;
        loop {
            if self.folders[at as usize].identity == target.found.identity {
                return true;
            }
            if std::mem::take(&mut is_behind_link) {
                let (root, path) = self.locations.of_folder(&self.bytes, &self.folders, at);
                let path = root.path.join(Path::new(std::ffi::OsStr::from_bytes(&path)));
                if path.starts_with(&target_path) {
                    return true;
                }
            }
            if at == 0 {
                return false;
            }
            is_behind_link = self.locations.base_of(at).is_some();
            at = self.folders[at as usize].parent;
        }
    }

    pub(super) fn add_root(&mut self) -> Result<(), ScanError> {
        let name = self.add_name(b"")?;
        self.folders.push(LooseFolderRecord::new(0, name));
        self.depths.push(0);
        Ok(())
    }

    /// Adds a folder, to be read later.
    fn add_folder(&mut self, parent: u32, name: &[u8], base: Option<u32>) -> Result<(), Left> {
        if self.depths[parent as usize] >= DEPTH_MAX {
            return Err(Why::Deep.into());
        }
        Ok(self.push_folder(parent, name, base)?)
    }

    /// Adds a folder whose depth is right.
    pub(super) fn push_folder(
        &mut self,
        parent: u32,
        name: &[u8],
        base: Option<u32>,
    ) -> Result<(), ScanError> {
        let index = number(self.folders.len())?;
        let name = self.add_name(name)?;
        self.folders.push(LooseFolderRecord::new(parent, name));
        self.depths.push(self.depths[parent as usize] + 1);
        if let Some(base) = base {
            self.locations.link_folder(index, base);
        }
        self.check_count()
    }

    /// Adds a file. Returns its number.
    pub(super) fn add_file(&mut self, name: &[u8]) -> Result<u32, ScanError> {
        let index = number(self.file_names.len())?;
        let name = self.add_name(name)?;
        self.file_names.push(name);
        self.check_count()?;
        Ok(index)
    }

    /// Notes that a folder hides a name in the layers below, or everything if the name is empty.
    pub(super) fn add_whiteout(&mut self, folder: u32, name: &[u8]) -> Result<(), ScanError> {
        let name = self.add_name(name)?;
        self.whiteouts.push((folder, name));
        self.check_count()
    }

    fn add_name(&mut self, name: &[u8]) -> Result<u32, ScanError> {
        let at = number(self.bytes.len())?;
        // Linux allows at most 255 bytes per name.
        let len = u8::try_from(name.len()).map_err(|_| ScanError::from(Errno::NAMETOOLONG))?;
        self.bytes.push(len);
        self.bytes.extend_from_slice(name);
        Ok(at)
    }

    fn check_count(&self) -> Result<(), ScanError> {
        let count = self.folders.len() + self.file_names.len() + self.whiteouts.len();
        if count > FOLDER_ENTRIES_MAX as usize { Err(ScanError::TooMany(FOLDER_ENTRIES_MAX)) } else { Ok(()) }
    }

    fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        self.filter.is_all() || self.filter.takes_file(folder, name)
    }

    fn takes_folder(&self, parent: &[u8], name: &[u8]) -> bool {
        self.filter.is_all() || self.filter.takes_folder(&joined(parent, name))
    }

    pub(super) fn folder_name(&self, folder: u32) -> &[u8] {
        name_at(&self.bytes, self.folders[folder as usize].name).bytes
    }

    /// The path of a folder, relative to the scanned one.
    pub(super) fn listed_path(&self, folder: u32) -> Vec<u8> {
        path_from(&self.bytes, &self.folders, folder, |at| at == 0)
    }

    /// Adds a note on an entry of a folder. An empty name means the folder.
    fn note(&mut self, folder: u32, name: &[u8], why: Why) {
        let path = || path_from(&self.bytes, &self.folders, folder, |at| at == 0);
        self.notes.add(|| joined(&path(), name), why);
    }
}

/// Opens the target of a link, which leads to `path`. A `..` in it may lead to the mountpoint of this
/// process, and the system would enter the mount.
fn open_link(fd: &OwnedFd, name: &[u8], path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match uncovered_target(path) {
        Some(path) => rustix::fs::open(path, flags, Mode::empty()),
        None => rustix::fs::openat2(fd, name, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS),
    }
}

fn number(index: usize) -> Result<u32, ScanError> {
    u32::try_from(index).map_err(|_| ScanError::TooMany(FOLDER_ENTRIES_MAX))
}

// Scans of folders, each folder once, whatever paths and links lead to it. An instance of a mod manager may
// have thousands of links to one mod.

/// Scans a folder. Links in `path` itself are followed, since the user named it. Whatever cannot be
/// read is left out with a note.
///
/// # Errors
/// The folder itself cannot be opened, is on proc or sysfs, or has more than 4,194,304 files and folders.
pub fn scan(path: &Path, filter: &Filter, files: &Arc<OpenFiles>) -> Result<LooseFolder, ScanError> {
    Scans::new(files.clone()).scan(path, filter)
}

/// Scans a folder again. The folder itself is always listed.
pub fn scan_again(earlier: &LooseFolder, changes: &ScanChanges<'_>) -> Result<LooseFolder, ScanError> {
    Scans::new(earlier.files().clone()).scan_again(earlier, changes)
}

/// All that a walk depends on, except what is on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ScanKey {
    mount: u64,
    /// Device and inode number.
    identity: DiskId,
    /// The path of the folder without links. Before Linux 5.8, `mount` does not distinguish bind mounts.
    path: PathBuf,
    filter: Filter,
}

/// All that a later walk depends on, except what is on the disk: the address of the earlier walk, and the
/// numbers of the folders to list again.
type RescanKey = (usize, BTreeSet<u32>);

/// What the walks of one opening found. Each path gets a [`LooseFolder`] of its own, because paths may lead
/// elsewhere later; those of one folder share the names.
#[derive(Debug, Default)]
pub struct Scans {
    files: Arc<OpenFiles>,
    /// The names, or the number of files and folders that are too many.
    found: OncePerFile<Result<Arc<FolderScan>, u32>, ScanKey>,
    found_again: OncePerFile<Arc<Rescan>, RescanKey>,
}

impl Scans {
    pub fn new(files: Arc<OpenFiles>) -> Self {
        Self { files, found: OncePerFile::default(), found_again: OncePerFile::default() }
    }

    /// As [`scan`], but a folder that was walked with an equal filter is not walked again.
    pub fn scan(&self, path: &Path, filter: &Filter) -> Result<LooseFolder, ScanError> {
        self.scan_like(path, filter, None)
    }

    /// As [`scan`](Self::scan), but if an `earlier` scan found the same, both share it.
    pub fn scan_like(
        &self,
        path: &Path,
        filter: &Filter,
        earlier: Option<&LooseFolder>,
    ) -> Result<LooseFolder, ScanError> {
        let root = Root::open(path, OFlags::DIRECTORY)?;
        if let Some(kind) = root.without_files()? {
            return Err(ScanError::NoFiles(kind));
        }
        let key = ScanKey {
            mount: root.mount,
            identity: root.identity,
            path: root.path.clone(),
            filter: filter.clone(),
        };
        let found = self.found.get(key, || match walk(root.into(), filter, &self.files) {
            Ok(scanned) => {
                let same = earlier.filter(|earlier| scanned.is_same(&earlier.scanned));
                Ok(Ok(same.map_or_else(|| scanned.into(), |earlier| earlier.scanned.clone())))
            }
            Err(ScanError::TooMany(most)) => Ok(Err(most)),
            Err(error) => Err(error),
        })?;
        // A relative path must become absolute because the daemon changes its working directory.
        let path = paths::absolute(path).map_err(ScanError::Io)?;
        Ok(LooseFolder::new(path, found.map_err(ScanError::TooMany)?, self.files.clone()))
    }

    /// As [`scan_again`], but folders that shared their names share the new ones, too, if
    /// the same changed in them.
    pub fn scan_again(
        &self,
        earlier: &LooseFolder,
        changes: &ScanChanges<'_>,
    ) -> Result<LooseFolder, ScanError> {
        if earlier.is_moved() {
            return self.scan(earlier.path(), earlier.filter());
        }
        // The caller has the earlier walk until the end of this opening, so no other one gets its address.
        let key = (Arc::as_ptr(&earlier.scanned).addr(), changes.folders.clone());
        let found = self.found_again.get(key, || walk_again(earlier, changes).map(Arc::new))?;
        Ok(found.folder(earlier, changes))
    }
}

// A later scan of a folder. It lists only the folders in which something changed, and copies all other
// names, sizes and times from the earlier scan.

/// What changed in a folder since a scan.
#[expect(missing_debug_implementations, reason = "it has a function")]
pub struct ScanChanges<'a> {
    /// The numbers of the folders in which something changed. Their subfolders are not included.
    pub folders: BTreeSet<u32>,
    /// Whether something changed in a folder with this path, to which a link leads.
    pub is_changed: &'a dyn Fn(&Path) -> bool,
}

/// Files that were copied: their first number, their first number in the earlier scan, and how many they
/// are.
type Copied = (u32, u32, u32);

/// A later walk of a folder.
#[derive(Debug)]
pub(super) struct Rescan {
    scanned: Arc<FolderScan>,
    copied: Vec<Copied>,
}

/// Scans a folder again that is still the one at its path. The folder itself is always listed.
pub(super) fn walk_again(earlier: &LooseFolder, changes: &ScanChanges<'_>) -> Result<Rescan, ScanError> {
    let root = earlier.scanned.locations.root().clone();
    let mut scan = Scan::new(root, earlier.filter(), earlier.files());
    scan.add_root()?;
    let mut counterparts = vec![Some(0)];
    let (mut copied, mut listed) = (Vec::new(), HashSet::new());
    let mut at = 0;
    while let Some(&then) = counterparts.get(at as usize) {
        match then {
            Some(then) if at != 0 && !changes.folders.contains(&then) => {
                copied.push(scan.copy_folder(at, earlier, then)?);
                counterparts.extend(earlier.scanned.names.subfolders(then).map(Some));
            }
            then => {
                scan.read_folder(at)?;
                listed.insert(scan.listed_path(at));
                for new in counterparts.len()..scan.folders.len() {
                    counterparts.push(then.and_then(|then| scan.counterpart(new, earlier, then)));
                }
            }
        }
        at += 1;
    }
    scan.keep_notes(earlier, &listed);
    Ok(Rescan { scanned: scan.finish().into(), copied })
}

impl Rescan {
    /// The folder, with what `earlier` knew of its files. The names of `earlier` must be those of the folder
    /// that was walked.
    pub(super) fn folder(&self, earlier: &LooseFolder, changes: &ScanChanges<'_>) -> LooseFolder {
        let folder =
            LooseFolder::new(earlier.path().to_owned(), self.scanned.clone(), earlier.files().clone());
        for &(first, then, len) in &self.copied {
            (0..len).for_each(|nth| folder.carry_unmoved(first + nth, earlier, then + nth, changes));
        }
        folder
    }
}

impl Scan<'_> {
    /// Copies the entries of a folder from an earlier scan.
    fn copy_folder(&mut self, folder: u32, earlier: &LooseFolder, then: u32) -> Result<Copied, ScanError> {
        let record = earlier.scanned.names.records()[then as usize];
        let first = self.begin_files(folder)?;
        let copy = &mut self.folders[folder as usize];
        (copy.modified, copy.identity) = (record.modified, record.identity);
        for subfolder in earlier.scanned.names.subfolders(then) {
            let base = earlier.scanned.locations.base_of(subfolder);
            let base = base.map(|BaseFolder { root, path }| {
                self.locations.add_base(BaseFolder { root: root.clone(), path: path.clone() })
            });
            self.push_folder(folder, earlier.scanned.names.folder_name(subfolder), base)?;
        }
        let files = earlier.scanned.names.files_in(then);
        for file in files.clone() {
            let name = earlier.scanned.names.file_name(file);
            match earlier.scanned.locations.link(earlier.scanned.names.bytes(), file) {
                Some((base, target)) => self.push_link(name, &base.root, &base.path, target)?,
                None => _ = self.add_file(name)?,
            }
        }
        for name in earlier.scanned.names.whiteouts_in(then) {
            self.add_whiteout(folder, name)?;
        }
        Ok((first, files.start, files.end - files.start))
    }

    /// The number that a subfolder of a listed folder had in the earlier scan. `None` if it is new, another
    /// folder, or reached through a link.
    fn counterpart(&self, new: usize, earlier: &LooseFolder, parent: u32) -> Option<u32> {
        let new = u32::try_from(new).ok()?;
        let then = earlier.scanned.names.subfolder(parent, self.folder_name(new))?;
        if self.locations.base_of(new).is_some() || earlier.scanned.locations.base_of(then).is_some() {
            return None;
        }
        let (root, path) = self.locations.of_folder(&self.bytes, &self.folders, new);
        let found = Referent::of(root.open_beneath(&path, OFlags::PATH).ok()?).ok()?;
        (found.identity == earlier.scanned.names.records()[then as usize].identity).then_some(then)
    }

    /// Copies the notes about folders that were not listed again.
    fn keep_notes(&mut self, earlier: &LooseFolder, listed: &HashSet<Vec<u8>>) {
        let (notes, dropped) = earlier.notes();
        let parent = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let is_kept = |path: &[u8]| !listed.contains(path) && !listed.contains(&path[..parent(path)]);
        let mut kept = ScanNotes { kept: Vec::new(), dropped };
        notes
            .iter()
            .filter(|note| is_kept(&note.path))
            .for_each(|note| kept.add(|| note.path.clone(), note.why));
        let new = std::mem::replace(&mut self.notes, kept);
        new.kept.into_iter().for_each(|note| self.notes.add(|| note.path, note.why));
    }
}

impl LooseFolder {
    /// Copies what an earlier scan knew of a file, unless something changed in the folder to which its link
    /// leads.
    fn carry_unmoved(&self, file: u32, earlier: &Self, then: u32, changes: &ScanChanges<'_>) {
        let Some(known) = earlier.known(then) else { return };
        let target = self.link_target(file);
        if target.is_none_or(|target| !target.parent().is_some_and(changes.is_changed)) {
            self.carry(file, known);
        }
    }

    /// The changes that concern this folder; `None` if there are none. `paths` are the folders in it in which
    /// something has changed, and `is_changed` says for any folder whether something has.
    pub fn changes_among<'a>(
        &self,
        paths: impl Iterator<Item = &'a Path>,
        is_changed: &'a dyn Fn(&Path) -> bool,
    ) -> Option<ScanChanges<'a>> {
        let within = paths.filter_map(|path| path.strip_prefix(self.path()).ok());
        let mut folders: BTreeSet<u32> =
            within.map(|path| self.find_folder(path).unwrap_or_else(|above| above)).collect();
        let is_above = self.path().ancestors().any(is_changed);
        // A link is resolved again if something changed in the folder of its target.
        for file in self.scanned.locations.files_of_links() {
            let target = self.link_target(file);
            if target.is_some_and(|target| target.parent().is_some_and(is_changed)) {
                folders.insert(self.scanned.names.folder_of(file));
            }
        }
        (is_above || !folders.is_empty()).then_some(ScanChanges { folders, is_changed })
    }

    /// Whether the path of the folder no longer leads to the folder that was scanned, or whether a disk was
    /// lost that it or a part of it is on.
    pub fn is_moved(&self) -> bool {
        let found = Root::open(self.path(), OFlags::DIRECTORY);
        !found.is_ok_and(|root| root.is_same(self.scanned.locations.root()))
            || self.scanned.locations.roots().into_iter().any(|root| root.is_lost())
    }

    /// The paths of folders that this scan found and an earlier one of the same folder did not, and of those
    /// that only the earlier one found. A folder that another one has replaced is in both.
    pub fn folder_differences(&self, earlier: &Self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut counterparts: Vec<Option<u32>> = vec![self.is_same_folder(0, earlier, 0).then_some(0)];
        let mut is_found = vec![false; earlier.scanned.names.records().len()];
        for now in 0..self.scanned.names.records().len() {
            let (now, then) = (now as u32, counterparts[now]);
            if let Some(then) = then {
                is_found[then as usize] = true;
            }
            for subfolder in self.scanned.names.subfolders(now) {
                let name = self.scanned.names.folder_name(subfolder);
                let found = then.and_then(|then| earlier.scanned.names.subfolder(then, name));
                counterparts.push(found.filter(|then| self.is_same_folder(subfolder, earlier, *then)));
            }
        }
        let added = (0..).zip(&counterparts).filter(|(_, then)| then.is_none()).map(|(now, _)| now);
        let removed = (0..).zip(&is_found).filter(|(_, is_found)| !**is_found).map(|(then, _)| then);
        (added.map(|it| self.folder_path(it)).collect(), removed.map(|it| earlier.folder_path(it)).collect())
    }

    /// The earlier scan of the same path if nothing changed since, otherwise the later one. It shares with
    /// the earlier one what both found.
    pub fn or_earlier(self: Arc<Self>, earlier: &Arc<Self>) -> Arc<Self> {
        let mut later = self;
        if let Some(later) = Arc::get_mut(&mut later) {
            later.share_scanned(earlier);
        }
        if later.is_unchanged(earlier) { earlier.clone() } else { later }
    }

    fn is_same_folder(&self, folder: u32, earlier: &Self, then: u32) -> bool {
        self.scanned.names.records()[folder as usize].identity
            == earlier.scanned.names.records()[then as usize].identity
    }
}
