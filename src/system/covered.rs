//! Access to what the mount of this process covers. A game's `Data` may be mounted over itself, and
//! the daemon must read the original files, not its own mount. Before opening a path that may be
//! part of a source, call [`uncovered`].

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

/// The folder that the mount of this process covers; empty until it is about to be mounted. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Covered(Arc<OnceLock<CoveredFolder>>);

/// The value of this process. Deliberately static: a mount changes what paths mean for the whole process, so
/// every source that is opened here must read below it. Only a daemon sets it, once, before it mounts. So no
/// [`Vfs`](crate::Vfs) changes what another one returns.
static OF_PROCESS: LazyLock<Covered> = LazyLock::new(Covered::default);

/// The folder that this process mounts on.
#[derive(Debug)]
struct CoveredFolder {
    path: PathBuf,
    /// Opened before the mount, so that paths that begin here do not enter the mount. `None` for an
    /// automount: its folder is empty, and if it is open, systemd never unmounts it when it is
    /// idle. Paths that begin there lead nowhere.
    folder: Option<OwnedFd>,
}

/// A path where nothing exists.
const NOWHERE: &str = "/proc/self/covered";
/// `AUTOFS_SUPER_MAGIC` of linux/magic.h.
const AUTOFS_MAGIC: rustix::fs::FsWord = 0x0187;

impl Covered {
    /// The value that the whole daemon shares.
    pub fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// Keeps the folder that is about to be mounted on. The path must not contain links.
    pub fn cover(&self, mountpoint: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        let folder = folder.try_clone_to_owned()?;
        let is_automount = rustix::fs::fstatfs(&folder)?.f_type == AUTOFS_MAGIC;
        let folder = (!is_automount).then_some(folder);
        // A second call changes nothing.
        let _ = self.0.set(CoveredFolder { path: mountpoint.to_owned(), folder });
        Ok(())
    }

    /// Whether a path without links is the mountpoint.
    pub fn is_mountpoint(&self, path: &Path) -> bool {
        self.0.get().is_some_and(|covered| covered.path == path)
    }

    /// A path that opens what is at `path` on the disk, although the mount covers it. A path that
    /// enters the mountpoint through a link is not recognised; resolve its links first.
    pub fn uncovered<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        self.0.get().and_then(|covered| covered.beneath(path)).map_or(Cow::Borrowed(path), Cow::Owned)
    }
}

/// Calls [`Covered::cover`] on the process's value.
pub fn cover(mountpoint: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
    OF_PROCESS.cover(mountpoint, folder)
}

/// Calls [`Covered::is_mountpoint`] on the process's value.
pub fn is_mountpoint(path: &Path) -> bool {
    OF_PROCESS.is_mountpoint(path)
}

/// Whether a path begins with that of the mountpoint.
pub fn is_beneath(path: &Path) -> bool {
    OF_PROCESS.0.get().is_some_and(|covered| path.starts_with(&covered.path))
}

/// Calls [`Covered::uncovered`] on the process's value.
pub fn uncovered(path: &Path) -> Cow<'_, Path> {
    OF_PROCESS.uncovered(path)
}

impl CoveredFolder {
    /// A path that opens what is at a path below the mountpoint.
    fn beneath(&self, path: &Path) -> Option<PathBuf> {
        let within = path.strip_prefix(&self.path).ok()?;
        let mut reached = match &self.folder {
            Some(folder) => OsString::from(format!("/proc/self/fd/{}", folder.as_raw_fd())),
            None => OsString::from(NOWHERE),
        };
        // With the slash, the path is the folder and not the link in `/proc`.
        reached.push("/");
        reached.push(within);
        Some(reached.into())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn paths_below_a_covered_folder_are_opened_through_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/x"), "x").unwrap();
        let folder = rustix::fs::open(dir.path(), OFlags::PATH, Mode::empty()).unwrap();
        let covered = CoveredFolder { path: dir.path().to_owned(), folder: Some(folder) };
        let moved = dir.path().with_extension("moved");
        std::fs::rename(dir.path(), &moved).unwrap();
        assert_eq!(std::fs::read(covered.beneath(&dir.path().join("sub/x")).unwrap()).unwrap(), b"x");
        assert!(covered.beneath(dir.path()).unwrap().is_dir());
        assert!(covered.beneath(&moved).is_none());
        std::fs::rename(&moved, dir.path()).unwrap();
    }
}
