//! A folder that files of the tree are written to. Everything is opened beneath its descriptor and
//! never through a link. A file is moved to its place only when it is complete.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use lru::LruCache;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::file::VfsFile;
use crate::system::disk_id::DiskId;
use crate::system::new_file::{NeedsNames, NewFile, in_the_way, stat_in};
use crate::system::sync::Mutex;
use crate::system::walk::{LastLink, Missing, open_folder};
use crate::tree::{NodeId, Tree};

/// Numbers of file systems that compress: Btrfs, ZFS, bcachefs, F2FS.
const COMPRESSING: [u32; 4] = [0x9123_683E, 0x2FC1_2FC1, 0xCA45_1A4E, 0xF2F5_2010];

/// Maximum number of folders that are kept open.
const OPEN_MAX: NonZero<usize> = NonZero::new(128).unwrap();

/// The output folder, and the folders below it that were made or found.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    root: Arc<OwnedFd>,
    /// Files that must not be replaced.
    kept: HashSet<DiskId>,
    folders: Mutex<OutputFolders>,
    needs_names: NeedsNames,
}

/// What to do with a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Keep it, and return it for a comparison. Something other than a regular file is an error.
    Keep,
    /// Keep it if it is a regular file, or a link to one. Something else is an error.
    Skip,
    /// Replace it if it is a regular file.
    Replace,
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Placed<T> {
    /// It was written, with this result.
    Written(T),
    /// It exists already and was kept. It is open for reading if [`Existing::Keep`] was asked for.
    Kept(Option<io::Result<File>>),
}

/// Folders of the tree in the output folder, by node.
#[derive(Debug)]
struct OutputFolders {
    made: HashSet<NodeId>,
    open: LruCache<NodeId, Arc<OwnedFd>>,
}

impl OutputFolder {
    /// Opens the folder, and makes it if it is missing. Files in `kept` are never replaced. Links in its path
    /// are followed if the user named it, unless another user made them. If bsafs chose its name, a link may
    /// have come with a mod, so it takes that name.
    ///
    /// # Errors
    /// A link is in the way, or a system call fails.
    pub(crate) fn open(path: &Path, last: LastLink, kept: HashSet<DiskId>) -> io::Result<Self> {
        let root = open_folder(path, Missing::Make, last).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => in_the_way(FileType::RegularFile),
            _ => error,
        })?;
        let needs_names = NeedsNames::of(&root);
        let folders = OutputFolders { made: HashSet::new(), open: LruCache::new(OPEN_MAX) };
        Ok(Self { root: Arc::new(root), kept, folders: Mutex::new(folders), needs_names })
    }

    /// Number of bytes that can be written. `None` on a file system that compresses, because files of any
    /// length may fit there, or if the system does not say.
    pub(crate) fn free(&self) -> Option<u64> {
        let disk = rustix::fs::fstatfs(&self.root).ok()?;
        let compresses = COMPRESSING.iter().any(|magic| u32::try_from(disk.f_type) == Ok(*magic));
        let blocks = rustix::fs::fstatvfs(&self.root).ok().filter(|_| !compresses)?;
        Some(blocks.f_bavail.saturating_mul(blocks.f_frsize))
    }

    /// Writes a file of the tree under a name in its folder. `write` fills a temporary file, which is moved
    /// to its place once it is complete.
    ///
    /// # Errors
    /// Errors of `write` and of system calls. [`io::ErrorKind::AlreadyExists`] if a kept file, or
    /// something other than a regular file, is in the way; it then stays as it is.
    pub(crate) fn write<T>(
        &self,
        of: &VfsFile,
        name: &[u8],
        if_exists: Existing,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
    ) -> io::Result<Placed<T>> {
        let (tree, node) = of.tree_node();
        let folder = self.folder(tree, tree.parent(node))?;
        let existing = stat_in(&folder, name)?;
        match existing.map(|stat| (FileType::from_raw_mode(stat.st_mode), DiskId::from(&stat))) {
            Some((kind, _)) if if_exists == Existing::Skip => {
                let is_file = kind == FileType::RegularFile
                    || kind == FileType::Symlink && leads_to_file(&folder, name);
                return if is_file { Ok(Placed::Kept(None)) } else { Err(in_the_way(kind)) };
            }
            Some((_, identity)) if self.kept.contains(&identity) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "a source is in the way, and is never replaced",
                ));
            }
            Some((FileType::RegularFile, _)) if if_exists == Existing::Keep => {
                return Ok(Placed::Kept(Some(open(&folder, name))));
            }
            None | Some((FileType::RegularFile, _)) => {}
            Some((kind, _)) => return Err(in_the_way(kind)),
        }
        let part = NewFile::make(&folder, 0o666, &self.needs_names)?;
        let mut out = BufWriter::with_capacity(1 << 16, &part.file);
        let written = write(&mut out).and_then(|written| out.flush().map(|()| written));
        drop(out);
        written.and_then(|written| {
            part.place(name, existing.as_ref())?;
            Ok(Placed::Written(written))
        })
    }

    /// The descriptor of a folder of the tree. A missing folder is made, but only once.
    fn folder(&self, tree: &Tree, node: NodeId) -> io::Result<Arc<OwnedFd>> {
        self.folders.lock().open(&self.root, tree, node)
    }
}

impl OutputFolders {
    /// Opens a folder beneath the descriptor of its parent, so that neither links nor long paths matter.
    fn open(&mut self, root: &Arc<OwnedFd>, tree: &Tree, node: NodeId) -> io::Result<Arc<OwnedFd>> {
        if node == NodeId::ROOT {
            return Ok(root.clone());
        }
        if let Some(folder) = self.open.get(&node) {
            return Ok(folder.clone());
        }
        // The recursion is as deep as the folders are nested.
        let parent = self.open(root, tree, tree.parent(node))?;
        let name = tree.name(node);
        if !self.made.contains(&node) {
            match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
            Ok(folder) => Arc::new(folder),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let stat = stat_in(&parent, name)?;
                return Err(in_the_way(
                    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                ));
            }
            Err(errno) => return Err(errno.into()),
        };
        self.made.insert(node);
        self.open.put(node, folder.clone());
        Ok(folder)
    }
}

/// Whether a link in a folder leads to a regular file.
fn leads_to_file(folder: &OwnedFd, name: &[u8]) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::empty());
    found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// Opens a file in a folder for reading, without following links.
fn open(folder: &OwnedFd, name: &[u8]) -> io::Result<File> {
    // Without O_NONBLOCK, a pipe that has replaced the file would block the open.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?.into())
}
