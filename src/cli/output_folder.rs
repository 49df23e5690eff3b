//! A folder that files are written to: beneath its descriptor, beside what is there, and never through a link.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::tree::{NodeId, Tree};

/// Folders that are kept open.
const OPEN_MAX: NonZero<usize> = NonZero::new(128).unwrap();

/// The folder, and those below it that were made or found.
#[derive(Debug)]
pub(super) struct OutputFolder {
    root: Arc<OwnedFd>,
    /// Device and inode number of files that are not to be replaced, and of folders that are not to be written to.
    kept: Vec<(u64, u64)>,
    folders: Mutex<Folders>,
    /// Numbers the files that are being written.
    next: AtomicU64,
}

/// By the inode numbers of their nodes.
#[derive(Debug)]
struct Folders {
    made: HashSet<u64>,
    open: LruCache<u64, Arc<OwnedFd>>,
}

impl OutputFolder {
    /// Opens the folder, which is made if it is missing. Links on the way to it are followed: the user named it. Files in it
    /// that are `kept`, by device and inode number, are never replaced.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(path: &Path, kept: Vec<(u64, u64)>) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let root = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let folders = Folders { made: HashSet::new(), open: LruCache::new(OPEN_MAX) };
        Ok(Self { root: Arc::new(root), kept, folders: Mutex::new(folders), next: AtomicU64::new(0) })
    }

    /// Whether the folder itself is one of those that are kept.
    pub(super) fn is_kept(&self) -> bool {
        let stat = rustix::fs::fstat(&*self.root);
        stat.is_ok_and(|stat| self.kept.contains(&(stat.st_dev, stat.st_ino)))
    }

    /// Has `write` write a file beside its place, and puts it there once it is whole; returns what `write` does, or `None`
    /// where something is there already and `skip_existing` is set.
    ///
    /// # Errors
    /// Those of `write`, and the system's; [`io::ErrorKind::AlreadyExists`] where what is there is no regular file. What is
    /// there then stays as it is.
    pub(super) fn write<T>(
        &self,
        tree: &Tree,
        node: NodeId,
        skip_existing: bool,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let folder = self.folder(tree, tree.parent(node))?;
        let name = tree.name(node);
        let existing = stat(&folder, name)?;
        match existing.map(|stat| (FileType::from_raw_mode(stat.st_mode), (stat.st_dev, stat.st_ino))) {
            Some(_) if skip_existing => return Ok(None),
            Some((_, identity)) if self.kept.contains(&identity) => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the archive itself is in the way"));
            }
            None | Some((FileType::RegularFile, _)) => {}
            Some((kind, _)) => return Err(in_the_way(kind)),
        }
        let (part, file) = self.part(&folder)?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        let written = write(&mut out).and_then(|written| out.flush().map(|()| written));
        let placed = written.and_then(|written| {
            place(&folder, &part, name, existing.is_some())?;
            Ok(Some(written))
        });
        if placed.is_err() {
            let _ = rustix::fs::unlinkat(&folder, &part, AtFlags::empty());
        }
        placed
    }

    /// A new file to write to, and its name. One of that name may be left of a process that was killed.
    fn part(&self, folder: &OwnedFd) -> io::Result<(String, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let part = format!(".bsafs-{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed));
            match rustix::fs::openat(folder, &part, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((part, file.into())),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// The descriptor of a folder of the tree, which is made where it is missing, once.
    fn folder(&self, tree: &Tree, node: NodeId) -> io::Result<Arc<OwnedFd>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).open(&self.root, tree, node)
    }
}

impl Folders {
    /// Beneath the descriptor of its parent, so that neither links nor the length of the path matter.
    fn open(&mut self, root: &Arc<OwnedFd>, tree: &Tree, node: NodeId) -> io::Result<Arc<OwnedFd>> {
        if node == NodeId::ROOT {
            return Ok(root.clone());
        }
        if let Some(folder) = self.open.get(&node.ino()) {
            return Ok(folder.clone());
        }
        // As deep as names are split into folders.
        let parent = self.open(root, tree, tree.parent(node))?;
        let name = tree.name(node);
        if !self.made.contains(&node.ino()) {
            match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
            Ok(folder) => Arc::new(folder),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let stat = stat(&parent, name)?;
                return Err(in_the_way(
                    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                ));
            }
            Err(errno) => return Err(errno.into()),
        };
        self.made.insert(node.ino());
        self.open.put(node.ino(), folder.clone());
        Ok(folder)
    }
}

/// What has a name in a folder, links not followed; `None` where nothing has.
fn stat(folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Puts a file in its place; over another only where one was found there.
fn place(folder: &OwnedFd, part: &str, name: &[u8], replaces: bool) -> io::Result<()> {
    let plainly = || rustix::fs::renameat(folder, part.as_bytes(), folder, name);
    let placed = match replaces {
        true => plainly(),
        false => {
            let flags = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(folder, part.as_bytes(), folder, name, flags) {
                // File systems that do not know the flag.
                Err(Errno::INVAL | Errno::NOSYS) => plainly(),
                placed => placed,
            }
        }
    };
    Ok(placed?)
}

fn in_the_way(kind: FileType) -> io::Error {
    let what = match kind {
        FileType::Directory => "a folder is in the way",
        FileType::Symlink => "a link is in the way",
        FileType::RegularFile => "a file is in the way of a folder",
        _ => "a special file is in the way",
    };
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}
