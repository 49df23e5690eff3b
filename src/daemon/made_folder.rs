//! A folder that bsafs made and removes again. It is removed beneath the descriptor of its parent.
//! So neither a link that replaced it nor a parent that was moved can lead elsewhere.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, mkdirat, openat, statat, unlinkat,
};
use rustix::process::geteuid;

use crate::system::disk_id::DiskId;
use crate::system::exchange::written_by_others;
use crate::system::place::Place;

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
        let (parent, name) = parent_and_name(path)?;
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
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

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
