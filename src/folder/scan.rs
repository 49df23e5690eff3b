//! The walk through a folder. It reads every name once, works by descriptors, and follows links
//! without running in circles.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::process::Uid;

use super::error::ScanError;
use super::file_state::{FileTime, stat_of};
use super::hidden_names::HiddenNames;
use super::location::{Base, Locations};
use super::loose_names::{FolderRecord, LooseNames, Whiteout, joined, name_at, path_from};
use super::mounts::{Found, Root, device_of, refused};
use super::notes::{Notes, Why};
use super::open_files::OpenFiles;
use super::whiteouts::{Mark, is_opaque};
use crate::limits::{FOLDER_ENTRIES_MAX, LINKED_FOLDER_MAX};
use crate::system::covered::{PATH_MAX, is_mountpoint, uncovered_target};
use crate::system::disk_id::{DiskId, is_removed};
use crate::system::memory;
use crate::system::mountinfo::ForeignMounts;
use crate::system::paths::{enters_any, path_of_open};
use crate::system::root_only::{Liars, may_others_add, only_root_decides};

/// Maximum depth, as for names in archives. Other programs cannot walk deeper trees.
const DEPTH_MAX: u8 = 64;
/// Buffer size of a directory listing, in bytes.
const LISTING: usize = 1 << 15;

/// Walks a folder, and finds all that the filter takes.
///
/// # Errors
/// A folder of this many files and folders is too large, or a system call fails for the folder itself.
pub(super) fn walk(root: Arc<Root>, filter: &Filter, files: &Arc<OpenFiles>) -> Result<Walk, ScanError> {
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
    pub(super) folders: Vec<FolderRecord>,
    depths: Vec<u8>,
    file_names: Vec<u32>,
    whiteouts: Vec<Whiteout>,
    pub(super) locations: Locations,
    /// Bases of linked files, by mount number and by the paths of root and folder.
    bases: HashMap<(u64, Vec<u8>), u32>,
    /// How often each folder behind links was listed.
    behind_links: HashMap<DiskId, u32>,
    pub(super) notes: Notes,
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
struct Listed {
    name: Vec<u8>,
    kind: FileType,
    ino: u64,
}

struct Target {
    found: Found,
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
            notes: Notes::default(),
            liars: Liars::default(),
            foreign: None,
            buffer: vec![MaybeUninit::uninit(); LISTING],
        }
    }

    pub(super) fn finish(self) -> Walk {
        let Self { filter, bytes, folders, file_names, whiteouts, mut locations, notes, .. } = self;
        locations.shrink();
        let names = LooseNames::new(bytes, folders, file_names, whiteouts);
        Walk { filter: filter.clone(), names, locations, notes }
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
        for Listed { name, kind, .. } in self.list(folder, &fd)? {
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
    fn list(&mut self, folder: u32, fd: &OwnedFd) -> Result<Vec<Listed>, ScanError> {
        let mut listed = Vec::new();
        let mut failed = None;
        let mut entries = RawDir::new(fd, &mut self.buffer);
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => {
                    let (name, kind) = (entry.file_name().to_bytes().to_vec(), entry.file_type());
                    listed.push(Listed { name, kind, ino: entry.ino() });
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
        let key = |it: &Listed| if it.kind == FileType::RegularFile { it.ino } else { 0 };
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
    fn target(&self, fd: &OwnedFd) -> Result<Target, Why> {
        let found = Found::of(fd)?;
        let path = path_of_open(fd)?;
        let is_same_mount = found.mount == self.root.mount;
        if is_same_mount && let Ok(within) = path.strip_prefix(&self.root.path) {
            let path = within.as_os_str().as_bytes().to_vec();
            return Ok(Target { found, root: self.root.clone(), path });
        }
        if is_mountpoint(&path) {
            // This is the mountpoint of this daemon; open the folder that the mount covers.
            let root = Arc::new(Root::open(&path, OFlags::DIRECTORY)?);
            let found = Found { mount: root.mount, identity: root.identity, ..found };
            return Ok(Target { found, root, path: Vec::new() });
        }
        if !is_same_mount && let Some(kind) = refused(fd, found.identity.device) {
            return Err(Why::Mount(kind));
        }
        let root = self.files.mounts.top(found.mount, &path)?;
        let within = path.strip_prefix(&root.path).map_err(|_| Errno::XDEV)?;
        Ok(Target { found, path: within.as_os_str().as_bytes().to_vec(), root })
    }

    fn add_linked_folder(&mut self, folder: u32, name: &[u8], target: Target) -> Result<(), Left> {
        if self.is_ancestor(folder, &target) {
            return Err(Why::Circle.into());
        }
        let base = self.locations.add_base(Base { root: target.root, path: target.path.into() });
        self.add_folder(folder, name, Some(base))
    }

    fn add_linked_file(&mut self, name: &[u8], target: &Target) -> Result<(), Left> {
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
                let base = Base { root: root.clone(), path: folder.into() };
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
    fn is_ancestor(&self, of: u32, target: &Target) -> bool {
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
        self.folders.push(FolderRecord::new(0, name));
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
        self.folders.push(FolderRecord::new(parent, name));
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

/// The type of an entry, if the listing does not have it.
pub(super) fn kind_of(fd: &OwnedFd, name: &[u8]) -> Result<FileType, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(fd, name, flags, StatxFlags::TYPE)?;
    Ok(FileType::from_raw_mode(stat.stx_mode.into()))
}

fn number(index: usize) -> Result<u32, ScanError> {
    u32::try_from(index).map_err(|_| ScanError::TooMany(FOLDER_ENTRIES_MAX))
}

// What a walk through a folder found.

/// What a walk found. It does not depend on the path by which the folder was reached.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) filter: Filter,
    pub(super) names: LooseNames,
    pub(super) locations: Locations,
    pub(super) notes: Notes,
}

// Which part of a folder is scanned: all of it, or what a game or a mod manager uses.

/// Which files and folders a scan takes. Comparisons ignore the case of ASCII letters, and `/` equals `\`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// If set, a scan takes only what lies directly in the folder and what lies below these folders.
    pub only_below: Option<Vec<String>>,
    /// Whether to leave out files that lie directly in the folder.
    pub no_direct_files: bool,
    /// Names of files and folders to leave out directly in the folder.
    pub not_at_root: Vec<String>,
    /// Whether to leave out links that a user other than root can have made, or that lead where another user
    /// decides.
    pub only_roots_links: bool,
    /// What a mod manager hides. All folders of an instance share it.
    pub hidden: Arc<HiddenNames>,
    /// If set, a scan takes only what lies directly in the folder and what is at these paths.
    pub only: Option<Arc<OnlyPaths>>,
}

/// The paths of a tree that a command needs. A scan for them walks the folders above them, and no others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OnlyPaths {
    /// Files, or folders with all that is below them.
    whole: Vec<Vec<u8>>,
    /// A folder whose entries are taken, without what is below them; empty for the scanned folder.
    listed: Option<Vec<u8>>,
}

impl OnlyPaths {
    /// Some files, or folders with all that is below them. `None` if a path has bytes that a tree may list in
    /// another form than a disk.
    pub fn at_or_below<'p>(paths: impl IntoIterator<Item = &'p [u8]>) -> Option<Self> {
        let whole = paths.into_iter().map(|path| plain(path).filter(|it| !it.is_empty()));
        Some(Self { whole: whole.collect::<Option<_>>()?, listed: None })
    }

    /// The entries of one folder, under the same condition.
    pub fn listed(folder: &[u8]) -> Option<Self> {
        Some(Self { whole: Vec::new(), listed: Some(plain(folder)?) })
    }

    fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        self.is_below_one(&joined(folder, name)) || self.lists(folder)
    }

    fn takes_folder(&self, path: &[u8]) -> bool {
        let parent = path.iter().rposition(|&byte| byte == b'/').map_or(&b""[..], |at| &path[..at]);
        self.enters(path) || self.lists(parent)
    }

    /// Whether a scan reads a folder.
    fn enters(&self, path: &[u8]) -> bool {
        let mut all = self.whole.iter().chain(&self.listed);
        self.is_below_one(path) || all.any(|it| is_at_or_below(it, path))
    }

    fn is_below_one(&self, path: &[u8]) -> bool {
        self.whole.iter().any(|it| is_at_or_below(path, it))
    }

    fn lists(&self, folder: &[u8]) -> bool {
        self.listed.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(folder))
    }
}

/// A path without slashes at its ends and without double ones.
fn plain(path: &[u8]) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"%\\:".contains(byte);
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
    let is_name = |name: &&[u8]| name.iter().all(is_plain) && !matches!(*name, b"." | b"..");
    names.iter().all(is_name).then(|| names.join(&b'/'))
}

impl Filter {
    /// Whether to take a file of this name. `folder` is the path of its folder, relative to the root.
    pub(super) fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        if folder.is_empty() && (self.no_direct_files || self.is_not_at_root(name))
            || self.hidden.hides_file(name)
        {
            return false;
        }
        if self.only.as_ref().is_some_and(|only| !folder.is_empty() && !only.takes_file(folder, name)) {
            return false;
        }
        folder.is_empty()
            || self.only_below.as_ref().is_none_or(|only| only.iter().any(|it| is_at_or_below(folder, it)))
    }

    /// Whether to walk a folder. `path` is relative to the root.
    pub(super) fn takes_folder(&self, path: &[u8]) -> bool {
        let at = path.iter().rposition(|&byte| byte == b'/');
        let name = at.map_or(path, |at| &path[at + 1..]);
        if at.is_none() && self.is_not_at_root(name) || self.hidden.hides_folder(name) {
            return false;
        }
        if self.only.as_ref().is_some_and(|only| !only.takes_folder(path)) {
            return false;
        }
        self.only_below.as_ref().is_none_or(|only| {
            only.iter().any(|it| is_at_or_below(path, it) || is_at_or_below(it.as_bytes(), path))
        })
    }

    /// Whether to take the mark that deletes a name. It may hide a file, a folder, or a folder that only
    /// leads to what the filter takes.
    pub(super) fn takes_mark(&self, folder: &[u8], name: &[u8]) -> bool {
        self.is_all() || self.takes_file(folder, name) || self.takes_folder(&joined(folder, name))
    }

    /// Whether the filter takes everything, but perhaps not all links.
    pub(super) fn is_all(&self) -> bool {
        *self == Self { only_roots_links: self.only_roots_links, ..Self::default() }
    }

    fn is_not_at_root(&self, name: &[u8]) -> bool {
        self.hidden.hides_at_root(name)
            || self.not_at_root.iter().any(|it| it.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// Whether a path is that of a folder, or lies below it.
fn is_at_or_below(path: &[u8], folder: impl AsRef<[u8]>) -> bool {
    let mut path = parts(path);
    parts(folder.as_ref()).all(|part| path.next().is_some_and(|it| it.eq_ignore_ascii_case(part)))
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_folders_and_files_in_the_root_are_included() {
        let filter =
            Filter { only_below: Some(vec!["STRINGS\\".into(), "Sound/Voice".into()]), ..Filter::default() };
        for (folder, is_taken) in [
            ("", true),
            ("strings", true),
            ("Strings/a", true),
            ("sound/VOICE/x", true),
            ("sound", false),
            ("stringsx", false),
        ] {
            assert_eq!(filter.takes_file(folder.as_bytes(), b"a.txt"), is_taken, "{folder}");
        }
        for (folder, is_walked) in
            [("sound", true), ("Sound/voice", true), ("sound/fx", false), ("meshes", false)]
        {
            assert_eq!(filter.takes_folder(folder.as_bytes()), is_walked, "{folder}");
        }
    }

    #[test]
    fn a_scan_for_some_paths_takes_these_and_reads_only_the_folders_above_them() {
        let only = OnlyPaths::at_or_below([&b"/Textures/Armor/"[..]]).unwrap();
        for (path, is_taken) in [
            ("", true),
            ("textures", true),
            ("TEXTURES/armor", true),
            ("textures/armor/Iron", true),
            ("textures/armors", false),
            ("meshes", false),
        ] {
            assert_eq!(
                [only.takes_folder(path.as_bytes()), only.enters(path.as_bytes())],
                [is_taken; 2],
                "{path}"
            );
        }
        assert!(only.takes_file(b"Textures/Armor/x", b"A.dds") && only.takes_file(b"textures", b"ARMOR"));
        assert!(!only.takes_file(b"textures", b"a.dds") && !only.takes_file(b"armor", b"a.dds"));
        let only = OnlyPaths::listed(b"textures/").unwrap();
        assert!(only.takes_file(b"Textures", b"a.dds") && !only.takes_file(b"textures/armor", b"a.dds"));
        assert!(only.takes_folder(b"textures/armor") && !only.enters(b"textures/armor"));
        assert!(OnlyPaths::listed(b"").unwrap().takes_folder(b"Textures"));
        for path in ["a%2Fb", "a\\b", "a/../b", "\u{e9}", "", "/"] {
            assert_eq!(OnlyPaths::at_or_below([path.as_bytes()]), None, "{path}");
        }
    }

    #[test]
    fn marks_of_folders_on_the_way_to_what_a_filter_takes_count() {
        let only = OnlyPaths::at_or_below([&b"textures/armor/iron/a.dds"[..]]).unwrap();
        let below = Some(vec!["Textures/Armor/Iron".to_owned()]);
        for filter in [
            Filter { only: Some(only.into()), ..Filter::default() },
            Filter { only_below: below, ..Filter::default() },
        ] {
            for (folder, name, is_taken) in [
                ("", "textures", true),
                ("Textures", "armor", true),
                ("textures/armor", "IRON", true),
                ("textures/armor/iron", "a.dds", true),
                ("textures", "armors", false),
                ("textures/armor", "steel", false),
            ] {
                let takes = filter.takes_mark(folder.as_bytes(), name.as_bytes());
                assert_eq!(takes, is_taken, "{folder} {name}");
            }
        }
    }

    #[test]
    fn files_in_the_root_can_be_excluded_without_its_folders() {
        let filter = Filter { no_direct_files: true, ..Filter::default() };
        assert!(
            !filter.takes_file(b"", b"a.esp")
                && filter.takes_file(b"a", b"b.txt")
                && filter.takes_folder(b"a")
        );
    }

    #[test]
    fn files_that_a_mod_manager_hides_are_excluded() {
        let hidden = HiddenNames::new(["meta.ini", "fomod"], [".git"], [".mohidden"]).into();
        let filter = Filter { hidden, ..Filter::default() };
        assert!(!filter.takes_file(b"", b"Meta.INI") && filter.takes_file(b"a", b"meta.ini"));
        assert!(!filter.takes_folder(b"fomod") && filter.takes_folder(b"a/fomod"));
        assert!(!filter.takes_folder(b"a/.GIT") && !filter.takes_file(b"a", b"x.dds.MOhidden"));
    }
}
