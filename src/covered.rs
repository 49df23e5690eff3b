//! Paths that the mount of this process covers, as they were before it: a game's `Data` may be mounted over itself, and what it
//! shows must not be taken for what it is made of. Whoever opens a path that a mount may be made of asks [`uncovered`].

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

/// The folder that is mounted on. A process mounts once.
static COVERED: OnceLock<Covered> = OnceLock::new();

#[derive(Debug)]
struct Covered {
    path: PathBuf,
    /// Opened before the mount: paths that begin here do not enter it.
    folder: OwnedFd,
}

/// Opens the folder that is about to be mounted on, by its path without links.
///
/// # Errors
/// The system's.
pub fn cover(mountpoint: &Path) -> io::Result<()> {
    // Without O_DIRECTORY: that would have autofs mount, and wait for us.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(mountpoint, flags, Mode::empty())?;
    // A second call changes nothing.
    let _ = COVERED.set(Covered { path: mountpoint.to_owned(), folder });
    Ok(())
}

/// Whether a path without links is the mountpoint.
pub fn is_mountpoint(path: &Path) -> bool {
    COVERED.get().is_some_and(|covered| covered.path == path)
}

/// A path by which to open what is at `path` on the disk, though the mount covers it. One that leads into the mountpoint
/// by a link is not recognised.
pub fn uncovered(path: &Path) -> Cow<'_, Path> {
    match COVERED.get() {
        Some(covered) => beneath(covered, path).map_or(Cow::Borrowed(path), Cow::Owned),
        None => Cow::Borrowed(path),
    }
}

fn beneath(covered: &Covered, path: &Path) -> Option<PathBuf> {
    let within = path.strip_prefix(&covered.path).ok()?;
    let mut reached = OsString::from(format!("/proc/self/fd/{}", covered.folder.as_raw_fd()));
    // The slash makes it the folder, and not the link to it.
    reached.push("/");
    reached.push(within);
    Some(reached.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_the_mountpoint_is_opened_beneath_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/x"), "x").unwrap();
        let folder = rustix::fs::open(dir.path(), OFlags::PATH, Mode::empty()).unwrap();
        let covered = Covered { path: dir.path().to_owned(), folder };
        let moved = dir.path().with_extension("moved");
        std::fs::rename(dir.path(), &moved).unwrap();
        assert_eq!(std::fs::read(beneath(&covered, &dir.path().join("sub/x")).unwrap()).unwrap(), b"x");
        assert!(beneath(&covered, dir.path()).unwrap().is_dir());
        assert!(beneath(&covered, &moved).is_none());
        std::fs::rename(&moved, dir.path()).unwrap();
    }
}
