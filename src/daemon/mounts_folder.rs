//! The folder in which `bsafs open` makes its mountpoints. The folder is locked while a mountpoint is made,
//! and removed with the last mountpoint.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::made_folder::MadeFolder;
use crate::system::disk_id::DiskId;
use crate::system::folder_lock;
use crate::system::place::Place;

/// How long to wait for another process that mounts.
const LOCK_TIME: Duration = Duration::from_secs(120);
/// Interval between attempts to lock.
const STEP: Duration = Duration::from_millis(20);

/// A locked folder for mountpoints. If two processes need the folder at once, the second waits and then sees
/// what the first mounted. Dropping this value removes the folder if bsafs made it and nothing is mounted in
/// it.
#[derive(Debug)]
pub(crate) struct MountsFolder {
    /// The path, absolute and without links.
    pub(crate) path: PathBuf,
    lock: Option<File>,
}

impl MountsFolder {
    /// Locks a folder, and makes it if it is missing.
    ///
    /// # Errors
    /// A system call fails, or another process holds the lock for minutes.
    pub(crate) fn lock(path: &Path) -> Result<Self, DaemonError> {
        let began = Instant::now();
        while began.elapsed() < LOCK_TIME {
            match MadeFolder::make(path) {
                Ok(made) => made.keep(),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(DaemonError::not_made("the folder for mountpoints", path, error)),
            }
            match lock_existing(path) {
                Ok(Some((path, lock))) => return Ok(Self { path, lock: Some(lock) }),
                // Another process has locked the folder, or has removed it since.
                Ok(None) => sleep(STEP),
                Err(error) => return Err(DaemonError::folder(path, error)),
            }
        }
        Err(DaemonError::Locked(path.to_owned()))
    }
}

impl Drop for MountsFolder {
    fn drop(&mut self) {
        self.lock = None;
        let _ = remove_if_left(&self.path);
    }
}

/// Removes the folder around a mountpoint with the last mount, if bsafs made it for mountpoints. Likewise the
/// folders above it.
#[derive(Debug)]
pub(crate) struct LastMount {
    pub(crate) around: PathBuf,
}

impl Drop for LastMount {
    fn drop(&mut self) {
        for folder in self.around.ancestors() {
            if !remove_if_left(folder) {
                break;
            }
        }
    }
}

/// Makes the folders above a mountpoint that are missing. They are removed with [`LastMount`].
pub(super) fn make_around(mountpoint: &Path) -> Result<(), DaemonError> {
    let above: Vec<&Path> = mountpoint.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
    for folder in above.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
        match MadeFolder::make(folder) {
            Ok(made) => made.keep(),
            // Another process made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(DaemonError::not_made("the folder", folder, error)),
        }
    }
    Ok(())
}

/// Removes a folder that bsafs made, if it is empty and no process is about to mount in it. Returns whether
/// it is gone.
fn remove_if_left(path: &Path) -> bool {
    let Some(left) = MadeFolder::left_behind(path) else { return false };
    match lock_existing(path) {
        Ok(Some(_lock)) => drop(left),
        _ => left.keep(),
    }
    !path.exists()
}

/// Locks a folder, and returns its path without links. Returns `None` if another process has locked it, or if
/// it is not at its path any more. Links in the path are followed as [`Place::open`] does.
fn lock_existing(path: &Path) -> io::Result<Option<(PathBuf, File)>> {
    let opened = || -> io::Result<Option<(Place, File)>> {
        match Place::open(path).and_then(|place| place.read().map(|folder| (place, folder))) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    };
    let Some((place, folder)) = opened()? else { return Ok(None) };
    if !folder_lock::lock(&folder) {
        return Ok(None);
    }
    let identity = |folder: &File| folder.metadata().map(|it| DiskId::from(&it)).ok();
    let is_there = opened()?.is_some_and(|(_, now)| identity(&now) == identity(&folder));
    Ok(if is_there { Some((place.path()?, folder)) } else { None })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_mounts_folder_is_removed_once_empty_unless_the_user_made_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("bsafs");
        let last = || drop(LastMount { around: path.clone() });
        drop(MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{it}")));
        assert!(!path.exists(), "an unused folder was left behind");
        let folder = MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{it}"));
        last();
        assert!(path.exists(), "a locked folder was removed");
        fs::create_dir(path.join("a")).unwrap();
        drop(folder);
        last();
        assert!(path.exists(), "a folder with a mount in it was removed");
        fs::remove_dir(path.join("a")).unwrap();
        last();
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        drop(MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{it}")));
        last();
        assert!(path.exists(), "a folder that the user created was removed");
    }

    #[test]
    fn a_mounts_folder_removed_during_the_wait_for_its_lock_is_recreated() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("bsafs");
        for _ in 0..20 {
            let folders: Vec<_> = std::thread::scope(|scope| {
                let lock =
                    || MountsFolder::lock(&path).map(|it| it.path.exists()).map_err(|it| it.to_string());
                let locks: Vec<_> = (0..4).map(|_| scope.spawn(lock)).collect();
                locks.into_iter().map(|it| it.join().unwrap()).collect()
            });
            assert_eq!(folders, [Ok(true), Ok(true), Ok(true), Ok(true)]);
            assert!(!path.exists());
        }
    }
}
