//! A folder that files of the tree are written to. Everything is opened beneath its descriptor and
//! never through a link. A file is moved to its place only when it is complete.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::file::VfsFile;
use crate::tree::{NodeId, Tree};

/// Maximum number of folders that are kept open.
const OPEN_MAX: NonZero<usize> = NonZero::new(128).unwrap();

/// The output folder, and the folders below it that were made or found.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    root: Arc<OwnedFd>,
    /// Device and inode numbers of files that must not be replaced, and of folders that must not be
    /// written to.
    kept: Vec<(u64, u64)>,
    folders: Mutex<Folders>,
    /// Whether the file system cannot make files without a name.
    needs_names: AtomicBool,
}

/// What to do with a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Keep it, and return it for a comparison. Something other than a regular file is an error.
    Keep,
    /// Keep it, whatever it is.
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

/// A file that is being written. It is removed when this is dropped, unless it was placed.
struct Part<'f> {
    folder: &'f OwnedFd,
    file: File,
    /// The temporary name. A file without a name gets it only for the moment before the rename.
    name: String,
    has_name: bool,
}

/// Folders of the tree in the output folder, by node.
#[derive(Debug)]
struct Folders {
    made: HashSet<NodeId>,
    open: LruCache<NodeId, Arc<OwnedFd>>,
}

impl OutputFolder {
    /// Opens the folder, and makes it if it is missing. Links in its path are followed, because the user
    /// named it. Files in `kept` (device and inode number) are never replaced.
    ///
    /// # Errors
    /// A system call fails.
    pub(crate) fn open(path: &Path, kept: Vec<(u64, u64)>) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let root = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let folders = Folders { made: HashSet::new(), open: LruCache::new(OPEN_MAX) };
        // Without `/proc`, a file cannot get a name later.
        let needs_names = !Path::new(&format!("/proc/self/fd/{}", root.as_raw_fd())).exists();
        Ok(Self {
            root: Arc::new(root),
            kept,
            folders: Mutex::new(folders),
            needs_names: AtomicBool::new(needs_names),
        })
    }

    /// Whether the output folder itself is one of the kept folders.
    pub(crate) fn is_kept(&self) -> bool {
        let stat = rustix::fs::fstat(&*self.root);
        stat.is_ok_and(|stat| self.kept.contains(&(stat.st_dev, stat.st_ino)))
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
        let existing = stat(&folder, name)?;
        match existing.map(|stat| (FileType::from_raw_mode(stat.st_mode), (stat.st_dev, stat.st_ino))) {
            Some(_) if if_exists == Existing::Skip => return Ok(Placed::Kept(None)),
            Some((_, identity)) if self.kept.contains(&identity) => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the archive itself is in the way"));
            }
            Some((FileType::RegularFile, _)) if if_exists == Existing::Keep => {
                return Ok(Placed::Kept(Some(open(&folder, name))));
            }
            None | Some((FileType::RegularFile, _)) => {}
            Some((kind, _)) => return Err(in_the_way(kind)),
        }
        let part = self.part(&folder)?;
        let mut out = BufWriter::with_capacity(1 << 16, &part.file);
        let written = write(&mut out).and_then(|written| out.flush().map(|()| written));
        drop(out);
        written.and_then(|written| {
            part.place(name, existing.as_ref())?;
            Ok(Placed::Written(written))
        })
    }

    /// Makes a temporary file in a folder. If the file system supports it, the file has no name, so that a
    /// killed process leaves nothing behind.
    fn part<'f>(&self, folder: &'f OwnedFd) -> io::Result<Part<'f>> {
        let mut name = part_name();
        let (flags, mode) = (OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
        if !self.needs_names.load(Ordering::Relaxed) {
            match rustix::fs::openat(folder, c".", flags | OFlags::TMPFILE, mode) {
                Ok(file) => return Ok(Part { folder, file: file.into(), name, has_name: false }),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                    self.needs_names.store(true, Ordering::Relaxed);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        loop {
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => return Ok(Part { folder, file: file.into(), name, has_name: true }),
                // A killed process left a file of this name behind.
                Err(Errno::EXIST) => name = part_name(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// The descriptor of a folder of the tree. A missing folder is made, but only once.
    fn folder(&self, tree: &Tree, node: NodeId) -> io::Result<Arc<OwnedFd>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).open(&self.root, tree, node)
    }
}

impl Folders {
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
                let stat = stat(&parent, name)?;
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

/// Stats a name in a folder without following links; `None` if there is nothing.
fn stat(folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a file in a folder for reading, without following links.
fn open(folder: &OwnedFd, name: &[u8]) -> io::Result<File> {
    // Without O_NONBLOCK, a pipe that has replaced the file would block the open.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?.into())
}

impl Part<'_> {
    /// Puts the file in its place. It replaces a file only if one was found there before, and takes
    /// over its permissions.
    fn place(mut self, name: &[u8], replaced: Option<&Stat>) -> io::Result<()> {
        // Only permissions of this user's own file are taken over, and no setuid bit. Otherwise
        // another user could turn the new file into a setuid program of this user.
        if let Some(stat) = replaced.filter(|stat| stat.st_uid == geteuid().as_raw()) {
            // File systems without permissions refuse this. Nothing is lost there.
            let _ = rustix::fs::fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & 0o777));
        }
        if !self.has_name {
            // `linkat` never replaces a file.
            let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let link = |name: &[u8]| {
                rustix::fs::linkat(rustix::fs::CWD, &own, self.folder, name, AtFlags::SYMLINK_FOLLOW)
            };
            if replaced.is_none() {
                return Ok(link(name)?);
            }
            while let Err(errno) = link(self.name.as_bytes()) {
                match errno {
                    Errno::EXIST => self.name = part_name(),
                    errno => return Err(errno.into()),
                }
            }
            self.has_name = true;
        }
        let (folder, part) = (self.folder, self.name.as_bytes());
        let plainly = || rustix::fs::renameat(folder, part, folder, name);
        match replaced {
            Some(_) => plainly(),
            None => match rustix::fs::renameat_with(folder, part, folder, name, RenameFlags::NOREPLACE) {
                // The file system does not know the flag.
                Err(Errno::INVAL | Errno::NOSYS) => plainly(),
                placed => placed,
            },
        }?;
        self.has_name = false;
        Ok(())
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if self.has_name {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A random temporary name. A process id would not do: two processes may have the same one, and an
/// archive may contain such a name.
fn part_name() -> String {
    // The standard library offers random numbers only through its hash maps.
    format!(".bsafs-{:016x}", std::hash::RandomState::new().build_hasher().finish())
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
