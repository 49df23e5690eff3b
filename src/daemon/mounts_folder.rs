//! The folder in which `bsafs open` makes its mountpoints. The folder is locked while a mountpoint is made,
//! and removed with the last mountpoint.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, mkdirat, openat, statat, unlinkat,
};
use rustix::process::geteuid;

use crate::failure::{Exit, Failure};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::folder_lock;
use crate::system::owners::written_by_others;
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
    pub(crate) fn lock(path: &Path) -> Result<Self, Failure> {
        let began = Instant::now();
        while began.elapsed() < LOCK_TIME {
            match MadeFolder::make(path) {
                Ok(made) => made.keep(),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::not_made("the folder for mountpoints", path, &error)),
            }
            match lock_existing(path) {
                Ok(Some((path, lock))) => return Ok(Self { path, lock: Some(lock) }),
                // Another process has locked the folder, or has removed it since.
                Ok(None) => sleep(STEP),
                Err(error) => return Err(Failure::io(Exit::CannotCreate, path, &error)),
            }
        }
        let what = "another `bsafs open` is still mounting there; try again later, or end it";
        Err(Failure::new(Exit::CannotCreate, format!("{}: {what}", path.shown())))
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
pub(super) fn make_around(mountpoint: &Path) -> Result<(), Failure> {
    let above: Vec<&Path> = mountpoint.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
    for folder in above.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
        match MadeFolder::make(folder) {
            Ok(made) => made.keep(),
            // Another process made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::not_made("the folder", folder, &error)),
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

// A folder that bsafs made and removes again. It is removed beneath the descriptor of its parent.
// So neither a link that replaced it nor a parent that was moved can lead elsewhere.

/// The extended attribute of folders that bsafs made. If a killed daemon left such a folder behind,
/// the next mount on it removes it.
const MARK: &str = "user.bsafs.made";

/// A made folder. Dropping this removes it, if it is empty and still the folder that was made.
#[derive(Debug)]
pub(crate) struct MadeFolder {
    parent: OwnedFd,
    name: OsString,
    /// Device and inode number.
    identity: DiskId,
}

impl MadeFolder {
    /// Makes a folder. Links in its path are followed as [`Place::open`] does.
    ///
    /// # Errors
    /// See [`Place::open`]; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let place = Place::open_without_last_link(path)?;
        place.check_only_root_decides()?;
        let (parent, name) = (place.parent().try_clone_to_owned()?, place.name().to_owned());
        drop(place);
        mkdirat(&parent, &name, Mode::from_raw_mode(0o777))?;
        let made = openat(&parent, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = rustix::fs::fstat(&made)?;
        // On file systems without such attributes, a folder that a killed daemon leaves behind stays.
        let _ = openat(&parent, &name, READABLE, Mode::empty())
            .and_then(|made| fsetxattr(&made, MARK, b"1", XattrFlags::empty()));
        Ok(Self { parent, name, identity: DiskId::from(&stat) })
    }

    /// An existing folder, if bsafs made it once for this user. In a folder that others may write to, anybody
    /// can have set the mark.
    pub(crate) fn left_behind(path: &Path) -> Option<Self> {
        let (parent, name) = parent_and_name(path).ok()?;
        let left = openat(&parent, &name, READABLE, Mode::empty()).ok()?;
        let mut value = [0; 8];
        fgetxattr(&left, MARK, &mut value[..]).ok()?;
        let stat = rustix::fs::fstat(&left).ok()?;
        let user = geteuid();
        let is_own = stat.st_uid == user.as_raw() && written_by_others(&stat, user) == 0;
        is_own.then(|| Self { parent, name, identity: DiskId::from(&stat) })
    }

    /// Whether this is the folder that was found at a place.
    pub(crate) fn is_at(&self, place: &Place) -> bool {
        let stat = place.found().and_then(|found| rustix::fs::fstat(found).ok());
        stat.is_some_and(|stat| DiskId::from(&stat) == self.identity)
    }

    /// Leaves the folder where it is.
    pub(crate) fn keep(self) {
        // Only a descriptor and a name are leaked.
        std::mem::forget(self);
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Flags for access to extended attributes, which `O_PATH` does not allow.
const READABLE: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn parent_and_name(path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let place = Place::open_without_last_link(path)?;
    Ok((place.parent().try_clone_to_owned()?, place.name().to_owned()))
}

impl Drop for MadeFolder {
    fn drop(&mut self) {
        let now = statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if now.is_ok_and(|now| DiskId::from(&now) == self.identity) {
            // Fails if the folder is in use again. Then it stays.
            let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_mounts_folder_is_removed_once_empty_unless_the_user_made_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("bsafs");
        let last = || drop(LastMount { around: path.clone() });
        drop(MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{}", it.what)));
        assert!(!path.exists(), "an unused folder was left behind");
        let folder = MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{}", it.what));
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
        drop(MountsFolder::lock(&path).unwrap_or_else(|it| panic!("{}", it.what)));
        last();
        assert!(path.exists(), "a folder that the user created was removed");
    }

    #[test]
    fn a_mounts_folder_removed_during_the_wait_for_its_lock_is_recreated() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("bsafs");
        for _ in 0..20 {
            let folders: Vec<_> = std::thread::scope(|scope| {
                let lock = || MountsFolder::lock(&path).map(|it| it.path.exists()).map_err(|it| it.what);
                let locks: Vec<_> = (0..4).map(|_| scope.spawn(lock)).collect();
                locks.into_iter().map(|it| it.join().unwrap()).collect()
            });
            assert_eq!(folders, [Ok(true), Ok(true), Ok(true), Ok(true)]);
            // A child that another test forks may hold the lock for a moment. Then the next one removes the
            // folder.
            let is_removed = |_| !path.exists() || MountsFolder::lock(&path).is_err();
            assert!((0..10_000).any(is_removed) && !path.exists());
        }
    }

    #[test]
    fn a_created_folder_is_removed_from_its_moved_parent_not_through_a_link() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("parent")).unwrap();
        fs::create_dir_all(path("victim/mnt")).unwrap();
        let made = MadeFolder::make(&path("parent/mnt")).unwrap();
        fs::rename(path("parent"), path("moved")).unwrap();
        symlink(path("victim"), path("parent")).unwrap();
        drop(made);
        assert!(path("victim/mnt").exists() && !path("moved/mnt").exists());
    }

    #[test]
    fn only_a_folder_that_bsafs_left_behind_is_recognised() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        MadeFolder::make(&path("left")).unwrap().keep();
        fs::create_dir(path("users")).unwrap();
        symlink(path("left"), path("link")).unwrap();
        for name in ["users", "link", "missing"] {
            assert!(MadeFolder::left_behind(&path(name)).is_none(), "{name}");
        }
        fs::write(path("left/file"), "a user's").unwrap();
        drop(MadeFolder::left_behind(&path("left")).unwrap());
        assert!(path("left/file").exists());
        fs::remove_file(path("left/file")).unwrap();
        // Who may write to the folder may set the mark.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path("left"), fs::Permissions::from_mode(0o2775)).unwrap();
        assert_eq!(
            MadeFolder::left_behind(&path("left")).map(MadeFolder::keep).is_none(),
            geteuid().is_root()
        );
        fs::set_permissions(path("left"), fs::Permissions::from_mode(0o755)).unwrap();
        drop(MadeFolder::left_behind(&path("left")).unwrap());
        assert!(!path("left").exists() && path("users").exists());
    }

    #[test]
    fn a_mark_in_a_folder_that_anybody_may_write_to_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("shared");
        MadeFolder::make(&path).unwrap().keep();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(MadeFolder::left_behind(&path).is_none());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(MadeFolder::left_behind(&path).is_some());
    }

    #[test]
    fn another_folder_at_the_same_path_is_not_removed() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("mnt");
        let made = MadeFolder::make(&path).unwrap();
        // The renamed folder keeps its inode number in use.
        fs::rename(&path, dir.path().join("first")).unwrap();
        fs::create_dir(&path).unwrap();
        drop(made);
        assert!(path.exists() && dir.path().join("first").exists());
        assert_eq!(MadeFolder::make(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
